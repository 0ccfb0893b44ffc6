"""What is wrong with the configuration files of the hosts in a working copy. Pure; see registry.service.workplace."""

from collections.abc import Iterator
from typing import Final

from registry.service.diagnosis import Finding, doubt, fault, ok
from registry.service.workplace import EntryFacts, HostFacts, Workplace

_INSTEAD: Final = "`registry init --with-token` names the variable instead. Revoke that token: it was shown."
_AGAIN: Final = "`registry init` points it here."


def diagnose_hosts(facts: Workplace) -> Iterator[Finding]:
    """A finding at least for each entry that a host's file has, and one where none has any."""
    named = False
    for host in facts.hosts:
        if host.fault is not None:
            yield fault(
                "host", f"{host.path} cannot be read: {host.fault}", f"Mend it: {host.title} cannot read it either."
            )
        for entry in host.entries:
            named = True
            yield from _entry(facts, host, entry)
        if host.entries and host.is_ignored:
            found = f"{host.path} is ignored by git, so nobody else has it"
            yield doubt("host", found, "Take it out of .gitignore, and commit it.")
    if not named:
        todo = (
            "`registry init` writes them; commit them then. A user's own settings may name it: they are not read here."
        )
        yield doubt("host", "no host's file in this copy names the registry", todo)


def _entry(facts: Workplace, host: HostFacts, entry: EntryFacts) -> Iterator[Finding]:
    check, where = "host", f"{host.path} ({host.title})"
    found = [*_leads(facts, entry), *_starts(entry), *_shows(facts, host, entry)]
    if entry.is_off:
        found.append(doubt(check, "its server is switched off", "Switch it on, if hosts shall use it."))
    if entry.has_secret:
        found.append(doubt(check, "it holds a token in clear, for everybody who has the repository", _INSTEAD))
    for each in found:
        yield Finding(check, each.grade, f"{where}: {each.found}", each.todo)
    if not found:
        how = f"starts {entry.command} mcp" if entry.is_bridge else f"leads to {entry.url}"
        yield ok(check, f"{where} {how}")


def _leads(facts: Workplace, entry: EntryFacts) -> Iterator[Finding]:
    """Whether an entry leads to this registry and this repository."""
    check, copy, asked = "host", facts.copy, facts.server.url
    if not entry.is_bridge and entry.repository is None:
        yield _astray(entry, asked)
        return
    if entry.is_bridge and entry.registry is None:
        todo = "Hosts must have REGISTRY_URL then; `registry init --bridge` writes it into the file."
        yield doubt(check, "it does not say where the registry is", todo)
    elif entry.registry != asked and not entry.answers:
        yield fault(check, f"it leads to {entry.registry}, where no registry answers", _AGAIN)
    elif entry.registry != asked:
        found = f"it leads to the registry {entry.registry}, and you asked {asked}"
        yield doubt(check, found, f"If both are one, nothing. Else set REGISTRY_URL to that one; or {_AGAIN}")
    known = {copy.identity, facts.registration.identity if facts.registration else None, None}
    if entry.repository not in known:
        yield fault(check, f"it names {entry.repository}, and this copy is {copy.identity}", _AGAIN)


def _astray(entry: EntryFacts, asked: str) -> Finding:
    """What an entry of our name is that leads to no repository's playbooks."""
    if entry.url == f"{asked}/mcp":
        return doubt("host", "it leads to the central catalog, not to this repository's", _AGAIN)
    does = f"starts {entry.command}" if entry.command else f"leads to {entry.url or 'nothing'}"
    todo = "`registry init --name NAME` adds ours under another name."
    return doubt("host", f"its server {entry.name} {does}, which is none of a registry's", todo)


def _starts(entry: EntryFacts) -> Iterator[Finding]:
    """Whether what a bridge starts is there."""
    if entry.is_bridge and not entry.is_on_path:
        found = f"it starts {entry.command}, which is not on the PATH here"
        todo = "Install the command where hosts are started, or let `registry init --no-bridge` name the URL instead."
        yield fault("host", found, todo)


def _shows(facts: Workplace, host: HostFacts, entry: EntryFacts) -> Iterator[Finding]:
    """Whether an entry shows the token that is needed."""
    check = "host"
    reads = None if facts.token is None else facts.token.reads
    is_set = facts.token is not None and facts.token.is_set
    if entry.token is not None and not entry.is_token_set and host.needs_variable and not entry.is_bridge:
        found = f"{entry.token} is not set here, and {host.title} leaves the server out then"
        yield fault(check, found, f"Set it where {host.title} is started.")
    elif entry.token is None and not entry.has_secret and not entry.is_bridge and reads is False:
        yield fault(check, "it names no token, and reading needs one here", "`registry init --with-token` names it.")
    elif entry.token is None and not entry.has_secret and is_set and host.needs_variable:
        found = "it names no token: the host can search and read, and execute nothing"
        yield doubt(check, found, "`registry init --with-token` names it, if everybody has one.")
