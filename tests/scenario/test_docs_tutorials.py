"""The pages for each kind of reader, typed as they stand there, against the demo that they name."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from serving import free_port
from shellblocks import commands, page

from registry.cli.demo import _await_ready, _register
from registry.cli.remote import Remote
from registry.demo import open_scene, running_server

# The page about every call comes last: it ends a registration.
PAGES = ["service-teams", "platform-teams", "hosts", "http-api"]
PAGE_WITHIN_S = 60.0
EXITS = re.compile(r"\s+# exits (\d)$")

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("bash", "curl", "jq", "sha256sum")), reason="the pages use these tools"
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What a reader's shell holds once the demo's export was typed."""
    folder = tmp_path_factory.mktemp("tutorials") / "demo"
    with open_scene(folder) as usual:
        # A port of its own: two demos that start at the same moment would both find the usual one free.
        scene = replace(usual, url=f"http://127.0.0.1:{free_port()}")
        remote = Remote(scene.url, scene.token)
        with running_server(scene) as server:
            _await_ready(remote, scene, server)
            _register(remote, scene)
            remote.close()
            yield {
                **os.environ,
                "REGISTRY_URL": scene.url,
                "REGISTRY_TOKEN": scene.token,
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "PAYMENTS": str(scene.repository("payments")),
                "PAYMENTS_URL": scene.remote("payments"),
                "CHECKOUT": str(scene.repository("checkout")),
            }


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
