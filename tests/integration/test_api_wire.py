"""The contract of http-api.md over a real server, a real worker and real git repositories."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest
import zstandard
from api_registry import AS_ADMIN, Served, files, served

PAYMENTS = "local/acme/payments"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    names = [f"central-{number}" for number in range(8)]
    with served(tmp_path_factory.mktemp("wire"), files("deploy-rollback", "rotate-signing-key", *names)) as running:
        running.repository("payments").commit(files("rotate-signing-key", "refund", version="2.0.0"))
        assert running.register("payments").status_code == 201
        yield running


def get(registry: Served, path: str, **headers: str) -> httpx.Response:
    return registry.client.get(path, headers={"Accept-Encoding": "identity", **headers})


def test_a_catalog_says_what_its_headers_promise(registry: Served) -> None:
    answer = get(registry, f"/v1/catalogs/{PAYMENTS}")

    digest = "sha256:" + hashlib.sha256(answer.content).hexdigest()
    assert answer.status_code == 200
    assert answer.headers["etag"] == f'"{digest}"'
    assert answer.headers["catalog-digest"] == digest
    assert len(answer.headers["catalog-commit"]) == 40
    synced_at = datetime.fromisoformat(answer.headers["catalog-synced-at"])
    assert abs((datetime.now(UTC) - synced_at).total_seconds()) < 60
    assert answer.headers["catalog-state"].startswith("fresh; age=")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["vary"] == "Accept-Encoding"
    assert "last-modified" not in answer.headers
    assert answer.json()["repository"] == PAYMENTS


def test_the_local_copy_serves_at_home_and_nowhere_else(registry: Served) -> None:
    def version(path: str) -> str:
        entries = get(registry, path).json()["entries"]
        return next(entry["version"] for entry in entries if entry["name"] == "rotate-signing-key")

    assert version(f"/v1/catalogs/{PAYMENTS}") == "2.0.0"
    assert version("/v1/catalogs") == "1.0.0"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/catalogs/Local/Acme/Payments",
        "/v1/catalogs/local%2Facme%2Fpayments",
        "/v1/catalogs/local/acme/payments.git",
        "/v1/catalogs?repository=local/acme/payments",
        "/v1/catalogs?repository=local%2Facme%2Fpayments%2F",
    ],
)
def test_every_spelling_gets_the_same_catalog(registry: Served, path: str) -> None:
    assert get(registry, path).headers["etag"] == get(registry, f"/v1/catalogs/{PAYMENTS}").headers["etag"]


def test_an_unregistered_repository_gets_the_central_snapshot_and_is_told(registry: Served) -> None:
    answer = get(registry, "/v1/catalogs/git@github.com:acme/nowhere.git")

    assert answer.json()["repository"] is None
    assert answer.headers["catalog-state"].endswith("; unregistered")
    assert answer.headers["catalog-digest"] == get(registry, "/v1/catalogs").headers["catalog-digest"]


def test_an_unregistered_repository_is_a_404_where_registration_is_required(registry: Served) -> None:
    answer = get(registry, "/v1/catalogs/github.com/acme/nowhere?registered=required")
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/repository-unknown")


def test_the_full_view_has_contracts_that_match_their_digests(registry: Served) -> None:
    plain = get(registry, f"/v1/catalogs/{PAYMENTS}")
    full = get(registry, f"/v1/catalogs/{PAYMENTS}?view=full")

    assert full.headers["etag"] == plain.headers["etag"][:-1] + '+full"'
    assert full.headers["catalog-digest"] == plain.headers["catalog-digest"]
    for entry in full.json()["entries"]:
        document = get(registry, f"/v1/documents/{entry['digest']}")
        assert "sha256:" + hashlib.sha256(document.content).hexdigest() == entry["digest"]
        assert document.json() == entry["contract"]


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_an_encoded_catalog_is_the_same_bytes_under_a_tag_of_its_own(registry: Served, coding: str) -> None:
    plain = get(registry, f"/v1/catalogs/{PAYMENTS}")
    with registry.client.stream("GET", f"/v1/catalogs/{PAYMENTS}", headers={"Accept-Encoding": coding}) as answer:
        raw = b"".join(answer.iter_raw())

    assert answer.headers["content-encoding"] == coding
    assert answer.headers["etag"] == plain.headers["etag"][:-1] + f'+{coding}"'
    decoded = gzip.decompress(raw) if coding == "gzip" else zstandard.ZstdDecompressor().decompressobj().decompress(raw)
    assert decoded == plain.content


@pytest.mark.parametrize("suffix", ["", "+gzip", "+zstd"])
@pytest.mark.parametrize("prefix", ["", "W/"])
def test_any_tag_of_the_representation_is_answered_304_with_its_headers(
    registry: Served, prefix: str, suffix: str
) -> None:
    plain = get(registry, f"/v1/catalogs/{PAYMENTS}")
    tag = plain.headers["etag"][:-1] + suffix + '"'
    answer = get(registry, f"/v1/catalogs/{PAYMENTS}", **{"If-None-Match": prefix + tag})

    assert (answer.status_code, answer.content) == (304, b"")
    for name in ("etag", "catalog-digest", "catalog-commit", "cache-control", "vary"):
        assert answer.headers[name] == plain.headers[name]
    assert "catalog-state" in answer.headers


def test_the_tag_of_the_plain_view_does_not_match_the_full_one(registry: Served) -> None:
    tag = get(registry, f"/v1/catalogs/{PAYMENTS}").headers["etag"]
    assert get(registry, f"/v1/catalogs/{PAYMENTS}?view=full", **{"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize("path", [f"/v1/catalogs/{PAYMENTS}", "/v1/search?q=refund", "/v1/policy", "/healthz"])
def test_head_has_the_headers_of_get_and_no_body(registry: Served, path: str) -> None:
    whole = get(registry, path)
    answer = registry.client.head(path, headers={"Accept-Encoding": "identity"})

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == str(len(whole.content))
    assert answer.headers["content-type"] == whole.headers["content-type"]


def test_a_snapshot_is_read_by_digest_for_good(registry: Served) -> None:
    catalog = get(registry, f"/v1/catalogs/{PAYMENTS}")
    answer = get(registry, f"/v1/snapshots/{catalog.headers['catalog-digest']}")

    assert answer.content == catalog.content
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize("kind", ["snapshots", "documents"])
def test_a_digest_never_handed_out_is_unknown(registry: Served, kind: str) -> None:
    answer = get(registry, f"/v1/{kind}/sha256:{'0' * 64}")
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/snapshot-unknown")


def test_a_search_finds_by_get_and_post_alike(registry: Served) -> None:
    by_query = get(registry, f"/v1/search?repository={PAYMENTS}&q=refund&limit=3").json()
    by_body = registry.client.post("/v1/search", json={"repository": PAYMENTS, "q": "refund", "limit": 3}).json()

    assert by_query["results"][0]["name"] == "refund"
    assert by_query["snapshot"] == get(registry, f"/v1/catalogs/{PAYMENTS}").headers["catalog-digest"]
    assert by_body["results"] == by_query["results"]


def test_any_text_is_a_valid_query(registry: Served) -> None:
    for text in ('"', "AND OR NOT", "a:b^2~*?", "\x00\x1f", "日本語 🚀", "(" * 500, "x" * 32_768):
        assert registry.client.post("/v1/search", json={"q": text}).status_code == 200


def test_a_text_over_32_kib_is_too_large(registry: Served) -> None:
    answer = registry.client.post("/v1/search", json={"q": "x" * 32_769})
    assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-large")


def test_a_body_over_1_mib_is_too_large_on_hot_and_other_calls(registry: Served) -> None:
    body = json.dumps({"q": "x", "reason": "y" * 1_048_576})
    headers = {**AS_ADMIN, "Content-Type": "application/json"}
    for method, path in (("POST", "/v1/search"), ("PUT", "/v1/policy/required/deploy-rollback")):
        answer = registry.client.request(method, path, content=body, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-large")


def test_a_playbook_comes_with_its_contract_and_says_that_it_serves(registry: Served) -> None:
    answer = get(registry, f"/v1/playbooks/Rotate%20Signing_Key?repository={PAYMENTS}").json()
    assert (answer["version"], answer["serves"], answer["contract"]["name"]) == ("2.0.0", True, "rotate-signing-key")


def test_an_exact_copy_never_falls_back(registry: Served) -> None:
    older = get(registry, f"/v1/playbooks/rotate-signing-key?repository={PAYMENTS}&version=1.0.0")
    none = get(registry, f"/v1/playbooks/rotate-signing-key?repository={PAYMENTS}&version=9.9.9")

    assert older.json()["serves"] is False
    assert none.status_code == 404


def test_explain_says_which_copy_serves(registry: Served) -> None:
    answer = get(registry, f"/v1/playbooks/rotate-signing-key/explain?repository={PAYMENTS}").json()
    assert answer["outcome"] == "local_wins"
    assert [copy["serves"] for copy in answer["copies"]].count(True) == 1


def test_registrations_are_listed_with_central(registry: Served) -> None:
    items = get(registry, "/v1/repositories").json()["items"]
    assert {item["id"]: item["role"] for item in items}.items() >= {
        "local/acme/central": "central",
        PAYMENTS: "service",
    }.items()


def test_one_registration_is_read_by_path_and_by_parameter(registry: Served) -> None:
    by_path = get(registry, f"/v1/repositories/{PAYMENTS}").json()
    by_parameter = get(registry, f"/v1/repositories?repository={PAYMENTS}").json()

    assert by_path["id"] == by_parameter["id"] == PAYMENTS
    assert by_path["sync"]["state"] == "ok"


def test_registering_and_deregistering(registry: Served) -> None:
    registry.repository("shipping").commit(files("ship"))
    created = registry.register("shipping", team="shipping")
    changed = registry.register("shipping", team="logistics")
    gone = registry.client.delete("/v1/repositories/local/acme/shipping", headers=AS_ADMIN)

    assert (created.status_code, created.headers["preference-applied"]) == (201, "wait=20")
    assert (changed.status_code, changed.json()["team"]) == (200, "logistics")
    assert (gone.status_code, gone.content) == (204, b"")
    assert get(registry, "/v1/repositories/local/acme/shipping").status_code == 404


def test_a_repository_named_like_a_sub_resource_is_one_escaped_segment(registry: Served) -> None:
    registry.repository("sync").commit(files("synchronise"))
    body = {"url": f"file://{registry.forge}/acme/sync", "team": "payments"}
    made = registry.client.put("/v1/repositories/local%2Facme%2Fsync", json=body, headers=AS_ADMIN)

    assert (made.status_code, made.json()["id"]) == (201, "local/acme/sync")
    assert registry.client.put("/v1/repositories/local/acme/sync", json=body, headers=AS_ADMIN).status_code == 405


def test_a_broken_file_is_listed_with_its_place(registry: Served) -> None:
    registry.repository("billing").commit({**files("close-month"), "playbooks/broken.yaml": "playbook: 1\nname: [\n"})
    registry.register("billing")
    problems = get(registry, "/v1/repositories/local/acme/billing/problems").json()["problems"]

    assert [item["path"] for item in problems if item["level"] == "error"] == ["playbooks/broken.yaml"]
    assert all(item["line"] >= 1 and item["column"] >= 1 for item in problems)


def test_a_waited_for_sync_brings_the_new_commit_into_force(registry: Served) -> None:
    repository = registry.repository("search-service")
    repository.commit(files("reindex"))
    registry.register("search-service")
    commit = repository.commit(files("reindex-fast"))
    answer = registry.client.post(
        "/v1/repositories/local/acme/search-service/sync", headers={**AS_ADMIN, "Prefer": "wait=20"}
    )
    found = get(registry, "/v1/search?repository=local/acme/search-service&q=reindex-fast").json()

    assert (answer.status_code, answer.json()["sync"]["commit"]) == (200, commit)
    assert found["results"][0]["name"] == "reindex-fast"


def test_a_mark_is_obeyed_by_the_next_read_and_taken_back(registry: Served) -> None:
    registry.repository("edge").commit(files("deploy-rollback", version="7.0.0"))
    registry.register("edge")

    def version() -> str:
        entries = get(registry, "/v1/catalogs/local/acme/edge").json()["entries"]
        return next(entry["version"] for entry in entries if entry["name"] == "deploy-rollback")

    assert version() == "7.0.0"
    marked = registry.client.put("/v1/policy/required/deploy-rollback", json={"reason": "an audit"}, headers=AS_ADMIN)
    assert (marked.status_code, version()) == (200, "1.0.0")
    waived = registry.client.put(
        "/v1/policy/waivers/deploy-rollback?repository=local/acme/edge",
        json={"until": "2999-01-01", "reason": "the edge has its own way"},
        headers=AS_ADMIN,
    )
    assert (waived.status_code, version()) == (200, "7.0.0")
    ended = registry.client.delete("/v1/policy/waivers/deploy-rollback?repository=local/acme/edge", headers=AS_ADMIN)
    assert (ended.status_code, version()) == (204, "1.0.0")
    unmarked = registry.client.delete("/v1/policy/required/deploy-rollback", headers=AS_ADMIN)
    assert (unmarked.status_code, unmarked.json()["still_required_by"], version()) == (200, [], "7.0.0")


def test_marking_what_central_does_not_have_is_a_404(registry: Served) -> None:
    answer = registry.client.put("/v1/policy/required/no-such-thing", json={"reason": "why"}, headers=AS_ADMIN)
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/playbook-unknown")


def test_applying_what_does_not_wait_is_a_conflict(registry: Served) -> None:
    answer = registry.client.post(f"/v1/repositories/{PAYMENTS}/apply", json={"commit": "0" * 40}, headers=AS_ADMIN)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/conflict")


def test_central_cannot_be_registered_by_another_spelling(registry: Served) -> None:
    body = {"url": f"file://{registry.forge}/acme/central", "team": "payments"}
    answer = registry.client.put("/v1/repositories/Local/ACME/Central.git", json=body, headers=AS_ADMIN)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/conflict")


def test_who_changed_what_is_in_the_audit_log(registry: Served) -> None:
    items = registry.client.get("/v1/audit?limit=200", headers=AS_ADMIN).json()["items"]
    assert ("repository-registered", PAYMENTS) in {(item["action"], item["subject"]) for item in items}


@pytest.mark.parametrize(
    "target",
    ["/v1/catalogs/a/../b", "/v1/catalogs/a/%2e%2E/b", "/v1/catalogs//a/b", "/v1/catalogs/a/b%00", "/v1/catalogs/"],
)
def test_a_path_that_names_no_repository_is_refused_as_it_was_sent(registry: Served, target: str) -> None:
    # httpx would tidy the path, so the target is put on the wire as it is.
    request = registry.client.build_request("GET", "/", extensions={"target": target.encode()})
    answer = registry.client.send(request)
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/repository-invalid")


@pytest.mark.parametrize("target", ["/v1/%72epositories", "/v1/repositories%2Flocal", "/v1/%63atalogs/a/b"])
def test_an_escaped_route_is_no_way_around_the_front(registry: Served, target: str) -> None:
    request = registry.client.build_request("GET", "/", extensions={"target": target.encode()})
    assert registry.client.send(request).status_code == 404
