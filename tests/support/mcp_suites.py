"""The MCP conformance suite and inspector, which are Node programs: where they are, and what they say of an endpoint."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "conformance"
EXPECTED_FAILURES = FOLDER / "expected-failures.yml"
PLACE = "TEST_MCP_SUITES"
"""The variable that names the folder in which tests/conformance/package.json was installed."""
NODE_MIN = (22, 19)
WITHIN_S = 300


@dataclass(frozen=True)
class Check:
    """One check of a scenario: SUCCESS, FAILURE, WARNING, SKIPPED or INFO."""

    id: str
    status: str
    message: str


@dataclass(frozen=True)
class Report:
    """What a run of the suite came to: its exit code, all that it printed, and scenario -> its checks."""

    code: int
    printed: str
    scenarios: Mapping[str, list[Check]]


@dataclass(frozen=True)
class Suites:
    """The installed programs, and the Node that runs them."""

    node: str
    modules: Path

    def conformance(self, url: str, folder: Path, more_expected: Sequence[str] = ()) -> Report:
        """The whole suite against a URL; `more_expected` are failures beside those of EXPECTED_FAILURES."""
        expected = folder / EXPECTED_FAILURES.name
        expected.write_text(EXPECTED_FAILURES.read_text() + "".join(f"  - {check}\n" for check in more_expected))
        done = self._run(
            "@modelcontextprotocol/conformance/dist/index.js",
            *("server", "--url", url, "--suite", "all"),
            *("--expected-failures", str(expected), "--output-dir", str(folder / "checks")),
            home=folder,
        )
        found = {}
        for file in sorted((folder / "checks").glob("*/checks.json")):
            name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", file.parent.name.removeprefix("server-"), count=1)
            checks = json.loads(file.read_text())
            found[name] = [Check(each["id"], each["status"], each.get("errorMessage") or "") for each in checks]
        return Report(done.returncode, done.stdout, found)

    def inspect(self, url: str, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """What the inspector says of a method, in the newer era."""
        return self._run(
            "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
            *("--cli", url, "--transport", "http", "--protocol-era", "modern", *arguments),
            home=folder,
        )

    def _run(self, script: str, *arguments: str, home: Path) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.node, str(self.modules / script), *arguments],
            # A home of its own: they keep files there.
            env={
                "PATH": f"{Path(self.node).parent}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(home),
                "NO_COLOR": "1",
            },
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )


def installed_suites() -> Suites:
    """The suites that are installed; skips the test, loudly, where they or a Node that is new enough are not."""
    place = os.environ.get(PLACE)
    if not place:
        pytest.skip(
            f"NOT TESTED: {PLACE} names no folder with the MCP suites; .ci/run installs them where npm is there."
        )
    modules = Path(place) / "node_modules"
    found = [*modules.glob("node-linux-*/bin/node"), *([usual] if (usual := shutil.which("node")) else [])]
    node = next((str(each) for each in found if _version(str(each)) >= NODE_MIN), None)
    if node is None or not (modules / "@modelcontextprotocol").is_dir():
        wanted = ".".join(map(str, NODE_MIN))
        pytest.skip(f"NOT TESTED: in {place} are no MCP suites with a Node of at least {wanted}.")
    return Suites(node, modules)


def _version(node: str) -> tuple[int, int]:
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    numbers = re.match(r"v(\d+)\.(\d+)", done.stdout)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
