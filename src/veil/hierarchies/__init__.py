"""Hierarchies: how the values of a column become coarser, level by level.

    from veil import hierarchies as h

    h.read("age.csv")                 # a table in a file; ARX's `;`-separated files load as they are
    h.table(frame)                    # a table in a dataframe, or rows
    h.intervals(5, 10, 20)            # numbers and dates, by width
    h.ordering(2, 3)                  # neighbours in an order
    h.redaction()                     # characters, one after the other
    h.dates("month", "year")          # units of the calendar
    h.priority()                      # the rarest values go first
    h.categories({"Europe": ["AT", "DE"], "Asia": ["JP"]})
    h.suppression()                   # the value, or `*`
    h.identity()                      # never generalized
    h.auto()                          # a proposal from type and values

The first two return a `Hierarchy`. The others return builders: `builder.build(values, counts, column)` makes
the `Hierarchy` for the values of a column. A hierarchy can be used wherever a builder can.

New files with builders are registered automatically, as are builders of other packages (`veil.hierarchies`).
"""

from typing import TYPE_CHECKING, Annotated, Any

from veil.base.registry import Family, import_files
from veil.hierarchies._auto import Auto as Auto
from veil.hierarchies._auto import propose as propose
from veil.hierarchies._basic import File as File
from veil.hierarchies._basic import Identity as Identity
from veil.hierarchies._basic import Suppression as Suppression
from veil.hierarchies._basic import Table as Table
from veil.hierarchies._basic import table as table
from veil.hierarchies._builders import Builder as Builder
from veil.hierarchies._builders import Builds as Builds
from veil.hierarchies._builders import reads_data as reads_data
from veil.hierarchies._categories import Categories as Categories
from veil.hierarchies._categories import categories as categories
from veil.hierarchies._coverage import uncovered as uncovered
from veil.hierarchies._dates import Dates as Dates
from veil.hierarchies._dates import dates as dates
from veil.hierarchies._intervals import Bounds as Bounds
from veil.hierarchies._intervals import Interval as Interval
from veil.hierarchies._intervals import Intervals as Intervals
from veil.hierarchies._intervals import intervals as intervals
from veil.hierarchies._labels import Group as Group
from veil.hierarchies._labels import LabelFunction as LabelFunction
from veil.hierarchies._ordering import Ordering as Ordering
from veil.hierarchies._ordering import ordering as ordering
from veil.hierarchies._preview import Holders as Holders
from veil.hierarchies._preview import Preview as Preview
from veil.hierarchies._preview import preview as preview
from veil.hierarchies._priority import Priority as Priority
from veil.hierarchies._proposals import ProposedHierarchy as ProposedHierarchy
from veil.hierarchies._proposals import proposals as proposals
from veil.hierarchies._redaction import Redaction as Redaction
from veil.hierarchies.hierarchy import Hierarchy as Hierarchy

read = Hierarchy.read
file = File
redaction = Redaction
priority = Priority
suppression = Suppression
identity = Identity
auto = Auto

BUILDERS = Family(
    Builder,
    "veil.hierarchies",
    order=(
        *("intervals", "ordering", "redaction", "dates", "priority", "categories"),
        *("suppression", "identity", "auto", "file", "table"),
    ),
)
"""Every declared builder by its kind."""

AnyBuilder = Annotated[Builder, BUILDERS]
"""Any declared builder, distinguished by `kind`, as in recipes."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return BUILDERS.attribute(__name__, name)

    def __dir__() -> list[str]:  # for completion, which would list the imports of this file
        return sorted(__all__)

    import_files(__name__)

    __all__ = [
        "BUILDERS",
        "Bounds",
        "Builder",
        "Group",
        "Hierarchy",
        "Interval",
        "LabelFunction",
        "auto",
        "categories",
        "dates",
        "file",
        "identity",
        "intervals",
        "ordering",
        "preview",
        "priority",
        "propose",
        "read",
        "redaction",
        "suppression",
        "table",
        *BUILDERS.names,
    ]
