"""What every store keeps to with runs (registry.ports.RunStore). On SQLite and on PostgreSQL."""

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from store_places import APP, NOON, PLACES, place

from registry.errors import Conflict
from registry.runs.record import Run, RunState, run_id
from registry.store.sql import open_store

OTHER = "git.example/acme/other"


@pytest.fixture(params=PLACES)
def url(request, tmp_path):
    with place(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def store(url):
    opened = open_store(url)
    yield opened
    opened.close()


def run(number: int = 0, **values) -> Run:
    """A run opened `number` seconds after noon."""
    at = NOON + timedelta(seconds=number)
    given = {
        "id": run_id(at, number.to_bytes(10)),
        "name": "rotate-keys",
        "version": "1.2.0",
        "digest": "sha256:d",
        "source": {"kind": "local", "repository": APP, "commit": "c" * 40, "path": "playbooks/r.yaml", "blob": "b"},
        "snapshot": "sha256:s",
        "repository": APP,
        "task": "rotate the key",
        "principal": "ci-app",
        "inputs": {"key": "a", "deep": [{"b": None, "c": 1.5}], "flag": True},
        "opened_at": at,
        "state": RunState.OPEN,
        "team": "payments",
    }
    return Run(**{**given, **values})


FULL = run(request_key="k", request="sha256:r", defaulted=("/flag", "/deep/0/b"))


def ids(runs) -> list[str]:
    return [each.id for each in runs]


def put(store, *runs: Run) -> None:
    for each in runs:
        store.put_run(each)


def test_a_run_comes_back_as_it_was(store):
    put(store, FULL)
    assert store.run(FULL.id) == FULL


def test_a_run_without_what_may_be_absent_comes_back(store):
    bare = run(repository=None, task=None, team=None, inputs={})
    put(store, bare)
    assert store.run(bare.id) == bare


@pytest.mark.parametrize("text", ["\0", "{{ inputs.x }}", "'; DROP TABLE runs; --", "\u2028é\U0001f600", "__proto__"])
def test_hostile_inputs_come_back_as_they_were(store, text):
    put(store, run(inputs={text: text}))
    assert store.run(run().id).inputs == {text: text}


def test_a_run_that_is_not_there_is_none(store):
    assert store.run(run().id) is None


def test_an_id_is_taken_once(store):
    put(store, run())
    with pytest.raises(Conflict):
        put(store, run())


def test_a_key_of_a_request_is_taken_once_by_a_principal(store):
    put(store, run(1, request_key="k"))
    with pytest.raises(Conflict):
        put(store, run(2, request_key="k"))


def test_two_principals_may_use_one_key(store):
    put(store, run(1, request_key="k"), run(2, request_key="k", principal="somebody-else"))
    assert store.run_by_key("somebody-else", "k").id == run(2).id


def test_runs_without_a_key_do_not_meet(store):
    put(store, run(1), run(2))
    assert len(store.runs(limit=10)) == 2


def test_no_run_has_a_key_that_nobody_used(store):
    put(store, run())
    assert store.run_by_key("ci-app", "k") is None


def test_runs_are_listed_newest_first(store):
    put(store, run(1), run(3), run(2))
    assert ids(store.runs(limit=10)) == [run(3).id, run(2).id, run(1).id]


def test_a_list_is_as_long_as_it_may_be_and_goes_on_before_an_id(store):
    put(store, *(run(number) for number in range(5)))
    first = store.runs(limit=2)
    assert ids(first) == [run(4).id, run(3).id]
    assert ids(store.runs(limit=2, before=first[-1].id)) == [run(2).id, run(1).id]


def test_runs_of_one_repository_and_of_one_name_can_be_listed(store):
    put(store, run(1), run(2, repository=OTHER), run(3, name="other"), run(4, repository=OTHER, name="other"))
    assert ids(store.runs(repository=OTHER, limit=9)) == [run(4).id, run(2).id]
    assert ids(store.runs(name="other", limit=9)) == [run(4).id, run(3).id]
    assert ids(store.runs(repository=OTHER, name="other", limit=9)) == [run(4).id]


def test_a_principal_sees_its_own_runs_and_its_teams(store):
    put(
        store, run(1), run(2, team="checkout"), run(3, team="checkout", principal="x"), run(4, team=None, principal="x")
    )
    assert ids(store.runs(seen_by=("ci-app", None), limit=9)) == [run(2).id, run(1).id]
    assert ids(store.runs(seen_by=("nobody", "checkout"), limit=9)) == [run(3).id, run(2).id]
    assert ids(store.runs(seen_by=("nobody", None), limit=9)) == []


def test_a_principal_of_no_team_does_not_see_the_runs_of_no_team(store):
    put(store, run(1, team=None, principal="x"))
    assert store.runs(seen_by=("nobody", None), limit=9) == ()


def test_a_run_moves_the_sequence_and_changes_nothing_in_force(store):
    put(store, run(1))
    before = store.sequence()
    put(store, run(2))
    changes = store.changes_since(before)
    assert (changes.sequence, changes.pointers, changes.registrations, changes.rules) == (before + 1, (), (), None)


def test_another_opening_sees_a_run(store, url):
    put(store, run())
    second = open_store(url)
    try:
        assert second.run(run().id) == run()
    finally:
        second.close()


WRITER = """
import sys
from test_store_runs import run
from registry.store.sql import open_store
store = open_store(sys.argv[1])
number = 0
while True:
    store.put_run(run(number))
    print(number, flush=True)
    number += 1
"""


def test_a_killed_process_has_stored_every_run_that_it_said(url):
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
    child = subprocess.Popen([sys.executable, "-c", WRITER, url], stdout=subprocess.PIPE, text=True, env=environment)
    said = [child.stdout.readline() for _ in range(20)]
    child.send_signal(signal.SIGKILL)
    said += child.communicate(timeout=30)[0].splitlines(keepends=True)
    store = open_store(url)
    try:
        assert {run(int(line)).id for line in said if line.endswith("\n")} <= set(ids(store.runs(limit=100_000)))
        assert store.run(run(7).id) == run(7)
    finally:
        store.close()
