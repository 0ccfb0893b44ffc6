"""The pages about hosts show exactly what `registry init` writes, and what they tell a reader to run works."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest
from gitserver import ENVIRONMENT, GitRepo
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from serving import ADMIN, serving
from shellblocks import page, section
from world import playbook

from registry import errors
from registry.cli.hosts import HOSTS, Configured, Endpoint, Token
from registry.client import Catalog

REGISTRY = "https://registry.acme.example"
REPOSITORY = "github.com/acme/payments"
BLOCK = re.compile(r"^```(json|toml|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LIBRARY = page("docs/client-library.md")
FORMS = {
    "The file": Endpoint(REGISTRY, REPOSITORY),
    "With a token": Endpoint(REGISTRY, REPOSITORY, token=Token.NEEDED),
    "The bridge": Endpoint(REGISTRY, REPOSITORY, bridge=True, token=Token.NEEDED),
}


@pytest.mark.parametrize("heading", FORMS)
@pytest.mark.parametrize("name", HOSTS)
def test_a_page_shows_the_file_byte_for_byte(name: str, heading: str):
    shown = BLOCK.search(section(page(f"docs/hosts/{name}.md"), heading))
    made = HOSTS[name].configure(None, FORMS[heading])
    assert isinstance(made, Configured)
    assert shown is not None
    assert shown[2] == made.text


@pytest.mark.parametrize("name", HOSTS)
def test_every_host_has_its_page_in_the_list_with_its_file(name: str):
    host = HOSTS[name]
    assert f"`{host.path}`" in page(f"docs/hosts/{name}.md")
    (row,) = [line for line in page("docs/hosts.md").splitlines() if f"(hosts/{name}.md)" in line]
    assert f"`{host.path}`" in row


def test_the_page_of_the_library_lists_exactly_its_methods():
    public = {name for name in vars(Catalog) if not name.startswith("_")} - {"open"}
    listed = re.findall(r"^\| `(\w+)(?:\([^`]*\))?` \|", section(LIBRARY, "Methods"), re.MULTILINE)
    assert set(listed) == public


def test_every_error_of_the_page_is_one():
    named = re.findall(r"`([A-Z]\w+)`", section(LIBRARY, "Errors"))
    assert [name for name in named if not hasattr(errors, name)] == []


class Place:
    """A registry with one playbook, and a registered repository's working copy."""

    def __init__(self, folder: Path) -> None:
        central = GitRepo(folder / "git" / "acme" / "playbooks")
        central.commit(
            {"playbooks/roll-back.yaml": playbook("roll-back", purpose="Take a deploy back that went wrong.")}
        )
        app = GitRepo(folder / "git" / "acme" / "app")
        app.commit({"README.md": "A service.\n"})
        self.central, self.app, self.folder = central, app, folder
        self.copy = folder / "copy"
        subprocess.run(["git", "clone", "-q", app.url, str(self.copy)], check=True)

    def environment(self, url: str) -> dict[str, str]:
        return {
            **ENVIRONMENT, "REGISTRY_URL": url, "REGISTRY_TOKEN": ADMIN, "REGISTRY_CACHE_DIR": str(self.folder / "cache"),
        }  # fmt: skip


def written(folder: Path, code: str) -> Path:
    place = folder / "example.py"
    place.write_text(code)
    return place


def test_the_server_of_the_page_answers_a_real_client(tmp_path: Path):
    place = Place(tmp_path)
    _, code = BLOCK.findall(section(LIBRARY, "An MCP server that embeds it"))[0]
    script = written(tmp_path, code)

    async def work(parameters: StdioServerParameters) -> tuple[str, list]:
        async with Client(stdio_client(parameters)) as client:
            found = await client.call_tool("find_playbook", {"task": "take the deploy back"})
            name = found.structured_content["results"][0]["name"]
            read = await client.call_tool("read_playbook", {"name": name})
            return name, read.structured_content["contract"]["steps"]

    with serving(tmp_path / "data", central_url=place.central.url) as registry:
        registry.register("local/acme/app", place.app.url)
        environment = place.environment(str(registry.client.base_url))
        parameters = StdioServerParameters(
            command=sys.executable, args=[str(script)], env=environment, cwd=str(place.copy)
        )
        name, steps = asyncio.run(work(parameters))
    assert (name, bool(steps)) == ("roll-back", True)


@pytest.mark.parametrize("source", ["library", "in-house"])
def test_the_scripts_of_the_pages_find_a_playbook(tmp_path: Path, source: str):
    place = Place(tmp_path)
    text = LIBRARY if source == "library" else page("docs/hosts/in-house.md")
    _, code = BLOCK.findall(text)[0]
    script = written(tmp_path, code)
    with serving(tmp_path / "data", central_url=place.central.url) as registry:
        done = subprocess.run(
            [sys.executable, str(script)],
            cwd=place.copy,
            env=place.environment(str(registry.client.base_url).rstrip("/")),
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout.startswith("roll-back 1.0.0")) == (0, True), done.stderr
