"""What is asked for when a run is to be opened or recorded: names folded, and everything within its bounds."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from registry.digest import Json, canonical, digest_of, is_digest
from registry.errors import RequestInvalid, TooLarge
from registry.names import require_name_key
from registry.runs.inputs import beyond
from registry.runs.procedures import refusal_of

TASK_BYTES_MAX: Final = 32 * 1024
REQUEST_KEY_CHARS_MAX: Final = 128
VERSION_CHARS_MAX: Final = 200
PATH_CHARS_MAX: Final = 1_024
WORDS_MAX: Final = 50
WORD_CHARS_MAX: Final = 200
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class WorktreeCopy:
    """A copy that stands in somebody's working tree, as whoever binds it there says.

    `path` is relative to the repository's root, `commit` the working tree's head, `blob` the sha256 of the file.
    Raises RequestInvalid for what cannot be true of any copy.
    """

    name: str
    version: str
    digest: str
    path: str
    commit: str | None = None
    blob: str | None = None
    tags: tuple[str, ...] = ()
    risk: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for member, text, chars_max in (
            ("version", self.version, VERSION_CHARS_MAX),
            ("path", self.path, PATH_CHARS_MAX),
        ):
            if not text.strip() or len(text) > chars_max or _CONTROL.search(text):
                raise RequestInvalid(f"{member} is 1 to {chars_max} characters of one line.")
        if any(part in {"", ".", ".."} for part in self.path.split("/")):
            raise RequestInvalid("path is relative to the repository's root, for example playbooks/deploy.yaml.")
        for member, digest in (("digest", self.digest), ("blob", self.blob)):
            if digest is not None and not is_digest(digest):
                raise RequestInvalid(f"{member} is sha256: and 64 hexadecimal digits.")
        if self.commit is not None and not _COMMIT.fullmatch(self.commit):
            raise RequestInvalid("commit is the full id of the working tree's head, or left out where there is none.")
        for member, words in (("tags", self.tags), ("risk", self.risk)):
            if len(words) > WORDS_MAX or any(len(word) > WORD_CHARS_MAX for word in words):
                raise RequestInvalid(f"{member} are {WORDS_MAX} words at most, of {WORD_CHARS_MAX} characters at most.")

    def to_json(self) -> dict[str, Json]:
        """Everything that is said of the copy, as text that can be hashed."""
        return {
            "version": self.version,
            "digest": self.digest,
            "path": self.path,
            "commit": self.commit,
            "blob": self.blob,
            "tags": [_sayable(tag) for tag in self.tags],
            "risk": [_sayable(risk) for risk in self.risk],
        }


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for. `repository` is an id, `name` a key; `key` is the caller's own name for the request.

    `copy` and `snapshot` are those of a request to record a run of a working tree's copy.
    """

    repository: str | None
    name: str
    inputs: Mapping[str, Json]
    digest: str | None
    task: str | None
    key: str | None
    copy: WorktreeCopy | None = None
    snapshot: str | None = None

    def identity(self) -> str:
        """A digest that two requests have in common if they ask for the same."""
        asked: list[Json] = [self.repository, self.name, self.inputs, self.digest, _sayable(self.task)]
        if self.copy is not None:
            asked += [self.copy.to_json(), self.snapshot]
        return digest_of(canonical(asked))


def read_request(
    repository: str | None,
    name: str,
    inputs: Mapping[str, Json],
    *,
    digest: str | None,
    task: str | None,
    key: str | None,
) -> Request:
    """The request for a run in the repository of an id, within bounds.

    Raises NameInvalid, RequestInvalid, TooLarge and InputsInvalid.
    """
    if digest is not None and not is_digest(digest):
        raise RequestInvalid("digest is sha256: and 64 hexadecimal digits, as the entry of a playbook says.")
    if task is not None and len(task.encode("utf-8", "replace")) > TASK_BYTES_MAX:
        raise TooLarge(f"the task is over {TASK_BYTES_MAX // 1024} KiB: say it in fewer words.")
    if key is not None and not (0 < len(key) <= REQUEST_KEY_CHARS_MAX and key.isascii() and key.isprintable()):
        raise RequestInvalid(f"an idempotency key is 1 to {REQUEST_KEY_CHARS_MAX} printable ASCII characters.")
    folded = require_name_key(name)
    if (unfit := beyond(inputs)) is not None:
        raise refusal_of(unfit, folded)
    return Request(repository, folded, inputs, digest, task, key)


def _sayable(text: str | None) -> str | None:
    """The text without halves of surrogate pairs, which no bytes can say."""
    return None if text is None else text.encode("utf-8", "replace").decode()
