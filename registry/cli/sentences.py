"""What is said of one row of an effect, in one sentence or a part of one. Every foreign text passes `shown`."""

from collections.abc import Callable, Mapping

from registry.cli.terminal import shown
from registry.service.consequences import Row


def named(row: Row) -> str:
    """The name."""
    return shown(row.get("name"))


def with_version(row: Row) -> str:
    """The name with the version that it has now."""
    version = row.get("version")
    return f"{named(row)} {shown(version)}" if version else named(row)


def with_earlier_version(row: Row) -> str:
    """The name with the version that it had."""
    version = row.get("version_before")
    return f"{named(row)} {shown(version)}" if version else named(row)


def changed(row: Row) -> str:
    """What changed of a copy."""
    before, after = row.get("version_before"), row.get("version")
    if after is None:
        return f"{with_earlier_version(row)} does not load any more"
    if before == after:
        return f"{with_version(row)}, under the same version"
    return f"{named(row)} {shown(before)} -> {shown(after)}"


def refused(row: Row) -> str:
    """Why a copy never serves, and what serves instead."""
    there = "" if row.get("new") else "; it was so before"
    serves = _serving(row)
    return f"{with_version(row)}: required here{because(row)}, so {serves}{there}"


def colliding(row: Row) -> str:
    """What two files of one name come to."""
    return f"{named(row)}: two files claim it, and neither is chosen; {_serving(row)}"


def held(row: Row) -> str:
    """What serves while the newest file does not load."""
    return f"{named(row)}: its newest file does not load, so {shown(row.get('version'))} stays"


def shadowing(row: Row) -> str:
    """What a copy stands in front of."""
    before = row.get("before")
    version = before.get("version") if isinstance(before, Mapping) and before.get("serves") == "central" else None
    return f"{with_version(row)}: serves here instead of central's{f' {shown(version)}' if version else ''}"


def dangling(row: Row) -> str:
    """What a deprecated playbook leads to."""
    return f"{named(row)} names {shown(row.get('replaced_by'))} as its replacement, which is not served any more"


def removed(row: Row) -> str:
    """What serves once the copy is gone."""
    after = row.get("after")
    if isinstance(after, Mapping) and after.get("serves") == "central":
        return f"{with_earlier_version(row)}: central's {shown(after.get('version'))} serves from now on"
    return f"{with_earlier_version(row)}: nobody serves it any more"


def _serving(row: Row) -> str:
    after = row.get("after")
    serves = after.get("serves") if isinstance(after, Mapping) else None
    if serves is None or not isinstance(after, Mapping):
        return "nobody serves it"
    whose = "central's" if serves == "central" else "its own"
    return f"{whose} {shown(after.get('version'))} serves"


def unserved(row: Row) -> str:
    """Why nobody serves a name."""
    after = row.get("after")
    if isinstance(after, Mapping) and after.get("outcome") == "required_missing":
        return f"{named(row)}: still required by name, so nobody may serve it"
    return f"{named(row)}: nobody serves it"


def reach_among(read: int) -> Callable[[Row], str]:
    """What says in how many of `read` repositories a name changes; nothing where there are none."""

    def say(row: Row) -> str:
        reach = row.get("repositories")
        if not read or not isinstance(reach, int):
            return ""
        return f": in {reach} of {many(read, 'repository')}"

    return say


def because(row: Row) -> str:
    """The reasons of a requirement, in brackets."""
    reasons = row.get("reasons")
    said = " ".join(shown(reason) for reason in reasons) if isinstance(reasons, list) else ""
    return f' ("{said}")' if said else ""


def grounds_of(row: Row) -> str:
    """Who said that a name is required."""
    by = row.get("by")
    return " and ".join(shown(ground) for ground in by) if isinstance(by, list) and by else "a rule"


def _subject(row: Row) -> str:
    return f"the tag {shown(row.get('tag'))}" if row.get("name") is None else named(row)


def marked(row: Row) -> str:
    """What a mark requires."""
    reason = row.get("reason")
    return f"{_subject(row)} is required" + (f' ("{shown(reason)}")' if reason else "")


def waived(row: Row) -> str:
    """What a waiver allows."""
    return f"{shown(row.get('repository'))} may serve its own {named(row)} until {shown(row.get('until'))}"


def unmatched(row: Row) -> str:
    """What a rule was meant for and does not find."""
    there = "" if row.get("new") else " (it was so before)"
    if row.get("kind") == "waiver":
        return f"the waiver of {shown(row.get('repository'))} for {named(row)}: {shown(row.get('why'))}{there}"
    origin = "a mark through the API" if row.get("origin") == "api" else "a rule of the policy file"
    return f"{origin} requires {_subject(row)}, which {shown(row.get('why'))}{there}"


def many(count: int, noun: str) -> str:
    """A number of things."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
