"""The steps of recipes: what they say, what they refuse and how, and the schema that says the same."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

import veil
from support import refusals
from veil import hierarchies as h
from veil.errors import InputError, ParameterError, PlanError
from veil.masking import METHODS, PRAM, GlobalRecoding, KeyedPseudonyms, RankSwapping
from veil.recipe import Recipe, schema
from veil.tables import Csv

VALIDATOR = jsonschema.Draft202012Validator(schema())

WHOLE = """\
input: {path: patients.csv, separator: ;}
output: out/masked.csv
apart: secret
overwrite: true
steps:
  - {kind: RandomSampling, fraction: 0.5}
  - {kind: StratifiedSampling, columns: [sex], size: 2}
  - {kind: BernoulliSampling, probability: 0.5}
  - {kind: GlobalRecoding, column: zip, hierarchy: redaction, level: 2}
  - {kind: GlobalRecoding, column: job, hierarchy: hierarchies/job.csv}
  - {kind: GlobalRecoding, column: age, hierarchy: {kind: intervals, widths: [5, 10]}}
  - {kind: GlobalRecoding, column: status, mapping: {widowed: alone, 1: one}}
  - {kind: TopCoding, column: age, threshold: 90, value: 90+}
  - {kind: BottomCoding, column: income, quantile: 0.01, replacement: mean}
  - {kind: Rounding, columns: income, base: 100, method: random}
  - {kind: LocalSuppression, columns: [age, sex], k: 3, importance: {age: 2}}
  - {kind: UncorrelatedNoise, columns: [income], alpha: 0.1}
  - {kind: CorrelatedNoise, columns: [income, stay], alpha: 0.1, transformed: true}
  - {kind: DataSwapping, columns: [age], share: 0.1, within: sex}
  - {kind: RankSwapping, columns: [age, income], p: 10}
  - {kind: PRAM, column: sex, retention: 0.9, invariant: true}
  - {kind: PRAM, column: sex, matrix: {f: {f: 0.9, m: 0.1}, m: {m: 2/3, f: 1/3}}}
  - {kind: Shuffling, columns: [income], given: [age]}
  - {kind: ColumnShuffling, columns: [income], together: true}
  - {kind: KeyedPseudonyms, columns: name, key_file: keys/veil.key}
  - {kind: RandomPseudonyms, columns: [name]}
  - {kind: FormatPreservingPseudonyms, columns: id, key_variable: VEIL_KEY}
  - {kind: UnkeyedHash, columns: id, although_values_can_be_guessed: true}
  - {kind: RandomizedResponse, column: sex, categories: [f, m], epsilon: ln(3)}
  - {kind: RandomizedResponse, column: sex, categories: [f, m], matrix: [[0.75, 1/4], [1/4, 3/4]]}
  - {kind: DateShifting, columns: visit, person: patient, days: 90, keep: weekday}
  - {kind: DaysSinceFirst, columns: visit, person: patient}
"""


def read(text: str, folder: Path) -> Recipe:
    path = folder / "steps.yaml"
    path.write_text(text, encoding="utf-8")
    return Recipe.read(path)


def test_everything_that_a_recipe_can_say(tmp_path):
    recipe = read(WHOLE, tmp_path)
    assert recipe.source == tmp_path / "patients.csv"
    assert recipe.input_format == Csv(separator=";")
    assert recipe.path("output") == tmp_path / "out" / "masked.csv"
    assert recipe.path("apart") == tmp_path / "secret"
    assert recipe.overwrite
    methods = recipe.located_steps()
    assert methods[3] == GlobalRecoding("zip", h.redaction(), 2)
    assert methods[6] == GlobalRecoding("status", mapping={"widowed": "alone", "1": "one"})
    assert methods[14] == RankSwapping(["age", "income"], 10)
    assert methods[16] == PRAM("sex", matrix={"f": {"f": 0.9, "m": 0.1}, "m": {"m": "2/3", "f": "1/3"}})


def test_every_masking_method_of_this_family_has_its_line():
    named = {step["kind"] for step in yaml.safe_load(WHOLE)["steps"]}
    here = ("values", "suppression", "pseudonyms")
    assert named == {each.__name__ for each in METHODS.values() if each.__module__.split(".")[2] in here}


def test_paths_start_at_the_folder_of_the_recipe(tmp_path):
    methods = read(WHOLE, tmp_path).located_steps()
    assert methods[4].hierarchy.path == str(tmp_path / "hierarchies/job.csv")  # type: ignore[attr-defined]
    assert methods[19] == KeyedPseudonyms("name", key_file=str(tmp_path / "keys/veil.key"))
    absolute = "steps: [{kind: KeyedPseudonyms, columns: name, key_file: /keys/veil.key}]"
    assert read(absolute, tmp_path).located_steps() == [KeyedPseudonyms("name", key_file="/keys/veil.key")]


def test_the_schema_takes_what_recipes_take():
    # With YAML's own reading, as an editor has it.
    VALIDATOR.validate(yaml.safe_load(WHOLE.replace("1: one", "'1': one")))
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize(
    ("step", "message", "in_schema"),
    [
        ("{kind: RankSwapping, columns: age, p: 130}", "`steps[0].p` should be from 0 to 100, not 130", True),
        ("{kind: RankSwapping, columns: age}", "`steps[0].p` is required", True),
        ("{kind: RankSwaping, columns: age}", "there is no kind 'RankSwaping'. Did you mean 'RankSwapping'?", True),
        ("{columns: age}", "`steps[0]`: `kind` is required, one of Generalize", True),
        ("{kind: RankSwapping, columns: age, p: 5, q: 1}", "`steps[0].q` is not known here. Choose from: 'columns', 'p'", True),
        ("rank swapping", "a step, such as {kind: Generalize", True),
        ("{kind: KeyedPseudonyms, columns: a, key: 00112233445566778899aabbccddeeff}",
         "a key does not belong in a recipe: name a `key_file` or a `key_variable` instead", True),
        ("{kind: KeyedPseudonyms, columns: a}", "KeyedPseudonyms has no key: give `key_file`", False),
        ("{kind: PRAM, column: a, matrix: {a: {a: 0.5}}}", "should add up to exactly 1, not 0.5", False),
        ("{kind: GlobalRecoding, column: a, hierarchy: {kind: interval}}",
         "there is no kind of hierarchy 'interval'. Did you mean 'intervals'?", True),
        ("{kind: LocalSuppression, columns: [a], k: 1}", "should be greater than or equal to 2, not 1", True),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(step, message, in_schema, tmp_path):
    text = f"input: t.csv\nsteps:\n  - {step}\n"
    with pytest.raises(PlanError) as refused:
        read(text, tmp_path)
    assert f"{tmp_path / 'steps.yaml'}, line 3: " in str(refused.value)
    assert message in str(refused.value)
    if in_schema:
        assert not VALIDATOR.is_valid(yaml.safe_load(text))


def test_no_steps_and_no_file(tmp_path):
    with refusals.refused(ParameterError, "needs `steps` or `questions`", "{kind: Generalize"):
        read("input: t.csv\n", tmp_path)
    with refusals.refused(ParameterError, "least 1", "item"):
        read("steps: []\n", tmp_path)
    with refusals.refused(ParameterError, "`models`", "a field of a step", "{kind: Generalize"):
        read("steps: [{kind: BernoulliSampling, probability: 0.5}]\nmodels: []\n", tmp_path)
    with refusals.refused(InputError, "no such file"):
        Recipe.read(tmp_path / "none.yaml")


OLD = {
    "quasi_identifiers: {sex: suppression}\nmodels: [{kind: KAnonymity, k: 2}]\n": (
        "`quasi_identifiers`, `models`",
        "`steps: [{kind: Generalize, …}]`",
    ),
    "neighbours: one changed\nmethod: MarginalTree\n": ("`neighbours`, `method`", "{kind: PrivateTable, …}"),
    "purpose: research\nrecipient: lab\n": ("`purpose`, `recipient`", "{kind: ByPolicies, …}"),
}


@pytest.mark.parametrize("text", OLD)
def test_a_file_without_steps_is_refused_with_the_step_to_write(text: str, tmp_path: Path) -> None:
    with refusals.refused(ParameterError, "steps.yaml", "line 1", *OLD[text]):
        read(text, tmp_path)


GENERALIZE = "{kind: Generalize, quasi_identifiers: {age: suppression}, models: [{kind: KAnonymity, k: 2}]}"
MASK = "{kind: RankSwapping, columns: age, p: 10}"


@pytest.mark.parametrize(
    "steps",
    [
        (GENERALIZE, MASK),
        (MASK, GENERALIZE, MASK),
        (GENERALIZE, GENERALIZE),
        (GENERALIZE, "{kind: ByPolicies, policies: p/, purpose: research, recipient: lab}"),
    ],
)
def test_steps_that_cannot_be_combined_are_refused_before_anything_is_read(
    steps: tuple[str, ...], tmp_path: Path
) -> None:
    text = "input: t.csv\noutput: o.csv\nsteps:\n" + "".join(f"  - {each}\n" for each in steps)
    (tmp_path / "t.csv").write_text("age\n1\n2\n")
    recipe = read(text, tmp_path)
    with refusals.refused(PlanError, "cannot be combined", "one Generalize"):
        veil.run(recipe)
    with refusals.refused(PlanError, "cannot be combined"):
        recipe.plan()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["steps.yaml", "t.csv"]


@pytest.mark.parametrize("field", ["tables: {a: t.csv}", "knows: all rows"])
def test_a_field_without_an_effect_on_masks_is_refused(field: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n1\n2\n")
    source = "" if "tables" in field else "input: t.csv\n"
    recipe = read(f"{source}output: o/\nperson: null\n{field}\nsteps: [{MASK}]\n", tmp_path)
    with refusals.refused(PlanError, f"`{field.partition(':')[0]}`", "no effect on RankSwapping"):
        veil.run(recipe)
