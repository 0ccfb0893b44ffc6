"""Bare repositories on this disk: laid out, opened, swept and counted."""

import contextlib
import functools
import shutil
from pathlib import Path

import pygit2
from pygit2.enums import ConfigLevel, RepositoryOpenFlag

from registry.errors import Corrupt

TRACKED_REF = "refs/registry/tracked"
FILTER = "blob:none"

# Whatever libgit2 raises for an object that is missing, cut short, or not what its name says.
UNREADABLE = (KeyError, ValueError, OSError, pygit2.GitError)


def create_bare(folder: Path, url: str, *, filtered: bool) -> None:
    """Lay out an empty bare repository in the new folder `folder` whose remote `origin` is `url`.

    Written by hand: `git init` copies templates and asks the machine's configuration, and this is all that git needs.
    """
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/registry"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    quoted = url.replace("\\", "\\\\").replace('"', '\\"')
    lines = ["[core]", f"\trepositoryformatversion = {int(filtered)}", "\tfilemode = true", "\tbare = true"]
    lines += ['[remote "origin"]', f'\turl = "{quoted}"']
    if filtered:
        lines += ["\tpromisor = true", f"\tpartialclonefilter = {FILTER}", "[extensions]", "\tpartialClone = origin"]
    (folder / "config").write_text("\n".join(lines) + "\n", encoding="utf-8")


def open_repository(folder: Path) -> pygit2.Repository:
    """The repository at `folder`, for one thread; raises Corrupt where there is none."""
    prepare_libgit2()
    try:
        flags = RepositoryOpenFlag.NO_SEARCH | RepositoryOpenFlag.BARE | RepositoryOpenFlag.NO_DOTGIT
        return pygit2.Repository(str(folder), flags)
    except UNREADABLE as error:
        raise Corrupt("the mirror cannot be opened: it is made anew by the next fetch.") from error


def has_commit(folder: Path, commit: str) -> bool:
    """Whether the repository holds that commit and its topmost tree, readable; False for anything else."""
    try:
        repository = open_repository(folder)
    except Corrupt:
        return False
    try:
        found = repository.get(pygit2.Oid(hex=commit))
        return isinstance(found, pygit2.Commit) and isinstance(repository[found.tree_id], pygit2.Tree)
    except UNREADABLE:
        return False
    finally:
        # The object is part of a cycle: without this its packs stay mapped until some garbage collection.
        repository.free()


def sweep(folder: Path) -> int:
    """How many leftovers of killed children were removed: temporary packs and objects, and lock files."""
    removed = 0
    leftovers = [*folder.glob("objects/**/tmp_*"), *folder.glob("objects/**/.tmp-*"), *folder.glob("*.lock")]
    leftovers += [*folder.glob("refs/**/*.lock"), *folder.glob("objects/**/*.lock"), *folder.glob("shallow.lock*")]
    for leftover in dict.fromkeys(leftovers):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                leftover.unlink(missing_ok=True)
        removed += 1
    return removed


def pack_count(folder: Path) -> int:
    """How many packs the repository has."""
    return sum(1 for _ in folder.glob("objects/pack/*.pack"))


@functools.cache
def prepare_libgit2() -> None:
    """Set libgit2's process-wide options, once; whatever opens a repository in this package calls it first."""
    pygit2.settings.set_extensions(["partialclone"])
    # Only the repository's own configuration counts, and a checkout that another user made (as in CI) is readable:
    # reading runs nothing that a configuration could name.
    for level in (ConfigLevel.SYSTEM, ConfigLevel.GLOBAL, ConfigLevel.XDG):
        pygit2.settings.search_path[level] = ""
    pygit2.settings.owner_validation = False
