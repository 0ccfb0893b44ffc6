"""The rules as facts: marks, waivers, withdrawals, publication and access, their one order and their JSON form.

Names and tags in here are keys that were folded already, and a repository is its id (merge.md, Names).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

Origin = Literal["policy-file", "api"]
Ground = Literal["front-matter", "policy-file", "api"]
Effect = Literal["allow", "deny"]

Json = Mapping[str, "Json"] | Sequence["Json"] | str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A rule that makes central playbooks required: those of one name, or those that carry one tag.

    Exactly one of `name` and `tag` is set; anything else raises ValueError.
    """

    origin: Origin
    name: str | None
    tag: str | None
    reason: str

    def __post_init__(self) -> None:
        if (self.name is None) == (self.tag is None):
            raise ValueError("a mark has either a name or a tag, and not both")

    def covers(self, name: str, tags: Collection[str]) -> bool:
        """Whether the mark speaks of a playbook of that name with these tags."""
        return self.name == name if self.tag is None else self.tag in tags


@dataclass(frozen=True, slots=True)
class Waiver:
    """One repository's leave to serve its own copy of one required name, through 23:59:59Z of `until`."""

    name: str
    repository: str
    until: date
    reason: str
    approved_by: str
    origin: Origin

    def holds(self, on: date) -> bool:
        """Whether the waiver is in force on that day; `until` is its last one."""
        return on <= self.until


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """One copy, by name and digest, that never serves again and opens no new run."""

    name: str
    digest: str
    reason: str


@dataclass(frozen=True, slots=True)
class PublicationRules:
    """What a playbook must carry beyond its format: an error for central ones, a warning for local ones."""

    required_fields: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Who:
    """Principals and members of teams; either is enough. Empty, it says nothing about who."""

    teams: frozenset[str] = frozenset()
    principals: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AccessRule:
    """One line of the access list; the first that matches decides (policies.access).

    An empty `who` is everybody. An empty filter does not filter; one with several words wants any of them, and all
    filters that are set must agree. Those in `unless` are passed on to the next rule; an empty `unless` names nobody.
    """

    effect: Effect
    who: Who = field(default_factory=Who)
    tags: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    risk: frozenset[str] = frozenset()
    unless: Who = field(default_factory=Who)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Every rule in force. The order of `access` is part of its meaning; that of the other tuples is not.

    `worktree` says whether a copy in a working tree, which nobody has reviewed, may be run at all.
    """

    marks: tuple[Mark, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    withdrawals: tuple[Withdrawal, ...] = ()
    publication: PublicationRules = field(default_factory=PublicationRules)
    access: tuple[AccessRule, ...] = ()
    worktree: Effect = "allow"


def combine(*rulesets: RuleSet) -> RuleSet:
    """All rules of all sets, each once, in canonical order; access lists follow one another as the sets do.

    One set that denies runs of working-tree copies is enough.
    """
    return RuleSet(
        marks=canonical_marks(mark for rules in rulesets for mark in rules.marks),
        waivers=canonical_waivers(waiver for rules in rulesets for waiver in rules.waivers),
        withdrawals=canonical_withdrawals(item for rules in rulesets for item in rules.withdrawals),
        publication=PublicationRules(
            frozenset(name for rules in rulesets for name in rules.publication.required_fields)
        ),
        access=tuple(dict.fromkeys(rule for rules in rulesets for rule in rules.access)),
        worktree="deny" if any(rules.worktree == "deny" for rules in rulesets) else "allow",
    )


def canonical_marks(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Each mark once, the policy file's first, then by name, tag and reason."""
    # "policy-file" before "api": git is where a reader looks first.
    return tuple(
        sorted(set(marks), key=lambda item: (item.origin == "api", item.name or "", item.tag or "", item.reason))
    )


def canonical_waivers(waivers: Iterable[Waiver]) -> tuple[Waiver, ...]:
    """Each waiver once, by name, repository and last day, then by the rest."""
    return tuple(
        sorted(
            set(waivers),
            key=lambda item: (
                item.name,
                item.repository,
                item.until,
                item.origin == "api",
                item.reason,
                item.approved_by,
            ),
        )
    )


def canonical_withdrawals(withdrawals: Iterable[Withdrawal]) -> tuple[Withdrawal, ...]:
    """Each withdrawal once, by name, digest and reason."""
    return tuple(sorted(set(withdrawals), key=lambda item: (item.name, item.digest, item.reason)))


def to_json(rules: RuleSet) -> dict[str, Json]:
    """The rules as plain JSON data: equal for the same facts in any order, and read back by `from_json`."""
    ordered = combine(rules)
    return {
        "marks": [_mark_json(mark) for mark in ordered.marks],
        "waivers": [_waiver_json(waiver) for waiver in ordered.waivers],
        "withdrawals": [
            {"name": item.name, "digest": item.digest, "reason": item.reason} for item in ordered.withdrawals
        ],
        "publication": sorted(ordered.publication.required_fields),
        "access": [_access_json(rule) for rule in ordered.access],
        # Only where it says something: rules that were written before there was this one keep their digest.
        **({"worktree": "deny"} if ordered.worktree == "deny" else {}),
    }


def from_json(data: Mapping[str, Json]) -> RuleSet:
    """The rules that `to_json` wrote, in canonical order.

    It reads what this package stored, not what people write: raises KeyError, TypeError or ValueError for the rest.
    """
    return combine(
        RuleSet(
            marks=tuple(_read_mark(item) for item in _objects(data["marks"])),
            waivers=tuple(_read_waiver(item) for item in _objects(data["waivers"])),
            withdrawals=tuple(
                Withdrawal(_text(item["name"]), _text(item["digest"]), _text(item["reason"]))
                for item in _objects(data["withdrawals"])
            ),
            publication=PublicationRules(_words(data["publication"])),
            access=tuple(_read_access(item) for item in _objects(data["access"])),
            worktree=_effect(data.get("worktree", "allow")),
        )
    )


def _mark_json(mark: Mark) -> Json:
    return {"origin": mark.origin, "name": mark.name, "tag": mark.tag, "reason": mark.reason}


def _waiver_json(waiver: Waiver) -> Json:
    return {
        "name": waiver.name,
        "repository": waiver.repository,
        "until": waiver.until.isoformat(),
        "reason": waiver.reason,
        "approved_by": waiver.approved_by,
        "origin": waiver.origin,
    }


def _access_json(rule: AccessRule) -> Json:
    return {
        "effect": rule.effect,
        "who": _who_json(rule.who),
        "tags": sorted(rule.tags),
        "names": sorted(rule.names),
        "risk": sorted(rule.risk),
        "unless": _who_json(rule.unless),
        "reason": rule.reason,
    }


def _who_json(who: Who) -> Json:
    return {"teams": sorted(who.teams), "principals": sorted(who.principals)}


def _read_mark(item: Mapping[str, Json]) -> Mark:
    name, tag = item["name"], item["tag"]
    return Mark(
        origin=_origin(item["origin"]),
        name=None if name is None else _text(name),
        tag=None if tag is None else _text(tag),
        reason=_text(item["reason"]),
    )


def _read_waiver(item: Mapping[str, Json]) -> Waiver:
    return Waiver(
        name=_text(item["name"]),
        repository=_text(item["repository"]),
        until=date.fromisoformat(_text(item["until"])),
        reason=_text(item["reason"]),
        approved_by=_text(item["approved_by"]),
        origin=_origin(item["origin"]),
    )


def _read_access(item: Mapping[str, Json]) -> AccessRule:
    return AccessRule(
        effect=_effect(item["effect"]),
        who=_read_who(item["who"]),
        tags=_words(item["tags"]),
        names=_words(item["names"]),
        risk=_words(item["risk"]),
        unless=_read_who(item["unless"]),
        reason=_text(item["reason"]),
    )


def _read_who(item: Json) -> Who:
    (who,) = _objects([item])
    return Who(teams=_words(who["teams"]), principals=_words(who["principals"]))


def _origin(value: Json) -> Origin:
    if value == "policy-file":
        return "policy-file"
    if value == "api":
        return "api"
    raise ValueError("the origin of a rule is policy-file or api")


def _effect(value: Json) -> Effect:
    if value not in {"allow", "deny"}:
        raise ValueError("a rule either allows or denies")
    return "allow" if value == "allow" else "deny"


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value


def _items(value: Json) -> Sequence[Json]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"expected a list, found {type(value).__name__}")
    return value


def _words(value: Json) -> frozenset[str]:
    return frozenset(_text(item) for item in _items(value))


def _objects(value: Json) -> Iterator[Mapping[str, Json]]:
    for item in _items(value):
        if not isinstance(item, Mapping):
            raise TypeError(f"expected an object, found {type(item).__name__}")
        yield item
