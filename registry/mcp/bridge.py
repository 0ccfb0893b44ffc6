"""The bridge: the three tools for a host that starts a process, over the catalog of the working copy it runs in.

The handshake is answered at once. The catalog is fetched, checked and laid over with what the working copy changed in a
thread that begins with the process, so that most hosts' first call finds it there.
"""

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from registry.mcp import answers, tools

if TYPE_CHECKING:
    # Imported in the thread that opens the catalog: a handshake does not wait for it.
    from registry.client.catalog import Catalog
    from registry.client.following import State

FOLLOW_S: Final = 15.0
"""How often the catalog and the working copy are looked at while nobody asks."""
LISTEN_AFTER_S: Final = 2.0
"""How long after its start a bridge begins to wait for notices: a session's first questions come before that."""
PAUSE_S: Final = 1.0
"""How long a bridge rests between two looks, however many notices come."""

Json = Any
Object = dict[str, Json]
Open = Callable[[], "Catalog"]


class Bridge:
    """Answers tool calls over one catalog, which `open_catalog` gives once; safe from several threads."""

    def __init__(self, open_catalog: Open) -> None:
        self._open_catalog = open_catalog
        self._opening = threading.Lock()
        self._catalog: Catalog | None = None
        self._ended = threading.Event()
        self._look = threading.Event()

    def start(self) -> None:
        """Begin to fetch the catalog, and follow it from then on."""
        for work in (self._follow, self._listen):
            threading.Thread(target=work, name=work.__name__, daemon=True).start()

    def end(self) -> None:
        """Let go of the catalog."""
        self._ended.set()
        self._look.set()
        catalog = self._catalog
        if catalog is not None:
            catalog.close()

    def call(self, name: str, arguments: Json) -> Object:
        """The `tools/call` result of one of tools.NAMES; whatever goes wrong is a result that says so."""
        work = {tools.SEARCH: self._search, tools.GET: self._get, tools.EXECUTE: self._execute}[name]
        try:
            read = tools.read_arguments(name, arguments)
            if read.violations:
                problem = answers.invalid_arguments(name, read.violations)
                return answers.call_result({**problem, **self._seen()}, is_error=True)
            return answers.call_result(work(self._ready(), read.values))
        except Exception as error:  # noqa: BLE001 - an answer must come of it: a host shows no other
            return answers.call_result(self._problem(error), is_error=True)

    def _ready(self) -> "Catalog":
        with self._opening:
            if self._catalog is None:
                self._catalog = self._open_catalog()
            return self._catalog

    def _follow(self) -> None:
        while not self._ended.is_set():
            try:
                catalog = self._ready()
                catalog.prepare()
            except Exception:  # noqa: BLE001, S110 - whoever calls a tool is told; this thread only goes ahead
                pass
            self._look.wait(FOLLOW_S)
            self._look.clear()
            self._ended.wait(PAUSE_S)

    def _listen(self) -> None:
        while not self._ended.wait(LISTEN_AFTER_S):
            catalog = self._catalog
            try:
                if catalog is not None and catalog.is_known:
                    catalog.follow(self._look.set, self._ended)
            except Exception:  # noqa: BLE001, S112 - a notice that is missed costs a minute, and no more
                continue

    def _search(self, catalog: "Catalog", values: Mapping[str, Json]) -> Object:
        found = catalog.search(values["task"], tags=values.get("tags", ()), limit=values["limit"])
        return answers.search_answer(
            snapshot=found.snapshot, state=_state(found.state), entries=found.entries, weak=found.weak
        )

    def _get(self, catalog: "Catalog", values: Mapping[str, Json]) -> Object:
        found = catalog.get(values["name"], values.get("digest"))
        entry = {**found.entry, "snapshot": found.snapshot, "serves": found.serves}
        return answers.playbook_answer(state=_state(found.state), entry=entry, why=found.why)

    def _execute(self, catalog: "Catalog", values: Mapping[str, Json]) -> Object:
        if values.get("run_id") is not None:
            opened = catalog.resume(values["name"], values["run_id"])
        else:
            opened = catalog.execute(
                values["name"], values["inputs"], digest=values.get("digest"), task=values.get("task")
            )
        return answers.execute_answer({**opened, "state": opened["state"]})

    def _problem(self, error: Exception) -> Object:
        """The problem's body as HTTP has it (http-api.md, Errors)."""
        from registry.api.kinds import KINDS  # noqa: PLC0415 - only an error needs it
        from registry.errors import RegistryError  # noqa: PLC0415

        code = error.code if isinstance(error, RegistryError) else "internal"
        kind = KINDS.get(code, KINDS["internal"])
        said = str(error) if isinstance(error, RegistryError) else f"the bridge failed ({type(error).__name__})."
        body = answers.problem(kind.code, kind.title, kind.status, said)
        # What the registry added, under whatever name, never in the place of what is said here.
        body |= {key: value for key, value in getattr(error, "extra", {}).items() if key not in body}
        return {**body, **self._seen()}

    def _seen(self) -> Object:
        """The snapshot and the state of what is held, nothing where no catalog is yet: an error waits for none."""
        catalog = self._catalog
        seen = None if catalog is None else catalog.glance()
        return {} if seen is None else {"snapshot": seen[0], "state": _state(seen[1])}


def _state(state: "State") -> Object:
    return answers.state(
        state.freshness, state.age_s, registered=state.registered, repository=state.repository, note=state.note
    )
