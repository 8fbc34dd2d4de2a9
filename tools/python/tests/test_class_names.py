# tools/python/tests/test_class_names.py - classes that have names: in labels, predictions, reports, requests and files.
import json
import subprocess

import numpy as np
import pytest

import unweave

NAMES = ["cat", "dog", "O'Brien, Pat"]


@pytest.fixture
def texts(sample):
    return np.array(NAMES)[sample.y]


@pytest.fixture
def named(sample, texts, tmp_path):
    labels = np.where(np.arange(400) % 7 == 6, None, texts.astype(object))
    made = unweave.import_store(tmp_path / "n.store", sample.edge_index, sample.x, labels, train=sample.train, test=sample.test, classes=NAMES)
    made.propagate(rows="all")
    made.train()
    return made, labels


def run(program, *words):
    ended = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    return ended.stdout if ended.returncode == 0 else ended.stderr


def test_they_come_back_wherever_classes_are(named, sample):
    made, labels = named
    assert made.class_names() == NAMES and made.info().class_names == NAMES and made.imported.class_names == NAMES
    assert np.array_equal(made.labels(), labels) and made.labels(numbers=True)[6] == -1
    said = made.predict([0, 1, 2])
    assert set(said) <= set(NAMES) and np.array_equal(np.array(NAMES)[made.predict([0, 1, 2], numbers=True)], said)
    assert [one["class"] for one in made.evaluate()[0].metrics.test.classes] == NAMES
    plain = unweave.import_store(made.path.parent / "p.store", sample.edge_index, sample.x, np.where(labels == None, -1, sample.y),  # noqa: E711
                                 train=sample.train, test=sample.test)
    plain.propagate(rows="all")
    plain.train()
    assert plain.class_names() is None and plain.labels().dtype == np.int64
    assert np.array_equal(plain.scores(), made.scores())  # names change nothing else


def test_the_command_line_prints_them(named, program):
    made, _ = named
    assert json.loads(run(program, "info", made.path, "--json"))["class_names"] == NAMES
    assert "cat" in run(program, "info", made.path)
    lines = [json.loads(line) for line in run(program, "predict", made.path, "--json").splitlines()]
    assert [line["class"] for line in lines] == made.predict().tolist()
    assert {line.split("\t")[1] for line in run(program, "predict", made.path).splitlines()[1:]} <= set(NAMES)
    table = run(program, "evaluate", made.path)
    assert all(name in table for name in NAMES)


def test_they_outlive_requests_and_a_purge(named):
    made, labels = named
    other = int(np.flatnonzero(labels == "dog")[-1])
    with made.stream("exact") as stream:
        assert stream.send([("set-label", 6, "dog"), ("node", 3), ("set-label", 8, "none"), ("set-label", other, 0)]).applied == 4
        for words in (("set-label", 6, "cow"), "set-label 6 cow"):
            with pytest.raises(unweave.UsageError, match="'\"?cow\"?' is none of the classes 'cat', 'dog'"):
                stream.send([words])
        assert stream.send(["set-label 6 cat", "set-label 6 \"dog\""]).statuses == ["applied", "applied"]
    labels = labels.copy()
    labels[[6, 3, 8, other]] = "dog", None, None, "cat"
    assert np.array_equal(made.labels(), labels)
    made.purge()
    assert made.class_names() == NAMES and np.array_equal(made.labels(), labels) and made.verify(rebuild=True).ok


def test_an_export_of_all_is_imported_with_them(named, program, tmp_path):
    made, labels = named
    line = run(program, "export", made.path, "--all", tmp_path / "all").splitlines()[-1]
    assert "--labels labels.txt" in line and "--classes 'cat,dog,\"O'\\''Brien, Pat\"'" in line
    subprocess.run(line.replace("unweave", program, 1).replace("STORE", str(tmp_path / "again.store")), shell=True, check=True, cwd=tmp_path / "all",
                   capture_output=True)
    again = unweave.Store(tmp_path / "again.store")
    assert again.class_names() == NAMES and np.array_equal(again.labels(), labels)
    assert again.info(digest=True).digest != "" and again.info().classes == 3


def test_text_labels_of_the_command_line(sample, program, tmp_path):
    np.save(tmp_path / "e.npy", sample.edge_index)
    rows = [NAMES[label] for label in sample.y]

    def imported(lines, classes, name="x.store"):
        (tmp_path / "y.csv").write_text("\n".join(lines) + "\n")
        words = ["import", tmp_path / name, "--edges", tmp_path / "e.npy", "--labels", tmp_path / "y.csv", "--nodes", "400"]
        return run(program, *words, *(["--classes", classes] if classes else []))

    listed = "cat,dog,\"O'Brien, Pat\""
    quoted = [f'"{row}"' if "," in row else row for row in rows]
    for number, lines in enumerate((rows, quoted, ["species", *quoted], rows[:-1] + ["-1"])):
        imported(lines, listed, f"{number}.store")
        found = unweave.Store(tmp_path / f"{number}.store").labels().tolist()
        assert found == (rows if number < 3 else rows[:-1] + [None])
    # Without declared names an error proposes them, and nothing is guessed.
    error = imported(["species", *quoted], None)
    assert "is not a label" in error and "--classes '\"O'\\''Brien, Pat\",cat,dog'" in error and "'species', was taken for a header" in error
    # A name that nobody declared, nearly one that was, or another one.
    assert "line 1" in imported(["Cat", *rows[1:]], listed) and "did you mean 'cat'?" in imported(["Cat", *rows[1:]], listed)
    error = imported([*rows[:-1], "horse"], listed)
    assert "line 400" in error and "'horse' is none of the classes 'cat', 'dog'" in error
    # Numbers that are names: text has names, an array could mean both.
    imported([str(label + 1) for label in sample.y], "1,2,3", "ones.store")
    assert unweave.Store(tmp_path / "ones.store").labels(numbers=True).tolist() == sample.y.tolist()
    np.save(tmp_path / "y.npy", sample.y)
    error = run(program, "import", tmp_path / "z.store", "--edges", tmp_path / "e.npy", "--labels", tmp_path / "y.npy", "--classes", "1,2,3")
    assert "may be a name or count classes from 0" in error
    for wrong, said in (("cat,cat", "two classes have the name 'cat'"), ("cat,none", "stands for no class"), ("cat,", "is empty"), ("cat", "a number of classes, or their names")):
        assert said in imported(rows, wrong), wrong
    assert "need --labels" in run(program, "import", tmp_path / "z.store", "--edges", tmp_path / "e.npy", "--classes", "a,b")


def test_labels_of_pandas_and_lists(sample, texts, tmp_path):
    pandas = pytest.importorskip("pandas")
    for number, (labels, names) in enumerate((
            (texts.tolist(), ["O'Brien, Pat", "cat", "dog"]), (pandas.Series(texts), ["O'Brien, Pat", "cat", "dog"]),
            (pandas.Series(pandas.Categorical(texts, ["dog", "cat", "eel", "O'Brien, Pat"])), ["dog", "cat", "eel", "O'Brien, Pat"]))):
        store = unweave.import_store(tmp_path / f"{number}.store", sample.edge_index, sample.x, labels)
        assert store.class_names() == names and np.array_equal(store.labels(), texts)
    wanted = np.array([None if place < 3 else text for place, text in enumerate(texts)], dtype=object)
    for number, kind in enumerate((pandas.Categorical, pandas.CategoricalIndex, lambda *given: pandas.Series(pandas.Categorical(*given)))):
        given = kind(wanted, ["dog", "cat", "eel", "O'Brien, Pat"])
        store = unweave.import_store(tmp_path / f"c{number}.store", sample.edge_index, sample.x, given)
        assert store.class_names() == ["dog", "cat", "eel", "O'Brien, Pat"] and np.array_equal(store.labels(), wanted)
    with_gaps = pandas.Series(texts).where(np.arange(400) > 3)
    assert unweave.import_store(tmp_path / "g.store", sample.edge_index, sample.x, with_gaps).info().labelled == 396


@pytest.mark.parametrize("labels, classes, said", [
    (["a", "b"], ["a"], "'b' is none of the classes 'a'"), (["a", 3], None, "element 1 is 3 among texts"), (["a", "b"], 2, "a number, and the labels are names"),
    ([0, 1], ["1", "2"], "a number may be a name"), (["a", "-1"], None, "stands for no class"),
    (["a", "None"], None, "element 1: the text 'None' may be the name of a class, or what a missing value has become"), (["<NA>", "a"], None, "element 0"),
    (["a", "NA"], None, "element 1: the text 'NA' may"), (["N/A", "a"], None, "element 0"), (["a", "null"], None, "element 1"),
    (["NULL", "a"], None, "element 0"), ([0, 1], ["a"], "label 1"), ([0, 1], 1.5, "neither a number nor a list")])
def test_what_cannot_be_meant_is_refused(tmp_path, labels, classes, said):
    with pytest.raises((ValueError, TypeError), match=said) as error:
        unweave.import_store(tmp_path / "bad", np.array([[0], [1]]), labels=labels, classes=classes)
    assert isinstance(error.value, unweave.Error) and not (tmp_path / "bad").exists()


def test_a_class_may_be_called_none_where_that_is_said(tmp_path):
    made = unweave.import_store(tmp_path / "s", np.array([[0], [1]]), labels=["a", "None"], classes=["None", "a"])
    assert made.class_names() == ["None", "a"] and made.labels().tolist() == ["a", "None"]


def test_names_of_classes_have_an_order(sample, texts, tmp_path):
    """That of a set follows from the seed of hashes."""
    for wrong, said in ((set(NAMES), r"a set, which has no order; give a list, as sorted\(classes\)"), (frozenset(NAMES), "a set, which has no"),
                        (dict.fromkeys(NAMES, 1), r"a dict.*give list\(classes\)"), (dict.fromkeys(NAMES).keys(), r"give list\(classes\)"),
                        ((name for name in NAMES), r"a generator.*give list\(classes\)"), (iter(NAMES), r"give list\(classes\)")):
        with pytest.raises(unweave.UsageError, match=f"^classes: .*{said}"):
            unweave.import_store(tmp_path / "bad", sample.edge_index, sample.x, texts, classes=wrong)
    for number, names in enumerate((NAMES, tuple(NAMES), np.array(NAMES))):
        assert unweave.import_store(tmp_path / str(number), sample.edge_index, sample.x, texts, classes=names).class_names() == NAMES


def test_models_of_others_know_classes_by_name(named, sample):
    made, labels = named

    class Fitted:
        coef_, intercept_, classes_ = np.zeros((2, 12)), np.zeros(2), np.array(["cat", "O'Brien, Pat"])

    assert made.certify(Fitted()).given.missing_classes == [1]
    Fitted.classes_ = np.array(["cat", "cow"])
    with pytest.raises(unweave.UsageError, match="'cow' is none of the classes"):
        made.certify(Fitted())
