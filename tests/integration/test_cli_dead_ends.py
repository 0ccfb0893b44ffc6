"""Where a new user gets stuck, the message says what to type next."""

import json
import subprocess
from pathlib import Path

import pytest
from cli import answers, catalog, entry, refuses, repository, run

from registry.cli.main import COMMANDS, ELSEWHERE

NOBODY = "http://127.0.0.1:1"


def said(*words: str, **environment: str) -> tuple[int, str]:
    """(exit code, everything that was said in one line) of a command."""
    result = run(*words, **environment)
    return result.exit_code, " ".join((result.stdout + result.stderr).split())


@pytest.mark.parametrize("word", ELSEWHERE)
def test_what_other_tools_call_it_leads_to_what_it_is_here(word: str):
    code, text = said(word)
    assert (code, f"here it is '{ELSEWHERE[word]}'" in text) == (2, True)


def test_a_word_leads_to_a_command_that_there_is_and_hides_none():
    assert {name for name in ELSEWHERE.values() if not name.startswith("--")} <= set(COMMANDS)
    assert not set(ELSEWHERE) & set(COMMANDS)


def test_the_version_is_said():
    assert said("--version") == (0, "registry, version 0.1.0")


def test_where_nothing_is_set_up_the_variable_is_named():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("registry.cli.remote.DEFAULT_URL", NOBODY)
        code, text = said("catalog", REGISTRY_URL=NOBODY)
    assert (code, "set REGISTRY_URL to the one that your company runs" in text) == (3, True)


def test_an_address_that_does_not_answer_is_to_be_checked():
    code, text = said("catalog", REGISTRY_URL=NOBODY)
    assert (code, "(Connection refused): check REGISTRY_URL" in text) == (3, True)


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("unauthenticated", "registry token create"),
        ("repository-unknown", "registry register URL --team TEAM"),
        ("repository-invalid", "registry repositories"),
        ("token-unknown", "registry token list"),
        ("unavailable", "registry doctor"),
    ],
)
def test_a_refusal_ends_with_the_next_command(code: str, advice: str):
    with refuses(404, code, "it cannot be."):
        assert advice in said("policy", "show")[1]


def test_the_catalog_of_a_repository_that_is_not_registered_says_so():
    with answers(200, catalog(entry(), repository=None)):
        assert "github.com/acme/new is not registered" in said("catalog", "github.com/acme/new")[1]


def test_a_tag_that_nothing_has_is_named():
    with answers(200, {"results": [], "weak": False}):
        assert "Nothing with the tag nope was found" in said("search", "--tag", "nope")[1]


def test_contracts_without_json_are_refused():
    assert said("catalog", "--full")[0] == 2


def test_an_id_in_the_place_of_a_url_is_answered_with_the_url():
    code, text = said("register", "github.com/acme/payments", "--team", "payments")
    assert (code, "for example https://github.com/acme/payments." in text) == (2, True)


def test_a_folder_in_the_place_of_a_url_is_answered_with_its_remote(tmp_path: Path):
    url = "https://git.example/acme/payments.git"
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", url], check=True)
    code, text = said("register", str(tmp_path), "--team", "payments")
    assert (code, f"Its own is {url}" in text) == (2, True)


def test_a_folder_without_a_remote_is_answered_with_what_a_trial_needs(tmp_path: Path):
    code, text = said("register", str(tmp_path), "--team", "payments")
    assert (code, f"{tmp_path.as_uri()} to a registry that runs with REGISTRY_ALLOW_FILE_REMOTES=true" in text) == (
        2,
        True,
    )


@pytest.mark.parametrize("given", ["github.com/acme/playbooks", ".", "playbooks"])
def test_a_central_url_that_is_none_is_answered_before_anything_is_made(given: str, tmp_path: Path):
    code, text = said("serve", "--data-dir", str(tmp_path / "data"), REGISTRY_CENTRAL_URL=given)
    assert (code, f"REGISTRY_CENTRAL_URL is {given}, and it is" in text, list(tmp_path.iterdir())) == (2, True, [])


def test_a_sync_that_ended_badly_says_how_to_go_on():
    with answers(200, repository("empty")):
        code, text = said("sync", "github.com/acme/payments")
    assert (code, "`registry sync github.com/acme/payments` reads it at once" in text) == (1, True)


def test_a_suspended_commit_says_how_it_is_put_in_force():
    with answers(200, repository("suspended")):
        assert (
            "`registry apply github.com/acme/payments --commit COMMIT`" in said("sync", "github.com/acme/payments")[1]
        )


@pytest.mark.parametrize("words", [("apply", "github.com/acme/payments", "--commit"), ("policy", "accept", "--commit")])
def test_a_commit_that_is_cut_short_is_refused_before_it_is_sent(words: tuple[str, ...]):
    with answers() as router:
        code, text = said(*words, "3f2c9a5")
    assert (code, "40 hexadecimal digits" in text, len(router.calls)) == (2, True, 0)


def test_a_list_with_faults_says_where_they_are_shown():
    with answers(200, {"items": [repository("unreachable")], "next_cursor": None}):
        assert "`registry repositories REPOSITORY` says what keeps" in said("repositories")[1]


def test_a_list_with_central_alone_says_how_to_register():
    with answers(200, {"items": [repository(role="central", problems=0)], "next_cursor": None}):
        assert "`registry register URL --team TEAM`" in said("repositories")[1]


def test_a_token_that_may_write_nothing_says_what_it_lacks():
    with answers(201, {"id": "7Q2M", "token": "pbr_x"}):
        assert "--team gives it one" in said("token", "create", "ci", "--scope", "repository:write")[1]


def test_check_reads_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert said("check")[0] == 0


def test_check_of_a_file_says_how_to_check_one(tmp_path: Path):
    (tmp_path / "a.yaml").write_text("playbook: 1\n")
    code, text = said("check", str(tmp_path / "a.yaml"))
    assert (code, "registry check . --path a.yaml" in text) == (2, True)


def test_check_names_the_files_that_it_passed_over(tmp_path: Path):
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "notes.yaml").write_text("hello: 1\n")
    assert "Passed over: playbooks/notes.yaml." in said("check", str(tmp_path))[1]


def test_the_example_that_check_offers_passes_the_check(tmp_path: Path):
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "a.yaml").write_text(run("schema", "playbook", "--example").stdout)
    code, text = said("check", str(tmp_path), "--strict")
    assert (code, "1 playbook (service repository): 0 errors" in text) == (0, True)


def test_the_example_of_a_policy_file_loads(tmp_path: Path):
    (tmp_path / "policy.yaml").write_text(run("schema", "policy", "--example").stdout)
    found = json.loads(run("check", str(tmp_path), "--format", "json").stdout)
    assert {item["code"] for item in found["problems"]} == {"required-unmatched"}
