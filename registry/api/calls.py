"""Every call of this application, as data: what the OpenAPI document says, tested against what is routed.

The hot calls are answered before the framework sees them and addresses are read from raw paths, so the framework's own
description would lack the first and misname the second.
"""

from dataclasses import dataclass

from registry.api import bodies
from registry.api.bodies import Body
from registry.api.proposals import PreviewBody
from registry.playbook.export.fields import FORMS


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter: its meaning, whether it must be there, and its JSON Schema type."""

    name: str
    meaning: str
    required: bool = False
    type: str = "string"
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One method of one path.

    `answers` maps a status to what it means; `problems` are the codes that the call itself may answer with, besides
    those that any call may (see EVERY_CALL). `body` is what it takes, `media_type` what it gives and
    `other_media_types` what else it can give. Of one that `repeats`, the same request under one Idempotency-Key gets
    the same answer again.
    """

    method: str
    path: str
    summary: str
    answers: dict[int, str]
    group: str
    parameters: tuple[Parameter, ...] = ()
    body: type[Body] | None = None
    problems: tuple[str, ...] = ()
    media_type: str = "application/json"
    other_media_types: tuple[str, ...] = ()
    waits: bool = False
    repeats: bool = False
    conditional: bool = False
    is_open: bool = False


EVERY_CALL = ("request-invalid", "unauthenticated", "internal", "unavailable")

REPOSITORY = Parameter("repository", "The repository, in any spelling of its remote.")
_NEEDED = Parameter("repository", REPOSITORY.meaning, required=True)
_INSTEAD = Parameter("repository", "The repository in any spelling, instead of in the path.")
_DIGEST = Parameter("digest", "sha256:<64 hex> of the copy, as its entry says.", required=True)
_CURSOR = Parameter("cursor", "`next_cursor` of the page before.")
_LIMIT = Parameter("limit", "Rows at most, 1 to 200; default 50.", type="integer")
_ONE = ("repository-invalid", "repository-unknown")
_WRITE = (*_ONE, "forbidden", "too-large")
_NAMED = ("name-invalid", "playbook-unknown", "forbidden", "too-large")
_EXECUTE = (
    "forbidden",
    "refused",
    "repository-invalid",
    "playbook-unavailable",
    "inputs-invalid",
    "too-large",
    "conflict",
)
_DONE = {200: "Done; the repository as it is now.", 202: "Not done yet; the repository as it is now."}

READS = (
    Call(
        "GET",
        "/v1/catalogs/{repository}",
        "The snapshot in force for a repository",
        {200: "The snapshot."},
        "catalogs",
        (
            _INSTEAD,
            Parameter("view", "`full` adds each entry's contract."),
            Parameter("registered", "`required` makes an unregistered repository a 404."),
        ),
        problems=_ONE,
        conditional=True,
    ),
    Call(
        "GET",
        "/v1/catalogs",
        "The central snapshot in force, or with `repository` a repository's",
        {200: "The snapshot."},
        "catalogs",
        (
            REPOSITORY,
            Parameter("view", "`full` adds each entry's contract."),
            Parameter("registered", "`required` makes an unregistered repository a 404."),
        ),
        problems=_ONE,
        conditional=True,
    ),
    Call(
        "GET",
        "/v1/snapshots/{digest}",
        "Any snapshot that was handed out",
        {200: "The snapshot."},
        "catalogs",
        problems=("snapshot-unknown", "snapshot-gone"),
        conditional=True,
    ),
    Call(
        "GET",
        "/v1/documents/{digest}",
        "Any document that was handed out",
        {200: "The document."},
        "catalogs",
        problems=("snapshot-unknown", "snapshot-gone"),
        conditional=True,
    ),
    Call(
        "GET",
        "/v1/blobs/{digest}",
        "The original bytes of a file that an entry or a document names",
        {200: "The bytes, to be saved."},
        "catalogs",
        problems=("snapshot-unknown",),
        media_type="application/octet-stream",
        conditional=True,
    ),
    Call(
        "GET",
        "/v1/playbooks/{name}",
        "The effective entry of a name with its contract",
        {200: "The entry."},
        "playbooks",
        (
            REPOSITORY,
            Parameter("version", "Exactly this version's copy; never falls back."),
            Parameter("digest", "Exactly this copy; never falls back."),
            Parameter("as", f"The playbook as a file in another form: {', '.join(FORMS)}."),
        ),
        problems=("name-invalid", "repository-invalid", "playbook-unknown", "playbook-unavailable", "snapshot-unknown"),
        other_media_types=("application/yaml", "text/markdown", "application/octet-stream"),
        conditional=True,
    ),
    Call(
        "GET",
        "/v1/playbooks/{name}/explain",
        "Every copy of a name, and why one of them serves",
        {200: "The copies and the decision in words."},
        "playbooks",
        (REPOSITORY,),
        problems=("name-invalid", "repository-invalid", "playbook-unknown"),
    ),
    Call(
        "GET",
        "/v1/search",
        "Ranked playbooks of a repository's catalog",
        {200: "The rows."},
        "search",
        (
            REPOSITORY,
            Parameter("q", "The task in words; any text is valid, an empty one lists by name."),
            Parameter("tag", "A tag that every row must carry.", repeats=True),
            Parameter("limit", "Rows at most, 1 to 50; default 10.", type="integer"),
        ),
        problems=("query-invalid", "repository-invalid", "too-large"),
    ),
    Call(
        "POST",
        "/v1/search",
        "The same for a long text",
        {200: "The rows."},
        "search",
        body=bodies.SearchBody,
        problems=("query-invalid", "repository-invalid", "too-large"),
    ),
    Call(
        "POST",
        "/v1/preview",
        "What a change would do, before it is merged",
        {200: "The effect; nothing is kept."},
        "preview",
        body=PreviewBody,
        problems=("repository-invalid", "too-large"),
    ),
    Call(
        "GET",
        "/v1/repositories",
        "Registrations with their sync status",
        {200: "A page of repositories."},
        "repositories",
        (
            Parameter("state", "Only those whose sync is in this state."),
            Parameter("team", "Only those of this team."),
            Parameter("has", "Only those that have `held`, `refused` or `problems`."),
            Parameter("repository", "Only this repository, in any spelling; the answer is it, no page."),
            _CURSOR,
            _LIMIT,
        ),
        problems=_ONE,
    ),
    Call(
        "GET",
        "/v1/repositories/{repository}",
        "One registration",
        {200: "The repository."},
        "repositories",
        (_INSTEAD,),
        problems=_ONE,
    ),
    Call(
        "GET",
        "/v1/repositories/{repository}/problems",
        "What did not load or wants attention",
        {200: "The problems, with line and column."},
        "repositories",
        (_INSTEAD,),
        problems=_ONE,
    ),
    Call(
        "GET",
        "/v1/repositories/{repository}/evaluation",
        "How the selection cases of the catalog in force come out",
        {200: "The report."},
        "repositories",
        (_INSTEAD,),
        problems=_ONE,
    ),
    Call(
        "GET",
        "/v1/runs",
        "The runs that the caller may look at",
        {200: "A page of runs, newest first."},
        "runs",
        (
            Parameter("repository", "Only runs in this repository, in any spelling."),
            Parameter("name", "Only runs of this playbook."),
            _CURSOR,
            _LIMIT,
        ),
        problems=("name-invalid", "repository-invalid"),
    ),
    Call(
        "GET",
        "/v1/runs/{run_id}",
        "One run",
        {200: "The run, or with `view=full` the run with its procedure."},
        "runs",
        (Parameter("view", "`full` adds the procedure of the copy that the run is pinned to."),),
        problems=("run-unknown", "conflict"),
    ),
    Call(
        "GET",
        "/v1/problems",
        "What did not load or wants attention, in all repositories",
        {200: "A page of problems, each with its repository."},
        "repositories",
        (
            Parameter("code", "Only problems of this code.", repeats=True),
            Parameter("level", "Only `error`, `warning` or `info`."),
            Parameter("team", "Only in repositories of this team."),
            Parameter("repository", "Only in this repository, in any spelling."),
            _CURSOR,
            _LIMIT,
        ),
        problems=_ONE,
    ),
    Call("GET", "/v1/policy", "The rules in force", {200: "The rules."}, "policy"),
    Call(
        "GET",
        "/v1/audit",
        "Who changed what, when and why",
        {200: "A page of entries, newest first."},
        "audit",
        (_CURSOR, _LIMIT),
        problems=("forbidden",),
    ),
)

SKILLS = (
    Call(
        "GET",
        "/.well-known/agent-skills/index.json",
        "The skills that serve, as Agent Skills Discovery has them",
        {200: "The index."},
        "skills",
        conditional=True,
    ),
    Call(
        "GET",
        "/.well-known/agent-skills/{name}/SKILL.md",
        "The SKILL.md of a skill",
        {200: "The file."},
        "skills",
        problems=("playbook-unknown",),
        media_type="text/markdown",
        conditional=True,
    ),
    Call(
        "GET",
        "/.well-known/agent-skills/{name}.zip",
        "All files of a skill that has more than one",
        {200: "A ZIP archive."},
        "skills",
        problems=("playbook-unknown",),
        media_type="application/zip",
        conditional=True,
    ),
    Call(
        "GET",
        "/skills/r/{repository}/.well-known/agent-skills/index.json",
        "The skills that serve in a repository",
        {200: "The index."},
        "skills",
        problems=("repository-invalid",),
        conditional=True,
    ),
    Call(
        "GET",
        "/skills/r/{repository}/.well-known/agent-skills/{name}/SKILL.md",
        "The SKILL.md of a skill that serves in a repository",
        {200: "The file."},
        "skills",
        problems=("repository-invalid", "playbook-unknown"),
        media_type="text/markdown",
        conditional=True,
    ),
    Call(
        "GET",
        "/skills/r/{repository}/.well-known/agent-skills/{name}.zip",
        "All files of a skill that serves in a repository and has more than one",
        {200: "A ZIP archive."},
        "skills",
        problems=("repository-invalid", "playbook-unknown"),
        media_type="application/zip",
        conditional=True,
    ),
)

WRITES = (
    Call(
        "POST",
        "/v1/playbooks/{name}/runs",
        "Open a run of the copy that serves now",
        {
            201: "The run, with the procedure bound to the inputs; Location says where it is.",
            200: "The same, which the same request opened before under its Idempotency-Key.",
        },
        "runs",
        (REPOSITORY,),
        bodies.RunBody,
        ("name-invalid", "playbook-unknown", *_EXECUTE),
        repeats=True,
    ),
    Call(
        "POST",
        "/v1/runs",
        "Record a run of a working tree's copy",
        {201: "The run; Location says where it is.", 200: "The same, recorded before under its Idempotency-Key."},
        "runs",
        (_NEEDED,),
        bodies.WorktreeRunBody,
        ("name-invalid", "snapshot-unknown", *_EXECUTE),
        repeats=True,
    ),
    Call(
        "PUT",
        "/v1/repositories/{repository}",
        "Register or change a repository",
        {201: "Registered, whatever its sync comes to.", 200: "Changed."},
        "repositories",
        (_INSTEAD,),
        bodies.RegistrationBody,
        (*_WRITE, "address-refused", "conflict"),
        waits=True,
    ),
    Call(
        "DELETE",
        "/v1/repositories/{repository}",
        "Deregister a repository",
        {204: "Deregistered."},
        "repositories",
        (_INSTEAD,),
        problems=(*_WRITE, "conflict"),
    ),
    Call(
        "POST",
        "/v1/repositories/{repository}/sync",
        "Read a repository now",
        _DONE,
        "repositories",
        (_INSTEAD,),
        problems=_WRITE,
        waits=True,
    ),
    Call(
        "POST",
        "/v1/repositories/{repository}/apply",
        "Put a suspended revision in force",
        _DONE,
        "repositories",
        (_INSTEAD,),
        bodies.CommitBody,
        (*_WRITE, "conflict"),
        waits=True,
    ),
    Call(
        "PUT",
        "/v1/policy/required/{name}",
        "Mark a central playbook as required",
        {200: "Marked, and obeyed."},
        "policy",
        body=bodies.ReasonBody,
        problems=_NAMED,
    ),
    Call(
        "DELETE",
        "/v1/policy/required/{name}",
        "Take back a mark made here",
        {200: "Taken back; `still_required_by` says where git requires it."},
        "policy",
        problems=(*_NAMED, "conflict"),
    ),
    Call(
        "PUT",
        "/v1/policy/waivers/{name}",
        "Let one repository serve its own copy of a required playbook",
        {200: "Granted."},
        "policy",
        (_NEEDED,),
        bodies.WaiverBody,
        (*_NAMED, *_ONE),
    ),
    Call(
        "DELETE",
        "/v1/policy/waivers/{name}",
        "End a waiver granted here",
        {204: "Ended."},
        "policy",
        (_NEEDED,),
        problems=(*_NAMED, "repository-invalid"),
    ),
    Call(
        "PUT",
        "/v1/policy/withdrawn/{name}",
        "Withdraw one copy",
        {200: "Withdrawn."},
        "policy",
        (_DIGEST,),
        bodies.ReasonBody,
        _NAMED,
    ),
    Call(
        "DELETE",
        "/v1/policy/withdrawn/{name}",
        "Take a withdrawal back",
        {204: "Taken back."},
        "policy",
        (_DIGEST,),
        problems=_NAMED,
    ),
    Call(
        "POST",
        "/v1/policy/accept",
        "Take a missing or broken policy file as meant",
        _DONE,
        "policy",
        body=bodies.CommitBody,
        problems=("forbidden", "conflict", "too-large"),
        waits=True,
    ),
    Call(
        "POST",
        "/v1/tokens",
        "Make a token",
        {201: "The token; `token`, its value, is shown here and never again."},
        "tokens",
        body=bodies.TokenBody,
        problems=("forbidden", "too-large"),
    ),
    Call("GET", "/v1/tokens", "Every token, without values", {200: "The tokens."}, "tokens", problems=("forbidden",)),
    Call(
        "DELETE",
        "/v1/tokens/{token_id}",
        "End a token",
        {204: "Ended."},
        "tokens",
        problems=("forbidden", "token-unknown"),
    ),
)

CALLER = (
    Call(
        "GET",
        "/v1/whoami",
        "Who the caller is",
        {200: "What the token says of its holder, and whether the caller may read; also without a token."},
        "tokens",
    ),
)

OPERATION = (
    Call("GET", "/healthz", "Whether the process lives", {200: "It does."}, "operation", is_open=True),
    Call("GET", "/readyz", "Whether it can serve", {200: "It can."}, "operation", is_open=True),
    Call("GET", "/metrics", "Prometheus text", {200: "The metrics."}, "operation", media_type="text/plain"),
    Call("GET", "/schema/openapi.json", "This document", {200: "OpenAPI 3.1."}, "operation", is_open=True),
    Call(
        "GET",
        "/schemas/{file}",
        "A JSON Schema: playbook.v1.json, policy.v1.json",
        {200: "The schema."},
        "operation",
        problems=("route-unknown",),
        media_type="application/schema+json",
        is_open=True,
    ),
    Call(
        "GET",
        "/problems/{code}",
        "What a problem means and what to do",
        {200: "A page."},
        "operation",
        problems=("route-unknown",),
        media_type="text/html",
        is_open=True,
    ),
)

CALLS = (*READS, *SKILLS, *WRITES, *CALLER, *OPERATION)
