"""Sentences on what the numbers say, as cautious as they are."""

from scipy.special import ndtri

from skcal.report._rows import LEVEL


def summary(event):
    """Whether forecasts are miscalibrated, in which direction, and by how much."""
    value = event.error.value["l1"]
    spread = event.error.standard_error["l1"]
    # Either of two tests may find something, at half the level each.
    normal = float(ndtri(1.0 - 0.5 * LEVEL))
    by_test = event.test is not None and event.test.pvalue < 0.5 * LEVEL
    # Chance of either sign looks like an error to V-ECE.
    by_bound = value > float(ndtri(1.0 - 0.25 * LEVEL)) * spread
    evidence = "" if event.test is None else f" ({shown_pvalue(event.test.pvalue)})"
    if by_bound and not by_test:
        bound = value - normal * spread
        evidence = f" (the L1 error is above {bound:.3f}, by V-ECE)"
    if not (by_test or by_bound):
        n_samples = event.problem.forecast.shape[0]
        rows = "this row" if n_samples == 1 else f"these {n_samples:,} rows"
        said = [
            f"Not shown to be miscalibrated{evidence}. An smECE of up to "
            f"{event.interval['high']:.3f} is not ruled out by {rows}."
        ]
        return " ".join(said + _caveats(event))
    said = [f"Miscalibrated{evidence}.", _direction(event, normal)]
    forecast, observed, spread = event.means
    excess = abs(forecast - observed)
    if event.is_binary and excess > normal * spread:
        verb = "exceed" if forecast > observed else "fall short of"
        low, high = excess - normal * spread, excess + normal * spread
        said.append(
            f"Predicted probabilities {verb} the observed frequency by "
            f"{excess:.3f} on average (95 % interval {low:.3f} to {high:.3f})."
        )
    return " ".join(said + _caveats(event))


def _caveats(event):
    """Resampling equal outcomes, or recalibrating by them, shows no uncertainty."""
    if 0.0 < event.means[1] < 1.0:
        return []
    what = "All outcomes are the same"
    if not event.is_binary:
        often = "always" if event.means[1] > 0.0 else "never"
        what = f"The top class is {often} right"
    return [f"{what}: the intervals are too short, and V-ECE may miss the error."]


def _direction(event, normal):
    over, under = event.error.over["l1"], event.error.under["l1"]
    is_over = over > normal * event.error.over_standard_error["l1"]
    is_under = under > normal * event.error.under_standard_error["l1"]
    if is_over and is_under:
        return (
            f"Over-confident in places, by {over:.3f} on average over all rows, "
            f"and under-confident in others, by {under:.3f}."
        )
    if not (is_over or is_under):
        return "Which way is not clear from these rows."
    if event.is_binary:
        how = "extreme" if is_over else "timid"
        what = f"forecasts are more {how} than the truth"
    else:
        what = f"top probabilities are too {'high' if is_over else 'low'}"
    name, size = ("Over", over) if is_over else ("Under", under)
    return f"{name}-confident: {what}, by about {size:.3f} on average."


def shown_pvalue(pvalue):
    return "p < 0.0001" if pvalue < 1e-4 else f"p = {pvalue:.3g}"
