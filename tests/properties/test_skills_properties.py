"""What holds of the skills of every catalog: the list and what is read of it agree, byte for byte."""

import asyncio
import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote

import pytest
from fastmcp.skills import MCPSkill
from fastmcp.skills._snapshot import parse_frontmatter
from hypothesis import given, settings
from hypothesis import strategies as st
from shelf import CENTRAL, Item, Shelf, shelf

from policies.decision import CopyState, Side
from registry.api.threads import Pools, Threads
from registry.mcp.features import Caller, ProtocolError
from registry.mcp.skill_calls import SkillCalls
from registry.mcp.skills import read_uri, skill_uri
from registry.playbook.export.package import is_portable

PAY = "github.com/acme/pay"
NAMES = ("alpha", "beta", "gamma", "delta")
# What YAML 1.1 and 1.2 read alike: the host that is asked here reads 1.1.
WORDS = st.text("abcdefg -'\"#:é中{}[]&*!|>%@`?,", max_size=12)
TEXTS = WORDS.map(json.dumps)
FIELDS = st.dictionaries(
    st.sampled_from(["license", "compatibility", "metadata", "allowed-tools", "x-own", "version", "tags"]),
    TEXTS
    | st.integers(0, 2**60).map(str)
    | st.sampled_from(["1.5", "true", "null", "[a, b]", "{version: '1.0'}", "[1, {two: 2}]", ".inf"]),
    max_size=4,
)
FILE_NAMES = st.text("aé .%(\\+-", min_size=1, max_size=4).filter(lambda text: text not in {".", ".."})
COMPANIONS = st.dictionaries(
    st.lists(FILE_NAMES, min_size=1, max_size=3).map("/".join),
    st.binary(max_size=20) | st.just(b"\xef\xbb\xbfa\r\n"),
    max_size=3,
)
STATES = st.sampled_from([CopyState.GOOD, CopyState.GOOD, CopyState.HELD, CopyState.BROKEN, CopyState.AMBIGUOUS])


@st.composite
def items(draw: st.DrawFn, name: str, *, keeps: st.SearchStrategy[bool]) -> Item:
    state, required = draw(STATES), draw(st.booleans())
    version = json.dumps(f"1.{draw(st.integers(0, 9))}.0")
    if draw(st.booleans()):
        text = f"playbook: 1\nname: {name}\nversion: {version}\nowner: platform\npurpose: Do {name}.\nsteps:\n  - {{id: a, instruction: Do it.}}\n"
        return Item(f"playbooks/{name}.yaml", text.encode(), {}, state, required)
    fields = draw(FIELDS)
    written = draw(st.sampled_from([name, name, name, name.title()]))
    front = "".join(f"{key}: {value}\n" for key, value in fields.items())
    text = f"---\nname: {written}\ndescription: Do {name}.\n{front}---\nBody {version}.\n"
    return Item(f"skills/{name}/SKILL.md", text.encode(), draw(_one_kind(COMPANIONS)), state, required, draw(keeps))


def _one_kind(companions: st.SearchStrategy) -> st.SearchStrategy:
    """Without those of which one is a folder of another, as no file system has them."""
    return companions.filter(
        lambda found: not any(f"{a}/" in b and b.startswith(f"{a}/") for a in found for b in found)
    )


@st.composite
def sides(draw: st.DrawFn, keeps: st.SearchStrategy[bool]) -> list[Item]:
    return [draw(items(name, keeps=keeps)) for name in sorted(draw(st.sets(st.sampled_from(NAMES))))]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    with shelf(tmp_path_factory.mktemp("skills")) as found:
        found.register(PAY)
        yield found


class Host:
    """Asks for skills as a host does, in one repository's catalog."""

    def __init__(self, registry: Shelf, repository: str | None) -> None:
        self._threads = Threads("host", 1, 10)
        calls = SkillCalls(registry.services, Pools(self._threads, self._threads, self._threads))
        self._methods = calls.feature().methods
        self._caller = Caller(repository)

    def ask(self, method: str, **params: object) -> dict:
        return asyncio.run(self._methods[method](self._caller, params))

    def pages(self, method: str, member: str) -> tuple[list[dict], list[dict]]:
        """(all that is listed, what is told beside it)."""
        found, told, cursor = [], [], {}
        while True:
            page = self.ask(method, **cursor)
            found += page[member]
            told.append(page.get("_meta", {}))
            if "nextCursor" not in page:
                return found, told
            cursor = {"cursor": page["nextCursor"]}

    def read(self, uri: str) -> bytes:
        (contents,) = self.ask("resources/read", uri=uri)["contents"]
        assert contents["uri"] == uri
        return contents["text"].encode() if "text" in contents else base64.b64decode(contents["blob"])

    def is_unknown(self, method: str, uri: str) -> bool:
        try:
            self.ask(method, uri=uri)
        except ProtocolError as error:
            return error.code == -32602
        return False

    def close(self) -> None:
        self._threads.close()


def listed(host: Host) -> list[dict]:
    return host.pages("skills/list", "skills")[0]


@given(sides(st.just(value=True)), sides(st.just(value=True)))
@settings(max_examples=25)
def test_every_digest_and_size_that_is_listed_is_that_of_what_is_read(registry, central, local):
    registry.put(CENTRAL, central)
    registry.put(PAY, local)
    host = Host(registry, PAY)
    for entry in listed(host):
        for resource in entry["resources"]:
            data = host.read(resource["uri"])
            assert f"sha256:{hashlib.sha256(data).hexdigest()}" == resource["digest"]
            assert len(data) == resource["size"]
    host.close()


@given(sides(st.just(value=True)), sides(st.just(value=True)))
@settings(max_examples=25)
def test_every_entry_is_one_that_a_strict_host_takes_and_finds_in_the_file(registry, central, local):
    registry.put(CENTRAL, central)
    registry.put(PAY, local)
    host = Host(registry, PAY)
    for entry in listed(host):
        skill = MCPSkill.model_validate(entry)
        assert parse_frontmatter(host.read(entry["uri"])).root == skill.frontmatter.root
        assert host.ask("skills/get", uri=entry["uri"])["skill"] == entry
    host.close()


@given(sides(st.just(value=True)), sides(st.just(value=True)), st.data())
@settings(max_examples=25)
def test_the_list_has_the_copies_that_may_be_read_and_no_others(registry, central, local, data):
    copies = [*registry.put(CENTRAL, central).values(), *registry.put(PAY, local).values()]
    with_head = [copy for copy in copies if copy.head is not None]
    gone = data.draw(st.lists(st.sampled_from(with_head), unique_by=id)) if with_head else []
    host = Host(registry, PAY)
    with registry.withdrawn(gone):
        entries, told = host.pages("skills/list", "skills")
        catalog = registry.services.catalogs.catalog_of(PAY)[1]
        effective = {entry["uri"] for entry in entries if entry["_meta"]["playbook-registry/effective"]}
        serving = [verdict for verdict in catalog.verdicts() if verdict.serving is not None]
        unportable = {
            (side, copy.name)
            for side, found in ((Side.CENTRAL, central), (Side.LOCAL, local))
            for copy, item in zip(_in_order(copies, side, central), found, strict=True)
            if not all(is_portable(path) for path in item.companions)
        }
        assert effective == {
            skill_uri(verdict.decision.serves, verdict.name)
            for verdict in serving
            if (verdict.decision.serves, verdict.name) not in unportable
        }
        assert {entry["uri"] for entry in entries} - effective == {
            skill_uri(side, verdict.name)
            for verdict in serving
            for side in verdict.decision.over
            if (side, verdict.name) not in unportable
        }
        refused = {
            (verdict.name, verdict.side(side).digest)
            for verdict in catalog.verdicts()
            for side in verdict.decision.refused
        }
        assert {
            (copy["name"], copy["digest"]) for meta in told for copy in meta["playbook-registry/refused"]
        } == refused
        # A name that is not in the list cannot be read, however it is asked for.
        for name in NAMES:
            for side in Side:
                uri = skill_uri(side, name)
                if uri not in {entry["uri"] for entry in entries}:
                    assert host.is_unknown("skills/get", uri)
                    assert host.is_unknown("resources/read", uri)
                    assert host.is_unknown("resources/directory/read", uri.removesuffix("/SKILL.md"))
    host.close()


def _in_order(copies: list, side: Side, central: list[Item]) -> list:
    return copies[: len(central)] if side is Side.CENTRAL else copies[len(central) :]


@given(sides(st.booleans()), sides(st.booleans()))
@settings(max_examples=25)
def test_what_is_not_kept_is_not_listed_and_all_that_is_listed_can_be_read(registry, central, local):
    registry.put(CENTRAL, central)
    registry.put(PAY, local)
    host = Host(registry, PAY)
    for entry in listed(host):
        for resource in entry["resources"]:
            host.read(resource["uri"])
    host.close()


@given(sides(st.just(value=True)), sides(st.just(value=True)))
@settings(max_examples=25)
def test_resources_and_folders_have_what_the_entries_have(registry, central, local):
    registry.put(CENTRAL, central)
    registry.put(PAY, local)
    host = Host(registry, PAY)
    entries = listed(host)
    resources, _ = host.pages("resources/list", "resources")
    assert [resource["uri"] for resource in resources] == [entry["uri"] for entry in entries]
    for entry in entries:
        found, left = [], [entry["uri"].removesuffix("/SKILL.md")]
        while left:
            for child in host.ask("resources/directory/read", uri=left.pop())["resources"]:
                (left if child["mimeType" if "mimeType" in child else "uri"] == "inode/directory" else found).append(
                    child["uri"]
                )
        assert sorted(found) == sorted(resource["uri"] for resource in entry["resources"])
    host.close()


@given(sides(st.just(value=True)), sides(st.just(value=True)))
@settings(max_examples=25)
def test_the_index_names_what_serves_and_its_digests_are_those_of_the_files(registry, central, local):
    registry.put(CENTRAL, central)
    registry.put(PAY, local)
    indexes = registry.services.skill_indexes
    host = Host(registry, PAY)
    entries = {
        entry["frontmatter"]["name"]: entry for entry in listed(host) if entry["_meta"]["playbook-registry/effective"]
    }
    index = json.loads(indexes.index(PAY).body)
    assert [skill["name"] for skill in index["skills"]] == sorted(entries)
    for skill in index["skills"]:
        entry = entries[skill["name"]]
        if skill["type"] == "skill-md":
            made = indexes.skill_file(PAY, skill["name"])
            assert len(entry["resources"]) == 1
        else:
            made = indexes.archive(PAY, skill["name"])
            with zipfile.ZipFile(io.BytesIO(made.body)) as archive:
                files = {name: archive.read(name) for name in archive.namelist()}
            root = entry["uri"].removesuffix("SKILL.md")
            assert files == {
                unquote(resource["uri"].removeprefix(root)): host.read(resource["uri"])
                for resource in entry["resources"]
            }
        assert skill["digest"] == made.digest == f"sha256:{hashlib.sha256(made.body).hexdigest()}"
    host.close()


@given(st.text(max_size=30) | st.text("skil:/centraoplp%2e.5cC\\?#", max_size=40).map("skill://central/alpha".__add__))
@settings(max_examples=300)
def test_a_uri_that_is_read_is_spelt_as_one_that_is_made(uri: str):
    address = read_uri(uri)
    if address is not None:
        made = skill_uri(address.side, address.name, address.path)
        assert read_uri(made) == address
        assert unquote(made) == unquote(uri)
