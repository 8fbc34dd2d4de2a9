#!/usr/bin/env python3
# tests/bench/propagation.py - propagation and its updates on an R-MAT graph, each beside the machine's limit of that run.
#
#   python3 tests/bench/propagation.py --unweave build/release/unweave [--scale 20] [--features 128] [--repeat 3]
#
# Generates the store, then `repeat` times, each on a fresh copy: propagates it with 32-bit and 16-bit normalised features, and streams random removals (seed 0) in batches of 5,000, 100 and 1, exactly
# and lazily. Then the store's size and decoding, and an import of its edges. Prints a Markdown table; a sweep is the one
# of the same repeat. Needs numpy and about six times the store on disk.
import argparse
import json
import pathlib
import re
import shutil
import tempfile

import numpy as np

import random_edges
import real_graphs
import rmat

BATCHES = ((5000, 3, []), (100, 5, []), (1, 300, []), (1, 300, ["--r-max", "1e-3"]))  # size, batches, options


def repeat(run, args, store, work, lines):
    """Figures of one repeat, by name."""
    copy = work / "copy"

    def fresh():
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(store, copy)

    def propagate(*more):
        return json.loads(run("propagate", copy, "--hops", args.hops, "--rows", "all", "--json", *more))

    fresh()
    short = propagate("--scale-bits", 14)
    figures = {"propagate": propagate(), "short": short}
    for size, count, options in BATCHES:
        fresh()
        (work / "requests.txt").write_text("\n".join(lines[: size * count]) + "\n")
        remarks = []
        out = run("stream", copy, "--requests", work / "requests.txt", "--batch", size, "--json", *options, remarks=remarks)
        key = "lazy" if options else size
        figures[key] = [json.loads(line) for line in out.splitlines()]
        figures[key, "end"] = re.search(r"rows in ([^,]+)", remarks[0]).group(1)
    return figures


def seconds(batches):
    return " ".join(f"{batch['seconds_propagate']:.2f}" for batch in batches)


def main():
    parser = argparse.ArgumentParser()
    rmat.add_arguments(parser, "runs of everything")
    args = parser.parse_args()
    run, bench = real_graphs.runner(args.unweave), real_graphs.limits_of(args.unweave)
    with tempfile.TemporaryDirectory(prefix="propagation-", dir=args.work) as name:
        work = pathlib.Path(name)
        store = work / "store"
        rmat.generate(run, args, store)
        run("propagate", store, "--hops", args.hops, "--rows", "all", "--quiet")
        gather = json.loads(bench("gather", "--scale", args.scale, "--features", args.features, "--json"))
        lines = random_edges.removals(run, store, max(size * count for size, count, _ in BATCHES))
        repeats = [repeat(run, args, store, work, lines) for _ in range(args.repeat)]
        decode = json.loads(bench("decode", store, "--threads", 1, "--json"))
        run("export", store, "--edges", work / "edges.npy", "--quiet")
        plain, degree = (json.loads(run("import", work / order, "--edges", work / "edges.npy", "--memory", "256M",
                                        "--order", order, "--json")) for order in ("none", "degree"))

    def sweeps(figures, key):
        sweep = figures["propagate"]["sweep_seconds"]
        return " ".join(f"{batch['seconds_propagate'] / sweep:.2f}" for batch in figures[key])

    def each(text):
        return "; ".join(text(figures) for figures in repeats)

    print("| what | figure | against |\n|---|---|---|")
    print(f"| limit: uncompressed gather | {gather['limit_arc_features_per_second'] / 1e9:.2f} G arc·features/s | |")
    print(f"| sweep in memory, uncompressed lists | {gather['sweep_arc_features_per_second'] / 1e9:.2f} G | "
          f"{gather['ratio']:.2f} of the limit |")
    print(f"| propagate, sums of all levels written | sweep {each(lambda f: format(f['propagate']['sweep_seconds'], '.2f'))}"
          f" s; command {each(lambda f: format(f['propagate']['seconds'], '.1f'))} s | "
          f"{each(lambda f: format(f['propagate']['arc_features_per_second'] / gather['limit_arc_features_per_second'], '.2f'))} of the limit |")
    print(f"| the same with 16-bit normalised features | sweep {each(lambda f: format(f['short']['sweep_seconds'], '.2f'))} s | "
          + each(lambda f: format(f["propagate"]["sweep_seconds"] / f["short"]["sweep_seconds"], ".2f"))
          + " times the 32-bit rate |")
    for size, _, options in BATCHES[:-1]:
        if size == 1:
            exact = each(lambda f: format(1e3 * np.median([b["seconds_propagate"] for b in f[1]]), ".1f"))
            print(f"| 1 edge, exact | {exact} ms median of {len(repeats[0][1])}; at the end "
                  f"{each(lambda f: f[1, 'end'])} | {int(np.median([b['rows_touched'] for b in repeats[0][1]])):,} rows |")
            continue
        what = f"{size:,} edges"
        print(f"| {what}, exact | {each(lambda f: seconds(f[size]))} s; at the end {each(lambda f: f[size, 'end'])} | "
              f"{each(lambda f: sweeps(f, size))} sweeps |")
    median = each(lambda f: format(1e3 * np.median([b["seconds_propagate"] for b in f["lazy"]]), ".1f"))
    rows = int(np.median([batch["rows_touched"] for batch in repeats[0]["lazy"]]))
    print(f"| 1 edge, lazy, `--r-max 1e-3` | {median} ms median of {len(repeats[0]['lazy'])}; at the end "
          f"{each(lambda f: f['lazy', 'end'])} | {rows:,} rows |")
    print(f"| graph at rest | {plain['bits_per_arc']:.2f} bits an arc, {degree['bits_per_arc']:.2f} by degree | |")
    print(f"| decoding, one thread | {decode['decode_arcs_per_second']['one_thread'] / 1e9:.2f} G arcs/s, encoding "
          f"{decode['encode_arcs_per_second']['one_thread'] / 1e6:.0f} M | {decode['ratio']['one_thread']:.2f} of "
          "uncompressed ids from memory |")
    print(f"| import of its {plain['edges_read'] / 1e6:.1f} M edges, `.npy`, 256M | {plain['seconds']:.1f} s | "
          f"{plain['peak_anonymous_bytes'] / 2**20:.0f} MiB |")


if __name__ == "__main__":
    main()
