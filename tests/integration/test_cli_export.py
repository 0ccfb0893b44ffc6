"""`registry export` against a registry that respx plays: what is written where, and what is never written."""

import json
import os
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
import respx
from cli import URL, entry, run

from registry.digest import digest_of

SKILL = b"---\nname: roll-back\ndescription: Take it back.\n---\nRun a.sh.\n"


class Shelf:
    """A registry that serves one skill; its answers can be spoilt."""

    def __init__(self, files: dict[str, bytes] | None = None, **changes: Any) -> None:
        self.files = {"a.sh": b"echo\n"} if files is None else files
        self.listed: Any = [
            {"path": path, "digest": digest_of(data), "size": len(data)} for path, data in self.files.items()
        ]
        self.blobs = {digest_of(data): data for data in self.files.values()}
        self.changes = changes
        self.tag = f'"{digest_of(SKILL)}+skill"'
        self.asked: list[str] = []

    def __enter__(self) -> Self:
        self._router = respx.mock(base_url=URL, assert_all_called=False)
        self._router.route().mock(side_effect=self._answer)
        self._router.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._router.stop()

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(str(request.url.raw_path.decode()))
        if request.url.path.startswith("/v1/blobs/"):
            return httpx.Response(200, content=self.blobs[request.url.path.rpartition("/")[2]])
        if "as" in request.url.params:
            return httpx.Response(200, content=SKILL, headers={"ETag": self.tag})
        body = {**entry("roll-back"), "contract": {"name": "roll-back", "files": self.listed}, "serves": True}
        return httpx.Response(200, content=json.dumps({**body, **self.changes}).encode())


def export(folder: Path, *options: str):
    return run("export", "roll-back", "--as", "skill", "--output", str(folder), *options)


def written(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_without_an_output_the_bytes_go_to_standard_output():
    with Shelf():
        result = run("export", "roll-back", "--as", "skill")
    assert (result.exit_code, result.stdout_bytes) == (0, SKILL)
    assert "The skill has 1 other file: --output" in result.stderr


def test_the_copy_that_was_shown_is_the_one_that_is_exported():
    with Shelf() as shelf:
        run("export", "Roll Back", "--version", "2.1.0", "--repository", "github.com/acme/payments")
    digest = "digest=sha256%3A" + "b" * 64
    assert shelf.asked[0].startswith("/v1/playbooks/Roll%20Back?repository=github.com%2Facme%2Fpayments&version=2.1.0")
    assert digest in shelf.asked[1]
    assert "as=original" in shelf.asked[1]


def test_a_skill_is_written_with_its_files(tmp_path):
    with Shelf({"a.sh": b"echo\n", "deep/er/b.bin": b"\0\xff", "empty": b""}):
        result = export(tmp_path / "skills")
    place = tmp_path / "skills" / "roll-back"
    assert (result.exit_code, written(tmp_path / "skills")) == (
        0,
        [f"roll-back/{each}" for each in ("SKILL.md", "a.sh", "deep/er/b.bin", "empty")],
    )
    assert (place / "SKILL.md").read_bytes() == SKILL
    assert (place / "deep/er/b.bin").read_bytes() == b"\0\xff"
    assert place.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    "path",
    [
        "../evil",
        "a/../../evil",
        "/etc/evil",
        "a//b",
        "",
        ".",
        "a/.",
        "..",
        "a\\..\\evil",
        "a\0b",
        "a\nb",
        ".git/hooks/post-checkout",
        "a/.GIT/config",
        ".git./config",
        ".gi\u200dt/config",
        "GIT~1/config",
        "x" * 300,
        "a/" * 3000 + "b",
    ],
)
def test_no_file_leads_out_of_the_skills_folder_or_into_a_git(tmp_path, path):
    with Shelf({"first": b"x", path: b"evil"}):
        result = export(tmp_path / "in" / "skills")
    assert (result.exit_code, written(tmp_path)) == (1, [])


@pytest.mark.parametrize("path", ["SKILL.md", "a", "a/b/SKILL.md/c"])
def test_two_files_of_one_name_are_refused_with_nothing_written(tmp_path, path):
    with Shelf({"a/b/SKILL.md": b"x", path: b"y"}):
        result = export(tmp_path)
    assert (result.exit_code != 0, list(tmp_path.iterdir())) == (True, [])


@pytest.mark.parametrize(
    "listed",
    [
        "files",
        ["a"],
        [{"path": "a"}],
        [{"path": "a", "digest": "sha256:x", "size": 1}],
        [{"path": "a", "digest": "sha256:" + "0" * 64, "size": -1}],
        [{"path": str(number), "digest": "sha256:" + "0" * 64, "size": 1} for number in range(513)],
        [{"path": "a", "digest": "sha256:" + "0" * 64, "size": (16 << 20) + 1}],
    ],
)
def test_a_list_of_files_that_cannot_be_is_refused(tmp_path, listed):
    with Shelf() as shelf:
        shelf.listed = listed
        result = export(tmp_path)
    assert (result.exit_code, list(tmp_path.iterdir())) == (1, [])


def test_bytes_of_another_digest_are_refused_with_nothing_written(tmp_path):
    with Shelf({"a": b"x", "b": b"y"}) as shelf:
        shelf.blobs[digest_of(b"y")] = b"z"
        result = export(tmp_path)
    assert (result.exit_code, list(tmp_path.iterdir())) == (1, [])
    assert "did not come as the registry lists it" in result.stderr


def test_an_answer_that_is_not_what_its_tag_says_is_refused(tmp_path):
    with Shelf() as shelf:
        shelf.tag = f'"{digest_of(b"other")}+skill"'
        result = export(tmp_path)
    assert (result.exit_code, list(tmp_path.iterdir())) == (1, [])


def test_a_folder_that_is_there_stays_as_it_is(tmp_path):
    (tmp_path / "roll-back").mkdir()
    (tmp_path / "roll-back" / "mine").write_text("mine")
    with Shelf():
        result = export(tmp_path)
    assert (result.exit_code, written(tmp_path)) == (2, ["roll-back/mine"])
    assert "--force replaces it" in result.stderr


def test_force_replaces_the_whole_folder(tmp_path):
    (tmp_path / "roll-back").mkdir()
    (tmp_path / "roll-back" / "old").write_text("old")
    with Shelf():
        result = export(tmp_path, "--force")
    assert (result.exit_code, written(tmp_path)) == (0, ["roll-back/SKILL.md", "roll-back/a.sh"])


def test_force_keeps_the_old_folder_where_a_file_does_not_come(tmp_path):
    (tmp_path / "roll-back").mkdir()
    (tmp_path / "roll-back" / "old").write_text("old")
    with Shelf() as shelf:
        shelf.blobs[digest_of(b"echo\n")] = b"other"
        result = export(tmp_path, "--force")
    assert (result.exit_code, written(tmp_path)) == (1, ["roll-back/old"])


def test_a_link_is_never_written_through(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "roll-back").symlink_to(tmp_path / "elsewhere")
    with Shelf():
        result = export(tmp_path / "skills", "--force")
    assert (result.exit_code, list((tmp_path / "elsewhere").iterdir())) == (2, [])


def test_an_output_that_is_a_file_is_no_folder_for_a_skill(tmp_path):
    (tmp_path / "file").write_text("mine")
    with Shelf():
        result = export(tmp_path / "file")
    assert (result.exit_code, (tmp_path / "file").read_text()) == (2, "mine")
    assert "is a file" in result.stderr


def test_other_forms_are_written_to_the_file(tmp_path):
    with Shelf():
        result = run("export", "roll-back", "--as", "markdown", "--output", str(tmp_path / "page.md"))
    assert (result.exit_code, (tmp_path / "page.md").read_bytes()) == (0, SKILL)


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("native", "roll-back.md"),
        ("mcp-tool", "roll-back.mcp-tool.json"),
        ("markdown", "roll-back.md"),
        ("original", "roll-back.yaml"),
    ],
)
def test_in_a_folder_the_file_is_named_by_the_playbook(tmp_path, form, name):
    with Shelf():
        run("export", "roll-back", "--as", form, "--output", str(tmp_path))
    assert written(tmp_path) == [name]


def test_a_file_that_is_there_stays_without_force(tmp_path):
    (tmp_path / "page.md").write_text("mine")
    with Shelf():
        result = run("export", "roll-back", "--output", str(tmp_path / "page.md"))
    assert (result.exit_code, (tmp_path / "page.md").read_text()) == (2, "mine")


def test_a_folder_that_is_not_there_is_said_to_be_missing(tmp_path):
    with Shelf():
        result = run("export", "roll-back", "--output", str(tmp_path / "no" / "page.md"))
    assert (result.exit_code, "make the folder first" in result.stderr) == (2, True)


def test_force_replaces_a_link_and_not_what_it_leads_to(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "page.md").symlink_to("mine")
    with Shelf():
        run("export", "roll-back", "--output", str(tmp_path / "page.md"), "--force")
    assert ((tmp_path / "page.md").read_bytes(), (tmp_path / "mine").read_text()) == (SKILL, "mine")


@pytest.mark.parametrize("path", ["playbooks/..", "playbooks/.git", "playbooks/", ""])
def test_an_originals_name_is_never_taken_for_a_path(tmp_path, path):
    source = {**entry()["source"], "path": path}
    with Shelf(source=source):
        result = run("export", "roll-back", "--output", str(tmp_path))
    assert (result.exit_code, list(tmp_path.iterdir())) == (1, [])


def test_a_name_that_a_server_makes_up_is_no_path(tmp_path):
    with Shelf(name="../../evil"):
        result = export(tmp_path / "in")
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])


def test_a_copy_that_does_not_serve_is_said_to(tmp_path):
    with Shelf(serves=False):
        result = export(tmp_path)
    assert "is not the copy that serves" in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_said_to_be_so(tmp_path):
    tmp_path.chmod(0o500)
    with Shelf():
        result = export(tmp_path)
    assert (result.exit_code, "cannot be written" in result.stderr) == (2, True)
