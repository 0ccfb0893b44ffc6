"""Which repository, and which of its sub-resources, a URL names (http-api.md, Naming a repository).

A repository's id has slashes in it, so a router that matches decoded segments cannot tell `acme/sync` the repository
from `sync` the sub-resource. The raw path is parsed here instead, and decoded exactly once.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from registry.errors import RepositoryInvalid
from registry.names import REPOSITORY_LENGTH_MAX

SUB_RESOURCES = frozenset({"problems", "sync", "diff", "evaluation", "apply"})
RAW_LENGTH_MAX_BYTES = 3 * 4 * REPOSITORY_LENGTH_MAX
"""Every character of the longest id as four bytes of UTF-8, each percent-encoded."""

_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_USERINFO = re.compile(r"(?<=://)[^/]*@|^\s*[^/@:\s]*:[^/]*@")
_ADVICE = "write host/path, for example /v1/catalogs/github.com/acme/payments, or send ?repository=."


@dataclass(frozen=True, slots=True)
class Address:
    """What a path names below a collection: a repository in the spelling it came in, and a sub-resource of it."""

    repository: str | None
    sub_resource: str | None


def parse_address(tail: bytes) -> Address:
    """The address in the raw path below a collection, its leading slash included or not; decoded once.

    A last segment that is one of SUB_RESOURCES is the sub-resource; a repository so named is sent as one segment,
    its slashes written `%2F`. Raises RepositoryInvalid for `.`, `..`, empty segments and control bytes.
    """
    if len(tail) > RAW_LENGTH_MAX_BYTES:
        raise RepositoryInvalid(f"the path is over {RAW_LENGTH_MAX_BYTES} bytes: a repository's name is shorter.")
    if not tail:
        return Address(None, None)
    raw = tail.removeprefix(b"/")
    segments = [_decode(segment) for segment in raw.split(b"/")]
    sub_resource = segments.pop() if segments[-1] in SUB_RESOURCES else None
    if not segments:
        return Address(None, sub_resource)
    for position, segment in enumerate(segments):
        if segment in {".", ".."} or (not segment and not (position == 1 and _SCHEME.fullmatch(segments[0]))):
            raise _bad_segment(segment)
    return Address(check_spelling("/".join(segments)), sub_resource)


def check_spelling(spelling: str) -> str:
    """`spelling` if it could be a repository's, in whatever form (a URL, `git@host:path`, an id).

    A user and a password in it are left out: no id has them, and so they can be in no message about it. What only
    normalising can tell (registry/names.py) is left to it. Raises RepositoryInvalid for `.`, `..` and empty
    segments and for control characters.
    """
    if _CONTROL.search(spelling):
        raise RepositoryInvalid(f"a repository's name has no control characters: {_ADVICE}")
    # Cut before the segments are looked at, so that none hides behind a user.
    spelling = _USERINFO.sub("", spelling, count=1)
    if not spelling.strip():
        raise RepositoryInvalid(f"the repository is empty: {_ADVICE}")
    path = spelling.partition("://")[2] if "://" in spelling else spelling
    for segment in path.strip("/").split("/"):
        if segment in {"", ".", ".."}:
            raise _bad_segment(segment)
    return spelling


def choose_repository(address: Address, parameter: str | None) -> str | None:
    """The one repository that the path or `?repository=` names; None where neither does.

    Raises RepositoryInvalid where both do, even if they agree: which of them is meant is not guessed.
    """
    if parameter is None:
        return address.repository
    if address.repository is not None:
        raise RepositoryInvalid("the path and ?repository= both name a repository: send one of them.")
    return check_spelling(parameter)


def require_repository(address: Address, parameter: str | None) -> str:
    """The same where the call is about one repository; raises RepositoryInvalid where none is named."""
    repository = choose_repository(address, parameter)
    if repository is None:
        raise RepositoryInvalid(f"no repository is named: {_ADVICE}")
    return repository


def _decode(segment: bytes) -> str:
    if _BAD_ESCAPE.search(segment):
        raise RepositoryInvalid("a % in the path is not followed by two hexadecimal digits: write a literal % as %25.")
    try:
        return unquote_to_bytes(segment).decode("utf-8")
    except UnicodeDecodeError:
        raise RepositoryInvalid("the path is not UTF-8: percent-encode the UTF-8 bytes of the name.") from None


def _bad_segment(segment: str) -> RepositoryInvalid:
    found = f"the segment {segment!r}" if segment else "an empty segment"
    return RepositoryInvalid(f"the repository has {found}: {_ADVICE}")
