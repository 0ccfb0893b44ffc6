"""What the protocol's own suite and inspector say of the served endpoint, scenario by scenario.

They are Node programs, which .ci/run installs; see tests/conformance. What cannot hold here stands there with its reason.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from gitserver import GitRepo
from mcp_suites import EXPECTED_FAILURES, Report, Suites, installed_suites
from serving import serving
from world import playbook

pytestmark = pytest.mark.service

PAY = "github.com/acme/pay"
# Scenario -> how many of its checks must hold at least, so that a suite that skips them is seen.
MUST_HOLD = {
    "sep-2640-skills-enumeration": 30,
    "sep-2640-skills-manifest": 6,
    "sep-2640-skills-directory": 7,
    "http-header-validation": 14,
    "dns-rebinding-protection": 2,
    "tools-list": 3,
    "resources-list": 2,
    "caching": 8,
    "sep-2164-resource-not-found": 4,
    "server-initialize": 2,
    "ping": 2,
    "prompts-list": 2,
}
# In a repository's catalog a name may be there twice, which the extension allows and the suite warns of.
TWO_COPIES = {"central": (), "repository": ("sep-2640-skills-enumeration:sep-2640-names-should-be-unique",)}


@pytest.fixture(scope="module")
def suites() -> Suites:
    return installed_suites()


@pytest.fixture(scope="module")
def urls(suites: Suites, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The endpoint of central and that of a repository with a copy that wins and one that is refused."""
    folder: Path = tmp_path_factory.mktemp("conformance")
    central = GitRepo(folder / "git" / "acme" / "playbooks")
    central.commit(
        {
            # The first of the list, since that is the one whose folders are looked into.
            "skills/attach-logs/SKILL.md": (
                "---\nname: attach-logs\ndescription: Attach the logs of an incident to its ticket.\nlicense: Apache-2.0\n"
                'metadata:\n  version: "1.2.0"\n  weight: 1.0\n  since: 0x10\n---\n\n# Attach logs\n\nSee references/where.md.\r\n'
            ),
            "skills/attach-logs/references/where (1).md": "# Where\n\nIn the usual place.\n",
            "skills/attach-logs/scripts/collect.sh": "#!/bin/sh\necho collected\r\n",
            "skills/attach-logs/assets/map.png": b"\x89PNG\r\n\x1a\n\x00\xff",
            "playbooks/roll-back.yaml": playbook("roll-back", purpose="'Roll back: the one before serves.'"),
            "playbooks/drop-data.yaml": playbook("drop-data", purpose="Drop data.", required="true"),
        }
    )
    pay = GitRepo(folder / "git" / "acme" / "pay")
    pay.commit(
        {
            "playbooks/roll-back.yaml": playbook("roll-back", version="2.0.0"),
            "playbooks/drop-data.yaml": playbook("drop-data", version="9.0.0"),
        }
    )
    with serving(folder / "data", central_url=central.url, poll_interval_s=3_600) as registry:
        registry.register(PAY, pay.url)
        base = str(registry.client.base_url).rstrip("/")
        yield {"central": f"{base}/mcp", "repository": f"{base}/mcp/r/{PAY}"}


@pytest.fixture(scope="module")
def reports(suites: Suites, urls: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    return {of: suites.conformance(url, tmp_path_factory.mktemp(of), TWO_COPIES[of]) for of, url in urls.items()}


@pytest.mark.parametrize("of", ["central", "repository"])
def test_the_suite_finds_what_is_expected_and_nothing_else(reports: dict[str, Report], of: str):
    report = reports[of]
    assert report.code == 0, report.printed[-4_000:]
    assert len(report.scenarios) > 60


@pytest.mark.parametrize("scenario", MUST_HOLD)
@pytest.mark.parametrize("of", ["central", "repository"])
def test_a_scenario_holds_in_every_check(reports: dict[str, Report], of: str, scenario: str):
    checks = reports[of].scenarios[scenario]
    allowed = [check for check in checks if f"{scenario}:{check.id}" in TWO_COPIES[of]]
    missed = [check for check in checks if check.status not in {"SUCCESS", "INFO"} and check not in allowed]
    assert missed == []
    assert sum(check.status == "SUCCESS" for check in checks) >= MUST_HOLD[scenario] - len(allowed)


@pytest.mark.parametrize("of", ["central", "repository"])
def test_every_message_is_valid_by_the_schema_of_its_version(reports: dict[str, Report], of: str):
    checks = [check for checks in reports[of].scenarios.values() for check in checks if check.id == "wire-schema-valid"]
    assert len(checks) > 40
    assert {check.status for check in checks} == {"SUCCESS"}


def test_every_expected_failure_has_its_reason():
    lines = [line for line in EXPECTED_FAILURES.read_text().splitlines() if line.strip().startswith("-")]
    without = [line for line in lines if not re.fullmatch(r"  - [\w.-]+:[\w.-]+ # (needs|not offered: ).+", line)]
    assert without == []


@pytest.mark.parametrize("of", ["central", "repository"])
def test_the_inspector_finds_no_fault_in_the_tools(suites: Suites, urls: dict[str, str], tmp_path: Path, of: str):
    done = suites.inspect(urls[of], tmp_path, "--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stdout[-4_000:]
    assert re.search(r"^0 errors, \d+ warnings? across 3 tools", done.stdout, re.MULTILINE), done.stdout[-4_000:]


@pytest.mark.parametrize(
    ("of", "uris"),
    [
        ("central", ["central/attach-logs", "central/drop-data", "central/roll-back"]),
        ("repository", ["central/attach-logs", "central/drop-data", "local/roll-back", "central/roll-back"]),
    ],
)
def test_the_inspector_verifies_every_file_of_every_skill(
    suites: Suites, urls: dict[str, str], tmp_path: Path, of: str, uris: list[str]
):
    done = suites.inspect(urls[of], tmp_path, "--method", "skills/list", "--verify", "--require-digests")
    assert done.returncode == 0, done.stdout[-4_000:]
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [skill["uri"] for skill in found] == [f"skill://{uri}/SKILL.md" for uri in uris]
    assert all(skill["ok"] and skill["frontmatter"] == [] for skill in found)
    files = [file for skill in found for file in skill["files"]]
    assert {file["status"] for file in files} == {"verified"}
    assert len(files) == len(uris) + 3
