"""The result of local recoding: a release whose records are generalized to several levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veil.api.face import Anonymized
from veil.local_recoding.modes import Mode
from veil.outcome.assemble import assemble
from veil.outcome.outcome import Part, Pass
from veil.plan.prepare import Prepared
from veil.quality.factors import exact
from veil.tables import Source
from veil.verification.recoded import verify_recoded


class RecodedRelease(Anonymized):
    """A release whose suppressed records were transformed again. `table` is the same kind of frame that came in.

    A column whose cells are original values in some records and labels in others is a column of text.

    Attributes
    ----------
    mode : Mode
        How it was asked to go on from pass to pass.
    passes : list of Pass
        The passes that recoded something, in order.
    ending : str
        Why there is no further pass.
    suppressed, suppressed_rows
        Number of records that are still suppressed, and which.
    classes : int
        Number of classes.
    verification : Verification
        What the independent check of the whole output found.
    """

    def __init__(
        self,
        source: Source,
        prepared: Prepared,
        parts: list[Part],
        hidden: NDArray[np.bool_],
        passes: Sequence[Pass],
        ending: str,
        *,
        mode: Mode,
        over_limit: bool,
    ) -> None:
        self._source, self._prepared, self._made_of = source, prepared, parts
        self.plan = prepared.plan
        self.mode, self.passes, self.ending = mode, list(passes), ending
        self.suppressed_rows, self.suppressed = hidden, prepared.records(hidden)
        allowed = int(exact(self.plan.suppression_limit) * prepared.sample.records)
        self.within_limit = self.suppressed <= allowed
        table = assemble(prepared, parts, hidden)
        self.arrow, self._rows, self._flag = table
        # Who has passed the limit knowingly need not be told again.
        limit = None if over_limit else allowed
        self.verification = verify_recoded(prepared, table, parts, hidden, limit)
        self.verification.require()
        self.classes = int(self._published.sizes.size)

    @property
    def _parts(self) -> list[Part]:
        return self._made_of

    def __repr__(self) -> str:
        passes = "; ".join(map(str, self.passes[:3])) + (" …" if len(self.passes) > 3 else "")
        return (
            f"RecodedRelease({self.records} records, {self.suppressed} suppressed, {self.classes} classes, "
            f"{len(self.passes)} pass{'' if len(self.passes) == 1 else 'es'}{f' ({passes})' if passes else ''}, "
            f"ended as {self.ending})"
        )
