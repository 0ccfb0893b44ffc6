"""`registry check` on real working copies: folders that git made, and what people leave in them."""

import json
import os
from pathlib import Path

import httpx
import pytest
import respx
from cli import URL, answers, refuses, repository, run
from workingcopy import codes, playbook, report, working_copy


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


def test_a_name_that_is_not_utf8_is_a_warning(tmp_path: Path):
    folder = working_copy(tmp_path, playbooks__a_yaml=playbook())
    (folder / "playbooks" / os.fsdecode(b"bad-\xff.yaml")).write_text(playbook("bad"))
    result = run("check", str(folder))
    assert (result.exit_code, "bad-\\xff.yaml:1:1: warning path-not-utf8" in result.stdout) == (0, True)


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


def test_a_copy_without_a_remote_must_be_named_to_ask(tmp_path: Path):
    folder = working_copy(tmp_path, playbooks__a_yaml=playbook())
    result = run("check", str(folder), "--ask-registry")
    assert (result.exit_code, "--repository" in result.stderr) == (2, True)


def test_an_empty_url_is_no_check_without_a_registry(tmp_path: Path):
    folder = working_copy(tmp_path, "git@github.com:acme/payments.git", playbooks__a_yaml=playbook())
    result = run("check", str(folder), "--registry", "")
    assert (result.exit_code, "--registry is empty" in result.stderr) == (2, True)


def test_what_the_files_show_is_said_even_when_the_registry_does_not_answer(tmp_path):
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "a.yaml").write_text("playbook: 1\nname: [\n")
    result = run(
        "check", str(tmp_path), "--ask-registry", "--repository", "github.com/acme/app", "--url", "http://127.0.0.1:9"
    )
    assert result.exit_code == 3
    assert "yaml-syntax" in result.stdout


def test_a_refusal_is_said_after_what_the_files_show(tmp_path: Path):
    folder = working_copy(tmp_path, "git@github.com:acme/payments.git", playbooks__a_yaml="playbook: 1\n")
    with refuses(401, "unauthenticated", "this token is not valid."):
        result = run("check", str(folder), "--registry", URL)
    assert (result.exit_code, "field-missing" in result.stdout, "REGISTRY_TOKEN" in result.stderr) == (2, True, True)


def answering(preview: httpx.Response | list[httpx.Response]) -> respx.MockRouter:
    """A registry that knows payments, has an empty central catalog, and answers previews so."""
    router = respx.mock(base_url=URL, assert_all_called=False)
    router.get("/v1/repositories").mock(httpx.Response(200, json=repository()))
    router.get("/v1/catalogs").mock(httpx.Response(200, json={"entries": []}))
    router.get("/v1/policy").mock(httpx.Response(200, json={"publication": ["owner", "runbook"]}))
    route = router.post("/v1/preview")
    if isinstance(preview, list):
        route.mock(side_effect=preview)
    else:
        route.mock(preview)
    return router


def busy() -> httpx.Response:
    body = {"type": "/problems/unavailable", "title": "Busy", "status": 503, "detail": "ask again in a moment."}
    headers = {"Content-Type": "application/problem+json", "Retry-After": "0"}
    return httpx.Response(503, content=json.dumps(body), headers=headers)


EFFECT = {"role": "service", "repository": "github.com/acme/payments", "compared_with": "in-force", "effect": {}}


def test_a_registry_that_is_busy_is_asked_again(tmp_path: Path):
    folder = working_copy(tmp_path, "git@github.com:acme/payments.git", playbooks__a_yaml=playbook())
    with answering([busy(), busy(), httpx.Response(200, json=EFFECT)]):
        result = run("check", str(folder), "--registry", URL)
    assert (result.exit_code, "Nothing that is served changes." in result.stdout) == (0, True)


def test_what_the_policy_file_asks_of_every_playbook_is_a_warning_in_a_service(tmp_path: Path):
    folder = working_copy(tmp_path, "git@github.com:acme/payments.git", playbooks__a_yaml=playbook())
    with answering(httpx.Response(200, json=EFFECT)):
        result = run("check", str(folder), "--registry", URL)
    told = [line for line in result.stdout.splitlines() if "publication-missing" in line]
    assert (result.exit_code, len(told), "runbook is missing" in told[0]) == (0, 1, True)


def test_a_registry_that_stays_busy_exits_3_after_what_the_files_show(tmp_path: Path):
    folder = working_copy(tmp_path, "git@github.com:acme/payments.git", playbooks__a_yaml=playbook())
    with answering([busy(), busy(), busy()]):
        result = run("check", str(folder), "--registry", URL)
    assert (result.exit_code, "1 playbook" in result.stdout, "ask again" in result.stderr) == (3, True, True)


def test_a_registry_that_knows_no_previews_is_told(tmp_path: Path):
    folder = working_copy(tmp_path, "git@github.com:acme/payments.git", playbooks__a_yaml=playbook())
    problem = {"type": "/problems/route-unknown", "title": "No such address", "status": 404, "detail": "nothing here."}
    answer = httpx.Response(404, content=json.dumps(problem), headers={"Content-Type": "application/problem+json"})
    with answering(answer):
        result = run("check", str(folder), "--registry", URL)
    assert (result.exit_code, "older than this command" in result.stderr) == (2, True)


@pytest.mark.parametrize("answer", [[1], {"effect": 7, "role": "service"}, {"role": "central", "rules": []}])
def test_an_answer_of_another_shape_breaks_nothing(tmp_path: Path, answer: object):
    folder = working_copy(tmp_path, "git@github.com:acme/payments.git", playbooks__a_yaml=playbook())
    with answering(httpx.Response(200, json=answer)):
        result = run("check", str(folder), "--registry", URL)
    assert result.exit_code in {0, 2}
    assert "1 playbook" in result.stdout


def test_nothing_of_a_playbooks_text_is_sent(tmp_path: Path):
    folder = working_copy(tmp_path, "git@github.com:acme/payments.git", playbooks__a_yaml=playbook())
    with answering(httpx.Response(200, json=EFFECT)) as router:
        run("check", str(folder), "--registry", URL)
        sent = next(call.request.content for call in router.calls if call.request.method == "POST")
    (copy,) = json.loads(sent)["revision"]["copies"]
    assert sorted(copy) == ["digest", "name", "path", "state", "version"]
