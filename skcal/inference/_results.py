"""What the tests return: frozen results that print in a readable way."""

from dataclasses import dataclass, fields

import numpy as np


class Readable:
    """A representation with short numbers, without what is None or an array."""

    def __repr__(self):
        shown = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None or isinstance(value, np.ndarray):
                continue
            text = f"{value:.6g}" if isinstance(value, float) else repr(value)
            shown.append(f"{field.name}={text}")
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, repr=False)
class RankECETestResult(Readable):
    """Result of `rank_ece_test`.

    Attributes
    ----------
    statistic : float
        rankECE divided by its standard deviation under perfect calibration.
    pvalue : float
    method : str
        What gave the p-value: "asymptotic", "finite-sample" or "monte-carlo"; "mixed"
        where the classes differ.
    rank_ece : float
        The estimate itself.
    n_samples : int
    by_class : dict or None
        With ``multiclass="classwise"`` the result of each class, by label, with
        p-values adjusted by Holm's method.
    """

    statistic: float
    pvalue: float
    method: str
    rank_ece: float
    n_samples: int
    by_class: dict | None = None


@dataclass(frozen=True, repr=False)
class SKCETestResult(Readable):
    """Result of `skce_test`.

    Attributes
    ----------
    statistic : float
        The estimated squared kernel calibration error.
    pvalue : float
    method : str
        What gave the p-value: "monte-carlo", "multiplier" or "asymptotic".
    estimator : str
        "unbiased" or "linear".
    kernel : str
        "gaussian" or "laplacian".
    bandwidth : float
    n_samples : int
    """

    statistic: float
    pvalue: float
    method: str
    estimator: str
    kernel: str
    bandwidth: float
    n_samples: int
