import pytest

from registry.api.conditional import etag_header, matches, negotiate

ETAG = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("accept", "encoding"),
    [
        ("", None),
        ("gzip", "gzip"),
        ("zstd", "zstd"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip;q=1.0, zstd;q=0.5", "gzip"),
        ("gzip;q=0.5, identity;q=0.6", None),
        ("gzip;q=0.6, identity;q=0.5", "gzip"),
        ("identity;q=0.5, gzip;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("gzip;q=0.000, zstd;q=0", None),
        ("*", "zstd"),
        ("*;q=0", None),
        ("*;q=0.5, zstd;q=0", "gzip"),
        ("identity", None),
        ("br, deflate", None),
        ("GZIP", "gzip"),
        ("x-gzip", "gzip"),
        ("gzip ; q = 0.4", "gzip"),
        ("gzip;q=2", None),
        ("gzip;q=nan", None),
        ("gzip;level=9", None),
        (",,gzip,,", "gzip"),
        ("identity;q=0", None),
        ("identity;q=0, gzip", "gzip"),
    ],
)
def test_the_best_acceptable_coding_is_chosen(accept: str, encoding: str | None) -> None:
    assert negotiate(accept.encode()) == encoding


@pytest.mark.parametrize(
    "header",
    [
        f'"{ETAG}"',
        f'W/"{ETAG}"',
        f'"{ETAG}+gzip"',
        f'W/"{ETAG}+zstd"',
        f'"other", "{ETAG}"',
        f'"other",W/"{ETAG}+gzip" , "third"',
        "*",
        " * ",
    ],
)
def test_a_tag_of_the_representation_matches(header: str) -> None:
    assert matches(header.encode(), ETAG)


@pytest.mark.parametrize(
    "header",
    [
        "",
        '""',
        ETAG,
        f'"{ETAG}',
        f'"{ETAG}+full"',
        f'"{ETAG}+full+gzip"',
        f'"{ETAG}+br"',
        f'"x{ETAG}"',
        '"*"',
        "*, *",
        "\xff",
    ],
)
def test_anything_else_does_not(header: str) -> None:
    assert not matches(header.encode("latin-1"), ETAG)


def test_the_tag_names_view_and_coding() -> None:
    assert etag_header(f"{ETAG}+full", "gzip") == f'"{ETAG}+full+gzip"'.encode()
