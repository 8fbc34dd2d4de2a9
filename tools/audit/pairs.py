#!/usr/bin/env python3
"""tools/audit/pairs.py - the pairs that a model of links learns from, and their rows, by code of its own, bit for bit.

    for l in 0 1 2: unweave export STORE --embeddings level$l.npy --weights W     (W: 1,0,0 then 0,1,0 then 0,0,1)
    unweave export STORE --edges edges.npy --edge-weights weights.npy --pairs pairs.npy --rows rows.npy --name MODEL
    tools/audit/pairs.py STORE MODEL --levels level0.npy level1.npy level2.npy --edges edges.npy --edge-weights weights.npy
        --pairs pairs.npy --rows rows.npy [--labels labels.npy --train train.npy] [--training FOLDER]

Shares nothing with the program: reads the rules of pairs out of manifest.json and the program of rows out of models/MODEL.model,
draws all training pairs again from the edges (storage/FORMAT.md, "Pairs") and forms their rows (algorithms/rows/README.md). Labels
and training nodes are wanted where rows have blocks of labels. Levels are those of a propagation with rho 1 and at most 24 bits.
A node counts as live where it has an edge of the graph, or a number of level 0 that is not 0. Prints what differs, a line each, and
exits 1; 0 where all is equal; 2 where something cannot be read. --training writes into FOLDER, which it makes, as labels.npy and train.npy, what
verify_certificate.py takes beside rows.npy. The order of the store is that of ids. Python 3.9 and NumPy.
"""
import argparse
import json
import pathlib
import sys

import numpy as np

import certificate_trail
from certificate_numerics import clip_rows
from rows import GOLDEN, MASK, Data, differences, form_copies, in_units, lifted, mix, of_nodes
from verify_certificate import read_model

CANDIDATES = 16
ROLES = ("valid", "test", "label", "plain")


def key(seed, number):
    """Numbers of a key (FORMAT.md, "The orders of slots")."""
    return mix(mix(seed + GOLDEN & MASK) + number * GOLDEN & MASK)


class Pairs:
    """All of them as a function of edges, live nodes and public rules. `directed`: edges are arcs, and pairs ordered."""

    def __init__(self, rules, nodes, directed=False):
        self.rules, self.nodes, self.directed, self.shift = rules, nodes, directed, 64 - max(1, (nodes - 1).bit_length())

    def edge(self, u, v):
        return (u, v) if self.directed else (min(u, v), max(u, v))

    def role(self, u, v):
        first, second = self.edge(u, v)
        place = key(key(self.rules["key"], 0), first << 32 | second) >> 32
        return ROLES[sum(place >= bound for bound in self.rules["below"])]

    def is_held(self, u, v):
        role = self.role(u, v)
        return role in ("valid", "test") or role == "label" and self.rules["apart"]

    def training(self, edges, live):
        """Rows (end, end, 1 for an edge): the edges of role `label` ascending, each with its negatives, then uniform pairs."""
        counts = {edge for edge in edges if self.role(*edge) in ("label", "plain")}
        apart = lambda u, v: u != v and self.edge(u, v) not in counts
        seed, found = self.rules["key"], []
        for u, v in sorted(edge for edge in counts if self.role(*edge) == "label"):
            number = u << 32 | v
            keeps_second, own = key(key(seed, 1), number) & 1, key(key(seed, 2), number)
            stays = (u, v)[keeps_second]
            found.append((u, v, 1))
            for j in range(self.rules["negatives"]):
                ends = (key(own, CANDIDATES * j + t) >> self.shift for t in range(CANDIDATES))
                drawn = ((w, stays) if keeps_second and self.directed else (stays, w) for w in ends if w < self.nodes and w in live)
                pair = next((pair for pair in drawn if apart(*pair)), None)
                found += [] if pair is None else [(*pair, 0)]
        for i in range(self.rules["uniform"]):
            own = key(key(seed, 5), i)
            drawn = ((key(own, 2 * t) >> self.shift, key(own, 2 * t + 1) >> self.shift) for t in range(CANDIDATES))
            pair = next((pair for pair in drawn if max(pair) < self.nodes and live.issuperset(pair) and apart(*pair)), None)
            found += [] if pair is None else [(*pair, 0)]
        return np.array(found, np.int64).reshape(-1, 3)


def halved(rows):
    """Divided by the square root of 2, rounded once."""
    return (rows.astype(float) / np.sqrt(2.0)).astype(np.float32)


def form_pairs(data, weights, program, pairs):
    """The rows of pairs of a program from those of their nodes, which are clipped before: with directions, of where arcs of the first begin
    and where those of the second end."""
    node_program, lift = of_nodes(program)
    nodes = clip_rows(form_copies(data, weights, node_program, [np.arange(data.nodes * data.copies)]), 1)
    a, b, by = nodes[pairs[:, 0]], nodes[pairs[:, 1] + (data.copies - 1) * data.nodes], np.float32(program["pair"]["by"])
    parts = {"hadamard": lambda: clip_rows(a * b * by, 1), "difference": lambda: clip_rows(np.abs(a - b) * np.float32(0.5) * by, 1)}
    how = program["pair"]["how"]
    rows = parts[how]() if how in parts else clip_rows(np.hstack([halved(parts["hadamard"]()), halved(parts["difference"]())]), 1)
    return rows if lift is None else halved(np.hstack([rows, lifted(rows, lift)]))


def check(model, rules, levels, edges, weights, pairs, rows, labels, train, directed=False, self_weight=1):
    """What is false; `model`: the text of its file. Raises ValueError where there is nothing to check."""
    program, propagation = model.get("rows", {}), model["propagation"]
    if program.get("unit") != "pair":
        raise ValueError("the model has no rows of pairs")
    if propagation["rho"] != 1 or propagation["scale_bits"] > 24 or len(levels) != propagation["levels"] + 1:
        raise ValueError("one level each is wanted, exact in float32: after a propagation with --rho 1 and --scale-bits 24 at most")
    drawn = Pairs(rules, len(labels), directed)
    inside = np.array([not drawn.is_held(u, v) for u, v in edges.tolist()], bool)
    data = Data(levels, propagation["scale_bits"], edges[inside], weights[inside], labels, train, max(1, model["classes"]), 1 + directed,
                "directed" if directed else None, self_weight)
    live = set(np.flatnonzero(np.any(levels[0] != 0, axis=1)).tolist()) | set(edges[inside].ravel().tolist())
    found = drawn.training(set(map(tuple, edges.tolist())), live)
    if not np.array_equal(pairs, found):
        return [f"there are {len(found)} training pairs, drawn again from the edges, and they are not the {len(pairs)} that are given"]
    return differences(rows, form_pairs(data, model["weights"], program, pairs), [tuple(pair) for pair in pairs[:, :2].tolist()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=pathlib.Path)
    parser.add_argument("model")
    parser.add_argument("--levels", nargs="+", required=True)
    for name in ("edges", "pairs", "rows"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("edge-weights", "labels", "train", "training"):
        parser.add_argument(f"--{name}")
    given = parser.parse_args()

    def run():
        model, _ = read_model(given.store, given.model)
        contents = json.loads((given.store / "manifest.json").read_text())["contents"]
        if "pairs" not in contents:
            raise ValueError("the store predicts no links")
        edges, pairs, rows = (np.load(getattr(given, name)) for name in ("edges", "pairs", "rows"))
        weights = np.load(given.edge_weights) if given.edge_weights else np.ones(len(edges), np.int64)
        (weights,), self_weight = in_units(given.store, [weights])
        directed = contents.get("layers") == "directed"
        labels = np.load(given.labels) if given.labels else np.full(contents["nodes"] // (1 + directed), -1)
        train = np.load(given.train) if given.train else np.empty(0, np.int64)
        if given.training:
            pathlib.Path(given.training).mkdir(parents=True, exist_ok=True)
            np.save(pathlib.Path(given.training) / "labels.npy", 1 - pairs[:, 2])
            np.save(pathlib.Path(given.training) / "train.npy", np.arange(len(pairs)))
        return check(model, contents["pairs"], [np.load(name) for name in given.levels], edges, weights, pairs, rows, labels, train, directed,
                     self_weight)

    return certificate_trail.report("pairs", run)


if __name__ == "__main__":
    sys.exit(main())
