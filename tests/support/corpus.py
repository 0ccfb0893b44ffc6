"""The corpus of real repositories: third-party text, unpacked outside the project and read as data only."""

import json
import tarfile
from pathlib import Path

ARCHIVE = Path(__file__).resolve().parents[3] / "shared" / "data" / "corpus.tar.gz"


def unpack(folder: Path) -> Path:
    """The corpus' folder below `folder`, after unpacking the archive there."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "corpus"


def skill_files(corpus: Path) -> list[tuple[str, str, Path]]:
    """(repository, path in it, place on disk) of every SKILL.md of the real repositories, sorted."""
    found = sorted(corpus.glob("*/tree/**/SKILL.md"))
    return [(each.relative_to(corpus).parts[0], path_of(corpus, each), each) for each in found]


def path_of(corpus: Path, place: Path) -> str:
    """A file's path in its repository."""
    return "/".join(place.relative_to(corpus).parts[2:])


def hard_cases(corpus: Path) -> dict[str, dict]:
    """The real hard cases by id, each with the `data` of its file where it has one."""
    rows = json.loads((corpus / "_hard/MANIFEST.json").read_text())
    return {row["id"]: {**row, **_data(corpus / "_hard", row)} for row in rows}


def synthetic_cases(corpus: Path) -> dict[str, dict]:
    """The constructed cases by id, each with its `data`, as skills under `skills/`."""
    rows = json.loads((corpus / "_synthetic/MANIFEST.json").read_text())["cases"]
    return {
        row["id"]: {**row, "path": "skills/" + row["file"].partition("/")[2], **_data(corpus / "_synthetic", row)}
        for row in rows
    }


def _data(folder: Path, row: dict) -> dict:
    return {"data": (folder / row["file"]).read_bytes()} if "file" in row else {}
