"""The bridge as a process: how it begins, lives beside others, and ends, wherever it was started."""

import json
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from gitserver import ENVIRONMENT
from standin import Request, Standin, document, problem, standing_in

from registry.client.cache import default_folder
from registry.digest import canonical, digest_of

COMMAND = str(Path(sys.executable).with_name("registry"))
END_S = 5.0
"""What an end "at once" may take on a slow machine: a process that waits for something waits ten seconds."""
REMOTE = "https://github.com/acme/app.git"
SEARCH = {"name": "search_playbooks", "arguments": {"task": "deploy"}}


@pytest.fixture(scope="module")
def standin() -> Iterator[Standin]:
    with standing_in() as made:
        made.contracts = [document(f"deploy-{n:03}", purpose="Deploy a service. " * 20) for n in range(200)]
        yield made


@pytest.fixture
def hanging() -> Iterator[Standin]:
    """A registry that answers nobody."""
    with standing_in() as made:
        made.answer = lambda _: made.hang()
        yield made


def git(folder: Path, *arguments: str | bytes) -> None:
    subprocess.run(["git", "-C", os.fsencode(folder), *arguments], check=True, capture_output=True, env=ENVIRONMENT)


def working_copy(folder: Path, **files: str) -> Path:
    """A committed working copy whose remote is REMOTE; `__` in a keyword is a slash."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "remote", "add", "origin", REMOTE)
    for name, text in {"README": "x", **files}.items():
        place = folder / name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


def environment(standin: Standin, cache: Path | str | None, **others: str) -> dict[str, str]:
    told = {**ENVIRONMENT, "REGISTRY_URL": standin.url, **others}
    return told if cache is None else {**told, "REGISTRY_CACHE_DIR": str(cache)}


def request(method: str, number: int = 1, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


CALL = request("tools/call", **SEARCH)
PING = request("ping")


@contextmanager
def bridge(
    told: dict[str, str], *arguments: str | bytes, cwd: Path | None = None, **options: object
) -> Iterator["subprocess.Popen[bytes]"]:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([COMMAND, "mcp", *arguments], env=told, cwd=cwd, **{**pipes, **options})
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None and not pipe.closed:
                with suppress(BrokenPipeError):
                    pipe.close()


def ask(process: "subprocess.Popen[bytes]", message: bytes = CALL) -> dict:
    """The answer to one request."""
    process.stdin.write(message)
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def body(answer: dict) -> dict:
    return answer["result"]["structuredContent"]


def found(answer: dict) -> list[str]:
    assert not answer["result"]["isError"], answer
    return [row["name"] for row in body(answer)["results"]]


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, float, bytes]:
    """(exit code, seconds until the end, what it said on standard error)."""
    began_at = time.monotonic()
    code = process.wait(30)
    return code, time.monotonic() - began_at, process.stderr.read()


# The end


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_it_at_once_and_in_silence(hanging: Standin, tmp_path: Path, number: signal.Signals, busy: bool):
    copy = working_copy(tmp_path / "copy")
    with bridge(environment(hanging, tmp_path / "cache"), "--repo", str(copy)) as process:
        assert ask(process, PING)["result"] == {}
        if busy:
            process.stdin.write(CALL)
            process.stdin.flush()
            wait_until(lambda: hanging.requests)
        process.send_signal(number)
        code, seconds, said = ended(process)
    assert (code, said) == (128 + number, b"")
    assert seconds < END_S


def test_the_end_of_its_input_ends_it_while_the_catalog_is_being_fetched(hanging: Standin, tmp_path: Path):
    copy = working_copy(tmp_path / "copy")
    with bridge(environment(hanging, tmp_path / "cache"), "--repo", str(copy)) as process:
        ask(process, PING)
        wait_until(lambda: hanging.requests)
        process.stdin.close()
        code, seconds, said = ended(process)
    assert (code, said) == (0, b"")
    assert seconds < END_S


def test_the_end_of_its_input_ends_it_though_a_call_waits_for_a_registry_that_hangs(hanging: Standin, tmp_path: Path):
    copy = working_copy(tmp_path / "copy")
    with bridge(environment(hanging, tmp_path / "cache"), "--repo", str(copy)) as process:
        process.stdin.write(CALL)
        process.stdin.close()
        code, seconds, said = ended(process)
    assert code == 0
    assert said == b"The host closed its end while 1 of its calls had no answer yet.\n"
    assert seconds < END_S


def test_calls_under_way_are_answered_before_it_ends(standin: Standin, tmp_path: Path):
    copy = working_copy(tmp_path / "copy")
    told = environment(standin, tmp_path / "cache")
    with bridge(told, "--repo", str(copy)) as process:
        ask(process)
    with bridge(told, "--repo", str(copy)) as process:
        written, said = process.communicate(CALL * 3, timeout=30)
    assert [len(found(json.loads(line))) for line in written.splitlines()] == [5, 5, 5]
    assert (process.returncode, said) == (0, b"")


def test_an_output_that_nobody_reads_any_more_is_no_crash(standin: Standin, tmp_path: Path):
    copy = working_copy(tmp_path / "copy")
    with bridge(environment(standin, tmp_path / "cache"), "--repo", str(copy)) as process:
        process.stdout.close()
        process.stdin.write(PING * 100 + CALL)
        process.stdin.close()
        code, seconds, said = ended(process)
    assert (code, said) == (0, b"")
    assert seconds < END_S


def test_a_host_that_never_reads_makes_it_neither_swell_nor_outlive_a_signal(standin: Standin, tmp_path: Path):
    copy = working_copy(tmp_path / "copy")
    with bridge(environment(standin, tmp_path / "cache"), "--repo", str(copy)) as process:
        ask(process)
        os.set_blocking(process.stdin.fileno(), False)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            try:
                os.write(process.stdin.fileno(), CALL * 50)
            except BlockingIOError:
                time.sleep(0.05)
        assert resident_mib(process.pid) < 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(END_S) == 128 + signal.SIGTERM


def test_messages_that_could_break_it_are_each_answered(standin: Standin, tmp_path: Path):
    lines = [
        b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_playbook","arguments":{"name":"deploy-001","inputs":{"x":NaN}}}}',
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_playbook","arguments":{"name":"deploy-001","inputs":{"x":"\\ud800"}}}}',
        b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"execute_playbook","arguments":{"name":"deploy-001","inputs":{"x":1e999}}}}',
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"get_playbook","arguments":{"name":"' + b"x" * 5_000 + b'"}}}',
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"search_playbooks","arguments":{"task":["x"]}}}',
        b'{"jsonrpc":"2.0","id":' + b"[" * 900 + b"]" * 900 + b',"method":"ping"}',
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":6,"method":"ping"}',
    ]  # fmt: skip
    copy = working_copy(tmp_path / "copy")
    with bridge(environment(standin, tmp_path / "cache"), "--repo", str(copy)) as process:
        ask(process)
        written, said = process.communicate(b"\n".join(lines) + b"\n", timeout=30)
    answers = [json.loads(line, parse_constant=pytest.fail) for line in written.splitlines()]
    assert (len(answers), process.returncode, said) == (len(lines), 0, b"")
    assert {answer["id"] for answer in answers if isinstance(answer["id"], int)} == {2, 3, 4, 5, 6}


# Places


def sources(standin: Standin, *arguments: str | bytes, cwd: Path, cache: Path) -> tuple[dict, dict]:
    """(name -> kind of its source, state) of what a bridge that is started like that finds."""
    with bridge(environment(standin, cache), *arguments, cwd=cwd) as process:
        answer = ask(process, request("tools/call", name="search_playbooks", arguments={"task": "mine", "limit": 20}))
    assert not answer["result"]["isError"], answer
    return {row["name"]: row["source"]["kind"] for row in body(answer)["results"]}, body(answer)["state"]


MINE = "playbook: 1\nname: mine\nversion: 1.0.0\nowner: me\npurpose: Do mine.\nsteps:\n  - {id: act, instruction: Do it.}\n"


def edited(copy: Path, folder: str = "playbooks") -> Path:
    place = copy / folder / "mine.yaml"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(MINE)
    return copy


def test_a_path_with_spaces_and_bytes_that_are_no_text(standin: Standin, tmp_path: Path):
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a \xff\xfe copy"))
    copy = edited(working_copy(place))
    (copy / os.fsdecode(b"playbooks/\xff.yaml")).write_text(MINE.replace("mine", "mine-too"))
    seen, _ = sources(standin, "--repo", os.fsencode(copy), cwd=tmp_path, cache=tmp_path / "cache")
    assert seen["mine"] == "worktree"
    assert sources(standin, "--repo", ".", cwd=copy, cache=tmp_path / "cache")[0] == seen


def test_a_linked_worktree(standin: Standin, tmp_path: Path):
    copy = working_copy(tmp_path / "copy")
    git(copy, "worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "other")
    edited(tmp_path / "linked")
    assert sources(standin, "--repo", "linked", cwd=tmp_path, cache=tmp_path / "cache")[0]["mine"] == "worktree"
    assert "mine" not in sources(standin, "--repo", "copy", cwd=tmp_path, cache=tmp_path / "cache")[0]


def test_a_shallow_clone(standin: Standin, tmp_path: Path):
    origin = working_copy(tmp_path / "origin")
    git(origin, "commit", "--quiet", "--allow-empty", "--message", "second")
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{origin}", str(tmp_path / "shallow"))
    git(tmp_path / "shallow", "remote", "set-url", "origin", REMOTE)
    edited(tmp_path / "shallow")
    seen, state = sources(standin, "--repo", "shallow", cwd=tmp_path, cache=tmp_path / "cache")
    assert seen["mine"] == "worktree"
    assert state["repository"] == "github.com/acme/app"


@pytest.mark.parametrize("place", ["bare", "no repository", "not there"])
def test_a_place_that_is_no_working_copy_says_so_in_every_answer(standin: Standin, tmp_path: Path, place: str):
    if place == "bare":
        git(tmp_path, "init", "--quiet", "--bare", str(tmp_path / place))
    elif place == "no repository":
        (tmp_path / place).mkdir()
    with bridge(environment(standin, tmp_path / "cache"), "--repo", str(tmp_path / place)) as process:
        answer = ask(process)
    assert answer["result"]["isError"]
    assert "is no git working copy: say which repository is meant" in body(answer)["detail"]


def test_a_bare_repository_whose_id_is_given_has_its_catalog(standin: Standin, tmp_path: Path):
    git(tmp_path, "init", "--quiet", "--bare", str(tmp_path / "bare"))
    told = environment(standin, tmp_path / "cache")
    with bridge(told, "--repo", str(tmp_path / "bare"), "--repository", REMOTE) as process:
        assert len(found(ask(process))) == 5


def test_a_current_folder_that_is_gone(standin: Standin, tmp_path: Path):
    (tmp_path / "gone").mkdir()
    script = 'cd "$1" && rmdir "$1" && exec "$2" mcp "${@:3}"'
    for arguments, is_error in (([], True), (["--repository", REMOTE], False)):
        (tmp_path / "gone").mkdir(exist_ok=True)
        done = subprocess.run(
            ["bash", "-c", script, "bash", str(tmp_path / "gone"), COMMAND, *arguments],
            input=PING + CALL, capture_output=True, env=environment(standin, tmp_path / "cache"), timeout=60, check=True,
        )  # fmt: skip
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert [answer["result"].get("isError", False) for answer in answers] == [False, is_error], done
        assert b"Traceback" not in done.stderr


def test_a_folder_of_a_monorepo_is_a_service_of_its_own_where_it_is_registered(standin: Standin, tmp_path: Path):
    copy = working_copy(tmp_path / "copy", services__pay__README="x", services__pay__deep__README="x")
    edited(copy, "services/pay/playbooks")
    asked: list[str] = []

    def answer(request: Request) -> bytes | None:
        asked.append(f"{request.path}?{request.query}")
        is_pay = request.path.endswith("%2F-%2Fservices%2Fpay")
        if "registered=required" in request.query and not is_pay:
            return problem(404, "repository-unknown", "nobody registered it.")
        return None

    standin.answer = answer
    try:
        seen, _ = sources(standin, "--repo", "copy/services/pay/deep", cwd=tmp_path, cache=tmp_path / "cache")
        assert seen["mine"] == "worktree"
        assert "deep?registered=required" in asked[0]
        assert "services%2Fpay?registered=required" in asked[1]
    finally:
        standin.answer = lambda _: None


# Caches


def caches() -> dict[str, Callable[[Path], object]]:
    """What stands where the cache should: "below a file" and "the kernel's own" have their folder elsewhere."""
    return {
        "the kernel's own": lambda _: None,
        "a file": lambda folder: (folder / "cache").write_text("x"),
        "below a file": lambda folder: (folder / "cache").write_text("x"),
        "not to be written": lambda folder: (folder / "cache").mkdir(mode=0o500),
        "a link that leads nowhere": lambda folder: (folder / "cache").symlink_to("/nonexistent/there"),
        "a pipe": lambda folder: os.mkfifo(folder / "cache"),
    }


@pytest.mark.parametrize("case", caches())
def test_a_cache_that_cannot_be_used_costs_only_time(standin: Standin, tmp_path: Path, case: str):
    caches()[case](tmp_path)
    copy = working_copy(tmp_path / "copy")
    elsewhere = {"below a file": tmp_path / "cache" / "below", "the kernel's own": Path("/proc/cache")}
    cache = elsewhere.get(case, tmp_path / "cache")
    with bridge(environment(standin, cache), "--repo", str(copy)) as process:
        assert len(found(ask(process))) == 5
        process.stdin.close()
        assert process.stdout.read() == b""
        assert ended(process)[::2] == (0, b"")


def test_a_full_disk_costs_only_time(standin: Standin, tmp_path: Path):
    # No file may grow over a kilobyte, which is how a full disk looks to whoever writes.
    copy = working_copy(tmp_path / "copy")
    script = 'ulimit -f 1; exec "$@"'
    told = {**environment(standin, tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["bash", "-c", f"trap '' XFSZ; {script}", "bash", COMMAND, "mcp", "--repo", str(copy)],
        input=CALL, capture_output=True, env=told, timeout=60, check=True,
    )  # fmt: skip
    assert len(found(json.loads(done.stdout))) == 5
    assert done.stderr == b""
    left = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert all(not path.name.startswith(".") for path in left)


def test_without_a_home_nothing_is_written_where_it_was_started(standin: Standin, tmp_path: Path):
    copy = working_copy(tmp_path / "copy")
    told = {**environment(standin, None), "XDG_CACHE_HOME": "not-absolute", "HOME": "nor-this"}
    with bridge(told, "--repo", ".", cwd=copy) as process:
        assert len(found(ask(process))) == 5
    assert sorted(path.name for path in copy.iterdir()) == [".git", "README"]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"HOME": "/home/ada"}, "/home/ada/.cache/playbook-registry"),
        ({"HOME": "/home/ada", "XDG_CACHE_HOME": "/var/cache/ada"}, "/var/cache/ada/playbook-registry"),
        ({"HOME": "/home/ada", "XDG_CACHE_HOME": "not-absolute"}, "/home/ada/.cache/playbook-registry"),
        ({"REGISTRY_CACHE_DIR": "/x", "HOME": "/home/ada", "XDG_CACHE_HOME": "/var"}, "/x"),
        ({"HOME": "not-absolute"}, "None"),
        ({}, str(Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "playbook-registry")),
        ({"HOME": ""}, str(Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "playbook-registry")),
    ],
)
def test_where_a_users_cache_is(told: dict[str, str], expected: str):
    assert str(default_folder(told)) == expected


def test_a_pipe_in_the_place_of_a_kept_file_is_not_waited_for(standin: Standin, tmp_path: Path):
    copy = working_copy(tmp_path / "copy")
    told = environment(standin, tmp_path / "cache")
    with bridge(told, "--repo", str(copy)) as process:
        ask(process)
    for kept in (tmp_path / "cache").glob("*/*"):
        kept.unlink()
        os.mkfifo(kept)
    with bridge(told, "--repo", str(copy)) as process:
        assert len(found(ask(process))) == 5


def test_twenty_that_start_together_on_an_empty_cache_do_not_hinder_each_other(standin: Standin, tmp_path: Path):
    copy, cache, count = working_copy(tmp_path / "copy"), tmp_path / "cache", 20
    told = environment(standin, cache)
    command = [COMMAND, "mcp", "--repo", str(copy)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    processes = [subprocess.Popen(command, env=told, **pipes) for _ in range(count)]
    try:
        for process in processes:
            process.stdin.write(CALL)
            process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for process in processes]
        written = [written_bytes(process.pid) for process in processes]
        ends = [process.communicate(timeout=30) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert {len(found(answer)) for answer in answers} == {5}
    assert {said for _, said in ends} == {b""}
    kept = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    assert sum(written) < kept + 4 * 2**20
    assert list(cache.rglob(".*")) == []
    documents = {path.name: path.read_bytes() for path in (cache / "documents").iterdir()}
    expected = [canonical(each) for each in standin.contracts]
    assert documents == {digest_of(each).removeprefix("sha256:"): each for each in expected}


def written_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))


def resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def wait_until(check: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end
        time.sleep(0.02)
