"""What the readers of other tools' formats share: problems with their places, folded names, and the finished playbook.

They read leniently and lint strictly (playbook-format.md, Mapping the others): a value of the wrong kind is kept, with
a warning; an error is left for what makes a document useless or unsafe.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Final

from registry.digest import Json, canonical, digest_of
from registry.names import name_key
from registry.playbook.atlas import Spot
from registry.playbook.findings import Findings
from registry.playbook.limits import Limits
from registry.playbook.load import Loaded
from registry.playbook.model import Level, Playbook, Problem
from registry.playbook.native import Role, Verdict
from registry.playbook.settling import OutOfRange, settled, unsettled
from registry.playbook.spelling import NAME_RULE, key_like, nearest, quoted, suggestion
from registry.playbook.text import Path

HINTS_MAX: Final = 8
HINT_WORDS_MAX: Final = 64
MISSPELT_KEYS_MAX: Final = 64
NUMBERS_MAX: Final = 50
VERSION_FROM_BLOB: Final = "0.0.0+"
BLOB_DIGITS: Final = 12
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_KINDS: Mapping[type, str] = {str: "text", list: "a list", dict: "a mapping", bool: "true or false"}


class Notes:
    """The problems of one document of another tool's format."""

    def __init__(self, loaded: Loaded, *, path: str, blob: str, role: Role, limits: Limits) -> None:
        self.loaded = loaded
        self.path = path
        self.blob = blob
        self.role = role
        self._limits = limits
        self._findings = Findings(loaded, path, limits)
        self._hints_left = HINTS_MAX

    @property
    def name(self) -> str | None:
        """The key of the playbook, once it is known."""
        return self._findings.name

    @name.setter
    def name(self, key: str | None) -> None:
        self._findings.name = key

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems, errors first and then by place, as many as one file may have."""
        return self._findings.problems()

    @property
    def full(self) -> bool:
        """Whether further warnings are dropped; a file with thousands of them is told of the first ones."""
        return self._findings.full

    def at_value(self, code: str, at: Path, message: str) -> None:
        """A problem of the value at `at`."""
        self._findings.add(code, Spot(at), message)

    def at_key(self, code: str, at: Path, message: str) -> None:
        """A problem of the key that `at` ends with."""
        self._findings.add(code, Spot(at, on_key=True), message)

    def on_file(self, code: str, message: str) -> None:
        """A problem of the file as a whole."""
        self._findings.add(code, None, message)

    def unknown(self, at: Path, message: str) -> None:
        """The warning that a key is kept and says nothing here; only in the native format is that an error."""
        self._findings.add("unknown-key", Spot(at, on_key=True), message, Level.WARNING)

    def mismatch(self, at: Path, wanted: str, found: Json) -> None:
        """The warning that a value is kept though it is of the wrong kind."""
        where = ".".join(str(part + 1) if isinstance(part, int) else part for part in at)
        message = f"{quoted(where)} should be {wanted}, not {kind_of(found)}; it is kept as it is."
        self.at_value("type-mismatch", at, message)

    def hint(self, word: str, known: Sequence[str]) -> str:
        """A clause about what a word was meant to be; comparing is slow, so only the first few problems get one."""
        self._hints_left -= 1
        return suggestion(word, known[:HINT_WORDS_MAX]) if self._hints_left >= 0 else "correct it, or declare it."

    def verdict(self, playbook: Callable[[], Playbook]) -> Verdict:
        """What the document came to, once everything is checked."""
        made = None if self._findings.stopped else playbook()
        return Verdict(made, self.problems)


def kind_of(value: Json) -> str:
    """What a value is, in words."""
    return "empty" if value is None else _KINDS.get(value.__class__, "a number")


def json_fields(notes: Notes) -> dict[str, Json] | None:
    """The fields of a JSON document, or None where a number in them is none that JSON carries exactly."""
    try:
        return settled(notes.loaded.data, numbers_are_text=False)
    except OutOfRange:
        for at, source in islice(unsettled(notes.loaded.data, numbers_are_text=False), NUMBERS_MAX):
            message = f"{quoted(source, chars=24)} is no number that JSON carries exactly: put it in quotes."
            notes.at_value("number-out-of-range", at, message)
        return None


def take_name(notes: Notes, written: str, at: Path) -> str | None:
    """The key of a name, with a warning for another spelling; None, with an error, outside the pattern."""
    key = name_key(written)
    notes.name = key
    if key is None:
        like = key_like(written)
        hint = f"write {like}, for example; {NAME_RULE}" if like else NAME_RULE
        notes.at_value("name-invalid", at, f"{quoted(written)} is no playbook's name: {hint}")
    elif key != written:
        notes.at_value("name-spelling", at, f"{quoted(written)} is listed as {key}: write {key}.")
    return key


def refuse_bidi(notes: Notes, text: str, at: Path) -> None:
    """An error where a text turns the direction of what is read: a person would read other words than an agent."""
    if found := _BIDI.search(text):
        message = f"the invisible U+{ord(found[0]):04X} changes the order in which this is shown: delete it."
        notes.at_value("control-character", at, message)


def derived_version(blob: str) -> str:
    """The version of a document that names none: `0.0.0+` and the first 12 digits of its bytes' digest."""
    return VERSION_FROM_BLOB + blob.removeprefix("sha256:")[:BLOB_DIGITS]


def says_required(notes: Notes, fields: Mapping[str, Json]) -> bool:
    """Whether a central document says that it is required; in a service repository the word is a warning."""
    if "required" not in fields:
        return False
    if notes.role == "service":
        message = "only the central repository says what is required; here the word has no effect: remove it."
        notes.at_key("required-not-yours", ("required",), message)
        return False
    if not isinstance(fields["required"], bool):
        message = f"required must be true or false, not {kind_of(fields['required'])}: write one of them."
        notes.at_value("field-type", ("required",), message)
    return fields["required"] is True


def warn_misspelt(notes: Notes, fields: Mapping[str, Json], known: frozenset[str], at: Path = ()) -> None:
    """Warnings for keys that look like a known one misspelt; other unknown keys are a format's own business."""
    unknown = [key for key in fields if key not in known]
    for key in unknown[:MISSPELT_KEYS_MAX]:
        if (meant := nearest(key, known)) is not None and meant not in fields:
            notes.unknown((*at, key), f"{quoted(key)} is kept and has no effect: did you mean {meant}?")


def texts(value: Json) -> tuple[str, ...]:
    """The texts of a list, in order."""
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def mappings(value: Json) -> list[tuple[int, Mapping[str, Json]]]:
    """The mappings of a list with their positions."""
    if not isinstance(value, list):
        return []
    return [(place, each) for place, each in enumerate(value) if isinstance(each, Mapping)]


def finished(
    notes: Notes,
    contract: Mapping[str, Json],
    *,
    key: str,
    title: str,
    required: bool,
    step_texts: Sequence[str],
) -> Playbook:
    """The playbook of a finished contract. Owner, tags and purpose are read from it; the version may be derived."""
    body = canonical(contract)
    owner, version = contract.get("owner"), contract.get("version")
    return Playbook(
        key=key,
        title=title,
        version=version if isinstance(version, str) else derived_version(notes.blob),
        owner=owner if isinstance(owner, str) else None,
        tags=texts(contract.get("tags")),
        purpose=str(contract["purpose"]),
        not_for=(),
        required=required,
        deprecated=None,
        should_find=(),
        document=str(contract["document"]),
        contract=contract,
        contract_bytes=body,
        digest=digest_of(body),
        path=notes.path,
        blob=notes.blob,
        step_texts=tuple(step_texts),
        fields=frozenset(name for name in contract if contract[name]),
    )
