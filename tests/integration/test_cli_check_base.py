"""`registry check --base`: what a change brings, told from what was there before it."""

import subprocess
from pathlib import Path

import pytest
from cli import run
from workingcopy import changes, codes, committed, git, playbook, report, told, working_copy

OLD = playbook("old") + "required: true\n"


def test_a_warning_that_was_there_before_is_not_the_changes(tmp_path: Path):
    folder = committed(tmp_path, playbooks__a_yaml=OLD)
    (folder / "playbooks" / "b.yaml").write_text(playbook("new").replace("not_for: [Passwords.]\n", ""))
    assert told(folder) == {"required-not-yours": False, "no-not-for": True, "near-duplicate": True}


def test_a_warning_that_was_there_before_counts_no_more_where_it_is_strict(tmp_path: Path):
    folder = committed(tmp_path, playbooks__a_yaml=OLD)
    assert run("check", str(folder), "--strict").exit_code == 1
    assert run("check", str(folder), "--strict", "--base", "main").exit_code == 0


def test_an_error_counts_whoever_brought_it(tmp_path: Path):
    folder = committed(tmp_path, playbooks__a_yaml="playbook: 1\nname: old\n")
    assert set(told(folder).values()) == {False}
    assert run("check", str(folder), "--base", "main").exit_code == 1


def test_a_second_problem_of_the_same_words_is_new(tmp_path: Path):
    once = playbook().replace("instruction: Publish the new key.", "instruction: 'Publish {{ inputs.x }}.'")
    folder = committed(tmp_path, playbooks__a_yaml=once)
    (folder / "playbooks" / "a.yaml").write_text(once.replace("{{ inputs.x }}", "{{ inputs.x }} and {{ inputs.x }}"))
    found = report(folder, "--base", "main")["problems"]
    assert [(item["code"], item["new"]) for item in found] == [
        ("template-undeclared", False),
        ("template-undeclared", True),
    ]


def test_moved_lines_bring_no_problem(tmp_path: Path):
    folder = committed(tmp_path, playbooks__a_yaml=OLD)
    (folder / "playbooks" / "a.yaml").write_text("# a comment above all\n" + OLD)
    assert told(folder) == {"required-not-yours": False}


def test_old_problems_are_listed_apart(tmp_path: Path):
    result = run("check", str(committed(tmp_path, playbooks__a_yaml=OLD)), "--base", "main")
    assert "1 problem that the change did not bring:" in result.stdout
    assert "1 warning (it was there before)" in result.stdout


def test_another_content_under_the_same_version_is_a_warning(tmp_path: Path):
    folder = committed(tmp_path, playbooks__a_yaml=playbook())
    (folder / "playbooks" / "a.yaml").write_text(playbook(extra=" twice"))
    assert told(folder) == {"version-not-bumped": True}


def test_without_a_registry_the_change_of_this_repository_is_told(tmp_path: Path):
    folder = committed(tmp_path, playbooks__a_yaml=playbook("gone"), playbooks__b_yaml=playbook("stays"))
    (folder / "playbooks" / "a.yaml").rename(folder / "playbooks" / "c.yaml")
    (folder / "playbooks" / "c.yaml").write_text(playbook("came"))
    (folder / "playbooks" / "b.yaml").write_text(playbook("stays", " twice"))
    assert changes(folder) == {"added": ["came"], "removed": ["gone"], "changed": ["stays"]}


def test_a_file_that_breaks_is_held_at_what_the_base_has(tmp_path: Path):
    folder = committed(tmp_path, playbooks__a_yaml=playbook())
    (folder / "playbooks" / "a.yaml").write_text("playbook: 1\nname: [\n")
    assert changes(folder) == {"held": ["rotate-key"]}


def test_what_others_merged_meanwhile_is_not_the_changes(tmp_path: Path):
    folder = committed(tmp_path, playbooks__a_yaml=playbook())
    git(folder, "checkout", "-q", "main")
    (folder / "playbooks" / "theirs.yaml").write_text(playbook("theirs", " elsewhere"))
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", "theirs")
    git(folder, "checkout", "-q", "change")
    (folder / "playbooks" / "mine.yaml").write_text(playbook("mine", " here"))
    assert changes(folder) == {"added": ["mine"]}


def test_a_folder_of_a_repository_is_compared_with_the_same_folder(tmp_path: Path):
    folder = committed(tmp_path, services__pay__playbooks__a_yaml=playbook())
    (folder / "services" / "pay" / "playbooks" / "b.yaml").write_text(playbook("more", " again"))
    assert changes(folder / "services" / "pay") == {"added": ["more"]}


def test_a_folder_that_the_base_does_not_have_is_all_new(tmp_path: Path):
    folder = committed(tmp_path)
    working_copy(folder / "new", playbooks__a_yaml=playbook())
    subprocess.run(["rm", "-rf", str(folder / "new" / ".git")], check=True)
    assert changes(folder / "new") == {"added": ["rotate-key"]}


def test_a_worktree_of_its_own_is_compared_too(tmp_path: Path):
    folder = committed(tmp_path / "copy", playbooks__a_yaml=playbook())
    git(folder, "worktree", "add", "-q", "-b", "other", str(tmp_path / "beside"))
    (tmp_path / "beside" / "playbooks" / "b.yaml").write_text(playbook("more", " again"))
    assert changes(tmp_path / "beside") == {"added": ["more"]}


def test_a_linked_skill_is_the_same_at_the_base(tmp_path: Path):
    skill = "---\nname: tidy\ndescription: Tidy the house before guests come.\n---\nDo it.\n"
    folder = working_copy(tmp_path, other__skills__tidy__SKILL_md=skill)
    (folder / ".claude").mkdir()
    (folder / ".claude" / "skills").symlink_to("../other/skills")
    committed(folder)
    assert changes(folder) == {}


def test_a_ref_that_git_does_not_know_exits_2_and_says_how_to_get_it(tmp_path: Path):
    result = run("check", str(committed(tmp_path, playbooks__a_yaml=playbook())), "--base", "origin/main")
    assert (result.exit_code, "git fetch origin main" in result.stderr) == (2, True)


@pytest.mark.parametrize("ref", ["--upload-pack=x", "-h", "", "main..change", "main:playbooks"])
def test_a_ref_that_is_none_exits_2(tmp_path: Path, ref: str):
    folder = committed(tmp_path, playbooks__a_yaml=playbook())
    assert run("check", str(folder), f"--base={ref}").exit_code == 2


def test_a_shallow_clone_says_how_to_deepen_it(tmp_path: Path):
    folder = committed(tmp_path / "origin", playbooks__a_yaml=playbook())
    for number in range(3):
        git(folder, "commit", "-q", "--allow-empty", "-m", str(number))
    git(folder, "checkout", "-q", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "theirs")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", "-b", "change", f"file://{folder}", str(shallow))
    result = run("check", str(shallow), "--base", "origin/main")
    assert (result.exit_code, "--unshallow" in result.stderr) == (2, True)


def test_a_partial_clone_is_told_from_a_whole_one(tmp_path: Path):
    folder = committed(tmp_path / "origin", playbooks__a_yaml=playbook())
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(folder, "rm", "-q", "playbooks/a.yaml")
    git(folder, "commit", "-q", "-m", "gone")
    partial = tmp_path / "partial"
    git(tmp_path, "clone", "-q", "--filter=blob:none", "-b", "change", f"file://{folder}", str(partial))
    result = run("check", str(partial), "--base", "origin/main")
    assert (result.exit_code, "partial or broken clone" in result.stderr) == (2, True)


def test_a_folder_without_git_has_no_base(tmp_path: Path):
    (tmp_path / "playbooks").mkdir()
    result = run("check", str(tmp_path), "--base", "main")
    assert (result.exit_code, "no git working copy" in result.stderr) == (2, True)


def test_a_central_change_tells_what_loses_its_requirement(tmp_path: Path):
    folder = committed(tmp_path, policy_yaml="policy: 1\n", playbooks__a_yaml=playbook() + "required: true\n")
    (folder / "playbooks" / "a.yaml").write_text(playbook())
    assert "not required rotate-key any more" in run("check", str(folder), "--base", "main").stdout


def test_a_policy_file_that_goes_leaves_its_rules_in_force(tmp_path: Path):
    policy = "policy: 1\nrequired: [{name: rotate-key, reason: Audited.}]\n"
    folder = committed(tmp_path, policy_yaml=policy, playbooks__a_yaml=playbook())
    (folder / "policy.yaml").unlink()
    found = report(folder, "--base", "main", "--role", "central")
    assert [(item["code"], item["new"]) for item in found["problems"]] == [("policy-missing", True)]
    assert found["effect"]["rules"]["no_longer_required"]["count"] == 0


def test_a_change_that_deletes_the_policy_file_is_still_one_of_central(tmp_path: Path):
    folder = committed(tmp_path, policy_yaml="policy: 1\n", playbooks__a_yaml=playbook())
    git(folder, "switch", "--quiet", "--create", "no-rules")
    git(folder, "rm", "--quiet", "policy.yaml")
    git(folder, "commit", "--quiet", "--message", "No rules")
    assert report(folder, "--base", "main")["role"] == "central"
    assert told(folder) == {"policy-missing": True}


def test_an_owner_who_does_not_own_the_file_is_remarked_on(tmp_path: Path):
    folder = working_copy(tmp_path, playbooks__a_yaml=playbook())
    (folder / "CODEOWNERS").write_text("/playbooks/ @acme/others\n")
    assert codes(folder) == {"owner-not-in-codeowners"}


# For machines


def test_a_workflow_run_shows_no_old_warning(tmp_path: Path):
    folder = committed(tmp_path, playbooks__a_yaml=OLD)
    assert run("check", str(folder), "--format", "github").stdout.startswith("::warning ")
    assert run("check", str(folder), "--format", "github", "--base", "main").stdout == ""


def test_a_workflow_run_gets_a_summary_where_nothing_is_markup(tmp_path: Path):
    folder = committed(tmp_path / "copy", playbooks__a_yaml=playbook())
    (folder / "playbooks" / "b.yaml").write_text(playbook("more", " again").replace("1.0.0", '"<b>[x](y)"'))
    place = tmp_path / "summary.md"
    run("check", str(folder), "--format", "github", "--base", "main", GITHUB_STEP_SUMMARY=str(place))
    text = place.read_text()
    assert "| 2 | 0 |" in text
    assert r"- **added** more \<b\>\[x\]\(y\)" in text


def test_a_summary_that_cannot_be_written_is_told_and_fails_nothing(tmp_path: Path):
    folder = committed(tmp_path / "copy", playbooks__a_yaml=playbook())
    result = run("check", str(folder), "--format", "github", GITHUB_STEP_SUMMARY=str(tmp_path / "none" / "a.md"))
    assert (result.exit_code, "could not be written" in result.stderr) == (0, True)


def test_selection_cases_are_tried_and_stand_against_nothing(tmp_path: Path):
    cases = "selection: {should_find: [the kettle is broken]}\n"
    result = run("check", str(working_copy(tmp_path, playbooks__a_yaml=playbook() + cases)))
    assert (result.exit_code, "selection cases: 0 of 1 task" in result.stdout) == (0, True)
