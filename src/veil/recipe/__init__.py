"""Recipes: steps and their files, written in YAML, so that a pipeline can repeat them.

    input: patients.csv
    output: release.csv
    report: report.html
    certificate: certificate.json
    steps:
      - kind: Generalize
        quasi_identifiers:
          age: {kind: intervals, widths: [5, 10, 20]}
          sex: suppression            # the kind alone, where it needs nothing else
          job: hierarchies/job.csv    # a hierarchy file
        sensitive: [diagnosis]
        identifying: [name]
        models:
          - {kind: KAnonymity, k: 5}
        suppression_limit: 0.05

Relative paths start at the folder of the recipe. The fields of the step Generalize are those of `veil.Plan`.
Instead of a file, a folder, a pattern of files or a table of a database may be named; `engine` chooses the
reader.

    input: {url: postgres://veil@host/clinic, table: patients, password_variable: VEIL_PASSWORD}
    output: postgres://veil@host/clinic#release
    engine: {memory: 2GB}
"""

from veil.recipe.json_schema import schema
from veil.recipe.project import Project
from veil.recipe.recipe import Recipe

__all__ = ["Project", "Recipe", "schema"]
