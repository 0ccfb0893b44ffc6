"""The folder of an index: which one is in use, and whether its files are whole.

An index lives in `v<format version>-<ordinal>`. What cannot be read, or is of another version, is never written to:
the next one is built beside it, and readers follow to the highest ordinal.
"""

import json
import re
import shutil
import zlib
from pathlib import Path
from typing import Final

from indexer.schema import FORMAT_VERSION

_NAME: Final = re.compile(r"v([0-9]{1,9})-([0-9]{1,9})")
_META: Final = "meta.json"
_BUILDING: Final = "building"
_FOOTER_MAGIC: Final = 1337
_FOOTER_LENGTH_MAX_BYTES: Final = 65_536
_CHUNK_BYTES: Final = 1 << 20


def current(path: Path) -> Path | None:
    """The folder of this format version in use under `path`, or None where no index was built yet."""
    ordinals = [ordinal for version, ordinal in _folders(path) if version == FORMAT_VERSION]
    ready = [ordinal for ordinal in ordinals if (folder(path, ordinal) / _META).is_file()]
    return folder(path, max(ready)) if ready else None


def following(path: Path) -> Path:
    """The folder that the next index of this format version is built in; it does not exist yet."""
    ordinals = [ordinal for version, ordinal in _folders(path) if version == FORMAT_VERSION]
    return folder(path, max(ordinals, default=0) + 1)


def folder(path: Path, ordinal: int) -> Path:
    """The folder of that ordinal."""
    return path / f"v{FORMAT_VERSION}-{ordinal}"


def begin(index: Path) -> None:
    """Note that an index is being filled: until `finish`, what it does not hold may only not be there yet."""
    (index / _BUILDING).touch()


def finish(index: Path) -> None:
    """Note that an index holds everything it should."""
    (index / _BUILDING).unlink(missing_ok=True)


def is_whole(index: Path) -> bool:
    """Whether an index was filled to the end once."""
    return not (index / _BUILDING).exists()


def drop_others(path: Path, keep: Path) -> None:
    """Remove this format version's other folders. Another version's stay: an older release may still be serving."""
    for version, ordinal in _folders(path):
        if version == FORMAT_VERSION and folder(path, ordinal) != keep:
            shutil.rmtree(folder(path, ordinal), ignore_errors=True)


def damage(index: Path) -> str | None:
    """What is wrong with the files of an index, or None where every segment file matches its checksum."""
    try:
        meta = json.loads((index / _META).read_bytes())
        segments = {str(segment["segment_id"]).replace("-", "") for segment in meta["segments"]}
        files = [file for file in sorted(index.iterdir()) if file.name.split(".")[0] in segments]
        present = {file.name.split(".")[0] for file in files}
        if missing := segments - present:
            return f"the segment {min(missing)} has no files"
        return next((f"{file.name} does not match its checksum" for file in files if not _whole(file)), None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"


def _whole(file: Path) -> bool:
    """Whether a segment file matches the CRC-32 of its footer: body, JSON, its length and a magic number (LE u32)."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        stream.seek(max(0, size - 8))
        tail = stream.read(8)
        length = int.from_bytes(tail[:4], "little")
        if int.from_bytes(tail[4:], "little") != _FOOTER_MAGIC or not 0 < length <= min(
            size - 8, _FOOTER_LENGTH_MAX_BYTES
        ):
            return False
        body = size - 8 - length
        stream.seek(body)
        expected = json.loads(stream.read(length))["crc"]
        stream.seek(0)
        crc = 0
        while body > 0:
            chunk = stream.read(min(body, _CHUNK_BYTES))
            crc = zlib.crc32(chunk, crc)
            body -= len(chunk) or body
        return bool(crc == expected)


def _folders(path: Path) -> list[tuple[int, int]]:
    """(format version, ordinal) of every index folder under `path`."""
    if not path.is_dir():
        return []
    names = (_NAME.fullmatch(entry.name) for entry in path.iterdir() if entry.is_dir())
    return [(int(name[1]), int(name[2])) for name in names if name]
