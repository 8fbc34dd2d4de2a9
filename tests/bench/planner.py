#!/usr/bin/env python3
# tests/bench/planner.py - push, recompute, or what the planner takes: what a batch of removals costs each way.
#
#   python3 tests/bench/planner.py --unweave build/release/unweave [--data FOLDER] [--families rmat,...] [--sizes 1,...]
#
# For each family and batch size two batches of random edges (seed 0), then the last level of both, under each plan on a
# fresh copy of one propagated store: plan after plan in turns, `repeat` times, of which the median counts. Each plan lives
# with what it has done before: a recomputation of the first batch leaves the rows of its level in memory for the second.
# Real graphs, from the folder of the data sets, get random features. Prints a JSON line for each family, size and plan;
# then two Markdown tables, of seconds and of what the planner's choice costs against the better of the other two: the worst
# of first batch, second batch, and both with their last level. Needs numpy and 1 GB of disk.
import argparse
import json
import os
import pathlib
import re
import shutil
import tempfile

import numpy as np

import random_edges
import real_graphs

SIZES = "1,10,100,1000,5000,20000,50000"
PLANS = ("push", "recompute", "auto")
PARTS = ("first", "second", "last level", "all")
GENERATED = {
    "rmat": ("--model", "rmat", "--scale", 18, "--edge-factor", 16),
    "sbm": ("--model", "sbm", "--nodes", 300_000, "--edges", 3_000_000, "--classes", 16),
    "citation": ("--model", "citation", "--nodes", 400_000),
}
REAL = ("cnr-2000", "dblp-2010", "ego-twitter", "roads-moscow")


def make_store(run, args, family, work):
    """A propagated store; the labelled rows of the citation model, all rows of the others."""
    store = work / "store"
    if family in GENERATED:
        run("generate", store, *GENERATED[family], "--features", args.features, "--quiet")
    else:
        folder = real_graphs.folder_of(family, args.data)
        nodes = json.loads((folder / "meta.json").read_text())["nodes"]
        np.save(work / "features.npy", np.random.default_rng(0).standard_normal((nodes, args.features), np.float32))
        run("import", store, "--edges", real_graphs.find(folder, "edges.tsv"), "--features", work / "features.npy",
            "--quiet")
    run("propagate", store, "--hops", args.hops, "--rows", "labelled" if family == "citation" else "all", "--quiet")
    return store


def stream(run, args, store, work, size, plan):
    """Seconds of each part, measured and predicted, and the plans of all levels."""
    copy = work / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(store, copy, copy_function=os.link)  # no file of a store is written in place
    remarks = []
    out = run("stream", copy, "--requests", work / "requests.txt", "--batch", size, "--plan", plan, "--memory",
              args.memory, "--json", remarks=remarks)
    batches = [json.loads(line) for line in out.splitlines()]
    last = re.search(r"up to date by (\w+): .* rows in (\S+) s, (\S+) s predicted", remarks[0])
    plans = [" ".join(batch["plan"]) for batch in batches] + [last.group(1) if last else "nothing"]
    seconds = [batch["seconds_propagate"] for batch in batches] + [float(last.group(2)) if last else 0]
    predicted = [batch["seconds_predicted"] for batch in batches] + [float(last.group(3)) if last else 0]
    return dict(zip(PARTS, seconds + [sum(seconds)])), dict(zip(PARTS, predicted + [sum(predicted)])), plans


def measure(run, args, family, size, store, work):
    """One line for each plan."""
    lines = {}
    for turn in range(args.repeat):
        for plan in PLANS[turn % 3:] + PLANS[: turn % 3]:
            seconds, predicted, plans = stream(run, args, store, work, size, plan)
            line = lines.setdefault(plan, {"family": family, "batch": size, "plan": plan, "plans": plans,
                                           "seconds": [], "predicted": predicted})
            line["seconds"].append(seconds)
    for plan in PLANS:
        line = lines[plan]
        line["seconds"] = {part: float(np.median([one[part] for one in line["seconds"]])) for part in PARTS}
        print(json.dumps(line), flush=True)
    return lines


def ratio(lines, part):
    """The planner's choice against the better one."""
    return lines["auto"]["seconds"][part] / min(lines[plan]["seconds"][part] for plan in PLANS[:2])


def worst(lines):
    return max(ratio(lines, part) for part in ("first", "second", "all"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--families", help="by default all, the real graphs only with --data")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--hops", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--memory", default="4G")
    parser.add_argument("--work", help="folder for stores")
    args = parser.parse_args()
    run = real_graphs.runner(args.unweave)
    families = args.families.split(",") if args.families else [*GENERATED, *(REAL if args.data else ())]
    sizes = [int(size) for size in args.sizes.split(",")]
    results = {}
    for family in families:
        with tempfile.TemporaryDirectory(prefix="planner-", dir=args.work) as name:
            work = pathlib.Path(name)
            store = make_store(run, args, family, work)
            requests = random_edges.removals(run, store, 2 * max(sizes))
            for size in sizes:
                (work / "requests.txt").write_text("\n".join(requests[: 2 * size]) + "\n")
                results[family, size] = measure(run, args, family, size, store, work)

    print("\n| graph | batch | push s | recompute s | auto s | predicted | auto takes | "
          + " | ".join(f"{part} ×" for part in PARTS) + " |\n|" + "---|" * (7 + len(PARTS)))
    for (family, size), lines in results.items():
        cells = [family, f"{size:,}"] + [f"{lines[plan]['seconds']['all']:.3f}" for plan in PLANS]
        cells += [f"{lines['auto']['predicted']['all']:.3f}", "; ".join(lines["auto"]["plans"])]
        print("| " + " | ".join(cells + [f"{ratio(lines, part):.2f}" for part in PARTS]) + " |")
    print("\n| graph | " + " | ".join(f"{size:,}" for size in sizes) + " |\n|" + "---|" * (1 + len(sizes)))
    for family in families:
        print(f"| {family} | " + " | ".join(f"{worst(results[family, size]):.2f}" for size in sizes) + " |")


if __name__ == "__main__":
    main()
