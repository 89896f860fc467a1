"""Checked input, reduced to binary problems: the frame of every scalar measure."""

from skcal._predictions import check_predictions


def mean_over_problems(measure, multiclass, y_true, y_proba, **checks):
    """Mean of a measure of one `BinaryProblem` over those of the predictions."""
    predictions = check_predictions(y_true, y_proba, **checks)
    problems = predictions.binary_problems(multiclass)
    return float(sum(map(measure, problems)) / len(problems))
