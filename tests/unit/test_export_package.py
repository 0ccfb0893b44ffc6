"""A playbook as a skill that every host takes: front matter as it is written, files by digest, and what is not offered."""

import json

import pytest
import yaml
from export_shapes import head_of_file, read_text

from registry.digest import digest_of
from registry.playbook.companions import Companion
from registry.playbook.export.package import (
    FILES_MAX,
    NotOffered,
    SkillPackage,
    conforms,
    is_portable,
    package_of,
    skill_file_of,
)
from registry.playbook.export.skill import render_skill

PATH = "skills/roll-back/SKILL.md"
NATIVE = (
    "playbook: 1\nname: roll-back\nversion: 1.0.0\nowner: platform\npurpose: Roll back a release.\n"
    "steps:\n  - {id: act, tool: shell.run, instruction: Do it.}\n"
)


def skill(front: str = "", *, name: str = "roll-back", body: str = "Body.\n") -> str:
    return f"---\nname: {name}\ndescription: Roll back a release.\n{front}---\n{body}"


def packaged(text: str | bytes, *companions: Companion, path: str = PATH) -> SkillPackage | NotOffered:
    data = text if isinstance(text, bytes) else text.encode()
    contract, head = head_of_file(read_text(path, data, companions))
    return package_of(contract, head, data)


def offered(text: str | bytes, *companions: Companion, path: str = PATH) -> SkillPackage:
    found = packaged(text, *companions, path=path)
    assert isinstance(found, SkillPackage), found
    return found


def companion(path: str, data: bytes = b"x") -> Companion:
    return Companion(path, digest_of(data), len(data))


def test_a_skill_is_offered_as_it_was_read():
    text = skill("license: MIT\n")
    package = offered(text)
    assert not package.is_rendered
    assert package.files[0].digest == digest_of(text.encode())
    assert package.files[0].size == len(text.encode())


def test_front_matter_is_every_field_as_it_is_written():
    front = (
        "license: MIT\nmetadata: {version: 1.20, whole: 7, share: 1.0, hex: 0x1F, big: 12345678901234567890, on: true,\n"
        "  none: null, list: [a, 2]}\nallowed-tools: Bash Read\nnobody-knows: [1, {two: 3}]\n"
    )
    package = offered(skill(front))
    written = yaml.safe_load(skill(front).split("---\n")[1])
    written["metadata"]["on"] = written["metadata"].pop(True)  # what YAML 1.1 makes of a key
    assert package.frontmatter == written


def test_a_fraction_without_a_remainder_stays_one():
    assert '"share":1.0' in offered(skill("metadata: {share: 1.0}\n")).frontmatter_json.decode()


@pytest.mark.parametrize(
    "front",
    [
        "license: 7\n",
        "metadata: words\n",
        "compatibility: ''\n",
        f"compatibility: {'c' * 501}\n",
        "allowed-tools: [1]\n",
        "share: .inf\n",
        "share: 1e999\n",
        f"padding: {'p' * 70_000}\n",
    ],
)
def test_front_matter_that_a_host_refuses_is_rendered_anew(front: str):
    package = offered(skill(front))
    assert package.is_rendered
    assert conforms(package.frontmatter, "roll-back")


@pytest.mark.parametrize(
    "text",
    [
        skill(name="Roll_Back"),
        "---\ndescription: Roll back a release.\n---\nBody.\n",
        "\ufeff" + skill(),
        skill().replace("Roll back a release.", "R" * 1025),
    ],
)
def test_a_skill_that_breaks_the_rules_is_rendered_anew(text: str):
    package = offered(text)
    assert package.is_rendered
    assert package.name == "roll-back"


def test_a_native_playbook_is_rendered():
    contract, head = head_of_file(read_text("playbooks/roll-back.yaml", NATIVE.encode(), ()))
    package = package_of(contract, head, None)
    assert isinstance(package, SkillPackage)
    body = render_skill(contract, head).body
    assert package.files[0].digest == digest_of(body)
    assert skill_file_of(contract, head, package, None) == body


def test_the_original_is_the_file_where_it_is_offered_as_it_is():
    text = skill().encode()
    contract, head = head_of_file(read_text(PATH, text, ()))
    package = package_of(contract, head, text)
    assert isinstance(package, SkillPackage)
    assert skill_file_of(contract, head, package, text) == text


def test_a_skill_without_its_original_is_not_offered_yet():
    contract, head = head_of_file(read_text(PATH, skill().encode(), ()))
    found = package_of(contract, head, None)
    assert isinstance(found, NotOffered)
    assert found.may_be_later


def test_the_other_files_follow_by_path():
    package = offered(skill(), companion("scripts/b.sh"), companion("a.md", b"yy"))
    assert [(file.path, file.size) for file in package.files[1:]] == [("a.md", 2), ("scripts/b.sh", 1)]


def test_skill_md_counts_among_the_files():
    files = [companion(f"f{number}") for number in range(FILES_MAX)]
    assert isinstance(packaged(skill(), *files[1:]), SkillPackage)
    found = packaged(skill(), *files)
    assert isinstance(found, NotOffered)
    assert not found.may_be_later


def test_skill_md_counts_among_the_bytes():
    full = Companion("a.bin", digest_of(b""), (16 << 20) - len(skill().encode()))
    assert isinstance(packaged(skill(), full), SkillPackage)
    over = Companion("a.bin", digest_of(b""), full.size + 1)
    assert isinstance(packaged(skill(), over), NotOffered)


@pytest.mark.parametrize(
    "path", ["a\\b", "../a", "a//b", "a/./b", "/a", "c:a", "a\x07b", "a\u202eb", "skill.md", "SKILL.MD", "a\ud800"]
)
def test_a_name_that_a_host_cannot_write_is_not_portable(path: str):
    assert not is_portable(path)


@pytest.mark.parametrize("path", ["a", "a/b c (1).md", "ä/é.txt", "sub/SKILL.md", "...", "ab:c", "%2e%2e"])
def test_any_other_name_is_portable(path: str):
    assert is_portable(path)


def test_a_skill_with_a_file_that_is_not_portable_is_not_offered():
    found = packaged(skill(), companion("a\\b"))
    assert isinstance(found, NotOffered)
    assert "a\\\\b" in found.reason


def test_equal_arguments_give_equal_packages():
    assert packaged(skill(), companion("a")) == packaged(skill(), companion("a"))


def test_front_matter_is_kept_as_json():
    package = offered(skill())
    assert json.loads(package.frontmatter_json) == {"name": "roll-back", "description": "Roll back a release."}
