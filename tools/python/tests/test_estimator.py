# tools/python/tests/test_estimator.py - the classifier of scikit-learn's kind: what it learns, what it forgets, and scikit-learn's own checks.
import copy
import pickle
import warnings

import numpy as np
import pytest

import unweave
from meaning import advised
from unweave import ForgettingClassifier


def test_it_fits_predicts_and_forgets(sample):
    model = ForgettingClassifier(hops=2).fit(sample.x, sample.y, graph=sample.edge_index, train=sample.train)
    nodes = np.flatnonzero(sample.test)
    assert model.score(nodes, sample.y[nodes]) > 0.5
    assert model.predict_proba(nodes).shape == (100, 3) and np.allclose(model.predict_proba(nodes).sum(1), 1)
    assert model.coef_.shape == (3, 12) and model.intercept_.shape == (3,) and model.n_features_in_ == 12
    z = model.store_.embeddings(nodes)
    z = z / np.maximum(1, np.linalg.norm(z, axis=1, keepdims=True))
    assert np.allclose(z @ model.coef_.T + model.intercept_, model.decision_function(nodes), atol=1e-6)
    outcome = model.forget(nodes=[3, 5], edges=list(map(tuple, model.store_.edges()[:2].tolist())), features=[9], purge=True)
    assert outcome.applied + outcome.rejected == 5 and outcome.certified
    x, y = sample.x.copy(), sample.y.copy()
    x[[3, 5, 9]], y[[3, 5, 9]] = 0, -1
    kept = model.store_.edges()
    anew = ForgettingClassifier(hops=2).fit(x, y, graph=kept, train=sample.train & (y >= 0))
    assert np.array_equal(anew.coef_, model.coef_) and np.array_equal(anew.intercept_, model.intercept_)
    assert np.array_equal(np.argmax(model.decision_function(nodes), 1), model.predict(nodes))


def test_rows_of_a_program(sample):
    program = {"rho": 1.0, "rows_of": "stack,open,labels", "scale_rows": "unit", "lift": 64}
    model = ForgettingClassifier(hops=2, **program).fit(sample.x, sample.y, graph=sample.edge_index, train=sample.train)
    width = 3 * 12 + 12 + 3 + 64
    assert model.coef_.shape == (3, width) and model.n_features_in_ == 12
    assert model.report_.rows == "stack,open,labels unit lift 64" and model.report_.certified
    nodes = np.flatnonzero(sample.test)
    rows = model.store_.rows(nodes)
    assert rows.shape == (100, width)
    rows = rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    assert np.allclose(rows @ model.coef_.T + model.intercept_, model.decision_function(nodes), atol=1e-6)
    assert model.score(nodes, sample.y[nodes]) > 0.5
    model.forget(nodes=[3, 5], features=[9], purge=True)
    x, y = sample.x.copy(), sample.y.copy()
    x[[3, 5, 9]], y[[3, 5, 9]] = 0, -1
    anew = ForgettingClassifier(hops=2, **program).fit(x, y, graph=model.store_.edges(), train=sample.train & (y >= 0))
    assert np.array_equal(anew.coef_, model.coef_) and np.array_equal(anew.store_.rows(), model.store_.rows())
    assert pickle.loads(pickle.dumps(model)).get_params()["lift"] == 64

    chosen = ForgettingClassifier(rows_of="auto").fit(sample.x, sample.y, graph=sample.edge_index, train=sample.train,
                                                      valid=~sample.train & ~sample.test)
    assert len(chosen.report_.rows_trials) > 1
    newton = ForgettingClassifier(solver="newton", rows_of=["stack", "degree"]).fit(sample.x, sample.y, graph=sample.edge_index, train=sample.train)
    newton.forget(nodes=[3], purge=True)  # trains again, on the same kind of rows
    assert newton.report_.rows == "stack,degree" and newton.coef_.shape == (3, 3 * 12 + 32)


def test_rows_of_a_program_are_those_of_nodes(sample):
    for one, value in (("rows_of", "stack"), ("scale_rows", "unit"), ("lift", 64)):
        with pytest.raises(unweave.UsageError, match=f"{one}: .*graph") as error:
            ForgettingClassifier(**{one: value}).fit(sample.x, sample.y)
        assert error.value.options == [one, "graph"]
    plain, said = ForgettingClassifier(), ForgettingClassifier(rows_of="levels", scale_rows="clip")
    assert np.array_equal(plain.fit(sample.x, sample.y).coef_, said.fit(sample.x, sample.y).coef_)
    for one, value, match in (("rows_of", "stack,words", "words"), ("lift", True, "True"), ("scale_rows", "one", "one")):
        with pytest.raises(unweave.UsageError, match=match):
            ForgettingClassifier(**{one: value}).fit(sample.x, sample.y, graph=sample.edge_index)
    with pytest.raises(unweave.UsageError, match="rho"):
        ForgettingClassifier(rows_of="levels,open").fit(sample.x, sample.y, graph=sample.edge_index)


def test_nothing_is_said_of_forgotten_nodes(sample):
    model = ForgettingClassifier().fit(sample.x, sample.y, graph=sample.edge_index, train=sample.train)
    assert np.array_equal(model.predict(sample.x), model.predict(np.arange(400)))
    model.forget(nodes=[12, 13])
    for call in (model.predict, model.predict_proba, model.decision_function):
        for asked in ([12, 13], [1, 12], np.arange(400) == 13, None):
            with pytest.raises(unweave.UsageError, match="forgotten"):
                call(asked)
        with pytest.raises(unweave.UsageError, match="rows"):
            call(sample.x)
        assert len(call([11, 14])) == 2
    assert model.forgotten_.tolist() == [12, 13]


def test_its_parameters(sample):
    model = ForgettingClassifier(lambda_=1e-3, solver="newton", epsilon=2.0)
    for said in ("lambda_=0.001", "solver='newton'", "epsilon=2.0"):
        assert said in repr(model)
    assert "hops" not in repr(model)
    assert model.set_params(hops=1).get_params()["hops"] == 1
    with pytest.raises(ValueError, match="gamma"):
        model.set_params(gamma=1)
    with pytest.raises(unweave.NotFittedError, match="fit"):
        model.predict([1])
    with pytest.raises(ValueError):
        model.predict([1])
    model.fit(sample.x, sample.y, train=sample.train)
    assert model.report_.certified and model.report_.claim == "T1" and model.report_.lambda_ == 1e-3


def test_classes_of_any_kind_come_back(sample):
    for classes in (np.array(["cat", "dog", "eel"]), np.array(["cat", "dog", "eel"], dtype=object), np.array([-1, 5, 9]), np.array([" odd", "nan", "3"])):
        y = classes[sample.y]
        model = ForgettingClassifier().fit(sample.x, y)
        said = model.predict(sample.x)
        assert sorted(model.classes_.tolist()) == sorted(classes.tolist()) and said.dtype.kind == np.asarray(y).dtype.kind
        assert np.mean(said == y) > 0.5 and model.score(sample.x, y) == np.mean(said == y)
    assert ForgettingClassifier().fit(sample.x, np.array(["cat", "dog", "eel"])[sample.y]).store_.class_names() == ["cat", "dog", "eel"]
    halves = np.array([None if node % 3 == 0 else "ab"[sample.y[node] == 0] for node in range(400)], dtype=object)
    model = ForgettingClassifier().fit(sample.x, halves, graph=sample.edge_index)
    assert model.store_.info().labelled == 266 and model.classes_.tolist() == ["a", "b"]
    assert model.coef_.shape == (1, 12) and model.intercept_.shape == (1,)
    margins = model.decision_function(np.arange(400))
    assert margins.shape == (400,) and np.array_equal(model.classes_[(margins > 0).astype(int)], model.predict(np.arange(400)))


def test_rows_without_a_graph_are_samples(sample):
    model = ForgettingClassifier().fit(sample.x, sample.y)
    rows = sample.x[:50] * 3  # above norm 1 they are divided by it, as in the store
    norms = np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    assert np.allclose(model.decision_function(rows), rows / norms @ model.coef_.T + model.intercept_, atol=1e-6)
    assert np.array_equal(model.predict(sample.x[:50]), model.predict(np.arange(50)))
    with pytest.raises(ValueError, match="[Rr]eshape|shape"):
        model.predict(sample.x[0])
    with pytest.raises(ValueError):
        model.predict(sample.x[:, :5])
    with pytest.raises(ValueError):
        model.fit(sample.x, np.zeros(400))


def test_rows_that_stand_nowhere_in_the_graph_are_refused(sample):
    model = ForgettingClassifier().fit(sample.x, sample.y, graph=sample.edge_index)
    for rows in (sample.x[:50], sample.x[::-1], sample.x + 1):
        with pytest.raises(unweave.UsageError, match="no place in the graph"):
            model.predict(rows)


def test_a_column_of_nodes(sample):
    model = ForgettingClassifier(graph=sample.edge_index, features=sample.x)
    train, test = np.flatnonzero(sample.train), np.flatnonzero(sample.test)
    model.fit(train[:, None], sample.y[train])
    same = ForgettingClassifier().fit(sample.x, np.where(sample.train, sample.y, -1), graph=sample.edge_index)
    assert np.array_equal(model.coef_, same.coef_)
    assert np.array_equal(model.predict(test[:, None]), same.predict(test)) and model.score(test[:, None], sample.y[test]) > 0.5
    named = ForgettingClassifier(graph=sample.edge_index, features=sample.x)
    names = [f"person-{node}" for node in range(400)]
    named.fit([names[node] for node in train], sample.y[train], ids=names)
    assert np.array_equal(named.coef_, model.coef_) and named.predict(["person-3"])[0] == model.predict([3])[0]
    for bad in ([[400]], [[-1]], np.eye(3)):
        with pytest.raises(ValueError):
            model.fit(bad, [0] * len(bad))


def test_it_is_pickled_and_copied(sample, tmp_path):
    model = ForgettingClassifier().fit(sample.x, sample.y, graph=sample.edge_index)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.store_.path != model.store_.path
        assert np.array_equal(other.predict(np.arange(400)), model.predict(np.arange(400))) and np.array_equal(other.coef_, model.coef_)
        other.forget(nodes=[7])
        assert model.store_.info().acknowledged == 0 and len(model.predict([7])) == 1
        assert other.store_.verify(rebuild=True).ok
    own = ForgettingClassifier(store=tmp_path / "own.store").fit(sample.x, sample.y)
    again = pickle.loads(pickle.dumps(own))
    assert again.store_.path == own.store_.path and np.array_equal(again.predict([1, 2]), own.predict([1, 2]))
    assert pickle.loads(pickle.dumps(ForgettingClassifier(hops=1))).hops == 1


def test_a_pickle_has_nothing_that_was_forgotten(sample):
    model = ForgettingClassifier(hops=2, graph=sample.edge_index, features=sample.x).fit(sample.train, sample.y[sample.train])
    row = np.ascontiguousarray(sample.x[7]).tobytes()
    assert row in pickle.dumps(model)
    model.forget(nodes=[7], purge=True)
    kept = pickle.dumps(model)
    assert row not in kept
    again = pickle.loads(kept)
    assert np.array_equal(again.predict([3, 4]), model.predict([3, 4])) and list(again.forgotten_) == [7]
    with pytest.raises(unweave.UsageError, match="set_params"):
        again.fit(sample.train, sample.y[sample.train])
    again.set_params(graph=sample.edge_index, features=sample.x).fit(sample.train, sample.y[sample.train])


def test_scikit_learn_searches_and_pipes(sample):
    pytest.importorskip("sklearn")
    from sklearn.base import clone, is_classifier
    from sklearn.exceptions import NotFittedError
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = ForgettingClassifier(graph=sample.edge_index, features=sample.x)
    assert is_classifier(model) and clone(model).get_params()["hops"] == 2
    with pytest.raises(NotFittedError):
        model.predict([1])
    nodes = np.flatnonzero(sample.train)[:, None]
    search = GridSearchCV(model, {"hops": [0, 2], "lambda_": [1e-4, 1e-3]}, cv=3).fit(nodes, sample.y[sample.train])
    assert search.best_params_["hops"] == 2  # neighbours tell more than a node alone
    assert search.score(np.flatnonzero(sample.test)[:, None], sample.y[sample.test]) > 0.5
    assert cross_val_score(model, nodes, np.array(list("abc"))[sample.y[sample.train]], cv=3).mean() > 0.5
    piped = make_pipeline(StandardScaler(), ForgettingClassifier())
    piped.fit(sample.x, sample.y, forgettingclassifier__graph=sample.edge_index, forgettingclassifier__train=sample.train)
    assert piped.score(sample.x, sample.y) > 0.5
    rows = make_pipeline(StandardScaler(), ForgettingClassifier())
    assert cross_val_score(rows, sample.x, sample.y, cv=3).mean() > 0.8 * cross_val_score(LogisticRegression(), sample.x, sample.y, cv=3).mean()


#: scikit-learn's checks that do not hold, and why.
UNMET: dict[str, str] = {}



def test_scikit_learns_own_checks(monkeypatch):
    """One after the other, since without scikit-learn there is no list of them. What is not met is named in UNMET, and must fail."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    failed, count = {}, 0
    for estimator, check in checks.check_estimator(ForgettingClassifier(), generate_only=True):
        name = getattr(check, "func", check).__name__
        count += 1
        try:
            check(estimator)
        except Exception as error:  # noqa: BLE001  whatever it is, it is told
            if type(error).__name__ != "SkipTest":
                failed[name] = f"{type(error).__name__}: {error}"
    assert failed.keys() == UNMET.keys(), failed
    assert count > 40


def test_a_class_that_may_be_a_missing_value_is_remarked(sample):
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(np.where(sample.y == 1, np.nan, sample.y)).astype(str)
    for word in ("nan", "None", "<NA>", "NA", "null"):
        given = column.where(column != "nan", word)
        for options, remedy in (({"graph": sample.edge_index}, "give None for rows without a class"), ({}, "leave out its rows")):
            with pytest.warns(unweave.RemarkWarning, match=f"^y: the text '{word}' is learnt as a class.*; {remedy} if it is$") as caught:
                model = ForgettingClassifier(hops=1).fit(sample.x, given, **options)
            assert word in model.classes_ and caught[0].filename == __file__
    mended = np.array([None if text == "null" else text for text in given], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("error", unweave.RemarkWarning)
        assert ForgettingClassifier(hops=1).fit(sample.x, mended, graph=sample.edge_index).classes_.tolist() == ["0.0", "2.0"]
        ForgettingClassifier(hops=1).fit(sample.x[given != "null"], given[given != "null"].to_numpy())


def test_a_search_by_names(sample):
    """What fit() gets of the length of X a search cuts to the samples of a fold, and with it the names of all nodes."""
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    names = [f"person-{node}" for node in range(400)]
    edges = np.array(names)[sample.edge_index]
    features, column = pandas.DataFrame(sample.x, index=names), np.array(names)[:, None]
    with pytest.raises(unweave.UsageError, match=r"give .*ids=list\(features.index\) where it has the names") as caught:
        ForgettingClassifier(graph=edges, features=features).fit(column, sample.y)
    model = ForgettingClassifier(graph=edges, features=features, ids=advised(caught, r"ids=(list\(features.index\))", features=features))
    assert clone(model).ids == names
    with pytest.raises(ValueError, match="ids: 200 names of 400 nodes; a search .* cuts .*, and leaves ids whole where they are given as Forg"):
        GridSearchCV(clone(model).set_params(ids=None), {"hops": [0]}, cv=2, error_score="raise").fit(column, sample.y, ids=names)
    search = GridSearchCV(model, {"hops": [0, 2]}, cv=3).fit(column, sample.y)
    plain = GridSearchCV(ForgettingClassifier(graph=sample.edge_index, features=sample.x), {"hops": [0, 2]}, cv=3).fit(np.arange(400)[:, None], sample.y)
    assert np.array_equal(search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    best = search.best_estimator_
    assert best.store_.ids() == names and np.array_equal(best.coef_, plain.best_estimator_.coef_)
    best.forget(nodes=["person-7"], purge=True)
    kept = pickle.dumps(best)
    assert b"person-7\0" not in kept and pickle.loads(kept).ids is None
    with pytest.raises(unweave.UsageError, match="graph, features, ids: a pickle has left them out"):
        pickle.loads(kept).fit(column, sample.y)
    again = ForgettingClassifier(hops=1, ids=names[::-1]).fit(sample.x, sample.y, graph=edges, ids=names)  # those of fit() go before
    assert again.store_.ids() == names


def test_a_header_of_a_file_is_said_to_fit(sample, tmp_path):
    (tmp_path / "e.csv").write_text("0,1\n" + "".join(f"{u},{v}\n" for u, v in sample.edge_index.T.tolist()))
    with pytest.raises(unweave.DataError, match="say which by header='edges=no'"):
        ForgettingClassifier(hops=1).fit(sample.x, sample.y, graph=tmp_path / "e.csv")
    model = ForgettingClassifier(hops=1).fit(sample.x, sample.y, graph=tmp_path / "e.csv", header="edges=yes")
    assert np.array_equal(model.coef_, ForgettingClassifier(hops=1).fit(sample.x, sample.y, graph=sample.edge_index).coef_)


def test_a_pickle_beside_a_store_that_goes_on(tmp_path, sample):
    made = ForgettingClassifier(store=str(tmp_path / "k")).fit(sample.x, sample.y, graph=sample.edge_index)
    before = pickle.dumps(made)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.loads(before)
    made.forget(nodes=[4])
    with pytest.warns(unweave.RemarkWarning, match="has gone on since"):
        later = pickle.loads(before)
    assert np.array_equal(later.coef_, made.coef_) and np.array_equal(later.intercept_, made.intercept_)


def test_rows_in_the_order_of_fortran_and_frames_are_predicted(sample, pandas):
    made = ForgettingClassifier().fit(sample.x, sample.y)
    expected = made.predict(sample.x)
    for rows in (np.asfortranarray(sample.x), pandas.DataFrame(sample.x), pandas.DataFrame(np.asfortranarray(sample.x)).copy()):
        assert np.array_equal(made.predict(rows), expected)


def test_rows_that_are_scaled_are_warned_of_and_a_public_number_keeps_their_lengths():
    X = np.linspace(1, 10, 100)[:, None]
    y = X[:, 0] > 5.5
    with pytest.warns(unweave.RemarkWarning, match="99 of 100 rows are longer than 1"):
        assert ForgettingClassifier().fit(X, y).score(X, y) == 0.5  # all directions are one
    with warnings.catch_warnings():
        warnings.simplefilter("error", unweave.RemarkWarning)
        assert ForgettingClassifier(scale=16, lambda_=1e-6).fit(X, y).score(X, y) > 0.95


def test_rows_of_the_fit_stay_known_when_edges_are_forgotten_and_the_reason_is_told_else(sample):
    model = ForgettingClassifier(lambda_=1e-4).fit(sample.x, sample.y, graph=sample.edge_index, train=sample.train)
    u, v = sample.edge_index[:, 0]
    model.forget(edges=[(int(u), int(v))])
    assert len(model.predict(sample.x)) == len(sample.x)
    with pytest.warns(unweave.RemarkWarning, match="1 of 1 things to forget were not there"):
        model.forget(edges=[(int(u), int(v))])
    model.forget(features=[3])
    with pytest.raises(unweave.UsageError, match="rows of the fit are not those of the store any more"):
        model.predict(sample.x)
    assert len(model.predict(np.arange(10))) == 10


@pytest.mark.parametrize("solver", ["newton", "retrain"])
def test_a_purge_trains_a_model_anew_whose_certificate_rested_on_what_is_erased(solver):
    random = np.random.default_rng(0)
    rows, classes = random.normal(size=(60, 5)), random.integers(0, 3, 60)
    model = unweave.ForgettingClassifier(solver=solver, scale=8.0).fit(rows, classes)
    outcome = model.forget(nodes=[3], purge=True)
    assert outcome.applied == 1 and outcome.certified == model.report_.certified and model.forgotten_.tolist() == [3]
    assert model.coef_.shape == (3, 5) and len(model.predict(rows[:2])) == 2
    assert model.forget(nodes=[4]).applied == 1


@pytest.mark.parametrize("solver", ["exact", "newton"])
def test_what_is_forgotten_is_followed_where_warnings_are_errors(solver):
    random = np.random.default_rng(0)
    rows, classes = random.normal(size=(60, 5)), random.integers(0, 2, 60)
    model = unweave.ForgettingClassifier(solver=solver, scale=8.0).fit(rows, classes, graph=[(i, i + 1) for i in range(59)])
    before = model.coef_.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Warning, match="1 of 2 things to forget were not there"):
            model.forget(nodes=[3], edges=[(7, 9)], purge=True)
    assert model.forgotten_.tolist() == [3] and not np.array_equal(model.coef_, before)
    assert model.store_.info().acknowledged == 0 and model._has_forgotten  # it was purged, too
    assert model.forget(nodes=[5]).applied == 1
