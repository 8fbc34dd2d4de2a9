#!/usr/bin/env python3
# tests/bench/residues.py - what unpublished residues cost and save, beside Table 3 of Yi and Wei, ScaleGUN.
#
#   python3 tests/bench/residues.py --unweave build/release/unweave --data FOLDER [--sets cora,photo]
#
# Data sets as in removals.py. At each r_max (scaled as the released code does; "exact" is none) a model is trained and 100
# edges drawn uniformly (seed 1) are removed one at a time: scalegun as published (standardised features, the paper's lambda
# and alpha), and newton on rows normalised one by one, whose certificate pays for the residues with half of tau or has them
# flushed. Prints a Markdown table and JSON lines on standard error. Needs numpy and, for .zst, zstd.
import argparse
import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np

import real_graphs

REMOVALS = 100
LEVELS = (1e-3, 1e-5, 1e-7, 1e-9, 1e-10, 1e-15, None)
# The paper's lambda and alpha, and an own public lambda.
SETS = {"cora": (1e-2, 0.1, 1e-4), "citeseer": (1e-2, 0.1, 1e-4), "photo": (1e-4, 3.0, 1e-5)}
HEAD = ("graph", "solver", "r_max", "accuracy before", "after", "propagation s", "unlearning s", "rows touched", "retrained",
        "certified")


def rows_of(run, name, data, work):
    folder = real_graphs.folder_of(name, data)
    paper, alpha, own = SETS[name]
    sources = real_graphs.import_arguments(name, folder, real_graphs.splits(name, folder, work)[0])
    forms = (("scalegun", ["--standardize"], paper, ["--alpha", alpha]), ("newton", [], own, []))
    for solver, standard, lam, options in forms:
        fresh, store = work / solver, work / "store"
        run("import", fresh, *sources, *standard)
        run("propagate", fresh, "--hops", 2, "--weights", "0,0,1")
        run("export", fresh, "--requests", work / "requests.txt", "--draw", "edge", "--count", REMOVALS, "--seed", 1)
        before = json.loads(run("train", fresh, "--no-intercept", "--solver", solver, "--lambda", lam, *options, "--json"))
        for r_max in LEVELS:
            shutil.copytree(fresh, store)
            lazy = () if r_max is None else ("--r-max", r_max, "--r-max-scale", "code")
            out = run("stream", store, "--requests", work / "requests.txt", "--batch", 1, "--solver", solver,
                      "--evaluate-every", REMOVALS, "--json", *lazy)
            batches = [json.loads(line) for line in out.splitlines()]
            mean = {field: float(np.mean([b[field] for b in batches]))
                    for field in ("seconds_propagate", "seconds_unlearn", "rows_touched")}
            yield {"set": name, "solver": solver, "r_max": r_max, "before": before["accuracy_test"],
                   "after": batches[-1]["accuracy_test"], **mean, "retrained": sum(b["retrained"] for b in batches),
                   "certified": sum(b["certified"] for b in batches), "batches": len(batches)}
            shutil.rmtree(store)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--sets", default="cora,photo")
    parser.add_argument("--work", help="folder for stores")
    args = parser.parse_args()
    run = real_graphs.runner(args.unweave)
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
    for name in args.sets.split(","):
        work = pathlib.Path(tempfile.mkdtemp(prefix="residues-", dir=args.work))
        for row in rows_of(run, name, args.data, work):
            print(json.dumps(row), file=sys.stderr, flush=True)
            print(f"| {row['set']} | {row['solver']} | {'exact' if row['r_max'] is None else format(row['r_max'], 'g')} | "
                  f"{100 * row['before']:.2f} | {100 * row['after']:.2f} | {row['seconds_propagate']:.5f} | "
                  f"{row['seconds_unlearn']:.3f} | {row['rows_touched']:,.0f} | {row['retrained']} of {row['batches']} | "
                  f"{row['certified']} of {row['batches']} |", flush=True)
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
