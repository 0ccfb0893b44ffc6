"""What the next look at a source needs of the one before, as the store keeps it beside the remarks."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, cast

from registry.catalog.lineage import Lineage
from registry.catalog.versions import FirstContent
from registry.digest import Json
from registry.sync.central import Tools

IDS_MAX: Final = 300
"""Contents of one file that are remembered: further back than a slim mirror goes, since they add up."""
TOOLS_BYTES_MAX: Final = 1024 * 1024
"""Tool definitions of one source that are remembered; more of them are read from its documents at every look."""


@dataclass(frozen=True, slots=True)
class KnownLineage:
    """The lineage of a copy as read for one of its documents; the ids are the newest first."""

    digest: str
    wholes: tuple[str, ...]
    files: tuple[str, ...]
    digests: tuple[str, ...]
    sketch: tuple[int, ...]

    def lineage(self) -> Lineage:
        """The same as it is compared."""
        return Lineage(frozenset(self.wholes), frozenset(self.files), frozenset(self.digests), self.sketch)

    def after(self, earlier: "KnownLineage | None") -> "KnownLineage":
        """This lineage and what an earlier reading saw: a file's history outlasts what a mirror holds of it."""
        if earlier is None:
            return self
        return KnownLineage(
            self.digest,
            _joined(self.wholes, earlier.wholes),
            _joined(self.files, earlier.files),
            _joined(self.digests, earlier.digests),
            self.sketch,
        )


@dataclass(frozen=True, slots=True)
class Memory:
    """What was looked at: the head whose CODEOWNERS was read, and the revision.

    `contents` are the first contents of versions that are not simply what that revision holds, `tools` those of its
    documents (None: too many to remember), `lineages` those of the copies that replace central's, by name.
    """

    head: str | None = None
    revision: str | None = None
    contents: Mapping[str, FirstContent] = field(default_factory=dict)
    tools: Tools | None = field(default_factory=dict)
    lineages: Mapping[str, KnownLineage] = field(default_factory=dict)

    def to_json(self) -> Json:
        """The memory as plain data."""
        return {
            "head": self.head,
            "revision": self.revision,
            "contents": {name: asdict(item) for name, item in self.contents.items()},
            "tools": self._tools_json(),
            "lineages": {name: asdict(item) for name, item in self.lineages.items()},
        }

    def _tools_json(self) -> Json:
        definitions = [definition for tools in (self.tools or {}).values() for definition in tools.values()]
        if self.tools is None or sum(map(len, definitions)) > TOOLS_BYTES_MAX:
            return None
        return {
            digest: {tool: definition.decode() for tool, definition in tools.items()}
            for digest, tools in self.tools.items()
        }


def read_memory(value: Json) -> Memory:
    """The memory that `to_json` wrote; an empty one for anything else."""
    try:
        data = cast("Mapping[str, Any]", value)
        return Memory(
            head=data["head"],
            revision=data["revision"],
            contents={name: FirstContent(**item) for name, item in data["contents"].items()},
            tools=_read_tools(data["tools"]),
            lineages={name: _read_lineage(item) for name, item in data["lineages"].items()},
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        # Written by another version of the program: what it says is then found out anew.
        return Memory()


def _read_tools(item: Mapping[str, Mapping[str, str]] | None) -> Tools | None:
    if item is None:
        return None
    return {digest: {tool: definition.encode() for tool, definition in tools.items()} for digest, tools in item.items()}


def _read_lineage(item: Mapping[str, Any]) -> KnownLineage:
    return KnownLineage(
        item["digest"], tuple(item["wholes"]), tuple(item["files"]), tuple(item["digests"]), tuple(item["sketch"])
    )


def _joined(new: tuple[str, ...], old: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*new, *old)))[:IDS_MAX]
