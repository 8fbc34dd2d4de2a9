#!/usr/bin/env python3
# tests/bench/efficacy.py - what models still show of what they unlearned: deleted data replay, membership inference,
# recovery from adversarial edges.
#
#   UNWEAVE_DATA=FOLDER python3 tests/bench/efficacy.py --unweave build/release/unweave [--sets cora,citeseer,photo] [--seeds 3]
#
# FOLDER as for removals.py; splits as there. Two forms: "as published" (standardised features, the paper's lambda,
# alpha and r_max; retrain, scalegun, cgu) and "sound" (rows normalised, an own public lambda; retrain, newton, langevin).
#
#   replay       100 training nodes (export --draw node) get a class and 100 features of their own (import --replay),
#                are removed in batches of 25, and replayed through the model (evaluate --before COPY)
#   membership   the same without the marks
#   adversarial  500 edges between classes (export --draw adversarial-edge) are inserted, a model is trained, and they
#                are removed in batches of 5
#
# langevin, which takes many seconds a batch, has batches of 100.
#
# Every draw is repeated with the seeds 1, 2, ..; figures are means and standard deviations in percent, but ratios and
# areas under curves, which are fractions. Prints Markdown tables; JSON lines on standard error. Needs numpy and, for
# .zst, zstd.
import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile

import numpy as np

import real_graphs

FORGOTTEN = 100
ADVERSARIAL = 500
STEP = 100  # adversarial edges between two columns

# The paper's lambda, alpha and r_max; an own lambda, and that of langevin, whose epochs grow as lambda falls.
SETS = {"cora": (1e-2, 0.1, 1e-7, 1e-4, 1e-4), "photo": (1e-4, 3.0, 1e-8, 1e-5, 1e-4),
        "citeseer": (1e-2, 0.1, 1e-8, 1e-4, 1e-4), "coauthor-cs": (1e-4, 0.1, 1e-8, 1e-4, 1e-4)}


class Lab:
    """One data set: stores made from it, models trained in them, requests streamed to them."""

    def __init__(self, args, name, work):
        folder = real_graphs.folder_of(name, args.data)
        self.run = real_graphs.runner(args.unweave)
        self.work = work
        self.sources = real_graphs.import_arguments(name, folder, real_graphs.splits(name, folder, work)[0])
        paper, alpha, r_max, own, slow = SETS[name]
        lazy = ["--r-max", r_max, "--r-max-scale", "code"]
        # form, solver, lambda, options of import, of train, of stream
        self.forms = [("as published", "retrain", paper, ["--standardize"], [], []),
                      ("as published", "scalegun", paper, ["--standardize"], ["--alpha", alpha], lazy),
                      ("as published", "cgu", paper, ["--standardize"], ["--alpha", alpha], []),
                      ("sound", "retrain", own, [], [], []), ("sound", "newton", own, [], [], []),
                      ("sound", "langevin", slow, [], [], [])]
        if args.solvers:
            self.forms = [form for form in self.forms if form[1] in args.solvers.split(",")]

    def store(self, *options):
        path = self.work / "store"
        shutil.rmtree(path, ignore_errors=True)
        self.run("import", path, *self.sources, *options)
        self.run("propagate", path, "--hops", 2, "--weights", "0,0,1")
        return path

    def draw(self, kind, count, seed):
        path = self.work / f"{kind}.txt"
        self.run("export", self.store(), "--requests", path, "--draw", kind, "--count", count, "--seed", seed)
        return path

    def lines(self, *words):
        return [json.loads(line) for line in self.run(*words, "--json").splitlines()]

    def forget(self, form, requests, *marks):
        """The fields of `evaluate` of the model before and after the removal."""
        _, solver, weight, standard, options, lazy = form
        store, copy = self.store(*standard, *marks), self.work / "copy"
        self.run("train", store, "--no-intercept", "--solver", solver, "--lambda", weight, *options)
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(store, copy)
        steps = self.lines("stream", store, "--requests", requests, "--batch", batch_of(solver, 25), "--solver", solver,
                           *lazy)
        before, after = self.lines("evaluate", store, "--before", copy, "--solver", solver, "--seed", 1)
        after["certified"] = all(step["certified"] for step in steps)
        return before, after


def batch_of(solver, requests):
    return 100 if solver == "langevin" else requests


def log(**fields):
    print(json.dumps(fields), file=sys.stderr, flush=True)


def text(values, scale=100.0, digits=1):
    values = [scale * value for value in values]
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"


def table(header):
    print("\n| " + " | ".join(header) + " |\n|" + "---|" * len(header), flush=True)


def row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def forgetting(lab, name, seeds, replay):
    results = {}
    for seed in seeds:
        requests = lab.draw("node", FORGOTTEN, seed)
        marks = ["--replay", requests] if replay else []
        for form in lab.forms:
            pair = lab.forget(form, requests, *marks)
            results.setdefault(form[:3], []).append(pair)
            log(test="replay" if replay else "membership", set=name, seed=seed, form=form[0], before=pair[0],
                after=pair[1])
    for (form, solver, weight), pairs in results.items():
        column = lambda side, field, *how: text([pair[side][field] for pair in pairs], *how)
        certified = "yes" if all(pair[1]["certified"] for pair in pairs) else "no"
        if replay:
            row(name, form, solver, f"{weight:g}", *(f"{column(0, field)} → {column(1, field)}" for field in (
                "replay_forgotten", "replay_all")), column(1, "replay_present"), column(1, "accuracy_test"), certified)
        else:
            row(name, form, solver, f"{weight:g}", column(1, "presence_ratio", 1, 3), *(
                f"{column(0, field, *how)} → {column(1, field, *how)}" for field, how in (
                    ("mia_member_rate", ()), ("mia_threshold_member_rate", ()), ("mia_auc", (1, 3)),
                    ("accuracy_forgotten", ()))), column(1, "accuracy_train"), column(1, "accuracy_test"))


def adversarial(lab, name, seeds):
    curves = {}
    for seed in seeds:
        poison = lab.draw("adversarial-edge", ADVERSARIAL, seed)
        cure = lab.work / "cure.txt"
        cure.write_text(poison.read_text().replace("insert-edge", "edge"))
        for form in lab.forms:
            _, solver, weight, standard, options, lazy = form
            batch = batch_of(solver, 5)
            store = lab.store(*standard)
            train = ("train", store, "--no-intercept", "--solver", solver, "--lambda", weight, *options)
            clean = lab.lines(*train)[0]["accuracy_test"]
            lab.run("stream", store, "--requests", poison, "--batch", ADVERSARIAL)
            curve = [lab.lines(*train)[0]["accuracy_test"]]
            steps = lab.lines("stream", store, "--requests", cure, "--batch", batch, "--solver", solver,
                              "--evaluate-every", STEP // batch, *lazy)
            curve += [step["accuracy_test"] for step in steps if step["accuracy_test"] is not None]
            curves.setdefault(form[:3], []).append([*curve, clean])
            log(test="adversarial", set=name, seed=seed, form=form[0], solver=solver, clean=clean, curve=curve)
    for (form, solver, weight), all_seeds in curves.items():
        row(name, form, solver, f"{weight:g}", *(text(column) for column in zip(*all_seeds)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("UNWEAVE_DATA"))
    parser.add_argument("--sets", default="cora,citeseer,photo")
    parser.add_argument("--tests", default="replay,membership,adversarial")
    parser.add_argument("--solvers", default="", help="of those that have rows; all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--work", help="folder for stores")
    args = parser.parse_args()
    if args.data is None:
        sys.exit("name the folder of the data sets in UNWEAVE_DATA or with --data")
    args.data = pathlib.Path(args.data)
    seeds = range(1, args.seeds + 1)
    headers = {
        "replay": ["graph", "form", "solver", "λ", "r_d", "r_a, replayed graph", "r_a, present graph", "test",
                   "certified"],
        "membership": ["graph", "form", "solver", "λ", "presence ratio", "called members by the SVM", "by a threshold",
                       "attack AUC", "FA", "RA", "TA"],
        "adversarial": ["graph", "form", "solver", "λ", *(f"{n} removed" for n in range(0, ADVERSARIAL + 1, STEP)),
                        "never poisoned"]}
    for test in args.tests.split(","):
        table(headers[test])
        for name in args.sets.split(","):
            with tempfile.TemporaryDirectory(prefix="efficacy-", dir=args.work) as folder:
                lab = Lab(args, name, pathlib.Path(folder))
                if test == "adversarial":
                    adversarial(lab, name, seeds)
                else:
                    forgetting(lab, name, seeds, test == "replay")


if __name__ == "__main__":
    main()
