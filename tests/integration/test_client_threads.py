"""registry.client from many threads at once, while the registry and the working copy change; and its notices."""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gitserver import ENVIRONMENT
from standin import REPOSITORY, Request, Standin, document, reply, standing_in
from world import playbook

from registry.client import Catalog
from registry.client.connection import Connection
from registry.digest import canonical, digest_of
from registry.errors import RegistryError, Unavailable, Untrusted
from registry.mcp.bridge import Bridge

THREADS = 16
SECONDS = 4.0
NAMES = [f"p-{n:02}" for n in range(12)]


@pytest.fixture
def standin() -> Iterator[Standin]:
    with standing_in() as made:
        yield made


def version(number: int) -> list[dict[str, object]]:
    """The documents of one state of the registry: each says which."""
    return [document(name, purpose=f"Do {name}, state {number}.") for name in NAMES]


def states(entries: object) -> set[str]:
    """The states that entries of the registry's are of."""
    served = [each for each in entries if each["source"]["kind"] != "worktree"]
    return {each["purpose"].rpartition(" ")[2] for each in served}


def test_sixteen_threads_see_one_snapshot_each_time(standin: Standin, tmp_path: Path):
    copy = tmp_path / "copy"
    for arguments in (
        ["init", "--quiet", str(copy)],
        ["-C", str(copy), "commit", "--quiet", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", *arguments], check=True, env=ENVIRONMENT)
    (copy / "playbooks").mkdir()
    standin.contracts = version(0)
    catalog = Catalog.open(REPOSITORY, path=copy, url=standin.url, cache=tmp_path / "cache", refresh_s=0.05)
    end, faults, turns = time.monotonic() + SECONDS, [], []

    def use(number: int) -> None:
        turn = 0
        try:
            while time.monotonic() < end:
                work[(number + turn) % len(work)]()
                turn += 1
        except BaseException as fault:  # noqa: BLE001 - whatever it is, the test must see it
            faults.append(fault)
        turns.append(turn)

    def get() -> None:
        found = catalog.get(NAMES[3])
        assert digest_of(canonical(found.entry["contract"])) == found.entry["digest"]
        assert found.entry["contract"]["purpose"] == found.entry["purpose"]

    def search() -> None:
        found = catalog.search("the state", limit=20)
        assert len(states(found.entries)) == 1
        assert len({each["name"] for each in found.entries}) == len(found.entries)

    def entries() -> None:
        assert len(states(catalog.entries())) == 1

    work = [get, search, entries, catalog.refresh, lambda: catalog.state, catalog.prepare]
    threads = [threading.Thread(target=use, args=(number,), daemon=True) for number in range(THREADS)]
    with catalog:
        for thread in threads:
            thread.start()
        number = 0
        while time.monotonic() < end:
            number += 1
            standin.contracts = version(number)
            (copy / "playbooks" / "mine.yaml").write_text(playbook("mine", version=f"1.0.{number}"))
            time.sleep(0.05)
        for thread in threads:
            thread.join(30)
        assert not [thread for thread in threads if thread.is_alive()], "a thread waits for ever"
        assert faults == []
        assert len(turns) == THREADS
        assert min(turns) > 0
        catalog.refresh()
        assert states(catalog.entries()) == {f"{number}."}
        assert catalog.get("mine").entry["version"] == f"1.0.{number}"


def test_threads_that_come_first_ask_the_registry_once(standin: Standin, tmp_path: Path):
    standin.contracts = version(0)
    with Catalog.open(REPOSITORY, url=standin.url, cache=tmp_path / "cache") as catalog:
        together(THREADS, lambda: catalog.search("do it"))
    asked = [f"{request.path}?{request.query}" for request in standin.requests]
    assert len(asked) == len(set(asked)) <= 3


def test_all_that_wait_for_a_first_catalog_are_told_why_there_is_none(standin: Standin, tmp_path: Path):
    standin.answer = lambda _: reply(500)
    with Catalog.open(REPOSITORY, url=standin.url, cache=tmp_path / "cache") as catalog:
        faults = together(THREADS, lambda: catalog.search("do it"))
    assert [type(fault) for fault in faults] == [Unavailable] * THREADS
    assert len(standin.requests) < 6


def together(count: int, work: Callable[[], object]) -> list[BaseException]:
    """What the same work in so many threads raised."""
    faults: list[BaseException] = []

    def do() -> None:
        try:
            work()
        except RegistryError as fault:
            faults.append(fault)

    threads = [threading.Thread(target=do) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return faults


# Notices

NOTICE = b'data: {"jsonrpc":"2.0","method":"notifications/resources/list_changed"}\n\n'
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


def test_a_flood_of_notices_has_the_registry_asked_no_more_than_once_a_second(standin: Standin, tmp_path: Path):
    def answer(request: Request) -> Iterator[bytes] | None:
        return standin.trickle(STREAM, NOTICE * 50, 0.01) if request.path.startswith("/mcp") else None

    standin.answer = answer
    bridge = Bridge(lambda: Catalog.open(REPOSITORY, url=standin.url, cache=tmp_path / "cache"))
    bridge.start()
    time.sleep(4.0)
    bridge.end()
    asked = [path for path in standin.paths() if path.startswith("/v1/catalogs")]
    assert 2 <= len(asked) <= 6
    assert len([path for path in standin.paths() if path.startswith("/mcp")]) == 1


WRONG: dict[str, tuple[Callable[[Standin], object], type[RegistryError]]] = {
    "a line without end": (lambda standin: standin.trickle(STREAM, b"x" * 100_000), Untrusted),
    "an end in the middle": (lambda _: [b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + NOTICE[:20]], Unavailable),
    "headers without end": (lambda standin: standin.trickle(b"HTTP/1.1 200 OK\r\nX: "), Unavailable),
    "no such call": (lambda _: reply(404), Untrusted),
}


@pytest.fixture
def connection(standin: Standin) -> Iterator[Connection]:
    made = Connection(standin.url, timeout_s=1.0)
    yield made
    made.close()


@pytest.mark.parametrize("case", WRONG)
def test_a_stream_that_goes_wrong_is_a_typed_error(standin: Standin, connection: Connection, case: str):
    raw, kind = WRONG[case]
    standin.answer = lambda _: raw(standin)
    with pytest.raises(kind):
        list(connection.stream("/mcp", {}, headers={}, timeout_s=2.0))


def test_a_stream_that_ends_is_read_to_its_end(standin: Standin, connection: Connection):
    standin.answer = lambda _: [STREAM + NOTICE]
    lines = list(connection.stream("/mcp", {}, headers={}, timeout_s=2.0))
    assert [json.loads(line[5:])["method"] for line in lines if line] == ["notifications/resources/list_changed"]


def test_a_bridge_survives_whatever_its_streams_do(standin: Standin, tmp_path: Path):
    answers = iter([reply(500), [STREAM], standin.trickle(STREAM, b"x" * 100_000), reply(404)])
    standin.answer = lambda request: next(answers, reply(404)) if request.path.startswith("/mcp") else None
    bridge = Bridge(lambda: Catalog.open(REPOSITORY, url=standin.url, cache=tmp_path / "cache"))
    seen: list[object] = []
    before, threading.excepthook = threading.excepthook, seen.append
    try:
        bridge.start()
        time.sleep(3.0)
        result = bridge.call("get_playbook", {"name": "deploy"})
        bridge.end()
    finally:
        threading.excepthook = before
    assert not result["isError"]
    assert seen == []
