"""An agent with a scripted model as a host: search, get, execute, over the registry's URL and over the bridge.

The model is a function, so that a test can look at exactly what a model is shown: instructions, tools, answers.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from gitserver import ENVIRONMENT, GitRepo
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from serving import ADMIN, AS_ADMIN, Registry, serving
from world import playbook

COMMAND = str(Path(sys.executable).with_name("registry"))
NAMES = ["search_playbooks", "get_playbook", "execute_playbook"]
TASK = "the release we shipped broke checkout, take it back"
REPOSITORY = "local/acme/app"
INPUTS = "{type: object, properties: {service: {type: string, enum: [checkout, cart]}}, required: [service]}"


@dataclass
class Place:
    """A registry with one service, and a working copy of it."""

    registry: Registry
    copy: Path
    folder: Path

    def client(self, way: str) -> FastClient:
        """A client by `http` or over the `bridge`."""
        url = str(self.registry.client.base_url).rstrip("/")
        if way == "http":
            return FastClient(StreamableHttpTransport(f"{url}/mcp/r/{REPOSITORY}", headers=AS_ADMIN))
        environment = {
            **ENVIRONMENT,
            "REGISTRY_URL": url,
            "REGISTRY_TOKEN": ADMIN,
            "REGISTRY_CACHE_DIR": str(self.folder / "cache"),
        }
        arguments = ["mcp", "--repo", str(self.copy)]
        return FastClient(StdioTransport(COMMAND, arguments, env=environment, cwd=str(self.copy), keep_alive=False))

    def run(self, run_id: str) -> dict:
        """A run as the registry recorded it."""
        answer = self.registry.get(f"/v1/runs/{run_id}", headers=AS_ADMIN)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("agents")
    central = GitRepo(folder / "acme" / "playbooks")
    central.commit(
        {
            "playbooks/roll-back.yaml": playbook(
                "roll-back", purpose="Take back a release that broke something.", required="true", inputs=INPUTS
            ),
            "playbooks/rotate-key.yaml": playbook("rotate-key", purpose="Rotate the signing key of a service."),
        }
    )
    app = GitRepo(folder / "acme" / "app")
    app.commit({"playbooks/warm-cache.yaml": playbook("warm-cache", purpose="Warm the price cache again.")})
    copy = folder / "copy"
    subprocess.run(["git", "clone", "--quiet", app.url, str(copy)], check=True, env=ENVIRONMENT)
    with serving(folder / "data", central_url=central.url, poll_interval_s=3_600) as registry:
        registry.register(REPOSITORY, app.url)
        yield Place(registry, copy, folder)


@dataclass
class Script:
    """A model that follows the instructions: it searches, reads the best result, and carries it out.

    `shown` are the answers as the model got them, and `mistakes` what it was told of its first try of the run, which
    leaves out an input.
    """

    infos: list[AgentInfo] = field(default_factory=list)
    shown: list[object] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.infos.append(info)
        for part in messages[-1].parts:
            if isinstance(part, RetryPromptPart):
                self.mistakes.append(part.model_response())
            elif isinstance(part, ToolReturnPart):
                is_mistake = "/problems/" in str(part.content)
                (self.mistakes if is_mistake else self.shown).append(part.content)
        return ModelResponse(parts=[self._next()])

    def _next(self) -> ToolCallPart | TextPart:
        if not self.shown:
            return ToolCallPart("search_playbooks", {"task": TASK})
        first = as_object(self.shown[0])["results"][0]
        if len(self.shown) == 1:
            return ToolCallPart("get_playbook", {"name": first["name"]})
        if len(self.shown) == 2:
            allowed = as_object(self.shown[1])["allowed_values"]["service"]
            inputs = {"service": allowed[0]} if self.mistakes else {}
            arguments = {"name": first["name"], "inputs": inputs, "digest": first["digest"], "task": TASK}
            return ToolCallPart("execute_playbook", arguments)
        return TextPart(as_object(self.shown[2])["run_id"])


def as_object(shown: object) -> dict:
    """What a model was shown, whether as text or as structured content."""
    return json.loads(shown) if isinstance(shown, str) else shown


def carried_out(client: AbstractAsyncContextManager) -> tuple[Script, str]:
    script = Script()
    agent = Agent(FunctionModel(script), toolsets=[MCPToolset(client, include_instructions=True, max_retries=3)])

    async def work() -> str:
        async with agent:
            return (await agent.run(TASK)).output

    return script, asyncio.run(work())


@pytest.fixture(scope="module", params=["http", "bridge"])
def carried(request: pytest.FixtureRequest, place: Place) -> tuple[Place, Script, str]:
    script, run_id = carried_out(place.client(request.param))
    return place, script, run_id


def test_the_model_is_told_when_to_search(carried):
    _, script, _ = carried
    assert "call search_playbooks with the task in your own words" in (script.infos[0].instructions or "")


def test_the_model_sees_three_tools_and_their_arguments(carried):
    _, script, _ = carried
    tools = script.infos[0].function_tools
    assert sorted(tool.name for tool in tools) == sorted(NAMES)
    execute = next(tool for tool in tools if tool.name == "execute_playbook")
    assert set(execute.parameters_json_schema["properties"]) == {"name", "inputs", "digest", "task", "run_id"}


def test_the_model_sees_source_version_and_snapshot_on_every_answer(carried):
    place, script, _ = carried
    snapshot = place.registry.get(f"/v1/catalogs/{REPOSITORY}").headers["catalog-digest"]
    found, read, opened = map(as_object, script.shown)
    assert {each["snapshot"] for each in (found, read, opened)} == {snapshot}
    assert {each["state"]["registered"] for each in (found, read, opened)} == {True}
    for each in (found["results"][0], read, opened):
        assert (each["name"], each["version"], each["source"]["kind"]) == ("roll-back", "1.0.0", "central")


def test_the_model_is_told_which_input_is_missing_and_mends_it(carried):
    _, script, _ = carried
    (said,) = map(str, script.mistakes)
    assert "inputs-invalid" in said
    assert "service" in said


def test_the_model_gets_steps_to_carry_out(carried):
    _, script, _ = carried
    opened = as_object(script.shown[2])
    assert [step["tool"] for step in opened["procedure"]["steps"]] == ["shell.run"]
    assert opened["procedure"]["required"] is True


def test_the_run_is_recorded_with_its_task_and_repository(carried):
    place, script, run_id = carried
    kept = place.run(run_id)
    assert (kept["task"], kept["repository"], kept["inputs"]) == (TASK, REPOSITORY, {"service": "checkout"})
    assert (kept["name"], kept["digest"]) == ("roll-back", as_object(script.shown[1])["digest"])


def test_a_playbook_that_nobody_pushed_is_carried_out_over_the_bridge(place: Place):
    fresh = place.copy / "playbooks" / "fresh.yaml"
    fresh.write_text(playbook("take-it-back", purpose=f"When {TASK}.", inputs=INPUTS))
    try:
        script, run_id = carried_out(place.client("bridge"))
    finally:
        fresh.unlink()
    source = place.run(run_id)["source"]
    assert as_object(script.shown[1])["name"] == "take-it-back"
    assert (source["kind"], source["unreviewed"], source["path"]) == ("worktree", True, "playbooks/fresh.yaml")


def test_fastmcps_client_goes_from_search_to_execute_over_the_bridge(place: Place):
    async def work() -> tuple[list[str], dict, dict]:
        async with place.client("bridge") as client:
            tools = [tool.name for tool in await client.list_tools()]
            found = (await client.call_tool("search_playbooks", {"task": TASK})).structured_content
            name, digest = found["results"][0]["name"], found["results"][0]["digest"]
            arguments = {"name": name, "digest": digest, "inputs": {"service": "cart"}}
            opened = await client.call_tool("execute_playbook", arguments)
            assert json.loads(opened.content[0].text) == opened.structured_content
            return tools, found, opened.structured_content

    tools, found, opened = asyncio.run(work())
    assert tools == NAMES
    assert opened["digest"] == found["results"][0]["digest"]
    assert place.run(opened["run_id"])["inputs"] == {"service": "cart"}
