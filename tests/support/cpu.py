"""What a piece of work costs in CPU time, on a machine that may do other things meanwhile.

A busy neighbour on the same core makes CPU time longer too. So the fastest of several rounds counts, divided by how many
times slower a fixed piece of work is at that moment than on two idle cores.
"""

import gc
import json
import statistics
import time
from collections.abc import Callable

import yaml
from yaml.cyaml import CParser

from registry.processes import collect_rarely

_YAML = "items:\n" + "- {name: value, list: [1, 2, 3]}\n" * 1_000
_JSON = json.dumps([{"name": "value", "list": [[1], [2], [3]]}] * 4_000)
_SAMPLE_SECONDS = 0.0088


def thread_seconds(work: Callable[[], object]) -> float:
    """The CPU seconds of one run in this thread."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def fastest(work: Callable[[], object], *, enough: float, rounds: int = 12) -> float:
    """The fewest CPU seconds of a run, as on an idle machine; of `rounds`, or until one takes no more than `enough`.

    Garbage is collected as in the processes that read files for long, not among all that a test suite holds in memory.
    """
    found = thread_seconds(work)
    if found <= enough:
        return found
    thresholds = gc.get_threshold()
    collect_rarely()
    try:
        for _ in range(rounds):
            before, seconds, after = slowness(), thread_seconds(work), slowness()
            found = min(found, seconds / ((before + after) / 2))
            if found <= enough:
                break
            # Whoever is busy beside this may be done by then.
            time.sleep(0.2)
        return found
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def slowness() -> float:
    """How many times slower than on an idle machine a fixed piece of work is now; 1 at least."""
    return max(1.0, statistics.mean(thread_seconds(_sample) for _ in range(4)) / _SAMPLE_SECONDS)


def _sample() -> None:
    """What reading is made of: the parser's events, and many small values."""
    next_event = CParser(_YAML).get_event
    while not isinstance(next_event(), yaml.StreamEndEvent):
        pass
    json.loads(_JSON)
