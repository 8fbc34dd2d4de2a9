#!/usr/bin/env python3
# tests/bench/images.py - flat data: removals from MNIST and Fashion-MNIST, beside what the papers print.
#
#   python3 tests/bench/images.py --unweave build/release/unweave --data FOLDER --table streaming [--sets mnist,fashion-mnist]
#   python3 tests/bench/images.py --unweave build/release/unweave --data FOLDER --table vectors [--only softmax] [--work /dev/shm]
#
# FOLDER/mnist and FOLDER/fashion-mnist hold the usual *-ubyte.gz files. Rows are pixels of unit norm.
#
# streaming: the stream of Shen et al. (section 6.1): 20 rounds of 400 training images drawn at random (seed 0), a softmax head
# over the pixels. Accuracy of retained, forgotten and test rows and the attack's member rate are means over every --every-th round; the attack
# learns from --attack-rows rows of either kind.
# vectors: hessian-free, newton-step and jackknife on the first --rows images (Qiao et al., section 7) in three regimes of
# training and in that of the paper, and hessian-free for a network of --hidden units; 1, 20 % and 30 % of the rows removed in
# one batch (seed 1). Each model is compared with its own, trained again: hessian-free with its run over the slots that are
# left, the others, which start from the minimiser, with the minimiser on the rows that are left. Noise is made small by a large epsilon,
# so that published weights are those without it. Seconds of training are of the processor, those of a deletion by the clock.
# Prints Markdown. Needs numpy.
import argparse
import gzip
import json
import pathlib
import resource
import shutil
import tempfile

import numpy as np

import real_graphs
from descend_rewind import table, table_rows


# Norm that no image of MNIST exceeds where pixels have mean 0.1307 and deviation 0.3081, with a bias.
PAPER_SCALE = 50


def images(folder, work, rows, tests, as_paper=False):
    """The arguments of import, and the number of training nodes. Rows are pixels of unit norm; else as Qiao et al. have them,
    pixels of mean 0.1307 and deviation 0.3081 and a bias, over PAPER_SCALE."""
    parts = []
    for part, most in (("train", rows), ("t10k", tests)):
        pixels = np.frombuffer(gzip.open(folder / f"{part}-images-idx3-ubyte.gz").read(), np.uint8, offset=16)
        labels = np.frombuffer(gzip.open(folder / f"{part}-labels-idx1-ubyte.gz").read(), np.uint8, offset=8)[:most]
        pixels = pixels.reshape(-1, 784)[:most].astype(np.float32)
        if as_paper:
            pixels = np.hstack([(pixels / 255 - 0.1307) / 0.3081, np.ones((len(pixels), 1), np.float32)]) / PAPER_SCALE
            assert np.linalg.norm(pixels, axis=1).max() < 1
        else:
            pixels /= np.linalg.norm(pixels, axis=1, keepdims=True)
        parts.append((pixels.astype(np.float32), labels.astype(np.int32)))
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
                      "--attack-rows", args.attack_rows, "--json")
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


def kept_bytes(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def vectors(args, run, work):
    run_of = lambda epochs, step: (f"epochs={epochs}", f"step-size={step}", "batch-rows=32", "s-max=1e-6")
    # Paper: lambda 0.5, step 0.05, decay 0.995; ours by the scale that makes its rows no longer than 1.
    paper = run_of(15, 0.05 * PAPER_SCALE**2) + ("decay=0.995",)
    softmax, network = ("--head", "softmax"), ("--head", "mlp", "--hidden", args.hidden)
    cases = (("softmax, under-trained", "unit", softmax, 0.01, run_of(5, 0.1), True),
             ("softmax, medium", "unit", softmax, 0.05, run_of(20, 0.3), True),
             ("softmax, converged", "unit", softmax, 0.05, run_of(100, 0.5), False),
             ("softmax, as the paper", "paper", softmax, 0.5 / PAPER_SCALE**2, paper, True),
             (f"network of {args.hidden}, under-trained", "unit", network, 1e-3, run_of(5, 0.1), False),
             (f"network of {args.hidden}, medium", "unit", network, 1e-3, run_of(20, 0.3), False),
             (f"network of {args.hidden}, converged", "unit", network, 1e-3, run_of(60, 0.5), False))
    head = ("model", "removed", "weights", "distance to retrained", "of doing nothing", "correlation", "test accuracy",
            "ms a deletion", "training, CPU s", "MiB kept")
    table(head, [])
    for name in ("unit", "paper"):
        folder = work / name
        folder.mkdir()
        sources, train = images(args.data / "mnist", folder, args.rows, args.rows * 4 // 10, name == "paper")
        run("import", folder / "fresh", *sources)
        run("propagate", folder / "fresh", "--hops", 0, "--weights", 1)
    for model, data, kind, lam, settings, convex in cases:
        if not model.startswith(args.only):
            continue
        scale = 1 / PAPER_SCALE if data == "paper" else 1
        for solver in ("hessian-free",) + (("newton-step", "jackknife") if convex else ()):
            own = sum((("--set", one) for one in settings), ()) if solver == "hessian-free" else ()
            before, store = work / "before", work / "store"
            shutil.copytree(work / data / "fresh", before)
            start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            run("train", before, "--solver", solver, *kind, "--lambda", lam, "--epsilon", 1e4, "--delta", 0.5, *own)
            seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start
            for count in (1, train // 5, train * 3 // 10):
                shutil.copytree(before, store)
                gone = np.random.default_rng(1).choice(train, count, replace=False)
                line = json.loads(run("stream", store, "--requests", write_requests(work / "requests.txt", gone), "--batch",
                                      count, "--solver", solver, "--json"))
                seen = {of["model"]: of for of in map(json.loads, run(
                    "evaluate", store, "--solver", solver, "--retrain", "--before", before, "--attack-rows", 0,
                    "--json").splitlines())}
                correlation = seen["present"]["loss_change_pearson"]
                vectors_kept = before / "models" / solver
                table_rows([(model, f"{count:,}", solver, f"{scale * seen['present']['retrained_distance']:.2e}",
                             f"{scale * seen['before']['retrained_distance']:.2e}",
                             "-" if correlation is None else f"{correlation:.4f}",
                             percent([seen["present"]["accuracy_test"]]),
                             f"{1e3 * line['seconds_unlearn'] / count:.3f}", f"{seconds:.2f}",
                             f"{kept_bytes(vectors_kept) / 2**20:.1f}" if vectors_kept.is_dir() else "-")])
                shutil.rmtree(store)
            shutil.rmtree(before)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--table", choices=("streaming", "vectors"), required=True)
    parser.add_argument("--sets", default="mnist,fashion-mnist")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--only", default="", help="models of this beginning")
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--attack-rows", type=int, default=4000)
    parser.add_argument("--lam", type=float, default=1e-5)
    parser.add_argument("--work", help="folder for stores")
    args = parser.parse_args()
    run = real_graphs.runner(args.unweave)
    with tempfile.TemporaryDirectory(prefix="images-", dir=args.work) as work:
        {"streaming": streaming, "vectors": vectors}[args.table](args, run, pathlib.Path(work))


if __name__ == "__main__":
    main()
