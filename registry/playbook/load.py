"""One strict reader for the three spellings of a native document: YAML, JSON, Markdown with front matter."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from registry.playbook.front_matter import split_front_matter
from registry.playbook.json_text import load_json
from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.text import Data, Fault, newline_normalised
from registry.playbook.yaml_events import Marks
from registry.playbook.yaml_text import Yaml, read_yaml

_TAIL_CHARS = 4096


class Syntax(StrEnum):
    """How a file is written, by the end of its name."""

    YAML = "yaml"
    JSON = "json"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A document's fields, with the text they came from and where they stand in it (`Atlas` looks that up).

    `body` is the prose behind Markdown's front matter, newline-normalised and without blank lines at its ends; None
    where there is none. Numbers in `data` are still `Numeral`.
    """

    data: Mapping[str, Data]
    syntax: Syntax
    text: str
    marks: Marks
    body: str | None = None
    body_offset: int = 0


def syntax_of(path: str) -> Syntax | None:
    """The syntax that a file's name stands for, in any case of letters; None for other files."""
    ending = path.rpartition(".")[2].lower()
    return {"yaml": Syntax.YAML, "yml": Syntax.YAML, "json": Syntax.JSON, "md": Syntax.MARKDOWN}.get(ending)


def load(text: str, syntax: Syntax, *, limits: Limits = DEFAULT_LIMITS) -> Loaded | Fault:
    """The fields (and body) of a decoded file, or the one fault that stopped it."""
    if syntax is Syntax.MARKDOWN:
        return _load_markdown(text, limits)
    if syntax is Syntax.JSON:
        data = load_json(text, limits=limits)
        read = data if isinstance(data, Fault) else Yaml(data, Marks((), None))
    else:
        read = read_yaml(text, limits=limits)
    if isinstance(read, Fault):
        return read
    return Loaded(read.data, syntax, text, read.marks) if isinstance(read.data, dict) else _not_a_mapping(read.data, 1)


def _load_markdown(text: str, limits: Limits) -> Loaded | Fault:
    parts = split_front_matter(text)
    if isinstance(parts, Fault):
        return parts
    read = read_yaml(parts.head, limits=limits)
    if isinstance(read, Fault):
        return read
    if not isinstance(read.data, dict):
        return _not_a_mapping(read.data, 2)
    begin, end = _prose(text, parts.body_offset)
    body = newline_normalised(text[begin:end])
    return Loaded(read.data, Syntax.MARKDOWN, text, read.marks, body or None, begin)


def _prose(text: str, begin: int) -> tuple[int, int]:
    """Where the body begins and ends without blank lines around it; by index, because a copy of it is not cheap."""
    end = len(text)
    while end > begin:
        tail = text[max(begin, end - _TAIL_CHARS) : end]
        kept = len(tail.rstrip())
        end -= len(tail) - kept
        if kept:
            break
    while begin < end and text[begin] in "\r\n":
        begin += 1
    return begin, end


def _not_a_mapping(data: Data, line: int) -> Fault:
    found = "a list" if isinstance(data, list) else "nothing" if data is None else "a single value"
    return Fault(
        "field-type", line, 1, f"the document is {found}: write fields, each as key: value on a line of its own."
    )
