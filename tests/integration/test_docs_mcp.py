"""docs/mcp.md lists exactly the arguments of each tool, and what it tells a reader to type works."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from gitserver import GitRepo
from serving import serving
from shellblocks import commands, page
from world import playbook

from registry.mcp.listening import LISTENERS_MAX, LISTENERS_OF_CALLER_MAX, URIS_MAX
from registry.mcp.tools import LIMIT_DEFAULT, LIMIT_MAX, TASK_LENGTH_MAX, TOOLS

PAGE = page("docs/mcp.md")
SECTIONS = {
    found["tool"]: found["text"]
    for found in re.finditer(r"^### `(?P<tool>\w+)`\n(?P<text>.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
}


def test_every_tool_has_its_section_in_the_order_of_the_list():
    assert list(SECTIONS) == [tool["name"] for tool in TOOLS]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool["name"])
def test_a_section_lists_exactly_the_arguments_of_its_tool(tool: dict):
    listed = re.findall(r"^- `(\w+)`( \(needed\))?:", SECTIONS[tool["name"]], re.MULTILINE)
    schema = tool["inputSchema"]
    assert [name for name, _ in listed] == list(schema["properties"])
    assert [name for name, needed in listed if needed] == schema["required"]


def test_the_numbers_are_those_of_the_code():
    assert f"1 to {LIMIT_MAX}; default {LIMIT_DEFAULT}" in PAGE
    assert f"{TASK_LENGTH_MAX:,} characters" in PAGE
    assert f"One process holds {LISTENERS_MAX:,} streams, {LISTENERS_OF_CALLER_MAX} of one caller" in PAGE
    assert f"for each of them, {URIS_MAX} at most" in PAGE


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="the page types curl and jq")
def test_the_call_that_the_page_shows_answers(tmp_path: Path):
    central = GitRepo(tmp_path / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back", purpose="Take a deploy back that went wrong.")})
    with serving(tmp_path / "data", central_url=central.url) as registry:
        (typed,) = [command for command in commands(PAGE) if "curl" in command]
        done = subprocess.run(
            ["bash", "-ec", typed],
            env={"PATH": "/usr/bin:/bin:/usr/local/bin", "REGISTRY_URL": str(registry.client.base_url).rstrip("/")},
            capture_output=True,
            text=True,
            check=True,
        )
    assert json.loads(done.stdout)["results"][0]["name"] == "roll-back"
