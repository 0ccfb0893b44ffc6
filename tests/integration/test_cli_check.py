"""`registry check` on real working copies: folders that git made, and what people leave in them."""

import json
import subprocess
from pathlib import Path

import pytest
from cli import answers, catalog, entry, run

GOOD = """\
playbook: 1
name: {name}
version: 1.0.0
owner: payments
purpose: Replace the key a service signs with.
not_for: [Passwords.]
inputs: {{type: object}}
preconditions: [{{id: ready, state: The new key exists.}}]
steps: [{{id: publish, instruction: Publish the new key{extra}.}}]
stop: [{{when: A verifier refuses the new key., then: escalate}}]
verification: [{{state: Nothing is signed with the old key.}}]
"""


def playbook(name: str = "rotate-key", extra: str = "") -> str:
    return GOOD.format(name=name, extra=extra)


def working_copy(folder: Path, remote: str | None = None, **files: str) -> Path:
    """A git working copy in `folder`; `__` in a keyword is a slash and `_` a dot of the file's path."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    if remote:
        subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", remote], check=True)
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def report(folder: Path, *options: str) -> dict:
    return json.loads(run("check", str(folder), "--format", "json", *options).stdout)


def codes(folder: Path, *options: str) -> set[str]:
    return {problem["code"] for problem in report(folder, *options)["problems"]}


def test_a_good_copy_exits_0(tmp_path: Path):
    result = run("check", str(working_copy(tmp_path, playbooks__a_yaml=playbook())))
    assert (result.exit_code, result.stdout) == (0, "1 playbook (service repository): 0 errors, 0 warnings, 0 notes\n")


def test_an_error_is_told_with_its_place_and_exits_1(tmp_path: Path):
    result = run("check", str(working_copy(tmp_path, playbooks__a_yaml=playbook().replace("owner:", "onwer:"))))
    assert result.exit_code == 1
    assert f"{tmp_path}/playbooks/a.yaml:4:1: error unknown-key: " in result.stdout


def test_a_path_is_told_from_where_the_caller_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    working_copy(tmp_path, playbooks__a_yaml="playbook: 1\n")
    monkeypatch.chdir(tmp_path)
    assert "\nplaybooks/a.yaml:1:1: error " in "\n" + run("check", ".").stdout


def test_a_file_that_git_does_not_track_is_checked_too(tmp_path: Path):
    assert report(working_copy(tmp_path, playbooks__new_yaml=playbook()))["playbooks"] == 1


def test_a_warning_passes(tmp_path: Path):
    folder = working_copy(tmp_path, playbooks__a_yaml=playbook() + "required: true\n")
    assert codes(folder) == {"required-not-yours"}
    assert run("check", str(folder)).exit_code == 0


def test_a_warning_counts_where_it_is_strict(tmp_path: Path):
    folder = working_copy(tmp_path, playbooks__a_yaml=playbook() + "required: true\n")
    assert run("check", str(folder), "--strict").exit_code == 1


def test_two_files_with_one_name_are_an_error_at_both(tmp_path: Path):
    folder = working_copy(tmp_path, playbooks__a_yaml=playbook(), playbooks__b_yaml=playbook(extra=" twice"))
    found = [(item["code"], item["path"]) for item in report(folder)["problems"]]
    assert found == [("duplicate-name", "playbooks/a.yaml"), ("duplicate-name", "playbooks/b.yaml")]


def test_one_bad_file_does_not_hide_another(tmp_path: Path):
    folder = working_copy(tmp_path, playbooks__a_yaml="playbook: 1\n\t: [", playbooks__b_yaml=playbook())
    assert report(folder)["playbooks"] == 1
    assert report(folder)["errors"] == 1


def test_a_policy_file_makes_it_a_central_copy(tmp_path: Path):
    folder = working_copy(tmp_path, policy_yaml="policy: 1\n", playbooks__a_yaml=playbook() + "required: true\n")
    assert report(folder)["role"] == "central"
    assert codes(folder) == set()


def test_the_role_can_be_said(tmp_path: Path):
    folder = working_copy(tmp_path, policy_yaml="policy: 1\n", playbooks__a_yaml=playbook() + "required: true\n")
    assert codes(folder, "--role", "service") == {"required-not-yours"}


def test_a_typo_in_a_rule_is_an_error_with_the_nearest_name(tmp_path: Path):
    policy = "policy: 1\nrequired: [{name: rotate-kee, reason: Audited.}]\n"
    folder = working_copy(tmp_path, policy_yaml=policy, playbooks__a_yaml=playbook())
    (problem,) = report(folder)["problems"]
    assert (problem["code"], problem["path"]) == ("required-unmatched", "policy.yaml")
    assert "rotate-key" in problem["message"]


def test_a_policy_file_that_does_not_load_is_an_error(tmp_path: Path):
    assert "policy-invalid" in codes(working_copy(tmp_path, policy_yaml="policy: [\n"))


def test_a_central_playbook_needs_what_the_policy_file_asks_for(tmp_path: Path):
    policy = "policy: 1\npublication: {verification: required}\n"
    text = playbook().replace("verification:", "x-verification:")
    folder = working_copy(tmp_path, policy_yaml=policy, playbooks__a_yaml=text)
    assert "publication-missing" in codes(folder)


def test_a_link_out_of_the_copy_is_not_followed(tmp_path: Path):
    (tmp_path / "secret.yaml").write_text(playbook())
    folder = working_copy(tmp_path / "copy", playbooks__a_yaml=playbook("other"))
    (folder / "playbooks" / "link.yaml").symlink_to("../../secret.yaml")
    assert codes(folder) == {"symlink-dangling"}


def test_a_link_inside_the_copy_is_the_file_that_it_leads_to(tmp_path: Path):
    folder = working_copy(tmp_path, other__a_yaml=playbook(), playbooks__b_yaml=playbook("other"))
    (folder / "playbooks" / "link.yaml").symlink_to("../other/a.yaml")
    assert report(folder)["playbooks"] == 2


def test_a_file_over_the_limit_is_an_error(tmp_path: Path):
    folder = working_copy(tmp_path, playbooks__a_yaml=playbook() + "#" * (2 << 20))
    assert codes(folder) == {"too-large"}


def test_a_copy_without_playbooks_passes_and_says_where_they_would_lie(tmp_path: Path):
    result = run("check", str(working_copy(tmp_path)))
    assert result.exit_code == 0
    assert "playbooks/" in result.stderr


def test_other_folders_can_be_named(tmp_path: Path):
    folder = working_copy(tmp_path, docs__a_yaml=playbook())
    assert report(folder, "--path", "docs/*.yaml")["playbooks"] == 1


def test_github_gets_an_annotation_for_each_problem_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    working_copy(tmp_path, playbooks__a_yaml=playbook().replace("owner:", "onwer:") + "required: true\n")
    monkeypatch.chdir(tmp_path)
    lines = run("check", ".", "--format", "github").stdout.splitlines()
    assert any(line.startswith("::error file=playbooks/a.yaml,line=4,col=1,title=unknown-key::") for line in lines)
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines)


def test_a_folder_that_is_not_there_exits_2(tmp_path: Path):
    assert run("check", str(tmp_path / "none")).exit_code == 2


def test_a_check_asks_nobody_by_itself(tmp_path: Path):
    with answers() as router:
        run("check", str(working_copy(tmp_path, "https://github.com/acme/payments", playbooks__a_yaml=playbook())))
        assert not router.calls


def test_a_copy_of_a_required_name_must_not_merge(tmp_path: Path):
    folder = working_copy(tmp_path, "git@github.com:acme/payments.git", playbooks__a_yaml=playbook())
    with answers(body=catalog(entry("rotate-key", required=True))) as router:
        result = run("check", str(folder), "--ask-registry")
        assert router.calls[0].request.url.raw_path == b"/v1/catalogs/git%40github.com%3Aacme%2Fpayments.git"
    assert result.exit_code == 1
    assert "error shadows-required: rotate-key is required" in result.stdout


def test_a_waived_name_may_merge(tmp_path: Path):
    folder = working_copy(tmp_path, "git@github.com:acme/payments.git", playbooks__a_yaml=playbook())
    with answers(body=catalog(entry("rotate-key", waiver={"until": "2027-01-31"}))):
        assert run("check", str(folder), "--ask-registry").exit_code == 0


def test_a_copy_without_a_remote_must_be_named_to_ask(tmp_path: Path):
    folder = working_copy(tmp_path, playbooks__a_yaml=playbook())
    result = run("check", str(folder), "--ask-registry")
    assert (result.exit_code, "--repository" in result.stderr) == (2, True)


def test_what_the_files_show_is_said_even_when_the_registry_does_not_answer(tmp_path):
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "a.yaml").write_text("playbook: 1\nname: [\n")
    result = run(
        "check", str(tmp_path), "--ask-registry", "--repository", "github.com/acme/app", "--url", "http://127.0.0.1:9"
    )
    assert result.exit_code == 3
    assert "yaml-syntax" in result.stdout
