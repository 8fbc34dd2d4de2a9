# tools/python/tests/test_flags.py - True and False are what a flag takes, and no number.
import inspect

import numpy as np
import pytest

import unweave

#: What calls need beside the argument that is tried.
NEEDED = {"path": "new", "file": "out.txt", "folder": "out", "solver": "exact", "edges": [(0, 1)], "nodes": [3], "X": np.eye(400, 12),
          "y": np.arange(400) % 2, "weights": np.zeros((3, 12)), "requests": ["node 3"], "files": "a.parquet", "purge": True}
CLASSES = (unweave.Store, unweave.Stream, unweave.ForgetSet, unweave.ForgettingClassifier)


def _arguments(kinds):
    """(call, argument) of everything public that takes an argument of such a type."""
    calls = [("import_store", unweave.import_store), ("generate_store", unweave.generate_store), ("Columns", unweave.Columns.__init__)]
    calls += [(f"{one.__name__}.{name}", method) for one in CLASSES for name, method in vars(one).items()
              if inspect.isfunction(method) and (not name.startswith("_") or name == "__init__")]
    for called, call in calls:
        for name, parameter in inspect.signature(call).parameters.items():
            if isinstance(parameter.annotation, str) and set(parameter.annotation.replace(" ", "").split("|")) & kinds:
                yield called, name


def _tried(called, argument, value, store, folder):
    """Calls it with this value in the place of the argument, and with what the call needs beside it."""
    kind, _, method = called.partition(".")
    model = unweave.ForgettingClassifier(memory="64M")
    if kind == "ForgettingClassifier" and method == "__init__":
        setattr(model, argument, value)
        owner, method = model, "fit"
    elif kind in ("Store", "Stream", "ForgetSet", "ForgettingClassifier") and method == "__init__":
        return unweave.Store(folder / "s", **{argument: value}) if kind == "Store" else None
    elif kind == "Stream":
        owner = store.stream()
    else:
        owner = {"Store": store, "ForgetSet": unweave.ForgetSet("edge", np.array([[0, 1]])), "ForgettingClassifier": model}.get(kind, unweave)
    call = getattr(owner, method or kind)
    given = {name: NEEDED[name] for name, one in inspect.signature(call).parameters.items()
             if name in NEEDED and (one.default is one.empty or (called, name) == ("Store.plan", "requests") and argument == "batch" or
                                    (called, name) == ("Store.plan", "purge") and argument == "keep_order") and name != argument}
    for name in ("path", "file", "folder"):
        if name in given:
            given[name] = folder / given[name]
    if method == "fit":
        given["graph"] = [(0, 1)]  # without one there are no hops
    try:
        out = call(**given, **({} if owner is model and method == "fit" else {argument: value}))
        return list(out) if inspect.isgenerator(out) else out
    finally:
        if kind == "Stream":
            owner.close()


@pytest.mark.parametrize("value", ["no", 1, 0, None, np.array([True])], ids=repr)
@pytest.mark.parametrize("called, argument", list(_arguments({"bool"})))
def test_a_flag_is_true_or_false(store, tmp_path, called, argument, value):
    if value is None and (called, argument) in (("Store.train", "intercept"), ("Store.certify", "intercept"), ("ForgetSet.requests", "named"),
                                                ("ForgetSet.write_requests", "named"), ("Store.propagate", "restart"), ("Store.propagate", "assemble"),
                                                ("Store.stream", "strict"), ("Store.stream", "adaptive")):
        return  # the default
    before = store.info(digest=True)
    with pytest.raises(unweave.UsageError, match=f"{argument}.*is not True or False"):
        _tried(called, argument, value, store, tmp_path)
    assert store.info(digest=True) == before


@pytest.mark.parametrize("called, argument", [one for one in _arguments({"int", "float"})
                                              if one[0] != "ForgetSet.__init__"])  # which holds what a file says
def test_true_is_no_number(store, tmp_path, called, argument):
    with pytest.raises(unweave.UsageError, match=argument.replace("lambda_", "lambda") + ".*True"):
        _tried(called, argument, True, store, tmp_path)


def test_the_flags_of_numpy_are_flags(store):
    assert store.info(digest=np.bool_(True)).digest and store.labels(numbers=np.bool_(False)) is not None
    assert store.verify(rebuild=np.True_).ok
    with store.stream(strict=np.False_) as stream:
        assert stream.remove_nodes([3]).applied == 1
    assert store.purge(keep_order=np.True_).purged
    store.propagate(hops=1, restart=np.True_, rows="all")
    assert unweave.ForgetSet("edge", np.array([[0, 1]])).text(both_directions=np.True_) == "0 1\n1 0\n"


def test_all_flags_are_tried():
    found = {one for one, _ in _arguments({"bool"})}
    assert len(list(_arguments({"bool"}))) >= 22 and {"Store.purge", "Store.repair", "ForgettingClassifier.forget", "import_store"} <= found


@pytest.mark.parametrize("value", [{"stack": 1}, True, 3, [1], b"stack", np.array("stack"), "", [], ()], ids=repr)
def test_what_rows_are_made_of_is_text_or_a_list_of_words(store, sample, value):
    has_none = not isinstance(value, np.ndarray) and value in ("", [], ())
    calls = (lambda: store.train(rows_of=value), lambda: store.certify(np.zeros((3, 12)), rows_of=value),
             lambda: unweave.ForgettingClassifier(rows_of=value).fit(sample.x, sample.y, graph=sample.edge_index),
             lambda: unweave.ForgettingClassifier(rows_of=value).fit(sample.x, sample.y))
    for call in calls:
        with pytest.raises(unweave.UsageError, match="^rows_of: .* has no words" if has_none else "^rows_of: .* is not a text or a list of words") as caught:
            call()
        assert caught.value.options == ["rows_of"]
    assert store.info().models == []


def test_words_of_rows_in_any_list(store):
    for words in (["stack", "labels"], ("stack", "labels"), np.array(["stack", "labels"]), "stack,labels"):
        assert store.train(name="m", rows_of=words).rows == "stack,labels"


@pytest.mark.parametrize("argument, value", [("scale_rows", True), ("scale_rows", b"unit"), ("scale_rows", ["unit"]), ("scale_rows", 1),
                                             ("lift", True), ("lift", 2.5), ("lift", 64.0), ("lift", ""), ("lift", [64]), ("lift", b"64")], ids=repr)
def test_scales_are_words_and_lifts_whole_numbers_or_text(store, sample, argument, value):
    message = {"scale_rows": "is neither \"clip\" nor \"unit\"",
               "lift": "is neither a whole number nor a text such as \"1024,key=7,bias=0.5\""}[argument]
    calls = (lambda: store.train(**{argument: value}), lambda: store.certify(np.zeros((3, 12)), **{argument: value}),
             lambda: unweave.ForgettingClassifier(**{argument: value}).fit(sample.x, sample.y, graph=sample.edge_index))
    for call in calls:
        with pytest.raises(unweave.UsageError, match=f"^{argument}: .* {message}$") as caught:
            call()
        assert caught.value.options == [argument]
    assert store.train(name="m", lift=np.int64(64)).rows == store.train(name="m", lift="64").rows == "levels unit lift 64"


def test_widths_of_hidden_layers_are_a_list(store):
    with pytest.raises(unweave.UsageError, match="^hidden: 8 is not a list of whole numbers"):
        store.train("finetune", head="mlp", hidden=8)
