"""A working copy as the data that `POST /v1/preview` takes: what a merge decides on, and nothing else."""

from typing import Final

from policies.rules import RuleSet
from registry.catalog.revision import Copy, Revision, path_of
from registry.digest import Json
from registry.playbook.model import Level
from registry.playbook.reading import LOADER_VERSION
from registry.ports import Role

COPIES_MAX: Final = 10_000
"""As many as a repository may have files (registry/playbook/limits.py)."""
MARKS_MAX: Final = 5_000
WAIVERS_MAX: Final = 2_000
TAGS_MAX: Final = 20
WORD_CHARS_MAX: Final = 200
REASON_CHARS_MAX: Final = 2_000
"""What is longer is cut before it is sent, since a registry takes no more."""


def proposal_json(now: Revision, base: Revision | None, role: Role, repository: str | None) -> dict[str, Json]:
    """The body of `POST /v1/preview` for a working copy."""
    return {
        "role": role.value,
        "repository": repository,
        "loader": LOADER_VERSION,
        "revision": _revision_json(now),
        "base": None if base is None else _revision_json(base),
    }


def _revision_json(revision: Revision) -> dict[str, Json]:
    named = {path_of(copy) for copy in revision.copies}
    unread = {item.path for item in revision.problems if item.level is Level.ERROR and item.path not in named}
    policy = revision.policy if revision.kind == "central" else None
    return {
        "copies": [_copy_json(copy, is_central=revision.kind == "central") for copy in revision.copies],
        "unread": sorted(unread),
        "policy": None if policy is None else _policy_json(policy),
    }


def _copy_json(copy: Copy, *, is_central: bool) -> dict[str, Json]:
    head = copy.head
    replaced_by = head.deprecated.get("replaced_by") if head is not None and head.deprecated else None
    found: dict[str, Json] = {
        "name": copy.name,
        "state": copy.state.value,
        "path": path_of(copy),
        "version": None if head is None else head.version[:WORD_CHARS_MAX],
        "digest": copy.digest,
        "problem": None if copy.problem is None else copy.problem.code,
        "replaced_by": replaced_by[:WORD_CHARS_MAX] if isinstance(replaced_by, str) and replaced_by else None,
    }
    if is_central:
        # Rules speak of what central has and says; a service's word counts for nothing.
        tags = [tag[:WORD_CHARS_MAX] for tag in (head.tags if head is not None else ()) if tag]
        found |= {"required": copy.says_required, "tags": tags[:TAGS_MAX]}
    return {member: value for member, value in found.items() if value is not None}


def _policy_json(policy: RuleSet) -> dict[str, Json]:
    return {
        "marks": [
            {"name": mark.name, "tag": mark.tag, "reason": mark.reason[:REASON_CHARS_MAX]} for mark in policy.marks
        ],
        "waivers": [
            {
                "name": waiver.name,
                "repository": waiver.repository,
                "until": waiver.until.isoformat(),
                "reason": waiver.reason[:REASON_CHARS_MAX],
                "approved_by": waiver.approved_by[:REASON_CHARS_MAX],
            }
            for waiver in policy.waivers
        ],
    }
