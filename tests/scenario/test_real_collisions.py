"""The four real collisions of scenario A: shown as the merge says, then with code-review required, then with a waiver."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from realcompany import Company, company_of, differences, id_of, workshop_in
from world import ADMIN

pytestmark = [pytest.mark.corpus, pytest.mark.xdist_group("real-collisions")]

REVIEWERS = {
    "Arize-ai/coding-harness-tracing": ".agents/skills/code-review/SKILL.md",
    "ClickHouse/clickhouse-connect": ".github/skills/code-review/SKILL.md",
    "langfuse/langfuse": ".agents/skills/code-review/SKILL.md",
}
SCANNER = ("getsentry/sentry-javascript", ".agents/skills/skill-scanner/SKILL.md")
CENTRAL_REVIEW, CENTRAL_SCANNER = "skills/code-review/SKILL.md", "skills/skill-scanner/SKILL.md"
WAIVED = "ClickHouse/clickhouse-connect"
REASON = "Reviews are audited."
UNTIL = (datetime.now(UTC) + timedelta(days=30)).date()


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "links"])
def company(request, tmp_path_factory) -> Iterator[Company]:
    workshop = workshop_in(tmp_path_factory.mktemp("real"))
    with company_of("A_org", workshop, tmp_path_factory.mktemp("company"), links=request.param) as made:
        yield made


def label(company: Company, service: str | None, path: str) -> str:
    """How an explanation names a copy."""
    side = company.sides[service] if service else company.shared
    where = id_of(service) if service else company.services.in_force.view.central
    return f"version {side.skills[path].version} at {where}/{path}"


def why_local_wins(company: Company, service: str, name: str, path: str, central_path: str) -> str:
    return (
        f"In {id_of(service)}, {name} comes from the repository itself: {label(company, service, path)}. "
        "A repository's own playbook goes before the central one of the same name, unless the central one is required, "
        f"and here it is not. The central copy ({label(company, None, central_path)}) goes on serving repositories "
        "without a copy of their own."
    )


def why_required_holds(company: Company, service: str, path: str, said_by: str, reason: str) -> str:
    return (
        f"In {id_of(service)}, code-review comes from the central repository: {label(company, None, CENTRAL_REVIEW)}. "
        "The playbook is required: the central copy holds everywhere. The repository's own copy "
        f"({label(company, service, path)}) is refused: it is listed as such and never serves. Delete or rename it, or "
        f"ask the platform team for a waiver. It is made required by {said_by}.{reason}"
    )


@contextmanager
def policy_file(company: Company, text: str) -> Iterator[None]:
    """Central with a policy file; afterwards with one that has no rules."""
    company.central.commit({"policy.yaml": text})
    company.world.sync_central()
    yield
    company.central.commit({"policy.yaml": "policy: 1\n"})
    company.world.sync_central()


@contextmanager
def required_by_policy(company: Company, more: str = "") -> Iterator[tuple[str, str]]:
    rule = f"policy: 1\nrequired:\n  - {{name: code-review, reason: {REASON}}}\n"
    with policy_file(company, rule + more):
        yield "the central repository's policy file", f" The reason given: {REASON}"


@contextmanager
def required_by_mark(company: Company) -> Iterator[tuple[str, str]]:
    company.services.policy.mark(ADMIN, "code-review", REASON)
    yield "a mark made through the API", f" The reason given: {REASON}"
    company.services.policy.unmark(ADMIN, "code-review")


@contextmanager
def required_by_front_matter(company: Company) -> Iterator[tuple[str, str]]:
    skill = company.central.git("show", f"main:{CENTRAL_REVIEW}") + "\n"
    company.central.commit({CENTRAL_REVIEW: skill.replace("\n---\n", "\nrequired: true\n---\n", 1)})
    company.world.sync_central()
    yield "the central playbook itself", ""
    company.central.commit({CENTRAL_REVIEW: skill})
    company.world.sync_central()


WAYS = pytest.mark.parametrize("required", [required_by_policy, required_by_mark, required_by_front_matter])


def test_the_four_collisions_are_explained(company):
    for service, path in REVIEWERS.items():
        explained = company.explain("code-review", service)
        why = why_local_wins(company, service, "code-review", path, CENTRAL_REVIEW)
        assert (explained["outcome"], explained["explanation"]) == ("local_wins", why)
    service, path = SCANNER
    why = why_local_wins(company, service, "skill-scanner", path, CENTRAL_SCANNER)
    assert company.explain("skill-scanner", service)["explanation"] == why


def test_a_collision_lists_the_central_copy_that_it_goes_before(company):
    for service in REVIEWERS:
        [entry] = [row for row in company.catalog(service)["entries"] if row["name"] == "code-review"]
        [over] = entry["decision"]["over"]
        assert (over["source"]["kind"], over["source"]["path"]) == ("central", CENTRAL_REVIEW)
        assert over["source"]["blob"] == company.shared.skills[CENTRAL_REVIEW].digest
        assert over["digest"] != entry["digest"]


@WAYS
def test_a_required_code_review_holds_in_each_way_that_it_can_be_said(company, required):
    with required(company) as (said_by, reason):
        assert differences(company, required=["code-review"]) == {}
        for service, path in REVIEWERS.items():
            explained = company.explain("code-review", service)
            why = why_required_holds(company, service, path, said_by, reason)
            assert (explained["outcome"], explained["explanation"]) == ("required_holds", why)
    assert differences(company) == {}


@WAYS
def test_what_a_required_playbook_keeps_out_is_listed_as_refused_and_not_found(company, required):
    with required(company):
        for service in company.repositories:
            refused = [(row["name"], row["source"]["path"]) for row in company.catalog(service)["refused"]]
            assert refused == ([("code-review", REVIEWERS[service])] if service in REVIEWERS else [])
        [own] = [
            copy.skill for name, copy in company.sides["langfuse/langfuse"].copies.items() if name == "code-review"
        ]
        results = company.services.search.search(id_of("langfuse/langfuse"), own.description, limit=50)["results"]
        [hit] = [row for row in results if row["name"] == "code-review"]
        assert hit["purpose"] != own.description
        assert hit["required"]


@WAYS
def test_a_waiver_lets_one_repository_keep_its_own(company, required):
    with required(company) as (said_by, reason):
        company.services.policy.waive(ADMIN, "code-review", id_of(WAIVED), UNTIL, "Moves over this month.")
        outcomes = {service: company.explain("code-review", service)["outcome"] for service in REVIEWERS}
        assert outcomes == {**dict.fromkeys(REVIEWERS, "required_holds"), WAIVED: "waiver"}
        assert company.explain("code-review", WAIVED)["explanation"] == why_waiver(company, said_by, reason, "root")
        [entry] = [row for row in company.catalog(WAIVED)["entries"] if row["name"] == "code-review"]
        assert (entry["source"]["kind"], entry["waiver"]["until"]) == ("local", UNTIL.isoformat())
        company.services.policy.unwaive(ADMIN, "code-review", id_of(WAIVED))
        assert company.explain("code-review", WAIVED)["outcome"] == "required_holds"


def test_a_waiver_in_the_policy_file_counts_as_one_that_was_granted(company):
    waiver = (
        f"waivers:\n  - {{name: code-review, repository: {id_of(WAIVED)}, until: {UNTIL}, "
        "reason: Moves over this month., approved_by: platform}\n"
    )
    with required_by_policy(company, waiver) as (said_by, reason):
        assert company.explain("code-review", WAIVED)["explanation"] == why_waiver(company, said_by, reason, "platform")
        assert company.catalog(WAIVED)["refused"] == []
        assert company.explain("code-review", "langfuse/langfuse")["outcome"] == "required_holds"


def why_waiver(company: Company, said_by: str, reason: str, approved_by: str) -> str:
    return (
        f"In {id_of(WAIVED)}, code-review comes from the repository itself: "
        f"{label(company, WAIVED, REVIEWERS[WAIVED])}. The playbook is required, but a waiver lets this repository use "
        f"its own copy for a time. The central copy ({label(company, None, CENTRAL_REVIEW)}) goes on serving every "
        f"repository without such a waiver. It is made required by {said_by}.{reason} The waiver holds through {UNTIL} 23:59:59 "
        f"UTC and was approved by {approved_by}: Moves over this month. After that the central copy serves again."
    )
