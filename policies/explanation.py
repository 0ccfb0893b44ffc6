"""A decision in words that somebody new understands (http-api.md, explain).

Labels, problems and reasons come from repositories and callers: they are folded to one line each, and the door that
shows them escapes them.
"""

from dataclasses import dataclass

from policies.decision import CopyState, Decision, Outcome, Requirement, Side
from policies.rules import FRONT_MATTER_REASON, Standing

QUOTE_LENGTH_MAX = 300
"""Characters of a foreign text that are shown; the rest is cut."""

_ABOUT_SERVING = {
    Side.CENTRAL: "In {here}, {name} comes from the central repository: {central}.",
    Side.LOCAL: "In {here}, {name} comes from the repository itself: {local}.",
    None: "In {here}, nobody serves {name}: it is unavailable.",
}
_WHY = {
    Outcome.CENTRAL_ONLY: "There is no other copy of that name here, so the central one applies.",
    Outcome.LOCAL_WINS: (
        "A repository's own playbook goes before the central one of the same name, unless the central one is "
        "required, and here it is not."
    ),
    Outcome.REQUIRED_HOLDS: (
        "The playbook is required: the central copy holds everywhere. The repository's own copy ({local}) is refused: "
        "it is listed as such and never serves. Delete or rename it, or ask the platform team for a waiver."
    ),
    Outcome.WAIVER: "The playbook is required, but a waiver lets this repository use its own copy for a time.",
    Outcome.LOCAL_BROKEN: (
        "The repository has a copy of its own ({local}), but it cannot be used, so the central one stands in. "
        "Mend the copy, or delete it."
    ),
    Outcome.CENTRAL_BROKEN: "The central copy ({central}) cannot be used, and this repository has a good one.",
    Outcome.REQUIRED_BROKEN: (
        "The playbook is required, and its central copy ({central}) cannot be used. The repository's own copy "
        "({local}) may not stand in for a required one, so it is refused. Mend the central copy."
    ),
    Outcome.BROKEN: "There is no copy that can be used. Mend one of those that are there.",
    Outcome.LOCAL_ONLY: "The central repository has no playbook of that name.",
    Outcome.REQUIRED_MISSING: (
        "The playbook is required, but the central repository has no copy of it, and no other copy may stand in. "
        "Bring the central copy back, or take back the rule that makes it required."
    ),
    Outcome.WITHDRAWN: (
        "It is the turn of {turn} ({turn_label}), and the platform team withdrew exactly that copy. No other copy "
        "takes its place in silence. Publish a corrected version, or ask the platform team to take the withdrawal back."
    ),
}
_WITHOUT_A_COPY = "repositories without a copy of their own"
_STATES = {
    CopyState.HELD: (
        "{Whose} is held: what is newest of it cannot be used, so its last good version stands for it until that is "
        "mended or deleted."
    ),
    CopyState.BROKEN: "{Whose} does not load, and no earlier good version of it is known.",
    CopyState.AMBIGUOUS: "{Whose} is ambiguous: files with different content claim the name, and none is chosen.",
}
_WHOSE = {Side.CENTRAL: "the central copy", Side.LOCAL: "the repository's own copy"}
_GROUNDS = {
    "front-matter": "the central playbook itself",
    "policy-file": "the central repository's policy file",
    "api": "a mark made through the API",
}


@dataclass(frozen=True, slots=True)
class Account:
    """What there is to tell of one side's copy.

    `label` names it to a reader, for example `1.4.0 at playbooks/deploy.yaml`. `problem` is why its newest file does
    not load, if it does not; `withdrawn` is why exactly that copy was withdrawn, None where it was not.
    """

    state: CopyState
    label: str = ""
    problem: str = ""
    withdrawn: str | None = None


def explain(
    decision: Decision,
    *,
    name: str,
    repository: str | None,
    central: Account,
    local: Account,
    standing: Standing,
) -> tuple[str, ...]:
    """Sentences in the order in which they are read: who serves, why, by which rule, and what is wrong with a copy.

    `decision` and `standing` are of the same name, repository and day; `repository` None is the central catalog, which
    a repository that nobody registered gets.
    """
    accounts = {Side.CENTRAL: central, Side.LOCAL: local}
    turn = _turn(decision, local)
    words = {
        "here": repository or "the central catalog",
        "name": name,
        "central": _quoted(central.label) or name,
        "local": _quoted(local.label) or name,
        "turn": _WHOSE[turn],
        "turn_label": _quoted(accounts[turn].label) or name,
    }
    return (
        _ABOUT_SERVING[decision.serves].format(**words),
        _WHY[decision.outcome].format(**words),
        *_about_over(decision, words),
        *_about_requirement(decision, standing, central),
        *(sentence for side, account in accounts.items() for sentence in _about_copy(side, account)),
    )


def _turn(decision: Decision, local: Account) -> Side:
    """Whose turn it is by the table where the outcome is `withdrawn`: a local copy's, unless it is refused."""
    servable = local.state in {CopyState.GOOD, CopyState.HELD}
    return Side.LOCAL if servable and Side.LOCAL not in decision.refused else Side.CENTRAL


def _about_over(decision: Decision, words: dict[str, str]) -> tuple[str, ...]:
    if not decision.over:
        return ()
    others = "every repository without such a waiver" if decision.outcome is Outcome.WAIVER else _WITHOUT_A_COPY
    return (f"The central copy ({words['central']}) goes on serving {others}.",)


def _about_requirement(decision: Decision, standing: Standing, central: Account) -> tuple[str, ...]:
    if standing.requirement is Requirement.NO:
        return ()
    # What a file that never loaded says of itself is not known, and rules never weaken by accident.
    is_unread = central.state is CopyState.BROKEN
    grounds = [_GROUNDS[ground] for ground in standing.by if not (is_unread and ground == "front-matter")]
    sentences = [f"It is made required by {_listed(grounds)}."] if grounds else []
    if len(grounds) < len(standing.by):
        sentences.append("Its central file does not load, and counts as required until it does.")
    given = [reason for reason in standing.reasons if reason != FRONT_MATTER_REASON]
    sentences += [f"The reason given: {_sentence(reason)}" for reason in given]
    if standing.waiver is not None:
        waiver = standing.waiver
        sentences.append(
            f"The waiver holds through {waiver.until.isoformat()} 23:59:59 UTC and was approved by "
            f"{_quoted(waiver.approved_by)}: {_sentence(waiver.reason)}"
        )
        if decision.outcome is Outcome.WAIVER:
            sentences.append(_after_waiver(central))
    elif decision.outcome in {Outcome.CENTRAL_ONLY, Outcome.LOCAL_BROKEN}:
        sentences.append("If this repository had a good copy of its own, it would be refused.")
    return tuple(sentences)


def _after_waiver(central: Account) -> str:
    if central.state in {CopyState.GOOD, CopyState.HELD} and central.withdrawn is None:
        return "After that the central copy serves again."
    return "After that nobody serves it, unless a central copy can be used by then."


def _about_copy(side: Side, account: Account) -> tuple[str, ...]:
    whose = _WHOSE[side].capitalize()
    sentences = []
    if account.state in _STATES:
        sentences.append(_STATES[account.state].format(Whose=whose))
        if account.problem:
            sentences.append(f"The problem: {_sentence(account.problem)}")
    if account.withdrawn is not None:
        sentences.append(f"{whose} was withdrawn and never serves: {_sentence(account.withdrawn)}")
    return tuple(sentences)


def _listed(words: list[str]) -> str:
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTE_LENGTH_MAX else line[: QUOTE_LENGTH_MAX - 1] + "…"


def _sentence(text: str) -> str:
    line = _quoted(text) or "no reason was given"
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."
