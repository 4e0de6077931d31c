"""Writing a release piece by piece: it can be stopped at any moment and continued, and appears all at once.

After an error, Ctrl-C, a kill or a power cut the target is as it was, or complete. Finished pieces are kept
beside it, and the same call continues from there; after a failed check nothing is kept.

Pieces are cut by storage location, so the piece of a row reveals where it came from. Rows to be shuffled are
sorted anew as a whole after the last piece, before the release is visible.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from veil.base.progress import Progress
from veil.base.signals import uninterrupted
from veil.engines.database import Database
from veil.engines.pieces import chunks, fingerprint
from veil.engines.relation import Relation
from veil.engines.shuffle import shuffled
from veil.engines.write.open import target_of
from veil.engines.write.target import Target
from veil.errors import InputError, OutputError, Say, VeilError
from veil.outcome.written import Written
from veil.tables.formats import Format
from veil.tables.journal import Witness

if TYPE_CHECKING:
    import ibis.expr.types as ir

AGAIN = "doing the same again goes on from there"
"""Ends a note about pieces that an interrupted run has left."""

STANDS = "the next run to the same place removes it, and so may you"
"""Ends a note about staged rows that a run could not remove."""

COMPLETE = "is complete"
"""Ends a note about a release that was in place before the run was interrupted."""


def write(
    relation: Relation,
    transform: Callable[[ir.Table], ir.Table],
    target: str | os.PathLike[str] | Database,
    *,
    chunk_rows: int = 5_000_000,
    **options: Any,
) -> Written:
    """Write the rows that `transform` makes of those of a relation, or of any piece of it, as `write_pieces` does.

    >>> import ibis, pyarrow as pa, tempfile
    >>> from pathlib import Path
    >>> from veil.engines.relation import relation_of
    >>> people = ibis.duckdb.connect().create_table("people", pa.table({"age": [34, 35, 61]}))
    >>> folder = tempfile.mkdtemp()
    >>> write(
    ...     relation_of(people),
    ...     lambda rows: rows.mutate(age=rows.age // 10 * 10),
    ...     f"{folder}/release.csv",
    ...     check=lambda rows: None,
    ...     token="tens",
    ... )
    Written(name='.../release.csv', pieces=1, continued=0)
    >>> print(Path(folder, "release.csv").read_text(), end="")
    age
    30
    30
    60
    """

    def pieces() -> list[Piece]:
        return [
            Piece(each.label, each.rows, functools.partial(transform, each.table))
            for each in chunks(relation, chunk_rows)
        ]

    return write_pieces(relation, pieces, target, chunk_rows=chunk_rows, **options)


class Piece(NamedTuple):
    """Rows that are written at once: a label of their own, their number if known, and what makes them."""

    label: str
    rows: int | None
    make: Callable[[], ir.Table]


def write_pieces(
    relation: Relation,
    find: Callable[[], list[Piece]],
    target: str | os.PathLike[str] | Database,
    *,
    check: Callable[[ir.Table], None],
    token: str,
    shuffle: bool = False,
    overwrite: bool = False,
    chunk_rows: int = 5_000_000,
    resume: bool = True,
    format: Format | None = None,
    progress: Progress | None = None,
    placing: Callable[[Witness], AbstractContextManager[None]] = lambda _: nullcontext(),
) -> Written:
    """Write pieces, which `find` returns, once `check` has accepted them.

    `check` gets all rows, staged, and raises a `VeilError` to discard them. With `shuffle` they are in a random
    order. `token` identifies the transformation: a run with the same token, on the same unchanged source, is
    continued unless `resume` is false. `placing` puts files that go with the rows in place just before these
    appear, and removes them again if they do not.
    """
    progress = progress or Progress()
    place = target_of(target, relation, token=token, overwrite=overwrite, format=format)
    with place.explain_errors(), place.lock():
        with relation.explain_errors():
            pieces = find()
            model, state = pieces[0].make(), fingerprint(relation)
        if alone := shuffle and len(pieces) == 1:
            (only,) = pieces
            pieces = [only._replace(make=lambda: shuffled(only.make()))]
        labels = [piece.label for piece in pieces]
        key = _key(f"{token} {shuffle}", labels, model, state if resume else None)
        if place.is_finished(key):
            return Written(place.name, len(pieces), len(pieces), note=relation.note)
        if place.exists() and not overwrite:
            raise OutputError(
                f"{place.name}: already exists. Choose another name, or say ", Say("overwrite", True)
            )
        done = place.begin(key, labels, model)
        continued = len(done)
        resumable = done if resume and state is not None else None
        with _keeping(place, resumable, len(pieces)):
            _append(place, pieces, done, progress)
            if shuffle and not alone:
                progress.phase("shuffling")
                place.shuffle(chunk_rows)
            with relation.explain_errors():
                unchanged = fingerprint(relation) == state
            progress.phase("checking what was written")
            with _leaving_nothing(place, done):
                if not unchanged:
                    raise InputError(
                        f"{relation.name}: was changed while it was being written, so rows may be missing or "
                        "duplicated. Nothing was written. Run it again when nobody is changing the table"
                    )
                check(place.staged_rows())
            progress.phase("putting it in place")
            place.prepare()
        with _complete(place) as reached, uninterrupted():
            with _keeping(place, resumable, len(pieces), last=True), placing(place.witness()):
                place.commit()
            reached.append("in place")
            place.wipe()
    return Written(place.name, len(pieces), continued, note=relation.note)


@contextlib.contextmanager
def _complete(place: Target) -> Iterator[list[str]]:
    """Note that the release is complete if an interruption comes after the moment that was reached."""
    reached: list[str] = []
    try:
        yield reached
    except (KeyboardInterrupt, SystemExit) as error:
        if reached:
            error.add_note(f"{place.name} {COMPLETE}")
        raise


@contextlib.contextmanager
def _leaving_nothing(place: Target, done: set[str]) -> Iterator[None]:
    """Remove the staged rows if their check fails, so that no run continues from them."""
    try:
        yield
    except VeilError:
        place.abandon()
        done.clear()
        raise


def _append(place: Target, pieces: list[Piece], done: set[str], progress: Progress) -> None:
    progress.phase("writing")
    sizes = [piece.rows for piece in pieces]
    steps = [1 if None in sizes else size or 0 for size in sizes]
    passed = 0
    for number, (piece, step) in enumerate(zip(pieces, steps, strict=True), 1):
        progress.advance(passed, sum(steps), f"piece {number} of {len(pieces)}")
        if piece.label not in done:
            place.append(piece.label, piece.make())
            done.add(piece.label)
        passed += step
    progress.advance(passed, sum(steps))


def _key(token: str, labels: list[str], example: ir.Table, state: str | None) -> str:
    """Return a digest of everything that must be the same to continue an earlier run."""
    described = [token, labels, str(example.schema()), state or secrets.token_hex(16)]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()


@contextlib.contextmanager
def _keeping(place: Target, done: set[str] | None, pieces: int, *, last: bool = False) -> Iterator[None]:
    """Note on an error what became of the finished pieces; `done` is None if no run could continue from them.

    In the `last` step nothing is removed: without transactions, the staged rows may be all that is left.
    """
    try:
        with place.explain_errors():
            yield
    except BaseException as error:
        if done:
            note = f"{len(done)} of {pieces} pieces are done and kept in {place.staging}; {AGAIN}"
        elif last or not _is_removed(place):
            note = f"{place.staging} may be left, and holds rows of the release; {STANDS}"
        else:
            raise
        if isinstance(error, OutputError):
            raise OutputError(*error.words, f". {note}") from None
        error.add_note(note)
        raise


def _is_removed(place: Target) -> bool:
    """Remove the staging place, if there is still a connection to it."""
    try:
        place.abandon()
    except Exception:
        return False
    return True
