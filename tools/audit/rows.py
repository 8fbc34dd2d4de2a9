#!/usr/bin/env python3
"""tools/audit/rows.py - the rows that a model learns on, formed again by code of its own, bit for bit.

    for l in 0 1 2: unweave export STORE --embeddings level$l.npy --weights W --missing nan     (W: 1,0,0 then 0,1,0 then 0,0,1)
    unweave export STORE --edges edges.npy --edge-weights weights.npy --labels labels.npy --train train.npy --rows rows.npy --name MODEL
    tools/audit/rows.py STORE MODEL --levels level0.npy level1.npy level2.npy --edges edges.npy --edge-weights weights.npy
        --labels labels.npy --train train.npy --rows rows.npy [--nodes nodes.npy] [--graphs graphs.npy]

Shares nothing with the program: reads the program of rows out of models/MODEL.model and follows algorithms/rows/README.md. Levels
are those of a propagation with rho 1 and at most 24 bits, whose float32 hold the integers of the store exactly; of `open` level 0
must be there for all neighbours (propagate --rows all). Rows are those of the training nodes, or of --nodes where these were given
to `export`. Where edges are of several kinds, --edges has a file for each, in their order. Of a model of `train --pool` rows are
those of the training graphs, --graphs is what `export --graphs` has written, and --labels what `export --graph-labels` has. Prints
which rows differ and where, a line each, and exits 1; 0 where all bits are equal; 2 where something cannot be read. Python 3.9 and
NumPy.
"""
import argparse
import json
import math
import pathlib
import sys

import numpy as np

import certificate_trail
from certificate_numerics import clip_rows
from verify_certificate import read_model

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
MOST_TOLD = 10
ROUNDS = 3
DEGREES = 32


def mix(x):
    """The finaliser of SplitMix64."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def signs(key, count):
    """1 or -1 by the highest bit of so many numbers of a key."""
    start = mix(key + GOLDEN & MASK)
    return np.array([-1 if mix(start + j * GOLDEN & MASK) >> 63 else 1 for j in range(count)], dtype=np.int64)


def walsh_hadamard(rows):
    """Each row times the Hadamard matrix of its length, a power of two, in int64."""
    count, length = rows.shape
    half = 1
    while half < length:
        pairs = rows.reshape(count, -1, 2, half)
        rows = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2).reshape(count, length)
        half *= 2
    return rows


def lifted(rows, lift):
    """lift(row) of rows of norm 1 at most, float32."""
    integers = np.rint(rows.astype(float) * 2.0**16).astype(np.int64)
    if lift["bias"] != 0:
        integers = np.hstack([integers, np.full((len(rows), 1), np.rint(lift["bias"] * 2.0**16), np.int64)])
    length = 1 << (integers.shape[1] - 1).bit_length()
    integers = np.hstack([integers, np.zeros((len(rows), length - integers.shape[1]), np.int64)])
    blocks = -(-lift["width"] // length)
    flips = signs(lift["key"], blocks * ROUNDS * length).reshape(blocks, ROUNDS, length)
    factor = 1 / 2.0**16 / math.sqrt(length**3 * blocks)
    parts = []
    for block in range(blocks):
        values = integers
        for flip in flips[block]:
            values = walsh_hadamard(values * flip)
        parts.append((np.maximum(values, 0).astype(float) * factor).astype(np.float32))
    return np.hstack(parts)


def in_copies(edges, weights, layers, nodes):
    """Edges between copies of nodes. `layers`: None, "directed", or the object of relations in a manifest, whose edges and weights are lists,
    one a relation. A layer is a relation, or a set of them behind all relations; with directions it has two copies of a node, where arcs
    begin and where they end, else one."""
    if layers is None:
        return edges, weights
    if layers == "directed":
        return edges + np.array([0, nodes]), weights
    ends = np.array([0, nodes if layers.get("directed") else 0])
    copies = 2 if layers.get("directed") else 1
    members = [[relation] for relation in range(len(layers["relations"]))] + layers["subsets"]
    parts = [(edges[relation] + ends + copies * layer * nodes, weights[relation]) for layer, all_ in enumerate(members) for relation in all_]
    return np.concatenate([part for part, _ in parts]), np.concatenate([part for _, part in parts])


class Data:
    """What rows are made from: whole[l] [nodes, columns], level l times 2^scale_bits, NaN for a node without one; edges [m, 2], each
    once, their weights; labels; train, the training nodes that have one; classes. With copies of a node, whose levels stand side by side
    in `levels`, copy c of node u is node c N + u here, and `layers` says what edges join (in_copies())."""

    def __init__(self, levels, scale_bits, edges, weights, labels, train, classes, copies=1, layers=None, self_weight=1):
        self.self_weight = self_weight
        self.unit, self.classes, self.nodes, self.copies = 2.0**-scale_bits, classes, len(labels), copies
        levels = [np.concatenate(np.split(level, copies, axis=1)) for level in levels]
        edges, weights = in_copies(edges, weights, layers, self.nodes)
        if copies > 1:
            train = np.concatenate([train + copy * self.nodes for copy in range(copies)])
        labels = self.labels = np.tile(labels, copies)
        self.whole = [level.astype(float) / self.unit for level in levels]
        for level in self.whole:
            there = level[~np.isnan(level)]
            if not np.array_equal(there, np.rint(there)):
                raise ValueError("a level is none of integers: it needs rho 1, and weights that are 1 for one level and 0 for the others")
        self.trains = np.zeros(len(labels), bool)
        self.trains[train] = True
        both = np.concatenate([edges, edges[:, ::-1]])
        weights = np.concatenate([weights, weights])
        order = np.argsort(both[:, 0], kind="stable")
        self.ends, self.weights = both[order, 1], weights[order]
        self.starts = np.searchsorted(both[order, 0], np.arange(len(labels) + 1))

    def neighbours(self, node):
        """Nodes, and the weight of the edge to each."""
        range_ = slice(self.starts[node], self.starts[node + 1])
        return self.ends[range_], self.weights[range_]

    def degree(self, node):
        """Counts the node itself."""
        return self.self_weight + self.weight(node)

    def weight(self, node):
        """That of its edges together."""
        return int(self.neighbours(node)[1].sum())

    def levels(self, nodes, weights):
        """A block for each L + 1 of the weights."""
        blocks = np.array(weights).reshape(-1, len(self.whole))
        out = []
        for block in blocks:
            total = np.zeros((len(nodes), self.whole[0].shape[1]))
            for weight, level in zip(block, self.whole):
                if weight != 0:
                    total += weight * level[nodes]
            out.append((total * self.unit).astype(np.float32))
        return np.hstack(out) if out else np.zeros((len(nodes), 0), np.float32)

    def open(self, nodes):
        out = np.zeros((len(nodes), self.whole[0].shape[1]), np.float32)
        for i, node in enumerate(nodes):
            ends, weights = self.neighbours(node)
            if len(ends) == 0:
                continue
            rows = self.whole[0][ends]
            if np.isnan(rows).any():
                raise ValueError(f"a neighbour of node {node} has no level 0, which the block open reads; propagate with --rows all")
            total = weights @ rows.astype(np.int64)
            out[i] = total.astype(float) / float(self.weight(node)) * self.unit
        return out

    def label_shares(self, nodes):
        out = np.zeros((len(nodes), self.classes), np.float32)
        for i, node in enumerate(nodes):
            ends, weights = self.neighbours(node)
            for label in range(self.classes):
                count = int(weights[self.trains[ends] & (self.labels[ends] == label)].sum())
                if count:
                    out[i, label] = float(count) / float(self.weight(node))
        return out

    def degrees(self, nodes):
        out = np.zeros((len(nodes), DEGREES), np.float32)
        for i, node in enumerate(nodes):
            out[i, self.degree(node).bit_length() - 1] = 1
        return out


BLOCKS = {"open": Data.open, "labels": Data.label_shares, "degree": Data.degrees}


def to_unit(rows):
    """Each row divided by its norm; one of zeros stays."""
    out = rows.astype(float)
    norms = np.sqrt(np.cumsum(out**2, axis=1)[:, -1])
    there = norms > 0
    out[there] /= norms[there, None]
    return out.astype(np.float32)


def pooled(rows, pool):
    """The row of a whole graph: whole numbers of the rows of its nodes, added up and divided once."""
    total = np.rint(clip_rows(rows, 1).astype(float) * 2.0**24).astype(np.int64).sum(axis=0)
    divisor = float(pool["sum"]) if isinstance(pool, dict) else {"mean": float(len(rows)), "root": math.sqrt(len(rows))}[pool]
    return (total.astype(float) * 2.0**-24 / divisor).astype(np.float32)


def of_nodes(program):
    """The program of nodes behind one of pairs or graphs, and the lift beside the rows of these, or None."""
    lift = program["lift"]
    at_nodes = lift is not None and lift.get("at") == "node"
    return {**program, "unit": "node", "lift": lift if at_nodes else None}, None if at_nodes else lift


def form_graphs(data, weights, program, graphs, numbers):
    """The rows of a program of whole graphs; `graphs`: that of each node."""
    nodes, lift = of_nodes(program)
    rows = np.array([pooled(form(data, weights, nodes, np.flatnonzero(graphs == number)), program["pool"]) for number in numbers], np.float32)
    return beside(rows, lift)


def weights_of_copy(weights, levels, copy, program):
    """The blocks of weights that a copy of a node has: where level 0 stands once, blocks of it alone are those of the first copy."""
    if copy == 0 or program.get("level_0") is None:
        return weights
    blocks = np.array(weights).reshape(-1, levels)
    is_level_0 = (blocks[:, 0] != 0) & (blocks[:, 1:] == 0).all(axis=1)
    return blocks[~is_level_0].ravel()


def form(data, weights, program, nodes):
    """The rows of a program: weights of its levels, and the member `rows` of a model."""
    if program["unit"] != "node":
        raise ValueError(f"rows of {program['unit']!r} are not known")
    if program.get("level_0", "once") != "once":
        raise ValueError(f"level 0 {program['level_0']!r} is not known")
    if program.get("copies", 1) != data.copies:
        raise ValueError(f"rows of {program.get('copies', 1)} copies of a node, and the data have {data.copies}")
    return form_copies(data, weights, program, [nodes + copy * data.nodes for copy in range(data.copies)])


def form_copies(data, weights, program, copies):
    """Rows in which copies of nodes stand side by side: some of one, then as many of the next."""
    rows = np.hstack([part for copy, some in enumerate(copies)
                      for part in (data.levels(some, weights_of_copy(weights, len(data.whole), copy, program)),
                                   *(BLOCKS[name](data, some) for name in program["blocks"]))])
    if np.isnan(rows).any():
        raise ValueError("a node has no level, and so no row")
    if program["scale"] == "unit":
        rows = to_unit(rows)
    return beside(rows, program["lift"])


def beside(rows, lift):
    """Rows with their lift beside them, where there is one."""
    if lift is None:
        return rows
    rows = clip_rows(rows, 1)
    both = np.hstack([rows, lifted(rows, lift)])
    return (both.astype(float) / math.sqrt(2.0)).astype(np.float32)


PLAIN = {"unit": "node", "blocks": [], "scale": "clip", "lift": None}  # a model without a program


def differences(said, found, nodes, unit="node"):
    """What is not equal in bits."""
    if said.shape != found.shape or said.dtype != np.float32:
        return [f"rows are {said.dtype} {said.shape}, formed again they are float32 {found.shape}"]
    differ = said.view(np.uint32) != found.view(np.uint32)
    false = []
    for i in np.flatnonzero(differ.any(axis=1))[:MOST_TOLD]:
        column = int(np.flatnonzero(differ[i])[0])
        false.append(f"the row of {unit} {nodes[i]}: {int(differ[i].sum())} of {differ.shape[1]} numbers differ, the first in column {column}: "
                     f"{float(said[i, column])!r}, formed again {float(found[i, column])!r}")
    more = int(differ.any(axis=1).sum()) - len(false)
    return false + ([f"{more} more rows differ"] if more else [])


def in_units(store, weights):
    """Weights as whole numbers, and that of a self loop: of units, where weights are real."""
    of = json.loads((store / "manifest.json").read_text(encoding="utf-8"))["contents"].get("weights", {})
    if "unit" not in of:
        return weights, 1
    return [np.rint(some / 2.0 ** of["unit"]).astype(np.int64) for some in weights], of["self"]


def check(model, levels, edges, weights, labels, train, rows, nodes, graphs=None, layers=None, self_weight=1):
    """What is false; `model`: the text of its file. `graphs`: those of the nodes, of which `nodes` then names some. `layers`: as in_copies() takes
    them, where nodes have copies. Raises ValueError where there is nothing to check."""
    propagation = model["propagation"]
    if propagation["rho"] != 1 or propagation["scale_bits"] > 24:
        raise ValueError("levels are exact in float32 after a propagation with --rho 1 and --scale-bits 24 at most")
    if len(levels) != propagation["levels"] + 1:
        raise ValueError(f"{len(levels)} levels are given, the model has {propagation['levels'] + 1}")
    program = model.get("rows", PLAIN)
    if (program["unit"] == "graph") != (graphs is not None):
        raise ValueError(f"rows are of {program['unit']}s; give --graphs for rows of graphs alone")
    if graphs is not None:  # which have labels and splits, where nodes have none
        labels, trains = np.full(len(graphs), -1), np.empty(0, np.int64)
    else:
        trains = train
    data = Data(levels, propagation["scale_bits"], edges, weights, labels, trains, model["classes"], program.get("copies", 1), layers,
                self_weight)
    if graphs is not None:
        return differences(rows, form_graphs(data, model["weights"], program, graphs, nodes), nodes, "graph")
    return differences(rows, form(data, model["weights"], program, nodes), nodes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=pathlib.Path)
    parser.add_argument("model")
    parser.add_argument("--levels", nargs="+", required=True)
    parser.add_argument("--edges", nargs="+", required=True)
    for name in ("labels", "train", "rows"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--edge-weights", nargs="+")
    parser.add_argument("--nodes")
    parser.add_argument("--graphs")
    given = parser.parse_args()

    def run():
        model, _ = read_model(given.store, given.model)
        labels, train, rows = (np.load(getattr(given, name)) for name in ("labels", "train", "rows"))
        layers = json.loads((given.store / "manifest.json").read_text(encoding="utf-8"))["contents"].get("layers")
        edges = [np.load(name) for name in given.edges]
        wanted = len(layers["relations"]) if isinstance(layers, dict) else 1
        if len(edges) != wanted:
            raise ValueError(f"{len(edges)} files of edges are given, and the store has edges of {wanted} kinds")
        weights = [np.load(name) for name in given.edge_weights] if given.edge_weights else [np.ones(len(some), np.int64) for some in edges]
        if len(weights) != wanted:
            raise ValueError(f"{len(weights)} files of weights are given, and the store has edges of {wanted} kinds")
        weights, self_weight = in_units(given.store, weights)
        if not isinstance(layers, dict):
            edges, weights = edges[0], weights[0]
        nodes = np.load(given.nodes) if given.nodes else train
        return check(model, [np.load(name) for name in given.levels], edges, weights, labels, train, rows, nodes,
                     np.load(given.graphs) if given.graphs else None, layers, self_weight)

    return certificate_trail.report("rows", run)


if __name__ == "__main__":
    sys.exit(main())
