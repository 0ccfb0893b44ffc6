"""Skills outside the folders that are read: said where nothing else is there, so that no catalog is silently empty."""

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Final

from registry.errors import SourceTooLarge
from registry.playbook.model import Level, Problem
from registry.playbook.roots import Roots
from registry.playbook.skill import SKILL_FILE, is_skill_file, skill_folder
from registry.ports import Role, Tree, TreeFile

FOLDERS_MAX = 1_000
"""Folders that are looked into; what stands deeper in a large repository is not looked for."""
FOLDERS_SHOWN_MAX = 3

_PATTERNS: Final = ("**/SKILL.md", "**/.*/skills/**/SKILL.md")


def skills_elsewhere(tree: Tree, roots: Roots, role: Role) -> tuple[Problem, ...]:
    """A warning where skills stand outside of `roots`, for a tree in which nothing stands inside.

    It names the folders with the most skills, and how to have them read.
    """
    anywhere = Roots(_PATTERNS, roots.sub_path)
    left = FOLDERS_MAX

    def enter(folder: str) -> bool:
        nonlocal left
        # The walk goes from the root down, so what is left out is the deepest.
        left -= 1
        return left >= 0 and anywhere.enter(folder)

    def wanted(path: str) -> bool:
        return path[-len(SKILL_FILE) :].upper() == SKILL_FILE.upper() and anywhere.wanted(path)

    try:
        found = tree.list_files(enter=enter, wanted=wanted)
    except SourceTooLarge:
        return ()
    skills = [file for file in found if file.target is None and file.kind == "file" and is_skill_file(file.path)]
    return (_problem(skills, roots, role),) if skills else ()


def _problem(skills: Sequence[TreeFile], roots: Roots, role: Role) -> Problem:
    counted = Counter(skill_folder(skill_folder(file.path)) for file in skills)
    folders = [folder for folder, _ in counted.most_common(FOLDERS_SHOWN_MAX)]
    inside = f"{roots.sub_path}/" if roots.sub_path else ""
    globs = [f"{folder}/**/SKILL.md".removeprefix(inside).removeprefix("/") for folder in folders]
    if role is Role.CENTRAL:
        how = f"set REGISTRY_CENTRAL_PATHS, for example to {','.join(globs)}"
    else:
        how = f"register the repository with {' '.join(f'--path {shlex.quote(glob)}' for glob in globs)}"
    many = f"{len(skills)} skills stand" if len(skills) > 1 else "a skill stands"
    message = (
        f"nothing stands in the folders that are read, and {many} elsewhere, as in "
        f"{' and '.join(folder or 'the root' for folder in folders)}: if that is to serve, {how}."
    )
    return Problem("skills-elsewhere", Level.WARNING, skills[0].path, 1, 1, message)
