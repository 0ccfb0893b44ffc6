"""The faults of YAML's text: what the parser stops on, and what it takes and this registry does not."""

from registry.playbook.spelling import quoted
from registry.playbook.text import Data, Fault, line_and_column
from registry.playbook.yaml_culprits import culprit_of
from registry.playbook.yaml_scene import Culprit, Stop


def fault_of_stop(text: str, stop: Stop) -> Fault:
    """The fault that a parser's stop comes to."""
    code = "yaml-syntax"
    culprit: Culprit
    if "maximum nesting depth" in stop.problem:
        code, culprit = "too-deep", (stop.at, "this is nested far too deep: flatten it.")
    elif "Unicode character escape" in stop.problem:
        at = max(text.rfind("\\", 0, stop.at + 1), 0)
        code, culprit = "text-invalid", (at, "this escape is no Unicode character: write the character itself.")
    elif "tag" in stop.context or "tag" in stop.problem.split():
        begin = stop.at if stop.context_at is None else stop.context_at
        message = "a value that begins with ! is taken for a tag: put the whole value in quotes."
        code, culprit = "tag-refused", (begin, message)
    else:
        culprit = culprit_of(text, stop)
    at = culprit[0] if culprit[0] < len(text) else len(text.rstrip("\r\n"))
    line, column = line_and_column(text, at)
    return Fault(code, line, column, culprit[1])


def fault_of_property(text: str, at: int) -> Fault:
    """The fault of an anchor (&), an alias (*) or a tag (!) that stands at `at`."""
    line, column = line_and_column(text, at)
    sign = text[at : at + 1]
    if sign not in {"&", "*"}:
        message = (
            "a value that begins with ! is taken for a tag, and tags are not read: remove the tag, or put the whole "
        )
        return Fault("tag-refused", line, column, message + "value in quotes if it is text.")
    taken, mend = ("an alias", "write the value out") if sign == "*" else ("an anchor", "remove it")
    message = (
        f"a value that begins with {sign} is taken for {taken}, which is not read: {mend}, or put the whole value in "
    )
    return Fault("alias-refused", line, column, message + "quotes if it is text.")


def fault_of_key(text: str, at: int, value: Data, source: str) -> Fault:
    """The fault of a key that is no text; `source` is how a single value is written."""
    before = text[:at].rstrip(" ")
    if isinstance(value, dict) and before.endswith("{"):
        at = len(before) - 1
        message = "a value that begins with {{ is taken for a YAML mapping: put the whole value in quotes."
    elif isinstance(value, dict | list):
        message = "a list or a mapping cannot be a key: put the whole key in quotes if it is text."
    elif not source:
        message = "there is no name before this colon: write one, or put the text in quotes."
    else:
        message = f"the key {quoted(source)} is not text: put it in quotes."
    line, column = line_and_column(text, at)
    return Fault("yaml-syntax", line, column, message)
