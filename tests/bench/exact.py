#!/usr/bin/env python3
# tests/bench/exact.py - exact unlearning against training from nothing, bit for bit, over random batches; and its time beside newton's.
#
#   python3 tests/bench/exact.py --unweave build/release/unweave --data FOLDER [--sets cora,photo] [--batches 100]
#   python3 tests/bench/exact.py --unweave build/release/unweave --data FOLDER --session 6 [--edges 50]
#
# With --session: so many batches in one session, what the first and the later ones read, and their time; of two programs, the one
# after the other.
#
# FOLDER is as for removals.py, and for images.py where mnist is asked for. debian takes a fiftieth of the batches, mnist a tenth.
# A batch holds some random edges, a node and a feature row of training
# nodes (flat data: five nodes). One store follows the stream with `exact`, from the weights that it has published, on all threads. Its
# twin was imported in breadth-first order (flat data: in the same order); it follows without a model and is trained from nothing, on one
# thread every other time. Weights are compared as exported. Prints a Markdown table and JSON lines. Needs numpy and, for .zst, zstd.
import argparse
import json
import pathlib
import shutil
import statistics
import tempfile

import numpy as np

import real_graphs
from images import images

HEADS = ["logistic", "softmax", "least-squares"]


class Twins:
    def __init__(self, args, name, work):
        self.run, self.work = real_graphs.runner(args.unweave), work
        self.warm, self.cold, self.noisy = work / "warm", work / "cold", work / "noisy"
        if name == "mnist":
            self.flat, sources = True, images(args.data / name, work, 60000, 10000)[0]
        else:
            folder = real_graphs.folder_of(name, args.data)
            split, _ = real_graphs.splits(name, folder, work)
            self.flat, sources = False, real_graphs.import_arguments(name, folder, split)
        for store, order in ((self.warm, "none"), (self.cold, "none" if self.flat else "bfs")):
            self.run("import", store, *sources, "--order", order)
            self.run("propagate", store, "--hops", 0 if self.flat else 2, "--weights", "1" if self.flat else "0,0,1")
        shutil.copytree(self.warm, self.noisy)

    def requests(self, number):
        lines = []
        for kind, count in (("node", 5),) if self.flat else (("edge", 25), ("node", 1), ("feature", 1)):
            drawn = self.work / "drawn.txt"
            self.run("export", self.warm, "--requests", drawn, "--draw", kind, "--count", count, "--seed", number)
            lines += drawn.read_text().splitlines()
        path = self.work / "requests.txt"
        path.write_text("\n".join(lines) + "\n")
        return path

    def stream(self, store, requests, *more):
        return json.loads(self.run("stream", store, "--requests", requests, *more, "--json"))

    def weights(self, store):
        out = self.work / "weights.npy"
        out.unlink(missing_ok=True)
        self.run("export", store, "--solver", "exact", "--model", out)
        return np.load(out)


def job(args, name, head):
    work = pathlib.Path(tempfile.mkdtemp(prefix="exact-", dir=args.work))
    twins, run = Twins(args, name, work), real_graphs.runner(args.unweave)
    options = ["--head", head, "--lambda", args.lam]
    run("train", twins.warm, "--solver", "exact", *options)
    run("train", twins.noisy, "--solver", "newton", *options, "--tau", args.tau)
    differing, times = 0, {"exact": [], "newton": [], "training": []}
    batches = max(1, args.batches // {"debian": 50, "mnist": 10}.get(name, 1))
    for number in range(batches):
        requests = twins.requests(number)
        warm = twins.stream(twins.warm, requests, "--solver", "exact")
        times["exact"].append(warm["seconds_unlearn"])
        times["newton"].append(twins.stream(twins.noisy, requests, "--solver", "newton")["seconds_unlearn"])
        twins.stream(twins.cold, requests)
        trained = json.loads(run("train", twins.cold, "--solver", "exact", *options, "--threads", number % 2, "--json"))
        times["training"].append(trained["seconds"])
        differing += int((twins.weights(twins.warm) != twins.weights(twins.cold)).sum())
    middle = {what: statistics.median(seconds) for what, seconds in times.items()}
    shutil.rmtree(work)
    return {"set": name, "head": head, "batches": batches, "differing": differing, **middle,
            "ratio": middle["exact"] / middle["newton"]}


def session(args, name, head):
    work = pathlib.Path(tempfile.mkdtemp(prefix="exact-", dir=args.work))
    twins, run = Twins(args, name, work), real_graphs.runner(args.unweave)
    run("train", twins.warm, "--solver", "exact", "--head", head, *(["--lambda", args.lam] if args.lam else []))
    drawn = work / "drawn.txt"
    run("export", twins.warm, "--requests", drawn, "--draw", "edge", "--count", args.session * args.edges, "--seed", 1)
    said = run("stream", twins.warm, "--requests", drawn, "--batch", args.edges, "--solver", "exact", "--json")
    first, *later = [line for line in map(json.loads, said.splitlines()) if "passes" in line]
    features = json.loads(run("info", twins.warm, "--json"))["features"]
    shutil.rmtree(work)
    return (f"| {name} | {head} | {features} | {first['passes']} | {min(one['passes'] for one in later)}\u2013{max(one['passes'] for one in later)} | "
            f"{first['seconds_unlearn']:.3g} | {statistics.median(one['seconds_unlearn'] for one in later):.3g} |")


def main():
    parser = argparse.ArgumentParser(description="exact unlearning beside training from nothing")
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--sets", default="cora,citeseer,photo,mnist,debian")
    parser.add_argument("--heads", default=",".join(HEADS))
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--session", type=int, help="batches in one session")
    parser.add_argument("--edges", type=int, default=50, help="with --session: in a batch")
    parser.add_argument("--lambda", dest="lam", help="default: 1e-4; with --session the program's")
    parser.add_argument("--tau", default="1e-6", help="of newton; least squares on debian need 2e-6 in float64")
    parser.add_argument("--work", type=pathlib.Path, help="folder for temporary stores")
    args = parser.parse_args()
    if args.session:
        print("| data | head | features | readings, first batch | later ones | seconds, first batch | median of later ones |\n|---|---|---|---|---|---|---|", flush=True)
        for name in args.sets.split(","):
            for head in args.heads.split(","):
                print(session(args, name, head), flush=True)
        return
    args.lam = args.lam or "1e-4"
    print("| data | head | batches | weights that differ | `exact` a batch, s | `newton` a batch, s | ratio | `exact` from nothing, s |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    lines = []
    for name in args.sets.split(","):
        for head in args.heads.split(","):
            lines.append(line := job(args, name, head))
            print(f"| {line['set']} | {line['head']} | {line['batches']} | {line['differing']} | {line['exact']:.3g} | "
                  f"{line['newton']:.3g} | {line['ratio']:.2f} | {line['training']:.3g} |", flush=True)
    for line in lines:
        print(json.dumps(line))


main()
