"""What a measurement gives: estimates, their errors and a lower bound."""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtrit


@dataclass(frozen=True)
class VariationalECEResult:
    """Calibration error by recalibration.

    All fields from `value` to `fold_values` are dictionaries by the divergences' names,
    where a list of divergences was asked for.

    Attributes
    ----------
    value : float
        The variational estimate: the risk that held-out recalibration removes.
    plugin : float
        The mean divergence of the forecasts from the recalibrated probabilities.
    midpoint : float
        The mean of both.
    standard_error : float
        Standard error of `value`.
    over, under : float or None
        `value` with the errors of one direction only; they add up to the whole. None
        with three or more classes, unless ``multiclass="confidence"``.
    over_standard_error, under_standard_error : float or None
        Their standard errors.
    risk : float or None
        Mean loss of the forecasts, for divergences of a proper loss (Brier, log loss).
    refinement : float or None
        Mean loss of the recalibrated probabilities: ``risk - value``.
    has_kink : bool
        Whether the divergence is a norm or has a kink like one.
    fold_values : ndarray of shape (n_folds,)
        `value` by fold.
    fold_sizes : ndarray of shape (n_folds,)
        Number of rows of each fold.
    recalibrated_proba : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Recalibrated probabilities of the rows in the order they came, each by a
        recalibrator that was fitted without it: of the positive class, of the top
        class's being right, or of each class (one-vs-rest probabilities with
        ``multiclass="classwise"``, which need not sum to one). NaN for rows that `cv`
        never tests.
    is_lower_bound : bool
        Whether `value` is a lower bound in expectation: not with ``cv=None``.
    degrees_of_freedom : int
        Those of the standard errors: the number of rows that weigh something, or of
        groups, less that of folds.

    See Also
    --------
    VariationalECE : What returns this.

    Examples
    --------
    >>> from skcal import VariationalECE
    >>> from skcal.recalibration import TemperatureScaling
    >>> y_true, y_proba = [0, 1, 1, 0, 1, 0], [0.1, 0.8, 0.9, 0.3, 0.6, 0.5]
    >>> measure = VariationalECE(recalibrator=TemperatureScaling(), cv=2)
    >>> measure.evaluate(y_true, y_proba).fold_sizes
    array([3, 3])
    """

    value: float
    plugin: float
    midpoint: float
    standard_error: float
    over: float | None
    under: float | None
    over_standard_error: float | None
    under_standard_error: float | None
    risk: float | None
    refinement: float | None
    has_kink: bool = field(repr=False)
    fold_values: np.ndarray = field(repr=False)
    fold_sizes: np.ndarray = field(repr=False)
    recalibrated_proba: np.ndarray = field(repr=False)
    is_lower_bound: bool
    degrees_of_freedom: int

    def lower_bound(self, confidence_level=0.95):
        """Lower confidence bound of the true calibration error.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Probability, in (0, 1), that the true error is above the bound.

        Returns
        -------
        bound : float or dict
            ``value`` less so many standard errors, by Student's t distribution. A
            bound of zero or less says nothing. For norms it is above zero only where
            the value is more than twice as improbable: chance in either direction looks
            like an error.

        Raises
        ------
        ValueError
            If the estimate is in sample or the level is not in (0, 1).
        """
        if not self.is_lower_bound:
            raise ValueError(
                "There is no lower bound with cv=None: the recalibrator has seen the "
                "rows it is applied to. Pass a number of folds."
            )
        if not 0.0 < confidence_level < 1.0:
            raise ValueError(
                f"confidence_level must be in (0, 1). Got {confidence_level!r}."
            )
        if isinstance(self.value, dict):
            spread, has_kink = self.standard_error, self.has_kink
            return {
                name: self._bound(value, spread[name], has_kink[name], confidence_level)
                for name, value in self.value.items()
            }
        return self._bound(
            self.value, self.standard_error, self.has_kink, confidence_level
        )

    def _bound(self, value, spread, has_kink, level):
        freedom = max(1, self.degrees_of_freedom)
        bound = value - float(stdtrit(freedom, level)) * spread
        if has_kink and value <= float(stdtrit(freedom, 0.5 + 0.5 * level)) * spread:
            # Where there is no error, all folds find the side that chance has chosen,
            # and the value is the size of a deviation of either sign.
            return min(bound, 0.0)
        return bound
