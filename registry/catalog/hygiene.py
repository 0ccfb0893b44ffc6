"""What one catalog shows of the playbooks that serve in it: remarks that never block anything.

`near-duplicate`: one purpose under two names. `tool-drift`: two documents that define one tool in two ways.
`deprecated`: what replaces a playbook, and whether that serves here. The remarks stand at a repository's own files;
what central's playbooks have among themselves is said once, of central, and not of every catalog that serves them.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from registry.catalog.likeness import Wording, WordingIndex, wording_of
from registry.catalog.revision import Head
from registry.digest import Json
from registry.names import name_key
from registry.playbook.definitions import tool_definitions
from registry.playbook.model import Problem
from registry.playbook.problems import problem
from registry.playbook.spelling import quoted

NAMED_MAX: Final = 3
"""How many others a near-duplicate names."""
DRIFTS_MAX: Final = 50
"""How many tools of one playbook are remarked on."""

_MEMBERS: Final[Mapping[str, str]] = {
    "input_schema": "the input schema",
    "output_schema": "the output schema",
    "permissions": "permissions",
    "risk": "risk",
    "side_effecting": "side effects",
    "requires_approval": "approval",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """One playbook that serves in a catalog, as far as it is compared with others.

    `tools` are its tools' definitions as `tool_definitions` gives them; `kind` is central or local.
    """

    name: str
    repository: str
    path: str
    kind: str
    purpose: str
    deprecated: Mapping[str, Json] | None
    tools: Mapping[str, bytes]


def subject_of(head: Head, tools: Mapping[str, bytes]) -> Subject:
    """The subject of a head that serves, with its document's tool definitions."""
    source = head.source
    return Subject(head.name, source.repository, source.path, source.kind, head.purpose, head.deprecated, tools)


def definitions_of(contract: Mapping[str, Json]) -> Mapping[str, bytes]:
    """The tool definitions of a document."""
    return tool_definitions(contract.get("tools"))


class Neighbours:
    """Playbooks that serve beside others, looked up by name, by the words of their purposes and by their tools."""

    def __init__(self, subjects: Iterable[Subject]) -> None:
        self._subjects = tuple(sorted(subjects, key=lambda item: (item.kind, item.name)))
        self._by_name = {item.name: item for item in self._subjects}
        self._wordings = tuple(wording_of(item.name, item.purpose) for item in self._subjects)
        self._index = WordingIndex(self._wordings)
        self._tools: defaultdict[str, dict[bytes, list[Subject]]] = defaultdict(dict)
        for item in self._subjects:
            for tool, definition in item.tools.items():
                self._tools[tool].setdefault(definition, []).append(item)

    def worded(self) -> Iterator[tuple[Subject, Wording]]:
        """Every subject with its wording, by name."""
        return zip(self._subjects, self._wordings, strict=True)

    def named(self, name: str) -> Subject | None:
        """The subject of that name, or None."""
        return self._by_name.get(name)

    def near(self, wording: Wording, most: int, wanted: Callable[[Subject], bool]) -> list[Subject]:
        """Up to `most` wanted subjects whose purposes say the same."""
        places = self._index.near(wording, most, lambda place: wanted(self._subjects[place]))
        return [self._subjects[place] for place in places]

    def defining(self, tool: str, definition: bytes, wanted: Callable[[Subject], bool]) -> tuple[Subject, bytes] | None:
        """The first wanted subject that defines the tool in another way, and how it does, or None."""
        for other, subjects in self._tools.get(tool, {}).items():
            found = next((item for item in subjects if other != definition and wanted(item)), None)
            if found is not None:
                return found, other
        return None


NOBODY: Final = Neighbours(())


def neighbours(subjects: Iterable[Subject]) -> Neighbours:
    """Subjects prepared to be compared with: central's once for all catalogs."""
    return Neighbours(subjects)


def catalog_remarks(
    own: Iterable[Subject], beside: Neighbours = NOBODY, hidden: Collection[str] = ()
) -> tuple[Problem, ...]:
    """The remarks on `own` in the catalog that they make with `beside`, sorted by place.

    What is in `beside` under a name of `own` or of `hidden` does not serve in this catalog.
    """
    mine = Neighbours(own)
    taken = {subject.name for subject, _ in mine.worded()} | set(hidden)
    remarks: list[Problem] = []
    for subject, wording in mine.worded():
        remarks += _deprecated(subject, mine, beside, taken)
        remarks += _near_duplicate(subject, wording, mine, beside, taken)
        remarks += islice(_tool_drift(subject, mine, beside, taken), DRIFTS_MAX)
    return tuple(sorted(remarks, key=_place))


def with_remarks(problems: Iterable[Problem], remarks: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems of files and remarks as one list, sorted by place.

    `deprecated` is said by the file and, with what replaces it, by the catalog: the latter at the former's line.
    """
    said = {(item.code, item.path): item for item in remarks}
    kept, merged = [], set[tuple[str, str]]()
    for item in problems:
        remark = said.get((item.code, item.path)) if item.code == "deprecated" else None
        if remark is None:
            kept.append(item)
        else:
            merged.add((item.code, item.path))
            kept.append(replace(remark, line=item.line, column=item.column))
    kept += [item for item in remarks if (item.code, item.path) not in merged]
    return tuple(sorted(kept, key=_place))


def _place(item: Problem) -> tuple[str, int, int, str, str]:
    return item.path, item.line, item.column, item.code, item.message


def _near_duplicate(
    subject: Subject, wording: Wording, mine: Neighbours, beside: Neighbours, taken: Collection[str]
) -> Iterator[Problem]:
    if subject.deprecated is not None:
        # It is on its way out, and what replaces it has every reason to say the same.
        return
    others = mine.near(wording, NAMED_MAX + 1, lambda item: item.name != subject.name and item.deprecated is None)
    if len(others) <= NAMED_MAX:
        others += beside.near(
            wording,
            NAMED_MAX + 1 - len(others),
            lambda item: item.name not in taken and item.deprecated is None,
        )
    if others:
        named = [_shown(item, subject) for item in others[:NAMED_MAX]]
        more = " and others" if len(others) > NAMED_MAX else ""
        message = (
            f"the purpose says nearly the same as that of {' and '.join(named)}{more}, so a search cannot tell them "
            "apart: say what each is for and not for, or delete one."
        )
        yield problem("near-duplicate", subject.path, (1, 1), message, name=subject.name)


def _tool_drift(subject: Subject, mine: Neighbours, beside: Neighbours, taken: Collection[str]) -> Iterator[Problem]:
    for tool, definition in sorted(subject.tools.items()):
        found = beside.defining(tool, definition, lambda item: item.name not in taken) or mine.defining(
            tool, definition, lambda item: item.name != subject.name
        )
        if found is not None:
            other, theirs = found
            message = (
                f"the tool {quoted(tool)} is defined in another way in {_shown(other, subject)}: they differ in "
                f"{_difference(definition, theirs)}. Keep one definition, or give the two tools two names."
            )
            yield problem("tool-drift", subject.path, (1, 1), message, name=subject.name)


def _deprecated(subject: Subject, mine: Neighbours, beside: Neighbours, taken: Collection[str]) -> Iterator[Problem]:
    if subject.deprecated is None:
        return
    since = subject.deprecated.get("since")
    said = f"this playbook says that it is deprecated{f' since {str(since)[:40]}' if since else ''}"
    wanted = subject.deprecated.get("replaced_by")
    name = name_key(wanted) if isinstance(wanted, str) else None
    if name is None:
        message = f"{said}, and names nothing that replaces it: say what to use in `replaced_by`, or delete it."
    elif name == subject.name:
        message = f"{said}, and names itself as what replaces it: name another one in `replaced_by`."
    else:
        other = mine.named(name) or (beside.named(name) if name not in taken else None)
        if other is None:
            message = f"{said}, and {name}, which replaces it, does not serve in this catalog: add it, or name another."
        elif other.deprecated is not None:
            message = f"{said}, and {_shown(other, subject)}, which replaces it, is deprecated too: name a later one."
        else:
            message = f"{said}; {_shown(other, subject)} replaces it and serves here: use that one."
    yield problem("deprecated", subject.path, (1, 1), message, name=subject.name)


def _shown(other: Subject, beside: Subject) -> str:
    where = other.path if other.repository == beside.repository else f"{other.path} in {other.repository}"
    return f"{other.name} ({where})"


def _difference(one: bytes, other: bytes) -> str:
    left, right = json.loads(one), json.loads(other)
    parts = [shown for member, shown in _MEMBERS.items() if left.get(member) != right.get(member)]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
