"""Recipes: what they say, what they refuse and how, and that a plan survives being written down."""

from __future__ import annotations

import json
import os
import tempfile
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.recipes import generalize
from support.refusals import refused
from veil import KAnonymity, Plan, anonymize
from veil import hierarchies as h
from veil.errors import InputError, OutputError, ParameterError, PlanError, VeilError
from veil.lattice import Auto, BestEffort, Lightning
from veil.quality import AverageClassSize, Loss, by_name
from veil.recipe import Recipe, schema
from veil.recipe.document import parse, scalar
from veil.tables import Csv, Excel, Parquet

SCHEMA_FILE = Path(__file__).parents[2] / "docs" / "recipe.schema.json"

WHOLE = """\
input: {path: patients.csv, separator: ;, types: {zip: string}}
output: out/release.csv
report: out/report.html
certificate: out/certificate.json
overwrite: true
steps:
  - kind: Generalize
    quasi_identifiers:
      age: {kind: intervals, widths: [5, 10, 20], upper: {coding: 90}}
      sex: suppression
      zip: {kind: redaction, start: left}
      job: hierarchies/job.csv
      born: {kind: dates, units: [month, year], top: 2020-01-01}
      country:
        kind: categories
        tree: {Europe: [AT, NO], Asia: [JP]}
        other: elsewhere
      grade: {kind: ordering, groups: [2, [2, 3]]}
      ward: {kind: table, rows: [[1, low, '*'], [2, low, '*'], [NULL, none, '*']]}
    sensitive: diagnosis
    insensitive: [stay]
    identifying: {name: remove, email: mask}
    others: drop
    models:
      - {kind: KAnonymity, k: 5}
    quality: {kind: Loss, factor: 0.25, weights: {age: 1}}
    suppression_limit: 0.05
    minimum_levels: {age: 1}
    maximum_levels: {zip: 4}
    suppressed_rows: drop
    marker: "#"
"""

LEAST = """\
steps:
- kind: Generalize
  quasi_identifiers: {sex: suppression}
  models: [{kind: KAnonymity, k: 2}]
"""


VALIDATOR = jsonschema.Draft202012Validator(schema())


def read(text: str, folder: Path) -> Recipe:
    path = folder / "recipe.yaml"
    path.write_text(text, encoding="utf-8")
    return Recipe.read(path)


def test_everything_that_a_recipe_can_say(tmp_path: Path) -> None:
    recipe = read(WHOLE, tmp_path)
    assert recipe.source == tmp_path / "patients.csv"
    assert recipe.input_format == Csv(separator=";", types={"zip": "string"})
    assert recipe.path("output") == tmp_path / "out" / "release.csv"
    assert recipe.path("report") == tmp_path / "out" / "report.html"
    assert recipe.path("certificate") == tmp_path / "out" / "certificate.json"
    assert recipe.overwrite
    assert recipe.plan() == Plan(
        {
            "age": h.intervals(5, 10, 20, top=90),
            "sex": h.suppression(),
            "zip": h.redaction(start="left"),
            "job": h.file(str(tmp_path / "hierarchies" / "job.csv")),
            "born": h.dates("month", "year", top=date(2020, 1, 1)),
            "country": h.categories({"Europe": ["AT", "NO"], "Asia": ["JP"]}, other="elsewhere"),
            "grade": h.ordering(2, [2, 3]),
            "ward": h.Table((("1", "low", "*"), ("2", "low", "*"), (None, "none", "*"))),
        },
        (KAnonymity(5),),
        sensitive=("diagnosis",),
        insensitive=("stay",),
        identifying={"name": "remove", "email": "mask"},
        others="drop",
        quality=Loss(factor=0.25, weights={"age": 1.0}),
        suppression_limit=0.05,
        minimum_levels={"age": 1},
        maximum_levels={"zip": 4},
        suppressed_rows="drop",
        marker="#",
    )


def test_the_least_that_a_recipe_says_is_the_plan_by_default(tmp_path: Path) -> None:
    recipe = read(LEAST, tmp_path)
    assert recipe.plan() == Plan({"sex": h.suppression()}, KAnonymity(2))
    assert (recipe.source, recipe.input_format, recipe.target) == (None, None, None)
    assert (recipe.path("report"), recipe.path("certificate")) == (None, None)
    step = {"quasi_identifiers": {"sex": "suppression"}, "models": [{"kind": "KAnonymity", "k": 2}]}
    assert recipe.spell() == {"steps": [{"kind": "Generalize", **step}]}


def test_a_recipe_may_be_json(tmp_path: Path) -> None:
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(yaml.safe_load(LEAST + "  suppression_limit: 1.0e-05\n")))
    assert Recipe.read(path).generalize.suppression_limit == 1e-05


def test_a_strategy_and_its_limits(tmp_path: Path) -> None:
    text = LEAST + "  strategy: {kind: Lightning, minimal: true}\n  time_limit: 2.5\n  check_limit: 100\n"
    plan = read(text, tmp_path).plan()
    assert (plan.strategy, plan.time_limit, plan.check_limit) == (Lightning(minimal=True), 2.5, 100)
    again = tmp_path / "again.yaml"
    Recipe.of(plan).save(again)
    assert Recipe.read(again).plan() == plan
    assert read(LEAST + "  strategy: best_effort\n", tmp_path).plan().strategy == BestEffort()
    assert read(LEAST, tmp_path).plan().strategy == Auto()


def test_a_quality_model_by_name(tmp_path: Path) -> None:
    for name in ("average_class_size", "average-class-size", "AverageClassSize"):
        assert read(LEAST + f"  quality: {name}\n", tmp_path).plan().quality == AverageClassSize()


def test_formats_are_told_by_name_or_by_kind(tmp_path: Path) -> None:
    assert read(LEAST + "input: a.parquet\n", tmp_path).input_format == Parquet()
    assert read(LEAST + "input: {path: a.dat, kind: csv}\n", tmp_path).input_format == Csv()
    assert read(LEAST + "input: {path: a.xlsx, sheet: S1}\n", tmp_path).input_format == Excel("S1")


# YAML without its surprises


def test_words_that_other_readers_take_for_something_else(tmp_path: Path) -> None:
    text = "quasi_identifiers: {no: suppression, on: redaction, y: auto}\nsensitive: [off, 12:30, 1_000]\n"
    plan = read(generalize(text + "models: [{kind: KAnonymity, k: 2}]\n"), tmp_path).plan()
    assert list(plan.quasi_identifiers) == ["no", "on", "y"]
    assert plan.sensitive == ("off", "12:30", "1_000")


def test_postcodes_keep_their_zeros(tmp_path: Path) -> None:
    rows = "{kind: table, rows: [[02139, 0213*], [02144, 0214*]]}"
    built = read(LEAST.replace("suppression", rows), tmp_path).generalize.quasi_identifiers["sex"]
    assert built == h.Table((("02139", "0213*"), ("02144", "0214*")))


def test_values_may_be_numbers_and_booleans(tmp_path: Path) -> None:
    tree = "{kind: categories, tree: {1: [1, 2], true: [true, 2.5]}}"
    built = read(LEAST.replace("suppression", tree), tmp_path).generalize.quasi_identifiers["sex"]
    assert built == h.categories({"1": ["1", "2"], "true": ["true", "2.5"]})


@pytest.mark.parametrize("text", ["5", "-5", "0", "0.5", "-1.25e-3", "1e5", "~", "null"])
def test_what_is_not_text_is_what_json_says(text: str) -> None:
    assert scalar(text) == (None if text == "~" else json.loads(text))


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
@example("C:\\0data")
def test_any_text_survives_being_written(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "recipe.yaml")
        made = Recipe.of(Plan({f"c{text}": h.redaction()}, KAnonymity(2), sensitive=(text,), marker=text))
        made.save(path)
        assert Recipe.read(path).plan() == made.plan()
        # Other readers of YAML see the same text.
        assert yaml.safe_load(path.read_text(encoding="utf-8"))["steps"][0]["sensitive"] == [text]


def test_what_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    made = Recipe.of(Plan({"c": h.redaction()}, KAnonymity(2), marker="\0"))
    with refused(PlanError, "NUL character"):
        made.save(tmp_path / "recipe.yaml")
    assert not any(tmp_path.iterdir())


# What is refused, where, and in which words

REFUSED: list[tuple[str, str]] = [
    (LEAST + "  qualty: loss\n", "line 5: `steps[0].qualty` is not known here. Did you mean 'quality'?"),
    (
        LEAST + "  suppression_limit: 1.5\n",
        "line 5: `steps[0].suppression_limit` should be from 0 to 1, not 1.5",
    ),
    (
        LEAST + "  suppression_limit: yes\n",
        "line 5: `steps[0].suppression_limit` should be a number from 0 to 1, not 'yes'",
    ),
    (
        LEAST + "  suppression_limit: true\n",
        "line 5: `steps[0].suppression_limit` should be a number from 0 to 1, not 'true'",
    ),
    (LEAST + "overwrite: 5\n", "line 5: `overwrite` should be a valid boolean"),
    (LEAST + "  others: kep\n", "line 5: `steps[0].others` should be 'keep' or 'drop', not 'kep'"),
    (
        LEAST + "  sensitive: [2020]\n",
        "line 5: `steps[0].sensitive[0]` should be text, not 2020; put it in quotes: '2020'",
    ),
    (
        LEAST + "  identifying: {name: hide}\n",
        "line 5: `steps[0].identifying.name` should be 'remove', 'mask' or 'pseudonym', not 'hide'",
    ),
    (
        LEAST + "  quality: los\n",
        "line 5: `steps[0].quality`: there is no quality model 'los'. Did you mean 'loss'?",
    ),
    (
        LEAST + "  strategy: {kind: Optima}\n",
        "line 5: `steps[0].strategy`: there is no kind 'Optima'. Did you mean 'Optimal'?",
    ),
    (LEAST + "  time_limit: 0\n", "line 5: `steps[0].time_limit` should be greater than 0, not 0"),
    (
        LEAST + "  quality: {kind: Los}\n",
        "line 5: `steps[0].quality`: there is no kind 'Los'. Did you mean 'Loss'?",
    ),
    (
        LEAST + "  quality: {kind: Loss, facto: 1}\n",
        "line 5: `steps[0].quality.facto` is not known here. Did you mean 'factor'?",
    ),
    (
        LEAST + "  quality: 5\n",
        "line 5: `steps[0].quality`: a quality model, such as `loss`, is needed, not 5",
    ),
    (
        LEAST + "input: {path: a.csv, seperator: ;}\n",
        "line 5: `input.seperator` is not known here. Did you mean 'separator'?",
    ),
    (LEAST + "input: patients\n", "line 5: `input`: the name 'patients' does not show the file format"),
    (LEAST + "input: {separator: ;}\n", "line 5: `input`: `kind` is required"),
    (LEAST + "input: {kind: csv}\n", "line 5: `input.path` is required"),
    (LEAST + "output: ''\n", "line 5: `output`"),
    (
        LEAST + "  sensitive: [a]\n  sensitive: [b]\n",
        "line 6: 'sensitive' appears again here; it is first in line 5",
    ),
    (
        LEAST + "  minimum_levels: {sex: -1}\n",
        "line 5: `steps[0].minimum_levels.sex` should be greater than or equal to 0, not -1",
    ),
    (
        LEAST + "  maximum_levels: {sx: 1}\n",
        "`maximum_levels` names 'sx', which is not a quasi-identifier. Did you mean 'sex'?",
    ),
    (LEAST + "  sensitive: sex\n", "recipe.yaml: column 'sex' cannot be both"),
    (
        LEAST.replace("suppression", "supression"),
        "line 3: `steps[0].quasi_identifiers.sex`: there is no kind 'supression'. Did you mean 'suppression'?",
    ),
    (
        LEAST.replace("suppression", "{kind: intervals, width: [5]}"),
        "line 3: `steps[0].quasi_identifiers.sex.width` is not known here. Did you mean 'widths'?",
    ),
    (
        LEAST.replace("suppression", "{kind: intervals, widths: [5, 7]}"),
        "line 3: `steps[0].quasi_identifiers.sex`: `widths` of Intervals should be multiples",
    ),
    (
        LEAST.replace("suppression", "{widths: [5]}"),
        "line 3: `steps[0].quasi_identifiers.sex`: `kind` is required, one of intervals",
    ),
    (LEAST.replace("suppression", ""), "line 3: `steps[0].quasi_identifiers.sex`: a hierarchy, such as"),
    (LEAST.replace("sex", "2020"), "line 3: the name '2020' is read as a number: put it in quotes, '2020'"),
    (LEAST.replace("sex:", "? [a, b]\n:"), "a name should be a word"),
    (
        LEAST.replace("k: 2", "k: 0"),
        "line 4: `steps[0].models[0].k` should be greater than or equal to 1, not 0",
    ),
    (
        LEAST.replace("k: 2", "k: true"),
        "line 4: `steps[0].models[0].k` should be a valid integer, not 'true'",
    ),
    (LEAST.replace("k: 2", "kk: 2"), "line 4: `steps[0].models[0].kk` is not known here. Did you mean 'k'?"),
    (
        LEAST.replace("KAnonymity", "KAnonimity"),
        "line 4: `steps[0].models[0]`: there is no kind 'KAnonimity'. Did you mean 'KAnonymity'?",
    ),
    (
        LEAST.replace("[{kind: KAnonymity, k: 2}]", "[]"),
        "line 4: `steps[0].models`: the list should have at least 1 item, not 0",
    ),
    (
        LEAST.replace("[{kind: KAnonymity, k: 2}]", "{kind: KAnonymity, k: 2}"),
        "line 4: `steps[0].models` should be a list",
    ),
    ("\n".join(LEAST.splitlines()[:3]), "line 2: `steps[0].models` is required"),
    (
        LEAST.replace("{sex: suppression}", "{}"),
        "recipe.yaml: the plan has no quasi-identifier",
    ),
    ("", "a recipe is a list of names with values, such as `input: data.csv`; it is empty"),
    ("- input\n", "it begins with something else"),
    (LEAST + "output: [a\n", "line 6, column 1: not YAML"),
    (
        LEAST + "output: a: b\n",
        "line 5, column 10: not YAML: mapping values are not allowed in this context. Put text",
    ),
    (
        LEAST + "\toutput: a\n",
        "line 5, column 1: not YAML: while scanning for the next token, found character",
    ),
    (LEAST + "  marker: *\n", "line 5"),
    (
        LEAST + "  marker: *x\n",
        "line 5, column 11: not YAML: found undefined alias. Put text that begins with * in quotes",
    ),
    (LEAST + "  sensitive: &a [*a]\n", "line 5: `steps[0].sensitive[0]` refers to itself"),
    (
        LEAST + "  marker: !!python/name:os.system x\n",
        "has the YAML tag 'tag:yaml.org,2002:python/name:os.system'",
    ),
    (LEAST + "  marker: \x07\n", "not a YAML file"),
]


@pytest.mark.parametrize(("text", "told"), REFUSED)
def test_what_is_refused_is_named_with_file_line_and_field(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError) as caught:
        read(text, tmp_path).plan()
    said = str(caught.value)
    assert said.startswith(str(tmp_path / "recipe.yaml"))
    assert told in said


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as caught:
        read(LEAST.replace("k: 2", "k: 0") + "  others: kep\n  qualty: loss\n", tmp_path)
    assert [line.partition(": ")[0][-1] for line in str(caught.value).splitlines()] == ["4", "5", "6"]


def test_files_that_are_no_recipes(tmp_path: Path) -> None:
    with refused(InputError, "nowhere.yaml", "no such file"):
        Recipe.read(tmp_path / "nowhere.yaml")
    with refused(InputError, "is a directory"):
        Recipe.read(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(LEAST.replace("sex", "größe").encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        Recipe.read(tmp_path / "latin.yaml")


@settings(max_examples=300)
@given(st.text("abk:- {}[]'\"\n\t#&*!|>%@`,?5.~", max_size=40))
def test_any_text_is_read_or_refused_in_our_own_words(text: str) -> None:
    try:
        document = parse(text, "recipe.yaml")
        Recipe.model_validate(document.data, context=document)
        said = "recipe.yaml is fine"
    except VeilError as error:
        said = str(error)
    assert "recipe.yaml" in said


# Written down and read again

COLUMNS = st.sampled_from(["age", "sex", "zip", "no", "2020", "a: b", "größe", "[x", "*", "#", " "])
NUMBERS = st.integers(1, 10**6) | st.decimals(Decimal("0.001"), 10**6, places=3)
BUILDERS: st.SearchStrategy[Any] = st.one_of(
    st.just(h.suppression()),
    st.just(h.identity()),
    st.builds(h.auto, st.integers(1, 9)),
    st.builds(h.redaction, st.sampled_from(["left", "right"]), character=st.sampled_from("*x#'\"0 ")),
    st.builds(lambda width, top: h.intervals(width, width * 2, top=top), NUMBERS, st.none() | NUMBERS),
    st.builds(lambda step: h.intervals(listed=[(0, step, "low"), (step, 2 * step)], groups=[2]), NUMBERS),
    st.builds(h.dates, st.just("month"), st.just("year"), top=st.none() | st.dates(), root=st.booleans()),
    st.builds(
        lambda sizes, order: h.ordering(sizes, order=order),
        st.lists(st.integers(1, 4), min_size=1),
        st.sampled_from(["natural", "data"]),
    ),
    st.builds(
        h.priority,
        st.sampled_from(["frequency", "natural"]),
        priorities=st.dictionaries(st.text("ab0.", max_size=3), st.integers(-5, 5)),
    ),
    st.builds(
        lambda values, other: h.categories({"low": values, "high": ["x"]}, other=other),
        st.lists(st.sampled_from(["1", "01", "no", "null", "1e5", "~", "a b"]), min_size=1, unique=True),
        st.none() | st.just("rest"),
    ),
    st.builds(
        lambda rows: h.Table(tuple((row, "*") for row in rows)),
        st.lists(st.none() | st.text("01.e-~nul", max_size=4), min_size=1),
    ),
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    names = draw(st.lists(COLUMNS, min_size=3, max_size=6, unique=True))
    limit = draw(st.floats(0, 1))
    return Plan(
        {name: draw(BUILDERS) for name in names[2:]},
        tuple(KAnonymity(draw(st.integers(1, 10**9))) for _ in range(draw(st.integers(1, 2)))),
        sensitive=tuple(names[:1]),
        identifying={names[1]: draw(st.sampled_from(["remove", "mask"]))},
        others=draw(st.sampled_from([None, "keep", "drop"])),
        quality=draw(
            st.sampled_from(
                [Loss(), Loss("sum", limit, {names[2]: 2.5}), AverageClassSize(limit), by_name("kl")]
            )
        ),
        suppression_limit=limit,
        minimum_levels={names[2]: draw(st.integers(0, 3))},
        suppressed_rows=draw(st.sampled_from(["blank", "drop"])),
        marker=draw(
            st.none() | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=3)
        ),
    )


@settings(max_examples=100, deadline=None)
@given(plans())
def test_a_plan_survives_being_written_down(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "recipe.yaml")
        Recipe.of(plan, input=Path(folder, "a.csv"), output="b.csv").save(path)
        again = Recipe.read(path)
        assert again.plan() == plan
        again.save(path)
        assert Recipe.read(path).plan() == plan
        VALIDATOR.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("field", "path", "told"),
    [
        ("report", "report.txt", "`report`: the name should end in .html or .pdf or .json, not 'report.txt'"),
        ("report", "report", "`report`: the name should end in .html or .pdf or .json, not 'report'"),
        ("report", "", "`report` should have at least 1 character, not ''"),
        ("certificate", "c.html", "`certificate`: the name should end in .json, not 'c.html'"),
    ],
)
def test_reports_and_certificates_have_names_that_tell_their_format(field: str, path: str, told: str) -> None:
    plan = Plan({"sex": "suppression"}, KAnonymity(2))
    with pytest.raises(ParameterError) as raised:
        Recipe.of(plan, **{field: path})
    assert str(raised.value).startswith(told)
    made = Recipe.of(plan, report="REPORT.PDF", certificate="c.json")
    assert (made.report, made.certificate) == ("REPORT.PDF", "c.json")


def test_paths_follow_a_recipe_to_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there" / "deep").mkdir(parents=True)
    recipe = read(WHOLE, tmp_path / "here")
    recipe.save(tmp_path / "there" / "deep" / "recipe.yaml")
    moved = Recipe.read(tmp_path / "there" / "deep" / "recipe.yaml")
    for name in ("output", "report", "certificate"):
        assert os.path.realpath(moved.path(name)) == os.path.realpath(recipe.path(name))
    assert os.path.realpath(moved.source) == os.path.realpath(recipe.source)
    job = moved.plan().quasi_identifiers["job"]
    assert os.path.realpath(job.path) == os.path.realpath(tmp_path / "here" / "hierarchies" / "job.csv")
    assert moved.input_format == recipe.input_format

    monkeypatch.chdir(tmp_path / "here")
    made = Recipe.of(
        Plan({"job": h.file("job.csv")}, KAnonymity(2)), input=Path("/data/a.csv"), output="b.csv"
    )
    made.save("../there/recipe.yaml")
    assert yaml.safe_load((tmp_path / "there" / "recipe.yaml").read_text()) == {
        "input": "/data/a.csv",
        "output": "../here/b.csv",
        "steps": [
            {
                "kind": "Generalize",
                "quasi_identifiers": {"job": "../here/job.csv"},
                "models": [{"kind": "KAnonymity", "k": 2}],
            }
        ],
    }


def test_formats_survive_being_written_down(tmp_path: Path) -> None:
    plan = Plan({"sex": "suppression"}, KAnonymity(2))
    for format in (Csv(separator="\t", missing=("", "NA"), quote=None), Excel("S1"), Parquet()):
        Recipe.of(plan, input="a.dat", format=format).save(tmp_path / "recipe.yaml")
        assert Recipe.read(tmp_path / "recipe.yaml").input_format == format


def test_hierarchies_that_are_tables_are_written_out(tmp_path: Path) -> None:
    made = h.table([["f", "*"], ["m", "*"], [None, "*"]])
    Recipe.of(Plan({"sex": made}, KAnonymity(2))).save(tmp_path / "recipe.yaml")
    assert yaml.safe_load((tmp_path / "recipe.yaml").read_text())["steps"][0]["quasi_identifiers"]["sex"][
        "rows"
    ][0] == [
        "f",
        "*",
    ]
    builder = Recipe.read(tmp_path / "recipe.yaml").plan().quasi_identifiers["sex"]
    assert builder.build(pa.array(["f", "m"]), np.ones(2), "sex") == made


def test_hierarchies_that_cannot_be_written_down_are_refused() -> None:
    measured = h.redaction(measured=True).build(pa.array(["8010", "8020"]), np.ones(2), "zip")
    with refused(PlanError, "'zip'", "own shares", "the builder"):
        Recipe.of(Plan({"zip": measured}, KAnonymity(2)))

    class Own:
        def build(self, values: pa.Array, counts: object, column: str) -> h.Hierarchy:
            return h.suppression().build(values, np.ones(len(values)), column)

    with refused(PlanError, "'zip'", "Hierarchy.save", "Own"):
        Recipe.of(Plan({"zip": Own()}, KAnonymity(2)))


def test_a_recipe_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with refused(OutputError, "directory", "not exist"):
        read(LEAST, tmp_path).save(tmp_path / "nowhere" / "recipe.yaml")
    assert os.listdir(tmp_path) == ["recipe.yaml"]


# The JSON schema


def test_the_published_schema_is_up_to_date() -> None:
    published = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    assert published == schema(), "run: veil schema --output docs/recipe.schema.json"
    portable = json.loads(SCHEMA_FILE.with_name("portable-recipe.schema.json").read_text(encoding="utf-8"))
    assert portable == schema(paths=False), (
        "run: veil schema portable --output docs/portable-recipe.schema.json"
    )


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("text", [WHOLE, LEAST])
def test_recipes_fulfil_the_schema(text: str) -> None:
    quoted = text.replace("2020-01-01", "'2020-01-01'").replace("NO]", "'NO']")
    VALIDATOR.validate(yaml.safe_load(quoted))


def test_the_recipe_of_the_demo_fulfils_the_schema() -> None:
    from veil.cli.demo import RECIPE

    VALIDATOR.validate(yaml.safe_load(RECIPE))


@pytest.mark.parametrize(
    "change",
    [
        {"qualty": "loss"},
        {"suppression_limit": 1.5},
        {"models": []},
        {"models": [{"k": 5}]},
        {"models": [{"kind": "KAnonymity", "k": 0}]},
        {"models": [{"kind": "KAnonymity"}]},
        {"quasi_identifiers": {}},
        {"quasi_identifiers": {"sex": "supression"}},
        {"quasi_identifiers": {"sex": {"kind": "intervals", "width": [5]}}},
        {"quasi_identifiers": {"sex": {"widths": [5]}}},
        {"identifying": {"name": "hide"}},
        {"input": {"separator": ";"}},
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(change: dict[str, Any], tmp_path: Path) -> None:
    data = yaml.safe_load(LEAST)
    (data if set(change) <= set(Recipe.model_fields) else data["steps"][0]).update(change)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(data)
    with pytest.raises(PlanError):
        read(json.dumps(data), tmp_path).plan()


def test_research_subsets_are_found_from_the_folder_of_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "subset.csv").write_text("age,sex\n30,f\n30,f\n")
    (tmp_path / "recipe.yaml").write_text(
        "steps:\n  - kind: Generalize\n    quasi_identifiers: {age: suppression, sex: suppression}\n"
        "    models:\n      - {kind: KMap, k: 2, subset: {kind: Matching, source: subset.csv}}\n"
    )
    recipe = Recipe.read(tmp_path / "recipe.yaml")
    people = pa.table({"age": [30, 30, 40], "sex": ["f", "f", "m"]})
    release = anonymize(people, recipe.plan())
    assert release.arrow.to_pydict() == {"age": [30, 30], "sex": ["f", "f"]}
    other = tmp_path / "elsewhere"
    other.mkdir()
    recipe.save(other / "recipe.yaml")
    assert "../subset.csv" in (other / "recipe.yaml").read_text()
    assert Recipe.read(other / "recipe.yaml").plan().models[0].subset.mask(people).tolist() == [
        True,
        True,
        False,
    ]
