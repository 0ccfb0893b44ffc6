"""What an effect says, read as the answer of a registry that may be older or newer than this program."""

from collections.abc import Mapping

from registry.catalog.revision import Revision, path_of
from registry.digest import Json
from registry.playbook.model import Level, Problem
from registry.ports import Role

Row = Mapping[str, Json]

_OTHER_FILES = frozenset({"duplicate-root", "twin-identical", "duplicate-name"})
"""Codes of files that claim a name beside the one that stands for it: agents would follow any of them."""


def rows_of(effect: Mapping[str, Json] | None, sort: str) -> list[Row]:
    """The rows of one sort that an effect lists; none where it says nothing of it."""
    return items_of(_member(effect, "effect"), sort)


def count_of(effect: Mapping[str, Json] | None, sort: str) -> int:
    """How many rows of a sort there are, listed or not."""
    count = _member(_member(_member(effect, "effect"), sort), "count")
    return count if isinstance(count, int) else 0


def items_of(lists: Json, name: str) -> list[Row]:
    """The objects in one of several bounded lists, each with `count` and `items`."""
    items = _member(_member(lists, name), "items")
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def is_of_service(effect: Mapping[str, Json] | None) -> bool:
    """Whether an effect is that of a service repository's change."""
    return effect is not None and effect.get("role") == Role.SERVICE.value


def refused_names(effect: Mapping[str, Json] | None) -> frozenset[str]:
    """The names whose local copy never serves, of an effect on a service repository."""
    return (
        frozenset(str(row.get("name")) for row in rows_of(effect, "refused")) if is_of_service(effect) else frozenset()
    )


def effect_problems(effect: Mapping[str, Json] | None, revision: Revision) -> list[tuple[Problem, bool]]:
    """(problem at a file, whether the change brings it) of what stands against merging in an effect.

    `shadows-required` is a local copy of a required name, at each file that has the name. `required-unmatched` is said
    here of a mark that was made through the API, and that a change of central leaves without its playbook.
    """
    if is_of_service(effect):
        paths = {copy.name: {path_of(copy)} for copy in revision.copies}
        for problem in revision.problems:
            if problem.code in _OTHER_FILES and problem.name in paths:
                paths[problem.name].add(problem.path)
        return [
            (_shadows(row, path), row.get("new") is True)
            for row in rows_of(effect, "refused")
            for path in sorted(paths.get(str(row.get("name")), ()))
        ]
    gone = {str(row.get("name")): str(row.get("path")) for row in rows_of(effect, "removed")}
    marks = [row for row in items_of(_member(effect, "rules"), "unmatched") if row.get("origin") == "api"]
    return [
        (_orphaned(str(row["name"]), gone[str(row["name"])]), True)
        for row in marks
        if row.get("new") is True and row.get("name") in gone
    ]


def _shadows(row: Row, path: str) -> Problem:
    name, reasons = str(row.get("name")), row.get("reasons")
    said = " ".join(str(reason) for reason in reasons) if isinstance(reasons, list) else ""
    message = (
        f"{name} is required here{f' ({said})' if said else ''}, so this copy is refused and never serves. Yet agents "
        "read playbooks/, .claude/skills and the like by themselves, and would follow it past any registry: rename it, "
        "delete it, or ask the platform team for a waiver."
    )
    return Problem("shadows-required", Level.ERROR, path, 1, 1, message, name)


def _orphaned(name: str, path: str) -> Problem:
    message = (
        f"{name} is marked as required through the API, and this change takes the playbook away: nobody would serve "
        f"{name} anywhere, and no other copy may stand in. Keep it, or take the mark back first with "
        f"`registry policy unrequire {name}`."
    )
    return Problem("required-unmatched", Level.ERROR, path, 1, 1, message, name)


def _member(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, Mapping) else None
