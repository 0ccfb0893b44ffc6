"""What the JSON reader stopped on, said for the author: the culprit's place, what was found, and how to mend it."""

import re
from typing import Final

from registry.playbook.text import Fault, line_and_column

Culprit = tuple[int, str]

_BRACKETS = re.compile(r'(?s:"[^"\\]*+(?:\\.[^"\\]*+)*+")|[{}\[\]]')
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_NUMBER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|[0-9.][0-9._eE+-]*)")
_CONFLICT = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?:[ \r\n]|\Z)")
_LITERALS: Final = {
    "true": "true",
    "false": "false",
    "null": "null",
    "none": "null",
    "undefined": "null",
    "nil": "null",
}
_CLOSERS: Final = {"{": "}", "[": "]"}
_BRACKETS_MAX: Final = 100_000
_SHOWN_CHARS: Final = 40


def fault_of_stop(text: str, problem: str, at: int) -> Fault:
    """The fault that the reader's stop at `at` comes to."""
    place, message = _Scene(text, problem, at).culprit()
    line, column = line_and_column(text, min(place, len(text.rstrip())))
    return Fault("json-syntax", line, column, message)


class _Scene:
    """A text, and where and why the reader stopped in it."""

    def __init__(self, text: str, problem: str, at: int) -> None:
        self.text = text
        self.problem = problem
        self.at = at
        self.char = text[at : at + 1]
        # Where the last thing stands before the stop.
        self.before = len(text[:at].rstrip(" \t\r\n")) - 1
        self.last = text[self.before : self.before + 1] if self.before >= 0 else ""

    def culprit(self) -> Culprit:
        if not self.text.strip():
            return 0, "the document is empty: write an object of fields, {…}."
        if "escape" in self.problem:
            return self._escape()
        if "control character" in self.problem:
            return self._line_end()
        if "Unterminated string" in self.problem:
            return self.at, 'the quote that opens here is never closed: close it with ", where the text ends.'
        if not self.char:
            return self._end()
        return self._foreign() or self._comma() or self._quote() or self._spelling() or self._expected()

    def _escape(self) -> Culprit:
        at = self.text.rfind("\\", 0, self.at + 1)
        if self.text[at + 1 : at + 2] == "u":
            return at, "\\u wants four hexadecimal digits behind it; write \\\\ for a backslash."
        return at, f"{self.text[at : at + 2]} is no escape that JSON knows: write \\\\ for a backslash."

    def _line_end(self) -> Culprit:
        if self.char == "\t":
            return self.at, "a tab stands in this text: write \\t for it, or spaces."
        return self.at, 'this text is not closed in its line: close it with ", or write \\n for a break inside it.'

    def _end(self) -> Culprit:
        opened = _opened(self.text)
        if opened is None:
            return self.at, "the document stops before its end: write what is missing."
        sign = self.text[opened]
        return opened, f"the {sign} that opens here is never closed: write {_CLOSERS[sign]} where it ends."

    def _foreign(self) -> Culprit | None:
        """What another tool has or has left here."""
        if self.text.startswith(("//", "/*", "#", "<!--"), self.at):
            return self.at, "a comment stands here, and JSON has none: remove it."
        if _CONFLICT.match(self.text, self.at):
            return self.at, "a merge conflict was left in the file: settle it, and remove its marks."
        if self.char == "{" and self.last == "{":
            return self.before, "a template stands here without quotes: write it as a text, between double quotes."
        return None

    def _comma(self) -> Culprit | None:
        """A comma too many."""
        if self.char in "}]" and self.last == ",":
            return self.before, f"a comma stands before the closing {self.char}: remove it."
        if self.last == ":" and self.char in {",", "}", "]"}:
            return self.before, "a value is missing behind this colon."
        if self.char == "," and self.last in {",", "[", "{", ":"}:
            return self.at, "nothing stands before this comma: remove it, or write the value that is missing."
        return None

    def _quote(self) -> Culprit | None:
        if self.char == "'" or self.char in "\u201c\u201d\u2018\u2019`":
            return self.at, 'this quote is none that JSON knows: write " at both ends of the text.'
        if self.last != '"' or self.before != self.at - 1 or not self.char.isalnum():
            return None
        if "':' delimiter" in self.problem:
            return self.text.rfind('"', 0, self.before), 'this name is not closed where it ends: write " behind it.'
        return self.before, 'a " closes a text: write \\" for one that belongs to it.'

    def _spelling(self) -> Culprit | None:
        """A number, a name or a value as another language writes it."""
        number = _NUMBER.match(self.text, self._token_begin())
        if number and number.end() > self.at and len(number[0]) > 1:
            return number.start(), f"{_shown(number[0])} is no number that JSON knows: write it as 1, -2.5 or 1e3."
        word = _WORD.match(self.text, self.at)
        if word and "property name" in self.problem:
            return self.at, f'the name {_shown(word[0])} stands without quotes: write "{_shown(word[0])}".'
        if word and "value" in self.problem:
            literal = _LITERALS.get(word[0].lower())
            return self.at, f"JSON writes {literal} for this." if literal else (
                f'a text stands without quotes: write "{_shown(word[0])}".'
            )
        return None

    def _token_begin(self) -> int:
        """Where the number begins that the stop stands in or behind."""
        at = self.at
        while at and self.text[at - 1] in "+-.0123456789" and self.at - at < _SHOWN_CHARS:
            at -= 1
        return at

    def _expected(self) -> Culprit:
        """A sign that is missing or too many."""
        if "Extra data" in self.problem:
            return self.at, "the document ends before this: remove what follows, or the bracket that closes too soon."
        if "':' delimiter" in self.problem:
            if self.char == "=":
                return self.at, "a colon is wanted here, not =."
            return self.before, "a colon is missing behind this name."
        if "',' delimiter" in self.problem:
            return (
                self._mismatch() if self.char in {"}", "]", ":"} else (self.before, "a comma is missing behind this.")
            )
        if "property name" in self.problem:
            return self.at, 'the name of a member is wanted here, in double quotes: "name": value.'
        return self.at, f"a value is wanted here, not {self.char}: write one, such as a text in double quotes."

    def _mismatch(self) -> Culprit:
        """A bracket or a colon that does not fit the bracket before it, which may be what is not closed."""
        opened = _opened(self.text[: self.at])
        if opened is None:
            return self.at, f"this {self.char} fits no bracket before it."
        sign = self.text[opened]
        if "\n" in self.text[opened : self.at]:
            return opened, f"the {sign} that opens here is not closed: write {_CLOSERS[sign]} where it ends."
        if self.char == ":":
            return self.at, "a colon follows a value of a list: write { before the name and } behind its value."
        return self.at, f"this closes nothing: the {sign} before it wants a {_CLOSERS[sign]}."


def _opened(text: str) -> int | None:
    """Where the innermost bracket stands that is still open at the end; None where that is too far to tell."""
    stack: list[int] = []
    for count, found in enumerate(_BRACKETS.finditer(text)):
        if count > _BRACKETS_MAX:
            return None
        char = found[0][0]
        if char in "{[":
            stack.append(found.start())
        elif char in "}]" and stack:
            stack.pop()
    return stack[-1] if stack else None


def _shown(source: str) -> str:
    return source if len(source) <= _SHOWN_CHARS else source[:_SHOWN_CHARS] + "…"
