"""Copies and decisions as canonical bytes: a head is written once, and every decision about it puts bytes around it.

The members of an entry are sorted by name, as RFC 8785 wants, so that a head's own members stand in three runs with
what was decided between them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Any, cast

from policies.decision import CopyState, Decision, Outcome, Requirement, Side
from policies.rules import Standing, Waiver
from registry.catalog.revision import Copy, head_json
from registry.digest import Json, canonical
from registry.playbook.model import Level

# Where a head's bytes are cut. No text can hold these: in a text every quotation mark has a backslash before it. The
# last one of `source` is the head's own, as `tags`, `title` and `version`, which follow it, hold no objects; the last
# one of `digest` before it likewise, as only `deprecated`, which comes before it, may hold anything.
_DIGEST, _SOURCE, _TAGS, _VERSION = b'"digest":"', b',"source":{', b',"tags":[', b',"version":'
_DIGEST_LENGTH = len("sha256:") + 64


@dataclass(frozen=True, slots=True)
class EncodedCopy:
    """One copy: its state, and the canonical bytes of its head, or of its source alone where it has no head.

    Kept as one text and cut when it is used: there are as many of these as there are playbooks.
    """

    name: str
    state: CopyState
    text: bytes
    has_head: bool

    @property
    def digest(self) -> str | None:
        """The digest of the document that serves, or None."""
        if not self.has_head:
            return None
        begin = self.text.rindex(_DIGEST, 0, self.text.rindex(_SOURCE)) + len(_DIGEST)
        return self.text[begin : begin + _DIGEST_LENGTH].decode()

    @property
    def members(self) -> tuple[bytes, bytes]:
        """The head's members up to the purpose, and from the source on; an entry has `required` between them."""
        cut = self.text.rindex(_SOURCE)
        return self.text[1:cut], self.text[cut + 1 : -1]

    @property
    def source(self) -> bytes:
        """The value of `source`."""
        if not self.has_head:
            return self.text
        cut = self.text.rindex(_SOURCE)
        return self.text[cut + len(_SOURCE) - 1 : self.text.index(_TAGS, cut)]

    @property
    def version(self) -> bytes:
        """The value of `version`."""
        return self.text[self.text.rindex(_VERSION) + len(_VERSION) : -1] if self.has_head else b"null"

    @property
    def size_bytes(self) -> int:
        """About what the copy holds in memory."""
        return 130 + len(self.text)


@dataclass(frozen=True, slots=True)
class EncodedVerdict:
    """Canonical bytes of what one name contributes to a body: at most one of each list."""

    name: str
    serving: EncodedCopy | None
    entry: bytes | None
    refused: bytes | None
    unavailable: bytes | None


def encode_copy(copy: Copy, side: Side) -> EncodedCopy:
    """A copy with its head as bytes."""
    return _encode(copy.name, copy.state, None if copy.head is None else head_json(copy.head), side, copy.path)


def encode_stored_copy(data: Mapping[str, Json], side: Side) -> EncodedCopy:
    """The same of a copy as `Revision.to_bytes` stored it, without making its objects."""
    head = cast("Mapping[str, Json] | None", data["head"])
    return _encode(str(data["name"]), CopyState(str(data["state"])), head, side, str(data["path"]))


def _encode(name: str, state: CopyState, head: Mapping[str, Json] | None, side: Side, path: str) -> EncodedCopy:
    text = canonical({"kind": side.value, "path": path} if head is None else head)
    # Names recur in every repository that copied them from central.
    return EncodedCopy(intern(name), state, text, head is not None)


def encode_decided(
    name: str, decision: Decision, standing: Standing, central: EncodedCopy | None, local: EncodedCopy | None
) -> EncodedVerdict:
    """What a decision on one name contributes to a body."""
    sides = {Side.CENTRAL: central, Side.LOCAL: local}
    over = b",".join(_over(copy) for side in decision.over if (copy := sides[side]) is not None and copy.has_head)
    around = (
        b'{"decision":{"outcome":"%s","over":[%s]},' % (decision.outcome.value.encode(), over),
        b',"required":true,' if standing.requirement is Requirement.YES else b',"required":false,',
        b',"waiver":%s}' % _waiver(standing.waiver if decision.outcome is Outcome.WAIVER else None),
    )
    serving = sides[decision.serves] if decision.serves is not None else None
    serves = serving is not None and serving.has_head
    refused = [copy for side in decision.refused if (copy := sides[side]) is not None and copy.has_head]
    return EncodedVerdict(
        name=name,
        serving=serving if serves else None,
        entry=_entry(serving, around) if serving is not None and serves else None,
        refused=_entry(refused[0], around) if refused else None,
        unavailable=None if serves else _unavailable(name, decision, sides),
    )


def encode_source(data: Mapping[str, Json]) -> bytes:
    """What `sources` says of a revision."""
    return canonical({key: data[key] for key in ("repository", "ref", "commit")})


def encode_problems(data: Mapping[str, Json], side: Side) -> bytes:
    """The error-level problems of a revision as members of a list, without its brackets."""
    rows = cast("Sequence[Mapping[str, Json]]", data["problems"])
    errors = [row for row in rows if row["level"] == Level.ERROR.value]
    if not errors:
        return b""
    held = {problem["path"] for copy in cast("Sequence[Mapping[str, Any]]", data["copies"]) if (problem := _held(copy))}
    return canonical([{**row, "source": side.value, "held": row["path"] in held} for row in errors])[1:-1]


def _held(copy: Mapping[str, Any]) -> Mapping[str, Json] | None:
    """The problem of a stored copy that is held."""
    head = copy["head"]
    problem: Mapping[str, Json] | None = copy["problem"]
    return problem if head is not None and head["held"] is not None else None


def _entry(copy: EncodedCopy, around: tuple[bytes, bytes, bytes]) -> bytes:
    first, last = copy.members
    return b"".join((around[0], first, around[1], last, around[2]))


def _over(copy: EncodedCopy) -> bytes:
    return b'{"digest":"%s","source":%s,"version":%s}' % ((copy.digest or "").encode(), copy.source, copy.version)


def _unavailable(name: str, decision: Decision, sides: dict[Side, EncodedCopy | None]) -> bytes:
    copies = b",".join(
        _shown(copy) for side, copy in sides.items() if copy is not None and side not in decision.refused
    )
    rest = canonical({"name": name, "outcome": decision.outcome.value, "reason": decision.reason})
    return b'{"copies":[' + copies + b"]," + rest[1:]


def _shown(copy: EncodedCopy) -> bytes:
    digest = b'"%s"' % copy.digest.encode() if copy.digest else b"null"
    return b'{"digest":%s,"source":%s,"state":"%s","version":%s}' % (
        digest,
        copy.source,
        copy.state.value.encode(),
        copy.version,
    )


def _waiver(waiver: Waiver | None) -> bytes:
    if waiver is None:
        return b"null"
    return canonical({"until": waiver.until.isoformat(), "reason": waiver.reason, "approved_by": waiver.approved_by})
