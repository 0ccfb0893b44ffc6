"""A member put into a JSON text: what is new is laid out as the rest, and nothing else moves."""

import json

import pytest

from registry.cli.json_edit import NotEditable, put

ENTRY = {"type": "http", "url": "u"}


def test_a_new_object_is_laid_out_on_lines():
    assert put("{}", ["mcpServers", "ours"], ENTRY) == (
        '{\n  "mcpServers": {\n    "ours": {\n      "type": "http",\n      "url": "u"\n    }\n  }\n}'
    )


def test_a_new_member_stands_after_the_others_in_their_indentation():
    text = '{\n    "mcpServers": {\n        "theirs": {"command": "x"}\n    },\n    "z": [1, 1.50, "\\u00e9"]\n}\n'
    assert put(text, ["mcpServers", "ours"], {"url": "u"}) == (
        '{\n    "mcpServers": {\n        "theirs": {"command": "x"},\n        "ours": {\n            "url": "u"\n        }\n'
        '    },\n    "z": [1, 1.50, "\\u00e9"]\n}\n'
    )


def test_a_text_on_one_line_stays_on_one():
    assert put('{"a":1}', ["b"], ENTRY) == '{"a":1, "b": {"type": "http", "url": "u"}}'


def test_neighbours_on_one_line_stay_on_one():
    text = '{\n  "mcpServers": { "theirs": {} }\n}\n'
    assert put(text, ["mcpServers", "ours"], {"url": "u"}) == (
        '{\n  "mcpServers": { "theirs": {}, "ours": {"url": "u"} }\n}\n'
    )


def test_line_ends_and_tabs_are_kept():
    made = put('{\r\n\t"a": 1\r\n}\r\n', ["b"], {"url": "u"})
    assert made == '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"url": "u"\r\n\t}\r\n}\r\n'


def test_a_member_is_replaced_where_it_stands():
    text = '{\n  "mcpServers": {\n    "ours": {"url": "old"},\n    "theirs": 1\n  }\n}'
    assert put(text, ["mcpServers", "ours"], {"url": "u"}) == (
        '{\n  "mcpServers": {\n    "ours": {\n      "url": "u"\n    },\n    "theirs": 1\n  }\n}'
    )


def test_of_two_members_with_one_key_the_last_is_replaced_since_it_counts():
    assert json.loads(put('{"a": {"b": 1}, "a": {"b": 2}}', ["a", "b"], 3)) == {"a": {"b": 3}}
    assert put('{"a": {"b": 1}, "a": {"b": 2}}', ["a", "b"], 3) == '{"a": {"b": 1}, "a": {"b": 3}}'


def test_braces_and_commas_in_texts_are_no_structure():
    text = '{"a{,": "},{", "x": {}}'
    assert put(text, ["x", "y"], 1) == '{"a{,": "},{", "x": {"y": 1}}'


def test_half_a_character_stays_an_escape():
    assert put("{}", ["a"], "\ud800").encode() == b'{\n  "a": "\\ud800"\n}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  // mine\n  "a": 1\n}', "line 2, column 3"),
        ('{"a": 1,}', "line 1"),
        ("[]", "no JSON object"),
        ("", "line 1"),
        ('\ufeff{"a": 1}', "BOM"),
        ("[" * 100_000, "too deeply"),
    ],
)
def test_what_is_no_json_object_is_told_with_its_place(text: str, said: str):
    with pytest.raises(NotEditable, match=said):
        put(text, ["a"], 1)


def test_something_else_than_an_object_on_the_way_is_not_replaced():
    with pytest.raises(NotEditable, match="'a' is no object"):
        put('{"a": [1]}', ["a", "b"], 1)
