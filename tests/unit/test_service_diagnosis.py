"""Facts about an installation in, findings out: what is wrong, and what to do."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from registry.service.diagnosis import Finding, Grade, diagnose, worst
from registry.service.installation import (
    CentralFacts,
    Facts,
    FolderFacts,
    GitFacts,
    IndexFacts,
    ServerFacts,
    StoreFacts,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
GIB = 2**30
FOLDER = FolderFacts(
    "/data", exists=True, is_folder=True, is_writable=True, free_bytes=9 * GIB, free_bytes_min=GIB // 2
)
STORE = StoreFacts(
    "The store /data/registry.db",
    exists=True,
    schema="0002",
    known=("0001", "0002"),
    newest_at=NOON,
    rule_date=NOON.date(),
    documents=10,
    central="github.com/acme/playbooks",
)
INDEX = IndexFacts(version=3, exists=True, documents=10)
CENTRAL = CentralFacts(
    "https://github.com/acme/playbooks",
    "github.com/acme/playbooks",
    is_configured=True,
    commit="c" * 40,
    ref="refs/heads/main",
)
SERVER = ServerFacts("http://127.0.0.1:8080", 200, is_registry=True, date=NOON, listen="127.0.0.1:8080")
WELL = Facts(NOON, (), (), FOLDER, STORE, INDEX, GitFacts((2, 31), (2, 39, 5)), CENTRAL, SERVER)


def about(check: str, **changes) -> Finding:
    """The one finding of `check` where everything else is well."""
    (found,) = [item for item in diagnose(replace(WELL, **changes)) if item.check == check]
    return found


def test_where_all_is_well_every_check_says_so_and_asks_for_nothing():
    findings = diagnose(WELL)
    assert [(item.check, item.grade, item.todo) for item in findings] == [
        (check, Grade.OK, "")
        for check in ("settings", "data folder", "store", "index", "git", "central", "server", "clock")
    ]


BAD = [
    ("settings", {"settings_faults": ("REGISTRY_LISTEN: expected address:port",)}, Grade.ERROR, "Mend that variable"),
    ("settings", {"settings_doubts": ("REGISTRY_LISTN is not a setting",)}, Grade.WARNING, "Rename"),
    ("data folder", {"folder": replace(FOLDER, is_folder=False)}, Grade.ERROR, "REGISTRY_DATA_DIR"),
    ("data folder", {"folder": replace(FOLDER, is_writable=False)}, Grade.ERROR, "write access"),
    ("data folder", {"folder": replace(FOLDER, exists=False)}, Grade.WARNING, "registry serve"),
    ("data folder", {"folder": replace(FOLDER, free_bytes=GIB // 4)}, Grade.ERROR, "Make room: below 512 MiB"),
    ("data folder", {"folder": replace(FOLDER, free_bytes=GIB)}, Grade.WARNING, "Make room soon"),
    ("store", {"store": replace(STORE, fault="The store is locked. Try again.")}, Grade.ERROR, "Try again."),
    ("store", {"store": replace(STORE, damage="a page is torn")}, Grade.ERROR, "restore the store from a backup"),
    ("store", {"store": replace(STORE, schema="0003")}, Grade.ERROR, "newer version of the program"),
    ("store", {"store": replace(STORE, schema="0001")}, Grade.WARNING, "backup"),
    ("index", {"index": replace(INDEX, damage="a file is gone")}, Grade.ERROR, "builds a new index"),
    ("index", {"index": replace(INDEX, documents=9)}, Grade.WARNING, "adds what is missing"),
    ("index", {"index": IndexFacts(3, exists=False)}, Grade.WARNING, "builds the index"),
    ("index", {"index": IndexFacts(3, exists=False, others=("v2-1",))}, Grade.WARNING, "builds it beside that"),
    ("git", {"git": GitFacts((2, 31), None)}, Grade.ERROR, "Install git 2.31"),
    ("git", {"git": GitFacts((2, 31), (2, 30, 9))}, Grade.ERROR, "Install git 2.31"),
    ("central", {"central": CentralFacts(None)}, Grade.WARNING, "before `registry serve`"),
    ("central", {"central": replace(CENTRAL, state="empty", fault="no branch")}, Grade.ERROR, "Push a first commit"),
    ("central", {"central": replace(CENTRAL, state="new", fault="odd")}, Grade.ERROR, "reaches the host"),
    ("central", {"central": replace(CENTRAL, id="github.com/acme/other")}, Grade.WARNING, "in the place of the old"),
    ("server", {"server": replace(SERVER, status=503, said="never published")}, Grade.ERROR, "registry repositories"),
    ("server", {"server": replace(SERVER, status=200, is_registry=False)}, Grade.ERROR, "REGISTRY_URL"),
    ("clock", {"now": datetime(1970, 1, 2, tzinfo=UTC)}, Grade.ERROR, "NTP"),
    ("clock", {"store": replace(STORE, newest_at=NOON + timedelta(seconds=20))}, Grade.WARNING, "NTP"),
    ("clock", {"store": replace(STORE, newest_at=NOON + timedelta(hours=1))}, Grade.ERROR, "NTP"),
    ("clock", {"server": replace(SERVER, date=NOON - timedelta(seconds=20))}, Grade.WARNING, "NTP"),
    ("clock", {"store": replace(STORE, rule_date=date(2031, 1, 1))}, Grade.ERROR, "Waivers"),
]


@pytest.mark.parametrize(("check", "changes", "grade", "todo"), BAD)
def test_what_is_wrong_is_found_with_what_to_do(check: str, changes: dict, grade: Grade, todo: str):
    found = about(check, **changes)
    assert (found.grade, todo in found.todo) == (grade, True), found


@pytest.mark.parametrize("exists", [True, False])
def test_a_store_that_is_still_to_be_made_is_no_fault(exists: bool):
    assert about("store", store=StoreFacts("The store x", exists=exists, known=("0001",))).grade is Grade.OK


def test_an_index_may_hold_more_than_is_in_force():
    assert about("index", index=replace(INDEX, documents=12)).grade is Grade.OK


def test_a_patch_of_the_least_git_is_enough():
    assert about("git", git=GitFacts((2, 31), (2, 31, 0))).grade is Grade.OK


def test_no_server_is_no_fault_where_none_uses_the_data_folder():
    assert about("server", server=replace(SERVER, status=None)).grade is Grade.OK


def test_a_server_that_uses_the_folder_and_listens_elsewhere_is_pointed_to():
    silent = replace(SERVER, status=None, listen="127.0.0.1:9000")
    found = about("server", server=silent, folder=replace(FOLDER, owner=77))
    assert (found.grade, "REGISTRY_URL=http://127.0.0.1:9000" in found.todo) == (Grade.WARNING, True)


def test_an_answer_that_took_a_moment_is_no_wrong_clock():
    assert about("clock", server=replace(SERVER, date=NOON - timedelta(seconds=3))).grade is Grade.OK


def test_without_valid_settings_what_needs_none_is_still_looked_at():
    blind = Facts(NOON, ("REGISTRY_LISTEN: bad",), (), None, None, None, WELL.git, None, SERVER)
    assert [item.check for item in diagnose(blind)] == ["settings", "git", "server", "clock"]


def test_the_worst_grade_counts():
    found = [Finding("a", Grade.WARNING, ""), Finding("b", Grade.ERROR, ""), Finding("c", Grade.OK, "")]
    assert [worst(tuple(found[:1])), worst(tuple(found)), worst(())] == [Grade.WARNING, Grade.ERROR, Grade.OK]
