"""A hierarchy builder is one file, here in a package of its own; and what reports keep back of builders."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from support.extension import install, run, veil
from veil import hierarchies as h

CODE = '''
from __future__ import annotations

from typing import Annotated, Literal

import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from veil.base.declare import declared
from veil.hierarchies import Builder, Hierarchy
from veil.tables.text import canonical_text


@declared(kind_of=Builder)
class Initials(Builder):
    """First letters, and those that are named apart."""

    rare: Annotated[tuple[str, ...], Field(description="values that are not told apart")] = ()
    kind: Literal["initials"] = Field(default="initials", repr=False, kw_only=True)

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        texts = sorted(str(each) for each in canonical_text(values))
        return Hierarchy.from_rows([[each, "?" if each in self.rare else each[:1], "*"] for each in texts])
'''


@pytest.mark.slow
def test_recipes_the_command_line_and_reports_know_it(tmp_path: Path) -> None:
    install(tmp_path, "veil.hierarchies", "Initials", CODE)
    run(
        tmp_path,
        """
        import pyarrow as pa, veil
        from veil import TCloseness, hierarchies as h
        from veil.recipe import Recipe, schema
        from veil.report.content.withheld import spell_recipe

        table = pa.table({"town": ["Graz", "Goslar", "Linz", "Lund"]})
        release = veil.anonymize(
            table, quasi_identifiers={"town": "initials"}, models=veil.KAnonymity(2), order="input"
        )
        assert release.table["town"].to_pylist() == ["G", "G", "L", "L"]
        plan = veil.Plan({"town": h.Initials(["Lund"])}, veil.KAnonymity(2))
        spec = {"kind": "initials", "rare": ["Lund"]}
        recipe = Recipe.of(plan)
        assert recipe.spell()["steps"][0]["quasi_identifiers"] == {"town": spec}
        assert Recipe(**recipe.spell()).plan() == plan
        assert "Initials" in schema()["$defs"]
        assert "initials" in schema()["$defs"]["GeneralizeSpec"]["properties"]["quasi_identifiers"]["additionalProperties"]["anyOf"][0]["enum"]
        # It does not say which of its parameters name values, so that a report tells none of them.
        told = spell_recipe(plan, release.arrow)["steps"][0]["quasi_identifiers"]["town"]
        assert set(told) == {"kind", "withheld"} and told["withheld"]["values"] == 1
        bare = veil.Plan({"town": h.Initials()}, veil.KAnonymity(2))
        assert spell_recipe(bare, release.arrow)["steps"][0]["quasi_identifiers"]["town"] == "initials"
        # Models that have a hierarchy take it as well, and so do masking methods.
        near = TCloseness("town", 0.5, "hierarchical", spec)
        assert near.hierarchy == h.Initials(["Lund"])
        assert veil.masking.GlobalRecoding("town", spec).hierarchy == near.hierarchy
        """,
    )
    (tmp_path / "people.csv").write_text("town\nGraz\nGoslar\nLinz\nLund\n")
    assert "--qi COLUMN=initials" in veil(tmp_path, "list", "hierarchies", "initials")
    plan = ("--qi", "town=initials:Linz,Lund", "--model", "k-anonymity:2", "--report", "report.json")
    veil(tmp_path, "anonymize", "people.csv", "--output", "release.csv", "--order", "input", *plan)
    assert (tmp_path / "release.csv").read_text().split() == ["town", "G", "G", "?", "?"]
    assert "Lund" not in (tmp_path / "report.json").read_text()


TREE = {"care": ["nurse", "doctor"], "other": ["cook"]}


@pytest.mark.parametrize(
    ("builder", "named"),
    [
        (h.suppression(), {}),
        (h.identity(), {}),
        (h.redaction(), {}),
        (h.auto(), {}),
        (h.file("job.csv"), {}),
        (h.Table([["a", "*"], ["b", "*"]]), {"rows": {"a", "b"}}),
        (h.categories(TREE), {"tree": {"nurse", "doctor", "cook"}}),
        (
            h.categories({"AT": "Europe", "JP": "Asia"}, {"Europe": "*", "Asia": "*"}),
            {"mappings": {"AT", "JP"}},
        ),
        (h.ordering(2), {}),
        (h.ordering(2, order=["low", "high"]), {"order": {"low", "high"}}),
        (h.priority(order="natural"), {}),
        (h.priority(priorities={"tea": 3}), {"priorities": {"tea"}}),
        (h.intervals(5, 10), {}),
        (h.intervals(5, top=90), {}),  # a bound is a decision, not a value of somebody
        (h.intervals(listed=[(0, 18), (18, 99)]), {"listed": {"0", "18", "99"}}),
        (h.dates("year"), {}),
        (h.dates("year", top=date(2020, 1, 1)), {}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_builders_tell_which_parameters_name_values(builder: h.Builder, named: dict[str, set[str]]) -> None:
    assert builder.withheld(lambda texts: False) == named


@pytest.mark.parametrize(
    "builder",
    [h.intervals(5, top=90), h.dates("year", top=date(2020, 1, 1))],
    ids=lambda each: type(each).__name__,
)
def test_limits_that_labels_show_anyway_are_told(builder: h.Builder) -> None:
    assert builder.withheld(lambda texts: set(texts) <= {"90", "2020-01-01"}) == {}
