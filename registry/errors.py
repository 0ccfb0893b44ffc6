"""Every exception this package raises on purpose, drawn as one tree.

    RegistryError
    ├── Refusal                  the caller asked for something that cannot be; final until the caller changes it
    │   ├── NameInvalid          name-invalid
    │   ├── QueryInvalid         query-invalid
    │   ├── RepositoryInvalid    repository-invalid
    │   ├── RequestInvalid       request-invalid
    │   ├── Unauthenticated      unauthenticated
    │   ├── Forbidden            forbidden
    │   ├── Refused              refused
    │   ├── AddressRefused       address-refused
    │   ├── Unknown              playbook-unknown, repository-unknown, snapshot-unknown, run-unknown, route-unknown
    │   ├── Conflict             conflict
    │   ├── PlaybookUnavailable  playbook-unavailable
    │   ├── InputsInvalid        inputs-invalid
    │   ├── SnapshotGone         snapshot-gone
    │   └── TooLarge             too-large
    ├── SourceFault              a git remote did not give what was wanted; `state` says what happens next
    │   ├── Unreachable, Unauthorized, RateLimited, DiskFull      passing: tried again with backoff
    │   └── BranchMissing, EmptyRepository, Corrupt, SourceTooLarge, HostKeyMismatch, SourceAddressRefused
    ├── Unavailable              unavailable: try again after `retry_after_s`
    ├── Untrusted                what came is not what its digest names, or no registry's answer at all
    ├── TooManyRequests          rate-limited: the caller asks too often; try again after `retry_after_s`
    ├── StoreFault               the store broke a promise or could not be opened
    └── SettingsInvalid          the environment does not make a working configuration

Each carries a stable `code` (the wire's word) and a sentence that says what to do. Which HTTP status or exit code
that becomes is said in `api/problems.py` and `cli` alone.
"""

from typing import ClassVar


class RegistryError(Exception):
    """The root of what this package raises on purpose; `str()` of it is a sentence for people."""

    code: ClassVar[str] = "internal"


class Refusal(RegistryError):
    """A request that cannot be met as it was made; `extra` holds typed members for the problem body."""

    def __init__(self, detail: str, **extra: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extra = extra


class NameInvalid(Refusal):
    """A playbook name that does not fold to a key (merge.md, Names)."""

    code = "name-invalid"


class QueryInvalid(Refusal):
    """A search that is out of bounds; any text within the bounds is a valid query."""

    code = "query-invalid"


class RepositoryInvalid(Refusal):
    """A repository spelling that does not normalise to an id."""

    code = "repository-invalid"


class RequestInvalid(Refusal):
    """A body or parameter of the wrong shape."""

    code = "request-invalid"


class Unauthenticated(Refusal):
    """No token where one is needed, or a token that is not valid."""

    code = "unauthenticated"


class Forbidden(Refusal):
    """A valid token that does not allow this."""

    code = "forbidden"


class Refused(Refusal):
    """A copy that may not run here, whoever asks: another one serves, or the name is required."""

    code = "refused"


class AddressRefused(Refusal):
    """A URL whose scheme, host or address is not allowed here."""

    code = "address-refused"


class Unknown(Refusal):
    """Something that was never here; `kind` is playbook, repository, snapshot, run, token or route."""

    def __init__(self, kind: str, detail: str, **extra: object) -> None:
        super().__init__(detail, **extra)
        self.kind = kind
        self.code = f"{kind}-unknown"  # type: ignore[misc]  # the one error whose code names its kind


class Conflict(Refusal):
    """A request that contradicts what is in force."""

    code = "conflict"


class PlaybookUnavailable(Refusal):
    """A known name that nobody serves; `extra["outcome"]` says by which row of the table."""

    code = "playbook-unavailable"


class InputsInvalid(Refusal):
    """Inputs that do not fit the playbook's schema; `extra["violations"]` says where, and what was allowed."""

    code = "inputs-invalid"


class SnapshotGone(Refusal):
    """A digest that was handed out once and has been collected since."""

    code = "snapshot-gone"


class TooLarge(Refusal):
    """A body over its limit."""

    code = "too-large"


class SourceFault(RegistryError):
    """A remote that did not give what was wanted.

    `state` is the `sync.state` of the wire; `passing` faults are retried with backoff, the others wait for
    the source to change.
    """

    code = "source-unreachable"
    state: ClassVar[str] = "unreachable"
    passing: ClassVar[bool] = True

    def __init__(self, detail: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after_s = retry_after_s


class Unreachable(SourceFault):
    """No answer within the deadline, or not an answer of a git server."""


class Unauthorized(SourceFault):
    """The remote wants other credentials, or hides the repository from these."""

    state = "unauthorized"


class RateLimited(SourceFault):
    """The host asked for a pause; `retry_after_s` says how long, when it said."""

    state = "rate-limited"


class DiskFull(SourceFault):
    """Less free space than the floor; nothing was written."""

    state = "disk-full"


class BranchMissing(SourceFault):
    """The tracked ref is not at the remote."""

    state = "branch-missing"
    passing = False


class EmptyRepository(SourceFault):
    """The remote has no commit on the tracked ref and no branch at all."""

    state = "empty"
    passing = False


class Corrupt(SourceFault):
    """Objects that cannot be read; the mirror is made anew."""

    state = "corrupt"


class SourceTooLarge(SourceFault):
    """More files, bytes or entries than the limits admit."""

    state = "too-large"
    passing = False


class HostKeyMismatch(SourceFault):
    """The SSH host key is not the known one."""

    state = "host-key-mismatch"
    passing = False


class SourceAddressRefused(SourceFault):
    """The remote's scheme, host or address is not allowed here (any more)."""

    state = "address-refused"
    passing = False


class Unavailable(RegistryError):
    """Not now; the same request may succeed after `retry_after_s` seconds."""

    code = "unavailable"

    def __init__(self, detail: str, *, retry_after_s: int = 2) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after_s = retry_after_s


class TooManyRequests(RegistryError):
    """More requests than one caller may make; the next one is granted after `retry_after_s` seconds."""

    code = "rate-limited"

    def __init__(self, detail: str, *, retry_after_s: int = 1) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after_s = retry_after_s


class Untrusted(RegistryError):
    """Bytes that are not what their digest names, or an answer that no registry gives: nothing of it is used."""

    code = "untrusted"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class StoreFault(RegistryError):
    """The store could not be opened, migrated or trusted."""


class SettingsInvalid(RegistryError):
    """The environment does not make a working configuration."""
