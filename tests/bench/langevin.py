#!/usr/bin/env python3
# tests/bench/langevin.py - langevin and descent-to-delete on MNIST 3 against 8, as Figure 3 of Chien et al. has it.
#
#   python3 tests/bench/langevin.py --unweave build/release/unweave --data FOLDER [--trials 3]
#
# FOLDER/mnist holds the *-ubyte.gz files. Rows are pixels of unit norm, lambda = 0.011 and delta = 1 / rows, as in the paper.
# First table: one removed row and a fixed count of epochs (langevin) or steps (descent-to-delete) for it; the noise is the
# least that certifies it, from `plan`; test accuracy after the request, mean and deviation over --trials. Second table: a
# hundred requests one by one at the paper's noise 0.03 and epsilon = 1. Requests are sent as oblivious (--non-adaptive).
# Prints Markdown. Needs numpy.
import argparse
import json
import pathlib
import shutil
import tempfile

import numpy as np

import real_graphs
from descend_rewind import digits, table

LAMBDA = 0.011
EPSILONS = (0.1, 0.5, 1, 2, 5)
# Figure 3a's accuracies at EPSILONS and Figure 3b's accumulated epochs and last accuracy.
PRINTED = {"b = 128": (.873, .894, .894, .895, .895), "b = n": (.594, .799, .870, .894, .898),
           "kept state, 1 step": (.516, .551, .597, .701, .825), "kept state, 5 steps": (.573, .788, .860, .902, .910)}
PRINTED_SUM = {"b = n": (886, .884), "b = 512": (300, .879), "b = 256": (200, .881), "b = 128": (100, .873),
               "b = 32": (100, .872), "as published, from public weights": (9118, .910)}


def set_options(values):
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


class Task:
    def __init__(self, run, store, train, delta):
        self.run, self.store, self.train, self.delta = run, store, train, delta

    def options(self, epsilon):
        return ("--lambda", LAMBDA, "--epsilon", epsilon, "--delta", self.delta)

    def least_sigma(self, solver, epsilon, parameters):
        """Noise that certifies one request of one epoch."""
        plan = json.loads(self.run("plan", self.store, "--solver", solver, *self.options(epsilon), *set_options(parameters),
                                   "--json", "--quiet"))
        return next(row for row in plan["noise"] if row["count"] == 1)["sigma"]["sigma"]

    def stream(self, solver, epsilon, parameters, requests, seed, bound="corrected"):
        """Trains, removes so many rows one by one; the batches as stream prints them."""
        copy, file = self.store.parent / "copy", self.store.parent / "requests.txt"
        shutil.copytree(self.store, copy)
        trained = json.loads(self.run("train", copy, "--no-intercept", "--solver", solver, "--bound", bound, *self.options(epsilon),
                                      *set_options(parameters), "--json"))
        nodes = np.random.default_rng(seed).choice(self.train, requests, replace=False)
        file.write_text("".join(f"node {node}\n" for node in nodes))
        out = self.run("stream", copy, "--requests", file, "--batch", 1, "--solver", solver, "--non-adaptive",
                       "--evaluate-every", requests, "--json")
        shutil.rmtree(copy)
        return trained, [json.loads(line) for line in out.splitlines()]


def one_request(task, trials):
    rows = []
    for name, solver, bound, fixed in (("b = 128", "langevin", "corrected", {"batch-rows": 128}),
                                       ("b = n", "langevin-full", "corrected", {}),
                                       ("to tau", "descent-to-delete", "corrected", {}),
                                       ("kept state, 1 step", "descent-to-delete", "paper", {"request-steps": 1}),
                                       ("kept state, 5 steps", "descent-to-delete", "paper", {"request-steps": 5})):
        sigmas, accuracies, counts, certified = [], [], set(), True
        for epsilon in EPSILONS:
            parameters = dict(fixed)
            if solver.startswith("langevin"):
                parameters["sigma"] = task.least_sigma(solver, epsilon, fixed) * (1 + 1e-9)
            seen = []
            for trial in range(trials):
                trained, batches = task.stream(solver, epsilon, parameters, 1, trial, bound)
                seen.append(batches[-1]["accuracy_test"])
                counts.add(batches[-1]["passes"])
                certified &= batches[-1]["certified"]
            terms = batches[-1]["terms"]
            sigmas.append(f"{terms.get('sigma', batches[-1].get('noise', float('nan'))):.2g}")
            accuracies.append(f"{np.mean(seen):.3f} ± {np.std(seen):.3f}")
        printed = ", ".join(f"{a:.3f}" for a in PRINTED.get(name, ())) or "-"
        rows.append((f"{solver}, {name}", f"{min(counts)}" + (f" to {max(counts)}" if len(counts) > 1 else ""),
                     "yes" if certified else "no", *[f"{s}: {a}" for s, a in zip(sigmas, accuracies)], printed))
    table(("solver", "passes a request", "certified", *[f"ε = {e:g}" for e in EPSILONS], "printed accuracies"), rows)


def hundred_requests(task):
    rows = []
    plans = [(f"b = {b}", "langevin", {"batch-rows": b, "sigma": 0.03}, "corrected") for b in (32, 128, 256, 512)]
    plans += [("b = n", "langevin-full", {"sigma": 0.03}, "corrected"), ("to tau", "descent-to-delete", {}, "corrected"),
              ("as published, from public weights", "descent-to-delete", {"public-state": 1, "sigma": 0.03}, "paper")]
    for name, solver, parameters, bound in plans:
        trained, batches = task.stream(solver, 1, parameters, 100, 0, bound)
        rows.append((f"{solver}, {name}", trained["passes"], f"{sum(b['passes'] for b in batches):,}",
                     " ".join(str(b["passes"]) for b in batches[:5]), f"{sum(b['certified'] for b in batches)} of 100",
                     f"{np.sum([b['seconds_unlearn'] for b in batches]):.1f}", f"{batches[-1]['accuracy_test']:.3f}",
                     "{:,}, {:.3f}".format(*PRINTED_SUM[name]) if name in PRINTED_SUM else "-"))
    table(("solver", "passes of training", "passes of 100 requests", "the first", "certified", "s", "test accuracy", "printed"),
          rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--work", help="folder for stores")
    args = parser.parse_args()
    run = real_graphs.runner(args.unweave)
    with tempfile.TemporaryDirectory(prefix="langevin-", dir=args.work) as work:
        work = pathlib.Path(work)
        sources, train = digits(args.data / "mnist", work, None)
        run("import", work / "store", *sources)
        run("propagate", work / "store", "--hops", 0, "--weights", "1")
        task = Task(run, work / "store", train, 1 / len(train))
        one_request(task, args.trials)
        hundred_requests(task)


if __name__ == "__main__":
    main()
