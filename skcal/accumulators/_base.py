"""What all accumulators share: the door, one state per binary problem, the mean."""

from copy import copy

import numpy as np

from skcal._predictions import check_predictions, check_reduction


class Accumulator:
    """Mergeable state of a calibration measure.

    Subclasses give `_new_sums`, an empty state of one binary problem with ``update``,
    ``merge`` and ``weight``, and `_value`, the measure of such a state.
    """

    def __init__(self, *, pos_label, labels, multiclass):
        check_reduction(multiclass)
        self.pos_label = pos_label
        # A copy, as the list may change while the stream runs.
        self.labels = copy(labels)
        self.multiclass = multiclass
        self.n_samples_ = 0
        self._n_columns = None
        self._classes = None
        self._sums = []

    def update(self, y_true, y_proba, sample_weight=None):
        """Add a batch of rows.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        y_proba : array-like of shape (n_samples,) or (n_samples, n_classes)
            Predicted probabilities in [0, 1].
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.

        Returns
        -------
        self : object
            The accumulator with these rows.

        Raises
        ------
        ValueError
            If the batch is invalid or of other classes than the ones before. The state
            is then as it was before the call.
        """
        predictions = check_predictions(
            y_true,
            y_proba,
            sample_weight=sample_weight,
            pos_label=self.pos_label,
            labels=self.labels,
            allow_zero_weight=True,
        )
        n_columns = 1 if predictions.is_binary else predictions.proba.shape[1]
        if self._n_columns not in (None, n_columns):
            raise ValueError(
                f"This batch has {n_columns} probability column(s) and earlier ones "
                f"had {self._n_columns}."
            )
        classes = self._check_classes(_observed_classes(predictions))
        problems = predictions.binary_problems(self.multiclass)
        if self._n_columns is None:
            self._sums = [self._new_sums() for _ in problems]
            self._n_columns = n_columns
        self._classes = classes
        for sums, problem in zip(self._sums, problems, strict=True):
            sums.update(problem)
        self.n_samples_ += predictions.n_samples
        return self

    def merge(self, other):
        """Add the rows that another accumulator has seen.

        Parameters
        ----------
        other : object of the same class and configuration
            Accumulator of other rows. It is not changed.

        Returns
        -------
        self : object
            The accumulator with the rows of both.

        Raises
        ------
        ValueError
            If `other` is of another class, configuration or number of classes.
        """
        if type(other) is not type(self):
            raise ValueError(
                f"Can only merge another {type(self).__name__}. "
                f"Got {type(other).__name__} instead."
            )
        mine, theirs = self._configuration(), other._configuration()
        if mine != theirs:
            differ = [name for name in mine if mine[name] != theirs[name]]
            got, into = (
                ", ".join(f"{name}={options[name]!r}" for name in differ)
                for options in (theirs, mine)
            )
            raise ValueError(
                f"Can only merge accumulators of one configuration. Got {got} into "
                f"{into}. Construct all of them with the same arguments."
            )
        if other._n_columns is None:
            return self
        if self._n_columns is None:
            self._sums = [self._new_sums() for _ in other._sums]
            self._n_columns = other._n_columns
        if self._n_columns != other._n_columns:
            raise ValueError(
                f"Can only merge accumulators of one number of classes. Got "
                f"{other._n_columns} probability column(s) into {self._n_columns}."
            )
        self._classes = self._check_classes(other._classes)
        for sums, more in zip(self._sums, other._sums, strict=True):
            sums.merge(more)
        self.n_samples_ += other.n_samples_
        return self

    def compute(self):
        """The measure over all rows seen so far.

        Returns
        -------
        error : float
            The measure, 0 is perfect.

        Raises
        ------
        ValueError
            If no row of positive weight has been seen.
        """
        if not self._sums or self._sums[0].weight <= 0:
            raise ValueError(
                "No row of positive weight has been seen yet; call update first."
            )
        return float(np.mean([self._value(sums) for sums in self._sums]))

    def _check_classes(self, classes):
        """Refuse other classes than those seen before; one of two may be unseen yet."""
        if self._classes is None:
            return classes
        merged = tuple(
            new if old is None else old
            for old, new in zip(self._classes, classes, strict=True)
        )
        if any(
            new not in (None, old) for old, new in zip(merged, classes, strict=True)
        ):
            raise ValueError(
                f"The classes of this batch, {_known(classes)}, are not those of "
                f"earlier ones, {_known(self._classes)}. Say which they are with "
                "labels=[...]."
            )
        return merged

    def _configuration(self):
        """Arguments by name, those that another must share to be merged."""
        labels = None if self.labels is None else np.asarray(self.labels).tolist()
        return {
            "pos_label": self.pos_label,
            "labels": labels,
            "multiclass": self.multiclass,
        }

    def __repr__(self):
        return f"{type(self).__name__}(n_samples={self.n_samples_})"


def _observed_classes(predictions):
    """Labels of the columns; of two, the negative one is None where no row has it."""
    if not predictions.is_binary:
        return tuple(predictions.classes.tolist())
    positive = predictions.pos_label
    negative = [label for label in predictions.classes.tolist() if label != positive]
    observed = negative and not np.all(predictions.codes)
    return (negative[0] if observed else None, positive)


def _known(classes):
    return [label for label in classes if label is not None]
