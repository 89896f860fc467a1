"""Reliability diagrams."""

from dataclasses import dataclass, fields
from functools import partial
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skcal._predictions import (
    MULTICLASS_REDUCTIONS,
    BinaryProblem,
    check_fraction,
    check_groups,
    check_option,
    check_positive,
    check_predictions,
)
from skcal._sklearn import (
    _get_response_values,
    _num_samples,
    _safe_indexing,
    check_matplotlib_support,
)
from skcal.displays import _drawing as drawing
from skcal.inference._bands import (
    BANDS,
    Resampling,
    binned_band,
    isotonic_band,
    map_band,
    smooth_band,
)
from skcal.inference._bootstrap import bootstrap_interval
from skcal.metrics._binned import STRATEGIES, binned_ece, number_of_bins
from skcal.metrics._corp import isotonic_curve
from skcal.metrics._curve import (
    Bins,
    binned_curve,
    mean_curve,
    recalibrated_curve,
    smooth_curve,
)
from skcal.metrics._smooth import smooth_ece

KINDS = ("smooth", "binned", "isotonic")
STRIPS = ("density", "outcome")
SCORES = ("brier", "log")
_ERROR_NAMES = {"smooth": "smECE", "binned": "ECE", "isotonic": "MCB"}
_STRIP_HEIGHT, _STRIPS_HEIGHT = 0.09, 0.25


@dataclass(frozen=True)
class _Curve:
    """One curve of a display, under the names of the display's attributes."""

    prob_true: np.ndarray
    prob_pred: np.ndarray
    y_prob: np.ndarray = None
    rows: np.ndarray = None
    bin_edges: np.ndarray = None
    density_at: np.ndarray = None
    density: np.ndarray = None
    outcome_density: np.ndarray = None
    calibration_error: float = None
    error_interval: tuple = None
    confidence_band: tuple = None
    consistency_band: tuple = None
    decomposition: dict = None


_FIELDS = [field.name for field in fields(_Curve)]


class ReliabilityDisplay:
    """Reliability diagram: observed frequency against predicted probability.

    Use :meth:`from_estimator`, :meth:`from_predictions` or :meth:`from_cv_results` to
    make one. It takes the place of :class:`sklearn.calibration.CalibrationDisplay`:
    scripts work with the class name replaced. Computing and drawing are apart; all
    parameters are stored as attributes, and :meth:`plot` draws them as often as asked.

    Read more in the :ref:`User Guide <displays>`.

    Parameters
    ----------
    prob_true : ndarray of shape (n_points,)
        Observed frequency of the event.
    prob_pred : ndarray of shape (n_points,)
        Predicted probability it belongs to.
    y_prob : ndarray of shape (n_samples,), default=None
        The forecasts.
    kind : {"smooth", "binned", "isotonic"} or recalibrator, default="smooth"
        What the points are.
    rows : ndarray of shape (n_points,), default=None
        Number of rows that each point averages. Weighted rows count as the number of
        equal ones with the same variance.
    bin_edges : ndarray of shape (n_bins + 1,), default=None
        Edges of the bins.
    density_at : ndarray of shape (n_nodes,), default=None
        Probabilities at which the forecasts' density is given.
    density : ndarray of shape (n_nodes,), default=None
        Density of the forecasts, drawn as a strip below the diagram.
    outcome_density : ndarray of shape (2, n_nodes), default=None
        Its parts, of rows without and with the event; they add up to `density`.
    calibration_error : float, default=None
        Error that the diagram shows: smECE of a smooth one, ECE of a binned one, the
        miscalibration part of the Brier score of an isotonic one.
    error_interval : tuple of (low, high), default=None
        Confidence interval of that error.
    confidence_band : tuple of (at, low, high), default=None
        Pointwise intervals of the curve at predicted probabilities.
    consistency_band : tuple of (at, low, high), default=None
        Pointwise ranges of the curves that a calibrated model would show.
    confidence_level : float, default=0.95
        Level of the intervals and bands.
    decomposition : dict, default=None
        With keys "brier" and "log": the mean `score` as `miscalibration` less
        `discrimination` plus `uncertainty`, of an isotonic diagram.
    estimator_name : str, default=None
        Name in the legend.
    name : str, default=None
        The same, as newer displays of scikit-learn call it.
    pos_label : int, float, bool or str, default=None
        Label of the positive class.
    multiclass : {"confidence", "classwise"}, default=None
        Says that the diagram shows three or more classes: the top class's probability
        against its being right, or each class against the rest.
    several : {"groups", "classes", "folds"}, default=None
        Says that there are several curves: parameters of one curve, those from
        `prob_true` to `decomposition` but for `kind` and `confidence_level`, are then
        lists with an item per curve.
    curve_names : list of str, default=None
        Names of several curves.
    mean_curve : tuple of (at, mean, deviation), default=None
        Mean of the folds' curves and standard deviation around it.

    Attributes
    ----------
    line_ : matplotlib Artist or list of Artists
        The reliability curve, or the points of the bins.
    ref_line_ : matplotlib Artist or None
        The diagonal of perfect calibration, None where it was there or not asked for.
    density_ : matplotlib Artist, list of Artists or None
        The strip of the forecasts' density.
    confidence_ : matplotlib Artist, list of Artists or None
        The confidence band.
    consistency_ : matplotlib Artist, list of Artists or None
        The consistency band.
    mean_line_ : matplotlib Artist or None
        Mean of the folds' curves.
    ax_ : matplotlib Axes or array of Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the axes.

    See Also
    --------
    skcal.smooth_ece : The error that a smooth diagram shows.
    skcal.binned_ece : The error that a binned diagram shows.

    References
    ----------
    .. [1] J. Błasiok and P. Nakkiran, "Smooth ECE: Principled Reliability Diagrams via
       Kernel Smoothing", 2023, section 1.1 (smooth diagrams).
       `arXiv:2309.12236 <https://arxiv.org/abs/2309.12236>`_
    .. [2] T. Dimitriadis, T. Gneiting and A. I. Jordan, "Stable Reliability Diagrams
       for Probabilistic Classifiers", PNAS 118(8), 2021 (isotonic diagrams).
       `arXiv:2008.03033 <https://arxiv.org/abs/2008.03033>`_

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_predict
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skcal import ReliabilityDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y_proba = cross_val_predict(GaussianNB(), X, y, method="predict_proba")
    >>> display = ReliabilityDisplay.from_predictions(y, y_proba, name="Naive Bayes")
    >>> round(display.calibration_error, 2)
    0.06
    """

    def __init__(
        self,
        prob_true,
        prob_pred,
        y_prob=None,
        *,
        kind="smooth",
        rows=None,
        bin_edges=None,
        density_at=None,
        density=None,
        outcome_density=None,
        calibration_error=None,
        error_interval=None,
        confidence_band=None,
        consistency_band=None,
        confidence_level=0.95,
        decomposition=None,
        estimator_name=None,
        name=None,
        pos_label=None,
        multiclass=None,
        several=None,
        curve_names=None,
        mean_curve=None,
    ):
        self.prob_true = prob_true
        self.prob_pred = prob_pred
        self.y_prob = y_prob
        self.kind = kind
        self.rows = rows
        self.bin_edges = bin_edges
        self.density_at = density_at
        self.density = density
        self.outcome_density = outcome_density
        self.calibration_error = calibration_error
        self.error_interval = error_interval
        self.confidence_band = confidence_band
        self.consistency_band = consistency_band
        self.confidence_level = confidence_level
        self.decomposition = decomposition
        self.estimator_name = name if estimator_name is None else estimator_name
        self.name = self.estimator_name
        self.pos_label = pos_label
        self.multiclass = multiclass
        self.several = several
        self.curve_names = curve_names
        self.mean_curve = mean_curve

    def plot(
        self,
        ax=None,
        *,
        name=None,
        ref_line=True,
        curve_kwargs=None,
        strip="density",
        decomposition=None,
        **kwargs,
    ):
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes or array of Axes, default=None
            Axes to draw on; None makes a new figure. Three or more classes with
            ``multiclass="classwise"`` are drawn on a panel each, where `ax` is None or
            an array, and together on one axes.
        name : str or list of str, default=None
            Name in the legend; None takes `estimator_name`. A list names each curve,
            where `curve_kwargs` is a list too.
        ref_line : bool, default=True
            Draw the diagonal of perfect calibration.
        curve_kwargs : dict, default=None
            Keyword arguments of the curve's :meth:`matplotlib.axes.Axes.plot`.
        strip : {"density", "outcome"} or None, default="density"
            Strip below the diagram: the density of the forecasts, or of those with and
            without the event back to back.
        decomposition : {"brier", "log"}, default=None
            Score whose miscalibration (MCB), discrimination (DSC) and uncertainty (UNC)
            the legend shows, with ``kind="isotonic"``.
        **kwargs : dict
            Keyword arguments of the curve's line, one by one.

        Returns
        -------
        display : ReliabilityDisplay
            Itself.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        _check_kind(self.kind)
        if strip is not None:
            check_option("strip", strip, STRIPS)
        if decomposition is not None:
            check_option("decomposition", decomposition, SCORES)
        name = self.estimator_name if name is None else name
        curves = self._curves()
        styles = _styles(curve_kwargs, kwargs, len(curves))
        look = _Look(strip, decomposition, ref_line)
        panels = self.several == "classes" and (ax is None or np.ndim(ax) > 0)
        if panels:
            self._plot_panels(ax, curves, name, styles, look)
            return self
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        self.ax_, self.figure_ = ax, ax.figure
        self.ref_line_ = drawing.draw_diagonal(ax) if ref_line else None
        if self.several == "folds":
            several_styles = isinstance(curve_kwargs, (list, tuple))
            drawn = self._draw_folds(ax, curves, name, styles, look, several_styles)
        else:
            labels = [
                self._label(curve, self._name(name, k), look)
                for k, curve in enumerate(curves)
            ]
            height = min(_STRIP_HEIGHT, _STRIPS_HEIGHT / len(curves))
            drawn = [
                self._draw(ax, curve, label, style, look, height)
                for curve, label, style in zip(curves, labels, styles, strict=True)
            ]
        self._keep(drawn)
        drawing.arrange(ax, *self._axis_labels())
        drawing.place_legend(ax)
        drawing.set_ticks(ax)
        if (
            len(curves) == 1
            and drawn[0]["density_"]
            and curves[0].bin_edges is not None
        ):
            curve = curves[0]
            counts = np.zeros(curve.density.size)
            counts[curve.density > 0] = curve.rows
            drawing.draw_counts(ax, drawn[0]["density_"], curve.bin_edges, counts)
        return self

    def to_frame(self):
        """Points of the curves as a table.

        Returns
        -------
        frame : pandas.DataFrame
            One row per point, with columns ``curve`` (the name), ``prob_pred``,
            ``prob_true``, and where they are known ``rows``, ``confidence_low``,
            ``confidence_high``, ``consistency_low`` and ``consistency_high``.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        import pandas as pd

        frames = []
        for k, curve in enumerate(self._curves()):
            table = {
                "curve": self._name(self.estimator_name, k),
                "prob_pred": curve.prob_pred,
                "prob_true": curve.prob_true,
            }
            if curve.rows is not None:
                table["rows"] = curve.rows
            for kind in BANDS:
                band = getattr(curve, f"{kind}_band")
                if band is not None:
                    at, low, high = band
                    table[f"{kind}_low"] = np.interp(curve.prob_pred, at, low)
                    table[f"{kind}_high"] = np.interp(curve.prob_pred, at, high)
            frames.append(pd.DataFrame(table))
        return pd.concat(frames, ignore_index=True)

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        *,
        kind="smooth",
        n_bins=10,
        strategy="uniform",
        sample_weight=None,
        pos_label=None,
        multiclass="confidence",
        groups=None,
        band="auto",
        confidence_level=0.95,
        n_resamples=300,
        random_state=0,
        name=None,
        ax=None,
        ref_line=True,
        curve_kwargs=None,
        strip="density",
        decomposition=None,
        **kwargs,
    ):
        """Draw the reliability diagram of a fitted classifier.

        Parameters
        ----------
        estimator : estimator instance
            Fitted classifier, or pipeline that ends in one, with `predict_proba`.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Input values.
        y : array-like of shape (n_samples,)
            True labels.
        kind : {"smooth", "binned", "isotonic"} or recalibrator, default="smooth"
            Kernel regression at the bandwidth of smECE, bins, isotonic regression
            (CORP), or the map that a clone of a recalibrator learns from these rows.
        n_bins : int, {"sqrt", "cbrt"} or callable, default=10
            Number of bins of a binned diagram, or its rule, see
            :func:`skcal.binned_ece`.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of about equal numbers of rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            Label of the positive class; by default ``estimator.classes_[1]``.
        multiclass : {"confidence", "classwise"}, default="confidence"
            With three or more classes, show the top class's probability against its
            being right, or each class against the rest.
        groups : array-like of shape (n_samples,), default=None
            Subgroup of each row; one curve is drawn for each, with the same bins.
        band : {"auto", "confidence", "consistency", "both"} or None, default="auto"
            Confidence band around the curve, consistency band around the diagonal,
            both or none. "auto" is "confidence", and none for a recalibrator, whose
            map is learned once per replicate.
        confidence_level : float, default=0.95
            Probability with which a band covers, at each forecast.
        n_resamples : int, default=300
            Number of bootstrap replicates or simulations.
        random_state : int, RandomState instance or None, default=0
            Seed of the resampling.
        name : str, default=None
            Name in the legend; by default the estimator's class name, where there is
            one curve.
        ax : matplotlib Axes or array of Axes, default=None
            Axes to draw on; None makes a new figure. Three or more classes with
            ``multiclass="classwise"`` are drawn on a panel each, where `ax` is None or
            an array, and together on one axes.
        ref_line : bool, default=True
            Draw the diagonal of perfect calibration.
        curve_kwargs : dict, default=None
            Keyword arguments of the curve's :meth:`matplotlib.axes.Axes.plot`.
        strip : {"density", "outcome"} or None, default="density"
            Strip below the diagram: the density of the forecasts, or of those with and
            without the event back to back.
        decomposition : {"brier", "log"}, default=None
            Score whose miscalibration (MCB), discrimination (DSC) and uncertainty (UNC)
            the legend shows, with ``kind="isotonic"``.
        **kwargs : dict
            Keyword arguments of the curve's line, one by one.

        Returns
        -------
        display : ReliabilityDisplay
            The drawn diagram.

        Raises
        ------
        ValueError
            If the labels or probabilities are invalid.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> from skcal import ReliabilityDisplay
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = make_pipeline(StandardScaler(), LogisticRegression())
        >>> model = model.fit(X[::2], y[::2])
        >>> display = ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2])
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        # All columns with three or more classes, the positive class's of two.
        y_proba, pos_label = _get_response_values(
            estimator, X, response_method="predict_proba", pos_label=pos_label
        )
        one = groups is None and (multiclass == "confidence" or np.ndim(y_proba) == 1)
        return cls.from_predictions(
            y,
            y_proba,
            kind=kind,
            n_bins=n_bins,
            strategy=strategy,
            sample_weight=sample_weight,
            labels=estimator.classes_,
            pos_label=pos_label,
            multiclass=multiclass,
            groups=groups,
            band=band,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            random_state=random_state,
            name=type(estimator).__name__ if name is None and one else name,
            ax=ax,
            ref_line=ref_line,
            curve_kwargs=curve_kwargs,
            strip=strip,
            decomposition=decomposition,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_prob,
        *,
        kind="smooth",
        n_bins=10,
        strategy="uniform",
        sample_weight=None,
        pos_label=None,
        labels=None,
        multiclass="confidence",
        groups=None,
        band="auto",
        confidence_level=0.95,
        n_resamples=300,
        random_state=0,
        name=None,
        ax=None,
        ref_line=True,
        curve_kwargs=None,
        strip="density",
        decomposition=None,
        **kwargs,
    ):
        """Draw the reliability diagram of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
            Predicted probabilities in [0, 1]. One column is the positive class's; more
            are the classes' in sorted order.
        kind : {"smooth", "binned", "isotonic"} or recalibrator, default="smooth"
            Kernel regression at the bandwidth of smECE, bins, isotonic regression
            (CORP), or the map that a clone of a recalibrator learns from these rows.
        n_bins : int, {"sqrt", "cbrt"} or callable, default=10
            Number of bins of a binned diagram, or its rule, see
            :func:`skcal.binned_ece`.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of about equal numbers of rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            Label of the positive class, see :func:`skcal.smooth_ece`.
        labels : array-like of shape (n_classes,), default=None
            All labels in sorted order. Give them where `y_true` may lack a class.
        multiclass : {"confidence", "classwise"}, default="confidence"
            With three or more classes, show the top class's probability against its
            being right, or each class against the rest.
        groups : array-like of shape (n_samples,), default=None
            Subgroup of each row; one curve is drawn for each, with the same bins.
        band : {"auto", "confidence", "consistency", "both"} or None, default="auto"
            Confidence band around the curve, consistency band around the diagonal,
            both or none. "auto" is "confidence", and none for a recalibrator, whose
            map is learned once per replicate.
        confidence_level : float, default=0.95
            Probability with which a band covers, at each forecast.
        n_resamples : int, default=300
            Number of bootstrap replicates or simulations.
        random_state : int, RandomState instance or None, default=0
            Seed of the resampling.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes or array of Axes, default=None
            Axes to draw on; None makes a new figure. Three or more classes with
            ``multiclass="classwise"`` are drawn on a panel each, where `ax` is None or
            an array, and together on one axes.
        ref_line : bool, default=True
            Draw the diagonal of perfect calibration.
        curve_kwargs : dict, default=None
            Keyword arguments of the curve's :meth:`matplotlib.axes.Axes.plot`.
        strip : {"density", "outcome"} or None, default="density"
            Strip below the diagram: the density of the forecasts, or of those with and
            without the event back to back.
        decomposition : {"brier", "log"}, default=None
            Score whose miscalibration (MCB), discrimination (DSC) and uncertainty (UNC)
            the legend shows, with ``kind="isotonic"``.
        **kwargs : dict
            Keyword arguments of the curve's line, one by one.

        Returns
        -------
        display : ReliabilityDisplay
            The drawn diagram.

        Raises
        ------
        ValueError
            If the labels or probabilities are invalid.
        """
        check_matplotlib_support(f"{cls.__name__}.from_predictions")
        recipe = _Recipe(
            kind,
            n_bins,
            strategy,
            _bands(band, kind),
            Resampling(confidence_level, n_resamples, random_state),
        )
        recipe.check()
        check_option("multiclass", multiclass, MULTICLASS_REDUCTIONS)
        predictions = check_predictions(
            y_true,
            y_prob,
            sample_weight=sample_weight,
            pos_label=pos_label,
            labels=labels,
        )
        problems = predictions.binary_problems(multiclass)
        several, names = None, None
        if groups is not None:
            groups = check_groups(groups, predictions.n_samples)
            if len(problems) > 1:
                raise ValueError(
                    'groups need multiclass="confidence" with three or more classes: '
                    "one axes cannot show each class of each group. For one class "
                    "against the rest pass its column of y_prob."
                )
            several = "groups"
            names, member = np.unique(groups, return_inverse=True)
            members = [np.flatnonzero(member == k) for k in range(names.size)]
            curves = recipe.curves_of_parts(problems[0], members)
        elif len(problems) > 1:
            several, names = "classes", predictions.classes
            curves = [recipe.curve(problem) for problem in problems]
        else:
            curves = [recipe.curve(problems[0])]
        reduction = None if predictions.is_binary else multiclass
        display = cls(
            **_attributes(curves, several is not None),
            kind=kind,
            confidence_level=confidence_level,
            estimator_name=name,
            pos_label=predictions.pos_label,
            multiclass=reduction,
            several=several,
            curve_names=None if names is None else [str(label) for label in names],
        )
        return display.plot(
            ax=ax,
            ref_line=ref_line,
            curve_kwargs=curve_kwargs,
            strip=strip,
            decomposition=decomposition,
            **kwargs,
        )

    @classmethod
    def from_cv_results(
        cls,
        cv_results,
        X,
        y,
        *,
        kind="smooth",
        n_bins=10,
        strategy="uniform",
        sample_weight=None,
        pos_label=None,
        band=None,
        confidence_level=0.95,
        n_resamples=300,
        random_state=0,
        name=None,
        ax=None,
        ref_line=True,
        curve_kwargs=None,
        strip="density",
        decomposition=None,
        **kwargs,
    ):
        """Draw a curve per fold of a cross-validation, their mean and spread.

        Parameters
        ----------
        cv_results : dict
            What :func:`sklearn.model_selection.cross_validate` gives with
            ``return_estimator=True`` and ``return_indices=True``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Input values that were cross-validated.
        y : array-like of shape (n_samples,)
            True labels.
        kind : {"smooth", "binned", "isotonic"} or recalibrator, default="smooth"
            Kernel regression at the bandwidth of smECE, bins, isotonic regression
            (CORP), or the map that a clone of a recalibrator learns from these rows.
        n_bins : int, {"sqrt", "cbrt"} or callable, default=10
            Number of bins of a binned diagram, or its rule, see
            :func:`skcal.binned_ece`.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of about equal numbers of rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            Label of the positive class; by default each estimator's ``classes_[1]``.
        band : {"auto", "confidence", "consistency", "both"} or None, default=None
            Bands of each fold, see :meth:`from_predictions`. By default there are
            none, and the spread of the folds is shaded.
        confidence_level : float, default=0.95
            Probability with which a band covers, at each forecast.
        n_resamples : int, default=300
            Number of bootstrap replicates or simulations.
        random_state : int, RandomState instance or None, default=0
            Seed of the resampling.
        name : str or list of str, default=None
            Name in the legend, or one of each fold where `curve_kwargs` is a list.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        ref_line : bool, default=True
            Draw the diagonal of perfect calibration.
        curve_kwargs : dict or list of dict, default=None
            Keyword arguments of the folds' lines; a list gives each fold its own,
            and an entry in the legend.
        strip : {"density", "outcome"} or None, default="density"
            Strip below the diagram: the density of the forecasts, or of those with and
            without the event back to back.
        decomposition : {"brier", "log"}, default=None
            Score whose miscalibration (MCB), discrimination (DSC) and uncertainty (UNC)
            the legend shows, with ``kind="isotonic"``.
        **kwargs : dict
            Keyword arguments of the curve's line, one by one.

        Returns
        -------
        display : ReliabilityDisplay
            The drawn diagram.

        Raises
        ------
        ValueError
            If `cv_results` lacks estimators or indices, or does not belong to these
            rows.

        See Also
        --------
        from_predictions : One curve of all out-of-fold predictions together.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.model_selection import cross_validate
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skcal import ReliabilityDisplay
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> cv_results = cross_validate(
        ...     GaussianNB(), X, y, return_estimator=True, return_indices=True
        ... )
        >>> display = ReliabilityDisplay.from_cv_results(cv_results, X, y)
        >>> len(display.calibration_error)
        5
        """
        check_matplotlib_support(f"{cls.__name__}.from_cv_results")
        recipe = _Recipe(
            kind,
            n_bins,
            strategy,
            _bands(band, kind),
            Resampling(confidence_level, n_resamples, random_state),
        )
        recipe.check()
        check_cv_results(cv_results, X)
        problems = []
        for estimator, rows in zip(
            cv_results["estimator"], cv_results["indices"]["test"], strict=True
        ):
            y_proba, positive = _get_response_values(
                estimator,
                _safe_indexing(X, rows),
                response_method="predict_proba",
                pos_label=pos_label,
            )
            weight = sample_weight
            predictions = check_predictions(
                _safe_indexing(y, rows),
                y_proba,
                sample_weight=None if weight is None else _safe_indexing(weight, rows),
                pos_label=positive,
                labels=estimator.classes_,
            )
            problems.extend(predictions.binary_problems("confidence"))
        sizes = [problem.forecast.size for problem in problems]
        ends = np.cumsum(sizes)
        members = [
            np.arange(end - size, end) for size, end in zip(sizes, ends, strict=True)
        ]
        curves = recipe.curves_of_parts(_joined(problems), members)
        display = cls(
            **_attributes(curves, True),
            kind=kind,
            confidence_level=confidence_level,
            name=name,
            pos_label=predictions.pos_label,
            multiclass=None if predictions.is_binary else "confidence",
            several="folds",
            curve_names=[f"Fold {k + 1}" for k in range(len(curves))],
            mean_curve=mean_curve(
                [(c.prob_pred, c.prob_true) for c in curves],
                curves[0].density_at if kind == "smooth" else None,
            ),
        )
        return display.plot(
            ax=ax,
            ref_line=ref_line,
            curve_kwargs=curve_kwargs,
            strip=strip,
            decomposition=decomposition,
            **kwargs,
        )

    # What is drawn --------------------------------------------------------------------

    def _curves(self):
        values = {field: getattr(self, field) for field in _FIELDS}
        if self.several is None:
            return [_Curve(**values)]
        return [
            _Curve(**{f: None if v is None else v[k] for f, v in values.items()})
            for k in range(len(self.prob_true))
        ]

    def _name(self, name, k):
        """Name of a curve in the legend, None where it has none."""
        if isinstance(name, (list, tuple)):
            return name[k]
        if self.curve_names is None:
            return name
        own = self.curve_names[k]
        return own if name is None else f"{name}, {own}"

    def _label(self, curve, name, look):
        if not isinstance(self.kind, str):
            text = type(self.kind).__name__
        elif look.decomposition is not None and curve.decomposition is not None:
            parts = curve.decomposition[look.decomposition]
            text = (
                f"MCB {parts.miscalibration:.3f}, DSC {parts.discrimination:.3f}, "
                f"UNC {parts.uncertainty:.3f}"
            )
        elif curve.calibration_error is not None:
            digits = 4 if self.kind == "isotonic" else 3
            text = f"{_ERROR_NAMES[self.kind]} = {curve.calibration_error:.{digits}f}"
            if curve.error_interval is not None:
                low, high = curve.error_interval
                text += f" [{low:.{digits}f}, {high:.{digits}f}]"
        else:
            return name
        return text if name is None else f"{name} ({text})"

    def _axis_labels(self):
        if self.multiclass == "confidence":
            return "Confidence", "Observed accuracy"
        event = "" if self.pos_label is None else f" (positive class: {self.pos_label})"
        return f"Predicted probability{event}", f"Observed frequency{event}"

    def _draw(self, ax, curve, label, style, look, height):
        smooth, binned = self.kind == "smooth", self.kind == "binned"
        default = {"marker": "o", "markersize": 4.5} if binned else {}
        if smooth and curve.density is not None:
            default["linewidth"] = drawing.thin_line()
        if label is not None:
            default["label"] = label
        line = drawing.draw_line(
            ax, curve.prob_pred, curve.prob_true, {**default, **style}, smooth
        )
        color = line.get_color()
        parts = {"line_": line, "confidence_": None, "consistency_": None}
        if smooth and curve.density is not None:
            drawing.draw_widths(ax, line, curve.density)
        level = f"{100 * self.confidence_level:g} %"
        if curve.confidence_band is not None:
            if binned:
                text = f"{level} Wilson intervals"
                artist = drawing.draw_intervals(ax, curve.confidence_band, color)
            else:
                text = f"{level} confidence band"
                artist = drawing.draw_band(
                    ax, curve.confidence_band, color, False, smooth
                )
            parts["confidence_"] = artist
            drawing.draw_label_of_band(ax, text, False, binned)
        if curve.consistency_band is not None:
            band = curve.consistency_band
            if binned:
                artist = drawing.draw_ranges(ax, band, color)
            else:
                artist = drawing.draw_band(ax, band, color, True, smooth)
            parts["consistency_"] = artist
            text = f"{level} consistency band (if calibrated)"
            drawing.draw_label_of_band(ax, text, True)
        parts["density_"] = self._draw_strip(ax, curve, color, look, height)
        return parts

    @staticmethod
    def _draw_strip(ax, curve, color, look, height):
        densities = None if look.strip is None else [curve.density]
        if look.strip == "outcome" and curve.outcome_density is not None:
            densities = list(curve.outcome_density)
        if densities is None or densities[0] is None:
            return None
        at, edges = curve.density_at, curve.bin_edges
        if edges is None and at[0] > 0.0:
            # A histogram of equal cells around these points.
            edges = np.append(at - at[0], 1.0)
        return drawing.draw_strip(ax, at, densities, height, color, edges)

    def _draw_folds(self, ax, curves, name, styles, look, own_styles):
        default = {"linewidth": 0.8, "alpha": 0.6, "marker": None}
        drawn = []
        shown = _Look(None, look.decomposition, look.ref_line)
        for k, (curve, style) in enumerate(zip(curves, styles, strict=True)):
            if drawn and not own_styles:
                style = {"color": drawn[0]["line_"].get_color(), **style}
            label = None
            if own_styles:
                fold = name[k] if isinstance(name, (list, tuple)) else None
                label = self._label(curve, fold or self.curve_names[k], look)
            drawn.append(self._draw(ax, curve, label, {**default, **style}, shown, 0.0))
        color = "0.5" if own_styles else drawn[0]["line_"].get_color()
        at, mean, deviation = self.mean_curve
        label = "Mean" if name is None or own_styles else str(name)
        errors = self.calibration_error
        if isinstance(self.kind, str) and errors is not None and errors[0] is not None:
            error = _ERROR_NAMES[self.kind]
            label += f" ({error} = {np.mean(errors):.3f} ± {np.std(errors):.3f})"
        (self.mean_line_,) = ax.plot(
            at, mean, color=color, linewidth=2.2, zorder=2.5, label=label
        )
        spread = (at, mean - deviation, mean + deviation)
        drawing.draw_band(ax, spread, color, False, False)
        drawing.draw_label_of_band(ax, f"Mean ± sd of {len(curves)} folds", False)
        whole = _mean_density(curves)
        if whole is not None:
            drawn[0]["density_"] = self._draw_strip(
                ax, whole, color, look, _STRIP_HEIGHT
            )
        return drawn

    def _plot_panels(self, ax, curves, name, styles, look):
        own_figure = ax is None
        if own_figure:
            axes = drawing.panels(len(curves))
        else:
            axes = np.asarray(ax, dtype=object).ravel()
            if axes.size < len(curves):
                raise ValueError(
                    f"ax has {axes.size} axes for {len(curves)} classes. Pass one per "
                    "class, a single Axes for all classes together, or None."
                )
        self.ax_ = axes[: len(curves)]
        self.figure_ = axes[0].figure
        xlabel, ylabel = self._axis_labels()
        drawn, references = [], []
        for k, (panel, curve) in enumerate(zip(self.ax_, curves, strict=True)):
            references.append(drawing.draw_diagonal(panel) if look.ref_line else None)
            own = name[k] if isinstance(name, (list, tuple)) else name
            label = self._label(curve, own, look)
            drawn.append(
                self._draw(panel, curve, label, styles[k], look, _STRIP_HEIGHT)
            )
            drawing.arrange(panel, xlabel, ylabel)
            panel.set_title(self.curve_names[k], fontsize="medium")
        self.ref_line_ = references[0]
        self._keep(drawn)
        drawing.place_panel_legends(self.ax_, own_figure)
        if own_figure:
            drawing.label_outer_only(self.ax_)

    def _keep(self, drawn):
        """Store the artists: one, or a list of them."""
        if self.several != "folds":
            self.mean_line_ = None
        for part in ("line_", "confidence_", "consistency_", "density_"):
            artists = [parts[part] for parts in drawn]
            setattr(self, part, artists[0] if self.several is None else artists)


class _Look(NamedTuple):
    """Choices of a drawing."""

    strip: str | None
    decomposition: str | None
    ref_line: bool


class _Recipe(NamedTuple):
    """Choices of a computation."""

    kind: object
    n_bins: object
    strategy: str
    bands: tuple
    resampling: Resampling

    def check(self):
        _check_kind(self.kind)
        check_option("strategy", self.strategy, STRATEGIES)
        check_fraction("confidence_level", self.resampling.confidence_level)
        check_positive("n_resamples", self.resampling.n_resamples, Integral)

    def curves_of_parts(self, problem, members):
        """A curve of each part of the rows, on the same bins or nodes."""
        parts = [_part(problem, rows) for rows in members]
        if self.kind == "binned":
            bins = Bins(problem, self.n_bins, self.strategy)
            return [
                self.curve(part, bins, bins.index[rows])
                for part, rows in zip(parts, members, strict=True)
            ]
        n_nodes = None
        if self.kind == "smooth":
            n_nodes = max(smooth_curve(part).density_at.size - 1 for part in parts)
        return [self.curve(part, n_nodes=n_nodes) for part in parts]

    def curve(self, problem, bins=None, index=None, n_nodes=None):
        """Everything that is drawn of one problem."""
        # An invalid number of bins is refused whatever the kind.
        n_bins = number_of_bins(self.n_bins, problem)
        shared = bins is not None
        kind, resampling, edges = self.kind, self.resampling, None
        if kind == "smooth":
            curve, band_of = smooth_curve(problem, n_nodes), smooth_band
        elif kind == "isotonic":
            curve, band_of = isotonic_curve(problem), isotonic_band
        elif kind == "binned":
            if bins is None:
                bins = Bins(problem, n_bins, self.strategy)
                index = bins.index
            curve, edges = binned_curve(problem, bins, index), bins.edges
            band_of = partial(binned_band, index=index)
        else:
            curve = recalibrated_curve(problem, kind)
            band_of = partial(map_band, recalibrator=kind)
        bands = {
            f"{band}_band": band_of(problem, curve, band=band, resampling=resampling)
            for band in self.bands
        }
        return _Curve(
            error_interval=self._interval(problem, n_bins, shared),
            prob_true=curve.prob_true,
            prob_pred=curve.prob_pred,
            y_prob=problem.forecast,
            rows=curve.rows,
            bin_edges=edges,
            density_at=curve.density_at,
            density=curve.density,
            outcome_density=curve.outcome_density,
            calibration_error=curve.error,
            decomposition=curve.split,
            **bands,
        )

    def _interval(self, problem, n_bins, shared):
        """Interval of the error in the legend, where there is one."""
        if "confidence" not in self.bands or shared:
            return None
        if self.kind == "smooth":
            measure, params = smooth_ece, {}
        elif self.kind == "binned":
            measure, params = (
                binned_ece,
                {"n_bins": n_bins, "strategy": self.strategy},
            )
        else:
            return None
        result = bootstrap_interval(
            measure,
            np.asarray(problem.outcome, dtype=np.intp),
            problem.forecast,
            sample_weight=problem.weight,
            **self.resampling._asdict(),
            **params,
        )
        return result.low, result.high


def _check_kind(kind):
    if isinstance(kind, str) and kind in KINDS:
        return
    if hasattr(kind, "fit") and hasattr(kind, "transform"):
        if not isinstance(kind, type):
            return
        raise ValueError(
            f"kind must be one of {list(KINDS)} or a recalibrator, an instance of it. "
            f"Got the class {kind.__name__} instead; write {kind.__name__}()."
        )
    raise ValueError(
        f"kind must be one of {list(KINDS)} or a recalibrator. Got {kind!r} instead."
    )


def _bands(band, kind):
    """Names of the bands that are asked for."""
    if band is None:
        return ()
    check_option("band", band, ("auto", *BANDS, "both"))
    if band == "auto":
        return BANDS[:1] if isinstance(kind, str) else ()
    return BANDS if band == "both" else (band,)


def check_cv_results(cv_results, X):
    if not {"estimator", "indices"} <= set(cv_results):
        raise ValueError(
            "cv_results must have the keys 'estimator' and 'indices'. Got "
            f"{sorted(cv_results)}; call cross_validate with return_estimator=True and "
            "return_indices=True."
        )
    n_samples = _num_samples(X)
    indices = cv_results["indices"]
    expected = len(indices["train"][0]) + len(indices["test"][0])
    if n_samples != expected:
        raise ValueError(
            f"X must hold the rows that were cross-validated: {expected}, by the "
            f"indices of cv_results. Got {n_samples}."
        )


def _part(problem, rows):
    """The problem of some of the rows."""
    weight = None if problem.weight is None else problem.weight[rows]
    if weight is not None and not np.any(weight > 0):
        raise ValueError(
            "sample_weight must not be zero throughout a group or fold. Found one of "
            f"{rows.size} rows; leave these out."
        )
    return BinaryProblem(problem.outcome[rows], problem.forecast[rows], weight)


def _joined(problems):
    """One problem of the rows of all."""
    weighted = problems[0].weight is not None
    return BinaryProblem(
        np.concatenate([problem.outcome for problem in problems]),
        np.concatenate([problem.forecast for problem in problems]),
        np.concatenate([problem.weight for problem in problems]) if weighted else None,
    )


def _attributes(curves, several):
    """Arguments of the display: those of its one curve, or lists of them."""
    if not several:
        return {field: getattr(curves[0], field) for field in _FIELDS}
    lists = {field: [getattr(c, field) for c in curves] for field in _FIELDS}
    return {
        field: None if all(value is None for value in values) else values
        for field, values in lists.items()
    }


def _styles(curve_kwargs, kwargs, n_curves):
    """Keyword arguments of each curve's line."""
    if isinstance(curve_kwargs, (list, tuple)):
        if len(curve_kwargs) != n_curves:
            raise ValueError(
                "curve_kwargs must be None, a dictionary or a list with one for each "
                f"of the {n_curves} curves. Got {len(curve_kwargs)}."
            )
    else:
        curve_kwargs = [curve_kwargs or {}] * n_curves
    return [{**_normalised(own), **_normalised(kwargs)} for own in curve_kwargs]


def _mean_density(curves):
    """The folds' mean density, as a curve without points."""
    if curves[0].density is None:
        return None
    return _Curve(
        prob_true=None,
        prob_pred=None,
        bin_edges=curves[0].bin_edges,
        density_at=curves[0].density_at,
        density=np.mean([curve.density for curve in curves], axis=0),
        outcome_density=np.mean([curve.outcome_density for curve in curves], axis=0),
    )


def _normalised(kwargs):
    """Keyword arguments of a line with aliases such as ``c`` spelled out."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return normalize_kwargs(kwargs, Line2D)
