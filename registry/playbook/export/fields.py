"""What every form asks of a contract and of its head, whatever a file of another format put there."""

import json
import re
from collections.abc import Mapping
from typing import Final

from registry.digest import Json

Fields = Mapping[str, Json]

FORMS: Final = ("native", "skill", "mcp-tool", "markdown", "original")
"""The words of the wire for the forms that a playbook can be had in."""
DESCRIPTION_CHARS_MAX: Final = 1024

# What turns the direction of a line: a person would read other words than stand there.
BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
_TAG_START = re.compile(r"<(?=[A-Za-z/!?])")
_ANGLE = "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"


def text_of(fields: Fields, key: str) -> str | None:
    """The text under a key, or None where there is none."""
    value = fields.get(key)
    return value if isinstance(value, str) and value.strip() else None


def mapping_of(fields: Fields, key: str) -> Fields:
    """The mapping under a key, empty where there is none."""
    value = fields.get(key)
    return value if isinstance(value, Mapping) else {}


def list_of(fields: Fields, key: str) -> list[Json]:
    """The list under a key, empty where there is none."""
    value = fields.get(key)
    return list(value) if isinstance(value, list) else []


def texts_of(fields: Fields, key: str) -> list[str]:
    """The texts of the list under a key."""
    return [each for each in list_of(fields, key) if isinstance(each, str) and each.strip()]


def mappings_of(fields: Fields, key: str) -> list[Fields]:
    """The mappings of the list under a key."""
    return [each for each in list_of(fields, key) if isinstance(each, Mapping)]


def one_line(text: str) -> str:
    """The text with every run of white space as one blank."""
    return " ".join(text.split())


def compact(value: Json) -> str:
    """The value as JSON on one line, keys sorted."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(", ", ": "))


def version_of(contract: Fields, head: Fields) -> str:
    """The version: the head's, which is never absent, else the contract's."""
    return text_of(head, "version") or text_of(contract, "version") or ""


def owner_of(contract: Fields, head: Fields) -> str | None:
    """The team that answers for it, where the document or its head names one."""
    return text_of(contract, "owner") or text_of(head, "owner")


def description_of(contract: Fields, chars_max: int = DESCRIPTION_CHARS_MAX) -> str:
    """Purpose and near misses on one line, cut at a word; the purpose first, since choosing rests on it.

    Nothing in it begins like a tag of HTML or XML, which hosts refuse in a description, or turns its direction.
    """
    said = _described(text_of(contract, "purpose") or str(contract.get("name", "")))
    deprecated = mapping_of(contract, "deprecated")
    if deprecated:
        instead = text_of(deprecated, "replaced_by")
        said = f"Deprecated{f', use {instead} instead' if instead else ''}. {said}"
    said = _cut(said, chars_max)
    misses = [_described(each).rstrip(".") for each in texts_of(contract, "not_for")]
    for count in range(len(misses), 0, -1):
        whole = f"{said}{'' if said.endswith(('.', '!', '?', '…')) else '.'} Not for: {'; '.join(misses[:count])}."
        if len(whole) <= chars_max:
            return whole
    return said


def _described(text: str) -> str:
    return _TAG_START.sub(_ANGLE, BIDI.sub("\N{REPLACEMENT CHARACTER}", one_line(text)))


def _cut(text: str, chars_max: int) -> str:
    if len(text) <= chars_max:
        return text
    kept = text[: chars_max - 1]
    return (kept.rpartition(" ")[0] or kept).rstrip() + "…"
