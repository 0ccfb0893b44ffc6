"""Playbooks in other forms, in a whole registry: what is exported is read again, served again, and says the same."""

import hashlib
import json
from pathlib import Path

import jsonschema
import pytest
from api_registry import AS_ADMIN, served
from cli import run

from registry.playbook.export.fields import FORMS
from registry.playbook.reading import read_file

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "central" / "playbooks"
SKILL = """\
---
name: Roll_Back
description: "Take a deploy back: use it when errors rise."
license: MIT
allowed-tools: Bash(git log:*) Read
---

# Roll back

Run scripts/back.sh with ${{ inputs.version }}.
"""
RUNBOOK = {
    "runbook_id": "fail-over",
    "title": "Fail over",
    "mode": "required",
    "allowed_tools": ["db.*"],
    "checkpoints": [{"id": "cp", "kind": "tool_call", "match": {"tool": "db.promote"}, "weight": 3}],
}
OPENPLAYBOOK = {
    "name": "answer-refund",
    "version": "2",
    "purpose": "Answer a refund.",
    "tools": [{"name": "refunds.pay", "source": "connector", "riskClass": "money", "sideEffecting": True}],
    "requires": {"mcpServers": [{"name": "refunds", "tools": ["refunds.get"]}], "secrets": []},
    "steps": [
        {"id": "look", "kind": "agent", "prompt": "Look at it.", "allowedTools": ["refunds.get"], "next": "wait"},
        {"id": "wait", "kind": "approval", "who": "finance"},
        {"id": "pay", "prompt": "Pay {{ amount }}.", "allowedTools": ["refunds.pay"]},
    ],
}
FILES = {
    "skills/roll-back/SKILL.md": SKILL,
    "skills/roll-back/scripts/back.sh": "#!/bin/sh\n",
    "skills/roll-back/logo.png": b"\x89PNG\x00",
    "playbooks/fail-over.runbook.json": json.dumps(RUNBOOK),
    "playbooks/refund.openplaybook.json": json.dumps(OPENPLAYBOOK),
}
NAMES = ("roll-back", "fail-over", "answer-refund")
NATIVE = ("deploy-rollback", "hand-over-on-call", "renew-certificate")
PAYMENTS = "local/acme/payments"


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    central = {
        f"playbooks/{path.relative_to(EXAMPLES)}": path.read_text()
        for path in EXAMPLES.rglob("*.*")
        if path.stem in NATIVE
    }
    with served(tmp_path_factory.mktemp("exports"), central) as found:
        found.repository("payments").commit(FILES)
        assert found.register("payments").status_code == 201
        yield found


def get(registry, name, form=None, **options):
    params = {"repository": PAYMENTS, **({"as": form} if form else {}), **options.pop("params", {})}
    return registry.client.get(f"/v1/playbooks/{name}", params=params, **options)


def exported(registry, name, form, **options):
    answer = get(registry, name, form, **options)
    assert answer.status_code == 200, answer.text
    return answer


@pytest.mark.parametrize("name", NAMES)
def test_an_original_is_the_file_in_git(registry, name):
    written = {path: text.encode() if isinstance(text, str) else text for path, text in FILES.items()}
    source = get(registry, name).json()["source"]
    assert exported(registry, name, "original").content == written[source["path"]]


@pytest.mark.parametrize("name", NATIVE)
def test_a_native_playbook_that_was_exported_serves_elsewhere_with_the_same_digest(registry, name):
    answer = exported(registry, name, "native")
    file_name = answer.headers["content-disposition"].partition('filename="')[2].rstrip('"')
    repository = f"copy-of-{name}"
    registry.repository(repository).commit({f".playbooks/{file_name}": answer.content})
    assert registry.register(repository).status_code == 201
    here = get(registry, name, params={"repository": f"local/acme/{repository}"}).json()
    assert (here["source"]["kind"], here["digest"]) == ("local", get(registry, name).json()["digest"])


def test_every_form_of_every_playbook_serves_again(registry):
    files: dict[str, bytes] = {}
    for name in (*NAMES, *NATIVE):
        native = exported(registry, name, "native")
        ending = "md" if native.headers["content-type"].startswith("text/markdown") else "yaml"
        files[f"playbooks/{name}.{ending}"] = native.content.replace(b"name: ", b"name: native-", 1)
        skill = exported(registry, name, "skill").content
        for old in (f"name: {name}", "name: Roll_Back"):
            skill = skill.replace(old.encode(), f"name: skill-{name}".encode(), 1)
        files[f"skills/skill-{name}/SKILL.md"] = skill
    registry.repository("again").commit(files)
    assert registry.register("again").status_code == 201
    catalog = registry.client.get("/v1/catalogs/local/acme/again").json()
    serving = {entry["name"] for entry in catalog["entries"] if entry["source"]["kind"] == "local"}
    assert serving == {f"{form}-{name}" for name in (*NAMES, *NATIVE) for form in ("native", "skill")}
    assert catalog["problems"] == []


@pytest.mark.parametrize("name", [*NATIVE, "fail-over", "answer-refund"])
def test_a_rendered_skill_is_read_without_a_warning(registry, name):
    reading = read_file(f"skills/{name}/SKILL.md", exported(registry, name, "skill").content)
    assert (reading.problems, reading.playbook.key) == ((), name)


def test_what_has_no_place_in_a_native_playbook_is_kept_beside(registry):
    skill = read_file("a.md", exported(registry, "roll-back", "native").content)
    aside = read_file("playbooks/a.yaml", exported(registry, "roll-back", "native").content).playbook.contract["extra"]
    assert skill.playbook is None  # its body is full of another tool's templates, so it is YAML and no Markdown
    assert aside["x-skill"]["license"] == "MIT"
    assert "${{ inputs.version }}" in aside["x-skill"]["instructions"]
    assert [each["path"] for each in aside["x-skill"]["files"]] == ["logo.png", "scripts/back.sh"]


@pytest.mark.parametrize("name", [*NATIVE, *NAMES])
def test_a_tool_definition_can_be_listed(registry, name):
    answer = exported(registry, name, "mcp-tool")
    tool = answer.json()
    assert answer.headers["content-type"] == "application/json"
    assert tool["name"] == name
    assert tool["_meta"]["playbook-registry/digest"] == answer.headers["playbook-digest"]
    jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])


def test_a_playbook_that_moves_money_is_no_harmless_tool(registry):
    hints = exported(registry, "answer-refund", "mcp-tool").json()["annotations"]
    assert (hints["readOnlyHint"], hints["destructiveHint"]) == (False, True)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_has_a_tag_of_its_bytes_and_answers_304(registry, form):
    answer = exported(registry, "deploy-rollback", form, headers={"Accept-Encoding": "identity"})
    tag = f'"sha256:{hashlib.sha256(answer.content).hexdigest()}+{form}"'
    again = get(registry, "deploy-rollback", form, headers={"If-None-Match": f'W/{tag[:-1]}+zstd"'})
    assert (answer.headers["etag"], again.status_code, again.content) == (tag, 304, b"")
    assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize("form", FORMS)
def test_no_browser_takes_a_form_for_a_page(registry, form):
    headers = exported(registry, "deploy-rollback", form).headers
    assert headers["content-disposition"].startswith("attachment;")
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-cache")
    assert "sandbox" in headers["content-security-policy"]


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_form_comes_compressed_where_that_is_accepted(registry, coding):
    plain = exported(registry, "deploy-rollback", "skill", headers={"Accept-Encoding": "identity"})
    coded = exported(registry, "deploy-rollback", "skill", headers={"Accept-Encoding": coding})
    assert (coded.headers["content-encoding"], coded.content) == (coding, plain.content)
    assert coded.headers["etag"] == plain.headers["etag"][:-1] + f'+{coding}"'


def test_head_has_the_headers_of_the_form(registry):
    wanted = {"headers": {"Accept-Encoding": "identity"}}
    answer = exported(registry, "deploy-rollback", "native", **wanted)
    params = {"repository": PAYMENTS, "as": "native"}
    head = registry.client.head("/v1/playbooks/deploy-rollback", params=params, **wanted)
    assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", answer.headers["etag"])
    assert head.headers["content-length"] == str(len(answer.content))


def test_an_unknown_form_is_400_with_those_there_are(registry):
    answer = get(registry, "deploy-rollback", "pdf")
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/request-invalid")
    assert all(form in answer.json()["detail"] for form in FORMS)


@pytest.mark.parametrize(("params", "status"), [({"version": "9.9.9"}, 404), ({"digest": "sha256:" + "0" * 64}, 404)])
def test_an_exact_copy_never_falls_back(registry, params, status):
    assert get(registry, "deploy-rollback", "native", params=params).status_code == status


def test_a_copy_that_does_not_serve_says_so(registry):
    text = (EXAMPLES / "deploy" / "deploy-rollback.yaml").read_text()
    registry.repository("own").commit(
        {"playbooks/deploy-rollback.yaml": text.replace("version: 3.1.0", "version: 9.0.0")}
    )
    assert registry.register("own").status_code == 201
    params = {"repository": "local/acme/own"}
    version = get(registry, "deploy-rollback").json()["version"]
    for asked, serves in (({}, "true"), ({"version": version}, "false")):
        answer = exported(registry, "deploy-rollback", "native", params={**params, **asked})
        copy = get(registry, "deploy-rollback", params={**params, **asked}).json()
        assert answer.headers["playbook-serves"] == str(copy["serves"]).lower() == serves
        assert answer.headers["playbook-version"] == copy["version"]


def test_the_name_of_a_file_in_git_cannot_reach_into_the_headers(registry):
    path = 'playbooks/a"; filename="evil.html\u00e9.yaml'
    registry.repository("odd").commit(
        {path: "playbook: 1\nname: odd\nversion: '1'\nowner: o\npurpose: p\nsteps: [{id: a, instruction: b}]\n"}
    )
    assert registry.register("odd").status_code == 201
    answer = exported(registry, "odd", "original", params={"repository": "local/acme/odd"})
    assert answer.headers["content-disposition"] == (
        'attachment; filename="a___filename__evil.html_.yaml"; '
        "filename*=UTF-8''a%22%3B%20filename%3D%22evil.html%C3%A9.yaml"
    )


def test_the_command_writes_a_skill_that_is_the_one_in_git(registry, tmp_path):
    result = run(
        *("export", "roll-back", "--repository", PAYMENTS, "--as", "skill", "--output", str(tmp_path)),
        REGISTRY_URL=str(registry.client.base_url),
        REGISTRY_TOKEN=AS_ADMIN["Authorization"].removeprefix("Bearer "),
    )
    assert result.exit_code == 0, result.stderr
    there = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert there == {
        path.removeprefix("skills/"): text.encode() if isinstance(text, str) else text
        for path, text in FILES.items()
        if path.startswith("skills/")
    }


def test_what_the_command_writes_is_what_the_registry_reads(registry, tmp_path):
    command = ("export", "deploy-rollback", "--as", "native", "--output", str(tmp_path))
    assert run(*command, REGISTRY_URL=str(registry.client.base_url), REGISTRY_TOKEN="").exit_code == 0
    written = (tmp_path / "deploy-rollback.yaml").read_bytes()
    reading = read_file("playbooks/deploy-rollback.yaml", written)
    assert reading.playbook.digest == get(registry, "deploy-rollback").json()["digest"]
