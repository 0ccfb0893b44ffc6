"""What a registry may send, whatever it is: a catalog that can be searched, read and shown, or Untrusted."""

import copy
import json
from contextlib import suppress
from datetime import UTC, datetime

from catalogs import a_copy
from hypothesis import given, settings
from hypothesis import strategies as st
from standin import document, entry, snapshot

from registry.client.connection import failure
from registry.client.documents import read_document
from registry.client.following import _read_state
from registry.client.overlay import overlaid
from registry.client.shelf import Shelf, dump_records, load_records
from registry.client.snapshot import Snapshot, read_snapshot
from registry.client.view import View, why
from registry.client.worktree import Changed, needed_here
from registry.digest import digest_of
from registry.errors import RegistryError, Untrusted
from registry.mcp import answers

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
NAMES = ("deploy", "roll-back", "erase", "lost")

texts = st.text(max_size=8) | st.sampled_from(
    [
        "central",
        "local",
        "deploy",
        "lost",
        "../../x",
        "sha256:" + "0" * 64,
        "2026-11-29T00:00:00Z",
        "waiver",
        "\ud800",
        "r" * 5_000,
    ]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)

CONTRACTS = {name: document(name, inputs={"type": "object"}, requires={"secrets": [{"name": "x"}]}) for name in NAMES}
OVER = {
    "version": "1.0.0",
    "digest": entry(CONTRACTS["deploy"])["digest"],
    "source": entry(CONTRACTS["deploy"])["source"],
}
GENUINE = snapshot(
    [
        entry(CONTRACTS["deploy"], "local", decision={"outcome": "local_wins", "over": [OVER]}),
        entry(CONTRACTS["roll-back"], required=True),
        entry(CONTRACTS["erase"], "local", waiver={"until": "2026-11-29", "reason": "x", "approved_by": "y"}),
    ],
    unavailable=[
        {
            "name": "lost",
            "outcome": "broken",
            "reason": "Nobody serves.",
            "copies": [
                {"source": {"kind": "central", "path": "x"}, "version": None, "digest": None, "state": "broken"}
            ],
        }
    ],
    valid_until="2026-11-29T23:59:59Z",
)


def places(value: object, at: tuple = ()) -> list[tuple]:
    """Where something stands in a value, as keys from the outside in."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, each in inner for place in places(each, (*at, key)))]


@st.composite
def changed(draw, genuine):
    """The genuine value with one to three of its parts replaced, doubled or taken out."""
    value = copy.deepcopy(genuine)
    for _ in range(draw(st.integers(1, 3))):
        *outer, last = draw(st.sampled_from([place for place in places(value) if place]))
        holder = value
        for key in outer:
            holder = holder[key]
        how = draw(st.sampled_from(["replace", "replace", "take out", "double"]))
        if how == "replace":
            holder[last] = draw(values)
        elif how == "double" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        else:
            del holder[last]
        if not [place for place in places(value) if place]:
            break
    return value


def dumped(value: object) -> bytes:
    # As hostile as it comes: escapes for halves of surrogate pairs, and NaN.
    return json.dumps(value).encode()


def use(read: Snapshot) -> None:
    """Everything that a host does with a catalog."""
    for is_central in (False, True):
        for edits in ({}, dict.fromkeys(NAMES), {name: a_copy(name, "local", version="2.0.0") for name in NAMES}):
            seen = overlaid(
                read, read.serving(NOW), edits, is_central=is_central, contracts=lambda _: CONTRACTS["deploy"]
            )
            view = View("github.com/acme/app", read, "", NOW, seen, Changed(edits), {})
            for name in (*NAMES, "nowhere"):
                view.is_mine(name)
                assert isinstance(view.missing(name), RegistryError)
            for each in seen.entries.values():
                row = {**each, "contract": CONTRACTS["deploy"], "snapshot": read.digest, "serves": True}
                answers.playbook_answer(state={}, entry=row, why=why(each))
            found = Shelf(((each, CONTRACTS["deploy"]) for each in seen.entries.values()), {}).search(
                "deploy it", ["a"]
            )
            shown = answers.search_answer(snapshot=read.digest, state={}, entries=found.entries, weak=found.weak)
            json.loads(answers.call_result(shown)["content"][0]["text"])
    list(needed_here(read, "github.com/acme/app"))
    read.commit("central")


@given(values)
@settings(max_examples=200)
def test_any_json_is_a_snapshot_or_untrusted(value):
    body = dumped(value)
    with suppress(Untrusted):
        use(read_snapshot(body, digest_of(body)))


@given(changed(GENUINE))
@settings(max_examples=400)
def test_a_snapshot_that_was_tampered_with_is_as_good_as_whole_or_untrusted(value):
    body = dumped(value)
    try:
        read = read_snapshot(body, digest_of(body))
    except Untrusted:
        return
    use(read)


def test_a_whole_snapshot_is_of_use():
    body = dumped(GENUINE)
    use(read_snapshot(body, digest_of(body)))


@given(st.binary(max_size=200))
def test_any_bytes_are_no_snapshot(body):
    with suppress(Untrusted):
        read_snapshot(body, digest_of(body))


@given(changed(CONTRACTS["deploy"]) | values)
@settings(max_examples=300)
def test_a_document_that_was_tampered_with_can_be_searched_and_shown_or_is_untrusted(value):
    body = dumped(value)
    try:
        read = read_document(body, digest_of(body))
    except Untrusted:
        return
    served = entry(CONTRACTS["deploy"])
    Shelf([(served, read)], {}).search("deploy")
    row = {**served, "contract": read, "snapshot": "", "serves": True}
    json.loads(answers.call_result(answers.playbook_answer(state={}, entry=row, why=""))["content"][0]["text"])


@given(st.integers(100, 599), st.dictionaries(st.sampled_from(["content-type", "retry-after"]), texts), values)
def test_any_answer_that_is_no_success_is_one_of_the_typed_errors(status, headers, value):
    for told in (headers, {**headers, "content-type": "application/problem+json"}):
        assert isinstance(failure(status, told, dumped(value)), RegistryError)


@given(st.text())
def test_any_header_says_how_current_a_catalog_is(header):
    fresh, age_s, registered = _read_state(header)
    assert (type(fresh), type(age_s), type(registered)) == (bool, int, bool)


SERVED = [(entry(CONTRACTS[name]), CONTRACTS[name]) for name in NAMES]
KEPT = dump_records(Shelf(SERVED, {}).records)


@given(changed(KEPT) | values)
def test_any_records_on_disk_are_a_search_index_or_none(stored):
    kept = load_records(stored if isinstance(stored, dict) else None)
    Shelf(SERVED, kept).search("deploy it", ["a"])


@given(changed({place: json.loads(record) for place, record in KEPT["records"].items()}))
@settings(max_examples=300)
def test_a_record_on_disk_that_was_tampered_with_is_searched_or_made_anew(records):
    told = {place: json.dumps(record) for place, record in records.items()}
    found = Shelf(SERVED, load_records({**KEPT, "records": told})).search("deploy it", ["a"])
    assert {each["name"] for each in found.entries} <= set(NAMES)
