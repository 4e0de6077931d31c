"""`release.plot`: the pictures of a report, one by one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Literal, NoReturn

from veil.errors import ParameterError, PlanError, did_you_mean
from veil.outcome.outcome import require_outcome
from veil.report.content.measured import Findings
from veil.report.pictures import draw as pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Plots:
    """Pictures of a release. Each method returns a matplotlib figure; most can draw into existing axes.

    No picture names an original value that the release does not show. But frequencies in the input include
    suppressed records, so these pictures are for the data holder.

    >>> import pyarrow as pa
    >>> import veil
    >>> people = pa.table({"sex": ["f", "f", "m"]})
    >>> release = veil.anonymize(people, quasi_identifiers={"sex": "suppression"}, models=veil.KAnonymity(2))
    >>> figure = release.plot.risks()
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['share of the records']
    """

    def __init__(self, release: object) -> None:
        self._outcome = require_outcome(release)

    def __repr__(self) -> str:
        return f"pictures of a release: {', '.join(self._pictures())}"

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Refuse the call, and list the pictures."""
        raise ParameterError(f"say which picture: {', '.join(f'plot.{each}' for each in self._pictures())}")

    @classmethod
    def _pictures(cls) -> list[str]:
        return [f"{name}()" for name in vars(cls) if not name.startswith("_")]

    @functools.cached_property
    def _findings(self) -> Findings:
        return Findings(self._outcome, exact=True)

    def risks(self, *, ax: Axes | None = None) -> Figure:
        """Draw the share of records by re-identification risk, before and after."""
        return pictures.risks(self._findings.risks, ax)

    def class_sizes(self, *, ax: Axes | None = None) -> Figure:
        """Draw the share of records by class size, before and after."""
        return pictures.class_sizes(self._findings.risks, ax)

    def distribution(self, column: str, *, ax: Axes | None = None) -> Figure:
        """Draw the frequencies of the released values of a column, before and after."""
        columns = {each["column"]: each for each in self._findings.distributions}
        if column not in columns:
            raise PlanError(f"the release has no column {column!r} to draw.{did_you_mean(column, columns)}")
        return pictures.distribution(columns[column], ax)

    def distributions(self) -> Figure:
        """Draw the distributions of all columns."""
        return pictures.distributions(self._findings.distributions)

    def correlations(self, *, table: Literal["before", "after"] = "after", ax: Axes | None = None) -> Figure:
        """Draw the associations of columns: of both tables or, into existing axes, of one of them."""
        matrices = self._findings.associations
        return pictures.correlations(matrices) if ax is None else pictures.correlation(matrices, table, ax)

    def space(self, by: Literal["score", "suppressed"] = "score", *, ax: Axes | None = None) -> Figure:
        """Draw the evaluated transformations by the sum of their levels."""
        return pictures.space(self._findings.space, by, ax)

    def quality(self, *, ax: Axes | None = None) -> Figure:
        """Draw the best score over the time of the search."""
        return pictures.quality(self._findings.curve, ax)
