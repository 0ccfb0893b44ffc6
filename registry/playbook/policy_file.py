"""The central repository's policy file to rules, or the problems that keep the last good rules in force."""

from collections.abc import Iterator, Mapping
from datetime import date
from itertools import islice
from typing import Final, cast

from policies.ruleset import AccessRule, Mark, PublicationRules, RuleSet, Waiver, Who, combine
from registry.digest import Json
from registry.errors import RepositoryInvalid
from registry.names import fold_tag, name_key, repository_id
from registry.playbook.atlas import Atlas, Spot
from registry.playbook.complaints import Complaint, complaints
from registry.playbook.document import known_keys
from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.load import Loaded, Syntax, load, syntax_of
from registry.playbook.model import Problem
from registry.playbook.policy_document import POLICY_SHAPES, PolicyDocument
from registry.playbook.problems import problem
from registry.playbook.settling import OutOfRange, settled
from registry.playbook.spelling import quoted
from registry.playbook.text import Fault, Path, decode

_ORIGIN: Final = "policy-file"

Item = Mapping[str, Json]


def read_policy(
    path: str, data: bytes, *, limits: Limits = DEFAULT_LIMITS, case_sensitive_hosts: frozenset[str] = frozenset()
) -> tuple[RuleSet | None, tuple[Problem, ...]]:
    """The rules of a policy file with names, tags and repositories folded; None and why, where it does not load.

    Never raises on any bytes. An error anywhere refuses the whole file: rules never weaken by half.
    """
    loaded = _loaded(path, data, limits)
    if isinstance(loaded, Fault):
        return None, (problem(loaded.code, path, (loaded.line, loaded.column), loaded.message),)
    try:
        fields = settled(loaded.data, numbers_are_text=loaded.syntax is not Syntax.JSON)
    except OutOfRange:
        return None, (problem("number-out-of-range", path, (1, 1), "a number here is too large: put it in quotes."),)
    found = complaints(PolicyDocument, fields, _known_at, at_most=limits.problems_per_file)
    found = found or list(islice(_meaning(fields, case_sensitive_hosts), limits.problems_per_file))
    if found:
        places = Atlas(loaded).places([Spot(each.at, on_key=each.on_key) for each in found])
        said = [problem(each.code, path, at, each.message) for each, at in zip(found, places, strict=True)]
        return None, tuple(sorted(said, key=lambda each: (each.line, each.column)))
    return _rules(fields, case_sensitive_hosts), ()


def _loaded(path: str, data: bytes, limits: Limits) -> Loaded | Fault:
    if len(data) > limits.file_bytes:
        message = f"{len(data):,} bytes are more than the {limits.file_bytes:,} that are read: shorten the file."
        return Fault("too-large", 1, 1, message)
    text = decode(data)
    if isinstance(text, Fault):
        return text
    return load(text, Syntax.JSON if syntax_of(path) is Syntax.JSON else Syntax.YAML, limits=limits)


def _known_at(at: Path) -> tuple[str, ...]:
    shape = POLICY_SHAPES.get(tuple(part for part in at if isinstance(part, str)))
    return known_keys(shape) if shape else ()


def _meaning(fields: Item, case_sensitive_hosts: frozenset[str]) -> Iterator[Complaint]:
    """What the shape cannot say: one of two keys, names that fold, repositories and days that exist."""
    for place, rule in enumerate(_items(fields, "required")):
        yield from _one_of(rule, ("required", place), "name", "tag")
        yield from _named(rule, ("required", place))
    for place, waiver in enumerate(_items(fields, "waivers")):
        at: Path = ("waivers", place)
        yield from _named(waiver, at)
        try:
            repository_id(str(waiver["repository"]), case_sensitive_hosts=case_sensitive_hosts)
        except RepositoryInvalid as error:
            yield Complaint("field-type", (*at, "repository"), str(error))
        if _day(waiver) is None:
            message = f"{quoted(str(waiver['until']))} is no day of the calendar: write it as 2027-01-31."
            yield Complaint("field-type", (*at, "until"), message)
    for place, line in enumerate(_items(fields, "access")):
        yield from _one_of(line, ("access", place), "allow", "deny")
        for nth, name in enumerate(_texts(line, "names")):
            if name_key(name) is None:
                yield _bad_name(("access", place, "names", nth), name)


def _one_of(item: Item, at: Path, one: str, other: str) -> Iterator[Complaint]:
    if one not in item and other not in item:
        yield Complaint("field-missing", at, f"this rule has neither {one} nor {other}: add one of them.")
    elif one in item and other in item:
        yield Complaint("field-type", (*at, other), f"this rule has both {one} and {other}: make it two rules.")


def _named(item: Item, at: Path) -> Iterator[Complaint]:
    name = item.get("name")
    if isinstance(name, str) and name_key(name) is None:
        yield _bad_name((*at, "name"), name)


def _bad_name(at: Path, name: str) -> Complaint:
    message = f"{quoted(name)} is no playbook's name: use lower-case letters, digits and single hyphens."
    return Complaint("name-invalid", at, message)


def _rules(fields: Item, case_sensitive_hosts: frozenset[str]) -> RuleSet:
    return combine(
        RuleSet(
            marks=tuple(_mark(each) for each in _items(fields, "required")),
            waivers=tuple(_waiver(each, case_sensitive_hosts) for each in _items(fields, "waivers")),
            publication=PublicationRules(
                frozenset(key for key, value in _mapping(fields, "publication").items() if value == "required")
            ),
            access=tuple(_access(each) for each in _items(fields, "access")),
            worktree="deny" if fields.get("worktree") == "deny" else "allow",
        )
    )


def _mark(item: Item) -> Mark:
    name, tag = item.get("name"), item.get("tag")
    return Mark(
        origin=_ORIGIN,
        name=name_key(str(name)) if name is not None else None,
        tag=fold_tag(str(tag)) if tag is not None else None,
        reason=str(item.get("reason", "")),
    )


def _waiver(item: Item, case_sensitive_hosts: frozenset[str]) -> Waiver:
    repository = repository_id(str(item["repository"]), case_sensitive_hosts=case_sensitive_hosts)
    return Waiver(
        name=cast("str", name_key(str(item["name"]))),
        repository=str(repository),
        until=cast("date", _day(item)),
        reason=str(item["reason"]),
        approved_by=str(item["approved_by"]),
        origin=_ORIGIN,
    )


def _access(item: Item) -> AccessRule:
    effect = "allow" if "allow" in item else "deny"
    return AccessRule(
        effect="allow" if effect == "allow" else "deny",
        who=_who(item, effect),
        tags=frozenset(fold_tag(each) for each in _texts(item, "tags")),
        names=frozenset(key for each in _texts(item, "names") if (key := name_key(each)) is not None),
        risk=frozenset(_texts(item, "risk")),
        unless=_who(item, "unless"),
        reason=str(item.get("reason", "")),
    )


def _who(item: Item, key: str) -> Who:
    whom = _mapping(item, key)
    return Who(teams=frozenset(_texts(whom, "teams")), principals=frozenset(_texts(whom, "principals")))


def _day(waiver: Item) -> date | None:
    try:
        return date.fromisoformat(str(waiver["until"]))
    except ValueError:
        return None


def _items(fields: Item, key: str) -> list[Item]:
    return cast("list[Item]", fields.get(key, []))


def _mapping(fields: Item, key: str) -> Item:
    return cast("Item", fields.get(key, {}))


def _texts(item: Item, key: str) -> list[str]:
    return cast("list[str]", item.get(key, []))
