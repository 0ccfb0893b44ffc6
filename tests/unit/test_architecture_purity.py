"""What decides is pure: no clock, no chance, no files, no sockets, no threads, and only libraries that compute.

Import-linter keeps the floors and the doors; the standard library is not in its graph, so that is looked up here, in
the sources themselves (architecture.md, Rooms).
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# package or module -> third-party libraries that it may use: parsers and checkers, which do no I/O of their own
PURE = {
    "policies": set(),
    "registry/catalog": set(),
    "registry/runs": set(),
    "registry/playbook": {"yaml", "pydantic", "pydantic_core", "jsonschema", "jsonschema_rs", "referencing"},
    "registry/digest.py": {"pydantic_core", "rfc8785"},
    "registry/errors.py": set(),
    "registry/names.py": set(),
    # tantivy's stemmer and its query values compute; an index is opened by reader.py and writer.py alone.
    "indexer/analysis.py": {"tantivy"},
    "indexer/document.py": set(),
    "indexer/evals.py": set(),
    "indexer/query.py": {"tantivy"},
    "indexer/ranking.py": set(),
    "indexer/rehearsal.py": set(),
    "indexer/tally.py": set(),
    "indexer/vocabulary.py": set(),
}
OURS = {"registry", "indexer", "policies"}
COMPUTING = {"urllib.parse"}  # a part without effects of a package that has them
EFFECTS = {
    *("os", "io", "pathlib", "shutil", "tempfile", "glob", "mmap", "fcntl", "sqlite3", "dbm", "shelve"),
    *("time", "sched", "random", "secrets", "uuid"),
    *("socket", "ssl", "select", "selectors", "urllib", "http", "ftplib", "smtplib", "socketserver"),
    *("subprocess", "signal", "multiprocessing", "concurrent", "threading", "asyncio", "contextvars"),
    *("logging", "importlib", "ctypes", "platform", "pickle", "runpy", "atexit"),
}
EFFECTFUL_CALLS = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint"}
CLOCK_CALLS = {"now", "utcnow", "today"}


def sources() -> Iterator[tuple[Path, set[str]]]:
    for place, libraries in PURE.items():
        path = ROOT / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            yield file, libraries


def violations(text: str, libraries: set[str]) -> list[str]:
    """What a pure module must not do, as "line: what", in the order of the lines."""
    found = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module=module, level=0):
                modules = [module or ""]
            case ast.Call(func=ast.Name(id=name)) if name in EFFECTFUL_CALLS:
                found.append((node.lineno, f"calls {name}()"))
                continue
            case ast.Call(func=ast.Attribute(value=ast.Name(id="datetime" | "date"), attr=name)) if name in CLOCK_CALLS:
                found.append((node.lineno, f"reads the clock: {name}()"))
                continue
            case _:
                continue
        for module in modules:
            top = module.partition(".")[0]
            foreign = top not in sys.stdlib_module_names | OURS | libraries
            if (top in EFFECTS and module not in COMPUTING) or foreign:
                found.append((node.lineno, f"imports {module}"))
    return [f"{line}: {what}" for line, what in sorted(found)]


@pytest.mark.parametrize(
    ("file", "libraries"),
    list(sources()),
    ids=lambda value: str(value.relative_to(ROOT)) if isinstance(value, Path) else "",
)
def test_a_pure_module_reaches_for_nothing_outside_its_arguments(file: Path, libraries: set[str]):
    assert violations(file.read_text(encoding="utf-8"), libraries) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("import os.path", "1: imports os.path"),
        ("from time import monotonic", "1: imports time"),
        ("import sqlalchemy", "1: imports sqlalchemy"),
        ("def f():\n    import socket", "2: imports socket"),
        ("open('x')", "1: calls open()"),
        ("datetime.now(tz)", "1: reads the clock: now()"),
        ("date.today()", "1: reads the clock: today()"),
    ],
)
def test_an_effect_is_found_wherever_it_stands(text: str, what: str):
    assert violations(text, set()) == [what]


def test_computing_is_no_effect():
    assert (
        violations("import re\nfrom datetime import date\nfrom registry.errors import Unknown\ndate(2026, 1, 1)", set())
        == []
    )
