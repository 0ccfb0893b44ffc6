import pytest

from registry.api.parameters import preferred_wait_s, read_parameters
from registry.errors import RequestInvalid


def test_values_are_decoded() -> None:
    assert read_parameters(b"q=a%20b+c%C3%A9", {"q"}).text("q") == "a b cé"


def test_an_empty_value_is_there() -> None:
    assert read_parameters(b"q=", {"q"}).text("q") == ""


def test_a_repeated_parameter_keeps_its_order() -> None:
    assert read_parameters(b"tag=b&tag=a", {"tag"}).texts("tag") == ("b", "a")


@pytest.mark.parametrize("query", [b"x=1", b"Q=1", b"q=%ff", b"q=\xff", b"=1", b"q=1&" * 100])
def test_what_the_call_does_not_take_is_refused(query: bytes) -> None:
    with pytest.raises(RequestInvalid):
        read_parameters(query, {"q"})


def test_a_single_parameter_given_twice_is_refused() -> None:
    with pytest.raises(RequestInvalid, match="2 times"):
        read_parameters(b"q=1&q=2", {"q"}).text("q")


@pytest.mark.parametrize("text", ["0", "201", "-1", "1.0", "1e1", "", "²", "٣", "9" * 5000])
def test_a_number_out_of_bounds_is_refused(text: str) -> None:
    parameters = read_parameters(b"limit=" + "".join(f"%{byte:02x}" for byte in text.encode()).encode(), {"limit"})
    with pytest.raises(RequestInvalid):
        parameters.number("limit", 50, least=1, most=200)


@pytest.mark.parametrize(
    ("prefer", "wait_s"),
    [
        (None, None),
        ("", None),
        ("wait=10", 10),
        ("WAIT = 1.5", 1.5),
        ('respond-async, wait="20"; x=y', 20),
        ("wait=600", 60),
        ("wait=0", 0),
        ("wait", None),
        ("wait=-1", None),
        ("wait=nan", None),
        ("wait=inf", None),
        ("waiting=3", None),
    ],
)
def test_the_preferred_wait(prefer: str | None, wait_s: float | None) -> None:
    assert preferred_wait_s(prefer) == wait_s
