"""The merge and the bytes of its snapshot."""

import json
from datetime import date

from catalogs import ON, PAYMENTS, a_catalog, a_copy, a_revision, a_snapshot

from policies.decision import CopyState
from policies.rules import Mark, RuleSet, Waiver, Withdrawal
from registry.catalog.revision import read_revision
from registry.catalog.snapshot import compose_full, encode_part, snapshot_json
from registry.digest import canonical, digest_of

REQUIRED = RuleSet(marks=(Mark("policy-file", "deploy", None, "audited."),))


def outcomes(catalog):
    return {verdict.name: verdict.decision.outcome.value for verdict in catalog.verdicts()}


def test_the_local_copy_wins_at_home():
    catalog = a_catalog(a_revision(a_copy("deploy")), a_revision(a_copy("deploy", "local"), kind="local"))
    assert outcomes(catalog) == {"deploy": "local_wins"}
    assert catalog.verdict("deploy").serving.source.repository == PAYMENTS


def test_the_local_copy_wins_nowhere_else():
    catalog = a_catalog(a_revision(a_copy("deploy")))
    assert outcomes(catalog) == {"deploy": "central_only"}


def test_a_required_playbook_holds_and_the_refused_copy_is_listed():
    catalog = a_catalog(a_revision(a_copy("deploy")), a_revision(a_copy("deploy", "local"), kind="local"), REQUIRED)
    body = json.loads(a_snapshot(catalog).body)
    assert body["entries"][0]["source"]["kind"] == "central"
    assert body["entries"][0]["required"] is True
    assert [item["source"]["kind"] for item in body["refused"]] == ["local"]


def test_a_mark_on_a_name_that_central_does_not_have_makes_it_unavailable_everywhere():
    catalog = a_catalog(a_revision(), a_revision(kind="local"), REQUIRED)
    assert outcomes(catalog) == {"deploy": "required_missing"}


def test_a_waiver_lets_the_local_copy_serve_and_says_until_when():
    waiver = Waiver("deploy", PAYMENTS, date(2027, 1, 31), "old deployer", "platform", "policy-file")
    catalog = a_catalog(
        a_revision(a_copy("deploy")),
        a_revision(a_copy("deploy", "local"), kind="local"),
        RuleSet(marks=REQUIRED.marks, waivers=(waiver,)),
    )
    body = json.loads(a_snapshot(catalog).body)
    assert outcomes(catalog) == {"deploy": "waiver"}
    assert body["valid_until"] == "2027-01-31T23:59:59Z"
    assert body["entries"][0]["waiver"] == {"until": "2027-01-31", "reason": "old deployer", "approved_by": "platform"}


def test_a_waiver_that_is_over_changes_nothing():
    waiver = Waiver("deploy", PAYMENTS, date(2026, 11, 29), "old deployer", "platform", "policy-file")
    catalog = a_catalog(
        a_revision(a_copy("deploy")),
        a_revision(a_copy("deploy", "local"), kind="local"),
        RuleSet(marks=REQUIRED.marks, waivers=(waiver,)),
        ON,
    )
    assert outcomes(catalog) == {"deploy": "required_holds"}


def test_a_tag_mark_reaches_a_tag_in_any_spelling():
    marked = RuleSet(marks=(Mark("policy-file", None, "data-deletion", "irreversible"),))
    central = a_revision(a_copy("erase", tags=("Data_Deletion",)))
    catalog = a_catalog(central, a_revision(a_copy("erase", "local"), kind="local"), marked)
    assert outcomes(catalog) == {"erase": "required_holds"}


def test_a_service_repositorys_own_word_required_has_no_effect():
    local = a_revision(a_copy("deploy", "local", says_required=True), kind="local")
    assert outcomes(a_catalog(a_revision(a_copy("deploy")), local)) == {"deploy": "local_wins"}


def test_a_withdrawn_copy_never_serves():
    central = a_revision(a_copy("deploy"))
    withdrawn = RuleSet(withdrawals=(Withdrawal("deploy", central.copies[0].head.digest, "wrong command"),))
    catalog = a_catalog(central, None, withdrawn)
    assert outcomes(catalog) == {"deploy": "withdrawn"}
    assert json.loads(a_snapshot(catalog).body)["entries"] == []


def test_the_bytes_are_canonical_and_the_digest_is_of_exactly_them():
    catalog = a_catalog(
        a_revision(a_copy("a"), a_copy("b", state=CopyState.HELD), a_copy("z", state=CopyState.BROKEN)),
        a_revision(a_copy("b", "local"), a_copy("k", "local", CopyState.BROKEN), kind="local"),
        RuleSet(marks=(Mark("api", "b", None, "é"),)),
    )
    snapshot = a_snapshot(catalog)
    assert snapshot.body == canonical(snapshot_json(catalog))
    assert snapshot.digest == digest_of(snapshot.body)


def test_the_full_view_carries_each_entrys_document_as_its_contract():
    catalog = a_catalog(a_revision(a_copy("a")))
    document = b'{"name":"a"}'
    body = compose_full(catalog, encode_part(catalog.base), {catalog.verdict("a").serving.digest: document})
    plain = json.loads(a_snapshot(catalog).body)
    full = json.loads(body)
    assert full["entries"][0].pop("contract") == {"name": "a"}
    assert full == plain
    assert canonical(json.loads(body)) == body


def test_a_revision_reads_back_as_it_was_written():
    revision = a_revision(
        a_copy("a", tags=("x",)),
        a_copy("b", state=CopyState.HELD),
        a_copy("c", state=CopyState.AMBIGUOUS),
        policy=REQUIRED,
    )
    assert read_revision(revision.to_bytes()) == revision
