"""Query strings and the `Prefer` header, read strictly: a misspelt parameter is told, not ignored."""

import difflib
import math
from collections.abc import Collection, Mapping
from urllib.parse import parse_qsl

from registry.errors import RequestInvalid

FIELDS_MAX = 64
PREFER_WAIT_MAX_S = 60.0


class Parameters:
    """The parameters of one request by name. Names outside `known` never get here."""

    def __init__(self, values: Mapping[str, list[str]]) -> None:
        self._values = values

    def text(self, name: str) -> str | None:
        """The value of a parameter, None where it is absent. Raises RequestInvalid where it is given twice."""
        values = self._values.get(name)
        if values is None:
            return None
        if len(values) > 1:
            raise RequestInvalid(f"{name} is given {len(values)} times: give it once.", parameter=name)
        return values[0]

    def texts(self, name: str) -> tuple[str, ...]:
        """Every value of a parameter that may repeat."""
        return tuple(self._values.get(name, ()))

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number from `least` to `most`; raises RequestInvalid for anything else."""
        text = self.text(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) <= 9 and least <= int(text) <= most):
            raise RequestInvalid(f"{name} is {text[:40]!r}: give a number from {least} to {most}.", parameter=name)
        return int(text)

    def choice(self, name: str, choices: Collection[str]) -> str | None:
        """One of `choices`, None where the parameter is absent; raises RequestInvalid for anything else."""
        text = self.text(name)
        if text is not None and text not in choices:
            listed = ", ".join(sorted(choices))
            raise RequestInvalid(f"{name} is {text[:40]!r}: it can be {listed}.", parameter=name)
        return text


def read_parameters(query: bytes, known: Collection[str]) -> Parameters:
    """The parameters of a raw query string.

    Raises RequestInvalid for an unknown name (with the nearest known one), text that is not UTF-8, or more than
    FIELDS_MAX fields.
    """
    if not query:
        return Parameters({})
    try:
        pairs = parse_qsl(query.decode(), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except UnicodeDecodeError:
        raise RequestInvalid("the query string is not UTF-8: percent-encode UTF-8 bytes.") from None
    except ValueError:
        raise RequestInvalid(f"the query string has more than {FIELDS_MAX} fields: give fewer.") from None
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        if name not in known:
            raise RequestInvalid(
                f"{name[:40]!r} is no parameter of this call: {suggest(name, known)}", parameter=name[:40]
            )
        values.setdefault(name, []).append(value)
    return Parameters(values)


def suggest(name: str, known: Collection[str]) -> str:
    """The end of a sentence about an unknown name: the nearest known one, or all of them."""
    nearest = difflib.get_close_matches(name[:80], sorted(known), 1, 0.6)
    if nearest:
        return f"did you mean {nearest[0]}?"
    return f"it takes {', '.join(sorted(known))}." if known else "it takes none."


def preferred_wait_s(prefer: str | None) -> float | None:
    """The seconds of `wait=` in a `Prefer` header (RFC 7240), PREFER_WAIT_MAX_S at most.

    None where there is none or where it is no number of seconds: a preference that is not understood is ignored.
    """
    for member in (prefer or "").split(","):
        preference = member.partition(";")[0]
        name, _, value = (part.strip() for part in preference.partition("="))
        if name.lower() != "wait":
            continue
        try:
            seconds = float(value.strip('"'))
        except ValueError:
            return None
        return min(seconds, PREFER_WAIT_MAX_S) if math.isfinite(seconds) and seconds >= 0 else None
    return None
