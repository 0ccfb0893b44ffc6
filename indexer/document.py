"""Documents: what the index holds of one copy of one playbook."""

import hashlib
from dataclasses import dataclass

ID_LENGTH_MAX_BYTES = 4_096
_ID_SEPARATOR = "\x00"
_CENTRAL_SCOPE = "central"


def document_id(scope: str, digest: str) -> str:
    """The id of the document of `digest` in `scope`: the same copy in two scopes is two documents."""
    return f"{scope}{_ID_SEPARATOR}{digest}"


def scope_ordinal(scope: str) -> int:
    """Where a scope's documents lie in the index: central at 0, every other scope at a fixed place (63 bits).

    Two scopes may share a place; it keeps a scope's documents together and decides nothing.
    """
    if scope == _CENTRAL_SCOPE:
        return 0
    head = hashlib.sha256(scope.encode("utf-8", "replace")).digest()[:8]
    return (int.from_bytes(head, "big") >> 1) | 1


@dataclass(frozen=True, slots=True)
class Document:
    """One copy of a playbook as search sees it.

    `id` comes from `document_id`; `scope` is `central` or a repository id; `digest` names the contract's bytes.
    `tasks` are the playbook's own example tasks, `steps` the text of its steps. `not_for` names the near misses:
    it never attracts a search, it only lowers the score of a task that is one (search.md, Ranking).
    """

    id: str
    scope: str
    name: str
    tags: tuple[str, ...]
    purpose: str
    tasks: tuple[str, ...]
    steps: tuple[str, ...]
    digest: str
    not_for: tuple[str, ...] = ()
