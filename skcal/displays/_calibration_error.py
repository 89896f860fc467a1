"""Calibration errors of several models, or several errors of one, side by side."""

from collections.abc import Mapping

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skcal._sklearn import (
    _get_response_values,
    _safe_indexing,
    check_matplotlib_support,
)
from skcal.displays._cv_results import check_cv_results, held_out_proba
from skcal.displays._error_bars import draw_estimate, text_colour, total
from skcal.displays._error_estimates import ErrorRecipe, checked_measures, measure_title

_BAR = 0.62


class CalibrationErrorDisplay:
    """Calibration errors with their intervals, of several models side by side.

    It is made by one of its ``from_`` methods, and all that it shows is in
    `estimates`.

    Read more in the :ref:`User Guide <error_display>`.

    Parameters
    ----------
    estimates : list of CalibrationErrorEstimate
        The errors.
    confidence_level : float, default=0.95
        Level of the intervals.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    ReliabilityDisplay : Where a model is wrong, and in which direction.
    calibration_report : All numbers of one model.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import CalibrationErrorDisplay
    >>> rng = np.random.default_rng(0)
    >>> good = rng.uniform(size=1_000)
    >>> y = rng.uniform(size=1_000) < good
    >>> display = CalibrationErrorDisplay.from_predictions(
    ...     y, {"good": good, "bold": good**2 / (good**2 + (1 - good) ** 2)}
    ... )
    >>> [estimate.name for estimate in display.estimates]
    ['good', 'bold']
    """

    def __init__(self, estimates, *, confidence_level=0.95):
        self.estimates = estimates
        self.confidence_level = confidence_level

    # Making one -----------------------------------------------------------------------

    @classmethod
    def from_estimators(
        cls,
        estimators,
        X,
        y,
        *,
        measures="smooth_ece",
        loss=None,
        multiclass="confidence",
        recalibrator=None,
        sample_weight=None,
        pos_label=None,
        confidence_level=0.95,
        n_resamples=1000,
        n_jobs=None,
        random_state=0,
        sort=True,
        ax=None,
    ):
        """Draw the errors of fitted classifiers.

        Parameters
        ----------
        estimators : estimator, list of these or dict of name to estimator
            Fitted classifiers with ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Data that they were not fitted on.
        y : array-like of shape (n_samples,)
            True labels.
        measures : str or list of str, default="smooth_ece"
            ``"smooth_ece"``, ``"rank_ece"``, ``"variational_ece"``, ``"binned_ece"``.
        loss : {"brier_score", "log_loss"}, default=None
            Draw this loss instead, split into calibration and refinement by V-ECE.
        multiclass : {"confidence", "classwise"}, default="confidence"
            How three or more classes are measured. A `loss` takes whole vectors.
        recalibrator : object, default=None
            What V-ECE recalibrates with; None is its default.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; `rank_ece` takes none.
        pos_label : int, float, bool or str, default=None
            Label of the positive class; by default the second in sorted order.
        confidence_level : float, default=0.95
            Level of the intervals.
        n_resamples : int, default=1000
            Number of bootstrap replicates.
        n_jobs : int, default=None
            Number of threads. The result does not depend on it.
        random_state : int, RandomState instance or None, default=0
            Seed of folds and replicates.
        sort : bool, default=True
            Whether the smallest error comes first.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.

        Returns
        -------
        display : CalibrationErrorDisplay
            The display, drawn.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimators")
        probas = {}
        for name, estimator in _by_name(estimators).items():
            check_is_fitted(estimator)
            probas[name], positive = _get_response_values(
                estimator, X, response_method="predict_proba", pos_label=pos_label
            )
            classes = estimator.classes_
        return cls.from_predictions(
            y,
            probas,
            measures=measures,
            loss=loss,
            multiclass=multiclass,
            recalibrator=recalibrator,
            sample_weight=sample_weight,
            pos_label=positive,
            labels=classes,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            n_jobs=n_jobs,
            random_state=random_state,
            sort=sort,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_proba,
        *,
        measures="smooth_ece",
        loss=None,
        multiclass="confidence",
        recalibrator=None,
        sample_weight=None,
        pos_label=None,
        labels=None,
        confidence_level=0.95,
        n_resamples=1000,
        n_jobs=None,
        random_state=0,
        sort=True,
        ax=None,
    ):
        """Draw the errors of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        y_proba : array-like or dict of name to array-like
            Predicted probabilities of one model or of several, each of shape
            (n_samples,), (n_samples, 1) or (n_samples, n_classes).
        measures : str or list of str, default="smooth_ece"
            ``"smooth_ece"``, ``"rank_ece"``, ``"variational_ece"``, ``"binned_ece"``.
        loss : {"brier_score", "log_loss"}, default=None
            Draw this loss instead, split into calibration and refinement by V-ECE.
        multiclass : {"confidence", "classwise"}, default="confidence"
            How three or more classes are measured. A `loss` takes whole vectors.
        recalibrator : object, default=None
            What V-ECE recalibrates with; None is its default.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; `rank_ece` takes none.
        pos_label : int, float, bool or str, default=None
            Label of the positive class, as in :func:`smooth_ece`.
        labels : array-like of shape (n_classes,), default=None
            All labels in sorted order. Give them where `y_true` may lack a class.
        confidence_level : float, default=0.95
            Level of the intervals.
        n_resamples : int, default=1000
            Number of bootstrap replicates.
        n_jobs : int, default=None
            Number of threads. The result does not depend on it.
        random_state : int, RandomState instance or None, default=0
            Seed of folds and replicates.
        sort : bool, default=True
            Whether the smallest error comes first.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.

        Returns
        -------
        display : CalibrationErrorDisplay
            The display, drawn.
        """
        check_matplotlib_support(f"{cls.__name__}.from_predictions")
        recipe = ErrorRecipe(
            checked_measures(measures, loss),
            {"pos_label": pos_label, "labels": labels},
            multiclass,
            recalibrator,
            confidence_level,
            {
                "n_resamples": n_resamples,
                "n_jobs": n_jobs,
                "random_state": random_state,
            },
        )
        probas = y_proba if isinstance(y_proba, Mapping) else {"": y_proba}
        if not probas:
            raise ValueError("y_proba must hold one model at least. Got {} instead.")
        estimates = [
            recipe.estimate(name, measure, y_true, proba, sample_weight)
            for name, proba in probas.items()
            for measure in recipe.measures
        ]
        display = cls(estimates, confidence_level=confidence_level)
        return display.plot(ax=ax, sort=sort)

    @classmethod
    def from_cv_results(
        cls,
        cv_results,
        X,
        y,
        *,
        measures="smooth_ece",
        loss=None,
        multiclass="confidence",
        recalibrator=None,
        sample_weight=None,
        pos_label=None,
        confidence_level=0.95,
        n_resamples=1000,
        n_jobs=None,
        random_state=0,
        sort=True,
        ax=None,
    ):
        """Draw the errors of cross-validated classifiers.

        The held-out probabilities of all folds are measured together.

        Parameters
        ----------
        cv_results : dict or dict of name to dict
            What :func:`sklearn.model_selection.cross_validate` gives with
            ``return_estimator=True`` and ``return_indices=True``, of one model or of
            several that were validated on the same folds.
        X : array-like of shape (n_samples, n_features)
            The data that were cross-validated.
        y : array-like of shape (n_samples,)
            True labels.
        measures : str or list of str, default="smooth_ece"
            ``"smooth_ece"``, ``"rank_ece"``, ``"variational_ece"``, ``"binned_ece"``.
        loss : {"brier_score", "log_loss"}, default=None
            Draw this loss instead, split into calibration and refinement by V-ECE.
        multiclass : {"confidence", "classwise"}, default="confidence"
            How three or more classes are measured. A `loss` takes whole vectors.
        recalibrator : object, default=None
            What V-ECE recalibrates with; None is its default.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; `rank_ece` takes none.
        pos_label : int, float, bool or str, default=None
            Label of the positive class; by default the second in sorted order.
        confidence_level : float, default=0.95
            Level of the intervals.
        n_resamples : int, default=1000
            Number of bootstrap replicates.
        n_jobs : int, default=None
            Number of threads. The result does not depend on it.
        random_state : int, RandomState instance or None, default=0
            Seed of folds and replicates.
        sort : bool, default=True
            Whether the smallest error comes first.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.

        Returns
        -------
        display : CalibrationErrorDisplay
            The display, drawn.
        """
        check_matplotlib_support(f"{cls.__name__}.from_cv_results")
        several = cv_results if "indices" not in cv_results else {"": cv_results}
        if not several or not all(isinstance(r, Mapping) for r in several.values()):
            check_cv_results(cv_results, X)
        probas = {}
        rows = None
        for name, results in several.items():
            check_cv_results(results, X)
            found = np.concatenate(results["indices"]["test"])
            if rows is not None and not np.array_equal(found, rows):
                raise ValueError(
                    f"The models must be validated on the same folds; those of {name!r}"
                    " differ. Pass one splitter with a seed to each cross_validate."
                )
            rows = found
            folds = list(held_out_proba(results, X, pos_label))
            pieces = [piece for _, _, piece, _ in folds]
            widths = {np.shape(piece)[1:] for piece in pieces}
            if len(widths) > 1:
                raise ValueError(
                    f"The estimators of {name!r} know different classes: some folds "
                    "lack one. Use a stratified splitter."
                )
            probas[name] = np.concatenate(pieces)
            estimator, _, _, positive = folds[-1]
        weight = sample_weight
        return cls.from_predictions(
            _safe_indexing(y, rows),
            probas,
            measures=measures,
            loss=loss,
            multiclass=multiclass,
            recalibrator=recalibrator,
            sample_weight=None if weight is None else _safe_indexing(weight, rows),
            pos_label=positive,
            labels=estimator.classes_,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            n_jobs=n_jobs,
            random_state=random_state,
            sort=sort,
            ax=ax,
        )

    # Drawing --------------------------------------------------------------------------

    def plot(self, ax=None, *, sort=True):
        """Draw the errors.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        sort : bool, default=True
            Whether the smallest error (or loss) of the first measure comes first.

        Returns
        -------
        display : CalibrationErrorDisplay
            This display.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        names = list(dict.fromkeys(e.name for e in self.estimates))
        measures = list(dict.fromkeys(e.measure for e in self.estimates))
        by = {(e.name, e.measure): e for e in self.estimates}
        if sort:
            names.sort(key=lambda name: total(by[name, measures[0]]))
        # Rows are models; or, of a single model, its measures.
        if len(names) == 1 and len(measures) > 1:
            rows = [[by[names[0], measure]] for measure in measures]
            labels = [measure_title(measure) for measure in measures]
            xlabel = "Calibration error"
        else:
            rows = [[by[name, measure] for measure in measures] for name in names]
            labels = names
            xlabel = " / ".join(map(measure_title, measures))
            xlabel = xlabel if len(measures) == 1 else "Calibration error"
        if ax is None:
            import matplotlib.pyplot as plt

            n_lines = sum(map(len, rows))
            _, ax = plt.subplots(
                figsize=(6.4, 1.5 + 0.34 * n_lines), layout="constrained"
            )
        self.ax_, self.figure_ = ax, ax.figure
        several = len(rows[0]) > 1
        for j, row in enumerate(rows):
            height = _BAR / len(row)
            for i, estimate in enumerate(row):
                at = j + (i - 0.5 * (len(row) - 1)) * height
                draw_estimate(ax, estimate, at, 0.85 * height, i, several)
        # One legend entry of each kind.
        handles, texts = ax.get_legend_handles_labels()
        unique = dict(zip(texts, handles, strict=True))
        ax.set(yticks=range(len(rows)), xlabel=xlabel)
        ax.set_yticklabels(labels)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        # Autoscaling stays on, for what is drawn later, here or on axes that share x.
        sharing = ax.get_shared_x_axes().get_siblings(ax)
        if min(other.dataLim.x0 for other in sharing) >= 0.0:
            ax.set_xlim(left=0.0, auto=True)
        else:
            ax.axvline(0.0, color=text_colour(), lw=0.8, zorder=0.5)
        ax.tick_params(axis="y", length=0)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)
        if unique:
            ax.legend(
                unique.values(),
                unique.keys(),
                # From the right end over the names, beside which there is no room.
                loc="lower right",
                bbox_to_anchor=(1.0, 1.0),
                ncols=min(3, len(unique)),
                frameon=False,
                fontsize="small",
            )
        return self


def _by_name(estimators):
    if isinstance(estimators, Mapping):
        named = dict(estimators)
    else:
        if hasattr(estimators, "predict_proba"):
            estimators = [estimators]
        named = {}
        for estimator in estimators:
            name = kind = type(estimator).__name__
            count = 2
            while name in named:
                name, count = f"{kind} {count}", count + 1
            named[name] = estimator
    if not named:
        raise ValueError("estimators must hold one classifier at least. Got none.")
    return named
