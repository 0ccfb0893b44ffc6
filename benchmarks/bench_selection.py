"""The selection cases of a catalog of 200 playbooks with 5 tasks and 5 near misses each, beside as many searches."""

import argparse
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from support import Row, folder, median, ratio, rounds, table

from indexer.reader import IndexReader
from indexer.tally import CatalogStatistics
from indexer.writer import IndexWriter
from registry.digest import Json
from registry.service.selecting import Selectable, evaluate_selection

GOAL = 0.6
PLAYBOOKS = 200
CASES_EACH = 5
WORDS = 4_000
TOPIC = 30
"""Words that a playbook is about; the rest of its text is anybody's."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--playbooks", type=int, default=PLAYBOOKS)
    chosen = options.parse_args()
    playbooks = catalog(chosen.playbooks, random.Random(7))
    texts = [text for playbook in playbooks for text in cases(playbook)]
    with folder() as place:
        reader, statistics = written(place, playbooks)
        report, search = rounds(
            chosen.rounds,
            lambda: cpu_s(lambda: evaluate_selection(playbooks)),
            lambda: cpu_s(lambda: [reader.search(text, scopes=("central",), statistics=statistics) for text in texts]),
        )
    share = ratio(report, search)
    rows = [
        Row("a search for each case", (f"{median(search):.2f} s", "1.00")),
        Row("the report on all cases", (f"{median(report):.2f} s", f"{share:.2f}"), share <= GOAL),
    ]
    table(
        f"selection: {len(texts)} cases of {chosen.playbooks} playbooks",
        ["CPU", "ratio"],
        rows,
        f"The goal is a ratio of {GOAL} or less. The report asks each case of the catalog without its own text, and\n"
        "tells where its playbook comes and what is first; a search gives ten hits with the reasons for each.",
    )


def catalog(count: int, chance: random.Random) -> list[Selectable]:
    """Playbooks about topics of their own, in words of which some are frequent and most are rare, as in any text."""
    words = ["".join(chance.choices("aeiou" + "bcdfgklmnprst", k=chance.randint(4, 9))) for _ in range(WORDS)]
    weights = [1 / rank for rank in range(10, WORDS + 10)]

    def some(topic: Sequence[str], length: int) -> str:
        own = chance.sample(topic, length // 2)
        return " ".join([*own, *chance.choices(words, weights, k=length - len(own))])

    topics = [chance.choices(words, weights, k=TOPIC) for _ in range(count)]
    return [
        Selectable(f"playbook-{number}", f"sha256:{number}", contract(topic, topics[number - 1], some))
        for number, topic in enumerate(topics)
    ]


def contract(
    topic: Sequence[str], neighbour: Sequence[str], some: Callable[[Sequence[str], int], str]
) -> dict[str, Json]:
    return {
        "tags": list(topic[:2]),
        "purpose": some(topic, 24),
        "not_for": [some(neighbour, 8)],
        "steps": [{"id": f"s{number}", "instruction": some(topic, 16)} for number in range(6)],
        "selection": {
            "should_find": [some(topic, 10) for _ in range(CASES_EACH)],
            "should_not_find": [some(neighbour, 10) for _ in range(CASES_EACH)],
        },
    }


def cases(playbook: Selectable) -> list[str]:
    selection = playbook.contract["selection"]
    lists = selection.values() if isinstance(selection, dict) else ()
    return [str(text) for texts in lists if isinstance(texts, list) for text in texts]


def written(place: Path, playbooks: Sequence[Selectable]) -> tuple[IndexReader, CatalogStatistics]:
    documents = [playbook.document for playbook in playbooks]
    with IndexWriter(place) as writer:
        writer.apply(documents, [])
    return IndexReader(place), CatalogStatistics.of(documents)


def cpu_s(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    main()
