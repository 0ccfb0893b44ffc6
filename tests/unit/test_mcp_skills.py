"""Skills on the wire of MCP: addresses, entries, folders, contents and cursors."""

import base64
import json

import pytest
from catalogs import a_catalog, a_copy, a_revision
from fastmcp.skills import MCPSkill

from policies.decision import Side
from policies.rules import Mark, RuleSet
from registry.digest import digest_of
from registry.mcp.skills import (
    SkillAddress,
    children_json,
    contents_json,
    cursor_of,
    entry_json,
    media_type_of,
    name_of,
    read_uri,
    refused_json,
    resource_json,
    skill_uri,
)
from registry.playbook.export.package import SkillFile, SkillPackage
from registry.service.skills import OfferedSkill, readable_copies, refused_copies

REQUIRED = RuleSet(marks=(Mark("policy-file", "a", None, "audited."),))


def a_package(name: str = "roll-back", *others: str) -> SkillPackage:
    frontmatter = {"name": name, "description": f"Do {name}."}
    files = tuple(SkillFile(path, digest_of(path.encode()), len(path)) for path in ("SKILL.md", *others))
    return SkillPackage(name, f"Do {name}.", json.dumps(frontmatter).encode(), files, is_rendered=True)


def offered(side: Side = Side.CENTRAL, *others: str, both: bool = True) -> OfferedSkill:
    """`roll-back` on that side of a catalog in which the local copy, if there is one, wins."""
    local = a_revision(*([a_copy("roll-back", "local", version="2.0.0")] if both else []), kind="local")
    verdict = a_catalog(a_revision(a_copy("roll-back")), local).verdict("roll-back")
    assert verdict is not None
    head = dict(readable_copies(verdict))[side]
    return OfferedSkill(side, head, verdict, a_package("roll-back", *others))


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("skill://central/roll-back/SKILL.md", SkillAddress(Side.CENTRAL, "roll-back", "SKILL.md")),
        ("skill://local/a/references/where%20(1).md", SkillAddress(Side.LOCAL, "a", "references/where (1).md")),
        ("skill://local/a/references/where%20%281%29.md", SkillAddress(Side.LOCAL, "a", "references/where (1).md")),
        ("skill://local/a/%C3%A4.md", SkillAddress(Side.LOCAL, "a", "ä.md")),
        ("skill://central/roll-back", SkillAddress(Side.CENTRAL, "roll-back", "")),
        ("skill://central/roll-back/scripts", SkillAddress(Side.CENTRAL, "roll-back", "scripts")),
    ],
)
def test_a_uri_names_a_file_or_a_folder(uri: str, address: SkillAddress):
    assert read_uri(uri) == address


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "skill://",
        "skill://central",
        "skill://central/",
        "skill://central/roll-back/",
        "skill://central//SKILL.md",
        "skill:/central/roll-back/SKILL.md",
        "SKILL://central/roll-back/SKILL.md",
        "skill://Central/roll-back/SKILL.md",
        "skill://worktree/roll-back/SKILL.md",
        "skill://github.com/acme/pay/roll-back/SKILL.md",
        "skill://user@central/roll-back/SKILL.md",
        "skill://central:80/roll-back/SKILL.md",
        "skill://central/Roll-Back/SKILL.md",
        "skill://central/roll_back/SKILL.md",
        "skill://central/roll%2Dback/SKILL.md",
        "skill://central/../local/SKILL.md",
        "skill://central/%2e%2e/SKILL.md",
        "skill://central/roll-back/%53KILL.md",
        "skill://central/roll-back/SKILL%2Emd",
        "skill://central/roll-back/scripts%2Fa.sh",
        "skill://central/roll-back/%2e%2e/other/SKILL.md",
        "skill://central/roll-back/%c3%a4.md",
        "skill://central/roll-back/ä.md",
        "skill://central/roll-back/a b.md",
        "skill://central/roll-back/%ff.md",
        "skill://central/roll-back/%zz.md",
        "skill://central/roll-back/\ud800.md",
        "skill://central/roll-back/SKILL.md?x=1",
        "skill://central/roll-back/SKILL.md#top",
        f"skill://central/{'a' * 65}/SKILL.md",
        "skill://central/roll-back/" + "a" * 20_000,
        "file:///etc/passwd",
    ],
)
def test_no_other_spelling_names_anything(uri: str):
    assert read_uri(uri) is None


def test_dots_in_a_uri_stay_a_path_that_no_skill_has():
    address = read_uri("skill://central/roll-back/../other/SKILL.md")
    assert address is not None
    assert offered(Side.CENTRAL).package.file(address.path) is None


@pytest.mark.parametrize("path", ["SKILL.md", "a/b c.md", "%2e%2e", "ä/(1).txt", "a+b&c=d.md", "~x"])
def test_a_uri_leads_back_to_its_file(path: str):
    assert read_uri(skill_uri(Side.LOCAL, "roll-back", path)) == SkillAddress(Side.LOCAL, "roll-back", path)


def test_an_entry_is_one_that_a_strict_host_takes():
    skill = MCPSkill.model_validate(entry_json(offered(Side.CENTRAL, "references/where (1).md", "scripts/a.sh")))
    assert skill.uri == "skill://central/roll-back/SKILL.md"


def test_an_entry_lists_every_file_by_digest_and_size():
    skill = offered(Side.LOCAL, "scripts/a.sh")
    assert entry_json(skill)["resources"] == [
        {"uri": f"skill://local/roll-back/{path}", "digest": digest_of(path.encode()), "size": len(path)}
        for path in ("SKILL.md", "scripts/a.sh")
    ]


def test_both_copies_of_a_name_say_which_of_them_serves():
    local, central = (entry_json(offered(side))["_meta"] for side in (Side.LOCAL, Side.CENTRAL))
    assert local["playbook-registry/effective"] is True
    assert "playbook-registry/shadowed_by" not in local
    assert central["playbook-registry/effective"] is False
    assert central["playbook-registry/shadowed_by"] == "skill://local/roll-back/SKILL.md"


def test_an_entry_says_its_source_and_version():
    meta = entry_json(offered(Side.LOCAL))["_meta"]
    assert meta["playbook-registry/version"] == "2.0.0"
    assert meta["playbook-registry/source"]["kind"] == "local"
    assert meta["playbook-registry/outcome"] == "local_wins"


def test_a_refused_copy_is_named_by_digest_and_says_nothing():
    local = a_revision(a_copy("a", "local", version="2.0.0"), kind="local")
    verdict = a_catalog(a_revision(a_copy("a")), local, REQUIRED).verdict("a")
    assert verdict is not None
    (copy,) = refused_copies(verdict)
    shown = refused_json(copy)
    assert shown.keys() == {"name", "version", "digest", "source"}
    assert (shown["name"], shown["version"], shown["digest"]) == ("a", "2.0.0", copy.head.digest)
    assert [side for side, _ in readable_copies(verdict)] == [Side.CENTRAL]


def test_skill_md_is_a_resource_by_the_skills_name_and_description():
    skill = offered(Side.LOCAL)
    shown = resource_json(skill, skill.package.files[0])
    assert (shown["name"], shown["description"], shown["mimeType"]) == ("roll-back", "Do roll-back.", "text/markdown")


def test_a_copy_that_another_goes_before_matters_less():
    shown = {side: resource_json(offered(side), a_package().files[0]) for side in (Side.LOCAL, Side.CENTRAL)}
    assert shown[Side.CENTRAL]["annotations"]["priority"] < shown[Side.LOCAL]["annotations"]["priority"]
    assert "another copy goes before it" in shown[Side.CENTRAL]["title"]


def test_a_folder_has_its_files_and_the_folders_below_it():
    children = children_json(offered(Side.LOCAL, "a.md", "sub/b.md", "sub/deep/c.md"), "")
    assert [(child["uri"], child["mimeType"]) for child in children or ()] == [
        ("skill://local/roll-back/SKILL.md", "text/markdown"),
        ("skill://local/roll-back/a.md", "text/markdown"),
        ("skill://local/roll-back/sub", "inode/directory"),
    ]
    below = children_json(offered(Side.LOCAL, "sub/b.md", "sub/deep/c.md"), "sub")
    assert [child["uri"] for child in below or ()] == [
        "skill://local/roll-back/sub/b.md",
        "skill://local/roll-back/sub/deep",
    ]


@pytest.mark.parametrize("folder", ["SKILL.md", "su", "sub/b.md", "other", "..", "sub/"])
def test_what_is_no_folder_has_no_children(folder: str):
    assert children_json(offered(Side.LOCAL, "sub/b.md"), folder) is None


def test_text_comes_as_text_and_all_else_as_a_blob():
    text = contents_json("u", "a.sh", b"echo\r\n\xef\xbb\xbf")
    assert text["text"].encode() == b"echo\r\n\xef\xbb\xbf"
    blob = contents_json("u", "a.dat", b"\xff\x00")
    assert base64.b64decode(blob["blob"]) == b"\xff\x00"
    assert blob["mimeType"] == "application/octet-stream"


def test_a_picture_is_a_blob_even_where_its_bytes_are_text():
    assert "blob" in contents_json("u", "a.png", b"text")


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("a/SKILL.md", "text/markdown"),
        ("a.YML", "application/yaml"),
        ("Makefile", None),
        (".md", None),
        ("a.xyz", None),
    ],
)
def test_a_name_stands_for_a_media_type(path: str, media_type: str | None):
    assert media_type_of(path) == media_type


def test_a_cursor_leads_back_to_its_name():
    assert name_of(cursor_of("roll-back")) == "roll-back"


@pytest.mark.parametrize(
    "cursor", ["", "!", "a", cursor_of("Roll Back"), cursor_of("a") + "=", "ä", "x" * 1_000, "\ud800"]
)
def test_no_other_cursor_is_taken(cursor: str):
    assert name_of(cursor) is None
