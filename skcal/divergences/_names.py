"""The divergences by name."""

from skcal.divergences._base import Divergence
from skcal.divergences._losses import KullbackLeibler, SquaredEuclidean
from skcal.divergences._norms import L1, L2, LInf, Lp

_BY_NAME = {
    "l1": L1,
    "l2": L2,
    "linf": LInf,
    "brier": SquaredEuclidean,
    "kl": KullbackLeibler,
}


def check_divergence(divergence):
    """The divergence that a name or an object stands for."""
    if isinstance(divergence, Divergence):
        return divergence
    if isinstance(divergence, type) and issubclass(divergence, Divergence):
        name = divergence.__name__
        raise ValueError(f"{name} is a class. Pass an instance of it: {name}().")
    if not isinstance(divergence, str) or divergence not in _BY_NAME:
        raise ValueError(
            f"divergence must be one of {list(_BY_NAME)} or a Divergence object. Got "
            f"{divergence!r} instead."
        )
    return _BY_NAME[divergence]()


def is_own(divergence):
    """Whether it is one of these, which tests have checked, and nobody else's."""
    return type(divergence) in (Lp, *_BY_NAME.values())
