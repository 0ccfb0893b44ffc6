"""`registry serve`: a serving process under granian, the sync worker beside it, supervised until told to stop."""

import asyncio
import contextlib
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection, Pipe
from typing import NoReturn

import structlog
from granian.constants import Interfaces, Loops
from granian.server import MPServer

from registry import processes, wiring
from registry.api.answers import Application, Receive, Scope, Send
from registry.doors import open_doors
from registry.errors import SettingsInvalid
from registry.settings import PREFIX, Settings
from registry.telemetry import Telemetry

WORKER_STOP_S = 5.0
FOLLOWER_STOP_S = 2.0
RESTART_MIN_S, RESTART_MAX_S = 0.5, 30.0
BACKLOG = 4_096
BACKPRESSURE = 65_536
"""Requests under way; granian's own 1,024 would stall a process completely that holds long polls."""
WORKERS_KILL_TIMEOUT_S = 6
"""How long requests under way may take when serving ends; with the worker's time beside it well within 10 s."""
ORPHAN_S = 1.0
"""How long a serving process finishes requests whose supervisor was killed: the next one wants its port."""
OPEN_FILES = 65_536
SWITCH_INTERVAL_S = 0.0005
"""How long a thread at work may keep the event loop from its turn; Python's own 5 ms would be the p99 of every call."""

log = structlog.get_logger(__name__)


class WorkerSupervisor:
    """Keeps one sync worker process running, started again with growing pauses when it dies."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="worker-supervisor", daemon=True)

    def start(self) -> None:
        """Start the worker and the watch over it."""
        self._thread.start()

    def begin_stop(self) -> None:
        """Have the worker end, without waiting for it; may be called from a signal's handler."""
        self._stop.set()

    def stop(self) -> None:
        """End the worker and wait for its end."""
        self._stop.set()
        self._thread.join(WORKER_STOP_S + 2)

    def _watch(self) -> None:
        pause_s = RESTART_MIN_S
        while not self._stop.is_set():
            started_at = time.monotonic()
            code = self._run_once()
            if self._stop.is_set():
                return
            lived_s = time.monotonic() - started_at
            pause_s = RESTART_MIN_S if lived_s > RESTART_MAX_S else min(RESTART_MAX_S, 2 * pause_s)
            log.error("the sync worker ended; starting it again", code=code, pause_s=pause_s)
            self._stop.wait(pause_s)

    def _run_once(self) -> int | None:
        """The exit code of a worker that ran until it ended or was to stop; None where none could be started."""
        try:
            child = _Child([sys.executable, "-m", "registry.worker", str(os.getpid())], self._settings)
        except OSError as error:
            log.error("no sync worker can be started", reason=str(error))  # noqa: TRY400 - nothing more is known
            return None
        while child.poll() is None and not self._stop.wait(0.1):
            pass
        return child.end() if self._stop.is_set() else child.poll()


class _Child:
    """A process of the registry's own, in a session of its own.

    By posix_spawn and not by subprocess, which holds a pipe open while it starts a child: granian forks beside it, and
    a fork in that moment inherits the pipe, so that the start never returns.
    """

    def __init__(self, command: list[str], settings: Settings) -> None:
        self._code: int | None = None
        self._pid = os.posix_spawn(
            command[0],
            command,
            _worker_environment(settings),
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
            setsid=True,
        )

    def poll(self) -> int | None:
        """The exit code (of a signal, its negative number), or None while it runs."""
        if self._code is None:
            try:
                found, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:  # somebody else in this process has waited for it
                found, status = self._pid, 0
            if found:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def end(self) -> int | None:
        """The exit code after SIGTERM, and after SIGKILL to all that it started where that took too long."""
        for number, patience_s in ((signal.SIGTERM, WORKER_STOP_S), (signal.SIGKILL, 1.0)):
            if self.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._pid, number) if number == signal.SIGKILL else os.kill(self._pid, number)
            end = time.monotonic() + patience_s
            while self.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
        return self._code


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT, then drain and return.

    Raises SettingsInvalid, also where another `serve` has the data folder, and StoreFault.
    """
    wiring.configure_logs(settings)
    for number in (signal.SIGTERM, signal.SIGINT):
        # Until granian's own handlers are there: a stop during the start is a stop as well.
        signal.signal(number, _leave)
    with processes.claimed(settings.data_dir):
        wiring.prepare(settings).close()
        _raise_open_files()
        supervisor = WorkerSupervisor(settings)
        stopping, stop = Pipe(duplex=False)
        server = _server(settings, supervisor, stop)
        supervisor.start()
        try:
            server.serve(target_loader=_Loader(settings, stopping), wrap_loader=False)
        except SystemExit as ended:
            if ended.code:
                log.error("the serving process failed again and again")  # noqa: TRY400 - the lines above say why
            raise
        finally:
            supervisor.stop()


def _server(settings: Settings, supervisor: WorkerSupervisor, stop: Connection) -> MPServer:
    server = MPServer(
        "registry.serving",
        address=_address(settings),
        port=settings.listen_port,
        interface=Interfaces.ASGI,
        workers=1,
        loop=Loops.uvloop,
        backlog=BACKLOG,
        backpressure=BACKPRESSURE,
        log_enabled=settings.log_level == "debug",
        respawn_failed_workers=True,
        workers_kill_timeout=WORKERS_KILL_TIMEOUT_S,
    )

    def stop_both(*_: object) -> None:
        supervisor.begin_stop()
        # The server waits for the streams that hosts hold open; nobody but it could end them in time.
        stop.send_bytes(b"stop")
        server.signal_handler_interrupt()  # type: ignore[no-untyped-call]  # granian has no types here

    def take_signals() -> None:
        # The worker ends while requests drain, and not after them: both must fit into 10 s.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop_both)

    server.on_startup(take_signals)
    return server


def _address(settings: Settings) -> str:
    """The numeric address to listen on, of a host name the first one. Raises SettingsInvalid."""
    try:
        found = socket.getaddrinfo(settings.listen_host, settings.listen_port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise SettingsInvalid(f"REGISTRY_LISTEN is {settings.listen}, whose host is not known: {error}.") from None
    return str(found[0][4][0])


def _leave(*_: object) -> NoReturn:
    raise SystemExit(0)


def _worker_environment(settings: Settings) -> dict[str, str]:
    """The environment with what options replaced in it, and without the secret that a worker has no use for."""
    return {
        **{name: value for name, value in os.environ.items() if name != f"{PREFIX}ADMIN_TOKEN"},
        f"{PREFIX}DATA_DIR": str(settings.data_dir.absolute()),
        f"{PREFIX}LISTEN": settings.listen,
    }


class _Loader:
    """Makes the application inside granian's own process; picklable, so that it can be sent there."""

    def __init__(self, settings: Settings, stopping: Connection) -> None:
        self._settings = settings
        self._stopping = stopping
        self._parent = os.getpid()

    def __call__(self, *_: object) -> Application:
        processes.watch_parent(self._parent, _leave_as_orphan)
        return serving_app(self._settings, self._stopping)


def _leave_as_orphan() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ORPHAN_S)
    os._exit(1)


def serving_app(settings: Settings, stopping: Connection | None = None) -> Application:
    """The ASGI application of a serving process; following the store begins and ends with its lifespan.

    As soon as there is something to read in `stopping`, the streams that hosts hold open are ended.
    """
    wiring.configure_logs(settings)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    store = wiring.prepare(settings)
    services = wiring.open_services(settings, store)
    telemetry = Telemetry(services, wiring.now)
    app, endpoint = open_doors(services, settings, telemetry)
    processes.collect_rarely()
    stop = threading.Event()
    follower = threading.Thread(target=wiring.follow, args=(services, settings, stop), name="follow", daemon=True)

    async def live(scope: Scope, receive: Receive, send: Send) -> None:
        follower.start()
        if stopping is not None:
            _watch(stopping, endpoint.end_streams)
        try:
            await app(scope, receive, send)
        finally:
            stop.set()
            await asyncio.to_thread(follower.join, FOLLOWER_STOP_S)
            services.close()

    def application(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        # No coroutine of its own: it would be one more for every request.
        return app(scope, receive, send) if scope["type"] != "lifespan" else live(scope, receive, send)

    return application


def _watch(stopping: Connection, end: Callable[[], None]) -> None:
    """Have `end` called once on the running event loop when there is something to read."""
    loop = asyncio.get_running_loop()

    def ready() -> None:
        # Left unread: a process that takes this one's place would have to see it too.
        loop.remove_reader(stopping.fileno())
        end()

    loop.add_reader(stopping.fileno(), ready)


def _raise_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
