import pytest

from registry.catalog.likeness import COMPARED_MAX, WordingIndex, is_near, wording_of

LONG = "Rotate the signing key of a service that signs tokens, without logging anybody out."


def near(one: tuple[str, str], other: tuple[str, str]) -> bool:
    found = is_near(wording_of(*one), wording_of(*other))
    assert is_near(wording_of(*other), wording_of(*one)) is found
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LONG, LONG),
        (LONG, LONG.upper()),
        (LONG, "Rotate signing keys of the service that signs tokens without logging anybody out"),
        (LONG, f"Safely: {LONG}"),
        ("Deploy.", "deploy"),
        ("鍵を回転する", "鍵を回転する。"),
    ],
)
def test_purposes_that_say_the_same_are_near(one, other):
    assert near(("rotate-key", one), ("renew-key", other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LONG, "Take a deployed service back to the release before the one that broke it."),
        ("Deploy the API.", "Deploy the worker."),
        ("Turn the flag on.", "Turn the flag off."),
        ("a b c d e", "a b c d e f g h"),
        ("", LONG),
    ],
)
def test_purposes_that_do_not_are_not(one, other):
    assert not near(("rotate-key", one), ("renew-key", other))


def test_a_purpose_of_few_words_is_only_compared_as_a_whole():
    assert not near(("one", "Restart every stuck queue worker"), ("two", "Restart every stuck queue worker now"))


def test_what_the_names_tell_apart_is_not_near():
    east = ("drain-east", "Drain the east cluster of all customer traffic before a planned upgrade of its nodes.")
    west = ("drain-west", "Drain the west cluster of all customer traffic before a planned upgrade of its nodes.")
    assert not near(east, west)


def test_what_only_numbers_tell_apart_is_not_near():
    one = ("first-line", "Answer the customers of support tier 1 who wait for longer than they should.")
    two = ("second-line", "Answer the customers of support tier 2 who wait for longer than they should.")
    assert not near(one, two)


def test_a_word_that_only_one_purpose_has_tells_nothing_apart():
    assert near(("rotate-key", LONG), ("rotate-key-safely", f"{LONG} Safely."))


def test_an_index_finds_what_is_near_and_wanted_in_order():
    wordings = [wording_of(f"name-{place}", LONG) for place in "abcd"]
    index = WordingIndex([*wordings, wording_of("other", "Something else altogether, of many other words.")])
    assert index.near(wordings[0], 9, lambda place: place != 0) == [1, 2, 3]


def test_an_index_gives_no_more_than_were_asked_for():
    wordings = [wording_of(f"name-{place}", LONG) for place in range(50)]
    assert len(WordingIndex(wordings).near(wordings[0], 4, lambda _: True)) == 4


def test_thousands_from_one_template_are_compared_with_a_bounded_number():
    text = "Answer the customers of the {0} region who wait for longer than they really should on a {0} day."
    words = [f"{chr(97 + place // 26 % 26)}{chr(97 + place % 26)}{chr(97 + place // 676)}q" for place in range(2_000)]
    wordings = [wording_of(f"answer-{word}", text.format(word)) for word in words]
    index = WordingIndex(wordings)
    asked = []
    assert index.near(wordings[0], 4, lambda place: asked.append(place) is None and place != 0) == []
    assert len(asked) <= COMPARED_MAX + 2
