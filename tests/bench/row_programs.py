#!/usr/bin/env python3
# tests/bench/row_programs.py - what rows of several programs reach, on several splits.
#
#   UNWEAVE_DATA=FOLDER python3 tests/bench/row_programs.py --unweave build/release/unweave [--only NAME ...] [--splits 10]
#
# Prints a table: mean and standard deviation of the test accuracy (tolokers: area under the curve) over the splits, and the seconds of
# the training.
import argparse
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np

PROGRAMS = [("levels", []), ("stack", ["--rows-of", "stack"]), ("stack, labels", ["--rows-of", "stack,labels", "--scale-rows", "unit"]),
            ("lift", ["--rows-of", "stack", "--lift", "1024"]), ("labels, lift", ["--rows-of", "stack,labels,degree", "--lift", "1024"]),
            ("auto", ["--rows-of", "auto"])]
WIDE = ("amazon-photo", "cora")  # of so many columns that a lift gains nothing
DATA = {"tolokers": "auc", "amazon-photo": "accuracy", "cora": "accuracy", "fashion-mnist": "accuracy"}


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", default="unweave")
    parser.add_argument("--only", nargs="*", default=list(DATA))
    parser.add_argument("--splits", type=int, default=10)
    given = parser.parse_args()
    data = pathlib.Path(os.environ["UNWEAVE_DATA"])
    print("| data | " + " | ".join(name for name, _ in PROGRAMS) + " |\n|" + "---|" * (len(PROGRAMS) + 1))
    for name in given.only:
        folder, reached, seconds = data / name, {}, {}
        for seed in range(given.splits):
            with tempfile.TemporaryDirectory() as work:
                work = pathlib.Path(work)
                labels, words_of_import = read(folder, work)
                for split, nodes in zip(("train", "valid", "test"), splits_of(name, folder, labels, seed)):
                    np.save(work / f"{split}.npy", np.sort(nodes).astype(np.int64))
                run(given.unweave, "import", work / "s", *words_of_import, "--classes", int(labels.max()) + 1, "--split", ",".join(f"{split}={work / split}.npy" for split in ("train", "valid", "test")))
                run(given.unweave, "propagate", work / "s", "--hops", 0 if name == "fashion-mnist" else 2, "--rho", 1)
                for program, words in PROGRAMS:
                    if "--lift" in words and name in WIDE:
                        continue
                    start = time.time()
                    run(given.unweave, "train", work / "s", "--lambda", "auto", *words)
                    seconds.setdefault(program, []).append(time.time() - start)
                    found = run(given.unweave, "evaluate", work / "s")
                    reached.setdefault(program, []).append(
                        found["metrics"]["test"]["macro_auc"] if DATA[name] == "auc" else found["accuracy_test"])
        cells = ["" if program not in reached else f"{100 * statistics.mean(reached[program]):.1f} ± {100 * statistics.pstdev(reached[program]):.1f} "
                 f"({statistics.median(seconds[program]):.1f} s)" for program, _ in PROGRAMS]
        print(f"| {name} ({DATA[name]}) | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
