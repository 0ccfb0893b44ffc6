import pytest
from catalogs import a_head

from registry.catalog.lineage import FileVersion, likeness, lineage_of, shadow_drift, sketch_of

TEXT = " ".join(f"word{number} says something of step {number}." for number in range(40))
SKETCH = sketch_of({"purpose": TEXT})


def was(content: str, version: str = "1.0.0", **values) -> FileVersion:
    """One content of a file: its ids are made of `content`, its commit is named after it."""
    return FileVersion(
        **{
            "commit": f"{content:0<40}",
            "whole": content,
            "file": content,
            "digest": f"d-{content}",
            "version": version,
            **values,
        }
    )


def drift(central: list[FileVersion], local: list[FileVersion], version: str = "9.0.0", sketch=()):
    return shadow_drift(a_head("rotate-key", "local", version=version), lineage_of(local, sketch), central)


def commits(problem) -> list[str]:
    """The first letter of each commit that a remark names."""
    return [word[0] for word in problem.message.partition(": ")[2].partition(".")[0].split(", ")]


def test_the_commits_since_the_newest_common_content_are_named_newest_first():
    central = [was("d"), was("c"), was("b"), was("a")]
    assert commits(drift(central, [was("x"), was("b"), was("a")])) == ["d", "c"]


def test_a_copy_that_had_centrals_present_content_has_missed_nothing():
    assert drift([was("b"), was("a")], [was("x"), was("b"), was("a")]) is None


def test_a_copy_that_never_had_a_content_of_centrals_was_not_made_from_it():
    assert drift([was("b"), was("a")], [was("x"), was("y")]) is None
    assert drift([], [was("x")]) is None
    assert drift([was("b"), was("a")], []) is None


def test_the_same_document_in_other_bytes_is_the_same_content():
    assert commits(drift([was("b"), was("a", digest="same")], [was("x", digest="same")])) == ["b"]


def test_what_central_says_again_in_other_bytes_is_no_move():
    assert drift([was("b", digest="d-a"), was("a")], [was("a")]) is None


def test_what_central_took_back_is_no_move():
    assert drift([was("a"), was("b"), was("a")], [was("x"), was("a")]) is None


def test_a_content_that_did_not_load_is_none():
    assert drift([was("b", version=None), was("a")], [was("a")]) is None


def test_of_a_skill_the_folder_goes_before_the_file():
    central = [
        was("b", whole="folder-2", file="skill", digest=None),
        was("a", whole="folder-1", file="skill", digest=None),
    ]
    assert commits(drift(central, [was("x", whole="folder-1", file="skill", digest=None)])) == ["b"]
    assert drift(central, [was("x", whole="elsewhere", file="skill", digest=None)]) is None


@pytest.mark.parametrize("version", ["1.1.0", "1.1.0+pay", " 1.1.0 "])
def test_a_copy_with_a_version_of_centrals_that_reads_alike_follows_it(version):
    central = [was("c", "1.2.0", sketch=SKETCH), was("b", "1.1.0", sketch=SKETCH), was("a", "1.0.0", sketch=SKETCH)]
    assert commits(drift(central, [was("x")], version, SKETCH)) == ["c"]


def test_a_version_that_the_registry_made_shows_nothing():
    made = "0.0.0+6c17f2007cbe"
    assert drift([was("b", "2", sketch=SKETCH), was("a", made, sketch=SKETCH)], [was("x")], made, SKETCH) is None


def test_a_version_alone_shows_nothing():
    assert (
        drift([was("b", "1.1.0", sketch=SKETCH), was("a", "1.0.0", sketch=SKETCH)], [was("x")], "1.0.0", (1, 2)) is None
    )


def test_where_central_kept_its_version_the_first_content_of_it_counts():
    central = [was("b", "1.0.0", sketch=SKETCH), was("a", "1.0.0", sketch=SKETCH)]
    assert commits(drift(central, [was("x")], "1.0.0", SKETCH)) == ["b"]


def test_the_newer_of_two_evidences_counts():
    central = [was("c", "1.2.0", sketch=SKETCH), was("b", "1.1.0", sketch=SKETCH), was("a", "1.0.0", sketch=SKETCH)]
    assert commits(drift(central, [was("a")], "1.1.0", SKETCH)) == ["c"]
    assert commits(drift(central, [was("b")], "1.0.0", SKETCH)) == ["c"]


def test_ten_commits_are_named_and_the_others_counted():
    central = [was(f"{number}") for number in range(13)]
    remark = drift(central, [central[-1]])
    assert "by 12 commits: " in remark.message
    assert " and 2 more." in remark.message


def test_the_remark_stands_at_the_copys_file_and_says_its_level():
    remark = drift([was("b"), was("a", "1.0.0")], [was("a")])
    assert (remark.code, remark.level, remark.path, remark.name) == (
        "shadow-drift",
        "warning",
        "playbooks/rotate-key.yaml",
        "rotate-key",
    )
    assert "(1.0.0), by one commit" in remark.message


def test_documents_are_alike_by_their_word_pairs():
    changed = sketch_of({"purpose": TEXT.replace("word7 ", "another ")})
    assert likeness(SKETCH, SKETCH) == 1
    assert likeness(SKETCH, changed) > 0.8
    assert likeness(SKETCH, sketch_of({"purpose": " ".join(reversed(TEXT.split()))})) < 0.2
    assert likeness((), ()) == 0


def test_a_sketch_is_of_texts_wherever_they_stand_and_not_of_numbers():
    assert sketch_of({"steps": [{"instruction": "Rotate the key", "n": 1}], "x": True}) == sketch_of(
        {"a": "Rotate the key"}
    )


def test_a_sketch_has_a_bounded_size():
    assert len(sketch_of({"a": " ".join(str(number) for number in range(5_000))})) == 64


def test_a_content_that_nobody_read_is_known_by_its_ids_alone():
    central = [was("b", "1.1.0"), was("a", version="", digest=None)]
    remark = drift(central, [was("a", version="", digest=None)])
    assert "made from it, by one commit: b" in remark.message


def test_a_version_that_central_only_wrote_in_another_way_is_followed():
    central = [was(name, "1.0.0", digest="same", sketch=SKETCH) for name in ("b", "a")]
    assert drift(central, [was("x")], "1.0.0", SKETCH) is None
