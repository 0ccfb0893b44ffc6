"""Any bytes give a playbook or problems, each with a place inside the file, at once and in little memory."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from company import company
from corpus import ARCHIVE, unpack
from cpu import fastest
from hostile import FILES, HOMES, MIB, UNITS, filled
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.playbook.limits import DEFAULT_LIMITS
from registry.playbook.model import Level
from registry.playbook.problems import PROBLEM_CODES
from registry.playbook.reading import read_file

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"
ENDINGS = {".md", ".yaml", ".yml", ".json"}
SECONDS_MAX = 0.1
MEMORY_MIB_MAX = 64
CUT_TO = 1 << 16

PATHS = ["playbooks/a.yaml", "playbooks/a.json", "playbooks/a.md", "skills/a/SKILL.md"]
PATHS += ["playbooks/a.runbook.json", "playbooks/a.openplaybook.json"]
PIECES = [
    *(
        b"",
        b'"',
        b"'",
        b"[",
        b"]",
        b"{",
        b"}",
        b"{{",
        b"}}",
        b": ",
        b":",
        b"- ",
        b",",
        b"?",
        b"#",
        b"|",
        b">",
        b"%",
        b"@",
    ),
    *(
        b"`",
        b"*a ",
        b"&a ",
        b"!a ",
        b"<<: *a",
        b"\\",
        b"\\u00",
        b"\\ud800",
        b"\t",
        b"\n",
        b"\n  ",
        b"\r\n",
        b"\r",
        b"---\n",
    ),
    *(
        b"...\n",
        b"\x00",
        b"\xff",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"NaN",
        b"1e999",
        b"0" * 20,
    ),
    *(b"playbook: 1\n", b"name: b\n", b"required: true\n", b'"name": 1,', b"//", b"x-y: 1\n", b"{{ inputs.nope }}"),
]
CUTS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 30), st.sampled_from(PIECES)), min_size=1, max_size=4)
ROLES = st.sampled_from(["central", "service"])


def holds(data, reading):
    """What is true of the reading of any file."""
    placed = [each for each in reading.problems if (each.line, each.column) != (1, 1)]
    if placed:
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for each in placed:
        assert 1 <= each.line <= len(lines), each
        assert 1 <= each.column <= len(lines[each.line - 1]) + 1, each
    for each in reading.problems:
        assert each.code in PROBLEM_CODES
        assert each.message
    assert len(reading.problems) <= DEFAULT_LIMITS.problems_per_file
    is_broken = any(each.level is Level.ERROR for each in reading.problems)
    assert (reading.playbook is not None) == (reading.candidate and not is_broken)


def damaged(data, cuts):
    for at, length, piece in cuts:
        begin = int(at * len(data))
        data = data[:begin] + piece + data[begin + length :]
    return data


@cache
def own_files():
    """(path, bytes) of the examples, the golden sources, and the files of a built company."""
    folders = [ROOT / "examples", ROOT / "tests" / "golden"]
    places = sorted(each for folder in folders for each in folder.rglob("*") if each.suffix in ENDINGS)
    found = [(f"playbooks/{each.name}", each.read_bytes()) for each in places]
    found += [("skills/a/SKILL.md", each.read_bytes()) for each in places if each.suffix == ".md"]
    return found + [(each.path, each.text.encode()) for each in company().central.values()]


@settings(max_examples=600)
@given(st.data(), CUTS, ROLES)
def test_a_damaged_file_gives_a_playbook_or_problems(data, cuts, role):
    path, source = data.draw(st.sampled_from(own_files()))
    broken = damaged(source, cuts)
    holds(broken, read_file(path, broken, role=role))


@settings(max_examples=200)
@given(st.data(), CUTS, st.sampled_from(PATHS))
def test_a_damaged_file_under_another_formats_name_gives_a_playbook_or_problems(data, cuts, path):
    broken = damaged(data.draw(st.sampled_from(own_files()))[1], cuts)
    holds(broken, read_file(path, broken))


@settings(max_examples=300)
@given(st.sampled_from(PATHS), st.lists(st.sampled_from(PIECES), max_size=40))
def test_any_pieces_of_syntax_give_a_playbook_or_problems(path, pieces):
    data = b"".join(pieces)
    holds(data, read_file(path, data))


@pytest.fixture(scope="module")
def real_files(tmp_path_factory):
    """(path, bytes) of every file of the corpus that could be a playbook."""
    if not ARCHIVE.is_file():
        pytest.skip(f"the corpus is not on this machine: {ARCHIVE} is missing")
    folder = unpack(tmp_path_factory.mktemp("corpus"))
    places = sorted(each for each in folder.rglob("*") if each.suffix.lower() in ENDINGS and each.is_file())
    return [(str(each.relative_to(folder)), each.read_bytes()[:CUT_TO]) for each in places]


@pytest.mark.corpus
@settings(max_examples=2_000)
@given(data=st.data(), cuts=CUTS, role=ROLES)
def test_a_damaged_real_file_gives_a_playbook_or_problems(real_files, data, cuts, role):
    path, source = data.draw(st.sampled_from(real_files))
    broken = damaged(source, cuts)
    holds(broken, read_file(path, broken, role=role))


@pytest.mark.corpus
def test_every_real_file_gives_a_playbook_or_problems_under_every_name(real_files):
    for own, data in real_files:
        for path in (own, *PATHS):
            holds(data, read_file(path, data))


@pytest.mark.parametrize("what", FILES)
def test_a_hostile_file_is_read_within_100_ms(what):
    path, data = FILES[what]()
    assert len(data) <= MIB
    holds(data, read_file(path, data))
    assert fastest(lambda: read_file(path, data), enough=SECONDS_MAX) <= SECONDS_MAX


@pytest.mark.parametrize("home", HOMES)
def test_one_mib_of_anything_is_read_within_100_ms(home):
    path, head, tail = HOMES[home]
    slow = {}
    for what, unit in UNITS.items():
        data = filled(unit, head, tail)
        holds(data, read_file(path, data))
        seconds = fastest(lambda data=data: read_file(path, data), enough=SECONDS_MAX)
        if seconds > SECONDS_MAX:
            slow[what] = seconds
    assert slow == {}


MEMORY = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
from hostile import FILES, homes
from registry.playbook.reading import read_file

def mib(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))

read_file("playbooks/a.yaml", b"playbook: 1\\n")
before = mib("VmRSS")
for make in FILES.values():
    read_file(*make())
for _, path, data in homes():
    read_file(path, data)
print(mib("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="this system does not say what a process held")
def test_no_hostile_file_takes_more_than_64_mib():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True, cwd=ROOT)
    assert float(done.stdout) <= MEMORY_MIB_MAX
