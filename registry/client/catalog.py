"""The library for hosts and MCP servers: one repository's playbooks to search, read and execute.

    with Catalog.open("github.com/acme/payments") as catalog:
        found = catalog.search("roll back the checkout service")

Everything is synchronous and may be called from several threads. Errors are those of registry.errors.
"""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from registry.client import runs
from registry.client.cache import DiskCache, default_folder
from registry.client.connection import TIMEOUT_S, Connection, segment
from registry.client.documents import Document
from registry.client.following import State
from registry.client.shapes import check_copy, is_digest
from registry.client.snapshot import Entry
from registry.client.view import View, Views, is_worktrees, why
from registry.client.watch import Watch
from registry.client.worktree import needed_here
from registry.digest import canonical, digest_of
from registry.errors import (
    Conflict,
    PlaybookUnavailable,
    Refused,
    RequestInvalid,
    Unknown,
    Untrusted,
)
from registry.git.checkout import Checkout, ids_of, open_checkout
from registry.names import repository_id, require_name_key

if TYPE_CHECKING:
    # What analyses texts is imported when something is searched.
    from registry.client.shelf import Shelf

DEFAULT_URL: Final = "http://127.0.0.1:8080"
REFRESH_S: Final = 60.0
LIMIT_MAX: Final = 50
_RECORDS: Final = "analysis"


@dataclass(frozen=True, slots=True)
class Results:
    """What a search found: entries of the catalog with their `score`, best first; `weak` where nothing stands out."""

    snapshot: str
    state: State
    entries: tuple[Entry, ...]
    weak: bool

    def to_json(self) -> dict[str, Any]:
        """The results as plain data."""
        rows = [dict(entry) for entry in self.entries]
        return {"snapshot": self.snapshot, "state": self.state.to_json(), "results": rows, "weak": self.weak}


@dataclass(frozen=True, slots=True)
class Found:
    """One playbook: its entry with the `contract` inside, whether it serves, and why this copy does."""

    snapshot: str
    state: State
    entry: Entry
    serves: bool
    why: str

    def to_json(self) -> dict[str, Any]:
        """The playbook as plain data."""
        told = {"snapshot": self.snapshot, "state": self.state.to_json(), "serves": self.serves, "why": self.why}
        return {**self.entry, **told}


class Catalog:
    """One repository's catalog at a registry, over a working copy if there is one. Close it, or use it with `with`."""

    def __init__(
        self,
        connection: Connection,
        cache: DiskCache,
        candidates: Sequence[str | None],
        *,
        checkout: Checkout | None = None,
        refresh_s: float = REFRESH_S,
    ) -> None:
        self._connection = connection
        self._cache = cache
        self._watch = Watch(
            connection,
            cache,
            candidates,
            needed=needed_here if checkout is not None else lambda *_: (),
            with_paths=checkout is not None,
            refresh_s=refresh_s,
            now=_now,
        )
        self._views = Views(self._watch.documents, cache, checkout)
        self._shelving = threading.Lock()
        self._shelf: tuple[View, Shelf] | None = None

    @classmethod
    def open(
        cls,
        repository: str | None = None,
        *,
        path: str | Path | None = None,
        url: str | None = None,
        token: str | None = None,
        cache: str | Path | None = None,
        refresh_s: float = REFRESH_S,
        timeout_s: float = TIMEOUT_S,
    ) -> Self:
        """The catalog of a repository, in any spelling of its remote, or of the working copy at `path`.

        With a working copy, playbooks that its author changed are laid over the catalog. `url` and `token` are
        REGISTRY_URL's and REGISTRY_TOKEN's unless given; `cache` is a folder. Nothing is fetched yet. Raises
        RepositoryInvalid for a copy without a remote, where `repository` does not say what it is of, and
        SettingsInvalid.
        """
        environment = os.environ
        connection = Connection(
            url or environment.get("REGISTRY_URL") or DEFAULT_URL,
            token or environment.get("REGISTRY_TOKEN") or None,
            timeout_s=timeout_s,
        )
        checkout = None if path is None else open_checkout(Path(path))
        if repository is not None:
            candidates = [str(repository_id(repository))]
        elif path is None:
            candidates = []
        else:
            candidates = ids_of(Path(path), checkout)
        folder = default_folder(environment) if cache is None else Path(cache)
        return cls(connection, DiskCache(folder), candidates or [None], checkout=checkout, refresh_s=refresh_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections; an answer that comes later is not kept."""
        self._cache.close()
        self._connection.close()

    def refresh(self) -> bool:
        """Ask the registry now; whether another catalog is in force than before. Raises where none is known at all."""
        changed = self._watch.ask()
        self._views.look()
        return changed

    def prepare(self) -> None:
        """Look at the registry and the working copy if it is time, and be ready to search. Raises as `search` does."""
        self._shelved(self._seen(whole=True)[0])

    @property
    def repository(self) -> str | None:
        """The id of the repository whose catalog this is, None for central's own or before anything was fetched."""
        seen = self._watch.glance()
        return None if seen is None else seen[0].repository

    def follow(self, changed: Callable[[], None], ended: threading.Event) -> None:
        """Wait for the registry's notices until `ended` is set.

        At each the registry is due to be asked again, and `changed` is called.
        """
        from registry.client import notices  # noqa: PLC0415 - not everybody waits

        def expire() -> None:
            self._watch.expire()
            changed()

        notices.follow(self._connection, lambda: self.repository, expire, ended)

    @property
    def is_known(self) -> bool:
        """Whether there is a catalog, be it an old one: fetched, or kept from before."""
        return self._watch.glance() is not None

    @property
    def snapshot(self) -> str:
        """The digest of the catalog in force here."""
        return self._seen()[0].digest

    @property
    def state(self) -> State:
        """How current the catalog is, and what is not as it looks in the working copy."""
        return self._seen()[1]

    def glance(self) -> tuple[str, State] | None:
        """The digest of the catalog that is held and its state, without asking anybody; None where nothing is."""
        seen = self._watch.glance()
        return None if seen is None else (seen[1].snapshot.digest, seen[1].state(_now(), self._watch.delay()))

    def entries(self) -> tuple[Entry, ...]:
        """Everything that serves, as entries of the wire, sorted by name."""
        return tuple(entry for _, entry in sorted(self._seen()[0].overlay.entries.items()))

    def unavailable(self) -> tuple[Entry, ...]:
        """The names that nobody serves, as the wire lists them: `name`, `outcome`, `reason`; sorted by name."""
        return tuple(sorted(self._seen()[0].overlay.unavailable, key=lambda entry: str(entry["name"])))

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what is not as it looks in the working copy, for example a file that does not load."""
        return self._seen()[0].notes

    def search(self, task: str, *, tags: Sequence[str] = (), limit: int = 5) -> Results:
        """The playbooks for a task, best first; `tags` raise what carries them. Raises RequestInvalid for a limit."""
        if not 1 <= limit <= LIMIT_MAX:
            raise RequestInvalid(f"limit is {limit}: give a number from 1 to {LIMIT_MAX}.")
        view, state = self._seen(whole=True)
        results = self._shelved(view).search(task, tags, limit)
        return Results(view.digest, state, results.entries, results.weak)

    def get(self, name: str, digest: str | None = None) -> Found:
        """One playbook with its contract; `digest` asks for exactly that copy, whether it serves or not.

        Raises NameInvalid, Unknown with the `nearest` names, PlaybookUnavailable, and Unavailable offline.
        """
        key = require_name_key(name)
        view, state = self._seen()
        entry = view.entry(key)
        if digest is not None and (entry is None or entry["digest"] != digest):
            return self._other_copy(view, state, key, digest)
        if entry is None:
            raise view.missing(key)
        whole = {**entry, "contract": self._contract(view, entry["digest"])}
        return Found(view.digest, state, whole, serves=True, why=why(entry))

    def execute(
        self,
        name: str,
        inputs: Mapping[str, Any],
        *,
        digest: str | None = None,
        task: str | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """A run, opened by the registry, and what is to be done in it: `{run_id, run, snapshot, state, procedure}`.

        A copy of the working tree is bound here, and the registry records its run. Raises what `get` raises, and
        Refused, Forbidden, Unauthenticated, InputsInvalid, TooLarge, Conflict; Unavailable where the registry cannot
        be asked: nobody else can say whether a run may be opened.
        """
        key = require_name_key(name)
        view, state = self._seen()
        asked = runs.Asked(key, inputs, digest, task, idempotency_key)
        try:
            if view.is_mine(key):
                entry = self._mine(view, key, digest)
                return runs.record(
                    self._connection, asked, entry, self._contract(view, entry["digest"]), view=view, state=state
                )
            return runs.open_run(self._connection, asked, view=view, state=state)
        except (Refused, Conflict, PlaybookUnavailable, Unknown):
            # The registry has moved on: what is read next must not be the copy that was just refused.
            self._watch.expire()
            raise

    def resume(self, name: str, run_id: str) -> dict[str, Any]:
        """An open run of that playbook again, as `execute` gave it.

        Raises Unknown for an id that is nobody's or another caller's, RequestInvalid for another playbook's run.
        """
        key = require_name_key(name)
        view, state = self._seen()
        return runs.resume(self._connection, key, run_id, view=view, state=state)

    def _seen(self, *, whole: bool = False) -> tuple[View, State]:
        """What is seen now, the registry asked first if it is time, and how current that is."""
        following, held = self._watch.held(whole=whole)
        now = _now()
        view = self._views.of(following, held, now)
        state = held.state(now, self._watch.delay())
        return view, replace(state, note=" ".join(note for note in (state.note, *view.notes) if note))

    def _contract(self, view: View, digest: str) -> Document:
        return view.made.get(digest) or self._watch.documents.get(digest)

    def _mine(self, view: View, key: str, digest: str | None) -> Entry:
        """The working copy's own entry of that name. Raises where there is none, or another copy is meant."""
        entry = view.entry(key)
        if entry is None:
            raise view.missing(key)
        shown = {"version": entry["version"], "digest": entry["digest"], "source": dict(entry["source"])}
        if not is_worktrees(entry):
            raise Refused(
                f"this working copy deletes its own copy of {key}, which the registry still serves: push that first.",
                name=key,
                serving=shown,
            )
        if digest not in {None, entry["digest"]}:
            raise Refused(
                f"{key} has another copy that serves in this working copy, version {entry['version']} "
                f"({entry['digest']}), and only that one runs: read it again, then run it.",
                name=key,
                asked=digest,
                serving=shown,
            )
        return entry

    def _shelved(self, view: View) -> "Shelf":
        with self._shelving:
            if self._shelf is None or self._shelf[0] is not view:
                from registry.client.shelf import Shelf, dump_records, load_records  # noqa: PLC0415 - see above

                name = f"{_RECORDS} {view.digest}"
                kept = load_records(self._cache.read_record(name))
                entries = [entry for _, entry in sorted(view.overlay.entries.items())]
                shelf = Shelf(((entry, self._contract(view, entry["digest"])) for entry in entries), kept)
                if not shelf.records.keys() <= kept.keys():
                    self._cache.write_record(name, dump_records(shelf.records))
                self._shelf = (view, shelf)
            return self._shelf[1]

    def _other_copy(self, view: View, state: State, key: str, digest: str) -> Found:
        """A copy that does not serve here, as the registry has it."""
        params = {"digest": digest, **({} if view.repository is None else {"repository": view.repository})}
        entry = self._connection.get(f"/v1/playbooks/{segment(key)}", params=params).json()
        serves = bool(entry.pop("serves", False)) and not view.is_mine(key)
        snapshot = entry.pop("snapshot", None)
        try:
            check_copy(entry)
            is_asked_for = entry["name"] == key and digest_of(canonical(entry["contract"])) == digest == entry["digest"]
        except (ValueError, RecursionError):
            is_asked_for = False
        if not is_asked_for:
            raise Untrusted(f"the copy {digest[:19]}… is not what its digest names: none of it is used.")
        if serves:
            # It serves by a newer catalog than the one that this answer names.
            self._watch.expire()
        reason = why(entry) if serves else "Another copy of this playbook serves here."
        return Found(snapshot if is_digest(snapshot) else view.digest, state, entry, serves=serves, why=reason)


def _now() -> datetime:
    return datetime.now(UTC)
