"""What engines raise when somebody stops a run."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from veil.engines.failures import is_interrupt

RAISED = [(KeyboardInterrupt(), True), (SystemExit(143), True), (ValueError("KeyboardInterrupt"), False)]


@pytest.mark.parametrize(("raised", "is_one"), RAISED, ids=lambda each: type(each).__name__)
def test_a_signal_within_python_code_that_duckdb_calls_is_one(raised: BaseException, is_one: bool) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"age": [1]})
        raise raised

    reader = pa.RecordBatchReader.from_batches(pa.schema({"age": pa.int64()}), batches())
    with duckdb.connect() as connection:
        connection.register("people", reader)
        with pytest.raises(duckdb.Error) as error:
            connection.execute("CREATE TABLE copied AS FROM people")
    assert is_interrupt(error.value) == is_one


def test_what_duckdb_says_of_ctrl_c_while_it_writes_is_one() -> None:
    assert is_interrupt(duckdb.Error("KeyboardInterrupt: <EMPTY MESSAGE>"))
    assert not is_interrupt(duckdb.Error("Conversion Error: KeyboardInterrupt: <EMPTY MESSAGE> is no number"))
