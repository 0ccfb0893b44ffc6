"""Loops in a graph whose nodes are pairs: runs of one automaton side by side."""

from collections.abc import Mapping, Sequence

Pair = tuple[int, int]
Edges = Mapping[Pair, Sequence[Pair]]


def has_mixed_loop(edges: Edges) -> bool:
    """Whether a strongly connected component holds a pair of equals and a pair of unequals."""
    backwards: dict[Pair, list[Pair]] = {pair: [] for pair in edges}
    for pair, targets in edges.items():
        for target in targets:
            backwards[target].append(pair)
    done: set[Pair] = set()
    for root in _finishing_order(edges):
        if root in done:
            continue
        component, waiting = set(), [root]
        while waiting:
            pair = waiting.pop()
            if pair not in done:
                done.add(pair)
                component.add(pair)
                waiting.extend(backwards[pair])
        if len({one == other for one, other in component}) == 2:
            return True
    return False


def _finishing_order(edges: Edges) -> list[Pair]:
    order: list[Pair] = []
    seen: set[Pair] = set()
    for root, first in edges.items():
        stack = [(root, iter(first))] if root not in seen else []
        seen.add(root)
        while stack:
            pair, targets = stack[-1]
            following = next((target for target in targets if target not in seen), None)
            if following is None:
                order.append(pair)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(edges[following])))
    return order[::-1]
