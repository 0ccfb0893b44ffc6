"""A playbook's contract bound to one run's inputs: what an agent is given to do.

Only the native format has templates. Each of its texts is rendered once: what an input says is never looked at again,
so that `{{` in a value stays text. Below `with`, a value that is exactly one template keeps the input's JSON type.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from registry.digest import Json, canonical
from registry.playbook.templates import RENDERED_KEYS, TEMPLATED_DOCUMENT, Template, prose_templates, templates_in
from registry.runs.inputs import Given

RENDERED_CHARS_MAX: Final = 3 * 1024 * 1024
"""What the templates of one procedure may be rendered to, all together."""
NOT_GIVEN: Final = "(not given)"
"""What a text says where an input has no value: a reader sees the gap, and does not read over it."""

_KEPT: Final = (
    *("document", "name", "version", "owner", "tags", "purpose", "not_for", "deprecated"),
    *("preconditions", "steps", "stop", "verification"),
    *("tools", "requires", "runbook", "instructions", "files", "extra"),
)
_BOUND: Final = "with"
_UNSET: Final = object()


@dataclass(frozen=True, slots=True)
class Oversized:
    """A procedure that its inputs would make larger than RENDERED_CHARS_MAX."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """What is to be done, bound; `body` is the contract with its texts rendered, absent where absent.

    `unset` are the inputs that templates name and that have no value: a text says NOT_GIVEN for them, and an argument
    that needs one of them is left out.
    """

    body: Mapping[str, Json]
    given: Given
    unset: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """The wire's procedure without what a catalog says of the copy, and without its report."""
        return {
            **self.body,
            "inputs": self.given.inputs,
            "inputs_checked": self.given.checked,
            "defaulted": list(self.given.defaulted),
            "unset": list(self.unset),
        }


def bind(contract: Mapping[str, Json], given: Given) -> Procedure | Oversized:
    """The procedure of a contract for inputs that were taken (`registry.runs.inputs`)."""
    body: dict[str, Json] = {key: contract[key] for key in _KEPT if key in contract}
    rendering = _Rendering(given.inputs)
    if contract.get("document") == TEMPLATED_DOCUMENT:
        try:
            for key in RENDERED_KEYS:
                if key in body:
                    body[key] = rendering.below(body[key])
            if isinstance(prose := body.get("instructions"), str):
                body["instructions"] = rendering.prose(prose)
        except _TooMuch:
            return Oversized()
    if "stop" in body:
        body["stop"] = _with_questions(body["stop"])
    if (tools := _allowed_tools(contract)) is not None:
        body["allowed_tools"] = tools
    return Procedure(body, given, tuple(sorted(rendering.unset)))


def report_json(run_id: str, state: str) -> dict[str, Json]:
    """How an agent reports on a run. `accepts` is what a later call may carry beside the run's id: nothing yet."""
    return {
        "run_id": run_id,
        "state": state,
        "accepts": [],
        "how": (
            f"Name the run {run_id} in what you hand back, with what you did and saw at each step. The run stays open: "
            "this version of the registry takes no reports of steps and gives no receipts, so that nothing is proven "
            "by it. Given the run's id again, it gives this same procedure again, pinned to this copy."
        ),
    }


class _TooMuch(Exception):
    """More was rendered than RENDERED_CHARS_MAX."""


@dataclass(slots=True)
class _Rendering:
    """Renders texts from one set of inputs; a path is looked up, and written as text, once."""

    inputs: Mapping[str, Json]
    unset: set[str] = field(default_factory=set)
    chars_left: int = RENDERED_CHARS_MAX
    _texts: dict[tuple[str, ...], str | None] = field(default_factory=dict)

    def below(self, value: Json) -> Json:
        """A field with every text in it rendered."""
        if isinstance(value, str):
            return self._text(value) or ""
        if isinstance(value, Mapping):
            return {
                key: self._arguments(each) if key == _BOUND and isinstance(each, Mapping) else self.below(each)
                for key, each in value.items()
            }
        return [self.below(each) for each in value] if isinstance(value, list) else value

    def prose(self, body: str) -> str:
        """A Markdown body; other double braces than those of inputs are text there."""
        return self._spliced(body, [found for found in prose_templates(body) if found.segments]) or ""

    def _arguments(self, value: Mapping[str, Json]) -> Json:
        """Bound arguments, without those that no value is there for."""
        made = {key: self._argument(each) for key, each in value.items()}
        return {key: cast("Json", each) for key, each in made.items() if each is not _UNSET}

    def _argument(self, value: Json) -> object:
        if isinstance(value, Mapping):
            return self._arguments(value)
        if isinstance(value, list):
            # As a whole or not at all: what stands in a list has its meaning from its place.
            elements = [self._argument(each) for each in value]
            return _UNSET if any(each is _UNSET for each in elements) else elements
        if not isinstance(value, str) or "{{" not in value:
            return value
        found = [each for each in templates_in(value) if each.segments]
        if len(found) == 1 and found[0].source == value:
            self._spend(self._written(found[0]) or "")
            return _looked_up(self.inputs, found[0].segments or ())
        rendered = self._spliced(value, found, gap=None)
        return _UNSET if rendered is None else rendered

    def _text(self, value: str) -> str | None:
        return self._spliced(value, [each for each in templates_in(value) if each.segments]) if "{{" in value else value

    def _spliced(self, text: str, templates: list[Template], gap: str | None = NOT_GIVEN) -> str | None:
        """`text` with its templates replaced; None where one has no value and `gap` is None."""
        pieces: list[str] = []
        done, is_whole = 0, True
        for found in templates:
            written = self._written(found)
            is_whole = is_whole and written is not None
            pieces += (text[done : found.offset], written if written is not None else gap or "")
            self._spend(pieces[-1])
            done = found.offset + len(found.source)
        return "".join((*pieces, text[done:])) if is_whole or gap is not None else None

    def _written(self, found: Template) -> str | None:
        """The value of a template as text, None where there is none."""
        segments = found.segments or ()
        if segments not in self._texts:
            value = _looked_up(self.inputs, segments)
            if value is _UNSET:
                self.unset.add(".".join(segments))
            self._texts[segments] = None if value is _UNSET else _as_text(cast("Json", value))
        return self._texts[segments]

    def _spend(self, text: str) -> None:
        self.chars_left -= len(text)
        if self.chars_left < 0:
            raise _TooMuch


def _looked_up(inputs: Mapping[str, Json], segments: tuple[str, ...]) -> object:
    at: object = inputs
    for segment in segments:
        if isinstance(at, Mapping) and segment in at:
            at = at[segment]
        elif isinstance(at, list) and segment.isascii() and segment.isdigit() and int(segment[:6]) < len(at):
            at = at[int(segment[:6])]
        else:
            return _UNSET
    return at


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else canonical(value).decode()


def _with_questions(stop: Json) -> Json:
    """Stop conditions, each with the one question that it hands back."""
    if not isinstance(stop, list):
        return stop
    return [{**each, "question": _question(each)} if isinstance(each, Mapping) else each for each in stop]


def _question(condition: Mapping[str, Json]) -> Json:
    if ask := condition.get("ask"):
        return ask
    seen = str(condition.get("when") or "A stop condition is met.").rstrip()
    ending = "" if seen.endswith((".", "!", "?")) else "."
    then = "The run has failed here. What" if condition.get("then") == "fail" else "What"
    return f"{seen}{ending} {then} should happen now?"


def _allowed_tools(contract: Mapping[str, Json]) -> Json:
    """The allow-list of a whole document: a runbook's, or what a skill's front matter says."""
    for holder in (contract.get("runbook"), contract.get("extra")):
        for key in ("allowed_tools", "allowed-tools"):
            listed = holder.get(key) if isinstance(holder, Mapping) else None
            if isinstance(listed, list):
                return listed
    return None
