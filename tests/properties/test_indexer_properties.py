"""What holds for every text and every mixture of catalogs."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from indexer.analysis import STOP_WORDS, TERM_LENGTH_MAX, fold_name, terms
from indexer.document import Document, document_id
from indexer.memory import MemoryReader
from indexer.query import TERMS_MAX, question
from indexer.ranking import Scorer
from indexer.reader import IndexReader
from indexer.schema import record
from indexer.tally import CatalogStatistics, content
from indexer.writer import IndexWriter

SCOPES = ("central", "host/a", "host/b", "host/a/b", "host/a\x00b")
WORDS = ("deploy", "rollback", "key", "cache", "RotateKey", "鍵更新", "résumé", "the")
some_texts = (
    st.text(max_size=200) | st.text(st.characters(), max_size=40) | st.lists(st.sampled_from(WORDS)).map(" ".join)
)
word_tuples = st.lists(st.sampled_from(WORDS), max_size=5).map(tuple)


@st.composite
def documents(draw):
    scope = draw(st.sampled_from(SCOPES))
    name = draw(st.sampled_from(WORDS))
    digest = str(draw(st.integers(0, 30)))
    purpose = " ".join(draw(word_tuples))
    return Document(
        document_id(scope, digest), scope, name, draw(word_tuples), purpose, draw(word_tuples), draw(word_tuples), digest,
        draw(word_tuples),
    )  # fmt: skip


catalogs = st.lists(documents(), max_size=12, unique_by=lambda document: document.id)


@pytest.fixture(scope="module")
def filled():
    """A reader of an index with each word in each scope; nothing here changes it."""
    with tempfile.TemporaryDirectory() as path:
        with IndexWriter(Path(path)) as writer:
            writer.apply(
                [
                    Document(document_id(scope, word), scope, word, (), f"{word} deploy", (), (word,), word)
                    for scope in SCOPES
                    for word in WORDS
                ],
                [],
            )
        yield IndexReader(Path(path))


@given(some_texts)
@example("\ud800")
@example("a" * 40_000)
def test_terms_are_short_and_hold_no_white_space(text):
    assert all(0 < len(term) <= TERM_LENGTH_MAX and not term.split()[1:] for term in terms(text))


@given(some_texts)
def test_folding_a_name_twice_changes_nothing(text):
    assert fold_name(fold_name(text)) == fold_name(text)


@given(some_texts, st.sampled_from(sorted(STOP_WORDS)))
def test_a_stop_word_beside_a_text_changes_no_term(text, stop):
    assert terms(f"{stop} {text}") == terms(text)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=some_texts, scopes=st.sets(st.sampled_from(SCOPES), min_size=1).map(tuple), data=st.data())
def test_any_text_is_a_valid_query_and_no_scope_leaks(filled, text, scopes, data):
    excluded = data.draw(st.sets(st.builds(document_id, st.sampled_from(SCOPES), st.sampled_from(WORDS)), max_size=6))
    hits = filled.search(text, scopes=scopes, excluded=excluded, limit=100)
    assert [hit for hit in hits if hit.scope not in scopes or hit.id in excluded] == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=some_texts)
def test_scores_never_rise_and_hits_never_repeat(filled, text):
    hits = filled.search(text, scopes=SCOPES, limit=100)
    scores = [hit.score for hit in hits]
    assert (scores, len({hit.id for hit in hits})) == (sorted(scores, reverse=True), len(hits))


@given(catalogs, catalogs, some_texts)
def test_statistics_add_and_subtract(one, other, text):
    both = CatalogStatistics.of(one).plus(CatalogStatistics.of(other))
    asked = question(text, both.minus(CatalogStatistics.of(other)))
    assert asked == question(text, CatalogStatistics.of(one))


@given(catalogs, some_texts)
def test_a_question_is_bounded_and_its_terms_are_the_catalogs(catalog, text):
    statistics = CatalogStatistics.of(catalog)
    asked = question(text, statistics)
    assert len(asked.terms) <= TERMS_MAX
    assert statistics.known(asked.sought) == frozenset(asked.sought)


@given(catalogs, some_texts)
def test_scores_are_never_negative(catalog, text):
    statistics = CatalogStatistics.of(catalog)
    scorer = Scorer(question(text, statistics), statistics)
    assert all(scorer.score(content(document)) >= 0.0 for document in catalog)


@settings(max_examples=15, deadline=None)
@given(catalog=catalogs, foreign=catalogs, text=some_texts)
def test_other_scopes_change_no_score(catalog, foreign, text):
    own = [document for document in catalog if document.scope == "central"]
    statistics = CatalogStatistics.of(own)
    answers = []
    for added in ([], [document for document in foreign if document.scope != "central"]):
        with tempfile.TemporaryDirectory() as path:
            with IndexWriter(Path(path)) as writer:
                writer.apply([*own, *added], [])
            answers.append(IndexReader(Path(path)).search(text, scopes=("central",), statistics=statistics))
    assert answers[0] == answers[1]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(
    catalogs, some_texts | st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join), st.integers(1, 20), word_tuples
)
def test_a_catalog_in_memory_is_searched_like_one_on_disk(catalog, text, limit, tags):
    with tempfile.TemporaryDirectory() as path:
        with IndexWriter(Path(path)) as writer:
            writer.apply(catalog, [])
        expected = IndexReader(Path(path)).search(text, scopes=SCOPES, tags=tags[:1], limit=limit)
    kept = MemoryReader((record(document), document.tags) for document in catalog)
    assert kept.search(text, tags=tags[:1], limit=limit) == expected
