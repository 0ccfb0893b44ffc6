"""Repositories of the corpus as real bare repositories, and what stands in one of their commits."""

import json
import posixpath
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, cast

from gitserver import ENVIRONMENT, GitRepo

ROUNDS_OF_LINKS = 3
CLOSED = {"node_modules", "vendor", "dist", "build"}


def materialize(corpus: Path, name: str, place: Path, *, links: bool) -> GitRepo:
    """The repository `owner/name` of the corpus, made at `place` by the corpus' own program."""
    program = [sys.executable, str(corpus / "materialize.py"), name.replace("/", "__"), str(place)]
    subprocess.run([*program, *(["--symlinks"] if links else [])], check=True, capture_output=True)
    return GitRepo(place)


def merged(parts: Mapping[str, GitRepo], place: Path) -> GitRepo:
    """One repository with each of `parts` in a folder of its name, the blobs being theirs."""
    repo = GitRepo(place)
    lines = []
    for folder, part in parts.items():
        repo.git("fetch", "--quiet", str(part.path), "refs/heads/main")
        lines.append(f"040000 tree {repo.git('rev-parse', 'FETCH_HEAD^{tree}')}\t{folder}")
    tree = repo.git("mktree", stdin="\n".join([*lines, ""]).encode())
    repo.git("update-ref", "refs/heads/main", repo.git("commit-tree", tree, "-m", "Everything in one place"))
    return repo


def scenario(corpus: Path, name: str) -> dict:
    """A scenario of COLLISIONS.json."""
    return json.loads((corpus / "COLLISIONS.json").read_text())["scenarios"][name]


class Blobs:
    """The bytes of a repository's blobs, read through one git process."""

    def __init__(self, repo: GitRepo) -> None:
        self._process = subprocess.Popen(
            ["git", "cat-file", "--batch"],
            cwd=repo.path,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._ask, self._told = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        self._known: dict[str, bytes] = {}

    def __getitem__(self, blob_id: str) -> bytes:
        if blob_id not in self._known:
            self._ask.write(blob_id.encode() + b"\n")
            self._ask.flush()
            size = int(self._told.readline().split()[2])
            self._known[blob_id] = self._told.read(size + 1)[:size]
        return self._known[blob_id]

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@dataclass
class Tree:
    """The files of one commit: path -> blob id, and path -> target of its links."""

    blobs: Blobs
    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    @cached_property
    def paths(self) -> dict[str, str]:
        """Every path that leads to a file -> the file's own path."""
        found = {path: path for path in self.files}
        for _ in range(ROUNDS_OF_LINKS):
            for link, target in self.links.items():
                if target in found:
                    found[link] = found[target]
                inside = [path for path in found if path.startswith(target + "/")]
                found.update({link + path[len(target) :]: found[path] for path in inside})
        return found

    @cached_property
    def _by_skill(self) -> dict[str, list[tuple[str, str]]]:
        """Folder of a skill -> the other files in it, relative to it, with their blob ids."""
        found: dict[str, list[tuple[str, str]]] = {posixpath.dirname(path): [] for path in self.files if is_skill(path)}
        for path, own in sorted(self.paths.items()):
            above = [folder for folder in _above(path) if folder in found]
            if above and not is_skill(path):
                inside = path[len(above[0]) + 1 :] if above[0] else path
                if not any(is_closed(part) for part in inside.split("/")[:-1]):
                    found[above[0]].append((inside, self.files[own]))
        return found

    def beside(self, path: str) -> list[tuple[str, str]]:
        """The other files of the folder of the skill at `path`, relative to it, with their blob ids."""
        return self._by_skill.get(posixpath.dirname(path), [])


def _above(path: str) -> list[str]:
    """The folders above a path, the nearest first, the root last."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:length]) for length in range(len(parts), -1, -1)]


def tree_of(repo: GitRepo, blobs: Blobs, commit: str = "refs/heads/main") -> Tree:
    """What a commit of a repository holds."""
    tree = Tree(blobs)
    for row in filter(None, repo.git("ls-tree", "-r", "-z", "--full-tree", commit).split("\0")):
        facts, _, path = row.partition("\t")
        mode, _, blob_id = facts.split()
        if mode == "120000":
            folder = posixpath.dirname(path)
            tree.links[path] = posixpath.normpath(posixpath.join(folder, blobs[blob_id].decode()))
        elif mode.startswith("100"):
            tree.files[path] = blob_id
    return tree


def is_skill(path: str) -> bool:
    """Whether a file is called SKILL.md, in any case."""
    return posixpath.basename(path).lower() == "skill.md"


def is_closed(folder: str) -> bool:
    """Whether a folder of that name is never entered."""
    return folder in CLOSED or folder.startswith("_")
