"""What else plugs into the endpoint: methods and extensions of features that know nothing of the SDK."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest
from mcp_hosts import MODERN, modern_request
from world import World, playbook, running

from registry.api.answers import Application
from registry.api.app import create_app
from registry.errors import Unavailable, Unknown
from registry.mcp.admission import admission
from registry.mcp.endpoint import Endpoint, Guard
from registry.mcp.features import INVALID_PARAMS, Caller, Feature, ProtocolError

SKILLS = "io.modelcontextprotocol/skills"
URI = "skill://central/roll-back/SKILL.md"


async def list_resources(caller: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
    name = f"{caller.repository} {params.get('cursor')}"
    return {"resources": [{"uri": URI, "name": name}], "ttlMs": 1_000, "cacheScope": "private"}


async def read_resource(caller: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
    if params["uri"] != URI:
        raise ProtocolError(INVALID_PARAMS, "there is no such resource", {"uri": params["uri"]})
    return {"contents": [{"uri": URI, "text": "# Roll back"}], "ttlMs": 0, "cacheScope": "private"}


async def list_skills(caller: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"skills": [{"uri": URI, "for": caller.repository}]}


async def get_skill(caller: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
    raise Unknown("playbook", "no skill is named so.") if params.get("uri") else Unavailable("later.")


FEATURE = Feature(
    {
        "resources/list": list_resources,
        "resources/read": read_resource,
        "skills/list": list_skills,
        "skills/get": get_skill,
    },
    {SKILLS: {"version": 1}},
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running(tmp_path_factory.mktemp("features"), {"playbooks/roll-back.yaml": playbook("roll-back")}) as found:
        yield found


def application(world: World) -> Application:
    guard = Guard(admission(listen_host="127.0.0.1", public_url=None, hosts=(), origins=()), 0)
    endpoint = Endpoint(world.services, guard, features=[lambda _services, _pools: FEATURE], version="1.2.3")
    return create_app(world.services, anonymous_read=True, annexes=lambda gate, pools: (endpoint.annex(gate, pools),))


@pytest.fixture
def ask(world: World) -> Callable[..., httpx.Response]:
    def send(method: str, params: Mapping[str, object] | None = None, path: str = "/mcp") -> httpx.Response:
        async def run() -> httpx.Response:
            transport = httpx.ASGITransport(application(world))
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                sent, headers = modern_request(method, params)
                return await client.post(path, json=sent, headers=headers)

        return asyncio.run(run())

    return send


def test_capabilities_show_what_was_plugged_in(ask: Callable[..., httpx.Response]):
    result = ask("server/discover").json()["result"]
    assert result["capabilities"]["extensions"] == {SKILLS: {"version": 1}}
    assert result["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] == "1.2.3"


def test_a_method_of_the_protocol_gets_the_caller_and_its_params(ask: Callable[..., httpx.Response]):
    result = ask("resources/list", {"cursor": "c"}, "/mcp/r/github.com/acme/pay").json()["result"]
    assert result["resources"] == [{"uri": URI, "name": "github.com/acme/pay c"}]
    assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 1_000, "private")


def test_a_method_of_an_extension_answers_as_it_likes(ask: Callable[..., httpx.Response]):
    result = ask("skills/list").json()["result"]
    assert (result["skills"], result["resultType"]) == ([{"uri": URI, "for": None}], "complete")


def test_an_unknown_resource_is_invalid_params(ask: Callable[..., httpx.Response]):
    answer = ask("resources/read", {"uri": "skill://nobody"})
    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "code": -32602,
        "message": "there is no such resource",
        "data": {"uri": "skill://nobody"},
    }


@pytest.mark.parametrize(
    ("params", "code", "said"), [({"uri": "x"}, -32602, "playbook-unknown"), ({}, -32603, "unavailable")]
)
def test_an_error_of_the_registry_becomes_one_of_the_protocol(
    ask: Callable[..., httpx.Response], params: dict, code: int, said: str
):
    error = ask("skills/get", params).json()["error"]
    assert (error["code"], error["data"]["code"]) == (code, said)


def test_the_first_request_loads_the_server(ask: Callable[..., httpx.Response]):
    assert ask("tools/list").json()["result"]["tools"]


def test_the_version_of_these_tests_is_the_sdks_newest():
    from mcp_types.version import LATEST_MODERN_VERSION

    assert LATEST_MODERN_VERSION == MODERN
