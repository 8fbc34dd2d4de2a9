#!/usr/bin/env python3
# tests/bench/transport.py - accuracy of 16-bit densities (--scale-bits 14) beside 24 bits on real graphs.
#
#   python3 tests/bench/transport.py --unweave build/release/unweave --data FOLDER [--sets cora,citeseer,photo,debian]
#
# FOLDER as for removals.py. For each graph, with features normalised row by row and standardised: the median over the
# rows of |Z - Z29| / |Z29|, Z29 being the embedding at 29 bits, and the accuracy of `train --solver retrain` on the test
# nodes. Prints a Markdown table. Needs numpy and, for .zst, zstd.
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import removals

LAMBDA = {"cora": 1e-4, "citeseer": 1e-4, "photo": 1e-5, "debian": 1e-5}


def embedding(run, store, work, bits):
    run("propagate", store, "--hops", 2, "--weights", "0,0,1", "--rows", "labelled", "--scale-bits", bits)
    nodes = np.flatnonzero(np.load(work / "labels.npy").ravel() >= 0)
    np.save(work / "nodes.npy", nodes.astype(np.int64))
    run("export", store, "--embeddings", work / "z.npy", "--nodes", work / "nodes.npy")
    return np.load(work / "z.npy").astype(np.float64)


def rows_of(args, name):
    folder = {"photo": args.data / "amazon-photo" if args.data else None,
              "debian": removals.PROJECT / "tests/data/debian-deps"}.get(name, args.data / name if args.data else None)
    work = pathlib.Path(tempfile.mkdtemp(prefix="transport-", dir=args.work))

    def run(*words):
        done = subprocess.run([args.unweave, *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout

    split, _ = removals.splits(name, folder, work)
    np.save(work / "labels.npy", removals.load(removals.find(folder, "labels.npy")))
    indices = removals.load(removals.find(folder, "feat_indices.npy"))
    meta = json.loads((folder / "meta.json").read_text()) if (folder / "meta.json").exists() else {}
    columns = meta.get("features", {"debian": 2575}.get(name, int(indices.max()) + 1))
    values = removals.find(folder, "feat_values.npy")
    features = (f"indptr={removals.find(folder, 'feat_indptr.npy')},"
                f"indices={removals.find(folder, 'feat_indices.npy')}" + (f",values={values}" if values else ""))
    lines = []
    for form, options in (("by row", []), ("standardised", ["--standardize"])):
        if name == "debian" and options:
            continue  # dense standardised columns say nothing here
        store = work / "store"
        shutil.rmtree(store, ignore_errors=True)
        run("import", store, "--edges", removals.find(folder, "edges.tsv"), "--features", features, "--columns", columns,
            "--labels", work / "labels.npy", "--split", split, *options)
        exact = embedding(run, store, work, 29)
        norms = np.linalg.norm(exact, axis=1)
        figures = {}
        for bits in (24, 14):
            z = embedding(run, store, work, bits)
            error = np.linalg.norm(z - exact, axis=1)[norms > 0] / norms[norms > 0]
            model = json.loads(run("train", store, "--solver", "retrain", "--lambda", LAMBDA[name], "--json"))
            figures[bits] = np.median(error), 100 * model["accuracy_test"]
        lines.append(f"| {name} | {form} | {figures[24][0]:.1e} | {figures[14][0]:.1e} | "
                     f"{figures[24][1]:.2f} | {figures[14][1]:.2f} |")
    shutil.rmtree(work)
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--sets", default="cora,citeseer,photo,debian")
    parser.add_argument("--work", help="folder for temporary files")
    args = parser.parse_args()
    print("| graph | features | error, 24 bits | error, 14 bits | accuracy, 24 bits | accuracy, 14 bits |")
    print("|---|---|---|---|---|---|")
    for name in args.sets.split(","):
        for line in rows_of(args, name):
            print(line, flush=True)


if __name__ == "__main__":
    main()
