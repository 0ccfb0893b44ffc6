"""What a tree lists and nobody can read: said as problems."""

from registry.playbook.model import Level, Problem
from registry.ports import TreeFile


def entry_problem(file: TreeFile) -> Problem | None:
    """Why the entry cannot be read as a file, or None where it can."""
    if file.kind == "submodule":
        return _problem("submodule", file.path, "is a submodule, whose files are not read: keep playbooks here.")
    if file.kind == "path-not-utf8":
        return _problem("path-not-utf8", file.path, "has a name that is not UTF-8: rename it.")
    if file.kind == "symlink" and file.target is None:
        message = "is a link that leads to no file inside the repository: mend it."
        return _problem("symlink-dangling", file.path, message)
    return None


def _problem(code: str, path: str, message: str) -> Problem:
    return Problem(code, Level.WARNING, path, 1, 1, f"{path} {message}")
