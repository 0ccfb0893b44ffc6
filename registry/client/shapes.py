"""What a registry's answers must look like before anything of them is used. Pure.

Whoever reads an entry, a document or an opened run relies on what is checked here; members that are not checked are
handed on and never looked into. Each function raises ValueError, which says where, for what is not as http-api.md says.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from registry.digest import DIGEST_PATTERN
from registry.names import NAME_LENGTH_MAX, NAME_PATTERN, REPOSITORY_LENGTH_MAX

Json = Any
Object = Mapping[str, Json]
Check = Callable[[Json], bool]

KINDS: Final = frozenset({"central", "local"})
_NAME: Final = re.compile(NAME_PATTERN)
_COMMIT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def is_text(value: Json) -> bool:
    """Whether it is a text."""
    return isinstance(value, str)


def is_key(value: Json) -> bool:
    """Whether it is a name as names are compared."""
    return isinstance(value, str) and len(value) <= NAME_LENGTH_MAX and _NAME.fullmatch(value) is not None


def is_digest(value: Json) -> bool:
    """Whether it is a digest."""
    return isinstance(value, str) and DIGEST_PATTERN.fullmatch(value) is not None


def is_commit(value: Json) -> bool:
    """Whether it is a commit's id."""
    return isinstance(value, str) and _COMMIT.fullmatch(value) is not None


def is_flag(value: Json) -> bool:
    """Whether it is true or false."""
    return isinstance(value, bool)


def is_texts(value: Json) -> bool:
    """Whether it is a list of texts."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def is_object(value: Json) -> bool:
    """Whether it is an object."""
    return isinstance(value, dict)


def _is_objects(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _is_object_or_null(value: Json) -> bool:
    return value is None or isinstance(value, dict)


def _is_text_or_null(value: Json) -> bool:
    return value is None or isinstance(value, str)


def _is_digest_or_null(value: Json) -> bool:
    return value is None or is_digest(value)


def _is_kind(value: Json) -> bool:
    return isinstance(value, str) and value in KINDS


def _is_repository(value: Json) -> bool:
    return isinstance(value, str) and len(value) <= REPOSITORY_LENGTH_MAX


_SOURCE: Final[Mapping[str, Check]] = {
    "kind": _is_kind,
    "repository": _is_repository,
    "commit": is_text,
    "path": is_text,
    "blob": is_text,
}
_COPY: Final[Mapping[str, Check]] = {"version": is_text, "digest": is_digest, "source": is_object}
_ENTRY: Final[Mapping[str, Check]] = {
    "name": is_key,
    "title": is_text,
    **_COPY,
    "document": is_text,
    "owner": _is_text_or_null,
    "tags": is_texts,
    "purpose": is_text,
    "not_for": is_texts,
    "deprecated": _is_object_or_null,
    "held": _is_object_or_null,
    "required": is_flag,
    "waiver": _is_object_or_null,
    "decision": is_object,
}
_DECISION: Final[Mapping[str, Check]] = {"outcome": is_text, "over": _is_objects}
_LOST: Final[Mapping[str, Check]] = {"name": is_key, "outcome": is_text, "reason": is_text, "copies": _is_objects}
_LOST_COPY: Final[Mapping[str, Check]] = {"source": is_object, "digest": _is_digest_or_null, "state": is_text}
_LOST_SOURCE: Final[Mapping[str, Check]] = {"kind": _is_kind}
_DOCUMENT: Final[Mapping[str, Check]] = {"document": is_text, "name": is_text}
_DOCUMENT_OPTIONAL: Final[Mapping[str, Check]] = {
    "version": is_text,
    "owner": _is_text_or_null,
    "tags": is_texts,
    "purpose": is_text,
    "not_for": is_texts,
    "deprecated": _is_object_or_null,
    "files": _is_objects,
    "requires": is_object,
}
_REQUIRES: Final[Mapping[str, Check]] = dict.fromkeys(("connections", "mcp_servers", "secrets"), _is_objects)
_FILE: Final[Mapping[str, Check]] = {"path": is_text, "digest": is_text}
_RUN: Final[Mapping[str, Check]] = {"name": is_text, "version": is_text, "digest": is_digest, "source": is_object}


def check_entry(value: Json) -> Object:
    """An element of a snapshot's `entries` or `refused`."""
    entry = _check(value, _ENTRY)
    _check(entry["source"], _SOURCE)
    for over in _check(entry["decision"], _DECISION)["over"]:
        _check(_check(over, _COPY)["source"], _SOURCE)
    return entry


def check_copy(value: Json) -> Object:
    """One copy of a playbook with its document, as it is asked for by its digest."""
    copy = _check(value, {**_ENTRY, "contract": is_object})
    _check(copy["source"], _SOURCE)
    check_document(copy["contract"])
    return copy


def check_lost(value: Json) -> Object:
    """An element of a snapshot's `unavailable`."""
    lost = _check(value, _LOST)
    for copy in lost["copies"]:
        _check(_check(copy, _LOST_COPY)["source"], _LOST_SOURCE)
    return lost


def check_document(value: Json) -> Object:
    """A playbook's document."""
    document = _check(value, _DOCUMENT)
    _check(document, _DOCUMENT_OPTIONAL, partly=True)
    for file in document.get("files", ()):
        _check(file, _FILE)
    requires = document.get("requires", {})
    _check(requires, _REQUIRES, partly=True)
    return document


def check_run(value: Json) -> Object:
    """A run's record."""
    return _check(value, _RUN)


def check_members(value: Json, members: Mapping[str, Check]) -> Object:
    """An object with these members at least, each as its check wants it."""
    return _check(value, members)


def check_list(value: Json, check: Callable[[Json], Object]) -> Sequence[Object]:
    """A list whose every element passes."""
    if not isinstance(value, list):
        raise ValueError("not a list")  # noqa: TRY004 - one kind of error for whatever is wrong with an answer
    return tuple(check(each) for each in value)


def _check(value: Json, members: Mapping[str, Check], *, partly: bool = False) -> Object:
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - as above
    for name, is_good in members.items():
        if name not in value:
            if partly:
                continue
            raise ValueError(f"{name} is missing")
        if not is_good(value[name]):
            raise ValueError(name)
    return value
