"""Runs that a host opens: by the registry, or of a working copy's playbook, which is bound here and recorded there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from registry.client.connection import Answer, Connection, segment
from registry.client.documents import Document
from registry.client.following import State
from registry.client.shapes import check_members, check_run, is_digest, is_object, is_text
from registry.client.snapshot import Entry
from registry.client.view import View
from registry.errors import RepositoryInvalid, RequestInvalid, Untrusted

_OPENED = {"run_id": is_text, "run": is_object, "snapshot": is_digest, "procedure": is_object}
_RECORDED = {"run_id": is_text, "run": is_object}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be run: a name as names are compared, its inputs, and what a caller may add."""

    name: str
    inputs: Mapping[str, Any]
    digest: str | None
    task: str | None
    key: str | None


def open_run(connection: Connection, asked: Asked, *, view: View, state: State) -> dict[str, Any]:
    """A run of what serves at the registry: `{run_id, run, snapshot, state, procedure}`."""
    body: dict[str, Any] = {"inputs": asked.inputs}
    body |= {member: value for member, value in (("digest", asked.digest), ("task", asked.task)) if value is not None}
    params = {} if view.repository is None else {"repository": view.repository}
    answer = connection.post(
        f"/v1/playbooks/{segment(asked.name)}/runs", body, params=params, idempotency_key=asked.key
    )
    return _opened(answer, asked.name, view=view, state=state)


def resume(connection: Connection, name: str, run_id: str, *, view: View, state: State) -> dict[str, Any]:
    """An open run again. Raises RequestInvalid where it is not one of `name`."""
    answer = connection.get(f"/v1/runs/{segment(run_id)}", params={"view": "full"})
    return _opened(answer, name, view=view, state=state)


def record(
    connection: Connection, asked: Asked, entry: Entry, contract: Document, *, view: View, state: State
) -> dict[str, Any]:
    """A run of the working copy's `entry`, bound here once the registry has recorded it. Raises as binding does."""
    from registry.client.binding import bind_here, recording  # noqa: PLC0415 - what a session may never need

    if view.repository is None:
        raise RepositoryInvalid("the run of a working copy needs a repository: this copy has no remote.")
    procedure, given = bind_here(entry, contract, asked.inputs)
    answer = connection.post(
        "/v1/runs",
        recording(entry, contract, given, task=asked.task, snapshot=view.digest),
        params={"repository": view.repository},
        idempotency_key=asked.key,
    )
    recorded = _checked(answer, _RECORDED)
    run_id: str = recorded["run_id"]
    return {
        "run_id": run_id,
        "run": recorded["run"],
        "snapshot": view.digest,
        "state": state.to_json(),
        "procedure": procedure.reported(run_id),
    }


def _opened(answer: Answer, name: str, *, view: View, state: State) -> dict[str, Any]:
    opened = _checked(answer, _OPENED)
    if opened["run"]["name"] != name:
        raise RequestInvalid(f"this run is one of {opened['run']['name']}, not of {name}: give its own name.")
    told = opened.get("state")
    # The registry was asked just now: what kept it from being asked before is over.
    notes = {"note": " ".join(view.notes)} if view.notes else {}
    current = {**state.to_json(), **(told if isinstance(told, dict) else {})}
    return {**opened, "state": {**{key: value for key, value in current.items() if key != "note"}, **notes}}


def _checked(answer: Answer, members: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        opened = check_members(answer.json(), members)
        check_run(opened["run"])
    except ValueError as error:
        raise Untrusted(f"the answer is no run's ({str(error)[:80]}): is REGISTRY_URL right?") from None
    return opened
