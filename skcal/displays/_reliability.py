"""Reliability diagrams."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skcal._predictions import check_option
from skcal._sklearn import _get_response_values, check_matplotlib_support
from skcal.displays._curves import (
    CurveRecipe,
    attributes_of_folds,
    attributes_of_predictions,
    check_kind,
    curves_of_display,
)
from skcal.displays._diagram import Diagram, Look, curve_name
from skcal.inference._bands import BANDS

STRIPS = ("density", "outcome")
SCORES = ("brier", "log")


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
        check_kind(self.kind)
        if strip is not None:
            check_option("strip", strip, STRIPS)
        if decomposition is not None:
            check_option("decomposition", decomposition, SCORES)
        name = self.estimator_name if name is None else name
        look = Look(strip, decomposition, ref_line)
        drawn = Diagram(self, name, curve_kwargs, kwargs, look).draw(ax)
        for attribute, artists in drawn.items():
            setattr(self, attribute, artists)
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
        for k, curve in enumerate(curves_of_display(self)):
            table = {
                "curve": curve_name(self.estimator_name, self.curve_names, k),
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
        recipe = CurveRecipe.checked(
            kind,
            n_bins,
            strategy,
            band,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            random_state=random_state,
        )
        attributes = attributes_of_predictions(
            recipe, y_true, y_prob, sample_weight, pos_label, labels, multiclass, groups
        )
        display = cls(
            **attributes, kind=kind, confidence_level=confidence_level, name=name
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
        recipe = CurveRecipe.checked(
            kind,
            n_bins,
            strategy,
            band,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            random_state=random_state,
        )
        attributes = attributes_of_folds(
            recipe, cv_results, X, y, sample_weight, pos_label
        )
        display = cls(
            **attributes, kind=kind, confidence_level=confidence_level, name=name
        )
        return display.plot(
            ax=ax,
            ref_line=ref_line,
            curve_kwargs=curve_kwargs,
            strip=strip,
            decomposition=decomposition,
            **kwargs,
        )
