"""A diagnosis: facts about an installation in, findings out, each with what to do. Pure; gathering is elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from registry.digest import Json
from registry.service.installation import (
    CentralFacts,
    Facts,
    FolderFacts,
    GitFacts,
    IndexFacts,
    ServerFacts,
    StoreFacts,
)

CLOCK_DOUBT = timedelta(seconds=5)
"""Two clocks that differ by more want a look: `Date` has whole seconds, and an answer takes some time."""
CLOCK_FAULT = timedelta(minutes=5)
"""By more, waivers and tokens end noticeably early or late."""
CLOCK_LEAST = datetime(2025, 1, 1, tzinfo=UTC)
"""Older than this program: a machine that says less has lost its clock."""
FREE_DOUBT = 4
"""Less free space than this many times the floor wants a look."""
_MIB = 2**20


class Grade(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `found` says how it is, `todo` what to do, which is empty where all is well."""

    check: str
    grade: Grade
    found: str
    todo: str = ""

    def to_json(self) -> dict[str, Json]:
        """The finding as `registry doctor --json` writes it."""
        return {"check": self.check, "grade": self.grade.value, "found": self.found, "todo": self.todo}


def diagnose(facts: Facts) -> tuple[Finding, ...]:
    """At least one finding for each check that could be made, in the order in which they are best mended."""
    return tuple(_findings(facts))


def worst(findings: tuple[Finding, ...]) -> Grade:
    """The worst grade among the findings; OK for none."""
    return max((item.grade for item in findings), key=list(Grade).index, default=Grade.OK)


def _findings(facts: Facts) -> Iterator[Finding]:
    yield from _settings(facts)
    if facts.folder is not None:
        yield _folder(facts.folder)
    if facts.store is not None:
        yield _store(facts.store)
    if facts.index is not None:
        yield _index(facts.index, facts.store)
    yield _git(facts.git)
    if facts.central is not None:
        yield _central(facts.central, facts.store)
    yield _server(facts.server, facts.folder)
    yield from _clock(facts)


def ok(check: str, found: str) -> Finding:
    """A finding that all is well."""
    return Finding(check, Grade.OK, found)


def doubt(check: str, found: str, todo: str) -> Finding:
    """A finding that wants a look."""
    return Finding(check, Grade.WARNING, found, todo)


def fault(check: str, found: str, todo: str) -> Finding:
    """A finding that something does not work."""
    return Finding(check, Grade.ERROR, found, todo)


def _settings(facts: Facts) -> Iterator[Finding]:
    for sentence in facts.settings_faults:
        yield fault("settings", sentence, "Mend that variable; docs/settings.md lists them all. Then ask again.")
    for sentence in facts.settings_doubts:
        yield doubt("settings", sentence, "Rename the variable or remove it: it has no effect.")
    if not facts.settings_faults and not facts.settings_doubts:
        yield ok("settings", "every REGISTRY_ variable is a valid setting")


def _folder(folder: FolderFacts) -> Finding:
    check, path = "data folder", folder.path
    if folder.exists and not folder.is_folder:
        return fault(check, f"{path} is not a folder", "Give another one in REGISTRY_DATA_DIR.")
    if not folder.is_writable:
        found = f"{path} cannot be written" if folder.exists else f"{path} does not exist and cannot be made"
        return fault(check, found, "Give this user write access, or another folder in REGISTRY_DATA_DIR.")
    if not folder.exists:
        return doubt(
            check,
            f"{path} does not exist",
            "Nothing, before the first `registry serve`: it makes the folder. Otherwise say where it is in "
            "REGISTRY_DATA_DIR; a relative path starts where the command is called.",
        )
    free, floor = folder.free_bytes, folder.free_bytes_min
    if free is not None and free < floor:
        return fault(
            check, f"{path} has {_size(free)} free", f"Make room: below {_size(floor)} no repository is read any more."
        )
    if free is not None and free < FREE_DOUBT * floor:
        return doubt(
            check,
            f"{path} has {_size(free)} free",
            f"Make room soon: below {_size(floor)} no repository is read any more.",
        )
    return ok(check, f"{path} can be written" + (f", {_size(free)} are free" if free is not None else ""))


def _store(store: StoreFacts) -> Finding:
    check, place = "store", store.place
    if store.fault is not None:
        # The store's own sentences end with what to do.
        found, _, todo = store.fault.partition(". ")
        return fault(check, found.rstrip("."), todo or "Mend REGISTRY_DATABASE_URL, or the database it names.")
    if not store.exists:
        return ok(check, f"{place} does not exist yet: the first `registry serve` makes it")
    if store.damage is not None:
        return fault(
            check,
            f"{place} is damaged: {store.damage}",
            "Stop the registry and restore the store from a backup; mirrors and index are rebuilt by themselves.",
        )
    return _schema(store)


def _schema(store: StoreFacts) -> Finding:
    check, place, schema, newest = "store", store.place, store.schema, store.known[-1]
    if schema is None:
        return ok(check, f"{place} has no tables yet: the first `registry serve` makes them")
    if schema not in store.known:
        return fault(
            check,
            f"{place} has the schema {schema}, and this program knows {newest} at most",
            "Start the newer version of the program, or restore the backup from before the upgrade.",
        )
    if schema != newest:
        return doubt(
            check,
            f"{place} has the schema {schema}, and this program brings {newest}",
            "Make a backup; the next `registry serve` migrates it.",
        )
    return ok(check, f"{place} is whole, with schema {schema} and {_many(store.repositories, 'registration')}")


def _index(index: IndexFacts, store: StoreFacts | None) -> Finding:
    check = "index"
    wanted = store.documents if store is not None else None
    if not index.exists:
        if index.others:
            return doubt(
                check,
                f"there is no index of format {index.version}, only {', '.join(index.others)}",
                "Nothing: `registry serve` builds it beside that from the store.",
            )
        if wanted:
            return doubt(
                check,
                f"there is no index, and {_many(wanted, 'playbook')} belong in it",
                "Start `registry serve`, or start it again: it builds the index from the store.",
            )
        return ok(check, "there is none yet: the first `registry serve` makes it")
    if index.damage is not None:
        return fault(
            check,
            f"the index is damaged: {index.damage}",
            "Start `registry serve` again: it builds a new index from the store.",
        )
    held = index.documents or 0
    if wanted is not None and held < wanted:
        return doubt(
            check,
            f"the index of format {index.version} holds {_many(held, 'playbook')}, and {wanted} are in force",
            "Ask again in a minute. If it stays, start `registry serve` again: it adds what is missing.",
        )
    # More than wanted is usual: what was replaced stays for the readers that still follow the copy before.
    return ok(check, f"the index of format {index.version} is whole and holds {_many(held, 'playbook')}")


def _git(git: GitFacts) -> Finding:
    needed = ".".join(map(str, git.needed))
    if git.version is None:
        return fault("git", "no git program is found on PATH", f"Install git {needed} or newer.")
    version = ".".join(map(str, git.version))
    if git.version < git.needed:
        return fault("git", f"git is {version}", f"Install git {needed} or newer: older ones ignore its safe settings.")
    return ok("git", f"git is {version}")


def _central(central: CentralFacts, store: StoreFacts | None) -> Finding:
    check = "central"
    if central.url is None:
        return doubt(
            check,
            "REGISTRY_CENTRAL_URL is not set, and the store names no central repository",
            "Set it to the remote of the central playbook repository before `registry serve`; a client needs none.",
        )
    if central.fault is not None:
        return fault(check, f"{central.url} cannot be read: {central.fault}", _HOW.get(central.state, _HOW_ELSE))
    if central.is_configured and store is not None and store.central and store.central != central.id:
        return doubt(
            check,
            f"REGISTRY_CENTRAL_URL is {central.url}, and the store's central repository is {store.central}",
            "Make sure that you mean it: `registry serve` puts the new one in the place of the old.",
        )
    return ok(check, f"{central.url} answers: {central.ref} is at {str(central.commit)[:12]}")


_HOW_ELSE = "Check that this machine reaches the host, and that REGISTRY_CENTRAL_URL is right."
_HOW: dict[str | None, str] = {
    "unauthorized": "Check the URL, and that the user of the registry may read that repository.",
    "branch-missing": "Set REGISTRY_CENTRAL_REF to a branch that exists, or push it.",
    "empty": "Push a first commit with a playbook.",
    "rate-limited": "Wait, then ask again.",
    "host-key-mismatch": "Add the host's key to the known_hosts of the user of the registry, after checking it.",
    "address-refused": "Give another REGISTRY_CENTRAL_URL, or change the setting that the message names.",
}


def _server(server: ServerFacts, folder: FolderFacts | None) -> Finding:
    check, url = "server", server.url
    if server.status is None:
        return _silent(server, folder)
    if not server.is_registry:
        return fault(check, f"something else than a registry answers at {url}: {server.said}", "Set REGISTRY_URL.")
    if server.status == 200:
        return ok(check, f"the registry at {url} is ready")
    return fault(
        check,
        f"the registry at {url} is not ready: {server.said}",
        "Look at the other findings, at `registry repositories` and at the registry's log.",
    )


def _silent(server: ServerFacts, folder: FolderFacts | None) -> Finding:
    found = f"no registry answers at {server.url}"
    if folder is None or folder.owner is None:
        if folder is not None and not folder.exists:
            # Neither runs one here nor ever did: the one that is meant is elsewhere.
            return doubt("server", found, "Start one with `registry serve`, or set REGISTRY_URL to one that runs.")
        return ok("server", f"{found}, and none uses the data folder")
    elsewhere = server.listen if server.listen is not None and server.listen not in server.url else None
    todo = f"Set REGISTRY_URL=http://{elsewhere} if it listens there." if elsewhere else "Look at its log; it may hang."
    return doubt("server", f"{found}, though process {folder.owner} uses the data folder", todo)


def compare_clocks(now: datetime, server: datetime | None) -> Finding | None:
    """The finding where the registry's clock and this machine's differ, None where they do not or it is not known."""
    if server is None or abs(server - now) <= CLOCK_DOUBT:
        return None
    return _differs(abs(server - now), "the registry's clock and this machine's differ")


def _clock(facts: Facts) -> Iterator[Finding]:
    check, now = "clock", facts.now
    said = now.isoformat(timespec="seconds").replace("+00:00", "Z")
    if now < CLOCK_LEAST:
        yield fault(check, f"this machine's clock says {said}", "Set it, and have it kept by NTP.")
        return
    findings = []
    newest = facts.store.newest_at if facts.store is not None else None
    if newest is not None and newest - now > CLOCK_DOUBT:
        findings.append(_differs(newest - now, "the newest entry of the store is ahead of this machine's clock"))
    if (difference := compare_clocks(now, facts.server.date)) is not None:
        findings.append(difference)
    if facts.store is not None and facts.store.rule_date is not None and facts.store.rule_date > now.date():
        findings.append(
            fault(
                check,
                f"the rules are those of {facts.store.rule_date}, a day that has not come",
                "Waivers until that day have ended. Mend the clock, and give those again that shall hold.",
            )
        )
    yield from findings or [ok(check, f"{said} is plausible")]


def _differs(by: timedelta, what: str) -> Finding:
    grade = Grade.ERROR if by > CLOCK_FAULT else Grade.WARNING
    todo = "Have the clocks kept by NTP: waivers and tokens end by them."
    return Finding("clock", grade, f"{what} by {round(by.total_seconds())} s", todo)


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1024 / _MIB:.1f} GiB" if size_bytes >= 1024 * _MIB else f"{size_bytes // _MIB} MiB"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
