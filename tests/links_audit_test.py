#!/usr/bin/env python3
"""tests/links_audit_test.py UNWEAVE - training pairs, their rows and certificates on them, by other code; planted errors are told."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools" / "audit"))
import pairs as audit
import verify_certificate

NODES = 60


class Links:
    """A store of links whose features tell two groups; `directed`: of arcs, some of which lead both ways, or to their own beginning."""

    def __init__(self, program, folder, rules, directed):
        self.program, self.folder, self.store = program, folder, folder / "store"
        random = np.random.default_rng(7)
        features = (random.normal(size=(NODES, 5)) + 2 * np.eye(2, 5)[np.arange(NODES) % 2]) / 4
        features[50:] = 0  # nodes without an edge as well are no end of a negative
        least = (lambda u: 0) if directed else (lambda u: u + 1)
        ends = np.array([(u, v) for u in range(min(NODES, 57)) for v in range(least(u), min(NODES, 57)) if random.random() < .15])
        np.save(folder / "features.npy", features)
        np.savetxt(folder / "edges.txt", np.hstack([ends, random.integers(1, 4, (len(ends), 1))]), "%d")
        self.run("import", self.store, "--nodes", NODES, "--edges", folder / "edges.txt", "--max-weight", 3, "--features",
                 folder / "features.npy", "--pairs", rules, *(["--directed"] if directed else []))
        self.run("propagate", self.store, "--hops", 2, "--rho", 1)

    def run(self, *words):
        done = subprocess.run([str(word) for word in (self.program, *words)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def file(self, name):
        return self.folder / f"{name}.npy"

    def export(self, model):
        self.run("export", self.store, "--edges", self.file("edges"), "--edge-weights", self.file("weights"), "--pairs", self.file("pairs"),
                 "--rows", self.file("rows"), "--name", model)
        for level in range(3):
            self.run("export", self.store, "--embeddings", self.file(f"level{level}"), "--weights",
                     ",".join("1" if level == one else "0" for one in range(3)))

    def audit(self, model):
        words = [sys.executable, "-B", audit.__file__, self.store, model, "--levels", *(self.file(f"level{level}") for level in range(3)),
                 "--edges", self.file("edges"), "--edge-weights", self.file("weights"), "--pairs", self.file("pairs"), "--rows", self.file("rows"),
                 "--training", self.folder]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def altered(self, name, model, change):
        """What is said where a file is another one."""
        held = np.load(self.file(name))
        array = held.copy()
        array = change(array)
        np.save(self.file(name), array)
        said = self.audit(model)
        np.save(self.file(name), held)
        return said


def flip(array):
    array.view(np.uint32)[3, 0] ^= 1
    return array


def check(program, folder, rules, models, directed):
    world = Links(program, folder, rules, directed)
    for number, (solver, words) in enumerate(models):
        world.run("train", world.store, "--solver", solver, "--lambda", "0.01", *words)
        requests = folder / "requests.txt"
        requests.write_text(f"node {3 * number + 2}\nedge {number} {number + 9}\ninsert-edge {number + 20} {number + 31}\nedge 4 6\n"
                            f"insert-edge 1 {number + 40}\n")
        world.run("stream", world.store, "--requests", requests, "--solver", solver)
        world.export(solver)
        assert world.audit(solver) == (0, ""), (rules, words, world.audit(solver))
        code, said = world.altered("rows", solver, flip)
        assert code == 1 and "numbers differ" in said, said
        code, said = world.altered("pairs", solver, lambda array: array[:-1])
        assert code == 1 and "drawn again" in said, said
        code, said = world.altered("edges", solver, lambda array: array[1:])
        assert code != 0, said
        rows, labels, train = (np.load(world.file(name)) for name in ("rows", "labels", "train"))
        assert verify_certificate.verify(world.store, solver, rows, labels, train) == []
        assert verify_certificate.verify(world.store, solver, rows, 1 - labels, train) != []
    world.run("verify", world.store)


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        for number, (rules, models) in enumerate([
                ("valid=.2,test=.1,negatives=2", [("exact", ["--pair", "hadamard,by=16", "--scale-rows", "unit"]),
                                                  ("newton", ["--pair", "both,by=4", "--rows-of", "stack,degree"])]),
                ("valid=.1,share=.5,apart,key=18446744073709551615", [("exact", ["--pair", "difference,by=8", "--lift", "20,key=3,bias=0.5"]),
                                                                       ("newton", ["--pair", "hadamard,by=4", "--lift", "20,key=3,at=node"])]),
                ("test=.3,uniform=50", [("exact", ["--pair", "hadamard"])])]):
            for directed in (False, True):
                folder = pathlib.Path(name) / f"{number}{'arcs' if directed else 'edges'}"
                folder.mkdir()
                check(program, folder, rules, models, directed)
    print("pairs, rows and certificates of links are those of other code")


if __name__ == "__main__":
    main()
