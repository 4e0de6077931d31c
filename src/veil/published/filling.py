"""The worst fillings of blank sensitive cells, for the verifier: further classes, which all must hold."""

from __future__ import annotations

import copy

import numpy as np
import pyarrow as pa

from veil.base.views import FillingRule
from veil.published.blank import shows_no_value
from veil.published.table import Published
from veil.tables.columns import encode_comparable


def fill_published(published: Published, attribute: str, rule: FillingRule) -> Published | None:
    """Return a table with a class for each class and each filling of its blank cells of an attribute.

    Only sizes and histograms are filled in. The baseline is that of cells that show a value; None if there is
    none, so that nothing can be filled in.

    >>> from veil.tables.rows import Rows
    >>> table = pa.table({"age": ["20", "20", "20"], "disease": ["flu", None, "cold"]})
    >>> filled = fill_published(Published(Rows.of(table), ["age"]), "disease", "each")
    >>> number, value, count = filled.histograms("disease")
    >>> list(zip(number.tolist(), value.to_pylist(), count.tolist()))
    [(0, 'flu', 2), (0, 'cold', 1), (1, 'flu', 1), (1, 'cold', 2)]
    """
    visible = published.visible(attribute)
    baseline, _ = visible.compare(attribute, baseline=True)
    if visible is published or not len(baseline):
        return published if visible is published else None
    number, values, count = published.histograms(attribute)
    is_blank = shows_no_value(values, published.marker)
    blanks = np.zeros(published.sizes.size, np.int64)
    np.add.at(blanks, number[is_blank], count[is_blank])
    number, count, values = number[~is_blank], count[~is_blank], values.filter(pa.array(~is_blank))
    both = pa.chunked_array([baseline, values.cast(baseline.type)])
    domain, codes = encode_comparable(both, attribute)
    some, code = np.unique(codes[: len(baseline)]), codes[len(baseline) :]
    where = np.flatnonzero(blanks)
    if rule == "commonest":
        largest = np.full(blanks.size, some[0])
        for entry in np.argsort(count, kind="stable"):
            largest[number[entry]] = code[entry]
        tries = [(largest[where],) * 2]
    else:
        tries = [(np.full(where.size, one),) * 2 for one in some]
    if rule == "each or one" and some.size > 1:
        tries += [(np.full(where.size, one), np.full(where.size, some[int(one == some[0])])) for one in some]
    # Classes without a blank come first, then those with one, once for each filling.
    whole = blanks == 0
    place = np.where(whole, np.cumsum(whole), whole.sum() + np.cumsum(~whole)) - 1
    inside = ~whole[number]
    entries = [(place[number[~inside]], code[~inside], count[~inside])]
    for at, (first, others) in enumerate(tries):
        later = at * where.size
        entries += [
            (place[number[inside]] + later, code[inside], count[inside]),
            (place[where] + later, first, np.ones(where.size, np.int64)),
            (place[where] + later, others, blanks[where] - 1),
        ]
    classes, places, times = (np.concatenate(part).astype(np.int64) for part in zip(*entries, strict=True))
    pairs, at_pair = np.unique((classes * len(domain) + places)[times > 0], return_inverse=True)
    sums = np.zeros(pairs.size, np.int64)
    np.add.at(sums, at_pair, times[times > 0])
    filled = copy.copy(visible)
    filled.sizes = np.concatenate([published.sizes[whole], *[published.sizes[~whole]] * len(tries)])
    filled._histograms = {
        (attribute, filled.view): (pairs // len(domain), domain.take(pa.array(pairs % len(domain))), sums)
    }
    return filled
