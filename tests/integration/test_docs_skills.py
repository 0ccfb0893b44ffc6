"""docs/skills.md lists the methods, the keys and the bounds that the code has, and its command works."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from gitserver import GitRepo
from serving import serving
from shelf import CENTRAL, Item, shelf
from shellblocks import commands, page
from world import playbook

from registry.api.threads import Pools, Threads
from registry.mcp.skill_calls import TTL_MS, skill_feature
from registry.mcp.skills import entry_json
from registry.playbook.export.mcp_tool import META_PREFIX
from registry.playbook.export.package import FILES_BYTES_MAX, FILES_MAX
from registry.service.skills import PAGE_BYTES_MAX, PAGE_NAMES_MAX

PAGE = page("docs/skills.md")
PAY = "github.com/acme/pay"


def rows(first_column: str) -> list[str]:
    """The first cells of the table with that heading; one may name several things."""
    table = re.search(rf"^\| {first_column} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert table is not None
    cells = (row.split("|")[1] for row in table[1].splitlines())
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_the_methods_are_those_of_the_endpoint(tmp_path: Path):
    threads = Threads("docs", 1, 1)
    with shelf(tmp_path) as registry:
        feature = skill_feature(registry.services, Pools(threads, threads, threads))
    threads.close()
    assert sorted(rows("method")) == sorted(feature.methods)


def test_the_keys_are_those_of_an_entry(tmp_path: Path):
    text = "playbook: 1\nname: a\nversion: {}.0.0\nowner: o\npurpose: Do it.\ndeprecated: {{since: '1'}}\nsteps: [{{id: a, instruction: Do it.}}]\n"
    with shelf(tmp_path) as registry:
        registry.register(PAY)
        registry.put(CENTRAL, [Item("playbooks/a.yaml", text.format(1).encode())])
        registry.put(PAY, [Item("playbooks/a.yaml", text.format(2).encode())])
        found = [entry_json(skill) for skill in registry.services.skills.page(PAY).skills]
    assert set(rows("key")) == {key.removeprefix(META_PREFIX) for entry in found for key in entry["_meta"]}


def test_the_bounds_are_those_of_the_code():
    assert f"{PAGE_NAMES_MAX} names or {PAGE_BYTES_MAX >> 20} MiB to a page" in PAGE
    assert f"more than {FILES_MAX} files or {FILES_BYTES_MAX >> 20} MiB" in PAGE
    assert TTL_MS == 60_000
    assert "may be kept for a minute" in PAGE


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="the page types curl and jq")
def test_the_command_that_the_page_shows_answers(tmp_path: Path):
    central = GitRepo(tmp_path / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back")})
    (typed,) = commands(PAGE)
    with serving(tmp_path / "data", central_url=central.url) as registry:
        done = subprocess.run(
            ["bash", "-ec", typed],
            env={"PATH": "/usr/bin:/bin:/usr/local/bin", "REGISTRY_URL": str(registry.client.base_url).rstrip("/")},
            capture_output=True,
            text=True,
            check=True,
        )
    assert [skill["name"] for skill in json.loads(done.stdout)["skills"]] == ["roll-back"]
