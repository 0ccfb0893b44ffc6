"""From a bare repository to an agent that finds its playbooks: init, commit, push, and a colleague's clone with a host."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli import run
from fastmcp import Client
from gitserver import ENVIRONMENT, GitRepo
from serving import ADMIN, Registry, serving
from workingcopy import git
from world import playbook

TASK = "replace the key that a service signs its tokens with"
BIN = Path(sys.executable).parent


class Company:
    """A registry, a service's repository that nobody registered, and clones of it."""

    def __init__(self, folder: Path, registry: Registry) -> None:
        self.folder = folder
        self.registry = registry
        self.app = GitRepo(folder / "git" / "acme" / "app")
        self.app.commit({"README.md": "A service.\n"})

    @property
    def url(self) -> str:
        return str(self.registry.client.base_url).rstrip("/")

    def clone(self, name: str) -> Path:
        copy = self.folder / name
        subprocess.run(["git", "clone", "-q", self.app.url, str(copy)], check=True, env={**os.environ, **ENVIRONMENT})
        return copy

    def init(self, copy: Path, *options: str) -> str:
        """What init writes to standard error, which ends with what to type next."""
        result = run("init", str(copy), "--team", "app", *options, REGISTRY_URL=self.url, REGISTRY_TOKEN=ADMIN)
        assert result.exit_code == 0, result.output
        return result.stderr


@pytest.fixture
def company(tmp_path: Path) -> Iterator[Company]:
    central = GitRepo(tmp_path / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back", purpose="Roll back a bad release.")})
    with serving(tmp_path / "data", central_url=central.url) as registry:
        yield Company(tmp_path, registry)


def push(copy: Path, said: str) -> None:
    """Type what init says, commit and push."""
    (line,) = [line for line in said.splitlines() if line.startswith("Commit them: ")]
    subprocess.run(shlex.split(line.partition(": ")[2]), check=True)
    git(copy, "commit", "-q", "-m", "Agents find the company's playbooks")
    git(copy, "push", "-q", "origin", "HEAD:main")


def expanded(copy: Path, token: str) -> dict:
    """The servers of a copy's .mcp.json as its host reads them: the variable replaced, and headers without an end."""
    text = (copy / ".mcp.json").read_text()
    return json.loads(text.replace("${REGISTRY_TOKEN:-}", token).replace('Bearer "', 'Bearer"'))


def use(configuration: dict, work):
    """What `work` makes of a client that was given a host's configuration."""

    async def session():
        async with Client(configuration) as client:
            return await work(client)

    return asyncio.run(session())


async def goes_from_search_to_execute(client) -> tuple[list[str], dict, dict]:
    tools = [tool.name for tool in await client.list_tools()]
    found = await client.call_tool("search_playbooks", {"task": TASK})
    row = found.structured_content["results"][0]
    opened = await client.call_tool("execute_playbook", {"name": row["name"], "inputs": {"service": "identity"}})
    return tools, row, opened.structured_content


def test_a_colleagues_host_finds_what_was_set_up_and_pushed(company: Company):
    first = company.clone("first")
    push(first, company.init(first))
    company.registry.sync("local/acme/app")
    colleague = company.clone("colleague")
    tools, row, opened = use(expanded(colleague, ADMIN), goes_from_search_to_execute)
    assert tools == ["search_playbooks", "get_playbook", "execute_playbook"]
    assert (row["name"], row["source"]["repository"]) == ("rotate-signing-key", "local/acme/app")
    assert opened["run_id"]


def test_a_colleague_without_a_token_searches_and_reads(company: Company):
    first = company.clone("first")
    push(first, company.init(first))
    company.registry.sync("local/acme/app")

    async def reads(client):
        found = await client.call_tool("search_playbooks", {"task": TASK})
        return found.structured_content["state"]

    assert use(expanded(company.clone("colleague"), ""), reads)["registered"] is True


def test_a_bridge_finds_what_is_not_pushed_yet(company: Company, monkeypatch: pytest.MonkeyPatch):
    copy = company.clone("first")
    company.init(copy, "--bridge")
    configuration = expanded(copy, ADMIN)
    (server,) = configuration["mcpServers"].values()
    monkeypatch.chdir(copy)
    # A host's environment: what git and the command need, and what the file says.
    server["env"] |= {**ENVIRONMENT, "PATH": f"{BIN}:{os.environ['PATH']}", "REGISTRY_CACHE_DIR": f"{company.folder}/c"}
    _, row, opened = use(configuration, goes_from_search_to_execute)
    assert (row["name"], row["source"]["kind"]) == ("rotate-signing-key", "worktree")
    assert opened["run_id"]


def test_the_doctor_finds_nothing_to_mend_where_a_host_sees_everything(company: Company):
    first = company.clone("first")
    push(first, company.init(first, "--with-token"))
    company.registry.sync("local/acme/app")
    result = run("doctor", "--repo", str(first), REGISTRY_URL=company.url, REGISTRY_TOKEN=ADMIN)
    assert (result.exit_code, "0 errors, 0 warnings" in result.stdout) == (0, True), result.stdout
