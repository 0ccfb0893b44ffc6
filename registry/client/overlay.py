"""The overlay: what a host sees whose working copy differs from what the registry serves. Pure.

Each playbook that the copy's author changed is decided on again by the table of merge.md, with the server's own code,
on what the snapshot says of the name: a required playbook holds against a working copy as against a commit. What comes
from the copy says so: its source is `worktree`, and nobody has reviewed it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from policies.decision import CopyState, Decision, Outcome, Requirement, Side
from policies.precedence import Candidate, decide, reason_of
from registry.catalog.revision import Copy, Head, head_json
from registry.client.snapshot import Entry, Snapshot

WORKTREE: Final = "worktree"
_REQUIRED: Final = frozenset({Outcome.REQUIRED_HOLDS, Outcome.REQUIRED_BROKEN, Outcome.REQUIRED_MISSING})
_SERVABLE: Final = frozenset({CopyState.GOOD, CopyState.HELD})
_ABSENT: Final = Candidate(CopyState.ABSENT)

Contracts = Callable[[str], Mapping[str, Any] | None]
"""Digest -> the document that it pins, or None where it is not here."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """What serves in a working copy: name -> entry, the lists beside it, and sentences on what is not as it looks."""

    entries: Mapping[str, Entry]
    refused: tuple[Entry, ...] = ()
    unavailable: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """What a snapshot says of one name: central's copy, and whether it must hold."""

    central: Candidate
    requirement: Requirement
    over: Entry | None = None
    """The central copy that a local one goes before, where that is so: `version`, `digest` and `source`."""


def overlaid(
    snapshot: Snapshot,
    serving: Mapping[str, Entry],
    changed: Mapping[str, Copy | None],
    *,
    is_central: bool,
    contracts: Contracts,
) -> Overlay:
    """What serves where the working copy's `changed` names (None: deleted there) stand in for what was served.

    `serving` are the snapshot's entries at this instant. In a working copy of the central repository (`is_central`)
    the changed copies stand in for central's own. A changed file that does not load changes nothing but `notes`.
    `contracts` is asked for a central copy that comes back because the local one is gone; without it, nobody serves.
    """
    made = _Making(dict(serving), list(snapshot.refused), list(snapshot.unavailable))
    for name, copy in sorted(changed.items()):
        if copy is not None and copy.head is None:
            made.notes.append(_broken(copy))
        elif is_central:
            _lay_over_central(made, name, copy)
        else:
            _lay_over_local(made, name, copy, standing_of(snapshot, serving, name), contracts)
    return Overlay(made.entries, tuple(made.refused), tuple(made.unavailable), tuple(made.notes))


def standing_of(snapshot: Snapshot, serving: Mapping[str, Entry], name: str) -> Standing:
    """What the snapshot says of `name`; where it leaves open whether an unusable central copy is required, it is."""
    entry = _named(snapshot.entries, name)
    if entry is not None:
        found = _standing_of_entry(entry)
        # What no longer serves served by a waiver that is over: the requirement that it lifted holds again.
        return found if name in serving else replace(found, requirement=Requirement.YES)
    is_refused = _named(snapshot.refused, name) is not None
    lost = _named(snapshot.unavailable, name)
    if lost is None:
        return Standing(_ABSENT, Requirement.YES if is_refused else Requirement.NO)
    copies = {str(copy["source"]["kind"]): copy for copy in lost["copies"]}
    central = copies.get(Side.CENTRAL.value)
    local = copies.get(Side.LOCAL.value)
    # A good local copy that is not among the refused could have served: then nothing requires the name.
    is_open = central is None or (local is not None and _state(local) in _SERVABLE)
    required = is_refused or lost["outcome"] in _REQUIRED or not is_open
    is_withdrawn = lost["outcome"] == Outcome.WITHDRAWN and central is not None
    candidate = _ABSENT if central is None else Candidate(_state(central), withdrawn=is_withdrawn)
    return Standing(candidate, Requirement.YES if required else Requirement.NO)


def _standing_of_entry(entry: Entry) -> Standing:
    outcome = entry["decision"]["outcome"]
    if entry["source"]["kind"] == Side.CENTRAL:
        state = CopyState.HELD if entry.get("held") else CopyState.GOOD
        return Standing(Candidate(state), Requirement.YES if entry["required"] else Requirement.NO)
    over = next(iter(entry["decision"]["over"]), None)
    state = CopyState.GOOD if over else CopyState.BROKEN if outcome == Outcome.CENTRAL_BROKEN else CopyState.ABSENT
    requirement = Requirement.WAIVED if outcome == Outcome.WAIVER else Requirement.NO
    return Standing(Candidate(state), requirement, over)


@dataclass(slots=True)
class _Making:
    entries: dict[str, Entry]
    refused: list[Entry]
    unavailable: list[Entry]
    notes: list[str] = field(default_factory=list)

    def forget(self, name: str) -> None:
        """Take the name out of every list."""
        self.entries.pop(name, None)
        self.refused = [entry for entry in self.refused if entry["name"] != name]
        self.unavailable = [entry for entry in self.unavailable if entry["name"] != name]

    def lose(self, name: str, outcome: Outcome, reason: str) -> None:
        """List the name as one that nobody serves."""
        self.unavailable.append({"name": name, "outcome": outcome.value, "reason": reason, "copies": []})


def _lay_over_central(made: _Making, name: str, copy: Copy | None) -> None:
    before = made.entries.get(name)
    made.forget(name)
    if copy is None or copy.head is None:
        if before is not None and before["required"]:
            # Whether the mark goes with the file or stays behind it, a snapshot does not tell.
            made.lose(name, Outcome.REQUIRED_MISSING, reason_of(Outcome.REQUIRED_MISSING))
        return
    required = copy.says_required or bool(before and before["required"])
    made.entries[name] = _entry(copy.head, Outcome.CENTRAL_ONLY, required=required, waiver=None, over=[])


def _lay_over_local(made: _Making, name: str, copy: Copy | None, standing: Standing, contracts: Contracts) -> None:
    local = _ABSENT if copy is None else Candidate(CopyState.GOOD)
    decision = decide(standing.central, local, standing.requirement)
    before = made.entries.get(name)
    waiver = None if before is None else before.get("waiver")
    made.forget(name)
    if decision is None:
        return
    if copy is not None and copy.head is not None and Side.LOCAL in decision.refused:
        required = _entry(copy.head, decision.outcome, required=True, waiver=None, over=[])
        made.refused.append(required)
        made.notes.append(f"{copy.path} is not used: {name} is required, so the central copy holds here too.")
    if decision.serves is Side.LOCAL and copy is not None and copy.head is not None:
        over = _over(before, standing) if Side.CENTRAL in decision.over else []
        made.entries[name] = _entry(copy.head, decision.outcome, required=False, waiver=waiver, over=over)
    elif decision.serves is Side.CENTRAL:
        central = _central_entry(name, before, standing, decision, contracts)
        if central is not None:
            made.entries[name] = central
        else:
            made.lose(name, decision.outcome, f"{decision.reason} It could not be fetched yet.")
    else:
        made.lose(name, decision.outcome, decision.reason)


def _over(before: Entry | None, standing: Standing) -> list[Entry]:
    if standing.over is not None:
        return [standing.over]
    return [] if before is None else [{key: before[key] for key in ("version", "digest", "source")}]


def _central_entry(
    name: str, before: Entry | None, standing: Standing, decision: Decision, contracts: Contracts
) -> Entry | None:
    """Central's entry: the one that served, or the one that comes back where the local copy is gone."""
    decided: Entry = {"outcome": decision.outcome.value, "over": []}
    if before is not None and before["source"]["kind"] == Side.CENTRAL:
        return {**before, "decision": decided}
    contract = None if standing.over is None else contracts(standing.over["digest"])
    if standing.over is None or contract is None:
        return None
    return {
        "name": name,
        "title": str(contract["name"]),
        "document": contract["document"],
        "owner": contract.get("owner"),
        "tags": contract.get("tags", []),
        "purpose": contract.get("purpose", ""),
        "not_for": contract.get("not_for", []),
        "deprecated": contract.get("deprecated"),
        "held": None,
        "required": standing.requirement is not Requirement.NO,
        "waiver": None,
        **standing.over,
        "decision": decided,
    }


def _entry(
    head: Head, outcome: Outcome, *, required: bool, waiver: Mapping[str, Any] | None, over: list[Entry]
) -> Entry:
    said = head_json(head)
    source = {**head.source.to_json(), "kind": WORKTREE}
    decision = {"outcome": outcome.value, "over": over}
    return {**said, "source": source, "required": required, "waiver": waiver, "decision": decision}


def _broken(copy: Copy) -> str:
    problem = copy.problem
    if problem is None:
        return f"{copy.path} is not used: {copy.name} stands in two files that differ. Keep one of them."
    return f"{problem.path}:{problem.line}:{problem.column} does not load, so it is not used: {problem.message}"


def _state(copy: Entry) -> CopyState:
    try:
        return CopyState(str(copy["state"]))
    except ValueError:
        # `withdrawn` and whatever a later registry may say: nothing that serves.
        return CopyState.BROKEN


def _named(entries: tuple[Entry, ...], name: str) -> Entry | None:
    return next((entry for entry in entries if entry["name"] == name), None)
