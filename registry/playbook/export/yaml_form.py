"""YAML that this project's strict reader, and any other YAML 1.2 reader, reads back as the same data."""

import re
from collections.abc import Mapping
from typing import Final

import yaml

from registry.digest import Json
from registry.playbook.text import INTEGER_MAX

LINE_CHARS: Final = 110

# What some YAML takes for a number, a constant, a date or an indicator: such a text stands in quotes.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 _./()'+@;,!?<>=&$^%*|~\u00a1-\u024f\u2010-\u2027\u2030-\u205e-]*")
# YAML 1.1 ends a line at these and YAML 1.2 does not: escaped, they mean the same to both.
_LINE_SEPARATORS = re.compile("[\u0085\u2028\u2029]")
_CONSTANTS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"})


def to_yaml(fields: Mapping[str, Json]) -> str:
    """Block YAML of plain JSON data, in the order of the mappings, ending with a line feed.

    No anchors and no tags. A text is plain only where no reader could take it for something else.
    """
    text: str = yaml.dump(
        fields, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=LINE_CHARS
    )
    return text


class _Dumper(yaml.SafeDumper):
    """Block style with lists indented below their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - the base's signature
        super().increase_indent(flow, False)  # noqa: FBT003 - the base's signature

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the base's signature
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))


def _style(text: str) -> str | None:
    if _LINE_SEPARATORS.search(text) or text.endswith("\n\n") or not text.strip("\n"):
        # Blank lines at the end of a block would need `...` behind it, which no front matter may hold.
        return '"'
    if "\n" in text:
        # The dumper itself falls back to quotes where a block would lose something.
        return "|"
    is_plain = _PLAIN.fullmatch(text) and text.casefold() not in _CONSTANTS and not text.endswith(" ")
    return None if is_plain else '"'


def _integer(dumper: _Dumper, number: int) -> yaml.ScalarNode:
    if abs(number) > INTEGER_MAX:
        # Canonical JSON writes a large float without an exponent; as an integer it would be out of range.
        return dumper.represent_float(float(number))
    return dumper.represent_int(number)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(int, _integer)
