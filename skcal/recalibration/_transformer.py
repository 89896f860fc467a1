"""A classifier as a step that gives out-of-fold probabilities."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from skcal._sklearn import (
    HasMethods,
    StrOptions,
    _check_feature_names_in,
    _fit_context,
)
from skcal.recalibration._fold_models import (
    DECISION,
    PROBA,
    FoldModel,
    as_proba,
    delegate_features,
    encode_labels,
    fit_folds,
    response_method,
    routed_params,
    scores_are_logits,
    split_rows,
)


class ProbabilityTransformer(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """A classifier as a transformer that gives out-of-fold probabilities.

    ``fit_transform`` returns, for each row, the probabilities of a copy of the
    classifier that was trained without the row's fold, and ``transform`` those of the
    classifier trained on all rows. A recalibrator that follows in a pipeline so learns
    from probabilities as the classifier gives them to new rows, not from its
    over-confident ones on its own training rows.

    .. note::
        ``fit(X, y).transform(X)`` does not equal ``fit_transform(X, y)``: the latter
        is cross-fitted.

    Read more in the :ref:`User Guide <cross_fitting>`.

    Parameters
    ----------
    estimator : estimator instance
        Classifier with ``predict_proba`` or ``decision_function``. One that is trained
        already is wrapped in a :class:`~sklearn.frozen.FrozenEstimator`; then
        ``fit_transform`` gives its probabilities as they are, and the rows should be
        new to it.
    cv : int, cross-validation generator or iterable, default=5
        The folds: their test sets must hold each row once. An integer or None (5) is
        a :class:`~sklearn.model_selection.StratifiedKFold` without shuffling, as in
        :func:`~sklearn.model_selection.cross_val_predict`: the rows of features have no
        canonical order, so the folds follow the rows as given, and nothing is random.
        Pass a shuffled splitter with a seed where neighbouring rows are alike.
    method : {"auto", "predict_proba", "decision_function"}, default="auto"
        What is returned. ``"auto"`` gives probabilities, with the decision function
        read as logits where the classifier has no ``predict_proba``;
        ``"decision_function"`` gives the decision function itself, for recalibrators
        with ``input="logits"``.
    n_jobs : int, default=None
        Number of fits that run in parallel. The result does not depend on it.

    Attributes
    ----------
    estimator_ : estimator instance
        The classifier fitted on all rows, which :meth:`transform` uses.
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of the columns.
    n_features_in_ : int
        Number of features seen during `fit`, where `estimator_` has it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during `fit`, where `estimator_` has them.

    See Also
    --------
    RecalibratedClassifierCV : Classifier and recalibrator in one, with folds of its
        own.
    sklearn.model_selection.cross_val_predict : Out-of-fold predictions.

    Notes
    -----
    A classifier whose training folds lack a class says nothing about it. Its rows
    get the probability 1 / (n + k) for such a class, with n the (weighted) number of
    training rows and k that of classes, by Laplace's rule of succession.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from skcal.recalibration import ProbabilityTransformer
    >>> X, y = make_classification(random_state=0)
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=0)
    >>> transformer = ProbabilityTransformer(forest, cv=5)
    >>> transformer.fit_transform(X, y).shape
    (100, 2)
    >>> transformer.get_feature_names_out()
    array(['probabilitytransformer_0', 'probabilitytransformer_1'], dtype=object)
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", PROBA]), HasMethods(["fit", DECISION])],
        "cv": ["cv_object"],
        "method": [StrOptions({"auto", PROBA, DECISION})],
        "n_jobs": [Integral, None],
    }

    def __init__(self, estimator, *, cv=5, method="auto", n_jobs=None):
        self.estimator = estimator
        self.cv = cv
        self.method = method
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, **params):
        """Fit the classifier on all rows.

        .. note::
            ``fit(X, y).transform(X)`` does not equal ``fit_transform(X, y)``: the
            latter is cross-fitted. Use it for the rows that a next step is trained on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any form that the classifier takes.
        y : array-like of shape (n_samples,)
            True labels.
        **params : dict
            Parameters of the classifier's ``fit``, such as `sample_weight`.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        X, y, params = self._check_fit(X, y, params)
        fit_params, _ = routed_params(self, "fit", params)
        self._fit_folds(X, y, [(None, None)], fit_params)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X, y, **params):
        """Fit the classifier and give out-of-fold probabilities.

        .. note::
            ``fit(X, y).transform(X)`` does not equal ``fit_transform(X, y)``: the
            latter is cross-fitted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any form that the classifier takes.
        y : array-like of shape (n_samples,)
            True labels.
        **params : dict
            `groups` for the splitter, and parameters of the classifier's ``fit``, such
            as `sample_weight`. With metadata routing, whatever they request.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples, 1)
            Probabilities of each row by a classifier that was not trained on it. One
            column for the decision function of two classes.
        """
        X, y, params = self._check_fit(X, y, params)
        fit_params, split_params = routed_params(self, "fit_transform", params)
        if isinstance(self.estimator, FrozenEstimator):
            self._fit_folds(X, y, [(None, None)], fit_params)
            return self._shown(self._model().scores(X))
        splits = split_rows(self.cv, X, y, split_params)
        _check_partition(splits, y.shape[0])
        folds = self._fit_folds(X, y, [(None, None), *splits], fit_params)[1:]
        first = folds[0][1]
        scores = np.empty((y.shape[0], first.shape[1]), first.dtype)
        for (_, test), (_, held_out) in zip(splits, folds, strict=True):
            scores[test] = held_out
        return self._shown(scores)

    def transform(self, X):
        """Probabilities by the classifier that was fitted on all rows.

        .. note::
            ``fit(X, y).transform(X)`` does not equal ``fit_transform(X, y)``: the
            latter is cross-fitted. Rows that the classifier was trained on get
            over-confident probabilities here.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data, in any form that the classifier takes.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples, 1)
            Probabilities. One column for the decision function of two classes.
        """
        check_is_fitted(self)
        return self._shown(self._model().scores(X))

    def get_feature_names_out(self, input_features=None):
        """Names of the output columns: the class's name in lower case, and the label.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Not used, but checked against the names seen in :meth:`fit`.

        Returns
        -------
        names : ndarray of str objects of shape (n_classes,) or (1,)
            Output column names.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        labels = self.classes_
        if self.method == DECISION and labels.shape[0] == 2:
            labels = labels[1:]
        prefix = type(self).__name__.lower()
        return np.asarray([f"{prefix}_{label}" for label in labels], dtype=object)

    def get_metadata_routing(self):
        """Metadata routing of this object.

        Returns
        -------
        routing : MetadataRouter
            Which parameters go to the classifier and which to the splitter.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_fit.add(caller="fit_transform", callee="fit")
        to_split = MethodMapping().add(caller="fit_transform", callee="split")
        router = MetadataRouter(owner=self)
        router.add(estimator=self.estimator, method_mapping=to_fit)
        return router.add(splitter=self.cv, method_mapping=to_split)

    def _check_fit(self, X, y, params):
        codes, self.classes_ = encode_labels(y, self.estimator)
        X, codes = indexable(X, codes)
        return X, self.classes_[codes], params

    def _fit_folds(self, X, y, splits, fit_params):
        folds = fit_folds(
            self.estimator,
            X,
            y,
            splits,
            classes=self.classes_,
            method=response_method(self.estimator, self.method),
            fit_params=fit_params,
            n_jobs=self.n_jobs,
        )
        self.estimator_ = folds[0][0].estimator
        delegate_features(self, self.estimator_)
        return folds

    def _model(self):
        method = response_method(self.estimator_, self.method)
        return FoldModel(self.estimator_, self.classes_, method)

    def _shown(self, scores):
        if self.method == "auto" and scores_are_logits(self.estimator_):
            return as_proba(scores)
        return scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.target_tags.required = True
        # What comes out has the dtype that the classifier gives.
        tags.transformer_tags.preserves_dtype = []
        return tags


def _check_partition(splits, n_samples):
    counts = np.zeros(n_samples, dtype=np.intp)
    for _, test in splits:
        counts[test] += 1
    if np.any(counts != 1):
        raise ValueError(
            "The test sets of cv must hold each row exactly once: "
            f"{int(np.sum(counts == 0))} rows are in none and "
            f"{int(np.sum(counts > 1))} in several. Pass a splitter such as KFold, "
            "StratifiedKFold or GroupKFold."
        )
