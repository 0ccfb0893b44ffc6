"""`version-not-bumped`: a playbook's content changed and its version did not.

What counts is the content that a version had first. The remark stays while the content is another one, and goes with a
new version, or when the content is again what it was.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from registry.catalog.revision import Head
from registry.playbook.foreign import VERSION_FROM_BLOB
from registry.playbook.model import Problem
from registry.playbook.problems import problem
from registry.playbook.spelling import quoted

_DIGITS_SHOWN = len("sha256:") + 12


@dataclass(frozen=True, slots=True)
class FirstContent:
    """What a name's present version was first seen with; `loader` is the reading that gave the digest."""

    version: str
    digest: str
    blob: str
    loader: str


def first_contents(
    known: Mapping[str, FirstContent], heads: Iterable[Head], loader: str, kept: Iterable[str] = ()
) -> dict[str, FirstContent]:
    """Name -> the first content of its present version, after what was `known` before.

    A name of `heads` whose version is another one begins anew; names in `kept` (whose files are broken now) stay as
    they are; all others are gone.
    """
    contents = {name: known[name] for name in kept if name in known}
    for head in heads:
        before = known.get(head.name)
        now = FirstContent(head.version, head.digest, head.source.blob, loader)
        contents[head.name] = now if before is None or _is_same(before, now) else before
    return contents


def version_changes(known: Mapping[str, FirstContent], heads: Iterable[Head], loader: str) -> tuple[Problem, ...]:
    """The remarks on heads whose content is not the first one of their version, sorted by path."""
    found = []
    for head in sorted(heads, key=lambda item: item.source.path):
        before = known.get(head.name)
        now = FirstContent(head.version, head.digest, head.source.blob, loader)
        if before is not None and not _is_same(before, now):
            message = (
                f"the content changed and the version is still {quoted(head.version)}, which was first "
                f"{before.digest[:_DIGITS_SHOWN]} and is now {head.digest[:_DIGITS_SHOWN]}: give it a new version, so "
                "that people can tell the two apart."
            )
            found.append(problem("version-not-bumped", head.source.path, (1, 1), message, name=head.name))
    return tuple(found)


def version_remarks(previous: Iterable[Head], heads: Iterable[Head]) -> tuple[Problem, ...]:
    """The remarks on heads that kept the version of another content of the same name in `previous`."""
    return version_changes(first_contents({}, previous, ""), heads, "")


def _is_same(before: FirstContent, now: FirstContent) -> bool:
    """Whether there is nothing to bump. A version that is made from the bytes needs none.

    Another version of the reader may give the same bytes another digest.
    """
    return (
        before.version != now.version
        or before.digest == now.digest
        or now.version.startswith(VERSION_FROM_BLOB)
        or (before.blob == now.blob and before.loader != now.loader)
    )
