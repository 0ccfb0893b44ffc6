import hashlib
import json
import os

import pytest

from registry.cli.working_copy import WorkingCopy
from registry.playbook.roots import Roots
from registry.ports import Role
from registry.sync.readings import ReadingCache
from registry.sync.source import SourcePlan, read_source

SKILL = "---\nname: {name}\ndescription: Do it.\n---\nBody.\n"


def copies(root, patterns=None):
    source = WorkingCopy(root)
    plan = SourcePlan("github.com/acme/app", Role.SERVICE, Roots(patterns), None)
    read = read_source(source, source.poll(), plan, None, ReadingCache())
    return {copy.name: copy for copy in read.revision.copies}, read


def contract_of(read, copy):
    return json.loads(read.documents[copy.head.digest])


def write(root, files):
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())


def listed(root, name="roll-back"):
    found, read = copies(root)
    return [each["path"] for each in contract_of(read, found[name]).get("files", [])]


def test_a_skills_other_files_are_listed_with_path_digest_and_size(tmp_path):
    write(
        tmp_path,
        {"skills/roll-back/SKILL.md": SKILL.format(name="roll-back"), "skills/roll-back/scripts/a.sh": "echo\n"},
    )
    found, read = copies(tmp_path)
    digest = "sha256:" + hashlib.sha256(b"echo\n").hexdigest()
    files = contract_of(read, found["roll-back"])["files"]
    assert files == [{"path": "scripts/a.sh", "digest": digest, "size": 5}]


def test_another_byte_in_another_file_is_another_skill(tmp_path):
    write(tmp_path, {"skills/roll-back/SKILL.md": SKILL.format(name="roll-back"), "skills/roll-back/a.sh": "echo\n"})
    before, _ = copies(tmp_path)
    write(tmp_path, {"skills/roll-back/a.sh": "exit\n"})
    after, _ = copies(tmp_path)
    assert before["roll-back"].head.digest != after["roll-back"].head.digest
    assert before["roll-back"].head.source.blob == after["roll-back"].head.source.blob


def test_a_file_belongs_to_the_nearest_skill_above_it(tmp_path):
    write(
        tmp_path,
        {
            "skills/roll-back/SKILL.md": SKILL.format(name="roll-back"),
            "skills/roll-back/a.md": "a",
            "skills/roll-back/inner/SKILL.md": SKILL.format(name="inner"),
            "skills/roll-back/inner/b.md": "b",
            "skills/stray.md": "c",
        },
    )
    assert (listed(tmp_path), listed(tmp_path, "inner")) == (["a.md"], ["b.md"])


def test_dot_files_belong_to_a_skill_and_closed_folders_do_not(tmp_path):
    write(
        tmp_path,
        {
            "skills/roll-back/SKILL.md": SKILL.format(name="roll-back"),
            "skills/roll-back/.env.example": "a",
            "skills/roll-back/node_modules/x/y.js": "b",
            "skills/roll-back/__pycache__/y.pyc": "b",
        },
    )
    assert listed(tmp_path) == [".env.example"]


def test_a_link_is_the_file_that_it_leads_to(tmp_path):
    write(tmp_path, {"skills/roll-back/SKILL.md": SKILL.format(name="roll-back"), "shared/a.sh": "echo\n"})
    (tmp_path / "skills/roll-back/a.sh").symlink_to("../../shared/a.sh")
    found, read = copies(tmp_path)
    assert contract_of(read, found["roll-back"])["files"][0]["size"] == 5


def test_a_link_to_a_skill_is_that_skill_with_its_files(tmp_path):
    write(
        tmp_path,
        {".agents/skills/roll-back/SKILL.md": SKILL.format(name="roll-back"), ".agents/skills/roll-back/a.md": "a"},
    )
    (tmp_path / "skills/roll-back").mkdir(parents=True)
    (tmp_path / "skills/roll-back/SKILL.md").symlink_to("../../.agents/skills/roll-back/SKILL.md")
    found, read = copies(tmp_path, ("skills/**/SKILL.md",))
    assert [each["path"] for each in contract_of(read, found["roll-back"])["files"]] == ["a.md"]


def test_a_dangling_link_among_a_skills_files_is_a_warning(tmp_path):
    write(tmp_path, {"skills/roll-back/SKILL.md": SKILL.format(name="roll-back")})
    (tmp_path / "skills/roll-back/a.sh").symlink_to("nowhere")
    found, read = copies(tmp_path)
    assert [(each.code, each.path) for each in read.revision.problems] == [
        ("symlink-dangling", "skills/roll-back/a.sh")
    ]
    assert found["roll-back"].head is not None


@pytest.mark.parametrize(("count", "serves"), [(512, True), (513, False)])
def test_a_skill_has_512_other_files_at_most(tmp_path, count, serves):
    write(tmp_path, {"skills/roll-back/SKILL.md": SKILL.format(name="roll-back")})
    write(tmp_path, {f"skills/roll-back/{number}": "x" for number in range(count)})
    write(tmp_path, {"skills/other/SKILL.md": SKILL.format(name="other")})
    found, read = copies(tmp_path)
    assert (found["roll-back"].head is not None) is serves
    assert found["other"].head is not None
    assert ("too-large" in [each.code for each in read.revision.problems]) is not serves


@pytest.mark.parametrize(("over", "serves"), [(0, True), (1, False)])
def test_a_skills_other_files_have_16_mib_at_most(tmp_path, over, serves):
    write(tmp_path, {"skills/roll-back/SKILL.md": SKILL.format(name="roll-back"), "skills/roll-back/b": b"x" * over})
    with (tmp_path / "skills/roll-back/a").open("wb") as file:
        os.truncate(file.fileno(), 16 << 20)
    found, _ = copies(tmp_path)
    assert (found["roll-back"].head is not None) is serves


def test_files_beside_native_playbooks_are_no_companions(tmp_path):
    write(tmp_path, {"skills/roll-back/SKILL.md": SKILL.format(name="roll-back"), "playbooks/readme.txt": "x"})
    assert listed(tmp_path) == []
