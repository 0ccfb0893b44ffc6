"""Central as the remarks on every other source need it: made once for all of them, whenever it changes."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from policies import rules
from policies.rules import RuleSet
from registry.catalog import merge as merging
from registry.catalog.hygiene import Neighbours, Subject, definitions_of, neighbours, subject_of
from registry.catalog.lineage import FileVersion
from registry.catalog.merge import CentralPart, central_part, effective_rules
from registry.catalog.revision import Copy, Revision
from registry.digest import Json, canonical, digest_of
from registry.ports import ApiRules, Store

DOCUMENTS_AT_ONCE: Final = 200

Tools = Mapping[str, Mapping[str, bytes]]
"""Document digest -> the definitions of its tools; documents that define none are left out."""


@dataclass(frozen=True, slots=True)
class CentralSide:
    """Central's serving playbooks prepared for comparison, its rules, and the histories that somebody asked for.

    `excepted` are the repositories that have a waiver, and so rules of their own.
    `facet` changes whenever anything does that the remarks on others can depend on, except for the contents that they
    shadow: those are in `digests`, by name. `histories` maps a name to the digest they were read for and the versions.
    """

    part: CentralPart
    everything: RuleSet
    excepted: frozenset[str]
    shared_digest: str
    subjects: tuple[Subject, ...]
    neighbours: Neighbours
    tools: Tools
    digests: Mapping[str, str]
    facet: str
    histories: Mapping[str, tuple[str, tuple[FileVersion, ...]]] = field(default_factory=dict)

    def rules_of(self, repository: str) -> tuple[RuleSet, str]:
        """The rules that can touch a repository, and their digest: the same for all that have no waiver."""
        if repository not in self.excepted:
            return self.part.rules, self.shared_digest
        scoped = rules.scoped(self.everything, repository=repository, on=self.part.rule_date)
        return scoped, merging.rules_digest(scoped)

    def history(self, name: str) -> tuple[FileVersion, ...] | None:
        """What the file of that name was, newest first, or None where that was not read since it changed."""
        digest, versions = self.histories.get(name, ("", ()))
        return versions if digest and digest == self.digests.get(name) else None


def central_side(
    revision: Revision,
    api: ApiRules,
    tools: Tools,
    histories: Mapping[str, tuple[str, tuple[FileVersion, ...]]],
) -> CentralSide:
    """Central's side from its revision in force, the API's rules, and its documents' tools."""
    api_rules = RuleSet(marks=api.marks, waivers=api.waivers, withdrawals=api.withdrawals)
    everything = effective_rules(revision, api_rules)
    part = central_part(revision, rules.scoped(everything, repository=None, on=api.rule_date), api.rule_date)
    subjects = tuple(
        subject_of(verdict.serving, tools.get(verdict.serving.digest, {}))
        for verdict in part.verdicts.values()
        if verdict.serving is not None
    )
    facets: list[Json] = [_facet(copy, tools) for copy in revision.copies]
    facets.append(sorted(everything.publication.required_fields))
    return CentralSide(
        part=part,
        everything=everything,
        excepted=frozenset(waiver.repository for waiver in everything.waivers),
        shared_digest=merging.rules_digest(part.rules),
        subjects=subjects,
        neighbours=neighbours(subjects),
        tools=tools,
        digests={copy.name: copy.digest for copy in revision.copies if copy.digest is not None},
        facet=digest_of(canonical(facets)),
        histories=histories,
    )


def tools_of(store: Store, digests: Collection[str]) -> Tools:
    """The tool definitions of stored documents."""
    found: dict[str, Mapping[str, bytes]] = {}
    wanted = sorted(set(digests))
    for start in range(0, len(wanted), DOCUMENTS_AT_ONCE):
        bodies = store.documents(wanted[start : start + DOCUMENTS_AT_ONCE])
        for digest, body in bodies.items():
            # Most documents have no tools, and need not be parsed for that.
            if b'"tools":' in body and (tools := definitions_of(json.loads(body))):
                found[digest] = tools
    return found


def _facet(copy: Copy, tools: Tools) -> Json:
    head = copy.head
    if head is None:
        return [copy.name, copy.state.value, copy.says_required]
    defined = {tool: definition.decode() for tool, definition in tools.get(head.digest, {}).items()}
    return [
        copy.name,
        copy.state.value,
        copy.says_required,
        head.source.path,
        list(head.tags),
        head.purpose,
        head.deprecated,
        defined,
    ]
