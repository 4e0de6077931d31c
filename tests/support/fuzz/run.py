"""Fuzzing for as long as one likes: documents go through their doors in a process that may die.

python -m support.fuzz.run --minutes 5              # all doors in turn; from the folder of the tests
python -m support.fuzz.run xlsx feather --documents 1000 --first 7000
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from support.fuzz.doors import DOORS, FOUND, Broken

PATIENCE = 20.0
"""Seconds that a document may take: of the processor, as others may keep it busy, and no more than ten times as many of the
clock.
"""


@dataclass
class Tally:
    """How many documents were tried, how they ended, and which were too much."""

    tried: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[str, int, str]] = field(default_factory=list)
    slowest: tuple[float, str, int] = (0.0, "", 0)


class Reader:
    """A process that reads documents, and is started anew when one was too much for it."""

    def __init__(self) -> None:
        self.context = mp.get_context("spawn")
        self.start()

    def start(self) -> None:
        """Start the process."""
        self.here, there = self.context.Pipe()
        self.process = self.context.Process(target=_serve, args=(there,), daemon=True)
        self.process.start()
        there.close()

    def attempt(self, door: str, seed: int) -> str | None:
        """Let a damaged document be read. Returns what was wrong; None if nothing was."""
        return self.read(door, DOORS[door].draw(seed))

    def warm_up(self, doors: list[str]) -> None:
        """Let good documents be read, for as long as it takes: the first one may wait for kernels to be compiled."""
        for door in doors:
            self.read(door, DOORS[door].good()[0], patient=True)

    def read(self, door: str, content: bytes, *, patient: bool = False) -> str | None:
        """Let a document be read."""
        try:
            self.here.send((door, content))
            if not patient and not self._waited(begun=self._processor_time()):
                self.stop()
                return f"takes more than {PATIENCE:g} s"
            wrong: str | None = self.here.recv()
            return wrong
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode
            self.start()
            return f"kills the process ({code})"

    def _waited(self, begun: float) -> bool:
        """Wait for an answer. Returns whether there is one."""
        for _ in range(10):
            if self.here.poll(PATIENCE):
                return True
            if self._processor_time() - begun > PATIENCE:
                return False
        return False

    def _processor_time(self) -> float:
        try:
            spent = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            return sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")
        except OSError:  # gone, or a system that does not tell: the clock alone counts
            return time.monotonic()

    def stop(self) -> None:
        """End the process, and start another."""
        self.process.kill()
        self.process.join()
        self.start()

    def close(self) -> None:
        """End the process for good."""
        self.process.kill()
        self.process.join()


def _serve(there: Any) -> None:
    import resource
    import warnings

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    while True:
        try:
            door, content = there.recv()
        except EOFError:
            return
        try:
            DOORS[door].attempt(content)
            there.send(None)
        except Broken as error:
            there.send(str(error))
        except BaseException as error:  # whatever comes through is what is looked for
            there.send(f"{type(error).__name__}: {error}")


def fuzz(doors: list[str], seeds: Iterator[int], until: float, keep: bool) -> Tally:
    """Try documents until the time is over."""
    tally, reader = Tally(), Reader()
    try:
        reader.warm_up(doors)
        for seed in seeds:
            for door in doors:
                if time.monotonic() > until:
                    return tally
                begun = time.monotonic()
                wrong = reader.attempt(door, seed)
                taken = time.monotonic() - begun
                tally.tried[door] += 1
                tally.slowest = max(tally.slowest, (taken, door, seed))
                if wrong is not None:
                    tally.broken.append((door, seed, wrong))
                    print(f"{door} {seed}: {wrong}", flush=True)
                    if keep:
                        _keep(door, seed)
    finally:
        reader.close()
    return tally


def _keep(door: str, seed: int) -> None:
    folder = FOUND / door
    folder.mkdir(parents=True, exist_ok=True)
    Path(folder, f"{seed}.bin").write_bytes(DOORS[door].draw(seed))


def main() -> int:
    """Fuzz as the command line says."""
    parser = argparse.ArgumentParser(description="Hand damaged documents to Veil.")
    parser.add_argument("doors", nargs="*", help="all by default")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--documents", type=int, help="of each door, instead of minutes")
    parser.add_argument("--first", type=int, default=None, help="the first seed; by default others each time")
    parser.add_argument("--keep", action="store_true", help="write what was too much into tests/fuzz/found")
    given = parser.parse_args()
    first = int(time.time()) * 1000 if given.first is None else given.first
    seeds = iter(range(first, first + given.documents)) if given.documents else count(first)
    until = time.monotonic() + (given.minutes * 60 if not given.documents else float("inf"))
    tally = fuzz(given.doors or list(DOORS), seeds, until, given.keep)
    print(f"\n{'door':14}{'tried':>8}{'failed':>8}")
    failed = Counter(door for door, _, _ in tally.broken)
    for door, tried in tally.tried.items():
        print(f"{door:14}{tried:8}{failed[door]:8}")
    print(f"{'all':14}{tally.tried.total():8}{failed.total():8}   from seed {first}")
    print(f"slowest: {tally.slowest[0]:.1f} s, {tally.slowest[1]} {tally.slowest[2]}")
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
