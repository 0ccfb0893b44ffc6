"""What holds for every catalog's own cases: they come out as a search without their texts would have them."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.analysis import terms
from indexer.document import Document, document_id
from indexer.evals import DEPTH, SelectionCase, report_selection
from indexer.memory import MemoryReader
from indexer.query import CANDIDATES_MAX, TYPO_LENGTH_MIN, question, within_one_edit
from indexer.rehearsal import Rehearsal
from indexer.schema import record
from indexer.tally import CatalogStatistics, content, without
from indexer.vocabulary import Vocabulary
from registry.service.selecting import Selectable, evaluate_selection

# Neighbours by one edit, stop words, identifiers and words with the same stem are among them.
WORDS = ("deploy", "deploys", "rollback", "rolback", "cache", "caches", "RotateKey", "key", "the", "鍵更新", "résumé")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
text_tuples = st.lists(texts, max_size=3).map(tuple)
NAMES = ("deploy", "rollback", "rotate-key", "cache", "clear", "mend", "the")


@st.composite
def playbooks(draw):
    name = draw(st.sampled_from(NAMES))
    digest = f"sha256:{name}"
    return Document(
        document_id("central", digest), "central", name, draw(text_tuples), draw(texts), draw(text_tuples),
        draw(text_tuples), digest, draw(text_tuples),
    )  # fmt: skip


catalogs = st.lists(playbooks(), min_size=1, max_size=len(NAMES), unique_by=lambda document: document.name)


def cases_of(catalog):
    return [SelectionCase(document.name, text) for document in catalog for text in document.tasks]


def same(one, other):
    return sorted(terms(one)) == sorted(terms(other))


def left_out(document, text):
    """A document that never said the text."""
    return replace(
        document,
        tasks=tuple(task for task in document.tasks if not same(task, text)),
        not_for=tuple(clause for clause in document.not_for if not same(clause, text)),
    )


def searched(catalog, case):
    """(rank of the case's playbook, first) as a search of the catalog without the case's text has them."""
    kept = [left_out(document, case.text) for document in catalog]
    hits = MemoryReader((record(document), ()) for document in kept).search(case.text, limit=CANDIDATES_MAX)
    names = [hit.name for hit in hits]
    return names.index(case.playbook) + 1 if case.playbook in names else None, names[0] if names else None


@settings(max_examples=200, deadline=None)
@given(catalogs, texts, st.data())
def test_a_case_is_placed_as_a_search_of_the_catalog_without_its_text_would(catalog, other, data):
    text = data.draw(st.sampled_from([case.text for case in cases_of(catalog)] or [other]) | st.just(other))
    case = SelectionCase(data.draw(st.sampled_from(catalog)).name, text, data.draw(st.booleans()))
    found = Rehearsal(catalog).place(case)
    rank, first = searched(catalog, case)
    is_seen = rank is not None and rank <= (DEPTH if case.is_near_miss else CANDIDATES_MAX)
    assert (found.rank, found.first) == (rank if is_seen else None, first)


@settings(max_examples=60, deadline=None)
@given(catalogs, st.data())
def test_a_case_comes_out_the_same_whatever_else_is_asked(catalog, data):
    cases = cases_of(catalog)
    some = data.draw(st.lists(st.sampled_from(cases), unique=True)) if cases else []
    everything = report_selection(cases, Rehearsal(catalog).place)
    part = report_selection(some, Rehearsal(catalog).place)
    assert set(part.missed) == {one for one in everything.missed if one.case in some}


def selectables(catalog, misses):
    return [
        Selectable(
            document.name,
            document.digest,
            {
                "purpose": document.purpose,
                "tags": list(document.tags),
                "not_for": list(document.not_for),
                "selection": {"should_find": list(document.tasks), "should_not_find": list(misses)},
                "instructions": " ".join(document.steps),
            },
        )
        for document in catalog
    ]


@settings(max_examples=60, deadline=None)
@given(catalogs, text_tuples, st.randoms())
def test_the_order_of_playbooks_changes_nothing(catalog, misses, random):
    shuffled = list(catalog)
    random.shuffle(shuffled)
    assert evaluate_selection(selectables(catalog, misses)) == evaluate_selection(selectables(shuffled, misses))


@settings(max_examples=60, deadline=None)
@given(catalogs, text_tuples)
def test_near_misses_change_no_other_case(catalog, misses):
    plain, guarded = (evaluate_selection(selectables(catalog, some)) for some in ((), misses))
    assert (plain["tasks"], plain["missed"], plain["takings"]) == (
        guarded["tasks"],
        guarded["missed"],
        guarded["takings"],
    )


@settings(max_examples=60, deadline=None)
@given(catalogs, text_tuples)
def test_a_playbook_that_comes_in_changes_cases_by_the_ranking_alone(catalog, tasks):
    """Its own cases are asked beside the others; those come out as a search of the larger catalog has them."""
    digest = "sha256:new"
    newcomer = Document(document_id("central", digest), "central", "newcomer", (), "bake bread", tasks, (), digest)
    larger = [*catalog, newcomer]
    rehearsal = Rehearsal(larger)
    for case in cases_of(larger):
        found = rehearsal.place(case)
        assert (found.rank, found.first) == searched(larger, case)


letters = st.text("abé1", min_size=TYPO_LENGTH_MIN - 1, max_size=7)


@given(st.lists(letters, max_size=20), st.text("abé1", min_size=TYPO_LENGTH_MIN, max_size=6))
def test_a_vocabulary_knows_the_words_within_one_edit(words, word):
    assert Vocabulary(words).neighbours(word) == set(words).intersection(within_one_edit(word)) - {word}


@given(playbooks(), st.data())
def test_a_text_less_is_the_content_of_a_document_without_it(document, data):
    text = data.draw(st.sampled_from(document.tasks or ("",)))
    kept = list(document.tasks)
    if text:
        kept.remove(text)
    less, expected = without(content(document), terms(text)), content(replace(document, tasks=tuple(kept)))
    assert (dict(less.occurrences), less.lengths) == (dict(expected.occurrences), expected.lengths)


@given(catalogs, texts)
def test_what_a_catalog_loses_with_a_text_is_subtracted(catalog, text):
    whole = [content(document) for document in catalog]
    rest = [content(left_out(document, text)) for document in catalog]
    statistics = CatalogStatistics.of_contents(whole)
    for before, after in zip(whole, rest, strict=True):
        statistics = statistics.minus(CatalogStatistics.of_loss(before, after))
    assert question(text, statistics) == question(text, CatalogStatistics.of_contents(rest))
