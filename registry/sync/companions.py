"""The other files of a tree's skills: listed beside the playbooks, hashed, and bounded.

A file belongs to the nearest skill above it; a `SKILL.md` further down is a skill of its own. Folders that are not
entered for playbooks are not entered for these either (playbook-format.md, Roots).
"""

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from threading import Lock

from registry.digest import canonical, digest_of
from registry.errors import SourceTooLarge
from registry.playbook.companions import COMPANION_BYTES_MAX, COMPANIONS_MAX, Companion, companions_json
from registry.playbook.model import Problem
from registry.playbook.roots import FOLDERS_NOT_ENTERED
from registry.playbook.skill import is_skill_file, skill_folder
from registry.ports import Tree, TreeFile
from registry.sync.entries import entry_problem

REPOSITORY_BYTES_MAX = 256 << 20
HASHES_MAX = 65_536


class HashCache:
    """Digest and size of blobs by their id, so that an unchanged file is hashed once. Bounded; safe to share."""

    def __init__(self, entries_max: int = HASHES_MAX) -> None:
        self._entries_max = entries_max
        self._hashes: OrderedDict[str, tuple[str, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, blob_id: str) -> tuple[str, int] | None:
        """Digest and size in bytes of that blob, or None."""
        with self._lock:
            found = self._hashes.get(blob_id)
            if found is not None:
                self._hashes.move_to_end(blob_id)
            return found

    def put(self, blob_id: str, digest: str, size_bytes: int) -> None:
        """Keep a blob's digest and size, letting go of those unused longest."""
        with self._lock:
            self._hashes[blob_id] = (digest, size_bytes)
            while len(self._hashes) > self._entries_max:
                self._hashes.popitem(last=False)


class SkillFolders:
    """The folders of the skills among `files`, and what else lies in them. Raises SourceTooLarge.

    `files` are the skills' other files sorted by path, at most 513 of one skill: one more than are read. `problems`
    are about entries that cannot be read.
    """

    def __init__(self, tree: Tree, files: Sequence[TreeFile]) -> None:
        self._tree = tree
        self._folder_of = {file.path: _folder_of(file) for file in files if _is_readable_skill(file)}
        self._skills = frozenset(self._folder_of.values())
        self._above = frozenset(above for folder in self._skills for above in _parents(folder))
        self._listed = frozenset(file.path for file in files)
        self._seen: defaultdict[str, set[str]] = defaultdict(set)
        self._companions: dict[str, tuple[Companion, ...]] = {}
        self._marks: dict[str, str] = {}
        self._blob_ids: defaultdict[str, dict[str, str]] = defaultdict(dict)
        found = tree.list_files(enter=self._enter, wanted=self._wanted) if self._skills else ()
        # A walk lists links that lead nowhere without asking whether they are wanted.
        odd = [(file, entry_problem(file)) for file in found if file.path not in self._listed]
        self.files = tuple(file for file, problem in odd if problem is None)
        self.problems: tuple[Problem, ...] = tuple(problem for _, problem in odd if problem is not None)

    def of(self, path: str) -> tuple[Companion, ...]:
        """The other files of the skill whose SKILL.md stands at `path`; none for other files.

        A skill that has too much beside it gives what is over the bounds in number or in size, unhashed.
        """
        folder = self._folder_of.get(path)
        return () if folder is None else self._companions.get(folder, ())

    def mark(self, path: str) -> str:
        """A text that changes whenever `of(path)` does; empty for no files."""
        folder = self._folder_of.get(path)
        return "" if folder is None else self._marks.get(folder, "")

    def blob_ids(self, path: str) -> Mapping[str, str]:
        """Digest -> blob id of each of `of(path)`."""
        folder = self._folder_of.get(path)
        return {} if folder is None else self._blob_ids.get(folder, {})

    def hash_files(self, cache: HashCache, only: str | None = None) -> None:
        """Read and hash the files, or those of the skill at the path `only`, so that `of` knows them.

        Raises SourceTooLarge, and Corrupt.
        """
        inside: defaultdict[str, list[TreeFile]] = defaultdict(list)
        for file in self.files:
            folder = self._owner(file.path)
            if folder is not None and (only is None or folder == self._folder_of.get(only)):
                inside[folder].append(file)
        missing = {file.blob_id for files in inside.values() for file in files if cache.get(file.blob_id) is None}
        if missing:
            self._tree.hydrate(missing)
        total_bytes = 0
        for folder, files in inside.items():
            companions = self._hashed(folder, files, cache)
            self._companions[folder] = companions
            self._marks[folder] = digest_of(canonical(companions_json(companions)))
            total_bytes += sum(each.size for each in companions)
            if total_bytes > REPOSITORY_BYTES_MAX:
                raise SourceTooLarge(
                    f"the skills' folders hold more than {REPOSITORY_BYTES_MAX >> 20} MiB: move what the skills do not "
                    "use out of them."
                )

    def _hashed(self, folder: str, files: Sequence[TreeFile], cache: HashCache) -> tuple[Companion, ...]:
        start = len(folder) + 1 if folder else 0
        companions: list[Companion] = []
        left_bytes = COMPANION_BYTES_MAX
        for file in files:
            known = cache.get(file.blob_id)
            if known is None:
                data = self._tree.read_blob(file.blob_id, COMPANION_BYTES_MAX)
                known = (digest_of(data), len(data)) if isinstance(data, bytes) else ("", COMPANION_BYTES_MAX + 1)
                cache.put(file.blob_id, *known)
            companions.append(Companion(file.path[start:], *known))
            self._blob_ids[folder][known[0]] = file.blob_id
            left_bytes -= known[1]
            if left_bytes < 0:
                break
        return tuple(companions)

    def _enter(self, folder: str) -> bool:
        return folder in self._above or (not _is_closed(folder) and self._owner(f"{folder}/") is not None)

    def _wanted(self, path: str) -> bool:
        owner = self._owner(path)
        if owner is None or path in self._listed or is_skill_file(path):
            return False
        seen = self._seen[owner]
        if len(seen) <= COMPANIONS_MAX:
            seen.add(path)
        return path in seen

    def _owner(self, path: str) -> str | None:
        return next((folder for folder in _parents(path) if folder in self._skills), None)


def _is_readable_skill(file: TreeFile) -> bool:
    return is_skill_file(file.path) and entry_problem(file) is None


def _folder_of(file: TreeFile) -> str:
    """A link to a skill is that skill, with the files that stand beside it."""
    target = file.target
    return skill_folder(target if target is not None and is_skill_file(target) else file.path)


def _parents(path: str) -> tuple[str, ...]:
    """The folders above a path, the nearest first, the tree's root last."""
    parts = path.split("/")[:-1]
    return tuple("/".join(parts[:length]) for length in range(len(parts), -1, -1))


def _is_closed(folder: str) -> bool:
    name = folder.rpartition("/")[2]
    return name in FOLDERS_NOT_ENTERED or name.startswith("_")
