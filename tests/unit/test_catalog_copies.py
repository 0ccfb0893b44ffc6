"""From readings to copies: twins, broken files, held copies (merge.md, Facts)."""

from catalogs import CENTRAL, PAYMENTS, a_copy, a_playbook, a_revision, broken, good

from policies.decision import CopyState
from registry.catalog.copies import EarlierCopy, Origin, copies_of

ROOTS = ("playbooks/", ".playbooks/")


def found(*readings, previous=None, earlier=lambda _path: None, kind="central", required_tags=frozenset()):
    return copies_of(
        readings,
        origin=Origin(kind, CENTRAL if kind == "central" else PAYMENTS, "c" * 40),
        root_of=lambda path: next(at for at, root in enumerate(ROOTS) if path.startswith(root)),
        previous=previous,
        earlier=earlier,
        required_tags=required_tags,
    )


def test_a_good_file_is_a_good_copy():
    (copy,) = found(good("deploy")).copies
    assert (copy.name, copy.state, copy.head.source.commit) == ("deploy", CopyState.GOOD, "c" * 40)


def test_a_file_that_never_loaded_is_broken_under_the_name_still_readable_in_it():
    result = found(broken("playbooks/x.yaml", claims="deploy"))
    (copy,) = result.copies
    assert (copy.name, copy.state, copy.head) == ("deploy", CopyState.BROKEN, None)
    assert result.problems[0].name == "deploy"


def test_a_broken_file_without_a_readable_name_makes_no_copy_and_stays_a_problem():
    result = found(broken("playbooks/x.yaml"))
    assert result.copies == ()
    assert len(result.problems) == 1


def test_one_broken_file_leaves_the_others_good():
    result = found(broken("playbooks/a.yaml", claims="a"), good("b"))
    assert [copy.state for copy in result.copies] == [CopyState.BROKEN, CopyState.GOOD]


def test_a_broken_file_is_held_at_its_newest_good_version():
    earlier = EarlierCopy(a_playbook("deploy"), "7" * 40)
    result = found(broken("playbooks/deploy.yaml"), earlier=lambda _path: earlier)
    (copy,) = result.copies
    assert copy.state is CopyState.HELD
    assert copy.head.source.commit == "7" * 40
    assert copy.head.held.problem.code == "yaml-syntax"
    assert [playbook.digest for playbook in result.playbooks] == [earlier.playbook.digest]


def test_a_broken_file_keeps_the_name_it_last_had_and_not_the_one_it_claims_now():
    earlier = EarlierCopy(a_playbook("deploy", "playbooks/x.yaml"), "7" * 40)
    (copy,) = found(broken("playbooks/x.yaml", claims="other"), earlier=lambda _path: earlier).copies
    assert copy.name == "deploy"


def test_without_a_good_version_in_history_the_copy_served_before_is_held():
    previous = a_revision(a_copy("deploy", version="1.0.0"))
    (copy,) = found(broken("playbooks/deploy.yaml"), previous=previous).copies
    assert (copy.state, copy.head.version) == (CopyState.HELD, "1.0.0")


def test_a_renamed_file_with_a_typo_inherits_the_held_copy_of_its_name():
    previous = a_revision(a_copy("deploy"))
    (copy,) = found(broken("playbooks/renamed.yaml", claims="deploy"), previous=previous).copies
    assert (copy.name, copy.state) == ("deploy", CopyState.HELD)


def test_a_broken_file_does_not_inherit_from_a_file_that_is_still_there():
    previous = a_revision(a_copy("deploy"))
    result = found(good("deploy"), broken("playbooks/other.yaml", claims="deploy"), previous=previous)
    assert [copy.state for copy in result.copies] == [CopyState.GOOD]


def test_a_deletion_takes_effect_at_once():
    assert found(previous=a_revision(a_copy("deploy"))).copies == ()


def test_a_good_file_beats_a_broken_one_of_its_name():
    result = found(broken("playbooks/a.yaml", claims="deploy"), good("deploy"))
    assert [copy.state for copy in result.copies] == [CopyState.GOOD]
    assert len(result.problems) == 1


def test_two_good_files_with_different_content_under_one_root_are_ambiguous():
    result = found(good("deploy", "playbooks/a.yaml"), good("deploy", "playbooks/b.yaml", content="other"))
    (copy,) = result.copies
    assert (copy.state, copy.head) == (CopyState.AMBIGUOUS, None)
    assert [problem.code for problem in result.problems] == ["duplicate-name", "duplicate-name"]


def test_of_ambiguous_files_the_one_that_served_before_is_held():
    previous = a_revision(a_copy("deploy"))
    result = found(
        good("deploy", "playbooks/deploy.yaml"), good("deploy", "playbooks/b.yaml", content="other"), previous=previous
    )
    (copy,) = result.copies
    assert (copy.state, copy.head.held.problem.code) == (CopyState.HELD, "duplicate-name")


def test_identical_twins_are_one_playbook_with_a_note():
    result = found(good("deploy", "playbooks/a.yaml"), good("deploy", "playbooks/b.yaml"))
    assert [copy.state for copy in result.copies] == [CopyState.GOOD]
    assert [problem.code for problem in result.problems] == ["twin-identical"]


def test_under_different_roots_the_order_of_the_roots_decides_with_a_warning():
    result = found(good("deploy", ".playbooks/deploy.yaml", content="other"), good("deploy", "playbooks/deploy.yaml"))
    (copy,) = result.copies
    assert copy.head.source.path == "playbooks/deploy.yaml"
    (problem,) = result.problems
    assert problem.code == "duplicate-root"
    assert ".playbooks/deploy.yaml" in problem.message
    assert " playbooks/deploy.yaml" in problem.message


def test_identical_twins_under_different_roots_are_only_noted():
    result = found(good("deploy", ".playbooks/deploy.yaml"), good("deploy", "playbooks/deploy.yaml"))
    assert [problem.code for problem in result.problems] == ["twin-identical"]


def test_a_broken_file_of_which_nothing_is_known_counts_as_required():
    (copy,) = found(broken("playbooks/x.yaml", claims="deploy", says_required=None)).copies
    assert copy.says_required


def test_a_broken_file_that_says_it_is_not_required_is_not():
    (copy,) = found(broken("playbooks/x.yaml", claims="deploy", says_required=False)).copies
    assert not copy.says_required


def test_a_held_copy_stays_required_when_its_last_good_version_said_so():
    earlier = EarlierCopy(a_playbook("deploy", required=True), "7" * 40)
    (copy,) = found(broken("playbooks/deploy.yaml", says_required=False), earlier=lambda _path: earlier).copies
    assert copy.says_required


def test_an_ambiguous_copy_is_required_when_one_of_the_files_carries_a_marked_tag():
    result = found(
        good("deploy", "playbooks/a.yaml", tags=("Data_Deletion",)),
        good("deploy", "playbooks/b.yaml", content="other"),
        required_tags=frozenset({"data-deletion"}),
    )
    assert result.copies[0].says_required


def test_the_order_of_the_readings_changes_nothing():
    readings = [
        good("a"),
        good("b", "playbooks/b1.yaml"),
        good("b", "playbooks/b2.yaml", content="x"),
        broken("playbooks/c.yaml", claims="c"),
    ]
    assert found(*readings) == found(*reversed(readings))
