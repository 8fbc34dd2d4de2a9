#!/usr/bin/env python3
# tests/bench/python.py - the Python package beside the command line, on the same arrays: what the way through Python costs.
#
#   PYTHONPATH=build/release/tools/python python3 tests/bench/python.py --unweave build/release/unweave --features 64 --repeat 5
#
# An R-MAT graph is written as .npy files. Each step is done by both in turn, each time in a process of its own, and the command line
# maps the files that Python maps: import of edges and features, propagation, a batch of random removals, all rows of Z read.
# Python's time is that of the call, since a session lives for many of them; what it takes to start and to load the package is told
# beside it. Prints a Markdown table of medians of wall-clock time, and their ratio.
import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import real_graphs
import rmat

BEFORE = """
import time
started = time.monotonic()
import numpy as np, unweave
loaded = time.monotonic()
"""
AFTER = """
print(loaded - started, time.monotonic() - loaded)
"""
PYTHON = {
    "import": """
unweave.import_store("{store}", np.load("{edges}", mmap_mode="r"), np.load("{features}", mmap_mode="r"), nodes={nodes})
""",
    "propagate": """
unweave.Store("{store}").propagate({hops})
""",
    "stream": """
with unweave.Store("{store}").stream() as stream:
    stream.send(open("{requests}").read().splitlines())
""",
    "read rows": """
unweave.Store("{store}").embeddings(out="{out}")
""",
}


def main():
    parser = argparse.ArgumentParser()
    rmat.add_arguments(parser, "turns of both ways")
    args = parser.parse_args()
    run = real_graphs.runner(args.unweave)
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        work = pathlib.Path(folder)
        rmat.generate(run, args, work / "made")
        run("export", work / "made", "--all", work / "arrays", "--quiet")
        shutil.rmtree(work / "made")
        places = {"edges": work / "arrays" / "edges.npy", "features": work / "arrays" / "features.npy", "nodes": 2**args.scale, "hops": args.hops,
                  "requests": work / "requests.txt", "out": work / "z.npy"}

        def command_line(step, store):
            commands = {
                "import": ["import", store, "--edges", places["edges"], "--features", places["features"], "--nodes", places["nodes"]],
                "propagate": ["propagate", store, "--hops", args.hops],
                "stream": ["stream", store, "--requests", places["requests"], "--batch", 1000],
                "read rows": ["export", store, "--embeddings", places["out"]],
            }
            begin = time.monotonic()
            run(*commands[step], "--quiet")
            return time.monotonic() - begin

        starts = []

        def python(step, store):
            program = BEFORE + PYTHON[step].format(store=store, **places) + AFTER
            told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
            start, call = map(float, told.split())
            starts.append(start)
            return call

        times = {(step, way): [] for step in PYTHON for way in (command_line, python)}
        for turn in range(args.repeat):
            for way in (command_line, python) if turn % 2 == 0 else (python, command_line):
                store = work / "store"
                for step in PYTHON:
                    if step == "stream":
                        run("export", store, "--requests", places["requests"], "--draw", "edge", "--count", 1000, "--seed", turn)
                    places["out"].unlink(missing_ok=True)
                    times[step, way].append(way(step, store))
                shutil.rmtree(store)
        print("| step | command line s | Python s | ratio |\n|---|---|---|---|")
        for step in PYTHON:
            first, second = (statistics.median(times[step, way]) for way in (command_line, python))
            print(f"| {step} | {first:.3g} | {second:.3g} | {second / first:.3f} |")
        print(f"\nLoading NumPy and the package takes {statistics.median(starts):.2g} s a session.")


if __name__ == "__main__":
    main()
