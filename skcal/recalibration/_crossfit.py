"""Cross-fitting: scores of rows by models that were not trained on them."""

from inspect import Parameter, signature
from numbers import Integral

import numpy as np
from scipy.special import expit, logsumexp, softmax
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import check_random_state, get_tags, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skcal._predictions import check_no_missing_labels
from skcal._sklearn import (
    HasMethods,
    StrOptions,
    _check_feature_names_in,
    _check_method_params,
    _fit_context,
    _safe_split,
)

PROBA, DECISION = "predict_proba", "decision_function"


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
        fit_params, _ = routed(self, "fit", params)
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
        fit_params, split_params = routed(self, "fit_transform", params)
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
        codes, self.classes_ = encode(y, self.estimator)
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


# Classifiers --------------------------------------------------------------------------


class FoldModel:
    """A fitted classifier with scores of all classes, whatever it was trained on.

    Parameters
    ----------
    estimator : estimator instance
        Fitted classifier.
    classes : ndarray of shape (n_classes,)
        All labels.
    method : {"predict_proba", "decision_function"}
        Where scores come from.
    n_trained : float, default=1.0
        (Weighted) number of rows that it was trained on.

    Attributes
    ----------
    positions : ndarray of shape (n_known,)
        Index of each of the classifier's own classes among all.
    known : ndarray of shape (n_classes,)
        Whether the classifier knows the class.
    """

    def __init__(self, estimator, classes, method, n_trained=1.0):
        self.estimator = estimator
        self.method = method
        self.n_classes = len(classes)
        self.positions = _positions(estimator, classes)
        self.known = np.zeros(self.n_classes, dtype=bool)
        self.known[self.positions] = True
        self.share = 1.0 / (n_trained + self.n_classes)

    def scores(self, X):
        """Probabilities or logits.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples, 1)
            One column for the logits of two classes.
        """
        scores = np.asarray(getattr(self.estimator, self.method)(X))
        if scores.dtype.kind != "f":
            scores = scores.astype(np.float64)
        n_known = self.positions.shape[0]
        two_logits = n_known <= 2 and self.method == DECISION
        expected = 1 if two_logits else n_known
        if scores.ndim == 1 and two_logits:
            scores = scores[:, np.newaxis]
        if scores.ndim != 2 or scores.shape[1] != expected:
            raise ValueError(
                f"{type(self.estimator).__name__}.{self.method} gave scores of shape "
                f"{scores.shape}; one column for each of {n_known} classes is needed."
            )
        if self.method == PROBA:
            return self._all_proba(scores)
        return self._all_logits(scores)

    def _all_proba(self, scores):
        proba = np.full((scores.shape[0], self.n_classes), self.share, scores.dtype)
        n_unknown = self.n_classes - self.positions.shape[0]
        proba[:, self.positions] = scores * (1.0 - n_unknown * self.share)
        return proba

    def _all_logits(self, scores):
        if self.known.all():
            if self.n_classes == 2:
                return scores if self.positions[0] == 0 else -scores
            logits = np.empty_like(scores)
            logits[:, self.positions] = scores
            return logits
        if self.positions.shape[0] == 1:
            scores = np.zeros_like(scores)
        elif self.positions.shape[0] == 2:
            scores = np.hstack([-0.5 * scores, 0.5 * scores])
        n_unknown = self.n_classes - self.positions.shape[0]
        log_share = np.log(self.share / (1.0 - n_unknown * self.share))
        logits = np.empty((scores.shape[0], self.n_classes), scores.dtype)
        logits[:] = logsumexp(scores, axis=1, keepdims=True) + log_share
        logits[:, self.positions] = scores
        return logits[:, 1:] - logits[:, :1] if self.n_classes == 2 else logits


def _positions(estimator, classes):
    """Index of the estimator's own classes among all."""
    own = getattr(estimator, "classes_", classes)
    index = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
    own = np.asarray(own).tolist()
    unknown = [label for label in own if label not in index]
    if unknown:
        raise ValueError(
            f"{type(estimator).__name__} has the classes {own} and y only "
            f"{list(index)}. Wrap a classifier that is fitted already in "
            "sklearn.frozen.FrozenEstimator."
        )
    return np.array([index[label] for label in own], dtype=np.intp)


def response_method(estimator, method="auto"):
    """The method that scores come from; ``"auto"`` prefers probabilities."""
    if method != "auto":
        getattr(estimator, method)
        return method
    return PROBA if hasattr(estimator, PROBA) else DECISION


def scores_are_logits(estimator, method="auto"):
    """Whether scores are logits and not probabilities."""
    return response_method(estimator, method) == DECISION


def as_proba(logits):
    """Probabilities of logits: a column per class, for one column of logits as well."""
    if logits.shape[1] == 1:
        return np.hstack([expit(-logits), expit(logits)])
    return softmax(logits, axis=1)


def encode(y, estimator):
    """Codes of the labels, and the labels: those of a frozen estimator, else of `y`."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    check_no_missing_labels(y)
    check_classification_targets(y)
    encoder = LabelEncoder().fit(y)
    if encoder.classes_.shape[0] == 0:
        raise ValueError(
            "y is empty: found array with 0 sample(s) while a minimum of 1 is required."
        )
    codes = encoder.transform(y)
    classes = encoder.classes_
    if not isinstance(estimator, FrozenEstimator) or not hasattr(estimator, "classes_"):
        return codes, classes
    index = {label: k for k, label in enumerate(estimator.classes_.tolist())}
    unknown = [label for label in classes.tolist() if label not in index]
    if unknown:
        raise ValueError(
            f"y contains labels that the fitted classifier does not know: {unknown}. "
            f"It knows {list(index)}."
        )
    positions = np.array([index[label] for label in classes.tolist()], dtype=np.intp)
    return positions[codes], estimator.classes_


def routed(router, method, params):
    """Parameters for the classifier's ``fit`` and for the splitter."""
    params = {name: value for name, value in params.items() if value is not None}
    if get_config()["enable_metadata_routing"]:
        routing = process_routing(router, method, **params)
        return routing["estimator"]["fit"], routing["splitter"]["split"]
    groups = params.pop("groups", None)
    return params, {} if groups is None else {"groups": groups}


def split_rows(cv, X, y, split_params):
    """Training and test rows of each fold, as indices."""
    cv = check_cv(cv, y, classifier=True)
    splits = [
        tuple(
            np.flatnonzero(rows) if np.asarray(rows).dtype == bool else np.asarray(rows)
            for rows in fold
        )
        for fold in cv.split(X, y, **split_params)
    ]
    if not splits:
        raise ValueError("cv gives no folds. One at least is needed.")
    return splits


def fit_folds(estimator, X, y, splits, *, classes, method, fit_params, n_jobs=None):
    """Fit a copy of a classifier on each fold's training rows and score the others.

    Parameters
    ----------
    estimator : estimator instance
        The classifier; it is cloned.
    X : array-like of shape (n_samples, n_features)
        Data in any form that can be indexed by row.
    y : ndarray of shape (n_samples,)
        Labels.
    splits : list of (train, test)
        Row indices. None for `train` trains on all rows, and `test` is all rows then,
        or None to score none.
    classes : ndarray of shape (n_classes,)
        All labels.
    method : {"predict_proba", "decision_function"}
        Where scores come from.
    fit_params : dict
        Parameters of ``fit``; those with a value per row are indexed.
    n_jobs : int, default=None
        Number of fits that run in parallel.

    Returns
    -------
    folds : list of (FoldModel, ndarray or None)
        Each fold's model, and its scores of the fold's test rows.
    """
    parallel = Parallel(n_jobs=n_jobs)
    return parallel(
        delayed(_fit_fold)(
            clone(estimator), X, y, train, test, classes, method, fit_params
        )
        for train, test in splits
    )


def _fit_fold(estimator, X, y, train, test, classes, method, fit_params):
    rows, params = X, fit_params
    if train is not None:
        params = _check_method_params(X, fit_params, indices=train)
        rows, y = _safe_split(estimator, X, y, train)
    estimator.fit(rows, y, **params)
    n_trained = len(y)
    if params.get("sample_weight") is not None:
        n_trained = np.sum(np.asarray(params["sample_weight"], dtype=np.float64))
    model = FoldModel(estimator, classes, method, n_trained)
    if test is None:
        return model, None
    if train is not None:
        X, _ = _safe_split(estimator, X, None, test, train)
    return model, model.scores(X)


def check_takes_weights(learner, remedy="Fit it without sample_weight."):
    """Refuse weights that a classifier or recalibrator would not get."""
    parameters = signature(learner.fit).parameters
    if "sample_weight" in parameters:
        return
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
        # Passed on, or refused with a message of its own, as a Pipeline does.
        return
    raise ValueError(
        f"{type(learner).__name__}.fit does not take sample_weight. {remedy}"
    )


def delegate_features(meta_estimator, estimator):
    """Give a meta-estimator what its fitted estimator knows of its features."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(meta_estimator, name, getattr(estimator, name))
        elif hasattr(meta_estimator, name):
            delattr(meta_estimator, name)


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


# Recalibrators ------------------------------------------------------------------------


def fit_recalibrator(recalibrator, classes, logits, scores, y, weight=None):
    """A fitted copy of a recalibrator that is told all labels and its input's scale.

    Parameters
    ----------
    recalibrator : object
        The recalibrator. Its parameters `labels` and `input` are set, where it has
        them; one without `input` is given probabilities.
    classes : ndarray of shape (n_classes,)
        All labels.
    logits : bool
        Whether the scores are logits.
    scores : ndarray of shape (n_samples, n_classes) or (n_samples, 1)
        Probabilities or logits.
    y : ndarray of shape (n_samples,)
        Labels.
    weight : ndarray of shape (n_samples,), default=None
        Weights.

    Returns
    -------
    recalibrator : object
    """
    if isinstance(recalibrator, type):
        raise ValueError(
            f"{recalibrator.__name__} is a class. Pass an instance of it: "
            f"{recalibrator.__name__}()."
        )
    recalibrator = clone(recalibrator, safe=False)
    settings = {}
    if _has_parameter(recalibrator, "labels"):
        settings["labels"] = classes
    if _has_parameter(recalibrator, "input"):
        settings["input"] = "logits" if logits else "proba"
    if settings:
        recalibrator.set_params(**settings)
    given = {}
    if weight is not None:
        check_takes_weights(recalibrator)
        given = {"sample_weight": weight}
    return recalibrator.fit(_as_it_takes(recalibrator, logits, scores), y, **given)


def apply_recalibrator(recalibrator, classes, logits, scores):
    """Probabilities of all classes by what `fit_recalibrator` returned.

    A class that the recalibrator has not seen keeps its share.
    """
    repaired = np.asarray(
        recalibrator.predict_proba(_as_it_takes(recalibrator, logits, scores))
    )
    seen = classes
    if repaired.shape[1:] != classes.shape and hasattr(recalibrator, "classes_"):
        seen = recalibrator.classes_
    if repaired.shape != (scores.shape[0], len(seen)):
        raise ValueError(
            f"{type(recalibrator).__name__}.predict_proba gave an array of shape "
            f"{repaired.shape}; one column for each of the classes {classes.tolist()} "
            "is needed."
        )
    if len(seen) == len(classes):
        return repaired
    proba = as_proba(scores) if logits else scores.copy()
    unseen = ~np.isin(classes, seen)
    proba[:, ~unseen] = repaired * (1.0 - proba[:, unseen].sum(axis=1))[:, np.newaxis]
    return proba


def _as_it_takes(recalibrator, logits, scores):
    if logits and not _has_parameter(recalibrator, "input"):
        return as_proba(scores)
    return scores


def _has_parameter(recalibrator, name):
    if not hasattr(recalibrator, "get_params"):
        return False
    return name in recalibrator.get_params(deep=False)


def canonical_folds(scores, codes, weight, *, n_splits, random_state):
    """Shuffled folds that are the same for any order of the rows.

    The rows are put in an order that depends on their values only, then shuffled and
    dealt. They are not stratified: folds that are balanced by the outcome make the
    rows of a fold depend on each other, which shows as a bias in what is measured on
    them.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_columns)
        Scores.
    codes : ndarray of shape (n_samples,)
        Index of the true class.
    weight : ndarray of shape (n_samples,)
        Weights.
    n_splits : int
        Number of folds; at most one per row is made.
    random_state : int, RandomState instance or None
        Seed of the shuffling.

    Returns
    -------
    folds : list of (train, test)
        Row indices, in canonical order.
    """
    order = row_order(scores, codes, weight)
    n_samples = order.shape[0]
    n_splits = min(n_splits, n_samples)
    fold = np.empty(n_samples, dtype=np.intp)
    shuffled = check_random_state(random_state).permutation(n_samples)
    fold[shuffled] = np.arange(n_samples) % n_splits
    return [(order[fold != j], order[fold == j]) for j in range(n_splits)]


def row_order(scores, codes, weight):
    """Order of the rows by their values: the same for any shuffling.

    A constant added to a row's scores changes nothing, as it does for logits.
    """
    centred = scores
    if scores.shape[1] > 1:
        centred = scores - scores.mean(axis=1, keepdims=True)
    order = np.argsort(centred[:, -1], kind="stable")
    lead = centred[order, -1]
    if np.all(lead[1:] > lead[:-1]):
        return order
    return np.lexsort((*scores.T, weight, codes, *centred.T))
