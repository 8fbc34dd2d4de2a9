#!/usr/bin/env python3
# tests/bench/descend_rewind.py - rewind, descend, langevin and descent-to-delete on one task: epochs against epsilon, the
# noise of the sound mechanisms beside the printed one, distances to retraining beside their bound.
#
#   python3 tests/bench/descend_rewind.py --unweave build/release/unweave --data FOLDER [--set mnist|cora] [--rows 11264]
#
# mnist: digits 3 against 8, pixels of unit rows, FOLDER/mnist/*-ubyte.gz; removals are nodes, nothing moves. Other sets: as in
# removals.py; removals are edges and nodes, and move rows. Counts and noise come from `plan --solver`: nothing is trained for
# them. For the distances the noise is made so small, by a large epsilon, that published weights are the iterates: a
# batch is unlearnt, and on a copy of the store the model is trained again in its slots; what noise is left is told beside the
# distances. Prints Markdown. Needs numpy and, for .zst, zstd.
import argparse
import gzip
import json
import pathlib
import shutil
import tempfile

import numpy as np

import real_graphs

SOLVERS = ("langevin", "descent-to-delete", "rewind", "descend")
QUIET = ("--epsilon", "1e12", "--set", "sigma=2e-9", "--set", "capacity=1", "--set", "retention=1")


def digits(folder, work, rows):
    def read(name, header):
        return np.frombuffer(gzip.open(folder / name).read(), np.uint8, offset=header)

    parts = []
    for part, most in (("train", rows), ("t10k", None)):
        labels = read(f"{part}-labels-idx1-ubyte.gz", 8)
        chosen = np.flatnonzero((labels == 3) | (labels == 8))[:most]
        pixels = read(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 784)[chosen].astype(np.float32)
        parts.append((pixels / np.linalg.norm(pixels, axis=1, keepdims=True), (labels[chosen] == 8).astype(np.int32)))
    train = len(parts[0][1])
    np.save(work / "x.npy", np.concatenate([p[0] for p in parts]))
    np.save(work / "y.npy", np.concatenate([p[1] for p in parts]))
    np.save(work / "train.npy", np.arange(train))
    np.save(work / "test.npy", np.arange(train, train + len(parts[1][1])))
    return ("--features", work / "x.npy", "--labels", work / "y.npy", "--split",
            f"train={work / 'train.npy'},test={work / 'test.npy'}"), np.arange(train)


def published(store, solver):
    """Weights of a model file (storage/FORMAT.md)."""
    data = (store / "models" / f"{solver}.model").read_bytes()
    arrays, text = (int.from_bytes(data[12:16], "little"), int.from_bytes(data[16:24], "little"))
    lengths = np.frombuffer(data, "<u8", arrays, 48)
    return np.frombuffer(data, "<f8", int(lengths[0]), 48 + 8 * arrays + -(-text // 8) * 8)


def table(head, rows):
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    table_rows(rows)


def table_rows(rows):
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def count_text(count):
    return "again" if count is None else f"{count:,}"


def foresee(run, store, lam):
    plans = {s: json.loads(run("plan", store, "--solver", s, "--lambda", lam, "--json", "--quiet")) for s in SOLVERS}
    head = ["solver", "training"] + [f"ε = {row['epsilon']:g}" for row in plans["rewind"]["epsilons"]]
    table(head + ["100 requests", "100 at once"],
          [[f"{s}, {p['unit']}", f"{p['learning']:,}"] + [count_text(row["count"]) for row in p["epsilons"]] +
           [f"{p['totals'][-1]['one_by_one']:,}", f"{p['totals'][-1]['at_once']:,}"] for s, p in plans.items()])
    smoothness = plans["rewind"]["constants"]["smoothness"]
    for solver in ("rewind", "descend"):
        # The printed theorems need this small step; the sound mechanisms take it for the comparison.
        plan = json.loads(run("plan", store, "--solver", solver, "--lambda", lam, "--removed", 10, "--set",
                              f"step-size={0.999 * lam / smoothness ** 2}", "--json", "--quiet"))
        rules = list(plan["noise"][0]["sigma"])
        table([f"{solver}, 10 rows: epochs of {plan['learning']:,}"] + rules,
              [[f"{row['count']:,}"] + ["-" if row["sigma"][r] is None else f"{row['sigma'][r]:.3g}" for r in rules]
               for row in plan["noise"]])


def distances(run, store, lam, batches, work):
    rows = []
    for solver in ("rewind", "descend"):
        one, other, requests = work / "one", work / "other", work / "requests.txt"
        shutil.copytree(store, one)
        run("train", one, "--no-intercept", "--solver", solver, "--lambda", lam, *QUIET)
        for number, batch in enumerate(batches, 1):
            requests.write_text("\n".join(batch) + "\n")
            shutil.copytree(one, other)
            said = json.loads(run("stream", one, "--requests", requests, "--batch", len(batch), "--solver", solver, "--json"))
            run("stream", other, "--requests", requests, "--batch", len(batch))
            requests.write_text("")
            run("stream", other, "--requests", requests, "--solver", solver)  # it missed a batch: trained again in its slots
            apart = np.linalg.norm(published(one, solver) - published(other, solver))
            noise = said["terms"]["sigma"] * np.sqrt(2 * len(published(one, solver)))
            shutil.rmtree(other)
            terms = said["terms"]
            rows.append([solver, number, f"{terms['removed_weight']:.3g}", f"{terms['moved_weight']:.3g}", said["passes"],
                         f"{apart:.3g}", f"{noise:.2g}", f"{said['residual_bound']:.3g}", f"{said['budget']:.3g}",
                         "yes" if said["retrained"] else "no", f"{said['seconds_unlearn']:.3f}"])
        shutil.rmtree(one)
    table(["solver", "batch", "removed weight", "moved weight", "epochs", "distance", "noise in it", "bound", "budget",
           "retrained", "s"], rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--set", default="mnist")
    parser.add_argument("--rows", type=int, default=11264)
    parser.add_argument("--lambda", dest="lam", type=float, default=1e-3)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--work", help="folder for stores")
    args = parser.parse_args()
    run = real_graphs.runner(args.unweave)
    work = pathlib.Path(tempfile.mkdtemp(prefix="descend-rewind-", dir=args.work))
    store, rng = work / "store", np.random.default_rng(0)
    if args.set == "mnist":
        sources, train = digits(args.data / "mnist", work, args.rows)
        edges, hops = [], ("--hops", 0, "--weights", "1")
    else:
        folder = real_graphs.folder_of(args.set, args.data)
        split, train = real_graphs.splits(args.set, folder, work)
        sources, hops = real_graphs.import_arguments(args.set, folder, split), ("--hops", 2, "--weights", "0,0,1")
    run("import", store, *sources)
    run("propagate", store, *hops)
    if args.set != "mnist":
        run("export", store, "--edges", work / "edges.npy", "--quiet")
        edges = rng.permutation(np.load(work / "edges.npy"))[:args.batches]
    nodes = rng.choice(train, args.batches, replace=False)
    batches = [[f"node {u}"] + [f"edge {a} {b}" for a, b in edges[i:i + 1]] for i, u in enumerate(nodes)]
    print(f"{args.set}, {len(train):,} training rows, λ = {args.lam:g}")
    foresee(run, store, args.lam)
    distances(run, store, args.lam, batches, work)
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
