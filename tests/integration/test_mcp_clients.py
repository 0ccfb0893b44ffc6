"""Real MCP clients against a served registry: the SDK's in every mode, fastmcp's, many at once, and listeners."""

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastmcp import Client as FastClient
from fastmcp.exceptions import ToolError
from gitserver import GitRepo
from mcp.client import Client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_hosts import MODERN, body, modern, modern_request, with_client
from serving import ADMIN, AS_ADMIN, Registry, eventually, free_port, serving
from world import playbook

MODES = ("auto", "legacy", MODERN)
NAMES = ["search_playbooks", "get_playbook", "execute_playbook"]
PAY, SHIP = "github.com/acme/pay", "github.com/acme/ship"
CONNECTIONS = 200


class Fixture:
    """A served registry with two services that resolve one name differently."""

    def __init__(self, registry: Registry, repos: dict[str, GitRepo]) -> None:
        self.registry = registry
        self.repos = repos
        self.base = str(registry.client.base_url).rstrip("/")

    def url(self, repository: str | None = None) -> str:
        return f"{self.base}/mcp" + (f"/r/{repository}" if repository else "")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fixture]:
    folder: Path = tmp_path_factory.mktemp("mcp-clients")
    central = GitRepo(folder / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back", purpose="Roll back a bad release.")})
    repos = {}
    for name in ("pay", "ship"):
        repos[name] = GitRepo(folder / "git" / "acme" / name)
        repos[name].commit({"playbooks/roll-back.yaml": playbook("roll-back", version=f"2.0.0-{name}")})
    with serving(folder / "data", central_url=central.url, poll_interval_s=3_600) as registry:
        for name, repo in repos.items():
            registry.register(f"github.com/acme/{name}", repo.url)
        yield Fixture(registry, {**repos, "central": central})


@pytest.mark.parametrize("mode", MODES)
def test_the_sdks_client_goes_from_search_to_get(served: Fixture, mode: str):
    async def use(client: Client) -> tuple[list[str], dict, dict]:
        listed = await client.list_tools()
        found = await client.call_tool("search_playbooks", {"task": "roll back the release"})
        name = found.structured_content["results"][0]["name"]
        read = await client.call_tool("get_playbook", {"name": name})
        for result in (found, read):
            assert json.loads(result.content[0].text) == result.structured_content
        return [tool.name for tool in listed.tools], found.structured_content, read.structured_content

    names, found, read = with_client(served.url(PAY), mode, use)
    assert names == NAMES
    assert read["version"] == found["results"][0]["version"] == "2.0.0-pay"


@pytest.mark.parametrize(("mode", "version"), [("auto", MODERN), ("legacy", "2025-11-25"), (MODERN, MODERN)])
def test_each_mode_speaks_its_version(served: Fixture, mode: str, version: str):
    async def use(client: Client) -> str:
        return client.protocol_version

    assert with_client(served.url(), mode, use) == version


@pytest.mark.parametrize("mode", MODES)
def test_the_sdks_client_sees_a_mistake_as_a_result(served: Fixture, mode: str):
    async def use(client: Client) -> tuple[bool, dict]:
        result = await client.call_tool("get_playbook", {"name": "nothing-like-it"})
        return bool(result.is_error), result.structured_content

    is_error, found = with_client(served.url(), mode, use)
    assert is_error
    assert found["type"] == "/problems/playbook-unknown"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client_reads_the_instructions(served: Fixture, mode: str):
    async def use(client: Client) -> str:
        return client.instructions or ""

    assert "call search_playbooks" in with_client(served.url(), mode, use)


def test_fastmcps_client_goes_from_search_to_execute(served: Fixture):
    async def run() -> dict:
        async with FastClient(served.url(SHIP), auth=ADMIN) as client:
            assert [tool.name for tool in await client.list_tools()] == NAMES
            found = await client.call_tool("search_playbooks", {"task": "roll back"})
            name = found.structured_content["results"][0]["name"]
            read = await client.call_tool("get_playbook", {"name": name})
            digest = read.structured_content["digest"]
            opened = await client.call_tool("execute_playbook", {"name": name, "digest": digest})
            with pytest.raises(ToolError, match="playbook-unknown"):
                await client.call_tool("get_playbook", {"name": "nothing-like-it"})
            return opened.structured_content

    opened = asyncio.run(run())
    assert (opened["version"], opened["run_id"][:4]) == ("2.0.0-ship", "run_")


def test_two_repositories_asked_in_turn_on_one_connection_are_never_mixed_up(served: Fixture):
    with httpx.Client(base_url=served.base, limits=httpx.Limits(max_connections=1)) as client:
        for turn in range(100):
            name = ("pay", "ship")[turn % 2]
            found = body(client, f"/mcp/r/github.com/acme/{name}", "get_playbook", {"name": "roll-back"})
            assert (found["version"], found["state"]["repository"]) == (f"2.0.0-{name}", f"github.com/acme/{name}")


def test_two_repositories_asked_in_parallel_over_many_connections_are_never_mixed_up(served: Fixture):
    async def one(client: httpx.AsyncClient, number: int) -> None:
        name = ("pay", "ship")[number % 2]
        tool = ("get_playbook", "search_playbooks")[number // 2 % 2]
        arguments = {"name": "roll-back"} if tool == "get_playbook" else {"task": "roll back"}
        sent, headers = modern_request("tools/call", {"name": tool, "arguments": arguments})
        sent["id"] = number
        for _ in range(3):
            answer = await client.post(f"{served.base}/mcp/r/github.com/acme/{name}", json=sent, headers=headers)
            assert answer.json()["id"] == number
            found = answer.json()["result"]["structuredContent"]
            row = found["results"][0] if tool == "search_playbooks" else found
            assert (row["version"], found["state"]["repository"]) == (f"2.0.0-{name}", f"github.com/acme/{name}")

    async def run() -> None:
        limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
        async with httpx.AsyncClient(limits=limits, timeout=60) as client:
            await asyncio.gather(*(one(client, number) for number in range(CONNECTIONS)))

    asyncio.run(run())


# Listening


def test_a_listener_is_told_when_its_catalog_changes_and_when_another_does_not(served: Fixture):
    async def run() -> list[object]:
        async with (
            Client(served.url(PAY), mode=MODERN) as client,
            client.listen(resources_list_changed=True, resource_subscriptions=["skill://local/a/SKILL.md"]) as events,
        ):
            await asyncio.to_thread(push, "ship", "3.0.0")
            await asyncio.sleep(1)
            await asyncio.to_thread(push, "pay", "3.0.0")
            told = []
            async with asyncio.timeout(20):
                async for event in events:
                    told.append(event)
                    if len(told) == 2:
                        return told
        return told

    def push(name: str, version: str) -> None:
        served.repos[name].commit({"playbooks/other.yaml": playbook("other", version=version)})
        served.registry.sync(f"github.com/acme/{name}")

    assert asyncio.run(run()) == [ResourcesListChanged(), ResourceUpdated(uri="skill://local/a/SKILL.md")]


def test_a_listener_of_central_is_told_of_centrals_change(served: Fixture):
    async def run() -> object:
        async with Client(served.url(), mode=MODERN) as client, client.listen(resources_list_changed=True) as events:
            await asyncio.to_thread(change)
            async with asyncio.timeout(20):
                return await anext(aiter(events))

    def change() -> None:
        served.repos["central"].commit({"playbooks/more.yaml": playbook("more")})
        served.registry.sync("local/acme/playbooks")

    assert asyncio.run(run()) == ResourcesListChanged()


def test_a_listener_that_left_is_forgotten(served: Fixture):
    sent, headers = modern_request("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
    for _ in range(120):  # more than one caller may hold
        with served.registry.client.stream("POST", "/mcp", json=sent, headers=headers) as answer:
            first = next(answer.iter_lines())
            assert first == "event: message", (first, answer.read())


def test_one_caller_cannot_hold_any_number_of_streams(served: Fixture):
    sent, headers = modern_request("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})

    async def run() -> list[str]:
        async with httpx.AsyncClient(base_url=served.base, limits=httpx.Limits(max_connections=None)) as client:
            answers = [
                await client.send(client.build_request("POST", "/mcp", json=sent, headers=headers), stream=True)
                for _ in range(52)
            ]
            found = [answer.headers["content-type"] for answer in answers]
            for answer in answers:
                await answer.aclose()
            return found

    found = asyncio.run(run())
    assert found.count("text/event-stream") == 50
    assert found[50:] == ["application/json"] * 2


def test_more_resources_than_can_be_watched_are_refused(served: Fixture):
    uris = [f"skill://central/{number}/SKILL.md" for number in range(101)]
    answer = modern(
        served.registry.client, "/mcp", "subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}}
    )
    assert answer.json()["error"]["code"] == -32602


# The process


def test_open_streams_end_with_their_result_when_the_registry_stops(tmp_path: Path):
    central = GitRepo(tmp_path / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back")})
    sent, headers = modern_request("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
    with (
        serving(tmp_path / "data", central_url=central.url) as registry,
        httpx.Client(base_url=registry.client.base_url, timeout=30) as client,
        client.stream("POST", "/mcp", json=sent, headers=headers) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines) == "event: message"
        began_at = time.monotonic()
        registry.process.send_signal(signal.SIGTERM)
        left = [line for line in lines if line.startswith("data:")]
        assert json.loads(left[-1].removeprefix("data:"))["result"]["resultType"] == "complete"
        assert registry.process.wait(15) == 0
        assert time.monotonic() - began_at < 10
        assert not [line for line in registry.log.splitlines() if '"error"' in line and "event" in line]


def test_a_public_url_and_a_configured_host_are_admitted_and_nothing_else(tmp_path: Path):
    central = GitRepo(tmp_path / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back")})
    settings = {
        "public_url": "https://registry.acme.example",
        "mcp_allowed_hosts": "inner:8080",
        "mcp_allowed_origins": "https://console.acme.example",
        "anonymous_read": False,
        "listen": f"127.0.0.1:{free_port()}",
    }
    with serving(tmp_path / "data", central_url=central.url, **settings) as registry:

        def status(**headers: str) -> int:
            return modern(registry.client, "/mcp", "tools/list", headers={**AS_ADMIN, **headers}).status_code

        assert status(host="registry.acme.example") == 200
        assert status(host="inner:8080") == 200
        assert status(host="inner:8081") == 421
        assert status(host="registry.acme.example", origin="https://registry.acme.example") == 200
        assert status(host="registry.acme.example", origin="https://console.acme.example") == 200
        assert status(host="registry.acme.example", origin="https://evil.example") == 403
        # Where reading is not open, nothing is told without a token, and a token needs the scope.
        assert modern(registry.client, "/mcp", "server/discover").status_code == 401
        assert legacy_without_token(registry) == 401


def legacy_without_token(registry: Registry) -> int:
    answer = registry.client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize"})
    return answer.status_code


def test_a_caller_that_asks_too_often_is_429(tmp_path: Path):
    central = GitRepo(tmp_path / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back")})
    # Two at once, and then one in five seconds.
    with serving(
        tmp_path / "data", central_url=central.url, mcp_rate_per_s="0.2", trusted_proxies="127.0.0.0/8"
    ) as registry:

        def ask(address: str, **headers: str) -> httpx.Response:
            return modern(registry.client, "/mcp", "tools/list", headers={"x-forwarded-for": address, **headers})

        # Who sits on this machine is not counted.
        assert {modern(registry.client, "/mcp", "tools/list").status_code for _ in range(5)} == {200}
        assert [ask("203.0.113.1").status_code for _ in range(3)] == [200, 200, 429]
        refused = ask("203.0.113.1")
        assert refused.json()["type"] == "/problems/rate-limited"
        assert 1 <= int(refused.headers["retry-after"]) <= 6
        # Neither a token that nobody has nor a header without one gets around it.
        for value in ("Bearer nobody", "Bearer", ""):
            assert ask("203.0.113.1", authorization=value).status_code == 429
        assert ask("203.0.113.2").status_code == 200
        # A proxy that says nothing of whom it speaks for is a caller itself.
        behind = {"x-real-ip": "203.0.113.9"}
        assert [modern(registry.client, "/mcp", "tools/list", headers=behind).status_code for _ in range(3)] == [
            200,
            200,
            429,
        ]
        # A principal has a bucket of its own, wherever it calls from.
        assert [ask("203.0.113.1", **AS_ADMIN).status_code for _ in range(3)] == [200, 200, 429]
        assert ask("203.0.113.3", **AS_ADMIN).status_code == 429
        assert eventually(lambda: ask("203.0.113.1").status_code == 200)
