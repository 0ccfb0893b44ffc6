import pytest

from registry.playbook.roots import Roots, expanded


@pytest.mark.parametrize(
    ("path", "index"),
    [
        ("playbooks/a.yaml", 0),
        ("playbooks/x/y/a.md", 0),
        (".playbooks/a.json", 1),
        ("playbooks/a.yml", 0),
        ("playbooks/a.txt", None),
        ("a.yaml", None),
        ("x/playbooks/a.yaml", None),
        ("playbooks/.a.yaml", None),
        ("playbooks/.x/a.yaml", None),
        ("playbooks/_drafts/a.yaml", None),
        ("playbooks/node_modules/a.yaml", None),
        ("playbooks/vendor/a.yaml", None),
        ("playbooks/a.openplaybook.json", 0),
        (".playbooks/a.runbook.json", 1),
        (".agents/skills/a/SKILL.md", 2),
        (".claude/skills/x/a/SKILL.md", 3),
        (".github/skills/a/SKILL.md", 4),
        (".cursor/skills/a/SKILL.md", 5),
        ("skills/a/SKILL.md", 6),
        ("skills/SKILL.md", 6),
        ("skills/a/skill.md", 6),
        ("skills/a/Skill.MD", 6),
        ("skills/a/s\u212aill.md", None),
        ("skills/a/my-SKILL.md", None),
        ("skills/a/README.md", None),
        ("skills/.a/SKILL.md", None),
        ("skills/vendor/SKILL.md", None),
        (".gemini/skills/a/SKILL.md", None),
        ("x/.claude/skills/a/SKILL.md", None),
        ("SKILL.md", None),
        ("playbooks", None),
        ("playbooks/a.yaml/b", None),
    ],
)
def test_the_default_roots_hold_every_format_in_their_order(path, index):
    assert Roots().index(path) == index
    assert Roots().wanted(path) is (index is not None)


def test_roots_are_anchored_at_the_sub_path():
    roots = Roots(sub_path="services/pay")
    assert roots.wanted("services/pay/playbooks/a.yaml")
    assert not roots.wanted("playbooks/a.yaml")
    assert not roots.wanted("services/pay2/playbooks/a.yaml")
    assert roots.folders() == tuple(
        f"services/pay/{each}"
        for each in (
            ".agents/skills", ".claude/skills", ".cursor/skills", ".github/skills", ".playbooks", "playbooks", "skills"
        )
    )  # fmt: skip


def test_a_sub_path_below_a_closed_folder_is_the_registrations_own_choice():
    assert Roots(sub_path="vendor/pay").wanted("vendor/pay/playbooks/a.yaml")


def test_patterns_of_a_registration_replace_the_list_in_their_order():
    roots = Roots(("ops/*.yaml", ".github/runbooks/**/*.md", "ops/**/*.yaml"))
    assert roots.index("ops/a.yaml") == 0
    assert roots.index(".github/runbooks/x/a.md") == 1
    assert roots.index("ops/x/a.yaml") == 2
    assert not roots.wanted("playbooks/a.yaml")


@pytest.mark.parametrize(
    ("folder", "entered"),
    [
        ("", True), ("playbooks", True), ("playbooks/x", True), ("playbooks/.x", False), ("playbooks/_x", False),
        ("playbooks/dist", False), (".playbooks", True), ("src", False), ("play", False),
    ],
)  # fmt: skip
def test_only_folders_that_can_hold_something_are_entered(folder, entered):
    assert Roots().enter(folder) is entered


def test_the_way_to_a_sub_path_is_entered():
    roots = Roots(sub_path="services/pay")
    assert [roots.enter(each) for each in ("services", "services/pay", "services/x", "playbooks")] == [
        True,
        True,
        False,
        False,
    ]


def test_a_pattern_with_a_leading_wildcard_has_the_whole_tree_as_its_folder():
    assert Roots(("**/*.yaml", "playbooks/*.md")).folders() == ("",)


def test_a_star_matches_no_dot_name_and_an_explicit_dot_does():
    assert not Roots(("*/a.yaml",)).wanted(".x/a.yaml")
    assert Roots((".*/a.yaml",)).wanted(".x/a.yaml")


def test_braces_are_multiplied_out_in_order():
    assert expanded("{a,b}/*.{x,y}") == ("a/*.x", "a/*.y", "b/*.x", "b/*.y")


@pytest.mark.parametrize(
    "pattern", ["/a/*.yaml", "a//b.yaml", "../*.yaml", "a/./b", "", "a\\b", "{a,b}" * 9, "a" * 600]
)
def test_a_pattern_that_cannot_be_is_refused(pattern):
    with pytest.raises(ValueError):
        Roots((pattern,))


def test_many_stars_cost_no_more_than_one():
    assert not Roots(("**/" * 60 + "*a*a*a*a*a*b.yaml",)).wanted("/".join(["x"] * 200) + "/" + "a" * 200 + ".yaml")


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("*a*b", "xaxb", True), ("*a*b", "xaxbc", False), ("a*a", "a", False), ("a*a", "aa", True), ("?.md", "x.md", True),
        ("?.md", "xy.md", False), ("*.m?", "x.md", True), ("a.b*", "aXb", False), ("**a", "xa", True), ("*", "x", True),
    ],
)  # fmt: skip
def test_wildcards_stand_for_what_shells_mean_by_them(pattern, name, fits):
    assert Roots((pattern,)).wanted(name) is fits
