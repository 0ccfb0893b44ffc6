"""The looks at sources that are under way in the pool, beside the jobs that read them."""

from collections.abc import Callable
from concurrent.futures import Executor, Future

import structlog

from registry.errors import RegistryError
from registry.sync.agenda import Agenda, Group
from registry.sync.examination import Outcome, Task
from registry.sync.examiner import Examiner

log = structlog.get_logger(__name__)


class Looks:
    """Gives the examiner's tasks to a pool. A source that is looked at is not read meanwhile: they share its mirror.

    Used by one thread; `wake` is called from others when a look has ended.
    """

    def __init__(self, examiner: Examiner, agenda: Agenda, wake: Callable[[], None]) -> None:
        self._examiner = examiner
        self._agenda = agenda
        self._wake = wake
        self._under_way: dict[Future[Outcome], Task] = {}

    @property
    def futures(self) -> tuple[Future[Outcome], ...]:
        """Those under way, to be waited for at the end."""
        return tuple(future for future in self._under_way if not future.cancelled())

    def submit(self, pool: Executor) -> None:
        """Begin as many as may be under way."""
        while (task := self._examiner.take(self._agenda.hold)) is not None:
            future = pool.submit(self._examiner.examine, task)
            self._under_way[future] = task
            future.add_done_callback(lambda _: self._wake())

    def collect(self) -> None:
        """Take over those that have ended."""
        for future in [item for item in self._under_way if item.done()]:
            task = self._under_way.pop(future)
            self._examiner.finish(task, _outcome(future, task))
            self._agenda.release(_group(task))


def _outcome(future: Future[Outcome], task: Task) -> Outcome | None:
    """What a look came to, or None where it failed: nobody's sync is the worse for it."""
    if future.cancelled():
        return None
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, RegistryError):
        log.warning("no remarks", repository=task.facts.repository, reason=str(error))
    else:
        log.error("no remarks", repository=task.facts.repository, exc_info=error)
    return None


def _group(task: Task) -> Group:
    return task.facts.registration.url, task.facts.registration.ref
