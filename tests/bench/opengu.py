#!/usr/bin/env python3
# tests/bench/opengu.py - the nine cells of OpenGU's table: nodes, links and whole graphs to predict, nodes, edges and features to forget.
#
#   UNWEAVE_DATA=FOLDER python3 tests/bench/opengu.py --unweave build/release/unweave --package build/release/tools/python
#       [--tasks node,link,graph] [--sets cora,citeseer] [--graphs FOLDER/MUTAG,FOLDER/PROTEINS] [--requests FOLDER] [--ratio 0.1] [--seeds 3]
#
# Each cell imports a data set, trains `exact`, reads what is to be forgotten from a file as OpenGU writes it (which is drawn and written
# first, unless --requests names a folder with such files), streams it, and prints: accuracy on the test rows (links: area under the
# curve) before and after, macro F1 after, seconds of the requests, peak memory, what an attack on membership reaches (see attack()),
# whether every release is certified, and whether the weights are, bit for bit, those of a model that is trained from nothing on an
# import of what remains. A leaderboard in Markdown at the end; figures are means over seeds. The graphs are folders of TUDataset.
import argparse
import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy as np

import row_programs

TASKS = ("node", "link", "graph")
KINDS = ("node", "edge", "feature")


class Cell:
    """A data set, what is predicted, and a folder to work in."""

    def __init__(self, unweave, task, source, seed, work):
        self.unweave, self.task, self.source, self.seed, self.work = unweave, task, source, seed, work
        self.store = work / "store"
        self.rng = np.random.default_rng(seed)
        if task == "graph":
            labels = np.loadtxt(source / f"{source.name}_graph_labels.txt", dtype=int)
            self.words = ["--tu", source / source.name, *(["--attribute-bound", 1000] if (source / f"{source.name}_node_attributes.txt").exists() else [])]
        else:
            labels, self.words = row_programs.read(source, work)
        if task != "link":
            self.split(labels)

    def split(self, labels):
        """60, 20 and 20 % of what has a label."""
        order = self.rng.permutation(np.flatnonzero(labels >= 0) if self.task == "node" else len(labels))
        self.parts = np.split(order, [int(.6 * len(order)), int(.8 * len(order))])
        for name, ids in zip(("train", "valid", "test"), self.parts):
            np.save(self.work / f"{name}.npy", ids.astype(np.int64))
        option = "--split" if self.task == "node" else "--graph-split"
        self.words += [option, ",".join(f"{name}={self.work / name}.npy" for name in ("train", "valid", "test"))]

    def run(self, *words):
        """The objects that a command prints. Its peak of memory, as the system counts it, is kept."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen([self.unweave, *map(str, words), "--json"], stdout=out, stderr=errors, cwd=self.work)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.peak_bytes = used.ru_maxrss * 1024
            out.seek(0)
            errors.seek(0)
            if process.returncode != 0:
                sys.exit(f"{' '.join(map(str, words))}: {errors.read()}")
            return [json.loads(line) for line in out]

    def train(self, store, penalty):
        rows = {"node": ["--rows-of", "stack"], "link": ["--pair", "hadamard,by=16", "--scale-rows", "unit"],
                "graph": ["--rows-of", "stack,degree", "--pool", "root"]}[self.task]
        return self.run("train", store, *rows, "--lambda", penalty)[-1]

    def make(self):
        pairs = ["--pairs", f"valid=.1,test=.1,key={self.seed}"] if self.task == "link" else []
        self.run("import", self.store, *self.words, *pairs)
        self.run("propagate", self.store, "--rho", 1)
        # Lambda is chosen once, and a public constant of all models from then on.
        self.penalty = self.train(self.store, "auto")["lambda"]
        self.train(self.store, self.penalty)

    def evaluate(self, *words):
        return self.run("evaluate", self.store, *words)[-1]

    def quality(self):
        """Accuracy, or the area under the curve of links, and macro F1 on the test rows."""
        of_test = self.evaluate()["metrics"]["test"]
        return of_test["macro_auc"] if self.task == "link" else of_test["micro_f1"], of_test["macro_f1"]


def edges_of(cell):
    cell.run("export", cell.store, "--edges", cell.work / "edges.npy")
    return np.load(cell.work / "edges.npy")


def nodes_to_draw(cell):
    """Nodes of training rows, of all links, or of training graphs."""
    if cell.task == "node":
        return cell.parts[0]
    nodes = np.arange(cell.run("info", cell.store)[-1]["nodes"])
    if cell.task == "link":
        return nodes
    cell.run("export", cell.store, "--graphs", cell.work / "graphs.npy")
    return nodes[np.isin(np.load(cell.work / "graphs.npy"), cell.parts[0])]


def forget_set(unweave, cell, kind, ratio, folder):
    """The set as a file of OpenGU says it."""
    given = folder and next(pathlib.Path(folder).glob(f"unlearning_{'edges' if kind == 'edge' else 'nodes'}_{ratio}_{cell.source.name}_*.txt"), None)
    if given:
        return unweave.read_forget_set(given, kind)
    pool = edges_of(cell) if kind == "edge" else nodes_to_draw(cell)
    drawn = pool[cell.rng.permutation(len(pool))[:max(1, int(ratio * len(pool)))]]
    file = unweave.ForgetSet(kind, drawn, dataset=cell.source.name, ratio=ratio, run=cell.seed).write_opengu(cell.work / "unlearning_task")
    return unweave.read_forget_set(file, kind)


def area(members, others):
    """The probability that a member has a higher confidence than another row, ties counting one half."""
    if not len(members) or not len(others):
        return None
    ranks = np.searchsorted(np.sort(others), members, "left") + np.searchsorted(np.sort(others), members, "right")
    return float(ranks.mean() / 2 / len(others))


def confidences(cell, units):
    """Of each of these pairs or graphs, the score of what it is: an edge, or its own class."""
    if cell.task == "link":
        np.save(cell.work / "asked.npy", np.asarray(units, dtype=np.int64)[:, :2])
        return np.array([row["score"] for row in cell.run("predict", cell.store, "--pairs", cell.work / "asked.npy")])
    return np.array([cell.predicted[unit] for unit in units if unit in cell.predicted])


def attack(cell, kind, forgotten, copy):
    """What the model after the removals still shows of membership: the area under the curve of its confidence in what a training row was
    learnt as, of rows that were forgotten or lost a part, against test rows. One half is nothing. Forgotten nodes have their rows as they
    were; links that lost a node have no row any more."""
    if cell.task == "node":
        return cell.evaluate("--before", copy).get("mia_auc") if kind == "node" else None
    if cell.task == "link":
        if kind != "edge":
            return None
        cell.run("export", cell.store, "--pairs", cell.work / "test_pairs.npy", "--split", "test")
        test = np.load(cell.work / "test_pairs.npy")
        cell.run("export", copy, "--pairs", cell.work / "train_pairs.npy")
        learnt = {tuple(pair) for pair in np.load(cell.work / "train_pairs.npy")[:, :2].tolist()}
        gone = [pair for pair in forgotten.targets.tolist() if tuple(pair) in learnt or tuple(reversed(pair)) in learnt]
        return area(confidences(cell, gone), confidences(cell, test[test[:, 2] == 1]))
    cell.run("export", copy, "--graphs", cell.work / "graphs_before.npy")
    cell.run("export", copy, "--graph-labels", cell.work / "graph_labels.npy")
    labels = np.load(cell.work / "graph_labels.npy")
    # The probability of the own class of every graph that has nodes left.
    cell.predicted = {row["id"]: row["probabilities"][labels[row["id"]]] for row in cell.run("predict", cell.store)}
    touched = set(np.load(cell.work / "graphs_before.npy")[np.unique(forgotten.targets)].tolist()) & set(cell.parts[0].tolist())
    return area(confidences(cell, sorted(touched)), confidences(cell, cell.parts[2].tolist()))


def equals_retraining(cell):
    """Whether the weights are those of a model that is trained from nothing on an import of what remains."""
    files, again = cell.work / "files", cell.work / "again"
    for folder in (files, again):
        shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run([cell.unweave, "export", cell.store, "--all", files], capture_output=True, text=True, check=True)
    words = shlex.split(next(line for line in done.stdout.splitlines() if line.startswith("unweave import")))
    subprocess.run([cell.unweave, *(str(again) if word == "STORE" else word for word in words[1:]), "--quiet"], cwd=files, check=True,
                   capture_output=True)
    cell.run("propagate", again, "--rho", 1)
    cell.train(again, cell.penalty)
    weights = [cell.run("info", store)[-1]["models"][0]["digest"] for store in (cell.store, again)]
    return weights[0] == weights[1]


def run_cell(unweave, arguments, task, kind, source, seed):
    with tempfile.TemporaryDirectory(prefix="opengu-") as folder:
        cell = Cell(arguments.unweave, task, source, seed, pathlib.Path(folder))
        cell.make()
        before = cell.quality()
        forgotten = forget_set(unweave, cell, kind, arguments.ratio, arguments.requests)
        copy = cell.work / "copy"
        shutil.copytree(cell.store, copy)
        (cell.work / "requests.txt").write_text("".join(f"{line}\n" for line in forgotten.requests()))
        batches = cell.run("stream", cell.store, "--requests", cell.work / "requests.txt", "--batch", len(forgotten), "--solver", "exact")
        peak = cell.peak_bytes
        after = cell.quality()
        result = {"task": task, "kind": kind, "set": source.name, "seed": seed, "forgotten": len(forgotten.requests()), "before": before[0],
                  "after": after[0], "f1": after[1], "seconds": sum(batch["seconds"] + batch["seconds_unlearn"] for batch in batches),
                  "memory": peak, "attack": attack(cell, kind, forgotten, copy),
                  "certified": all(batch["certified"] for batch in batches), "equal": equals_retraining(cell)}
        print(json.dumps(result), file=sys.stderr, flush=True)
        return result


def number(values, digits=3):
    known = [value for value in values if value is not None]
    return "–" if not known else f"{statistics.mean(known):.{digits}f}"


def main():
    parser = argparse.ArgumentParser(description="The nine cells of OpenGU's table.")
    parser.add_argument("--unweave", type=lambda path: str(pathlib.Path(path).resolve()), required=True)
    parser.add_argument("--package", required=True, help="folder of the package unweave of Python, for files of requests")
    parser.add_argument("--sets", default="cora,citeseer,amazon-photo")
    parser.add_argument("--graphs", default="", help="folders of TUDataset, by commas")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--requests", help="folder with OpenGU's files of requests; default: drawn")
    parser.add_argument("--ratio", type=float, default=0.1)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.package)
    import unweave

    data = pathlib.Path(os.environ["UNWEAVE_DATA"])
    sources = {"node": [data / name for name in arguments.sets.split(",")], "graph": [pathlib.Path(path).resolve() for path in arguments.graphs.split(",") if path]}
    sources["link"] = sources["node"]
    print("| predict | forget | data | before | after | macro F1 | seconds | MiB | attack | certified | retraining |\n|" + "---|" * 11, flush=True)
    tasks, passed = arguments.tasks.split(","), 0
    for task in tasks:
        for kind in KINDS:
            results = [run_cell(unweave, arguments, task, kind, source, seed) for source in sources[task] for seed in range(arguments.seeds)]
            for name in dict.fromkeys(result["set"] for result in results):
                of_set = [result for result in results if result["set"] == name]
                column = {key: [result[key] for result in of_set] for key in of_set[0]}
                print(f"| {task} | {kind} | {name} | {number(column['before'])} | {number(column['after'])} | {number(column['f1'])} | "
                      f"{number(column['seconds'], 2)} | {round(statistics.mean(column['memory']) / 2**20)} | "
                      f"{number(column['attack'])} | {'yes' if all(column['certified']) else 'NO'} | "
                      f"{'equal' if all(column['equal']) else 'DIFFERS'} |", flush=True)
            passed += bool(results) and all(result["certified"] and result["equal"] for result in results)
    cells = len(tasks) * len(KINDS)
    print(f"\n{passed} of {cells} cells certified and equal to retraining")
    return 0 if passed == cells else 1


if __name__ == "__main__":
    sys.exit(main())
