import pytest

from registry.api.bodies import MEMBERS_MAX, RegistrationBody, SearchBody, WaiverBody, read_body
from registry.errors import RequestInvalid

JSON = "application/json"


@pytest.mark.parametrize(
    "content_type", [JSON, "application/json; charset=utf-8", "Application/JSON", "application/merge+json"]
)
def test_json_is_read(content_type: str) -> None:
    assert read_body(SearchBody, b'{"q": "x"}', content_type).q == "x"


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
def test_nothing_else_is_read(content_type: str) -> None:
    with pytest.raises(RequestInvalid, match="application/json"):
        read_body(SearchBody, b'{"q": "x"}', content_type)


def test_a_member_given_twice_is_refused() -> None:
    with pytest.raises(RequestInvalid, match="twice"):
        read_body(SearchBody, b'{"q": "x", "q": "y"}', JSON)


def test_types_are_not_converted() -> None:
    with pytest.raises(RequestInvalid):
        read_body(SearchBody, b'{"limit": "5"}', JSON)


@pytest.mark.parametrize("until", ['"tomorrow"', "20300101", '"2030-13-01"', "null"])
def test_a_day_that_is_none_is_refused(until: str) -> None:
    with pytest.raises(RequestInvalid, match="until"):
        read_body(WaiverBody, f'{{"reason": "x", "until": {until}}}'.encode(), JSON)


def test_every_fault_is_named() -> None:
    with pytest.raises(RequestInvalid) as refusal:
        read_body(RegistrationBody, b'{"urll": "x", "paths": [1]}', JSON)
    errors = refusal.value.extra["errors"]
    assert isinstance(errors, list)
    assert {item["member"] for item in errors} == {"url", "team", "urll", "paths.0"}


def test_the_value_of_a_faulty_member_is_not_repeated() -> None:
    with pytest.raises(RequestInvalid) as refusal:
        read_body(RegistrationBody, b'{"url": 1, "team": "x", "credential": ["hunter2secret"]}', JSON)
    assert "hunter2secret" not in str(refusal.value) + str(refusal.value.extra)


@pytest.mark.parametrize("pattern", ["../x/*.yaml", "/etc/*", "a//b", "", "a/", "a\\\\b", "{a,b}" * 10, "x" * 600])
def test_a_pattern_that_can_never_be_read_by_is_refused(pattern: str) -> None:
    with pytest.raises(RequestInvalid, match=r"^paths: the (pattern|braces)"):
        read_body(RegistrationBody, f'{{"url": "u", "team": "t", "paths": ["{pattern}"]}}'.encode(), JSON)


def test_patterns_that_can_be_read_by_are_taken() -> None:
    data = b'{"url": "u", "team": "t", "paths": ["plugins/*/skills/**/SKILL.md"]}'
    assert read_body(RegistrationBody, data, JSON).paths == ("plugins/*/skills/**/SKILL.md",)


def test_an_empty_list_of_patterns_is_refused_since_it_would_read_nothing() -> None:
    with pytest.raises(RequestInvalid, match="leave paths out"):
        read_body(RegistrationBody, b'{"url": "u", "team": "t", "paths": []}', JSON)


def test_a_list_is_refused_at_its_first_fault() -> None:
    # A megabyte of faults, each told, held the interpreter for seconds.
    with pytest.raises(RequestInvalid) as refusal:
        read_body(RegistrationBody, b'{"url": "u", "team": "t", "paths": [1, 2, 3]}', JSON)
    assert [item["member"] for item in refusal.value.extra["errors"]] == ["paths.0"]


def test_an_object_of_too_many_members_is_refused_as_a_whole() -> None:
    members = ",".join(f'"a{number}": 1' for number in range(MEMBERS_MAX + 1))
    with pytest.raises(RequestInvalid, match="10001 members"):
        read_body(SearchBody, f"{{{members}}}".encode(), JSON)


def test_a_member_that_is_there_twice_is_found_among_many() -> None:
    members = ",".join(f'"a{number}": 1' for number in range(MEMBERS_MAX - 1))
    with pytest.raises(RequestInvalid, match="'a7' is there twice"):
        read_body(SearchBody, f'{{{members}, "a7": 2}}'.encode(), JSON)
