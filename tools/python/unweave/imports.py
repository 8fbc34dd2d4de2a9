"""How a store begins: imports of files, arrays, tables and graphs of other packages, and synthetic graphs."""
from __future__ import annotations

import pathlib
import warnings
from typing import Any, Sequence

from . import _native, arrays, node_types
from . import graphs as edges_of_graphs
from .columns import Piped, piped
from .errors import Error, RemarkWarning, UsageError, text_of
from .progress import Progress
from .records import Record
from .store import Path, Store

__all__ = ["generate_store", "import_store"]


def import_store(path: Path, graph: Any = None, features: Any = None, labels: Any = None, *, train: Any = None, valid: Any = None,
                 test: Any = None, nodes: int | None = None, ids: Any = None, ids_are: str | None = None,
                 classes: int | Sequence[str] | None = None, directed: bool = False,
                 relations: dict[str, Any] | None = None, subsets: Sequence[Sequence[str]] = (), types: dict[str, int] | None = None,
                 ends: dict[str, Sequence[str]] | None = None, labels_of: str | None = None,
                 pairs: str | dict[str, float | bool] | None = None, order: str = "none",
                 scale: float | str = "rows", feature_type: str = "f32", standardize: bool = False, max_weight: int | None = None,
                 edge_weights: Any = None, ignore_weights: bool = False, weights: str | None = None,
                 self_weight: int | None = None, graphs: Any = None, number_of_graphs: int | None = None,
                 graph_labels: Any = None, graph_train: Any = None, graph_valid: Any = None, graph_test: Any = None, tu: Path | None = None,
                 attribute_bound: float | None = None, header: str | dict[str, str] | None = None,
                 memory: int | str | None = None, threads: int = 0, progress: Progress = None) -> Store:
    """Builds a store in a new or empty folder and returns it; ``store.imported`` has the fields of ``unweave import --json``.

    ``path``: the folder. ``graph``: anything that :func:`unweave.graphs.edges_of` takes: integers (2, m) or (m, 2), a pair (u, v), a
    sparse matrix, a table of two columns, the ends, or of three with weights behind them; or an object that has features, labels and masks
    too, ``Data`` of PyG, a graph of DGL, or what :func:`unweave.read_planetoid` returns; arguments that are given take the place of its
    own. Ends may be names of nodes, where ``ids`` gives them; where nothing else tells the order of the nodes, ``ids`` may be left out,
    and the nodes are the names that occur, sorted. ``features``: (N, F) numbers, or a sparse matrix. ``labels``: N classes, whole numbers
    from 0, -1 or NaN for none; or N names of classes, None or NaN for none, whose sorted names, or pandas' categories, are classes 0, 1,
    .. then. ``train``, ``valid``, ``test``: numbers or names of nodes, or masks of N booleans. ``nodes``: N, where nothing else says it.
    ``ids``: names of the nodes, that of node 0 first, as texts or integers: requests, and text files of edges and splits, then speak of
    names, arrays of numbers. ``ids_are``: "names" or "positions", what an integer means in edges, splits and requests where names are
    whole numbers; it has to be said where a name is the position of another node, and :class:`Store` says how these are told apart later.
    ``classes``: how many there are, the largest label and 1
    by default; or a list of their names, in the order of their numbers. Paths stand for any of these; those of Parquet and Arrow are read
    as :class:`unweave.Columns`, which can name columns.

    ``directed``: edges are arcs, from the first node to the second; those of a matrix lead from its row to its column, and a loop is one. A hop then
    averages over where arcs of a node lead, and beside it over where they come from: a row of Z has both, and is twice as wide. With
    ``relations`` each kind has both.
    ``relations``: edges of several kinds in the place of ``graph``, {"cites": edges, "writes": edges}, each as ``graph`` takes them, all arrays or
    all paths. A hop then averages over each kind apart, and a row of Z has one mean for each, side by side. With ``weights``, ``edge_weights`` is
    a dict of their weights, by the same names; the values of matrices and the third columns of tables need none. ``subsets``: sets of these names; a
    hop also averages over all edges of the kinds of a set together.
    ``types``: nodes of several kinds, {"paper": 5, "author": 4}, how many there are of each: those of the first have the numbers from 0, those of
    the next follow. ``features`` may then be a dict of them, by kinds: each has columns of its own, and nodes of the others zeros there. ``ends``:
    {"writes": ("author", "paper")}, numbers in the edges of this relation count from 0 within these kinds, and requests insert no edges of
    others. ``labels_of``: the kind whose nodes
    labels and splits count. ``HeteroData`` of PyG has all of these.
    ``pairs``: to predict links, what ``--pairs`` of the command takes, "valid=.1,test=.1" or {"valid": .1, "test": .1, "apart": True}: shares of
    all pairs of nodes whose edges are held out of the graph, what the others are for, and how many pairs of no edge stand beside an edge.
    ``order``: of the nodes inside the store, "none", "degree", "bfs", "community" or "auto"; numbers stay the user's. ``scale``: "rows", those
    above norm 1 are divided by it, as certificates need it; "none", one above it is an error; or a number by which all are divided.
    ``feature_type``: "f32" or "f16", bits of a value at rest. ``standardize``: columns to mean 0 and deviation 1, for comparisons:
    certificates do not hold.

    Row i of features, labels and masks is that of node i. A Series or a DataFrame has the index 0, 1, 2, .., or that of ``ids``, or the
    names in it, in their order; any other index is an error that says how to give the rows by it, or as they stand.

    ``max_weight`` declares that edges have weights, whole numbers from 1 to it, 65535 at most: ``edge_weights``, one number an edge, or those of
    a sparse matrix, in which entries that repeat are added, of the third column of a table, of PyG's ``edge_weight`` or DGL's
    ``edata["weight"]``. Without it weights of matrices and graphs other than 1 are an error, unless ``ignore_weights``, and the third column
    of a table is not read, which a warning says. A weight of 0 is no edge in any case, and NaN, infinite and negative ones are errors.
    ``weights``: "unit=2^-10", in the place of ``max_weight``: weights are real numbers, each of which is brought to the nearest multiple of
    the unit, a power of two from 2^-30 to 1; one that is not 1 to 65535 units is an error. ``self_weight``: units that the self loop of a
    node weighs, as many as make 1 by default.

    ``graphs``: N numbers from 0, to which whole graph each node belongs, -1 for none; graphs then have classes, and no edge joins two of them.
    ``graph_labels``: one class a graph, as ``labels`` has them for nodes; a store has one of both. ``graph_train``, ``graph_valid``, ``graph_test``:
    numbers of graphs, or masks. ``number_of_graphs``: where nothing else says it. ``graph`` may be a list of ``Data`` of PyG, a ``TUDataset``, or a
    ``Batch``, whose ``y`` are classes of graphs. ``tu``: FOLDER/NAME of the files of a data set of TUDataset, in the place of graph, features,
    nodes, graphs and graph_labels; ``attribute_bound``: a public number that no attribute of its nodes exceeds, by which they are divided.

    ``header``: whether the first line of files of text names their columns: "yes" or "no" for all, or for some as "edges=no,labels=yes" or
    {"edges": "no", "labels": "yes"}, of edges, features, ids, labels, train, valid and test. Without it a line of words is a header, and one
    that may be data, too, is an error.

    An import that ends by an error or by Ctrl-C leaves nothing. What a process that was killed leaves in the folder is removed by the next
    call, which begins anew. ``memory``, ``threads``, ``progress``: as :class:`Store` has them.

    Wrong arguments are a UsageError, wrong contents a DataError that names argument and place; both are ValueErrors. What may be a slip is a
    :class:`unweave.RemarkWarning`, and stands in ``store.imported.remarks``.
    """
    arrays.require_flags(directed=directed, standardize=standardize, ignore_weights=ignore_weights)
    parts = {"edge_weights": edge_weights, "features": features, "labels": labels, "train": train, "valid": valid, "test": test, "nodes": nodes,
             "graphs": graphs, "graph_labels": graph_labels}
    graph = edges_of_graphs.one_graph(graph)
    left_out = edges_of_graphs.remarks_on_graph(graph)
    if graph is not None and node_types.has_types(graph):
        own = node_types.parts_of_types(graph)
        if relations is not None or types is not None or ends is not None or labels_of is not None:
            raise UsageError("graph: its kinds of nodes and edges are its own; leave out relations, types, ends and labels_of",
                             ["graph", "relations", "types", "ends", "labels_of"])
        graph, relations, types, ends = None, own.pop("relations"), own.pop("types"), own.pop("ends")
        labels_of = own.pop("labels_of", None) if labels is None else None
        for name, value in own.items():
            if parts.get(name) is None:
                parts[name] = value
    if relations is not None and graph is not None:
        raise UsageError("relations and graph: edges are of several kinds, or of one; give one of both", ["relations", "graph"])
    if relations is None and subsets:
        raise UsageError("subsets: sets of kinds of edges, and there is one kind; give relations={name: edges, ..}", ["subsets", "relations"])
    if graph is not None:
        own = edges_of_graphs.parts_of_graph(graph) if not arrays.is_path(graph) else {"graph": graph}
        graph = own.pop("graph")
        for name, value in own.items():
            if parts.get(name) is None:
                parts[name] = value
    options: dict[str, Any] = {"order": order, "feature_type": feature_type, "standardize": standardize,
                               "scale": None if standardize else scale, "ignore_weights": ignore_weights, "directed": directed}
    if pairs is not None:
        options["pairs"] = arrays.pair_words(pairs)
    if weights is not None and max_weight is not None:
        raise UsageError("weights and max_weight: the first one is for real weights, the other one for whole numbers; give one of them",
                         ["weights", "max_weight"])
    if self_weight is not None:
        options["self_weight"] = arrays.whole_number(self_weight, "self_weight", 1, 2**30)
    if weights is None and self_weight is not None:
        raise UsageError("self_weight counts units; it needs weights='unit=U'", ["self_weight", "weights"])
    is_declared = max_weight is not None or weights is not None
    is_weighted = (is_declared or ignore_weights) and edge_weights is None
    if edge_weights is not None:
        edges_of_graphs.require_no_weights(graph)
    if ids is None and graph is not None:
        ids = _names_in(graph, parts, is_weighted)
    table = arrays.table_of(ids)
    if table is None and graph is not None and edges_of_graphs.named_edges(graph, "graph", is_weighted) is not None:
        raise UsageError("graph: names of nodes in memory, and ids in a file; give both in memory, or both as files", ["graph", "ids"])
    are_names = ids_are == "names"
    if are_names and table is None and any(value is not None and not arrays.is_path(value) for value in (graph, train, valid, test)):
        raise UsageError("ids_are: integers in memory are names, and ids are in a file; give both in memory, or both as files", ["ids_are", "ids"])
    if graph is not None:
        options.update(edges_of_graphs.edges_of(graph, weighted=is_weighted, table=table, numbers_are_names=are_names, ignored=not is_declared))
        if not (is_weighted or edge_weights is not None):
            edges_of_graphs.warn_of_third_column(graph)
    if relations is not None:
        if max_weight is not None or (edge_weights is not None and weights is None):
            raise UsageError("relations: edges of several kinds have real weights or none; give weights='unit=1' for whole ones, or leave out "
                             "max_weight and edge_weights", ["relations", "weights", "max_weight", "edge_weights"])
        own_weights = {} if parts["edge_weights"] is None else parts["edge_weights"]
        of_relations = None if weights is None else own_weights
        options.update(edges_of_graphs.relations_of(relations, subsets, table, are_names, of_relations))
    elif parts["edge_weights"] is not None:
        options.update(edges_of_graphs.weights_of(parts["edge_weights"], graph))
    if max_weight is not None:
        options["max_weight"] = arrays.whole_number(max_weight, "max_weight", 1, 65535)
    if weights is not None:
        options["weights"] = str(weights)
    if ids is not None:
        options.update(arrays.names_of(ids))
        options["ids_are"] = ids_are
    elif ids_are is not None:
        raise UsageError("ids_are needs ids", ["ids_are", "ids"])
    if parts["nodes"] is not None:
        options["nodes"] = arrays.whole_number(parts["nodes"], "nodes")
    of_types = node_types.options_of_types(types, ends, labels_of, parts["features"], relations)
    if of_types and ids is not None:
        raise UsageError("types and ids: ids of kinds are numbers; leave one of both out", ["types", "ids"])
    if of_types and parts["nodes"] is not None and options["nodes"] != of_types["nodes"]:
        raise UsageError(f"nodes: {options['nodes']}, and the types have {of_types['nodes']} together; leave nodes out", ["nodes", "types"])
    options.update(of_types)
    features_of_all = None if "typed_features" in of_types else parts["features"]
    if features_of_all is not None:
        options.update(arrays.features_of(features_of_all, table))
    slips = [*left_out, *arrays.remarks_on_features(features_of_all, options.get("features"), table)]
    if tu is not None:
        options.update({"tu": pathlib.Path(tu), "attribute_bound": attribute_bound})
    elif attribute_bound is not None:
        raise UsageError(f"attribute_bound={attribute_bound!r} needs tu", ["attribute_bound", "tu"])
    if parts["graph_labels"] is None:
        options.update(arrays.labels_of(parts["labels"], classes, table))
    elif parts["labels"] is not None:
        raise UsageError("labels and graph_labels: a store has classes of nodes or of graphs; give one of both", ["labels", "graph_labels"])
    else:
        of_graphs = arrays.labels_of(parts["graph_labels"], classes)
        options.update({"graph_labels" if name == "labels" else name: value for name, value in of_graphs.items()})
    if parts["graph_labels"] is not None and any(parts[split] is not None for split in ("train", "valid", "test")):
        raise UsageError("train, valid and test: splits of nodes, and graphs have the classes; give graph_train, graph_valid and graph_test",
                         ["train", "valid", "test", "graph_train", "graph_valid", "graph_test"])
    if parts["graphs"] is not None:
        options["graphs"] = arrays.graphs_of(parts["graphs"], "graphs")
    if number_of_graphs is not None:
        options["number_of_graphs"] = arrays.whole_number(number_of_graphs, "number_of_graphs", 1, 2**31 - 1)
    for split, members in (("graph_train", graph_train), ("graph_valid", graph_valid), ("graph_test", graph_test)):
        if members is not None:
            options[split] = arrays.graphs_of(members, split)
    for split in ("train", "valid", "test"):
        if parts[split] is not None:
            options[split] = arrays.ids_of(parts[split], split, table, are_names)
    options["headers"] = _headers_of(header, options)
    store = Store(path, memory=memory, threads=threads, progress=progress)
    # Means and deviations are computed from the features before these are read again; in an order each copy of a node has its own,
    # and where there are copies the edges are read for the number of nodes before.
    has_copies = directed or relations is not None
    twice = (["features"] if standardize or (has_copies and order != "none") else []) + (["edges"] if has_copies else [])
    with piped(options, store.path, twice) as given:
        try:
            store.imported = Record.of(_native.import_arrays(store._machine, store._watcher(), store.path, given))
        except Error as error:
            may_be_names = table is not None and table.has_integers
            if ids_are is not None or not may_be_names or "outside the graph" not in str(error):
                raise
            raise type(error)(f"{error}; where integers in edges and splits are names, those of ids, give ids_are=\"names\"",
                              [*error.options, "ids_are"]) from None
    store.imported["remarks"] = [*slips, *(arrays.with_rows(remark, parts["features"]) for remark in store.imported.remarks)]
    if ignore_weights and (zeros := store.imported.zero_weights):
        store.imported["remarks"].append(f"graph: {zeros} {'edges have' if zeros > 1 else 'edge has'} the weight 0, which is no edge, and "
                                         f"{'were' if zeros > 1 else 'was'} left out; give the ends alone if these numbers are no weights")
    for remark in store.imported.remarks:
        warnings.warn(text_of(remark), RemarkWarning, stacklevel=2)
    return store


_TEXTS = ("edges", "features", "graphs", "ids", "labels", "train", "valid", "test")


def _headers_of(header: str | dict[str, str] | None, options: dict[str, Any]) -> dict[str, bool]:
    """Whether the first line names the columns, for each of the inputs of an import whose first line is not to be judged by its words."""
    headers = {name: False for name in _TEXTS if isinstance(options.get(name), Piped)}  # columns of files have told their names
    if header is None:
        return headers
    files = [name for name in _TEXTS if isinstance(options.get(name), str)]
    said: list[tuple[Any, Any]] = []
    if isinstance(header, str) and "=" not in header:
        said = [(name, header) for name in files] or [("", header)]
    elif isinstance(header, str):
        said = [(name.strip(), word.strip()) for name, _, word in (part.partition("=") for part in header.split(","))]
    elif isinstance(header, dict):
        said = list(header.items())
    if not said:
        raise UsageError(f"header: {header!r} is neither \"yes\" nor \"no\", nor says this of some files, as in \"edges=no,labels=yes\"", ["header"])
    names = [name for name, _ in said]
    for name, word in said:
        if word not in ("yes", "no"):
            raise UsageError(f"header: {word!r} is neither \"yes\" nor \"no\"; give one of these, or \"edges=no\" for some files", ["header"])
        if name not in files:
            among = f"there are those of {', '.join(files)}" if files else "no argument is the path of one"
            raise UsageError(f"header: there is no text file{f' of {name}' if name else ''}; {among}", ["header"])
        if names.count(name) > 1:
            raise UsageError(f"header: {name} is given twice", ["header"])
        headers[name] = word == "yes"
    return headers


def _names_in(graph: Any, parts: dict[str, Any], weighted: bool) -> list[str] | None:
    """The names that the ends of edges are, sorted; None where they are numbers. ``weighted``: a table has weights, too."""
    ends = edges_of_graphs.named_edges(graph, "graph", weighted)
    if ends is None:
        return None
    ordered = next((name for name in ("features", "labels", "nodes") if parts[name] is not None), None)
    if ordered is not None:
        raise UsageError(f"graph: names of nodes, and {ordered} by their numbers: nobody can tell which row is whose; ids names all nodes, in the order of "
                         "the rows", ["graph", "ids"])
    edges_of_graphs.require_no_missing(ends, "graph")
    return sorted({*ends[0], *ends[1]})


def generate_store(path: Path, *, model: str = "rmat", scale: int | None = None, nodes: int | None = None, edges: int | None = None,
                   edge_factor: int | None = None, features: int | None = None, classes: int | None = None, feature_type: str = "f32",
                   order: str = "none", seed: int = 1, memory: int | str | None = None, threads: int = 0, progress: Progress = None) -> Store:
    """Builds a store of a synthetic graph in a new or empty folder and returns it. Equal arguments give equal files.

    ``path``: the folder. ``model``: "rmat", "sbm" or "citation". ``scale``: of R-MAT, 2^scale nodes. ``nodes``, ``edges``: of the others; ``edges`` is
    what is drawn. ``edge_factor``: edges a node of R-MAT. ``features``, ``classes``: how many columns and classes, 0 for none. ``feature_type``,
    ``order``: as :func:`import_store` has them. ``seed``: a whole number. ``memory``, ``threads``, ``progress``: as :class:`Store` has them.
    """
    store = Store(path, memory=memory, threads=threads, progress=progress)
    options = {"model": model, "scale": scale, "nodes": nodes, "edges": edges, "edge_factor": edge_factor, "features": features,
               "classes": classes, "feature_type": feature_type, "order": order, "seed": seed}
    _native.generate(store._machine, store._watcher(), store.path, options)
    return store
