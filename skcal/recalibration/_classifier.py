"""Classifier and recalibrator in one, with cross-validation."""

from numbers import Integral

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from skcal._sklearn import HasMethods, StrOptions, _fit_context
from skcal.recalibration._crossfit import (
    HeldOutFitter,
    apply_recalibrator,
    check_takes_weights,
)
from skcal.recalibration._fold_models import (
    DECISION,
    PROBA,
    delegate_features,
    encode_labels,
    fit_folds,
    response_method,
    routed_params,
    split_rows,
)
from skcal.recalibration._matrix import MatrixScaling
from skcal.recalibration._quadratic import QuadraticScaling


class RecalibratedClassifierCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Classifier whose probabilities are repaired by any recalibrator.

    :class:`~sklearn.calibration.CalibratedClassifierCV` for every recalibrator: the
    recalibrator learns from probabilities of rows that the classifier was not trained
    on. With ``ensemble=True`` each fold of `cv` gives a pair of a classifier, trained
    on the fold's training rows, and a recalibrator, trained on its test rows, and the
    pairs' probabilities are averaged. With ``ensemble=False`` one recalibrator learns
    from the test rows of all folds, and the classifier is trained on all rows.

    Read more in the :ref:`User Guide <recalibrated_classifier>`.

    Parameters
    ----------
    estimator : estimator instance, default=None
        Classifier with ``predict_proba`` or ``decision_function``, in this order of
        preference. A decision function is read as logits: the log odds of the second
        class, or one logit per class. None is ``LinearSVC(random_state=0)``, as in
        scikit-learn. One that is trained already is wrapped in a
        :class:`~sklearn.frozen.FrozenEstimator`; all rows then train the recalibrator,
        and they should be new to the classifier.
    recalibrator : object, default=None
        Anything with ``fit(proba, y)`` and ``predict_proba(proba)`` on probabilities of
        shape (n_samples, n_classes); it is cloned. Its parameters `labels` and `input`
        are set, where it has them, to all labels and the scale of the scores; one
        without `input` is given probabilities. None is :class:`QuadraticScaling` for
        two classes and :class:`MatrixScaling` for more: both correct slope and offset
        of the logits, as decision functions need and temperature scaling does not, with
        few enough (effective) parameters for the test rows of one fold.
    cv : int, cross-validation generator or iterable, default=None
        The folds. None is 5, and an integer a
        :class:`~sklearn.model_selection.StratifiedKFold` without shuffling. Folds may
        overlap or leave rows out, as :class:`~sklearn.model_selection.ShuffleSplit` and
        :class:`~sklearn.model_selection.TimeSeriesSplit` do. Not used with a
        :class:`~sklearn.frozen.FrozenEstimator` and ``ensemble=False``.
    ensemble : bool or "auto", default="auto"
        Whether to average a pair per fold. ``"auto"`` is False exactly for a
        :class:`~sklearn.frozen.FrozenEstimator`.
    n_jobs : int, default=None
        Number of classifiers that are trained in parallel. The result does not depend
        on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of the columns of ``predict_proba``.
    calibrated_classifiers_ : list of RecalibratedClassifier
        The pairs, one per fold or a single one with ``ensemble=False``. Each has the
        fitted `estimator` and `recalibrator`:
        ``calibrated_classifiers_[0].estimator.coef_``.
    n_features_in_ : int
        Number of features seen during `fit`, where the classifier has it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`, where the classifier has them.

    See Also
    --------
    ProbabilityTransformer : Out-of-fold probabilities as a step of a pipeline.
    sklearn.calibration.CalibratedClassifierCV : Three recalibrators.

    Notes
    -----
    Where a class is missing from the training rows of a fold, its classifier abstains
    on the class: in the average, the class has the mean probability of the pairs that
    know it. For the recalibrator, its probability is 1 / (n + k), with n the (weighted)
    number of training rows and k that of classes.

    A fold whose test rows are of one class only cannot teach a recalibrator. Its
    classifier is paired with a recalibrator that learnt from the test rows of all
    folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skcal.recalibration import BetaCalibration, RecalibratedClassifierCV
    >>> X, y = make_classification(n_samples=1000, n_redundant=10, random_state=0)
    >>> model = RecalibratedClassifierCV(GaussianNB(), recalibrator=BetaCalibration())
    >>> model.fit(X[:500], y[:500])
    RecalibratedClassifierCV(...)
    >>> len(model.calibrated_classifiers_)
    5

    A model that is trained already, and rows that are new to it:

    >>> from sklearn.frozen import FrozenEstimator
    >>> trained = GaussianNB().fit(X[:500], y[:500])
    >>> model = RecalibratedClassifierCV(FrozenEstimator(trained))
    >>> model.fit(X[500:], y[500:]).predict_proba(X[:1]).shape
    (1, 2)
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", PROBA]), HasMethods(["fit", DECISION]), None],
        "recalibrator": [HasMethods(["fit", PROBA]), None],
        "cv": ["cv_object"],
        "ensemble": ["boolean", StrOptions({"auto"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator=None,
        *,
        recalibrator=None,
        cv=None,
        ensemble="auto",
        n_jobs=None,
    ):
        self.estimator = estimator
        self.recalibrator = recalibrator
        self.cv = cv
        self.ensemble = ensemble
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit classifiers and recalibrators.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any form that the classifier takes.
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, for classifier and recalibrator alike; a weight of k
            counts as k repetitions of the row. With metadata routing the classifier
            gets them if it requests them, and the recalibrator always.
        **fit_params : dict
            `groups` for the splitter, and parameters of the classifier's ``fit``. With
            metadata routing, whatever they request.

        Returns
        -------
        self : object
            The fitted classifier.

        Raises
        ------
        ValueError
            If the input is invalid, or weights were given that the classifier or the
            recalibrator cannot take.
        """
        estimator = self._estimator()
        codes, self.classes_ = encode_labels(y, estimator)
        if self.classes_.shape[0] < 2:
            raise ValueError(
                "Recalibration needs at least two classes. y has one class: "
                f"{self.classes_.tolist()}."
            )
        X, codes, sample_weight = indexable(X, codes, sample_weight)
        y = self.classes_[codes]
        fit_params, split_params = self._routed(estimator, sample_weight, fit_params)
        splits, ensemble = self._splits(estimator, X, y, split_params)
        folds = fit_folds(
            estimator,
            X,
            y,
            splits,
            classes=self.classes_,
            method=response_method(estimator),
            fit_params=fit_params,
            n_jobs=self.n_jobs,
        )
        held_out = [
            (test, scores)
            for (_, test), (_, scores) in zip(splits, folds, strict=True)
            if test is not None
        ]
        fitter = HeldOutFitter(
            self._recalibrator(),
            classes=self.classes_,
            logits=response_method(estimator) == DECISION,
            y=y,
            weight=sample_weight,
        )
        learned = fitter.each(held_out) if ensemble else [fitter.all(held_out)]
        self.calibrated_classifiers_ = [
            RecalibratedClassifier(model, recalibrator, self.classes_)
            for (model, _), recalibrator in zip(
                folds[: len(learned)], learned, strict=True
            )
        ]
        delegate_features(self, folds[0][0].estimator)
        return self

    def predict_proba(self, X):
        """Repaired probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data, in any form that the classifier takes.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities; rows sum to one.
        """
        check_is_fitted(self)
        pairs = self.calibrated_classifiers_
        return _average([pair.predict_proba(X) for pair in pairs], pairs)

    def predict(self, X):
        """Label of the most probable class after repair.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data, in any form that the classifier takes.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted labels.
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def get_metadata_routing(self):
        """Metadata routing of this object.

        Returns
        -------
        routing : MetadataRouter
            Which parameters go to the classifier and which to the splitter.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(
            estimator=self._estimator(),
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )
        return router.add(
            splitter=self.cv,
            method_mapping=MethodMapping().add(caller="fit", callee="split"),
        )

    def _estimator(self):
        if self.estimator is not None:
            return self.estimator
        estimator = LinearSVC(random_state=0)
        if get_config()["enable_metadata_routing"]:
            estimator.set_fit_request(sample_weight=True)
        return estimator

    def _recalibrator(self):
        if self.recalibrator is not None:
            return self.recalibrator
        return QuadraticScaling() if self.classes_.shape[0] == 2 else MatrixScaling()

    def _splits(self, estimator, X, y, split_params):
        """Rows that each classifier is trained on and scores, and whether to average.

        None in place of rows means all for training and none for scoring.
        """
        frozen = isinstance(estimator, FrozenEstimator)
        if self.ensemble not in ("auto", False) or (
            self.ensemble == "auto" and not frozen
        ):
            return split_rows(self.cv, X, y, split_params), True
        if frozen:
            return [(None, np.arange(y.shape[0]))], False
        return [(None, None), *split_rows(self.cv, X, y, split_params)], False

    def _routed(self, estimator, sample_weight, fit_params):
        if sample_weight is None:
            return routed_params(self, "fit", fit_params)
        check_takes_weights(self._recalibrator())
        if not get_config()["enable_metadata_routing"]:
            if any(name.endswith("__sample_weight") for name in fit_params):
                # The steps of a pipeline have got their weights one by one.
                return routed_params(self, "fit", fit_params)
            check_takes_weights(
                estimator,
                "Weighting the recalibration alone would repair other probabilities "
                "than the classifier gives. To do it all the same, enable metadata "
                "routing, with which the classifier gets what it requests.",
            )
        return routed_params(
            self, "fit", {"sample_weight": sample_weight, **fit_params}
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._estimator())
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


class RecalibratedClassifier:
    """A fitted classifier with its fitted recalibrator.

    Attributes
    ----------
    estimator : estimator instance
        The fitted classifier.
    recalibrator : object
        The fitted recalibrator.
    classes : ndarray of shape (n_classes,)
        All labels.
    known : ndarray of shape (n_classes,)
        Whether the classifier was trained with the class.
    """

    def __init__(self, model, recalibrator, classes):
        self.estimator = model.estimator
        self.recalibrator = recalibrator
        self.classes = classes
        self.known = model.known
        self._model = model

    def predict_proba(self, X):
        """Repaired probabilities, of shape (n_samples, n_classes)."""
        logits = self._model.method == DECISION
        scores = self._model.scores(X)
        return apply_recalibrator(self.recalibrator, self.classes, logits, scores)


def _average(probas, pairs):
    """Mean over pairs; a pair abstains on classes that it was not trained with."""
    known = np.array([pair.known for pair in pairs])
    known[:, ~known.any(axis=0)] = True
    if known.all():
        return np.mean(probas, axis=0)
    probas = np.array(probas)
    votes = known.sum(axis=0)
    shared = np.einsum("mk,mnk->nk", known, probas) / votes
    for proba, own in zip(probas, known, strict=True):
        rest = np.maximum(1.0 - shared[:, ~own].sum(axis=1), 0.0)
        total = np.maximum(proba[:, own].sum(axis=1), np.finfo(proba.dtype).tiny)
        proba[:, own] *= (rest / total)[:, np.newaxis]
        proba[:, ~own] = shared[:, ~own]
    mean = probas.mean(axis=0)
    return mean / mean.sum(axis=1, keepdims=True)
