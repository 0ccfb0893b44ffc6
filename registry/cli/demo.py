"""The command `demo`: sets the scene, tells the tour and waits for Ctrl-C."""

import subprocess
import time
from pathlib import Path

import click

from registry.cli.outcome import Misused, No, Unreachable
from registry.cli.remote import Remote, segment
from registry.cli.terminal import note, progress
from registry.cli.tour import tell, verify
from registry.demo import (
    FORGE,
    SERVICES,
    DemoFailed,
    Scene,
    break_playbook,
    log_tail,
    open_scene,
    running_server,
    stoppable,
)

READY_S = 60.0
STEP_S = 0.1
WAIT_S = 30.0


@click.command(
    epilog="""\b
Examples:
  registry demo
  registry demo --exit-after-tour"""
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="An empty or new folder to work in; default: a temporary one.",
)
@click.option("--exit-after-tour", is_flag=True, help="Check what the tour says, print it and stop.")
def demo(folder: Path | None, exit_after_tour: bool) -> None:  # noqa: FBT001 - click passes by name
    """Run a registry over example repositories and show what to try.

    Writes one central and three service repositories into a scratch folder, registers them, prints a tour and goes on
    running. Ctrl-C stops the registry and removes the folder.
    """
    with stoppable() as ignore_signals:
        try:
            with open_scene(folder) as scene, running_server(scene) as server:
                try:
                    _run(scene, server, exit_after_tour=exit_after_tour)
                finally:
                    ignore_signals()
        except KeyboardInterrupt:
            note("\nStopped; nothing is left behind.")
        except DemoFailed as error:
            raise Misused(str(error)) from None


def _run(scene: Scene, server: "subprocess.Popen[bytes]", *, exit_after_tour: bool) -> None:
    remote = Remote(scene.url, scene.token)
    try:
        with progress("Starting the registry"):
            _await_ready(remote, scene, server)
        with progress("Registering three service repositories"):
            _register(remote, scene)
        verify(remote)
    except (No, Misused, Unreachable) as error:
        raise Unreachable(f"{error}\nThe registry's last log lines:\n{log_tail(scene)}") from None
    finally:
        remote.close()
    tell(scene)
    if exit_after_tour:
        return
    server.wait()
    raise Unreachable(f"the registry stopped by itself. Its last log lines:\n{log_tail(scene)}")


def _await_ready(remote: Remote, scene: Scene, server: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + READY_S
    while True:
        try:
            remote.get("/readyz")
        except Unreachable:
            if server.poll() is not None:
                raise Unreachable(f"the registry ended with code {server.returncode} while starting.") from None
            if time.monotonic() > end:
                raise Unreachable(f"the registry at {scene.url} was not ready within {READY_S:g} s.") from None
            time.sleep(STEP_S)
        else:
            return


def _register(remote: Remote, scene: Scene) -> None:
    for name in SERVICES:
        path = f"/v1/repositories/{segment(f'{FORGE}/{name}')}"
        remote.call("PUT", path, body={"url": scene.remote(name), "team": name}, wait_s=WAIT_S)
    # It was good when it was registered; only then comes the commit that breaks it, so there is a copy to hold.
    break_playbook(scene)
    remote.call("POST", f"/v1/repositories/{segment(f'{FORGE}/legacy-billing')}/sync", wait_s=WAIT_S)
