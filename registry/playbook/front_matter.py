"""Markdown split at its fences: the front matter's text, and the body behind it."""

import re
from dataclasses import dataclass

from registry.playbook.text import Fault, line_and_column

_FENCE = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_FIELD = re.compile(r"\s*[A-Za-z][A-Za-z0-9_-]*:(?:\s|\Z)")
_CODE_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Split:
    """`head` is the front matter between the fences. Offsets are in characters of the file; the body begins at its."""

    head: str
    head_offset: int
    body_offset: int


def split_front_matter(text: str) -> Split | Fault:
    """The parts of a Markdown file whose first line is a fence; faults are -missing, -late and -unclosed.

    A fence is `---` at column 0 with nothing but blanks behind it. The second one ends the front matter, so a
    `---` in an indented block or in the body is text.
    """
    first = _FENCE.match(text)
    if first is None:
        late = _FENCE.search(text)
        # A line --- in the body is a rule or a heading's underline, unless fields follow it.
        if late is None or _FIELD.match(text, late.end()) is None:
            return Fault(
                "front-matter-missing", 1, 1, "no front matter: begin the file with a line ---, the fields, and ---."
            )
        line, column = line_and_column(text, late.start())
        return Fault(
            "front-matter-late", line, column, "the first --- must stand on line 1: move the front matter to the top."
        )
    start = first.end() + 1
    last = _FENCE.search(text, start)
    if last is None:
        return Fault(
            "front-matter-unclosed", 1, 1, "the front matter never ends: close it with a line --- at column 0."
        )
    return Split(text[start : last.start()], start, min(last.end() + 1, len(text)))


def without_code_blocks(text: str) -> str:
    """The lines of Markdown that stand outside fenced code, for looking at what the page itself says."""
    kept: list[str] = []
    fence = ""
    for line in text.splitlines():
        found = _CODE_FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif found:
            fence = found[1]
        else:
            kept.append(line)
    return "\n".join(kept)
