#!/usr/bin/env python3
"""tests/verify_certificate_test.py - the independent verifier accepts true certificates and finds every altered number.

    tests/verify_certificate_test.py UNWEAVE
"""
import copy
import hashlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

import verify_certificate

# Of weights that are gone: only the digest holds these.
HELD_BY_DIGEST = {"step_norm", "solver_error"}


def numbers(value, path=()):
    """Paths of all numbers."""
    if isinstance(value, bool):
        return []
    if isinstance(value, (int, float)):
        return [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in items for found in numbers(item, path + (key,))]


def alter(certificate, path):
    holder = certificate
    for key in path[:-1]:
        holder = holder[key]
    old = holder[path[-1]]
    holder[path[-1]] = old + 1 if isinstance(old, int) else old * 1.001 if old else 1e-3


def line_of(certificate, sealed):
    """As one line; its digest made anew, or the one it had."""
    if not sealed:
        return json.dumps(certificate, separators=(",", ":"))
    text = json.dumps({key: value for key, value in certificate.items() if key != "digest"}, separators=(",", ":"))[:-1]
    return text + ',"digest":"' + hashlib.blake2b(text.encode(), digest_size=32).hexdigest() + '"}'


class World:
    def __init__(self, program, folder):
        self.program, self.folder, self.store = program, folder, folder / "store"
        self.make()
        self.run("propagate", self.store, "--hops", "2")

    def make(self):
        self.run("generate", self.store, "--model", "sbm", "--nodes", "300", "--edges", "900", "--features", "6",
                 "--classes", "3", "--seed", "4")

    def run(self, *words):
        subprocess.run([self.program, *map(str, words), "--quiet"], check=True, stdout=subprocess.DEVNULL)

    def train(self, solver, head, parameters):
        self.run("train", self.store, "--solver", solver, "--head", head, "--lambda", "0.02",
                 *(word for name, value in parameters.items() for word in ("--set", f"{name}={value}")))

    def stream(self, solver, text):
        (self.folder / "requests").write_text(text)
        self.run("stream", self.store, "--requests", self.folder / "requests", "--solver", solver)

    def inputs(self):
        names = {name: self.folder / f"{name}.npy" for name in ("rows", "labels", "train")}
        self.run("export", self.store, "--labels", names["labels"], "--train", names["train"])
        self.run("export", self.store, "--embeddings", names["rows"], "--nodes", names["train"])
        return [np.load(names[name]) for name in ("rows", "labels", "train")]


class FlatWorld(World):
    """Without edges: no removal moves a row."""

    def make(self):
        random = np.random.default_rng(5)
        labels = random.integers(3, size=240)
        np.save(self.folder / "features.npy", random.normal(size=(240, 6)) + 2 * np.eye(3, 6)[labels])
        np.save(self.folder / "classes.npy", labels)
        np.save(self.folder / "members.npy", np.arange(200))
        self.run("import", self.store, "--features", self.folder / "features.npy", "--labels", self.folder / "classes.npy",
                 "--split", f"train={self.folder / 'members.npy'}")


def check_solver(world, solver, head, text, parameters=None, theorem="T1"):
    """The last release before the requests, and the one after them."""
    world.train(solver, head, parameters or {})
    before = world.inputs()
    check_release(world, solver, (solver, head, "learnt"), theorem, None)
    world.stream(solver, text)
    check_release(world, solver, (solver, head, parameters), theorem, before)


def check_release(world, solver, what, theorem, before):
    rows, labels, train = world.inputs()
    held = before and (before[0], before[2])
    for given in (None, held):
        false = verify_certificate.verify(world.store, solver, rows, labels, train, given)
        assert not false, (what, false)

    model, arrays = verify_certificate.read_model(world.store / "models" / f"{solver}.model")
    log = (world.store / "certificates" / f"{solver}.jsonl").read_text().splitlines()
    certificate, previous = json.loads(log[-1]), json.loads(log[-2]) if len(log) > 1 else None
    assert certificate["theorem"] == theorem, what

    def judge(model, arrays, certificate, line, rows=rows):
        return verify_certificate.Verifier(model, arrays, certificate, line, rows, labels[train], train, held,
                                           previous).run()

    paths = numbers(certificate)
    assert len(paths) > 20
    for path in paths:
        bad = copy.deepcopy(certificate)
        alter(bad, path)
        for sealed in (False, True):
            line = line_of(bad, sealed)
            found = judge({**model, "certificate": line}, arrays, bad, line)
            assert found or (sealed and path[-1] in HELD_BY_DIGEST), (what, path, sealed)

    line = model["certificate"]
    moved = rows.copy()
    moved[:, 0] = -moved[:, 0]
    drawn = certificate["terms"].get("sampling", 0) != 0  # its runs end elsewhere every time
    assert drawn or judge(model, arrays, certificate, line, moved), (what, "other rows were not told")
    weak = [0.1 * arrays[0], *arrays[1:]]
    assert drawn or judge(model, weak, certificate, line), (what, "other weights were not told")
    check_state(model, arrays, certificate, before, what, judge)
    print(*what, f"{len(paths)} numbers")


def check_state(model, arrays, certificate, before, what, judge):
    """Accounts that a forger made smaller, with a certificate that says the same."""
    names = model["state"]["arrays"]
    first = len(arrays) - len(names)
    if before is None:
        return
    for name in ("weights", "visits"):
        if name not in names or certificate["retrained"]:
            continue
        at = first + names.index(name)
        bad = list(arrays)
        bad[at] = 0.9 * arrays[at]
        assert judge(model, bad, certificate, model["certificate"]), (what, name, "a smaller account was not told")


def check_damage(world):
    path = world.store / "models" / "newton.model"
    data = path.read_bytes()
    path.write_bytes(data[:-8])
    command = [sys.executable, verify_certificate.__file__, world.store, "newton"]
    for name in ("rows", "labels", "train"):
        command += [f"--{name}", world.folder / f"{name}.npy"]
    code = lambda: subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    assert code() == 2
    path.write_bytes(data)
    log = world.store / "certificates" / "newton.jsonl"
    lines = log.read_text()
    world.inputs()
    assert code() == 1  # the store has gone on without this model
    world.stream("newton", "edge 3 4\n")
    world.inputs()
    assert code() == 0
    log.write_text(lines)
    assert code() == 1


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        world = World(program, pathlib.Path(folder))
        edges = np.arange(0, 80).reshape(-1, 2)
        runs = [("newton", "logistic"), ("newton", "least-squares"), ("newton", "softmax"), ("retrain", "logistic"),
                ("descent-to-delete", "logistic"), ("descent-to-delete", "softmax", {"public-state": 1}),
                ("newton-step", "least-squares"), ("langevin", "logistic", {}, "T2"), ("langevin", "softmax", {}, "T2"),
                ("langevin-full", "least-squares", {}, "T2"), ("rewind", "logistic", {}, "T4"),
                ("rewind", "softmax", {"sampling": 1}, "T4"), ("descend", "least-squares", {}, "T4"),
                ("descend", "logistic", {"sampling": 2}, "T4"), ("hessian-free", "logistic", {}, "T3")]
        for number, (solver, head, *rest) in enumerate(runs):
            node = world.inputs()[2][number]
            check_solver(world, solver, head, f"node {node}\nedge {edges[number][0]} {edges[number][1]}\n", *rest)
        check_damage(world)
    with tempfile.TemporaryDirectory() as folder:
        world = FlatWorld(program, pathlib.Path(folder))
        for head, parameters in (("logistic", {"s-max": 2}), ("softmax", {"own-hessian": 0, "s-max": 5}),
                                 ("least-squares", {"group-rows": 2, "s-max": 20})):
            nodes = world.inputs()[2][:4]
            check_solver(world, "hessian-free", head, "".join(f"node {node}\n" for node in nodes), parameters, "T3")


if __name__ == "__main__":
    main()
