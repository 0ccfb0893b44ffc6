"""The effect of a change in sentences: what comes, what goes, who is refused, and for central who else is touched.

What is shown comes out of repositories and registries, and passes `shown`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from registry.cli.sentences import (
    because,
    changed,
    colliding,
    dangling,
    grounds_of,
    held,
    many,
    marked,
    named,
    reach_among,
    refused,
    removed,
    shadowing,
    unmatched,
    unserved,
    waived,
    with_earlier_version,
    with_version,
)
from registry.cli.terminal import bad, doubtful, faint, good, heading, shown
from registry.digest import Json
from registry.service.consequences import Row, count_of, is_of_service, items_of, rows_of

Tone = Literal["good", "bad", "doubtful", "plain"]

SHOWN_MAX: Final = 15
"""Lines of one sort for people; as JSON there are more."""
IDS_SHOWN_MAX: Final = 5
LABEL_WIDTH: Final = 13

_STYLES: Final[Mapping[Tone, Callable[[str], str]]] = {"good": good, "bad": bad, "doubtful": doubtful, "plain": str}


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence of an effect, under a label of a word or two."""

    label: str
    text: str
    tone: Tone = "plain"


def effect_title(effect: Mapping[str, Json], base: str | None) -> str:
    """What the effect is of, and what was compared."""
    whose = shown(effect.get("repository")) if is_of_service(effect) else "everybody's catalogs"
    if effect.get("repository") is None:
        # Offline: there is nobody else to speak of.
        whose = "this repository's own playbooks, without a registry"
    compared = effect.get("compared_with")
    if compared == "base":
        since = f"since {shown(base)}"
    elif compared == "in-force":
        since = f"compared with what is in force ({shown(str(effect.get('in_force'))[:12])})"
    else:
        since = "compared with nothing, since nothing of it is in force"
    return f"Effect on {whose}, {since}"


def effect_lines(effect: Mapping[str, Json]) -> list[Line]:
    """The effect, the most serious things first within what belongs together; one line where there is none."""
    service = is_of_service(effect)
    lines = [*_about(effect), *(_of_service(effect) if service else _of_central(effect))]
    if not any(line.label for line in lines):
        lines.append(Line("", "Nothing that is served changes."))
    return lines


def styled(title: str, lines: list[Line]) -> list[str]:
    """The lines as a terminal shows them."""
    found = [heading(title + ":")]
    for line in lines:
        label = f"{line.label:<{LABEL_WIDTH}}" if line.label else ""
        found.append(f"  {_STYLES[line.tone](label)}{line.text if label else faint(line.text)}")
    return found


def _about(effect: Mapping[str, Json]) -> Iterator[Line]:
    if effect.get("suspended"):
        yield Line("would wait", shown(effect["suspended"]), "bad")
    if effect.get("rules_stay"):
        yield Line(
            "rules stay",
            "The policy file is gone or does not load, so its last good rules hold until one does.",
            "doubtful",
        )
    if effect.get("registered") is False:
        yield Line("", "The repository is not registered: this is what would be, once it is.")
    if effect.get("same_loader") is False and effect.get("compared_with") == "in-force":
        yield Line(
            "", "The registry reads files by another version of the rules: what is told as changed may be the same."
        )


def _of_service(effect: Mapping[str, Json]) -> Iterator[Line]:
    yield from _sort(effect, "refused", "refused", "bad", refused)
    yield from _sort(effect, "colliding", "collides", "bad", colliding)
    yield from _sort(effect, "unavailable", "unavailable", "bad", lambda row: f"{named(row)}: nobody serves it")
    yield from _sort(effect, "added", "added", "good", with_version)
    yield from _sort(effect, "changed", "changed", "plain", changed)
    yield from _sort(effect, "mended", "mended", "good", lambda row: f"{with_version(row)} loads again")
    # Without a registry nobody knows whether central has the name too.
    gone = with_earlier_version if effect.get("repository") is None else removed
    yield from _sort(effect, "removed", "removed", "doubtful", gone)
    yield from _sort(effect, "shadowing", "shadows", "doubtful", shadowing)
    yield from _sort(
        effect, "freed", "freed", "good", lambda row: f"{with_version(row)}: not required any more, it serves"
    )
    yield from _sort(
        effect,
        "waived",
        "waived",
        "doubtful",
        lambda row: f"{with_version(row)}: by a waiver until {shown(row.get('until'))}",
    )
    yield from _sort(effect, "held", "held", "bad", held)
    yield from _sort(effect, "dangling", "dangling", "doubtful", dangling)


def _of_central(effect: Mapping[str, Json]) -> Iterator[Line]:
    places = effect.get("repositories")
    read = places.get("read") if isinstance(places, Mapping) else None
    reach = reach_among(read if isinstance(read, int) else 0)
    yield from _sort(effect, "colliding", "collides", "bad", colliding)
    yield from _shared(effect, "unavailable", "unavailable", "bad", lambda row: f"{unserved(row)}{reach(row)}")
    yield from _shared(effect, "added", "added", "good", lambda row: f"{with_version(row)}{reach(row)}")
    yield from _shared(effect, "changed", "changed", "plain", lambda row: f"{changed(row)}{reach(row)}")
    yield from _shared(effect, "mended", "mended", "good", lambda row: f"{with_version(row)} loads again{reach(row)}")
    yield from _shared(effect, "removed", "removed", "doubtful", lambda row: f"{with_earlier_version(row)}{reach(row)}")
    yield from _shared(effect, "held", "held", "bad", held)
    yield from _shared(effect, "dangling", "dangling", "doubtful", dangling)
    yield from _rules(effect)
    yield from _elsewhere(effect, "refused", "refused", "bad", "{copy} is refused from now on")
    yield from _elsewhere(effect, "unavailable", "unavailable", "bad", "nobody serves {name} any more")
    yield from _elsewhere(effect, "freed", "freed", "good", "{copy} is not refused any more")
    yield from _elsewhere(effect, "waived", "waived", "doubtful", "{copy} serves by a waiver until {until}")
    yield from _elsewhere(effect, "shadowing", "shadows", "doubtful", "{copy} serves there instead of central's")
    yield from _elsewhere(effect, "behind", "not reached", "doubtful", "{copy} stays in front of the changed one")
    if isinstance(places, Mapping):
        yield from _repositories(places)


def _rules(effect: Mapping[str, Json]) -> Iterator[Line]:
    rules = effect.get("rules")
    yield from _listed(rules, "required", "required", "bad", lambda row: f"{named(row)} from now on{because(row)}")
    yield from _listed(
        rules,
        "no_longer_required",
        "not required",
        "bad",
        lambda row: f"{named(row)} any more: copies of it may serve ({grounds_of(row)} said so)",
    )
    # A rule by name that made or unmade a requirement is told by that already.
    told = {row.get("name") for name in ("required", "no_longer_required") for row in items_of(rules, name)}
    yield from _listed(rules, "marks_added", "rule added", "plain", marked, lambda row: row.get("name") not in told)
    yield from _listed(
        rules, "marks_removed", "rule removed", "doubtful", marked, lambda row: row.get("name") not in told
    )
    yield from _listed(rules, "waivers_added", "waiver added", "doubtful", waived)
    yield from _listed(rules, "waivers_removed", "waiver ended", "plain", waived)
    yield from _listed(
        rules,
        "waivers_moved",
        "waiver moved",
        "doubtful",
        lambda row: f"{waived(row)} instead of {shown(row.get('until_before'))}",
    )
    # Of those in the policy file each is a problem of its own.
    yield from _listed(
        rules,
        "unmatched",
        "no match",
        "bad",
        unmatched,
        lambda row: row.get("kind") == "waiver" or row.get("origin") == "api",
    )


def _repositories(places: Row) -> Iterator[Line]:
    read, registered, changed = places.get("read"), places.get("registered"), places.get("changed")
    if not isinstance(read, int) or not isinstance(registered, int) or not isinstance(changed, Mapping):
        return
    count, items = changed.get("count"), changed.get("items")
    if registered > read:
        yield Line("", f"{many(registered - read, 'repository')} not read yet, and left out of this.")
    if not count or not isinstance(count, int):
        if registered:
            yield Line("catalogs", f"none of {many(read, 'repository')} changes")
        return
    whose = f"{count} of {many(read, 'repository')} change"
    if count < read and isinstance(items, list):
        named = ", ".join(shown(item) for item in items[:IDS_SHOWN_MAX])
        whose += f": {named}" + (f" and {count - IDS_SHOWN_MAX} more" if count > IDS_SHOWN_MAX else "")
    yield Line("catalogs", whose)


def _sort(effect: Mapping[str, Json], sort: str, label: str, tone: Tone, say: Callable[[Row], str]) -> Iterator[Line]:
    yield from _bounded(rows_of(effect, sort), count_of(effect, sort), label, tone, say)


def _shared(effect: Mapping[str, Json], sort: str, label: str, tone: Tone, say: Callable[[Row], str]) -> Iterator[Line]:
    """The rows about central's own catalog, which is everybody's."""
    rows = [row for row in rows_of(effect, sort) if row.get("repository") is None]
    yield from _bounded(rows, len(rows), label, tone, say)


def _elsewhere(effect: Mapping[str, Json], sort: str, label: str, tone: Tone, sentence: str) -> Iterator[Line]:
    """The rows about repositories with a copy of their own, each with the team to talk to."""

    def say(row: Row) -> str:
        team = f" ({shown(row.get('team'))})" if row.get("team") else ""
        said = sentence.format(copy=f"its {with_version(row)}", name=named(row), until=shown(row.get("until")))
        return f"{shown(row.get('repository'))}{team}: {said}"

    rows = [row for row in rows_of(effect, sort) if row.get("repository") is not None]
    shared = len(rows_of(effect, sort)) - len(rows)
    yield from _bounded(rows, count_of(effect, sort) - shared, label, tone, say)


def _listed(
    rules: Json,
    name: str,
    label: str,
    tone: Tone,
    say: Callable[[Row], str],
    wanted: Callable[[Row], bool] = lambda _row: True,
) -> Iterator[Line]:
    rows = [row for row in items_of(rules, name) if wanted(row)]
    yield from _bounded(rows, len(rows), label, tone, say)


def _bounded(rows: list[Row], count: int, label: str, tone: Tone, say: Callable[[Row], str]) -> Iterator[Line]:
    for row in rows[:SHOWN_MAX]:
        yield Line(label, say(row), tone)
    if count > SHOWN_MAX:
        yield Line(label, f"and {count - min(len(rows), SHOWN_MAX)} more; as JSON they are listed", tone)
