"""Builders for revisions, copies and catalogs: what a test says is all that matters to it."""

from dataclasses import dataclass
from datetime import date

from policies import rules
from policies.decision import CopyState
from policies.rules import RuleSet
from registry.catalog.merge import Catalog, central_part, merge
from registry.catalog.revision import Copy, Head, Held, Revision, Source
from registry.catalog.snapshot import compose, encode_local, encode_part
from registry.digest import digest_of
from registry.playbook.model import Level, Playbook, Problem, Reading

CENTRAL = "github.com/acme/playbooks"
PAYMENTS = "github.com/acme/payments"
COMMITS = {"central": "c" * 40, "local": "1" * 40}
ON = date(2026, 11, 30)


def a_problem(path: str, name: str | None = None, message: str = "a colon is missing.") -> Problem:
    return Problem("yaml-syntax", Level.ERROR, path, 3, 7, message, name)


def a_head(
    name: str,
    kind: str = "central",
    *,
    version: str = "1.0.0",
    tags: tuple[str, ...] = (),
    held: Held | None = None,
    purpose: str | None = None,
    digest: str | None = None,
) -> Head:
    repository = CENTRAL if kind == "central" else PAYMENTS
    path = f"playbooks/{name}.yaml"
    return Head(
        name=name,
        title=name,
        version=version,
        digest=digest or digest_of(f"{kind} {name} {version}".encode()),
        document="playbook/1",
        source=Source(kind, repository, COMMITS[kind], path, digest_of(path.encode())),
        owner="platform",
        tags=tags,
        purpose=purpose or f"Do what {name} says.",
        not_for=(),
        deprecated=None,
        held=held,
    )


def a_copy(
    name: str,
    kind: str = "central",
    state: CopyState = CopyState.GOOD,
    *,
    says_required: bool = False,
    version: str = "1.0.0",
    tags: tuple[str, ...] = (),
) -> Copy:
    path = f"playbooks/{name}.yaml"
    problem = None if state is CopyState.GOOD else a_problem(path, name)
    head = None
    if state in {CopyState.GOOD, CopyState.HELD}:
        held = Held("9" * 40, problem) if problem is not None else None
        head = a_head(name, kind, version=version, tags=tags, held=held)
    return Copy(name, state, head, says_required, problem, path)


def a_revision(
    *copies: Copy, kind: str = "central", policy: RuleSet | None = None, commit: str | None = None
) -> Revision:
    problems = tuple(copy.problem for copy in copies if copy.problem is not None)
    return Revision(
        repository=CENTRAL if kind == "central" else PAYMENTS,
        kind=kind,
        ref="refs/heads/main",
        commit=commit or COMMITS[kind],
        loader="test",
        fingerprint=digest_of(b""),
        copies=tuple(sorted(copies, key=lambda copy: copy.name)),
        problems=problems,
        policy=policy,
    )


def a_catalog(
    central: Revision, local: Revision | None = None, ruleset: RuleSet | None = None, on: date = ON
) -> Catalog:
    everything = ruleset or RuleSet()
    repository = None if local is None else local.repository
    part = central_part(central, rules.scoped(everything, repository=None, on=on), on)
    return merge(part, local, rules.scoped(everything, repository=repository, on=on), repository)


@dataclass(frozen=True)
class Snapshot:
    body: bytes
    digest: str


def a_snapshot(catalog: Catalog) -> Snapshot:
    local = encode_local(catalog.local)
    body = compose(encode_part(catalog.base), local, catalog.rules, catalog.rules_digest, catalog.repository)
    return Snapshot(body, digest_of(body))


def a_playbook(
    name: str,
    path: str | None = None,
    *,
    version: str = "1.0.0",
    required: bool = False,
    tags: tuple[str, ...] = (),
    content: str = "",
) -> Playbook:
    path = path or f"playbooks/{name}.yaml"
    body = f"{name} {version} {content}".encode()
    return Playbook(
        key=name,
        title=name,
        version=version,
        owner="platform",
        tags=tags,
        purpose=f"Do what {name} says.",
        not_for=(),
        required=required,
        deprecated=None,
        should_find=(),
        document="playbook/1",
        contract={},
        contract_bytes=body,
        digest=digest_of(body),
        path=path,
        blob=digest_of(path.encode() + body),
        step_texts=(),
        fields=frozenset({"owner", "purpose"}),
    )


def good(name: str, path: str | None = None, **members) -> Reading:
    playbook = a_playbook(name, path, **members)
    return Reading(playbook.path, playbook.blob, playbook, (), None, None, candidate=True)


def broken(path: str, claims: str | None = None, says_required: bool | None = None) -> Reading:
    return Reading(path, digest_of(path.encode()), None, (a_problem(path),), claims, says_required, candidate=True)
