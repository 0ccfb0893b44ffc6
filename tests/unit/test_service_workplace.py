"""Facts of a working copy in, findings out: why a host sees nothing, and what to do."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from registry.service.diagnosis import Finding, Grade
from registry.service.installation import ServerFacts
from registry.service.workplace import (
    CacheFacts,
    CatalogFacts,
    CopyFacts,
    EndpointFacts,
    EntryFacts,
    FilesFacts,
    HostFacts,
    RegistrationFacts,
    TokenFacts,
    Workplace,
)
from registry.service.workplace_diagnosis import diagnose_workplace

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
REGISTRY = "https://registry.acme.example"
ID = "github.com/acme/payments"
URL = f"{REGISTRY}/mcp/r/{ID}"
ENTRY = EntryFacts("playbooks", url=URL, registry=REGISTRY, repository=ID, token="REGISTRY_TOKEN", is_token_set=True)
BRIDGE = replace(ENTRY, url=None, command="registry", is_bridge=True, repository=None)
HOST = HostFacts("claude-code", "Claude Code", ".mcp.json", (ENTRY,))
CODEX = HostFacts("codex", "Codex", ".codex/config.toml", (ENTRY,), needs_variable=True)
TOOLS = ("search_playbooks", "get_playbook", "execute_playbook")
COPY = CopyFacts("/src/payments", True, "https://github.com/acme/payments.git", "main", "c" * 40, ID)
SERVER = ServerFacts(REGISTRY, 200, is_registry=True, date=NOON)
TOKEN = TokenFacts(True, "ada", "payments", frozenset({"catalog:read", "playbook:execute"}), reads=True)
NOBODY = TokenFacts(False, reads=True)
REGISTRATION = RegistrationFacts(ID, team="payments", state="ok", playbooks=2)
CATALOG = CatalogFacts(entries=11, age_s=4)
FILES = FilesFacts(playbooks=2)
ENDPOINT = EndpointFacts(URL, 200, version="0.1.0", tools=TOOLS)
WELL = Workplace(
    NOON,
    "0.1.0",
    COPY,
    SERVER,
    CacheFacts("/home/ada/.cache/playbook-registry", is_writable=True),
    token=TOKEN,
    registration=REGISTRATION,
    catalog=CATALOG,
    files=FILES,
    hosts=(HOST, CODEX),
    endpoint=ENDPOINT,
)


def about(check: str, **changes) -> list[Finding]:
    """The findings of a check where everything else is well."""
    return [item for item in diagnose_workplace(replace(WELL, **changes)) if item.check == check]


def test_where_all_is_well_every_check_says_so_and_asks_for_nothing():
    findings = diagnose_workplace(WELL)
    assert {(item.grade, item.todo) for item in findings} == {(Grade.OK, "")}
    assert list(dict.fromkeys(item.check for item in findings)) == [
        "working copy", "repository", "server", "clock", "registration", "token", "catalog", "own files", "host", "mcp",
        "cache",
    ]  # fmt: skip


BAD = [
    ("working copy", {"copy": CopyFacts("/tmp/x", False)}, Grade.ERROR, "clone of the repository"),
    ("working copy", {"copy": CopyFacts("/src/x", True)}, Grade.ERROR, "git remote add origin"),
    ("working copy", {"copy": CopyFacts("/src/x", True, "/srv/x.git")}, Grade.ERROR, "--repository"),
    ("server", {"server": ServerFacts(REGISTRY, None, said="refused")}, Grade.ERROR, "Set REGISTRY_URL"),
    ("server", {"server": ServerFacts(REGISTRY, 200, said="HTTP status 200")}, Grade.ERROR, "Set REGISTRY_URL"),
    ("server", {"server": ServerFacts(REGISTRY, 503, True, "no central")}, Grade.ERROR, "registry doctor"),
    ("clock", {"server": replace(SERVER, date=NOON - timedelta(hours=1))}, Grade.ERROR, "NTP"),
    ("clock", {"now": datetime(2001, 1, 1, tzinfo=UTC)}, Grade.ERROR, "NTP"),
    ("registration", {"registration": RegistrationFacts()}, Grade.WARNING, "registry register https://github.com/acme"),
    ("registration", {"registration": RegistrationFacts(fault="it is busy")}, Grade.ERROR, "Mend that"),
    (
        "registration",
        {"registration": replace(REGISTRATION, problems=("playbooks/a.yaml:1:1 no steps",))},
        Grade.WARNING,
        "--problems",
    ),
    ("registration", {"registration": replace(REGISTRATION, state="pending")}, Grade.WARNING, "in a minute"),
    ("registration", {"registration": replace(REGISTRATION, state="suspended")}, Grade.WARNING, "registry apply"),
    ("registration", {"registration": replace(REGISTRATION, state="unreachable")}, Grade.ERROR, "registry sync"),
    ("token", {"token": TokenFacts(True, fault="it is expired")}, Grade.ERROR, "registry token create"),
    ("token", {"token": NOBODY}, Grade.WARNING, "playbook:execute"),
    ("token", {"token": TokenFacts(False, reads=False)}, Grade.ERROR, "catalog:read"),
    ("token", {"token": replace(TOKEN, reads=False)}, Grade.ERROR, "catalog:read"),
    ("token", {"token": replace(TOKEN, scopes=frozenset({"catalog:read"}))}, Grade.WARNING, "playbook:execute"),
    ("token", {"token": TokenFacts(True)}, Grade.WARNING, "older than this command"),
    ("catalog", {"catalog": CatalogFacts(fault="no answer")}, Grade.ERROR, "Mend that"),
    ("catalog", {"catalog": replace(CATALOG, entries=0)}, Grade.ERROR, "Push playbooks"),
    ("catalog", {"catalog": replace(CATALOG, is_stale=True)}, Grade.WARNING, "serves all the same"),
    ("own files", {"files": FilesFacts(fault="too many")}, Grade.ERROR, "Mend that"),
    ("own files", {"files": FilesFacts(passed_over=("playbooks/x.yaml",))}, Grade.WARNING, "playbook: 1"),
    ("host", {"hosts": ()}, Grade.WARNING, "registry init"),
    ("host", {"hosts": (replace(HOST, entries=()),)}, Grade.WARNING, "registry init"),
    ("mcp", {"endpoint": EndpointFacts(URL, said="reset")}, Grade.ERROR, "proxy"),
    ("mcp", {"endpoint": EndpointFacts(URL, 421, "misdirected", "a name")}, Grade.ERROR, "REGISTRY_MCP_ALLOWED_HOSTS"),
    ("mcp", {"endpoint": EndpointFacts(URL, 401, "unauthenticated", "no")}, Grade.ERROR, "REGISTRY_TOKEN"),
    ("mcp", {"endpoint": EndpointFacts(URL, 404, "route-unknown", "no")}, Grade.ERROR, "upgrade"),
    ("mcp", {"endpoint": EndpointFacts(URL, 500, "", "no")}, Grade.ERROR, "whoever runs it"),
    ("mcp", {"endpoint": replace(ENDPOINT, tools=("one",))}, Grade.ERROR, "Look at the URL"),
    ("cache", {"cache": CacheFacts("/c", is_writable=False)}, Grade.WARNING, "REGISTRY_CACHE_DIR"),
]


@pytest.mark.parametrize(("check", "changes", "grade", "todo"), BAD)
def test_what_is_wrong_is_graded_and_says_what_to_do(check: str, changes: dict, grade: Grade, todo: str):
    (found,) = about(check, **changes)
    assert (found.grade, todo in found.todo) == (grade, True), found


ENTRIES = [
    ({"url": f"{REGISTRY}/mcp", "repository": None}, Grade.WARNING, "central catalog", "registry init"),
    ({"url": "https://x.example/mcp", "repository": None}, Grade.WARNING, "none of a registry's", "--name"),
    ({"repository": "github.com/acme/other"}, Grade.ERROR, "names github.com/acme/other", "registry init"),
    ({"registry": "https://old.example"}, Grade.WARNING, "the registry https://old.example", "If both are one"),
    ({"registry": "https://old.example", "answers": False}, Grade.ERROR, "no registry answers", "registry init"),
    ({"is_off": True}, Grade.WARNING, "switched off", "Switch it on"),
    ({"has_secret": True, "token": None}, Grade.WARNING, "in clear", "Revoke that token"),
]


@pytest.mark.parametrize(("changes", "grade", "said", "todo"), ENTRIES)
def test_an_entry_that_leads_astray_is_told_with_its_file(changes: dict, grade: Grade, said: str, todo: str):
    (found,) = about("host", hosts=(replace(HOST, entries=(replace(ENTRY, **changes),)),))
    assert (found.grade, said in found.found, todo in found.todo) == (grade, True, True), found
    assert found.found.startswith(".mcp.json (Claude Code): ")


def test_a_bridge_that_cannot_be_started_is_told():
    (found,) = about("host", hosts=(replace(HOST, entries=(replace(BRIDGE, is_on_path=False),)),))
    assert (found.grade, "not on the PATH" in found.found) == (Grade.ERROR, True)


def test_a_bridge_that_is_there_is_well():
    (found,) = about("host", hosts=(replace(HOST, entries=(BRIDGE,)),))
    assert (found.grade, found.found) == (Grade.OK, ".mcp.json (Claude Code) starts registry mcp")


def test_a_bridge_that_does_not_know_its_registry_is_told():
    (found,) = about("host", hosts=(replace(HOST, entries=(replace(BRIDGE, registry=None),)),))
    assert (found.grade, "REGISTRY_URL" in found.todo) == (Grade.WARNING, True)


def test_codex_without_its_variable_leaves_the_server_out():
    (found,) = about("host", hosts=(replace(CODEX, entries=(replace(ENTRY, is_token_set=False),)),))
    assert (found.grade, "leaves the server out" in found.found) == (Grade.ERROR, True)


def test_another_host_without_its_variable_reads_where_reading_is_open():
    (found,) = about("host", token=NOBODY, hosts=(replace(HOST, entries=(replace(ENTRY, is_token_set=False),)),))
    assert found.grade is Grade.OK


def test_a_file_without_a_token_is_told_where_reading_needs_one():
    closed = TokenFacts(False, reads=False)
    (found,) = about("host", token=closed, hosts=(replace(HOST, entries=(replace(ENTRY, token=None),)),))
    assert (found.grade, "--with-token" in found.todo) == (Grade.ERROR, True)


def test_a_file_that_cannot_be_read_is_told_and_one_that_git_ignores_too():
    broken = HostFacts("cursor", "Cursor", ".cursor/mcp.json", fault="line 2, column 5")
    found = about("host", hosts=(broken, replace(HOST, is_ignored=True)))
    assert [(item.grade, item.found.partition(" ")[0]) for item in found] == [
        (Grade.ERROR, ".cursor/mcp.json"),
        (Grade.OK, ".mcp.json"),
        (Grade.WARNING, ".mcp.json"),
    ]


def test_every_file_that_does_not_load_has_a_line():
    files = FilesFacts(playbooks=1, broken=("playbooks/a.yaml:3:5 no steps", "playbooks/b.yaml:1:1 no name"))
    found = about("own files", files=files)
    assert [item.grade for item in found] == [Grade.WARNING, Grade.WARNING, Grade.OK]
    assert found[0].found == "not read: playbooks/a.yaml:3:5 no steps"


def test_a_note_that_says_again_what_a_broken_file_said_is_left_out():
    files = FilesFacts(playbooks=1, broken=("playbooks/a.yaml:3:5 no steps",))
    notes = (
        "playbooks/a.yaml:3:5 does not load, so it is not used: no steps.",
        "playbooks/r.yaml is not used: r is required.",
    )
    found = about("own files", files=files, catalog=replace(CATALOG, notes=notes))
    assert [item.found for item in found][:2] == [
        "not read: playbooks/a.yaml:3:5 no steps",
        "playbooks/r.yaml is not used: r is required",
    ]


def test_what_the_author_changed_is_named():
    (found,) = about("own files", catalog=replace(CATALOG, changed=("deploy",)))
    assert "deploy not as served" in found.found


def test_a_name_that_nobody_serves_is_told():
    found = about("catalog", catalog=replace(CATALOG, unavailable=("deploy",)))
    assert [(item.grade, "deploy" in item.found) for item in found] == [(Grade.OK, False), (Grade.WARNING, True)]


def test_a_url_out_of_a_file_is_told_and_was_asked_without_a_token():
    found = about("server", url_from=".mcp.json")
    assert [item.grade for item in found] == [Grade.WARNING, Grade.OK]
    assert f"REGISTRY_URL={REGISTRY}" in found[0].todo


def test_another_version_than_this_command_is_said():
    (found,) = about("server", endpoint=replace(ENDPOINT, version="9.0.0"))
    assert "version 9.0.0 (this command is 0.1.0)" in found.found


def test_what_could_not_be_looked_at_is_left_out():
    found = diagnose_workplace(Workplace(NOON, "0.1.0", COPY, ServerFacts(REGISTRY, None), WELL.cache))
    assert [item.check for item in found] == ["working copy", "repository", "server", "host", "cache"]
