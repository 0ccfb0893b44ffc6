"""A stand-in for a registry on loopback: it serves one catalog well, until a test has it answer something else.

Raw bytes go out as they are, so that a test can send what no HTTP library would.
"""

import json
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from registry.digest import canonical, digest_of

REPOSITORY = "github.com/acme/app"
CENTRAL = "github.com/acme/playbooks"
COMMIT = "c" * 40
PROBLEM = "application/problem+json"

Raw = bytes | Iterable[bytes]
"""What is sent: one piece, or several as they come."""


@dataclass(frozen=True)
class Request:
    """What a client asked: `path` without its query."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


def document(name: str, /, **members: object) -> dict[str, object]:
    """A small playbook's document."""
    made = {
        "document": "playbook/1",
        "name": name,
        "version": "1.0.0",
        "owner": "platform",
        "purpose": f"Do what {name} is for.",
        "steps": [{"id": "act", "tool": "shell.run", "instruction": "Do it."}],
        **members,
    }
    return {key: value for key, value in made.items() if value is not None}


def entry(contract: Mapping[str, object], kind: str = "central", **members: object) -> dict[str, object]:
    """The entry of a document in a snapshot."""
    name = str(contract["name"])
    return {
        "name": name,
        "title": name,
        "version": "1.0.0",
        "digest": digest_of(canonical(contract)),
        "document": "playbook/1",
        "source": {
            "kind": kind,
            "repository": CENTRAL if kind == "central" else REPOSITORY,
            "commit": COMMIT,
            "path": f"playbooks/{name}.yaml",
            "blob": digest_of(name.encode()),
        },
        "owner": "platform",
        "tags": [],
        "purpose": str(contract.get("purpose", "")),
        "not_for": [],
        "deprecated": None,
        "held": None,
        "required": False,
        "waiver": None,
        "decision": {"outcome": "central_only" if kind == "central" else "local_only", "over": []},
        **members,
    }


def snapshot(entries: Iterable[Mapping[str, object]], /, **members: object) -> dict[str, object]:
    """A snapshot of these entries."""
    return {
        "format": "playbook-catalog/1",
        "repository": REPOSITORY,
        "sources": {"central": {"repository": CENTRAL, "ref": "refs/heads/main", "commit": COMMIT}, "local": None},
        "rules": digest_of(b"rules"),
        "valid_until": None,
        "entries": list(entries),
        "refused": [],
        "unavailable": [],
        "problems": [],
        **members,
    }


def reply(status: int, body: bytes = b"", **headers: str) -> bytes:
    """A whole HTTP answer; `_` in a header's name is a hyphen."""
    told = {"content-length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in told.items())]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def problem(status: int, code: str, detail: str = "said.", **members: object) -> bytes:
    """A problem as a registry answers it."""
    body = {"type": f"/problems/{code}", "title": "Title", "status": status, "detail": detail, **members}
    return reply(status, json.dumps(body).encode(), content_type=PROBLEM)


@dataclass
class Standin:
    """The server at `url`; `answer` is asked first, and what it gives is sent in the place of the catalog."""

    url: str
    contracts: list[Mapping[str, object]] = field(default_factory=lambda: [document("deploy"), document("roll-back")])
    members: dict[str, object] = field(default_factory=dict)
    answer: Callable[[Request], Raw | None] = lambda _: None
    requests: list[Request] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def body(self) -> bytes:
        """The catalog's bytes."""
        return canonical(snapshot([entry(each) for each in self.contracts], **self.members))

    def hang(self, seconds: float = 60.0) -> Iterator[bytes]:
        """Nothing, for so long, or until the test is over."""
        self.ended.wait(seconds)
        yield b""

    def trickle(self, begin: bytes, byte: bytes = b"x", every_s: float = 0.05) -> Iterator[bytes]:
        """A byte now and then, for ever."""
        yield begin
        while not self.ended.is_set():
            time.sleep(every_s)
            yield byte

    def paths(self) -> list[str]:
        """What was asked for so far."""
        return [request.path for request in self.requests]

    def respond(self, request: Request) -> Raw:
        """What is sent for a request."""
        self.requests.append(request)
        chosen = self.answer(request)
        if chosen is not None:
            return chosen
        if request.path.startswith("/v1/catalogs"):
            return self._catalog(request)
        if request.path.startswith("/v1/documents/"):
            known = {digest_of(canonical(each)): canonical(each) for each in self.contracts}
            body = known.get(request.path.rpartition("/")[2])
            return problem(404, "snapshot-unknown") if body is None else reply(200, body)
        if request.path.startswith("/v1/repositories/"):
            return reply(200, json.dumps({"paths": None}).encode())
        return problem(404, "route-unknown")

    def _catalog(self, request: Request) -> bytes:
        body = self.body()
        told = {"catalog_digest": digest_of(body), "catalog_state": "fresh; age=1", "etag": f'"{digest_of(body)}"'}
        if request.headers.get("if-none-match") == told["etag"]:
            return reply(304, **told)
        if "view=full" in request.query:
            value = json.loads(body)
            for each, contract in zip(value["entries"], self.contracts, strict=True):
                each["contract"] = contract
            body = json.dumps(value).encode()
        return reply(200, body, **told)


class _Handler(socketserver.StreamRequestHandler):
    server: "_Server"

    def handle(self) -> None:
        try:
            while (request := self._request()) is not None:
                sent = self.server.standin.respond(request)
                for piece in [sent] if isinstance(sent, bytes) else sent:
                    self.wfile.write(piece)
                    self.wfile.flush()
                if not isinstance(sent, bytes):
                    return
        except OSError:
            pass  # The client has gone, which is what some tests are about.

    def _request(self) -> Request | None:
        line = self.rfile.readline().decode("latin-1").split()
        if len(line) != 3:
            return None
        headers = {}
        while header := self.rfile.readline().decode("latin-1").strip():
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        body = self.rfile.read(int(headers.get("content-length") or 0))
        path, _, query = line[1].partition("?")
        return Request(line[0], path, query, headers, body)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 128
    standin: Standin


@contextmanager
def standing_in() -> Iterator[Standin]:
    """A stand-in on a free port, closed afterwards."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.standin = Standin(f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield server.standin
        finally:
            server.standin.ended.set()
            server.shutdown()
