#!/usr/bin/env python3
# tests/bench/outside_loop.py - sweeps beside a loop over uncompressed lists that shares no line with the engine, in turns.
#
#   python3 tests/bench/outside_loop.py --unweave build/release/unweave [--scale 20] [--features 128] [--repeat 3] [--threads 2]
#
# Compiles outside_loop.cpp for this machine, generates the R-MAT store, and `repeat` times runs the loop with several look-aheads, also
# with its sums written to a file, `unweave_bench gather` and `propagate`. Prints a Markdown table of G arc-features a second, and what part they
# are of the best loop that does the same. Needs numpy, g++ and 3 x nodes x features x 4 bytes of memory.
import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

import real_graphs
import rmat

LINES = (0, 96, 256, 512)  # look-aheads of the loop, in cache lines


def lists(edges, nodes):
    """The graph as uncompressed lists of neighbours: offsets and targets."""
    source, target = np.concatenate([edges[:, 0], edges[:, 1]]), np.concatenate([edges[:, 1], edges[:, 0]])
    order = np.argsort(source * nodes + target, kind="stable")
    return np.concatenate([[0], np.cumsum(np.bincount(source, minlength=nodes))]).astype(np.uint64), target[order].astype(np.uint32)


def main():
    parser = argparse.ArgumentParser()
    rmat.add_arguments(parser, "runs of everything")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    run, bench = real_graphs.runner(args.unweave), real_graphs.limits_of(args.unweave)
    with tempfile.TemporaryDirectory(prefix="outside-", dir=args.work) as name:
        work = pathlib.Path(name)
        store, copy, loop = work / "store", work / "copy", work / "loop"
        subprocess.run(["g++", "-std=c++20", "-O3", "-march=native", "-pthread", pathlib.Path(__file__).with_suffix(".cpp"), "-o", loop], check=True)
        rmat.generate(run, args, store)
        run("export", store, "--edges", work / "edges.npy")
        offsets, targets = lists(np.load(work / "edges.npy"), json.loads(run("info", store, "--json"))["nodes"])
        offsets.tofile(work / "offsets")
        targets.tofile(work / "targets")
        del offsets, targets
        rates = {}
        for _ in range(args.repeat):
            for ahead, written in [(ahead, False) for ahead in LINES] + [(256, True)]:
                words = [loop, work / "offsets", work / "targets", str(args.features), str(args.threads), str(ahead), "3"]
                done = subprocess.run(words + [work / "sums"] * written, capture_output=True, text=True, check=True)
                rates.setdefault(f"the loop, {ahead} lines ahead{', sums written' * written}", []).append(float(done.stdout.split()[0]))
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(store, copy)
            report = json.loads(run("propagate", copy, "--hops", args.hops, "--rows", "all", "--threads", args.threads, "--json"))
            rates.setdefault("`propagate`, its sweep with sums written", []).append(report["arc_features_per_second"])
            gather = json.loads(bench("gather", "--scale", args.scale, "--edge-factor", args.edge_factor, "--features", args.features, "--hops", args.hops,
                                    "--threads", args.threads, "--repeats", "3", "--json"))
            rates.setdefault("`unweave_bench gather`, its sweep", []).append(gather["sweep_arc_features_per_second"])
            rates.setdefault("`unweave_bench gather`, its own loop", []).append(gather["limit_arc_features_per_second"])
        best = {written: max(np.median(some) for what, some in rates.items() if what.startswith("the loop") and ("written" in what) == written)
                for written in (False, True)}
        print("| what | G arc-features/s, runs | median | of the loop that does the same |\n|---|---|---|---|")
        for what, some in rates.items():
            print(f"| {what} | {', '.join(f'{rate / 1e9:.1f}' for rate in some)} | {np.median(some) / 1e9:.1f} | {np.median(some) / best['written' in what]:.2f} |")


if __name__ == "__main__":
    main()
