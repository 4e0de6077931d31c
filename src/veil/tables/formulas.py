"""Formula injection: texts that a spreadsheet would compute as formulas when it opens a file.

Most spreadsheets compute a text in a CSV file that begins with =, +, -, @ or a tab, and formulas can fetch
and send data. Signed numbers are none. Texts in a workbook of Veil are not computed, unless it is saved as
CSV. Values are never changed when they are written, as the verified table has to be the delivered one.
"""

from __future__ import annotations

import warnings

import pyarrow as pa
import pyarrow.compute as pc

from veil.base.wording import plural
from veil.errors import OutputError, Say
from veil.tables.columns import is_text
from veil.tables.formats import Formulas

_BEGINNING = "^[=+@\t\r-]"
_NUMBER = r"^[+-]?([0-9][0-9.,' ]*)?([eE][+-]?[0-9]+)?$"


class FormulaWarning(UserWarning):
    """A file holds texts that a spreadsheet would take for formulas."""


def heed_formulas(table: pa.Table, how: Formulas, kind: str) -> None:
    """Warn of texts that look like formulas, or refuse to write them, depending on `how`.

    >>> heed_formulas(pa.table({"note": ["fine", "-5", "=HYPERLINK(…)"]}), "refuse", "Csv")
    Traceback (most recent call last):
    ...
    veil.errors.OutputError: column 'note' holds texts that a spreadsheet would take for formulas (1 cell): they begin with
    =, +, -, @ or a tab. Recode them in the input, write Parquet, or say
    format=Csv(formulas="keep")
    """
    if how == "keep":
        return
    for name in table.column_names:
        count = count_formulas(pa.chunked_array([[name]])) or count_formulas(table[name])
        if not count:
            continue
        message = (
            f"column {name!r} holds texts that a spreadsheet would take for formulas ({plural(count, 'cell')}): they begin with "
            "=, +, -, @ or a tab. Recode them in the input, write Parquet, or say "
        )
        if how == "refuse":
            raise OutputError(message, Say("format", kind, formulas="keep"))
        warnings.warn(f'{message}formulas="keep" of {kind}', FormulaWarning, stacklevel=3)


def count_formulas(column: pa.ChunkedArray) -> int:
    """Count the cells that look like formulas.

    >>> count_formulas(pa.chunked_array([["=1+1", "+49", "-", "@x", "a=b", None, "-1.5", "+x"]]))
    3
    """
    if pa.types.is_dictionary(column.type):
        values = pa.chunked_array([pc.unique(column).dictionary_decode()])
        if not count_formulas(values):
            return 0
        column = column.cast(column.type.value_type)
    if not is_text(column.type):
        return 0
    is_formula = pc.and_(
        pc.match_substring_regex(column, _BEGINNING), pc.invert(pc.match_substring_regex(column, _NUMBER))
    )
    return int(pc.sum(is_formula).as_py() or 0)
