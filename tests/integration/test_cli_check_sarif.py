"""`registry check --format sarif`: what code scanning takes (SARIF 2.1.0, and what GitHub requires beyond it)."""

import json
from pathlib import Path
from urllib.parse import unquote

import httpx
import respx
from cli import URL, repository, run
from workingcopy import committed, playbook, working_copy

from registry.cli.sarif import RESULTS_MAX, sarif
from registry.playbook.model import Level, Problem
from registry.service.checking import Finding, Report

BROKEN = playbook().replace("owner:", "onwer:") + "required: true\n"


def log(folder: Path, *options: str) -> dict:
    """The one run of a check, its frame looked at."""
    found = json.loads(run("check", str(folder), "--format", "sarif", *options).stdout)
    assert found["version"] == "2.1.0"
    assert found["$schema"].endswith("sarif-schema-2.1.0.json")
    (only,) = found["runs"]
    return only


def check_structure(only: dict) -> None:
    """What GitHub's code scanning requires of a run, member by member."""
    driver = only["tool"]["driver"]
    assert isinstance(driver["name"], str)
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    for rule in driver["rules"]:
        assert all(rule[member]["text"] for member in ("shortDescription", "fullDescription", "help"))
        assert len(rule["shortDescription"]["text"]) <= 1024
        assert len(rule["fullDescription"]["text"]) <= 1024
        assert rule["defaultConfiguration"]["level"] in {"none", "note", "warning", "error"}
        assert "helpUri" not in rule or httpx.URL(rule["helpUri"]).is_absolute_url
    for result in only["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        assert all(isinstance(value, str) and value for value in result["partialFingerprints"].values())
        assert result["partialFingerprints"]
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert not uri.startswith("/")
        assert uri.isascii()
        assert " " not in uri
        region = location["physicalLocation"]["region"]
        assert all(region[member] >= 1 for member in ("startLine", "startColumn", "endLine", "endColumn"))
        assert (region["startLine"], region["startColumn"]) <= (region["endLine"], region["endColumn"])


def test_every_problem_is_a_result_with_its_rule_and_its_place(tmp_path: Path):
    only = log(working_copy(tmp_path, playbooks__a_yaml=BROKEN))
    check_structure(only)
    found = {item["ruleId"]: item for item in only["results"]}
    place = found["unknown-key"]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("playbooks/a.yaml", 4)
    assert (found["unknown-key"]["level"], found["required-not-yours"]["level"]) == ("error", "warning")


def test_a_copy_without_a_problem_is_a_run_without_results(tmp_path: Path):
    only = log(working_copy(tmp_path, playbooks__a_yaml=playbook()))
    check_structure(only)
    assert (only["results"], only["tool"]["driver"]["rules"]) == ([], [])


def test_paths_are_the_repositorys_wherever_one_stands(tmp_path: Path):
    working_copy(tmp_path, pay__playbooks__a_yaml=BROKEN)
    only = log(tmp_path / "pay")
    place = only["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "pay/playbooks/a.yaml", "uriBaseId": "%SRCROOT%"}


def test_two_parts_of_a_repository_do_not_replace_each_others_results(tmp_path: Path):
    working_copy(tmp_path, pay__playbooks__a_yaml=BROKEN, ship__playbooks__a_yaml=BROKEN)
    categories = {log(tmp_path / part)["automationDetails"]["id"] for part in ("pay", "ship")}
    assert len(categories) == 2


def test_a_path_is_written_as_an_address(tmp_path: Path):
    folder = working_copy(tmp_path)
    (folder / "playbooks").mkdir()
    (folder / "playbooks" / "a b#ü%.yaml").write_text(BROKEN)
    only = log(folder)
    check_structure(only)
    uri = only["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri) == "playbooks/a b#ü%.yaml"


def test_a_fingerprint_survives_moved_lines_and_no_other_change(tmp_path: Path):
    folder = working_copy(tmp_path, playbooks__a_yaml=BROKEN)
    before = {item["ruleId"]: item["partialFingerprints"] for item in log(folder)["results"]}
    (folder / "playbooks" / "a.yaml").write_text("# moved\n" + BROKEN)
    assert {item["ruleId"]: item["partialFingerprints"] for item in log(folder)["results"]} == before
    (folder / "playbooks" / "a.yaml").write_text(BROKEN.replace("onwer", "wner"))
    after = {item["ruleId"]: item["partialFingerprints"] for item in log(folder)["results"]}
    assert after["unknown-key"] != before["unknown-key"]


def test_what_was_there_before_is_told_apart(tmp_path: Path):
    folder = committed(tmp_path, playbooks__a_yaml=playbook() + "required: true\n")
    (folder / "playbooks" / "b.yaml").write_text("playbook: 1\nname: b\n")
    states = {item["ruleId"]: item["baselineState"] for item in log(folder, "--base", "main")["results"]}
    assert (states["required-not-yours"], states["field-missing"]) == ("unchanged", "new")


def test_without_a_base_nothing_is_said_of_before(tmp_path: Path):
    only = log(working_copy(tmp_path, playbooks__a_yaml=BROKEN))
    assert all("baselineState" not in item for item in only["results"])


def test_a_rule_leads_to_the_page_of_the_registry_that_was_asked(tmp_path: Path):
    folder = working_copy(tmp_path, "git@github.com:acme/payments.git", playbooks__a_yaml=BROKEN)
    with respx.mock(base_url=URL) as router:
        router.get("/v1/repositories").mock(httpx.Response(200, json=repository()))
        router.get("/v1/catalogs").mock(httpx.Response(200, json={"entries": []}))
        router.get("/v1/policy").mock(httpx.Response(200, json={"publication": []}))
        router.post("/v1/preview").mock(httpx.Response(200, json={"role": "service", "effect": {}}))
        only = log(folder, "--registry", URL + "/")
    check_structure(only)
    pages = {rule["id"]: rule["helpUri"] for rule in only["tool"]["driver"]["rules"]}
    assert pages["unknown-key"] == f"{URL}/problems/unknown-key"


def test_the_effect_goes_along(tmp_path: Path):
    folder = committed(tmp_path)
    working_copy(folder, playbooks__a_yaml=playbook())
    assert log(folder, "--base", "main")["properties"]["effect"]["effect"]["added"]["count"] == 1


def test_errors_go_first_where_there_is_no_room_for_all():
    def finding(number: int, level: Level) -> Finding:
        return Finding(Problem("unknown-key", level, f"playbooks/{number}.yaml", 1, 1, "Mend it."))

    warnings = tuple(finding(number, Level.WARNING) for number in range(RESULTS_MAX))
    report = Report("service", 1, (*warnings, finding(0, Level.ERROR)))
    (only,) = sarif(report)["runs"]
    assert len(only["results"]) == RESULTS_MAX
    assert only["results"][0]["level"] == "error"
