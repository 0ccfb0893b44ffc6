"""What a playbook must carry to be published (merge.md, The policy file)."""

from collections.abc import Collection

from policies.ruleset import PublicationRules


def missing(fields_present: Collection[str], rules: PublicationRules) -> tuple[str, ...]:
    """The required fields that are not there, sorted; empty where nothing is missing.

    Each is an error in a central playbook and a warning in a local one: that is for the reader of the file to say.
    """
    return tuple(sorted(rules.required_fields.difference(fields_present)))
