"""The independent verifier: reads the output table, and the plan, and trusts neither engine nor search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.errors import VerificationError
from veil.hierarchies import Hierarchy
from veil.models import PrivacyModel
from veil.models.base import Finding
from veil.plan import Plan
from veil.published import Published
from veil.tables.text import canonical_text


@dataclass(frozen=True)
class Verification:
    """Every promise with what was found on the output."""

    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether every promise is kept."""
        return all(finding.holds for finding in self.findings)

    def __str__(self) -> str:
        return "\n".join(str(finding) for finding in self.findings)

    def require(self) -> None:
        """Raise if a promise is broken."""
        broken = [finding for finding in self.findings if not finding.holds]
        if broken:
            raise VerificationError(
                "the output breaks a promise and is withheld: "
                + "; ".join(str(finding) for finding in broken)
            )


def verify_models(published: Published, models: Sequence[PrivacyModel]) -> list[Finding]:
    """Check each privacy model on a published table."""
    return [model.verify(published) for model in models]


def verify_roles(released: pa.Table, plan: Plan) -> list[Finding]:
    """Check that nothing that names a person is in the table."""
    findings = []
    for name, treatment in plan.identifying.items():
        if treatment == "remove":
            found = name in released.column_names
            findings.append(
                Finding(f"identifying column {name!r} is removed", not found, "there" if found else "gone")
            )
        else:
            values = released[name].unique().to_pylist() if name in released.column_names else []
            allowed = {plan.marker}
            findings.append(
                Finding(
                    f"identifying column {name!r} is masked",
                    set(values) <= allowed,
                    f"{len(values)} distinct value(s)",
                )
            )
    return findings


def verify_release(
    original: pa.Table,
    released: pa.Table,
    plan: Plan,
    levels: dict[str, int],
    hierarchies: dict[str, Hierarchy],
    *,
    rows: NDArray[np.int64] | None,
    subset: NDArray[np.bool_] | None = None,
    flag: str | None,
    over_limit: bool = False,
) -> Verification:
    """Check a release against the table it was made from.

    `rows` are the rows of the original that are in the release, None if all are. With `over_limit` the
    suppression limit was knowingly passed by the caller.
    """
    before = original if rows is None else original.take(pa.array(rows))
    relevant = original if subset is None else original.filter(pa.array(subset))
    published = Published(
        released,
        list(hierarchies),
        marker=plan.marker,
        flag=flag,
        baseline=relevant,
        population=None if subset is None else _generalized(original, levels, hierarchies),
    )
    findings = verify_models(published, plan.models) + verify_roles(released, plan)
    suppressed = published.suppressed_records + relevant.num_rows - before.num_rows
    allowed = int(Fraction(str(plan.suppression_limit)) * relevant.num_rows)
    if not over_limit:
        findings.append(
            Finding(f"at most {allowed} records are suppressed", suppressed <= allowed, str(suppressed))
        )
    for name, hierarchy in hierarchies.items():
        wrong = _wrong_cells(
            before[name], released[name], published.suppressed, hierarchy, levels[name], plan.marker
        )
        promise = f"column {name!r} holds its values generalized to level {levels[name]}"
        findings.append(Finding(promise, wrong == 0, f"{wrong} cells differ" if wrong else "every cell"))
    for name in released.column_names:
        if name not in hierarchies and name not in plan.identifying and name != flag:
            same = before[name].equals(released[name])
            findings.append(Finding(f"column {name!r} is unchanged", same, "equal" if same else "different"))
    return Verification(tuple(findings))


def _generalized(table: pa.Table, levels: dict[str, int], hierarchies: dict[str, Hierarchy]) -> pa.Table:
    """Generalize the quasi-identifiers of a table by looking every value up in the hierarchy's own rows."""
    columns = {}
    for name, hierarchy in hierarchies.items():
        label = {row[0]: row[levels[name]] for row in hierarchy.to_rows()}
        encoded = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        texts = [label.get(text, text) for text in canonical_text(encoded.dictionary)]
        columns[name] = pa.array(texts, pa.string()).take(encoded.indices)
    return pa.table(columns)


def _wrong_cells(
    before: pa.ChunkedArray,
    after: pa.ChunkedArray,
    suppressed: NDArray[np.bool_],
    hierarchy: Hierarchy,
    level: int,
    marker: str | None,
) -> int:
    """Count cells that are not what the hierarchy's own table says. Looks at distinct pairs, not at rows."""
    pairs = pa.table({"before": before, "after": after, "suppressed": pa.array(suppressed)})
    counted = pairs.group_by(["before", "after", "suppressed"]).aggregate([([], "count_all")])
    label = {row[0]: row[level] for row in hierarchy.to_rows()}
    is_text = pa.types.is_string(after.type) or pa.types.is_large_string(after.type)
    texts_before = canonical_text(counted["before"].combine_chunks())
    texts_after = canonical_text(counted["after"].combine_chunks())
    wrong = 0
    for old, new, hidden, count in zip(
        texts_before,
        texts_after,
        counted["suppressed"].to_pylist(),
        counted["count_all"].to_pylist(),
        strict=True,
    ):
        expected = (marker if is_text else None) if hidden else label.get(old, old)
        wrong += 0 if new == expected else count
    return wrong
