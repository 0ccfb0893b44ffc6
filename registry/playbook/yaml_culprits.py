"""What a stop of the YAML parser often comes from: the places and the sentences of the mistakes that authors make."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from registry.playbook.yaml_scene import Culprit, Scene, Stop, in_quotes

_CLOSERS: Final = {'"': '"', "'": "'", "[": "]", "{": "}"}
_KINDS: Final = {"[": "a list", "{": "a mapping"}
# Fields that end up behind the text of the one before where a line break got lost.
_FIELDS: Final = frozenset(
    [
        *("name", "description", "license", "version", "author", "owner", "metadata", "tags", "origin", "homepage"),
        *("compatibility", "allowed-tools", "argument-hint", "user-invocable", "disable-model-invocation", "model"),
        *("purpose", "not_for", "inputs", "steps", "stop", "required"),
    ]
)
_LAST_WORD = re.compile(r"(?:\A|[\s.,;!?)\]\"'\u3002\uff01\uff1f\uff09])([A-Za-z][A-Za-z_-]*)\Z")
_WIDE_STOP = re.compile(r"[\u3002\uff01\uff1f]([A-Za-z][A-Za-z_-]*)\Z")
_CONFLICT = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?:[ \r\n]|\Z)")
_SWALLOWED = re.compile(r"[\r\n][ -]*[\w.-]+:\s")
_FIELD_START = re.compile(r"""["']?[\w.-]+["']?""")
_SHOWN_CHARS: Final = 40
_KEY_CHARS_MAX: Final = 1_024


def culprit_of(text: str, stop: Stop) -> Culprit:
    """The mistake that a stop comes from, as far as it can be told."""
    scene = Scene(text, stop)
    heard = f"{stop.context}: {stop.problem}"
    looks = [_conflict, _tab, *(look for said, looks in _EXPLANATIONS if said in heard for look in looks)]
    return next((found for look in looks if (found := look(scene)) is not None), scene.unexplained())


def _conflict(scene: Scene) -> Culprit | None:
    for at in (scene.begin, scene.at):
        start = scene.line_start(at)
        if _CONFLICT.match(scene.text, start):
            return start, "a merge conflict was left in the file: settle it, and remove its marks."
    return None


def _tab(scene: Scene) -> Culprit | None:
    if scene.char != "\t":
        return None
    return scene.at, "a tab stands where YAML takes only spaces: indent with spaces."


def _sign(scene: Scene) -> Culprit | None:
    if scene.char == "%" and scene.text[scene.at - 1 : scene.at] == "{":
        return scene.at - 1, "a value that begins with {% is taken for a YAML mapping: put the whole value in quotes."
    if not scene.char or scene.char.isspace():
        return None
    return scene.at, f"a text cannot begin with {scene.char}: {in_quotes(scene.rest(scene.at))}."


def _reference(scene: Scene) -> Culprit | None:
    sign = scene.text[scene.begin : scene.begin + 1]
    if sign not in {"*", "&"}:
        return None
    if sign == "*" and not scene.text[scene.line_start(scene.begin) : scene.begin].strip() and scene.char == " ":
        return scene.begin, "a list's item begins with - and a space, not with *: write -."
    taken = "an alias" if sign == "*" else "an anchor"
    return scene.begin, f"a text that begins with {sign} is taken for {taken}: {in_quotes(scene.rest(scene.begin))}."


def _behind_value(scene: Scene) -> Culprit | None:
    """More text behind a value that its quote or bracket has closed."""
    if scene.stop.value is None:
        return None
    value, (begin, _) = scene.value(), scene.stop.value
    end = begin + len(value)
    at = scene.begin if "block scalar" in scene.stop.context else scene.at
    opener = value[:1]
    if _CLOSERS.get(opener) != value[-1:] or len(value) < 2 or at < end or scene.text[end:at].strip(" \t"):
        return None
    if opener in _KINDS:
        return _behind_bracket(scene, begin, at, opener)
    return _behind_quote(scene, begin, at, value)


def _behind_bracket(scene: Scene, begin: int, at: int, opener: str) -> Culprit | None:
    rest = scene.rest(at)
    if rest.rstrip() in {"]", "}", ",", ";"}:
        return at, f"nothing may follow a value: remove the {rest[0]}."
    kind, closer = _KINDS[opener], _CLOSERS[opener]
    message = f"a value that begins with {opener} is {kind} and ends at its {closer}, but text follows it: "
    return begin, message + in_quotes(scene.rest(begin)) + "."


def _behind_quote(scene: Scene, begin: int, at: int, value: str) -> Culprit | None:
    rest, opener = scene.rest(at), value[0]
    if _SWALLOWED.search(value):
        message = (
            f"the quote that opens here is not closed in its line but in line {scene.line(at)}: close it here; if "
        )
        return begin, f"{message}it is part of the text, {in_quotes(scene.rest(begin))}."
    if rest.rstrip() in {",", ";"}:
        return at, f"nothing may follow a value: remove the {rest[0]}."
    if rest[:1] == ",":
        return begin, "several values stand here: write [ before the first and ] behind the last to make a list."
    touches = scene.text[at - 1 : at] == opener
    if touches and opener == "'" and rest[:1].isalnum():
        message = "an apostrophe closes a text in single quotes: write it twice (''), or put the text in double quotes."
        return at - 1, message
    if touches and opener == '"' and rest[:1].isalnum() and '"' in rest:
        message = 'a " closes a text in double quotes: write \\" for it, or put the text in single quotes.'
        return at - 1, message
    return begin, f"text follows the quote that closes this value: {in_quotes(scene.rest(begin))}."


def _colon(scene: Scene) -> Culprit | None:
    """A colon and a space inside a text without quotes, which YAML takes for the end of a key."""
    begin = scene.stop.value[0] if scene.stop.value else scene.line_start(scene.at)
    start = scene.line_start(scene.at)
    source = scene.text[max(begin, start) : scene.at]
    if begin < start and (found := _further_line(scene, begin, start)) is not None:
        return found
    quotes = in_quotes(scene.rest(begin))
    fused, last = _WIDE_STOP.search(source), _LAST_WORD.search(source)
    if fused or (last and last[1] in _FIELDS):
        word = (fused or last)[1]  # type: ignore[index]  # one of them is there
        message = (
            f"{word}: stands in the middle of a text: if it is a field of its own, begin a new line with it; else "
        )
        return scene.at, f"{message}{quotes}."
    if not scene.rest(scene.at + 1).strip():
        return scene.at, f"a text without quotes that ends in a colon is taken for a key: {quotes}."
    return scene.at, f"a text without quotes that has a colon and a space in it is taken for a key: {quotes}."


def _further_line(scene: Scene, begin: int, start: int) -> Culprit | None:
    """A field that is read as part of the text above, because of its indentation or of what is missing there."""
    above = scene.line_start(begin)
    first = scene.rest(above)
    lead = len(first) - len(first.lstrip(" "))
    if (missing := _missing_space(scene, above + lead)) is not None and begin <= above + lead:
        return missing
    if re.match(r"-[A-Za-z]", first[lead:]):
        return above + lead, "a space is missing behind the dash: a list's item begins with - and a space."
    word = scene.text[start : scene.at].strip()
    if _FIELD_START.fullmatch(word) is None:
        return None
    column = re.match(r"(?:- +)*", first[lead:])
    wanted = lead + (column.end() if column else 0) + 1
    message = f"this line is indented further than the field above, so it is read as part of its text: begin {word} in "
    return start + scene.indent(start), f"{message}column {wanted}, or put the whole text in quotes."


def _flow(scene: Scene) -> Culprit | None:
    """A bracket that is not closed, or a comma that is missing inside it."""
    opened = scene.stop.open_at if scene.stop.context_at is None or "node" in scene.stop.context else scene.begin
    if opened is None or (opener := scene.text[opened : opened + 1]) not in _KINDS:
        return None
    closer = _CLOSERS[opener]
    if scene.char in {"]", "}"} and scene.char != closer:
        return scene.at, f"this closes nothing: the {opener} in line {scene.line(opened)} wants a {closer}."
    end = scene.stop.value[0] + len(scene.value()) if scene.stop.value else opened
    same_line = "\n" not in scene.text[opened : scene.at]
    is_inside = same_line or scene.indent(scene.at) > scene.indent(opened)
    if not scene.text[scene.at :].strip() or not is_inside:
        hint = f"close it with {closer}, or put the whole value in quotes if it is text."
        return opened, f"the {opener} that opens here is not closed: {hint}"
    if scene.char == ",":
        return scene.at, "a value is missing before this comma: remove the comma."
    if scene.char == ":":
        word = re.search(r"[^\s,\[\]{}]+\Z", scene.text[opened : scene.at])
        return scene.at - len(word[0]) if word else scene.at, "a comma is missing before this."
    return (
        scene.at if same_line else max(end - 1, opened)
    ), f"a comma is missing {'before' if same_line else 'behind'} this."


def _long_key(scene: Scene) -> Culprit | None:
    if scene.at - scene.begin < _KEY_CHARS_MAX or "\n" in scene.text[scene.begin : scene.at]:
        return None
    return scene.begin, f"a key has {_KEY_CHARS_MAX:,} characters at most: shorten it, or put the text behind a key."


def _foreign_sign(scene: Scene) -> Culprit | None:
    """A line that is written as another language has it."""
    at, line = scene.begin, scene.rest(scene.begin)
    if (wide := line.find("\uff1a")) >= 0:
        return at + wide, "a full-width colon stands here: write : and a space."
    if (missing := _missing_space(scene, at)) is not None:
        return missing
    if equals := re.match(r"[\w.-]+\s*(?==)", line):
        return at + equals.end(), "a field is written with a colon and a space, not with =: write :."
    if line.startswith(("//", "/*", "--", ";")):
        return at, "a comment begins with #: write # before it."
    return None


def _no_field(scene: Scene) -> Culprit | None:
    """A line that should have been a field, or part of what stands above, and is neither."""
    at, line, value = scene.begin, scene.rest(scene.begin), scene.value()
    if value in {"|", ">", "|-", ">-", "|+", ">+"}:
        return at, f"the text of the {value} above has to be indented: indent this line by two spaces."
    if scene.stop.value and re.match(r" *- ", scene.rest(scene.line_start(scene.stop.value[0]))):
        return at, "this line stands in a list and is no item: begin it with - and a space, or indent it further."
    if re.fullmatch(r"[\w.-]+\s*", line):
        return at, f"a colon is missing behind {line.strip()[:_SHOWN_CHARS]}: write it, and then a space."
    message = (
        "this line is no field and no part of the text above: indent it to go on with that text, or write a colon "
    )
    return at, message + "and a space behind the field's name."


def _missing_space(scene: Scene, at: int) -> Culprit | None:
    found = re.match(r"""["']?[A-Za-z_][\w.-]*["']?:(?=[^\s:/])""", scene.rest(at)) or re.match(
        "[\\w.-]+:(?=[\u00a0\u2007\u202f\u3000])", scene.rest(at)
    )
    if found is None:
        return None
    behind = scene.text[at + found.end()]
    if behind.isspace():
        return at + found.end(), f"a blank that YAML does not know (U+{ord(behind):04X}) stands here: write a space."
    return at + found.end() - 1, "a space is missing behind this colon."


def _indentation(scene: Scene) -> Culprit | None:
    if scene.char == ":":
        return scene.at, "there is no name before this colon: write one, or put the text in quotes."
    if scene.value()[:1] in {"|", ">"}:
        return scene.at, "this line is indented less than the block of text above: indent it alike."
    if scene.text[scene.line_start(scene.at) : scene.at].strip():
        return None
    spaces = scene.indent(scene.at)
    message = f"this line is indented by {spaces} space{'' if spaces == 1 else 's'}, which fits no open block above: "
    return scene.at, message + "align it with the lines that it belongs to."


def _no_dash(scene: Scene) -> Culprit | None:
    line = scene.line(scene.begin)
    message = f"this line stands in the list that begins in line {line} and is no item of it: align it with the fields "
    return scene.at, message + "of its item, or begin it with - and a space."


def _inline_list(scene: Scene) -> Culprit | None:
    return scene.at, "a list begins on a line of its own, below its key; a text that begins with - needs quotes."


def _block(scene: Scene) -> Culprit | None:
    sign = scene.text[scene.begin : scene.begin + 1]
    if sign not in {"|", ">"}:
        return None
    message = f"a {sign} begins a block of text on the lines below: put the text there, or "
    return scene.begin, f"{message}{in_quotes(scene.rest(scene.begin))} if the {sign} belongs to it."


def _open_quote(scene: Scene) -> Culprit | None:
    mark = scene.text[scene.begin : scene.begin + 1]
    other = "; an apostrophe at a text's begin needs double quotes round the text" if mark == "'" else ""
    return scene.begin, f"the quote that opens here is never closed: close it where the text ends{other}."


def _escape(scene: Scene) -> Culprit | None:
    at = scene.text.rfind("\\", 0, scene.at + 1)
    shown = scene.text[at : at + 2]
    said = "is no escape that double quotes know" if at == scene.at else "wants hexadecimal digits"
    return at, f"{shown} {said}: write \\\\ for a backslash, or put the text in single quotes."


def _ended(scene: Scene) -> Culprit | None:
    before = scene.text[: scene.at].rstrip()
    if before.endswith("...") and scene.line_start(len(before)) == len(before) - 3:
        return len(before) - 3, "a line ... ends the document, and more follows it: remove the line."
    return scene.at, "the document ends before this, and more follows: write one mapping of fields, key: value."


def _directive(scene: Scene) -> Culprit | None:
    return scene.begin, "a line that begins with % is taken for a YAML directive: remove it, or put the text in quotes."


def _inner_colon(scene: Scene) -> Culprit | None:
    return scene.begin, "a text between brackets cannot have a colon before a comma or a bracket: put it in quotes."


_EXPLANATIONS: Final[Sequence[tuple[str, Sequence[Callable[[Scene], Culprit | None]]]]] = (
    ("mapping values are not allowed", (_behind_value, _colon)),
    ("cannot start any token", (_sign,)),
    ("alphabetic or numeric character", (_reference,)),
    ("expected comment or line break", (_behind_value, _block)),
    ("indentation indicator", (_block,)),
    ("find expected key", (_behind_value, _indentation)),
    ("expected '-' indicator", (_behind_value, _no_dash)),
    ("expected ',' or", (_flow,)),
    ("expected node content", (_flow, _sign)),
    ("could not find expected ':'", (_behind_value, _long_key, _foreign_sign, _no_field)),
    ("block sequence entries", (_behind_value, _inline_list)),
    ("mapping keys are not allowed", (_sign,)),
    ("unexpected end of stream", (_open_quote,)),
    ("unexpected document indicator", (_open_quote,)),
    ("unknown escape character", (_escape,)),
    ("hexdecimal number", (_escape,)),
    ("expected <document start>", (_behind_value, _ended)),
    ("directive", (_directive,)),
    ("unexpected ':'", (_inner_colon,)),
)
