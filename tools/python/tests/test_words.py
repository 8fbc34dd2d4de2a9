# tools/python/tests/test_words.py - what help() and repr() say, and what errors are.
import inspect
import re

import numpy as np
import pytest

import unweave
from unweave import columns, estimator, estimator_base, forget_sets  # noqa: F401


def _public():
    for name in unweave.__all__:
        one = getattr(unweave, name)
        if inspect.isclass(one) and not issubclass(one, Exception):
            yield name, one
            for member, method in vars(one).items():
                if inspect.isfunction(method) and not member.startswith("_"):
                    yield f"{name}.{member}", method
        elif inspect.isfunction(one):
            yield name, one


@pytest.mark.parametrize("name, one", list(_public()), ids=[name for name, _ in _public()])
def test_every_parameter_is_explained(name, one):
    text = inspect.getdoc(one)
    assert text and len(text) > 20
    if one is unweave.Record or (inspect.isclass(one) and issubclass(one, dict)):
        return
    parameters = [parameter for parameter in inspect.signature(one).parameters.values() if parameter.name not in ("self", "deep") and
                  parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)]
    missing = [parameter.name for parameter in parameters if not re.search(rf"``[^`]*\b{parameter.name}\b[^`]*``", text)]
    assert not missing, f"{name}: {missing}"


def test_every_class_is_shown_by_what_it_is(store, tmp_path):
    with store.stream(changes=tmp_path / "c.changes") as stream:
        stream.send("node 3")
        assert re.fullmatch(r"<unweave.Stream to '.*', 1 batches sent, open>", repr(stream))
    assert "closed" in repr(stream)
    changes = unweave.Changes(tmp_path / "c.changes", "reader")
    shown = [repr(store), repr(changes), repr(next(iter(changes))), repr(store.arrow()), repr(store.info()), repr(unweave.Columns("a.parquet")),
             repr(unweave.ForgettingClassifier(hops=1)), repr(unweave.ForgetSet("node", np.array([1])))]
    assert not [one for one in shown if " at 0x" in one]


def test_wrong_data_are_value_errors(sample, tmp_path):
    assert issubclass(unweave.DataError, ValueError) and issubclass(unweave.UsageError, ValueError) and issubclass(unweave.NotFittedError, AttributeError)
    assert not issubclass(unweave.ResourceError, ValueError)
    with pytest.raises(ValueError, match="NaN"):
        unweave.import_store(tmp_path / "bad", sample.edge_index, np.full((400, 2), np.nan))


@pytest.mark.parametrize("call, said", [
    (lambda store: store.propagate(hops=-1), "hops: -1 is not a whole number from 0 to 4294967295"),
    (lambda store: store.propagate(hops=2.5), "hops: 2.5 is not a whole number"),
    (lambda store: store.propagate(weights=["a"]), r"weights: \['a'\] is no list of numbers"),
    (lambda store: store.propagate(rows=3), "rows: 3 is not a text"),
    (lambda store: store.train(lambda_="best"), "lambda_: 'best' is neither a number nor 'auto'"),
    (lambda store: store.train(epsilon="x"), "epsilon: 'x' is not a number"),
    (lambda store: store.train(hidden=[-1], head="mlp"), r"hidden: \[-1\] is not a list of whole numbers"),
    (lambda store: store.train("newton", parameters={"a": "b"}), "parameters: .* is not a dictionary of numbers by name"),
    (lambda store: unweave.Store(store.path, threads=-1), "threads: -1 is not a whole number from 0"),
    (lambda store: unweave.import_store(store.path / "x", np.eye(2, dtype=int), scale=[1]), r"scale: \[1\] is not a number"),
    (lambda store: unweave.import_store(store.path / "x", np.eye(2, dtype=int), nodes=-1), "nodes: -1 is not a whole number from 0")])
def test_values_of_other_types_are_told(store, call, said):
    with pytest.raises(unweave.UsageError, match=said):
        call(store)


def test_an_interrupted_propagation_says_how_to_begin_another(store):
    store.propagate(4, tile=(0, 2))  # as one that was cut short leaves it
    with pytest.raises(unweave.UsageError, match=r"ended before its end \(.*4.*\); finish it with those options, or .*: add restart=True"):
        store.propagate(1)
    store.propagate(1, restart=True)
    assert store.info().hops == 1


def test_splits_come_back(store, sample):
    assert np.array_equal(store.splits.train, np.flatnonzero(sample.train)) and np.array_equal(store.splits.test, np.flatnonzero(sample.test))
    assert store.splits.valid is None and store.splits.train.dtype == np.int64
    assert np.array_equal(store.masks.train_mask, sample.train) and store.masks.val_mask is None
    assert store.masks.test_mask.dtype == bool and list(store.masks) == ["train_mask", "val_mask", "test_mask"]
    with store.stream() as stream:
        stream.send([("node", 3), ("move-split", 310, "train")])
    assert 3 not in store.splits.train and 310 not in store.splits.test and 310 in store.splits.train
