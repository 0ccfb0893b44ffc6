"""`registry demo` as somebody runs it: the stories told are true by every door, and Ctrl-C leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

DEMO = (sys.executable, "-m", "registry.cli", "demo")
TELLS_WITHIN_S = 90.0
STOPS_WITHIN_S = 20.0


@dataclass(frozen=True)
class Demo:
    process: subprocess.Popen
    folder: Path
    told: str
    environment: dict[str, str]

    def registry(self, *arguments: str) -> subprocess.CompletedProcess:
        """What a command of the tour answers."""
        command = [sys.executable, "-m", "registry.cli", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)

    def get(self, path: str) -> dict:
        """What a URL of the tour answers."""
        with urllib.request.urlopen(self.environment["REGISTRY_URL"] + path, timeout=10) as answer:
            return json.load(answer)

    def family(self) -> set[int]:
        """The processes that the demo started, and those that they started."""
        parents: dict[int, int] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                except OSError:
                    continue
        found = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found


@contextmanager
def running_demo(folder: Path) -> Iterator[Demo]:
    """A demo in `folder` that has told its tour; killed with all that it started, should a test forget it."""
    log = folder.with_suffix(".out")
    with log.open("wb") as out:
        process = subprocess.Popen([*DEMO, "--dir", str(folder)], stdout=out, stderr=subprocess.STDOUT)
    demo = None
    try:
        end = time.monotonic() + TELLS_WITHIN_S
        while "Ctrl-C" not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        told = log.read_text()
        settings = dict(re.findall(r"(REGISTRY_\w+)=(\S+)", told))
        demo = Demo(process, folder, told, {**os.environ, **settings})
        yield demo
    finally:
        for pid in demo.family() if demo is not None and process.poll() is None else ():
            os.kill(pid, signal.SIGKILL)
        if process.poll() is None:
            process.terminate()
        process.wait(STOPS_WITHIN_S)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with running_demo(tmp_path_factory.mktemp("demo") / "scratch") as running:
        yield running
        end(running, signal.SIGTERM)


def end(demo: Demo, kind: signal.Signals) -> None:
    """Stop a demo by a signal, sent twice as impatient people do, and see that all of it is gone."""
    family = demo.family()
    assert len(family) >= 3
    demo.process.send_signal(kind)
    demo.process.send_signal(kind)
    assert demo.process.wait(STOPS_WITHIN_S) == 0
    assert not demo.folder.exists()
    assert [pid for pid in family if Path(f"/proc/{pid}").exists()] == []


def test_the_local_copy_wins_at_home(demo: Demo):
    result = demo.registry("explain", "rotate-signing-key", "--repository", "github.com/acme/payments")
    assert result.returncode == 0
    assert "local_wins" in result.stdout


@pytest.mark.parametrize("elsewhere", ["checkout", "legacy-billing", "nobody-registered-this"])
def test_the_local_copy_serves_nowhere_else(demo: Demo, elsewhere: str):
    path = f"/v1/playbooks/rotate-signing-key/explain?repository=github.com/acme/{elsewhere}"
    assert demo.get(path)["serving"]["source"]["kind"] == "central"


def test_the_required_playbook_holds(demo: Demo):
    told = demo.get("/v1/playbooks/deploy-rollback/explain?repository=github.com/acme/checkout")
    assert told["outcome"] == "required_holds"
    assert told["serving"]["source"]["kind"] == "central"


def test_the_refused_copy_is_listed_with_its_file(demo: Demo):
    (refused,) = demo.get("/v1/catalogs/github.com/acme/checkout")["refused"]
    assert refused["source"]["path"] == "playbooks/deploy_rollback.yaml"
    assert "checkout/playbooks/deploy_rollback.yaml" in demo.registry("catalog", "github.com/acme/checkout").stdout


def test_the_broken_file_is_reported_with_line_and_column(demo: Demo):
    result = demo.registry("repositories", "github.com/acme/legacy-billing")
    assert "playbooks/replay-invoices.yaml:15:1: error unknown-key" in result.stdout


def test_what_was_good_before_is_held_and_everything_else_serves(demo: Demo):
    entries = {item["name"]: item for item in demo.get("/v1/catalogs/github.com/acme/legacy-billing")["entries"]}
    assert entries["replay-invoices"]["held"]["problem"]["line"] == 15
    assert entries["reissue-invoice"]["held"] is None
    assert entries["deploy-rollback"]["source"]["kind"] == "central"


def test_what_was_never_good_is_unavailable_and_explain_exits_1(demo: Demo):
    result = demo.registry("explain", "close-billing-month", "--repository", "github.com/acme/legacy-billing")
    assert result.returncode == 1
    assert "unavailable" in result.stdout


def test_every_command_of_the_tour_works(demo: Demo):
    commands = re.findall(
        r"^  \S*registry ((?:explain|catalog|repositories|search|check|policy) .*)$", demo.told, re.MULTILINE
    )
    assert len(commands) >= 8
    for command in commands:
        words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', command)]
        assert demo.registry(*words).returncode in {0, 1}, command


def test_every_url_of_the_tour_answers(demo: Demo):
    urls = re.findall(r"curl -s '?(http[^'\s]+)", demo.told)
    assert len(urls) >= 4
    for url in urls:
        demo.get(url.removeprefix(demo.environment["REGISTRY_URL"]))


def test_a_commit_in_one_of_its_repositories_is_served(demo: Demo):
    repository = demo.folder / "acme" / "payments"
    file = repository / "playbooks" / "rotate-signing-key.yaml"
    file.write_text(file.read_text().replace("version: 1.4.0-payments.2", "version: 1.4.0-payments.3"))
    subprocess.run(["git", "-C", str(repository), "commit", "-qam", "Next"], check=True)
    assert demo.registry("sync", "github.com/acme/payments").returncode == 0
    told = demo.get("/v1/playbooks/rotate-signing-key?repository=github.com/acme/payments")
    assert told["version"] == "1.4.0-payments.3"


def test_ctrl_c_ends_it_and_nothing_is_left_behind(tmp_path: Path):
    with running_demo(tmp_path / "scratch") as demo:
        end(demo, signal.SIGINT)


def test_it_can_tell_and_stop(tmp_path: Path):
    folder = tmp_path / "scratch"
    done = subprocess.run(
        [*DEMO, "--dir", str(folder), "--exit-after-tour"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "A required playbook holds" in done.stdout
    assert not folder.exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path):
    (tmp_path / "mine.txt").write_text("kept")
    done = subprocess.run([*DEMO, "--dir", str(tmp_path)], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, (tmp_path / "mine.txt").read_text()) == (2, "kept")
