#!/usr/bin/env python3
# tests/bench/row_programs.py - what rows of several programs reach, on several splits.
#
#   UNWEAVE_DATA=FOLDER python3 tests/bench/row_programs.py --unweave build/release/unweave [--only NAME ...] [--splits 10] [--first 0] [--programs NAME ...]
#       [--networks NAME ...] [--without-network]
#
# Prints each split's figures on the standard error as it ends, and then a table: mean and standard deviation of the test accuracy (tolokers: area under the curve) over the splits, and the seconds of
# the training. The last column is a network of 256 hidden units on the rows of the stack (scikit-learn's MLPClassifier, the best of three
# values of alpha on the validation nodes). Networks of the program, which --networks asks for, have 256 hidden units on the same rows,
# and the default lambda unless their name says otherwise.
import argparse
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

PROGRAMS = [("levels", []), ("stack", ["--rows-of", "stack"]), ("stack, labels", ["--rows-of", "stack,labels", "--scale-rows", "unit"]),
            ("lift", ["--rows-of", "stack", "--lift", "1024"]), ("labels, lift", ["--rows-of", "stack,labels,degree", "--lift", "1024"]),
            ("open, labels", ["--rows-of", "stack,open,labels", "--scale-rows", "unit"]),
            ("auto", ["--rows-of", "auto"])]
NETWORKS = {"replay": ["--solver", "replay"], "replay, lambda auto": ["--solver", "replay", "--lambda", "auto"], "retrain": ["--solver", "retrain", "--head", "mlp"],
            "retrain, 150 epochs": ["--solver", "retrain", "--head", "mlp", "--set", "epochs=150", "--set", "decay=0.98"]}
WIDE = ("amazon-photo", "cora", "debian-deps")  # of so many columns that a lift gains nothing
LARGE = ("debian-deps",)  # of so many rows and classes that trials of lambda would take hours: the default
DATA = {"tolokers": "auc", "amazon-photo": "accuracy", "cora": "accuracy", "debian-deps": "accuracy", "fashion-mnist": "accuracy"}


def read(folder, work):
    """The labels, and the options of an import."""
    if folder.name == "fashion-mnist":  # no graph; pixels from 0 to 255
        features = np.frombuffer(gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes())[16:], np.uint8).reshape(-1, 784)
        labels = np.frombuffer(gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes())[8:], np.uint8).astype(np.int64)
        np.save(work / "features.npy", features.astype(np.float32))
        np.save(work / "labels.npy", labels)
        return labels, ["--nodes", len(labels), "--features", work / "features.npy", "--labels", work / "labels.npy"]
    labels = next(folder.glob("labels.npy*"))
    words = ["--edges", next(folder.glob("edges.tsv*")), "--labels", labels]
    dense = next(folder.glob("features.npy*"), None)
    if dense:
        return np.load(labels), [*words, "--features", dense]
    parts = {name: next(folder.glob(f"feat_{name}.npy*"), None) for name in ("indptr", "indices", "values")}
    columns = json.loads((folder / "meta.json").read_text())["features"]
    return np.load(labels), [*words, "--features", ",".join(f"{name}={path}" for name, path in parts.items() if path), "--columns", columns]


def splits_of(name, folder, labels, seed):
    """Published masks where there are ten, else 60, 20 and 20 % of the labelled nodes; of Fashion-MNIST 10,000 training rows."""
    masks = [folder / f"{split}_masks.npy" for split in ("train", "val", "test")]
    if name == "tolokers":
        return [np.flatnonzero(np.load(mask)[seed]) for mask in masks]
    nodes = np.random.default_rng(seed).permutation(np.flatnonzero(labels >= 0))
    if name == "fashion-mnist":
        return nodes[:10_000], nodes[10_000:20_000], nodes[20_000:40_000]
    first, second = int(.6 * len(nodes)), int(.8 * len(nodes))
    return nodes[:first], nodes[first:second], nodes[second:]


def run(unweave, *words):
    done = subprocess.run([unweave, *map(str, words), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def network(unweave, work, labels, metric):
    """What a network reaches on rows of norm 1 of the stack; its score on the test nodes."""
    from sklearn.metrics import roc_auc_score
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    run(unweave, "train", work / "s", "--name", "rows", "--rows-of", "stack", "--scale-rows", "unit")
    rows = {}
    for split in ("train", "valid", "test"):
        subprocess.run([unweave, "export", work / "s", "--rows", work / "rows.npy", "--name", "rows", "--nodes", work / f"{split}.npy"], check=True)
        nodes = np.load(work / f"{split}.npy")
        rows[split] = np.load(work / "rows.npy"), labels[nodes]

    def score(model, split):
        x, y = rows[split]
        return roc_auc_score(y, model.predict_proba(x)[:, 1]) if metric == "auc" else model.score(x, y)
    models = [make_pipeline(StandardScaler(), MLPClassifier((256,), alpha=alpha, early_stopping=True, n_iter_no_change=20, random_state=0)).fit(*rows["train"])
              for alpha in (1e-5, 1e-4, 1e-3)]
    return score(max(models, key=lambda model: score(model, "valid")), "test")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", default="unweave")
    parser.add_argument("--only", nargs="*", default=list(DATA))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the number of the first of them")
    parser.add_argument("--programs", nargs="*", default=[program for program, _ in PROGRAMS])
    parser.add_argument("--networks", nargs="*", default=[])
    parser.add_argument("--without-network", action="store_true")
    given = parser.parse_args()
    columns = [program for program, _ in PROGRAMS if program in given.programs] + given.networks + ([] if given.without_network else ["network"])
    data = pathlib.Path(os.environ["UNWEAVE_DATA"])
    print("| data | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 1))
    for name in given.only:
        folder, reached, seconds = data / name, {}, {}
        for seed in range(given.first, given.first + given.splits):
            with tempfile.TemporaryDirectory() as work:
                work = pathlib.Path(work)
                labels, words_of_import = read(folder, work)
                for split, nodes in zip(("train", "valid", "test"), splits_of(name, folder, labels, seed)):
                    np.save(work / f"{split}.npy", np.sort(nodes).astype(np.int64))
                run(given.unweave, "import", work / "s", *words_of_import, "--classes", int(labels.max()) + 1, "--split", ",".join(f"{split}={work / split}.npy" for split in ("train", "valid", "test")))
                run(given.unweave, "propagate", work / "s", "--hops", 0 if name == "fashion-mnist" else 2, "--rho", 1)
                told = {}
                trained = [(program, [*([] if name in LARGE else ["--lambda", "auto"]), *words]) for program, words in PROGRAMS
                           if program in given.programs and not ("--lift" in words and name in WIDE)]
                trained += [(program, [*NETWORKS[program], "--hidden", "256", "--rows-of", "stack", "--scale-rows", "unit"])
                            for program in given.networks]
                for number, (program, words) in enumerate(trained):
                    start = time.time()
                    run(given.unweave, "train", work / "s", "--name", f"m{number}", *words)
                    seconds.setdefault(program, []).append(time.time() - start)
                    found = run(given.unweave, "evaluate", work / "s", "--name", f"m{number}")
                    told[program] = found["metrics"]["test"]["macro_auc"] if DATA[name] == "auc" else found["accuracy_test"]
                if "network" in columns:
                    start = time.time()
                    told["network"] = network(given.unweave, work, labels, DATA[name])
                    seconds.setdefault("network", []).append(time.time() - start)
            for program, score in told.items():
                reached.setdefault(program, []).append(score)
            print(json.dumps({"data": name, "seed": seed, **told}), file=sys.stderr, flush=True)
        cells = ["" if program not in reached else f"{100 * statistics.mean(reached[program]):.1f} ± {100 * statistics.pstdev(reached[program]):.1f} "
                 f"({statistics.median(seconds[program]):.1f} s)" for program in columns]
        print(f"| {name} ({DATA[name]}) | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
