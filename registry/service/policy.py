"""The rules: what is marked, waived and withdrawn, by whom, and the writes that change it through the API."""

from collections.abc import Callable
from datetime import date, datetime

from policies import rules
from policies.access import Action, Principal, may
from policies.decision import CopyState
from policies.rules import Mark, Waiver, Withdrawal
from registry.catalog.revision import Copy, folded_tags
from registry.digest import Json, is_digest
from registry.errors import Conflict, RequestInvalid, Unavailable, Unknown
from registry.names import require_name_key
from registry.ports import AuditEntry, Store
from registry.service.inforce import InForce
from registry.service.repositories import Outcome, Repositories, name_of, require
from registry.sync.step import ACCEPT_POLICY

REASON_LENGTH_MAX = 1_000


class Policy:
    """Shows and changes the rules. A change is obeyed by every read of this process once the call returns."""

    def __init__(
        self, in_force: InForce, store: Store, repositories: Repositories, *, now: Callable[[], datetime]
    ) -> None:
        self._in_force = in_force
        self._store = store
        self._repositories = repositories
        self._now = now

    def rules(self) -> dict[str, Json]:
        """The rules in force: marks with their origin, waivers, withdrawals, publication, access, working trees."""
        view = self._in_force.view
        data = dict(rules.to_json(self._in_force.rules_in_force()))
        front_matter: list[Json] = [
            {"origin": "front-matter", "name": copy.name, "tag": None, "reason": _why(copy)}
            for copy in self._central_copies()
            if copy.says_required
        ]
        marks = data.pop("marks")
        return {
            "rule_date": view.api.rule_date.isoformat(),
            "required": [*front_matter, *(marks if isinstance(marks, list) else [])],
            # Shown where nothing is said of it too: the default is what somebody looks for.
            "worktree": "allow",
            **data,
        }

    def mark(self, principal: Principal | None, name: str, reason: str) -> dict[str, Json]:
        """Mark a central playbook as required. Raises Unknown where central has none of that name."""
        key = self._authorised(principal, name)
        if not any(copy.name == key for copy in self._central_copies()):
            raise Unknown("playbook", f"the central repository has no playbook named {key}.", name=key)
        mark = Mark("api", key, None, _reason(reason))
        self._store.put_mark(mark, self._audit(principal, "required-marked", key, mark.reason))
        self._in_force.refresh()
        return {"name": key, "reason": mark.reason, "required": True}

    def unmark(self, principal: Principal | None, name: str) -> dict[str, Json]:
        """Take back a mark made here. `still_required_by` lists where git says it too.

        Raises Conflict where only git says it, Unknown where nobody does.
        """
        key = self._authorised(principal, name)
        others = self._required_in_git(key)
        if not self._store.delete_mark(key, self._audit(principal, "required-unmarked", key)):
            if others:
                raise Conflict(
                    f"{key} is required by {' and '.join(others)}: change it there.", required_by=list(others)
                )
            raise Unknown("playbook", f"{key} is not marked as required.", name=key)
        self._in_force.refresh()
        return {"name": key, "required": bool(others), "still_required_by": list(others)}

    def waive(
        self, principal: Principal | None, name: str, repository: str, until: date, reason: str
    ) -> dict[str, Json]:
        """Let one repository serve its own copy of one required playbook through the end of `until`."""
        key = self._authorised(principal, name)
        identity = self._in_force.resolve(repository)
        if self._in_force.view.registered(identity) is None:
            raise Unknown("repository", f"{identity} is not registered: register it first.", repository=identity)
        if until < self._now().date():
            raise RequestInvalid(f"until is {until.isoformat()}, which is over: give today or a later day.")
        waiver = Waiver(key, identity, until, _reason(reason), name_of(principal), "api")
        audit = self._audit(
            principal, "waiver-granted", key, waiver.reason, repository=identity, until=until.isoformat()
        )
        self._store.put_waiver(waiver, audit)
        # Set forward first, so that a waiver never counts on a day that the stored rule date has not reached.
        self._store.advance_rule_date(self._now().date())
        self._in_force.refresh()
        return {
            "name": key,
            "repository": identity,
            "until": until.isoformat(),
            "reason": waiver.reason,
            "approved_by": waiver.approved_by,
        }

    def unwaive(self, principal: Principal | None, name: str, repository: str) -> None:
        """End a waiver that was granted here. Raises Unknown where there is none."""
        key = self._authorised(principal, name)
        identity = self._in_force.resolve(repository)
        audit = self._audit(principal, "waiver-ended", key, repository=identity)
        if not self._store.delete_waiver(key, identity, audit):
            raise Unknown("playbook", f"{identity} has no waiver for {key} that was granted through the API.", name=key)
        self._in_force.refresh()

    def withdraw(self, principal: Principal | None, name: str, digest: str, reason: str) -> dict[str, Json]:
        """Withdraw one copy: it never serves again. Raises RequestInvalid for what is no digest."""
        key = self._authorised(principal, name)
        if not is_digest(digest):
            raise RequestInvalid("digest is sha256: and 64 hexadecimal digits; an entry's digest names its copy.")
        withdrawal = Withdrawal(key, digest, _reason(reason))
        self._store.put_withdrawal(
            withdrawal, self._audit(principal, "withdrawn", key, withdrawal.reason, digest=digest)
        )
        self._in_force.refresh()
        return {"name": key, "digest": digest, "reason": withdrawal.reason}

    def unwithdraw(self, principal: Principal | None, name: str, digest: str) -> None:
        """Take a withdrawal back. Raises Unknown where there is none."""
        key = self._authorised(principal, name)
        if not self._store.delete_withdrawal(
            key, digest, self._audit(principal, "withdrawal-ended", key, digest=digest)
        ):
            raise Unknown("playbook", f"{key} has no withdrawn copy of that digest.", name=key)
        self._in_force.refresh()

    def accept(self, principal: Principal | None, commit: str, wait_s: float = 0.0) -> Outcome:
        """Take it as meant that central's policy file is gone or broken at `commit`, its newest head.

        Raises Conflict where that is not the newest head, Unavailable before a first read.
        """
        require(may(principal, Action.SET_POLICY), principal)
        view = self._in_force.view
        status = view.statuses.get(view.central or "")
        if view.central is None or status is None or status.head is None:
            raise Unavailable("the central repository has not been read yet: ask again in a moment.")
        if status.head != commit:
            raise Conflict(f"{commit[:64]} is not central's newest head, {status.head} is.")
        self._store.add_audit(self._audit(principal, "policy-accepted", view.central, commit=commit))
        return self._repositories.request(view.central, ACCEPT_POLICY + commit, wait_s)

    def _authorised(self, principal: Principal | None, name: str) -> str:
        require(may(principal, Action.SET_POLICY), principal)
        return require_name_key(name)

    def _central_copies(self) -> tuple[Copy, ...]:
        view = self._in_force.view
        pointer = view.pointers.get(view.central) if view.central else None
        return () if pointer is None else self._in_force.revision(pointer.revision).copies

    def _required_in_git(self, key: str) -> tuple[str, ...]:
        """The places in git that require a name: the playbook itself, the policy file."""
        found = next((copy for copy in self._central_copies() if copy.name == key), None)
        standing = rules.standing(
            self._in_force.rules_in_force(),
            name=key,
            tags=folded_tags(found.head.tags) if found is not None and found.head is not None else (),
            front_matter=found is not None and found.says_required,
            repository=None,
            on=self._now().date(),
        )
        return tuple(ground for ground in standing.by if ground != "api")

    def _audit(
        self, principal: Principal | None, action: str, subject: str, reason: str = "", **detail: str
    ) -> AuditEntry:
        return AuditEntry(self._now(), name_of(principal), action, subject, reason, detail or None)


def _why(copy: Copy) -> str:
    """Why a central copy counts as required by its file alone."""
    if copy.state is CopyState.BROKEN:
        return "its file does not load, and counts as required until it does"
    return "its front matter says so"


def _reason(text: str) -> str:
    reason = " ".join(text.split())
    if not reason or len(reason) > REASON_LENGTH_MAX:
        raise RequestInvalid(f"a reason is needed, 1 to {REASON_LENGTH_MAX} characters: it is what others will read.")
    return reason
