"""A relay on loopback before a server that others use too: cut, it is as if that server were gone, for one caller."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Relay:
    """Passes connections to `target` (host, port) on until it is cut."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close everything; whoever connects from now on is refused."""
        # Waking whoever waits in accept() takes more than closing.
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65_536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)


@contextmanager
def relaying(host: str, port: int) -> Iterator[Relay]:
    """A relay to a server, cut afterwards."""
    relay = Relay((host, port))
    try:
        yield relay
    finally:
        relay.cut()
