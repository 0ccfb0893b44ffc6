"""The body of a preview: a working copy as data, checked as what any caller may have made up.

It holds what a merge decides on and nothing else: no purposes, no steps, no file contents. What is stored of a revision
stays this program's own affair (docs/decisions/0008-preview-on-the-server.md).
"""

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from policies.decision import CopyState
from policies.rules import Mark, RuleSet, Waiver
from registry.api.addresses import check_spelling
from registry.api.bodies import AtFirstFault, Body
from registry.catalog.revision import Copy, Head, Held, Revision, Source
from registry.names import NAME_LENGTH_MAX, NAME_PATTERN, REPOSITORY_LENGTH_MAX, fold_tag
from registry.playbook.model import Level, Problem
from registry.playbook.reading import LOADER_VERSION
from registry.ports import Role
from registry.service.previewing import Proposal, Proposed
from registry.service.proposing import COPIES_MAX, MARKS_MAX, REASON_CHARS_MAX, TAGS_MAX, WAIVERS_MAX, WORD_CHARS_MAX

PREVIEW_BYTES_MAX = 8 * 1024 * 1024
NO_COMMIT = "0" * 40

_Name = Annotated[str, StringConstraints(pattern=f"^{NAME_PATTERN}$", max_length=NAME_LENGTH_MAX)]
_Word = Annotated[str, StringConstraints(min_length=1, max_length=WORD_CHARS_MAX)]
_Path = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
_Text = Annotated[str, StringConstraints(max_length=REASON_CHARS_MAX)]


class ProposedCopy(Body):
    """One name of the working copy, as the merge sees it."""

    name: _Name = Field(description="The folded name.")
    state: Literal["good", "held", "broken", "ambiguous"] = Field(description="How its newest file stands.")
    path: _Path = Field(description="Its file, relative to the repository's root.")
    version: Annotated[str, StringConstraints(max_length=WORD_CHARS_MAX)] | None = Field(
        None, description="Of what would serve."
    )
    digest: str | None = Field(None, pattern=r"^sha256:[0-9a-f]{64}$", description="Of the document that would serve.")
    tags: Annotated[tuple[_Word, ...], AtFirstFault()] = Field(
        (), max_length=TAGS_MAX, description="Its tags; rules speak of central ones."
    )
    required: bool = Field(default=False, description="Whether a central copy says so of itself.")
    replaced_by: _Word | None = Field(None, description="The name that its deprecation points to.")
    problem: _Word | None = Field(None, description="The code of what is wrong with its newest file.")

    @model_validator(mode="after")
    def _serves_what_it_pins(self) -> Self:
        if (self.digest is not None) != (self.state in {"good", "held"}):
            raise ValueError("digest is there exactly where the state is good or held")
        return self


class ProposedMark(Body):
    """A rule of the policy file that makes a name or a tag required."""

    name: _Name | None = Field(None, description="The name; or else a tag.")
    tag: _Word | None = Field(None, description="The tag.")
    reason: _Text = Field("", description="Why.")

    @model_validator(mode="after")
    def _speaks_of_one_thing(self) -> Self:
        if (self.name is None) == (self.tag is None):
            raise ValueError("a mark has either a name or a tag")
        return self


class ProposedWaiver(Body):
    """A waiver of the policy file."""

    name: _Name = Field(description="The required name.")
    repository: str = Field(min_length=3, max_length=REPOSITORY_LENGTH_MAX, description="The id of the repository.")
    until: date = Field(description="The last day on which it holds (UTC).")
    reason: _Text = Field("", description="Why.")
    approved_by: _Text = Field("", description="Who approved it.")


class ProposedPolicy(Body):
    """What decides of a policy file: marks and waivers."""

    marks: Annotated[tuple[ProposedMark, ...], AtFirstFault()] = Field(
        (), max_length=MARKS_MAX, description="What is required."
    )
    waivers: Annotated[tuple[ProposedWaiver, ...], AtFirstFault()] = Field(
        (), max_length=WAIVERS_MAX, description="And where not."
    )


class ProposedRevision(Body):
    """A working copy, or the commit that it began from."""

    copies: Annotated[tuple[ProposedCopy, ...], AtFirstFault()] = Field(
        max_length=COPIES_MAX, description="One for each name."
    )
    unread: Annotated[tuple[_Path, ...], AtFirstFault()] = Field(
        (), max_length=COPIES_MAX, description="Files that do not load and whose name is unknown."
    )
    policy: ProposedPolicy | None = Field(None, description="Of a central copy; null where no policy file loads.")

    @model_validator(mode="after")
    def _has_each_name_once(self) -> Self:
        if len({copy.name for copy in self.copies}) < len(self.copies):
            raise ValueError("a name has two copies: send the one that would be chosen")
        return self


class PreviewBody(Body):
    """`POST /v1/preview`."""

    role: Literal["central", "service"] = Field(description="What the working copy is of.")
    repository: str | None = Field(
        None, min_length=1, max_length=2048, description="Whose it is, in any spelling; of a service repository only."
    )
    revision: ProposedRevision = Field(description="The working copy.")
    base: ProposedRevision | None = Field(
        None, description="What it is compared with; default: what is in force of the repository."
    )
    loader: Annotated[str, StringConstraints(max_length=64)] = Field(
        LOADER_VERSION, description="The version of the rules that read the files."
    )

    def proposal(self) -> Proposal:
        """The same as the service takes it. Raises RepositoryInvalid."""
        role = Role(self.role)
        kind = "central" if role is Role.CENTRAL else "local"
        return Proposal(
            role=role,
            repository=None if self.repository is None else check_spelling(self.repository),
            proposed=_proposed(self.revision, kind),
            base=None if self.base is None else _proposed(self.base, kind),
            loader=self.loader,
        )


def _proposed(body: ProposedRevision, kind: str) -> Proposed:
    revision = Revision(
        repository="",
        kind=kind,
        ref="",
        commit=NO_COMMIT,
        loader="",
        fingerprint="",
        copies=tuple(sorted((_copy(item, kind) for item in body.copies), key=lambda copy: copy.name)),
        problems=(),
        policy=None if body.policy is None or kind != "central" else _rules(body.policy),
    )
    return Proposed(revision, body.unread)


def _copy(body: ProposedCopy, kind: str) -> Copy:
    problem = None
    if body.state != "good":
        problem = Problem(body.problem or "", Level.ERROR, body.path, 1, 1, "the newest file does not load", body.name)
    head = None
    if body.digest is not None:
        head = Head(
            name=body.name,
            title=body.name,
            version=body.version or "",
            digest=body.digest,
            document="",
            source=Source(kind, "", NO_COMMIT, body.path, ""),
            owner=None,
            tags=body.tags,
            purpose="",
            not_for=(),
            deprecated=None if body.replaced_by is None else {"replaced_by": body.replaced_by},
            held=Held(NO_COMMIT, problem) if body.state == "held" and problem is not None else None,
        )
    return Copy(body.name, CopyState(body.state), head, body.required, problem, body.path)


def _rules(body: ProposedPolicy) -> RuleSet:
    return RuleSet(
        marks=tuple(
            Mark("policy-file", item.name, None if item.tag is None else fold_tag(item.tag), item.reason)
            for item in body.marks
        ),
        waivers=tuple(
            Waiver(item.name, item.repository, item.until, item.reason, item.approved_by, "policy-file")
            for item in body.waivers
        ),
    )
