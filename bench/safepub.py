"""SafePub: what a private release costs, in time and in information, on real tables.

    python bench/safepub.py                  # adult and fars, everything
    python bench/safepub.py adult --runs 5   # one of them, fewer runs
    python bench/safepub.py --parts time accuracy

The parts, after Bild, Kuhn and Prasser (2018), all with epsilon = 1 and 300 steps:

time      seconds of a release, from the table that was read to the verified release.
loss      Figure 13: information that is lost, by score function, against releases that are not private.
split     how the budget of the search is best split between the walk and the last choice.
accuracy  Table 4: accuracy of classifiers trained on releases, relative to the input.

The machine may be busy with other things: times are those of the processor. Everything is drawn from the operating
system, so that figures differ a little from run to run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from veil import hierarchies as h
from veil import quality as q
from veil.api.release import Release
from veil.base.randomness import Randomness
from veil.classes import kernels
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, keep, roll_up
from veil.dp.publish import Mechanism, publish
from veil.dp.safepub import SafePub, draw_sample
from veil.models import KAnonymity
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.tables import Source, read
from veil.verification.outcome import verified

SHARED = Path(os.environ.get("VEIL_SHARED", Path(__file__).resolve().parents[2] / "shared"))
TABLES = {
    "adult": ("adult.csv", "adult_hierarchy_",
              "sex age race marital-status education native-country workclass occupation salary-class"),
    "fars": ("fars_int.csv", "fars_int_hierarchy_",
             "iage irace ideathmon ideathday isex ihispanic istatenum iinjury"),
}  # fmt: skip
# Class attributes with the accuracies of Table 4.
CLASSES = {
    "adult": {"marital-status": 92.0, "salary-class": 87.3},
    "fars": {"irace": 99.9, "ihispanic": 99.7},
}
MEASURES: dict[str, q.QualityModel] = {
    "granularity": q.Loss(),
    "intensity": q.Precision(),
    "discernibility": q.Discernibility(),
    "entropy": q.NonUniformEntropy(),
    "group size": q.AverageClassSize(),
}
SHARES = [Fraction(share, 100) for share in (2, 5, 10, 20, 30, 50, 70, 90)]
USUAL_K = 5
"""Of k-anonymity in the paper's comparison."""
PRUNING = [(alpha, leaf) for alpha in (0.0, 1e-4, 2e-4, 5e-4, 1e-3) for leaf in (2, 5, 10, 20, 50)]
"""Cost of a leaf, and records that it holds at least, to choose from."""

Classifier = Callable[[int], Any]
"""Makes a classifier for so many training records."""


def tree(alpha: float, leaf: int) -> Classifier:
    """A decision tree, in place of the paper's C4.5."""
    return lambda records: DecisionTreeClassifier(
        criterion="entropy",
        ccp_alpha=alpha,
        min_weight_fraction_leaf=min(0.5, leaf / records),
        random_state=0,
    )


def logistic_regression(records: int) -> Any:
    """Logistic regression."""
    return LogisticRegression(C=10, max_iter=200)


def load(name: str) -> tuple[Source, dict[str, h.Hierarchy]]:
    """The table, and its hierarchies."""
    file, prefix, columns = TABLES[name]
    folder = SHARED / "data" / name
    return read(folder / file), {
        column: h.read(folder / f"{prefix}{column}.csv") for column in columns.split()
    }


def mechanism(prepared: Prepared, model: SafePub, quality: q.QualityModel, **options: Any) -> Mechanism:
    """SafePub on a table that has been prepared."""
    return Mechanism(
        model, prepared.encoding, prepared.codes, prepared.minimum, prepared.maximum, quality, **options
    )


def spread(values: list[float]) -> str:
    """Mean and standard deviation."""
    return f"{statistics.fmean(values):6.1f} ± {statistics.pstdev(values):4.1f}"


# --- time ---------------------------------------------------------------------------------------------


def measure_time(name: str, source: Source, hierarchies: dict[str, h.Hierarchy], runs: int) -> None:
    """Print seconds of a release by score function."""
    print(f"\n{name}: seconds of a release with 300 steps (processor time, best and median of {runs})")
    target = "   (to reach: 0.5)" if name == "adult" else ""
    response = next(reversed(CLASSES[name]))
    for label, quality in [*MEASURES.items(), ("classification", q.Classification([response]))]:
        fixed = {response: 0} if label == "classification" else {}
        plan = Plan(hierarchies, SafePub(1.0, 1e-4), quality=quality, maximum_levels=fixed, person=None)
        publish(source, plan)  # compile
        times, looked_at = [], []
        for _ in range(runs):
            start = time.process_time()
            release = Release(verified(publish(source, plan)))
            times.append(time.process_time() - start)
            assert release.search is not None
            assert release.search.walk is not None
            looked_at.append(len(release.search.walk.scores))
        print(f"  {label:15} {min(times):6.3f} {statistics.median(times):6.3f}   "
              f"{statistics.fmean(looked_at):6.0f} transformations looked at{target}")  # fmt: skip


# --- information loss ---------------------------------------------------------------------------------


class Losses:
    """Information that a release loses: 0 for the table itself, 100 for nothing. Records that are not there lose all.

    The measures are sums over all cells: the share of the domain that a label covers, level over height, and the bits
    that are missing to tell the original value (de Waal and Willenborg 1999); for discernibility, the number of
    records that look the same, summed over records; for group size, the mean size of a class.
    """

    def __init__(self, prepared: Prepared) -> None:
        self.prepared, self.encoding = prepared, prepared.encoding
        sample = prepared.sample
        self.records = sample.records
        # Bits that are needed to single a label out of all records.
        self.rarity = [
            [np.log2(self.records / np.maximum(1, times)) for times in levels]
            for levels in sample.frequencies
        ]
        self.bits = sum(
            float(levels[0] @ rarity[0])
            for levels, rarity in zip(sample.frequencies, self.rarity, strict=True)
        )
        self.squares = float((sample.table.count.astype(np.float64) ** 2).sum())
        self.shares = [hierarchy.materialized_shares for hierarchy in self.encoding.hierarchies]
        self.finest = sum(self.records / hierarchy.size for hierarchy in self.encoding.hierarchies)

    def of(self, table: ClassTable, k: int) -> dict[str, float]:
        """Losses if the classes of a node are published without those below k."""
        n, m = self.records, len(table.levels)
        kept = np.flatnonzero(table.count >= k)
        sizes = table.count[kept].astype(np.float64)
        codes = np.empty(kept.size, np.int32)
        stay = float(sizes.sum())
        share = level = (n - stay) * m
        bits = 0.0
        for j, (word, shift, mask) in enumerate(self.encoding.layout.tolist()):
            kernels.unpack(table.keys[word][kept], shift, mask, codes)
            here = table.levels[j]
            times = np.bincount(codes, weights=sizes, minlength=len(self.shares[j][here]))
            share += float(times @ self.shares[j][here])
            level += stay * here / max(1, self.encoding.heights[j])
            bits += float(times @ self.rarity[j][here])
        alike = float((sizes**2).sum()) + (n - stay) * n
        return {
            "granularity": 100 * (share - self.finest) / (n * m - self.finest),
            "intensity": 100 * level / (n * m),
            "discernibility": 100 * (alike - self.squares) / (n * n - self.squares),
            "entropy": 100 * (1 - bits / self.bits),
            "group size": 100 * (n / (kept.size + (stay < n)) - 1) / (n - 1),
        }

    def nodes(self, sample: Sample) -> Iterator[ClassTable]:
        """The class table of every node."""
        low, high = self.prepared.minimum, self.prepared.maximum
        work = sample.workspace()

        def above(j: int, table: ClassTable) -> Iterator[ClassTable]:
            if j == len(low):
                yield table
                return
            for level in range(low[j], high[j] + 1):
                if level > low[j]:
                    levels = (*table.levels[:j], level, *table.levels[j + 1 :])
                    table = keep(roll_up(self.encoding, table, levels, work))
                yield from above(j + 1, table)

        yield from above(0, sample.table)

    def best(self, sample: Sample, *thresholds: int) -> list[dict[str, float]]:
        """The least loss that any node has, by measure, for each smallest class."""
        found: list[dict[str, float]] = [{} for _ in thresholds]
        for table in self.nodes(sample):
            for least, k in zip(found, thresholds, strict=True):
                for measure, value in self.of(table, k).items():
                    least[measure] = min(value, least.get(measure, value))
        return found

    def at(self, sample: Sample, levels: tuple[int, ...], k: int) -> dict[str, float]:
        """Losses of one node."""
        return self.of(roll_up(self.encoding, sample.table, levels, sample.workspace()), k)


def measure_loss(name: str, prepared: Prepared, runs: int) -> None:
    """Print Figure 13."""
    losses = Losses(prepared)
    model = SafePub(1.0, 1e-4)
    parameters = model.parameters()
    randomness = Randomness()
    few = min(3, runs)
    print(f"\n{name}: information lost in % (SafePub: mean of {runs} runs, baselines with sampling: of {few}; "
          f"beta = {float(parameters.beta):.3f}, k = {parameters.k})")  # fmt: skip
    anonymity = losses.best(prepared.sample, USUAL_K)[0]
    sampled, both, optimum = ([] for _ in range(3))  # type: ignore[var-annotated]
    for _ in range(few):
        rows = draw_sample(losses.records, parameters.beta, randomness)
        sample = Sample(prepared.encoding, [column[rows] for column in prepared.codes])
        sampled.append(losses.at(sample, prepared.minimum, 1))
        five, k = losses.best(sample, USUAL_K, parameters.k)
        both.append(five)
        optimum.append(k)
    print(f"  {'':15} {'5-anonymity':>12} {'sampling':>12} {'both':>12} {'optimum':>12} "
          f"{'SafePub':>14} {'as published':>14}")  # fmt: skip
    for measure, quality in MEASURES.items():
        columns = [f"{anonymity[measure]:12.1f}"]
        columns += [
            f"{statistics.fmean(each[measure] for each in part):12.1f}" for part in (sampled, both, optimum)
        ]
        for final in ("private", "as_published"):
            made = mechanism(prepared, SafePub(1.0, 1e-4, final=final), quality)
            found = []
            for _ in range(runs):
                rows, levels, _ = made.run(randomness)
                found.append(losses.at(made.sample(rows), levels, made.smallest)[measure])
            columns.append(spread(found))
        print(f"  {measure:15} " + " ".join(columns))
    print("  the paper: sampling 41; SafePub from 71 to 83 by entropy, from 41 to 43 by discernibility, less than 3 above "
          "the optimum on average,\n  less than 2 by group size")  # fmt: skip


def measure_split(name: str, prepared: Prepared, runs: int) -> None:
    """Print information loss by the part of the search's budget that the last choice gets."""
    losses, randomness = Losses(prepared), Randomness()
    print(
        f"\n{name}: information lost in % by the share of the last choice in the budget of the search (mean of {runs})"
    )
    print(f"  {'':15} " + " ".join(f"{float(share):8.2f}" for share in SHARES))
    means = np.zeros(len(SHARES))
    for measure, quality in MEASURES.items():
        row = []
        for share in SHARES:
            made = mechanism(prepared, SafePub(1.0, 1e-4), quality, final_share=share)
            found = []
            for _ in range(runs):
                rows, levels, _ = made.run(randomness)
                found.append(losses.at(made.sample(rows), levels, made.smallest)[measure])
            row.append(statistics.fmean(found))
        means += row
        print(f"  {measure:15} " + " ".join(f"{value:8.2f}" for value in row))
    print(f"  {'mean':15} " + " ".join(f"{value / len(MEASURES):8.2f}" for value in means))


# --- classification -----------------------------------------------------------------------------------


def measure_accuracy(name: str, source: Source, hierarchies: dict[str, h.Hierarchy], runs: int) -> None:
    """Print Table 4."""
    print(f"\n{name}: accuracy of classifiers, 0 % = the most frequent class, 100 % = trained on the input; two thirds of "
          f"the records\n  for training, one third for testing (mean and deviation of {runs} runs, logistic regression: "
          f"{max(1, runs // 4)}). Trees are pruned as is best for\n  the input, found on a part of the training records of "
          "another split; the same pruning is used for releases")  # fmt: skip
    print(
        f"  {'':15} {'':30} {'input':>7} {'most frequent':>14} {'SafePub':>14} {'as published':>14}   the paper"
    )
    for response, theirs in CLASSES[name].items():
        quality = q.Classification([response])
        plan = Plan(hierarchies, KAnonymity(1), quality=quality, maximum_levels={response: 0})
        prepared = prepare(source.table, plan)
        pruning = _Split(prepared, response).best_pruning()
        kinds = {
            f"tree (alpha {pruning[0]:g}, leaf {pruning[1]})": (tree(*pruning), runs),
            "logistic regression": (logistic_regression, max(1, runs // 4)),
        }
        for label, (classifier, tries) in kinds.items():
            found: dict[str, list[float]] = {"private": [], "as_published": []}
            inputs, guesses = [], []
            for _ in range(tries):
                split = _Split(prepared, response)
                full, guess = split.accuracy(classifier, split.codes, split.rows), split.guess
                inputs.append(full)
                guesses.append(guess)
                for final, relative in found.items():
                    model = SafePub(1.0, 1e-4, final=final)
                    rows, levels, _ = (made := mechanism(prepared, model, quality)).run(Randomness())
                    accuracy = split.after_release(classifier, rows, levels, made.smallest)
                    relative.append(100 * (accuracy - guess) / (full - guess))
            print(f"  {response:15} {label:30} {100 * statistics.fmean(inputs):7.1f} {100 * statistics.fmean(guesses):14.1f} "
                  f"{spread(found['private']):>14} {spread(found['as_published']):>14}   {theirs:9.1f}", flush=True)  # fmt: skip


class _Split:
    """A table, a third of which is put aside for testing."""

    def __init__(self, prepared: Prepared, response: str) -> None:
        self.prepared, self.response_name = prepared, response
        place = prepared.encoding.names.index(response)
        self.codes = np.column_stack(prepared.codes)
        self.response = self.codes[:, place]
        self.features = [j for j in range(self.codes.shape[1]) if j != place]
        self.testing = Randomness().uniform(len(self.codes)) < 1 / 3
        self.rows = np.arange(len(self.codes))
        most = np.bincount(self.response[~self.testing]).argmax()
        self.guess = float(np.mean(self.response[self.testing] == most))

    def best_pruning(self) -> tuple[float, int]:
        """The pruning with the best accuracy on a third of the training records, which stays out of training."""
        inner = _Split(self.prepared, self.response_name)
        inner.testing &= ~self.testing
        training = self.rows[~self.testing]
        return max(PRUNING, key=lambda each: inner.accuracy(tree(*each), self.codes, training))

    def after_release(
        self, classifier: Classifier, rows: Any, levels: tuple[int, ...], smallest: int
    ) -> float:
        """Train with what is released of the training records, and test with the others, generalized alike."""
        hierarchies = self.prepared.encoding.hierarchies
        shown = np.column_stack([
            hierarchy.label_map(level)[column]
            for hierarchy, level, column in zip(hierarchies, levels, self.prepared.codes, strict=True)
        ])  # fmt: skip
        _, group, times = np.unique(shown[rows], axis=0, return_inverse=True, return_counts=True)
        return self.accuracy(classifier, shown, rows[times[group.reshape(-1)] >= smallest])

    def accuracy(self, classifier: Classifier, shown: Any, rows: Any) -> float:
        """Train with some rows, all alike ones together, and test."""
        rows = rows[~self.testing[rows]]
        pairs = np.column_stack([shown[rows][:, self.features], self.response[rows]])
        alike, times = np.unique(pairs, axis=0, return_counts=True)
        truth = self.response[self.testing]
        if len(np.unique(alike[:, -1])) == 1:
            return float(np.mean(truth == alike[0, -1]))
        coder = OneHotEncoder(handle_unknown="ignore").fit(alike[:, :-1])
        trained = classifier(int(times.sum())).fit(
            coder.transform(alike[:, :-1]), alike[:, -1], sample_weight=times
        )
        return float(trained.score(coder.transform(shown[self.testing][:, self.features]), truth))


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--parts", nargs="+", default=["time", "loss", "split", "accuracy"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.tables:
        if not (SHARED / "data" / name).exists():
            print(f"\n{name}: not measured, its data are not beside the checkout (or in VEIL_SHARED)")
            continue
        source, hierarchies = load(name)
        prepared = prepare(source.table, Plan(hierarchies, KAnonymity(1)))
        if "time" in options.parts:
            measure_time(name, source, hierarchies, options.runs)
        if "loss" in options.parts:
            measure_loss(name, prepared, options.runs)
        if "split" in options.parts:
            measure_split(name, prepared, options.runs)
        if "accuracy" in options.parts:
            measure_accuracy(name, source, hierarchies, options.runs)


if __name__ == "__main__":
    main()
