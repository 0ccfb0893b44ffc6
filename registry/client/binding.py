"""A working tree's copy bound to inputs by its host: the registry never had it, and only records that it ran."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from registry.client.snapshot import Entry
from registry.digest import Json
from registry.playbook.tools import risk_classes
from registry.runs.binding import Procedure, report_json
from registry.runs.inputs import Given
from registry.runs.procedures import bound, taken
from registry.runs.record import RunState


@dataclass(frozen=True, slots=True)
class Bound:
    """A procedure that waits for the id of its run."""

    procedure: Procedure
    entry: Entry

    def reported(self, run_id: str) -> dict[str, Json]:
        """The wire's procedure."""
        return {
            **self.procedure.to_json(),
            "name": self.entry["name"],
            "version": self.entry["version"],
            "required": self.entry["required"],
            "report": report_json(run_id, RunState.OPEN.value),
        }


def bind_here(entry: Entry, contract: Mapping[str, Any], inputs: Mapping[str, Any]) -> tuple[Bound, Given]:
    """The bound procedure and the inputs as a run keeps them. Raises InputsInvalid and TooLarge."""
    given = taken(contract, inputs, name=entry["name"])
    return Bound(bound(contract, given), entry), given


def recording(
    entry: Entry, contract: Mapping[str, Any], given: Given, *, task: str | None, snapshot: str
) -> dict[str, Any]:
    """The body of `POST /v1/runs` (http-api.md)."""
    source = entry["source"]
    body: dict[str, Any] = {
        "name": entry["name"],
        "version": entry["version"],
        "digest": entry["digest"],
        "path": source["path"].encode("utf-8", "replace").decode(),  # a file's name need not be text
        "commit": None if set(source["commit"]) == {"0"} else source["commit"],
        "blob": source["blob"],
        "tags": list(entry["tags"]),
        "risk": sorted(risk_classes(contract)),
        "inputs": given.inputs,
        "snapshot": snapshot,
    }
    return body if task is None else {**body, "task": task}
