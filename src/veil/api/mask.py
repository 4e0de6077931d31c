"""The verb `mask`: one or more masking methods on any table, with the same summary for each."""

from __future__ import annotations

import contextlib
import functools
import io
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.progress import following
from veil.base.randomness import Randomness
from veil.engines.relation import Engine as EngineName
from veil.engines.relation import Relation, relation_of
from veil.engines.settings import Settings
from veil.errors import OutputError, PlanError, VerificationError
from veil.outcome.method import Method
from veil.published.finding import Finding
from veil.tables import Csv, Format, Source, atomic, output_format, read, write
from veil.tables.csv.writer import write_csv
from veil.utility.step import Summary, summarize

ProgressLike = bool | Callable[[str, int, int, str], None] | None


@dataclass(frozen=True)
class Step:
    """One method that was applied: what it cost and still reveals, what it promises, and facts about the run."""

    method: Method
    summary: Summary
    findings: tuple[Finding, ...]
    facts: Mapping[str, Any]

    def __str__(self) -> str:
        lines = [str(self.method)]
        lines += [f"  {line}" for line in str(self.summary).splitlines()]
        lines += [f"  {name}: {value}" for name, value in self.facts.items()]
        lines += [f"  {finding}" for finding in self.findings]
        return "\n".join(lines)


class Masked:
    """A masked table. `table` is the same kind of frame that came in.

    Attributes
    ----------
    arrow : pyarrow.Table
        The masked table.
    steps : tuple of Step
        What was done, in order; print one to read it.
    apart : dict
        Further tables by name, which do not belong into the same file: the key to pseudonyms, for example.
    secret : set
        Names of those that must not be released.
    is_private : bool
        False if the draws can be repeated by anybody who knows the seed.
    """

    def __init__(
        self,
        source: Source,
        arrow: pa.Table,
        steps: tuple[Step, ...],
        apart: Mapping[str, pa.Table],
        secret: frozenset[str],
        origins: NDArray[np.int64] | None,
        is_private: bool,
    ) -> None:
        self._source = source
        self._origins = origins
        self.arrow = arrow
        self.steps = steps
        self.apart = dict(apart)
        self.secret = secret
        self.is_private = is_private

    @functools.cached_property
    def table(self) -> Any:
        """The masked table, as the kind of frame that came in."""
        return self._source.restore(self.arrow, self._origins)

    def save(self, path: str | Path, *, apart: str | Path | None = None) -> list[Path]:
        """Write the table to a file, and the tables of `apart` as CSV files into a folder of their own.

        All of them completely, or none. The format of the file follows its suffix and the input. Only you may read
        the files apart, and what is secret does not go into the folder of the release. Return what was written.
        """
        target = Path(path)
        format = output_format(target, self._source.format)
        written = [] if apart is None else self._places(Path(apart), target)
        with contextlib.ExitStack() as stack:
            for place, table in zip(written, self.apart.values(), strict=False):
                temporary = stack.enter_context(atomic(place))
                temporary.chmod(0o600)  # before anything is in it
                content = io.BytesIO()
                write_csv(table, content, Csv())
                temporary.write_bytes(content.getvalue())
            write(self.arrow, target, format=format)
        return [target, *written]

    def _places(self, folder: Path, target: Path) -> list[Path]:
        if not folder.is_dir():
            raise OutputError(f"{folder}: is not a folder. Create it, or choose another one")
        if self.secret and folder.resolve() == target.resolve().parent:
            raise OutputError(
                f"{folder}: the release goes there, and {', '.join(sorted(self.secret))} must not. Choose another "
                "folder"
            )
        places = [folder / file_name(name) for name in self.apart]
        for place in places:
            if place.resolve() == target.resolve():
                raise OutputError(f"{place}: is where the release goes. Choose another folder")
        return places

    def __repr__(self) -> str:
        before = self._source.table.num_rows
        methods = ", ".join(type(step.method).__name__ for step in self.steps)
        apart = f", apart: {', '.join(self.apart)}" if self.apart else ""
        private = "" if self.is_private else ", NOT PRIVATE: made with a seed"
        return f"Masked({before} records, {self.arrow.num_rows} released, by {methods}{apart}{private})"


def mask(
    source: Any,
    steps: Method | Iterable[Method],
    *,
    format: Format | None = None,
    engine: EngineName | Settings = "auto",
    most_combinations: int | None = None,
    for_testing_seed: int | None = None,
    progress: ProgressLike = None,
) -> Masked:
    """Apply masking methods to a table, one after the other.

    Parameters
    ----------
    source
        A pandas, polars or pyarrow table, or the path of a CSV, Parquet, Feather or Excel file. Or, for `Mondrian`, a
        table that an engine holds, as for `veil.anonymize`; see `veil.engines.parts.mondrian.EngineMasked`.
    steps
        One method, or several in their order (see `veil.masking`).
    format
        How to read the file, where that cannot be told from its name and content.
    engine
        As for `veil.anonymize`.
    most_combinations
        Of a table that an engine holds: how many different combinations of cells to have in memory at a time. The
        result does not depend on it. By default as many as fit.
    for_testing_seed
        Makes all draws repeatable, for tests and reproductions. Whoever knows the seed can undo what chance has
        hidden: the result says `is_private = False` and is not for release.
    progress
        As for `veil.anonymize`.

    What a method promises is checked on its output; if that fails, nothing is handed out.

    Examples
    --------
    >>> from veil.masking import RandomSampling
    >>> mask(pa.table({"age": [30, 41, 52, 63]}), RandomSampling(size=3))
    Masked(4 records, 3 released, by RandomSampling)
    """
    methods = [steps] if isinstance(steps, Method) else list(steps)
    for each in methods:
        if not isinstance(each, Method):
            raise PlanError(
                f"a step should be a masking method, such as RankSwapping(['age'], p=10), not {each!r}"
            )
    if not methods:
        raise PlanError(
            "there is no step: give at least one masking method, such as RankSwapping(['age'], p=10)"
        )
    randomness = Randomness() if for_testing_seed is None else Randomness.for_testing(for_testing_seed)
    with following(progress) as told:
        told.phase("reading the table")
        if isinstance(source, Source):
            return _carry_out(source, methods, randomness, told)
        settings = engine if isinstance(engine, Settings) else None
        name: EngineName = "duckdb" if isinstance(engine, Settings) else engine
        relation = relation_of(source, format=format, engine=name, settings=settings)
        if relation is not None:
            return _on_engine(relation, methods, most_combinations, told)
        return _carry_out(read(source, format=format), methods, randomness, told)


def _on_engine(relation: Relation, methods: list[Method], most: int | None, told: Any) -> Masked:
    from veil.engines.parts.mondrian import masked  # which needs Ibis

    return masked(relation, methods, most, told)


def _carry_out(source: Source, methods: list[Method], randomness: Randomness, told: Any) -> Masked:
    table = source.table
    origins: NDArray[np.int64] | None = None
    done: list[Step] = []
    apart: dict[str, pa.Table] = {}
    secret: set[str] = set()
    for number, method in enumerate(methods, start=1):
        told.phase(f"step {number} of {len(methods)}: {type(method).__name__}")
        method.check_columns(table)
        outcome = method.mask(table, randomness)
        for finding in outcome.findings:
            if not finding.holds:
                raise VerificationError(f"{method}: the output does not keep its promise. {finding}")
        told.phase(f"step {number} of {len(methods)}: measuring loss and risk")
        summary = summarize(table, outcome.table, method.column_names, outcome.origins)
        done.append(Step(method, summary, outcome.findings, outcome.facts))
        for name, further in outcome.apart.items():
            unique = _unused(name, apart)
            apart[unique] = further
            if method.apart_is_secret:
                secret.add(unique)
        if outcome.origins is not None:
            origins = outcome.origins if origins is None else origins[outcome.origins]
        table = outcome.table
    return Masked(source, table, tuple(done), apart, frozenset(secret), origins, randomness.is_private)


def _unused(name: str, taken: Mapping[str, Any]) -> str:
    number, unique = 1, name
    while file_name(unique) in {file_name(each) for each in taken}:
        number += 1
        unique = f"{name} {number}"
    return unique


def file_name(name: str) -> str:
    """Return the name of the file that a table of `apart` is written to.

    >>> file_name("pseudonyms of name")
    'pseudonyms-of-name.csv'
    """
    return (re.sub(r"[^\w.-]+", "-", name).strip("-.").lower() or "table") + ".csv"
