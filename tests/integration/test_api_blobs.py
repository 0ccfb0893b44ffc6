"""`GET /v1/blobs/{digest}`: bytes from git over HTTP, to be saved and never shown."""

import pytest
from api_registry import bare

from registry.digest import digest_of

PAGE = b"<script>alert(1)</script>" * 100


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    with bare(tmp_path_factory.mktemp("blobs"), anonymous_read=True) as found:
        found.store.put_blobs({digest_of(PAGE): PAGE, digest_of(b""): b""})
        yield found


def ask(registry, data=PAGE, method="GET", **options):
    return registry.ask(method, f"/v1/blobs/{digest_of(data)}", **options)


@pytest.mark.parametrize("data", [PAGE, b""])
def test_a_blob_comes_as_git_has_it(registry, data):
    answer = ask(registry, data)
    assert (answer.status_code, answer.content) == (200, data)


def test_no_browser_takes_a_blob_for_a_page(registry):
    headers = ask(registry, headers={"Accept": "text/html"}).headers
    assert headers["content-type"] == "application/octet-stream"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-disposition"] == "attachment"
    assert "sandbox" in headers["content-security-policy"]


def test_a_blob_never_changes(registry):
    headers = ask(registry).headers
    assert headers["cache-control"] == "public, max-age=31536000, immutable"
    assert headers["etag"] == f'"{digest_of(PAGE)}"'


def test_a_caller_who_has_it_is_not_sent_it_again(registry):
    answer = ask(registry, headers={"If-None-Match": f'"{digest_of(PAGE)}"'})
    assert (answer.status_code, answer.content) == (304, b"")


def test_head_has_the_headers_alone(registry):
    answer = ask(registry, method="HEAD")
    assert (answer.headers["content-length"], answer.content) == (str(len(PAGE)), b"")


def test_a_blob_is_sent_as_it_is_whatever_coding_is_asked_for(registry):
    answer = ask(registry, headers={"Accept-Encoding": "zstd, gzip"})
    assert "content-encoding" not in answer.headers
    assert answer.content == PAGE


def test_an_unknown_digest_is_404(registry):
    answer = registry.ask("GET", "/v1/blobs/sha256:" + "0" * 64)
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/snapshot-unknown")


@pytest.mark.parametrize("path", ["/v1/blobs", "/v1/blobs/", "/v1/blobs/..%2F..%2Fetc%2Fpasswd", "/v1/blobs/md5:00"])
def test_what_is_no_digest_is_400(registry, path):
    answer = registry.ask("GET", path)
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/request-invalid")


def test_a_blob_cannot_be_written(registry):
    answer = ask(registry, method="PUT")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


def test_reading_a_blob_needs_a_token_where_reading_is_not_open(tmp_path):
    with bare(tmp_path, anonymous_read=False) as closed:
        closed.store.put_blobs({digest_of(PAGE): PAGE})
        assert ask(closed).status_code == 401
        answer = ask(closed, headers=closed.token("catalog:read"))
        assert answer.headers["cache-control"].startswith("private")
