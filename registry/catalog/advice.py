"""What the central policy asks of playbooks, as warnings about local ones (merge.md, The policy file)."""

from policies import publication
from policies.rules import PublicationRules
from registry.catalog.revision import Revision
from registry.playbook.model import Level, Problem


def publication_advice(revision: Revision, asked: PublicationRules) -> tuple[Problem, ...]:
    """The fields that local playbooks lack and that central's policy file asks for; central's own do not load then."""
    if revision.kind == "central":
        return ()
    return tuple(
        Problem(
            "publication-missing",
            Level.WARNING,
            copy.path,
            1,
            1,
            f"{field} is missing, and the central policy file asks for it: add {field}.",
            copy.name,
        )
        for copy in revision.copies
        if copy.fields
        for field in publication.missing(copy.fields, asked)
    )
