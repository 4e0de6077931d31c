"""Reading and writing: dataframes and files become Arrow tables, and releases get the form of their input."""

from veil.tables.csv.bad_cells import Mistakes, find_mistakes
from veil.tables.formats import Csv, Excel, Feather, Format, Parquet, output_format
from veil.tables.source import Source, read
from veil.tables.text import canonical_text
from veil.tables.writing import atomic, write

__all__ = [
    "Csv",
    "Excel",
    "Feather",
    "Format",
    "Mistakes",
    "Parquet",
    "Source",
    "atomic",
    "canonical_text",
    "find_mistakes",
    "output_format",
    "read",
    "write",
]
