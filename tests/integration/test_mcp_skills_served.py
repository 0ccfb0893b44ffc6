"""Skills of a served registry, read by real hosts in both eras: whose they are, what they hold, and what stays hidden."""

import asyncio
import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastmcp import Client as FastClient
from fastmcp.skills import SkillsClientExtension
from gitserver import GitRepo
from mcp.client import Client
from mcp_hosts import MODERN, legacy, modern, with_client
from serving import AS_ADMIN, Registry, serving
from world import playbook, running

from policies.decision import Side

PAY, SHIP = "github.com/acme/pay", "github.com/acme/ship"
AT_PAY, AT_SHIP = f"/mcp/r/{PAY}", f"/mcp/r/{SHIP}"
LOGS = (
    "---\nname: attach-logs\ndescription: Attach the logs of an incident to its ticket.\nlicense: Apache-2.0\n"
    'metadata:\n  version: "1.2.0"\n---\n\n# Attach logs\n\nRead references/where.md, run scripts/collect.sh.\r\n'
)
PICTURE = b"\x89PNG\r\n\x1a\n\x00\xff"
RUNBOOK = {
    "schema": "runbook.v1",
    "runbook_id": "rotate-signing-key",
    "title": "Rotate",
    "description": "Rotate the signing key.",
    "version": "1.2.0",
    "owner": "security",
    "mode": "required",
}
OPEN = {
    "name": "refund-order",
    "version": "2.0.0",
    "purpose": "Refund an order.",
    "owner": "payments",
    "steps": [{"id": "refund", "kind": "agent", "prompt": "Refund it."}],
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """Two services with a roll-back of their own, one with a shortcut around a required playbook."""
    folder: Path = tmp_path_factory.mktemp("mcp-skills")
    central = GitRepo(folder / "git" / "acme" / "playbooks")
    central.commit(
        {
            "skills/attach-logs/SKILL.md": LOGS,
            "skills/attach-logs/references/where.md": "# Where\n",
            "skills/attach-logs/scripts/collect.sh": "#!/bin/sh\n",
            "skills/attach-logs/assets/map (1).png": PICTURE,
            "playbooks/roll-back.yaml": playbook("roll-back", purpose="Roll back a bad release."),
            "playbooks/drop-data.yaml": playbook("drop-data", purpose="Drop data.", required="true"),
            "playbooks/rotate.runbook.json": json.dumps(RUNBOOK),
            "playbooks/refund.openplaybook.json": json.dumps(OPEN),
            "playbooks/gone.yaml": playbook("gone", purpose="What was withdrawn."),
        }
    )
    with serving(folder / "data", central_url=central.url, poll_interval_s=3_600) as found:
        for name in ("pay", "ship"):
            repo = GitRepo(folder / "git" / "acme" / name)
            files = {"playbooks/roll-back.yaml": playbook("roll-back", version="2.0.0", purpose=f"Roll back {name}.")}
            if name == "pay":
                files["playbooks/drop-data.yaml"] = playbook("drop-data", version="9.0.0", purpose="A shortcut.")
            repo.commit(files)
            found.register(f"github.com/acme/{name}", repo.url)
        digest = found.get("/v1/playbooks/gone").json()["digest"]
        answer = found.client.put(
            "/v1/policy/withdrawn/gone", params={"digest": digest}, json={"reason": "wrong"}, headers=AS_ADMIN
        )
        assert answer.status_code == 200, answer.text
        yield found


def skills(registry: Registry, path: str) -> dict[str, dict]:
    """URI -> entry of all that is listed there."""
    answer = modern(registry.client, path, "skills/list")
    assert answer.status_code == 200, answer.text
    return {entry["uri"]: entry for entry in answer.json()["result"]["skills"]}


def read(registry: Registry, path: str, uri: str) -> bytes:
    answer = modern(registry.client, path, "resources/read", {"uri": uri})
    assert answer.status_code == 200, answer.text
    (contents,) = answer.json()["result"]["contents"]
    return contents["text"].encode() if "text" in contents else base64.b64decode(contents["blob"])


def error(registry: Registry, path: str, method: str, uri: str) -> dict:
    found: dict = modern(registry.client, path, method, {"uri": uri}).json()["error"]
    return found


def url(registry: Registry, path: str) -> str:
    return str(registry.client.base_url).rstrip("/") + path


def test_the_extension_is_declared_with_what_it_does(registry: Registry):
    capabilities = modern(registry.client, "/mcp", "server/discover").json()["result"]["capabilities"]
    assert capabilities["extensions"] == {"io.modelcontextprotocol/skills": {"directoryRead": True}}
    assert "resources" in capabilities


def test_every_format_is_offered_as_a_skill(registry: Registry):
    assert list(skills(registry, "/mcp")) == [
        f"skill://central/{name}/SKILL.md"
        for name in ("attach-logs", "drop-data", "refund-order", "roll-back", "rotate-signing-key")
    ]


def test_a_skill_is_read_as_it_was_committed(registry: Registry):
    root = "skill://central/attach-logs"
    assert read(registry, AT_PAY, f"{root}/SKILL.md") == LOGS.encode()
    assert read(registry, AT_PAY, f"{root}/assets/map%20%281%29.png") == PICTURE
    assert read(registry, AT_PAY, f"{root}/scripts/collect.sh") == b"#!/bin/sh\n"


def test_a_repository_lists_its_own_effective_catalog(registry: Registry):
    found = skills(registry, AT_SHIP)
    local, central = (found[f"skill://{side}/roll-back/SKILL.md"] for side in ("local", "central"))
    assert local["_meta"]["playbook-registry/effective"] is True
    assert central["_meta"]["playbook-registry/effective"] is False
    assert local["frontmatter"]["description"] == "Roll back ship."
    assert b"Roll back ship." in read(registry, AT_SHIP, local["uri"])


def test_a_refused_copy_is_told_by_digest_and_cannot_be_read(registry: Registry):
    answer = modern(registry.client, AT_PAY, "skills/list").json()["result"]
    (refused,) = answer["_meta"]["playbook-registry/refused"]
    assert (refused["name"], refused["version"]) == ("drop-data", "9.0.0")
    assert "shortcut" not in json.dumps(answer)
    for method in ("skills/get", "resources/read"):
        assert error(registry, AT_PAY, method, "skill://local/drop-data/SKILL.md")["code"] == -32602


def test_a_withdrawn_copy_is_neither_listed_nor_read(registry: Registry):
    uri = "skill://central/gone/SKILL.md"
    assert uri not in skills(registry, "/mcp")
    assert error(registry, "/mcp", "resources/read", uri)["code"] == -32602


@pytest.mark.parametrize(
    "uri",
    [
        "skill://central/attach-logs/../roll-back/SKILL.md",
        "skill://central/attach-logs/%2e%2e/roll-back/SKILL.md",
        "skill://central/attach-logs/references/%2e%2e/SKILL.md",
        "skill://central/attach-logs/SKILL%2Emd",
        "skill://central/attach-logs/references%2Fwhere.md",
        "skill://central/attach-logs",
        "skill://central/attach-logs/references",
        "skill://central/nothing-like-it/SKILL.md",
        "skill://local/attach-logs/SKILL.md",
        f"skill://{SHIP}/roll-back/SKILL.md",
        "skill://ship/roll-back/SKILL.md",
        "file:///etc/passwd",
        "test://x",
    ],
)
def test_any_other_uri_is_an_unknown_resource(registry: Registry, uri: str):
    found = error(registry, AT_PAY, "resources/read", uri)
    assert (found["code"], found["data"]) == (-32602, {"uri": uri})


@pytest.mark.parametrize("params", [{}, {"uri": 7}, {"uri": ""}])
def test_a_uri_is_needed(registry: Registry, params: dict):
    answer = modern(registry.client, "/mcp", "skills/get", params)
    assert answer.json()["error"]["code"] == -32602


def test_a_supporting_file_is_no_skill(registry: Registry):
    assert error(registry, "/mcp", "skills/get", "skill://central/attach-logs/scripts/collect.sh")["code"] == -32602


def test_a_folder_is_read_one_level_at_a_time(registry: Registry):
    answer = modern(registry.client, "/mcp", "resources/directory/read", {"uri": "skill://central/attach-logs"})
    assert [child["uri"].rpartition("/")[2] for child in answer.json()["result"]["resources"]] == [
        "SKILL.md",
        "assets",
        "references",
        "scripts",
    ]


def test_a_cursor_of_nobody_is_refused(registry: Registry):
    for method in ("skills/list", "resources/list", "resources/templates/list"):
        answer = modern(registry.client, "/mcp", method, {"cursor": "bm90IGEgbmFtZQ"})
        assert answer.json()["error"]["code"] == -32602


def test_answers_may_be_kept_for_a_while_and_by_nobody_else(registry: Registry):
    for method, params in (
        ("skills/list", {}),
        ("skills/get", {"uri": "skill://central/roll-back/SKILL.md"}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "skill://central/roll-back/SKILL.md"}),
    ):
        result = modern(registry.client, "/mcp", method, params).json()["result"]
        assert (result["ttlMs"], result["cacheScope"]) == (60_000, "private"), method


def test_an_answer_for_a_working_copy_that_the_host_names_may_not_be_kept(registry: Registry):
    said = {"workspaces": {"/w": {"associated_remote_urls": {"origin": f"https://{SHIP}"}}}}
    result = modern(registry.client, "/mcp", "skills/list", meta={"x-codex-turn-metadata": said}).json()["result"]
    assert result["ttlMs"] == 0
    assert "skill://local/roll-back/SKILL.md" in {entry["uri"] for entry in result["skills"]}


def test_the_older_era_has_no_members_of_the_newer(registry: Registry):
    for method, params in (
        ("skills/list", {}),
        ("resources/list", {}),
        ("resources/read", {"uri": "skill://central/roll-back/SKILL.md"}),
    ):
        result = legacy(registry.client, AT_PAY, method, params).json()["result"]
        assert not {"ttlMs", "cacheScope", "resultType"} & result.keys(), method


def test_the_older_era_lists_what_the_newer_lists(registry: Registry):
    older = legacy(registry.client, AT_PAY, "skills/list").json()["result"]["skills"]
    assert {entry["uri"]: entry for entry in older} == skills(registry, AT_PAY)


@pytest.mark.parametrize("mode", ["auto", "legacy", MODERN])
def test_the_sdks_client_lists_and_reads_skills(registry: Registry, mode: str):
    async def use(client: Client) -> list[bytes]:
        listed = await client.list_resources()
        entries = skills(registry, AT_PAY)
        assert [str(resource.uri) for resource in listed.resources] == list(entries)
        found = []
        for resource in listed.resources:
            (contents,) = (await client.read_resource(resource.uri)).contents
            data = contents.text.encode()
            assert hashlib.sha256(data).hexdigest() == entries[str(resource.uri)]["resources"][0]["digest"][7:]
            assert len(data) == resource.size
            found.append(data)
        templates = await client.list_resource_templates()
        assert [template.uri_template for template in templates.resource_templates] == [
            f"skill://{side.value}/{{name}}/{{+path}}" for side in Side
        ]
        return found

    assert LOGS.encode() in with_client(url(registry, AT_PAY), mode, use)


def test_a_host_of_skills_verifies_every_file_of_every_skill(registry: Registry):
    async def use() -> dict[str, set[str]]:
        async with FastClient(url(registry, AT_PAY), extensions=[SkillsClientExtension()]) as client:
            entries = await client.list_skills()
            return {entry.uri: set((await client.read_skill(entry.uri)).files) for entry in entries}

    found = asyncio.run(use())
    assert found["skill://central/attach-logs/SKILL.md"] == {
        "SKILL.md",
        "assets/map (1).png",
        "references/where.md",
        "scripts/collect.sh",
    }
    assert "skill://local/roll-back/SKILL.md" in found


def test_two_repositories_are_never_mixed_up_on_one_client_and_in_parallel(registry: Registry):
    uri = "skill://local/roll-back/SKILL.md"

    async def ask(path: str, client: Client) -> bytes:
        (contents,) = (await client.read_resource(uri, cache_mode="bypass")).contents
        assert f"Roll back {path}.".encode() in contents.text.encode()
        return contents.text.encode()

    async def use() -> list[bytes]:
        async with Client(url(registry, AT_PAY)) as pay, Client(url(registry, AT_SHIP)) as ship:
            return await asyncio.gather(
                *(ask(name, client) for _ in range(50) for name, client in (("pay", pay), ("ship", ship)))
            )

    assert len(set(asyncio.run(use()))) == 2


def test_there_are_no_prompts_and_the_list_says_so(registry: Registry):
    assert modern(registry.client, "/mcp", "prompts/list").json()["result"]["prompts"] == []
    answer = modern(registry.client, "/mcp", "prompts/get", {"name": "any"}, headers={"mcp-name": "any"})
    assert answer.json()["error"]["code"] == -32602
    assert legacy(registry.client, "/mcp", "prompts/list").json()["result"] == {"prompts": []}


def test_a_skill_that_changed_is_read_as_it_is_listed_now(tmp_path: Path):
    with running(tmp_path, {"skills/a/SKILL.md": "---\nname: a\ndescription: Do a.\n---\nOne.\n"}) as world:
        skills = world.services.skills
        before = skills.find(None, Side.CENTRAL, "a")
        world.central.commit({"skills/a/SKILL.md": "---\nname: a\ndescription: Do a.\n---\nTwo.\n"})
        world.sync_central()
        world.services.refresh()
        after = skills.find(None, Side.CENTRAL, "a")
        assert skills.read(after, "SKILL.md").endswith(b"Two.\n")
        assert before.package.files[0].digest != after.package.files[0].digest


def test_a_long_catalog_is_listed_in_pages_without_a_gap(tmp_path: Path):
    names = [f"task-{number:03d}" for number in range(230)]
    with running(tmp_path, {f"playbooks/{name}.yaml": playbook(name) for name in names}) as world:
        found, after, pages = [], None, 0
        while True:
            page = world.services.skills.page(None, after=after)
            found += [skill.package.name for skill in page.skills]
            pages += 1
            if page.next_after is None:
                break
            after = page.next_after
        assert (found, pages) == (names, 3)


def test_a_page_ends_early_where_its_entries_are_long(tmp_path: Path):
    text = "---\nname: {name}\ndescription: Do it.\nnotes: {notes}\n---\nBody.\n"
    files = {
        f"skills/s{number:02d}/SKILL.md": text.format(name=f"s{number:02d}", notes="n" * 60_000) for number in range(40)
    }
    with running(tmp_path, files) as world:
        page = world.services.skills.page(None)
        assert 10 < len(page.skills) < 20
        assert page.next_after == page.skills[-1].package.name
