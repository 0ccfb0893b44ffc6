"""A real git server on loopback, and real repositories for it to serve.

`GitRepo` writes commits with `git fast-import`; `GitServer` runs `git http-backend` behind a threaded HTTP server, and
has knobs for the ways in which a server can misbehave.
"""

import base64
import os
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MODES = {"file": "100644", "executable": "100755", "link": "120000", "submodule": "160000"}
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
}


@dataclass(frozen=True)
class Link:
    """The value of a file in `GitRepo.commit` that is a symlink to `target`."""

    target: str


@dataclass(frozen=True)
class Submodule:
    """The value of a file in `GitRepo.commit` that is a submodule at `commit`."""

    commit: str = "1" * 40


Content = str | bytes | Link | Submodule | None


class GitRepo:
    """A bare repository that tests write commits into, without a working copy."""

    def __init__(self, path: Path, *, branch: str = "main") -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--bare", f"--initial-branch={branch}")
        for key in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant", "http.uploadpack"):
            self.git("config", key, "true")
        self._clock = 1_700_000_000

    @property
    def url(self) -> str:
        """The file:// URL of the repository."""
        return f"file://{self.path}"

    def git(self, *args: str, stdin: bytes | None = None) -> str:
        """What a git command in the repository printed, stripped."""
        done = subprocess.run(
            ["git", *args], check=False, cwd=self.path, env=ENVIRONMENT, input=stdin, capture_output=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"git {args}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="replace").strip()

    def commit(self, files: Mapping[str | bytes, Content], *, ref: str = "refs/heads/main", anew: bool = False) -> str:
        """The id of a new commit on `ref` that changes `files` (None deletes); `anew` gives it no parent."""
        return self.commit_all([files], ref=ref, anew=anew)

    def commit_all(
        self,
        commits: Iterable[Mapping[str | bytes, Content]],
        *,
        ref: str = "refs/heads/main",
        anew: bool = False,
    ) -> str:
        """The id of the last of several new commits on `ref`, written at once."""
        full = ref if ref.startswith("refs/") else f"refs/heads/{ref}"
        parent = None if anew else self.head(full)
        out = [f"reset {full}\n".encode() if anew else b""]
        for files in commits:
            self._clock += 60
            out.append(f"commit {full}\ncommitter Ada <ada@example.com> {self._clock} +0000\ndata 1\n.\n".encode())
            if parent:
                out.append(f"from {parent}\n".encode())
                parent = None
            out += [_change(path, content) for path, content in files.items()]
        self.git("fast-import", "--quiet", "--force", "--date-format=raw", stdin=b"".join(out) + b"\ndone\n")
        return self.head(full) or ""

    def head(self, ref: str = "refs/heads/main") -> str | None:
        """The commit that `ref` is at, or None."""
        done = subprocess.run(
            ["git", "rev-parse", "--quiet", "--verify", ref],
            check=False,
            cwd=self.path,
            env=ENVIRONMENT,
            capture_output=True,
        )
        return done.stdout.decode().strip() or None

    def blob(self, commit: str, path: str) -> str:
        """The id of the blob at `path`."""
        return self.git("rev-parse", f"{commit}:{path}")


def _change(path: str | bytes, content: Content) -> bytes:
    name = path.encode() if isinstance(path, str) else path
    quoted = (
        b'"'
        + b"".join(b"\\%03o" % byte if byte > 126 or byte < 32 or byte in b'"\\' else bytes([byte]) for byte in name)
        + b'"'
    )
    if content is None:
        return b"D " + quoted + b"\n"
    if isinstance(content, Submodule):
        return b"M 160000 " + content.commit.encode() + b" " + quoted + b"\n"
    mode = MODES["link" if isinstance(content, Link) else "file"].encode()
    raw = content.target if isinstance(content, Link) else content
    data = raw.encode() if isinstance(raw, str) else raw
    return b"M " + mode + b" inline " + quoted + b"\ndata %d\n" % len(data) + data + b"\n"


@dataclass
class Knobs:
    """How the server misbehaves; all off at first. Changed at any time, they count from the next request on.

    `status` answers every request with it and `headers`; `silent` never answers; `trickle` sends a header byte now and
    then; `no_version_2` ignores the protocol asked for; `body` answers 200 with these bytes; `refuse_filters` makes
    the server advertise filters and refuse them; `token` is wanted as `Authorization: Bearer <token>`.
    """

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    silent: bool = False
    trickle: bool = False
    no_version_2: bool = False
    refuse_filters: bool = False
    no_filters: bool = False
    body: bytes | None = None
    content_type: str = "application/x-git-upload-pack-result"
    token: str | None = None


class GitServer:
    """Serves the bare repositories below `root` over smart HTTP at `url`, one thread a request."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.knobs = Knobs()
        self.requests: list[str] = []
        self.released = threading.Event()
        owner = self

        class Handler(_Handler):
            server_owner = owner

        self._http = _Server(("127.0.0.1", 0), Handler)
        self.port = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:<port>`; a repository's URL is this, a slash, and its folder below `root`."""
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Stop serving; requests that were left hanging are let go."""
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)


@contextmanager
def serving(root: Path) -> Iterator[GitServer]:
    """A server of the repositories below `root`, closed afterwards."""
    server = GitServer(root)
    try:
        yield server
    finally:
        server.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request, client_address) -> None:
        """A client that went away is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_owner: GitServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._answer(body)

    def _answer(self, body: bytes) -> None:
        owner, knobs = self.server_owner, self.server_owner.knobs
        owner.requests.append(f"{self.command} {self.path}")
        if knobs.silent:
            self.close_connection = True
            owner.released.wait(60)
        elif knobs.trickle:
            self._trickle()
        elif knobs.status is not None:
            self._send(knobs.status, dict(knobs.headers), b"")
        elif knobs.token and self.headers.get("Authorization") != f"Bearer {knobs.token}":
            self._send(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"")
        elif knobs.body is not None:
            self._send(200, {"Content-Type": knobs.content_type}, knobs.body)
        else:
            self._backend(body)

    def _trickle(self) -> None:
        self.close_connection = True
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not self.server_owner.released.is_set():
            self.wfile.write(b"x")
            self.wfile.flush()
            time.sleep(0.05)

    def _backend(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        knobs = self.server_owner.knobs
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server_owner.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "REMOTE_ADDR": "127.0.0.1",
        }
        if encoding := self.headers.get("Content-Encoding"):
            env["HTTP_CONTENT_ENCODING"] = encoding
        if (protocol := self.headers.get("Git-Protocol")) and not knobs.no_version_2:
            env["GIT_PROTOCOL"] = protocol
        config = {"uploadpackfilter.allow": "false"} if knobs.refuse_filters else {}
        if knobs.no_filters:
            config["uploadpack.allowFilter"] = "false"
        env["GIT_CONFIG_COUNT"] = str(len(config))
        for number, (key, value) in enumerate(config.items()):
            env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        done = subprocess.run(["git", "http-backend"], check=False, env=env, input=body, capture_output=True)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line)
        status = int(headers.pop("Status", "200").split()[0])
        self._send(status, headers, answer)

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def basic(user: str, password: str) -> str:
    """The value of a Basic Authorization header."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
