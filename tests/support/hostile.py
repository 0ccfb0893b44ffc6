"""Files of up to 1 MiB that want to cost much: each by a name, made when it is asked for."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count

MIB = 1 << 20
YAML, JSON, MARKDOWN = "playbooks/a.yaml", "playbooks/a.json", "playbooks/a.md"
SKILL, RUNBOOK, OPENPLAYBOOK = "skills/a/SKILL.md", "playbooks/a.runbook.json", "playbooks/a.openplaybook.json"

_HEAD = b'playbook: 1\nname: a\nversion: "1"\nowner: o\npurpose: p\n'
_STEPS = b"steps:\n- {id: a, instruction: b}\n"
_SKILL = b"---\nname: a\ndescription: b\n"
_JSON = b'{"playbook":1,"name":"a","version":"1","owner":"o","purpose":"p",'
_JSON_STEPS = b'"steps":[{"id":"a","instruction":"b"}],'
_RUNBOOK = b'{"runbook_id":"a","mode":"required","checkpoints":[],'
_OPEN = b'{"name":"a","tools":[],"requires":{},"steps":[{"id":"a"}],'

UNITS: Mapping[str, bytes] = {
    "opening brackets": b"[",
    "closing brackets": b"]",
    "opening braces": b"{",
    "nested objects": b'{"a":',
    "double quotes": b'"',
    "single quotes": b"'",
    "dashes": b"- ",
    "tabs": b"\t",
    "line feeds": b"\n",
    "carriage returns": b"\r",
    "line separators": "\u2028".encode(),
    "zero bytes": b"\0",
    "no UTF-8": b"\xff",
    "asterisks": b"*",
    "ampersands": b"&",
    "exclamation marks": b"!",
    "colons": b": ",
    "question marks": b"? ",
    "block signs": b"|\n",
    "backslashes": b"\\",
    "keys": b"a: ",
    "fences": b"---\n",
    "templates": b"{{ inputs.x }} ",
    "emoji": "\U0001f600".encode(),
    "commas": b",",
    "digits": b"9",
    "spaces": b" ",
    "words": b"word ",
    "lines": b"a: b\n",
    "byte order marks": "\ufeff".encode(),
    "comments": b"// c\n",
}
"""What a file is filled with, again and again."""

HOMES: Mapping[str, tuple[str, bytes, bytes]] = {
    "a YAML file without the marker": ("playbooks/b.yaml", b"", b""),
    "a YAML playbook": (YAML, _HEAD, b""),
    "a value in YAML": (YAML, _HEAD + b"x-a: ", b""),
    "the front matter of a skill": (SKILL, _SKILL + b"x: ", b"\n---\nbody"),
    "the body of a skill": (SKILL, _SKILL + b"---\n", b""),
    "a skill": (SKILL, b"", b""),
    "the body of a playbook": (MARKDOWN, b"---\n" + _HEAD + b"---\n", b""),
    "a value in JSON": (JSON, _JSON + b'"x-a":', b""),
    "a text in JSON": (JSON, _JSON + _JSON_STEPS + b'"x-a":"', b'"}'),
    "a JSON file": ("playbooks/b.json", b"", b""),
    "a runbook": (RUNBOOK, _RUNBOOK + b'"x":', b""),
}
"""Where it is filled in: a path, and what stands before and behind."""


def filled(unit: bytes, head: bytes = b"", tail: bytes = b"", *, size: int = MIB) -> bytes:
    """A file of as many units as fit into `size` bytes."""
    return head + unit * ((size - len(head) - len(tail)) // len(unit)) + tail


def numbered(pattern: str, head: bytes = b"", tail: bytes = b"", *, most: int = MIB) -> bytes:
    """A file of as many patterns as fit into 1 MiB, `most` at the most, each with another number in the place of %."""
    made, room = [], MIB - len(head) - len(tail)
    if "%" not in pattern:
        return head + pattern.encode() * min(room // len(pattern), most) + tail
    for number in count():
        piece = pattern.replace("%", str(number)).encode()
        room -= len(piece)
        if room < 0 or number >= most:
            return head + b"".join(made) + tail
        made.append(piece)
    raise AssertionError


def _listed(items: Iterable[object], head: bytes, tail: bytes) -> bytes:
    return head + ",".join(json.dumps(item) for item in items).encode() + tail


def _inputs(schema: dict[str, object], tail: bytes = b"") -> tuple[str, bytes]:
    return YAML, _HEAD + _STEPS + b"inputs: " + json.dumps({"type": "object", **schema}).encode() + b"\n" + tail


def _defs(number: int, link: Callable[[str], dict[str, object]]) -> dict[str, object]:
    made = {f"d{each}": link(f"#/$defs/d{each + 1}") for each in range(number)}
    return {"$defs": {**made, f"d{number}": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/d0"}}}


def _properties(number: int, schema: Callable[[int], object]) -> dict[str, object]:
    return {"properties": {f"a{each}": schema(each) for each in range(number)}}


def _stop(text: bytes) -> bytes:
    return b'stop: [{when: "' + text + b'", then: fail}]\n'


_HeadTail = tuple[bytes, bytes]
_X: _HeadTail = (_HEAD + _STEPS + b"x-a:\n", b"")
_XJ: _HeadTail = (_JSON + _JSON_STEPS + b'"x-a":[', b"1]}")

FILES: Mapping[str, Callable[[], tuple[str, bytes]]] = {
    # Nodes: as many as are read, one too many, and far too many.
    "50,000 nodes in a list": lambda: (YAML, numbered("- a\n", *_X, most=49_900)),
    "50,000 nodes in a mapping": lambda: (YAML, numbered("  k%: v\n", *_X, most=24_900)),
    "50,000 steps' nodes": lambda: (
        YAML,
        numbered("- {id: a%, instruction: do it}\n", _HEAD + b"steps:\n", most=9_900),
    ),
    "50,000 nested lists": lambda: (YAML, numbered("- " + "[" * 60 + "]" * 60 + "\n", *_X, most=800)),
    "50,000 empty mappings": lambda: (YAML, _X[0] + b"- [" + b"{}," * 49_000 + b"]\n"),
    "40,000 floats": lambda: (YAML, numbered("- 1.5e300\n", *_X, most=40_000)),
    "45,000 floats in JSON": lambda: (JSON, numbered("1.234567890e-6,", *_XJ, most=45_000)),
    "50,000 nodes and a mistake at the end": lambda: (YAML, numbered("- a\n", _X[0], b"owne: x\n", most=49_800)),
    "50,000 nodes of JSON and a mistake at the end": lambda: (
        JSON,
        numbered('"aaaaaaaaaaaa",', _XJ[0], b'1],"owne":2}', most=49_000),
    ),
    "100,000 nodes": lambda: (YAML, numbered("- a\n", *_X, most=100_000)),
    "as many nodes of JSON as fit": lambda: (JSON, numbered("1,", *_XJ)),
    "as many objects as fit": lambda: (JSON, numbered("{},", *_XJ)),
    "a skill's metadata of 25,000 numbers": lambda: (
        SKILL,
        numbered("  k%: 1.50\n", _SKILL + b"metadata:\n", b"---\nbody", most=24_000),
    ),
    # Depth, aliases, merge keys, tags.
    "an alias bomb": lambda: (YAML, numbered("b%: &b% [*a,*a]\n", _HEAD + b"a: &a [x,x]\n")),
    "merge keys": lambda: (YAML, numbered("k%: {<<: *x}\n", _HEAD)),
    "tags": lambda: (YAML, numbered("k%: !!str x\n", _HEAD)),
    "a deep nest of blocks": lambda: (
        YAML,
        _HEAD + b"x-a:" + b"".join(b"\n" + b" " * n + b"a:" for n in range(1, 1_400)),
    ),
    "a deep nest of objects": lambda: (JSON, filled(b'{"a":', _JSON + b'"x-a":')),
    "an out of range number at each of 55 levels": lambda: (
        JSON,
        _JSON + b'"x-a":' + b'{"a":1,"b":' * 55 + b"[" + b"1," * 40_000 + b"1e999]" + b',"z":1e999}' * 55 + b"}",
    ),
    # Keys.
    "duplicate keys": lambda: (YAML, filled(b"k: v\n", _HEAD)),
    "a duplicate key at the end": lambda: (YAML, numbered("  k%: v\n", _X[0], b"  k9: 1\n", most=24_800)),
    "duplicate keys of JSON": lambda: (JSON, numbered('"k":1,', _JSON, b'"z":1}', most=24_000)),
    "a duplicate key of JSON at the end": lambda: (JSON, numbered('"x-%":"v",', _JSON, b'"x-0":1}', most=24_000)),
    "unknown keys": lambda: (YAML, numbered("unknown%: v\n", _HEAD + _STEPS, most=24_000)),
    "near misses": lambda: (YAML, numbered("purpos%: v\n", _HEAD + _STEPS, most=24_000)),
    "near misses in steps": lambda: (YAML, numbered("- {id: a, instructio: b}\n", _HEAD + b"steps:\n", most=9_900)),
    "near misses in JSON": lambda: (JSON, numbered('"purpos%":1,', _JSON, b'"z":1}', most=24_000)),
    "near misses of a runbook": lambda: (RUNBOOK, numbered('"descriptio%":1,', _RUNBOOK, b'"z":1}', most=24_000)),
    "near misses of a skill": lambda: (SKILL, numbered("licens%: v\n", _SKILL, b"---\nbody", most=24_000)),
    "near misses of the marker": lambda: ("playbooks/b.json", numbered('"playboo%":1,', b"{", b'"z":1}', most=24_000)),
    "long keys": lambda: (YAML, numbered("? " + "k" * 1_000 + "%\n: v\n", _HEAD)),
    "a long key": lambda: (YAML, _HEAD + b"k" * 1_000_000 + b": v\n"),
    # Scalars.
    "a long plain scalar": lambda: (YAML, filled(b"word\n  ", _HEAD + _STEPS + b"x-a: ", b"w\n")),
    "a long block scalar": lambda: (YAML, filled(b"  word word\n", _HEAD + _STEPS + b"x-a: |\n")),
    "a long quoted scalar": lambda: (YAML, filled(b"\\n", _HEAD + _STEPS + b'x-a: "', b'"\n')),
    "backslashes before a bad escape": lambda: (YAML, filled(b"\\\\", _HEAD + _STEPS + b'x-a: "', b'\\x01"\n')),
    "backslashes before a bad escape of JSON": lambda: (JSON, filled(b"\\\\", _JSON + b'"x-a":"', b'\\u0007"}')),
    "a huge integer": lambda: (YAML, filled(b"9", _HEAD + _STEPS + b"x-a: ", b"\n")),
    "a huge float of JSON": lambda: (JSON, filled(b"9", _JSON + _JSON_STEPS + b'"x-a":0.', b"}")),
    "numbers out of range": lambda: (YAML, numbered("- 1e999\n", *_X, most=49_000)),
    "halves of characters": lambda: (JSON, numbered('"\\ud83d\\ude00",', _XJ[0], b'"\\ud83d"]}', most=49_000)),
    # Broken at the end.
    "YAML that breaks at its end": lambda: (YAML, filled(b"  word word\n", _HEAD + b"x-a: |\n", b"x: y: z\n")),
    "YAML whose quote is not closed": lambda: (YAML, numbered("x-%: vvv\n", _HEAD + b'x-q: "\n')),
    "YAML whose bracket is not closed": lambda: (YAML, numbered("x-%: vvv\n", _HEAD + b"x-q: [a, b\n")),
    "JSON that breaks at its end": lambda: (JSON, numbered('{"a":["b"]},', _JSON + b'"x-a":[', b"}", most=24_000)),
    "JSON of 1 MiB that breaks at its end": lambda: (JSON, numbered('"x-%":"v",', _JSON, b"}")),
    "JSON that is cut off": lambda: (JSON, numbered('"aaaaaaaaaaaa",', _XJ[0], most=49_000)),
    "JSON with NaN at its end": lambda: (JSON, numbered('"aaaaaaaaaaaa",', _XJ[0], b"NaN]}", most=49_000)),
    "JSON with a comment at its end": lambda: (
        JSON,
        numbered('"x-%":"vvvvvvvv",', _JSON, b'/* x */ "z":1}', most=24_000),
    ),
    # Markdown.
    "a front matter of 1 MiB": lambda: (SKILL, numbered("x%: |\n   " + "a" * 60 + "\n", _SKILL, b"---\nbody")),
    "a front matter without an end": lambda: (SKILL, numbered("key%: value\n", _SKILL)),
    "lines that are nearly fences": lambda: (SKILL, filled(b" --- x\n", b"---\nname: a\n")),
    "a fence with blanks behind it": lambda: (SKILL, filled(b" ", b"---", b"x\n")),
    "a front matter behind blank lines": lambda: (SKILL, filled(b"\n", b"", _SKILL)),
    "fences behind a line": lambda: (SKILL, filled(b"---\na\n", b"x\n")),
    "code blocks": lambda: (SKILL, filled(b"```\nname: a\n```\n", b"x\n")),
    "lines that name nothing": lambda: (SKILL, filled(b"name:x\n", b"x\n")),
    # Input schemas.
    "an input schema of 12,000 properties": lambda: _inputs(_properties(12_000, lambda _: {"type": "string"})),
    "an input schema of 1,600 properties": lambda: _inputs(_properties(1_600, lambda _: {"type": "string"})),
    "a chain of references": lambda: _inputs(_defs(1_600, lambda to: {"$ref": to})),
    "a chain of references through properties": lambda: _inputs(
        _defs(800, lambda to: {"properties": {"x": {"$ref": to}}})
    ),
    "references to the root": lambda: _inputs(_properties(1_600, lambda _: {"$ref": "#"})),
    "every definition refers to every other": lambda: _inputs(
        {"$defs": {f"a{n}": _properties(38, lambda to: {"$ref": f"#/$defs/a{to}"}) for n in range(38)}}
    ),
    "700 parts of one value": lambda: _inputs({"allOf": [_properties(1, lambda _: {"type": "string"})] * 700}),
    "600 unevaluated parts": lambda: _inputs(
        {
            "unevaluatedProperties": False,
            **_defs(600, lambda to: {"allOf": [{"$ref": to}, {"properties": {"y": True}}]}),
        }
    ),
    "an enumeration of objects": lambda: _inputs({"properties": {"a": {"enum": [{"a": [n]} for n in range(1_200)]}}}),
    "patterns with repeats of repeats": lambda: _inputs(
        _properties(300, lambda n: {"pattern": f"(\\w{{1,1000}}){{1,10}}{n}"})
    ),
    "patterns of Unicode classes": lambda: _inputs(_properties(70, lambda n: {"pattern": f"^\\p{{L}}{n}$"})),
    "patterns that are nearly ambiguous": lambda: _inputs(_properties(40, lambda n: {"pattern": "a?" * 120 + str(n)})),
    "many small patterns": lambda: _inputs(_properties(250, lambda n: {"pattern": f"^(ab?c*){{1,3}}[x-z]{{1,9}}{n}$"})),
    # Templates and tools.
    "undeclared templates": lambda: (
        YAML,
        numbered(
            '- {id: a, instruction: "{{ inputs.x% }}"}\n', _HEAD + b"inputs: {type: object}\nsteps:\n", most=9_000
        ),
    ),
    "one template 60,000 times": lambda: _inputs(_properties(1, lambda _: {}), _stop(b"{{ inputs.a0 }}" * 60_000)),
    "40,000 templates below one input": lambda: _inputs(
        {"properties": {"a": {"type": "object"}}}, _stop(numbered("{{ inputs.a.b% }} ", most=40_000))
    ),
    "a template of 1 MiB": lambda: _inputs(
        _properties(1, lambda _: {}), _stop(b"{{ inputs" + b".a" * 400_000 + b" }}")
    ),
    "templates in a body with CRLF": lambda: (
        MARKDOWN,
        numbered("{{ inputs.x% }}\r\n", b"---\n" + _HEAD + b"---\n", most=45_000),
    ),
    "tools that nothing declares": lambda: (
        YAML,
        numbered(
            "- {id: a%, instruction: b, tool: f.u%}\n",
            numbered("- {name: f.t%}\n", _HEAD + b"tools:\n", b"steps:\n", most=3_000),
            most=4_800,
        ),
    ),
    "a tool defined 7,000 times": lambda: (
        YAML,
        numbered("- {name: t, permissions: [a%]}\n", _HEAD + _STEPS + b"tools:\n", most=7_000),
    ),
    "checkpoints that nothing can meet": lambda: (
        RUNBOOK,
        _listed(
            ({"match": {"tool": f"x{n}"}} for n in range(9_000)),
            b'{"runbook_id":"a","mode":"required","allowed_tools":["t"],"checkpoints":[',
            b"]}",
        ),
    ),
    "an OpenPlaybook of odd tools": lambda: (
        OPENPLAYBOOK,
        _listed(
            ({"name": f"t{n}", "source": "x", "riskClass": "y", "requiresApproval": 1} for n in range(4_000)),
            b'{"name":"a","requires":{},"steps":[{"id":"a"}],"tools":[',
            b"]}",
        ),
    ),
    "an OpenPlaybook whose steps lead nowhere": lambda: (
        OPENPLAYBOOK,
        _listed(
            ({"id": f"s{n}", "next": f"t{n}"} for n in range(8_000)),
            b'{"name":"a","requires":{},"tools":[],"steps":[',
            b"]}",
        ),
    ),
    # Lists of the wrong things.
    "48,000 empty texts": lambda: (YAML, numbered('  - ""\n', _HEAD + _STEPS + b"not_for:\n", most=48_000)),
    "steps of the wrong kinds": lambda: (
        JSON,
        _listed(({"id": 1, "instruction": 2} for _ in range(9_900)), _JSON + b'"steps":[', b"]}"),
    ),
    "addresses in requires": lambda: (
        YAML,
        numbered('  - {name: "https://x/%"}\n', _HEAD + _STEPS + b"requires:\n  secrets:\n", most=9_000),
    ),
    "what may begin a secret": lambda: (
        YAML,
        filled(b"a-eyJ", _HEAD + _STEPS + b'requires:\n  secrets:\n  - {name: a, purpose: "', b'"}\n'),
    ),
    "half a million tools of a skill": lambda: (SKILL, filled(b"a ", _SKILL + b'allowed-tools: "', b'"\n---\nbody')),
    "300,000 tags of a skill": lambda: (SKILL, filled(b"a, ", _SKILL + b'tags: "', b'"\n---\nbody')),
}
"""Files that each hold one thing, as much of it as is read or more."""


def homes() -> Iterator[tuple[str, str, bytes]]:
    """(what, path, file) for every unit in every home."""
    for home, (path, head, tail) in HOMES.items():
        for unit, source in UNITS.items():
            yield f"{unit} in {home}", path, filled(source, head, tail)
