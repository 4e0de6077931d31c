"""Format-preserving pseudonyms: digits stay digits, letters letters, and all other characters stay."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from veil.base.arrays import Codes
from veil.base.declare import declared
from veil.base.keys import read_key, start_hmac
from veil.base.randomness import Randomness
from veil.errors import InputError
from veil.masking.pseudonyms.methods import SecretPseudonyms
from veil.outcome.method import MaskedTable, Method
from veil.tables.columns import column_of, encode_values, is_text, replace_column
from veil.tables.rows import Rows
from veil.tables.text import canonical_text

SMALLEST = 1_000_000
"""Least number of pseudonyms of a format (NIST SP 800-38G Revision 1): fewer can be enumerated."""

ROUNDS = 10
"""As in FF1."""

ALPHABETS = {
    "9": "0123456789",
    "1": "123456789",
    "a": "abcdefghijklmnopqrstuvwxyz",
    "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
}
"""The alphabet of each position of a form. All other characters of a form are literal."""


@declared(kind_of=Method)
class FormatPreservingPseudonyms(SecretPseudonyms):
    """Each value becomes another of the same form: AB-1234567 may become QX-9034418.

    A secret permutation of all values of a form: an alternating Feistel network of ten rounds over its
    letters and digits, the construction of FF1 (NIST SP 800-38G), with HMAC-SHA-256 as the round function.
    Each position has the alphabet of its character, so that both halves are numbers below a product of
    alphabet sizes and no value falls outside the form. Different values stay different; the same value has
    the same pseudonym with the same key and context. Integers stay integers of as many digits.

    Visible are the length, which characters are letters, capitals or digits, and all others. A form with
    fewer than 1,000,000 members is refused, as its pseudonyms can be guessed: use `RandomPseudonyms` there. A
    pseudonym may be the name or number of another person. Missing values stay missing.

    >>> method = FormatPreservingPseudonyms("id", key="9f2c71e05ad84b36c1f7a40d2e8b9563")
    >>> method.mask(Rows.of(pa.table({"id": ["AB-1234567"]})), Randomness()).table["id"].to_pylist()
    ['HF-1140370']
    """

    kind: Literal["FormatPreservingPseudonyms"] = Field(
        default="FormatPreservingPseudonyms", repr=False, kw_only=True
    )

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        key = read_key(self.key, self.key_file, self.key_variable)
        permutations: dict[str, Permutation] = {}
        smallest = math.inf
        for name in self.columns:
            column = column_of(table, name, self)
            values, codes = encode_values(column)
            whole = pa.types.is_integer(column.type)
            if not whole and not is_text(column.type):
                raise InputError(
                    f"{self}: column {name!r} holds values of type {column.type}, and text or integers are needed"
                )
            largest = (
                2 ** (column.type.bit_width - pa.types.is_signed_integer(column.type)) - 1 if whole else 0
            )
            pseudonyms: list[Any] = []
            for at, value in enumerate(canonical_text(values, column=name)):
                if value is None:
                    pseudonyms.append(None)
                    continue
                form = form_of(value, leading=whole)
                if form is None:
                    raise InputError(
                        f"{self}: column {name!r}, row {_first(codes, at)}: the value has a letter or digit "
                        "other than a to z and 0 to 9, which would stay unchanged. Write it with these, or use "
                        "KeyedPseudonyms or RandomPseudonyms"
                    )
                if form not in permutations:
                    permutations[form] = Permutation(key, self.context, form)
                size = permutations[form].size
                if size < SMALLEST:
                    # The form and not the value, as messages are logged.
                    raise InputError(
                        f"{self}: column {name!r}, row {_first(codes, at)}: a value with the format "
                        f"{form!r} has only {size:,} possible pseudonyms, and at least {SMALLEST:,} are needed. Use "
                        "RandomPseudonyms or KeyedPseudonyms"
                    )
                smallest = min(smallest, size)
                pseudonyms.append(permutations[form].walk(value, largest if whole else None))
            new = pa.array(
                [int(each) if whole and each is not None else each for each in pseudonyms], column.type
            )
            table = replace_column(table, name, new.take(pa.array(codes)))
        facts = {"forms": len(permutations), "pseudonyms of the smallest form": smallest}
        return MaskedTable(table, facts=facts)


def form_of(value: str, *, leading: bool = False) -> str | None:
    """Return the form of a value: 9 for a digit, a and A for letters; None if it has other letters or digits.

    With `leading`, the first digit becomes 1: a number does not begin with a zero.

    >>> form_of("Ab-12"), form_of("-120", leading=True), form_of("é")
    ('Aa-99', '-199', None)
    """
    form = ""
    for each in value:
        if not each.isalnum():
            form += each
        elif not each.isascii():
            return None
        elif each.isdigit():
            form += "1" if leading and each != "0" and not form.strip("-") else "9"
        else:
            form += "A" if each.isupper() else "a"
    return form


class Permutation:
    """A secret permutation of the values of one form."""

    def __init__(self, key: bytes, context: str, form: str) -> None:
        self.positions = [at for at, each in enumerate(form) if each in ALPHABETS]
        self.alphabets = [ALPHABETS[form[at]] for at in self.positions]
        self.middle = len(self.positions) // 2
        self.sizes = [
            math.prod(map(len, self.alphabets[: self.middle])),
            math.prod(map(len, self.alphabets[self.middle :])),
        ]
        self.size = math.prod(self.sizes)
        self._start = start_hmac(key, "veil format-preserving pseudonyms", context, form)

    def __call__(self, value: str) -> str:
        """Return the pseudonym of a value."""
        halves = [self._number(value, 0, self.middle), self._number(value, self.middle, len(self.positions))]
        for number in range(ROUNDS):
            side = number % 2
            shift = self._shift(number, halves[1 - side], side)
            halves[side] = (halves[side] + shift) % self.sizes[side]
        characters = list(value)
        self._spell(halves[0], 0, self.middle, characters)
        self._spell(halves[1], self.middle, len(self.positions), characters)
        return "".join(characters)

    def walk(self, value: str, largest: int | None) -> str:
        """Return the pseudonym of a value; for a number, one that is at most the largest.

        Applying the permutation until the result is in range permutes the range (cycle walking).
        """
        pseudonym = self(value)
        while largest is not None and abs(int(pseudonym)) > largest:
            pseudonym = self(pseudonym)
        return pseudonym

    def _shift(self, number: int, other: int, side: int) -> int:
        """Derive the summand of one half from the other: 128 bits longer, so that it is nearly uniform."""
        room = (self.sizes[1 - side].bit_length() + 7) // 8
        bits = self.sizes[side].bit_length() + 128
        result = 0
        for block in range(-(-bits // 256)):
            step = self._start.copy()
            step.update(bytes([number, block]) + other.to_bytes(room, "big"))
            result = result << 256 | int.from_bytes(step.digest(), "big")
        return result

    def _number(self, value: str, start: int, end: int) -> int:
        number = 0
        for at in range(start, end):
            number = number * len(self.alphabets[at]) + self.alphabets[at].index(value[self.positions[at]])
        return number

    def _spell(self, number: int, start: int, end: int, into: list[str]) -> None:
        for at in reversed(range(start, end)):
            number, digit = divmod(number, len(self.alphabets[at]))
            into[self.positions[at]] = self.alphabets[at][digit]


def _first(codes: Codes, code: int) -> int:
    return int(np.argmax(codes == code)) + 1
