"""A process that forks runs of Veil with everything imported already, and stops each at another step.

    python -m support.crashing.run FOLDER SIGNALS CASE[:POINTS]…

prints a line of JSON for each point: what the step was, how the run ended, and what was wrong, then or after the next run.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from support.crashing import cases, databases, engines
from support.crashing.case import Case
from support.crashing.kernel import Listener, next_descriptor, tell_parent_of_calls

KINDS: tuple[type[Case], ...] = (
    cases.Anonymize,
    cases.Mask,
    cases.PrivateTable,
    cases.Policy,
    cases.Report,
    cases.Certificate,
    cases.Budget,
    cases.Planted,
    engines.File,
    engines.Folder,
    engines.Tables,
    databases.OfDuckDB,
    databases.SeveralOfDuckDB,
    databases.OfPostgres,
    databases.SeveralOfPostgres,
    databases.OfMariaDB,
    databases.SeveralOfMariaDB,
)
CASES = {each.name: each for each in KINDS}
SAYS = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: 143, signal.SIGINT: 130}


class Ended(NamedTuple):
    """How a run ended."""

    code: int
    said: str
    step: str | None
    """Where it was stopped, if it was."""
    steps: list[str]


def run(
    job: Callable[[], object], place: Path, *, stop: int | None = None, number: int = signal.SIGKILL
) -> Ended:
    """Carry out a job in a process of its own and stop it at a step, if one is given."""
    log = place.with_name("log")
    shown, told = os.pipe()
    process = os.fork()
    if not process:
        os.close(shown)
        _carry_out(job, place, log, told, listened=stop is not None)
    os.close(told)
    at, steps = None, []
    if stop is not None:
        descriptor = int(os.read(shown, 16))
        listener = Listener(process, descriptor)
        while (call := listener.next()) is not None:
            if _counts(call.path, place):
                steps.append(
                    f"{call.name} {os.path.relpath(call.path, place) if '/' in call.path else 'socket'}"
                )
                if len(steps) == stop:
                    at = steps[-1]
                    os.kill(process, number)
            listener.go_on(call)
    os.close(shown)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return Ended(code, log.read_text(), at, steps)


def _counts(path: str, place: Path) -> bool:
    return path.startswith((f"{place}/", "socket:"))


def _carry_out(job: Callable[[], object], place: Path, log: Path, told: int, *, listened: bool) -> None:
    """Never returns."""
    code = 70
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.chdir(place)
        os.environ["TMPDIR"] = tempfile.tempdir = str(place / "tmp")
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(output, stream)
        if listened:
            os.write(told, b"%d" % next_descriptor())
            tell_parent_of_calls()
        try:
            job()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        except BaseException:
            traceback.print_exc()
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()
            sys.stdout.flush()
    finally:
        os._exit(code)


def try_point(case: Case, place: Path, stop: int, number: int, *, old: bool) -> dict[str, Any] | None:
    """Stop a run at a step, look, and let the next ones look as well; None if there is no such step.

    `old` says whether there is something to replace.
    """
    shutil.rmtree(place, ignore_errors=True)
    (place / "tmp").mkdir(parents=True)
    case.set_up(place, old)
    ended = run(case.job(place, overwrite=old), place, stop=stop, number=number)
    if ended.step is None:
        return None
    problems = [f"at once: {each}" for each in case.at_once(place, old)]
    if number != signal.SIGKILL:
        found = case.look(place)
        problems += _end(case, ended, number, found)
        if found not in case.whole(old):
            problems.append(f"not all or none: {found}")
    # A run that may not replace anything looks at what is there, and refuses it or writes all of it.
    again = run(case.job(place, overwrite=False), place)
    if again.code not in (0, 2) or "Traceback" in again.said:
        problems.append(f"the next run ended with {again.code}: {again.said.strip()[-300:]}")
    if (found := case.look(place)) not in case.whole(old):
        problems.append(f"not all or none after the next run: {found}")
    if again.code != 0:
        last = run(case.job(place, overwrite=True), place)
        if last.code != 0:
            problems.append(f"the run after that ended with {last.code}: {last.said.strip()[-300:]}")
    if (found := case.look(place)) != "new":
        problems.append(f"not there after the last run: {found}")
    problems += [f"left behind: {each}" for each in case.left(place)]
    return {
        "point": stop,
        "step": ended.step,
        "old": old,
        "code": ended.code,
        "said": ended.said.strip()[-300:],
        "problems": problems,
    }


def _end(case: Case, ended: Ended, number: int, found: str) -> Iterator[str]:
    """How somebody who stops a run is told of it."""
    if "Traceback" in ended.said or "sorry" in ended.said:
        yield f"a traceback: {ended.said.strip()[-600:]}"
    codes = (SAYS[signal.Signals(number)], 0) if case.speaks else (-number, 130, 0)
    if ended.code not in codes:
        yield f"ended with {ended.code}: {ended.said.strip()[-300:]}"
    if case.speaks and ended.code == SAYS[signal.Signals(number)]:
        lines = [line for line in ended.said.strip().splitlines() if not line.startswith("note: ")]
        if len(lines) != 1 or not lines[0].startswith("stopped; "):
            yield f"said: {ended.said.strip()[-300:]}"
        elif found == "new" and "nothing was written" in ended.said:
            yield "all is there, and it says that nothing is"
        elif found != "new" and "complete" in ended.said:
            yield "nothing is there, and it says that all is"


def steps_of(case: Case, place: Path, *, old: bool) -> list[str]:
    """All steps of a run that nobody stops; to replace something takes more of them."""
    shutil.rmtree(place, ignore_errors=True)
    (place / "tmp").mkdir(parents=True)
    case.set_up(place, old)
    whole = run(case.job(place, overwrite=old), place, stop=1 << 30)
    assert whole.code == 0, whole.said
    return whole.steps


def sample_of(name: str, steps: list[str], amount: int) -> list[int]:
    """Some steps by their numbers: half of them rename, link or commit, and all are drawn by a fixed rule."""
    numbers = range(1, len(steps) + 1)
    named = [n for n in numbers if steps[n - 1].startswith(("rename", "link"))]
    chosen = random.Random(name).sample(named, min(len(named), amount // 2))
    rest = [n for n in numbers if n not in chosen]
    return sorted(chosen + random.Random(name).sample(rest, min(len(rest), amount - len(chosen))))


def main(folder: str, signals: str, *cases: str) -> None:
    """Try points, and print what was found."""
    for each in cases:
        name, _, sample = each.partition(":")
        place = Path(folder).resolve() / name / "place"
        place.mkdir(parents=True)
        case = CASES[name]()
        case.import_all()
        try:
            try_points(case, place, signals.split(","), int(sample) if sample else None)
        finally:
            case.end()


def try_points(case: Case, place: Path, signals: list[str], sample: int | None) -> None:
    """Try points of a case: all of them with each signal, or a sample with one signal each, in turn."""
    for point, each, old in _points(case, place, signals, sample):
        found = try_point(case, place, point, getattr(signal, each), old=old)
        if found is not None:
            print(json.dumps({"case": case.name, "signal": each, **found}), flush=True)


def _points(
    case: Case, place: Path, signals: list[str], sample: int | None
) -> Iterator[tuple[int, str, bool]]:
    """Which step, which signal, and whether there is something to replace."""
    if sample is not None:
        points = sample_of(case.name, steps_of(case, place, old=False), sample)
        for index, point in enumerate(points):
            turn = index % len(signals)
            yield point, signals[turn], (point + turn) % 2 == 0
        return
    for old in (False, True):
        for point in range(1, len(steps_of(case, place, old=old)) + 1):
            for each in signals:
                yield point, each, old


if __name__ == "__main__":
    main(*sys.argv[1:])
