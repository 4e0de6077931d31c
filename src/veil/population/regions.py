"""Population sizes by region.

The figures are those of ARX 3.9.2 (official estimates around 2013), so that estimates can be compared. For
actual releases, give a current figure in `Population(size=...)`.
"""

from __future__ import annotations

from typing import Literal

Region = Literal[
    "Africa",
    "Australia",
    "Brazil",
    "Canada",
    "China (PRC)",
    "Europe",
    "European Union",
    "France",
    "Germany",
    "India",
    "North America",
    "South America",
    "UK",
    "USA",
]

REGIONS: dict[Region, int] = {
    "Africa": 1_100_000_000,
    "Australia": 23_130_900,
    "Brazil": 202_656_788,
    "Canada": 34_834_841,
    "China (PRC)": 1_366_040_000,
    "Europe": 740_000_000,
    "European Union": 507_420_000,
    "France": 65_820_916,
    "Germany": 80_767_000,
    "India": 1_210_569_573,
    "North America": 565_265_000,
    "South America": 385_742_554,
    "UK": 63_705_000,
    "USA": 317_238_626,
}
