#!/usr/bin/env python3
"""Updates a second, exact and durable, on graphs of the shapes on which Ripple++ reports its own.

    python3 tests/bench/updates.py --unweave build/release/unweave [--shapes arxiv,products] [--solvers none,exact]

Makes a store of the citation model with as many nodes, edges and columns as ogbn-arxiv or ogbn-products, sums two hops of
all rows, and streams removals and insertions of edges and new feature rows, drawn uniformly with seed 0, in batches of
several sizes, each size and kind on a fresh copy. Prints a Markdown table. A batch's time runs from its first request to the
moment when it is durable and applied. Without a solver the last level follows once, at the end: the table has the rate
without and with that. With a solver it follows every batch, and the model with it. One update at a time gives the
percentiles. What the figures mean beside Ripple++'s is said in tools/guide/results/streams.md.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import real_graphs

SHAPES = {
    "arxiv": {"nodes": 169343, "edges": 1166243, "features": 128, "classes": 40},
    "products": {"nodes": 2449029, "edges": 61859140, "features": 100, "classes": 47},
}
KINDS = ("removals", "insertions", "features")
AT_THE_END = re.compile(r"last level brought up to date .* in ([0-9.e-]+) s")


def make_store(run, store, shape):
    run("generate", store, "--model", "citation", "--quiet", *[w for key, value in shape.items() for w in (f"--{key}", value)])
    run("propagate", store, "--hops", 2, "--rows", "all", "--quiet")


def requests(kind, count, edges, shape, rng):
    nodes = shape["nodes"]
    if kind == "removals":
        return [f"edge {u} {v}" for u, v in edges[rng.choice(len(edges), count, replace=False)]]
    if kind == "features":
        values = rng.standard_normal((count, shape["features"])) / np.sqrt(shape["features"])
        chosen = rng.choice(nodes, count, replace=False)
        return [f"set-feature {u} " + " ".join(f"{v:.4f}" for v in row) for u, row in zip(chosen, values)]
    there = set(map(tuple, np.sort(edges, axis=1).tolist()))
    lines = []
    while len(lines) < count:
        # One end as often as edges have it, as where a new edge joins what is much joined already.
        u, v = int(edges[rng.integers(len(edges)), rng.integers(2)]), int(rng.integers(nodes))
        pair = (min(u, v), max(u, v))
        if u == v or pair in there:
            continue
        there.add(pair)
        lines.append(f"insert-edge {u} {v}")
    return lines


def stream(arguments, store, lines, batch, solver, work):
    """Seconds of every batch, seconds of the last level at the end, and how many updates were applied."""
    copy = work / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    subprocess.run(["cp", "-r", "--reflink=auto", str(store), str(copy)], check=True)
    (work / "requests.txt").write_text("\n".join(lines) + "\n", encoding="ascii")
    words = [arguments.unweave, "stream", copy, "--requests", work / "requests.txt", "--batch", batch, "--json"]
    if solver != "none":
        words += ["--solver", solver, "--evaluate-every", 0]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    lines_out = [json.loads(line) for line in done.stdout.splitlines()]
    at_the_end = AT_THE_END.search(done.stderr)
    applied = sum(line["applied"] for line in lines_out)
    return np.array([line["seconds"] for line in lines_out]), float(at_the_end.group(1)) if at_the_end else 0.0, applied


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--shapes", default="arxiv,products")
    parser.add_argument("--solvers", default="none,exact")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--batches", default="1,100,1000,10000")
    parser.add_argument("--updates", type=int, default=20000, help="of a run; 500 at a time at most for batches of one")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, of which the median counts")
    parser.add_argument("--work", help="folder for stores, 4 GB for products")
    arguments = parser.parse_args()
    run = real_graphs.runner(arguments.unweave)
    work = pathlib.Path(tempfile.mkdtemp(prefix="updates-", dir=arguments.work))
    print("| shape | solver | updates | batch | updates/s | with the last level at the end | p50 of a batch | p99 |")
    print("|---|---|---|---|---|---|---|---|")
    for name in arguments.shapes.split(","):
        shape = SHAPES[name]
        store = work / name
        make_store(run, store, shape)
        run("export", store, "--edges", work / "edges.npy", "--quiet")
        edges = np.load(work / "edges.npy")
        for solver in arguments.solvers.split(","):
            if solver != "none":
                run("train", store, "--solver", solver, "--quiet")
            for kind in arguments.kinds.split(","):
                for batch in map(int, arguments.batches.split(",")):
                    count = max(min(arguments.updates, 500 * batch), batch)
                    lines = requests(kind, count, edges, shape, np.random.default_rng(0))
                    rates, wholes, all_seconds = [], [], []
                    for _ in range(arguments.repeat):
                        seconds, at_the_end, applied = stream(arguments, store, lines, batch, solver, work)
                        rates.append(applied / seconds.sum())
                        wholes.append(applied / (seconds.sum() + at_the_end))
                        all_seconds.append(seconds)
                    each = np.concatenate(all_seconds)
                    print(f"| {name} | {solver} | {kind} | {batch:,} | {np.median(rates):,.0f} | {np.median(wholes):,.0f} | "
                          f"{1e3 * np.percentile(each, 50):.3g} ms | {1e3 * np.percentile(each, 99):.3g} ms |", flush=True)
        shutil.rmtree(store)
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
