"""The work behind the three tools: arguments in, the body of an answer or of a problem out.

Everything goes through the services, as HTTP does. What a model can mend, and whatever else went wrong, is an answer
that says so; the protocol's own errors are not for models.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from registry.api.problems import problem_answer
from registry.api.threads import Pools
from registry.errors import RegistryError, RepositoryInvalid, RequestInvalid
from registry.mcp import answers, tools
from registry.mcp.features import Caller
from registry.names import require_name_key
from registry.service.catalogs import Asked
from registry.service.runs import OpenedRun
from registry.service.services import Services

Json = Any
Object = dict[str, Json]
Observe = Callable[[str, str], None]
"""Told of every call: the tool, and its outcome (`ok`, `weak`, `empty`, or a problem's code)."""

LOGGED_CHARS_MAX = 500
"""Characters of a task in the log: enough to see what was looked for, and no place to fill a disk from."""
NOT_SERVING = "This copy does not serve here, and only the one that serves opens a run."

log = structlog.get_logger(__name__)


class ToolCalls:
    """Answers `tools/call`. Its services are synchronous, so they run in threads."""

    def __init__(self, services: Services, pools: Pools, observe: Observe) -> None:
        self._services = services
        self._pools = pools
        self._observe = observe
        self._tools: Mapping[str, Callable[[Caller, Mapping[str, Json]], Object]] = {
            tools.SEARCH: self._search,
            tools.GET: self._get,
            tools.EXECUTE: self._execute,
        }

    async def call(self, name: str, arguments: Json, caller: Caller) -> Object:
        """The `tools/call` result of one of tools.NAMES."""
        read = tools.read_arguments(name, arguments)
        if read.violations:
            self._observe(name, "request-invalid")
            problem = self._placed(answers.invalid_arguments(name, read.violations), caller)
            return answers.call_result(problem, is_error=True)
        try:
            threads = self._pools.searches if name == tools.SEARCH else self._pools.calls
            body = await threads.run(self._tools[name], caller, read.values)
            result = answers.call_result(body)
        except Exception as error:  # noqa: BLE001 - an answer must come of it, and the log has what nobody foresaw
            problem = self._problem(error, caller)
            self._observe(name, str(problem["type"]).rpartition("/")[2])
            return answers.call_result(problem, is_error=True)
        self._observe(name, _outcome(name, body))
        return result

    def _search(self, caller: Caller, values: Mapping[str, Json]) -> Object:
        found = self._services.search.search(
            caller.repository, values["task"], (), values["limit"], favoured_tags=values.get("tags", ())
        )
        rows: Any = found["results"]
        if not rows:
            # What was looked for and is not there is what a platform team may want to write next.
            log.info(
                "no playbook was found",
                repository=found["repository"],
                snapshot=found["snapshot"],
                task=values["task"][:LOGGED_CHARS_MAX],
            )
        return answers.search_answer(
            snapshot=str(found["snapshot"]), state=self._state(caller), entries=rows, weak=bool(found["weak"])
        )

    def _get(self, caller: Caller, values: Mapping[str, Json]) -> Object:
        name, repository = values["name"], caller.repository
        entry = self._services.catalogs.playbook(name, repository, digest=values.get("digest"))
        explained = self._services.catalogs.explain(name, repository)
        access = (False, NOT_SERVING)
        if entry["serves"]:
            permission = self._services.runs.permission(caller.principal, repository, name)
            access = (permission.allowed, permission.reason)
        return answers.playbook_answer(
            state=self._state(caller), entry=entry, why=str(explained["explanation"]), access=access
        )

    def _execute(self, caller: Caller, values: Mapping[str, Json]) -> Object:
        if values.get("run_id") is not None:
            opened = self._resume(caller, values)
        else:
            opened = self._services.runs.open(
                caller.principal,
                caller.repository,
                values["name"],
                values["inputs"],
                digest=values.get("digest"),
                task=values.get("task"),
            )
        return answers.execute_answer({**opened.to_json(), "state": self._state_of(opened, caller)})

    def _resume(self, caller: Caller, values: Mapping[str, Json]) -> OpenedRun:
        """An open run again. What else is given with its id would be dropped silently, so it is refused."""
        opened = self._services.runs.resume(caller.principal, values["run_id"])
        name = require_name_key(values["name"])
        if name != opened.run.name:
            raise RequestInvalid(f"this run is one of {opened.run.name}, not of {name}: give its own name.")
        more = sorted(key for key in ("inputs", "digest", "task") if values.get(key))
        if more:
            raise RequestInvalid(f"an open run keeps what it was opened with: leave out {' and '.join(more)}.")
        return opened

    def _state(self, caller: Caller) -> Object:
        return state_json(self._services.catalogs.asked(caller.repository), caller.note)

    def _state_of(self, opened: OpenedRun, caller: Caller) -> Object:
        """The state of the run's own catalog, for a run can be asked for again at another repository's URL."""
        asked = self._services.catalogs.asked(caller.repository)
        if asked.repository == opened.run.repository:
            return state_json(asked, caller.note)
        return state_json(self._services.catalogs.asked(opened.run.repository))

    def _problem(self, error: Exception, caller: Caller) -> Object:
        """The problem's body as HTTP has it, and what goes with every answer."""
        answer = problem_answer(error)
        body: Object = json.loads(answer.body)
        retry_after = dict(answer.headers).get(b"retry-after")
        if retry_after is not None:
            body["retry_after_s"] = int(retry_after)
        return self._placed(body, caller)

    def _placed(self, body: Object, caller: Caller) -> Object:
        """The body of a problem with the snapshot and the state that it is about. Touches memory only."""
        try:
            catalogs = self._services.catalogs
            body.setdefault("state", self._state(caller))
            known = catalogs.peek_state(caller.repository)
            if known is not None:
                body.setdefault("snapshot", known.digest)
        except RegistryError:
            pass  # The repository itself is what is wrong.
        return body


def resolved(services: Services, caller: Caller, said: str | None) -> Caller:
    """The caller with the repository that its host said it works in, if the URL names none.

    What a host says beside a call is a hint: one that is no repository leaves central's catalog, and the answer says
    so.
    """
    if caller.repository is not None or said is None:
        return caller
    try:
        services.catalogs.asked(said)
    except RepositoryInvalid:
        note = "The working copy's remote is not one that a repository can be told from: this is the central catalog."
        return Caller(None, caller.principal, note)
    return Caller(said, caller.principal, caller.note)


def state_json(asked: Asked, note: str = "") -> Object:
    """The `state` of an answer about this catalog."""
    return answers.state(
        "fresh" if asked.fresh else "stale",
        asked.age_s,
        registered=asked.registered,
        repository=asked.repository,
        note=note,
    )


def _outcome(name: str, body: Object) -> str:
    if name != tools.SEARCH:
        return "ok"
    return "empty" if not body["results"] else "weak" if body["weak"] else "ok"
