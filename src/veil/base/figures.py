"""Figures with matplotlib, which only this module imports: shown by notebooks, or as the bytes of a file."""

from __future__ import annotations

import functools
import warnings
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

from veil.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, without touching pyplot or its state.

    >>> figure = new_figure(4, 3)
    >>> figure._repr_png_()[1:4]
    b'PNG'
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            "Pictures need matplotlib. Install it with: pip install 'veil-anonymizer[plot]'"
        ) from None
    return _notebook_class(Figure)(figsize=(width, height), layout="constrained")


def bytes_of_figure(figure: Figure, format: Literal["svg", "png"]) -> bytes:
    """Return a figure as the bytes of a file, without date and without the name of a person or machine."""
    file = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # a box instead of a letter is no failure
        figure.savefig(file, format=format, dpi=150, metadata={"Date": None} if format == "svg" else None)
    return file.getvalue()


@functools.cache
def _notebook_class(figure: type[Figure]) -> type[Figure]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    class NotebookFigure(figure):  # type: ignore[misc, valid-type]
        """A figure that notebooks show, as otherwise only those of pyplot."""

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            FigureCanvasAgg(self)

        def _repr_png_(self) -> bytes:
            return bytes_of_figure(self, "png")

    return NotebookFigure
