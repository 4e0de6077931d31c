"""A masking method is one file, here in a package of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.extension import install, run, veil
from veil import masking

CODE = '''
from __future__ import annotations

from typing import Annotated, Literal

import pyarrow as pa
from pydantic import Field

from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.outcome.method import MaskedTable, Method
from veil.tables.rows import Rows


@declared(kind_of=Method)
class Shortening(Method):
    """Texts lose all but their first letters."""

    column: Annotated[str, Field(description="column of texts")]
    letters: Annotated[int, Field(ge=0, description="letters that stay")] = 1
    kind: Literal["Shortening"] = Field(default="Shortening", repr=False, kw_only=True)

    @property
    def column_names(self) -> tuple[str, ...]:
        return (self.column,)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        short = pa.array([text and text[: self.letters] for text in table[self.column].to_pylist()])
        made = table.set_column(table.column_names.index(self.column), self.column, short)
        return MaskedTable(made)
'''


@pytest.mark.slow
def test_recipes_the_verb_and_the_command_line_know_it(tmp_path: Path) -> None:
    install(tmp_path, "veil.masking", "Shortening", CODE)
    run(
        tmp_path,
        """
        import pyarrow as pa, veil
        from veil.recipe import Recipe, schema

        names = pa.table({"name": ["Ada", "Bob", None]})
        masked = veil.mask(names, veil.masking.Shortening("name"), order="input")
        assert masked.table["name"].to_pylist() == ["A", "B", None]
        masked.report("masked.html")
        assert "Shortening" in open("masked.html", encoding="utf-8").read()
        recipe = Recipe(steps=[{"kind": "Shortening", "column": "name", "letters": 2}])
        assert recipe.located_steps() == [veil.masking.Shortening("name", 2)]
        try:
            Recipe(steps=[{"kind": "Shortening", "column": "name", "letters": -2}])
        except veil.VeilError as error:
            assert str(error) == "`steps[0].letters` should be greater than or equal to 0, not -2"
        steps = schema()["properties"]["steps"]["items"]
        assert {"$ref": "#/$defs/Shortening"} in steps["oneOf"]
        """,
    )
    (tmp_path / "people.csv").write_text("name\nAda\nBob\n")
    assert "--step shortening:COLUMN" in veil(tmp_path, "list", "masks", "shortening")
    veil(tmp_path, "mask", "people.csv", "--output", "masked.csv", "--step", "shortening:name,letters=2")
    assert (tmp_path / "masked.csv").read_text().split()[:1] == ["name"]
    assert sorted((tmp_path / "masked.csv").read_text().split()[1:]) == ["Ad", "Bo"]


def test_completion_lists_the_methods_and_a_part_of_a_name_finds_them() -> None:
    assert {"UnivariateMicroaggregation", "Rounding"} <= set(dir(masking))
    assert "Annotated" not in dir(masking)
    with pytest.raises(AttributeError, match=r"Univariate\w+, GeneticMicro"):
        masking.Microaggregation  # noqa: B018
