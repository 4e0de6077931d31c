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

The first two make a `Hierarchy` at once. The others are builders: they wait for the values of the column, and
`builder.build(values, counts, column)` makes the `Hierarchy`. A hierarchy can be used wherever a builder can.
"""

from veil.hierarchies._auto import Auto, propose
from veil.hierarchies._basic import File, Identity, Suppression, Table, table
from veil.hierarchies._builders import Builder, Builds
from veil.hierarchies._categories import Categories, categories
from veil.hierarchies._dates import Dates, dates
from veil.hierarchies._intervals import Bounds, Interval, Intervals, intervals
from veil.hierarchies._labels import Group, Label
from veil.hierarchies._ordering import Ordering, ordering
from veil.hierarchies._priority import Priority
from veil.hierarchies._redaction import Redaction
from veil.hierarchies.hierarchy import Hierarchy

read = Hierarchy.read
file = File
redaction = Redaction
priority = Priority
suppression = Suppression
identity = Identity
auto = Auto

__all__ = [
    "Auto",
    "Bounds",
    "Builder",
    "Builds",
    "Categories",
    "Dates",
    "File",
    "Group",
    "Hierarchy",
    "Identity",
    "Interval",
    "Intervals",
    "Label",
    "Ordering",
    "Priority",
    "Redaction",
    "Suppression",
    "Table",
    "auto",
    "categories",
    "dates",
    "file",
    "identity",
    "intervals",
    "ordering",
    "priority",
    "propose",
    "read",
    "redaction",
    "suppression",
    "table",
]
