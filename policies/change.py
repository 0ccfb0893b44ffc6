"""Whether a change is too large to apply by itself (merge.md, A mass change is held back)."""

from collections.abc import Collection

REMOVED_NAMES_MIN = 10
"""Fewer names than this are never a mass change, whatever their share."""


def is_too_large(before: Collection[str], after: Collection[str], *, branch_missing: bool = False) -> str | None:
    """A sentence on why the change must wait for somebody to apply it, or None where it applies by itself.

    `before` are the names of the revision in force and `after` those of the new one; what is only added is never
    held. A missing branch is held whatever it leaves. The sentence says what to do.
    """
    if branch_missing:
        return (
            "The tracked branch is missing, so what is in force stays. Bring the branch back, or register the "
            "repository with the branch that took its place."
        )
    kept, removed = _split(before, after)
    total = kept + removed
    if removed < REMOVED_NAMES_MIN or removed * 2 <= total:
        return None
    what = f"all {total} playbooks" if not after else f"{removed} of {total} playbooks"
    return (
        f"The change would take away {what}, so what is in force stays. If it is meant, apply this commit; "
        "if not, push one that brings them back."
    )


def _split(before: Collection[str], after: Collection[str]) -> tuple[int, int]:
    names = set(before)
    kept = len(names.intersection(after))
    return kept, len(names) - kept
