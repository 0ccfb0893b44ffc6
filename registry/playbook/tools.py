"""Which tools a document names, and which of them nothing declares."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from registry.digest import Json
from registry.playbook.spelling import nearest, quoted, suggestion
from registry.playbook.text import Path

Fields = Mapping[str, Json]

# Comparing every name with every other is quadratic; past this, only families are checked.
_PAIRS_COMPARED_MAX = 2_000
_HINTS_MAX = 8


def undeclared_tools(fields: Fields) -> Iterator[tuple[Path, str]]:
    """Where a tool is named that nothing declares, with a sentence.

    `tools` and `requires.mcp_servers` declare. They need not list what a host brings by itself, so a step or check may
    name a tool of a family that they do not list; of a family that they do list (`flags.` in `flags.get`) it has to be
    one of those listed. A checkpoint has to name a tool that is declared or that a step or check uses, else it could
    never be met.
    """
    declared = set(_declared(fields))
    families = {_family(each) for each in declared} - {""}
    used: dict[str, Path] = {}
    for at, name in _used(fields):
        used.setdefault(name, at)
    foreign = {name: at for name, at in used.items() if name not in declared}
    compares = len(foreign) * len(declared) <= _PAIRS_COMPARED_MAX
    hint = _Hints(declared)
    for name, at in foreign.items():
        if _family(name) in families or (compares and nearest(name, declared) is not None):
            yield at, f"no tool {quoted(name)} is declared: {hint.on(name)}"
    if not used and not declared:
        return
    hint = _Hints(declared | used.keys())
    for at, name in _checkpoint_tools(fields):
        if name not in declared and name not in used:
            message = f"this checkpoint waits for {quoted(name)}, which no step uses and nothing declares: "
            yield at, message + hint.on(name)


class _Hints:
    """Clauses about what a name was meant to be; to compare is slow, so only the first few problems get one."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = sorted(known)
        self._left = _HINTS_MAX

    def on(self, name: str) -> str:
        self._left -= 1
        return suggestion(name, self._known) if self._left >= 0 else "correct it, or declare it."


def risk_classes(fields: Fields) -> frozenset[str]:
    """The risk classes of all tools that a document declares, whichever of them its steps name, folded."""
    return fold_risks(tool.get("risk") for tool in _mappings(fields.get("tools")))


def fold_risks(risks: Iterable[Json]) -> frozenset[str]:
    """Risk classes as the native format spells them: `customer-comms` or `Money` must not slip past a rule."""
    return frozenset(each.strip().casefold().replace("-", "_") for each in risks if isinstance(each, str))


def _family(name: str) -> str:
    head, dot, _ = name.partition(".")
    return head + dot if dot else ""


def _declared(fields: Fields) -> Iterator[str]:
    for tool in _mappings(fields.get("tools")):
        yield str(tool.get("name"))
    requires = fields.get("requires")
    for server in _mappings(requires.get("mcp_servers") if isinstance(requires, Mapping) else None):
        listed = server.get("tools")
        yield from (str(each) for each in listed) if isinstance(listed, list) else ()


def _used(fields: Fields) -> Iterator[tuple[Path, str]]:
    for place, step in enumerate(_mappings(fields.get("steps"))):
        if isinstance(tool := step.get("tool"), str):
            yield ("steps", place, "tool"), tool
        allowed = step.get("allowed_tools")
        for nth, each in enumerate(allowed if isinstance(allowed, list) else ()):
            yield ("steps", place, "allowed_tools", nth), str(each)
    for key in ("preconditions", "verification"):
        for place, item in enumerate(_mappings(fields.get(key))):
            check = item.get("check")
            if isinstance(check, Mapping) and isinstance(tool := check.get("tool"), str):
                yield (key, place, "check", "tool"), tool


def _checkpoint_tools(fields: Fields) -> Iterator[tuple[Path, str]]:
    runbook = fields.get("runbook")
    checkpoints = runbook.get("checkpoints") if isinstance(runbook, Mapping) else None
    for place, checkpoint in enumerate(_mappings(checkpoints)):
        match = checkpoint.get("match")
        if isinstance(match, Mapping) and isinstance(tool := match.get("tool"), str):
            yield ("runbook", "checkpoints", place, "match", "tool"), tool


def _mappings(value: Json) -> list[Mapping[str, Json]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
