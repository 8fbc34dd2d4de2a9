#!/usr/bin/env python3
# tests/bench/images.py - flat data: removals from MNIST and Fashion-MNIST, beside what the papers print.
#
#   python3 tests/bench/images.py --unweave build/release/unweave --data FOLDER --table streaming [--sets mnist,fashion-mnist]
#   python3 tests/bench/images.py --unweave build/release/unweave --data FOLDER --table vectors [--rows 1000]
#
# FOLDER/mnist and FOLDER/fashion-mnist hold the usual *-ubyte.gz files. Rows are pixels of unit norm.
#
# streaming: the stream of Shen et al. (section 6.1): 20 rounds of 400 training images drawn at random (seed 0), a softmax head
# over the pixels. Accuracy of retained, forgotten and test rows and the attack's member rate are means over every --every-th round.
# vectors: hessian-free, newton-step and jackknife on the first --rows images (Qiao et al., section 7) in three regimes of
# training, 1, 20 % and 30 % removed: their change of the weights beside that of the run without the rows. Published noise is made small by a large epsilon, so that
# published weights are those without noise. Prints Markdown. Needs numpy.
import argparse
import gzip
import json
import pathlib
import shutil
import tempfile
import time

import numpy as np

import real_graphs
from descend_rewind import published, table


def images(folder, work, rows, tests):
    """The files of a store, and its training nodes."""
    parts = []
    for part, most in (("train", rows), ("t10k", tests)):
        pixels = np.frombuffer(gzip.open(folder / f"{part}-images-idx3-ubyte.gz").read(), np.uint8, offset=16)
        labels = np.frombuffer(gzip.open(folder / f"{part}-labels-idx1-ubyte.gz").read(), np.uint8, offset=8)[:most]
        pixels = pixels.reshape(-1, 784)[:most].astype(np.float32)
        parts.append((pixels / np.linalg.norm(pixels, axis=1, keepdims=True), labels.astype(np.int32)))
    train = len(parts[0][1])
    np.save(work / "x.npy", np.concatenate([p[0] for p in parts]))
    np.save(work / "y.npy", np.concatenate([p[1] for p in parts]))
    np.save(work / "train.npy", np.arange(train))
    np.save(work / "test.npy", np.arange(train, train + len(parts[1][1])))
    return ("--features", work / "x.npy", "--labels", work / "y.npy", "--split",
            f"train={work / 'train.npy'},test={work / 'test.npy'}"), train


def write_requests(path, nodes):
    path.write_text("".join(f"node {node}\n" for node in nodes))
    return path


def percent(values):
    return f"{100 * np.mean(values):.2f}"


def streaming(args, run, work):
    # Shen et al., Table 1, a two-layer CNN: RA, FA, TA, MIA of retrain and of SAFE.
    printed = {"mnist": ("99.68, 98.89, 99.00, 79.25", "99.25, 98.89, 98.58, 79.28"),
               "fashion-mnist": ("96.44, 90.76, 90.40, 79.57", "92.03, 90.88, 89.22, 79.00")}
    rounds, size = 20, 400
    rows = []
    for name in args.sets.split(","):
        folder = work / name
        folder.mkdir()
        sources, train = images(args.data / name, folder, None, None)
        run("import", folder / "store", *sources)
        run("propagate", folder / "store", "--hops", 0, "--weights", 1)
        trained = json.loads(run("train", folder / "store", "--solver", "streaming", "--head", "softmax", "--lambda",
                                 args.lam, "--json"))
        shutil.copytree(folder / "store", folder / "before")
        forgotten = np.random.default_rng(0).choice(train, rounds * size, replace=False)
        seconds, seen = [], {}
        for number in range(rounds):
            requests = write_requests(folder / "requests.txt", forgotten[number * size:(number + 1) * size])
            line = json.loads(run("stream", folder / "store", "--requests", requests, "--batch", size, "--solver",
                                  "streaming", "--json"))
            seconds.append(line["seconds_unlearn"])
            if (number + 1) % args.every:
                continue
            out = run("evaluate", folder / "store", "--solver", "streaming", "--before", folder / "before", "--retrain",
                      "--json")
            for line in map(json.loads, out.splitlines()):
                if line["model"] == "present":
                    seen.setdefault(line["solver"], []).append(line)
        for solver, lines in seen.items():
            values = [percent([line[field] for line in lines])
                      for field in ("accuracy_train", "accuracy_forgotten", "accuracy_test", "mia_member_rate")]
            own = solver == "streaming"
            rows.append((name, solver, *values, f"{np.mean([line['retrained_distance'] for line in lines]):.3f}",
                         f"{np.mean(seconds):.3f} ({trained['seconds']:.1f} before)" if own else "",
                         printed[name][own] if own or solver.endswith("retrained") else ""))
    table(("data", "weights", "RA", "FA", "TA", "MIA", "from retrained", "seconds a round", "printed: RA, FA, TA, MIA"), rows)


def vectors(args, run, work):
    regimes = (("under-trained", 5, 0.1, 0.01), ("medium", 20, 0.3, 0.05), ("converged", 100, 0.5, 0.05))
    sources, train = images(args.data / "mnist", work, args.rows, args.rows * 4 // 10)
    run("import", work / "fresh", *sources)
    run("propagate", work / "fresh", "--hops", 0, "--weights", 1)
    rows = []
    for regime, epochs, step, lam in regimes:
        run_options = ("--set", f"epochs={epochs}", "--set", f"step-size={step}", "--set", "batch-rows=32", "--set", "s-max=1e-6")
        for count in (1, train // 5, train * 3 // 10):
            gone = np.random.default_rng(1).choice(train, count, replace=False)
            requests = write_requests(work / "requests.txt", gone)
            ends = {}
            for solver, options in (("hessian-free", run_options), ("retrained", run_options),
                                    ("newton-step", ()), ("jackknife", ())):
                store = work / "store"
                shutil.copytree(work / "fresh", store)
                of = "hessian-free" if solver == "retrained" else solver
                quiet = ("--head", "softmax", "--lambda", lam, "--epsilon", 1e4, "--delta", 0.5, "--json")
                start = time.perf_counter()
                trained = json.loads(run("train", store, "--solver", of, *quiet, *options))
                whole = time.perf_counter() - start
                before = published(store, of)
                if solver == "retrained":
                    # Removed without the model, which then trains its run again over the slots that are left.
                    run("stream", store, "--requests", requests, "--batch", count, "--json")
                    (work / "none.txt").write_text("node 4000000000\n")
                    line = json.loads(run("stream", store, "--requests", work / "none.txt", "--solver", of, "--json"))
                else:
                    line = json.loads(run("stream", store, "--requests", requests, "--batch", count, "--solver", of,
                                          "--json"))
                size = sum(f.stat().st_size for f in (store / "models" / of).rglob("*")) if (store / "models" / of).is_dir() else 0
                ends[solver] = (published(store, of), before, line, whole, size,
                                json.loads(run("evaluate", store, "--solver", of, "--json"))["accuracy_test"])
                shutil.rmtree(store)
            truth, start_weights = ends["retrained"][0], ends["retrained"][1]
            for solver, (weights, before, line, whole, size, accuracy) in ends.items():
                # newton-step and jackknife start from the minimiser, not from where the run ends: changes are compared.
                moved = truth - start_weights
                change = weights - before
                cosine = change @ moved / max(np.linalg.norm(change) * np.linalg.norm(moved), 1e-300)
                rows.append((regime, f"{count:,}", solver, f"{np.linalg.norm(change - moved):.2e}", f"{cosine:.4f}",
                             f"{100 * accuracy:.2f}", f"{1e3 * line['seconds_unlearn'] / count:.3f}", f"{whole:.1f}",
                             f"{size / 2**20:.1f}" if size else "-"))
            rows.append((regime, f"{count:,}", "nothing", f"{np.linalg.norm(moved):.2e}", "", "", "", "", ""))
    table(("regime", "removed", "weights", "error of the change", "cosine of the changes", "test accuracy",
           "ms a deletion", "training s", "MiB kept"), rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--table", choices=("streaming", "vectors"), required=True)
    parser.add_argument("--sets", default="mnist,fashion-mnist")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--lam", type=float, default=1e-5)
    parser.add_argument("--work", help="folder for stores")
    args = parser.parse_args()
    run = real_graphs.runner(args.unweave)
    with tempfile.TemporaryDirectory(prefix="images-", dir=args.work) as work:
        {"streaming": streaming, "vectors": vectors}[args.table](args, run, pathlib.Path(work))


if __name__ == "__main__":
    main()
