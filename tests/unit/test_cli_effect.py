"""An effect in words: bounded, and harmless whatever repositories and registries say."""

import click
import pytest

from registry.cli.effect import SHOWN_MAX, effect_lines, effect_title, styled


def row(name: str = "drain", **members: object) -> dict[str, object]:
    after = {"outcome": "local_only", "serves": "local", "version": "1", "digest": None, "required": False}
    return {
        "name": name,
        "repository": None,
        "version": "1",
        "version_before": None,
        "after": after,
        "new": True,
        **members,
    }


def effect(role: str = "service", *, repository: str | None = "github.com/acme/a", **sorts: list) -> dict[str, object]:
    listed = {name: {"count": len(rows), "items": rows[:500]} for name, rows in sorts.items()}
    return {"role": role, "repository": repository, "compared_with": "base", "effect": listed}


def texts(found: dict[str, object]) -> list[str]:
    return [f"{line.label}: {line.text}" for line in effect_lines(found)]


def test_an_effect_without_rows_says_so():
    assert texts(effect()) == [": Nothing that is served changes."]


def test_a_sort_lists_so_many_and_counts_the_rest():
    lines = texts(effect(added=[row(f"p{number}") for number in range(SHOWN_MAX + 7)]))
    assert len(lines) == SHOWN_MAX + 1
    assert lines[-1] == "added: and 7 more; as JSON they are listed"


def test_the_rest_counts_what_was_not_listed_either():
    found = effect(added=[row(f"p{number}") for number in range(600)])
    assert texts(found)[-1] == f"added: and {600 - SHOWN_MAX} more; as JSON they are listed"


@pytest.mark.parametrize("role", ["service", "central"])
def test_nothing_that_is_said_reaches_a_terminal_as_a_command(role: str):
    bad = "\x1b[2J\nx\u202e"
    sorts = ("added", "changed", "removed", "refused", "shadowing", "dangling", "held", "colliding", "behind", "mended")
    hostile = row(bad, version=bad, version_before=bad, reasons=[bad], replaced_by=bad, repository=bad, team=bad)
    found = effect(role, **{sort: [hostile, {**hostile, "repository": None}] for sort in sorts})
    found |= {"suspended": bad, "in_force": bad, "repository": bad}
    rule = {"kind": "mark", "origin": "api", "name": bad, "tag": bad, "reason": bad, "why": bad, "by": [bad]}
    names = ("marks_added", "marks_removed", "required", "no_longer_required", "unmatched", "waivers_added")
    found["rules"] = {name: {"count": 1, "items": [rule]} for name in names}
    found["repositories"] = {"registered": 3, "read": 2, "changed": {"count": 1, "items": [bad]}}
    for line in styled(effect_title(found, bad), effect_lines(found)):
        assert not set("\x1b\n\u202e") & set(click.unstyle(line))


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"version_before": "1", "version": "2"}, "changed: drain 1 -> 2"),
        ({"version_before": "1", "version": "1"}, "changed: drain 1, under the same version"),
        ({"version_before": "1", "version": None}, "changed: drain 1 does not load any more"),
    ],
)
def test_a_change_says_what_changed(members: dict[str, object], said: str):
    assert texts(effect(changed=[row(**members)])) == [said]


def test_what_was_refused_before_is_told_as_that():
    (line,) = texts(effect(refused=[row(new=False, reasons=["Audited."], after={"serves": "central", "version": "3"})]))
    assert line == 'refused: drain 1: required here ("Audited."), so central\'s 3 serves; it was so before'


def test_without_a_registry_nothing_is_said_of_central():
    (line,) = texts(effect(repository=None, removed=[row(version_before="1")]))
    assert line == "removed: drain 1"


def test_a_central_change_names_the_repositories_and_their_teams():
    lines = texts(effect("central", refused=[row(repository="github.com/acme/a", team="payments")]))
    assert lines == ["refused: github.com/acme/a (payments): its drain 1 is refused from now on"]


def test_what_is_not_read_yet_is_left_out_and_said_to_be():
    found = effect("central")
    found["repositories"] = {"registered": 3, "read": 2, "changed": {"count": 0, "items": []}}
    assert texts(found) == [
        ": 1 repository not read yet, and left out of this.",
        "catalogs: none of 2 repositories changes",
    ]


def test_a_requirement_is_not_told_twice():
    found = effect("central")
    mark = {"origin": "policy-file", "name": "drain", "tag": None, "reason": "Audited."}
    found["rules"] = {
        "marks_added": {"count": 1, "items": [mark]},
        "required": {"count": 1, "items": [{"name": "drain", "by": ["policy-file"], "reasons": ["Audited."]}]},
    }
    assert texts(found) == ['required: drain from now on ("Audited.")']


@pytest.mark.parametrize(
    ("compared", "said"),
    [
        ("base", "since main (abc)"),
        ("in-force", "compared with what is in force (0123456789ab)"),
        ("nothing", "compared with nothing"),
    ],
)
def test_the_title_says_what_was_compared(compared: str, said: str):
    found = {**effect(), "compared_with": compared, "in_force": "0123456789abcdef"}
    assert said in effect_title(found, "main (abc)")
