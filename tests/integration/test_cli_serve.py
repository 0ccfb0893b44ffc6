"""`registry serve` where it cannot start: exit 2 and a sentence, before anything is started."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from cli import run
from click.testing import Result


def serve(folder: Path, listen: str = "127.0.0.1:1", **environment: str) -> Result:
    remote = {"REGISTRY_CENTRAL_URL": "https://github.com/acme/playbooks", **environment}
    return run("serve", "--data-dir", str(folder), "--listen", listen, **remote)


def test_an_address_that_is_taken_exits_2_and_names_the_setting(tmp_path: Path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        result = serve(tmp_path, f"127.0.0.1:{other.getsockname()[1]}")
    assert (result.exit_code, "REGISTRY_LISTEN" in result.stderr) == (2, True)


def test_a_data_folder_that_cannot_be_written_exits_2_and_names_the_setting(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    result = serve(tmp_path / "file" / "data")
    assert (result.exit_code, "REGISTRY_DATA_DIR" in result.stderr) == (2, True)


def test_a_central_remote_that_may_not_be_read_exits_2(tmp_path: Path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{probe.getsockname()[1]}"
    # A process of its own: it sets up logging, which would outlive the test.
    done = subprocess.run(
        [sys.executable, "-m", "registry.cli", "serve", "--data-dir", str(tmp_path), "--listen", listen],
        env={**os.environ, "REGISTRY_CENTRAL_URL": "ext::sh -c evil"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.startswith("Error: ")) == (2, True)
