"""The library for hosts and MCP servers: one repository's playbooks to search, read and execute.

    with Catalog.open("github.com/acme/payments") as catalog:
        found = catalog.search("roll back the checkout service")

Everything is synchronous and may be called from several threads. Errors are those of registry.errors.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from policies.decision import Outcome
from policies.precedence import reason_of
from registry.client.cache import DiskCache, default_folder
from registry.client.connection import TIMEOUT_S, Connection, segment
from registry.client.following import Following, State
from registry.client.overlay import WORKTREE, Overlay, overlaid
from registry.client.snapshot import Entry
from registry.client.worktree import Changed, WorkingTree
from registry.errors import PlaybookUnavailable, RepositoryInvalid, RequestInvalid, Unavailable, Unknown
from registry.git.checkout import Checkout, ids_of, open_checkout
from registry.names import SUB_PATH_MARK, repository_id, require_name_key
from registry.playbook.roots import Roots
from registry.playbook.spelling import alike

if TYPE_CHECKING:
    # What analyses texts is imported when something is searched.
    from registry.client.shelf import Shelf

DEFAULT_URL: Final = "http://127.0.0.1:8080"
REFRESH_S: Final = 60.0
RETRY_S: Final = 10.0
"""How soon a registry that could not be asked is asked again."""
LOOK_S: Final = 1.0
"""How often, at most, the working copy is looked at."""
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


@dataclass(frozen=True, slots=True)
class _View:
    """What is seen until the catalog or the working copy changes."""

    digest: str
    tree: str
    instant: datetime
    overlay: Overlay
    changed: Changed


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
        self._candidates = list(candidates)
        self._tree = None if checkout is None else WorkingTree(checkout)
        self._refresh_s = refresh_s
        self._lock = threading.RLock()
        self._following: Following | None = None
        self._next_at = 0.0
        self._looked_at = 0.0
        self._tree_mark = ""
        self._view: _View | None = None
        self._shelf: tuple[_View, Shelf] | None = None

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
        """Let go of the connections."""
        self._connection.close()

    def refresh(self) -> bool:
        """Ask the registry now; whether another catalog is in force than before. Raises where none is known at all."""
        with self._lock:
            changed = self._refresh()
            self._view_now()
            return changed

    def prepare(self) -> None:
        """Look at the registry and the working copy if it is time, and be ready to search. Raises as `search` does."""
        with self._lock:
            self._shelved(self._current())

    @property
    def repository(self) -> str | None:
        """The id of the repository whose catalog this is, None for central's own or before anything was fetched."""
        following = self._following
        return None if following is None else following.repository

    def follow(self, changed: Callable[[], None], ended: threading.Event) -> None:
        """Wait for the registry's notices until `ended` is set.

        At each the registry is due to be asked again, and `changed` is called.
        """
        from registry.client import notices  # noqa: PLC0415 - not everybody waits

        def expire() -> None:
            self._next_at = 0.0
            changed()

        notices.follow(self._connection, self._follow().repository, expire, ended)

    @property
    def is_known(self) -> bool:
        """Whether there is a catalog, be it an old one: fetched, or kept from before."""
        following = self._following
        return following is not None and following.held is not None

    @property
    def snapshot(self) -> str:
        """The digest of the catalog in force here."""
        return self._current().digest

    @property
    def state(self) -> State:
        """How current the catalog is, and what is not as it looks in the working copy."""
        with self._lock:
            view = self._current()
            return self._state(view)

    def entries(self) -> tuple[Entry, ...]:
        """Everything that serves, as entries of the wire, sorted by name."""
        return tuple(entry for _, entry in sorted(self._current().overlay.entries.items()))

    def unavailable(self) -> tuple[Entry, ...]:
        """The names that nobody serves, as the wire lists them: `name`, `outcome`, `reason`; sorted by name."""
        return tuple(sorted(self._current().overlay.unavailable, key=lambda entry: str(entry["name"])))

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what is not as it looks in the working copy, for example a file that does not load."""
        view = self._current()
        return (*view.overlay.notes, *view.changed.notes)

    def search(self, task: str, *, tags: Sequence[str] = (), limit: int = 5) -> Results:
        """The playbooks for a task, best first; `tags` raise what carries them. Raises RequestInvalid for a limit."""
        if not 1 <= limit <= LIMIT_MAX:
            raise RequestInvalid(f"limit is {limit}: give a number from 1 to {LIMIT_MAX}.")
        with self._lock:
            view = self._current()
            results = self._shelved(view).search(task, tags, limit)
            return Results(view.digest, self._state(view), results.entries, results.weak)

    def get(self, name: str, digest: str | None = None) -> Found:
        """One playbook with its contract; `digest` asks for exactly that copy, whether it serves or not.

        Raises NameInvalid, Unknown with the `nearest` names, PlaybookUnavailable, and Unavailable offline.
        """
        key = require_name_key(name)
        with self._lock:
            view = self._current()
            entry = view.overlay.entries.get(key)
            if digest is not None and (entry is None or entry["digest"] != digest):
                return self._other_copy(view, key, digest)
            if entry is None:
                raise self._missing(view, key)
            whole = {**entry, "contract": self._follow().contract(entry["digest"])}
            return Found(view.digest, self._state(view), whole, serves=True, why=_why(entry))

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
        with self._lock:
            view = self._current()
            entry = view.overlay.entries.get(key)
            if entry is not None and entry["source"]["kind"] == WORKTREE and digest in {None, entry["digest"]}:
                return self._execute_here(view, entry, inputs, task=task, idempotency_key=idempotency_key)
            repository = self._follow().repository
            state = self._state(view)
        body: dict[str, Any] = {"inputs": inputs}
        body |= {member: value for member, value in (("digest", digest), ("task", task)) if value is not None}
        params = {} if repository is None else {"repository": repository}
        answer = self._connection.post(
            f"/v1/playbooks/{segment(key)}/runs", body, params=params, idempotency_key=idempotency_key
        )
        opened = dict(answer.json())
        return {**opened, "state": {**state.to_json(), **dict(opened.get("state") or {})}}

    def resume(self, name: str, run_id: str) -> dict[str, Any]:
        """An open run of that playbook again, as `execute` gave it.

        Raises Unknown for an id that is nobody's or another caller's, RequestInvalid for another playbook's run.
        """
        opened = dict(self._connection.get(f"/v1/runs/{segment(run_id)}", params={"view": "full"}).json())
        if opened["run"]["name"] != require_name_key(name):
            raise RequestInvalid(f"this run is one of {opened['run']['name']}, not of {name}: give its own name.")
        return {**opened, "state": {**self.state.to_json(), **dict(opened.get("state") or {})}}

    def _execute_here(
        self,
        view: _View,
        entry: Entry,
        inputs: Mapping[str, Any],
        *,
        task: str | None,
        idempotency_key: str | None,
    ) -> dict[str, Any]:
        from registry.client.binding import bind_here, recording  # noqa: PLC0415 - what a session may never need

        following = self._follow()
        repository = following.repository
        if repository is None:
            raise RepositoryInvalid("the run of a working copy needs a repository: this copy has no remote.")
        contract = following.contract(entry["digest"])
        procedure, given = bind_here(entry, contract, inputs)
        recorded = self._connection.post(
            "/v1/runs",
            recording(entry, contract, given, task=task, snapshot=view.digest),
            params={"repository": repository},
            idempotency_key=idempotency_key,
        ).json()
        run_id = str(recorded["run_id"])
        return {
            "run_id": run_id,
            "run": recorded["run"],
            "snapshot": view.digest,
            "state": self._state(view).to_json(),
            "procedure": procedure.reported(run_id),
        }

    def _current(self) -> _View:
        """What is seen now, the registry asked first if it is time."""
        with self._lock:
            if time.monotonic() >= self._next_at:
                self._refresh()
            return self._view_now()

    def _refresh(self) -> bool:
        self._next_at = time.monotonic() + RETRY_S
        if self._following is None:
            self._following = self._chosen()
            changed = True
        else:
            changed = self._following.refresh(with_paths=self._tree is not None)
        held = self._following.held
        if held is not None and not held.fault:
            self._next_at = time.monotonic() + self._refresh_s
        return changed

    def _chosen(self) -> Following:
        """The catalog of the first candidate that is registered, else of the last one: it is the repository's own."""
        for place, candidate in enumerate(self._candidates):
            following = Following(self._connection, self._cache, candidate, now=_now)
            following.refresh(with_paths=self._tree is not None)
            is_last = place == len(self._candidates) - 1
            if is_last or (following.held is not None and following.held.registered):
                return following
        raise Unavailable("no repository is named.")

    def _follow(self) -> Following:
        if self._following is None:
            self._refresh()
        if self._following is None:
            raise Unavailable("no catalog was fetched yet.")
        return self._following

    def _view_now(self) -> _View:
        """The view of what is held and of the working copy, made anew where one of them changed."""
        following = self._follow()
        held = following.held
        if held is None:
            raise Unavailable("no catalog was fetched yet, and none is kept from before.")
        snapshot, known, now = held.snapshot, self._view, _now()
        mark = self._look(self._roots())
        until = snapshot.valid_until
        is_over = until is not None and known is not None and known.instant <= until < now
        if known is not None and known.digest == snapshot.digest and known.tree == mark and not is_over:
            return known
        serving = snapshot.serving(now)
        changed = self._changed(mark)
        following.add_documents(changed.documents)
        overlay = overlaid(
            snapshot,
            serving,
            changed.copies,
            is_central=following.repository == snapshot.central,
            contracts=following.contract,
        )
        view = _View(snapshot.digest, mark, now, overlay, changed)
        self._view = view
        return view

    def _roots(self) -> Roots:
        following = self._follow()
        sub_path = (following.repository or "").partition(SUB_PATH_MARK)[2]
        return Roots(following.held.paths if following.held else None, sub_path)

    def _look(self, roots: Roots) -> str:
        """A text that changes whenever the files of the working copy's playbook folders do; "" without a copy."""
        if self._tree is None:
            return ""
        if not self._tree_mark or time.monotonic() - self._looked_at >= LOOK_S:
            self._tree_mark = self._tree.fingerprint(roots)
            self._looked_at = time.monotonic()
        return self._tree_mark

    def _changed(self, mark: str) -> Changed:
        following = self._follow()
        if self._tree is None or following.held is None or following.repository is None:
            return Changed()
        name = f"unchanged {self._tree.checkout.root}"
        memo = {"snapshot": following.held.snapshot.digest, "tree": mark}
        if self._cache.read_record(name) == memo:
            return Changed()
        found = self._tree.changed(following.held.snapshot, self._roots(), following.repository, following.contract)
        if not found.copies and not found.notes:
            self._cache.write_record(name, memo)
        return found

    def _shelved(self, view: _View) -> "Shelf":
        if self._shelf is None or self._shelf[0] is not view:
            from registry.client.shelf import Shelf, dump_records, load_records  # noqa: PLC0415 - see above

            following = self._follow()
            name = f"{_RECORDS} {view.digest}"
            kept = load_records(self._cache.read_record(name))
            entries = [entry for _, entry in sorted(view.overlay.entries.items())]
            shelf = Shelf(following.contracts(entries), kept)
            if not shelf.records.keys() <= kept.keys():
                self._cache.write_record(name, dump_records(shelf.records))
            self._shelf = (view, shelf)
        return self._shelf[1]

    def _other_copy(self, view: _View, key: str, digest: str) -> Found:
        """A copy that does not serve, as the registry has it."""
        repository = self._follow().repository
        params = {"digest": digest, **({} if repository is None else {"repository": repository})}
        entry = dict(self._connection.get(f"/v1/playbooks/{segment(key)}", params=params).json())
        serves = bool(entry.pop("serves", False)) and key not in view.changed.copies
        entry.pop("snapshot", None)
        why = "Another copy of this playbook serves here." if not serves else _why(entry)
        return Found(view.digest, self._state(view), entry, serves=serves, why=why)

    def _missing(self, view: _View, key: str) -> Exception:
        lost = next((each for each in view.overlay.unavailable if each["name"] == key), None)
        if lost is not None:
            return PlaybookUnavailable(f"{key}: {lost['reason']}", outcome=lost["outcome"], name=key)
        near = alike(key, view.overlay.entries)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        return Unknown("playbook", f"there is no playbook {key} here.{hint}", name=key, nearest=list(near))

    def _state(self, view: _View) -> State:
        state = self._follow().state()
        notes = [state.note, *view.overlay.notes, *view.changed.notes]
        said = " ".join(note for note in notes if note)
        return State(state.freshness, state.age_s, state.registered, state.repository, said)


def _why(entry: Entry) -> str:
    reason = reason_of(Outcome(entry["decision"]["outcome"]))
    if entry["source"]["kind"] != WORKTREE:
        return reason
    return f"{reason} It is the working copy's own: nobody has reviewed it yet."


def _now() -> datetime:
    return datetime.now(UTC)
