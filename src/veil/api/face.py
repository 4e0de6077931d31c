"""What a release and its local recoding share: an anonymized table, verified, with its risks and what it is worth."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.outcome.outcome import Part, taken
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared
from veil.published.finding import Verification
from veil.published.table import Published
from veil.risk import Risk, sample_risk
from veil.tables import Source

if TYPE_CHECKING:
    from veil.local_recoding import Mode, RecodedRelease
    from veil.report import Plots


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
        return self._source.released(self)

    @property
    def records(self) -> int:
        """Number of records that went in."""
        return self._prepared.records()

    @property
    def _published(self) -> Published:
        names = [*self._prepared.encoding.names, *self.plan.aggregated]
        return Published(
            self.arrow,
            names,
            marker=self.plan.marker,
            flag=self._flag,
            weights=self._prepared.weights_of(self._rows),
        )

    def risk(self, threshold: float = 0.2) -> tuple[Risk, Risk]:
        """Re-identification risks of the input and of the release."""
        after = self._published
        weights = self._prepared.weights
        before = Published(self._prepared.table, after.names, untouched=True, weights=weights)
        return sample_risk(before.sizes, threshold), sample_risk(after.sizes, threshold)

    def measures(self) -> dict[str, float | int]:
        """Classes, average class size, discernibility and loss, to compare any ways of anonymizing a table.

        Records that show nothing are one class, cost as many as there are records each (discernibility) and cover
        their whole domain (loss). Loss is that of `veil.quality.Loss`, neutral and without weights.
        """
        from veil.quality.figures import quality

        prepared, hierarchies = self._prepared, self._prepared.encoding.hierarchies
        distinct = prepared.sample.distinct_microaggregated
        covered = np.full(len(hierarchies) + distinct.size, float(self.suppressed))
        records = self.suppressed
        for part in self._parts:
            records += prepared.records(part.rows)
            weights = prepared.weights_of(part.rows)
            for j, (hierarchy, level) in enumerate(zip(hierarchies, part.levels, strict=True)):
                shares = hierarchy.shares[level][hierarchy.label_map(level)]
                of_rows = shares[prepared.codes[j][part.rows]]
                covered[j] += of_rows.sum() if weights is None else of_rows @ weights
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

    def save(self, target: Any, **options: Any) -> Any:
        """Write the table to a file: completely, or not at all. The format follows the suffix and the input.

        What an engine holds, it writes itself, to a file, a folder or a table of a database, and checks it there; then
        there are options: see `veil.engines.write`.
        """
        return self._source.save(self, target, **options)

    def report(
        self,
        path: str | Path,
        *,
        progress: bool | Callable[[str, int, int, str], None] | None = None,
    ) -> Path:
        """Write a report: one self-contained HTML file, PDF or JSON, by the ending of the name.

        No original value of a suppressed or generalized cell is in it. It is for the data holder all the same, as it
        tells how often things occur in the input and holds the SHA-256 of it; recipients get the `certificate`.
        """
        from veil.report import write_report

        return write_report(self, Path(path), progress=progress)

    def certificate(self, path: str | Path) -> Path:
        """Write a certificate (JSON) by which recipients can check the table: see `veil.report.check_certificate`."""
        from veil.report import write_certificate

        return write_certificate(self, Path(path))

    @functools.cached_property
    def plot(self) -> Plots:
        """Pictures: `plot.risks()`, `plot.class_sizes()`, `plot.distributions()`, `plot.correlations()` and more."""
        from veil.report import Plots

        return Plots(self)

    def _repr_html_(self) -> str:
        from veil.report.pages.notebook import html_release

        return html_release(self)
