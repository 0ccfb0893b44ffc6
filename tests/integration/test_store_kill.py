"""A process that is killed at any moment loses nothing that it was told is stored."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest
from store_places import PLACES, place

from registry.store.sql import open_store

ROUNDS = 4
LONGEST_RUN_S = 0.5

WRITER = """
import itertools, json, sys
from store_places import NOON, entry, mark, publication, recipe, registration, token
from registry.digest import digest_of
from registry.store.sql import open_store

def stored(*what):
    sys.stdout.write(json.dumps(what) + "\\n")
    sys.stdout.flush()

store = open_store(sys.argv[1])
stored("open", "")
for number in itertools.count():
    word = f"{sys.argv[2]}-{number}"
    repository = f"git.example/acme/{word}"
    store.register(registration(repository), entry("register", subject=word))
    stored("registration", repository)
    store.put_mark(mark(word), entry("mark", subject=word))
    stored("mark", word)
    store.hand_out({f"sha256:{word}": recipe(repository=repository)}, NOON)
    stored("snapshot", f"sha256:{word}")
    store.publish([publication(word.encode(), repository=repository, documents=(word.encode() * 1000,))])
    stored("pointer", repository)
    store.put_token(token(word), entry("token", subject=word))
    stored("token", word)
"""


def killed_writer(url: str, word: str, after_s: float) -> list[tuple[str, str]]:
    """What a writer had acknowledged when it was killed `after_s` seconds after its first write could begin."""
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": os.environ.get("PATH", "")}
    child = subprocess.Popen([sys.executable, "-c", WRITER, url, word], stdout=subprocess.PIPE, env=environment)
    opened = child.stdout.readline()
    time.sleep(after_s)
    child.send_signal(signal.SIGKILL)
    lines = (opened + child.communicate(timeout=30)[0]).splitlines(keepends=True)
    assert child.returncode == -signal.SIGKILL
    return [tuple(json.loads(line)) for line in lines if line.endswith(b"\n")]


@pytest.mark.parametrize("kind", PLACES)
def test_a_killed_writer_loses_nothing_that_was_acknowledged(kind, tmp_path):
    with place(kind, tmp_path) as url:
        acknowledged = [
            found
            for number in range(ROUNDS)
            for found in killed_writer(url, f"round-{number}", random.uniform(0.02, LONGEST_RUN_S))
        ]
        with closing(open_store(url)) as store:
            changes = store.changes_since(0)
            there = {("open", "")}
            there |= {("registration", found.id) for found in changes.registrations}
            there |= {("mark", found.name) for found in changes.rules.marks}
            there |= {("pointer", found.repository) for found in changes.pointers}
            there |= {("token", found.id) for found in store.tokens()}
            there |= {found for found in acknowledged if found[0] == "snapshot" and store.recipe(found[1])}
            assert len(acknowledged) > ROUNDS
            assert set(acknowledged) - there == set()


@pytest.mark.parametrize("kind", PLACES)
def test_a_killed_writer_leaves_no_half_of_a_step(kind, tmp_path):
    with place(kind, tmp_path) as url:
        for number in range(ROUNDS):
            killed_writer(url, f"round-{number}", random.uniform(0.02, LONGEST_RUN_S))
        with closing(open_store(url)) as store:
            changes = store.changes_since(0)
            assert all(store.revision(pointer.revision) is not None for pointer in changes.pointers)
            told = {(found.action, found.subject) for found in store.audit(limit=100_000)}
            done = {("register", found.id.rpartition("/")[2]) for found in changes.registrations}
            done |= {("mark", found.name) for found in changes.rules.marks}
            done |= {("token", found.id) for found in store.tokens()}
            assert told == done


@pytest.mark.parametrize("kind", PLACES)
def test_a_killed_writer_does_not_lock_the_next_one_out(kind, tmp_path):
    with place(kind, tmp_path) as url:
        killed_writer(url, "first", 0.1)
        assert len(killed_writer(url, "second", 0.3)) > 1
