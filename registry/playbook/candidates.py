"""Which files mean to be playbooks, and what can still be read in one that does not load.

`playbooks/` is also where Ansible keeps its own, so a native file is a candidate by its marker alone. Everything here
works on text that may be broken, so what it finds are readings of single lines, never of structure.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Final

from registry.names import name_key
from registry.playbook.front_matter import outside_code, split_front_matter
from registry.playbook.load import Syntax
from registry.playbook.spelling import distance
from registry.playbook.text import Fault

MARKER = "playbook"
MARKER_DISTANCE_MAX = 2

_MARKER_LINE = re.compile(f"{MARKER}:")
_NAME_LINE = re.compile(r"name:[ \t]+([^\r\n]{0,1000})")
_REQUIRED_LINE = re.compile(r"required:[ \t]+(true|True|TRUE|false|False|FALSE)[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")
_COMMENT = re.compile(r"(?:\A|\s)#.*")
_LINES_MAX: Final = 1_000
_KEYS_COMPARED_MAX: Final = 1_000


class Speech:
    """What the lines of a file say of it that may be broken; a line in Markdown's body or code says nothing.

    A page about playbooks shows some: without front matter, the lines outside of code blocks speak.
    """

    def __init__(self, text: str, syntax: Syntax) -> None:
        self._text = text
        self._spans: Sequence[tuple[int, int]] = ((0, len(text)),)
        if syntax is Syntax.MARKDOWN:
            parts = split_front_matter(text)
            if isinstance(parts, Fault):
                self._spans = tuple(outside_code(text))
            else:
                self._spans = ((0, parts.body_offset),)

    def has_marker(self) -> bool:
        """Whether the file says that it is a native playbook: a line at column 0 that begins with `playbook:`."""
        return self._search(_MARKER_LINE, MARKER) is not None

    def key(self) -> str | None:
        """The key of the name that the file shows, or None."""
        found = self._search(_NAME_LINE, "name")
        shown = _COMMENT.sub("", found[1]).strip().strip("\"'") if found else ""
        return name_key(shown) if shown else None

    def required(self) -> bool | None:
        """What the file says of `required`, or None where it says nothing that can be read.

        Only a clear `false` is False: a broken file must not lose its protection by what made it unreadable.
        """
        found = self._search(_REQUIRED_LINE, "required")
        return found[1].lower() == "true" if found else None

    def _search(self, pattern: re.Pattern[str], key: str) -> re.Match[str] | None:
        """The first line that begins with `key` and a colon, and that fits `pattern`."""
        for start, end in self._spans:
            for at in islice(_line_begins(self._text, f"{key}:", start, end), _LINES_MAX):
                if found := pattern.match(self._text, at, end):
                    return found
        return None


def _line_begins(text: str, begin: str, start: int, end: int) -> Iterator[int]:
    """Where lines begin with `begin`; by searching for it, which is many times faster than by an expression."""
    if text.startswith(begin, start, end) and (start == 0 or text[start - 1] in "\r\n"):
        yield start
    for end_of_line in ("\n", "\r") if "\r" in text else ("\n",):
        at = text.find(end_of_line + begin, start, end)
        while at >= 0:
            yield at + 1
            at = text.find(end_of_line + begin, at + 1, end)


def missed_marker(root_keys: Collection[str]) -> str | None:
    """A sentence where a file without the marker looks like a playbook all the same, else None."""
    for key in sorted(root_keys)[:_KEYS_COMPARED_MAX]:
        if distance(key, MARKER, at_most=MARKER_DISTANCE_MAX) <= MARKER_DISTANCE_MAX:
            return f"the key {key} looks like the marker: a playbook begins with a line playbook: 1 at column 0."
    if "name" in root_keys and "steps" in root_keys:
        return "name and steps without the marker: if this is a playbook, begin it with a line playbook: 1."
    return None
