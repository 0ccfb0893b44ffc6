"""Prometheus metrics of a serving process; docs/metrics.md lists them, and a test holds the two together."""

from collections import Counter as Tally
from collections.abc import Callable, Iterable
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from registry.ports import SyncState
from registry.service.services import Services

BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class Telemetry:
    """The metrics of one process: what it answered, and what is in force when somebody asks."""

    def __init__(self, services: Services, now: Callable[[], datetime]) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "registry_requests", "Answers by call and status.", ("call", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "registry_request_seconds",
            "Seconds per answer by call.",
            ("call",),
            buckets=BUCKETS_S,
            registry=self._registry,
        )
        self._registry.register(_InForceCollector(services, now))

    def observe(self, call: str, status: int, seconds: float) -> None:
        """Count one answer."""
        self._requests.labels(call, str(status)).inc()
        self._seconds.labels(call).observe(seconds)

    def text(self) -> bytes:
        """The exposition text of everything."""
        return generate_latest(self._registry)


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
            ("registry_store_sequence", "The newest write that this process has seen.", view.sequence),
        ):
            yield GaugeMetricFamily(name, text, value)
        fresh, age_s = self._services.catalogs.state_of(None)
        yield GaugeMetricFamily("registry_central_age_seconds", "Seconds since central was last checked.", age_s)
        yield GaugeMetricFamily("registry_central_fresh", "1 while central's last check is recent.", int(fresh))
