"""Whether a regular expression could take exponential time in an engine that backtracks.

This registry matches on a linear engine, but clients check the same schema with their own: a pattern like `^(a+)+$`
would hang them. The test is on the pattern's automaton: it is refused where one text can run round one loop in
two ways. Bounded repeats count as loops from `_LOOP_FROM` repeats on.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.loops import has_mixed_loop

_TOP = 0x10FFFF
_ANY = ((0, _TOP),)
_SPACE = (
    (9, 13),
    (32, 32),
    (0x85, 0x85),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
)
_CLASSES = {
    "d": ((48, 57),),
    "w": ((48, 57), (65, 90), (95, 95), (97, 122), (0x80, _TOP)),
    "s": _SPACE,
}
_CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "0": 0, "a": 7}
_LOOP_FROM = 11
# What one pattern, and all patterns of a schema together, may cost to be checked and to be compiled.
PAIR_CHECKS_MAX: Final = 50_000
WEIGHT_MAX: Final = 50_000
# A Unicode class such as \p{L} compiles to about as much as so many characters.
_PROPERTY_WEIGHT = 700
_POSITIONS_MAX = 300
_DEPTH_MAX = 32

Ranges = tuple[tuple[int, int], ...]


class _Unreadable(Exception):
    """The pattern uses what a linear engine does not offer; the text says what."""


class _Ambiguous(Exception):
    """One text can run round one loop in two ways."""


@dataclass(slots=True)
class _Part:
    """A piece of the automaton: whether it can be empty, and the positions it can begin and end with."""

    nullable: bool = True
    first: set[int] = field(default_factory=set)
    last: set[int] = field(default_factory=set)
    weight: int = 0


class Judgement(NamedTuple):
    """Why a pattern is refused, as the end of a sentence that begins with it, or None for a safe one; and its cost.

    `weight` is about what it compiles to, with repeats written out, and `checks` what it cost to be checked.
    """

    refusal: str | None
    weight: int = 0
    checks: int = 0


def refusal_of(pattern: str, *, limits: Limits = DEFAULT_LIMITS) -> str | None:
    """Why a pattern is refused, as the end of a sentence that begins with it; None for a safe one."""
    return judge(pattern, limits=limits).refusal


def judge(pattern: str, *, limits: Limits = DEFAULT_LIMITS) -> Judgement:
    """What is to be said of a pattern."""
    if len(pattern) > limits.pattern_chars:
        return Judgement(f"is longer than {limits.pattern_chars} characters: shorten it.")
    automaton = _Automaton(pattern)
    try:
        weight = automaton.read()
        if weight > WEIGHT_MAX:
            return Judgement("is too large with its repeats written out: repeat less often, and use maxLength.", weight)
        return Judgement(None, weight, automaton.check())
    except _Unreadable as found:
        return Judgement(f"{found}.")
    except _Ambiguous:
        return Judgement(
            "can match one text in exponentially many ways, which hangs engines that backtrack: "
            "let every turn of a repeated group begin with a character that the turn before cannot end with."
        )


class _Automaton:
    """Glushkov's automaton of a pattern: one position per character class, `follow` between them."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        self._ranges: list[Ranges] = []
        self._follow: list[set[int]] = []
        self._overlaps: dict[tuple[int, int], bool] = {}

    def read(self) -> int:
        """Builds the automaton, and weighs it; raises _Unreadable or _Ambiguous."""
        whole = self._alternatives()
        if self._at < len(self._pattern):
            raise _Unreadable("has a bracket too many")
        return whole.weight

    def check(self) -> int:
        """How many pairs were looked at; raises _Ambiguous where two runs leave one position and come back to it."""
        checks_left = PAIR_CHECKS_MAX
        edges: dict[tuple[int, int], list[tuple[int, int]]] = {}
        waiting = [(position, position) for position in range(len(self._ranges))]
        while waiting:
            pair = waiting.pop()
            if pair in edges:
                continue
            left, right = self._follow[pair[0]], self._follow[pair[1]]
            checks_left -= len(left) * len(right)
            if checks_left < 0:
                raise _Unreadable("is too intricate to be checked: shorten it")
            edges[pair] = [(one, other) for one in left for other in right if self._overlap(one, other)]
            waiting.extend(edges[pair])
        if has_mixed_loop(edges):
            raise _Ambiguous
        return PAIR_CHECKS_MAX - checks_left

    def _overlap(self, one: int, other: int) -> bool:
        if one == other:
            return True
        pair = (min(one, other), max(one, other))
        known = self._overlaps.get(pair)
        if known is None:
            known = self._overlaps[pair] = any(
                low <= top and bottom <= high for low, high in self._ranges[one] for bottom, top in self._ranges[other]
            )
        return known

    def _alternatives(self) -> _Part:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise _Unreadable("is nested too deep: flatten it")
        whole = self._sequence()
        while self._peek() == "|":
            self._at += 1
            other = self._sequence()
            whole = _Part(
                whole.nullable or other.nullable,
                whole.first | other.first,
                whole.last | other.last,
                whole.weight + other.weight,
            )
        self._depth -= 1
        return whole

    def _sequence(self) -> _Part:
        whole = _Part()
        while (char := self._peek()) and char not in "|)":
            part = self._repeated(self._atom())
            for position in whole.last:
                self._follow[position] |= part.first
            whole = _Part(
                whole.nullable and part.nullable,
                whole.first | part.first if whole.nullable else whole.first,
                whole.last | part.last if part.nullable else part.last,
                whole.weight + part.weight,
            )
        return whole

    def _repeated(self, part: _Part) -> _Part:
        while (bounds := self._quantifier()) is not None:
            least, most = bounds
            if most is None or (most >= _LOOP_FROM and most != least):
                for position in part.last:
                    if self._follow[position] & part.first:
                        raise _Ambiguous
                    self._follow[position] |= part.first
            repeats = max(least, 1 if most is None else most, 1)
            part = _Part(part.nullable or least == 0, part.first, part.last, min(part.weight * repeats, WEIGHT_MAX + 1))
        return part

    def _quantifier(self) -> tuple[int, int | None] | None:
        char = self._peek()
        bounds: tuple[int, int | None] | None = None
        if char and char in "*+?":
            self._at += 1
            bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        elif char == "{":
            inside, closed, _ = self._pattern[self._at + 1 :].partition("}")
            least, comma, most = inside.partition(",")
            if not closed or not least.isdecimal() or (most and not most.isdecimal()) or len(inside) > 12:
                raise _Unreadable("has a { that is no repeat count: write \\{ for the character")
            self._at += len(inside) + 2
            bounds = (int(least), int(most) if most else None if comma else int(least))
        if bounds is not None and self._peek() == "?":
            self._at += 1
        return bounds

    def _atom(self) -> _Part:
        char = self._take()
        if char == "(":
            return self._group()
        if char in "^$":
            return _Part()
        if char in "*+?{":
            raise _Unreadable(f"repeats nothing at {char}")
        begin = self._at
        if char == "[":
            ranges: Ranges | None = self._bracket()
        elif char == "\\":
            ranges = self._escape()
        else:
            ranges = _ANY if char == "." else ((ord(char), ord(char)),)
        if ranges is None:
            return _Part()
        source = self._pattern[begin - 1 : self._at]
        properties = source.count("\\p") + source.count("\\P")
        return self._position(ranges, len(ranges) + _PROPERTY_WEIGHT * properties)

    def _group(self) -> _Part:
        if self._peek() == "?":
            head = self._pattern[self._at : self._at + 3]
            if head[:2] in {"?=", "?!", "?>"} or head in {"?<=", "?<!"}:
                raise _Unreadable("looks ahead or behind, which a linear engine cannot: write it without")
            named = head[:2] in {"?<", "?P"}
            end = self._pattern.find(">" if named else ":", self._at)
            closing = self._pattern.find(")", self._at)
            if not named and closing >= 0 and (end < 0 or closing < end):
                self._at = closing + 1
                return _Part()
            self._at = end + 1 if end >= 0 else len(self._pattern)
        part = self._alternatives()
        if self._take() != ")":
            raise _Unreadable("has a bracket that is not closed")
        return part

    def _position(self, ranges: Ranges, weight: int) -> _Part:
        self._ranges.append(ranges)
        self._follow.append(set())
        if len(self._ranges) > _POSITIONS_MAX:
            raise _Unreadable("is too intricate to be checked: shorten it")
        number = len(self._ranges) - 1
        return _Part(nullable=False, first={number}, last={number}, weight=weight)

    def _escape(self) -> Ranges | None:
        """What the escape behind a backslash stands for; None for an assertion."""
        char = self._take()
        if char in "bBAz":
            return None
        if char.lower() in _CLASSES:
            ranges = _CLASSES[char.lower()]
            return ranges if char.islower() else _complement(ranges)
        if char in "123456789k":
            raise _Unreadable("refers back to a group, which a linear engine cannot: write it without")
        if char in "pP":
            rest = self._pattern[self._at :]
            self._at += rest.find("}") + 1 if rest.startswith("{") else 1
            return _ANY
        if char in "xuU":
            return self._code(char)
        if char == "c":
            return ((ord(self._take()) % 32,) * 2,)
        point = _CONTROLS.get(char, ord(char))
        return ((point, point),)

    def _code(self, char: str) -> Ranges:
        if self._peek() == "{":
            digits = self._pattern[self._at + 1 :].partition("}")[0]
            self._at += len(digits) + 2
        else:
            digits = self._pattern[self._at : self._at + {"x": 2, "u": 4, "U": 8}[char]]
            self._at += len(digits)
        try:
            point = min(int(digits[:8], 16), _TOP)
        except ValueError:
            raise _Unreadable("has an escape without its hexadecimal digits") from None
        return ((point, point),)

    def _bracket(self) -> Ranges:
        negated = self._peek() == "^"
        self._at += negated
        ranges: list[tuple[int, int]] = []
        first = True
        while (char := self._take()) != "]" or first:
            first = False
            if char == "[" or (char == "&" and self._peek() == "&"):
                raise _Unreadable("combines character classes: list the characters, or write \\[ and \\&")
            low = self._escape() if char == "\\" else ((ord(char), ord(char)),)
            if low is None:
                low = ((8, 8),)
            if self._peek() == "-" and self._pattern[self._at + 1 : self._at + 2] not in {"]", ""}:
                self._at += 1
                char = self._take()
                high = self._escape() if char == "\\" else ((ord(char), ord(char)),)
                low = ((low[0][0], (high or low)[-1][1]),)
            ranges.extend(low)
        return _complement(tuple(ranges)) if negated else tuple(ranges)

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self) -> str:
        char = self._peek()
        if not char:
            raise _Unreadable("ends in the middle of a group, a class or an escape")
        self._at += 1
        return char


def _complement(ranges: Ranges) -> Ranges:
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in sorted(ranges):
        if low > start:
            gaps.append((start, low - 1))
        start = max(start, high + 1)
    if start <= _TOP:
        gaps.append((start, _TOP))
    return tuple(gaps)
