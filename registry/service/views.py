"""How registrations, statuses and problems look on the wire (http-api.md, Shapes)."""

from datetime import UTC, datetime

from registry.digest import Json
from registry.playbook.model import Problem
from registry.ports import AuditEntry, Counts, Registration, SyncStatus, Token


def instant(at: datetime | None) -> str | None:
    """RFC 3339 in UTC, to the second, or None."""
    return None if at is None else at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def repository_json(
    registration: Registration, status: SyncStatus, counts: Counts, *, snapshot: str | None, refused: int
) -> dict[str, Json]:
    """A repository of the wire; `credential` is a name and never a value."""
    return {
        "id": registration.id,
        "role": registration.role.value,
        "url": registration.url,
        "ref": registration.ref,
        "team": registration.team,
        "paths": None if registration.paths is None else list(registration.paths),
        "aliases": list(registration.aliases),
        "credential": registration.credential,
        "registered_at": instant(registration.registered_at),
        "sync": {
            "state": status.state.value,
            "since": instant(status.since),
            "commit": status.head,
            "suspended": status.suspended,
            "synced_at": instant(status.synced_at),
            "next_sync_at": instant(status.next_due_at),
            "attempts": status.attempts,
            "message": status.message,
        },
        "snapshot": snapshot,
        "playbooks": counts.playbooks,
        "problems": counts.problems,
        "held": counts.held,
        "refused": refused,
    }


def problem_row(problem: Problem, *, held: bool) -> dict[str, Json]:
    """A problem of one repository's list."""
    return {**problem.to_json(), "held": held}


def audit_json(entry: AuditEntry) -> dict[str, Json]:
    """An audit entry of the wire."""
    return {
        "id": entry.id,
        "at": instant(entry.at),
        "principal": entry.principal,
        "action": entry.action,
        "subject": entry.subject,
        "reason": entry.reason,
        "detail": None if entry.detail is None else dict(entry.detail),
    }


def token_json(token: Token) -> dict[str, Json]:
    """A token without its value, which is nowhere."""
    return {
        "id": token.id,
        "principal": token.principal,
        "team": token.team,
        "scopes": sorted(token.scopes),
        "created_at": instant(token.created_at),
        "expires_at": instant(token.expires_at),
        "revoked_at": instant(token.revoked_at),
    }
