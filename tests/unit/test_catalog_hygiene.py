from catalogs import CENTRAL, PAYMENTS, a_head

from registry.catalog.hygiene import Subject, catalog_remarks, definitions_of, neighbours, subject_of, with_remarks
from registry.playbook.model import Level, Problem

KEYS = "Rotate the signing key of a service that signs tokens, without logging anybody out."
FLAGS = {"name": "flags.get", "risk": "read", "permissions": ["flags:read"]}


def a_subject(name: str, kind: str = "local", purpose: str | None = None, deprecated=None, *tools: dict) -> Subject:
    repository = CENTRAL if kind == "central" else PAYMENTS
    tools = definitions_of({"tools": list(tools)})
    return Subject(name, repository, f"playbooks/{name}.yaml", kind, purpose or f"About {name}.", deprecated, tools)


def said(remarks) -> list[tuple[str, str]]:
    return [(item.code, item.name) for item in remarks]


# near-duplicate


def test_one_purpose_under_two_names_is_said_of_both_files():
    remarks = catalog_remarks([a_subject("rotate-key", purpose=KEYS), a_subject("renew-key", purpose=KEYS)])
    assert said(remarks) == [("near-duplicate", "renew-key"), ("near-duplicate", "rotate-key")]
    assert "rotate-key (playbooks/rotate-key.yaml)" in remarks[0].message


def test_a_near_duplicate_of_central_is_said_of_the_local_file_with_the_place_of_the_other():
    beside = neighbours([a_subject("rotate-key", "central", KEYS), a_subject("renew-secret", "central", KEYS)])
    (remark,) = catalog_remarks([a_subject("renew-key", purpose=KEYS)], beside)
    assert remark.path == "playbooks/renew-key.yaml"
    assert "rotate-key (playbooks/rotate-key.yaml in github.com/acme/playbooks)" in remark.message
    assert remark.level is Level.WARNING


def test_the_central_copy_that_a_local_one_replaces_is_no_duplicate_of_it():
    assert (
        catalog_remarks([a_subject("rotate-key", purpose=KEYS)], neighbours([a_subject("rotate-key", "central", KEYS)]))
        == ()
    )


def test_what_does_not_serve_here_is_no_duplicate():
    beside = neighbours([a_subject("rotate-key", "central", KEYS)])
    assert catalog_remarks([a_subject("renew-key", purpose=KEYS)], beside, hidden={"rotate-key"}) == ()


def test_a_deprecated_playbook_and_what_replaces_it_are_no_duplicates():
    old = a_subject("rotate-key", "local", KEYS, {"replaced_by": "renew-key"})
    assert said(catalog_remarks([old, a_subject("renew-key", purpose=KEYS)])) == [("deprecated", "rotate-key")]


def test_many_duplicates_make_one_remark_a_file_that_names_three():
    remarks = catalog_remarks([a_subject(f"rotate-{name}", purpose=KEYS) for name in "abcdef"])
    assert len(remarks) == 6
    assert remarks[0].message.count("playbooks/") == 3
    assert "and others" in remarks[0].message


# tool-drift


def test_two_documents_that_define_a_tool_in_two_ways_name_each_other():
    money = {**FLAGS, "risk": "money", "side_effecting": True}
    remarks = catalog_remarks([a_subject("a", "local", None, None, FLAGS), a_subject("b", "local", None, None, money)])
    assert said(remarks) == [("tool-drift", "a"), ("tool-drift", "b")]
    assert "b (playbooks/b.yaml)" in remarks[0].message
    assert "risk and side effects" in remarks[0].message


def test_a_tool_is_compared_with_central_before_the_repositorys_own():
    beside = neighbours([a_subject("z", "central", None, None, {**FLAGS, "risk": "internal"})])
    own = [a_subject("a", "local", None, None, FLAGS), a_subject("b", "local", None, None, {**FLAGS, "risk": "money"})]
    assert all(
        "z (playbooks/z.yaml in github.com/acme/playbooks)" in item.message for item in catalog_remarks(own, beside)
    )


def test_equal_definitions_and_mere_names_do_not_drift():
    same = {**FLAGS, "description": "in other words"}
    own = [
        a_subject(name, "local", None, None, tool)
        for name, tool in (("a", FLAGS), ("b", same), ("c", {"name": "flags.get"}))
    ]
    assert catalog_remarks(own) == ()


def test_a_definition_that_does_not_serve_here_does_not_drift():
    beside = neighbours([a_subject("b", "central", None, None, {**FLAGS, "risk": "money"})])
    assert catalog_remarks([a_subject("a", "local", None, None, FLAGS)], beside, hidden={"b"}) == ()


# deprecated


def test_a_deprecated_playbook_is_said_to_have_a_replacement_that_serves():
    old = a_subject("rotate-key", "local", None, {"since": "2026-10-01", "replaced_by": "renew_key"})
    (remark,) = catalog_remarks([old], neighbours([a_subject("renew-key", "central")]))
    assert (remark.code, remark.level) == ("deprecated", Level.INFO)
    assert "since 2026-10-01" in remark.message
    assert (
        "renew-key (playbooks/renew-key.yaml in github.com/acme/playbooks) replaces it and serves here"
        in remark.message
    )


def test_a_replacement_that_does_not_serve_here_is_said_not_to():
    old = a_subject("rotate-key", "local", None, {"replaced_by": "renew-key"})
    beside = neighbours([a_subject("renew-key", "central")])
    for remarks in (catalog_remarks([old]), catalog_remarks([old], beside, hidden={"renew-key"})):
        assert "renew-key, which replaces it, does not serve in this catalog" in remarks[0].message


def test_a_replacement_that_is_deprecated_itself_is_said_to_be():
    old = [a_subject("a", "local", None, {"replaced_by": "b"}), a_subject("b", "local", None, {"since": "2026"})]
    assert "deprecated too" in catalog_remarks(old)[0].message


def test_a_playbook_that_replaces_itself_or_names_nothing_is_told_so():
    assert "names itself" in catalog_remarks([a_subject("a", "local", None, {"replaced_by": "A"})])[0].message
    assert "names nothing" in catalog_remarks([a_subject("a", "local", None, {"since": "2026"})])[0].message


# with_remarks


def test_what_a_catalog_says_of_a_deprecated_file_stands_at_the_files_own_line():
    by_file = Problem("deprecated", Level.INFO, "playbooks/a.yaml", 7, 1, "this playbook says so.", None)
    remark = Problem("deprecated", Level.INFO, "playbooks/a.yaml", 1, 1, "b replaces it.", "a")
    (merged,) = with_remarks([by_file], [remark])
    assert (merged.line, merged.message, merged.name) == (7, "b replaces it.", "a")


def test_problems_and_remarks_are_one_list_sorted_by_place():
    problems = [Problem("no-stop", Level.WARNING, "b", 1, 1, "m"), Problem("deprecated", Level.INFO, "c", 2, 1, "m")]
    remark = Problem("near-duplicate", Level.WARNING, "a", 1, 1, "m")
    assert [item.path for item in with_remarks(problems, [remark])] == ["a", "b", "c"]


def test_a_subject_is_made_of_a_head_and_its_documents_tools():
    head = a_head("rotate-key", "local", purpose=KEYS)
    subject = subject_of(head, definitions_of({"tools": [FLAGS]}))
    assert (subject.name, subject.path, subject.kind, list(subject.tools)) == (
        "rotate-key",
        "playbooks/rotate-key.yaml",
        "local",
        ["flags.get"],
    )
