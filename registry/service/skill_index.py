"""The index of Agent Skills Discovery (0.2.0), and the one artifact of each skill that it names by digest.

A skill of one file is that file; one of several is an archive. Equal files make equal archives on every machine:
nothing in them is compressed, since compressors differ, and nothing says when they were made.
"""

import io
import json
import zipfile
from dataclasses import dataclass
from typing import Final

from policies.decision import Side
from registry.digest import Json, digest_of
from registry.errors import Unknown
from registry.playbook.export.package import SkillFile
from registry.playbook.skill import SKILL_FILE
from registry.service.cache import ByteCache, EntryCache, SingleFlight
from registry.service.catalogs import Catalogs
from registry.service.skills import OfferedSkill, Skills

SCHEMA: Final = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
INDEX_FILE: Final = "index.json"
ARCHIVE_ENDING: Final = ".zip"
INDEXES_BYTES_MAX: Final = 32 << 20
ARCHIVES_MAX: Final = 20_000
"""Archives whose digest is known; of one that fell out, the files are read again."""
# The first moment that the format can say.
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_REGULAR_FILE: Final = 0o100644 << 16
_UNIX: Final = 3


@dataclass(frozen=True, slots=True)
class Published:
    """Bytes that are published, and their digest."""

    digest: str
    body: bytes


class SkillIndexes:
    """Publishes the skills that serve, and no others: the format has one namespace. Thread-safe."""

    def __init__(self, skills: Skills, catalogs: Catalogs) -> None:
        self._skills = skills
        self._catalogs = catalogs
        self._indexes: ByteCache[str, Published] = ByteCache(INDEXES_BYTES_MAX)
        self._archives: EntryCache[tuple[SkillFile, ...], str] = EntryCache(ARCHIVES_MAX)
        self._flights: SingleFlight[str, Published] = SingleFlight()

    def peek(self, repository: str | None) -> Published | None:
        """The index of a repository's catalog if it is in memory, or None. Safe on an event loop."""
        state = self._catalogs.peek_state(repository)
        return None if state is None else self._indexes.get(state.digest)

    def index(self, repository: str | None) -> Published:
        """The index of a repository's catalog; None is central's own. Takes seconds where thousands of skills are new.

        Raises as `Catalogs.current` does.
        """
        snapshot = self._catalogs.digest_of(self._catalogs.key_of(repository))
        return self._indexes.get(snapshot) or self._flights.do(snapshot, lambda: self._make(repository))

    def skill_file(self, repository: str | None, name: str) -> Published:
        """The SKILL.md of the skill that serves under a name. Raises Unknown."""
        skill = self._serving(repository, name)
        return Published(skill.package.files[0].digest, self._skills.read(skill, SKILL_FILE) or b"")

    def archive(self, repository: str | None, name: str) -> Published:
        """The archive of the skill that serves under a name. Raises Unknown, where it has one file alone too."""
        skill = self._serving(repository, name)
        if not has_archive(skill):
            raise Unknown("playbook", f"the skill {name} is one file: read {name}/{SKILL_FILE}.", name=name)
        body = self._archive(skill)
        return Published(digest_of(body), body)

    def _make(self, repository: str | None) -> Published:
        found = self._skills.effective(repository)
        entries: list[Json] = [self._entry(skill) for skill in found.skills]
        body = json.dumps({"$schema": SCHEMA, "skills": entries}, ensure_ascii=False, separators=(",", ":")).encode()
        made = Published(digest_of(body), body)
        if found.is_complete:
            self._indexes.put(found.snapshot, made, len(body))
        return made

    def _entry(self, skill: OfferedSkill) -> dict[str, Json]:
        package = skill.package
        return {
            "name": package.name,
            "type": "archive" if has_archive(skill) else "skill-md",
            "description": package.description,
            "url": f"{package.name}{ARCHIVE_ENDING}" if has_archive(skill) else f"{package.name}/{SKILL_FILE}",
            "digest": self._archive_digest(skill) if has_archive(skill) else package.files[0].digest,
        }

    def _archive_digest(self, skill: OfferedSkill) -> str:
        known = self._archives.get(skill.package.files)
        if known is None:
            known = digest_of(self._archive(skill))
            self._archives.put(skill.package.files, known)
        return known

    def _archive(self, skill: OfferedSkill) -> bytes:
        return archive_of([(file.path, self._skills.read(skill, file.path) or b"") for file in skill.package.files])

    def _serving(self, repository: str | None, name: str) -> OfferedSkill:
        for side in Side:
            skill = self._skills.find(repository, side, name)
            if skill is not None and skill.is_effective:
                return skill
        raise Unknown(
            "playbook", f"no skill {name[:80]!r} is served here: {INDEX_FILE} lists those that are.", name=name[:80]
        )


def has_archive(skill: OfferedSkill) -> bool:
    """Whether a skill has more than its SKILL.md."""
    return len(skill.package.files) > 1


def archive_of(files: list[tuple[str, bytes]]) -> bytes:
    """A ZIP archive of (path, bytes), in their order."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for path, data in files:
            entry = zipfile.ZipInfo(path, _EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = _REGULAR_FILE
            archive.writestr(entry, data)
    return made.getvalue()
