"""The rules of hygiene: what is near is found whatever the order, and patterns mean what git means by them."""

from catalogs import a_head
from hypothesis import assume, given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from registry.catalog.codeowners import read_codeowners
from registry.catalog.hygiene import Subject, catalog_remarks, neighbours
from registry.catalog.likeness import WordingIndex, is_near, wording_of
from registry.catalog.versions import first_contents, version_changes

WORDS = [f"word{letter}" for letter in "abcdefghij"]
PURPOSES = st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join)
DEFINITIONS = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from([b'{"risk":"read"}', b'{"risk":"money"}']))
PARTS = st.sampled_from(["a", "b", "ab", "a*", "*b", "?", "*a*b", "**"])
PATHS = st.lists(st.sampled_from(["a", "b", "ab", "aab", "ba"]), min_size=1, max_size=5).map("/".join)


@st.composite
def subjects(draw, kind="local"):
    names = draw(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8))
    return [
        Subject(
            name,
            kind,
            f"playbooks/{name}.yaml",
            kind,
            draw(PURPOSES),
            draw(st.none() | st.fixed_dictionaries({"replaced_by": st.sampled_from("abcdefgh")})),
            draw(DEFINITIONS),
        )
        for name in names
    ]


@given(st.lists(PURPOSES, max_size=20), PURPOSES)
def test_an_index_finds_exactly_what_a_comparison_with_each_would(purposes, purpose):
    wordings = [wording_of(f"name{place}", text) for place, text in enumerate(purposes)]
    wording = wording_of("asked", purpose)
    expected = [place for place, other in enumerate(wordings) if is_near(wording, other)]
    assert WordingIndex(wordings).near(wording, 99, lambda _: True) == expected


@given(PURPOSES, PURPOSES)
def test_near_is_symmetric_and_everything_is_near_itself(one, other):
    left, right = wording_of("one", one), wording_of("other", other)
    assert is_near(left, right) == is_near(right, left)
    assert is_near(left, left)


@given(subjects(), subjects("central"), st.randoms(use_true_random=False))
def test_remarks_do_not_depend_on_the_order_of_playbooks(own, beside, random):
    expected = catalog_remarks(own, neighbours(beside))
    random.shuffle(own)
    random.shuffle(beside)
    assert catalog_remarks(own, neighbours(beside)) == expected


@given(subjects(), subjects("central"))
def test_remarks_stand_at_own_files_alone_and_once_for_each_code_and_tool(own, beside):
    remarks = catalog_remarks(own, neighbours(beside))
    assert {item.path for item in remarks} <= {item.path for item in own}
    assert len({(item.code, item.path, item.message) for item in remarks}) == len(remarks)
    assert all(
        sum(each.code == code and each.path == path for each in remarks) <= 2
        for code, path in {(i.code, i.path) for i in remarks}
    )


@given(subjects(), subjects("central"))
def test_a_playbook_of_central_that_is_replaced_might_as_well_not_be_there(own, beside):
    names = {item.name for item in own}
    rest = [item for item in beside if item.name not in names]
    assert catalog_remarks(own, neighbours(beside)) == catalog_remarks(own, neighbours(rest))


@given(st.lists(st.tuples(st.sampled_from("123"), st.sampled_from("abc")), min_size=1, max_size=8))
def test_a_version_is_remarked_on_exactly_while_its_content_is_not_its_first(steps):
    known = {}
    first: dict[str, str] = {}
    before = None
    for version, content in steps:
        if version != before:
            first = {version: content}
            before = version
        head = a_head("x", "local", version=version, digest=content)
        assert bool(version_changes(known, [head], "1")) == (first[version] != content)
        known = first_contents(known, [head], "1")


@given(st.booleans(), st.lists(PARTS, min_size=1, max_size=4), st.booleans(), PATHS)
def test_a_pattern_of_code_owners_matches_what_git_ignore_would(is_anchored, parts, is_folder, path):
    pattern = f"{'/' if is_anchored else ''}{'/'.join(parts)}{'/' if is_folder else ''}"
    assume(not pattern.endswith("**/"))  # git itself says here what this library does not
    expected = GitIgnoreSpec.from_lines([pattern]).match_file(path)
    assert bool(read_codeowners("CODEOWNERS", f"{pattern} @a".encode()).owners(path)[0]) == expected
