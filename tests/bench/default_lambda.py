#!/usr/bin/env python3
# tests/bench/default_lambda.py - test accuracy of newton with the default lambda, beside ten fixed values.
#
#   UNWEAVE_DATA=FOLDER python3 tests/bench/default_lambda.py --unweave build/release/unweave [--sets cora,cora-60,...]
#
# A set with -60 takes 60 / 20 / 20 % of the labelled nodes instead of the split that comes with it. "best" is chosen by the test
# nodes themselves; values at which float64 does not reach tau are left out. Prints a row of the table in tools/guide/results/default-lambda.md for each set. NumPy.
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

SETS = "cora,cora-60,citeseer,amazon-photo,amazon-photo-60,amazon-computers,blogcatalog,coauthor-cs,facebook-pages,tolokers"
VALUES = (1e-8, 1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2)


def split_of(data, shares, work):
    """The argument of --split."""
    labels = np.load(data / "labels.npy")
    if shares:
        nodes = np.flatnonzero(labels >= 0)
        np.random.default_rng(0).shuffle(nodes)
        parts = np.split(nodes, [int(0.6 * len(nodes)), int(0.8 * len(nodes))])
    elif (data / "train_masks.npy").exists():  # the first of ten published splits
        parts = [np.flatnonzero(np.load(data / f"{name}_masks.npy")[0]) for name in ("train", "val", "test")]
    else:
        parts = [np.load(data / f"{name}_idx.npy") for name in ("train", "val", "test")]
    for name, nodes in zip(("train", "valid", "test"), parts):
        np.save(work / f"{name}.npy", np.sort(nodes).astype("i8"))
    return ",".join(f"{name}={work / name}.npy" for name in ("train", "valid", "test"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--sets", default=SETS)
    given = parser.parse_args()
    program = str(pathlib.Path(given.unweave).resolve())

    def run(*words, check=True):
        return subprocess.run([program, *map(str, words)], check=check, capture_output=True, text=True)

    print("| data | training nodes | 1e-3 | 0.1 / nodes | best |\n|---|---|---|---|---|")
    for name in given.sets.split(","):
        data = pathlib.Path(os.environ["UNWEAVE_DATA"]) / name.removesuffix("-60")

        def file(stem):
            return next(path for path in (data / f"{stem}", data / f"{stem}.zst") if path.exists())

        with tempfile.TemporaryDirectory() as folder:
            work, store = pathlib.Path(folder), pathlib.Path(folder) / "store"
            columns = []
            if (data / "features.npy.zst").exists():
                features = work / "x.npy"
                subprocess.run(["zstd", "-dqo", features, data / "features.npy.zst"], check=True)
            else:
                features = f"indptr={file('feat_indptr.npy')},indices={file('feat_indices.npy')}"
                if list(data.glob("feat_values.npy*")):
                    features += f",values={file('feat_values.npy')}"
                columns = ["--columns", json.loads((data / "meta.json").read_text())["features"]]
            run("import", store, "--edges", file("edges.tsv"), "--features", features, *columns, "--labels",
                data / "labels.npy", "--split", split_of(data, name.endswith("-60"), work))
            run("propagate", store)

            def accuracy(*options):
                done = run("train", store, "--json", "--quiet", *options, check=False)
                return json.loads(done.stdout) if done.returncode == 0 else {"accuracy_test": -1}

            usual = accuracy()
            fixed = {value: accuracy("--lambda", value)["accuracy_test"] for value in VALUES}
            figures = (fixed[1e-3], usual["accuracy_test"], max(fixed.values()))
            print(f"| {name} | {usual['training_rows']:,} |" + "".join(f" {100 * x:.1f} |" for x in figures), flush=True)


if __name__ == "__main__":
    main()
