"""Agreement of found and true phases, interval by interval.

Labels are phase ids from 0; -1 is a transition in the truth, and an unassigned interval in an answer. The numbers of
the phases do not matter, only which intervals share one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from incprof.model import FloatArray, IntArray
from truth.scores.boundaries import boundary_f1


@dataclass(frozen=True)
class LabelScores:
    """Scores of the labels of a run; 1 is perfect.

    Attributes:
        ari: adjusted Rand index over the intervals of one true phase; unassigned ones count as a group of their own.
        coverage: share of those intervals that has a phase.
        transitions: share of the other intervals that was handled well, None where there are none.
        boundary_f1: F1 of changes of phase found within one interval.
        samples_right: share of the samples of intervals of one true phase whose found phase is that phase, after the
            best one-to-one matching of found and true phases.
    """

    ari: float
    coverage: float
    transitions: float | None
    boundary_f1: float
    samples_right: float


def score_labels(truth: IntArray, labels: IntArray, samples: FloatArray | None = None) -> LabelScores:
    """Compare labels, both of shape (n,). samples: (n,) of each interval; None: the same number in each.

    Raises:
        ValueError: their lengths differ.
    """
    if len(truth) != len(labels):
        raise ValueError(f"{len(truth)} true labels, {len(labels)} found ones")
    return LabelScores(
        adjusted_rand(truth, labels),
        coverage(truth, labels),
        transition_score(truth, labels),
        boundary_f1(truth, labels),
        samples_right(truth, labels, np.ones(len(truth)) if samples is None else samples),
    )


def adjusted_rand(truth: IntArray, labels: IntArray) -> float:
    """Return the adjusted Rand index over the intervals that the truth assigns (labels >= 0); 1 where it assigns none.

    In a run of one phase this is 1 or 0: a single interval with another label is as bad as many.
    """
    keep = truth >= 0
    return float(adjusted_rand_score(truth[keep], labels[keep]))


def coverage(truth: IntArray, labels: IntArray) -> float:
    """Return the share of the intervals with a true phase that were given one; 1 where there are none."""
    keep = truth >= 0
    return float((labels[keep] >= 0).mean()) if keep.any() else 1.0


def transition_score(truth: IntArray, labels: IntArray) -> float | None:
    """Return the share of the true transitions that founded no phase of their own; None where there are none.

    Such an interval is left unassigned, or has the label of the nearest interval before or after it that is one phase
    in truth: both are accepted.
    """
    n = len(truth)
    pure = truth >= 0
    if pure.all():
        return None
    position = np.arange(n)
    before = np.maximum.accumulate(np.where(pure, position, -1))
    after = np.minimum.accumulate(np.where(pure, position, n)[::-1])[::-1]
    padded = np.append(labels, -1)  # position -1 and position n: nothing there, hence unassigned
    good = (labels < 0) | (labels == padded[before]) | (labels == padded[after])
    return float(good[~pure].mean())


def right_by_phase(truth: IntArray, labels: IntArray, samples: FloatArray) -> FloatArray:
    """Return the samples of each found phase, (k,), in the true phase that it is matched with.

    The matching is one-to-one, with the most such samples: a found phase that no true one is matched with has none.
    samples: (n,) of each interval.
    """
    table = np.zeros((int(labels.max(initial=-1)) + 1, int(truth.max(initial=-1)) + 1))
    both = (truth >= 0) & (labels >= 0)
    np.add.at(table, (labels[both], truth[both]), samples[both])
    phase, true = linear_sum_assignment(table, maximize=True)
    right = np.zeros(len(table))
    right[phase] = table[phase, true]
    return right


def samples_right(truth: IntArray, labels: IntArray, samples: FloatArray) -> float:
    """Return the share of samples in their true phase.

    Only samples in intervals of one true phase count; 1 without any. An interval without a phase is wrong.
    """
    total = float(samples[truth >= 0].sum())
    return float(right_by_phase(truth, labels, samples).sum()) / total if total > 0 else 1.0


def k_is_right(k: int, allowed: tuple[int, ...]) -> bool:
    """Return whether a number of phases is among the right ones of a run."""
    return k in allowed
