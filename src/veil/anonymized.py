"""What a release and its local recoding share: an anonymized table, verified, with its risks and what it is worth."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.plan import Plan
from veil.preparation import Prepared
from veil.published import Published
from veil.risk import Risk, sample_risk
from veil.tables import Source, output_format, write
from veil.verification import Verification

if TYPE_CHECKING:
    from veil.local_recoding import Mode, RecodedRelease


class Part(NamedTuple):
    """Records that are generalized to the same levels: row numbers of the input."""

    levels: Levels
    rows: NDArray[np.int64]


def taken(prepared: Prepared, rows: NDArray[np.int64]) -> Prepared:
    """Return some rows as a table of its own; models go on comparing its classes with the whole one."""
    sample, codes = prepared.sample, tuple(column[rows] for column in prepared.codes)
    some = Sample(
        sample.encoding,
        list(codes),
        tuple(dataclasses.replace(each, codes=each.codes[rows]) for each in sample.attributes),
        microaggregated=sample.microaggregated,
        squares=prepared.plan.quality.needs_squares,
        baseline=sample,
    )
    return dataclasses.replace(
        prepared, table=prepared.table.take(pa.array(rows)), codes=codes, sample=some, subset=None
    )


class Anonymized:
    """An anonymized table. Those who make one set everything that is declared here."""

    plan: Plan
    arrow: pa.Table
    suppressed: int
    suppressed_rows: NDArray[np.bool_]
    within_limit: bool
    verification: Verification
    _source: Source
    _prepared: Prepared
    _rows: NDArray[np.int64] | None
    _flag: str | None

    @property
    def _parts(self) -> list[Part]:
        """All records that are not suppressed, by how they are generalized. The first part is there if empty."""
        raise NotImplementedError

    @functools.cached_property
    def table(self) -> Any:
        """The anonymized table, as the kind of frame that came in."""
        return self._source.restore(self.arrow, self._rows)

    @property
    def records(self) -> int:
        """Number of records that went in."""
        return int(self._prepared.table.num_rows)

    @property
    def _published(self) -> Published:
        names = [*self._prepared.encoding.names, *self.plan.aggregated]
        return Published(self.arrow, names, marker=self.plan.marker, flag=self._flag)

    def risk(self, threshold: float = 0.2) -> tuple[Risk, Risk]:
        """Re-identification risks of the input and of the release."""
        after = self._published
        before = Published(self._prepared.table, after.names, untouched=True)
        return sample_risk(before.sizes, threshold), sample_risk(after.sizes, threshold)

    def measures(self) -> dict[str, float | int]:
        """Classes, average class size, discernibility and loss, to compare any ways of anonymizing a table.

        Records that show nothing are one class, cost as many as there are records each (discernibility) and cover
        their whole domain (loss). Loss is that of `veil.quality.Loss`, neutral and without weights.
        """
        from veil.masking.partition import quality

        prepared, hierarchies = self._prepared, self._prepared.encoding.hierarchies
        distinct = prepared.sample.distinct_microaggregated
        covered = np.full(len(hierarchies) + distinct.size, float(self.suppressed))
        records = self.suppressed
        for part in self._parts:
            records += part.rows.size
            for j, (hierarchy, level) in enumerate(zip(hierarchies, part.levels, strict=True)):
                shares = hierarchy.shares[level][hierarchy.label_map(level)]
                covered[j] += shares[prepared.codes[j][part.rows]].sum()
            if distinct.size and part.rows.size:
                sample = taken(prepared, part.rows).sample
                classes, _ = sample.classes_of_rows(part.levels)
                covered[len(hierarchies) :] += sample.distinct_in_classes(classes) @ classes.count / distinct
        sizes = self._published.sizes
        bare = records - int(sizes.sum())
        # A microaggregated column loses nothing only in classes of one value: there is no least share to subtract.
        domains = [hierarchy.domain_size for hierarchy in hierarchies] + [float("inf")] * distinct.size
        found = quality(
            np.append(sizes, bare) if bare else sizes, (covered / max(1, records)).tolist(), domains
        )
        return {**found, "discernibility": int(found["discernibility"]) + bare * (records - bare)}

    def local_recoding(
        self,
        mode: Mode | None = None,
        *,
        time_limit: float | None = None,
        threads: int | None = None,
        progress: bool | Callable[[str, int, int, str], None] | None = None,
        cancel: Callable[[], bool] | None = None,
    ) -> RecodedRelease:
        """Transform the suppressed records again, on their own, so that fewer stay suppressed.

        Parameters
        ----------
        mode
            `SinglePass`, `Iterative` or `FastIterative` (see `veil.local_recoding`); by default `FastIterative()`.
        time_limit
            Seconds for all passes together. The limits of the plan hold for each pass.
        threads, progress, cancel
            As for `veil.anonymize`.
        """
        from veil.local_recoding import FastIterative, recode

        mode = FastIterative() if mode is None else mode
        return recode(self, mode, time_limit=time_limit, threads=threads, progress=progress, cancel=cancel)

    def save(self, path: str | Path) -> None:
        """Write the table to a file: completely, or not at all. The format follows the suffix and the input."""
        write(self.arrow, path, format=output_format(Path(path), self._source.format))
