"""The index on disk: one writer, readers beside it, in this process and in another."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from indexer import folder, reader, schema
from indexer.document import ID_LENGTH_MAX_BYTES, Document, document_id
from indexer.reader import IndexReader
from indexer.tally import CatalogStatistics
from indexer.writer import IndexLockedError, IndexWriter

ROOT = Path(__file__).resolve().parents[2]
ALL_SCOPES = ("central", "host/a", "host/b")


def a_document(name, purpose="", *, scope="central", tags=(), tasks=(), steps=(), digest=None):
    digest = digest or f"sha256:{name}"
    return Document(document_id(scope, digest), scope, name, tuple(tags), purpose, tuple(tasks), tuple(steps), digest)


def write(path, *additions, deletions=()):
    with IndexWriter(path) as writer:
        writer.apply(additions, deletions)


def names(hits):
    return [hit.name for hit in hits]


def search(path, text, **options):
    return IndexReader(path).search(text, **{"scopes": ALL_SCOPES} | options)


def test_a_document_is_found_by_its_purpose(tmp_path):
    write(tmp_path, a_document("flush-cache", "Flush the redis cache"))
    assert names(search(tmp_path, "please flush redis")) == ["flush-cache"]


def test_a_hit_says_what_it_is(tmp_path):
    document = a_document("flush-cache", "Flush the redis cache", scope="host/a")
    write(tmp_path, document)
    hit = search(tmp_path, "redis")[0]
    assert (hit.id, hit.scope, hit.digest, hit.why) == (document.id, "host/a", document.digest, ("redi",))


@pytest.mark.parametrize(
    "field", [{"tags": ["quartz"]}, {"tasks": ["polish the quartz"]}, {"steps": ["open the quartz"]}]
)
def test_a_document_is_found_by_each_field(tmp_path, field):
    write(tmp_path, a_document("aa", **field), a_document("bb", "granite"))
    assert names(search(tmp_path, "quartz")) == ["aa"]


def test_an_exact_name_is_first(tmp_path):
    attracting = a_document("zz", "rotate key rotate key", tags=["rotate-key"], tasks=["rotate the key"])
    write(tmp_path, attracting, a_document("rotate-key", "Something else entirely, at length, of other words"))
    assert names(search(tmp_path, "Rotate Key")) == ["rotate-key", "zz"]


def test_an_exact_name_is_first_among_more_than_are_recalled(tmp_path):
    crowd = [a_document(f"n{number}", "rotate key") for number in range(reader.CANDIDATES_MAX + 50)]
    write(tmp_path, *crowd, a_document("rotate-key", "word " * 200))
    assert search(tmp_path, "rotate_key")[0].name == "rotate-key"


def test_a_name_of_stop_words_is_found(tmp_path):
    write(tmp_path, a_document("what-is-this", "Explains"))
    assert names(search(tmp_path, "what is this")) == ["what-is-this"]


def test_a_typing_error_is_forgiven(tmp_path):
    write(tmp_path, a_document("flush-cache", "Flush the dashboard"), a_document("bb", "granite"))
    assert names(search(tmp_path, "dahsboard")) == ["flush-cache"]


def test_only_the_scopes_asked_for_are_searched(tmp_path):
    write(tmp_path, *(a_document("aa", "redis", scope=scope) for scope in ALL_SCOPES))
    assert {hit.scope for hit in search(tmp_path, "redis", scopes=("central", "host/b"))} == {"central", "host/b"}


def test_no_scope_sees_nothing(tmp_path):
    write(tmp_path, a_document("aa", "redis"))
    assert search(tmp_path, "redis", scopes=()) == ()


def test_an_excluded_document_is_not_found(tmp_path):
    shadowed = a_document("aa", "redis")
    write(tmp_path, shadowed, a_document("aa", "redis", scope="host/a"))
    assert [hit.scope for hit in search(tmp_path, "redis", excluded=[shadowed.id])] == ["host/a"]


def test_tags_filter_strictly_and_all_of_them(tmp_path):
    write(tmp_path, a_document("aa", "redis", tags=["Ops", "cache"]), a_document("bb", "redis", tags=["ops"]))
    assert names(search(tmp_path, "redis", tags=("ops", "CACHE"))) == ["aa"]


def test_a_limit_is_kept(tmp_path):
    write(tmp_path, *(a_document(f"n{number}", "redis") for number in range(5)))
    assert names(search(tmp_path, "redis", limit=2)) == ["n0", "n1"]


@pytest.mark.parametrize(
    "text",
    ["", " ", "\x00", "🙂", "\ud800", "AND OR NOT", '+-&&||!(){}[]^"~*?:\\/', "a:b", "redis " * 6_000, "é" * 32_768],
)
def test_any_text_is_a_valid_query(tmp_path, text):
    write(tmp_path, a_document("aa", "redis"))
    assert len(search(tmp_path, text)) <= 1


def test_a_query_of_many_unknown_words_is_bounded(tmp_path):
    write(tmp_path, a_document("aa", "redis"))
    text = " ".join(f"unknown{number}word" for number in range(2_000)) + " redis"
    assert names(search(tmp_path, text)) == ["aa"]


def test_text_that_utf8_cannot_carry_is_indexed(tmp_path):
    write(tmp_path, a_document("a\ud800", "redis \udfff", scope="host/a"))
    assert len(search(tmp_path, "redis")) == 1


def test_an_enormous_document_is_found(tmp_path):
    write(tmp_path, a_document("aa", "x" * 200_000 + " redis " + "lorem " * 5_000))
    assert names(search(tmp_path, "redis")) == ["aa"]


def test_adding_an_id_again_replaces_it(tmp_path):
    write(tmp_path, a_document("aa", "redis", digest="d"))
    write(tmp_path, a_document("aa", "postgres", digest="d"))
    assert (search(tmp_path, "redis"), names(search(tmp_path, "postgres"))) == ((), ["aa"])


def test_an_id_twice_in_a_batch_is_there_once(tmp_path):
    with IndexWriter(tmp_path) as writer:
        writer.apply([a_document("aa", "redis")] * 3, [])
        assert writer.count() == 1


def test_an_open_reader_sees_the_new_content_of_an_id_after_reload(tmp_path):
    write(tmp_path, a_document("aa", "redis", digest="d"))
    opened = IndexReader(tmp_path)
    opened.search("redis", scopes=ALL_SCOPES)
    write(tmp_path, a_document("aa", "redis postgres", digest="d"))
    opened.reload()
    assert names(opened.search("postgres", scopes=ALL_SCOPES)) == ["aa"]


def test_a_deleted_document_is_gone(tmp_path):
    document = a_document("aa", "redis")
    write(tmp_path, document)
    write(tmp_path, deletions=[document.id, "never there"])
    assert search(tmp_path, "redis") == ()


def test_an_id_deleted_and_added_in_one_batch_is_there(tmp_path):
    document = a_document("aa", "redis")
    write(tmp_path, document)
    write(tmp_path, document, deletions=[document.id])
    assert names(search(tmp_path, "redis")) == ["aa"]


def test_the_ids_are_those_of_the_documents_that_are_there(tmp_path):
    documents = [a_document(f"n{number}", scope=scope) for number in range(3) for scope in ALL_SCOPES]
    with IndexWriter(tmp_path) as writer:
        writer.apply(documents, [])
        writer.apply([], [documents[0].id])
        assert set(writer.ids()) == {document.id for document in documents[1:]}


def test_the_ids_of_one_scope_can_be_asked_for(tmp_path):
    with IndexWriter(tmp_path) as writer:
        writer.apply([a_document("aa", scope=scope) for scope in ALL_SCOPES], [])
        assert list(writer.ids("host/a")) == [document_id("host/a", "sha256:aa")]


def test_a_batch_that_fails_leaves_the_index_as_it_was(tmp_path):
    with IndexWriter(tmp_path) as writer:
        too_long = a_document("bb", scope="x" * ID_LENGTH_MAX_BYTES)
        with pytest.raises(ValueError, match="too long"):
            writer.apply([a_document("aa"), too_long], [])
        writer.apply([a_document("cc")], [])
        assert list(writer.ids()) == [document_id("central", "sha256:cc")]


def test_an_index_that_does_not_exist_yet_has_no_hits(tmp_path):
    assert search(tmp_path / "nowhere", "redis") == ()


def test_a_reader_that_was_there_first_picks_the_index_up(tmp_path):
    opened = IndexReader(tmp_path / "index")
    write(tmp_path / "index", a_document("aa", "redis"))
    assert (opened.reload(), names(opened.search("redis", scopes=ALL_SCOPES))) == (True, ["aa"])


def test_a_reader_stays_with_its_commit_until_it_reloads(tmp_path):
    write(tmp_path, a_document("aa", "redis"))
    opened = IndexReader(tmp_path)
    write(tmp_path, a_document("bb", "redis"))
    assert names(opened.search("redis", scopes=ALL_SCOPES)) == ["aa"]


def test_a_reader_follows_a_writer_in_another_process(tmp_path):
    opened = IndexReader(tmp_path)
    program = (
        "import sys; from pathlib import Path; from indexer.writer import IndexWriter; "
        "from indexer.document import Document\n"
        "with IndexWriter(Path(sys.argv[1])) as w: w.apply([Document('i','central','aa',(),'redis',(),(),'d')], [])"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, cwd=ROOT, timeout=60)
    opened.reload()
    assert names(opened.search("redis", scopes=ALL_SCOPES)) == ["aa"]


def test_there_is_one_writer(tmp_path):
    with IndexWriter(tmp_path), pytest.raises(IndexLockedError):
        IndexWriter(tmp_path)


def test_a_closed_writer_lets_the_next_one_in(tmp_path):
    IndexWriter(tmp_path).close()
    IndexWriter(tmp_path).close()


def test_a_closed_writer_says_so(tmp_path):
    writer = IndexWriter(tmp_path)
    writer.close()
    with pytest.raises(RuntimeError, match="closed"):
        writer.apply([], [])


def test_a_healthy_index_is_not_rebuilt(tmp_path):
    write(tmp_path, a_document("aa", "redis"))
    with IndexWriter(tmp_path) as writer:
        assert (writer.was_rebuilt, writer.count()) == (False, 1)


@pytest.mark.parametrize("suffix", [".json", ".store", ".term", ".idx", ".fast", ".fieldnorm"])
@pytest.mark.parametrize("harm", ["garble", "truncate", "remove"])
def test_a_damaged_index_starts_again_empty_and_says_so(tmp_path, suffix, harm):
    write(tmp_path, a_document("aa", "redis"))
    file = next(
        file for file in folder.current(tmp_path).iterdir() if file.name.endswith(suffix) and file.name[0] != "."
    )
    content = file.read_bytes()
    if harm == "remove" and suffix != ".json":
        file.unlink()
    elif harm == "truncate":
        file.write_bytes(content[: len(content) // 2])
    else:
        file.write_bytes(bytes([content[0] ^ 255]) + content[1:])
    with IndexWriter(tmp_path) as writer:
        assert (writer.was_rebuilt, writer.count()) == (True, 0)


def test_a_reader_follows_to_the_rebuilt_index(tmp_path):
    write(tmp_path, a_document("aa", "redis"))
    opened = IndexReader(tmp_path)
    (folder.current(tmp_path) / "meta.json").write_text("{")
    write(tmp_path, a_document("bb", "redis"))
    opened.reload()
    assert names(opened.search("redis", scopes=ALL_SCOPES)) == ["bb"]


def test_a_reader_of_a_damaged_index_has_no_hits(tmp_path):
    write(tmp_path, a_document("aa", "redis"))
    (folder.current(tmp_path) / "meta.json").write_text("{")
    assert search(tmp_path, "redis") == ()


def test_an_index_of_another_format_is_left_alone(tmp_path, monkeypatch):
    write(tmp_path, a_document("aa", "redis"))
    before = folder.current(tmp_path)
    monkeypatch.setattr(folder, "FORMAT_VERSION", schema.FORMAT_VERSION + 1)
    with IndexWriter(tmp_path) as writer:
        assert (writer.was_rebuilt, writer.count(), (before / "meta.json").is_file()) == (False, 0, True)


def test_a_folder_that_a_crash_left_unfinished_is_passed_over(tmp_path):
    (tmp_path / f"v{schema.FORMAT_VERSION}-1").mkdir()
    write(tmp_path, a_document("aa", "redis"))
    assert names(search(tmp_path, "redis")) == ["aa"]


def test_several_threads_search_one_reader(tmp_path):
    write(tmp_path, *(a_document(f"n{number}", f"redis word{number}x") for number in range(200)))
    opened = IndexReader(tmp_path)
    expected = opened.search("redis word7x", scopes=ALL_SCOPES)
    found = []

    def run():
        for turn in range(30):
            found.append(opened.search("redis word7x", scopes=ALL_SCOPES))
            if turn % 10 == 0:
                opened.reload()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 120


def catalog(size):
    words = ["deploy", "rollback", "key", "rotate", "cache", "flush", "alert", "page", "schema", "migrate", "invoice"]
    return [
        a_document(
            f"playbook-{number}",
            " ".join(words[(number * step) % len(words)] for step in range(1, 4 + number % 5)),
            scope="central" if number % 2 else "host/a",
            steps=[words[(number + 3) % len(words)]],
        )
        for number in range(size)
    ]


def foreign(count):
    return [
        a_document(
            f"foreign-{number}", f"deploy rollback key rotate rotate cahce word{number}x", scope=f"other/{number}"
        )
        for number in range(count)
    ]


QUERIES = ["deploy rollback", "rotate the key", "cahce flush", "migrate schema invoice", "playbook-17", "word7x"]


@pytest.mark.parametrize("own_statistics", [True, False])
def test_a_thousand_foreign_documents_change_no_ranking_and_no_score(tmp_path, own_statistics):
    documents = catalog(400)
    given = CatalogStatistics.of(documents) if own_statistics else None
    options = {"scopes": ("central", "host/a"), "limit": 50, "statistics": given}
    write(tmp_path, *documents)
    before = [search(tmp_path, text, **options) for text in QUERIES]
    with IndexWriter(tmp_path) as writer:
        for start in range(0, 1_000, 250):
            writer.apply(foreign(1_000)[start : start + 250], [])
    assert [search(tmp_path, text, **options) for text in QUERIES] == before


def test_the_order_in_which_documents_came_changes_nothing(tmp_path):
    documents = catalog(300)
    write(tmp_path / "one", *documents)
    for start in range(0, 300, 60):
        write(tmp_path / "two", *reversed(documents[start : start + 60]))
    one, two = ([search(tmp_path / index, text, limit=50) for text in QUERIES] for index in ("one", "two"))
    assert one == two


def test_statistics_of_the_index_are_those_of_its_documents(tmp_path):
    documents = catalog(30)
    write(tmp_path, *documents)
    derived = IndexReader(tmp_path).statistics(("central", "host/a"), {documents[0].id})
    assert derived == CatalogStatistics.of(documents[1:])


def test_the_fields_on_disk_are_those_of_the_format_version(tmp_path):
    write(tmp_path, a_document("aa"))
    fields = json.loads((folder.current(tmp_path) / "meta.json").read_text())["schema"]
    assert [field["name"] for field in fields] == [
        "id", "scope", "name_key", "tag", "all", "steps", "scope_ordinal", "key_high", "key_low", "recall_weight", "record",
    ]  # fmt: skip


def test_a_new_index_is_whole_once_its_writer_says_so_and_stays_so(tmp_path):
    writer = IndexWriter(tmp_path)
    reader = IndexReader(tmp_path)
    assert not reader.is_whole
    writer.finish()
    writer.close()
    assert reader.is_whole
    IndexWriter(tmp_path).close()
    assert reader.is_whole


def test_where_there_is_no_index_nothing_is_whole(tmp_path):
    assert not IndexReader(tmp_path).is_whole
