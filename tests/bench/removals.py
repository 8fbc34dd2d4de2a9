#!/usr/bin/env python3
# tests/bench/removals.py - accuracies and seconds of removals on real graphs, beside the published ones.
#
#   python3 tests/bench/removals.py --unweave build/release/unweave --data FOLDER [--sets cora,photo]
#
# FOLDER holds cora/, citeseer/, amazon-photo/ and coauthor-cs/ with edges.tsv, feat_indptr.npy, feat_indices.npy,
# [feat_values.npy], labels.npy, val_idx.npy and test_idx.npy (any file also as .zst); debian-deps is part of the project.
# Splits as in the paper (Yi and Wei, ScaleGUN, section 7): cora and citeseer train on every labelled node outside the published
# validation and test nodes, photo draws 500 and 1,000 nodes at random (seed 0). Needs numpy and, for .zst, zstd.
#
# Two rows a data set: "as published" (standardised features, the paper's lambda, alpha and r_max) and "sound"
# (row-normalised features, an own public lambda, solver newton). Removed edges are drawn uniformly (seed 0), vulnerable ones
# between test nodes of fewer than ten neighbours and neighbours of the same label (Table 1). The first
# 100 removals are sent one at a time and timed, the others in batches of 25. Prints a Markdown table and JSON lines.
import argparse
import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np

import real_graphs

SINGLE = 100

# Published: Table 8 (edges) and Table 7 (features, nodes): accuracy of retrain and of ScaleGUN before and after, total
# seconds a removal of retrain and ScaleGUN.
JOBS = [
    # set, kind, removals, lambda and alpha and r_max of the paper, own lambda, published
    ("cora", "edge", 2000, 1e-2, 0.1, 1e-7, 1e-4, (85.30, 82.40, 84.10, 81.40, 0.74, 0.12)),
    ("cora", "feature", 800, 1e-2, 0.1, 1e-7, 1e-4, (84.90, 81.90, 84.90, 77.83, 0.44, 0.10)),
    ("cora", "node", 800, 1e-2, 0.1, 1e-7, 1e-4, (84.90, 80.10, 84.90, 76.70, 0.44, 0.11)),
    ("citeseer", "edge", 2000, 1e-2, 0.1, 1e-8, 1e-4, (79.30, 77.60, 78.80, 77.10, 0.99, 0.55)),
    ("citeseer", "node", 800, 1e-2, 0.1, 1e-8, 1e-4, None),
    ("citeseer", "feature", 800, 1e-2, 0.1, 1e-8, 1e-4, None),
    ("photo", "node", 800, 1e-4, 3.0, 1e-8, 1e-5, None),
    ("photo", "feature", 800, 1e-4, 3.0, 1e-8, 1e-5, None),
    ("photo", "edge", 2000, 1e-4, 3.0, 1e-8, 1e-5, (91.67, 91.63, 89.93, 89.67, 3.08, 0.07)),
    ("coauthor-cs", "edge", 2000, 1e-4, 0.1, 1e-8, 1e-4, None),
    ("debian", "edge", 2000, 1e-4, 0.1, 1e-8, 1e-5, None),
    ("photo", "vulnerable-edge", 1000, 1e-4, 3.0, 1e-8, 1e-5, None),
    ("coauthor-cs", "vulnerable-edge", 2000, 1e-4, 0.1, 1e-8, 1e-4, None),
    ("debian", "vulnerable-edge", 2000, 1e-4, 0.1, 1e-8, 1e-5, None),
]


def requests(kind, count, store, run, train, work):
    if kind == "vulnerable-edge":
        run("export", store, "--requests", work / "drawn.txt", "--draw", kind, "--count", count, "--seed", 0, "--quiet")
        return (work / "drawn.txt").read_text().splitlines()
    rng = np.random.default_rng(0)
    if kind == "edge":
        run("export", store, "--edges", work / "edges.npy", "--quiet")
        edges = np.load(work / "edges.npy")
        return [f"edge {u} {v}" for u, v in edges[rng.choice(len(edges), count, replace=False)]]
    return [f"{kind} {u}" for u in rng.choice(train, count, replace=False)]


def job(args, name, kind, count, paper_lambda, alpha, r_max, own_lambda, published):
    folder = real_graphs.folder_of(name, args.data)
    work = pathlib.Path(tempfile.mkdtemp(prefix="removals-", dir=args.work))
    run = real_graphs.runner(args.unweave)
    split, train = real_graphs.splits(name, folder, work)
    sources = real_graphs.import_arguments(name, folder, split)

    rows = []
    for form, standard, solver, lam, lazy in (
            ("as published", ["--standardize"], "scalegun", paper_lambda, ["--r-max", r_max, "--r-max-scale", "code"]),
            ("as published", ["--standardize"], "cgu", paper_lambda, []),
            ("as published", ["--standardize"], "retrain", paper_lambda, []),
            ("sound", [], "newton", own_lambda, []),
            ("sound", [], "retrain", own_lambda, [])):
        if args.solvers and solver not in args.solvers.split(","):
            continue
        store = work / "store"
        shutil.rmtree(store, ignore_errors=True)
        run("import", store, *sources, *standard)
        run("propagate", store, "--hops", 2, "--weights", "0,0,1", "--rows", "labelled")
        lines = requests(kind, count, store, run, train, work)
        noise = ["--alpha", alpha] if solver in ("scalegun", "cgu", "ceu") else []
        before = json.loads(run("train", store, "--no-intercept", "--solver", solver, "--lambda", lam, *noise, "--json"))
        batches = []
        single, size = (0, 100) if name == "debian" else (SINGLE, args.batch)
        for first, last, batch in ((0, single, 1), (single, count, size)):
            if first == last:
                continue
            (work / "requests.txt").write_text("\n".join(lines[first:last]) + "\n")
            steps = (last - first + batch - 1) // batch
            out = run("stream", store, "--requests", work / "requests.txt", "--batch", batch, "--solver", solver,
                      "--evaluate-every", steps, "--json", *lazy)
            batches += [json.loads(line) for line in out.splitlines()]
        timed = batches[:SINGLE]
        rows.append({
            "set": name, "kind": kind, "form": form, "solver": solver, "lambda": lam, "removed": count,
            "accuracy_before": before["accuracy_test"], "accuracy_after": batches[-1]["accuracy_test"],
            "seconds_propagate": float(np.mean([b["seconds_propagate"] for b in timed])),
            "seconds_unlearn": float(np.mean([b["seconds_unlearn"] for b in timed])),
            "timed_batch": timed[0]["requests"],
            "retrained": sum(bool(b["retrained"]) for b in batches), "batches": len(batches),
            "certified": sum(bool(b["certified"]) for b in batches), "published": published})
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    shutil.rmtree(work)
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--sets", default="cora,citeseer,photo,coauthor-cs,debian")
    parser.add_argument("--kinds", default="edge,feature,node,vulnerable-edge")
    parser.add_argument("--solvers", default="")
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--work", help="folder for stores")
    args = parser.parse_args()
    print("| graph | removed | form | solver | λ | accuracy before | after | propagation s | unlearning s | retrained | certified | published before → after |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for spec in JOBS:
        if spec[0] not in args.sets.split(",") or spec[1] not in args.kinds.split(","):
            continue
        for row in job(args, *spec):
            there = row["published"]
            said = "" if there is None or row["form"] != "as published" else (
                f"{there[0]} → {there[1]}, {there[4]} s" if row["solver"] == "retrain" else
                f"{there[2]} → {there[3]}, {there[5]} s" if row["solver"] == "scalegun" else
                f"{there[2]} → {there[3]}")
            print(f"| {row['set']} | {row['removed']:,} × {row['kind']} | {row['form']} | {row['solver']} | "
                  f"{row['lambda']:g} | {100 * row['accuracy_before']:.2f} | {100 * row['accuracy_after']:.2f} | "
                  f"{row['seconds_propagate']:.4f} | {row['seconds_unlearn']:.4f} | {row['retrained']} of "
                  f"{row['batches']} | {row['certified']} of {row['batches']} | {said} |", flush=True)


if __name__ == "__main__":
    main()
