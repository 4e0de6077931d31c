"""Microaggregation and swapping on the CASC table Census, against what is printed about it.

Tables of J. Soria-Comas, "Improving data utility in differential privacy and k-anonymity" (2013).
"""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pytest

from support.realdata import SHARED
from veil.base.randomness import Randomness
from veil.masking.microaggregation.closeness import TClosenessThroughMicroaggregation
from veil.masking.microaggregation.mdav import maximum_distance_to_average_vector
from veil.masking.microaggregation.methods import (
    MDAV,
    VMDAV,
    GeneticMicroaggregation,
    KWard,
    UnivariateMicroaggregation,
)
from veil.masking.parameters import redistribute
from veil.masking.ties.confidential_groups import BucketizedTCloseness, ConfidentialAttributePartitioning
from veil.masking.ties.probabilistic import (
    IndividualRankingSwapping,
    MDAVSwapping,
)
from veil.masking.ties.whole_record_swapping import WholeRecordSwapping
from veil.tables import read
from veil.tables.rows import Rows
from veil.verification.steps.step import verify_step

CENSUS = SHARED / "data" / "census" / "census.csv"
pytestmark = [
    pytest.mark.skipif(
        not CENSUS.exists(),
        reason=f"needs the table census in {SHARED.name}/data beside the checkout (or VEIL_SHARED)",
    ),
    pytest.mark.realdata,
]

FOUR = ("FEDTAX", "POTHVAL", "INTVAL", "FICA")


@functools.cache
def census() -> pa.Table:
    return read(CENSUS).table


def values(table: pa.Table, names=None) -> np.ndarray:
    return np.array([table[name].to_numpy() for name in names or table.column_names], float)


def masked(method, seed=0) -> pa.Table:
    made = method.mask(Rows.of(census()), Randomness.for_testing(seed))
    assert verify_step(method, Rows.of(census()), made.table, origins=made.link).holds
    return made.table


# --- standard MDAV with distances over the range --------------------------------------------------


@pytest.mark.parametrize(
    ("k", "error", "linked", "variances"),
    [
        (2, "3.07e+09", "45.3", [0.0053, 0.0247, 0.0349, 0.0067]),
        (5, "1.20e+10", "18.4", [0.0156, 0.0991, 0.1327, 0.0224]),
        (15, "2.41e+10", "6.48", [0.0398, 0.1967, 0.2614, 0.0670]),
        (30, "4.00e+10", "3.33", [0.0639, 0.3214, 0.4729, 0.1060]),
    ],
)
def test_soria_comas_mdav_columns_of_tables_6_1_and_6_5(k, error, linked, variances):
    """To every printed digit; the range of a column is from 0 to 1.5 times its maximum."""
    before = values(census(), FOUR)
    bounds = {name: (0, 1.5 * column.max()) for name, column in zip(FOUR, before, strict=True)}
    method = MDAV(FOUR, k, bounds=bounds)
    made = method.mask(Rows.of(census()), Randomness())
    after = values(made.table, FOUR)
    assert f"{made.facts['SSE']:.2e}" == error
    assert np.square(before - after).sum() == pytest.approx(made.facts["SSE"])
    assert f"{100 * record_linkage(before, after):#.3g}" == linked
    assert after.mean(axis=1) == pytest.approx(before.mean(axis=1))
    varied = np.abs(after.var(axis=1) - before.var(axis=1)) / before.var(axis=1)
    assert varied.round(4).tolist() == variances
    assert verify_step(method, Rows.of(census()), made.table, origins=made.link).holds


def record_linkage(before: np.ndarray, after: np.ndarray) -> float:
    """RL as defined there: a share of 1/|G| if the own record is among G, the originals nearest to the masked one."""
    unit = 1.5 * before.max(axis=1, keepdims=True)
    total = 0.0
    for row in range(before.shape[1]):
        squares = np.square((before - after[:, row : row + 1]) / unit).sum(axis=0)
        # Equal originals are equally near, whatever rounding does to the sums.
        nearest = np.flatnonzero(squares <= squares.min() * (1 + 1e-12))
        total += (row in nearest) / nearest.size
    return total / before.shape[1]


def test_soria_comas_plain_mdav_needs_k_of_about_20_to_link_less_than_5_percent():
    before = values(census(), FOUR)
    bounds = {name: (0, 1.5 * column.max()) for name, column in zip(FOUR, before, strict=True)}
    linked = [record_linkage(before, values(masked(MDAV(FOUR, k, bounds=bounds)), FOUR)) for k in (15, 20)]
    assert linked[0] > 0.05 > linked[1]


@pytest.mark.parametrize(("k", "loss"), [(3, 5.692186279), (5, 9.088435498), (10, 14.15593043)])
def test_loss_of_mdav_on_standardized_columns(k, loss):
    """L = SSE/SST in percent, as comparisons of microaggregation methods print it for MDAV on Census."""
    method = MDAV(census().column_names, k, distance="standard deviation")
    facts = method.mask(Rows.of(census()), Randomness()).facts
    assert 100 * facts["L of standardized columns"] == pytest.approx(loss, rel=1e-9)


def test_which_method_loses_how_much():
    names = census().column_names

    def loss(method, **options) -> float:
        made = method(names, 5, **options).mask(Rows.of(census()), Randomness.for_testing(1))
        return float(made.facts["L of standardized columns"])

    mdav = loss(MDAV, distance="standard deviation")
    by_ranking = loss(UnivariateMicroaggregation)
    optimal = loss(UnivariateMicroaggregation, sizes="optimal")
    along = loss(UnivariateMicroaggregation, order="principal component")
    along_optimal = loss(UnivariateMicroaggregation, order="principal component", sizes="optimal")
    assert optimal < by_ranking < mdav < along_optimal < along
    assert loss(GeneticMicroaggregation, distance="standard deviation") < 0.97 * mdav
    assert loss(KWard, distance="standard deviation") == pytest.approx(mdav, rel=0.05)
    assert loss(VMDAV, distance="standard deviation") == pytest.approx(mdav, rel=0.05)


# --- correlations: Tables 3.6 to 3.10 -------------------------------------------------------------

# Rows A1 to A13, columns A7 to A13; the last seven rows begin at the diagonal.
TABLE_3_7 = """
-.0035 -.035 -.055 .034 .035 .042 .04
1 .18 .39 .8 .81 .8 .78
.79 -.17 .084 .89 .9 .89 .89
.99 .23 .45 .82 .8 .81 .8
.86 .18 .4 .94 .92 .94 .93
.95 .2 .43 .77 .76 .76 .75
1 .2 .41 .8 .8 .79 .78
1 .68 -.15 -.18 -.15 -.16
1 .18 .14 .17 .16
1 .98 1 .99
1 .97 .97
1 1
1
"""


def cells(table: pa.Table) -> np.ndarray:
    """The 70 correlations with confidential attributes that the tables show, row by row."""
    correlations = np.corrcoef(values(table))
    return np.concatenate([correlations[row, max(6, row) :] for row in range(13)])


@functools.cache
def original() -> np.ndarray:
    return cells(census())


def test_soria_comas_table_3_6():
    """The table is the one of the thesis. Its .70 for (A9, A12) is a misprint of .070."""
    correlations = np.corrcoef(values(census()))
    for one, other, printed in [
        (2, 7, 0.98),
        (3, 7, 0.44),
        (5, 10, 0.90),
        (8, 9, 0.45),
        (10, 11, 0.96),
        (12, 13, 0.97),
        (9, 12, 0.070),
    ]:
        assert correlations[one - 1, other - 1] == pytest.approx(printed, abs=0.005)


def test_soria_comas_table_3_7():
    """MDAV of all 13 columns as they are, k = 12: all 70 cells within 0.01 of what rounds to the print."""
    method = MDAV(census().column_names, 12, distance="raw")
    found = cells(masked(method))
    printed = TABLE_3_7.split()
    gaps = np.abs(found - np.array(printed, float))
    rounding = np.array([0.5 * 10.0 ** -len(text.partition(".")[2]) for text in printed])
    rounding[[not text.partition(".")[2] for text in printed]] = 0.005
    assert (gaps <= 0.01 + rounding).all()
    assert (gaps > 0.01).sum() <= 1  # (A3, A7): .779 where .79 is printed


def changes(tables) -> float:
    """Mean change of a correlation, those of attributes with themselves counted in."""
    return float(np.mean([np.abs(cells(table) - original()) for table in tables]))


SIZES = [5, 7, 9, 11, 25, 50, 100, 200, 300]
INDIVIDUAL_RANKING = [0.0021, 0.0022, 0.0028, 0.0038, 0.0061, 0.010, 0.020, 0.044, 0.087]
MDAV_SWAP = [0.037, 0.048, 0.055, 0.061, 0.091, 0.13, 0.19, 0.31, 0.37]
MDAV_ID = [0.055, 0.062, 0.069, 0.078, 0.11, 0.14, 0.17, 0.29, 0.38]


@pytest.mark.parametrize(("k", "printed"), list(zip(SIZES, INDIVIDUAL_RANKING, strict=True)))
def test_soria_comas_table_3_10_ir_swap(k, printed):
    confidential = census().column_names[6:]
    method = IndividualRankingSwapping(confidential, k)
    assert changes(masked(method, seed) for seed in range(25)) == pytest.approx(printed, rel=0.12)


@pytest.mark.parametrize(("k", "printed"), list(zip(SIZES, MDAV_SWAP, strict=True)))
def test_soria_comas_table_3_10_mdav_swap(k, printed):
    confidential = census().column_names[6:]
    method = MDAVSwapping(confidential, k, distance="raw")
    assert changes(masked(method, seed) for seed in range(3)) == pytest.approx(
        printed, rel=0.1 if k < 300 else 0.2
    )


@pytest.mark.parametrize(("k", "printed"), list(zip(SIZES, MDAV_ID, strict=True)))
def test_soria_comas_table_3_10_mdav_id(k, printed):
    """Over all 78 pairs of different attributes, of which the 15 pairs of quasi-identifiers count as unchanged."""
    found = np.abs(cells(masked(MDAV(census().column_names, k, distance="raw"))) - original())
    assert found.sum() / 78 == pytest.approx(printed, rel=0.05)


def test_whole_confidential_records_keep_their_correlations():
    """corr(PEARNVAL, WSALVAL) is .9793 and stays so; one permutation for each column, in the same groups, leaves .8103."""
    names = census().column_names
    one, other = names.index("PEARNVAL"), names.index("WSALVAL")
    before = np.corrcoef(values(census()))
    method = WholeRecordSwapping(names[6:], 5, distance="raw")
    together = np.corrcoef(values(masked(method)))
    assert together[6:, 6:] == pytest.approx(before[6:, 6:], abs=1e-12)
    assert together[:6, :6] == pytest.approx(before[:6, :6], abs=1e-12)
    assert together[one, other] == pytest.approx(0.9793, abs=5e-5)
    assert np.abs(together[:6, 6:] - before[:6, 6:]).max() > 0.01  # the control: something has moved
    groups = maximum_distance_to_average_vector(method.records(census(), names[:6]), 5)
    apart = [
        np.corrcoef(
            *(
                values(census(), [name])[0][redistribute(groups, Randomness.for_testing(2 * seed + turn))]
                for turn, name in enumerate(["PEARNVAL", "WSALVAL"])
            )
        )[0, 1]
        for seed in range(50)
    ]
    assert np.mean(apart) == pytest.approx(0.8103, abs=0.002)


def test_soria_comas_claim_that_swapping_keeps_more():
    """Much the same quality at k = 11 (MDAV-ID), 25 (MDAV-SWAP) and 300 (IR-SWAP)."""
    names = census().column_names
    centroids = changes([masked(MDAV(names, 11, distance="raw"))])
    by_mdav = changes([masked(MDAVSwapping(names[6:], 25, distance="raw"))])
    by_ranking = changes([masked(IndividualRankingSwapping(names[6:], 300))])
    assert by_mdav == pytest.approx(centroids, rel=0.3)
    assert by_ranking == pytest.approx(centroids, rel=0.3)


# --- correlations of EIA: Table 3.11 --------------------------------------------------------------

EIA = SHARED / "data" / "eia" / "eia.csv"
EIA_MDAV_ID = [
    ("0.018", "0.017"),
    ("0.020", "0.017"),
    ("0.034", "0.031"),
    ("0.039", "0.036"),
    ("0.085", "0.078"),
    ("0.13", "0.12"),
    ("0.15", "0.14"),
    ("0.19", "0.18"),
    ("0.20", "0.18"),
]
"""Means and standard deviations, with two digits each; the thesis leaves out a zero at the end."""


@pytest.mark.skipif(not EIA.exists(), reason=f"needs the table eia in {SHARED.name}/data")
@pytest.mark.parametrize(("k", "printed"), list(zip(SIZES, EIA_MDAV_ID, strict=True)))
def test_soria_comas_table_3_11_mdav_id(k, printed):
    """All 18 figures come out as they are printed, to the last digit.

    The thesis names no quasi-identifiers of this table, and none are set aside: the cells are those of Table 3.6 if
    every attribute is confidential, the upper half of the matrix with its diagonal, 55 cells of ten columns. (Half of
    the columns as quasi-identifiers, whose pairs count as unchanged, gives means 5 to 7 % and deviations 7 to 11 % above.)
    """
    table = read(EIA).table
    method = MDAV(table.column_names, k, distance="raw")
    made = method.mask(Rows.of(table), Randomness())
    changed = np.abs(np.corrcoef(values(made.table)) - np.corrcoef(values(table)))[np.triu_indices(10)]
    assert changed.size == 55
    for found, shown in zip((changed.mean(), changed.std()), printed, strict=True):
        assert f"{found:.{len(shown.partition('.')[2])}f}" == shown


# --- t-closeness ----------------------------------------------------------------------------------


@pytest.mark.parametrize("closeness", ["ordered", "equal"])
def test_t_closeness_through_microaggregation(closeness):
    groups = []
    for t in (0.4, 0.2, 0.1):
        method = TClosenessThroughMicroaggregation(("FEDTAX", "POTHVAL", "INTVAL"), 5, "FICA", t, closeness)
        made = method.mask(Rows.of(census()), Randomness())
        assert verify_step(method, Rows.of(census()), made.table, origins=made.link, apart=made.apart).holds
        groups.append(made.facts["groups"])
    assert groups == sorted(groups, reverse=True)


@pytest.mark.parametrize("release", ["two tables", "swapping"])
@pytest.mark.parametrize(("t", "k"), [(2, 10), (3, 7), (5, 36)])
def test_groups_by_the_confidential_attribute(t, k, release):
    for method in (
        BucketizedTCloseness("FICA", t, k, release=release),
        ConfidentialAttributePartitioning("FICA", k, release),
    ):
        made = method.mask(Rows.of(census()), Randomness())
        assert verify_step(method, Rows.of(census()), made.table, origins=made.link, apart=made.apart).holds
