#!/usr/bin/env python3
"""tests/verify_certificate_test.py - the independent verifier accepts true certificates and finds every altered number.

    tests/verify_certificate_test.py UNWEAVE
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools" / "audit"))
import certificate_network
import certificate_trail as trail
import rows as row_programs
import verify_certificate
from certificate_numerics import form_rows, minimise, mixed

# Of weights that are gone, and what a minimisation found on its way: only the digest holds these.
HELD_BY_DIGEST = {"step_norm", "solver_error", "radius", "residual", "exact_gradients", "gradients", "rough_gradients", "products", "corrections",
                  "doubts"}


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


def sign(seed, message):
    """Ed25519 of RFC 8032."""
    expanded = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(expanded[:32], "little") & (1 << 254) - 8 | 1 << 254
    compress = lambda point: (lambda inverse: (point[1] * inverse % trail.PRIME | (point[0] * inverse % trail.PRIME & 1) << 255)
                              .to_bytes(32, "little"))(pow(point[2], trail.PRIME - 2, trail.PRIME))
    public = compress(trail.multiply(scalar, trail.BASE))
    nonce = int.from_bytes(hashlib.sha512(expanded[32:] + message).digest(), "little") % trail.ORDER
    first = compress(trail.multiply(nonce, trail.BASE))
    challenge = int.from_bytes(hashlib.sha512(first + public + message).digest(), "little")
    return first + ((nonce + challenge * scalar) % trail.ORDER).to_bytes(32, "little")


def line_of(said, seed):
    """As one line; signed anew by who has the seed, or with the digest and the signature it had."""
    if seed is None:
        return json.dumps(said, separators=(",", ":"))
    text = json.dumps({key: value for key, value in said.items() if key not in ("digest", "signature")},
                      separators=(",", ":"))[:-1]
    digest = trail.blake(text.encode())
    return text + f',"digest":"{digest.hex()}","signature":"{sign(seed, digest).hex()}"}}'


def forge(line, part, path, seed):
    """Line and private part in which the number at `path` of the whole certificate is another one."""
    said, hidden = json.loads(line), json.loads(part)
    holder = hidden
    for key in path:
        holder = holder.get(key) if isinstance(holder, dict) else holder[key] if isinstance(holder, list) else None
    inside = holder is not None and path != ("number",)
    alter(hidden if inside else said, path)
    part = json.dumps(hidden, separators=(",", ":"))
    if seed is not None:
        said["commitment"] = trail.blake(part.encode()).hex()
    return line_of(said, seed), part


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

    def stream(self, solver, text, *options):
        (self.folder / "requests").write_text(text)
        self.run("stream", self.store, "--requests", self.folder / "requests", "--solver", solver, *options)

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


def check_solver(world, solver, head, text, parameters=None, theorem="T1", adaptive=False):
    """The last release before the requests, and the one after them."""
    world.train(solver, head, parameters or {})
    before = world.inputs()
    check_release(world, solver, (solver, head, "learnt"), theorem, None)
    world.stream(solver, text, *([] if adaptive else ["--non-adaptive"]))
    check_release(world, solver, (solver, head, parameters), theorem, before)


def check_release(world, solver, what, theorem, before):
    rows, labels, train = world.inputs()
    held = before and (before[0], before[2], before[1][before[2]])
    for given in (None, held):
        false = verify_certificate.verify(world.store, solver, rows, labels, train, given)
        assert not false, (what, false)

    model, arrays = verify_certificate.read_model(world.store, solver)
    log, parts = verify_certificate.read_trail(world.store, solver)
    previous = trail.merge(log[-2], parts[-2]) if len(log) > 1 else None
    line, part = log[-1], parts[-1]
    certificate = trail.merge(line, part)
    seed = bytes.fromhex((world.store / "certificates" / "signing-key").read_text())
    assert line_of(json.loads(line), seed) == line, (what, "the program signs otherwise")
    assert certificate["theorem"] == theorem, what

    def judge(model, arrays, line, part, rows=rows):
        chain = trail.line_problems(json.loads(line), json.loads(log[-2]) if len(log) > 1 else None, None)
        return chain + verify_certificate.Verifier(model, arrays, line, part, rows, labels[train], train, held,
                                                   previous).run()

    paths = numbers(certificate)
    assert len(paths) > 20
    for path in paths:
        for key in (None, seed):
            bad, hidden = forge(line, part, path, key)
            found = judge({**model, "certificate": bad, "private_part": hidden}, arrays, bad, hidden)
            assert found or (key and path[-1] in HELD_BY_DIGEST), (what, path, key)

    moved = rows.copy()
    moved[:, 0] = -moved[:, 0]
    drawn = certificate["terms"].get("sampling", 0) != 0  # its runs end elsewhere every time
    assert drawn or judge(model, arrays, line, part, moved), (what, "other rows were not told")
    weak = [0.1 * arrays[0], *arrays[1:]]
    assert drawn or judge(model, weak, line, part), (what, "other weights were not told")
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
        assert judge(model, bad, model["certificate"], model["private_part"]), (what, name, "a smaller account was not told")


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


def check_trail(folder, program):
    """What an auditor finds who has the public log of a stream with receipts, beside what the program says of the same."""
    world = World(program, folder)
    world.train("newton", "logistic", {})
    (world.folder / "requests").write_text("".join(f"edge {i} {i + 1}\nnode {200 + i}\n" for i in range(8)) +
                                           "edge 3 3\nnode 999999\n")
    receipts, key = world.folder / "receipts", world.folder / "key"
    world.run("stream", world.store, "--requests", world.folder / "requests", "--batch", "7", "--solver", "newton",
              "--receipts", receipts)
    log = world.store / "certificates" / "newton.jsonl"
    lines, proofs = log.read_text().splitlines(), receipts.read_text().splitlines()
    assert len(lines) == 4 and len(proofs) == 18
    public = json.loads(lines[0])["public_key"]

    def codes(lines, proofs, key=public):
        log.write_text("".join(line + "\n" for line in lines))
        receipts.write_text("".join(proof + "\n" for proof in proofs))
        words = [log, "--public-key", key, "--receipts", receipts]
        return tuple(subprocess.run([*map(str, command + words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                     .returncode for command in ([sys.executable, "-B", trail.__file__], [program, "verify"]))

    assert codes(lines, proofs) == (0, 0)
    assert codes(lines[:2] + lines[3:], proofs) == (1, 4)
    assert codes([lines[0], lines[2], lines[1], lines[3]], proofs) == (1, 4)
    assert codes(lines[:3], proofs) == (1, 4)  # receipts of the last one
    assert codes(lines[:3], proofs[:14]) == (0, 0)
    assert codes(lines, proofs, "00" * 32) == (1, 4)
    assert codes([line.replace('"epsilon":1.0', '"epsilon":0.5') for line in lines], proofs) == (1, 2)
    assert codes(lines, [proof.replace("edge 3 4", "edge 3 5") for proof in proofs]) == (1, 4)
    said = [json.loads(proof) for proof in proofs]
    assert [told["status"] for told in said[-2:]] == ["rejected"] * 2 and "applied" in [told["status"] for told in said]
    assert [told["reason"] for told in said[-2:]] == ["self-loop", "id-outside"]
    for change in ({"status": "applied"}, {"reason": "absent-edge"}, {"format": "unweave receipt 1"},
                   {"status": "rejected\tid-outside"}, {"solver": "exact"}, {"certified": True}):
        bad = {**said[-1], **change}
        if "status" in change or "format" in change:
            del bad["reason"]
        assert codes(lines, proofs[:-1] + [json.dumps(bad)]) == (1, 4), change
    assert codes(lines, ["nothing"]) == (2, 2)
    for other in "[" * 100_000, "5", "[]", '"text"', json.dumps({**said[-1], "nonce": 5}):
        assert codes(lines, [other])[0] == 2, other[:40]
    seed = bytes.fromhex((world.store / "certificates" / "signing-key").read_text())
    said = json.loads(lines[1])
    for path in numbers(said):
        bad = json.loads(lines[1])
        alter(bad, path)
        found = codes([lines[0], line_of(bad, seed), *lines[2:]], proofs)
        assert found[0] == 1 and found[1] != 0, ("signed anew", path, found)  # the next line names this one
    for name in said["terms"]:
        bad = json.loads(lines[1])
        del bad["terms"][name]
        assert codes([lines[0], line_of(bad, seed), *lines[2:]], proofs) == (2, 2), ("without", name)
    for theorem in ("T0", "T2", "T3", "T4"):
        bad = {**json.loads(lines[1]), "theorem": theorem, "claim": theorem}
        assert codes([lines[0], line_of(bad, seed), *lines[2:]], proofs) == (1, 4), ("newton by", theorem)
    # Other words, signed anew by who has a key of their own: the last line, which no other one names.
    last = json.loads(lines[3])
    for change in ({"not_covered": []}, {"not_covered": last["not_covered"][1:]}, {"not_covered": last["not_covered"] + ["x"]},
                   {"withdraw": []}, {"withdraw": ["newton-1-0123456789abcdef"]}, {"withdraw": ["nothing", *last["withdraw"]]},
                   {"reference": last["reference"].replace("present", "whole")}, {"mechanism": "none needed"},
                   {"adjacency": "none needed: anything"}, {"requests": "any"}, {"releases": "all"}, {"releases": "this"}):
        assert codes([*lines[:3], line_of({**last, **change}, seed)], proofs) == (1, 4), change
    twice = line_of(last, None).replace('"solver"', '"not_covered":[],"solver"', 1)
    assert codes([*lines[:3], line_of(last, None)], proofs) == (0, 0)
    text = twice[:twice.rindex(',"digest"')]
    digest = trail.blake(text.encode())
    twice = text + f',"digest":"{digest.hex()}","signature":"{sign(seed, digest).hex()}"}}'
    assert codes([*lines[:3], twice], proofs) == (2, 2), "one name twice"
    log.write_text("".join(line + "\n" for line in lines)[:-20])
    for command in ([sys.executable, "-B", trail.__file__], [program, "verify"]):
        done = subprocess.run([*map(str, command), str(log)], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "cut inside its last line" in done.stderr and "hold" not in done.stderr, done
    key.write_text("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n")  # RFC 8032, test 1
    world.run("train", world.store, "--solver", "retrain", "--key", key)
    log = world.store / "certificates" / "retrain.jsonl"
    assert codes(log.read_text().splitlines(), proofs[:0], "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a") == (0, 2)


def check_solvers(world, runs):
    """Each a solver, a head, and where they are not the usual ones parameters and the theorem."""
    edges = np.arange(0, 80).reshape(-1, 2)
    for number, (solver, head, *rest) in enumerate(runs):
        node = world.inputs()[2][number]
        check_solver(world, solver, head, f"node {node}\nedge {edges[number][0]} {edges[number][1]}\n", *rest)


def check_minimisers(folder, program):
    world = World(program, folder)
    check_solvers(world, [("exact", "logistic", {}, "T0"), ("exact", "softmax", {"grid": 20}, "T0"),
                          ("exact", "least-squares", {"grid": 36}, "T0"), ("newton", "logistic"), ("newton", "least-squares"),
                          ("newton", "softmax"), ("retrain", "logistic"),
                          ("descent-to-delete", "logistic"), ("descent-to-delete", "softmax", {"public-state": 1}),
                          ("newton-step", "least-squares")])
    check_damage(world)


class CoraWorld(World):
    """As many nodes, edges, features and classes as Cora has: noise on 10,031 weights hides 26 deviations in one direction."""

    def make(self):
        self.run("generate", self.store, "--model", "sbm", "--nodes", "2708", "--edges", "5278", "--features", "1433",
                 "--classes", "7", "--seed", "4")


def check_lean(folder, program):
    """What was not unlearnt is seen in one direction, where the norm of the noise hides it."""
    world = CoraWorld(program, folder)
    before = world.inputs()
    (folder / "copy").mkdir()
    for name in ("rows", "labels", "train"):
        (folder / f"{name}.npy").rename(folder / "copy" / f"{name}.npy")
    world.train("newton", "logistic", {})
    world.stream("newton", "".join(f"node {node}\n" for node in before[2][:8]))
    rows, labels, train = world.inputs()
    model, _ = verify_certificate.read_model(world.store, "newton")
    minimum = lambda rows, labels: minimise(form_rows(rows, model["clip"], True), labels, "logistic", 0.02 * len(rows), 7)[0]
    best, then = minimum(rows, labels[train]), minimum(before[0], before[1][before[2]])
    line = json.loads(verify_certificate.read_trail(world.store, "newton")[0][-1])
    tau = 1e-6 * np.linalg.norm(then - best) / (15 * line["terms"]["sigma"])
    world.run("train", world.store, "--solver", "newton", "--head", "logistic", "--lambda", "0.02", "--tau", str(tau))

    model, arrays = verify_certificate.read_model(world.store, "newton")
    lines, parts = verify_certificate.read_trail(world.store, "newton")
    held = before[0], before[2], before[1][before[2]]
    judge = lambda arrays, line, held: verify_certificate.Verifier(
        {**model, "certificate": line}, arrays, line, parts[-1], rows, labels[train], train, held).run()
    assert judge(arrays, lines[-1], None) == [] and judge(arrays, lines[-1], held) == []

    terms = json.loads(lines[-1])["terms"]
    assert 14 < np.linalg.norm(then - best) / terms["sigma"] < 16
    forged = terms["grid"] * np.rint((arrays[0] + (then - best).ravel()) / terms["grid"])
    digest = trail.blake(forged.tobytes(), bytes.fromhex(model["release_key"])).hex()
    bad = line_of({**json.loads(lines[-1]), "weights_digest": digest, "id": f"newton-1-{digest[:16]}"},
                  bytes.fromhex((world.store / "certificates" / "signing-key").read_text()))
    assert judge([forged, *arrays[1:]], bad, None) == []
    found = judge([forged, *arrays[1:]], bad, held)
    assert len(found) == 1 and "lean towards" in found[0], found

    command = [sys.executable, "-B", verify_certificate.__file__, world.store, "newton"]
    for name in ("rows", "labels", "train"):
        command += [f"--{name}", folder / f"{name}.npy"]
    command += ["--before-rows", folder / "copy" / "rows.npy", "--before-train", folder / "copy" / "train.npy"]
    code = lambda *more: subprocess.run([*map(str, command + list(more))], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL).returncode
    assert code() == 2  # the nodes that left have no label here
    assert code("--before-labels", folder / "copy" / "labels.npy") == 0


class RowsWorld(World):
    """Weighted edges, and models of a program of rows."""
    directions, solvers = [], ("exact", "newton")
    layers, edge_names, kind = None, ["edges"], ""

    def make(self):
        random = np.random.default_rng(7)
        nodes, self.options, self.solver = 60, [], "exact"
        labels = random.integers(3, size=nodes)
        ends = np.unique(np.sort(random.integers(nodes, size=(150, 2)), axis=1), axis=0)
        ends = ends[ends[:, 0] < ends[:, 1]]
        if self.directions:
            ends[::3] = ends[::3, ::-1]
        given = self.save_edges(np.hstack([ends, random.integers(1, 6, (len(ends), 1))]))
        np.save(self.folder / "features.npy", (random.normal(size=(nodes, 5)) + 2 * np.eye(3, 5)[labels]) / 4)
        labels[random.random(nodes) < 0.2] = -1
        np.save(self.folder / "classes.npy", labels)
        np.save(self.folder / "members.npy", np.flatnonzero((labels >= 0) & (random.random(nodes) < 0.7)))
        self.run("import", self.store, *self.directions, "--nodes", nodes, *given, "--features",
                 self.folder / "features.npy", "--labels", self.folder / "classes.npy", "--split", f"train={self.folder / 'members.npy'}")
        self.run("propagate", self.store, "--hops", "2", "--rho", "1", "--rows", "all")

    def save_edges(self, edges):
        """Edges with weights; returns the options that import them."""
        np.savetxt(self.folder / "edges.txt", edges, "%d")
        return "--edges", self.folder / "edges.txt", "--max-weight", "5"

    def export_edges(self):
        self.run("export", self.store, "--edges", self.folder / "edges.npy", "--edge-weights", self.folder / "weights.npy")

    def edges(self):
        """Edges and weights as rows.py takes them."""
        return [np.load(self.folder / f"{name}.npy") for name in ("edges", "weights")]

    def run(self, *words):
        if words[0] != "propagate" or "--rho" in words:  # not as World has it
            super().run(*words)

    def train(self, solver, head, parameters):
        self.solver = solver
        self.run("train", self.store, "--solver", solver, "--head", head, "--lambda", "0.02", *self.options)

    def inputs(self):
        file = lambda name: self.folder / f"{name}.npy"
        self.run("export", self.store, "--labels", file("labels"), "--train", file("train"), "--rows", file("rows"), "--name", self.solver)
        self.export_edges()
        for level in range(3):
            self.run("export", self.store, "--embeddings", file(f"level{level}"), "--missing", "nan", "--weights",
                     ",".join("1" if level == one else "0" for one in range(3)))
        return [np.load(file(name)) for name in ("rows", "labels", "train")]


class GraphsWorld(RowsWorld):
    """Edges without weights inside whole graphs, which have the classes; models of rows of graphs."""

    def make(self):
        random = np.random.default_rng(11)
        nodes, self.options, self.solver = 90, [], "exact"
        graphs, labels = random.integers(15, size=nodes), random.integers(2, size=15)
        graphs[random.random(nodes) < 0.05] = -1
        ends = np.array([(u, v) for u in range(nodes) for v in range(u) if graphs[u] == graphs[v] and random.random() < 0.4])
        np.savetxt(self.folder / "edges.txt", ends, "%d")
        np.save(self.folder / "features.npy", (random.normal(size=(nodes, 4)) + np.eye(2, 4)[labels[graphs]]) / 4)
        np.save(self.folder / "given.npy", graphs)
        np.save(self.folder / "classes.npy", np.where(random.random(15) < 0.1, -1, labels))
        np.save(self.folder / "members.npy", np.arange(12))
        self.run("import", self.store, "--nodes", nodes, "--edges", self.folder / "edges.txt", "--features", self.folder / "features.npy",
                 "--graphs", self.folder / "given.npy", "--graph-labels", self.folder / "classes.npy", "--classes", 2,
                 "--graph-split", f"train={self.folder / 'members.npy'}")
        self.run("propagate", self.store, "--hops", "2", "--rho", "1")

    def inputs(self):
        """Labels are those of graphs."""
        rows, _, train = super().inputs()
        self.run("export", self.store, "--graphs", self.folder / "graphs.npy", "--graph-labels", self.folder / "graph_labels.npy")
        return [rows, np.load(self.folder / "graph_labels.npy"), train]


def check_graphs(folder, program):
    """Rows of whole graphs, formed by other code, and certificates of models on them. Errors that are planted are told."""
    world = GraphsWorld(program, folder)
    solver = "exact"
    for number, options in enumerate([["--pool", "mean", "--rows-of", "stack,degree"],
                                      ["--pool", "root", "--rows-of", "stack,open", "--scale-rows", "unit"],
                                      ["--pool", "sum=8", "--lift", "40,key=3,bias=0.25"],
                                      ["--pool", "mean", "--lift", "40,key=3,at=node"]]):
        world.options = options
        text = f"node {2 * number}\ngraph {number}\nset-graph-label {5 + number} 1\nmove-graph-split {8 + number} none\n"
        check_solver(world, solver, "logistic", text, theorem="T0")
        rows, _, train = world.inputs()
        model, _ = verify_certificate.read_model(world.store, solver)
        load = lambda name: np.load(world.folder / f"{name}.npy")
        levels, arrays = [load(f"level{level}") for level in range(3)], [load(name) for name in ("edges", "weights", "labels", "train")]
        graphs = load("graphs")
        assert row_programs.check(model, levels, *arrays, rows, train, graphs) == []
        moved = graphs.copy()
        moved[np.flatnonzero(graphs == train[0])[0]] = -1  # a node that has left and is not forgotten
        false = row_programs.check(model, levels, *arrays, rows, train, moved)
        assert len(false) == 1 and f"the row of graph {train[0]}" in false[0], false


class ArcsWorld(RowsWorld):
    """Likewise where edges have directions; models of a solver whose numbers are all told apart."""
    directions, solvers, layers = ["--directed"], ("exact",), "directed"


class KindsWorld(RowsWorld):
    """Likewise where edges of two kinds have directions, without weights."""
    directions, solvers, edge_names, kind = ["--directed"], ("exact",), ["cites", "writes"], " writes"
    layers = {"relations": ["cites", "writes"], "subsets": [[0, 1]], "directed": True}

    def save_edges(self, edges):
        words = ["--subset", "cites,writes"]
        for place, name in enumerate(self.edge_names):  # some edges are of both kinds
            np.savetxt(self.folder / f"{name}.txt", edges[edges[:, 2] % 3 != place, :2], "%d")
            words += ["--relation", f"{name}={self.folder / name}.txt"]
        return words

    def export_edges(self):
        for name in self.edge_names:
            self.run("export", self.store, "--edges", self.folder / f"{name}.npy", "--relation", name)

    def edges(self):
        edges = [np.load(self.folder / f"{name}.npy") for name in self.edge_names]
        return edges, [np.ones(len(some), np.int64) for some in edges]


def check_rows(folder, program):
    """Rows of programs, formed by other code, and certificates of models on them. Errors that are planted are told."""
    for name, kind in (("edges", RowsWorld), ("arcs", ArcsWorld), ("kinds", KindsWorld)):
        (folder / name).mkdir()
        check_rows_of(kind(program, folder / name))


def check_rows_of(world):
    file = lambda name: world.folder / f"{name}.npy"
    command = [sys.executable, "-B", row_programs.__file__, world.store, "", "--levels", *(file(f"level{level}") for level in range(3)),
               "--edges", *(file(name) for name in world.edge_names), "--labels", file("labels"), "--train", file("train"),
               "--rows", file("rows"), *(["--edge-weights", file("weights")] if world.edge_names == ["edges"] else [])]

    def run():
        command[4] = world.solver
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def with_array(name, change):
        """What the program says where one of its files is another one."""
        array = np.load(file(name))
        held = array.copy()
        change(array)
        np.save(file(name), array)
        said = run()
        np.save(file(name), held)
        return said

    for number, (solver, options) in enumerate([
            ("exact", ["--rows-of", "stack,open,labels,degree", "--scale-rows", "unit"]),
            ("exact", ["--rows-of", "stack,labels", "--lift", "40,key=18446744073709551615,bias=0.25"]),
            ("newton", ["--rows-of", "levels,degree", "--lift", "100", "--scale-rows", "clip"]),
            ("newton", ["--weights", "0.5,0.25,0.125"])]):
        if solver not in world.solvers:
            continue
        world.options = options
        text = f"node {2 * number}\nedge 1 {30 + number}{world.kind}\nset-label {20 + number} 1\nmove-split {40 + number} none\n"
        check_solver(world, solver, "logistic", text, theorem="T0" if solver == "exact" else "T1")
        rows, labels, train = world.inputs()
        assert run() == (0, ""), (options, run())
        code, said = with_array("rows", lambda array: array[3].view(np.uint32).__ixor__(1))
        assert code == 1 and said.count("\n") == 1 and f"the row of node {train[3]}: {rows.shape[1]} of" in said, said
        if "labels" in options[1]:
            edges = np.vstack([np.load(file(name)) for name in world.edge_names])
            beside = next(end for end, other in np.vstack([edges, edges[:, ::-1]]) if end in train and other in train)
            code, said = with_array("labels", lambda array: array.__setitem__(beside, (array[beside] + 1) % 3))
            assert code == 1 and "formed again" in said, said
        model, _ = verify_certificate.read_model(world.store, solver)
        arrays = [*world.edges(), *(np.load(file(name)) for name in ("labels", "train", "rows", "train"))]
        levels = [np.load(file(f"level{level}")) for level in range(3)]
        assert row_programs.check(model, levels, *arrays, layers=world.layers) == []
        if "--lift" in options:
            drawn = row_programs.signs
            row_programs.signs = lambda key, count: drawn(key, count) * np.where(np.arange(count) == 1, -1, 1)
            assert row_programs.check(model, levels, *arrays, layers=world.layers), "another sign was not told"
            row_programs.signs = drawn
        if "rows" in model:  # a certificate of other rows than those of the model
            other = {**model, "rows": {**model["rows"], "scale": "clip" if model["rows"]["scale"] == "unit" else "unit"}}
            lines, parts = verify_certificate.read_trail(world.store, solver)
            _, weights = verify_certificate.read_model(world.store, solver)
            false = verify_certificate.Verifier(other, weights, lines[-1], parts[-1], rows, labels[train], train).run()
            assert [one for one in false if one.startswith("row_program is")], false
    world.run("propagate", world.store, "--hops", "2", "--rho", "0.5")
    assert run()[0] == 0  # the model says what it stands on, and the files are those from before
    world.solver = "newton"
    world.run("train", world.store, "--solver", "newton")
    assert run()[0] == 2


def check_networks(folder, program):
    """Trained again, with one hidden layer, and with more of another width by batches."""
    world = World(program, folder)
    check_solvers(world, [("replay", "mlp", {"steps": 20}, "T0'"), ("replay", "mlp", {"steps": 12, "batches": 3, "key": 5}, "T0'")])
    # The released weights are no others for other ids of the nodes, unless the batches go by them.
    rows, labels, train = world.inputs()
    rows = form_rows(rows, 1, False)
    one, other = (certificate_network.trained_weights(rows[order], labels[train][order], train + 1, (6, 5, 4, 3), 1e-3, 10, 1, 0.01, 2)
                  for order in (np.arange(len(rows)), np.arange(len(rows))[::-1]))
    assert np.array_equal(one, other)
    parted = [certificate_network.trained_weights(rows, labels[train], train + more, (6, 5, 3), 1e-3, 10, 2, 0.01, 2) for more in (0, 1)]
    assert not np.array_equal(*parted)
    # The weights that tests/algorithms/solvers/replay/replay_training_test.cpp pins.
    state, drawn = 55, []
    for _ in range(4000 * 5):
        state = state + 0x9E3779B97F4A7C15 & 2**64 - 1
        drawn.append((mixed(state) >> 44) - 2**19)
    rows = np.array(drawn, float).reshape(-1, 5)[:3000] * 2.0**-22
    labels = ((rows[:, 0] * rows[:, 1] > 0) ^ (rows[:, 2] > 0.05)).astype(int)
    pinned = certificate_network.trained_weights(rows, labels, np.arange(3000), (5, 32, 2), 1e-4, 200, 1, 0.01, 4)
    digest = hashlib.sha256((pinned * 2**18).astype("<i8").tobytes()).hexdigest()
    assert digest.startswith("22b876ea792ed0688da4bfd1b3af4594"), digest


def check_langevin(folder, program):
    check_solvers(World(program, folder), [("langevin", "logistic", {}, "T2"), ("langevin", "softmax", {}, "T2"),
                                           ("langevin", "logistic", {}, "T2", True),
                                           ("langevin-full", "least-squares", {}, "T2")])


def check_rewind(folder, program):
    check_solvers(World(program, folder), [("rewind", "logistic", {}, "T4"), ("rewind", "softmax", {"sampling": 1}, "T4"),
                                           ("descend", "least-squares", {}, "T4"),
                                           ("descend", "logistic", {"sampling": 2}, "T4")])


def check_influence(folder, program):
    (folder / "graph").mkdir()
    check_solvers(World(program, folder / "graph"), [("hessian-free", "logistic", {}, "T3")])
    (folder / "flat").mkdir()
    world = FlatWorld(program, folder / "flat")
    for head, parameters in (("logistic", {"s-max": 2}), ("softmax", {"own-hessian": 0, "s-max": 5}),
                             ("least-squares", {"group-rows": 2, "s-max": 20})):
        nodes = world.inputs()[2][:4]
        check_solver(world, "hessian-free", head, "".join(f"node {node}\n" for node in nodes), parameters, "T3")


PARTS = {"trail": check_trail, "minimisers": check_minimisers, "networks": check_networks, "lean": check_lean, "langevin": check_langevin, "rewind": check_rewind,
         "influence": check_influence, "rows": check_rows, "graphs": check_graphs}


def main():
    """The program, and the part to check."""
    with tempfile.TemporaryDirectory() as folder:
        PARTS[sys.argv[2]](pathlib.Path(folder), sys.argv[1])


if __name__ == "__main__":
    main()
