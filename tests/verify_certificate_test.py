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

# What remains of rows that are gone: only the digest holds these three.
HELD_BY_DIGEST = {"terms.removed_weight", "terms.moved_weight", "terms.own_distance"}


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
        self.run("generate", self.store, "--model", "sbm", "--nodes", "300", "--edges", "900", "--features", "6",
                 "--classes", "3", "--seed", "4")
        self.run("propagate", self.store, "--hops", "2")

    def run(self, *words):
        subprocess.run([self.program, *map(str, words), "--quiet"], check=True, stdout=subprocess.DEVNULL)

    def train(self, solver, head):
        self.run("train", self.store, "--solver", solver, "--head", head, "--lambda", "0.02")

    def stream(self, solver, text):
        (self.folder / "requests").write_text(text)
        self.run("stream", self.store, "--requests", self.folder / "requests", "--solver", solver)

    def inputs(self):
        names = {name: self.folder / f"{name}.npy" for name in ("rows", "labels", "train")}
        self.run("export", self.store, "--labels", names["labels"], "--train", names["train"])
        self.run("export", self.store, "--embeddings", names["rows"], "--nodes", names["train"])
        return [np.load(names[name]) for name in ("rows", "labels", "train")]


def check_solver(world, solver, head, text):
    world.train(solver, head)
    world.stream(solver, text)
    rows, labels, train = world.inputs()
    false = verify_certificate.verify(world.store, solver, rows, labels, train)
    assert not false, (solver, head, false)

    model, arrays = verify_certificate.read_model(world.store / "models" / f"{solver}.model")
    certificate = json.loads(model["certificate"])
    judge = lambda m, a, c, line, r=rows: verify_certificate.Verifier(m, a, c, line, r, labels[train]).run()
    paths = numbers(certificate)
    assert len(paths) > 20
    for path in paths:
        for sealed in (False, True):
            bad = copy.deepcopy(certificate)
            alter(bad, path)
            line = line_of(bad, sealed)
            found = judge({**model, "certificate": line}, arrays, bad, line)
            assert found or (sealed and ".".join(map(str, path)) in HELD_BY_DIGEST), (solver, head, path, sealed)

    line = model["certificate"]
    moved = rows.copy()
    moved[:, 0] = -moved[:, 0]
    assert judge(model, arrays, certificate, line, moved), "other rows were not told"
    weak = [0.1 * arrays[0], *arrays[1:]]
    assert judge(model, weak, certificate, line), "other weights were not told"
    print(f"{solver}, {head}: {len(paths)} numbers")


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
    with tempfile.TemporaryDirectory() as folder:
        world = World(sys.argv[1], pathlib.Path(folder))
        edges = np.arange(0, 60).reshape(-1, 2)
        runs = [("newton", "logistic"), ("newton", "least-squares"), ("newton", "softmax"), ("retrain", "logistic"),
                ("langevin", "logistic"), ("langevin", "softmax"), ("langevin-full", "least-squares")]
        for number, (solver, head) in enumerate(runs):
            node = world.inputs()[2][number]
            check_solver(world, solver, head, f"node {node}\nedge {edges[number][0]} {edges[number][1]}\n")
        check_damage(world)


if __name__ == "__main__":
    main()
