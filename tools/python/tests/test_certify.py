# tools/python/tests/test_certify.py - linear models that NumPy, scikit-learn or PyTorch made, certified as the command line does it.
import json
import re
import shutil
import subprocess
import types

import numpy as np
import pytest

import unweave


@pytest.fixture
def rows(store, sample):
    """The training rows as models see them, and their classes."""
    z = np.array(store.embeddings()[:250])
    return z / np.maximum(1, np.linalg.norm(z, axis=1, keepdims=True)), sample.y[:250]


def least_squares(x, y, classes=3):
    """Weights [classes, features] and intercepts of a fit by NumPy."""
    wide = np.hstack([x, np.ones((len(x), 1))])
    w = np.linalg.lstsq(wide, np.where(y[:, None] == np.arange(classes), 1.0, -1.0), rcond=None)[0].T
    return np.ascontiguousarray(w[:, :-1]), np.ascontiguousarray(w[:, -1])


def published(store, name, folder):
    return np.load(store.export_model(folder / "published.npy", name=name))


def test_what_is_finished_is_what_training_from_nothing_gives(store, rows, tmp_path):
    coef, intercept = least_squares(*rows)
    report = store.certify(coef, intercept, name="finished")
    assert report.certified and report.claim == "T0" and report.solver == "exact" and report.name == "finished"
    assert (report.given.form, report.given.missing_classes, report.given.certified) == ("coef, 3 x 12, and intercept", [], False)
    assert report.given.gradient_bound > 0 and report.given.file is None and report.given.accuracy_train > 0.5
    assert report.weights == 39 and report.weights_changed == 39 and report.distance >= report.largest_change > 0
    assert not report.as_given and "releasing_tau" not in report.given
    store.train("exact", name="trained")
    assert np.array_equal(published(store, "finished", tmp_path), published(store, "trained", tmp_path))
    with store.stream("exact", name="finished") as stream:
        assert stream.send("node 12").certified
    assert store.verify(rebuild=True).ok


def test_forms_of_one_model_are_read_alike(store, rows, tmp_path):
    coef, intercept = least_squares(*rows)
    np.savez(tmp_path / "W.npz", coef=coef, intercept=intercept)
    np.save(tmp_path / "W.npy", coef)
    fitted = types.SimpleNamespace(coef_=coef, intercept_=intercept, classes_=np.array([0.0, 1.0, 2.0]))
    layer = types.SimpleNamespace(weight=coef, bias=intercept)
    forms = [(coef, intercept), (coef.T.tolist(), None), (np.vstack([coef.T, intercept]), None), (fitted, None), (layer, None),
             (tmp_path / "W.npz", None), (str(tmp_path / "W.npy"), intercept), (np.asfortranarray(coef), intercept[:, None])]
    found = [store.certify(*one, name="form") for one in forms]
    assert found[1].given.gradient_bound != found[0].given.gradient_bound  # no intercepts came
    for number, report in enumerate(found):
        assert number == 1 or report.given.gradient_bound == found[0].given.gradient_bound
    assert found[5].given.file == str(tmp_path / "W.npz")
    single = store.certify(coef.astype(np.float32), intercept.astype(np.float32), name="form")
    assert 0 < abs(single.given.gradient_bound - found[0].given.gradient_bound) < 1e-3


def test_noise_is_added_where_weights_are_near_enough(store, rows):
    coef, intercept = least_squares(*rows)
    report = store.certify(coef, intercept, "newton", tau=1e6, epsilon=1.0)
    assert report.as_given and report.claim == "T1" and report.given.releasing_tau == 2 * report.given.gradient_bound
    assert report.passes == 0 and report.weights_changed == 39


def test_classes_that_a_model_lacks_are_told(store, rows):
    coef, intercept = least_squares(*rows)
    some = types.SimpleNamespace(coef_=coef[[0, 2]], intercept_=intercept[[0, 2]], classes_=np.array([0, 2]))
    assert store.certify(some).given.missing_classes == [1]


def test_models_of_scikit_learn(store, rows, sample):
    linear_model = pytest.importorskip("sklearn.linear_model")
    lam = store.train("exact")["lambda"]
    near = linear_model.LogisticRegression(C=1 / (lam * 250), multi_class="ovr", solver="liblinear", tol=1e-10, max_iter=10000)
    near.fit(rows[0], rows[1])
    far = linear_model.RidgeClassifier(fit_intercept=False).fit(*rows)
    first, second = store.certify(near, name="near"), store.certify(far, name="far")
    assert first.given.distance_bound < 1e-2 < second.given.distance_bound
    assert first.given.accuracy_train == near.score(*rows)
    with pytest.raises(unweave.UsageError, match="LogisticRegression is no fitted linear model"):
        store.certify(linear_model.LogisticRegression())
    words = linear_model.RidgeClassifier().fit(rows[0], np.array(["a", "b", "c"])[rows[1]])
    with pytest.raises(unweave.UsageError, match=r"\['a', 'b', 'c'\].*Store.labels"):
        store.certify(words)


def test_a_layer_of_pytorch(store, rows):
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "nn"):
        pytest.skip("torch is a stand-in")
    layer = torch.nn.Linear(12, 3, dtype=torch.float64)
    assert store.certify(layer).given.form == "weight, 3 x 12, and bias"


def test_the_command_line_says_the_same(store, rows, program, tmp_path):
    coef, intercept = least_squares(*rows)
    np.savez(tmp_path / "W.npz", coef=coef, intercept=intercept)
    other = tmp_path / "other.store"
    shutil.copytree(store.path, other)
    for solver, options in (("exact", {}), ("newton", {"tau": 1e-3, "epsilon": 2.0, "seed": 7})):
        words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
        said = json.loads(subprocess.run([program, "certify", other, "--model", tmp_path / "W.npz", "--solver", solver, "--json", *words],
                                         check=True, capture_output=True).stdout)
        report = store.certify(tmp_path / "W.npz", solver=solver, **options)
        for key in ("solver", "name", "lambda", "certified", "claim", "epsilon", "delta", "as_given", "weights", "weights_changed",
                    "largest_change", "distance", "training_rows", "steps", "passes"):
            assert report[key] == said[key], key
        for key in said["given"]:
            assert (report.given[key] if key != "file" else str(tmp_path / "W.npz")) == said["given"][key], key


def test_what_is_no_such_model_is_refused(store, rows, tmp_path):
    coef, intercept = least_squares(*rows)
    bad = [((coef[:, :5], intercept), unweave.DataError, r"^weights.npz\[coef\]: shape \(3, 5\)|^weights.npz\[coef\].*3 x 5|weights.npz"),
           ((coef * np.nan, intercept), unweave.DataError, "no finite number"),
           ((coef, intercept[:2]), unweave.DataError, "intercepts"),
           ((tmp_path / "absent.npz",), unweave.DataError, "absent.npz"),
           ((coef, "b.npy"), unweave.UsageError, "beside a path"),
           ((types.SimpleNamespace(coef_=coef), intercept), unweave.UsageError, "has its own"),
           (("W.npz", None, "langevin"), unweave.UsageError, "training from nothing; solver"),
           ((object(),), unweave.UsageError, "object is no fitted linear model"),
           ((None,), unweave.UsageError, "NoneType is no fitted linear model")]
    for arguments, kind, message in bad:
        with pytest.raises(kind, match=message) as error:
            store.certify(*arguments)
        assert "/tmp" not in str(error.value).replace(str(tmp_path), "")
    assert store.info().models == []
    with pytest.raises(unweave.UsageError, match="intercept=False away"):
        store.certify(coef, intercept, intercept=False)


def test_one_row_speaks_for_the_second_class_of_its_model(tmp_path):
    linear = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(0)
    groups = np.arange(60) % 3
    x = (np.eye(3)[groups] + random.normal(size=(60, 3)) * 0.1) / 3
    words = np.array(["pos", "neg"])[(groups > 0).astype(int)]
    for number, classes in enumerate((["pos", "neg"], ["neg", "pos"])):
        store = unweave.import_store(tmp_path / f"s{number}", random.integers(0, 60, (2, 100)), x, words, classes=classes, train=np.arange(40), test=np.arange(40, 60))
        store.propagate(0)
        rows = store.embeddings(np.arange(60), missing="nan")
        model = linear.LogisticRegression(C=100).fit(rows[:40], words[:40])
        assert model.score(rows[40:], words[40:]) > 0.9
        assert store.certify(model, name="a").given.accuracy_test > 0.9, classes


def test_a_model_of_two_classes_is_told_how_many_the_store_has(store, rows, tmp_path):
    coef, intercept = least_squares(*rows)
    two = types.SimpleNamespace(coef_=coef[:1], intercept_=intercept[:1], classes_=np.array([0, 2]))
    np.save(tmp_path / "W.npy", coef[:1])
    for given in ((coef[0],), (coef[:1],), (coef[:1].T,), (coef[:1], intercept[:1]), (two,), (tmp_path / "W.npy",)):
        with pytest.raises(unweave.DataError, match="one row of weights tells 2 classes apart, and the store has 3; .* of all 3 classes, as "
                                                    r"`store.embeddings\(\)` and `store.labels\(\)` write them$"):
            store.certify(*given)
    assert len(store.info().models) == 0
    nodes = store.splits.train
    whole = least_squares(store.embeddings(nodes), store.labels()[nodes])  # what the error advises
    assert store.certify(*whole).certified and store.predict().shape == (store.num_nodes,)
    # Of two rows it can be said which classes they are.
    with pytest.raises(unweave.DataError, match="weights of 2 classes, and the store has 3") as caught:
        store.certify(coef[[0, 2]], intercept[[0, 2]])
    save = re.search(r"are: (numpy\.savez\(.*\))$", str(caught.value))[1]
    exec(save.replace("'W.npz'", repr(str(tmp_path / "W.npz"))), {"numpy": np, "W": coef[[0, 2]], "b": intercept[[0, 2]], "clf": two})  # noqa: S102
    assert store.certify(tmp_path / "W.npz", name="two").given.missing_classes == [1]


PROGRAM = {"rows_of": "stack,labels", "scale_rows": "unit", "lift": 64}


def test_a_model_of_other_rows_is_finished_on_them(store, sample, program, tmp_path):
    store.train("exact", name="trained", **PROGRAM)
    z = store.rows(name="trained")
    coef, intercept = least_squares(z / np.maximum(1, np.linalg.norm(z, axis=1, keepdims=True)), sample.y[:250])
    assert coef.shape == (3, 3 * 12 + 3 + 64)
    np.savez(tmp_path / "W.npz", coef=coef, intercept=intercept)
    other = tmp_path / "other.store"
    shutil.copytree(store.path, other)
    report = store.certify(coef, intercept, name="finished", **PROGRAM)
    assert report.certified and report.rows == "stack,labels unit lift 64" and report.given.accuracy_train > 0.6
    assert np.array_equal(published(store, "finished", tmp_path), published(store, "trained", tmp_path))
    said = json.loads(subprocess.run([program, "certify", other, "--model", tmp_path / "W.npz", "--name", "finished", "--rows-of", "stack,labels",
                                      "--scale-rows", "unit", "--lift", "64", "--json"], check=True, capture_output=True).stdout)
    for key in ("rows", "weights", "weights_changed", "largest_change", "distance"):
        assert report[key] == said[key], key
    with pytest.raises(unweave.DataError, match="3 x 12"):
        store.certify(coef, intercept)


def test_weights_of_levels_have_their_own_name_in_errors(store):
    for options, message in (({"level_weights": [1, 2]}, "^level_weights: 2 given"),
                             ({"level_weights": [1, 1, 1], "rows_of": "stack"}, "and level_weights weighs them"),
                             ({"level_weights": "auto"}, "^level_weights: 'auto'")):
        with pytest.raises(unweave.UsageError, match=message) as caught:
            store.certify(np.ones((3, 36)), **options)
        assert "level_weights" in caught.value.options and "weights" not in caught.value.options
