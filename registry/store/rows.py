"""One function a direction between the values of `registry.ports` and the rows of `models`."""

from dataclasses import asdict, fields
from datetime import datetime

from sqlalchemy import RowMapping

from policies.rules import Mark, Waiver, Withdrawal
from registry.ports import (
    AuditEntry,
    Counts,
    Pointer,
    Publication,
    Recipe,
    Registration,
    Role,
    SyncRequest,
    SyncState,
    SyncStatus,
    Token,
)
from registry.runs.record import Run, RunState
from registry.store.engine import Row

_RUN_MEMBERS = tuple(member.name for member in fields(Run))


def registration_row(value: Registration) -> Row:
    """The row of a registration."""
    return {
        "id": value.id,
        "role": value.role.value,
        "url": value.url,
        "ref": value.ref,
        "team": value.team,
        "paths": None if value.paths is None else list(value.paths),
        "aliases": list(value.aliases),
        "credential": value.credential,
        "registered_at": value.registered_at,
        "deregistered_at": value.deregistered_at,
    }


def registration(row: RowMapping) -> Registration:
    """The registration of a row."""
    return Registration(
        id=row["id"],
        role=Role(row["role"]),
        url=row["url"],
        ref=row["ref"],
        team=row["team"],
        paths=None if row["paths"] is None else tuple(row["paths"]),
        aliases=tuple(row["aliases"]),
        credential=row["credential"],
        registered_at=row["registered_at"],
        deregistered_at=row["deregistered_at"],
    )


def status_row(value: SyncStatus) -> Row:
    """The row of a status."""
    return {**asdict(value), "state": value.state.value}


def status(row: RowMapping) -> SyncStatus:
    """The status of a row."""
    return SyncStatus(**{**_without_sequence(row), "state": SyncState(row["state"])})


def pointer_row(value: Publication) -> Row:
    """The row of the pointer that a publication moves."""
    return {"repository": value.repository, "revision": value.revision, **asdict(value.counts)}


def pointer(row: RowMapping) -> Pointer:
    """The pointer of a row."""
    counts = Counts(playbooks=row["playbooks"], problems=row["problems"], held=row["held"])
    return Pointer(repository=row["repository"], revision=row["revision"], counts=counts)


def snapshot_row(digest: str, value: Recipe, at: datetime) -> Row:
    """The row of a snapshot that is handed out at `at`."""
    return {"digest": digest, **asdict(value), "handed_out_at": at}


def recipe(row: RowMapping) -> Recipe:
    """The recipe of a snapshot's row."""
    return Recipe(
        repository=row["repository"],
        central=row["central"],
        local=row["local"],
        rules=row["rules"],
        rule_date=row["rule_date"],
    )


def sync_request(row: RowMapping) -> SyncRequest:
    """The sync request of a row."""
    return SyncRequest(sequence=row["sequence"], repository=row["repository"], apply=row["apply"])


def mark(row: RowMapping) -> Mark:
    """The API mark of a row."""
    return Mark(origin="api", name=row["name"], tag=None, reason=row["reason"])


def waiver(row: RowMapping) -> Waiver:
    """The API waiver of a row."""
    return Waiver(**_without_sequence(row), origin="api")


def waiver_row(value: Waiver) -> Row:
    """The row of an API waiver."""
    return {
        "name": value.name,
        "repository": value.repository,
        "until": value.until,
        "reason": value.reason,
        "approved_by": value.approved_by,
    }


def withdrawal_row(value: Withdrawal) -> Row:
    """The row of a withdrawal."""
    return {"name": value.name, "digest": value.digest, "reason": value.reason}


def withdrawal(row: RowMapping) -> Withdrawal:
    """The withdrawal of a row."""
    return Withdrawal(**_without_sequence(row))


def token_row(value: Token) -> Row:
    """The row of a token."""
    return {**asdict(value), "scopes": sorted(value.scopes)}


def token(row: RowMapping) -> Token:
    """The token of a row."""
    return Token(**{**_without_sequence(row), "scopes": frozenset(row["scopes"])})


def audit_row(value: AuditEntry) -> Row:
    """The row of an audit entry; the store numbers it."""
    row = asdict(value)
    del row["id"]
    return row


def audit_entry(row: RowMapping) -> AuditEntry:
    """The audit entry of a row."""
    return AuditEntry(**_without_sequence(row))


def run_row(value: Run) -> Row:
    """The row of a run."""
    return {
        **{name: getattr(value, name) for name in _RUN_MEMBERS},
        "state": value.state.value,
        "defaulted": list(value.defaulted),
    }


def run(row: RowMapping) -> Run:
    """The run of a row."""
    return Run(**{**_without_sequence(row), "state": RunState(row["state"]), "defaulted": tuple(row["defaulted"])})


def _without_sequence(row: RowMapping) -> Row:
    return {name: value for name, value in row.items() if name != "sequence"}
