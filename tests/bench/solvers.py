#!/usr/bin/env python3
# tests/bench/solvers.py - every solver on the same stream of removals, side by side.
#
#   python3 tests/bench/solvers.py --unweave build/release/unweave --data FOLDER [--sets cora,photo] [--solvers newton,langevin]
#
# Data sets and splits as in removals.py; features are normalised row by row. The stream of a data set is drawn once (seed 0):
# batches of 20 edges drawn uniformly, 4 training nodes and 1 training feature each, sent from a file, hence non-adaptive. Each
# solver gets its own copy of the propagated store, and --epsilon, --delta and --lambda alone. Prints a Markdown table a data
# set and JSON lines. Needs numpy and, for .zst, zstd.
import argparse
import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np

import real_graphs

LAMBDA = {"cora": 1e-4, "citeseer": 1e-4, "photo": 1e-5, "coauthor-cs": 1e-4, "debian": 1e-5}
EDGES, NODES, FEATURES = 20, 4, 1


def stream_of(run, store, train, batches, work):
    """Request lines, a batch after the other; no node is named twice."""
    rng = np.random.default_rng(0)
    run("export", store, "--edges", work / "edges.npy", "--quiet")
    edges = np.load(work / "edges.npy")
    edges = edges[rng.choice(len(edges), EDGES * batches, replace=False)]
    nodes = rng.choice(train, (NODES + FEATURES) * batches, replace=False)
    lines = []
    for b in range(batches):
        lines += [f"edge {u} {v}" for u, v in edges[b * EDGES:(b + 1) * EDGES]]
        named = nodes[b * (NODES + FEATURES):(b + 1) * (NODES + FEATURES)]
        lines += [f"node {u}" for u in named[:NODES]] + [f"feature {u}" for u in named[NODES:]]
    return lines


def mean(batches, field):
    return float(np.mean([batch[field] for batch in batches]))


def one_solver(run, solver, store, requests, args, lam):
    options = ("--epsilon", args.epsilon, "--delta", args.delta, "--lambda", lam)
    before = json.loads(run("train", store, "--solver", solver, *options, "--json"))
    out = run("stream", store, "--requests", requests, "--batch", EDGES + NODES + FEATURES, "--solver", solver,
              "--evaluate-every", args.batches, "--json")
    batches = [json.loads(line) for line in out.splitlines()]
    compared = json.loads(run("evaluate", store, "--solver", solver, "--retrain", "--json").splitlines()[0])
    run("verify", store)
    return {"solver": solver, "before": before["accuracy_test"], "after": batches[-1]["accuracy_test"],
            "seconds_train": before["seconds"], "seconds_propagate": mean(batches, "seconds_propagate"),
            "seconds_unlearn": mean(batches, "seconds_unlearn"), "passes": mean(batches, "passes"),
            "passes_train": before["passes"], "retrained": sum(b["retrained"] for b in batches),
            "certified": sum(b["certified"] for b in batches), "batches": len(batches), "claim": batches[-1]["claim"],
            "rows_touched": mean(batches, "rows_touched"), "distance": compared["retrained_distance"],
            "cosine": compared["retrained_cosine"]}


def cells(row):
    claim = row["claim"] if row["certified"] else "no"
    distance = "-" if row["distance"] is None else f"{row['distance']:.3g}"
    return (row["solver"], f"{100 * row['before']:.2f}", f"{100 * row['after']:.2f}", f"{row['seconds_train']:.2f}",
            f"{row['seconds_propagate']:.4f}", f"{row['seconds_unlearn']:.3f}", f"{row['passes']:.0f}",
            f"{row['retrained']} of {row['batches']}", f"{row['certified']} of {row['batches']}", claim, distance)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--sets", default="cora,citeseer,photo,coauthor-cs,debian")
    parser.add_argument("--solvers", default="newton,retrain,langevin,langevin-full,scalegun,cgu,ceu")
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=1)
    parser.add_argument("--delta", type=float, default=1e-4)
    parser.add_argument("--work", help="folder for stores")
    args = parser.parse_args()
    run = real_graphs.runner(args.unweave)
    for name in args.sets.split(","):
        work = pathlib.Path(tempfile.mkdtemp(prefix="solvers-", dir=args.work))
        folder = real_graphs.folder_of(name, args.data)
        split, train = real_graphs.splits(name, folder, work)
        run("import", work / "fresh", *real_graphs.import_arguments(name, folder, split))
        run("propagate", work / "fresh", "--hops", 2, "--weights", "0,0,1", "--rows", "labelled")
        (work / "requests.txt").write_text("\n".join(stream_of(run, work / "fresh", train, args.batches, work)) + "\n")
        print(f"\n{name}, {len(train):,} training rows, λ = {LAMBDA[name]:g}:\n")
        print("| solver | test before | after | training s | propagation s | unlearning s | passes | retrained | certified | by | "
              "from its retrained model |")
        print("|" + "---|" * 11)
        for solver in args.solvers.split(","):
            shutil.copytree(work / "fresh", work / "store")
            row = one_solver(run, solver, work / "store", work / "requests.txt", args, LAMBDA[name])
            shutil.rmtree(work / "store")
            print(json.dumps({"set": name, **row}), file=sys.stderr, flush=True)
            print("| " + " | ".join(cells(row)) + " |", flush=True)
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
