"""The audit log: who changed what, when and why."""

from policies.access import Action, Principal, may
from registry.digest import Json
from registry.errors import RequestInvalid
from registry.ports import Store
from registry.service.repositories import LIMIT_DEFAULT, LIMIT_MAX, require
from registry.service.views import audit_json


class Audit:
    """Reads the audit log. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def list(
        self, principal: Principal | None, *, cursor: str | None = None, limit: int = LIMIT_DEFAULT
    ) -> dict[str, Json]:
        """A page of entries, newest first; `next_cursor` is the last entry's id. Raises RequestInvalid."""
        require(may(principal, Action.READ_AUDIT), principal)
        if not 1 <= limit <= LIMIT_MAX:
            raise RequestInvalid(f"limit is {limit}: give a number from 1 to {LIMIT_MAX}.")
        if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
            raise RequestInvalid("cursor is what next_cursor of an earlier page said.")
        entries = self._store.audit(limit=limit + 1, before=None if cursor is None else int(cursor))
        page = entries[:limit]
        more = len(entries) > limit
        return {"items": [audit_json(entry) for entry in page], "next_cursor": str(page[-1].id) if more else None}
