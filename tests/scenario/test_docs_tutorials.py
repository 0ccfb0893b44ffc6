"""The pages for each kind of reader, typed as they stand there, against the demo that they name."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from shellblocks import commands, page

# The page about every call comes last: it ends a registration.
PAGES = ["service-teams", "platform-teams", "hosts", "http-api"]
TELLS_WITHIN_S = 90.0
PAGE_WITHIN_S = 60.0
EXITS = re.compile(r"\s+# exits (\d)$")

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("bash", "curl", "jq", "sha256sum")), reason="the pages use these tools"
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What a reader's shell holds once the demo's export was typed."""
    folder = tmp_path_factory.mktemp("tutorials") / "demo"
    log = folder.with_suffix(".out")
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "registry.cli", "demo", "--dir", str(folder)], stdout=out, stderr=subprocess.STDOUT
        )
    try:
        end = time.monotonic() + TELLS_WITHIN_S
        while "Ctrl-C" not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        repositories = folder.resolve() / "acme"
        yield {
            **os.environ,
            **dict(re.findall(r"(REGISTRY_\w+)=(\S+)", log.read_text())),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PAYMENTS": str(repositories / "payments"),
            "PAYMENTS_URL": (repositories / "payments").as_uri(),
            "CHECKOUT": str(repositories / "checkout"),
        }
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def script(name: str) -> str:
    """A page's commands as one bash script that ends at the first that does not exit as the page says."""
    lines = ["set -uo pipefail"]
    for command in commands(page(f"docs/{name}.md")):
        said = EXITS.search(command)
        wanted = said[1] if said else "0"
        typed = EXITS.sub("", command)
        quoted = "'" + typed.replace("'", "'\\''") + "'"
        lines += [
            typed,
            f'code=$?; [ "$code" = {wanted} ] || {{ echo "exited $code, not {wanted}: "{quoted} >&2; exit 99; }}',
        ]
    return "\n".join(lines)


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_does_what_the_page_says(name: str, environment: dict[str, str], tmp_path: Path):
    done = subprocess.run(
        ["bash", "-c", script(name)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PAGE_WITHIN_S,
    )
    (tmp_path / "out").write_text(done.stdout)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    # curl exits 0 whatever the status: what the API refused is to be seen in its answers, but where the page says so.
    refused = re.findall(r'"type":"/problems/([a-z-]+)"', done.stdout)
    assert refused == (["conflict"] if name == "http-api" else [])


def test_every_page_for_a_reader_has_commands():
    assert all(len(commands(page(f"docs/{name}.md"))) >= 5 for name in PAGES)
