"""Embedded tool definitions: what one claims of itself, and where two of one name say different things.

Definitions are in the form of a document's `tools`, whatever format they came from.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from registry.digest import Json, canonical
from registry.playbook.spelling import quoted
from registry.playbook.text import Path

REMARKS_MAX: Final = 50
# What a caller must know before it uses a tool. Two texts about one tool are no drift.
_DEFINING = ("input_schema", "output_schema", "permissions", "risk", "side_effecting", "requires_approval")
_SETS = frozenset({"permissions"})

Remark = tuple[str, Path, str]


def tool_remarks(tools: Json) -> Iterator[Remark]:
    """Code, place and sentence for what is odd about the embedded tools of one document, at most 50 of them.

    `read-tool-claims`: one whose risk is `read` says that it has side effects or asks for approval. `tool-drift`: a
    name stands twice with different definitions.
    """
    yield from islice(_remarks(tools), REMARKS_MAX)


def tool_definitions(tools: Json) -> dict[str, bytes]:
    """Tool name -> canonical JSON of what defines it: schemas, permissions, risk, side effects, approval.

    Names that define nothing of that are left out, so that naming a tool never contradicts defining it; of a name that
    stands twice the first counts. Two documents drift where a name of both has different bytes.
    """
    found: dict[str, bytes] = {}
    for _, tool in _tools(tools):
        if (definition := _definition(tool)) is not None:
            found.setdefault(str(tool["name"]), definition)
    return found


def _remarks(tools: Json) -> Iterator[Remark]:
    seen: dict[str, bytes] = {}
    for place, tool in _tools(tools):
        name = str(tool["name"])
        if tool.get("risk") == "read":
            for member, claim in (("side_effecting", "has side effects"), ("requires_approval", "asks for approval")):
                if tool.get(member) is True:
                    message = f"the tool {quoted(name)} only reads and yet {claim}: correct its risk, or {member}."
                    yield "read-tool-claims", ("tools", place), message
        definition = _definition(tool)
        if definition is not None and seen.setdefault(name, definition) != definition:
            message = f"the tool {quoted(name)} is defined above in another way: keep one definition."
            yield "tool-drift", ("tools", place), message


def _tools(tools: Json) -> Iterator[tuple[int, Mapping[str, Json]]]:
    for place, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, Mapping) and isinstance(tool.get("name"), str):
            yield place, tool


def _definition(tool: Mapping[str, Json]) -> bytes | None:
    defining = {member: _ordered(member, tool[member]) for member in _DEFINING if member in tool}
    return canonical(defining) if defining else None


def _ordered(member: str, value: Json) -> Json:
    if member in _SETS and isinstance(value, list):
        return sorted({str(each) for each in value})
    return value
