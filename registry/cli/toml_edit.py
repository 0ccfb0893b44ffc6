"""One table put into a TOML text, with its comments and everything else left as it was written."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, InlineTable

from registry.cli.json_edit import NotEditable


def read_table(text: str) -> dict[str, Any]:
    """The table that `text` is. Raises NotEditable with where it stops being one."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise NotEditable(str(error) or "it is nested too deeply") from None


def put(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """`text` with `value` as the table at `path`, whose parents are made where there are none. Raises NotEditable.

    A table that is there keeps its comments and the order of its keys.
    """
    wanted = _with(read_table(text), path, value)
    for attempt in (_appended, _edited):
        made = attempt(text, path, value)
        if made is not None and _means(made, wanted):
            return made
    raise NotEditable("it is written in a way that does not take another table")


def _appended(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str | None:
    """The text with a new table at its end: nothing before it is touched. It may be that there is one already."""
    newline = "\r\n" if "\r\n" in text else "\n"
    made = tomlkit.document()
    parent: Any = made
    for key in path[:-1]:
        parent[key] = tomlkit.table(is_super_table=True)
        parent = parent[key]
    parent[path[-1]] = _table(value)
    said = tomlkit.dumps(made).replace("\n", newline)
    if not text.strip():
        return said
    end = "" if text.endswith("\n") else newline
    return f"{text}{end}{newline}{said}"


def _edited(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str | None:
    """The text with a table changed where it stands."""
    try:
        document = tomlkit.parse(text)
        parent: Any = document
        for key in path[:-1]:
            parent = parent.setdefault(key, tomlkit.table(is_super_table=True))
        there = parent.get(path[-1])
        if isinstance(there, AbstractTable):
            _change(there, value)
        else:
            parent[path[-1]] = _inline(value) if isinstance(parent, InlineTable) else _table(value)
        return tomlkit.dumps(document)
    except (TOMLKitError, TypeError, ValueError, AttributeError):
        return None


def _change(table: AbstractTable, value: Mapping[str, Any]) -> None:
    for key in [key for key in table if key not in value]:
        del table[key]
    for key, new in value.items():
        old = table.get(key)
        if isinstance(old, AbstractTable) and isinstance(new, Mapping):
            _change(old, new)
        elif old != new or key not in table:
            table[key] = _inline(new)


def _table(value: Mapping[str, Any]) -> Any:  # noqa: ANN401 - tomlkit's own
    table = tomlkit.table()
    for key, each in value.items():
        table[key] = _inline(each)
    return table


def _inline(value: object) -> Any:  # noqa: ANN401 - tomlkit's own
    if not isinstance(value, Mapping):
        return tomlkit.item(value)
    table = tomlkit.inline_table()
    table.update(value)
    return table


def _with(found: dict[str, Any], path: Sequence[str], value: Mapping[str, Any]) -> dict[str, Any]:
    key, *rest = path
    return {**found, key: _with(found.get(key, {}), rest, value) if rest else dict(value)}


def _means(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False
