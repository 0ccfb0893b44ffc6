"""What every store keeps to with original bytes (registry.ports.BlobStore). On SQLite and on PostgreSQL."""

import random

import pytest
from sqlalchemy import create_engine, make_url, text
from store_places import PLACES, place

from registry.digest import digest_of
from registry.errors import StoreFault
from registry.store.sql import open_store

EVERY_BYTE = bytes(range(256)) * 5


@pytest.fixture(params=PLACES)
def url(request, tmp_path):
    with place(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def store(url):
    opened = open_store(url)
    yield opened
    opened.close()


def put(store, *blobs: bytes) -> list[str]:
    store.put_blobs({digest_of(each): each for each in blobs})
    return [digest_of(each) for each in blobs]


@pytest.mark.parametrize("data", [b"", b"x", EVERY_BYTE, b"\0" * 1_000_000, random.Random(1).randbytes(300_000)])
def test_a_blob_comes_back_byte_for_byte(store, data):
    [digest] = put(store, data)
    assert store.blob(digest) == data


def test_a_blob_of_16_mib_comes_back(store):
    data = random.Random(2).randbytes(1 << 20) * 16
    [digest] = put(store, data)
    assert store.blob(digest) == data


def test_a_blob_that_is_not_there_is_none(store):
    assert store.blob("sha256:none") is None


def test_the_missing_blobs_are_those_that_are_not_stored(store):
    [here] = put(store, b"x")
    assert store.missing_blobs([here, "sha256:a", "sha256:b"]) == {"sha256:a", "sha256:b"}


def test_nothing_of_nothing_is_missing(store):
    assert store.missing_blobs(()) == frozenset()


def test_more_blobs_than_one_statement_takes_are_looked_for(store):
    [here] = put(store, b"x")
    others = [f"sha256:{number}" for number in range(70_000)]
    assert store.missing_blobs([*others, here]) == frozenset(others)


def test_blobs_that_are_there_stay_as_they_are(store):
    store.put_blobs({"sha256:x": b"first"})
    store.put_blobs({"sha256:x": b"second", "sha256:y": b"y"})
    assert (store.blob("sha256:x"), store.blob("sha256:y")) == (b"first", b"y")


def test_putting_no_blobs_leaves_the_sequence_alone(store):
    store.put_blobs({})
    assert store.sequence() == 0


def test_another_opening_finds_a_blob(store, url):
    [digest] = put(store, b"x")
    second = open_store(url)
    assert second.blob(digest) == b"x"
    second.close()


@pytest.mark.parametrize("change", ["size = 2", "size = 70000000000"])
def test_a_blob_that_was_changed_by_hand_is_not_handed_out(store, url, change):
    [digest] = put(store, EVERY_BYTE)
    engine = create_engine(make_url(url))
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE blobs SET {change}"))
    engine.dispose()
    with pytest.raises(StoreFault, match="changed by hand"):
        store.blob(digest)
