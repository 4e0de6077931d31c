"""Progress: a bar under a cell that takes long."""

from __future__ import annotations

import nbformat
from nbclient import NotebookClient


def test_a_bar_is_shown_under_a_cell_that_takes_long() -> None:
    cell = (
        "import time\n"
        "from veil.base.progress import following\n"
        "with following(None) as shown:\n"
        "    shown.phase('searching')\n"
        "    time.sleep(1.1)\n"
        "    shown.advance(1, 4, '<b>')\n"
        "with following(None) as quick:\n"
        "    quick.phase('over at once')\n"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    assert len(outputs) == 1
    assert "done in" in outputs[0].data["text/html"]
