#!/usr/bin/env python3
# tests/bench/images.py - flat data: removals from MNIST and Fashion-MNIST, beside what the papers print.
#
#   python3 tests/bench/images.py --unweave build/release/unweave --data FOLDER --table streaming [--sets mnist,fashion-mnist]
#   python3 tests/bench/images.py --unweave build/release/unweave --data FOLDER --table vectors [--only softmax] [--work /dev/shm]
#
# FOLDER/mnist and FOLDER/fashion-mnist hold the usual *-ubyte.gz files. Rows are pixels of unit norm.
#
# streaming: the stream of Shen et al. (section 6.1): 20 rounds of 400 training images drawn at random (seed 0), a softmax head
# over the pixels. Accuracy of retained rows, of those of the current round, of all forgotten and of test rows and the attack's member rate
# are means over every --every-th round; the attack learns from --attack-rows rows of either kind. Seconds are of a round: of streaming
# the mean of all rounds, of the weights beside it of those that are evaluated.
# vectors: hessian-free, newton-step and jackknife on the first --rows images (Qiao et al., section 7) in three regimes of
# training and in that of the paper, and of a network of --hidden units in the three; 1, 20 % and 30 % of the rows removed in
# one batch (seed 1). Each model is compared with its own, trained again: hessian-free, and all networks, with the run over the slots
# that are left, linear newton-step and jackknife, which start from the minimiser, with the minimiser on the rows that are left. Noise is made
# small by a large epsilon, so that published weights are those without it. Seconds of training are of the processor, those of a deletion by the clock.
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


def spent_of(lines):
    return f"{np.mean([line['seconds'] for line in lines]):.3f}" if lines[0].get("seconds") else ""


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
        trained = json.loads(run("train", folder / "store", "--no-intercept", "--solver", "streaming", "--head", "softmax", "--lambda",
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
            np.save(folder / "round.npy", np.sort(forgotten[number * size:(number + 1) * size]))
            out = run("evaluate", folder / "store", "--solver", "streaming", "--before", folder / "before", "--retrain",
                      "--nodes", folder / "round.npy", "--attack-rows", args.attack_rows, "--json")
            for line in map(json.loads, out.splitlines()):
                if line["model"] == "present":
                    seen.setdefault(line["solver"], []).append(line)
        for solver, lines in seen.items():
            values = [percent([line[field] for line in lines])
                      for field in ("accuracy_train", "accuracy_nodes", "accuracy_forgotten", "accuracy_test",
                                    "mia_member_rate")]
            own = solver == "streaming"
            rows.append((name, solver, *values, f"{np.mean([line['retrained_distance'] for line in lines]):.3f}",
                         f"{np.mean(seconds):.3f} ({trained['seconds']:.1f} before)" if own else spent_of(lines),
                         printed[name][own] if own or solver.endswith("retrained") else ""))
    table(("data", "weights", "RA", "FA of the round", "FA of all", "TA", "MIA", "from retrained", "seconds a round", "printed: RA, FA, TA, MIA"), rows)


def kept_bytes(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def vectors(args, run, work):
    run_of = lambda epochs, step, decay=0.995: (f"epochs={epochs}", f"step-size={step}", f"decay={decay}",
                                                "batch-rows=32")
    # Paper: lambda 0.5, step 0.05; ours by the scale that makes its rows no longer than 1.
    paper = run_of(15, 0.05 * PAPER_SCALE**2)
    under_trained, medium, converged = run_of(5, 0.1), run_of(20, 0.3), run_of(400, 0.5, 0.9995)
    softmax, network = ("--head", "softmax"), ("--head", "mlp", "--hidden", args.hidden)
    # The minimiser knows no regime: newton-step and jackknife for softmax, converged, would be those of softmax, medium.
    cases = (("softmax, under-trained", "unit", softmax, 0.01, under_trained, True),
             ("softmax, medium", "unit", softmax, 0.05, medium, True),
             ("softmax, converged", "unit", softmax, 0.05, converged, False),
             ("softmax, as the paper", "paper", softmax, 0.5 / PAPER_SCALE**2, paper, True),
             (f"network of {args.hidden}, under-trained", "unit", network, 1e-3, under_trained, True),
             (f"network of {args.hidden}, medium", "unit", network, 1e-3, medium, True),
             (f"network of {args.hidden}, converged", "unit", network, 1e-3, converged, True))
    head = ("model", "removed", "weights", "distance to retrained", "of doing nothing", "Pearson", "Spearman",
            "test accuracy", "damping", "ms a deletion", "training, CPU s", "MiB kept")
    number = lambda value: "-" if value is None else f"{value:.4f}"
    table(head, [])
    for name in ("unit", "paper"):
        folder = work / name
        folder.mkdir()
        sources, train = images(args.data / "mnist", folder, args.rows, args.rows * 4 // 10, name == "paper")
        run("import", folder / "fresh", *sources)
        run("propagate", folder / "fresh", "--hops", 0, "--weights", 1)
    for model, data, kind, lam, settings, steps in cases:
        if not model.startswith(args.only):
            continue
        scale = 1 / PAPER_SCALE if data == "paper" else 1
        for solver in ("hessian-free",) + (("newton-step", "jackknife") if steps else ()):
            if solver not in args.solvers.split(","):
                continue
            settled = solver != "hessian-free" and kind == softmax
            more = ("s-max=1e-6", "statistics=1") if solver == "hessian-free" else ()
            own = () if settled else sum((("--set", one) for one in settings + more), ())
            before, store = work / "before", work / "store"
            shutil.copytree(work / data / "fresh", before)
            start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            run("train", before, "--no-intercept", "--solver", solver, *kind, "--lambda", lam, "--epsilon", 1e4, "--delta", 0.5, *own)
            seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start
            for count in (1, train // 5, train * 3 // 10):
                shutil.copytree(before, store)
                gone = np.random.default_rng(1).choice(train, count, replace=False)
                line = json.loads(run("stream", store, "--requests", write_requests(work / "requests.txt", gone), "--batch",
                                      count, "--solver", solver, "--json"))
                seen = {of["model"]: of for of in map(json.loads, run(
                    "evaluate", store, "--solver", solver, "--retrain", "--before", before, "--attack-rows", 0,
                    "--json").splitlines())}
                damping = "-" if solver == "hessian-free" else f"{line['terms']['damping']:g}"
                vectors_kept = before / "models" / solver
                table_rows([(model, f"{count:,}", solver, f"{scale * seen['present']['retrained_distance']:.2e}",
                             f"{scale * seen['before']['retrained_distance']:.2e}",
                             number(seen["present"]["loss_change_pearson"]), number(seen["present"]["loss_change_spearman"]),
                             percent([seen["present"]["accuracy_test"]]), damping,
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
    parser.add_argument("--solvers", default="hessian-free,newton-step,jackknife", help="those of --table vectors")
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--attack-rows", type=int, default=4000)
    parser.add_argument("--lam", type=float, default=1e-5)
    parser.add_argument("--work", help="folder for stores")
    args = parser.parse_args()
    run = real_graphs.runner(args.unweave)
    with tempfile.TemporaryDirectory(prefix="images-", dir=args.work) as work:
        {"streaming": streaming, "vectors": vectors}[args.table](args, run, pathlib.Path(work))


if __name__ == "__main__":
    main()
