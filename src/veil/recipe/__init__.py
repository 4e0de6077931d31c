"""Recipes: a plan and its files, written down in YAML so that a pipeline can carry it out again and again.

    input: patients.csv
    output: release.csv
    report: report.html
    quasi_identifiers:
      age: {kind: intervals, widths: [5, 10, 20]}
      sex: suppression            # the kind alone, where it needs nothing else
      job: hierarchies/job.csv    # a hierarchy file
    sensitive: [diagnosis]
    identifying: [name]
    models:
      - {kind: KAnonymity, k: 5}
    suppression_limit: 0.05

Relative paths start at the folder of the recipe. Everything but the files is a field of `veil.Plan`.
"""

from veil.recipe._recipe import Recipe, schema

__all__ = ["Recipe", "schema"]
