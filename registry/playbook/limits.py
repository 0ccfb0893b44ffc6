"""How much of a file is read before it is refused (playbook-format.md, Reading hostile or sloppy files)."""

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one file, each named with its unit."""

    file_bytes: int = 1 << 20
    depth_levels: int = 64
    nodes: int = 50_000
    schema_nodes: int = 5_000
    problems_per_file: int = 50
    pattern_chars: int = 1_000
    patterns_chars: int = 10_000
    pattern_bytes_compiled: int = 1 << 20
    repository_files: int = 10_000
    repository_bytes: int = 64 << 20


DEFAULT_LIMITS = Limits()

_COLLECTIONS: Final = frozenset({dict, list})


def nodes_and_levels(value: object) -> tuple[int, int]:
    """How many keys and values plain data has, and how many levels; level by level, so that depth cannot hurt."""
    nodes, levels = 1, 0
    level: list[Any] = [value]
    while level := [each for each in level if type(each) in _COLLECTIONS]:
        levels += 1
        below: list[Any] = []
        for each in level:
            if type(each) is dict:
                nodes += len(each)
                below += each.values()
            else:
                below += each
        nodes += len(below)
        level = below
    return nodes, levels
