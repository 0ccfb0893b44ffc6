"""`registry mcp` as hosts run it: a process on standard input and output, before a real registry and without one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from gitserver import ENVIRONMENT, GitRepo
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from serving import ADMIN, Registry, serving
from world import playbook

COMMAND = str(Path(sys.executable).with_name("registry"))
MODES = ("auto", "legacy", "2026-07-28")
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Host:
    """What a host needs to start the bridge in a working copy."""

    def __init__(self, folder: Path, registry: Registry, central: GitRepo, app: GitRepo) -> None:
        self.folder = folder
        self.registry = registry
        self.central = central
        self.app = app
        self.copy = folder / "copy"
        self.id = f"local/acme/{app.path.name}"
        self.url = str(registry.client.base_url)
        self.environment = {
            **ENVIRONMENT, "REGISTRY_URL": self.url, "REGISTRY_TOKEN": ADMIN, "REGISTRY_CACHE_DIR": str(folder / "cache"),
        }  # fmt: skip
        subprocess.run(
            ["git", "clone", "--quiet", app.url, str(self.copy)], check=True, env={**os.environ, **ENVIRONMENT}
        )

    def arguments(self) -> list[str]:
        return ["mcp", "--repo", str(self.copy), "--repository", self.id]

    def use(self, mode, work, **environment):
        """What `work` made of a client that started the bridge."""
        started = StdioServerParameters(
            command=COMMAND, args=self.arguments(), env={**self.environment, **environment}, cwd=str(self.folder)
        )

        async def run():
            async with Client(stdio_client(started), mode=mode) as client:
                return await work(client)

        return anyio.run(run)

    def call(self, tool, arguments, mode="auto", **environment):
        """(is it an error, the structured content) of one call."""

        async def work(client):
            result = await client.call_tool(tool, arguments)
            assert json.loads(result.content[0].text) == result.structured_content
            return result.is_error, result.structured_content

        return self.use(mode, work, **environment)

    @contextmanager
    def process(self) -> Iterator["subprocess.Popen[bytes]"]:
        with subprocess.Popen(
            [COMMAND, *self.arguments()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment, cwd=self.folder,
        ) as process:  # fmt: skip
            yield process

    def ask(self, *lines: bytes) -> list[dict]:
        """What the bridge writes for these lines of input."""
        with self.process() as process:
            written, _ = process.communicate(b"\n".join(lines) + b"\n", timeout=30)
        assert process.returncode == 0
        return [json.loads(line) for line in written.splitlines()]


def host_of(folder: Path, registry: Registry, central: GitRepo) -> Host:
    app = GitRepo(folder / "acme" / f"app-{folder.name}")
    app.commit({"playbooks/deploy.yaml": playbook("deploy", version="2.0.0")})
    host = Host(folder, registry, central, app)
    registry.register(host.id, app.url)
    return host


def central_of(folder: Path) -> GitRepo:
    central = GitRepo(folder / "acme" / "playbooks")
    central.commit({
        "playbooks/deploy.yaml": playbook("deploy"),
        "playbooks/roll-back.yaml": playbook("roll-back", purpose="Roll back a bad release.", required=True),
    })  # fmt: skip
    return central


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bridge")
    central = central_of(folder)
    with serving(folder / "data", central_url=central.url) as registry:
        yield registry, central


@pytest.fixture
def host(tmp_path, shared):
    return host_of(tmp_path, *shared)


@pytest.fixture
def alone(tmp_path):
    """A host whose registry the test may end."""
    central = central_of(tmp_path)
    with serving(tmp_path / "data", central_url=central.url) as registry:
        yield host_of(tmp_path, registry, central)


def request(method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()


@pytest.mark.parametrize("mode", MODES)
def test_a_host_of_each_era_goes_from_search_to_execute(host, mode):
    async def work(client):
        tools = await client.list_tools()
        found = await client.call_tool("search_playbooks", {"task": "roll back the release"})
        read = await client.call_tool("get_playbook", {"name": found.structured_content["results"][0]["name"]})
        opened = await client.call_tool("execute_playbook", {"name": "roll-back", "inputs": {}})
        names = [tool.name for tool in tools.tools]
        return names, read.structured_content, opened.structured_content

    names, read, opened = host.use(mode, work)
    assert names == ["search_playbooks", "get_playbook", "execute_playbook"]
    assert (read["name"], read["source"]["kind"], read["serves"]) == ("roll-back", "central", True)
    assert opened["run_id"].startswith("run_")
    assert opened["procedure"]["steps"]


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_each_mode_speaks_its_version(host, mode, version):
    async def work(client):
        return client.protocol_version

    assert host.use(mode, work) == version


def test_every_answer_says_its_snapshot_source_and_version(host):
    _, answer = host.call("search_playbooks", {"task": "deploy"})
    assert answer["snapshot"] == host.registry.get(f"/v1/catalogs/{host.id}").headers["catalog-digest"]
    assert answer["state"] == {"freshness": "fresh", "age_s": answer["state"]["age_s"], "registered": True,
                               "repository": host.id}  # fmt: skip
    assert (answer["results"][0]["version"], answer["results"][0]["source"]["kind"]) == ("2.0.0", "local")


def test_an_unpushed_playbook_works_before_it_is_reviewed(host):
    (host.copy / "playbooks/fresh.yaml").write_text(playbook("fresh"))
    _, read = host.call("get_playbook", {"name": "fresh"})
    is_error, opened = host.call("execute_playbook", {"name": "fresh"})
    assert read["source"]["kind"] == "worktree"
    assert (is_error, opened["source"]["kind"]) == (False, "worktree")


def test_a_working_copy_never_replaces_a_required_playbook(host):
    (host.copy / "playbooks/mine.yaml").write_text(playbook("roll-back", version="9.0.0"))
    _, read = host.call("get_playbook", {"name": "roll-back"})
    assert (read["source"]["kind"], read["version"]) == ("central", "1.0.0")
    assert "roll-back is required" in read["state"]["note"]


def test_what_a_model_can_mend_is_a_result_with_the_problem(host):
    is_error, problem = host.call("get_playbook", {"name": "deploi"})
    assert is_error
    assert (problem["type"], problem["status"], problem["nearest"]) == ("/problems/playbook-unknown", 404, ["deploy"])


def test_arguments_outside_the_schema_are_all_named(host):
    is_error, problem = host.call("search_playbooks", {"limit": 99, "colour": "red"})
    assert is_error
    assert {each["pointer"] for each in problem["violations"]} == {"/limit", "/colour", "/task"}


def test_offline_the_last_catalog_answers_and_says_what_it_cannot_know(alone):
    alone.call("search_playbooks", {"task": "roll back"})
    alone.registry.terminate()
    is_error, answer = alone.call("search_playbooks", {"task": "roll back the release"})
    assert (is_error, answer["results"][0]["name"]) == (False, "roll-back")
    assert answer["state"]["freshness"] == "offline"
    assert "is not known here" in answer["state"]["note"]
    is_error, problem = alone.call("execute_playbook", {"name": "roll-back"})
    assert (is_error, problem["status"]) == (True, 503)


def test_without_a_registry_and_a_cache_the_tools_are_there_and_say_why_nothing_is(host, tmp_path):
    is_error, problem = host.call(
        "search_playbooks", {"task": "deploy"}, REGISTRY_URL="http://127.0.0.1:1", REGISTRY_CACHE_DIR=str(tmp_path / "none")
    )  # fmt: skip
    assert (is_error, problem["type"]) == (True, "/problems/unavailable")
    assert "no registry answers" in problem["detail"]


def test_the_handshake_imports_neither_the_sdk_nor_a_framework(host):
    code = (
        "import sys; from registry.cli import mcp; from registry.mcp import bridge, stdio; "
        "print(sorted({'mcp', 'mcp_types', 'litestar', 'pydantic', 'httpx', 'pygit2', 'sqlalchemy'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_catalog_without_differences_loads_no_loader(host):
    code = f"""
import sys
from registry.client import Catalog
with Catalog.open({host.id!r}, path={str(host.copy)!r}) as catalog:
    catalog.search("roll back the release")
print(sorted({{"mcp", "litestar", "pydantic", "yaml", "pygit2", "sqlalchemy"}} & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **host.environment}
    )
    assert done.stdout == "[]\n"


def test_a_line_that_is_no_json_is_answered_and_the_next_one_too(host):
    first, second = host.ask(b"{nonsense", request("ping"))
    assert (first["id"], first["error"]["code"]) == (None, -32600)
    assert second == {"jsonrpc": "2.0", "id": 7, "result": {}}


def test_a_notification_is_not_answered(host):
    assert host.ask(b'{"jsonrpc":"2.0","method":"notifications/initialized"}') == []


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (request("tools/unheard-of"), -32601),
        (request("tools/call", name="rm"), -32602),
        (request("server/discover"), -32602),
        (request("tools/list", _meta={**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}), -32022),
        (request("tools/list", _meta={**META, "io.modelcontextprotocol/protocolVersion": 7}), -32602),
        (json.dumps({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": []}).encode(), -32602),
        (b"[]", -32600),
        (b"7", -32600),
    ],
)
def test_a_wrong_request_is_the_protocols_error(host, line, code):
    [answer] = host.ask(line)
    assert answer["error"]["code"] == code


def test_an_unsupported_version_names_those_that_are(host):
    [answer] = host.ask(request("tools/list", _meta={**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}))
    assert answer["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}


def test_a_handshake_of_an_unknown_version_is_offered_the_newest(host):
    [answer] = host.ask(request("initialize", protocolVersion="2020-01-01", capabilities={}, clientInfo={}))
    assert answer["result"]["protocolVersion"] == "2025-11-25"


def test_a_line_without_end_is_dropped_and_the_next_one_answered(host):
    first, second = host.ask(b'{"x":"' + b"y" * (5 * 1024 * 1024) + b'"}', request("ping"))
    assert (first["error"]["code"], second["result"]) == (-32600, {})


def test_a_result_of_this_era_says_that_it_is_complete_and_how_long_it_may_be_kept(host):
    [answer] = host.ask(request("tools/list", _meta=META))
    result = answer["result"]
    assert (result["resultType"], result["cacheScope"]) == ("complete", "public")
    assert result["ttlMs"] > 0


def test_nothing_but_messages_is_written_to_standard_output(host):
    with host.process() as process:
        written, said = process.communicate(request("initialize", protocolVersion="2025-06-18") + b"\n", timeout=30)
    assert len(written.splitlines()) == 1
    assert said == b""


def test_the_token_is_in_no_answer_and_no_message(host):
    with host.process() as process:
        written, said = process.communicate(
            request("tools/call", name="execute_playbook", arguments={"name": "nope"}) + b"\n", timeout=30
        )
    assert ADMIN.encode() not in written + said


def test_a_change_notice_makes_the_bridge_look_again(host):
    async def work(client):
        await client.call_tool("search_playbooks", {"task": "deploy"})
        await anyio.sleep(4)
        host.app.commit({"playbooks/noticed.yaml": playbook("noticed")})
        host.registry.sync(host.id)
        with anyio.fail_after(20):  # far less than the minute after which it would look by itself
            while (await client.call_tool("get_playbook", {"name": "noticed"})).is_error:  # noqa: ASYNC110 - another process
                await anyio.sleep(0.2)
        return True

    assert host.use("auto", work)
