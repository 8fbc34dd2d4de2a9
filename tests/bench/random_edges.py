#!/usr/bin/env python3
# tests/bench/random_edges.py - requests that remove random edges of a store, for `stream --requests`.
#
#   python3 tests/bench/random_edges.py --unweave build/release/unweave --store S --count 15000 [--seed 0] > requests.txt
#
# Drawn uniformly, none twice. Needs numpy and 16 bytes an edge of disk for a temporary file.
import argparse
import pathlib
import tempfile

import numpy as np

import real_graphs


def removals(run, store, count, seed=0):
    """`count` lines `edge U V`."""
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name) / "edges.npy"
        run("export", store, "--edges", file, "--quiet")
        edges = np.load(file, mmap_mode="r")
        chosen = np.random.default_rng(seed).choice(len(edges), count, replace=False)
        return [f"edge {u} {v}" for u, v in edges[chosen]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--store", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print("\n".join(removals(real_graphs.runner(args.unweave), args.store, args.count, args.seed)))


if __name__ == "__main__":
    main()
