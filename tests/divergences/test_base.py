"""What a divergence of one's own must fulfil."""

import numpy as np
import pytest

from skcal.divergences import Divergence
from tests.divergences.test_divergences import draw, every_width


class Half(Divergence):
    """Half the squared distance, with what a test wants to be wrong."""

    def __init__(self, *, value=None, gradient=None):
        self.wrong = {"value": value, "gradient": gradient}

    def value(self, forecast, proba):
        right = 0.5 * ((proba - forecast) ** 2).sum(axis=1)
        return self.wrong["value"](right) if self.wrong["value"] else right

    def gradient(self, forecast, proba):
        right = proba - forecast
        return self.wrong["gradient"](right) if self.wrong["gradient"] else right


@every_width
def test_a_right_one_passes(n_columns):
    f, z, _ = draw(5, 50, n_columns)
    Half().check(f, z, finite_differences=True)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"value": lambda v: v + 0.1}, "be 0 at the forecast itself"),
        ({"value": np.negative}, r"not be negative.* it gave -0\."),
        ({"value": lambda v: v[:, np.newaxis]}, r"shape \(50,\). Got shape \(50, 1\)"),
        ({"value": lambda v: v * np.nan}, "value must be finite"),
        ({"value": np.sqrt}, "tangents"),  # value and gradient of two divergences
        ({"gradient": np.negative}, "tangents"),
        ({"gradient": lambda g: g[:, 0]}, r"gradient must give an array of shape"),
        ({"gradient": lambda g: g / 0.0}, "gradient must be finite"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_no_divergence(wrong, message):
    f, z, _ = draw(6, 50, 3)
    with pytest.raises(ValueError, match=message):
        Half(**wrong).check(f, z)


def test_a_gradient_that_is_too_steep_shows_in_finite_differences_only():
    f, z, _ = draw(7, 50, 3)
    steep = Half(gradient=lambda g: 1.5 * g)
    steep.check(f, z)
    with pytest.raises(ValueError, match="is not the slope of its value"):
        steep.check(f, z, finite_differences=True)
