"""A native document: loaded fields to a playbook, or the problems that stop it (playbook-format.md, Native format)."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, cast

from registry.digest import Json, canonical, digest_of
from registry.names import name_key
from registry.playbook.atlas import Spot
from registry.playbook.complaints import complaints
from registry.playbook.definitions import tool_remarks
from registry.playbook.document import EXTENSION_PREFIX, SHAPES, FrontMatter, NativeDocument, known_keys
from registry.playbook.findings import Findings
from registry.playbook.inputs import DeclaredInputs, schema_fault
from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.load import Loaded, Syntax
from registry.playbook.model import Playbook, Problem
from registry.playbook.requirements import secret_places
from registry.playbook.settling import OutOfRange, settled, unsettled
from registry.playbook.spelling import quoted, suggestion
from registry.playbook.templates import Template, unmet_templates
from registry.playbook.text import Numeral, Path
from registry.playbook.tools import undeclared_tools

DOCUMENT: Final = "playbook/1"
Role = Literal["central", "service"]

# The document's body in the order of http-api.md; `instructions` and `extra` are put in by hand.
_CONTRACT_KEYS = [
    "name",
    "version",
    "owner",
    "tags",
    "purpose",
    "not_for",
    "inputs",
    "preconditions",
    "steps",
    "stop",
    "verification",
    "tools",
    "requires",
    "runbook",
    "selection",
    "deprecated",
]
_ADVISED = {
    "not_for": (
        "no-not-for",
        "not_for is missing: without near misses, agents take this playbook for tasks it is not for.",
    ),
    "inputs": ("no-inputs", "inputs is missing: without a schema nothing checks what the playbook is run with."),
    "preconditions": (
        "no-preconditions",
        "preconditions is missing: nothing keeps it from being started at the wrong time.",
    ),
    "stop": ("no-stop", "stop is missing: nothing says when to give up and ask people."),
    "verification": ("no-verification", "verification is missing: nobody can tell whether a run has succeeded."),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a native document came to: a playbook where no problem is an error."""

    playbook: Playbook | None
    problems: tuple[Problem, ...]


def read_native(loaded: Loaded, *, path: str, blob: str, role: Role, limits: Limits = DEFAULT_LIMITS) -> Verdict:
    """The playbook of a loaded native document that stands at `path`, with everything that is wrong with it."""
    return _Reader(loaded, path, blob, role, limits).verdict()


class _Reader:
    def __init__(self, loaded: Loaded, path: str, blob: str, role: Role, limits: Limits) -> None:
        self._loaded = loaded
        self._path = path
        self._blob = blob
        self._role = role
        self._limits = limits
        self._findings = Findings(loaded, path, limits)
        name = loaded.data.get("name")
        self._findings.name = name_key(name) if isinstance(name, str) else None

    def verdict(self) -> Verdict:
        fields = self._settle()
        if fields is not None:
            self._check(fields)
        if self._findings.stopped or fields is None:
            return Verdict(None, self._findings.problems())
        return Verdict(self._playbook(fields), self._findings.problems())

    def _add(self, code: str, at: Path, message: str, *, on_key: bool = False) -> None:
        self._findings.add(code, Spot(at, on_key=on_key), message)

    def _settle(self) -> dict[str, Json] | None:
        numbers_are_text = self._loaded.syntax is not Syntax.JSON
        try:
            return settled(self._loaded.data, numbers_are_text=numbers_are_text, numerals=self._loaded.marks.numerals)
        except OutOfRange:
            found = unsettled(self._loaded.data, numbers_are_text=numbers_are_text)
            for at, source in islice(found, self._limits.problems_per_file):
                message = f"{quoted(source, chars=24)} is no number that JSON carries exactly: put it in quotes."
                self._add("number-out-of-range", at, message)
            return None

    def _check(self, fields: dict[str, Json]) -> None:
        self._check_requires(fields)
        model = NativeDocument if self._loaded.body is None else FrontMatter
        for each in complaints(model, fields, known_at, at_most=self._limits.problems_per_file):
            on_file = each.code == "field-missing" and len(each.at) == 1
            spot = None if on_file else Spot(each.at, on_key=each.on_key)
            self._findings.add(each.code, spot, each.message)
        if not self._findings.stopped:
            self._check_meaning(fields)
        self._advise(fields)

    def _check_requires(self, fields: Mapping[str, Json]) -> None:
        for at, message in islice(secret_places(fields.get("requires")), self._limits.problems_per_file):
            self._add("secret-value", at, message)

    def _check_meaning(self, fields: Mapping[str, Json]) -> None:
        schema = cast("Mapping[str, Json]", fields.get("inputs", {}))
        fault = schema_fault(schema, limits=self._limits) if "inputs" in fields else None
        if fault is not None:
            self._add("schema-invalid", ("inputs", *fault.path), fault.message)
        elif "{{" in self._loaded.text:
            self._check_templates(fields, DeclaredInputs(schema))
        for at, message in islice(undeclared_tools(fields), self._limits.problems_per_file):
            self._add("tool-undeclared", at, message)

    def _check_templates(self, fields: Mapping[str, Json], inputs: DeclaredInputs) -> None:
        found = unmet_templates(fields, self._loaded.body or "", inputs.declare)
        for each, in_body in islice(found, self._limits.problems_per_file):
            spot = Spot(body_offset=each.offset) if in_body else Spot(each.at, part=each.source, nth=each.nth)
            self._findings.add("template-undeclared", spot, _about_template(each, inputs.names()))

    def _advise(self, fields: Mapping[str, Json]) -> None:
        for code, at, message in tool_remarks(fields.get("tools")):
            self._add(code, at, message)
        if isinstance(self._loaded.data.get("version"), Numeral):
            message = (
                "the version is written as a number, which other readers change (1.20 becomes 1.2): put it in quotes."
            )
            self._add("version-not-text", ("version",), message)
        if self._role == "service" and "required" in fields:
            message = "only the central repository says what is required; here the word has no effect: remove it."
            self._add("required-not-yours", ("required",), message, on_key=True)
        if fields.get("deprecated"):
            self._add("deprecated", ("deprecated",), "this playbook says that it is deprecated.", on_key=True)
        for key, (code, message) in _ADVISED.items():
            if not fields.get(key):
                self._findings.add(code, None, message)

    def _playbook(self, fields: dict[str, Json]) -> Playbook:
        contract = _contract(fields, self._loaded.body)
        body = canonical(contract)
        selection = cast("Mapping[str, Json]", fields.get("selection", {}))
        name = cast("str", fields["name"])
        return Playbook(
            key=name,
            title=name,
            version=cast("str", fields["version"]),
            owner=cast("str", fields["owner"]),
            tags=_texts(fields.get("tags")),
            purpose=cast("str", fields["purpose"]),
            not_for=_texts(fields.get("not_for")),
            required=self._role == "central" and fields.get("required") is True,
            deprecated=cast("Mapping[str, Json] | None", fields.get("deprecated")),
            should_find=_texts(selection.get("should_find")),
            document=DOCUMENT,
            contract=contract,
            contract_bytes=body,
            digest=digest_of(body),
            path=self._path,
            blob=self._blob,
            step_texts=_step_texts(fields, self._loaded.body),
            fields=frozenset(key for key in contract if contract[key]),
        )


def _contract(fields: Mapping[str, Json], body: str | None) -> dict[str, Json]:
    contract: dict[str, Json] = {"document": DOCUMENT}
    contract.update((key, fields[key]) for key in _CONTRACT_KEYS if key in fields)
    if body is not None:
        contract["instructions"] = body
    extra = {key: value for key, value in fields.items() if key.startswith(EXTENSION_PREFIX)}
    if extra:
        contract["extra"] = extra
    return contract


def _step_texts(fields: Mapping[str, Json], body: str | None) -> tuple[str, ...]:
    steps = cast("list[Mapping[str, Json]]", fields.get("steps", []))
    texts = [str(step[key]) for step in steps for key in ("instruction", "expect") if key in step]
    return (*texts, body) if body is not None else tuple(texts)


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(str(each) for each in value) if isinstance(value, list) else ()


def known_at(at: Path) -> tuple[str, ...]:
    """The keys that a native document's mapping at `at` may have; () where it is the author's own."""
    shape = SHAPES.get(tuple(part for part in at if isinstance(part, str)))
    return known_keys(shape) if shape else ()


def _about_template(found: Template, names: tuple[str, ...]) -> str:
    if found.segments is None:
        return f"{quoted(found.source)} is no template: the only form is {{{{ inputs.name }}}}, without expressions."
    name = ".".join(found.segments)
    if not names:
        return f"inputs declares nothing, so there is no {quoted(name)}: declare it under inputs.properties."
    hint = suggestion(name, names) if len(found.segments) == 1 else "declare it."
    return f"inputs declares no {quoted(name)}: {hint}"
