"""How a document's texts are put into Markdown: as they are for an agent, escaped for a page that people render.

Either way a text stays inside its place: no line of it begins at column 0, where it could pass for a heading, a fence
or a list item of the page.
"""

import json
import re
from dataclasses import dataclass

from registry.digest import Json
from registry.playbook.export.fields import BIDI, compact, one_line

_SPECIAL = re.compile(r"[\\`*\[\]#|~$]|(?<!\w)_|_(?!\w)|!(?=\[)")
# As entities: not every renderer takes a backslash before these.
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_LINE_START = re.compile(r"([-+=:])|(\d{1,9})([.)])")
_TICKS = re.compile("`+")
_FENCES = re.compile("[`~]{3,}")


@dataclass(frozen=True, slots=True)
class Pen:
    """Writes texts into Markdown; `escapes` says whether what they mean as Markdown or HTML is taken from them."""

    escapes: bool

    def line(self, text: str) -> str:
        """The text on one line."""
        return self._safe(one_line(text))

    def block(self, text: str, indent: int) -> str:
        """The text with its lines, all but the first indented by so many blanks: the inside of a list item."""
        lines = text.strip().split("\n")
        if self.escapes:
            # Stripped: four blanks would make code of it. A backslash keeps the line's end.
            kept = [self._safe(line.strip()) for line in lines]
            lines = [f"{line}\\" if line and after else line for line, after in zip(kept, [*kept[1:], ""], strict=True)]
        margin = " " * indent
        return "\n".join(f"{margin}{line.rstrip()}" if line.strip() else "" for line in lines).lstrip(" ")

    def verbatim(self, text: str) -> str:
        """A whole Markdown body: as it is, or where this pen escapes as its source in a fence that it cannot close."""
        return fenced(text, "markdown") if self.escapes else text

    def _safe(self, text: str) -> str:
        if not self.escapes:
            return text
        text = BIDI.sub("\N{REPLACEMENT CHARACTER}", text)
        text = _SPECIAL.sub(lambda found: f"\\{found[0]}", text).translate(_ENTITIES)
        return _LINE_START.sub(_disarmed, text, count=1) if _LINE_START.match(text) else text


def code(text: str) -> str:
    """The text as a code span on one line, with more backticks around it than it has itself."""
    text = BIDI.sub("\N{REPLACEMENT CHARACTER}", one_line(text))
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    ticks = "`" * (longest + 1)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{padding}{text}{padding}{ticks}" if text else "(empty)"


def code_json(value: Json) -> str:
    """The value as JSON in a code span."""
    return code(compact(value))


def fenced(text: str, info: str) -> str:
    """The text in a fence that is longer than any in it."""
    longest = max((len(run) for run in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{info}\n{text}\n{fence}"


def fenced_json(value: Json) -> str:
    """The value as indented JSON in a fence."""
    return fenced(json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2), "json")


def _disarmed(found: "re.Match[str]") -> str:
    return f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}"
