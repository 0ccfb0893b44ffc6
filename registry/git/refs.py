"""Polling: what commit a remote's tracked ref is at, for about a millisecond of work.

Over http(s) one POST of protocol-v2 `ls-refs` in this process; SSH and file remotes, and servers that do not answer
version 2, through a `git ls-remote` child (git.md, Three layers).
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

import httpcore

from registry.errors import (
    BranchMissing,
    EmptyRepository,
    RateLimited,
    SourceAddressRefused,
    SourceFault,
    Unauthorized,
    Unreachable,
)
from registry.git.child import ChildSettings, run_git
from registry.git.pktline import PktLineInvalid, Ref, is_object_id, ls_refs_request, read_refs
from registry.git.remote import Remote, redact
from registry.git.transport import DeadlinePool

DEADLINE_S = 20.0
ANSWER_BYTES_MAX = 1024 * 1024
RETRY_AFTER_S_MAX = 3600.0
BY_CHILD_FOR_S = 3600.0
REMEMBERED_MAX = 20_000
REF_LENGTH_MAX = 250

_BRANCHES = "refs/heads/"
_Headers = dict[bytes | str, bytes | str]
_BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/.]|/\.|[/.]$|\.lock(/|$)")
_HEADERS: _Headers = {
    "User-Agent": "git/playbook-registry",
    "Content-Type": "application/x-git-upload-pack-request",
    "Accept": "application/x-git-upload-pack-result",
    "Git-Protocol": "version=2",
}
_RESULT = b"application/x-git-upload-pack-result"
# What servers say that know git but not this request; git's own program finds out what they do know.
_NOT_VERSION_2 = {400, 405, 406, 411, 415, 422, 501}


@dataclass(frozen=True, slots=True)
class RemoteHead:
    """The tracked ref's full name (`refs/heads/main`; `HEAD` where the remote's HEAD is detached) and its commit."""

    ref: str
    commit: str


class RefPoller:
    """Asks remotes for one ref each; keeps connections open between polls and may be shared between threads."""

    def __init__(self, settings: ChildSettings | None = None, *, work_folder: Path | None = None) -> None:
        self._settings = settings or ChildSettings()
        self._pool = DeadlinePool(ca_file=self._settings.ca_file)
        self._work_folder = work_folder or Path("/")
        self._by_child_until: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def poll(
        self,
        remote: Remote,
        ref: str | None,
        *,
        deadline_s: float = DEADLINE_S,
        headers: Mapping[str, str] | None = None,
    ) -> RemoteHead:
        """The commit that `ref` is at: a branch's or tag's short or full name, or None for the remote's HEAD.

        `headers` go to this remote's host only. Raises BranchMissing, EmptyRepository (no branch at all),
        Unauthorized (401, 403, 404), RateLimited (429, or 503 with Retry-After), and Unreachable for everything that
        is not a clear answer: an error never passes for an empty repository.
        """
        wanted = _candidates(ref)
        until = time.monotonic() + deadline_s
        refs = {found.name: found for found in self._list(remote, wanted, until, headers)}
        for name in wanted:
            if found := refs.get(name):
                return _head(found)
        if any(name.startswith(_BRANCHES) for name in refs) or self._list(remote, (_BRANCHES,), until, headers):
            shown = ref if ref is not None else "the branch that HEAD names"
            raise BranchMissing(f"{shown!s:.100} is not at the remote: track a branch that exists, or push it.")
        raise EmptyRepository("the repository has no branch: push a first commit.")

    def _list(
        self, remote: Remote, prefixes: Sequence[str], until: float, headers: Mapping[str, str] | None
    ) -> tuple[Ref, ...]:
        by_http = remote.scheme in {"http", "https"}
        if by_http and self._by_child_until.get(remote.url, 0.0) < time.monotonic():
            try:
                return self._ask(remote, prefixes, until, headers or {})
            except PktLineInvalid:
                self._remember(remote.url)
        refs = self._ask_child(remote, prefixes, _left(until))
        if not refs and by_http and prefixes == (_BRANCHES,):
            # git takes any page that is no smart answer for a dumb server's list, and an empty page for no refs.
            raise Unreachable("the host lists no branch, but not in a way that proves that there is none.")
        return refs

    def _remember(self, url: str) -> None:
        if len(self._by_child_until) >= REMEMBERED_MAX:
            self._by_child_until.clear()
        self._by_child_until[url] = time.monotonic() + BY_CHILD_FOR_S

    def _ask(
        self, remote: Remote, prefixes: Sequence[str], until: float, headers: Mapping[str, str]
    ) -> tuple[Ref, ...]:
        url = remote.url.rstrip("/") + "/git-upload-pack"
        content = ls_refs_request(prefixes)
        sent: _Headers = {**_HEADERS}
        sent.update(headers)
        try:
            try:
                return self._ask_once(url, content, sent, _left(until))
            except (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError):
                # Most often a kept connection that the server had just closed; asking twice changes nothing there.
                return self._ask_once(url, content, sent, _left(until))
        except httpcore.TimeoutException:
            raise Unreachable("the remote did not answer in time.") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            why = redact(str(error))[:200] or type(error).__name__
            raise Unreachable(f"the remote could not be asked: {why}.") from None

    def _ask_once(self, url: str, content: bytes, headers: _Headers, deadline_s: float) -> tuple[Ref, ...]:
        with self._pool.post(url, headers=headers, content=content, deadline_s=deadline_s) as response:
            _require_success(response)
            answer = bytearray()
            for chunk in response.iter_stream():
                answer += chunk
                if len(answer) > ANSWER_BYTES_MAX:
                    # Refs come sorted, so the wanted ones stand before the flood of longer names.
                    return read_refs(bytes(answer), complete=False)
        return read_refs(bytes(answer))

    def _ask_child(self, remote: Remote, prefixes: Sequence[str], deadline_s: float) -> tuple[Ref, ...]:
        patterns = [f"{prefix}*" if prefix.endswith("/") else prefix for prefix in prefixes]
        patterns += [f"{prefix}^{{}}" for prefix in prefixes if prefix.startswith("refs/tags/")]
        output = run_git(
            ["ls-remote", "--symref", "--", remote.url, *patterns],
            cwd=self._work_folder,
            deadline_s=deadline_s,
            allow=(remote.scheme,),
            settings=self._settings,
        )
        return _read_ls_remote(output.decode("utf-8", "surrogateescape"))


def full_names(ref: str | None) -> tuple[str, ...]:
    """The full names that `ref` may stand for, best first; empty for what cannot be the name of a ref."""
    if ref is None or ref == "HEAD":
        return ("HEAD",)
    if not 0 < len(ref) <= REF_LENGTH_MAX or _BAD_REF.search(ref):
        return ()
    return (ref,) if ref.startswith("refs/") else (f"refs/heads/{ref}", f"refs/tags/{ref}")


def _left(until: float) -> float:
    return max(0.1, until - time.monotonic())


def _candidates(ref: str | None) -> tuple[str, ...]:
    names = full_names(ref)
    if not names:
        raise BranchMissing(f"{(ref or '')[:80]!r} cannot be the name of a branch or tag.")
    return names


def _head(ref: Ref) -> RemoteHead:
    if len(ref.commit) != 40:
        raise Unreachable("the repository names its objects by SHA-256, which is not read here: convert it to SHA-1.")
    name = ref.target if ref.name == "HEAD" and ref.target else ref.name
    return RemoteHead(name, ref.commit)


def _require_success(response: httpcore.Response) -> None:
    status = response.status
    headers = {name.lower(): value for name, value in response.headers}
    if status == 200:
        if headers.get(b"content-type", b"").partition(b";")[0].strip() != _RESULT:
            raise PktLineInvalid("the answer is not of a git server.")
        return
    if status in _NOT_VERSION_2:
        raise PktLineInvalid(f"the server answered {status}.")
    _refuse(status, headers)


def _refuse(status: int, headers: dict[bytes, bytes]) -> NoReturn:
    retry_after_s = _seconds(headers.get(b"retry-after", b"").decode("ascii", "replace"))
    if status == 429 or (status == 503 and retry_after_s is not None):
        raise RateLimited(f"the host asked for a pause (HTTP {status}).", retry_after_s=retry_after_s)
    if status in {401, 403, 404}:
        if retry_after_s is not None:
            raise RateLimited(f"the host asked for a pause (HTTP {status}).", retry_after_s=retry_after_s)
        raise Unauthorized(
            f"the host answered HTTP {status}: the repository is not there, or not for the credentials that were sent."
        )
    if 300 <= status < 400:
        place = redact(headers.get(b"location", b"").decode("ascii", "replace"))[:200]
        raise SourceAddressRefused(f"the host sends on to {place!r} (HTTP {status}): register the new URL.")
    raise Unreachable(f"the host answered HTTP {status}.")


def _seconds(retry_after: str) -> float | None:
    text = retry_after.strip()
    if not text:
        return None
    if text.isdigit():
        return min(float(text[:9]), RETRY_AFTER_S_MAX)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max((aware - datetime.now(UTC)).total_seconds(), 0.0), RETRY_AFTER_S_MAX)


def _read_ls_remote(output: str) -> tuple[Ref, ...]:
    targets: dict[str, str] = {}
    objects: dict[str, str] = {}
    for row in output.split("\n"):
        if not row:
            continue
        left, tab, name = row.partition("\t")
        if tab and left.startswith("ref: "):
            targets[name] = left[5:]
        elif tab and is_object_id(left):
            objects[name] = left
        else:
            raise _odd(row)
    return tuple(
        Ref(name, object_id, objects.get(f"{name}^{{}}"), targets.get(name))
        for name, object_id in objects.items()
        if not name.endswith("^{}")
    )


def _odd(row: str) -> SourceFault:
    return Unreachable(f"git ls-remote answered something unknown: {redact(row)[:80]!r}.")
