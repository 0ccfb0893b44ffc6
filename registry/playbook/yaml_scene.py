"""A text of YAML and the stop that its parser made in it, with what the explanations of the stop ask of them."""

from dataclasses import dataclass
from typing import Final

from registry.playbook.text import line_and_column

Culprit = tuple[int, str]
"""Where the mistake stands, as an offset in characters, and a sentence that says what it is and how to mend it."""

_LINE_CHARS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Stop:
    """Where the parser stopped and what it said; offsets are in characters of the text.

    `context_at` is where the piece begins that it was reading, `value` the begin and the end of what it had read last,
    and `open_at` the begin of the innermost collection that is still open.
    """

    problem: str
    context: str
    at: int
    context_at: int | None
    value: tuple[int, int] | None
    open_at: int | None


class Scene:
    """A text and the stop in it: `begin` is where the piece begins that was read, `char` what stands at the stop."""

    def __init__(self, text: str, stop: Stop) -> None:
        self.text = text
        self.stop = stop
        self.at = stop.at
        self.begin = stop.at if stop.context_at is None else stop.context_at
        self.char = text[stop.at : stop.at + 1]

    def line_start(self, at: int) -> int:
        """Where the line of `at` begins."""
        return max(self.text.rfind("\n", 0, at), self.text.rfind("\r", 0, at)) + 1

    def rest(self, at: int) -> str:
        """What stands from `at` to the end of its line."""
        line = self.text[at : at + _LINE_CHARS_MAX]
        end = line.find("\n")
        return line[: end if end >= 0 else len(line)].rstrip("\r")

    def indent(self, at: int) -> int:
        """How many blanks the line of `at` begins with."""
        line = self.rest(self.line_start(at))
        return len(line) - len(line.lstrip(" "))

    def line(self, at: int) -> int:
        """The number of the line of `at`, from 1."""
        return line_and_column(self.text, at)[0]

    def value(self) -> str:
        """What was read last, as it is written."""
        begin, end = self.stop.value or (0, 0)
        return self.text[begin:end].rstrip()

    def unexplained(self) -> Culprit:
        """What is said where nothing better is known."""
        context = f" {self.stop.context}" if self.stop.context else ""
        return self.at, f"YAML stops here{context}: {self.stop.problem}. Check indentation, quotes and brackets above."


def in_quotes(source: str) -> str:
    """How to quote the rest of a line, given what quotes stand in it already."""
    if '"' in source and "'" in source:
        return "put the whole text on lines of its own, indented, below >-"
    if '"' in source:
        return "put the whole text in single quotes"
    return "put the whole text in double quotes" if "'" in source else "put the whole text in quotes"
