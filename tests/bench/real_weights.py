#!/usr/bin/env python3
# tests/bench/real_weights.py - what real weights of 16 bits cost: an import, a sweep and a purge beside
# those of the same graph without weights, bytes an arc, and a stream of requests whose end must have
# the bits of an import.
#
#   python3 tests/bench/real_weights.py --unweave build/release/unweave [--nodes 200000] [--degree 20]
#       [--columns 64] [--repeat 5] [--requests 100000] [--batch 1000] [--threads 0] [--exponent -16]
#       [--memory 1G]
#
# The graph is random, drawn uniformly, and so are the weights, from 1 to 65,535 units. Sweeps of both
# stores alternate, and the fastest of each counts.
import argparse
import json
import pathlib
import random
import subprocess
import tempfile
import time

import numpy as np


def call(program, *words):
    """The JSON that a command prints."""
    text = subprocess.run([program, *map(str, words), "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(text)


def measured(program, *words):
    """The same with seconds, and the most memory beside files, in MiB."""
    start = time.monotonic()
    report = call(program, *words)
    return report, time.monotonic() - start, report["peak_anonymous_bytes"] / 2**20


def draw(folder, nodes, degree, columns, exponent, seed=1):
    """Edges, weights of 16 bits, and features."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, nodes, (nodes * degree // 2, 2), dtype=np.int64)
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    weights = rng.integers(1, 65536, len(ends)) * 2.0**exponent
    np.save(folder / "edges.npy", ends)
    np.save(folder / "weights.npy", weights)
    np.save(folder / "x.npy", (rng.standard_normal((nodes, columns)) / columns).astype(np.float32))
    return ends, weights


def sweeps(args, folder):
    """Sweeps of both stores, in turn; the fastest of each."""
    best = {}
    for _ in range(args.repeat):
        for name in ("plain", "real"):
            report = call(args.unweave, "propagate", folder / name, "--hops", 2, "--rows", "all", "--threads", args.threads,
                          "--memory", args.memory)
            best[name] = min(best.get(name, float("inf")), report["sweep_seconds"])
    return best


def stream(args, folder, ends, weights):
    """Requests that set, insert and remove weights, and a fresh import of what is left: digests of both."""
    present = {tuple(edge): weight for edge, weight in zip(ends.tolist(), weights.tolist())}
    rng = random.Random(7)
    known = list(present)
    lines = []
    while len(lines) < args.requests:
        dice, edge = rng.random(), known[rng.randrange(len(known))]
        value = rng.randint(1, 65535) * 2.0**args.exponent
        if edge not in present:
            lines.append(f"insert-edge {edge[0]} {edge[1]} weight {value}")
            present[edge] = value
        elif dice < 0.5:
            lines.append(f"set-weight {edge[0]} {edge[1]} {value}")
            present[edge] = value
        else:
            lines.append(f"edge {edge[0]} {edge[1]}")
            del present[edge]
    (folder / "requests.txt").write_text("\n".join(lines) + "\n")
    subprocess.run([args.unweave, "stream", folder / "real", "--requests", folder / "requests.txt", "--batch", str(args.batch), "--quiet",
                    "--memory", args.memory], check=True)
    np.save(folder / "left.npy", np.array(list(present), dtype=np.int64))
    np.save(folder / "left_weights.npy", np.array(list(present.values())))
    build(args, folder, "fresh", "left.npy", "left_weights.npy")
    call(args.unweave, "propagate", folder / "fresh", "--hops", 2, "--rows", "all")
    return [call(args.unweave, "info", folder / name, "--digest")["digest"] for name in ("real", "fresh")]


def build(args, folder, name, edges, weights=None):
    """A store of these edges, as measured() tells of its import."""
    words = ["--edges", folder / edges, "--features", folder / "x.npy", "--nodes", args.nodes, "--memory", args.memory]
    if weights:
        words += ["--edge-weights", folder / weights, "--weights", f"unit=2^{args.exponent}"]
    return measured(args.unweave, "import", folder / name, *words)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    for name, value in (("nodes", 200_000), ("degree", 20), ("columns", 64), ("repeat", 5), ("requests", 100_000), ("batch", 1000),
                        ("threads", 0), ("exponent", -16)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--memory", default="1G")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ends, weights = draw(folder, args.nodes, args.degree, args.columns, args.exponent)
        stores = {"plain": build(args, folder, "plain", "edges.npy"), "real": build(args, folder, "real", "edges.npy", "weights.npy")}
        (plain, *of_plain), (real, *of_real) = stores.values()
        print(f"{len(ends)} edges; bytes an arc: {plain['bits_per_arc'] / 8:.2f} without weights, "
              f"{(real['bits_per_arc'] - plain['bits_per_arc']) / 8:.2f} more with them")
        print(f"import: {of_plain[0]:.1f} s and {of_plain[1]:.0f} MiB without weights, {of_real[0]:.1f} s and {of_real[1]:.0f} MiB with")
        best = sweeps(args, folder)
        print(f"sweep of 2 levels: {best['plain']:.3f} s without weights, {best['real']:.3f} s with, {best['real'] / best['plain']:.2f} times")
        if args.requests > 0:
            streamed, fresh = stream(args, folder, ends, weights)
            _, seconds, memory = measured(args.unweave, "purge", folder / "real", "--memory", args.memory)
            print(f"purge after these requests: {seconds:.1f} s and {memory:.0f} MiB")
            print(f"{args.requests} requests: " + ("the bits of a fresh import" if streamed == fresh else f"DIFFERENT: {streamed} {fresh}"))
            raise SystemExit(streamed != fresh)


if __name__ == "__main__":
    main()
