"""The scenery of `registry demo`: real git repositories in a scratch folder and a real server, and both gone again."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent / "examples"
"""A link to the project's examples/ in a clone; the files themselves in an installed package."""
SERVICES = ("payments", "checkout", "legacy-billing")
FORGE = "github.com/acme"
"""Below which ids the repositories are registered, as if they lay on a forge."""
USUAL_PORT = 8080
POLL_INTERVAL_S = 5
STOP_S = 12.0
REMOVE_S = 3.0
GIT_S = 60.0
LOG_TAIL_LINES = 20

_KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "COVERAGE_PROCESS_START")
_FIRST_COMMIT_AT = 1_780_300_800  # fixed, so that every demo has the same commit ids


class DemoFailed(Exception):
    """The demo could not be set up or came to an end by itself; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The scratch folder with its repositories, and where the server over them listens."""

    folder: Path
    url: str
    token: str

    @property
    def repositories(self) -> Path:
        """The folder with the working copies; its name and theirs make the id of a file:// remote."""
        return self.folder / "acme"

    def repository(self, name: str) -> Path:
        """The working copy that is made from the example of that name."""
        return self.repositories / ("playbooks" if name == "central" else name)

    def remote(self, name: str) -> str:
        """The file:// remote that the registry reads the repository of that name from."""
        return self.repository(name).as_uri()

    @property
    def data(self) -> Path:
        """The server's data folder."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """The file with the server's log lines."""
        return self.folder / "registry.log"


@contextmanager
def open_scene(folder: Path | None, examples: Path = EXAMPLES) -> Iterator[Scene]:
    """A scene with its repositories written, in `folder` or a temporary one; what it made is removed at the end.

    `folder` must be empty or not be there. Raises DemoFailed.
    """
    _require_examples(examples)
    if shutil.which("git") is None:
        raise DemoFailed("git is not installed or not on the PATH: install it first.")
    existed = folder is not None and folder.exists()
    if folder is not None and existed and (not folder.is_dir() or any(folder.iterdir())):
        raise DemoFailed(f"{folder} is not an empty folder: give another one, everything in it would be removed.")
    root = Path(tempfile.mkdtemp(prefix="registry-demo-")) if folder is None else folder
    try:
        root.mkdir(parents=True, exist_ok=True)
        root = root.resolve()
        scene = Scene(root, f"http://127.0.0.1:{_free_port()}", secrets.token_urlsafe(24))
        _write_repositories(scene, examples)
        yield scene
    finally:
        _remove(root, keep_folder=existed)


def break_playbook(scene: Scene, examples: Path = EXAMPLES) -> None:
    """Commit the change to legacy-billing after which one of its playbooks does not load any more."""
    repository = scene.repository("legacy-billing")
    shutil.copytree(examples / "legacy-billing-next", repository, dirs_exist_ok=True)
    _commit(repository, "Replay only what is missing", 3)


@contextmanager
def running_server(scene: Scene) -> Iterator["subprocess.Popen[bytes]"]:
    """The process of `registry serve` over the scene; at the end it and all that it started are gone."""
    with scene.log.open("ab") as log:
        # A session of its own: Ctrl-C in the terminal reaches the demo alone, which then stops the server in order.
        process = subprocess.Popen(
            [sys.executable, "-m", "registry.cli", "serve"],
            cwd=scene.folder,
            env=_environment(scene),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            _stop(process)


@contextmanager
def stoppable() -> Iterator[Callable[[], None]]:
    """Turns SIGINT, SIGTERM and SIGHUP into KeyboardInterrupt; calling what it yields makes further ones harmless.

    So a second Ctrl-C cannot interrupt the tidying up that the first one started.
    """
    kinds = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(kind) for kind in kinds]

    def ignore() -> None:
        for kind in kinds:
            signal.signal(kind, signal.SIG_IGN)

    def interrupt(_number: int, _frame: object) -> None:
        ignore()
        raise KeyboardInterrupt

    for kind in kinds:
        signal.signal(kind, interrupt)
    try:
        yield ignore
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)


def log_tail(scene: Scene) -> str:
    """The last lines of the server's log."""
    lines = scene.log.read_text(errors="replace").splitlines() if scene.log.exists() else []
    return "\n".join(lines[-LOG_TAIL_LINES:])


def _require_examples(examples: Path) -> None:
    wanted = ("central", *SERVICES, "legacy-billing-next")
    missing = [name for name in wanted if not (examples / name).is_dir()]
    if missing:
        raise DemoFailed(
            f"the example repositories are not at {examples} (no {missing[0]}): run the demo from a whole clone of the "
            "project, where they lie in examples/."
        )


def _write_repositories(scene: Scene, examples: Path) -> None:
    for name in ("central", *SERVICES):
        repository = scene.repository(name)
        shutil.copytree(examples / name, repository)
        _git(repository, "init", "--quiet")
        _git(repository, "symbolic-ref", "HEAD", "refs/heads/main")
        # What every forge allows: without it a slim mirror falls back to plain fetches.
        _git(repository, "config", "uploadpack.allowFilter", "true")
        _git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
        if name == "central":
            _commit(repository, "The company's playbooks", 0, "playbooks")
            _commit(repository, "Say which of them are required", 1)
        else:
            _commit(repository, "Our own playbooks", 2)


def _commit(repository: Path, message: str, hours: int, path: str = ".") -> None:
    _git(repository, "add", "--all", "--", path)
    _git(repository, "commit", "--quiet", "--message", message, at=_FIRST_COMMIT_AT + hours * 3600)


def _git(repository: Path, *arguments: str, at: int = _FIRST_COMMIT_AT) -> None:
    """Run git with nothing of this machine's or the caller's configuration: hooks, signing, GIT_DIR."""
    person = {"NAME": "Acme", "EMAIL": "platform@acme.example", "DATE": f"{at} +0000"}
    environment = {
        **_kept_environment(),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in person.items()},
    }
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments and paths of our own scratch folder
            ["git", *arguments],  # noqa: S607 - the git that is on the PATH is meant
            cwd=repository,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DemoFailed(f"git {arguments[0]} did not run: {error}") from None
    if done.returncode:
        raise DemoFailed(f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}")


def _environment(scene: Scene) -> dict[str, str]:
    # None of the caller's own REGISTRY_ variables: a demo must never open somebody's database.
    return {
        **_kept_environment(),
        "PYTHONUNBUFFERED": "1",
        "REGISTRY_CENTRAL_URL": scene.remote("central"),
        "REGISTRY_DATA_DIR": str(scene.data),
        "REGISTRY_LISTEN": scene.url.removeprefix("http://"),
        "REGISTRY_ALLOW_FILE_REMOTES": "true",
        "REGISTRY_ADMIN_TOKEN": scene.token,
        "REGISTRY_POLL_INTERVAL_S": str(POLL_INTERVAL_S),
    }


def _kept_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}


def _free_port() -> int:
    for port in (USUAL_PORT, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise DemoFailed("no port is free on 127.0.0.1: stop something that listens, then try again.")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_S)
    with suppress(ProcessLookupError):
        # Its whole session: nothing that the server started may outlive it, however it ended.
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _remove(root: Path, *, keep_folder: bool) -> None:
    """Remove what is below `root`; tried again for a moment, while a dying worker may still write there."""
    end = time.monotonic() + REMOVE_S
    while True:
        for entry in list(root.iterdir()) if root.is_dir() else ():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
        if not root.is_dir() or not any(root.iterdir()) or time.monotonic() > end:
            break
        time.sleep(0.1)
    if not keep_folder:
        shutil.rmtree(root, ignore_errors=True)
