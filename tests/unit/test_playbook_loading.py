import pytest

from registry.playbook.atlas import Atlas, Spot
from registry.playbook.json_text import load_json
from registry.playbook.limits import Limits
from registry.playbook.load import Syntax, load
from registry.playbook.text import Fault, Numeral, decode, number_of
from registry.playbook.yaml_text import load_yaml, root_keys_of


def code(result):
    assert isinstance(result, Fault), result
    return result.code


@pytest.mark.parametrize("source", ["1.20", "0123", "1e3", "0x1F", "+5", ".5", ".inf"])
def test_a_yaml_number_keeps_its_source_text(source):
    value = load_yaml(f"a: {source}")["a"]
    assert isinstance(value, Numeral)
    assert value == source


@pytest.mark.parametrize("source", ["no", "on", "yes", "off", "2026-01-31", "1:30", "0b1", "1_000"])
def test_what_only_yaml_1_1_took_for_something_else_is_text(source):
    assert load_yaml(f"a: {source}") == {"a": source}
    assert not isinstance(load_yaml(f"a: {source}")["a"], Numeral)


def test_true_false_and_null_are_what_the_core_schema_says():
    assert load_yaml("[true, False, NULL, ~, ]") == [True, False, None, None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &x 1", "alias-refused"),
        ("a: *x", "alias-refused"),
        ("a: &x [1]", "alias-refused"),
        ("a: !!str x", "tag-refused"),
        ("a: ! x", "tag-refused"),
        ("a: ! 'x'", "tag-refused"),
        ("a: ! [x]", "tag-refused"),
        ("a: !vault {}", "tag-refused"),
        ("%TAG ! tag:x,2000:\n---\na: 1", "tag-refused"),
        ("a: 1\na: 2", "duplicate-key"),
        ("1: a", "yaml-syntax"),
        ("[a]: b", "yaml-syntax"),
        ("a: 1\n---\nb: 1", "yaml-syntax"),
        ("", "yaml-syntax"),
        ("a: b: c", "yaml-syntax"),
        ('a: "\\0"', "control-character"),
        ('a: "\\ud800"', "text-invalid"),
        ("a: x\u2028b: 1", "control-character"),
        ("a: " + "[" * 65, "too-deep"),
        ("a: " + "[" * 5000, "too-deep"),
    ],
)
def test_hostile_yaml_is_refused_with_its_code(text, expected):
    assert code(load_yaml(text)) == expected


def test_sixty_four_levels_are_read():
    assert not isinstance(load_yaml("a: " + "[" * 63 + "]" * 63), Fault)


def test_more_values_than_the_limit_are_too_large():
    assert code(load_yaml("[a, b, c]", limits=Limits(nodes=3))) == "too-large"
    assert code(load_json("[1, 2, 3]", limits=Limits(nodes=3))) == "too-large"


def test_a_double_quoted_escape_is_newline_normalised():
    assert load_yaml('a: "x\\r\\ny"') == load_json('{"a": "x\\r\\ny"}') == {"a": "x\ny"}


def test_a_yaml_fault_says_its_line_and_column():
    fault = load_yaml("a: 1\nb:\n  - &x 1")
    assert (fault.line, fault.column) == (3, 5)


def places(text, syntax, *spots):
    return Atlas(load(text, syntax)).places(spots)


def test_places_are_those_of_keys_and_values():
    at = ("a", 0, "c")
    assert places("a:\n  - é: 1\n    c: x", Syntax.YAML, Spot(at), Spot(at, on_key=True)) == [(3, 8), (3, 5)]


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        ("a:\n  b: [x, {c: 1}]\n", Syntax.YAML),
        ('{"a":\n {"b": ["x", {"c": 1}]}}', Syntax.JSON),
        ("---\na: {b: [x, {c: 1}]}\n---\nbody\n", Syntax.MARKDOWN),
    ],
)
def test_what_has_no_place_is_shown_where_the_closest_thing_around_it_stands(text, syntax):
    found = places(
        text, syntax, Spot(("a", "b", 7)), Spot(("a", "b")), Spot(("a", "z", "y")), Spot(("a",)), Spot(("q",))
    )
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert found[4] == (1, 1)


def test_the_body_of_a_file_with_crlf_is_counted_in_its_own_lines():
    text = "---\r\na: b\r\n---\r\n\r\nfirst\r\nsecond x\r\n"
    assert places(text, Syntax.MARKDOWN, Spot(body_offset=13)) == [(6, 8)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1, "a": 2}', "duplicate-key"),
        ('{"a": NaN}', "number-out-of-range"),
        ('{"a": "\\ud800"}', "text-invalid"),
        ('{"a": "\\u0000"}', "control-character"),
        ('{"a": ' + "[" * 64 + "]" * 64 + "}", "too-deep"),
        ("[" * 100_000, "too-deep"),
        ('{"a": 1,}', "json-syntax"),
        ("", "json-syntax"),
    ],
)
def test_hostile_json_is_refused_with_its_code(text, expected):
    assert code(load_json(text)) == expected


def test_a_duplicate_json_key_is_shown_where_it_stands_again():
    fault = load_json('{"x": {"a": 1},\n "a": 1, "a": 2}')
    assert (fault.line, fault.column) == (2, 10)


def test_json_places_agree_with_the_text():
    at = ("a", 1, "b")
    assert places('{"a": [1,\n {"b": true}]}', Syntax.JSON, Spot(at), Spot(at, on_key=True)) == [(2, 8), (2, 3)]


@pytest.mark.parametrize(
    ("numeral", "expected"),
    [
        ("0123", 123),
        ("0o17", 15),
        ("0x1F", 31),
        ("1e3", 1000),
        ("1.0", 1),
        ("1.5", 1.5),
        ("9007199254740991", 9007199254740991),
        ("9007199254740992", None),
        ("-9007199254740992", None),
        ("1e400", None),
        (".inf", None),
        (".NaN", None),
        ("9" * 5000, None),
    ],
)
def test_a_numeral_is_the_number_json_can_carry_or_none(numeral, expected):
    assert number_of(numeral) == expected


def test_one_byte_order_mark_is_dropped_and_a_second_one_refused():
    assert decode(b"\xef\xbb\xbfa: 1") == "a: 1"
    assert code(decode(b"\xef\xbb\xbf\xef\xbb\xbfa: 1")) == "control-character"


def test_bytes_that_are_no_utf8_are_shown_where_they_stand():
    fault = decode("a\né".encode() + b"\xff")
    assert (fault.code, fault.line, fault.column) == ("encoding-invalid", 2, 2)


@pytest.mark.parametrize("char", ["\x00", "\x07", "\x1b", "\x7f", "\x9b", "\ufffe"])
def test_control_characters_are_refused(char):
    assert code(decode(f"a: {char}".encode())) == "control-character"


def test_the_root_keys_of_lenient_yaml_are_those_of_its_first_document():
    assert root_keys_of("a: !x {b: 1}\nc: &y [d: 1]\ne: *y\n---\nf: 1") == {"a", "c", "e"}
    assert root_keys_of("- a: 1\n") == frozenset()
    assert root_keys_of("a: [") is None
