"""The bytes that get a digest: one catalog as a manifest of heads (http-api.md, The snapshot and its documents).

A head is encoded once, for the part of central that every repository shares, and a body is spliced from encoded
heads. The result is byte for byte the RFC 8785 form of `snapshot_json`, which a test holds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policies.decision import Side
from policies.rules import Waiver
from registry.catalog.merge import Catalog, CentralPart, Verdict
from registry.catalog.revision import Copy, Head, Revision, head_json
from registry.digest import Json, canonical, digest_of
from registry.playbook.model import Problem

FORMAT = "playbook-catalog/1"


@dataclass(frozen=True, slots=True)
class EncodedVerdict:
    """Canonical bytes of what one name contributes to a body: at most one of each list."""

    name: str
    digest: str | None
    entry: bytes | None
    refused: bytes | None
    unavailable: bytes | None


@dataclass(frozen=True, slots=True)
class EncodedPart:
    """Central's part with its verdicts encoded, sorted by name."""

    part: CentralPart
    verdicts: tuple[EncodedVerdict, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One immutable catalog: its bytes and the sha256 of exactly these."""

    body: bytes
    digest: str


def encode_part(part: CentralPart) -> EncodedPart:
    """Central's part with every head encoded once."""
    return EncodedPart(part, tuple(encode_verdict(verdict) for _, verdict in sorted(part.verdicts.items())))


def compose(catalog: Catalog, encoded: EncodedPart) -> Snapshot:
    """The snapshot of a catalog, spliced from central's encoded part and the repository's own names."""
    body = _body(catalog, encoded, None)
    return Snapshot(body, digest_of(body))


def compose_full(catalog: Catalog, encoded: EncodedPart, documents: Mapping[str, bytes]) -> bytes:
    """The body of `?view=full`: the same, with each entry's document inside as `contract`.

    `documents` maps the digests of the served entries to their bytes; a missing one raises KeyError.
    """
    return _body(catalog, encoded, documents)


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
        "copies": [
            copy_json(side, copy) for side, copy in verdict.copies() if side not in verdict.decision.refused
        ],
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
    head = verdict.serving
    refused = [canonical(entry_json(verdict, item)) for item in _refused(verdict)]
    return EncodedVerdict(
        name=verdict.name,
        digest=head.digest if head else None,
        entry=canonical(entry_json(verdict, head)) if head else None,
        refused=refused[0] if refused else None,
        unavailable=None if head else canonical(unavailable_json(verdict)),
    )


def _refused(verdict: Verdict) -> Iterator[Head]:
    for side in verdict.decision.refused:
        yield from _heads(verdict.side(side))


def _heads(copy: Copy | None) -> Iterator[Head]:
    if copy is not None and copy.head is not None:
        yield copy.head


def _body(catalog: Catalog, encoded: EncodedPart, documents: Mapping[str, bytes] | None) -> bytes:
    own = {name: encode_verdict(verdict) for name, verdict in catalog.own.items() if verdict is not None}
    shared = (item for item in encoded.verdicts if item.name not in catalog.own)
    verdicts = sorted((*shared, *own.values()), key=lambda item: item.name) if own else tuple(shared)
    entries = [_with_contract(item, documents) for item in verdicts if item.entry is not None]
    refused = [item.refused for item in verdicts if item.refused is not None]
    unavailable = [item.unavailable for item in verdicts if item.unavailable is not None]
    return b"".join(
        (
            b'{"entries":[',
            b",".join(entries),
            b'],"format":',
            canonical(FORMAT),
            b',"problems":',
            canonical(_problems_json(catalog)),
            b',"refused":[',
            b",".join(refused),
            b'],"repository":',
            canonical(catalog.repository),
            b',"rules":',
            canonical(catalog.rules_digest),
            b',"sources":',
            canonical(_sources_json(catalog)),
            b',"unavailable":[',
            b",".join(unavailable),
            b'],"valid_until":',
            canonical(catalog.valid_until()),
            b"}",
        )
    )


def _with_contract(item: EncodedVerdict, documents: Mapping[str, bytes] | None) -> bytes:
    """`contract` sorts before every other member of an entry, so that its bytes go in front."""
    entry = item.entry or b""
    if documents is None or item.digest is None:
        return entry
    return b'{"contract":' + documents[item.digest] + b"," + entry[1:]


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
