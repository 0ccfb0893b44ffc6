"""What is in force, in memory: registrations, pointers, statuses and rules, following the store.

A repository's key is derived from the pieces, never stored: its own pointer, central's pointer, the rules scoped to it
and the rule date. One moved pointer or one new mark is therefore in force for every repository at once, whatever
their number (docs/decisions/0001-keys-are-derived.md).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from threading import Lock, RLock

from policies import rules
from policies.rules import RuleSet
from registry.catalog import merge as merging
from registry.catalog.merge import Catalog, CentralPart, central_part, effective_rules, rules_bytes
from registry.catalog.revision import Revision, read_revision
from registry.catalog.snapshot import NO_LOCAL, EncodedLocal, EncodedPart, compose, encode_part, read_local
from registry.errors import StoreFault, Unavailable, Unknown
from registry.names import repository_id
from registry.ports import ApiRules, Pointer, Recipe, Registration, Role, Store, SyncStatus
from registry.service.cache import ByteCache, EntryCache

PARTS_MAX = 8
LOCALS_SHARE = 0.75
REVISIONS_SHARE = 0.05
"""Of the bytes for caches: revisions encoded for composing, and parsed ones, which few calls want."""
REVISIONS_BYTES_SHARE = 4
"""Parsed revisions are counted at four times their bytes: what the objects cost beyond the text."""


@dataclass(frozen=True, slots=True)
class Key:
    """What is in force for one repository, compared as a whole (architecture.md, Data flow).

    `scoped` are the rules whose digest is `rules`. They go with the key, since the store has them only once a snapshot
    was handed out: whoever holds a key may compose it however many rules have changed since.
    """

    repository: str | None
    central: str
    local: str | None
    rules: str
    rule_date: date
    scoped: RuleSet | None = field(default=None, compare=False, repr=False)

    def recipe(self) -> Recipe:
        """The key as the store keeps it beside a digest that was handed out."""
        return Recipe(self.repository, self.central, self.local, self.rules, self.rule_date)


@dataclass(frozen=True, slots=True)
class View:
    """One consistent reading of everything in force. Replaced as a whole, never changed."""

    sequence: int
    registrations: Mapping[str, Registration]
    aliases: Mapping[str, str]
    pointers: Mapping[str, Pointer]
    statuses: Mapping[str, SyncStatus]
    api: ApiRules
    central: str | None

    def registered(self, repository: str) -> Registration | None:
        """The registration of an id that is registered now, or None."""
        found = self.registrations.get(repository)
        return None if found is None or found.deregistered_at is not None else found


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules in force, and scoped to a repository that has no waiver: the same for nearly all of them."""

    everything: RuleSet
    shared: RuleSet
    digest: str
    excepted: frozenset[str]


class InForce:
    """Follows the store and answers keys, merged catalogs and revisions. Safe to call from several threads."""

    def __init__(
        self,
        store: Store,
        *,
        now: Callable[[], datetime],
        cache_bytes: int,
        case_sensitive_hosts: frozenset[str] = frozenset(),
        before_adopting: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._now = now
        self._case_sensitive_hosts = case_sensitive_hosts
        self._before_adopting = before_adopting
        self._lock = RLock()
        self._view = View(0, {}, {}, {}, {}, ApiRules(), None)
        self._sequence = 0
        self._keys: dict[str | None, Key] = {}
        self._rules: _Rules | None = None
        self._parts: EntryCache[tuple[str, str, date], EncodedPart] = EntryCache(PARTS_MAX)
        self._locals: ByteCache[str, EncodedLocal] = ByteCache(round(LOCALS_SHARE * cache_bytes))
        self._revisions: ByteCache[str, Revision] = ByteCache(round(REVISIONS_SHARE * cache_bytes))

        self._making = Lock()
        self._file_waivers: tuple[rules.Waiver, ...] = ()

    @property
    def sequence(self) -> int:
        """The newest write of the store that was looked at; one that changed nothing in force leaves the view alone."""
        return self._sequence

    @property
    def view(self) -> View:
        """What is in force, as last read from the store."""
        return self._view

    @property
    def judged_on(self) -> date:
        """The day on which a waiver that is still to come would be judged: never before the stored rule date.

        The stored date stays behind while no waiver in force ends, so that it says nothing of those of a proposal.
        """
        return max(self._view.api.rule_date, self._now().date())

    def refresh(self) -> bool:
        """Whether the store had news; afterwards the view is at least as new as the store was at the call."""
        with self._lock:
            old = self._view
            changes = self._store.changes_since(self._sequence)
            if changes.sequence == self._sequence:
                return False
            if not (changes.registrations or changes.pointers or changes.statuses or changes.rules):
                # Handing snapshots out writes too; what is in force stays, and what was prepared of it.
                self._sequence = changes.sequence
                return False
            if changes.pointers:
                self._before_adopting()
            registrations = {**old.registrations, **{item.id: item for item in changes.registrations}}
            pointers = {**old.pointers, **{item.repository: item for item in changes.pointers}}
            statuses = {**old.statuses, **{item.repository: item for item in changes.statuses}}
            renewed = {item.repository for item in changes.pointers}
            for item in changes.registrations:
                known = old.registrations.get(item.id)
                is_anew = known is not None and known.registered_at != item.registered_at
                if item.deregistered_at is not None or (is_anew and item.id not in renewed):
                    pointers.pop(item.id, None)
                    statuses.pop(item.id, None)
            aliases, central = old.aliases, old.central
            if changes.registrations:
                live = [item for item in registrations.values() if item.deregistered_at is None]
                aliases = {alias: item.id for item in live for alias in item.aliases}
                central = next((item.id for item in live if item.role is Role.CENTRAL), None)
            view = View(changes.sequence, registrations, aliases, pointers, statuses, changes.rules or old.api, central)
            self._forget_keys(
                old, view, {item.repository for item in changes.pointers} | {item.id for item in changes.registrations}
            )
            moved = view.pointers.get(view.central) if view.central is not None else None
            if moved is not None and moved != old.pointers.get(moved.repository):
                policy = self.revision(moved.revision).policy
                self._file_waivers = () if policy is None else policy.waivers
            self._view, self._sequence = view, changes.sequence
            return True

    def resolve(self, spelling: str) -> str:
        """The id that a spelling of a repository means, aliases followed. Raises RepositoryInvalid."""
        found = str(repository_id(spelling, case_sensitive_hosts=self._case_sensitive_hosts))
        view = self._view
        # A registration goes before an alias: nobody takes over an id by calling it his own as well.
        return found if view.registered(found) is not None else view.aliases.get(found, found)

    def key(self, repository: str | None) -> Key:
        """The key in force; None is central's own catalog, as an unregistered id gets it.

        Raises Unavailable before a first publication: a catalog is never silently empty or central-only.
        """
        self._advance_rule_date()
        view = self._view
        repository = None if repository == view.central else repository
        key = self._keys.get(repository)
        if key is None:
            with self._lock:
                key = self._make_key(repository)
                self._keys[repository] = key
        return key

    def peek_key(self, repository: str | None) -> Key | None:
        """The key if it is known without any work, or None. Touches memory only."""
        return (
            None if self._rules_are_due() else self._keys.get(None if repository == self._view.central else repository)
        )

    def catalog(self, key: Key) -> tuple[Catalog, EncodedPart]:
        """The merged catalog of a key, and central's part with its encoded heads."""
        scoped = self._rules_of(key)
        encoded = self._part(key, scoped)
        local = self.revision(key.local) if key.local is not None else None
        return merging.merge(encoded.part, local, scoped, key.repository), encoded

    def snapshot(self, key: Key) -> bytes:
        """The bytes of the snapshot of a key: what `catalog` says, composed without its objects."""
        scoped = self._rules_of(key)
        return compose(self._part(key, scoped), self._local(key.local), scoped, key.rules, key.repository)

    def recalled(self, recipe: Recipe) -> bytes:
        """The bytes of a snapshot that was handed out, composed again from what the store kept."""
        return self.snapshot(Key(recipe.repository, recipe.central, recipe.local, recipe.rules, recipe.rule_date))

    def revision(self, digest: str) -> Revision:
        """A stored revision, parsed. Raises StoreFault if the store lost it."""
        found = self._revisions.get(digest)
        if found is None:
            body = self._body(digest)
            found = read_revision(body)
            self._revisions.put(digest, found, REVISIONS_BYTES_SHARE * len(body))
        return found

    def rules_in_force(self) -> RuleSet:
        """Every rule there is now: the central policy file's and the API's."""
        view = self._view
        api = RuleSet(marks=view.api.marks, waivers=view.api.waivers, withdrawals=view.api.withdrawals)
        pointer = view.pointers.get(view.central) if view.central else None
        return api if pointer is None else effective_rules(self.revision(pointer.revision), api)

    def rules_bytes_of(self, key: Key) -> bytes:
        """The canonical bytes of a key's scoped rules, to be stored before its snapshot is handed out."""
        return rules_bytes(self._rules_of(key))

    def _make_key(self, repository: str | None) -> Key:
        view = self._view
        central = view.pointers.get(view.central) if view.central else None
        if central is None:
            raise Unavailable(
                "the central repository has not been read yet: ask again in a moment, and look at /v1/repositories "
                "for what keeps it."
            )
        local: Pointer | None = None
        if repository is not None:
            if view.registered(repository) is None:
                raise Unknown("repository", f"{repository} is not registered.", repository=repository)
            local = view.pointers.get(repository)
            if local is None:
                raise Unavailable(
                    f"{repository} is registered and has not been read yet: ask again in a moment, and look at "
                    f"/v1/repositories/{repository} for what keeps it."
                )
        found = self._rules or self._scope(view)
        if repository in found.excepted:
            scoped = rules.scoped(found.everything, repository=repository, on=view.api.rule_date)
            digest = merging.rules_digest(scoped)
        else:
            scoped, digest = found.shared, found.digest
        return Key(repository, central.revision, local.revision if local else None, digest, view.api.rule_date, scoped)

    def _scope(self, view: View) -> _Rules:
        everything = self.rules_in_force()
        shared = rules.scoped(everything, repository=None, on=view.api.rule_date)
        excepted = frozenset(waiver.repository for waiver in everything.waivers)
        self._rules = _Rules(everything, shared, merging.rules_digest(shared), excepted)
        return self._rules

    def _rules_of(self, key: Key) -> RuleSet:
        if key.scoped is not None:
            return key.scoped
        body = self._store.documents([key.rules]).get(key.rules)
        if body is None:
            raise StoreFault(f"rules {key.rules} are named by a snapshot and not in the store: restore the database.")
        return rules.from_json(json.loads(body))

    def _part(self, key: Key, scoped: RuleSet) -> EncodedPart:
        """Central's part under a key's rules; those without a waiver are shared by every repository already."""
        shared, digest = scoped, key.rules
        if scoped.waivers:
            shared = rules.scoped(scoped, repository=None, on=key.rule_date)
            digest = merging.rules_digest(shared)
        name = (key.central, digest, key.rule_date)
        part = self._parts.get(name)
        if part is None:
            # A lock of its own: whoever asks for old snapshots must not hold up the following of new ones.
            with self._making:
                part = self._parts.get(name)
                if part is None:
                    made: CentralPart = central_part(self.revision(key.central), shared, key.rule_date)
                    part = encode_part(made)
                    self._parts.put(name, part)
        return part

    def _local(self, digest: str | None) -> EncodedLocal:
        if digest is None:
            return NO_LOCAL
        found = self._locals.get(digest)
        if found is None:
            # Not through `revision`: five thousand of them, read once each, would only drive out those in use.
            found = read_local(self._body(digest))
            self._locals.put(digest, found, found.size_bytes)
        return found

    def _body(self, digest: str) -> bytes:
        body = self._store.revision(digest)
        if body is None:
            raise StoreFault(f"revision {digest} is named by a pointer and not in the store: restore the database.")
        return body

    def _forget_keys(self, old: View, new: View, touched: set[str]) -> None:
        everything = old.api != new.api or old.central != new.central or (new.central or "") in touched
        if everything:
            self._keys = {}
            self._rules = None
        else:
            for repository in touched:
                self._keys.pop(repository, None)

    def _rules_are_due(self) -> bool:
        api = self._view.api
        today = self._now().date()
        return today > api.rule_date and any(item.until < today for item in self._expiring())

    def _expiring(self) -> tuple[rules.Waiver, ...]:
        view = self._view
        on = view.api.rule_date
        return tuple(item for item in (*view.api.waivers, *self._file_waivers) if item.holds(on))

    def _advance_rule_date(self) -> None:
        """A read after a waiver's end recomputes first (merge.md, Required)."""
        if self._rules_are_due():
            self._store.advance_rule_date(self._now().date())
            self.refresh()
