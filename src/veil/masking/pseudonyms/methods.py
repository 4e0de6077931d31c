"""Pseudonyms: identifying values are replaced by others that cannot be linked without a secret."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable
from typing import Annotated, ClassVar, Literal, Self

import pyarrow as pa
from pydantic import Field, model_validator

from veil.base.declare import declared
from veil.base.keys import Key, KeyFile, KeyVariable, check_key, read_key, start_hmac
from veil.base.randomness import Randomness
from veil.errors import PlanError
from veil.masking.parameters import Columns
from veil.outcome.method import ColumnMethod, MaskedTable, Method
from veil.tables.columns import column_of, encode_values, replace_column
from veil.tables.rows import Rows
from veil.tables.text import canonical_text


@declared
class Pseudonyms(ColumnMethod):
    """Base of methods that replace each value of a column consistently."""

    columns: Annotated[Columns, Field(description="columns that name a person")]

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage",)

    @property
    def known_columns(self) -> tuple[str, ...]:
        """None: attackers do not know pseudonyms."""
        return ()


@declared
class SecretPseudonyms(Pseudonyms):
    """Base of methods whose pseudonyms follow from a secret key."""

    key_file: KeyFile = None
    key_variable: KeyVariable = None
    key: Key = Field(default=None, repr=False)
    context: Annotated[
        str,
        Field(
            description="what the pseudonyms are for; the same person has different ones in another context"
        ),
    ] = ""

    @model_validator(mode="after")
    def _has_a_key(self) -> Self:
        check_key(type(self).__name__, self.key, self.key_file, self.key_variable)
        return self


@declared(kind_of=Method)
class KeyedPseudonyms(SecretPseudonyms):
    """Each value becomes its HMAC-SHA-256 under a secret key, in hexadecimal digits.

    The same value has the same pseudonym in every column, table and run with the same key and context, so
    that tables can still be joined. Without the key, pseudonyms cannot be computed from guessed names, as
    plain hashes can. With it they can: keep it apart from the table. Missing values stay missing.

    >>> method = KeyedPseudonyms("name", key="9f2c71e05ad84b36c1f7a40d2e8b9563", length=8)
    >>> method.mask(Rows.of(pa.table({"name": ["Ada", "Bob", "Ada"]})), Randomness()).table["name"].to_pylist()
    ['c8fedc2e', 'bb4d5ec6', 'c8fedc2e']
    """

    length: Annotated[int, Field(ge=8, le=64, description="hexadecimal digits of a pseudonym")] = 32
    kind: Literal["KeyedPseudonyms"] = Field(default="KeyedPseudonyms", repr=False, kw_only=True)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        key = read_key(self.key, self.key_file, self.key_variable)
        start = start_hmac(key, self.context)

        def pseudonym(value: str) -> str:
            digest = start.copy()
            digest.update(value.encode())
            return digest.hexdigest()[: self.length]

        return pseudonymize(table, self, pseudonym)


@declared(kind_of=Method)
class RandomPseudonyms(Pseudonyms):
    """Each value becomes a random one, and the table of both is kept apart.

    The pseudonyms reveal nothing about the values. The table `pseudonyms` in `apart` (value and pseudonym)
    reverses them: it is as secret as the values themselves. Without it, reversal is impossible. The same
    value has the same pseudonym in all columns of one run. Missing values stay missing.

    >>> made = RandomPseudonyms("name").mask(Rows.of(pa.table({"name": ["Ada", "Bob", "Ada"]})), Randomness())
    >>> made.apart["pseudonyms"]["value"].to_pylist()
    ['Ada', 'Bob']
    """

    length: Annotated[int, Field(ge=4, le=16, description="hexadecimal digits of a pseudonym")] = 16
    kind: Literal["RandomPseudonyms"] = Field(default="RandomPseudonyms", repr=False, kw_only=True)

    apart_is_secret: ClassVar[bool] = True

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        values = list(dict.fromkeys(value for name in self.columns for value in _values(table, name, self)))
        if 2 * len(values) > 16**self.length:
            raise PlanError(
                f"{self}: {len(values)} distinct values need longer pseudonyms. Raise `length` above "
                f"{self.length}"
            )
        pseudonyms = randomness.tokens(len(values), self.length)
        pseudonym_of = dict(zip(values, pseudonyms, strict=True))
        masked = pseudonymize(table, self, pseudonym_of.__getitem__)
        mapping = pa.table(
            {"value": pa.array(values, pa.string()), "pseudonym": pa.array(pseudonyms, pa.string())}
        )
        return masked._replace(apart={"pseudonyms": mapping})


class GuessableWarning(UserWarning):
    """Pseudonyms that can be computed from a guess."""


@declared(kind_of=Method)
class UnkeyedHash(Pseudonyms):
    """Each value becomes its SHA-256, or another digest that has to be matched. This does not protect it.

    Names, insurance numbers and dates of birth are few: an attacker can hash all of them. Only for tables
    that have to match others made this way; it warns whenever it runs. Use `KeyedPseudonyms`.
    """

    although_values_can_be_guessed: Annotated[
        bool, Field(description="has to be true: you know that the values can be found out")
    ]
    algorithm: Annotated[
        Literal["sha256", "sha1", "md5"], Field(description="which hash; the last two for old tables only")
    ] = "sha256"
    kind: Literal["UnkeyedHash"] = Field(default="UnkeyedHash", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="after")
    def _is_meant(self) -> UnkeyedHash:
        if not self.although_values_can_be_guessed:
            raise ValueError(
                "UnkeyedHash can be reversed by hashing guesses: use KeyedPseudonyms, or say "
                "although_values_can_be_guessed=True"
            )
        return self

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        warning = (
            f"an unkeyed hash does not protect {', '.join(self.columns)}: anybody can hash guesses and compare. Use "
            "KeyedPseudonyms"
        )
        warnings.warn(warning, GuessableWarning, stacklevel=3)
        masked = pseudonymize(table, self, self._digest)
        return masked._replace(facts={**masked.facts, "warning": warning})

    def _digest(self, value: str) -> str:
        return hashlib.new(self.algorithm, value.encode(), usedforsecurity=False).hexdigest()


def pseudonymize(table: pa.Table, method: Pseudonyms, pseudonym: Callable[[str], str]) -> MaskedTable:
    """Replace the values of all columns; refuse if two values would share a pseudonym."""
    pseudonym_of: dict[str, str] = {}
    for name in method.columns:
        values, codes = encode_values(column_of(table, name, method))
        texts = canonical_text(values, column=name)
        for each in texts:
            if each is not None and each not in pseudonym_of:
                pseudonym_of[each] = pseudonym(each)
        new = pa.array([None if each is None else pseudonym_of[each] for each in texts], pa.string())
        table = replace_column(table, name, new.take(pa.array(codes)))
    if len(set(pseudonym_of.values())) < len(pseudonym_of):
        raise PlanError(f"{method}: two values would get the same pseudonym. Raise `length`")
    return MaskedTable(table, facts={"different values": len(pseudonym_of)})


def _values(table: pa.Table, name: str, method: object) -> Iterable[str]:
    values, _ = encode_values(column_of(table, name, method))
    return (each for each in canonical_text(values, column=name) if each is not None)
