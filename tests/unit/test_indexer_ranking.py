"""Statistics, questions, scores and their order."""

import pytest

from indexer.document import Document, document_id, scope_ordinal
from indexer.query import NEAR_MAX, TERMS_MAX, question, within_one_edit
from indexer.ranking import Hit, Scorer, order, weak
from indexer.tally import CatalogStatistics, content


def a_document(name="rotate-key", *, scope="central", purpose="", tags=(), tasks=(), steps=(), not_for=()):
    return Document(
        id=document_id(scope, name), scope=scope, name=name, tags=tuple(tags), purpose=purpose,
        tasks=tuple(tasks), steps=tuple(steps), digest=name, not_for=tuple(not_for),
    )  # fmt: skip


def a_hit(name="a", score=1.0, *, exact=False, scope="central"):
    return Hit(document_id(scope, name), scope, name, name, score, exact=exact)


def scores(text, *documents):
    statistics = CatalogStatistics.of(documents)
    scorer = Scorer(question(text, statistics), statistics)
    return [scorer.score(content(document)) for document in documents]


CATALOG = (
    a_document("rotate-key", purpose="Rotate the signing key of a service", tags=["security"]),
    a_document("flush-cache", purpose="Flush the redis cache", steps=["Open the dashboard", "Flush"]),
    a_document("revoke-key", purpose="Revoke a leaked key", tasks=["our token is public"]),
)


def test_the_same_copy_in_two_scopes_is_two_documents():
    assert document_id("central", "d") != document_id("host/a", "d")


def test_central_comes_first_in_the_index():
    assert scope_ordinal("central") == 0 < scope_ordinal("host/a") < 2**63


def test_statistics_count_documents():
    assert CatalogStatistics.of(CATALOG).documents == 3


def test_statistics_count_the_documents_that_have_a_term():
    assert CatalogStatistics.of(CATALOG).frequency("all", "key") == 2


def test_statistics_know_the_average_length_of_a_field():
    assert CatalogStatistics.of(CATALOG).average_length("name") == 2.0


def test_statistics_do_not_depend_on_the_order_of_documents():
    assert CatalogStatistics.of(CATALOG).parts[0][1] == CatalogStatistics.of(reversed(CATALOG)).parts[0][1]


def test_central_plus_local_minus_shadowed_is_the_merged_catalog():
    local = a_document("rotate-key", scope="host/a", purpose="Rotate our own key with care")
    combined = (
        CatalogStatistics.of(CATALOG).plus(CatalogStatistics.of([local])).minus(CatalogStatistics.of(CATALOG[:1]))
    )
    merged = CatalogStatistics.of([*CATALOG[1:], local])
    vocabulary = {term for document in (*CATALOG, local) for term in content(document).occurrences}
    assert [
        (combined.documents, combined.average_length(field), combined.weight(field, term), combined.known([term]))
        for field in ("all", "name", "steps")
        for term in sorted(vocabulary)
    ] == [
        (merged.documents, merged.average_length(field), merged.weight(field, term), merged.known([term]))
        for field in ("all", "name", "steps")
        for term in sorted(vocabulary)
    ]  # fmt: skip


def test_an_empty_catalog_has_statistics():
    empty = CatalogStatistics()
    assert (empty.documents, empty.average_length("all"), empty.frequency("all", "key")) == (0, 1.0, 0)


def test_a_rarer_term_weighs_more():
    statistics = CatalogStatistics.of(CATALOG)
    assert statistics.weight("all", "redi") > statistics.weight("all", "key") > 0


def test_a_question_holds_the_rarest_terms_first():
    assert list(question("key redis", CatalogStatistics.of(CATALOG)).terms) == ["redi", "key"]


def test_a_question_has_a_bounded_number_of_terms():
    many = [a_document(f"word{number}x") for number in range(60)]
    text = " ".join(document.name for document in many)
    assert len(question(text, CatalogStatistics.of(many)).terms) == TERMS_MAX


def test_a_question_of_stop_words_keeps_them():
    known = CatalogStatistics.of([a_document("what-is-this")])
    assert set(question("what is this", known).terms) == {"what", "is", "this"}


def test_a_word_that_the_catalog_has_is_no_typing_error():
    assert question("rotate", CatalogStatistics.of(CATALOG)).near == ()


def test_an_unknown_word_stands_for_its_neighbours():
    assert [list(near) for near in question("dashbord", CatalogStatistics.of(CATALOG)).near] == [["dashboard"]]


def test_a_short_unknown_word_stands_for_nothing():
    assert question("kex", CatalogStatistics.of(CATALOG)).near == ()


def test_the_neighbours_of_a_word_are_bounded():
    known = CatalogStatistics.of([a_document(f"wordy{letter}") for letter in "abcdefgh"])
    assert [len(near) for near in question("wordyz", known).near] == [NEAR_MAX]


@pytest.mark.parametrize("other", ["cachex", "xcache", "cach", "ache", "cachy", "ccahe", "cahce", "cac1he"])
def test_one_edit_reaches(other):
    assert other in set(within_one_edit("cache"))


@pytest.mark.parametrize("other", ["cachexy", "cac", "cahec", "brush"])
def test_one_edit_does_not_reach(other):
    assert other not in set(within_one_edit("cache"))


def test_a_document_without_the_terms_scores_nothing():
    assert scores("redis", *CATALOG)[0] == 0.0


def test_a_typing_error_scores_less_than_the_word():
    written, typo = scores("dashboard", *CATALOG)[1], scores("dashbord", *CATALOG)[1]
    assert 0.0 < typo < written


def test_an_own_task_is_found_by():
    assert scores("public token", *CATALOG)[2] > 0.0


def test_steps_count_less_than_the_purpose():
    by_purpose, by_steps = scores(
        "dashboard", a_document("aa", purpose="dashboard"), a_document("bb", steps=["dashboard"])
    )
    assert by_purpose > by_steps > 0.0


def test_what_is_not_for_never_attracts():
    assert scores("leaked", a_document("aa", not_for=["a leaked key"]), *CATALOG)[0] == 0.0


def test_a_near_miss_scores_less_with_its_clause():
    with_clause, without = scores(
        "rotate leaked key",
        a_document("aa", purpose="rotate key", not_for=["a leaked key"]),
        a_document("bb", purpose="rotate key"),
        a_document("cc", purpose="leaked"),
    )[:2]
    assert with_clause < without


def test_a_clause_takes_nothing_from_the_own_words_of_a_playbook():
    with_clause, without = scores(
        "rotate key", a_document("aa", purpose="rotate key", not_for=["key"]), a_document("bb", purpose="rotate key")
    )
    assert with_clause == without


def test_reasons_name_the_strongest_terms_first():
    statistics = CatalogStatistics.of(CATALOG)
    scorer = Scorer(question("key leaked", statistics), statistics)
    assert scorer.reasons(content(CATALOG[2])) == ("leak", "key")


def test_hits_are_ordered_by_score():
    assert [hit.name for hit in order([a_hit("a", 1.0), a_hit("b", 2.0)])] == ["b", "a"]


def test_equal_scores_are_ordered_by_name():
    assert [hit.name for hit in order([a_hit("b"), a_hit("a")])] == ["a", "b"]


def test_an_exact_name_is_first_whatever_it_scores():
    assert order([a_hit("a", 9.0), a_hit("b", 0.0, exact=True)])[0].name == "b"


def test_scores_never_rise_down_the_list():
    assert [hit.score for hit in order([a_hit("a", 9.0), a_hit("b", 0.0, exact=True)])] == [9.0, 9.0]


def test_no_hits_are_weak():
    assert weak(())


def test_hits_of_which_none_stands_out_are_weak():
    assert weak((a_hit("a", 3.0), a_hit("b", 2.99)))


def test_a_first_hit_with_a_margin_is_not_weak():
    assert not weak((a_hit("a", 3.0), a_hit("b", 1.0)))


def test_an_exact_name_is_not_weak():
    assert not weak((a_hit("a", 3.0, exact=True), a_hit("b", 3.0)))


def test_what_documents_add_to_statistics_is_counted_beyond_what_is_shared():
    shared, own = CatalogStatistics.of(CATALOG), CatalogStatistics.of([a_document("drain-node", steps=["Drain it"])])
    assert own.size_bytes > 0
    assert shared.plus(own).size_bytes - shared.size_bytes == own.size_bytes
