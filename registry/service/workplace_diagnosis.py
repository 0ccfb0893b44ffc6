"""Why a host in a working copy sees nothing: facts in, findings out, each with what to do. Pure.

The order is that in which one thing needs the other, so the first fault is the one to mend.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from registry.service.diagnosis import CLOCK_LEAST, Finding, compare_clocks, doubt, fault, ok
from registry.service.host_diagnosis import diagnose_hosts
from registry.service.workplace import (
    CatalogFacts,
    CopyFacts,
    EndpointFacts,
    FilesFacts,
    RegistrationFacts,
    TokenFacts,
    Workplace,
)

READ: Final = "catalog:read"
EXECUTE: Final = "playbook:execute"
TOOLS: Final = 3
SHOWN_MAX: Final = 5

_WAITING: Final = frozenset({"pending", "syncing"})
_DIAGNOSE_SERVER: Final = "Ask whoever runs it to look at `registry doctor` there."


def diagnose_workplace(facts: Workplace) -> tuple[Finding, ...]:
    """At least one finding for each check that could be made, in the order in which they are best mended."""
    return tuple(_findings(facts))


def _findings(facts: Workplace) -> Iterator[Finding]:
    yield from _copy(facts.copy)
    yield from _server(facts)
    if facts.registration is not None:
        yield _registration(facts.registration, facts.copy)
    if facts.token is not None:
        yield _token(facts.token)
    if facts.catalog is not None:
        yield from _catalog(facts.catalog)
    if facts.files is not None:
        yield from _files(facts.files, facts.catalog)
    if facts.copy.is_copy:
        yield from diagnose_hosts(facts)
    if facts.endpoint is not None:
        yield from _endpoint(facts.endpoint)
    yield _cache(facts)


def _copy(copy: CopyFacts) -> Iterator[Finding]:
    check = "working copy"
    if not copy.is_copy:
        yield fault(check, f"{copy.path} is no git working copy", "Give a folder in a clone of the repository.")
        return
    if copy.identity is None:
        found = "has no remote" if copy.remote is None else f"has the remote {copy.remote}, which names no repository"
        todo = "`git remote add origin URL` gives it one; or name the repository with --repository."
        yield fault(check, f"{copy.path} {found}", todo)
        return
    at = copy.branch or "no branch"
    commit = f"commit {copy.commit[:12]}" if copy.commit else "no commit yet"
    yield ok(check, f"{copy.path} is on {at}, {commit}, remote {copy.remote or 'none'}")
    by = "as --repository says" if copy.is_named else "as its remote says"
    yield ok("repository", f"{copy.identity}, {by}")


def _server(facts: Workplace) -> Iterator[Finding]:
    check, server = "server", facts.server
    if facts.url_from is not None:
        yield doubt(
            check,
            f"REGISTRY_URL is not set; {facts.url_from} leads to {server.url}, which was asked without a token",
            f"If that is your registry, set REGISTRY_URL={server.url} and ask again.",
        )
    if server.status is None:
        todo = "Set REGISTRY_URL to where your registry is, and check that this machine reaches it."
        yield fault(check, f"no registry answers at {server.url} ({server.said or 'no answer'})", todo)
        return
    if not server.is_registry:
        yield fault(
            check, f"something else than a registry answers at {server.url}: {server.said}", "Set REGISTRY_URL."
        )
        return
    version = facts.endpoint.version if facts.endpoint is not None else None
    which = f", version {version}" if version else ""
    if version and version != facts.version:
        which = f"{which} (this command is {facts.version})"
    if server.status == 200:
        yield ok(check, f"the registry at {server.url} is ready{which}")
    else:
        yield fault(check, f"the registry at {server.url} is not ready: {server.said}", _DIAGNOSE_SERVER)
    if facts.now < CLOCK_LEAST:
        yield fault("clock", f"this machine's clock says {facts.now.date()}", "Set it, and have it kept by NTP.")
    else:
        yield compare_clocks(facts.now, server.date) or ok("clock", "the registry's clock and this machine's agree")


def _registration(registration: RegistrationFacts, copy: CopyFacts) -> Finding:
    check, identity = "registration", registration.identity
    if registration.fault is not None:
        return fault(check, f"it cannot be asked about: {registration.fault}", "Mend that first, then ask again.")
    if identity is None:
        return doubt(
            check,
            f"{copy.identity} is not registered, so hosts get the company's playbooks alone",
            f"`registry register {copy.remote or 'URL'} --team TEAM` registers it, and so does `registry init`.",
        )
    return ok(check, f"{identity} is the central repository") if registration.is_central else _sync(registration)


def _sync(registration: RegistrationFacts) -> Finding:
    """How a service repository was read last."""
    check, identity = "registration", registration.identity
    who = f"{identity} is registered, of team {registration.team}"
    if registration.state == "ok" and not registration.problems:
        remarks = f", and {_many(registration.remarks, 'remark')}" if registration.remarks else ""
        return ok(check, f"{who}, read well, {_many(registration.playbooks, 'playbook')} of its own{remarks}")
    if registration.state == "ok":
        todo = f"`registry repositories {identity} --problems` lists what is wrong."
        files = _many(len(registration.problems), "problem")
        return doubt(check, f"{who}, read, and {files} kept files from it: {registration.problems[0]}", todo)
    found = f"{who}, and its sync stands at {registration.state}"
    if registration.message:
        found = f"{found}: {registration.message.rstrip('.')}"
    if registration.state in _WAITING:
        return doubt(check, found, "Ask again in a minute.")
    if registration.state == "suspended":
        return doubt(check, found, f"Look at the commit; `registry apply {identity} --commit COMMIT` puts it in force.")
    return fault(check, found, f"When that is mended, `registry sync {identity}` reads it at once.")


def _token(token: TokenFacts) -> Finding:
    check = "token"
    if token.fault is not None:
        todo = "Set REGISTRY_TOKEN to a valid token: `registry token create` makes one, for who has admin."
        return fault(check, f"the token in REGISTRY_TOKEN is refused: {token.fault}", todo)
    if token.reads is None:
        return doubt(
            check,
            "the registry does not say what a caller may" + ("" if token.is_set else ", and REGISTRY_TOKEN is not set"),
            "It is older than this command: look at `registry token list`, if you may.",
        )
    return _held(token) if token.is_set else _missing(token)


def _missing(token: TokenFacts) -> Finding:
    check = "token"
    if not token.reads:
        todo = f"Set REGISTRY_TOKEN to one with {READ} and {EXECUTE}, where hosts are started too."
        return fault(check, "REGISTRY_TOKEN is not set, and reading needs a token here", todo)
    todo = f"To execute, set it to a token with {EXECUTE}, where hosts are started too."
    return doubt(check, "REGISTRY_TOKEN is not set: hosts can search and read, and execute nothing", todo)


def _held(token: TokenFacts) -> Finding:
    check = "token"
    who = f"the token is {token.principal}'s" + (f", of team {token.team}" if token.team else "")
    if not token.reads:
        return fault(check, f"{who}, and may not read: it has {_listed(token.scopes)}", f"Use one with {READ}.")
    if not token.scopes & {EXECUTE, "admin"}:
        found = f"{who}, with {_listed(token.scopes)}: hosts can search and read, and execute nothing"
        return doubt(check, found, f"To execute, use one with {EXECUTE}.")
    return ok(check, f"{who}, with {_listed(token.scopes)}")


def _catalog(catalog: CatalogFacts) -> Iterator[Finding]:
    check = "catalog"
    if catalog.fault is not None:
        yield fault(check, f"there is none: {catalog.fault}", "Mend that first, then ask again.")
        return
    if not catalog.entries:
        todo = "Push playbooks to the central repository or to this one; `registry catalog` shows what serves."
        yield fault(check, "there is no playbook in it, so there is nothing to find", todo)
    elif catalog.is_stale:
        todo = f"It serves all the same. {_DIAGNOSE_SERVER}"
        yield doubt(check, f"{_many(catalog.entries, 'playbook')}, last checked {catalog.age_s} s ago: stale", todo)
    else:
        yield ok(check, f"{_many(catalog.entries, 'playbook')}, checked {catalog.age_s} s ago")
    if catalog.unavailable:
        found = f"nobody serves {_some(catalog.unavailable)}"
        yield doubt(check, found, f"`registry explain {catalog.unavailable[0]} --repository …` says why.")


def _files(files: FilesFacts, catalog: CatalogFacts | None) -> Iterator[Finding]:
    check = "own files"
    if files.fault is not None:
        yield fault(check, f"the copy's files cannot be read: {files.fault}", "Mend that first, then ask again.")
        return
    for sentence in files.broken:
        yield doubt(check, f"not read: {sentence}", "Mend it: until then what is served stands in for it, if anything.")
    for sentence in catalog.notes if catalog is not None else ():
        if not any(sentence.partition(" ")[0] in each for each in files.broken):
            yield doubt(check, sentence.rstrip("."), "Nothing, if that is meant.")
    changed = catalog.changed if catalog is not None else ()
    where = f"in {' or '.join(files.looked_in)}" if files.looked_in else "in the usual folders"
    if not files.playbooks and not files.broken:
        if files.passed_over:
            found = f"no file {where} is a playbook; passed over: {_some(files.passed_over)}"
            yield doubt(check, found, "A native playbook begins with `playbook: 1`: `registry check` says more.")
        else:
            yield ok(check, f"the copy has no playbook of its own {where}")
        return
    found = f"{_many(files.playbooks, 'playbook')} of the copy's own {where}"
    if changed:
        found = f"{found}; {_some(changed)} not as served: bridges show it, marked as not reviewed"
    if files.passed_over:
        found = f"{found}; passed over: {_some(files.passed_over)}"
    yield ok(check, found)


def _endpoint(endpoint: EndpointFacts) -> Iterator[Finding]:
    check, url = "mcp", endpoint.url
    if endpoint.status is None:
        yield fault(check, f"{url} does not answer: {endpoint.said}", "Look for a proxy between that ends the request.")
        return
    if endpoint.status == 421:
        todo = "Whoever runs it sets REGISTRY_PUBLIC_URL, or names the host in REGISTRY_MCP_ALLOWED_HOSTS."
        yield fault(check, f"{url} refuses the name that it is asked under: {endpoint.said}", todo)
        return
    if endpoint.status != 200:
        yield fault(
            check, f"{url} answers {endpoint.status}: {endpoint.said}", _HOW.get(endpoint.code, _DIAGNOSE_SERVER)
        )
        return
    if len(endpoint.tools) != TOOLS:
        yield fault(
            check, f"{url} offers {_listed(endpoint.tools)}", "Is it this registry's endpoint? Look at the URL."
        )
    else:
        yield ok(check, f"{url} offers {', '.join(endpoint.tools)}")
    if not endpoint.own_origin:
        found = "hosts that run in a browser are refused, even on a page of the registry's own origin"
        todo = "Where such a host is used, REGISTRY_PUBLIC_URL and REGISTRY_MCP_ALLOWED_ORIGINS admit it."
        yield doubt(check, found, todo)


_HOW: Final = {
    "unauthenticated": "Set REGISTRY_TOKEN to a valid token.",
    "forbidden": f"Use a token with {READ}; of a page, REGISTRY_MCP_ALLOWED_ORIGINS admits its origin.",
    "route-unknown": "The registry may be older than MCP in it: ask whoever runs it to upgrade.",
    "rate-limited": "Wait, then ask again; REGISTRY_MCP_RATE_PER_S is the limit.",
    "unavailable": "Wait a moment, then ask again.",
}


def _cache(facts: Workplace) -> Finding:
    path = facts.cache.path
    if facts.cache.is_writable:
        return ok("cache", f"{path} can be written")
    todo = "Give this user write access, or another folder in REGISTRY_CACHE_DIR."
    return doubt("cache", f"{path} cannot be written: bridges fetch everything anew, and know nothing offline", todo)


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _listed(names: frozenset[str] | tuple[str, ...]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_MAX} more" if len(names) > SHOWN_MAX else ""
    return ", ".join(names[:SHOWN_MAX]) + more
