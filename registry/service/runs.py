"""Runs: whether one may be opened, what it was opened with, and what is to be done in it.

A run opens only for the copy that serves under the rules in force at that moment, and is pinned to it: an open run goes
on with its copy, whatever serves later.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from policies.access import Permission, Principal, Subject, may_execute, may_record_worktree, runs_seen
from policies.decision import Requirement
from policies.ruleset import RuleSet
from registry.catalog.merge import Catalog, Verdict
from registry.catalog.revision import Head, folded_tags
from registry.catalog.snapshot import entry_json
from registry.digest import Json
from registry.errors import (
    Conflict,
    PlaybookUnavailable,
    Refused,
    RequestInvalid,
    StoreFault,
    Unauthenticated,
    Unknown,
)
from registry.names import require_name_key
from registry.playbook.tools import fold_risks, risk_classes
from registry.ports import Store
from registry.runs.inputs import Given
from registry.runs.procedures import OpenedRun, bound, procedure_json, schema_of, taken
from registry.runs.record import RANDOM_BYTES, WORKTREE, RecordedRun, Run, is_run_id, run_id
from registry.service.attempts import RECORDED, REPEATED, Attempt, Attempts
from registry.service.catalogs import Asked, Catalogs, unavailable, verdict_of
from registry.service.inforce import InForce, Key
from registry.service.repositories import LIMIT_DEFAULT, LIMIT_MAX, require
from registry.service.run_requests import Request, WorktreeCopy, read_request

__all__ = ["OpenedRun", "Runs", "WorktreeCopy"]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a run would open: one key and its catalog, the repository's team, and the rules of that same revision."""

    repository: str | None
    key: Key
    catalog: Catalog
    team: str | None
    state: Mapping[str, Json]

    @property
    def rules(self) -> RuleSet:
        return self.catalog.base.revision.policy or RuleSet()


class Runs:
    """Opens runs and shows them. Thread-safe. Every attempt is counted, and every one that is denied is logged."""

    def __init__(
        self,
        in_force: InForce,
        catalogs: Catalogs,
        store: Store,
        *,
        now: Callable[[], datetime],
        randomness: Callable[[int], bytes],
    ) -> None:
        self._in_force = in_force
        self._catalogs = catalogs
        self._store = store
        self._now = now
        self._randomness = randomness
        self.attempts = Attempts()

    def admit(self, principal: Principal | None) -> None:
        """Nothing, if the caller may execute anything at all. Raises Unauthenticated or Forbidden.

        For a door that wants to know before it reads what a stranger sent; `open` asks the same.
        """
        if not may_execute(principal, _NOTHING, ()).allowed:
            with self.attempts.watched(Attempt(principal)):
                require(may_execute(principal, _NOTHING, ()), principal)

    def open(
        self,
        principal: Principal | None,
        repository: str | None,
        name: str,
        inputs: Mapping[str, Json],
        digest: str | None = None,
        task: str | None = None,
        idempotency_key: str | None = None,
    ) -> OpenedRun:
        """A new run of the copy that serves `repository` now, with the procedure bound to the inputs.

        The repository may be in any spelling; an unregistered one has central's catalog, as None has. `digest` says
        which copy is meant: where another one serves, nothing is opened. A request that comes again under the same
        `idempotency_key` gives the run that it opened before.

        Raises, in this order: Unauthenticated or Forbidden for who may execute nothing; NameInvalid, RepositoryInvalid,
        RequestInvalid, TooLarge and InputsInvalid for what is out of bounds; Unknown with the `nearest` names,
        PlaybookUnavailable, Refused for a digest that does not serve, Forbidden by the access rules, InputsInvalid with
        every violation of the schema, TooLarge for a procedure that would be. Conflict for a key that was used before.
        """
        with self.attempts.watched(Attempt(principal, name)) as attempt:
            caller = _caller(principal)
            request = self._asked(repository, name, inputs, digest=digest, task=task, key=idempotency_key)
            attempt.name, attempt.repository = request.name, request.repository
            if (earlier := self._earlier(caller, request)) is not None:
                attempt.outcome = REPEATED
                return replace(self._resumed(earlier), repeated=True)
            opened = self._open(caller, repository, request)
            if opened.repeated:
                attempt.outcome = REPEATED
            return opened

    def record_worktree(
        self,
        principal: Principal | None,
        repository: str,
        copy: WorktreeCopy,
        inputs: Mapping[str, Json],
        task: str | None = None,
        snapshot: str | None = None,
        idempotency_key: str | None = None,
    ) -> RecordedRun:
        """The record of a run of a working tree's copy, which whoever has the working tree binds by itself.

        It says of itself that nobody has reviewed the copy. `snapshot` is the catalog over which the working tree was
        laid; without it, the one in force now is. Raises as `open` does, Refused for a name that is required there and
        Forbidden where the policy file does not allow it.
        """
        with self.attempts.watched(Attempt(principal, copy.name)) as attempt:
            caller = _caller(principal)
            request = self._asked(repository, copy.name, inputs, digest=copy.digest, task=task, key=idempotency_key)
            request = replace(request, copy=copy, snapshot=snapshot)
            attempt.name, attempt.repository = request.name, request.repository
            if (earlier := self._earlier(caller, request)) is not None:
                attempt.outcome = REPEATED
                return RecordedRun(earlier, repeated=True)
            place = self._newest_place(repository)
            self._check_worktree(caller, place, request, copy)
            if snapshot is not None:
                # Also where it is not in force any more: it says what the working tree was laid over.
                self._catalogs.snapshot(snapshot)
            source: dict[str, Json] = {
                "kind": WORKTREE,
                "repository": request.repository,
                "commit": copy.commit,
                "path": copy.path,
                "blob": copy.blob,
                "unreviewed": True,
            }
            run = self._run(
                caller,
                place,
                request,
                version=copy.version,
                digest=copy.digest,
                source=source,
                snapshot=snapshot or self._catalogs.digest_of(place.key),
                given=Given(inputs, checked=False),
            )
            stored = self._put(run)
            attempt.outcome = RECORDED if stored is run else REPEATED
            return RecordedRun(stored, repeated=stored is not run)

    def get(self, principal: Principal | None, run: str) -> dict[str, Json]:
        """The run of that id. Raises Unknown where there is none, and just the same where it is not the caller's."""
        return self._seen(principal, run).to_json()

    def resume(self, principal: Principal | None, run: str) -> OpenedRun:
        """A run again, with the procedure of the copy that it is pinned to. Raises Unknown as `get` does.

        Raises Conflict for a run of a working tree's copy, which the registry never had.
        """
        return self._resumed(self._seen(principal, run))

    def list(
        self,
        principal: Principal | None,
        *,
        repository: str | None = None,
        name: str | None = None,
        cursor: str | None = None,
        limit: int = LIMIT_DEFAULT,
    ) -> dict[str, Json]:
        """A page of the runs that the caller may look at, newest first; `next_cursor` is the last one's id."""
        seen = runs_seen(_somebody(principal))
        if not 1 <= limit <= LIMIT_MAX:
            raise RequestInvalid(f"limit is {limit}: give a number from 1 to {LIMIT_MAX}.")
        if cursor is not None and not is_run_id(cursor):
            raise RequestInvalid("cursor is what next_cursor of an earlier page said.")
        found = self._store.runs(
            repository=None if repository is None else self._in_force.resolve(repository),
            name=None if name is None else require_name_key(name),
            seen_by=None if seen.everybodys else (seen.principal, seen.team),
            limit=limit + 1,
            before=cursor,
        )
        page = found[:limit]
        return {
            "items": [each.to_json() for each in page],
            "next_cursor": page[-1].id if len(found) > limit else None,
        }

    def _asked(self, repository: str | None, name: str, inputs: Mapping[str, Json], **more: str | None) -> Request:
        identity = None if repository is None else self._in_force.resolve(repository)
        return read_request(identity, name, inputs, **more)

    def _earlier(self, caller: Principal, request: Request) -> Run | None:
        if request.key is None:
            return None
        found = self._store.run_by_key(caller.name, request.key)
        if found is not None and found.request != request.identity():
            raise Conflict(
                f"the idempotency key was used for another request, which opened {found.id}: use a new key for each.",
                run=found.id,
            )
        return found

    def permission(self, principal: Principal | None, repository: str | None, name: str) -> Permission:
        """Whether this principal may open a run of the copy that serves, for one who only reads it.

        Raises RepositoryInvalid, Unknown and PlaybookUnavailable.
        """
        place = self._place(repository)
        verdict = verdict_of(place.catalog, require_name_key(name))
        head = _serving(verdict, None, place)
        return may_execute(principal, _subject(verdict, head, self._contract(head.digest), place), place.rules.access)

    def _newest_place(self, repository: str | None) -> _Place:
        # What other processes have changed counts too: a run is worth one look at the store.
        self._in_force.refresh()
        return self._place(repository)

    def _place(self, repository: str | None) -> _Place:
        asked = self._catalogs.asked(repository)
        key, catalog = self._catalogs.catalog_of(repository)
        registration = None if asked.repository is None else self._in_force.view.registered(asked.repository)
        team = None if registration is None else registration.team
        return _Place(asked.repository, key, catalog, team, _state_json(asked))

    def _open(self, caller: Principal, repository: str | None, request: Request) -> OpenedRun:
        place = self._newest_place(repository)
        verdict = verdict_of(place.catalog, request.name)
        head = _serving(verdict, request.digest, place)
        contract = self._contract(head.digest)
        require(may_execute(caller, _subject(verdict, head, contract, place), place.rules.access), caller)
        given = taken(contract, request.inputs, name=verdict.name)
        procedure = bound(contract, given)
        run = self._run(
            caller,
            place,
            request,
            version=head.version,
            digest=head.digest,
            source=head.source.to_json(),
            snapshot=self._catalogs.digest_of(place.key),
            given=given,
        )
        stored = self._put(run)
        if stored is not run:
            return replace(self._resumed(stored), repeated=True)
        return OpenedRun(run, procedure_json(procedure, entry_json(verdict, head), run), place.state)

    def _check_worktree(self, caller: Principal, place: _Place, request: Request, copy: WorktreeCopy) -> None:
        verdict = place.catalog.verdict(request.name)
        serving = None if verdict is None else verdict.serving
        if verdict is not None and verdict.required:
            raise Refused(
                f"{request.name} is required here: no working tree's copy runs in its place. Run the one that serves.",
                name=request.name,
                asked=copy.digest,
                serving=None if serving is None else _shown(serving),
            )
        if any((item.name, item.digest) == (request.name, copy.digest) for item in place.catalog.rules.withdrawals):
            raise PlaybookUnavailable(
                f"this copy of {request.name} was withdrawn: it opens no run.", outcome="withdrawn", name=request.name
            )
        tags, risk = frozenset(folded_tags(copy.tags)), fold_risks(copy.risk)
        if serving is not None:
            # What the reviewed copy says of itself stays true while somebody edits it.
            tags |= frozenset(folded_tags(serving.tags))
            risk |= risk_classes(self._contract(serving.digest))
        subject = Subject(
            request.name,
            tags=tags,
            risk=risk,
            by_waiver=verdict is not None and verdict.standing.requirement is Requirement.WAIVED,
            repository_team=place.team,
        )
        require(may_record_worktree(caller, subject, place.rules), caller)

    def _run(
        self,
        caller: Principal,
        place: _Place,
        request: Request,
        *,
        version: str,
        digest: str,
        source: Mapping[str, Json],
        snapshot: str,
        given: Given,
    ) -> Run:
        now = self._now()
        return Run(
            id=run_id(now, self._randomness(RANDOM_BYTES)),
            name=request.name,
            version=version,
            digest=digest,
            source=source,
            snapshot=snapshot,
            repository=place.repository,
            task=request.task,
            principal=caller.name,
            inputs=given.inputs,
            opened_at=now,
            team=place.team,
            defaulted=given.defaulted,
            request_key=request.key,
            request=None if request.key is None else request.identity(),
        )

    def _put(self, run: Run) -> Run:
        """The run once it is stored, or the one that the same request stored a moment ago."""
        try:
            self._store.put_run(run)
        except Conflict:
            found = None if run.request_key is None else self._store.run_by_key(run.principal, run.request_key)
            if found is None or found.request != run.request:
                raise
            return found
        return run

    def _seen(self, principal: Principal | None, run: str) -> Run:
        seen = runs_seen(_somebody(principal))
        found = self._store.run(run) if is_run_id(run) else None
        if found is None or not seen.covers(found.principal, found.team):
            raise Unknown("run", f"there is no run {run[:40]!r} among those that you may look at.")
        return found

    def _resumed(self, run: Run) -> OpenedRun:
        if run.source.get("kind") == WORKTREE:
            raise Conflict(f"{run.id} is a run of a working tree's copy: its procedure is where it was bound.")
        contract = self._contract(run.digest)
        snapshot: Mapping[str, Any] = json.loads(self._catalogs.snapshot(run.snapshot))
        entry = next((each for each in snapshot["entries"] if each["digest"] == run.digest), None)
        if entry is None or entry["name"] != run.name:
            raise StoreFault(f"{run.id} is pinned to a snapshot that does not have its copy: restore the database.")
        given = Given(run.inputs, run.defaulted, checked=schema_of(contract) is not None)
        state = _state_json(self._catalogs.asked(run.repository))
        return OpenedRun(run, procedure_json(bound(contract, given), entry, run), state)

    def _contract(self, digest: str) -> Mapping[str, Json]:
        contract: Mapping[str, Json] = json.loads(self._catalogs.document(digest))
        return contract


_NOTHING = Subject("")


def _somebody(principal: Principal | None) -> Principal:
    """The principal. Raises Unauthenticated for nobody."""
    if principal is None:
        raise Unauthenticated("runs are shown to those who opened them: send a token.")
    return principal


def _caller(principal: Principal | None) -> Principal:
    """The principal, who may execute something. Raises Unauthenticated or Forbidden."""
    require(may_execute(principal, _NOTHING, ()), principal)
    return _somebody(principal)


def _serving(verdict: Verdict, digest: str | None, place: _Place) -> Head:
    """The head that serves. Raises PlaybookUnavailable, or Refused where `digest` is that of another copy."""
    head = verdict.serving
    if head is None:
        raise unavailable(verdict, place.key.repository)
    if digest is not None and digest != head.digest:
        raise Refused(
            f"{verdict.name} has another copy that serves now, version {head.version} of {head.source.kind} "
            f"({head.digest}), and only that one runs: read it again, then run it.",
            name=verdict.name,
            asked=digest,
            serving=_shown(head),
        )
    return head


def _subject(verdict: Verdict, head: Head, contract: Mapping[str, Json], place: _Place) -> Subject:
    """The copy that serves, as access rules see it."""
    return Subject(
        verdict.name,
        tags=frozenset(folded_tags(head.tags)),
        risk=risk_classes(contract),
        by_waiver=verdict.waiver is not None,
        repository_team=place.team,
    )


def _shown(head: Head) -> dict[str, Json]:
    """A copy, for a refusal that says which one it is."""
    return {"version": head.version, "digest": head.digest, "source": head.source.to_json()}


def _state_json(asked: Asked) -> dict[str, Json]:
    return {
        "freshness": "fresh" if asked.fresh else "stale",
        "age_s": asked.age_s,
        "registered": asked.registered,
    }
