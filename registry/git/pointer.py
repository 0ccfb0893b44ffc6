"""The pointer of a mirror: which of its repositories is in use, and how it has fared; replaced as a whole."""

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

POINTER_NAME = "mirror.json"
POINTER_BYTES_MAX = 4096


@dataclass(frozen=True, slots=True)
class MirrorPointer:
    """`generation` is the folder in use (None: none yet), `previous` the one before it, kept until the next fetch.

    `fetches` counts those into this generation, `patience` how often the deadline was too short and was doubled,
    `sound` falls when objects could not be read, `filtered` when the server refused to leave blobs out.
    """

    generation: str | None = None
    previous: str | None = None
    commit: str | None = None
    fetches: int = 0
    patience: int = 0
    sound: bool = True
    filtered: bool = True


def read_pointer(folder: Path) -> MirrorPointer:
    """The pointer in `folder`; a missing or unreadable one is a fresh one, so the mirror is made anew."""
    try:
        with (folder / POINTER_NAME).open("rb") as file:
            data = json.loads(file.read(POINTER_BYTES_MAX))
        pointer = MirrorPointer(**{field.name: data[field.name] for field in fields(MirrorPointer)})
    except (OSError, ValueError, KeyError, TypeError):
        return MirrorPointer()
    # A name that leads out of the folder is no name of ours.
    names = [str(name) for name in (pointer.generation, pointer.previous) if name is not None]
    return pointer if all(name == Path(name).name for name in names) else MirrorPointer()


def write_pointer(folder: Path, pointer: MirrorPointer) -> None:
    """Replace the pointer in `folder`: a reader sees the old one or the new one, whole."""
    fresh = folder / f"{POINTER_NAME}.{os.getpid()}"
    with fresh.open("w", encoding="ascii") as file:
        json.dump(asdict(pointer), file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / POINTER_NAME)
