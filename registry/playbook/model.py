"""What comes out of a file: a playbook, or the problems that kept it from loading."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from registry.digest import Json


class Level(StrEnum):
    """What a problem does: an error stops its file, a warning or an info never does."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong at one place; `line` and `column` start at 1, 1:1 where there is no position.

    `name` is the key of the playbook that it is about, where that could be read.
    """

    code: str
    level: Level
    path: str
    line: int
    column: int
    message: str
    name: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The wire's problem (http-api.md, Shapes), without `held`."""
        return {
            "code": self.code,
            "level": self.level.value,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "name": self.name,
        }


@dataclass(frozen=True, slots=True)
class Playbook:
    """One playbook as it was written, with the bytes and the digest of its document.

    `key` is the folded name and `title` the name as written. `contract` is the document's body (http-api.md),
    absent where absent, and `contract_bytes` its canonical JSON, whose sha256 is `digest`; `blob` is the sha256 of
    the original file. `fields` are the top-level fields that carry something, for publication rules; `step_texts`
    what search reads beside the head. `required` is what a central file says of itself; it is in no contract.
    """

    key: str
    title: str
    version: str
    owner: str | None
    tags: tuple[str, ...]
    purpose: str
    not_for: tuple[str, ...]
    required: bool
    deprecated: Mapping[str, Json] | None
    should_find: tuple[str, ...]
    document: str
    contract: Mapping[str, Json]
    contract_bytes: bytes
    digest: str
    path: str
    blob: str
    step_texts: tuple[str, ...]
    fields: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file gave.

    A file that is no candidate contributes no name, whatever its problems. A candidate has a playbook, or error
    problems and what was still readable in it: `claims` (the key), `says_required` and `tags`, each None where
    it could not be read.
    """

    path: str
    blob: str
    playbook: Playbook | None
    problems: tuple[Problem, ...]
    claims: str | None
    says_required: bool | None
    candidate: bool
    tags: tuple[str, ...] | None = None
