#!/usr/bin/env python3
"""Models of other programs, there and back, with NumPy, and with scikit-learn and PyTorch where they are installed.

    python3 -B tests/foreign_model_test.py UNWEAVE

A model that NumPy has learnt on exported rows is certified; its gradient in extended precision has to lie below the bound that
`certify` proves, and hardly so. What `export --model` writes for scikit-learn and PyTorch has to say of exported rows what
`predict` says. Exits 1 at the first thing that is wrong.
"""
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings
import zipfile

import numpy as np

try:
    import torch
except ImportError:
    torch = None
try:
    from sklearn import linear_model
except ImportError:
    linear_model = None

LAMBDA = 1e-3
TRAIL = pathlib.Path(__file__).resolve().parent.parent / "tools" / "audit" / "certificate_trail.py"


class Store:
    """A random graph whose features tell the class more or less, propagated, with rows, labels and training nodes exported."""

    def __init__(self, unweave, folder, classes):
        self.unweave, self.folder, self.path = unweave, folder, folder / "s"
        random = np.random.default_rng(classes)
        nodes, width = 600, 12
        labels = random.integers(0, classes, nodes)
        rows = random.normal(size=(classes, width))[labels] + random.normal(size=(nodes, width)) + 1
        edges = random.integers(0, nodes, (1500, 2))
        edges[:400, 0] //= 200  # hubs, whose rows are longer than 1 and are clipped
        np.savetxt(folder / "edges", edges, "%d")
        np.save(folder / "x.npy", rows.astype(np.float32))
        np.save(folder / "y.npy", labels)
        for name, ids in zip(("train", "valid", "test"), np.split(random.permutation(nodes), [300, 400])):
            np.save(folder / f"{name}.npy", ids)
        splits = ",".join(f"{name}={folder}/{name}.npy" for name in ("train", "valid", "test"))
        self.run("import", "--edges", folder / "edges", "--features", folder / "x.npy", "--labels", folder / "y.npy",
                 "--split", splits)
        self.run("propagate", "--hops", "1", "--weights", "0.4,0.6")
        self.run("export", "--embeddings", folder / "z.npy", "--ids", folder / "ids.npy", "--train", folder / "t.npy")
        z = np.load(folder / "z.npy").astype(float)
        check(np.linalg.norm(z, axis=1).max() > 1, "no row is clipped: the test needs one")
        self.z = z / np.maximum(1, np.linalg.norm(z, axis=1, keepdims=True))
        place = {node: i for i, node in enumerate(np.load(folder / "ids.npy"))}
        train = np.load(folder / "t.npy")
        self.rows, self.labels = self.z[[place[node] for node in train]], labels[train]
        self.classes = classes

    def run(self, command, *words):
        """What a command prints, which has to go well."""
        done = subprocess.run([self.unweave, command, str(self.path), *map(str, words), "--quiet"], capture_output=True,
                              text=True, check=False)
        check(done.returncode == 0, f"{command}: {done.stderr}")
        return done.stdout

    def certify(self, file, *words):
        return json.loads(self.run("certify", "--model", file, "--lambda", LAMBDA, "--json", *words))

    def says(self, name):
        """Classes by `predict`, in the order of ids."""
        self.run("predict", "--name", name, "--out", self.folder / "c.npy", "--ids", self.folder / "c_ids.npy")
        check((np.load(self.folder / "c_ids.npy") == np.load(self.folder / "ids.npy")).all(), "predict has other ids")
        return np.load(self.folder / "c.npy")

    def gradient_norm(self, weights, intercepts, head="logistic"):
        """The norm of the objective's gradient, in extended precision."""
        z = np.hstack([self.rows, np.ones((len(self.rows), 1))]).astype(np.longdouble)
        # Rows were rounded to float32 after the clip; what that moves is far below the slack of the bound.
        w = np.hstack([weights, intercepts[:, None]]).astype(np.longdouble)
        margins = z @ w.T
        if head == "softmax":
            shares = np.exp(margins - margins.max(axis=1, keepdims=True))
            slopes = shares / shares.sum(axis=1, keepdims=True) - np.eye(self.classes)[self.labels]
        else:
            signs = 2 * np.eye(self.classes)[self.labels] - 1
            slopes = margins - signs if head == "least-squares" else -signs / (1 + np.exp(signs * margins))
        return float(np.sqrt(((slopes.T @ z + LAMBDA * len(z) * w) ** 2).sum()))


def check(holds, what):
    if not holds:
        sys.exit(f"wrong: {what}")


def check_bound(proved, norm):
    check(norm <= proved * (1 + 1e-4), f"the proved bound {proved} is below the gradient's norm {norm}")
    check(proved <= norm * 1.05 + 1e-6, f"the proved bound {proved} is far above the gradient's norm {norm}")


def safetensors_of(file):
    """The tensors of a file, by its description alone."""
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    check(header.pop("__metadata__")["format"] == "pt", "metadata")
    types = {"F64": "<f8"}
    return {name: np.frombuffer(data[8 + length:][slice(*tensor["data_offsets"])], types[tensor["dtype"]])
            .reshape(tensor["shape"]) for name, tensor in header.items()}


def check_descended(store):
    """Gradient descent in NumPy, by each head and in each form of a file."""
    folder, random = store.folder, np.random.default_rng(1)
    weights, intercepts = random.normal(size=(store.classes, 12)), random.normal(size=store.classes)
    np.savez(folder / "w.npz", coef=weights, intercept=intercepts)
    np.save(folder / "w.npy", np.asfortranarray(np.hstack([weights, intercepts[:, None]])))
    np.save(folder / "w_t.npy", np.vstack([weights.T, intercepts]).astype(np.float32))
    for head in ("logistic", "softmax", "least-squares"):
        norm = store.gradient_norm(weights, intercepts, head)
        found = [store.certify(folder / file, "--head", head, "--name", head) for file in ("w.npz", "w.npy", "w_t.npy")]
        for one in found:
            check_bound(one["given"]["gradient_bound"], norm)
            check(one["certified"] and one["claim"] == "T0", "certified by T0")
            check(not one["given"]["certified"], "nothing certifies the weights as they are")
        check(found[0]["given"]["gradient_bound"] == found[1]["given"]["gradient_bound"], "two forms, two bounds")
        said = (store.rows @ weights.T + intercepts).argmax(axis=1)
        check(abs(found[0]["given"]["accuracy_train"] - (said == store.labels).mean()) < 1e-9, "accuracy as given")
        check_exports(store, head)
    small = store.gradient_norm(*trained(store, "logistic"))
    check(small < 1e-3, f"exact ends at a gradient of {small}")


def check_by_trail(file):
    """The verifier that shares no code reads each form, and tells one changed bit of a weight."""
    command = [sys.executable, "-B", TRAIL, file.with_suffix(".jsonl"), "--model", file]
    run = lambda *more: subprocess.run([*map(str, command), *more], capture_output=True, check=False, text=True)
    code = lambda: run().returncode
    check(code() == 0, f"certificate_trail.py does not know the weights in {file.name}")
    key = json.loads(file.with_suffix(".jsonl").read_text().splitlines()[0])["public_key"]
    check(f"signed under {key}, a key that only this file names" in run().stderr, "it says whose key it took")
    check(run("--public-key", key).stderr == "", "under a given key there is nothing to add")
    data = file.read_bytes()
    if file.suffix == ".npz":
        with np.load(file) as held:
            arrays = dict(held)
        arrays["coef_"][0, 0] = np.nextafter(arrays["coef_"][0, 0], np.inf)
        np.savez(file, **arrays)
    else:
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    check(code() == 1, f"certificate_trail.py takes other weights in {file.name}")
    file.write_bytes(data)


def trained(store, name):
    store.run("export", "--model", store.folder / "m.npz", "--name", name)
    arrays = np.load(store.folder / "m.npz")
    return arrays["coef_"], arrays["intercept_"]


def check_exports(store, name):
    """The forms for other programs hold the same numbers, and say what `predict` says."""
    weights, intercepts = trained(store, name)
    check(weights.shape == (store.classes, 12) and intercepts.shape == (store.classes,), "shapes")
    check((np.load(store.folder / "m.npz")["classes_"] == np.arange(store.classes)).all(), "classes_")
    store.run("export", "--model", store.folder / "m.npy", "--name", name)
    check((np.load(store.folder / "m.npy") == np.vstack([weights.T, intercepts])).all(), "two forms, two models")
    store.run("export", "--model", store.folder / "m.safetensors", "--name", name)
    tensors = safetensors_of(store.folder / "m.safetensors")
    check((tensors["weight"] == weights).all() and (tensors["bias"] == intercepts).all(), "tensors")
    said = store.says(name)
    check((said == (store.z @ weights.T + intercepts).argmax(axis=1)).all(), "coef_ and intercept_ say another class")
    for form in ("npz", "npy", "safetensors"):
        done = subprocess.run([store.unweave, "verify", str(store.folder / f"m.{form}")], capture_output=True, check=False)
        check(done.returncode == 0, f"verify m.{form}: {done.stderr}")
        check_by_trail(store.folder / f"m.{form}")
        again = store.certify(store.folder / f"m.{form}", "--head", name, "--name", "again")
        check(again["weights_changed"] == 0, f"the model came back from m.{form} as another one")
    check_forged(store)
    if torch is None:
        return
    linear = torch.nn.Linear(12, store.classes, dtype=torch.float64)
    linear.load_state_dict({name: torch.tensor(value) for name, value in tensors.items()})
    check((linear(torch.tensor(store.z)).argmax(dim=1).numpy() == said).all(), "PyTorch says another class")


def refused(store, file, what):
    """Neither `verify` nor the verifier that shares no code takes the file."""
    words = [store.unweave, "verify", str(file)], [sys.executable, "-B", str(TRAIL), str(file.with_suffix(".jsonl")), "--model", str(file)]
    for word in words:
        done = subprocess.run(word, capture_output=True, text=True, check=False)
        check(done.returncode == 2 and "internal" not in done.stderr, f"{what}: {word[0]} takes it: {done.stdout} {done.stderr}")


def check_forged(store):
    """Weights that numpy.load reads in the place of those that were checked."""
    file = store.folder / "m.npz"
    whole = file.read_bytes()
    for name, what in (("coef_.npy", "an array twice"), ("coef_", "an array with two names"), ("coef.npy", "another array")):
        file.write_bytes(whole)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with zipfile.ZipFile(file, "a") as archive, archive.open(name, "w") as member:
                np.lib.format.write_array(member, -np.load(io.BytesIO(whole))["coef_"])
        refused(store, file, what)
    file.write_bytes(whole)
    arrays = dict(np.load(file))
    for save in (np.savez, np.savez_compressed):  # as others write them
        save(file, **arrays)
        done = subprocess.run([store.unweave, "verify", str(file)], capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"{save.__name__}: {done.stderr}")
    file.write_bytes(whole)


def check_scikit_learn(store):
    if linear_model is None:
        return
    weight = LAMBDA * len(store.rows)
    # liblinear learns a class against the rest and regularises the intercept: the objective of the head logistic.
    learnt = linear_model.LogisticRegression(C=1 / weight, solver="liblinear", tol=1e-10, max_iter=10000)
    learnt.fit(store.rows, store.labels)
    np.savez(store.folder / "sk.npz", coef=learnt.coef_, intercept=learnt.intercept_, classes=learnt.classes_)
    found = store.certify(store.folder / "sk.npz", "--name", "logistic")
    check(found["given"]["gradient_bound"] < 1e-2, f"it is not our objective: {found['given']}")
    check(found["largest_change"] < 1e-3, "finishing moved it far")
    check_exports(store, "logistic")
    arrays, loaded = np.load(store.folder / "m.npz"), linear_model.LogisticRegression()
    loaded.coef_, loaded.intercept_, loaded.classes_ = arrays["coef_"], arrays["intercept_"], arrays["classes_"]
    check((loaded.predict(store.z) == store.says("logistic")).all(), "scikit-learn says another class")
    ridge = linear_model.RidgeClassifier(alpha=weight).fit(store.rows, store.labels)
    np.savez(store.folder / "ridge.npz", coef=ridge.coef_, intercept=ridge.intercept_)
    given = store.certify(store.folder / "ridge.npz", "--head", "least-squares", "--name", "ridge")["given"]
    check(abs(given["accuracy_train"] - ridge.score(store.rows, store.labels)) < 1e-9, "accuracy of a ridge classifier")


def check_two_classes(store):
    """One row speaks for class 1, and means the same under every head."""
    random = np.random.default_rng(2)
    row, intercept = random.normal(size=(1, 12)), random.normal(size=1)
    np.savez(store.folder / "one.npz", coef=row, intercept=intercept)
    said = (store.rows @ row[0] + intercept[0] > 0).astype(int)
    for head, scale in (("logistic", 1), ("least-squares", 1), ("softmax", 0.5)):
        found = store.certify(store.folder / "one.npz", "--head", head, "--name", head)
        check(abs(found["given"]["accuracy_train"] - (said == store.labels).mean()) < 1e-9, f"accuracy by {head}")
        both = scale * np.vstack([-row, row]), scale * np.concatenate([-intercept, intercept])
        check_bound(found["given"]["gradient_bound"], store.gradient_norm(*both, head))
        check_exports(store, head)


def main():
    unweave = sys.argv[1]
    for classes, checks in ((4, (check_descended, check_scikit_learn)), (2, (check_two_classes, check_scikit_learn))):
        with tempfile.TemporaryDirectory() as folder:
            store = Store(unweave, pathlib.Path(folder), classes)
            for one in checks:
                one(store)
    absent = [name for name, module in (("PyTorch", torch), ("scikit-learn", linear_model)) if module is None]
    print("all is as it should be" + "".join(f"; {name} is not installed, and was not tried" for name in absent))


if __name__ == "__main__":
    main()
