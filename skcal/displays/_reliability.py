"""Reliability diagrams."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skcal._predictions import check_option, check_predictions
from skcal._sklearn import _get_response_values, check_matplotlib_support
from skcal.metrics._binned import STRATEGIES, binned_ece_of, number_of_bins
from skcal.metrics._curve import binned_curve, smooth_curve

KINDS = ("smooth", "binned")
# The forecasts' density stands in a strip of this height below the diagram.
_STRIP = 0.12


class ReliabilityDisplay:
    """Reliability diagram: observed frequency against predicted probability.

    Use :meth:`from_estimator` or :meth:`from_predictions` to make one. It takes the
    place of :class:`sklearn.calibration.CalibrationDisplay`: scripts work with the
    class name replaced. Computing and drawing are apart; all parameters are stored as
    attributes, and :meth:`plot` draws them as often as asked.

    Read more in the :ref:`User Guide <displays>`.

    Parameters
    ----------
    prob_true : ndarray of shape (n_points,)
        Observed frequency of the event.
    prob_pred : ndarray of shape (n_points,)
        Predicted probability it belongs to.
    y_prob : ndarray of shape (n_samples,), default=None
        The forecasts.
    kind : {"smooth", "binned"}, default="smooth"
        Whether the points are a curve or bins.
    density_at : ndarray of shape (n_nodes,), default=None
        Probabilities at which the forecasts' density is given.
    density : ndarray of shape (n_nodes,), default=None
        Density of the forecasts, drawn as a strip below the diagram.
    calibration_error : float, default=None
        Error that the diagram shows: smECE of a smooth, ECE of a binned one.
    estimator_name : str, default=None
        Name in the legend.
    pos_label : int, float, bool or str, default=None
        Label of the positive class.
    multiclass : {"confidence"}, default=None
        Says that the diagram shows the top class's probability against its being
        right, as it does for three or more classes.

    Attributes
    ----------
    line_ : matplotlib Artist
        The reliability curve, or the points of the bins.
    ref_line_ : matplotlib Artist or None
        The diagonal of perfect calibration, None where it was there or not asked for.
    density_ : matplotlib Artist or None
        The strip of the forecasts' density.
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure with the axes.

    See Also
    --------
    skcal.smooth_ece : The error that a smooth diagram shows.
    skcal.binned_ece : The error that a binned diagram shows.

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
        density_at=None,
        density=None,
        calibration_error=None,
        estimator_name=None,
        pos_label=None,
        multiclass=None,
    ):
        self.prob_true = prob_true
        self.prob_pred = prob_pred
        self.y_prob = y_prob
        self.kind = kind
        self.density_at = density_at
        self.density = density
        self.calibration_error = calibration_error
        self.estimator_name = estimator_name
        self.pos_label = pos_label
        self.multiclass = multiclass

    def plot(self, ax=None, *, name=None, ref_line=True, curve_kwargs=None, **kwargs):
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        name : str, default=None
            Name in the legend; None takes `estimator_name`.
        ref_line : bool, default=True
            Draw the diagonal of perfect calibration, once per axes.
        curve_kwargs : dict, default=None
            Keyword arguments of the curve's :meth:`matplotlib.axes.Axes.plot`.
        **kwargs : dict
            The same, one by one.

        Returns
        -------
        display : ReliabilityDisplay
            Itself.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        check_option("kind", self.kind, KINDS)
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        self.ax_, self.figure_ = ax, ax.figure
        self.ref_line_ = _draw_diagonal(ax) if ref_line else None

        style = {} if self.kind == "smooth" else {"marker": "s", "markersize": 5}
        label = self._label(self.estimator_name if name is None else name)
        if label is not None:
            style["label"] = label
        style.update(_normalised(curve_kwargs or {}), **_normalised(kwargs))
        points = self.prob_pred, self.prob_true
        if self.kind == "smooth":
            points = _broken_at_gaps(*points)
        (self.line_,) = ax.plot(*points, **style)
        self.density_ = self._draw_density(ax)

        event = "" if self.pos_label is None else f" (positive class: {self.pos_label})"
        if self.multiclass == "confidence":
            ax.set(xlabel="Confidence", ylabel="Observed accuracy")
        else:
            ax.set(
                xlabel=f"Predicted probability{event}",
                ylabel=f"Observed frequency{event}",
            )
        ax.set_aspect("equal")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="best")
        return self

    def _label(self, name):
        if self.calibration_error is None:
            return name
        measure = "smECE" if self.kind == "smooth" else "ECE"
        error = f"{measure} = {self.calibration_error:.3f}"
        return error if name is None else f"{name} ({error})"

    def _draw_density(self, ax):
        if self.density is None:
            return None
        height = (_STRIP - 0.02) * self.density / self.density.max()
        base = np.full_like(height, -_STRIP)
        step = "mid" if self.kind == "binned" else None
        color = self.line_.get_color()
        ax.set(xlim=(-0.02, 1.02), ylim=(-_STRIP, 1.02))
        ax.set(xticks=np.linspace(0, 1, 6), yticks=np.linspace(0, 1, 6))
        return ax.fill_between(
            self.density_at,
            base,
            base + height,
            step=step,
            color=color,
            alpha=0.35,
            linewidth=0,
        )

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
        name=None,
        ax=None,
        ref_line=True,
        curve_kwargs=None,
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
        kind : {"smooth", "binned"}, default="smooth"
            Smoothed curve at the bandwidth of smECE, or bins.
        n_bins : int, default=10
            Number of bins of a binned diagram.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of about equal numbers of rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            Label of the positive class; by default ``estimator.classes_[1]``.
        name : str, default=None
            Name in the legend; by default the estimator's class name.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        ref_line : bool, default=True
            Draw the diagonal of perfect calibration.
        curve_kwargs : dict, default=None
            Keyword arguments of the curve's :meth:`matplotlib.axes.Axes.plot`.
        **kwargs : dict
            The same, one by one.

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
        return cls.from_predictions(
            y,
            y_proba,
            kind=kind,
            n_bins=n_bins,
            strategy=strategy,
            sample_weight=sample_weight,
            labels=estimator.classes_,
            pos_label=pos_label,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            ref_line=ref_line,
            curve_kwargs=curve_kwargs,
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
        name=None,
        ax=None,
        ref_line=True,
        curve_kwargs=None,
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
        kind : {"smooth", "binned"}, default="smooth"
            Smoothed curve at the bandwidth of smECE, or bins.
        n_bins : int, default=10
            Number of bins of a binned diagram.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of about equal numbers of rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        pos_label : int, float, bool or str, default=None
            Label of the positive class, see :func:`skcal.smooth_ece`.
        labels : array-like of shape (n_classes,), default=None
            All labels in sorted order. Give them where `y_true` may lack a class.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        ref_line : bool, default=True
            Draw the diagonal of perfect calibration.
        curve_kwargs : dict, default=None
            Keyword arguments of the curve's :meth:`matplotlib.axes.Axes.plot`.
        **kwargs : dict
            The same, one by one.

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
        check_option("kind", kind, KINDS)
        check_option("strategy", strategy, STRATEGIES)
        predictions = check_predictions(
            y_true,
            y_prob,
            sample_weight=sample_weight,
            pos_label=pos_label,
            labels=labels,
        )
        (problem,) = predictions.binary_problems("confidence")
        n_bins = number_of_bins(n_bins, problem)
        if kind == "smooth":
            curve, error = smooth_curve(problem)
        else:
            error = binned_ece_of(problem, n_bins, strategy)
            curve = binned_curve(problem, n_bins, strategy)
        display = cls(
            prob_true=curve.prob_true,
            prob_pred=curve.prob_pred,
            y_prob=problem.forecast,
            kind=kind,
            density_at=curve.density_at,
            density=curve.density,
            calibration_error=error,
            estimator_name=name,
            pos_label=predictions.pos_label,
            multiclass=None if predictions.is_binary else "confidence",
        )
        return display.plot(
            ax=ax, ref_line=ref_line, curve_kwargs=curve_kwargs, **kwargs
        )


def _draw_diagonal(ax):
    label = "Perfectly calibrated"
    if label in ax.get_legend_handles_labels()[1]:
        return None
    (line,) = ax.plot([0, 1], [0, 1], linestyle=":", color="0.5", label=label)
    return line


def _broken_at_gaps(x, y):
    """Points of a line with NaN in gaps, where nothing was observed to draw."""
    step = np.diff(x)
    gaps = np.flatnonzero(step > 10.0 * np.median(step)) + 1 if step.size else []
    return np.insert(x, gaps, np.nan), np.insert(y, gaps, np.nan)


def _normalised(kwargs):
    """Keyword arguments of a line with aliases such as ``c`` spelled out."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return normalize_kwargs(kwargs, Line2D)
