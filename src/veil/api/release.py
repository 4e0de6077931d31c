"""The release: an outcome with verbs, the one result that users see, by whichever method it was made."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.api.cell_search import CellSearch
from veil.api.deliver import as_frames, origins_of, rows_beside, save
from veil.api.deliver_several import save_tables
from veil.api.search import SearchResult
from veil.api.targets import check_targets
from veil.base.progress import ProgressLike
from veil.base.wording import plural
from veil.engines.engine_source import EngineSource
from veil.errors import ParameterError
from veil.lattice.optimality import gap_in_words
from veil.outcome.account import Account
from veil.outcome.cell_trace import CellTrace
from veil.outcome.generalize import Choice
from veil.outcome.linked_tables import ONLY
from veil.outcome.measures import measures_of
from veil.outcome.outcome import Outcome
from veil.outcome.result import Pass
from veil.outcome.written import Written
from veil.plan.linked_tables import Stacked
from veil.plan.plan import Plan
from veil.published.finding import Verification
from veil.recipe.about import About, read_about
from veil.risk.before_and_after import risks_of
from veil.risk.reidentification import Risk
from veil.tables import atomic
from veil.tables.arrow import only_used_categories
from veil.verification.outcome import verified

if TYPE_CHECKING:
    from veil.api.advice import Advice
    from veil.api.lower_bound import LossBound
    from veil.recoding import Mode
    from veil.report import Plots, PrivateKey
    from veil.report.criteria import Guide
    from veil.risk.attack_rates import TriedAttacks
    from veil.risk.concerns.concern import Concern
    from veil.utility.levels import Coarser, Leveled
    from veil.utility.step import StepSummary
    from veil.utility.summary import Utility


class Release:
    """An anonymized table, verified, with all that explains it. `table` is a frame of the input's kind.

    Attributes
    ----------
    outcome : Outcome
        All of it as plain data.
    """

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    # --- the table --------------------------------------------------------------------------------

    @functools.cached_property
    def table(self) -> Any:
        """The anonymized table, as a frame of the input's kind; if it is in an engine, as an expression."""
        return self._only(self.tables, "tables")

    @functools.cached_property
    def tables(self) -> dict[str, Any]:
        """Each table by name, as a frame of its input's kind; a single one is called "table"."""
        return as_frames(self.outcome)

    @property
    def _has_several(self) -> bool:
        return isinstance(self.outcome.source, Stacked)

    def _only(self, tables: Mapping[str, Any], name: str) -> Any:
        """Return the only one of some tables; refuse several."""
        if self._has_several:
            raise AttributeError(f"there are several tables: {', '.join(tables)}. Use `{name}` instead")
        (table,) = tables.values()
        return table

    @functools.cached_property
    def arrow(self) -> pa.Table:
        """The anonymized table in memory; if it is in an engine, each combination of cells once."""
        return only_used_categories(self.outcome.table)

    @property
    def origins(self) -> Any:
        """The input row of each row of the release, both counted from 0, as a frame of the input's kind.

        With several tables there is one for each, by name. It undoes the random order, and belongs to the
        data holder alone: `save(..., origins=...)` writes it to a file of its own.
        """
        origins = origins_of(self.outcome)
        return origins if self._has_several else origins[ONLY]

    def beside(self, rows: int = 5) -> Any:
        """Return some rows of the release next to the input, as a frame of its kind: for your eyes only.

        Columns whose cells are the same in these rows are shown once.

        >>> import pyarrow as pa, veil
        >>> people = pa.table({"age": [31, 32, 33, 34]})
        >>> plan = {"age": veil.hierarchies.intervals(10)}
        >>> release = veil.anonymize(people, quasi_identifiers=plan, models=veil.KAnonymity(2), order="input")
        >>> release.beside(2).to_pydict()
        {'row': [0, 1], 'age before': [31, 32], 'age after': ['[30, 40[', '[30, 40[']}
        """
        return rows_beside(self.outcome, rows)

    @property
    def apart(self) -> dict[str, pa.Table]:
        """Further tables by name, to be kept in other files."""
        return dict(self.outcome.apart)

    @property
    def secret(self) -> frozenset[str]:
        """Names of the tables apart that must not be released."""
        return self.outcome.secret

    def save(
        self,
        target: Any,
        *,
        apart: str | os.PathLike[str] | None = None,
        origins: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        progress: ProgressLike = None,
        **options: Any,
    ) -> Written:
        """Write the table to a file: completely, or not at all. The format follows the suffix and the input.

        Several tables go into a folder, each to a file of its name in the format of its input (CSV for
        frames), or into a database, each to a table of its name: all of them, or none.

        Parameters
        ----------
        target
            The file; with several tables the folder, which is created, or the database. Engines write their
            own tables to a file, a folder or a table of a database, and check them there; see
            `veil.engines.write` for further options.
        apart
            A folder for the tables apart, as CSV files that only you may read. Secret ones must not go into
            the folder of the release, nor below it.
        origins
            A CSV file for the `origins`, that only you may read: not in the folder of the release, nor below it.
        overwrite
            Whether an existing file is replaced, or a folder with its content. The input never is.
        """
        write = save_tables if self._has_several else save
        return write(
            self.outcome,
            target,
            apart=apart,
            origins=origins,
            overwrite=overwrite,
            progress=progress,
            **options,
        )

    # --- the run ----------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan | None:
        """The plan that was carried out; None for masks."""
        return self.outcome.plan

    @property
    def records(self) -> int:
        """Number of records that went in."""
        return self.outcome.records

    @property
    def people(self) -> int | None:
        """Number of people in the input, if they may have several rows; None if every record is a person."""
        before = self.outcome.before
        return None if before.owners.are_records else before.people

    @property
    def people_suppressed(self) -> int | None:
        """Number of people who lose a row, where people may have several."""
        before = self.outcome.before
        return None if before.owners.are_records else before.people_in(self.outcome.suppressed_mask)

    @property
    def suppressed(self) -> int:
        """Number of suppressed records."""
        return self.outcome.suppressed

    @property
    def suppressed_rows(self) -> NDArray[np.bool_]:
        """Which rows of the input are suppressed."""
        return self.outcome.suppressed_mask

    @property
    def within_limit(self) -> bool:
        """Whether no more records are suppressed than the plan allows."""
        return self.outcome.within_limit

    @property
    def classes(self) -> int:
        """Number of classes: records that look alike in what an attacker may know."""
        return int(self.outcome.by_records.sizes.size)

    @property
    def ending(self) -> str | None:
        """Why the search, or the last pass of local recoding, ended; None for masks."""
        return self.outcome.facts.get("ending")

    @property
    def verification(self) -> Verification:
        """The findings of the independent check of the output about each promise."""
        return self.outcome.verification

    @property
    def statement(self) -> str | None:
        """The promise in plain words, if it is that of differential privacy."""
        return self.outcome.statement

    @property
    def is_private(self) -> bool:
        """False if the draws can be repeated from a seed, or are not proven to be private."""
        return self.outcome.is_private

    @property
    def facts(self) -> dict[str, Any]:
        """Numbers and short texts about the run, by name."""
        return dict(self.outcome.facts)

    @property
    def account(self) -> Account | None:
        """The requirements of privacy policies and how they were met; None without policies."""
        return self.outcome.trace(Account)

    @property
    def passes(self) -> list[Pass]:
        """How parts of the records were transformed, by local recoding or part by part."""
        return list(self.outcome.passes)

    @property
    def steps(self) -> tuple[StepSummary, ...]:
        """The masking methods that were applied, each with its loss and risk; print one to read it."""
        from veil.utility.step import StepSummary

        summaries = (result.trace(StepSummary) for result in self.outcome.steps)
        return tuple(each for each in summaries if each is not None)

    # --- the search -------------------------------------------------------------------------------

    @functools.cached_property
    def search(self) -> SearchResult | CellSearch | None:
        """Score and proof of a search. None for masks, parts and local recoding.

        That of one transformation for all records has other transformations, too: see `SearchResult`. That of labels
        for each record, or each value, has scores of its own: see `CellSearch`.
        """
        trace = self.outcome.trace(CellTrace)
        return self.lattice if trace is None else CellSearch(self.outcome, trace)

    @functools.cached_property
    def lattice(self) -> SearchResult | None:
        """The search for one transformation for all records; None for any other release."""
        choice, prepared = self.outcome.trace(Choice), self.outcome.prepared
        if choice is None or prepared is None:
            return None
        return SearchResult(self.outcome, prepared, choice, Release)

    @property
    def transformation(self) -> dict[str, int]:
        """Generalization level of each quasi-identifier: short for `search.transformation`."""
        if self.lattice is None:
            self._refuse_search("transformation")
        return self.lattice.transformation

    @property
    def score(self) -> float | tuple[float, ...]:
        """Information loss under the plan's quality model, lower is better: short for `search.score`."""
        if self.search is None:
            self._refuse_search("score")
        return self.search.score

    def _refuse_search(self, name: str) -> NoReturn:
        instead, why = (
            ("steps", "masking methods made this release, not a search")
            if self.plan is None
            else ("passes" if self.search is None else "search", "records have transformations of their own")
        )
        raise AttributeError(f"there is no `{name}`: {why}. Use `{instead}` and `measures()` instead")

    def local_recoding(
        self,
        mode: Mode | None = None,
        *,
        time_limit: float | None = None,
        threads: int | None = None,
        progress: ProgressLike = None,
        cancel: Callable[[], bool] | None = None,
    ) -> Release:
        """Transform the suppressed records again, on their own, so that fewer stay suppressed.

        Parameters
        ----------
        mode
            `SinglePass`, `Iterative` or `FastIterative`, the default (see `veil.recoding`).
        time_limit
            Seconds for all passes together; by default the time limit of the plan, if it has one.
        threads, progress, cancel
            As for `veil.anonymize`.
        """
        from veil.api.items import with_items
        from veil.recoding import FastIterative
        from veil.recoding.passes import recode

        mode = FastIterative() if mode is None else mode
        outcome = recode(
            self.outcome, mode, time_limit=time_limit, threads=threads, progress=progress, cancel=cancel
        )
        return Release(verified(with_items(outcome)))

    def lower_bound(
        self,
        *,
        time_limit: float = 10.0,
        progress: ProgressLike = None,
        cancel: Callable[[], bool] | None = None,
    ) -> LossBound:
        """Find out how near the release is to the best one: what no recoding with its hierarchies loses less than.

        A bound of all recodings under the plan, of those that choose labels for each record, too. A release by
        recoding "cells" has it from its search. Not for masks, several tables, parts or differential privacy; other
        plans without a bound say why. All of it is for the data holder.

        Parameters
        ----------
        time_limit
            Seconds: with more of them, a higher bound is proven.
        progress, cancel
            As for `veil.anonymize`.

        >>> import pyarrow as pa, veil
        >>> ages = veil.hierarchies.table([["21", "20s", "*"], ["23", "20s", "*"], ["35", "30s", "*"], ["38", "30s", "*"]])
        >>> release = veil.anonymize(pa.table({"age": [21, 21, 23, 23, 35, 38]}), quasi_identifiers={"age": ages},
        ...     models=veil.KAnonymity(2), person=None)
        >>> release.lower_bound()
        LossBound(no recoding with these hierarchies loses less than 0.111; this one loses 0.334: recoding cell by cell ...
        """
        from veil.api.lower_bound import bound_loss

        return bound_loss(self.outcome, time_limit=time_limit, progress=progress, cancel=cancel)

    # --- risk and utility --------------------------------------------------------------------------

    def measures(self) -> dict[str, float | int]:
        """Return classes, average class size, discernibility and loss, to compare any methods."""
        return measures_of(self.outcome)

    def risk(
        self, threshold: float = 0.2, *, quasi_identifiers: str | Iterable[str] | None = None
    ) -> tuple[Risk, Risk]:
        """Return re-identification risks of the input and of the release.

        Parameters
        ----------
        threshold
            Risk above which a record is at risk.
        quasi_identifiers
            Columns that an attacker may know, if not those of the plan or the masking methods.
        """
        return risks_of(self.outcome, threshold, quasi_identifiers)

    def attacks(
        self,
        *,
        known: str | Iterable[str] | None = None,
        secrets: str | Iterable[str] | None = None,
        seed: int = 0,
        progress: ProgressLike = None,
        cancel: Callable[[], bool] | None = None,
    ) -> TriedAttacks:
        """Try attacks on a release made in the same way from half of the people, against the other half.

        An attacker tries to single out, to link and to infer people inside and outside of that half: see
        `veil.risk.try_attacks`. The transformation stays; records that break a promise among fewer people are
        suppressed. Nothing is published, and no budget is spent. Its `refinements` are about this very release: what
        the choice of labels says about who is not in a class (`veil.risk.refine`).

        Parameters
        ----------
        known
            Columns that the attacker knows, if not the quasi-identifiers.
        secrets
            Columns that the attacker wants to learn, if not the sensitive ones.
        seed
            Selects the half.

        >>> import veil
        >>> from veil.synthetic import patients
        >>> plan = {"age": "auto", "zip": "redaction"}
        >>> made = veil.anonymize(patients(400), quasi_identifiers=plan, models=veil.KAnonymity(5), sensitive="diagnosis",
        ...     others="drop", person=None, suppression_limit=0.1)
        >>> made.attacks()["singling out"].is_seen
        False
        """
        from veil.api.attack import attacks_on

        return attacks_on(
            self.outcome, known_columns=known, secrets=secrets, seed=seed, progress=progress, cancel=cancel
        )

    def utility(self, **options: Any) -> Utility:
        """Compare the utility of the release with the input; for the options see `veil.utility.compare`."""
        from veil.utility.summary import utility_of

        return utility_of(self.outcome, **options)

    def at_levels(self, levels: Mapping[str, int], *, coarser: Coarser = "blank") -> Leveled:
        """Return the table with some columns on one level each, for programs that want one, and what that costs.

        Finer cells are generalized; coarser ones are blanked or, with "keep", stay. The promises of models that
        survive a union of classes are kept: see `veil.utility.at_levels`.

        >>> import pyarrow as pa, veil
        >>> ages = veil.hierarchies.table([["21", "20s", "*"], ["23", "20s", "*"], ["35", "30s", "*"]])
        >>> release = veil.anonymize(pa.table({"age": [21, 21, 35, 35]}), quasi_identifiers={"age": ages},
        ...     models=veil.KAnonymity(2), person=None)
        >>> result = release.at_levels({"age": 1})
        >>> sorted(result.table["age"].to_pylist()), str(result)
        (['20s', '20s', '30s', '30s'], 'age on level 1: 4 of 4 cells generalized, 0 coarser')
        """
        from veil.utility.levels import at_levels

        return at_levels(self.outcome, levels, coarser=coarser)

    @functools.cached_property
    def notes(self) -> list[str]:
        """Oddities of the input: numbers read as text, similar spellings, no good `auto` hierarchy.

        They quote values of the input. There are none for tables in an engine, or for several tables.

        >>> import pyarrow as pa
        >>> from veil.api.anonymize import anonymize
        >>> from veil.models import KAnonymity
        >>> jobs = pa.table({"job": ["nurse", "baker", "judge", "tailor", "farmer", "Baker"] * 2})
        >>> anonymize(jobs, quasi_identifiers={"job": "auto"}, models=KAnonymity(2)).notes[0]
        "column 'job': 'Baker' and 'baker' differ only in case or blanks, and count as different values"
        """
        from veil.hierarchies.notes import notes

        source, plan = self.outcome.source, self.plan
        if plan is None or isinstance(source, EngineSource | Stacked):
            return []
        return list(notes(source.table, plan.quasi_identifiers, source.format))

    @property
    def concerns(self) -> tuple[Concern, ...]:
        """Concerns that no model covers, each with the step that fixes it; unacknowledged ones come first."""
        from veil.risk.concerns.collect import concerns_of

        return concerns_of(self.outcome)

    def acknowledge(self, *concerns: str | Concern) -> Release:
        """Return a release with some concerns marked as accepted, which report and certificate show.

        >>> import pyarrow as pa, veil
        >>> table = pa.table({"age": [30, 30, 40, 40], "diagnosis": ["flu", "cold", "flu", "cold"]})
        >>> release = veil.anonymize(
        ...     table, quasi_identifiers={"age": "suppression"}, sensitive="diagnosis", models=veil.KAnonymity(2)
        ... )
        >>> [each.key for each in release.concerns if each.kind == "no model"]
        ['no model: diagnosis']
        >>> release = release.acknowledge("no model: diagnosis")
        >>> [each.acknowledged for each in release.concerns if each.kind == "no model"]
        [True]
        """
        from veil.risk.concerns.collect import acknowledge

        keys = [each if isinstance(each, str) else each.key for each in concerns]
        return Release(acknowledge(self.outcome, keys))

    def advice(
        self,
        *,
        time_limit: float = 30.0,
        progress: ProgressLike = None,
        cancel: Callable[[], bool] | None = None,
    ) -> Advice:
        """Find out which column or parameter costs most, and what would keep more, by verified releases.

        Parameters
        ----------
        time_limit
            Seconds for all of it; `complete` is False if they were not enough.
        progress, cancel
            As for `veil.anonymize`.

        >>> import pyarrow as pa, veil
        >>> people = pa.table({"age": [30, 30, 31, 31] * 5, "town": [f"t{i}" for i in range(20)]})
        >>> release = veil.anonymize(
        ...     people, quasi_identifiers={"age": "suppression", "town": "suppression"}, models=veil.KAnonymity(5)
        ... )
        >>> release.advice().poor
        ('town',)
        """
        from veil.api.advice import advise

        return advise(self, time_limit=time_limit, progress=progress, cancel=cancel)

    # --- reports ----------------------------------------------------------------------------------

    def report(
        self,
        path: str | Path,
        *,
        about: About | Mapping[str, Any] | None = None,
        not_anonymous: str | None = None,
        for_the_data_holder: bool = False,
        overwrite: bool = False,
        progress: ProgressLike = None,
    ) -> Path:
        """Write a report: one self-contained HTML file, PDF or JSON, by the ending of the name.

        No figure in it depends on sensitive or kept cells of suppressed records, and that of a differentially
        private release has only what the released table shows. With `for_the_data_holder` it has all exact
        figures and the SHA-256 of the input: do not publish that. `overwrite` replaces an existing file.

        `about` is further content of its first page: `title`, `data_set`, `purpose`, `recipient`,
        `legal_basis`, `version`, `prepared_by` and `approved_by`; also the `language` of the report ("en" or
        "de") and the number of `sample_rows` of the release.

        `not_anonymous` is the reason to accept a table that breaks a promise, or suppresses more than the
        plan allows: the report begins with it.
        """
        from veil.api.advice import advice_for_report
        from veil.api.lower_bound import bound_for_report
        from veil.report import write_report

        first_page = read_about(about)
        if not_anonymous is not None and self.verification.holds and self.within_limit:
            raise ParameterError(
                "`not_anonymous` is a reason to take what does not keep its promises, and this release keeps them: leave it out"
            )
        self._check_target(Path(path), "report", overwrite=overwrite)
        private = self.statement is not None and not for_the_data_holder
        with ThreadPoolExecutor(1) as pool:  # the bound needs no more than one core
            bound = pool.submit(bound_for_report, self.outcome) if for_the_data_holder else None
            advice = None if private else advice_for_report(self, exact=for_the_data_holder)
        return write_report(
            self.outcome,
            Path(path),
            private=private,
            exact=for_the_data_holder,
            progress=progress,
            about=first_page,
            not_anonymous=not_anonymous,
            advice=advice,
            bound=None if bound is None else bound.result(),
        )

    def certificate(
        self,
        path: str | Path,
        *,
        sign: PrivateKey | str | os.PathLike[str] | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write a certificate (JSON) for recipients to check the table: `veil.verify(table, certificate=…)`.

        `sign` is the private key of the signer, or its file (`veil keys new`). An existing file is replaced
        only with `overwrite`.
        """
        from veil.report import write_certificate

        self._check_target(Path(path), "certificate", sign, overwrite=overwrite)
        return write_certificate(self.outcome, Path(path), sign=sign)

    def criteria(self, path: str | Path, guide: Guide = "WP 216", *, overwrite: bool = False) -> Path:
        """Write the questions of a guide with the answers for this release (Markdown).

        The guides are "WP 216", the opinion on anonymisation techniques with its three criteria, and "NIST SP
        800-188". Questions that no program can answer are left open for the signer.
        """
        from veil.report.criteria import as_text

        path = Path(path)
        self._check_target(path, "criteria", overwrite=overwrite)
        with atomic(path) as temporary:
            temporary.write_text(as_text(self.outcome, guide), encoding="utf-8")
        return path

    def _check_target(self, path: Path, what: str, key: object = None, *, overwrite: bool) -> None:
        """Refuse to overwrite the input in any case, and other files without `overwrite`."""
        sources = [each.source for each in self.outcome.tables.values()]
        inputs = [each for each in (*(s.path for s in sources), key) if isinstance(each, str | os.PathLike)]
        check_targets({what: path}, keep=[Path(each) for each in inputs], overwrite=overwrite)

    @functools.cached_property
    def plot(self) -> Plots:
        """Pictures, such as `plot.risks()`, `plot.class_sizes()`, `plot.distributions()`."""
        from veil.report import Plots

        return Plots(self.outcome)

    def _repr_html_(self) -> str:
        from veil.report.pages.notebook import html_outcome

        # Notes and even their number depend on the input, and a notebook may be passed on.
        pointer = "<p>What is odd about the input, if anything: <code>release.notes</code></p>"
        return html_outcome(self.outcome) + ("" if self.plan is None else pointer)

    def __repr__(self) -> str:
        outcome = self.outcome
        sizes = [
            f"{name}: {plural(each.table.num_rows, 'row')}"
            for name, each in outcome.tables.items()
            if name != ONLY
        ]
        whose = "" if self.people is None else f" of {plural(self.people, 'person', 'people')}"
        items = [
            *sizes,
            plural(self.records, "record") + whose,
            f"{self.suppressed} suppressed",
            f"{self.classes} classes",
        ]
        if self.statement is not None:  # notebooks and logs are passed on: only what the release shows
            items = [plural(outcome.by_records.records, "row"), items[-1], str(self.transformation)]
        elif self.lattice is not None:
            items += [f"score {self.score:.6g}", _optimality(self.lattice), str(self.transformation)]
        elif isinstance(self.search, CellSearch):
            items.append(self.search.sentence)
        elif outcome.plan is None:
            items[1] = f"{self.outcome.by_records.records} released"
            items.append(f"by {', '.join(type(each).__name__ for each in outcome.methods)}")
        else:
            passes = "; ".join(map(str, self.passes[:3])) + (" …" if len(self.passes) > 3 else "")
            items.append(plural(len(self.passes), "pass", "passes") + (f" ({passes})" if passes else ""))
            items += [f"ended as {self.ending}"] if self.ending else []
        items += [f"apart: {', '.join(self.apart)}"] if self.apart else []
        items += [] if self.is_private else [_NOT_PRIVATE]
        return f"Release({', '.join(items)})"


_NOT_PRIVATE = "NOT PRIVATE: made with a seed, or by a search that is not proven to be private"


def _optimality(search: SearchResult) -> str:
    text = "proven optimal" if search.proven_optimal else "not proven optimal"
    if search.is_optimum and not search.proven_optimal and search.gap is not None:
        text += f" ({gap_in_words(search.gap)})"
    return text
