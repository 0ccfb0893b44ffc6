"""What holds of addresses, conditional requests and content codings whatever a caller sends."""

import json
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from registry.api.addresses import SUB_RESOURCES, Address, parse_address
from registry.api.bodies import SearchBody, read_body
from registry.api.conditional import etag_header, matches, negotiate
from registry.api.parameters import preferred_wait_s, read_parameters
from registry.api.problems import make_problem
from registry.errors import Refusal, RepositoryInvalid

SEGMENTS = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/@"), min_size=1, max_size=12
).filter(lambda text: text.strip() and text not in {".", ".."} and not text.endswith(":"))
ENCODINGS = st.sampled_from([None, "gzip", "zstd"])
DIGESTS = st.integers(0, 2**64).map(lambda number: f"sha256:{number:064x}")
ETAGS = st.tuples(DIGESTS, st.sampled_from(["", "+full"])).map("".join)


@given(st.lists(SEGMENTS, min_size=1, max_size=6), st.sampled_from([None, *sorted(SUB_RESOURCES)]))
@settings(max_examples=60)
def test_a_repository_comes_back_as_one_escaped_segment(segments: list[str], sub_resource: str | None) -> None:
    repository = "/".join(segments)
    tail = f"/{quote(repository, safe='')}" + (f"/{sub_resource}" if sub_resource else "")
    if sub_resource is None and repository in SUB_RESOURCES:
        return
    assert parse_address(tail.encode()) == Address(repository, sub_resource)


@given(st.lists(SEGMENTS, min_size=2, max_size=6).filter(lambda segments: segments[-1] not in SUB_RESOURCES))
@settings(max_examples=60)
def test_escaped_or_not_the_slashes_name_the_same_repository(segments: list[str]) -> None:
    as_segments = "/" + "/".join(quote(segment, safe="") for segment in segments)
    as_one = "/" + quote("/".join(segments), safe="")
    assert parse_address(as_segments.encode()) == parse_address(as_one.encode())


@given(st.one_of(st.binary(max_size=60), st.text("/.%2eEfF\x00a:@", max_size=30).map(str.encode)))
@settings(max_examples=150)
def test_any_path_is_an_address_without_dots_and_controls_or_is_refused(tail: bytes) -> None:
    try:
        repository = parse_address(tail).repository
    except RepositoryInvalid:
        return
    if repository is not None:
        assert not any(ord(letter) < 32 or ord(letter) == 127 for letter in repository)
        assert not {".", ".."} & set(repository.split("/"))


@given(ETAGS, ENCODINGS, st.booleans(), st.lists(DIGESTS, max_size=3))
@settings(max_examples=60)
def test_a_tag_that_was_sent_matches_in_any_list(
    etag: str, encoding: str | None, weak: bool, others: list[str]
) -> None:
    tag = etag_header(etag, encoding)
    header = b", ".join([*(f'"{other}"'.encode() for other in others), (b"W/" if weak else b"") + tag])
    assert matches(header, etag)


@given(ETAGS, ETAGS, ENCODINGS)
@settings(max_examples=60)
def test_a_tag_matches_its_own_representation_alone(one: str, other: str, encoding: str | None) -> None:
    assert matches(etag_header(one, encoding), other) == (one == other)


@given(st.binary(max_size=80))
@settings(max_examples=100)
def test_any_header_bytes_are_read_without_an_error(header: bytes) -> None:
    assert negotiate(header) in {None, "gzip", "zstd"}
    matches(header, "sha256:00")
    wait_s = preferred_wait_s(header.decode("latin-1"))
    assert wait_s is None or 0 <= wait_s <= 60


@given(st.dictionaries(st.sampled_from(["gzip", "zstd", "identity", "br", "*"]), st.integers(0, 1000), max_size=5))
@settings(max_examples=100)
def test_no_coding_is_chosen_that_was_refused(qualities: dict[str, int]) -> None:
    header = ", ".join(f"{coding};q={thousandths / 1000:.3f}" for coding, thousandths in qualities.items())
    chosen = negotiate(header.encode())
    if chosen is not None:
        assert qualities.get(chosen, qualities.get("*", 0)) > 0


@given(st.binary(max_size=60))
@settings(max_examples=100)
def test_any_query_string_is_read_or_refused(query: bytes) -> None:
    try:
        read_parameters(query, {"q"})
    except Refusal as refusal:
        json.loads(make_problem(refusal.code, refusal.detail, refusal.extra).body)


@given(
    st.one_of(
        st.binary(max_size=60), st.recursive(st.none() | st.text(max_size=5), st.lists).map(json.dumps).map(str.encode)
    )
)
@settings(max_examples=100)
def test_any_body_is_read_or_refused(data: bytes) -> None:
    try:
        read_body(SearchBody, data, "application/json")
    except Refusal as refusal:
        json.loads(make_problem(refusal.code, refusal.detail, refusal.extra).body)
