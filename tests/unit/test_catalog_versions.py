from dataclasses import replace

from catalogs import a_head

from registry.catalog.versions import first_contents, version_changes, version_remarks
from registry.digest import digest_of

A, B, C = (digest_of(text) for text in (b"a", b"b", b"c"))


def head(digest: str, version: str = "1.0.0", blob: bytes = b"", name: str = "rotate-key"):
    found = a_head(name, "local", version=version, digest=digest)
    return replace(found, source=replace(found.source, blob=digest_of(blob or digest.encode())))


def after(*heads) -> list[bool]:
    """Whether each of the heads, seen one after the other, is remarked on."""
    known, said = {}, []
    for item in heads:
        said.append(bool(version_changes(known, [item], "1")))
        known = first_contents(known, [item], "1")
    return said


def test_another_content_under_the_same_version_is_remarked_on():
    (remark,) = version_remarks([head(A)], [head(B)])
    assert (remark.code, remark.path, remark.name) == ("version-not-bumped", "playbooks/rotate-key.yaml", "rotate-key")
    assert "'1.0.0'" in remark.message


def test_a_new_version_a_new_name_and_the_same_content_are_not():
    assert version_remarks([head(A)], [head(B, "1.0.1")]) == ()
    assert version_remarks([head(A)], [head(B, name="renew-key")]) == ()
    assert version_remarks([head(A)], [head(A)]) == ()


def test_the_remark_stays_while_the_content_does_and_goes_with_a_new_version():
    assert after(head(A), head(B), head(B), head(B, "1.1.0"), head(B, "1.1.0")) == [False, True, True, False, False]


def test_the_remark_goes_when_the_content_is_again_what_it_was():
    assert after(head(A), head(B), head(A)) == [False, True, False]


def test_a_third_content_is_compared_with_the_first():
    assert after(head(A), head(B), head(C), head(B)) == [False, True, True, True]


def test_a_version_that_is_made_from_the_bytes_needs_no_bump():
    assert version_remarks([head(A, "0.0.0+6c17f2007cbe")], [head(B, "0.0.0+6c17f2007cbe")]) == ()


def test_the_same_bytes_read_by_another_loader_are_the_same_content():
    known = first_contents({}, [head(A, blob=b"file")], "1")
    assert version_changes(known, [head(B, blob=b"file")], "2") == ()
    assert first_contents(known, [head(B, blob=b"file")], "2")["rotate-key"].digest == B


def test_the_same_file_with_other_files_beside_it_is_another_content():
    assert version_remarks([head(A, blob=b"file")], [head(B, blob=b"file")]) != ()


def test_a_name_that_is_broken_now_keeps_its_first_content_and_one_that_is_gone_does_not():
    known = first_contents({}, [head(A)], "1")
    assert first_contents(known, [], "1", kept=["rotate-key", "never-seen"]) == known
    assert first_contents(known, [], "1") == {}
