"""Results of a cross-validation: checked, and the probabilities of held-out rows."""

from skcal._sklearn import _get_response_values, _num_samples, _safe_indexing


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


def held_out_proba(cv_results, X, pos_label):
    """Yield each fold's estimator, test rows, probabilities and positive label."""
    for estimator, rows in zip(
        cv_results["estimator"], cv_results["indices"]["test"], strict=True
    ):
        y_proba, positive = _get_response_values(
            estimator,
            _safe_indexing(X, rows),
            response_method="predict_proba",
            pos_label=pos_label,
        )
        yield estimator, rows, y_proba, positive
