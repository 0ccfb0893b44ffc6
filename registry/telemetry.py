"""Prometheus metrics of a serving process; docs/metrics.md lists them, and a test holds the two together."""

from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from registry.errors import StoreFault, Unavailable
from registry.playbook.problems import PROBLEM_CODES
from registry.ports import SyncState
from registry.service.services import Services

BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class Telemetry:
    """The metrics of one process: what it answered, and what is in force when somebody asks."""

    def __init__(self, services: Services, now: Callable[[], datetime]) -> None:
        self._answers = _Answers()
        self._registry = CollectorRegistry()
        self._registry.register(self._answers)
        self._registry.register(_InForceCollector(services, now))
        self._tools = _Tools()
        self._registry.register(self._tools)
        self.observe = self._answers.observe
        self.observe_tool = self._tools.observe

    def text(self) -> bytes:
        """The exposition text of everything."""
        return generate_latest(self._registry)


class _Answers(Collector):
    """Counts and durations of answers, kept as plain numbers by the one thread that answers.

    The client library's own counters lock and look labels up for every answer, at a tenth of the cost of the answer.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], int] = {}
        self._durations: dict[str, tuple[list[int], list[float]]] = {}

    def observe(self, call: str, status: int, seconds: float) -> None:
        """Count one answer."""
        key = (call, status)
        self._counts[key] = self._counts.get(key, 0) + 1
        found = self._durations.get(call)
        if found is None:
            found = self._durations[call] = ([0] * (len(BUCKETS_S) + 1), [0.0])
        buckets, total_s = found
        buckets[bisect_left(BUCKETS_S, seconds)] += 1
        total_s[0] += seconds

    def collect(self) -> Iterable[Metric]:
        requests = CounterMetricFamily("registry_requests", "Answers by call and status.", labels=["call", "status"])
        for (call, status), count in sorted(self._counts.copy().items()):
            requests.add_metric([call, str(status)], count)
        yield requests
        durations = HistogramMetricFamily("registry_request_seconds", "Seconds per answer by call.", labels=["call"])
        for call, (buckets, total_s) in sorted(self._durations.copy().items()):
            bounds = [*map(floatToGoString, BUCKETS_S), "+Inf"]
            durations.add_metric([call], list(zip(bounds, accumulate(buckets), strict=True)), total_s[0])
        yield durations


class _Tools(Collector):
    """Counts of MCP tool calls, each told once, by the one thread that answers."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def observe(self, tool: str, outcome: str) -> None:
        """Count one call."""
        self._counts[tool, outcome] = self._counts.get((tool, outcome), 0) + 1

    def collect(self) -> Iterable[Metric]:
        calls = CounterMetricFamily(
            "registry_mcp_calls", "MCP tool calls by tool and outcome.", labels=["tool", "outcome"]
        )
        for (tool, outcome), count in sorted(self._counts.copy().items()):
            calls.add_metric([tool, outcome], count)
        yield calls


class _InForceCollector(Collector):
    """Gauges read from what is in force at the moment of the scrape."""

    def __init__(self, services: Services, now: Callable[[], datetime]) -> None:
        self._services = services
        self._now = now

    def collect(self) -> Iterable[Metric]:
        view = self._services.in_force.view
        live = [item.id for item in view.registrations.values() if item.deregistered_at is None]
        states = Tally(view.statuses[item].state if item in view.statuses else SyncState.PENDING for item in live)
        sources = GaugeMetricFamily("registry_sources", "Registered sources by sync state.", labels=["state"])
        for state in SyncState:
            sources.add_metric([state.value], states[state])
        yield sources
        counts = [view.pointers[item].counts for item in live if item in view.pointers]
        for name, text, value in (
            ("registry_playbooks", "Playbooks of all sources that can serve.", sum(item.playbooks for item in counts)),
            ("registry_problems", "Problems of all sources' files.", sum(item.problems for item in counts)),
            ("registry_held", "Playbooks of which an earlier good copy serves.", sum(item.held for item in counts)),
            (
                "registry_store_sequence",
                "The newest write that this process has seen.",
                self._services.in_force.sequence,
            ),
        ):
            yield GaugeMetricFamily(name, text, value)
        runs = CounterMetricFamily("registry_runs", "Attempts at opening a run by outcome.", labels=["outcome"])
        for outcome, count in self._services.runs.attempts.counts().items():
            runs.add_metric([outcome], count)
        yield runs
        yield _by_code(self._services)
        fresh, age_s = self._services.catalogs.state_of(None)
        yield GaugeMetricFamily("registry_central_age_seconds", "Seconds since central was last checked.", age_s)
        yield GaugeMetricFamily("registry_central_fresh", "1 while central's last check is recent.", int(fresh))


def _by_code(services: Services) -> Metric:
    """Problems by code and level; none while the store cannot be asked, since the other numbers need no store."""
    gauge = GaugeMetricFamily(
        "registry_problems_by_code", "Problems and remarks of all sources by code and level.", labels=["code", "level"]
    )
    try:
        tally = services.problems.tally()
    except (StoreFault, Unavailable):
        return gauge
    # Every code has a row, so that one which comes for the first time is an increase and not a new series.
    none = {(code, known.level): 0 for code, known in PROBLEM_CODES.items()}
    for (code, level), count in sorted({**none, **tally}.items()):
        gauge.add_metric([code, level.value], count)
    return gauge
