"""Arrays, tables and graphs of other packages, as inputs of an import. Nothing is copied where memory can be read as it lies."""
from __future__ import annotations

import os
import warnings
from typing import Any, Iterable

import numpy as np

from . import _arrow
from .columns import Columns, is_columnar
from .errors import UsageError

__all__ = ["array_of", "edges_of", "features_of", "ids_of", "labels_of", "names_of", "node_ids", "parts_of_graph", "weights_of",
           "whole_number"]


def is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def columns_of(value: Any) -> Columns | None:
    """Columns of files of Parquet or Arrow, where the value is such, or a path of one; else None."""
    return value if isinstance(value, Columns) else Columns(value) if is_columnar(value) else None


def array_of(value: Any, name: str) -> np.ndarray:
    """An array of NumPy over the memory of ``value``: an array, a tensor on the CPU (``__dlpack__``), a column or a series, a
    list of numbers. Throws UsageError for what is none."""
    if isinstance(value, np.ndarray):
        array = value
    elif hasattr(value, "__arrow_c_stream__"):
        columns = _arrow.columns(value, name)
        if len(columns) != 1:
            raise UsageError(f"{name}: a table of {len(columns)} columns, where one is wanted")
        array = _whole(columns[0][1])
    elif hasattr(value, "to_numpy"):
        array = value.to_numpy()
    elif hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        array = np.from_dlpack(value)
    elif hasattr(value, "detach"):  # a tensor of PyTorch that may want a gradient
        array = np.asarray(value.detach())
    else:
        array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        remedy = ""
        if array.dtype.kind in "OUS":
            remedy = ("; number the classes: numpy.unique(labels, return_inverse=True)[1]" if name == "labels" else
                      "; names of nodes stand in requests and in files of text, elsewhere their numbers: store.numbers(names), or their places in ids")
        raise UsageError(f"{name}: elements of type {array.dtype}, where numbers are wanted{remedy}")
    return array


def _whole(chunks: list[np.ndarray]) -> np.ndarray:
    return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)


def _little(array: np.ndarray) -> np.ndarray:
    """The array with a type that a .npy file of Unweave's may have."""
    if array.dtype.byteorder == ">" or array.dtype.itemsize > 8:
        array = array.astype(np.float64 if array.dtype.kind == "f" else array.dtype.newbyteorder("<"))
    return array


def _input(name: str, array: np.ndarray) -> dict[str, Any]:
    """One array as an input."""
    array = _little(array)
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    if not (fortran or array.flags.c_contiguous):
        array = np.ascontiguousarray(array)
    return {"name": name, "type": array.dtype.str.replace("|b", "|b"), "shape": list(array.shape),
            "fortran_order": bool(fortran), "pieces": [array.T if fortran else array]}


def _pair_input(name: str, first: list[np.ndarray], second: list[np.ndarray]) -> dict[str, Any]:
    """Two columns of ids, in pieces, as an array of shape (2, m)."""
    count, other = sum(map(len, first)), sum(map(len, second))
    if count != other:
        raise UsageError(f"{name}: {count} sources and {other} targets")
    types = {piece.dtype for piece in [*first, *second]} or {np.dtype(np.int64)}
    kind = types.pop() if len(types) == 1 else np.dtype(np.int64)
    pieces = [np.ascontiguousarray(_little(piece.astype(kind, copy=False))) for piece in [*first, *second]]
    return {"name": name, "type": _little(np.empty(0, kind)).dtype.str, "shape": [2, count], "fortran_order": False,
            "pieces": pieces}


def _check_ids(name: str, *pieces: np.ndarray) -> None:
    for piece in pieces:
        if piece.dtype.kind not in "iu":
            raise UsageError(f"{name}: ids of type {piece.dtype}, where integers are wanted")


def node_ids(nodes: Any, name: str = "nodes") -> np.ndarray | None:
    """Ids of nodes, from ids or a mask; None for None."""
    if nodes is None:
        return None
    array = array_of(nodes, name)
    if array.dtype.kind == "b":
        array = np.flatnonzero(array)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise UsageError(f"{name}: an array of shape {array.shape} and type {array.dtype}, where ids of nodes or a mask are wanted", [name])
    return np.atleast_1d(array).astype(np.int64, copy=False)


def whole_number(value: Any, name: str, least: int = 0, most: int = 2**64 - 1) -> int:
    """A whole number within bounds; a UsageError for anything else."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value <= most:
        raise UsageError(f"{name}: {value!r} is not a whole number from {least} to {most}", [name])
    return int(value)


def names_of(names: Any) -> dict[str, Any]:
    """Options of an import for the names of nodes: a path, as ``--ids`` takes it; integers; or texts, one a node, None or "" for a node
    without a name."""
    if (files := columns_of(names)) is not None:
        return files.names()
    if is_path(names):
        return {"ids": os.fspath(names)}
    array = np.asarray(names.to_numpy() if hasattr(names, "to_numpy") else names)
    if array.dtype.kind in "iu":
        return {"ids": _input("ids", np.atleast_1d(array))}
    if array.ndim != 1 or array.dtype.kind not in "OUS":
        raise UsageError(f"ids: an array of shape {array.shape} and type {array.dtype}, where one name a node is wanted", ["ids"])
    texts = []
    for number, name in enumerate(array.tolist()):
        text = b"" if name is None else name.encode() if isinstance(name, str) else name
        if not isinstance(text, bytes) or b"\0" in text:
            raise UsageError(f"ids: {name!r} of node {number} is no name: a text is wanted, or None for a node without a name", ["ids"])
        texts.append(text)
    return {"ids": _input("ids", np.array(texts, dtype=np.bytes_) if any(texts) else np.zeros(len(texts), "S1"))}


def pairs_of(edges: Any) -> np.ndarray:
    """Edges of requests as integers (m, 2), from (m, 2), (2, m) or a list of tuples (u, v). An array (2, 2) may be two edges in either way,
    so that taking it for one of them might remove what nobody named: it is a UsageError."""
    are_tuples = isinstance(edges, list) and all(isinstance(edge, tuple) for edge in edges)
    array = array_of(edges, "edges")
    if array.ndim != 2 or 2 not in array.shape or array.dtype.kind not in "iu":
        raise UsageError(f"edges: an array of shape {array.shape} and type {array.dtype}, where integers (m, 2) or (2, m) are wanted", ["edges"])
    if array.shape == (2, 2) and not are_tuples:
        raise UsageError("edges: of an array of shape (2, 2) nobody can tell whether rows or columns are edges; give a list of tuples (u, v)", ["edges"])
    return array.T if array.shape[1] != 2 else array


def edges_of(graph: Any, weighted: bool = False) -> dict[str, Any]:
    """Options of an import for the edges of ``graph``, and for their weights where ``weighted`` and it has them:

    - a path, as ``--edges`` of the command line takes it, or of a file of Parquet or Arrow;
    - :class:`unweave.Columns` of such files;
    - an array of integers of any type and order, of shape (2, m) or (m, 2); (2, 2) is (2, m), as PyG has it;
    - a pair (u, v) of arrays;
    - a sparse matrix of SciPy, whose non-zeros are the edges, and their weights;
    - a table with two columns (pandas, or ``__arrow_c_stream__``), the first two of which are the ends, the third one the weights;
    - a graph of DGL, or anything that has ``edges()`` that gives (u, v).
    """
    name = "graph"
    if (files := columns_of(graph)) is not None:
        return files.edges()
    if is_path(graph):
        return {"edges": os.fspath(graph)}
    if hasattr(graph, "tocoo"):
        if graph.shape[0] != graph.shape[1]:
            raise UsageError(f"graph: a matrix of shape {graph.shape}, where a square one is wanted")
        matrix = graph.tocoo()
        if weighted and not getattr(matrix, "has_canonical_format", True):
            matrix = matrix.copy()
            matrix.sum_duplicates()  # entries that repeat are added, as SciPy means them
        options = {"edges": _pair_input(name, [matrix.row], [matrix.col]), "two_row_edges": True, "nodes": int(graph.shape[0])}
        return options | (weights_of(matrix.data) if weighted else {})
    if hasattr(graph, "__arrow_c_stream__"):
        columns = _arrow.columns(graph, name)
        if len(columns) < 2:
            raise UsageError("graph: a table of fewer than two columns, the ends of the edges")
        ends = [columns[0][1], columns[1][1]]
        _check_ids(name, *ends[0], *ends[1])
        options = {"edges": _pair_input(name, *ends), "two_row_edges": True}
        return options | (weights_of(_whole(columns[2][1])) if weighted and len(columns) > 2 else {})
    if hasattr(graph, "iloc") and hasattr(graph, "columns"):
        if len(graph.columns) < 2:
            raise UsageError("graph: a table of fewer than two columns, the ends of the edges")
        ends = [array_of(graph.iloc[:, i], name) for i in (0, 1)]
        _check_ids(name, *ends)
        options = {"edges": _pair_input(name, [ends[0]], [ends[1]]), "two_row_edges": True}
        return options | (weights_of(graph.iloc[:, 2]) if weighted and len(graph.columns) > 2 else {})
    if hasattr(graph, "edges") and callable(graph.edges):
        graph = graph.edges()
    if isinstance(graph, tuple) and len(graph) == 2:
        ends = [array_of(one, name) for one in graph]
        _check_ids(name, *ends)
        return {"edges": _pair_input(name, [ends[0]], [ends[1]]), "two_row_edges": True}
    array = array_of(graph, name)
    _check_ids(name, array)
    if array.ndim != 2 or 2 not in array.shape:
        raise UsageError(f"graph: an array of shape {array.shape}, where (2, m) or (m, 2) is wanted")
    return {"edges": _input(name, array), "two_row_edges": array.shape[0] == 2}


def weights_of(weights: Any) -> dict[str, Any]:
    """Options of an import for the weights of edges: a path, or an array of one whole number an edge."""
    if is_path(weights):
        return {"edge_weights": os.fspath(weights)}
    return {"edge_weights": _input("edge_weights", array_of(weights, "edge_weights").reshape(-1))}


def require_no_weights(graph: Any, weights: Any) -> None:
    """Throws UsageError for edges that have weights which nobody asked for: those of a graph or, where there are none, the values of a
    sparse matrix."""
    if weights is None and hasattr(graph, "tocoo"):
        weights = graph.tocsr().data
    if hasattr(graph, "iloc") and len(graph.columns) == 3:
        warnings.warn(f"graph: the third column, {graph.columns[2]!r}, is not read; with max_weight it is the weights of the edges, and with "
                      "ignore_weights=True nobody asks", stacklevel=3)
    if weights is not None and not is_path(weights) and np.any(array_of(weights, "edge_weights") != 1):
        raise UsageError("graph: edges have weights other than 1; declare the largest one by max_weight, or take the edges without them by "
                         "ignore_weights=True", ["max_weight", "ignore_weights"])


def features_of(features: Any) -> dict[str, Any]:
    """Options of an import for the features: a path, an array (N, F), a sparse matrix of SciPy, or Columns."""
    if (files := columns_of(features)) is not None:
        return files.features()
    if is_path(features):
        return {"features": os.fspath(features)}
    if hasattr(features, "tocsr"):
        matrix = features.tocsr()
        if not matrix.has_sorted_indices:
            matrix = matrix.sorted_indices()
        return {"csr": {"indptr": _input("features.indptr", matrix.indptr), "indices": _input("features.indices", matrix.indices),
                        "values": _input("features.data", array_of(matrix.data, "features")), "columns": int(matrix.shape[1])}}
    array = _table(features, "features")
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise UsageError(f"features: an array of shape {array.shape}, where (N, F) is wanted")
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)  # rows are read one after another
    return {"features": _input("features", array)}


def _table(value: Any, name: str) -> np.ndarray:
    """An array of one or more columns."""
    if hasattr(value, "__arrow_c_stream__") and not isinstance(value, np.ndarray):
        columns = [_whole(chunks) for _, chunks in _arrow.columns(value, name)]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)
    return array_of(value, name)


def labels_of(labels: Any) -> dict[str, Any]:
    """Options of an import for the classes of all nodes: a path, or an array of N numbers, -1 or NaN for none."""
    if (files := columns_of(labels)) is not None:
        return {"labels": files.vector("labels", missing=-1)}
    if is_path(labels):
        return {"labels": os.fspath(labels)}
    return {"labels": _input("labels", array_of(labels, "labels"))}


def ids_of(ids: Any, name: str) -> Any:
    """An input for ids of nodes, or for a mask: a path, or an array of integers or of booleans."""
    if (files := columns_of(ids)) is not None:
        return files.vector(name)
    if is_path(ids):
        return os.fspath(ids)
    array = array_of(ids, name)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)  # an empty list
    if array.dtype.kind not in "biu":
        raise UsageError(f"{name}: elements of type {array.dtype}, where ids or a mask are wanted")
    return _input(name, array)


def _first(container: Any, names: Iterable[str]) -> Any:
    for name in names:
        try:
            value = container[name]
        except (KeyError, TypeError, AttributeError):
            continue
        if value is not None:
            return value
    return None


def parts_of_graph(graph: Any) -> dict[str, Any]:
    """Graph, features, labels, splits and weights of an object that has them all: ``Data`` of PyG (edge_index, edge_weight, x, y, masks), or
    a graph of DGL (``ndata`` with feat, label and masks, ``edata`` with weight). Anything else is the graph alone."""
    masks = {"train": "train_mask", "valid": "val_mask", "test": "test_mask"}
    if getattr(graph, "edge_index", None) is not None:
        parts = {"graph": graph.edge_index, "features": getattr(graph, "x", None), "labels": getattr(graph, "y", None),
                 "edge_weights": getattr(graph, "edge_weight", None)}
        parts.update({split: getattr(graph, mask, None) for split, mask in masks.items()})
        nodes = getattr(graph, "num_nodes", None)
        parts["nodes"] = None if nodes is None else int(nodes)
        return parts
    if hasattr(graph, "ndata"):
        data = graph.ndata
        parts = {"graph": graph, "features": _first(data, ("feat", "x", "features")), "labels": _first(data, ("label", "y", "labels")),
                 "edge_weights": _first(getattr(graph, "edata", {}), ("weight",))}
        parts.update({split: _first(data, (mask,)) for split, mask in masks.items()})
        nodes = graph.num_nodes() if callable(getattr(graph, "num_nodes", None)) else None
        parts["nodes"] = None if nodes is None else int(nodes)
        return parts
    return {"graph": graph}
