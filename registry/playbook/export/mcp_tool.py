"""The definition of an MCP tool that stands for one playbook, in the shape of `tools/list`."""

import json
from collections.abc import Iterator
from typing import Final

from registry.digest import Json
from registry.playbook.export.fields import (
    Fields,
    description_of,
    mapping_of,
    mappings_of,
    one_line,
    text_of,
    texts_of,
    version_of,
)
from registry.playbook.export.flat_schema import flat_schema

META_PREFIX: Final = "playbook-registry/"
_HARMLESS_RISKS: Final = frozenset({"read", "internal"})


def render_mcp_tool(contract: Fields, head: Fields) -> bytes:
    """The definition as indented JSON, its keys sorted."""
    return (json.dumps(tool_of(contract, head), ensure_ascii=False, sort_keys=True, indent=2) + "\n").encode()


def tool_of(contract: Fields, head: Fields) -> dict[str, Json]:
    """The definition: `name`, `title`, `description`, `inputSchema`, `annotations` and `_meta`.

    The name is the playbook's, which is valid for MCP as it is. `_meta` says which copy this is, under keys that begin
    with META_PREFIX.
    """
    inputs = contract.get("inputs")
    title = one_line(text_of(head, "title") or str(contract["name"]))
    meta: dict[str, Json] = {
        "source": head.get("source"),
        "version": version_of(contract, head),
        "digest": head.get("digest"),
        "document": contract.get("document"),
    }
    return {
        "name": contract["name"],
        "title": title,
        "description": description_of(contract),
        "inputSchema": flat_schema(inputs if isinstance(inputs, dict) else None),
        "annotations": {"title": title, **annotations_of(contract)},
        "_meta": {META_PREFIX + key: value for key, value in meta.items() if value is not None},
    }


def annotations_of(contract: Fields) -> dict[str, Json]:
    """MCP's four hints, from the contracts of the tools that the playbook declares.

    A tool that is named and not declared may do anything, and so may a playbook that names none: the hints then are
    the careful ones, which are MCP's own defaults.
    """
    declared = {str(tool.get("name")): tool for tool in mappings_of(contract, "tools")}
    used = frozenset(_used(contract))
    is_known = bool(declared) and used <= declared.keys()
    tools = list(declared.values())
    reads = is_known and all(_reads(tool) for tool in tools)
    harmless = reads or (is_known and all(_is_harmless(tool) for tool in tools))
    return {
        "readOnlyHint": reads,
        "destructiveHint": not harmless,
        "idempotentHint": reads,
        "openWorldHint": not (is_known and all(tool.get("source") == "primitive" for tool in tools)),
    }


def _reads(tool: Fields) -> bool:
    """Whether it changes nothing: it says so, or says that reading is all that it does."""
    effect = tool.get("side_effecting")
    return effect is False or (effect is None and tool.get("risk") == "read")


def _is_harmless(tool: Fields) -> bool:
    """Whether its author says that what it changes needs nobody's consent."""
    return _reads(tool) or (tool.get("risk") in _HARMLESS_RISKS and tool.get("requires_approval") is False)


def _used(contract: Fields) -> Iterator[str]:
    for step in mappings_of(contract, "steps"):
        yield from texts_of(step, "allowed_tools")
        if tool := text_of(step, "tool"):
            yield tool
    for key in ("preconditions", "verification"):
        for item in mappings_of(contract, key):
            if tool := text_of(mapping_of(item, "check"), "tool"):
                yield tool
    yield from texts_of(mapping_of(contract, "runbook"), "allowed_tools")
    for server in mappings_of(mapping_of(contract, "requires"), "mcp_servers"):
        yield from texts_of(server, "tools")
