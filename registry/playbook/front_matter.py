"""Markdown split at its fences: the front matter's text, and the body behind it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from registry.playbook.spelling import quoted
from registry.playbook.text import Fault, line_and_column

_NEXT = re.compile(r"\n---[ \t]*+\r?(?=\n|\Z)")
_FIELD = re.compile(r"\s*+[A-Za-z][A-Za-z0-9_-]*:(?:\s|\Z)")
_CODE_FENCE = re.compile(r"(`{3,}|~{3,})([^\n]*)")
_INDENT_MAX: Final = 3
# What people write for a fence, or an editor makes of one.
_ALMOST = re.compile(
    r"(?:\A|(?<=\n))(?:[ \t]+---|----+|--|[\u2012-\u2015-]{1,3}|\*\*\*|\+\+\+|\.\.\.)[ \t]*\r?(?=\n|\Z)"
)
_CODE_FENCES_MAX: Final = 1_000
_ALMOST_CHARS_MAX: Final = 1 << 16
_BEGIN: Final = "begin the file with a line ---, the fields as key: value, and a second line ---."


@dataclass(frozen=True, slots=True)
class Split:
    """`head` is the front matter between the fences, and the body begins at the file's character `body_offset`.

    In the place of the first fence `head` has blanks, so that a place in it is the same place in the file.
    """

    head: str
    body_offset: int


def split_front_matter(text: str) -> Split | Fault:
    """The parts of a Markdown file whose first line is a fence; faults are -missing, -late and -unclosed.

    A fence is `---` at column 0 with nothing but blanks behind it. The second one ends the front matter, so a
    `---` in an indented block or in the body is text.
    """
    end = text.find("\n")
    line = text[:end] if end >= 0 else text
    if not line.startswith("---") or line[3:].removesuffix("\r").strip(" \t"):
        return _no_first(text, line)
    # The line break before it is the first fence's own where the front matter is empty.
    last = _NEXT.search(text, end) if end >= 0 else None
    if last is None:
        return _no_last(text, len(line) + 1)
    return Split(" " * end + text[end : last.start() + 1], min(last.end() + 1, len(text)))


def _no_first(text: str, first: str) -> Fault:
    late = _NEXT.search(text)
    # A line --- in the body is a rule or a heading's underline, unless fields follow it.
    if late is not None and _FIELD.match(text, late.end()):
        line, column = line_and_column(text, late.start() + 1)
        if not text[: late.start()].strip():
            above = "the line above it is empty: remove it."
        elif text.startswith(("```", "~~~")):
            above = "a code fence stands above it: remove the fence, here and where it closes."
        else:
            above = "move the front matter to the top."
        return Fault("front-matter-late", line, column, f"the first --- has to stand on line 1: {above}")
    if _ALMOST.match(text, 0, _ALMOST_CHARS_MAX):
        found = "line 1 is indented" if first.strip() == "---" else f"line 1 is {quoted(first.strip())}"
        return Fault("front-matter-missing", 1, 1, f"no front matter: {found}; {_BEGIN}")
    if first.startswith("---") and first[3:].strip()[:1] != "-":
        return Fault("front-matter-missing", 1, 4, f"no front matter: text follows the --- on line 1; {_BEGIN}")
    return Fault("front-matter-missing", 1, 1, f"no front matter: {_BEGIN}")


def _no_last(text: str, start: int) -> Fault:
    almost = _ALMOST.search(text, start, start + _ALMOST_CHARS_MAX)
    if almost is None:
        message = "the front matter never ends: close it with a line --- at column 0."
        return Fault("front-matter-unclosed", 1, 1, message)
    line, column = line_and_column(text, almost.start())
    message = "the front matter never ends; if this line is to close it, write --- at column 0."
    return Fault("front-matter-unclosed", line, column, message)


def outside_code(text: str) -> Iterator[tuple[int, int]]:
    """The stretches of Markdown outside of fenced code, as offsets, for looking at what the page itself says.

    A page with more than 1,000 of them is not looked at behind those.
    """
    start, fence = 0, ""
    for count, found in enumerate(_CODE_FENCE.finditer(text)):
        if count > _CODE_FENCES_MAX:
            return
        indent = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        if indent.strip(" ") or len(indent) > _INDENT_MAX:
            continue
        if not fence:
            yield start, found.start()
            fence = found[1]
        elif found[1].startswith(fence) and not found[2].strip():
            start, fence = found.end(), ""
    if not fence:
        yield start, len(text)
