"""Mistakes that authors make: each is found where it stands, and the message says how to mend it.

In these texts » stands before the culprit, and is no part of the file.
"""

import pytest

from registry.playbook.model import Level
from registry.playbook.reading import read_file

MARK = "»"
HEAD = 'playbook: 1\nname: roll-back\nversion: "1.0"\nowner: web\n'
STEPS = "steps:\n  - id: a\n    instruction: Do it.\n"
JSON_HEAD = '{\n  "playbook": 1,\n  "name": "roll-back",\n'


def first_error(text, path):
    """(code, line, column, message) of the one error that stops a file, with the place that its mark names."""
    assert text.count(MARK) == 1
    before, after = text.split(MARK)
    data = (before + after).encode("utf-8", "surrogatepass")
    errors = [each for each in read_file(path, data).problems if each.level is Level.ERROR]
    assert errors, "the file loads"
    wanted = (before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
    return errors[0], wanted


def check(text, path, code, says):
    error, wanted = first_error(text, path)
    assert (error.code, error.line, error.column) == (code, *wanted), error.message
    assert says in error.message


VALUES = [
    ("Roll back»: fast", "yaml-syntax", "put the whole text in quotes"),
    ('Say "hi"»: now', "yaml-syntax", "put the whole text in single quotes"),
    ("It's this»: now", "yaml-syntax", "put the whole text in double quotes"),
    ('It\'s "this"»: now', "yaml-syntax", "below >-"),
    ("see http://a.b»: it", "yaml-syntax", "a colon and a space"),
    ("Note»:", "yaml-syntax", "ends in a colon"),
    ("Roll it back.tags»: [a]", "yaml-syntax", "tags: stands in the middle of a text: if it is a field of its own"),
    ("戻す。license»: MIT", "yaml-syntax", "license: stands in the middle of a text"),
    ("p owner»: x", "yaml-syntax", "begin a new line"),
    ("»@team rolls back", "yaml-syntax", "a text cannot begin with @"),
    ("»`rollback` it", "yaml-syntax", "a text cannot begin with `"),
    ("»%5 of traffic", "yaml-syntax", "a text cannot begin with %"),
    ("»? why", "yaml-syntax", "a text cannot begin with ?"),
    ("», x", "yaml-syntax", "a text cannot begin with ,"),
    ("»] x", "yaml-syntax", "a text cannot begin with ]"),
    ("»**bold** text", "yaml-syntax", "a text that begins with * is taken for an alias"),
    ("»* text", "yaml-syntax", "put the whole text in quotes"),
    ("»*rollback it", "alias-refused", "put the whole value in quotes if it is text"),
    ("»& more", "yaml-syntax", "taken for an anchor"),
    ("»&more text", "alias-refused", "taken for an anchor, which is not read"),
    ("»!important note", "tag-refused", "tags are not read: remove the tag"),
    ("»!x!y z", "tag-refused", "put the whole value in quotes"),
    ("»{{ inputs.x }}", "yaml-syntax", "begins with {{ is taken for a YAML mapping: put the whole value in quotes"),
    ("»{{ inputs.x }} is done", "yaml-syntax", "begins with {{"),
    ("»{% if x %}", "yaml-syntax", "begins with {% is taken for a YAML mapping"),
    ("»{x} is done", "yaml-syntax", "is a mapping and ends at its }"),
    ("»[a] | x", "yaml-syntax", "is a list and ends at its ], but text follows it: put the whole text in quotes"),
    ("»[a] [b]", "yaml-syntax", "text follows it"),
    ("»[a] - text", "yaml-syntax", "text follows it"),
    ("»[link](http://x.y)", "yaml-syntax", "text follows it"),
    ("»[link]: text", "yaml-syntax", "text follows it"),
    ("»- a", "yaml-syntax", "a list begins on a line of its own"),
    ("»| Roll back", "yaml-syntax", "begins a block of text on the lines below"),
    ("»> 5 errors", "yaml-syntax", "put the whole text in quotes if the > belongs to it"),
    ('»"Roll" back', "yaml-syntax", "text follows the quote that closes this value"),
    ('»"Roll", "back"', "yaml-syntax", "write [ before the first and ] behind the last"),
    ('"Say »"hi" now"', "yaml-syntax", 'write \\" for it'),
    ("'It»'s broken'", "yaml-syntax", "write it twice ('')"),
    ('"p"»,', "yaml-syntax", "remove the ,"),
    ('"p"»;', "yaml-syntax", "remove the ;"),
    ('»"Roll back', "yaml-syntax", "never closed"),
    ("»'tis so", "yaml-syntax", "an apostrophe at a text's begin needs double quotes"),
    ('"C:»\\path"', "yaml-syntax", "\\p is no escape that double quotes know: write \\\\"),
    ('"»\\xZZ"', "yaml-syntax", "wants hexadecimal digits"),
    ('"a\\\\»\\0"', "control-character", "U+0000"),
    ('"a »\\ud800"', "text-invalid", "write the character itself"),
    ('"a »\\u0007 b"', "control-character", "stands for the invisible character U+0007: remove it"),
]


@pytest.mark.parametrize(("value", "code", "says"), VALUES)
def test_a_value_that_yaml_takes_for_something_else(value, code, says):
    check(f"{HEAD}purpose: {value}\n{STEPS}", "playbooks/a.yaml", code, says)


@pytest.mark.parametrize(("value", "code", "says"), VALUES)
def test_the_same_in_front_matter_and_at_its_place_in_the_file(value, code, says):
    check(f"---\nname: roll-back\ndescription: {value}\n---\nBody.\n", "skills/roll-back/SKILL.md", code, says)


@pytest.mark.parametrize(
    ("lines", "code", "says"),
    [
        ("»\tpurpose: p\n", "yaml-syntax", "a tab stands where YAML takes only spaces"),
        ("purpose: p\nsteps:\n»\t- id: a\n", "yaml-syntax", "indent with spaces"),
        ("purpose: p\nsteps:\n  - id: a\n»\tinstruction: b\n", "yaml-syntax", "a tab"),
        ("purpose: p\nsteps:\n-»\tid: a\n-\tinstruction: b\n", "yaml-syntax", "a tab"),
        ("purpose: |\n»\tsome text\n", "yaml-syntax", "a tab"),
        ("purpose: p\n »owner: x\n", "yaml-syntax", "begin owner in column 1, or put the whole text in quotes"),
        ("purpose: p\nsteps:\n  - id: a\n     »instruction: b\n", "yaml-syntax", "begin instruction in column 5"),
        (
            "purpose: p\nsteps:\n  - id: a\n   »instruction: b\n",
            "yaml-syntax",
            "stands in the list that begins in line 7",
        ),
        (
            "purpose: p\nrunbook:\n    mode: x\n  »completion: y\n",
            "yaml-syntax",
            "indented by 2 spaces, which fits no open block",
        ),
        ("purpose: p\nsteps:\n- id: a\n  instruction: b\n »- id: c\n", "yaml-syntax", "indented by 1 space,"),
        ("purpose: p\nnot_for:\n  - a\n  »b\n", "yaml-syntax", "stands in a list and is no item"),
        ("purpose: p\nnot_for:\n  - a\n  »b: c\n", "yaml-syntax", "begin it with - and a space"),
        ("purpose: |\n»Some text\n", "yaml-syntax", "the text of the | above has to be indented"),
        ("purpose: |\n  a\n »b\n", "yaml-syntax", "indented less than the block of text above"),
        ("purpose: p\ntags:\n  »* a\n  * b\n", "yaml-syntax", "begins with - and a space, not with *"),
        ("purpose: p\nsteps:\n  »-id: a\n   instruction: b\n", "yaml-syntax", "a space is missing behind the dash"),
        ("purpose»:p\n", "yaml-syntax", "a space is missing behind this colon"),
        ("purpose:»\u00a0p\n", "yaml-syntax", "a blank that YAML does not know (U+00A0)"),
        ("purpose»\uff1ap\n", "yaml-syntax", "a full-width colon"),
        ("purpose »= p\n", "yaml-syntax", "not with ="),
        ("»purpose\n", "yaml-syntax", "a colon is missing behind purpose"),
        ("purpose: p\n»when errors rise\n", "yaml-syntax", "indent it to go on with that text"),
        ("purpose: p\n»// a comment\n", "yaml-syntax", "a comment begins with #"),
        ("»: p\n", "yaml-syntax", "there is no name before this colon"),
        ("purpose: p\n»[a]: b\n", "yaml-syntax", "a list or a mapping cannot be a key"),
        ("purpose: p\nx-a:\n  »1: b\n", "yaml-syntax", "the key '1' is not text: put it in quotes"),
        ("purpose: p\n»owner: y\n", "duplicate-key", "stands here twice, first in line 4: keep one of them"),
        ("purpose: p\nx-a:\n  <<: »*x\n", "alias-refused", "write the value out"),
        ("purpose: p\ntags: »[a, b\n", "yaml-syntax", "the [ that opens here is not closed: close it with ]"),
        ("purpose: p\nsteps:\n  - »{id: a\n  - {id: b}\n", "yaml-syntax", "the { that opens here is not closed"),
        ('purpose: p\ntags: ["a" »"b"]\n', "yaml-syntax", "a comma is missing before this"),
        ('purpose: p\ntags: [\n  "a»"\n  "b"\n]\n', "yaml-syntax", "a comma is missing behind this"),
        ("purpose: p\nsteps:\n  - {id: a »instruction: b}\n", "yaml-syntax", "a comma is missing before this"),
        ("purpose: p\ntags: [a, b»}\n", "yaml-syntax", "this closes nothing: the [ in line 6 wants a ]"),
        ("purpose: p\ntags: [a, b]»]\n", "yaml-syntax", "remove the ]"),
        ("purpose: p\ntags: [a,», b]\n", "yaml-syntax", "a value is missing before this comma"),
        ("purpose: p\ntags: [»*.py]\n", "yaml-syntax", "taken for an alias"),
        ("purpose: p\ntags: [»{{ inputs.x }}]\n", "yaml-syntax", "begins with {{"),
        ('purpose: »"Roll back\ntags: ["a"]\n', "yaml-syntax", "not closed in its line but in line 6: close it here"),
        ("»<<<<<<< HEAD\npurpose: p\n=======\n", "yaml-syntax", "a merge conflict was left in the file"),
        ("purpose: p\n»...\n", "yaml-syntax", "a line ... ends the document"),
        ("purpose: p\n»---\n", "yaml-syntax", "a second document begins here"),
        ("»" + "k" * 1_100 + ": p\n", "yaml-syntax", "a key has 1,024 characters at most"),
    ],
)
def test_a_line_that_does_not_fit(lines, code, says):
    check(HEAD + lines + STEPS, "playbooks/a.yaml", code, says)


def test_a_missing_space_in_the_first_line_is_found_there():
    check(
        "playbook»:1\nname: x\nplaybook: 1\n", "playbooks/a.yaml", "yaml-syntax", "a space is missing behind this colon"
    )


@pytest.mark.parametrize(
    ("lines", "code", "says"),
    [
        ('"tags": ["a"]»,\n}', "json-syntax", "a comma stands before the closing }: remove it"),
        ('"tags": ["a"»,]\n}', "json-syntax", "a comma stands before the closing ]"),
        ('»// why\n"tags": []\n}', "json-syntax", "a comment stands here, and JSON has none"),
        ('"tags": [] »/* why */\n}', "json-syntax", "a comment"),
        ('"tags": »# why\n[]\n}', "json-syntax", "a comment"),
        ("»'tags': []\n}", "json-syntax", 'write " at both ends'),
        ("»“tags”: []\n}", "json-syntax", "this quote is none that JSON knows"),
        ("»tags: []\n}", "json-syntax", 'the name tags stands without quotes: write "tags"'),
        ('"tags": [»a]\n}', "json-syntax", 'write "a"'),
        ('"required": »True\n}', "json-syntax", "JSON writes true"),
        ('"required": »None\n}', "json-syntax", "JSON writes null"),
        ('"x-a": »NaN\n}', "number-out-of-range", "NaN is no JSON number"),
        ('"x-a": ["NaN", »-Infinity]\n}', "number-out-of-range", "-Infinity is no JSON number"),
        ('"x-a": »01\n}', "json-syntax", "01 is no number that JSON knows"),
        ('"x-a": »0x1F\n}', "json-syntax", "0x1F is no number"),
        ('"x-a": ».5\n}', "json-syntax", ".5 is no number"),
        ('"x-a": »+1\n}', "json-syntax", "+1 is no number"),
        ('"x-a": »1_000\n}', "json-syntax", "1_000 is no number"),
        ('"tags": ["a"»]\n"owner": "x"\n}', "json-syntax", "a comma is missing behind this"),
        ('"tags": ["a»" "b"]\n}', "json-syntax", "a comma is missing behind this"),
        ('"tags»" ["a"]\n}', "json-syntax", "a colon is missing behind this name"),
        ('"tags" »= ["a"]\n}', "json-syntax", "a colon is wanted here, not ="),
        ('"tags"»:\n}', "json-syntax", "a value is missing behind this colon"),
        ('"a": 1,»,\n"b": 2}', "json-syntax", "nothing stands before this comma"),
        ('"tags": »["a"\n}', "json-syntax", "the [ that opens here is not closed"),
        ('"tags": ["a"»}\n}', "json-syntax", "this closes nothing: the [ before it wants a ]"),
        ('"tags": »["a",\n"owner": "x"\n}', "json-syntax", "the [ that opens here is not closed"),
        ('"tags": ["a"»: 1]\n}', "json-syntax", "write { before the name"),
        ('»"tags: "a"\n}', "json-syntax", "this name is not closed where it ends"),
        ('"purpose": "say »"hi" now"\n}', "json-syntax", 'write \\" for one that belongs to it'),
        ('"purpose": "a»\n}', "json-syntax", "not closed in its line"),
        ('"purpose": "a»\tb"\n}', "json-syntax", "write \\t for it"),
        ('"purpose": »"a', "json-syntax", "never closed"),
        ('"purpose": "C:»\\path"\n}', "json-syntax", "\\p is no escape that JSON knows"),
        ('"purpose": "»\\u12"\n}', "json-syntax", "four hexadecimal digits"),
        ('"purpose": "a \\\\ »\\u0007"\n}', "control-character", "U+0007"),
        ('"purpose": "a \\\\u0001 »\\b"\n}', "control-character", "U+0008"),
        ('"purpose": "\\ud83d\\ude00 »\\ud83d"\n}', "text-invalid", "\\ud83d is half a character"),
        ('"purpose": "a »\\ude00"\n}', "text-invalid", "half a character"),
        ('»"name": "x"\n}', "duplicate-key", "first in line 3: keep one of them"),
        ('"x-a": [{"k": 1, »"\\u006b": 2}]\n}', "duplicate-key", "the key 'k' stands here twice"),
        ('"a": 1\n}»}', "json-syntax", "the document ends before this"),
        ('»<<<<<<< HEAD\n"a": 1\n}', "json-syntax", "a merge conflict was left"),
        ('"a": »{{ inputs.x }}\n}', "json-syntax", "a template stands here without quotes"),
    ],
)
def test_a_mistake_in_json(lines, code, says):
    check(JSON_HEAD + lines, "playbooks/a.json", code, says)


def test_an_object_that_is_never_closed_is_shown_where_it_opens():
    check('»{"playbook": 1, "name": "a", "tags": ["a"]\n', "playbooks/a.json", "json-syntax", "never closed: write }")


def test_json_that_is_too_deep_is_shown_where_it_becomes_so():
    deep = '{"playbook": 1, "x-a": ' + "[" * 63 + "»[]" + "]" * 63 + "}"
    check(deep, "playbooks/a.json", "too-deep", "more than 64 levels deep")


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("»# A skill\n\nDo it.\n", "front-matter-missing", "begin the file with a line ---"),
        ("»+++\nname = 'a'\n+++\n", "front-matter-missing", "line 1 is '+++'"),
        ("»----\nname: a\n----\n", "front-matter-missing", "line 1 is '----'"),
        ("»——\nname: a\n", "front-matter-missing", "line 1 is '——'"),
        ("» ---\nname: a\n ---\n", "front-matter-missing", "line 1 is indented"),
        ("---» yaml\nname: a\n---\n", "front-matter-missing", "text follows the --- on line 1"),
        ("\n»---\nname: a\ndescription: b\n---\n", "front-matter-late", "the line above it is empty: remove it"),
        ("```yaml\n»---\nname: a\n---\n```\n", "front-matter-late", "a code fence stands above it"),
        ("# A skill\n»---\nname: a\n---\n", "front-matter-late", "move the front matter to the top"),
        ("»---\nname: a\ndescription: b\n", "front-matter-unclosed", "close it with a line --- at column 0"),
        ("---\nname: a\n» ---\nBody.\n", "front-matter-unclosed", "if this line is to close it"),
        ("---\nname: a\n»----\nBody.\n", "front-matter-unclosed", "if this line is to close it"),
        ("---\n»---\nBody.\n", "yaml-syntax", "there are no fields here"),
        ("---\n»just text\n---\n", "field-type", "write fields, each as key: value"),
    ],
)
def test_front_matter_that_is_not_where_or_how_it_should_be(text, code, says):
    check(text, "skills/a/SKILL.md", code, says)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (
            "purpose: p\nnot_for:\n  - »Do not: this\n",
            "if it is one text that has a colon in it, put the whole text in quotes",
        ),
        ("purpose: »[draft]\n", "not a list: put it in quotes if it is text"),
        ("purpose: »true\n", "not true or false: put it in quotes if it is text"),
        ("purpose: p\ntags: »a\n", "must be a list, not text: write [ before it and ] behind it"),
        ("purpose: p\ntags:\n  »-a\n  -b\n", "write a space behind each -"),
        ("purpose: p\nrequired: »yes\n", "must be true or false, not text: write true"),
        ("purpose:» \n", "is empty: fill it in or leave it out"),
    ],
)
def test_a_value_of_the_wrong_kind_says_how_that_often_comes_about(lines, says):
    check(HEAD + lines + STEPS, "playbooks/a.yaml", "field-type", says)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("»zoom/android", "write zoom-android, for example"),
        ("»'roll back!'", "write roll-back, for example"),
        ("»手順", "use lower-case letters, digits and single hyphens"),
    ],
)
def test_a_name_that_is_none_is_given_one_that_is(name, says):
    check(f"---\nname: {name}\ndescription: b\n---\n", "skills/a/SKILL.md", "name-invalid", says)


def test_lines_in_a_message_are_lines_of_the_file():
    check("---\nname: a\ndescription: b\n»name: c\n---\n", "skills/a/SKILL.md", "duplicate-key", "first in line 2")
