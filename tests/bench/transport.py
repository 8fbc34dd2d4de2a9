#!/usr/bin/env python3
# tests/bench/transport.py - accuracy of 16-bit densities (--scale-bits 14) and of features kept in 16 bits
# (--feature-type f16) beside 24 bits and 32-bit features on real graphs.
#
#   python3 tests/bench/transport.py --unweave build/release/unweave --data FOLDER [--sets cora,citeseer,photo,debian]
#
# FOLDER as for removals.py. For each graph, with features normalised row by row and standardised: the median over the
# rows of |Z - Z29| / |Z29|, Z29 being the embedding of 32-bit features at 29 bits, and the accuracy of `train --solver
# retrain` on the test nodes. Prints a Markdown table. Needs numpy and, for .zst, zstd.
import argparse
import json
import pathlib
import shutil
import tempfile

import numpy as np

import real_graphs

LAMBDA = {"cora": 1e-4, "citeseer": 1e-4, "photo": 1e-5, "debian": 1e-5}


def embedding(run, store, work, bits):
    run("propagate", store, "--hops", 2, "--weights", "0,0,1", "--rows", "labelled", "--scale-bits", bits)
    nodes = np.flatnonzero(np.load(work / "labels.npy").ravel() >= 0)
    np.save(work / "nodes.npy", nodes.astype(np.int64))
    run("export", store, "--embeddings", work / "z.npy", "--nodes", work / "nodes.npy")
    return np.load(work / "z.npy").astype(np.float64)


def rows_of(args, name):
    folder = real_graphs.folder_of(name, args.data)
    work = pathlib.Path(tempfile.mkdtemp(prefix="transport-", dir=args.work))
    run = real_graphs.runner(args.unweave)
    split, _ = real_graphs.splits(name, folder, work)
    sources = real_graphs.import_arguments(name, folder, split)
    np.save(work / "labels.npy", real_graphs.load(real_graphs.find(folder, "labels.npy")))
    lines = []
    for form, options in (("by row", []), ("standardised", ["--standardize"])):
        if name == "debian" and options:
            continue  # dense standardised columns say nothing here
        store = work / "store"
        shutil.rmtree(store, ignore_errors=True)
        run("import", store, *sources, *options)
        exact = embedding(run, store, work, 29)
        norms = np.linalg.norm(exact, axis=1)
        errors, accuracies = [], []
        for bits, kept in ((24, "f32"), (14, "f32"), (24, "f16")):
            if kept == "f16":
                shutil.rmtree(store)
                run("import", store, *sources, *options, "--feature-type", kept)
            z = embedding(run, store, work, bits)
            error = np.linalg.norm(z - exact, axis=1)[norms > 0] / norms[norms > 0]
            model = json.loads(run("train", store, "--no-intercept", "--solver", "retrain", "--lambda", LAMBDA[name], "--json"))
            errors.append(f"{np.median(error):.1e}")
            accuracies.append(f"{100 * model['accuracy_test']:.2f}")
        lines.append("| " + " | ".join([name, form, *errors, *accuracies]) + " |")
    shutil.rmtree(work)
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--sets", default="cora,citeseer,photo,debian")
    parser.add_argument("--work", help="folder for temporary files")
    args = parser.parse_args()
    forms = ("24 bits", "14 bits", "24 bits, f16")
    print("| " + " | ".join(["graph", "features", *(f"{what}, {form}" for what in ("error", "accuracy") for form in forms)]) +
          " |")
    print("|---" * 8 + "|")
    for name in args.sets.split(","):
        for line in rows_of(args, name):
            print(line, flush=True)


if __name__ == "__main__":
    main()
