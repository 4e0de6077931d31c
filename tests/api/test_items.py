"""Plans without sets of items do without the masking methods, and plans with such find them."""

from __future__ import annotations

import subprocess
import sys

JOB = """
import sys
import pyarrow as pa
import veil
from veil import hierarchies as h

table = pa.table({"age": [30, 30, 40, 40], "has": [["a"], ["a"], ["a", "b"], ["b", "a"]]})
plan = {"quasi_identifiers": {"age": h.suppression()}, "sensitive": ["has"]}
veil.anonymize(table, **plan, models=veil.KAnonymity(2))
print(any(name.startswith("veil.masking") for name in sys.modules))
models = [veil.KAnonymity(2), veil.KMAnonymity("has", 2, 1)]
veil.anonymize(table, **plan, models=models, items={"has": h.suppression()})
print(any(name.startswith("veil.masking") for name in sys.modules))
"""


def test_masking_is_imported_where_it_is_needed() -> None:
    told = subprocess.run([sys.executable, "-c", JOB], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False", "True"]
