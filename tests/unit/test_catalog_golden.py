"""The bytes on the wire, pinned: a change of these files is a change of every digest, and wants a new format."""

from datetime import date
from pathlib import Path

import pytest
from catalogs import PAYMENTS, a_catalog, a_copy, a_revision, a_snapshot

from policies.decision import CopyState
from policies.rules import Mark, RuleSet, Waiver, Withdrawal
from registry.catalog.snapshot import compose_full, encode_part
from registry.digest import digest_of

GOLDEN = Path(__file__).parents[1] / "golden"


def central_alone():
    return a_catalog(a_revision(a_copy("deploy", tags=("ops",)), a_copy("rotate", state=CopyState.HELD)))


def every_outcome():
    central = a_revision(
        a_copy("a-central-only"),
        a_copy("b-local-wins"),
        a_copy("c-required-holds"),
        a_copy("d-waiver"),
        a_copy("e-local-broken"),
        a_copy("f-central-broken", state=CopyState.BROKEN),
        a_copy("g-required-broken", state=CopyState.AMBIGUOUS, says_required=True),
        a_copy("h-broken", state=CopyState.BROKEN),
        a_copy("k-withdrawn"),
    )
    local = a_revision(
        *(a_copy(name, "local", version="2.0.0") for name in ("b-local-wins", "c-required-holds", "d-waiver")),
        a_copy("e-local-broken", "local", CopyState.BROKEN),
        a_copy("f-central-broken", "local"),
        a_copy("g-required-broken", "local"),
        a_copy("i-local-only", "local", CopyState.HELD),
        kind="local",
    )
    marks = tuple(
        Mark("policy-file", name, None, "audited é") for name in ("c-required-holds", "d-waiver", "j-required-missing")
    )
    waiver = Waiver("d-waiver", PAYMENTS, date(2027, 1, 31), "old deployer", "platform-deploy", "policy-file")
    withdrawn = Withdrawal("k-withdrawn", central.copy("k-withdrawn").head.digest, "deletes the wrong key")
    return a_catalog(central, local, RuleSet(marks=marks, waivers=(waiver,), withdrawals=(withdrawn,)))


@pytest.mark.parametrize(("name", "make"), [("central-alone", central_alone), ("every-outcome", every_outcome)])
def test_a_snapshot_has_the_pinned_bytes(name, make):
    assert a_snapshot(make()).body == (GOLDEN / f"snapshot-{name}.json").read_bytes()


def test_the_full_view_has_the_pinned_bytes():
    catalog = central_alone()
    documents = {verdict.serving.digest: b'{"name":"x"}' for verdict in catalog.verdicts()}
    body = compose_full(catalog, encode_part(catalog.base), documents)
    assert body == (GOLDEN / "snapshot-central-alone-full.json").read_bytes()


def test_every_outcome_is_among_the_pinned_ones():
    found = {verdict.decision.outcome.value for verdict in every_outcome().verdicts()}
    assert found == {verdict.name[2:].replace("-", "_") for verdict in every_outcome().verdicts()}


def test_a_revision_has_the_pinned_digest():
    revision = a_revision(a_copy("deploy", tags=("ops",)))
    assert digest_of(revision.to_bytes()) == (GOLDEN / "revision.sha256").read_text().strip()
