"""The one door to matplotlib: empty figures that notebooks show by themselves, and figures as the bytes of a file."""

from __future__ import annotations

import functools
import warnings
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

from veil.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure of this size in inches, or say what to install. Nothing here touches pyplot or its state.

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
    return _shown(Figure)(figsize=(width, height), layout="constrained")


def bytes_of_figure(figure: Figure, format: Literal["svg", "png"]) -> bytes:
    """Return a figure as the bytes of a file, without date and without the name of a person or machine."""
    file = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # a box instead of a letter is no failure
        figure.savefig(file, format=format, dpi=150, metadata={"Date": None} if format == "svg" else None)
    return file.getvalue()


@functools.cache
def _shown(figure: type[Figure]) -> type[Figure]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    class Shown(figure):  # type: ignore[misc, valid-type]
        """A figure that is its own picture in a notebook, where only those of pyplot are otherwise."""

        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            FigureCanvasAgg(self)

        def _repr_png_(self) -> bytes:
            return bytes_of_figure(self, "png")

    return Shown
