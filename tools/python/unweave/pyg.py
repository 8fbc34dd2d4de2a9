"""A store as FeatureStore and GraphStore of PyTorch Geometric.

    from unweave.pyg import FeatureStore, GraphStore
    loader = NeighborLoader((FeatureStore(store), GraphStore(store)), num_neighbors=[10, 10], input_nodes=("node", train))

Written to the interface that torch_geometric.data.FeatureStore and GraphStore document (2.3 and later), and tested against
stand-ins of it, since PyTorch is not among Debian's packages for this. Needs torch and torch_geometric.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch_geometric.data import EdgeAttr, EdgeLayout
from torch_geometric.data import FeatureStore as _FeatureStore
from torch_geometric.data import GraphStore as _GraphStore
from torch_geometric.data import TensorAttr

from .errors import UsageError
from .names import NodeNumbers
from .store import Store

__all__ = ["FeatureStore", "GraphStore"]

NODE = "node"
EDGE = (NODE, "to", NODE)


class FeatureStore(_FeatureStore):
    """Reads rows of Z as the attribute "x" of the nodes "node", and their classes as "y". Rows come from the store as they are asked
    for; nothing of the size of the graph is kept. Put and remove are refused: requests go through ``store.stream()``."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._info = store.info()
        self._labels: Any = None

    def _all_labels(self) -> np.ndarray:
        if self._labels is None:
            self._labels = self._store.labels(numbers=True)
        return self._labels

    def _get_tensor(self, attr: TensorAttr) -> torch.Tensor | None:
        if attr.group_name != NODE or attr.attr_name not in ("x", "y"):
            return None
        index = attr.index
        if isinstance(index, slice):
            index = np.arange(*index.indices(self._info.nodes))
        elif index is not None:
            index = np.atleast_1d(np.asarray(index))
            if index.dtype == bool:
                index = np.flatnonzero(index)
        if attr.attr_name == "y":
            labels = self._all_labels()
            return torch.from_numpy(np.ascontiguousarray(labels if index is None else labels[index]))
        rows = self._store.embeddings(NodeNumbers(np.arange(self._info.nodes) if index is None else index), missing="nan")
        return torch.from_numpy(rows)

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...] | None:
        if attr.group_name != NODE or attr.attr_name not in ("x", "y"):
            return None
        layers = len(self._info.relations or [None]) + len(self._info.subsets or [])  # one where edges are of one kind
        width = self._info.features * layers * (2 if self._info.directed else 1)  # of both directions
        return (self._info.nodes,) if attr.attr_name == "y" else (self._info.nodes, width)

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        attrs = [TensorAttr(group_name=NODE, attr_name="x")]
        if self._info.labelled:
            attrs.append(TensorAttr(group_name=NODE, attr_name="y"))
        return attrs

    def _put_tensor(self, tensor: torch.Tensor, attr: TensorAttr) -> bool:
        raise UsageError("a store of Unweave is changed by store.stream(), not here")

    def _remove_tensor(self, attr: TensorAttr) -> bool:
        raise UsageError("a store of Unweave is changed by store.stream(), not here")


class GraphStore(_GraphStore):
    """Gives the edges of the type ("node", "to", "node"), both directions of each, or arcs as they lead where they have directions, in the layouts
    COO, CSR and CSC. They are read from the store at the first call and kept: 16 bytes an arc."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._nodes, self._directed = store.info().nodes, store.info().directed
        self._arcs: Any = None

    def _sorted_arcs(self) -> np.ndarray:
        """int64 [2, arcs], sorted by the second row, then by the first."""
        if self._arcs is None:
            edges = self._store.edges()
            arcs = (edges if self._directed else np.concatenate([edges, edges[:, ::-1]])).T
            self._arcs = np.ascontiguousarray(arcs[:, np.lexsort((arcs[0], arcs[1]))])
        return self._arcs

    def _get_edge_index(self, edge_attr: EdgeAttr) -> tuple[torch.Tensor, torch.Tensor] | None:
        if tuple(edge_attr.edge_type) != EDGE:
            return None
        sources, targets = self._sorted_arcs()
        layout = EdgeLayout(edge_attr.layout)
        if layout == EdgeLayout.COO:
            return torch.from_numpy(sources), torch.from_numpy(targets)
        # Where edges have no direction the arcs into a node, sorted, are the arcs out of it.
        if layout == EdgeLayout.CSR and self._directed:
            order = np.lexsort((targets, sources))
            sources, targets = targets[order], sources[order]
        offsets = np.zeros(self._nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(targets, minlength=self._nodes), out=offsets[1:])
        pair = torch.from_numpy(sources), torch.from_numpy(offsets)
        return pair if layout == EdgeLayout.CSC else (pair[1], pair[0])

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        # Sorted means by the target, which CSR cannot be.
        return [EdgeAttr(edge_type=EDGE, layout=layout, is_sorted=layout != EdgeLayout.CSR, size=(self._nodes, self._nodes))
                for layout in (EdgeLayout.COO, EdgeLayout.CSC, EdgeLayout.CSR)]

    def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool:
        raise UsageError("a store of Unweave is changed by store.stream(), not here")

    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool:
        raise UsageError("a store of Unweave is changed by store.stream(), not here")
