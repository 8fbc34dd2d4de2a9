"""Nodes of several kinds: ranges of ids, and arrays and files that count within a kind."""
from __future__ import annotations

from typing import Any

from . import arrays
from .errors import UsageError

#: Of a heterogeneous graph of PyG: the attribute of a kind of nodes that holds each split.
_MASKS = {"train": "train_mask", "valid": "val_mask", "test": "test_mask"}


def has_types(graph: Any) -> bool:
    """Whether an object is a heterogeneous graph: ``HeteroData`` of PyG has lists of kinds of nodes and of edges."""
    return all(isinstance(getattr(graph, name, None), (list, tuple)) for name in ("node_types", "edge_types"))


def parts_of_types(graph: Any) -> dict[str, Any]:
    """Arguments of an import that stand for a heterogeneous graph of PyG: relations, ends, types, features, weights, labels and splits. The kind with
    labels comes first, so that its nodes keep their numbers. Several such kinds are a UsageError."""
    labelled = [name for name in graph.node_types if getattr(graph[name], "y", None) is not None]
    if len(labelled) > 1:
        raise UsageError(f"graph: nodes of the kinds {' and '.join(labelled)} have labels, and models learn those of one; delete y of the others, "
                         f"as by `del graph[{labelled[-1]!r}].y`", ["graph"])
    names = sorted(graph.node_types, key=lambda name: name not in labelled)
    triplets = list(graph.edge_types)
    words = [relation for _, relation, _ in triplets]
    relation_names = [relation if words.count(relation) == 1 else "-".join(triplet) for triplet, relation in zip(triplets, words)]
    parts: dict[str, Any] = {"types": {name: int(graph[name].num_nodes) for name in names}, "relations": {}, "ends": {}, "features": {}}
    edge_weights = {}
    for name, triplet in zip(relation_names, triplets):
        edges = graph[triplet].edge_index
        parts["relations"][name] = (edges[0], edges[1])
        if getattr(graph[triplet], "edge_weight", None) is not None:
            edge_weights[name] = graph[triplet].edge_weight
        parts["ends"][name] = (triplet[0], triplet[2])
    for name in names:
        if getattr(graph[name], "x", None) is not None:
            parts["features"][name] = graph[name].x
    parts["features"] = parts["features"] or None
    parts["edge_weights"] = edge_weights or None
    if labelled:
        own = graph[labelled[0]]
        parts.update({"labels": own.y, "labels_of": labelled[0]})
        parts.update({split: getattr(own, mask, None) for split, mask in _MASKS.items()})
    return parts


def options_of_types(types: Any, ends: Any, labels_of: Any, features: Any, relations: Any) -> dict[str, Any]:
    """Options of an import for kinds of nodes. ``types``: how many nodes each has, by its name; ``ends``: the two kinds of a relation, by its
    name; ``labels_of``: the kind whose nodes the labels and the splits count; ``features``: a dict of them, by kinds, or anything else,
    which is then of all nodes."""
    if types is None:
        given = next((name for name, value in (("ends", ends), ("labels_of", labels_of)) if value is not None), None)
        if given is not None:
            raise UsageError(f"{given} needs types: it names kinds of nodes; give types={{name: nodes, ..}}", [given, "types"])
        return {}
    if not isinstance(types, dict) or not types or not all(isinstance(name, str) for name in types):
        raise UsageError("types: a dict of numbers of nodes is wanted, by the names of their kinds, one at least", ["types"])
    names = list(types)
    counts = [arrays.whole_number(count, f"types[{name!r}]", 1) for name, count in types.items()]
    options: dict[str, Any] = {"types": list(zip(names, counts)), "nodes": sum(counts)}

    def place(name: Any, what: str) -> int:
        if name not in names:
            raise UsageError(f"{what}: {name!r} is no kind of nodes; there are {', '.join(names)}", [what, "types"])
        return names.index(name)

    if labels_of is not None:
        options["labels_of"] = place(labels_of, "labels_of")
    if isinstance(features, dict):
        options["typed_features"] = [_features_of(name, features[name]) if name in features else None for name in names]
        for name in features:
            place(name, "features")
    if ends is not None:
        if not isinstance(ends, dict) or not set(ends) <= set(relations or {}):
            raise UsageError(f"ends: a dict of two kinds of nodes is wanted, by the names of relations; there are {', '.join(relations or {}) or 'none'}",
                             ["ends", "relations"])
        for name, pair in ends.items():
            if isinstance(pair, str) or len(pair) != 2:
                raise UsageError(f"ends[{name!r}]: {pair!r}, where two kinds of nodes are wanted, of the first and of the second node of an edge", ["ends"])
        options["relation_ends"] = [tuple(place(kind, "ends") for kind in ends[name]) if name in ends else None for name in relations or {}]
    return options


def _features_of(name: str, features: Any) -> Any:
    """The input for features of one kind of nodes: an array, or the path of a file."""
    options = arrays.features_of(features)
    if not isinstance(options.get("features"), (str, dict)):
        raise UsageError(f"features[{name!r}]: a sparse matrix in memory, or columns of files, cannot be those of one kind; write the matrix by "
                         f"scipy.sparse.save_npz('x.npz', matrix) and give that path", ["features"])
    return options["features"]
