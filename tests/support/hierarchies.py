"""A hierarchy of ages, and random trees."""

from __future__ import annotations

from hypothesis import strategies as st

AGE = [
    ["21", "20-29", "*"],
    ["23", "20-29", "*"],
    ["35", "30-39", "*"],
    ["38", "30-39", "*"],
    ["47", "40-49", "*"],
]


@st.composite
def trees(draw: st.DrawFn) -> list[list[str | None]]:
    """Tables that are trees: random parents, level by level, in random row order."""
    words = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=4)
    level: list[str | None] = draw(st.lists(words.filter(lambda text: text.casefold() != "null"), min_size=1,
                                            max_size=12, unique=True))  # fmt: skip
    if draw(st.booleans()):
        level[0] = None
    rows: dict[str | None, list[str | None]] = {value: [value] for value in level}
    for _ in range(draw(st.integers(0, 4))):
        above = {label: f"g{draw(st.integers(0, len(level) - 1))}" for label in level}
        for row in rows.values():
            row.append(above[row[-1]])
        level = list(dict.fromkeys(above.values()))
    return draw(st.permutations(list(rows.values())))
