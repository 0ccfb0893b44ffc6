"""What a check counts, and what of an effect stands against merging."""

from dataclasses import replace
from datetime import date

import pytest
from catalogs import a_copy, a_revision

from policies.decision import CopyState
from policies.rules import Mark, RuleSet, Waiver
from registry.api.bodies import read_body
from registry.api.proposals import PreviewBody
from registry.catalog.revision import Revision
from registry.digest import canonical
from registry.playbook.model import Level, Problem
from registry.ports import Role
from registry.service.checking import Finding, Report, fingerprint
from registry.service.consequences import count_of, effect_problems, refused_names, rows_of
from registry.service.proposing import proposal_json


def finding(level: Level = Level.ERROR, is_new: bool | None = None) -> Finding:
    return Finding(Problem("unknown-key", level, "playbooks/a.yaml", 4, 2, "Mend it.", "a"), is_new)


def report(*findings: Finding) -> Report:
    return Report("service", 1, findings)


def test_a_report_without_problems_passes():
    assert report().passes(strict=True)


@pytest.mark.parametrize(
    ("level", "is_new", "strict", "passes"),
    [
        (Level.ERROR, None, False, False),
        (Level.ERROR, False, False, False),
        (Level.WARNING, None, False, True),
        (Level.WARNING, None, True, False),
        (Level.WARNING, True, True, False),
        (Level.WARNING, False, True, True),
        (Level.INFO, True, True, True),
    ],
)
def test_errors_stand_against_merging_and_new_warnings_where_it_is_strict(
    level: Level, is_new: bool | None, strict: bool, passes: bool
):
    assert report(finding(level, is_new)).passes(strict=strict) is passes


def test_a_report_counts_by_level():
    found = report(finding(), finding(Level.WARNING), finding(Level.WARNING)).to_json()
    assert (found["errors"], found["warnings"], found["infos"]) == (1, 2, 0)


def test_a_problem_says_whether_it_is_new_only_where_something_was_compared():
    assert "new" not in finding().to_json()
    assert finding(is_new=False).to_json()["new"] is False


def test_a_fingerprint_does_not_know_lines():
    problem = finding().problem
    moved = Problem(problem.code, problem.level, problem.path, 90, 1, problem.message, problem.name)
    assert fingerprint(problem) == fingerprint(moved)


def effect(role: str, **sorts: list[dict[str, object]]) -> dict[str, object]:
    listed = {name: {"count": len(rows), "items": rows} for name, rows in sorts.items()}
    rules = {"unmatched": listed.pop("unmatched", {"count": 0, "items": []})}
    return {"role": role, "effect": listed, "rules": rules}


DEPLOY = a_revision(a_copy("deploy", "local"), kind="local")


def test_a_refused_copy_is_an_error_at_its_file():
    rows = [{"name": "deploy", "new": True, "reasons": ["Audited."], "path": "somewhere/else"}]
    ((problem, is_new),) = effect_problems(effect("service", refused=rows), DEPLOY)
    assert (problem.code, problem.level, problem.path, is_new) == (
        "shadows-required",
        Level.ERROR,
        "playbooks/deploy.yaml",
        True,
    )


def test_every_file_of_a_required_name_is_an_error_whichever_of_them_would_stand_for_it():
    other = Problem("duplicate-root", Level.WARNING, ".claude/skills/deploy/SKILL.md", 1, 1, "…", "deploy")
    elsewhere = Problem("duplicate-root", Level.WARNING, ".claude/skills/else/SKILL.md", 1, 1, "…", "else")
    revision = replace(DEPLOY, problems=(other, elsewhere))
    found = effect_problems(effect("service", refused=[{"name": "deploy", "new": True}]), revision)
    assert [problem.path for problem, _ in found] == [".claude/skills/deploy/SKILL.md", "playbooks/deploy.yaml"]


def test_the_message_says_why_what_to_do_and_that_agents_read_by_themselves():
    rows = [{"name": "deploy", "new": False, "reasons": ["Audited."]}]
    ((problem, is_new),) = effect_problems(effect("service", refused=rows), DEPLOY)
    assert not is_new
    for said in ("Audited.", "rename it", "delete it", "waiver", ".claude/skills"):
        assert said in problem.message


def test_a_name_that_is_not_here_is_no_problem_here():
    assert effect_problems(effect("service", refused=[{"name": "other", "new": True}]), DEPLOY) == []


def test_a_central_change_that_takes_away_what_a_mark_requires_is_an_error():
    unmatched = [{"kind": "mark", "origin": "api", "name": "deploy", "new": True}]
    removed = [{"name": "deploy", "path": "playbooks/deploy.yaml"}]
    ((problem, _),) = effect_problems(effect("central", removed=removed, unmatched=unmatched), a_revision())
    assert (problem.code, problem.path) == ("required-unmatched", "playbooks/deploy.yaml")


@pytest.mark.parametrize("changes", [{"new": False}, {"origin": "policy-file"}, {"name": "other"}])
def test_a_mark_that_matched_nothing_before_or_is_told_elsewhere_is_none(changes: dict[str, object]):
    unmatched = [{"kind": "mark", "origin": "api", "name": "deploy", "new": True, **changes}]
    removed = [{"name": "deploy", "path": "playbooks/deploy.yaml"}]
    assert effect_problems(effect("central", removed=removed, unmatched=unmatched), a_revision()) == []


@pytest.mark.parametrize("answer", [None, {}, {"effect": 7}, {"effect": {"refused": []}}, {"effect": {"refused": {}}}])
def test_what_an_answer_does_not_say_is_nothing(answer: dict[str, object] | None):
    assert (rows_of(answer, "refused"), count_of(answer, "refused"), refused_names(answer)) == ([], 0, frozenset())


def sent(now: Revision, role: Role) -> Revision:
    """What a registry makes of a working copy that was sent to it."""
    data = canonical(proposal_json(now, None, role, "github.com/acme/payments"))
    return read_body(PreviewBody, data, "application/json").proposal().proposed.revision


@pytest.mark.parametrize("state", [CopyState.GOOD, CopyState.HELD, CopyState.BROKEN, CopyState.AMBIGUOUS])
def test_a_copy_arrives_as_the_merge_sees_it(state: CopyState):
    copy = a_copy("deploy", "central", state, says_required=True, tags=("Data_Deletion",))
    (arrived,) = sent(a_revision(copy), Role.CENTRAL).copies
    assert (arrived.name, arrived.state, arrived.digest, arrived.says_required, arrived.path) == (
        copy.name,
        copy.state,
        copy.digest,
        copy.says_required,
        copy.path,
    )
    assert (arrived.head.tags if arrived.head else None) == (copy.head.tags if copy.head else None)


def test_rules_arrive_as_they_decide():
    policy = RuleSet(
        marks=(Mark("policy-file", "deploy", None, "Audited."), Mark("policy-file", None, "data", "")),
        waivers=(Waiver("deploy", "github.com/acme/a", date(2027, 1, 31), "w", "p", "policy-file"),),
    )
    assert sent(a_revision(policy=policy), Role.CENTRAL).policy == policy


def test_a_service_says_nothing_of_requirements_and_rules():
    copy = a_copy("deploy", "local", says_required=True, tags=("x",))
    arrived = sent(a_revision(copy, kind="local"), Role.SERVICE)
    assert (arrived.copies[0].says_required, arrived.copies[0].head.tags, arrived.policy) == (False, (), None)


def test_texts_that_no_registry_takes_are_cut():
    copy = a_copy("deploy", "central", version="9" * 5000, tags=("t" * 5000, *(str(number) for number in range(500))))
    (arrived,) = sent(a_revision(copy), Role.CENTRAL).copies
    assert (len(arrived.head.version), len(arrived.head.tags), len(arrived.head.tags[0])) == (200, 20, 200)
