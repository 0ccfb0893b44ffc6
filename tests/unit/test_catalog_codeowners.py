from dataclasses import replace

import pytest
from catalogs import a_head

from registry.catalog.codeowners import owner_remarks, read_codeowners
from registry.playbook.model import Level

PATH = "playbooks/keys/rotate-key.yaml"


def owners(text: str, path: str = PATH) -> tuple[str, ...]:
    return read_codeowners("CODEOWNERS", text.encode()).owners(path)[0]


def remarks(text: str, owner: str | None = "payments", path: str = PATH):
    head = a_head("rotate-key", "local")
    head = replace(head, owner=owner, source=replace(head.source, path=path))
    return owner_remarks(read_codeowners(".github/CODEOWNERS", text.encode()), [head])


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "**",
        "*.yaml",
        "/playbooks/",
        "playbooks/",
        "playbooks",
        "/playbooks",
        "keys/",
        "/playbooks/keys/*",
        "playbooks/**",
        "**/",
        "playbooks/**/",
        "**/keys",
        "**/keys/*.yaml",
        "playbooks/**/rotate-key.yaml",
        "/playbooks/*/rotate-key.yaml",
        "/playbooks/keys/rotate-???.yaml",
        "rotate-key.yaml",
        r"/playbooks/keys/rotate\-key.yaml",
    ],
)
def test_a_pattern_that_matches_gives_its_owners(pattern):
    assert owners(f"{pattern} @acme/payments") == ("@acme/payments",)


@pytest.mark.parametrize(
    "pattern",
    [
        "/*",
        "/playbooks/*",
        "/keys/",
        "*.yml",
        "Playbooks/",
        "rotate-key",
        "playbooks/rotate-key.yaml",
        "/playbooks/keys/rotate-key.yaml/",
        "playbooks//keys",
        "playbooks/keys/**/",
        "/",
    ],
)
def test_a_pattern_that_does_not_match_gives_none(pattern):
    assert owners(f"{pattern} @acme/payments") == ()


def test_the_last_pattern_that_matches_decides():
    assert owners("* @a\n/playbooks/ @b\n/docs/ @c\n") == ("@b",)


def test_a_later_pattern_without_owners_means_nobody():
    assert owners("* @a\n/playbooks/\n") == ()


def test_comments_and_empty_lines_are_passed_over():
    assert owners("# all\n\n* @a # everything, @b too\n#/playbooks/ @c\n") == ("@a",)


def test_a_space_in_a_path_is_escaped():
    assert owners(r"/play\ books/ @a", "play books/a.yaml") == ("@a",)


def test_the_owners_of_sections_add_up_and_each_ones_last_pattern_decides():
    text = "[Keys] @defaults\n*.yaml\n/playbooks/keys/ @keys\n^[Docs][2] @docs\n*.md\n*.yaml\n"
    assert set(owners(text)) == {"@keys", "@docs"}


def test_an_exclusion_means_nobody_in_its_section():
    assert owners("[One]\n* @one\n!/playbooks/\n[Two]\n* @two\n") == ("@two",)


@pytest.mark.parametrize("owner", ["payments", "Payments", "@acme/payments", "acme/payments", "@payments", "PAYMENTS"])
def test_an_owner_is_named_as_a_team_of_an_organisation(owner):
    assert remarks("* @someone @acme/payments", owner) == ()


@pytest.mark.parametrize(("line", "owner"), [("@payments", "payments"), ("pay.ments@acme.example", "pay-ments")])
def test_an_owner_is_named_as_a_user_and_by_an_address(line, owner):
    assert remarks(f"* {line}", owner) == ()


def test_an_owner_of_another_organisation_is_another_owner():
    assert remarks("* @other/payments", "@acme/payments") != ()


def test_an_owner_that_is_not_named_is_remarked_on_with_the_line():
    (remark,) = remarks("# owners\n* @acme/checkout\n")
    assert (remark.code, remark.level, remark.path) == ("owner-not-in-codeowners", Level.INFO, PATH)
    assert "line 2 of .github/CODEOWNERS gives this file to @acme/checkout" in remark.message


@pytest.mark.parametrize("text", ["", "/docs/ @acme/docs", "* @a\n/playbooks/\n", "*"])
def test_where_no_line_speaks_of_the_file_nothing_is_said(text):
    assert remarks(text) == ()


def test_without_a_file_or_an_owner_nothing_is_said():
    assert owner_remarks(None, [a_head("rotate-key", "local")]) == ()
    assert remarks("* @acme/checkout", None) == ()


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe* @a\n",
        b"\\\n",
        b"\\ @a\n",
        b"[\n",
        b"[]\n",
        b"!\n",
        b"! @a\n",
        b"* \\\n",
        b"\x00 @a\n",
        b"/// @a",
        b"a" * 99_999,
    ],
)
def test_odd_lines_are_passed_over(data):
    owner_remarks(read_codeowners("CODEOWNERS", data), [a_head("rotate-key", "local")])


def test_a_file_that_would_keep_the_comparison_busy_for_long_is_not_compared():
    text = "\n".join(f"{'*a' * 100}b{number} @a" for number in range(2_000))
    path = "/".join(["a" * 200] * 5)
    assert remarks(f"{text}\n* @acme/checkout", path=path) != ()
    assert remarks("* @acme/checkout\n" + "\n".join([f"{'*a' * 100} @a"] * 2_000), path=path) == ()
