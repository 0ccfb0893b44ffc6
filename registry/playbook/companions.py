"""A skill's other files: what they are, and how many of them are read (playbook-format.md, Agent Skills)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from registry.digest import Json

COMPANIONS_MAX: Final = 512
COMPANION_BYTES_MAX: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Companion:
    """A file that stands beside a `SKILL.md`: its path below the skill's folder, and what it holds.

    `sha256` is the digest of its bytes (`sha256:<64 hex>`), `size` their number.
    """

    path: str
    sha256: str
    size: int


def companions_excess(companions: Sequence[Companion]) -> str | None:
    """A sentence where a skill has more files, or more bytes in them, than are read; else None."""
    if len(companions) > COMPANIONS_MAX:
        return f"more than {COMPANIONS_MAX} other files stand in this skill's folder: move what it does not use out."
    if sum(each.size for each in companions) > COMPANION_BYTES_MAX:
        return (
            f"the other files in this skill's folder have more than {COMPANION_BYTES_MAX >> 20} MiB: "
            "move what it does not use out."
        )
    return None


def companions_json(companions: Sequence[Companion]) -> list[Json]:
    """The `files` member of a skill's document: path, digest and size in bytes, sorted by path."""
    return [
        {"path": each.path, "digest": each.sha256, "size": each.size}
        for each in sorted(companions, key=lambda each: each.path)
    ]
