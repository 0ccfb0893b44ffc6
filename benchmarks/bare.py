"""The peer of bench_serve.py: a plain ASGI function on granian that answers prepared bytes. Not a benchmark itself.

The folder holds one `<name>.json` (status and headers) and one `<name>.body` per path `/<name>`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from granian import Granian
from granian.constants import Interfaces, Loops


class Answering:
    """Makes the application inside granian's own process."""

    def __init__(self, answers: str) -> None:
        self._folder = Path(answers)

    def __call__(self, *_: object) -> Any:
        known: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        for path in self._folder.glob("*.json"):
            data = json.loads(path.read_text())
            headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in data["headers"]]
            start = {"type": "http.response.start", "status": data["status"], "headers": headers}
            body = {"type": "http.response.body", "body": path.with_suffix(".body").read_bytes(), "more_body": False}
            known["/" + path.stem] = (start, body)
        ready = ({"type": "http.response.start", "status": 200, "headers": []}, {"type": "http.response.body"})

        async def application(scope: Any, _receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                start, body = known.get(scope["path"], ready)
                await send(start)
                await send(body)

        return application


if __name__ == "__main__":
    Granian(
        "bare",
        address="127.0.0.1",
        port=int(sys.argv[1]),
        interface=Interfaces.ASGI,
        workers=1,
        loop=Loops.uvloop,
        backlog=4_096,
        backpressure=65_536,
        log_enabled=False,
    ).serve(target_loader=Answering(sys.argv[2]), wrap_loader=False)
