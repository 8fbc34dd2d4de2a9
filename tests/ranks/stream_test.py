#!/usr/bin/env python3
"""A stream over 1, 2, 3, 4 and 8 ranks leaves what one process leaves; a killed rank loses nothing that was acknowledged.

    stream_test.py UNWEAVE MPIRUN FAULTS
"""
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from support import ENVIRONMENT, Launcher, check

NODES, COLUMNS, CLASSES = 6000, 24, 8
REQUESTS, BATCH = 10_000, 500


def mixed_requests(edges, count, seed):
    """Lines of every kind, most of which change something."""
    draw = random.Random(seed)
    node = lambda: draw.randrange(NODES)
    row = lambda: " ".join(f"{c}:{draw.uniform(-0.2, 0.2):.4f}" for c in sorted(draw.sample(range(COLUMNS), 6)))

    def edge():
        u, v = draw.choice(edges)
        return f"{u} {v}"

    def pair():
        u, v = draw.sample(range(NODES), 2)
        edges.append((u, v))
        return f"{u} {v}"

    kinds = [(40, lambda: f"edge {edge()}"), (25, lambda: f"insert-edge {pair()}"), (5, lambda: f"edge {edge()} expires 2090-01-01"),
             (8, lambda: f"feature {node()}"), (8, lambda: f"set-feature {node()} {row()}"), (4, lambda: f"node {node()}"),
             (4, lambda: f"set-label {node()} {draw.randrange(CLASSES)}"), (3, lambda: f"move-split {node()} {draw.choice(['train', 'valid', 'test'])}"),
             (3, lambda: f"insert-node {node()} {row()}")]
    lines = []
    for _ in range(count):
        make = draw.choices([make for _, make in kinds], [weight for weight, _ in kinds])[0]
        lines.append(make() + (f" id=T{draw.randrange(count)}" if draw.random() < 0.1 else ""))
    return lines


def digest(mpi, store):
    return json.loads(mpi.alone("info", store, "--digest", "--json"))["digest"]


def stream_words(store, requests, *more):
    return ["stream", store, "--requests", requests, "--batch", BATCH, "--threads", "1", "--json", "--quiet", *more]


def make_store(mpi, folder):
    mpi.alone("generate", folder / "s", "--model", "sbm", "--nodes", NODES, "--features", COLUMNS, "--classes", CLASSES, "--seed", "1", "--quiet")
    mpi.alone("propagate", folder / "s", "--hops", "3", "--rows", "labelled", "--quiet")
    mpi.alone("export", folder / "s", "--all", folder / "all", "--quiet")
    edges = [tuple(map(int, line.split()[:2])) for line in mpi.alone("export", folder / "s", "--requests", "-", "--draw", "edge", "--count", "4000", "--quiet")
             .replace("edge ", "").splitlines()]
    lines = mixed_requests(edges, REQUESTS, 1)
    (folder / "requests").write_text("\n".join(lines) + "\n")
    return lines


def killed(mpi, folder, lines, expected, calls):
    """Kills a rank at one of its calls after another, and goes on with other numbers of ranks."""
    many = folder / "many"
    for rank in range(3):
        for share in (0.1, 0.35, 0.6, 0.8, 0.9, 0.97):
            shutil.copytree(folder / "s", many)
            fault = f"{rank} {int(calls[rank] * share)} kill"
            begin = time.monotonic()
            done = mpi.run(3, *stream_words(many, folder / "requests"), code=None, fault=fault)
            check(time.monotonic() - begin < 60, f"{fault}: the job went on")
            told = [json.loads(line)["last_request"] for line in done.stdout.splitlines() if line.startswith("{")]
            there = json.loads(mpi.alone("info", many, "--json"))["acknowledged"]
            check(there >= max(told, default=0), f"{fault}: {there} requests, but {told[-1:]} were acknowledged")
            (folder / "rest").write_text("".join(line + "\n" for line in lines[there:]))
            mpi.run(random.Random(fault).choice([1, 2, 4]), *stream_words(many, folder / "rest"))
            check(digest(mpi, many) == expected, f"{fault}: another digest")
            mpi.alone("verify", many, "--quiet")
            shutil.rmtree(many)


def main(program, mpirun, faults):
    mpi = Launcher(program, mpirun, faults)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        lines = make_store(mpi, folder)
        shutil.copytree(folder / "s", folder / "one")
        alone = [json.loads(line) for line in mpi.alone(*stream_words(folder / "one", folder / "requests")).splitlines()]
        expected = digest(mpi, folder / "one")
        counts = ["applied", "rejected", "edges_removed", "edges_inserted", "nodes_removed", "features_set", "labels_set", "splits_moved", "nodes_inserted"]
        for name in counts:
            check(sum(batch[name] for batch in alone) > 0, f"no request of {name}")
        for ranks in (1, 2, 3, 4, 8):
            shutil.copytree(folder / "s", folder / "many")
            more = ["--memory", "24M"] if ranks == 3 else []  # generations in the midst
            batches = [json.loads(line) for line in mpi.run(ranks, *stream_words(folder / "many", folder / "requests", *more), calls=folder / "calls").splitlines()]
            check([[batch[name] for name in counts] for batch in batches] == [[batch[name] for name in counts] for batch in alone], f"{ranks} ranks: other counts")
            check(all(batch.get("ranks", 1) == ranks for batch in batches), f"{ranks} ranks: {batches[0]}")
            if ranks > 1:
                print(f"{ranks} ranks: {max(batch['ranks_received_bytes'] for batch in batches)} bytes and "
                      f"{max(batch['ranks_verbs'] for batch in batches)} verbs a batch of {BATCH} at most, all ranks together")
            check(digest(mpi, folder / "many") == expected, f"{ranks} ranks: another digest")
            mpi.alone("verify", folder / "many", "--quiet")
            shutil.rmtree(folder / "many")
            if ranks == 3:
                calls = dict(map(int, line.split()) for line in (folder / "calls").read_text().splitlines()[-3:])
        killed(mpi, folder, lines, expected, calls)

        # What one rank alone finds, and what ranks cannot do, is told once, and the store is as it was.
        for words, code, part in [([*stream_words(folder / "s", folder / "none")], 2, "none"), ([*stream_words(folder / "s", folder / "requests"), "--r-max", "1"], 1, "--r-max"),
                                  ([*stream_words(folder / "s", folder / "requests"), "--changes", folder / "feed"], 1, "--changes"),
                                  ([*stream_words(folder / "s", folder / "requests"), "--solver", "newton"], 1, "--solver")]:
            done = mpi.run(3, *words, code=None)
            said = [line for line in done.stderr.splitlines() if line.startswith("unweave: ")]
            check(len(said) == 1 and part in said[0] and done.returncode == code, f"{words}: {done.returncode} {done.stderr}")
        check(json.loads(mpi.alone("info", folder / "s", "--json"))["acknowledged"] == 0, "a refused stream acknowledged requests")


if __name__ == "__main__":
    main(*sys.argv[1:])
