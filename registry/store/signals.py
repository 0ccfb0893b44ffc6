"""Wake-ups between processes of one machine: datagrams on sockets in the data folder.

A wake-up says only "look at the store": losing one costs a polling interval and nothing else, so nothing is retried.
"""

import contextlib
import os
import select
import socket
from pathlib import Path

PATH_BYTES_MAX = 100
"""A socket's path has 108 bytes on Linux; in a deeper data folder waiting falls back to the polling interval."""
DATAGRAM_BYTES = 1


class SocketSignal:
    """A signal whose waiters each bind a socket in one folder; `wake` reaches all that wait there at the time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._inbox: socket.socket | None = None
        self._path: Path | None = None

    def wake(self) -> None:
        """Tell whoever waits; sockets that nobody listens on any more are removed."""
        if not self._folder.is_dir():
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as outbox:
            outbox.settimeout(0)
            for path in self._folder.glob("*.sock"):
                try:
                    outbox.sendto(b"!", str(path))
                except ConnectionRefusedError:
                    path.unlink(missing_ok=True)
                except OSError:
                    # A full inbox is awake already; a socket that just went has nobody to wake.
                    continue

    def wait(self, timeout_s: float) -> bool:
        """Whether somebody called before `timeout_s` was over; calls while nobody waited are remembered."""
        inbox = self._bound()
        if inbox is None:
            select.select([], [], [], timeout_s)
            return False
        ready, _, _ = select.select([inbox], [], [], timeout_s)
        if not ready:
            return False
        with contextlib.suppress(BlockingIOError):
            while True:
                inbox.recv(DATAGRAM_BYTES)
        return True

    def close(self) -> None:
        """Stop listening and remove the socket."""
        if self._inbox is not None:
            self._inbox.close()
            self._inbox = None
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _bound(self) -> socket.socket | None:
        if self._inbox is None:
            path = self._folder / f"{os.getpid()}-{id(self):x}.sock"
            if len(os.fsencode(path)) > PATH_BYTES_MAX:
                return None
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            inbox.settimeout(0)
            inbox.bind(str(path))
            self._inbox, self._path = inbox, path
        return self._inbox
