"""`registry serve`: a serving process under granian, the sync worker beside it, supervised until told to stop."""

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import structlog
from granian import Granian
from granian.constants import Interfaces, Loops

from registry import wiring
from registry.api.app import create_app
from registry.settings import Settings
from registry.telemetry import Telemetry

WORKER_STOP_S = 6.0
FOLLOWER_STOP_S = 2.0
RESTART_MIN_S, RESTART_MAX_S = 0.5, 30.0
BACKLOG = 4_096
BACKPRESSURE = 65_536
"""Requests under way; granian's own 1,024 would stall a process completely that holds long polls."""
WORKERS_KILL_TIMEOUT_S = 8
OPEN_FILES = 65_536

log = structlog.get_logger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class WorkerSupervisor:
    """Keeps one sync worker process running, started again with growing pauses when it dies."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="worker-supervisor", daemon=True)

    def start(self) -> None:
        """Start the worker and the watch over it."""
        self._thread.start()

    def stop(self) -> None:
        """End the worker and wait for its end."""
        self._stop.set()
        self._thread.join(WORKER_STOP_S + 2)

    def _watch(self) -> None:
        pause_s = RESTART_MIN_S
        while not self._stop.is_set():
            started_at = time.monotonic()
            child = subprocess.Popen(
                [sys.executable, "-m", "registry.worker"],
                env={**os.environ, "REGISTRY_DATA_DIR": str(self._settings.data_dir.absolute())},
                start_new_session=True,
            )
            while child.poll() is None and not self._stop.wait(0.2):
                pass
            if self._stop.is_set():
                _end(child)
                return
            lived_s = time.monotonic() - started_at
            pause_s = RESTART_MIN_S if lived_s > RESTART_MAX_S else min(RESTART_MAX_S, 2 * pause_s)
            log.error("the sync worker ended; starting it again", code=child.returncode, pause_s=pause_s)
            self._stop.wait(pause_s)


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT, then drain and return. Raises SettingsInvalid, StoreFault."""
    wiring.configure_logs(settings)
    wiring.prepare(settings).close()
    _raise_open_files()
    supervisor = WorkerSupervisor(settings)
    server = Granian(
        "registry.serving",
        address=settings.listen_host,
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
    supervisor.start()
    try:
        server.serve(target_loader=_Loader(settings), wrap_loader=False)
    finally:
        supervisor.stop()


class _Loader:
    """Makes the application inside granian's own process; picklable, so that it can be sent there."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def __call__(self, *_: object) -> App:
        return serving_app(self._settings)


def serving_app(settings: Settings) -> App:
    """The ASGI application of a serving process; following the store begins and ends with its lifespan."""
    wiring.configure_logs(settings)
    store = wiring.prepare(settings)
    services = wiring.open_services(settings, store)
    telemetry = Telemetry(services, wiring.now)
    app: App = create_app(
        services,
        anonymous_read=settings.reads_openly,
        metrics=telemetry.text,
        observe=telemetry.observe,
    )
    stop = threading.Event()
    follower = threading.Thread(target=wiring.follow, args=(services, settings, stop), name="follow", daemon=True)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        follower.start()
        try:
            await app(scope, receive, send)
        finally:
            stop.set()
            await asyncio.to_thread(follower.join, FOLLOWER_STOP_S)
            services.close()

    return application


def _end(child: "subprocess.Popen[bytes]") -> None:
    child.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(WORKER_STOP_S)
    if child.poll() is None:
        child.kill()
        child.wait()


def _raise_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
