"""A run's procedure as every door gives it, and the refusals on the way to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from registry.digest import Json
from registry.errors import InputsInvalid, Refusal, TooLarge
from registry.playbook.violations import DEFAULT_INPUT_LIMITS, VIOLATIONS_MAX
from registry.runs.binding import RENDERED_CHARS_MAX, Oversized, Procedure, bind, report_json
from registry.runs.inputs import Given, Unfit, take
from registry.runs.record import Run

_SAID_MAX: Final = 3
_OF_ENTRY: Final = ("held", "waiver", "deprecated")


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A run with what is to be done in it; `repeated` says that the same request had opened it before."""

    run: Run
    procedure: Mapping[str, Json]
    state: Mapping[str, Json]
    repeated: bool = False

    def to_json(self) -> dict[str, Json]:
        """The answer of every door."""
        return {
            "run_id": self.run.id,
            "run": self.run.to_json(),
            "snapshot": self.run.snapshot,
            "state": self.state,
            "procedure": self.procedure,
        }


def schema_of(contract: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """The schema of a contract's inputs, None where it has none."""
    schema = contract.get("inputs")
    return schema if isinstance(schema, Mapping) else None


def taken(contract: Mapping[str, Json], inputs: Mapping[str, Json], *, name: str) -> Given:
    """The inputs as a run of this contract keeps them. Raises InputsInvalid with every violation, or TooLarge."""
    given = take(schema_of(contract), inputs)
    if isinstance(given, Unfit):
        raise refusal_of(given, name)
    return given


def bound(contract: Mapping[str, Json], given: Given) -> Procedure:
    """The contract bound to inputs that were taken. Raises TooLarge."""
    procedure = bind(contract, given)
    if isinstance(procedure, Oversized):
        raise TooLarge(
            f"with these inputs the procedure would be over {RENDERED_CHARS_MAX // 2**20} Mi characters: give shorter "
            "ones, or the name of a file that has them."
        )
    return procedure


def refusal_of(unfit: Unfit, name: str) -> Refusal:
    """The refusal of inputs that do not fit, with their violations."""
    if unfit.size_bytes:
        return TooLarge(
            f"the inputs are {unfit.size_bytes:,} bytes as JSON, {DEFAULT_INPUT_LIMITS.bytes:,} at most are taken: "
            "give the name of a file that has them."
        )
    shown = unfit.violations[:VIOLATIONS_MAX]
    is_more = len(unfit.violations) > len(shown)
    said = " ".join(f"{each.pointer or '/'}: {each.message}" for each in shown[:_SAID_MAX])
    rest = f" And {len(shown) - _SAID_MAX} more{', at least' if is_more else ''}." if len(shown) > _SAID_MAX else ""
    return InputsInvalid(
        f"the inputs do not fit {name}. {said}{rest}",
        name=name,
        violations=[each.to_json() for each in shown],
        more=is_more,
    )


def procedure_json(procedure: Procedure, entry: Mapping[str, Json], run: Run) -> dict[str, Json]:
    """The wire's procedure: the bound contract, with what the catalog says of the copy and how to report."""
    return {
        **procedure.to_json(),
        "name": run.name,
        "version": run.version,
        "required": entry["required"],
        **{key: entry[key] for key in _OF_ENTRY if entry[key] is not None},
        "report": report_json(run.id, run.state.value),
    }
