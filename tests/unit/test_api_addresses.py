import pytest

from registry.api.addresses import Address, check_spelling, choose_repository, parse_address, require_repository
from registry.errors import RepositoryInvalid


@pytest.mark.parametrize(
    ("tail", "repository", "sub_resource"),
    [
        ("", None, None),
        ("/github.com/acme/app", "github.com/acme/app", None),
        ("/github.com/acme/app/sync", "github.com/acme/app", "sync"),
        ("/github.com/acme/app/%73ync", "github.com/acme/app", "sync"),
        ("/github.com%2Facme%2Fsync", "github.com/acme/sync", None),
        ("/github.com/acme%2Fsync", "github.com/acme/sync", None),
        ("/github.com%2Facme%2Fsync/sync", "github.com/acme/sync", "sync"),
        ("/github.com/acme/mono/-/services/pay/problems", "github.com/acme/mono/-/services/pay", "problems"),
        ("/git@host:a/b.git", "git@host:a/b.git", None),
        ("/https%3A%2F%2Fgithub.com%2Facme%2Fapp%2F", "https://github.com/acme/app/", None),
        ("/https://github.com/acme/app", "https://github.com/acme/app", None),
        ("/a.example/%C3%A9t%C3%A9", "a.example/été", None),
        ("/a.example/b%252e", "a.example/b%2e", None),
        ("/a.example/b+c", "a.example/b+c", None),
        ("/diff", None, "diff"),
    ],
)
def test_a_tail_is_decoded_once(tail: str, repository: str | None, sub_resource: str | None) -> None:
    assert parse_address(tail.encode()) == Address(repository, sub_resource)


@pytest.mark.parametrize(
    "tail",
    [
        "/",
        "//a/b",
        "/a//b",
        "/a/b/",
        "/a/b//sync",
        "/./a",
        "/a/../b",
        "/a/%2e%2E/b",
        "/a%2F..%2Fb",
        "/a%2F%2Fb",
        "/a/b%00",
        "/a/b%0a",
        "/a/b%7F",
        "/a/b%C2%85",
        "/a/b%",
        "/a/b%zz",
        "/a/%ff",
        "/%20/%20" + "x" * 7000,
        "/%20",
    ],
)
def test_a_tail_that_names_no_repository_is_refused(tail: str) -> None:
    with pytest.raises(RepositoryInvalid):
        parse_address(tail.encode())


def test_a_parameter_stands_in_for_the_path() -> None:
    assert choose_repository(Address(None, "sync"), "github.com/acme/app") == "github.com/acme/app"


def test_two_repositories_are_refused() -> None:
    with pytest.raises(RepositoryInvalid):
        choose_repository(Address("github.com/acme/app", None), "github.com/acme/app")


def test_a_call_about_one_repository_needs_one() -> None:
    with pytest.raises(RepositoryInvalid):
        require_repository(Address(None, "sync"), None)


@pytest.mark.parametrize(
    ("spelling", "kept"),
    [
        ("https://user:secret@github.com/acme/app", "https://github.com/acme/app"),
        ("https://token@github.com/acme/app", "https://github.com/acme/app"),
        ("ssh://git@github.com:22/acme/app", "ssh://github.com:22/acme/app"),
        ("git@github.com:acme/app.git", "git@github.com:acme/app.git"),
        ("user:secret@github.com/acme/app", "github.com/acme/app"),
        ("github.com/acme/a@b", "github.com/acme/a@b"),
    ],
)
def test_a_password_does_not_get_past_the_door(spelling: str, kept: str) -> None:
    assert check_spelling(spelling) == kept


@pytest.mark.parametrize("spelling", [":@.", "u:p@../app", "u:p@", "https://u:p@./app", "u\x00:p@github.com/acme/app"])
def test_nothing_hides_behind_a_user(spelling: str) -> None:
    with pytest.raises(RepositoryInvalid):
        check_spelling(spelling)
