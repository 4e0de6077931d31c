"""A quality model is one file, here in a package of its own."""

from __future__ import annotations

from pathlib import Path

from support.extension import install, run, veil

CODE = '''
from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.quality.base import Measure, Node, QualityModel, Score


@declared(kind_of=QualityModel)
class HighestLevel(QualityModel):
    """The highest level of any column, and what suppressed records cost."""

    price: Annotated[float, Field(ge=0, description="of a suppressed record")] = 1.0
    kind: Literal["HighestLevel"] = Field(default="HighestLevel", repr=False, kw_only=True)

    synonyms: ClassVar[tuple[str, ...]] = ("highest",)

    def bind(self, sample: Sample) -> Measure:
        return _Measure(self.price)


class _Measure(Measure):
    def __init__(self, price: float) -> None:
        self.price = price

    def score(self, node: Node) -> Score:
        return (max(node.levels) + self.price * node.tally.suppressed,)

    def extremes(self, minimum: Levels | None = None, maximum: Levels | None = None) -> tuple[Score, Score]:
        return (0.0,), (9.0,)
'''


def test_recipes_searches_and_the_command_line_know_it(tmp_path: Path) -> None:
    install(tmp_path, "veil.quality", "HighestLevel", CODE)
    run(
        tmp_path,
        """
        import pyarrow as pa, veil
        from veil import hierarchies as h
        from veil.recipe import Recipe, schema

        table = pa.table({"age": [21, 24, 31, 38]})
        asked = dict(quasi_identifiers={"age": h.intervals(10, 20)}, models=veil.KAnonymity(2))
        release = veil.anonymize(table, **asked, quality="highest")
        assert release.plan.quality == veil.quality.HighestLevel()
        assert (release.score, release.transformation) == (1.0, {"age": 1})
        recipe = Recipe.of(veil.Plan(**asked, quality=veil.quality.HighestLevel(2)))
        assert recipe.spell()["steps"][0]["quality"] == {"kind": "HighestLevel", "price": 2.0}
        assert Recipe(**recipe.spell()).plan() == recipe.plan()
        assert schema()["$defs"]["HighestLevel"]["properties"]["price"]["description"] == "of a suppressed record"
        """,
    )
    (tmp_path / "people.csv").write_text("age\n21\n24\n31\n38\n")
    assert "--quality highest-level" in veil(tmp_path, "list", "quality-models", "highest-level")
    plan = ("--qi", "age=intervals:10,20", "--model", "k-anonymity:2", "--quality", "highest-level:0.5")
    veil(tmp_path, "anonymize", "people.csv", "--output", "release.csv", *plan, "--report", "report.html")
    assert "HighestLevel" in (tmp_path / "report.html").read_text()
