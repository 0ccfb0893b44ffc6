"""How much of a file is read before it is refused (playbook-format.md, Reading hostile or sloppy files)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one file, each named with its unit."""

    file_bytes: int = 1 << 20
    depth_levels: int = 64
    nodes: int = 50_000
    problems_per_file: int = 50
    pattern_chars: int = 1_000
    patterns_chars: int = 10_000
    pattern_bytes_compiled: int = 1 << 20
    repository_files: int = 10_000
    repository_bytes: int = 64 << 20


DEFAULT_LIMITS = Limits()
