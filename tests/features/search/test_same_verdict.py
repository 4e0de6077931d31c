"""Search and verifier agree: nothing that a search proposes is refused, whatever is missing."""

from __future__ import annotations

import datetime

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from veil.errors import NoSolutionError, ParameterError, PlanError
from veil.models import AverageReidentificationRisk, KAnonymity, PopulationUniqueness, SampleUniqueness

COLUMNS = {
    "number": (pa.int64(), [1, 2, 3]),
    "real": (pa.float64(), [0.5, 1.5]),
    "day": (pa.date32(), [datetime.date(2020, 1, day) for day in (1, 2)]),
    "flag": (pa.bool_(), [True, False]),
    "text": (pa.string(), ["a", "b", "*"]),
}

models = st.one_of(
    st.builds(
        AverageReidentificationRisk,
        st.sampled_from([0.2, 0.34, 0.5, 0.9, 1.0]),
        highest=st.sampled_from([None, 0.5, 1.0]),
    ),
    st.builds(SampleUniqueness, st.sampled_from([0, 0.1, 0.25, 0.5, 1])),
    st.builds(
        PopulationUniqueness,
        st.sampled_from([0, 0.01, 0.1, 0.5, 1]),
        st.sampled_from([20, 100, 10_000]),
        st.sampled_from(["dankar", "pitman", "zayatz", "snb"]),
    ),
    st.builds(KAnonymity, st.integers(1, 3)),
)


@st.composite
def plans(draw: st.DrawFn) -> tuple[pa.Table, dict]:
    """A table with many gaps, often rows of nothing else, and a plan with one or two models over the sizes of classes."""
    names = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=3, unique=True))
    records = draw(st.integers(1, 14))
    empty = draw(st.lists(st.booleans(), min_size=records, max_size=records))
    columns = {}
    for name in names:
        kind, values = COLUMNS[name]
        cells = draw(st.lists(st.sampled_from([None, *values]), min_size=records, max_size=records))
        columns[name] = pa.array(
            [None if gone else cell for gone, cell in zip(empty, cells, strict=True)], kind
        )
    columns["kept"] = pa.array(
        draw(st.lists(st.sampled_from([None, "x"]), min_size=records, max_size=records)), pa.string()
    )
    plan = {
        "quasi_identifiers": {name: draw(st.sampled_from(["identity", "suppression"])) for name in names},
        "insensitive": ["kept"],
        "models": draw(st.lists(models, min_size=1, max_size=2, unique_by=type)),
        "suppression_limit": draw(st.sampled_from([0.0, 0.3, 1.0])),
        "suppressed_rows": draw(st.sampled_from(["blank", "drop", "keep cells"])),
        "marker": draw(st.sampled_from(["*", None])),
    }
    return pa.table(columns), plan


@given(plans())
@settings(max_examples=300, deadline=None)
def test_the_search_proposes_nothing_that_the_verifier_refuses(drawn):
    """Of 100,536 random plans, 48 ended in a VerificationError: a class of missing cells was a class to one of both."""
    table, plan = drawn
    try:
        release = veil.anonymize(table, **plan)
    except (NoSolutionError, ParameterError, PlanError):
        return  # the search found nothing, or what is asked makes no sense of so few records
    assert release.verification.holds
    if release.table.num_rows:  # an empty table is no input
        assert veil.verify(release.table, release.outcome.plan).holds or plan["suppressed_rows"] != "blank"


def test_a_lone_record_of_missing_cells_is_a_person():
    """It is alone in its class, so that more is unique than may be, though nothing of it is shown."""
    table = pa.table({"age": pa.array([None, 30, 30, 30], pa.int64()), "sex": ["f", "f", "f", "f"]})
    plan = {"quasi_identifiers": {"age": "identity"}, "others": "drop", "maximum_levels": {"age": 0}}
    try:
        release = veil.anonymize(table, **plan, models=SampleUniqueness(0.1), suppression_limit=0)
    except NoSolutionError:
        release = None
    assert release is None
    allowed = veil.anonymize(table, **plan, models=SampleUniqueness(0.25))
    assert allowed.risk()[1].uniques == 0.25
