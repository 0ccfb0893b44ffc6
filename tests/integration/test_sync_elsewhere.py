"""A repository whose skills all stand outside the folders that are read says so; its catalog is not silently empty."""

from dataclasses import replace

import pytest

from registry.cli.working_copy import WorkingCopy
from registry.playbook.roots import Roots
from registry.ports import Role
from registry.sync import elsewhere
from registry.sync.readings import ReadingCache
from registry.sync.source import SourcePlan, read_source

SKILL = "---\nname: {name}\ndescription: Do it.\n---\nBody.\n"


def write(root, *folders):
    for folder in folders:
        place = root / folder
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(SKILL.format(name=place.name))


def read(root, *, role=Role.SERVICE, patterns=None, sub_path="", previous=None):
    source = WorkingCopy(root)
    plan = SourcePlan("github.com/acme/app", role, Roots(patterns, sub_path), None)
    return read_source(source, source.poll(), plan, previous, ReadingCache())


def problems(root, **options):
    return read(root, **options).revision.problems


def test_skills_in_folders_that_are_not_read_are_a_warning_that_says_how_to_read_them(tmp_path):
    write(tmp_path, ".gemini/skills/a", ".gemini/skills/b", "plugins/kit/skills/c")
    (tmp_path / "README.md").write_text("x")
    [problem] = problems(tmp_path)
    assert (problem.code, problem.path) == ("skills-elsewhere", ".gemini/skills/a/SKILL.md")
    assert problem.message == (
        "nothing stands in the folders that are read, and 3 skills stand elsewhere, as in .gemini/skills and "
        "plugins/kit/skills: if that is to serve, register the repository with --path '.gemini/skills/**/SKILL.md' "
        "--path 'plugins/kit/skills/**/SKILL.md'."
    )


def test_for_central_it_names_the_setting(tmp_path):
    write(tmp_path, "plugins/kit/skills/c")
    [problem] = problems(tmp_path, role=Role.CENTRAL)
    assert problem.message.endswith("set REGISTRY_CENTRAL_PATHS, for example to plugins/kit/skills/**/SKILL.md.")


@pytest.mark.parametrize("folder", ["plugins/kit/skills/c", ".gemini/skills/c", "docs/.kit/skills/c", "c"])
def test_what_the_message_says_to_register_is_then_read(tmp_path, folder):
    write(tmp_path, folder)
    [problem] = problems(tmp_path)
    said = problem.message.partition("--path '")[2].partition("'")[0]
    assert [copy.name for copy in read(tmp_path, patterns=(said,)).revision.copies] == ["c"]


def test_what_a_shell_would_run_is_quoted(tmp_path):
    write(tmp_path, "it's $(reboot)/skills/c")
    [problem] = problems(tmp_path)
    assert problem.message.endswith(""" --path 'it'"'"'s $(reboot)/skills/**/SKILL.md'.""")


def test_below_a_sub_path_the_message_is_relative_to_it(tmp_path):
    write(tmp_path, "services/pay/kit/skills/c", "kit/skills/other")
    [problem] = problems(tmp_path, sub_path="services/pay")
    assert "--path 'kit/skills/**/SKILL.md'" in problem.message
    assert problem.path == "services/pay/kit/skills/c/SKILL.md"


def test_a_repository_with_something_in_the_folders_is_not_searched(tmp_path):
    write(tmp_path, "skills/a", ".gemini/skills/b")
    assert problems(tmp_path) == ()


def test_a_repository_without_any_skill_has_nothing_said_of_it(tmp_path):
    (tmp_path / "README.md").write_text("x")
    write(tmp_path, "node_modules/kit/skills/a")
    assert problems(tmp_path) == ()


def test_a_push_to_a_repository_without_playbooks_is_not_searched_again(tmp_path):
    (tmp_path / "README.md").write_text("x")
    before = read(tmp_path).revision
    write(tmp_path, ".gemini/skills/a")
    assert read(tmp_path, previous=before) is None


def test_another_branch_is_searched_anew(tmp_path):
    (tmp_path / "README.md").write_text("x")
    before = read(tmp_path).revision
    write(tmp_path, ".gemini/skills/a")
    # What a step makes of the revision in force where the ref has changed.
    anew = replace(before, fingerprint="")
    assert [each.code for each in read(tmp_path, previous=anew).revision.problems] == ["skills-elsewhere"]


def test_playbooks_that_move_out_of_the_folders_are_noticed(tmp_path):
    write(tmp_path, "skills/a")
    before = read(tmp_path).revision
    (tmp_path / "skills").rename(tmp_path / "kit")
    after = read(tmp_path, previous=before).revision
    assert [each.code for each in after.problems] == ["skills-elsewhere"]
    (tmp_path / "kit").rename(tmp_path / "skills")
    assert read(tmp_path, previous=after).revision.problems == ()


def test_what_lies_deep_in_a_large_repository_is_not_looked_for(tmp_path, monkeypatch):
    write(tmp_path, "a/b/c/skills/x")
    monkeypatch.setattr(elsewhere, "FOLDERS_MAX", 3)
    assert problems(tmp_path) == ()
