#!/usr/bin/env python3
"""The shape of the synthetic citation graph beside real ones: degrees, clustering, share of the labelled nodes.

    python3 tests/bench/citation.py --unweave build/release/unweave [--nodes 1110600] [--data FOLDER]

Generates a store, exports its edges and prints one line of JSON for it, and one for each citation graph under FOLDER
(cit-hepph, cit-hepth: edges.tsv or edges.tsv.zst), there with the degrees in each direction too. Needs NumPy and SciPy, and about 60 bytes of memory an arc.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np
from scipy import sparse

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999)
SAMPLE = 4000  # nodes whose clustering coefficient is computed
LARGEST = 3000  # a sampled node with more neighbours is left out


def adjacency(edges, nodes):
    """Undirected, without loops, each entry 1."""
    u, v = edges[:, 0].astype(np.int32), edges[:, 1].astype(np.int32)
    keep = u != v
    matrix = sparse.csr_matrix((np.ones(keep.sum(), np.int8), (u[keep], v[keep])), shape=(nodes, nodes))
    matrix = (matrix + matrix.T).tocsr()
    matrix.data[:] = 1
    return matrix


def clustering(matrix):
    """Mean of the local coefficients of a sample, 0 for a node of degree below 2."""
    nodes = matrix.shape[0]
    sample = np.random.default_rng(0).choice(nodes, min(nodes, SAMPLE), replace=False)
    found = []
    for node in sample:
        near = matrix.indices[matrix.indptr[node] : matrix.indptr[node + 1]]
        if len(near) < 2:
            found.append(0.0)
        elif len(near) <= LARGEST:
            inside = matrix[near][:, near].astype(np.int32).sum()
            found.append(inside / (len(near) * (len(near) - 1)))
    return float(np.mean(found))


def one_way(ends, nodes):
    """Of the degrees in one direction: quantiles, largest, share of zeros, share of the arcs at the top hundredth."""
    degrees = np.sort(np.bincount(ends, minlength=nodes))
    top = degrees[-max(1, nodes // 100):].sum() / degrees.sum()
    return [*(int(x) for x in np.quantile(degrees, QUANTILES, method="lower")), int(degrees[-1]),
            float((degrees == 0).mean()), float(top)]


def row(name, matrix, **more):
    degrees = np.diff(matrix.indptr)
    return {
        "graph": name,
        "nodes": int(matrix.shape[0]),
        "edges": int(matrix.nnz // 2),
        "degrees": [int(x) for x in np.quantile(degrees, QUANTILES, method="lower")],
        "largest": int(degrees.max()),
        "isolated": float((degrees == 0).mean()),
        "clustering": clustering(matrix),
        **more,
    }


def cone(matrix, labels):
    """Shares of the nodes, and of the arcs at them, within 0, 1, 2 hops of a labelled node."""
    degrees = np.diff(matrix.indptr)
    near = labels >= 0
    shares = []
    for _ in range(3):
        shares.append((float(near.mean()), float(degrees[near].sum() / degrees.sum())))
        near = near | (matrix @ near.astype(np.int32) > 0)
    return shares


def run(*words):
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def generated(unweave, nodes, folder):
    store = folder / "citation.store"
    made = run(unweave, "generate", store, "--model", "citation", "--nodes", str(nodes), "--features", "8", "--json")
    swept = run(unweave, "propagate", store, "--hops", "2", "--weights", "0,0,1", "--rows", "labelled", "--json")
    info = run(unweave, "info", store, "--json")
    subprocess.run([unweave, "export", store, "--edges", folder / "edges.npy", "--quiet"], check=True)
    matrix = adjacency(np.load(folder / "edges.npy", mmap_mode="r"), nodes)
    # Labels at rest: one i32 a node after the header of 128 bytes (storage/FORMAT.md).
    file = json.loads((store / "manifest.json").read_text())["contents"]["labels"]["path"]
    labels = np.fromfile(store / file, np.int32, nodes, offset=128)
    return row(
        "generated",
        matrix,
        bits_per_arc=info["bits_per_arc"],
        duplicates=made["duplicates"],
        rows_kept=swept["rows"],
        cone=cone(matrix, labels),
    )


def real(path):
    file = next(file for file in (path / "edges.tsv", path / "edges.tsv.zst") if file.exists())
    text = file.read_bytes()
    if file.suffix == ".zst":
        text = subprocess.run(["zstd", "-dc", file], check=True, capture_output=True).stdout
    edges = np.array(text.split(), np.int64).reshape(-1, 2)
    nodes = int(edges.max()) + 1
    return row(path.name, adjacency(edges, nodes), out=one_way(edges[:, 0], nodes), into=one_way(edges[:, 1], nodes))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--nodes", type=int, default=1110600)
    parser.add_argument("--data", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(generated(options.unweave, options.nodes, pathlib.Path(name))))
    if options.data:
        for name in ("cit-hepph", "cit-hepth"):
            if (options.data / name).exists():
                print(json.dumps(real(options.data / name)))


main()
