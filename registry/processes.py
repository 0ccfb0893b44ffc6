"""What the processes of one registry owe each other: one owner of the data folder, and no survivors."""

import contextlib
import fcntl
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from registry.errors import SettingsInvalid

LOCK_NAME = "serve.lock"
PARENT_INTERVAL_S = 0.25

COLLECT_AFTER = (50_000, 20, 100)
"""Allocations until a collection of the youngest, and how many of one age until the next age: gc.set_threshold."""


def make_folder(data: Path) -> None:
    """Make the data folder where it is missing. Raises SettingsInvalid where that cannot be."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsInvalid(
            f"REGISTRY_DATA_DIR is {data}, which cannot be made a folder ({error.strerror}): give a "
            "folder that the registry's user may write to."
        ) from None


@contextmanager
def claimed(data: Path) -> Iterator[None]:
    """The data folder for this process alone, until the block or the process ends, however it ends.

    Raises SettingsInvalid where another `serve` uses it: two workers would write to the same mirrors.
    """
    make_folder(data)
    path = data / LOCK_NAME
    try:
        # "a": whoever is refused must not empty what the owner wrote.
        stream = path.open("a+")
    except OSError as error:
        raise SettingsInvalid(
            f"REGISTRY_DATA_DIR is {data}, where nothing can be written ({error.strerror}): give a folder "
            "that the registry's user may write to."
        ) from None
    with stream:
        try:
            # A record lock, which a forked serving process does not inherit: it ends with this process alone.
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stream.seek(0)
            owner = stream.read(20).strip()
            raise SettingsInvalid(
                f"REGISTRY_DATA_DIR is {data}, which another `registry serve` uses"
                f"{f' (process {owner})' if owner.isdigit() else ''}: stop that one, or give this one a folder of its "
                "own."
            ) from None
        stream.truncate(0)
        stream.write(f"{os.getpid()}\n")
        stream.flush()
        yield


def watch_parent(parent: int, leave: Callable[[], object]) -> None:
    """Have `leave` called once, from a thread, when this process's parent is not `parent` any more.

    A process that was started by one that was killed must not go on beside the next one's.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_INTERVAL_S)
        leave()

    threading.Thread(target=watch, name="parent", daemon=True).start()


def end_children() -> None:
    """Kill the process groups of this process's children (where /proc lists them): each git child leads one."""
    for task in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text().split():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(int(child), signal.SIGKILL)


def collect_rarely() -> None:
    """Leave what was made up to now out of every garbage collection, and collect seldom.

    Both processes hold millions of small values for long and make few cycles. A full collection of them stops every
    thread for tens of milliseconds, and Python's own thresholds start one after another while a repository is read.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
