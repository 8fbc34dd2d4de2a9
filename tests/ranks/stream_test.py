#!/usr/bin/env python3
"""A stream over 1, 2, 3, 4 and 8 ranks leaves what one process leaves; a killed rank loses nothing that was acknowledged.

    stream_test.py UNWEAVE MPIRUN FAULTS
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from support import ENVIRONMENT, Launcher, calls_of, check

NODES, COLUMNS, CLASSES = 20_000, 96, 8
REQUESTS, BATCH = 10_000, 500
LITTLE = ["--memory", "17M", "--plan", "push"]  # rows fill the memory of three ranks in the midst of the stream


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
    lines, ids = [], {}
    for _ in range(count):
        make = draw.choices([make for _, make in kinds], [weight for weight, _ in kinds])[0]
        line = make()
        if draw.random() < 0.1:  # an id that comes again stands for the same request
            number = draw.randrange(count)
            line = ids.setdefault(number, f"{line} id=T{number}")
        lines.append(line)
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


def run_killed(mpi, words, fault):
    """What was printed, and how long after the last line the job ended; a job that ends by itself is an error."""
    job = subprocess.Popen(mpi.command(3, *words, fault=fault), env=os.environ | ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    last, told = time.monotonic(), 0
    for line in job.stdout:
        if line.startswith("{"):
            last, told = time.monotonic(), json.loads(line)["last_request"]
    job.stderr.read()
    check(job.wait(timeout=60) != 0, f"{fault}: the job went on")
    return told, time.monotonic() - last


def killed(mpi, folder, lines):
    """Kills a rank at one of its calls after another, some of them in a generation, and goes on with other numbers of ranks."""
    many, requests = folder / "many", folder / "few"
    lines = lines[:4000]
    requests.write_text("".join(line + "\n" for line in lines))
    shutil.copytree(folder / "s", many)
    mpi.run(3, *stream_words(many, requests, *LITTLE), calls=folder / "killed_calls")
    calls = calls_of(folder / "killed_calls")
    expected = digest(mpi, many)
    shutil.rmtree(many)
    longest = 0
    for rank in range(3):
        for share in (0.02, 0.6, 0.97):
            shutil.copytree(folder / "s", many)
            fault = f"{rank} {int(calls[rank] * share)} {'fail' if share == 0.6 else 'kill'}"
            told, seconds = run_killed(mpi, stream_words(many, requests, *LITTLE), fault)
            longest = max(longest, seconds)
            there = json.loads(mpi.alone("info", many, "--json"))["acknowledged"]
            check(there >= told, f"{fault}: {there} requests, but {told} were acknowledged")
            (folder / "rest").write_text("".join(line + "\n" for line in lines[there:]))
            mpi.run(random.Random(fault).choice([1, 2, 4]), *stream_words(many, folder / "rest"))
            check(digest(mpi, many) == expected, f"{fault}: another digest")
            mpi.alone("verify", many, "--quiet")
            shutil.rmtree(many)
    print(f"killed jobs ended {longest:.1f} s after their last line at most", flush=True)


def planned(mpi, folder, lines, ranks, batches):
    """What `plan` says that ranks say for a batch, to the byte, where no generation was made beside it."""
    held = 0
    for number in range(1, len(batches), 3):
        if batches[number]["ranks_verbs"] > 4 * ranks:
            continue
        (folder / "one_batch").write_text("".join(line + "\n" for line in lines[number * BATCH:(number + 1) * BATCH]))
        plan = json.loads(mpi.alone("plan", folder / "s", "--requests", folder / "one_batch", "--batch", BATCH, "--ranks", ranks, "--json"))
        check(plan["verbs"] * ranks == batches[number]["ranks_verbs"], f"{ranks} ranks: {plan} {batches[number]}")
        check(plan["received_bytes"] == batches[number]["ranks_received_bytes"], f"{ranks} ranks: {plan} {batches[number]}")
        held += 1
    check(held > 0, f"{ranks} ranks: every batch has made a generation")


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
            words = stream_words(folder / "many", folder / "requests", *(LITTLE if ranks == 3 else []))
            batches = [json.loads(line) for line in mpi.run(ranks, *words).splitlines()]
            check([[batch[name] for name in counts] for batch in batches] == [[batch[name] for name in counts] for batch in alone], f"{ranks} ranks: other counts")
            check(all(batch.get("ranks", 1) == ranks for batch in batches), f"{ranks} ranks: {batches[0]}")
            if ranks > 1:
                print(f"{ranks} ranks, a batch of {BATCH}: {min(batch['ranks_received_bytes'] for batch in batches)} to "
                      f"{max(batch['ranks_received_bytes'] for batch in batches)} bytes, {min(batch['ranks_verbs'] for batch in batches)} to "
                      f"{max(batch['ranks_verbs'] for batch in batches)} verbs, all ranks together", flush=True)
                planned(mpi, folder, lines, ranks, batches)
            check(digest(mpi, folder / "many") == expected, f"{ranks} ranks: another digest")
            mpi.alone("verify", folder / "many", "--quiet")
            shutil.rmtree(folder / "many")
            if ranks == 3:
                check(max(batch["ranks_verbs"] for batch in batches) > 12, "no generation was made in the midst of the stream")
        killed(mpi, folder, lines)

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
