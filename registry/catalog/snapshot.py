"""The bytes that get a digest: one catalog as a manifest of heads (http-api.md, The snapshot and its documents).

A head is encoded once, for the part of central that every repository shares, and a body is spliced from encoded
heads. The result is byte for byte the RFC 8785 form of `snapshot_json`, which a test holds.
"""

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import Any

from policies.decision import Outcome, Side
from policies.rules import RuleSet, Waiver
from registry.catalog.encoding import (
    EncodedCopy,
    EncodedVerdict,
    encode_copy,
    encode_decided,
    encode_problems,
    encode_source,
    encode_stored_copy,
)
from registry.catalog.merge import (
    Catalog,
    CentralPart,
    Verdict,
    decide,
    standing_of,
    valid_until,
    waived_names,
    withdrawn_copies,
)
from registry.catalog.revision import Copy, Head, Revision, head_json
from registry.digest import Json, canonical
from registry.playbook.model import Problem

FORMAT = "playbook-catalog/1"


@dataclass(frozen=True, slots=True)
class EncodedPart:
    """Central's part with its copies and verdicts encoded.

    `names` are those that serve, sorted, and `entries` their entries, separated by commas: the one of `names[i]`
    begins at `starts[i]` and the one after it at `starts[i + 1]`. `others` are the verdicts that do more, or nothing.
    """

    part: CentralPart
    copies: Mapping[str, EncodedCopy]
    verdicts: tuple[EncodedVerdict, ...]
    names: tuple[str, ...]
    entries: bytes
    starts: tuple[int, ...]
    others: tuple[EncodedVerdict, ...]
    problems: bytes
    source: bytes
    withdrawn: frozenset[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class EncodedLocal:
    """A service repository's revision, encoded: what a snapshot needs of it, whatever central says."""

    copies: tuple[EncodedCopy, ...]
    problems: bytes
    source: bytes

    @property
    def size_bytes(self) -> int:
        """About what it holds in memory."""
        return 500 + len(self.problems) + sum(copy.size_bytes for copy in self.copies)


NO_LOCAL = EncodedLocal((), b"", b"null")
"""What a repository without a revision of its own brings: nothing."""


def encode_part(part: CentralPart) -> EncodedPart:
    """Central's part with every head encoded once."""
    revision = part.revision.to_json()
    copies = {name: encode_copy(copy, Side.CENTRAL) for name, copy in part.copies.items()}
    verdicts = tuple(
        encode_decided(name, verdict.decision, verdict.standing, copies.get(name), None)
        for name, verdict in sorted(part.verdicts.items())
    )
    serving = [verdict for verdict in verdicts if verdict.entry is not None]
    lengths = (len(verdict.entry or b"") + 1 for verdict in serving)
    return EncodedPart(
        part=part,
        copies=copies,
        verdicts=verdicts,
        names=tuple(verdict.name for verdict in serving),
        entries=b"".join((verdict.entry or b"") + b"," for verdict in serving),
        starts=tuple(accumulate(lengths, initial=0)),
        others=tuple(verdict for verdict in verdicts if verdict.refused or verdict.unavailable),
        problems=encode_problems(revision, Side.CENTRAL),
        source=encode_source(revision),
        withdrawn=withdrawn_copies(part.rules),
    )


def encode_local(local: Revision | None) -> EncodedLocal:
    """A service repository's revision with every head encoded once."""
    return NO_LOCAL if local is None else read_local(local.to_bytes())


def read_local(body: bytes) -> EncodedLocal:
    """The same from the revision's stored bytes, without making its objects."""
    data: Mapping[str, Any] = json.loads(body)
    copies = tuple(encode_stored_copy(copy, Side.LOCAL) for copy in data["copies"])
    return EncodedLocal(copies, encode_problems(data, Side.LOCAL), encode_source(data))


def compose(
    encoded: EncodedPart, local: EncodedLocal, scoped_rules: RuleSet, digest: str, repository: str | None
) -> bytes:
    """The snapshot of a repository, spliced from central's entries and the repository's own names.

    `scoped_rules` are those that can touch the repository, `digest` is theirs. The result is the canonical form of
    `snapshot_json` of the catalog that `merge` gives for the same.
    """
    copies = {copy.name: copy for copy in local.copies}
    own: dict[str, EncodedVerdict | None] = {}
    ends: list[date] = []
    for name in sorted(copies.keys() | waived_names(scoped_rules, repository)):
        central, copy = encoded.copies.get(name), copies.get(name)
        standing = standing_of(encoded.part, name, scoped_rules, repository)
        decision = decide(name, central, copy, standing, encoded.withdrawn)
        own[name] = None if decision is None else encode_decided(name, decision, standing, central, copy)
        if decision is not None and decision.outcome is Outcome.WAIVER and standing.waiver is not None:
            ends.append(standing.waiver.until)
    shared = (item for item in encoded.others if item.name not in own)
    others = sorted((*shared, *(item for item in own.values() if item is not None)), key=lambda item: item.name)
    return _body(
        entries=_spliced(encoded, own),
        refused=[item.refused for item in others if item.refused is not None],
        unavailable=[item.unavailable for item in others if item.unavailable is not None],
        encoded=encoded,
        local=local,
        repository=repository,
        rules=digest,
        valid_until=valid_until(ends),
    )


def _spliced(encoded: EncodedPart, own: Mapping[str, EncodedVerdict | None]) -> list[bytes | memoryview]:
    """Central's entries with those of the repository's own names in their places; `own` is sorted by name.

    In pieces, so that a body of a quarter of a megabyte is copied once.
    """
    names, starts, entries = encoded.names, encoded.starts, memoryview(encoded.entries)
    pieces: list[bytes | memoryview] = []
    done = 0
    for name, verdict in own.items():
        place = bisect_left(names, name, done)
        if place > done:
            pieces.append(entries[starts[done] : starts[place]])
        done = place + 1 if place < len(names) and names[place] == name else place
        if verdict is not None and verdict.entry is not None:
            pieces += (verdict.entry, b",")
    if done < len(names):
        pieces.append(entries[starts[done] :])
    if pieces:
        pieces[-1] = pieces[-1][:-1]  # the last comma
    return pieces


def compose_full(catalog: Catalog, encoded: EncodedPart, documents: Mapping[str, bytes]) -> bytes:
    """The body of `?view=full`: the same, with each entry's document inside as `contract`.

    `documents` maps the digests of the served entries to their bytes; a missing one raises KeyError.
    """
    own = [encode_verdict(verdict) for verdict in catalog.own.values() if verdict is not None]
    shared = (item for item in encoded.verdicts if item.name not in catalog.own)
    verdicts = sorted((*shared, *own), key=lambda item: item.name)
    return _body(
        entries=[b",".join(_with_contract(item, documents) for item in verdicts if item.entry is not None)],
        refused=[item.refused for item in verdicts if item.refused is not None],
        unavailable=[item.unavailable for item in verdicts if item.unavailable is not None],
        encoded=encoded,
        local=encode_local(catalog.local),
        repository=catalog.repository,
        rules=catalog.rules_digest,
        valid_until=catalog.valid_until(),
    )


def snapshot_json(catalog: Catalog) -> dict[str, Json]:
    """The snapshot as a value: what the bytes of `compose` say."""
    verdicts = catalog.verdicts()
    return {
        "format": FORMAT,
        "repository": catalog.repository,
        "sources": _sources_json(catalog),
        "rules": catalog.rules_digest,
        "valid_until": catalog.valid_until(),
        "entries": [entry_json(verdict, verdict.serving) for verdict in verdicts if verdict.serving is not None],
        "refused": [entry_json(verdict, head) for verdict in verdicts for head in _refused(verdict)],
        "unavailable": [unavailable_json(verdict) for verdict in verdicts if verdict.serving is None],
        "problems": _problems_json(catalog),
    }


def entry_json(verdict: Verdict, head: Head) -> dict[str, Json]:
    """An entry of the wire: a head with what was decided about it."""
    return {
        **head_json(head),
        "required": verdict.required,
        "waiver": _waiver_json(verdict.waiver),
        "decision": {
            "outcome": verdict.decision.outcome.value,
            "over": [_over_json(over) for side in verdict.decision.over for over in _heads(verdict.side(side))],
        },
    }


def unavailable_json(verdict: Verdict) -> dict[str, Json]:
    """An element of `unavailable`: a name that nobody serves, why, and its copies but those in `refused`."""
    return {
        "name": verdict.name,
        "outcome": verdict.decision.outcome.value,
        "reason": verdict.decision.reason,
        "copies": [copy_json(side, copy) for side, copy in verdict.copies() if side not in verdict.decision.refused],
    }


def copy_json(side: Side, copy: Copy) -> dict[str, Json]:
    """One copy by source, version, digest and state; a copy that never loaded has a path and no version."""
    head = copy.head
    return {
        "source": head.source.to_json() if head else {"kind": side.value, "path": copy.path},
        "version": head.version if head else None,
        "digest": head.digest if head else None,
        "state": copy.state.value,
    }


def problem_json(side: Side, problem: Problem, *, held: bool) -> dict[str, Json]:
    """A problem of the wire; `source` says whose file it is."""
    return {**problem.to_json(), "source": side.value, "held": held}


def encode_verdict(verdict: Verdict) -> EncodedVerdict:
    """What one name contributes to a body, as canonical bytes."""
    central = None if verdict.central is None else encode_copy(verdict.central, Side.CENTRAL)
    local = None if verdict.local is None else encode_copy(verdict.local, Side.LOCAL)
    return encode_decided(verdict.name, verdict.decision, verdict.standing, central, local)


def _refused(verdict: Verdict) -> Iterator[Head]:
    for side in verdict.decision.refused:
        yield from _heads(verdict.side(side))


def _heads(copy: Copy | None) -> Iterator[Head]:
    if copy is not None and copy.head is not None:
        yield copy.head


def _body(
    *,
    entries: list[bytes | memoryview],
    refused: list[bytes],
    unavailable: list[bytes],
    encoded: EncodedPart,
    local: EncodedLocal,
    repository: str | None,
    rules: str,
    valid_until: str | None,
) -> bytes:
    return b"".join(
        (
            b'{"entries":[',
            *entries,
            b'],"format":',
            canonical(FORMAT),
            b',"problems":[',
            b",".join(problems for problems in (encoded.problems, local.problems) if problems),
            b'],"refused":[',
            b",".join(refused),
            b'],"repository":',
            canonical(repository),
            b',"rules":',
            canonical(rules),
            b',"sources":{"central":',
            encoded.source,
            b',"local":',
            local.source,
            b'},"unavailable":[',
            b",".join(unavailable),
            b'],"valid_until":',
            canonical(valid_until),
            b"}",
        )
    )


def _with_contract(item: EncodedVerdict, documents: Mapping[str, bytes]) -> bytes:
    """`contract` sorts before every other member of an entry, so that its bytes go in front."""
    entry = item.entry or b""
    digest = None if item.serving is None else item.serving.digest
    return entry if digest is None else b'{"contract":' + documents[digest] + b"," + entry[1:]


def _sources_json(catalog: Catalog) -> dict[str, Json]:
    return {
        "central": _source_json(catalog.base.revision),
        "local": None if catalog.local is None else _source_json(catalog.local),
    }


def _source_json(revision: Revision) -> dict[str, Json]:
    return {"repository": revision.repository, "ref": revision.ref, "commit": revision.commit}


def _problems_json(catalog: Catalog) -> list[Json]:
    held = {
        (side, copy.problem.path)
        for side, revision in ((Side.CENTRAL, catalog.base.revision), (Side.LOCAL, catalog.local))
        if revision is not None
        for copy in revision.copies
        if copy.head is not None and copy.head.held is not None and copy.problem is not None
    }
    return [problem_json(side, item, held=(side, item.path) in held) for side, item in catalog.problems()]


def _waiver_json(waiver: Waiver | None) -> Json:
    if waiver is None:
        return None
    return {"until": waiver.until.isoformat(), "reason": waiver.reason, "approved_by": waiver.approved_by}


def _over_json(head: Head) -> dict[str, Json]:
    return {"version": head.version, "digest": head.digest, "source": head.source.to_json()}
