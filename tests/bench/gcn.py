#!/usr/bin/env python3
# tests/bench/gcn.py - what a graph convolutional network of two layers reaches that is trained end to end, on the splits of row_programs.py.
#
#   UNWEAVE_DATA=FOLDER python3 tests/bench/gcn.py [--only NAME ...] [--splits 10] [--first 0] [--settings NUMBER ...] [--epochs 400] [--threads 1]
#
# Needs PyTorch (apt-get install python3-torch). Prints each split's figures on the standard error as it ends, and then mean and standard
# deviation of the test accuracy (tolokers: area under the curve) over the splits. The network is A ReLU(A X W + b) V + c with dropout
# before each product (not of dense columns, which are few), A = D^(-1/2) (E + I) D^(-1/2) of undirected edges, Glorot's first weights,
# Adam on all training rows at once, and weight decay on the first layer. Of each setting the weights of the best epoch on the validation
# nodes are kept, training ends where 100 epochs were not better, and the best setting on these nodes is tested. Seeds are those of the
# splits. Dense columns are standardised, rows of sparse ones divided by their sum. Where page faults are dear, as on some virtual
# machines, large tensors that are made anew in each step make it up to four times slower; MALLOC_MMAP_MAX_=0
# MALLOC_TRIM_THRESHOLD_=100000000000 in the environment keep their memory.
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np
import scipy.sparse
import torch

import row_programs

# Hidden units, dropout, step, weight decay, and whether each layer adds a product of the node's own row, H U.
SETTINGS = [(64, .5, .01, 5e-4, False), (64, .2, .01, 0, False), (256, .5, .01, 5e-4, False), (256, .2, .01, 0, False), (256, .5, .01, 0, False),
            (256, .2, .01, 0, True), (64, .2, .01, 0, True)]
PATIENCE = 100


def array(file):
    """A file of NumPy, which zstd may have compressed."""
    if file.suffix != ".zst":
        return np.load(file)
    import io
    return np.load(io.BytesIO(subprocess.run(["zstd", "-dcq", file], check=True, capture_output=True).stdout))


def tensor(matrix):
    matrix = matrix.tocsr().astype(np.float32)
    return torch.sparse_csr_tensor(torch.from_numpy(matrix.indptr.astype(np.int64)), torch.from_numpy(matrix.indices.astype(np.int64)),
                                   torch.from_numpy(matrix.data), matrix.shape)


def adjacency(folder, nodes):
    """D^(-1/2) (E + I) D^(-1/2), of which repeats and loops of the file count once."""
    file = next(folder.glob("edges.tsv*"))
    text = subprocess.run(["zstd", "-dcqf", file], check=True, capture_output=True).stdout if file.suffix == ".zst" else file.read_bytes()
    ends = np.array(text.split(), dtype=np.int64).reshape(-1, 2)
    both = np.concatenate([ends, ends[:, ::-1], np.repeat(np.arange(nodes)[:, None], 2, axis=1)])
    found = scipy.sparse.coo_matrix((np.ones(len(both)), both.T), shape=(nodes, nodes)).tocsr()
    found.data[:] = 1
    roots = scipy.sparse.diags(np.asarray(found.sum(axis=1)).ravel() ** -.5)
    return tensor(roots @ found @ roots)


class SparseProduct(torch.autograd.Function):
    """A constant sparse matrix times a dense one. The transposed matrix stands for it on the way back."""

    @staticmethod
    def forward(context, dense, matrix, transposed):
        context.transposed = transposed
        return matrix @ dense

    @staticmethod
    def backward(context, slope):
        return context.transposed @ slope, None, None


class Input:
    """Rows of features, dense or sparse, and A X W."""

    def __init__(self, folder, columns, graph):
        self.graph = graph
        dense = next(folder.glob("features.npy*"), None)
        if dense:
            rows = array(dense).astype(np.float32)
            self.dense, self.columns = torch.from_numpy((rows - rows.mean(axis=0)) / np.maximum(rows.std(axis=0), 1e-9)), rows.shape[1]
            self.around = graph @ self.dense
            return
        parts = {name: next(folder.glob(f"feat_{name}.npy*"), None) for name in ("indptr", "indices", "values")}
        indptr, indices = array(parts["indptr"]), array(parts["indices"])
        values = array(parts["values"]) if parts["values"] else np.ones(len(indices))
        rows = scipy.sparse.csr_matrix((values, indices, indptr), shape=(len(indptr) - 1, columns))
        self.dense, self.columns = None, columns
        self.rows = (scipy.sparse.diags(1 / np.maximum(np.asarray(abs(rows).sum(axis=1)).ravel(), 1e-9)) @ rows).tocsr()
        places = self.rows.copy()
        places.data = np.arange(1, places.nnz + 1)  # where each entry of the transposed matrix stands in this one
        self.transposed = places.T.tocsr()
        self.whole = tensor(self.rows)

    def product(self, weights, own, dropout, training):
        """A X W, and X U where these are not None, of the same dropped entries of X."""
        if self.dense is not None:  # few columns, of which none can be missed
            return self.around @ weights + (0 if own is None else self.dense @ own)
        if not training:
            return self.graph @ (self.whole @ weights) + (0 if own is None else self.whole @ own)
        data = self.rows.data * (np.random.rand(self.rows.nnz) >= dropout) / (1 - dropout)
        there = tensor(scipy.sparse.csr_matrix((data, self.rows.indices, self.rows.indptr), self.rows.shape))
        back = tensor(scipy.sparse.csr_matrix((data[self.transposed.data - 1], self.transposed.indices, self.transposed.indptr), self.transposed.shape))
        around = SparseProduct.apply(SparseProduct.apply(weights, there, back), self.graph, self.graph)
        return around + (0 if own is None else SparseProduct.apply(own, there, back))


class Gcn(torch.nn.Module):
    def __init__(self, columns, hidden, classes, dropout, skips):
        super().__init__()
        self.first, self.second = torch.nn.Parameter(torch.empty(columns, hidden)), torch.nn.Parameter(torch.empty(hidden, classes))
        self.first_bias, self.second_bias = torch.nn.Parameter(torch.zeros(hidden)), torch.nn.Parameter(torch.zeros(classes))
        self.first_own = torch.nn.Parameter(torch.empty(columns, hidden)) if skips else None
        self.second_own = torch.nn.Parameter(torch.empty(hidden, classes)) if skips else None
        for weights in (self.first, self.second, self.first_own, self.second_own):
            if weights is not None:
                torch.nn.init.xavier_uniform_(weights)
        self.dropout = dropout

    def layers(self):
        """The parameters of both layers."""
        named = dict(self.named_parameters())
        return [[value for name, value in named.items() if name.startswith(layer)] for layer in ("first", "second")]

    def forward(self, rows, graph):
        hidden = torch.relu(rows.product(self.first, self.first_own, self.dropout, self.training) + self.first_bias)
        hidden = torch.nn.functional.dropout(hidden, self.dropout, self.training)
        out = SparseProduct.apply(hidden @ self.second, graph, graph) + self.second_bias
        return out if self.second_own is None else out + hidden @ self.second_own


def score(logits, labels, nodes, metric):
    if metric == "auc":
        from sklearn.metrics import roc_auc_score
        return roc_auc_score(labels[nodes], (logits[nodes, 1] - logits[nodes, 0]).numpy())
    return float((logits[nodes].argmax(dim=1).numpy() == labels[nodes]).mean())


def train(rows, graph, labels, split, setting, metric, seed, epochs):
    """The best score on the validation nodes and the one on the test nodes of that epoch."""
    hidden, dropout, step, decay, skips = setting
    torch.manual_seed(seed)
    np.random.seed(seed)
    model = Gcn(rows.columns, hidden, int(labels.max()) + 1, dropout, skips)
    first, second = model.layers()
    adam = torch.optim.Adam([{"params": first, "weight_decay": decay}, {"params": second}], lr=step)
    nodes, classes = torch.from_numpy(split[0]), torch.from_numpy(labels[split[0]].astype(np.int64))
    best, since = (-1., 0.), 0
    for _ in range(epochs):
        model.train()
        adam.zero_grad()
        torch.nn.functional.cross_entropy(model(rows, graph)[nodes], classes).backward()
        adam.step()
        model.eval()
        with torch.no_grad():
            logits = model(rows, graph)
        reached, since = score(logits, labels, split[1], metric), since + 1
        if reached > best[0]:
            best, since = (reached, score(logits, labels, split[2], metric)), 0
        if since == PATIENCE:
            break
    return best


def main():
    parser = argparse.ArgumentParser(description="A graph convolutional network of two layers, end to end.")
    names = [name for name in row_programs.DATA if name != "fashion-mnist"]
    parser.add_argument("--only", nargs="*", default=names)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the number of the first of them")
    parser.add_argument("--settings", nargs="*", type=int, default=list(range(len(SETTINGS))), help="which of the settings, by number")
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    data = pathlib.Path(os.environ["UNWEAVE_DATA"])
    print("| data | GCN, end to end |\n|---|---|")
    for name in given.only:
        folder, reached, seconds = data / name, [], []
        labels = np.load(next(folder.glob("labels.npy*")))
        graph = adjacency(folder, len(labels))
        rows = Input(folder, json.loads((folder / "meta.json").read_text())["features"], graph)
        for seed in range(given.first, given.first + given.splits):
            split = [np.sort(nodes) for nodes in row_programs.splits_of(name, folder, labels, seed)]
            start = time.time()
            trials = {number: train(rows, graph, labels, split, SETTINGS[number], row_programs.DATA[name], seed, given.epochs) for number in given.settings}
            chosen = max(trials, key=lambda number: trials[number][0])
            reached.append(trials[chosen][1])
            seconds.append(time.time() - start)
            print(json.dumps({"data": name, "seed": seed, "setting": chosen, "test": reached[-1], "seconds": round(seconds[-1], 1), "trials": trials}),
                  file=sys.stderr, flush=True)
        print(f"| {name} ({row_programs.DATA[name]}) | {100 * statistics.mean(reached):.1f} ± {100 * statistics.pstdev(reached):.1f} "
              f"({statistics.median(seconds):.1f} s) |", flush=True)


if __name__ == "__main__":
    main()
