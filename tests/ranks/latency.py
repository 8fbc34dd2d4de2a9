#!/usr/bin/env python3
"""What a delay before every call of MPI adds to shared work, beside what the counts of calls predict; a table on standard output.

    latency.py UNWEAVE MPIRUN FAULTS

It measures seconds and belongs to no test. Medians of five runs each.
"""
import json
import pathlib
import shutil
import statistics
import sys
import tempfile

from support import Launcher, calls_of

RANKS, RUNS = 3, 5
DELAYS = (100, 1000, 10_000)  # microseconds
COMMON = ["--threads", "1", "--json", "--quiet"]


def propagation(mpi, folder):
    """By rows: calls as planned."""
    options = ["--hops", "6", "--rows", "all"]
    mpi.alone("generate", folder / "rows", "--model", "rmat", "--scale", "18", "--edge-factor", "1", "--features", "4", "--seed", "1", "--quiet")
    rounds = json.loads(mpi.alone("plan", folder / "rows", *options, "--ranks", RANKS, "--json"))["rows"]["rounds"]
    seconds = lambda lines: lines[-1]["seconds"]
    return "propagate --share rows", folder / "rows", ["propagate", *options, "--share", "rows"], [], seconds, rounds


def stream(mpi, folder):
    """Batches of 500: calls of a batch as planned, times the batches."""
    store = folder / "stream"
    mpi.alone("generate", store, "--model", "sbm", "--nodes", "20000", "--features", "32", "--seed", "1", "--quiet")
    mpi.alone("propagate", store, "--hops", "2", "--rows", "labelled", "--quiet")
    requests = mpi.alone("export", store, "--requests", "-", "--draw", "edge", "--count", "10000", "--quiet")
    (folder / "requests").write_text(requests)
    given = ["--requests", folder / "requests", "--batch", "500"]
    plan = json.loads(mpi.alone("plan", store, *given, "--ranks", RANKS, "--json"))
    seconds = lambda lines: sum(line["seconds"] for line in lines if "batch" in line)
    return f"stream, {plan['batches']} batches", store, ["stream"], given, seconds, plan["rounds"] * plan["batches"]


def training(mpi, folder):
    """Newton: calls of a sum as planned, times the sums that were made, and what rank 0 calls beside them."""
    store = folder / "training"
    mpi.alone("generate", store, "--model", "sbm", "--nodes", "20000", "--features", "32", "--seed", "3", "--quiet")
    mpi.alone("propagate", store, "--hops", "2", "--quiet")
    words = ["train", "--solver", "newton", "--seed", "4"]
    shutil.copytree(store, folder / "counted")
    mpi.run(RANKS, words[0], folder / "counted", *words[1:], *COMMON, calls=folder / "calls")
    shutil.rmtree(folder / "counted")
    calls = calls_of(folder / "calls")
    # In a sum rank 1 has a call more than rank 0; in the one gather, at the end, 2 RANKS - 4 less.
    sums = calls[1] - calls[0] + 2 * RANKS - 4
    a_sum = json.loads(mpi.alone("plan", store, *words[1:3], "--ranks", RANKS, "--json"))["gradient"]["rounds"]
    return f"train newton, {sums} sums", store, words, [], lambda lines: lines[-1]["seconds"], calls[0] - 4 * sums + a_sum * sums


def main(program, mpirun, faults):
    mpi = Launcher(program, mpirun, faults)
    print("| | calls in a row |" + "".join(f" {delay / 1000:g} ms: predicted, measured |" for delay in DELAYS))
    print("|---|---|" + "---|" * len(DELAYS))
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for work in (propagation, stream, training):
            name, store, words, given, seconds_of, rounds = work(mpi, folder)

            def median(delay):
                seconds = []
                for _ in range(RUNS):
                    shutil.copytree(store, folder / "many")
                    out = mpi.run(RANKS, words[0], folder / "many", *words[1:], *given, *COMMON, fault=f"-1 1 delay {delay}")
                    seconds.append(seconds_of([json.loads(line) for line in out.splitlines()]))
                    shutil.rmtree(folder / "many")
                return statistics.median(seconds)

            alone = median(0)
            print(f"| `{name}`, {alone:.2f} s | {rounds} |" + "".join(f" {rounds * delay / 1e6:.3f} s, {median(delay) - alone:.3f} s |" for delay in DELAYS), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
