"""registry.client before registries that are broken, hostile, slow or none at all: a typed error, or the last good
catalog and a word on why."""

import contextlib
import functools
import gzip
import json
import subprocess
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
import zstandard
from gitserver import ENVIRONMENT
from standin import PROBLEM, REPOSITORY, Request, Standin, document, entry, problem, reply, snapshot, standing_in

from registry.client import Catalog
from registry.client.following import CATALOG_BYTES_MAX
from registry.client.snapshot import read_snapshot
from registry.digest import canonical, digest_of
from registry.errors import (
    Forbidden,
    Refused,
    RegistryError,
    RequestInvalid,
    SettingsInvalid,
    Unauthenticated,
    Unavailable,
    Unknown,
    Untrusted,
)

SECONDS = 5.0
"""What a call may take that waits no longer than it must, on a slow machine."""
HTML = b"<html><body>Please log in to this hotel's network</body></html>"


@pytest.fixture
def standin() -> Iterator[Standin]:
    with standing_in() as made:
        yield made


@pytest.fixture
def opened(standin: Standin, tmp_path: Path) -> Iterator[Callable[..., Catalog]]:
    """Opens catalogs of the stand-in over one cache folder."""
    catalogs: list[Catalog] = []

    def open_one(**options: object) -> Catalog:
        chosen = {"url": standin.url, "token": "secret", "cache": tmp_path / "cache", "refresh_s": 0.0, **options}
        catalogs.append(Catalog.open(REPOSITORY, **chosen))
        return catalogs[-1]

    yield open_one
    for catalog in catalogs:
        catalog.close()


def names(catalog: Catalog) -> list[str]:
    return [each["name"] for each in catalog.entries()]


def catalog_of(body: bytes, **headers: str) -> bytes:
    return reply(200, body, catalog_digest=digest_of(body), catalog_state="fresh; age=0", **headers)


def at(path: str, raw: object) -> Callable[[Request], object]:
    """Answers `raw` to whatever begins with `path`, and nothing else."""

    def answer(request: Request) -> object:
        if not request.path.startswith(path):
            return None
        return raw() if callable(raw) else raw

    return answer


@functools.cache
def bomb(size_mib: int) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(bytes(2**20)) for _ in range(size_mib)), packer.flush()])


# Answers that are no catalog

NO_CATALOG: dict[str, object] = {
    "a captive portal": reply(200, HTML, content_type="text/html"),
    "a redirect": reply(302, location="http://127.0.0.1:1/elsewhere"),
    "a permanent redirect": reply(308, location="https://evil.example/v1"),
    "another digest than the body's": reply(200, b"{}", catalog_digest=digest_of(b"other")),
    "a digest that is a path": reply(200, b"{}", catalog_digest="../../../etc/passwd"),
    "no digest": reply(200, b"{}"),
    "no JSON": catalog_of(b"nonsense"),
    "JSON that is no object": catalog_of(b"[]"),
    "an object of another format": catalog_of(b'{"format": "playbook-catalog/2"}'),
    "a snapshot without members": catalog_of(b'{"format": "playbook-catalog/1"}'),
    "JSON without an end to its depth": catalog_of(b"[" * 200_000),
    "a truncated body": [reply(200, b"{}", content_length="500")],
    "a body that is no gzip": reply(200, b"plain", content_encoding="gzip"),
    "a gzip that breaks off": reply(200, gzip.compress(b"x" * 9_999)[:30], content_encoding="gzip"),
    "a coding that was not asked for": reply(200, zstandard.compress(b"{}"), content_encoding="zstd"),
    "several codings": reply(200, gzip.compress(gzip.compress(b"{}")), content_encoding="gzip, gzip"),
    "nothing changed, without having asked": reply(304),
    "a header without end": b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 300_000,
    "a thousand headers": b"HTTP/1.1 200 OK\r\n" + b"X-Many: 1\r\n" * 100_000,
    "no HTTP": [b"SSH-2.0-OpenSSH_9.2\r\n"],
    "nothing": [b""],
    "an error in prose": reply(500, b"Internal Server Error"),
    "an error of a gateway": reply(502, HTML, content_type="text/html"),
    "a 404 in prose": reply(404, b"not found"),
    "a problem of another kind": problem(404, "route-unknown"),
    "a problem that is no JSON": reply(404, b"{", content_type=PROBLEM),
    "a problem whose members are those of an exception": problem(404, "playbook-unknown", kind="x", self="y", args=[]),
    "a problem without an end": reply(503, b"x" * 2_000_000, content_type=PROBLEM),
    "an age of ten thousand digits": reply(
        200, b"{}", catalog_state="fresh; age=" + "9" * 10_000, catalog_digest=digest_of(b"{}")
    ),
    "a strange wait": reply(429, retry_after="\u00b2\u00b2"),
    "no content": reply(204),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_CATALOG)
def test_what_is_no_catalog_is_a_typed_error(standin: Standin, opened, case: str):
    standin.answer = at("/v1/catalogs", NO_CATALOG[case])
    with pytest.raises((Untrusted, Unavailable, Unknown)):
        opened().entries()


@pytest.mark.parametrize("case", NO_CATALOG)
def test_what_is_no_catalog_leaves_the_last_good_one_and_a_word_on_why(standin: Standin, opened, case: str):
    catalog = opened()
    catalog.search("deploy")
    # Unless it asked, so that 304 is right.
    standin.answer = at("/v1/catalogs", NO_CATALOG[case])
    if case == "nothing changed, without having asked":
        return
    assert names(catalog) == ["deploy", "roll-back"]
    state = catalog.state
    assert state.freshness == "offline"
    assert "could not be asked (" in state.note
    assert catalog.search("roll back").entries[0]["name"] == "roll-back"
    assert catalog.get("deploy").serves


@pytest.mark.parametrize(
    ("status", "code", "kind"), [(401, "unauthenticated", Unauthenticated), (403, "forbidden", Forbidden)]
)
def test_a_token_that_ends_in_the_middle_of_a_session(standin: Standin, opened, status, code, kind):
    catalog = opened()
    catalog.search("deploy")
    standin.answer = lambda _: problem(status, code, "the token was revoked.")
    assert names(catalog) == ["deploy", "roll-back"]
    assert "the token was revoked" in catalog.state.note
    with pytest.raises(kind, match="the token was revoked"):
        catalog.execute("deploy", {})


def test_a_token_goes_nowhere_else(standin: Standin, opened):
    with standing_in() as other:
        standin.answer = lambda request: reply(307, location=f"{other.url}{request.path}")
        with pytest.raises(Untrusted, match="not followed"):
            opened().entries()
        assert other.requests == []


def test_the_token_is_in_no_error(standin: Standin, opened):
    standin.answer = lambda request: problem(
        403, "forbidden", f"you sent {len(request.headers['authorization'])} letters."
    )
    with pytest.raises(Forbidden) as raised:
        opened(token="hunter2-hunter2").entries()
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    ["", "ftp://x.example", "http://", "http://a b", "http://x:99999", "http://x:port", "http://[::1", "http://x/?a=1",
     "http://user:secret@x.example", "http://" + "a" * 300, "http://x/\u00e9", "x.example"],
)  # fmt: skip
def test_a_url_that_is_none_is_refused_with_a_sentence(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REGISTRY_URL", url or "nonsense")
    with pytest.raises(SettingsInvalid, match="REGISTRY_URL") as raised:
        Catalog.open(REPOSITORY, cache=tmp_path)
    assert "secret" not in str(raised.value)


# Sizes


def test_a_body_is_unpacked_no_further_than_it_may_be_large(standin: Standin, opened):
    packed = [reply(200, bomb(200), content_encoding="gzip", catalog_digest=digest_of(b""))]
    standin.answer = at("/v1/catalogs", packed)
    tracemalloc.start()
    try:
        with pytest.raises(Untrusted, match="larger than 64 MiB"):
            opened().entries()
        assert tracemalloc.get_traced_memory()[1] < 160 * 2**20
    finally:
        tracemalloc.stop()


def test_a_bomb_in_a_document_is_smaller_still(standin: Standin, opened):
    standin.answer = at("/v1/documents", reply(200, bomb(20), content_encoding="gzip"))
    with pytest.raises(Untrusted, match="larger than 8 MiB"):
        opened().search("deploy")


def test_a_bomb_in_an_answer_to_a_run(standin: Standin, opened):
    standin.answer = at("/v1/playbooks", reply(200, bomb(20), content_encoding="gzip"))
    with pytest.raises(Untrusted, match="larger than 16 MiB"):
        opened().execute("deploy", {})


def test_a_catalog_too_large_to_come_with_its_contracts_is_fetched_piece_by_piece(standin: Standin, opened):
    standin.contracts = [document(f"p-{n:02}") for n in range(20)]

    def answer(request: Request) -> object:
        full = request.path.startswith("/v1/catalogs") and "view=full" in request.query
        return reply(200, bomb(70), content_encoding="gzip") if full else None

    standin.answer = answer
    assert opened().search("p-07").entries[0]["name"] == "p-07"


def test_a_packed_body_is_read(standin: Standin, opened):
    body = standin.body()
    packed = reply(200, gzip.compress(body), catalog_digest=digest_of(body), content_encoding="GZIP")
    standin.answer = lambda request: packed if request.path.startswith("/v1/catalogs") and not request.query else None
    catalog = opened()
    assert names(catalog) == ["deploy", "roll-back"]
    assert standin.requests[0].headers["accept-encoding"] == "gzip"


def test_a_hundred_thousand_entries_are_read():
    head, tail = json.dumps(snapshot([{**entry(document("p")), "name": "NAME"}])).split('"NAME"')
    head, _, left = head.rpartition("{")
    one, end = tail.split('], "refused"')
    body = (head + ", ".join(f'{{{left}"p-{n:06}"{one}' for n in range(100_000)) + '], "refused"' + end).encode()
    assert len(body) < CATALOG_BYTES_MAX
    assert len(read_snapshot(body, digest_of(body)).entries) == 100_000


# Entries and documents that are not as they should be

WRONG_ENTRIES: dict[str, dict] = {
    "no name": {"name": None},
    "a name that does not fold": {"name": "De Ploy!"},
    "a name that is folded otherwise": {"name": "Deploy"},
    "a name without end": {"name": "a" * 65},
    "a digest that is a path": {"digest": "../../../../etc/passwd"},
    "a digest that is a number": {"digest": 7},
    "tags that are a text": {"tags": "a, b"},
    "tags that are numbers": {"tags": [1]},
    "a purpose that is an object": {"purpose": {}},
    "a source that is a text": {"source": "central"},
    "a source of another kind": {"source": {**entry(document("deploy"))["source"], "kind": "worktree"}},
    "a source without a path": {"source": {"kind": "central", "repository": "", "commit": "", "blob": ""}},
    "required as a text": {"required": "no"},
    "a decision that is a text": {"decision": "central_only"},
    "a decision without an outcome": {"decision": {"over": []}},
    "an outcome that is a list": {"decision": {"outcome": [], "over": []}},
    "an over without a source": {"decision": {"outcome": "local_wins", "over": [{"version": "1", "digest": "x"}]}},
    "a waiver that is a text": {"waiver": "yes"},
}


@pytest.mark.parametrize("case", WRONG_ENTRIES)
def test_an_entry_of_another_shape_keeps_the_last_good_catalog(standin: Standin, opened, case: str):
    catalog = opened()
    catalog.search("deploy")
    wrong = {**entry(document("deploy")), **WRONG_ENTRIES[case]}
    standin.answer = at("/v1/catalogs", catalog_of(canonical(snapshot([wrong]))))
    assert names(catalog) == ["deploy", "roll-back"]
    assert "not as its format says" in catalog.state.note


@pytest.mark.parametrize(
    "members",
    [
        {"entries": {}},
        {"entries": [entry(document("deploy"))] * 2},
        {"entries": [7]},
        {"refused": None},
        {"unavailable": [{"name": "x"}]},
        {"unavailable": [{"name": "deploy", "outcome": "broken", "reason": "", "copies": [{"source": None}]}]},
        {
            "entries": [entry(document("deploy"))],
            "unavailable": [{"name": "deploy", "outcome": "broken", "reason": "", "copies": []}],
        },
        {"repository": 7},
        {"valid_until": "soon"},
        {"valid_until": "2026-01-01"},
        {"valid_until": 7},
    ],
)
def test_a_snapshot_of_another_shape_is_not_used(standin: Standin, opened, members: dict):
    standin.answer = at("/v1/catalogs", catalog_of(canonical(snapshot([], **{"sources": {}, **members}))))
    with pytest.raises(Untrusted, match="not as its format says"):
        opened().entries()


def test_numbers_that_nobody_could_read_again_are_not_used(standin: Standin, opened):
    for number in (b"NaN", b"Infinity", b"1e999"):
        body = standin.body().replace(b'"deprecated":null', b'"deprecated":{"x":' + number + b"}")
        standin.answer = at("/v1/catalogs", catalog_of(body))
        with pytest.raises(Untrusted):
            opened().refresh()


WRONG_DOCUMENTS = [
    b"[]", b"7", b"nonsense", b"{}", b'{"document": "playbook/1"}', b"[" * 100_000,
    json.dumps(document("deploy", name=7)).encode(),
    json.dumps(document("deploy", tags="x")).encode(),
    json.dumps(document("deploy", requires=[])).encode(),
    json.dumps(document("deploy", requires={"secrets": 5})).encode(),
    json.dumps(document("deploy", files=[{"path": 1}])).encode(),
]  # fmt: skip


@pytest.mark.parametrize("body", WRONG_DOCUMENTS, ids=range(len(WRONG_DOCUMENTS)))
def test_a_document_of_another_shape_is_not_used_though_its_digest_is_right(standin: Standin, opened, body: bytes):
    catalog = opened()
    catalog.search("deploy")
    wrong = {**entry(document("fresh")), "digest": digest_of(body)}
    newer = canonical(snapshot([wrong]))

    def answer(request: Request) -> object:
        if request.path.startswith("/v1/catalogs"):
            return catalog_of(newer)
        return reply(200, body) if request.path.startswith("/v1/documents") else None

    standin.answer = answer
    assert names(catalog) == ["deploy", "roll-back"]
    assert catalog.search("deploy").entries[0]["name"] == "deploy"
    assert "no playbook's" in catalog.state.note
    fresh = opened(cache=Path("/dev/null/none"))
    with pytest.raises(Untrusted):
        fresh.get("fresh")
    with pytest.raises(Untrusted):
        fresh.search("fresh")


def test_a_document_that_is_not_what_its_digest_names_is_not_used(standin: Standin, opened):
    standin.answer = at("/v1/documents", reply(200, canonical(document("deploy", purpose="Something else."))))
    with pytest.raises(Untrusted, match="not what its digest names"):
        opened().get("deploy")


def test_contracts_that_are_not_what_their_digests_name_are_not_used(standin: Standin, opened):
    standin.contracts = [document(f"p-{n:02}") for n in range(20)]

    def answer(request: Request) -> object:
        if request.path.startswith("/v1/documents"):
            return problem(404, "snapshot-unknown")
        if "view=full" not in request.query:
            return None
        changed = [{**entry(each), "contract": {**each, "purpose": "Otherwise."}} for each in standin.contracts]
        return reply(200, json.dumps(snapshot([*changed, 7, {"contract": 7}])).encode())

    standin.answer = answer
    with pytest.raises(Untrusted, match="does not have it"):
        opened().search("p")


def test_another_copy_must_be_the_one_that_was_asked_for(standin: Standin, opened):
    wanted = digest_of(canonical(document("deploy", version="2.0.0")))
    other = document("deploy", version="3.0.0")
    for answer in (
        {**entry(other), "contract": other, "serves": False},
        {**entry(other), "contract": other, "digest": wanted},
        {**entry(document("roll-back")), "contract": document("roll-back")},
        {"serves": True},
        {},
    ):
        standin.answer = at("/v1/playbooks", reply(200, json.dumps(answer).encode()))
        with pytest.raises(Untrusted, match="not what its digest names"):
            opened().get("deploy", wanted)


@pytest.mark.parametrize(
    "answer",
    [{}, {"run_id": 7}, {"run_id": "run_1", "run": {}}, {"run_id": "run_1", "run": {"name": "deploy"}, "procedure": {}},
     {"run_id": "run_1", "run": 7, "snapshot": "x", "procedure": []}],
)  # fmt: skip
def test_an_answer_that_is_no_run(standin: Standin, opened, answer: dict):
    standin.answer = at("/v1/playbooks", reply(200, json.dumps(answer).encode()))
    with pytest.raises(Untrusted, match="no run's"):
        opened().execute("deploy", {})
    standin.answer = at("/v1/runs", reply(200, json.dumps(answer).encode()))
    with pytest.raises(Untrusted, match="no run's"):
        opened().resume("deploy", "run_1")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), "\ud800", {1, 2}])
def test_inputs_that_no_json_can_say_are_refused_before_they_are_sent(standin: Standin, opened, value: object):
    with pytest.raises(RequestInvalid, match="plain data"):
        opened().execute("deploy", {"x": value})
    assert [path for path in standin.paths() if path.startswith("/v1/playbooks")] == []


def test_a_refusal_has_the_registry_asked_again(standin: Standin, opened):
    catalog = opened(refresh_s=1_000)
    before = catalog.get("deploy").entry["digest"]
    standin.contracts = [document("deploy", version="2.0.0"), document("roll-back")]
    standin.answer = at("/v1/playbooks", problem(403, "refused", "another copy serves: read it again."))
    with pytest.raises(Refused):
        catalog.execute("deploy", {}, digest=before)
    assert catalog.get("deploy").entry["digest"] != before


# Slowness


def timed(work: Callable[[], object]) -> float:
    began_at = time.monotonic()
    with contextlib.suppress(RegistryError):
        work()
    return time.monotonic() - began_at


@pytest.fixture
def cached(standin: Standin, opened) -> Callable[..., Catalog]:
    """Opens catalogs that were fetched before."""
    opened().search("deploy")
    return opened


SLOW: dict[str, Callable[[Standin], object]] = {
    "silence": lambda standin: standin.hang(),
    "headers by the byte": lambda standin: standin.trickle(b"HTTP/1.1 200 OK\r\nX-Slow: "),
    "a body by the byte": lambda standin: standin.trickle(
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\nCatalog-Digest: " + digest_of(b"").encode() + b"\r\n\r\n"
    ),
    "interim answers without end": lambda standin: standin.trickle(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
}


@pytest.mark.parametrize("case", ["silence", "headers by the byte"])
def test_who_has_a_catalog_waits_no_longer_than_two_seconds(standin: Standin, cached, case: str):
    standin.answer = lambda _: SLOW[case](standin)
    catalog = cached()
    assert timed(lambda: catalog.search("deploy")) < SECONDS
    assert catalog.state.freshness == "offline"
    assert "has not answered for 2 s" in catalog.state.note
    assert timed(lambda: catalog.search("deploy")) < 1.9


def test_calls_beside_each_other_do_not_queue_behind_a_registry_that_hangs(standin: Standin, cached):
    standin.answer = lambda _: standin.hang()
    catalog = cached()
    waited: list[float] = []

    def work() -> None:
        waited.append(timed(lambda: catalog.search("deploy")))
        waited.append(timed(lambda: catalog.get("roll-back")))

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(waited) < SECONDS + 1.0
    assert len([path for path in standin.paths() if path.startswith("/v1/catalogs")]) < 6


def test_a_registry_that_hangs_only_where_it_tells_the_paths_keeps_nobody_either(
    standin: Standin, cached, tmp_path: Path
):
    standin.contracts = [*standin.contracts, document("more")]
    standin.answer = lambda request: standin.hang() if "repositories" in request.path else None
    assert timed(lambda: names(cached())) < SECONDS


@pytest.mark.parametrize("case", SLOW)
def test_a_whole_call_has_one_deadline(standin: Standin, opened, case: str):
    standin.answer = at("/v1/playbooks", lambda: SLOW[case](standin))
    catalog = opened(timeout_s=1.0)
    catalog.entries()
    began_at = time.monotonic()
    with pytest.raises(Unavailable, match="did not answer within 1"):
        catalog.execute("deploy", {})
    assert time.monotonic() - began_at < SECONDS


def test_a_registry_that_comes_back_is_seen(standin: Standin, cached):
    standin.answer = lambda _: problem(503, "unavailable")
    catalog = cached()
    assert catalog.state.freshness == "offline"
    standin.answer = lambda _: None
    assert catalog.refresh() is False
    assert catalog.state.freshness == "fresh"
    assert catalog.state.note == ""


def test_an_answer_that_comes_late_is_used_all_the_same(standin: Standin, cached):
    standin.contracts = [document("later")]

    def slowly(request: Request) -> None:
        time.sleep(2.5)

    standin.answer = slowly
    catalog = cached(refresh_s=1_000)
    assert names(catalog) == ["deploy", "roll-back"]
    time.sleep(2.5)
    assert names(catalog) == ["later"]


def test_a_catalog_that_hangs_does_not_keep_a_process_from_being_closed(standin: Standin, cached, tmp_path: Path):
    standin.answer = lambda _: standin.hang()
    catalog = cached()
    names(catalog)
    assert timed(catalog.close) < 1.9


# Proxies


def test_a_proxy_of_the_environment_is_used(standin: Standin, opened, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("http_proxy", standin.url.replace("://", "://user:pass%20word@"))
    standin.answer = lambda request: reply(502) if not request.path.startswith("http://registry.example/") else None
    with pytest.raises(RegistryError):
        opened(url="http://registry.example").entries()
    assert standin.requests[0].path.startswith("http://registry.example/v1/catalogs/")
    assert standin.requests[0].headers["proxy-authorization"] == "Basic dXNlcjpwYXNzIHdvcmQ="


def test_a_host_that_the_environment_exempts_is_asked_directly(
    standin: Standin, opened, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert names(opened()) == ["deploy", "roll-back"]


def test_a_proxy_that_is_none_is_refused_without_its_password(opened, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("http_proxy", "socks5://user:hunter2@127.0.0.1:1080")
    with pytest.raises(SettingsInvalid, match="the proxy in http_proxy cannot be used") as raised:
        opened().entries()
    assert "hunter2" not in str(raised.value)


# Which catalog, where the registry cannot say it

WHOLE, PAY = "github.com/acme/mono", "github.com/acme/mono/-/services/pay"


@pytest.fixture
def mono(standin: Standin, tmp_path: Path) -> Callable[[str], Catalog]:
    """Opens the catalog of a folder of a monorepo in which `services/pay` is registered as a service of its own."""
    copy = tmp_path / "mono"
    (copy / "services" / "pay").mkdir(parents=True)
    for arguments in (["init", "--quiet"], ["remote", "add", "origin", f"https://{WHOLE}.git"]):
        subprocess.run(["git", "-C", str(copy), *arguments], check=True, env=ENVIRONMENT)

    def answer(request: Request) -> bytes | None:
        identity = unquote(request.path.rpartition("/")[2]) if "/" in request.path else ""
        unknown = problem(404, "repository-unknown") if "registered=required" in request.query else None
        return None if identity == PAY or request.path.startswith("/v1/documents") else unknown

    standin.answer = answer
    return lambda folder: Catalog.open(path=copy / folder, url=standin.url, cache=tmp_path / "cache", refresh_s=0.0)


def test_offline_the_service_of_the_last_time_is_chosen(standin: Standin, mono):
    with mono("services/pay") as catalog:
        catalog.entries()
        assert catalog.repository == PAY
    with mono(".") as catalog:
        catalog.entries()
        assert catalog.repository == WHOLE
    standin.answer = lambda _: reply(503)
    with mono("services/pay") as catalog:
        assert names(catalog) == ["deploy", "roll-back"]
        assert (catalog.repository, catalog.state.freshness) == (PAY, "offline")


def test_offline_a_folder_that_was_never_opened_has_the_catalog_of_the_whole_until_the_registry_is_back(
    standin: Standin, mono
):
    with mono(".") as catalog:
        catalog.entries()
    online, standin.answer = standin.answer, lambda _: reply(503)
    with mono("services/pay") as catalog:
        catalog.entries()
        assert (catalog.repository, catalog.state.freshness) == (WHOLE, "offline")
        standin.answer = online
        assert catalog.refresh() is True
        assert (catalog.repository, catalog.state.freshness) == (PAY, "fresh")


def test_a_registry_that_hangs_costs_two_seconds_however_many_folders_are_asked_about(standin: Standin, mono):
    with mono(".") as catalog:
        catalog.entries()
    standin.answer = lambda _: standin.hang()
    with mono("services/pay") as catalog:
        assert timed(catalog.entries) < SECONDS
