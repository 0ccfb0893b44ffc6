from datetime import UTC, datetime, timedelta, timezone

import pytest

from registry.runs.record import Run, is_run_id, run_id

AT = datetime(2026, 3, 1, 12, 0, 0, 5000, tzinfo=UTC)


def run(**values) -> Run:
    given = {
        "id": run_id(AT, bytes(10)),
        "name": "rotate-keys",
        "version": "1",
        "digest": "sha256:d",
        "source": {"kind": "central"},
        "snapshot": "sha256:s",
        "repository": None,
        "task": None,
        "principal": "ci",
        "inputs": {},
        "opened_at": AT,
    }
    return Run(**{**given, **values})


def test_ids_sort_by_the_millisecond_whatever_their_chance():
    early = run_id(AT, b"\xff" * 10)
    assert early < run_id(AT + timedelta(milliseconds=1), bytes(10))


def test_two_ids_of_one_millisecond_differ_by_their_chance():
    assert run_id(AT, bytes(10)) != run_id(AT, bytes(9) + b"\1")


def test_the_same_instant_gives_the_same_id_in_any_time_zone():
    assert run_id(AT, bytes(10)) == run_id(AT.astimezone(timezone(timedelta(hours=5))), bytes(10))


def test_an_id_needs_its_whole_chance():
    with pytest.raises(ValueError, match="10 random bytes"):
        run_id(AT, bytes(9))


def test_an_id_has_the_form_of_one():
    assert is_run_id(run_id(AT, b"\xa5" * 10))


@pytest.mark.parametrize(
    "text", ["", "run_", "run_1", "01" * 13, "run_" + "i" * 26, "run_" + "A" * 26, "run_" + "0" * 27]
)
def test_other_text_has_not(text):
    assert not is_run_id(text)


def test_a_run_is_shown_with_the_members_of_the_wire():
    assert list(run().to_json()) == [
        "id", "name", "version", "digest", "source", "snapshot", "repository", "task", "principal", "inputs",
        "opened_at", "state",
    ]  # fmt: skip


def test_a_new_run_is_open():
    assert run().to_json()["state"] == "open"


def test_the_instant_is_shown_in_utc():
    assert run(opened_at=AT.astimezone(timezone(timedelta(hours=5)))).to_json()["opened_at"] == "2026-03-01T12:00:00Z"


def test_what_the_registry_keeps_for_itself_is_not_shown():
    shown = str(run(team="payments", request_key="my-key", request="sha256:r", defaulted=("/a",)).to_json())
    assert not any(word in shown for word in ("payments", "my-key", "sha256:r", "/a"))
