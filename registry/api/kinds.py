"""The table of problems: code, status, meaning and remedy (http-api.md, Errors).

It is the only place that knows which status an error is. The pages below `/problems/` are made from it, and
docs/errors.md is tested against it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

METHOD_NOT_ALLOWED = "method-not-allowed"
MISDIRECTED = "misdirected"


@dataclass(frozen=True, slots=True)
class Kind:
    """One sort of problem: its code and status, what it means, and what to do about it."""

    code: str
    status: int
    title: str
    meaning: str
    remedy: str


_KINDS = (
    Kind(
        "name-invalid",
        400,
        "Not a playbook name",
        "The name does not fold to lower-case letters, digits and single hyphens, 64 characters at most.",
        "Use the name that a search or a catalog shows.",
    ),
    Kind(
        "query-invalid",
        400,
        "Search out of bounds",
        "The limit or the tags of a search are out of bounds. Any text within the bounds is a valid query.",
        "Give a limit from 1 to 50 and 20 tags at most.",
    ),
    Kind(
        "repository-invalid",
        400,
        "Not a repository",
        "The text does not name a repository: a segment is empty, '.' or '..', there are control characters, or the "
        "host is missing. It is also the answer where a URL is that of another repository than the id says.",
        "Write host/path, for example github.com/acme/payments, or send the remote's URL as ?repository=.",
    ),
    Kind(
        "request-invalid",
        400,
        "Request not understood",
        "A parameter or the body is not what the call takes; the detail names each fault and the nearest known name.",
        "Correct the member that is named. Bodies are JSON, sent as application/json.",
    ),
    Kind(
        "unauthenticated",
        401,
        "A valid token is needed",
        "There is no token where one is needed, or the token is unknown, revoked or expired. A token that is not valid "
        "is refused even where reading is open.",
        "Send a valid token as `Authorization: Bearer <token>`, or none where reading is open.",
    ),
    Kind(
        "forbidden",
        403,
        "Not allowed",
        "The token is valid and does not allow this: it lacks a scope, or the repository belongs to another team.",
        "Use a token that has the scope that is named, of the team that owns the repository.",
    ),
    Kind(
        "refused",
        403,
        "This copy does not run here",
        "A run opens only for the copy that serves now. Another copy was asked for, or a working tree's copy of a name "
        "that is required. Nobody is let off this, whatever the token.",
        "Read the playbook again and run the copy that serves; `serving` names it.",
    ),
    Kind(
        "address-refused",
        403,
        "Address refused",
        "The URL's scheme, host or address may not be read by this registry.",
        "Use an https or ssh remote on an allowed host, or have the operator allow it.",
    ),
    Kind(
        "playbook-unknown",
        404,
        "No such playbook",
        "No playbook of that name, or no such copy, mark, waiver or withdrawal of it, is there for this repository.",
        "Search for what it does; `explain` shows every copy of a name.",
    ),
    Kind(
        "repository-unknown",
        404,
        "No such repository",
        "The repository is not registered, and the call is about registered ones.",
        "Register it with PUT /v1/repositories/{repository}, or look for its id in GET /v1/repositories.",
    ),
    Kind(
        "snapshot-unknown",
        404,
        "No such snapshot, document or file",
        "No snapshot, document or file with that digest was ever handed out.",
        "Take the digest from a catalog's Catalog-Digest header or from an entry.",
    ),
    Kind(
        "run-unknown",
        404,
        "No such run",
        "There is no run with that id among those that the token may look at: its own, those of its team's "
        "repositories, and with `policy:write` everybody's.",
        "Look for the id in GET /v1/runs, or use the token that opened it.",
    ),
    Kind(
        "token-unknown",
        404,
        "No such token",
        "There is no valid token with that id; it may have been revoked already.",
        "Look for the id in GET /v1/tokens.",
    ),
    Kind(
        "route-unknown",
        404,
        "No such address",
        "No call of this registry has that path.",
        "Look it up in /schema/openapi.json.",
    ),
    Kind(
        METHOD_NOT_ALLOWED,
        405,
        "Method not allowed",
        "The path exists and does not take this method; the Allow header lists those it takes.",
        "Use one of the methods in the Allow header.",
    ),
    Kind(
        "conflict",
        409,
        "Contradicts what is in force",
        "The request contradicts what is in force, for example a commit that is no longer the newest, an alias that "
        "another repository has, or the central repository being registered.",
        "Read the current state again and decide anew.",
    ),
    Kind(
        "playbook-unavailable",
        409,
        "Nobody serves this playbook",
        "The name is known, and no copy of it may serve; `outcome` is the rule that says so.",
        "Ask `explain` for the copies and the reason; the owners of the broken or withdrawn copy can mend it.",
    ),
    Kind(
        "snapshot-gone",
        410,
        "Snapshot collected",
        "The snapshot was handed out once and has been collected since.",
        "Fetch the catalog in force.",
    ),
    Kind(
        "too-large",
        413,
        "Too large",
        "The body is over 1 MiB, that of a preview over 8 MiB, a search text over 32 KiB, or the inputs of a run over "
        "256 KiB.",
        "Send less.",
    ),
    Kind(
        MISDIRECTED,
        421,
        "Not served under this host",
        "The Host header names a host under which MCP is not served. A web page that had its own name point at the "
        "registry's address would send such a request.",
        "Set REGISTRY_PUBLIC_URL to the URL that hosts use, or name further hosts in REGISTRY_MCP_ALLOWED_HOSTS.",
    ),
    Kind(
        "rate-limited",
        429,
        "Too many requests",
        "One caller, told by its token or else by its address, has asked more often than REGISTRY_MCP_RATE_PER_S "
        "allows.",
        "Ask again after the seconds in the Retry-After header, and less often from then on.",
    ),
    Kind(
        "inputs-invalid",
        422,
        "The inputs do not fit the playbook",
        "The playbook's schema does not accept the inputs. `violations` lists every place by JSON pointer, with what "
        "is allowed there; `more` says that there are more than are listed.",
        "Correct the inputs that are named; GET /v1/playbooks/{name} has the whole schema as `contract.inputs`.",
    ),
    Kind(
        "internal",
        500,
        "Internal error",
        "The registry failed in a way that it did not foresee. Nothing was half done: each write is one transaction.",
        "Try again; if it persists, give the operator the `incident`, which is in the log.",
    ),
    Kind(
        "source-unreachable",
        502,
        "The git remote did not answer as it should",
        "A git remote could not be read.",
        "Look at the repository's sync status; the registry tries again by itself.",
    ),
    Kind(
        "untrusted",
        502,
        "The answer cannot be trusted",
        "What came is not what its digest names, or no registry's answer at all. Only the library for hosts and the "
        "bridge say this; nothing of such an answer is used.",
        "Check that REGISTRY_URL is the registry's own, and that nothing in between rewrites answers.",
    ),
    Kind(
        "unavailable",
        503,
        "Not available yet",
        "The registry cannot answer this now, for example because a repository has not been read for the first time.",
        "Ask again after the seconds in the Retry-After header.",
    ),
)
KINDS: Mapping[str, Kind] = MappingProxyType({kind.code: kind for kind in _KINDS})
"""code -> kind, in the order of their statuses."""
