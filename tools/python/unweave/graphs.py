"""Edges and their weights, as other packages have them: arrays, tables, matrices, graphs. Nothing is copied where memory can be read as it lies."""
from __future__ import annotations

import os
import warnings
from typing import Any, Callable, Iterable, Sequence

import numpy as np

from . import _arrow
from .arrays import array_of, columns_of, input_of, is_path, joined, little_endian
from .column_names import are_ends, begin_with_ends, ends_elsewhere, is_index, is_label, is_no_weight, is_weight
from .columns import EndKinds
from .errors import UsageError
from .names import MISSING_AS_TEXT, NameTable, NodeNumbers, Numbers, nodes_called, require_no_texts, texts_of
from .row_order import is_default, require_one_order, require_unmoved

__all__ = ["edges_of", "named_edges", "pairs_of", "parts_of_graph", "remarks_on_graph", "require_ends_first", "require_no_missing", "require_no_weights", "warn_of_third_column", "weights_of"]


def _columns_of(table: Any) -> list[Any] | None:
    """The columns of a table of pandas, pyarrow or polars; None for anything else."""
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        return [table.iloc[:, place] for place in range(len(table.columns))]
    if hasattr(table, "column_names") and hasattr(table, "column"):
        return [table.column(place) for place in range(len(table.column_names))]
    return list(table.get_columns()) if hasattr(table, "get_columns") else None


def _names_of(table: Any) -> list[Any]:
    """The names of the columns of a table that :func:`_columns_of` takes."""
    return list(table.column_names if hasattr(table, "column_names") else table.columns)


def _has_numbers(column: Any) -> bool:
    kind = getattr(getattr(column, "dtype", None), "kind", None) or np.asarray(column.to_numpy()).dtype.kind
    return kind in "iuf"


def _pair_input(name: str, first: list[np.ndarray], second: list[np.ndarray]) -> dict[str, Any]:
    """Two columns of ids, in pieces, as an array of shape (2, m)."""
    count, other = sum(map(len, first)), sum(map(len, second))
    if count != other:
        raise UsageError(f"{name}: {count} sources and {other} targets")
    types = {piece.dtype for piece in [*first, *second]} or {np.dtype(np.int64)}
    kind = types.pop() if len(types) == 1 else np.dtype(np.int64)
    pieces = [np.ascontiguousarray(little_endian(piece.astype(kind, copy=False))) for piece in [*first, *second]]
    return {"name": name, "type": little_endian(np.empty(0, kind)).dtype.str, "shape": [2, count], "fortran_order": False,
            "pieces": pieces}


def _check_ids(name: str, *pieces: np.ndarray) -> None:
    for piece in pieces:
        if piece.dtype.kind not in "iu":
            raise UsageError(f"{name}: ids of type {piece.dtype}, where integers are wanted")


def named_edges(edges: Any, name: str, weighted: bool = False) -> tuple[list[str], list[str]] | None:
    """The ends of edges that are names: two columns of a table, a pair of lists, (m, 2) or (2, m), or tuples; None where they are
    numbers. ``weighted``: a table has weights, too."""
    require_ends_first(edges, name, weighted)
    _require_no_tuple_of_two(edges, name)
    _require_pairs(edges, name)
    if is_path(edges) or hasattr(edges, "tocoo"):
        return None
    if (columns := _columns_of(edges)) is not None:
        ends = columns[:2] if len(columns) > 1 else []
    elif isinstance(edges, tuple) and len(edges) == 2 and not all(isinstance(one, str) for one in edges):
        ends = list(edges)
    elif isinstance(edges, (list, np.ndarray)) and len(edges):
        if isinstance(edges, list) and not any(isinstance(one, str) for edge in edges if isinstance(edge, (list, tuple)) for one in edge):
            return None
        array = np.array(edges, dtype=object) if isinstance(edges, list) else edges
        if array.dtype.kind not in "OUST" or array.ndim != 2 or 2 not in array.shape:
            return None
        are_tuples = isinstance(edges, list) and all(isinstance(edge, tuple) for edge in edges)
        _require_no_square(array, name, are_tuples)
        ends = [array[:, 0], array[:, 1]] if array.shape[1] == 2 else [array[0], array[1]]
    else:
        return None
    texts = [texts_of(end, name) for end in ends]
    if all(one is None for one in texts):
        return None
    if len(texts) != 2 or texts[0] is None or texts[1] is None:
        raise UsageError(f"{name}: one column of names and one of numbers; give names in both, or numbers", [name])
    if len(texts[0]) != len(texts[1]):
        raise UsageError(f"{name}: {len(texts[0])} sources and {len(texts[1])} targets", [name])
    return [str(text) for text in texts[0]], [str(text) for text in texts[1]]


def require_no_missing(ends: Iterable[list[str]], name: str) -> None:
    """A UsageError for ends that nobody has listed as nodes, and that missing values have become as texts."""
    lost = next((one for end in ends for one in end if one in MISSING_AS_TEXT), None)
    if lost is not None:
        raise UsageError(f"{name}: the text {lost!r} may be the name of a node, or what a missing value has become as a text; leave edges without an end "
                         "out, or give ids=[...], the names of all nodes", [name, "ids"])


def _require_pairs(edges: Any, name: str) -> None:
    """A UsageError for edges behind whose ends something stands, as networkx and lists of triples have their weights."""
    if isinstance(edges, np.ndarray) and edges.ndim == 2 and edges.shape[1] == 3 and edges.shape[0] not in (2, 3):
        what, last = f"an array of shape {edges.shape}", edges[0, 2] if len(edges) else None
        ends, weight = f"{name}[:, :2]" + (".astype(int)" if edges.dtype.kind == "f" else ""), f"{name}[:, 2]"
    elif isinstance(edges, list) and edges and all(isinstance(edge, (tuple, list)) and len(edge) > 2 for edge in edges):
        if not all(isinstance(edge, tuple) for edge in edges) and (len(edges) < 4 or any(len(edge) != 3 for edge in edges)):
            return  # the sources and the targets, or a matrix
        what, last = f"edges of {len(edges[0])} parts", edges[0][-1]
        ends = f"[(u, v) for u, v, *_ in {name}]"
        are_named = isinstance(last, dict) and all(isinstance(edge[-1], dict) and "weight" in edge[-1] for edge in edges)
        weight, last = (f"[edge[-1]['weight'] for edge in {name}]", last["weight"]) if are_named else (f"[edge[-1] for edge in {name}]", last)
    else:
        return
    remedy = f"; give {ends}"
    if isinstance(last, (int, float, np.number)):
        beside = f"edge_weights={weight} and max_weight" if name == "graph" else f"weights={weight} to insert_edges()"
        remedy += f", and where weights stand behind the ends {beside}"
    raise UsageError(f"{name}: {what}, where tuples (u, v) or an array (m, 2) are wanted{remedy}",
                     [name, *(["edge_weights"] if "edge_weights" in remedy else [])])


def _require_no_tuple_of_two(edges: Any, name: str) -> None:
    """A UsageError for a tuple of two tuples of two or three, which may be two edges, or the sources and the targets of as many."""
    if not isinstance(edges, tuple) or len(edges) != 2 or not all(isinstance(one, tuple) and len(one) == len(edges[0]) for one in edges):
        return
    if len(edges[0]) not in (2, 3) or (len(edges[0]) == 2 and edges[0][1] == edges[1][0]):
        return
    raise UsageError(f"{name}: a tuple of two tuples may be two edges, or the sources and the targets of {len(edges[0])}; give list({name}) for edges, or "
                     f"({name}[0], {name}[1]) as lists, tuple(map(list, {name})), for sources and targets", [name])


def _require_no_square(array: np.ndarray, name: str, are_tuples: bool) -> None:
    """A UsageError for an array (2, 2) whose rows are other edges than its columns."""
    if array.shape == (2, 2) and not are_tuples and array[0, 1] != array[1, 0]:
        raise UsageError(f"{name}: an array of shape (2, 2) may have its edges in rows or in columns; give a list of tuples (u, v), or the pair (a[0], a[1]) "
                         "where columns are edges, as in an edge_index", [name])


def _listed(columns: Iterable[Any]) -> str:
    return ", ".join(f'"{one}"' if isinstance(one, str) and '"' not in one and "\\" not in one else repr(one) for one in columns)


def _choice(table: Any, name: str, columns: Iterable[Any]) -> str:
    """What takes these columns of a table, as a message advises it."""
    return f"{name}.select([{_listed(columns)}])" if hasattr(table, "column_names") else f"{name}[[{_listed(columns)}]]"


def require_ends_first(table: Any, name: str, weighted: bool = False, columns: Sequence[Any] | None = None, first: Any = None) -> None:
    """A UsageError for a table of which it is not clear that its first two columns are the ends of edges: others are called so, there are
    more than three, the first of three may be an index, or it may be a matrix. ``weighted``: weights stand behind them, and nothing else
    does. ``columns``, ``first``: the names of the columns, and the first one, where pandas, pyarrow or polars do not say them."""
    if columns is None and (hasattr(table, "iloc") or hasattr(table, "get_columns")):
        columns = getattr(table, "columns", None)
    elif columns is None:
        columns = getattr(table, "column_names", None)
    if columns is None:
        return
    if hasattr(table, "iloc") and not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise UsageError(f"{name}: two columns of the table are called {twice!r}; give {name}.loc[:, ~{name}.columns.duplicated()], which has the first of each "
                         "name, or call them otherwise", [name])
    if name == "graph":
        _require_no_matrix(table, weighted)
    _require_no_index(table, name, weighted)
    weights = [one for one in columns if weighted and isinstance(one, str) and one.strip().lower() in ("weight", "weights", "w")][:1]
    if len(columns) > 1 and any(is_weight(one) or is_label(one) for one in columns[:2]):
        called = next(one for one in columns[:2] if is_weight(one) or is_label(one))
        order = [one for one in columns if one != called]
        behind = [*order, called] if weighted and is_weight(called) else order
        remedy = f"give {_choice(table, name, behind)}, or name the columns otherwise" if len(order) > 1 else "give a table with both ends, or name the columns otherwise"
        raise UsageError(f"{name}: a table whose first two columns, {columns[0]!r} and {columns[1]!r}, would be the ends of the edges, and "
                         f"{called!r} is called as {'weights' if is_weight(called) else 'labels'} are; {remedy}", [name])
    if (ends := ends_elsewhere(columns)) is not None:
        raise UsageError(f"{name}: a table whose first two columns, {columns[0]!r} and {columns[1]!r}, would be the ends of the edges, and "
                         f"{ends[0]!r} and {ends[1]!r} seem to be; give {_choice(table, name, [*ends, *weights])}, or name the columns "
                         "otherwise", [name])
    ends_are_first = len(columns) > 1 and are_ends(columns[0], columns[1])
    if len(columns) > 3:
        which = "are the ends of the edges" if not ends_are_first else "has the weights" if weighted else "of the others is meant"
        choices = _choice(table, name, [*columns[:2], *weights]) if ends_are_first else "these alone, by the names of their columns"
        behind = ", and the weights behind them" if weighted and not weights else ""
        listed = _listed(columns[:6]) + (", .." if len(columns) > 6 else "")
        raise UsageError(f"{name}: a table of {len(columns)} columns, {listed}, of which it is not clear which {which}; give "
                         f"{choices}{behind}", [name, *(["max_weight"] if weighted else [])])
    if len(columns) == 3 and not ends_are_first and (is_index(columns[0]) or _counts_rows((_columns_of(table) or [first])[0])):
        how = "is called as the index of a table is" if is_index(columns[0]) else "counts the rows, as the index of a table does"
        without = f"give {_choice(table, name, columns[1:])} without it, or, " if not begin_with_ends(columns) or not isinstance(columns[2], str) else ""
        raise UsageError(f"{name}: the first of three columns, {columns[0]!r}, {how}; {without}if it is an end of the edges, call the first two "
                         'columns "source" and "target"', [name])
    if len(columns) == 3 and not begin_with_ends(columns):
        third = ", and the weights behind them" if weighted else ""
        raise UsageError(f"{name}: a table of three columns, {_listed(columns)}, which do not say that the first two are the ends of the edges; give "
                         f"the ends alone, by the names of their columns{third}, or call them \"source\" and \"target\"", [name])


def _counts_rows(column: Any) -> bool:
    """Whether a column is 0, 1, 2, .. or 1, 2, 3, ..; fewer than three rows have such numbers by chance, and a thousand tell."""
    some = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)[:1000]
    return some.dtype.kind in "iu" and len(some) > 2 and int(some[0]) in (0, 1) and bool(np.all(some == some[0] + np.arange(len(some))))


def _require_no_matrix(graph: Any, weighted: bool) -> None:
    """A UsageError for a table of pandas whose rows are called as its columns are: it may be an adjacency matrix, or a list of edges.
    ``weighted``: a list of edges has weights, too."""
    if not hasattr(graph, "iloc") or not 1 < len(graph.columns) == len(graph) or graph.index.tolist() != graph.columns.tolist():
        return
    labels, numbers = graph.columns.tolist(), list(range(len(graph)))
    matrix = "graph.sparse.to_coo()" if hasattr(graph, "sparse") else "scipy.sparse.csr_matrix(graph)"
    names = ""
    if labels != numbers and all(isinstance(one, int) for one in labels) and sorted(labels) == numbers:
        matrix = matrix.replace("graph", "graph.loc[sorted(graph), sorted(graph)]")
    elif labels != numbers:
        names = " and ids=[str(node) for node in graph.columns]" + _names_among(labels)
    count = 3 if weighted and len(labels) > 2 else 2
    called = _listed(["source", "target", "weight"][:count])
    raise UsageError(f"graph: a table whose {len(labels)} rows are called as its columns are may be an adjacency matrix, or a list of "
                     f"edges; give {matrix}{names} for a matrix, or graph.iloc[:, :{count}].set_axis([{called}], axis=1) for a list",
                     ["graph"])


def _names_among(names: Iterable[Any]) -> str:
    """What an import has to be told beside names of which one may be a number of another node: requests speak of nodes by their names."""
    return ' and ids_are="names"' if any(str(name).isdecimal() for name in names) else ""


def _as_pairs(edges: Any, may_have_weights: bool) -> tuple[Any, bool]:
    """Edges of requests, and whether each of their rows is one: tuples of two, the two columns of a table, a pair (u, v) of arrays or lists.
    ``may_have_weights``: as :func:`pairs_of` has it."""
    if isinstance(edges, tuple) and len(edges) == 2 and all(isinstance(end, (list, np.ndarray)) or hasattr(end, "to_numpy") for end in edges):
        require_one_order(**{"edges[0]": edges[0], "edges[1]": edges[1]})
        ends = [end.to_numpy() if hasattr(end, "to_numpy") else end for end in edges]
        if len(ends[0]) != len(ends[1]):
            raise UsageError(f"edges: {len(ends[0])} sources and {len(ends[1])} targets", ["edges"])
        return list(zip(*(end.tolist() if isinstance(end, np.ndarray) else end for end in ends))), True
    if isinstance(edges, (tuple, list)) and len(edges) == 2 and all(isinstance(end, (str, int, np.integer)) for end in edges):
        raise UsageError(f"edges: {edges!r} seems to be one edge, where a list of edges is wanted; give [({edges[0]!r}, {edges[1]!r})]", ["edges"])
    columns = getattr(edges, "columns", None) if hasattr(edges, "iloc") or hasattr(edges, "get_columns") else getattr(edges, "column_names", None)
    if columns is not None:
        require_ends_first(edges, "edges")
        if len(columns) != 2:
            remedy = f"give these alone, {_choice(edges, 'edges', list(columns)[:2])}" if len(columns) > 2 else "give a table with both"
            if may_have_weights and len(columns) == 3 and _has_numbers((_columns_of(edges) or [])[2]) and not is_no_weight(columns[2]):
                remedy += f", and where the third has their weights, weights=edges[{columns[2]!r}] beside it"
            raise UsageError(f"edges: a table of {len(columns)} columns, where the two ends are wanted; {remedy}", ["edges"])
        return edges, True
    _require_pairs(edges, "edges")
    are_tuples = isinstance(edges, list) and len(edges) > 0 and all(isinstance(edge, tuple) for edge in edges)
    if are_tuples and any(len(edge) != 2 for edge in edges):
        raise UsageError(f"edges: a tuple of {next(len(edge) for edge in edges if len(edge) != 2)}, where (u, v) is wanted", ["edges"])
    return edges, are_tuples


def _require_no_index(table: Any, name: str, weighted: bool) -> None:
    """A UsageError for a table of pandas whose index may be an end of the edges: it has a name, or the table lacks an end without it.
    ``weighted``: weights stand behind the ends."""
    if not hasattr(table, "iloc") or not hasattr(table, "columns") or is_default(table.index):
        return
    columns, names = list(table.columns), [one for one in table.index.names if one is not None]
    if len(columns) > 1 and (not names or are_ends(*columns[:2])):
        return
    # Pandas makes no columns of an index that is called as one is; and beside two columns one that is called "id" counts the rows.
    is_none = set(names) & set(columns) or (len(columns) > 1 and is_index(names[0]))
    with_index = None if is_none else _ends_among(f"{name}.reset_index()", table.iloc[:1].reset_index(), weighted)
    without = None if with_index is not None and with_index[1] else _ends_among(f"{name}.reset_index(drop=True)", table.iloc[:1], weighted)
    remedies = [with_index[0]] if with_index is not None else []
    remedies += [f"{without[0]} where it is none"] if without is not None else []
    called = f"is called {', '.join(map(repr, names))} and" if names else f"is not 0, 1, 2, .., and beside {len(columns)} column{'s' * (len(columns) != 1)} it"
    raise UsageError(f"{name}: its index {called} may be an end of the edges; give {', or '.join(remedies or ['a table with both ends'])}", [name])


def _ends_among(given: str, table: Any, weighted: bool) -> tuple[str, bool] | None:
    """What takes the ends out of a table that ``given`` gives, and weights behind them, and whether they are called so, or are its first
    columns; None where it lacks an end."""
    columns = list(table.columns)
    others = [one for one in columns if not is_weight(one) and not is_label(one)]
    ends = list(ends_elsewhere(others) or others[:2])
    if len(ends) < 2 or _has_numbers(table[ends[0]]) != _has_numbers(table[ends[1]]):
        return None
    rest = [one for one in columns if one not in ends]
    chosen = ends + ([one for one in rest if is_weight(one)] or rest[:1] if weighted else [])[:1]
    return given if chosen == columns else f"{given}[[{_listed(chosen)}]]", are_ends(*ends)


def pairs_of(edges: Any, numbers: Numbers | None = None, numbers_are_names: bool = False,
             count: Callable[[], int] | None = None, may_have_weights: bool = False) -> np.ndarray:
    """Edges of requests as integers (m, 2), from (m, 2), (2, m) or a list of tuples (u, v); with ``numbers`` also from names, which with
    ``numbers_are_names`` integers are, too. ``count``: as :func:`unweave.arrays.node_ids` has it. ``may_have_weights``: whoever asks takes
    weights beside them."""
    if isinstance(edges, NodeNumbers):
        numbers, edges = None, np.asarray(edges)
    if isinstance(edges, tuple) and len(edges) == 2 and any(isinstance(end, NodeNumbers) for end in edges):
        if numbers_are_names and not all(isinstance(end, NodeNumbers) for end in edges):
            raise UsageError("edges: numbers of nodes as one end, and integers that are names as the other; give unweave.NodeNumbers "
                             "as both, or texts", ["edges"])
        numbers = None if numbers_are_names else numbers
    given = edges
    _require_no_tuple_of_two(edges, "edges")
    edges, are_tuples = _as_pairs(given, may_have_weights)
    if numbers is not None and (ends := named_edges(edges, "edges")) is not None:
        return np.stack([numbers(ends[0]), numbers(ends[1])], axis=1)
    array = array_of(edges, "edges")
    if array.size == 0 and array.ndim <= 2:
        return np.empty((0, 2), np.int64)  # of a day without edges
    if array.ndim != 2 or 2 not in array.shape or array.dtype.kind not in "iu":
        raise UsageError(f"edges: an array of shape {array.shape} and type {array.dtype}, where integers (m, 2) or (2, m) are wanted", ["edges"])
    _require_no_square(array, "edges", are_tuples)
    array = array.T if array.shape[1] != 2 else array
    if numbers is not None and numbers_are_names:
        return nodes_called(array, "edges", numbers, count, remedies=_as_names_and_as_numbers(given, edges is not given))
    if numbers is not None and count is not None:
        require_no_texts(array, "edges", numbers, count, _as_names_and_as_numbers(given, edges is not given))
    return array


def _as_names_and_as_numbers(edges: Any, are_ends: bool) -> tuple[str, str]:
    """What gives these edges of requests as names of nodes, and what as their numbers. ``are_ends``: they are a pair (u, v)."""
    if are_ends:
        return "tuple([str(node) for node in end] for end in edges)", "tuple(map(unweave.NodeNumbers, edges))"
    if isinstance(edges, (list, tuple)) and all(len(edge) == 2 for edge in edges):
        return "[(str(u), str(v)) for u, v in edges]", "[(f'#{u}', f'#{v}') for u, v in edges]"
    if isinstance(edges, (list, tuple)):
        return "[[str(node) for node in end] for end in edges]", "unweave.NodeNumbers(edges)"
    texts = "edges.astype(str)" if hasattr(edges, "astype") else "numpy.asarray(edges).astype(str)"
    return texts, f"'#' + {texts}" if hasattr(edges, "columns") else "unweave.NodeNumbers(edges)"


def edges_of(graph: Any, weighted: bool = False, table: NameTable | None = None, numbers_are_names: bool = False,
             ignored: bool = False) -> dict[str, Any]:
    """Options of an import for the edges of ``graph``, and for their weights where ``weighted`` and it has them, or it is a matrix:

    - a path, as ``--edges`` of the command line takes it, or of a file of Parquet or Arrow;
    - :class:`unweave.Columns` of such files;
    - an array of integers of any type and order, of shape (2, m) or (m, 2); (2, 2), which may be either, is a UsageError; or a list of tuples (u, v);
    - a pair (u, v) of arrays;
    - a sparse matrix of SciPy, whose non-zeros are the edges, and their weights; entries that repeat are added, as SciPy means them;
    - a table with two columns (pandas, or ``__arrow_c_stream__``), the first two of which are the ends, the third one the weights;
    - a graph of DGL, or anything that has ``edges()`` that gives (u, v).

    With ``table``, ends may be names (texts) in an array, a pair or a table; with ``numbers_are_names`` integers are names, too.
    ``ignored``: whoever asks for the weights will leave them out, and a third column without numbers has none.
    """
    name = "graph"
    require_ends_first(graph, name, weighted)
    _require_no_tuple_of_two(graph, name)
    if isinstance(graph, tuple) and len(graph) == 2:
        require_one_order(**{"graph[0]": graph[0], "graph[1]": graph[1]})
    _require_pairs(graph, name)
    def nodes(piece: np.ndarray) -> np.ndarray:
        return table.of_numbers(piece, name) if table is not None and numbers_are_names else piece

    def third() -> dict[str, Any]:
        columns = _columns_of(graph) or []
        if not weighted or len(columns) < 3 or (ignored and not _has_numbers(columns[2])):
            return {}
        return _weights_behind(graph, columns[2])

    if table is not None and (ends := named_edges(graph, name, weighted)) is not None:
        return {"edges": _pair_input(name, [table(ends[0], name)], [table(ends[1], name)]), "two_row_edges": True} | third()
    if (files := columns_of(graph)) is not None:
        return files.edges()
    if is_path(graph):
        return {"edges": os.fspath(graph)}
    if hasattr(graph, "tocoo"):
        if graph.shape[0] != graph.shape[1]:
            raise UsageError(f"graph: a matrix of shape {graph.shape}, where a square one is wanted")
        matrix = graph.tocoo()
        # A sum could hide what is no weight.
        if not getattr(matrix, "has_canonical_format", True) and np.all(matrix.data >= 0) and np.all(np.isfinite(matrix.data)):
            matrix = matrix.copy()
            matrix.sum_duplicates()
        options = {"edges": _pair_input(name, [matrix.row], [matrix.col]), "two_row_edges": True, "nodes": int(graph.shape[0])}
        return options | weights_of(matrix.data)
    if hasattr(graph, "__arrow_c_stream__"):
        columns = _arrow.columns(graph, name)
        require_ends_first(graph, name, weighted, [column for column, _ in columns], columns[0][1][0] if columns else None)
        if len(columns) < 2:
            raise UsageError("graph: a table of fewer than two columns, the ends of the edges")
        ends = [columns[0][1], columns[1][1]]
        _check_ids(name, *ends[0], *ends[1])
        kinds = EndKinds(name, columns[0][0], columns[1][0])
        for end, pieces in enumerate(ends):
            for piece in pieces:
                kinds.see(end, piece)
        kinds.require_apart()
        options = {"edges": _pair_input(name, *([nodes(piece) for piece in end] for end in ends)), "two_row_edges": True}
        if not weighted or len(columns) < 3:
            return options
        _require_no_zero(graph, columns[2][0], joined(columns[2][1]))
        return options | weights_of(joined(columns[2][1]))
    if hasattr(graph, "iloc") and hasattr(graph, "columns"):
        if len(graph.columns) < 2:
            raise UsageError("graph: a table of fewer than two columns, the ends of the edges")
        ends = [array_of(graph.iloc[:, i], name) for i in (0, 1)]
        _check_ids(name, *ends)
        kinds = EndKinds(name, *graph.columns[:2])
        for end, piece in enumerate(ends):
            kinds.see(end, piece)
        kinds.require_apart()
        options = {"edges": _pair_input(name, [nodes(ends[0])], [nodes(ends[1])]), "two_row_edges": True}
        return options | third()
    if type(graph).__module__.partition(".")[0] == "networkx":
        are_places = all(isinstance(node, int) for node in graph) and sorted(graph) == list(range(len(graph)))
        given = "nodelist=sorted(G))" if are_places else f"nodelist=list(G)), with ids=[str(node) for node in G]{_names_among(graph)}"
        # A matrix adds up edges that repeat, whose number would be a weight.
        graph_once = "networkx.Graph(G)" if graph.is_multigraph() and all(weight is None for *_, weight in graph.edges(data="weight")) else "G"
        weighted_by = "nodes without edges, and weights, those of the attribute 'weight'"
        if all(weight is None for *_, weight in graph.edges(data="weight")):
            weighted_by = "nodes without edges, and no edge has the attribute 'weight'" + _other_weights(graph)
        raise UsageError("graph: a graph of networkx, whose nodes may be anything; give networkx.to_scipy_sparse_array("
                         f"{graph_once}, {given}: it keeps {weighted_by}" + ("" if are_places else ", and row i of features is then that of the i-th of list(G)"), ["graph"])
    if hasattr(graph, "edges") and callable(graph.edges):
        graph = graph.edges()
    if isinstance(graph, tuple) and len(graph) == 2:
        ends = [array_of(one, name) for one in graph]
        _check_ids(name, *ends)
        return {"edges": _pair_input(name, [nodes(ends[0])], [nodes(ends[1])]), "two_row_edges": True}
    are_tuples = isinstance(graph, list) and all(isinstance(edge, tuple) for edge in graph)  # each is an edge, also where there are two
    array = np.empty((0, 2), np.int64) if isinstance(graph, list) and not graph else array_of(graph, name)
    _check_ids(name, array)
    if array.ndim != 2 or 2 not in array.shape or (are_tuples and array.shape[1] != 2):
        raise UsageError(f"graph: an array of shape {array.shape}, where (2, m) or (m, 2) is wanted, or tuples (u, v)")
    _require_no_square(array, name, are_tuples)
    if array.shape == (2, 2) and are_tuples:
        array = array.T
    return {"edges": input_of(name, nodes(array)), "two_row_edges": array.shape[0] == 2}


def relations_of(relations: dict[str, Any], subsets: Sequence[Sequence[str]], table: NameTable | None = None,
                 numbers_are_names: bool = False, weights: Any = None) -> dict[str, Any]:
    """Options of an import for edges of several kinds, by their names, each as :func:`edges_of` takes them, and for sets of these names.
    ``weights``: those of the edges, by these names, where they do not have their own; None where edges have none."""
    if not isinstance(relations, dict) or not relations or not all(isinstance(name, str) for name in relations):
        raise UsageError("relations: a dict of edges is wanted, by the names of their kinds, one at least", ["relations"])
    if weights is not None and (not isinstance(weights, dict) or not set(weights) <= set(relations)):
        raise UsageError(f"edge_weights: a dict of weights is wanted, by the names of relations; there are {', '.join(relations)}",
                         ["edge_weights", "relations"])
    inputs: dict[str, Any] = {}
    weight_inputs: dict[str, Any] = {}
    nodes: set[int] = set()
    for name, edges in relations.items():
        given = weights is not None and name in weights
        if given:
            require_no_weights(edges)
        options = edges_of(edges, weighted=weights is not None and not given, table=table, numbers_are_names=numbers_are_names)
        if given:
            options.update(weights_of(weights[name], edges))
        if weights is not None and "edge_weights" in options:
            weight_inputs[name] = options["edge_weights"]
        if not isinstance(options["edges"], (str, dict)):
            raise UsageError(f"relations[{name!r}]: columns of files cannot be one of several kinds of edges; give arrays, or the path of a text", ["relations"])
        if "nodes" in options:
            nodes.add(options["nodes"])
        if isinstance(options["edges"], dict) and not options.get("two_row_edges"):
            array = array_of(edges, "graph")
            options = edges_of((array[:, 0], array[:, 1]), table=table, numbers_are_names=numbers_are_names)
        inputs[name] = options["edges"]
    if len(nodes) > 1:
        raise UsageError(f"relations: matrices of {' and '.join(str(count) for count in sorted(nodes))} nodes, where all have the same", ["relations"])
    are_arrays = {isinstance(one, dict) for one in inputs.values()}
    if len(are_arrays) > 1:
        raise UsageError("relations: some are paths, and others arrays; give all as one of both", ["relations"])
    names = list(inputs)
    for subset in subsets:
        unknown = next((name for name in subset if name not in names), None) if not isinstance(subset, str) else subset
        if unknown is not None:
            raise UsageError(f"subsets: {unknown!r} is no kind of edges, or no set of them; give sets of {', '.join(names)}", ["subsets"])
    sets = [sorted(names.index(name) for name in subset) for subset in subsets]
    options = {"relations": inputs, "relation_weights": weight_inputs, "subsets": sets, "two_row_edges": True in are_arrays}
    return options | ({"nodes": nodes.pop()} if nodes else {})


def _weights_behind(table: Any, column: Any) -> dict[str, Any]:
    """Options of an import for the weights in the third column of a table."""
    called = _names_of(table)[2]
    _require_no_zero(table, called, column)
    return weights_of(column, table, f"graph: column {called!r}")


def _require_no_zero(table: Any, called: Any, column: Any) -> None:
    """A UsageError for a third column that is called as a time or a kind, and has 0, which as a weight is no edge."""
    if is_no_weight(called) and np.any(array_of(column, "graph") == 0):
        raise UsageError(f"graph: 0 in the column {called!r}, which is not called as weights are, and a weight of 0 is no edge; give "
                         f"{_choice(table, 'graph', _names_of(table)[:2])} for the edges alone, or call the column weight if it has the weights", ["graph"])


def _other_weights(graph: Any) -> str:
    """What reads the numbers that edges of networkx have by another name than weight; an empty text where they have none."""
    called = next((name for *_, data in graph.edges(data=True) for name, value in data.items()
                   if isinstance(value, (int, float)) and not isinstance(value, bool) and not is_no_weight(name)), None)
    return f"; weight={called!r} among its arguments reads that of {called!r}" if called is not None else ""


def weights_of(weights: Any, graph: Any = None, name: str = "edge_weights") -> dict[str, Any]:
    """Options of an import for the weights of edges: a path, or an array of one number an edge, 0 for no edge. ``graph``: the table whose
    edges they are, if it is one. ``name``: where they stand, in messages."""
    if is_path(weights):
        return {"edge_weights": os.fspath(weights)}
    if hasattr(graph, "iloc"):
        require_one_order(graph=graph, edge_weights=weights)
    else:
        require_unmoved(weights, "edge_weights")
    return {"edge_weights": input_of(name, array_of(weights, "edge_weights").reshape(-1))}


def require_no_weights(graph: Any) -> None:
    """A UsageError for a graph that may have weights, where ``edge_weights`` gives others."""
    if hasattr(graph, "tocoo"):
        raise UsageError("edge_weights: the values of a matrix are its weights, and it takes no others", ["edge_weights"])
    columns = _columns_of(graph)
    if columns is not None and len(columns) == 3 and _has_numbers(columns[2]):
        names = _names_of(graph)
        raise UsageError(f"graph, edge_weights: the third column of the graph, {names[2]!r}, may have the weights of the edges, and edge_weights has "
                         f"others; give {_choice(graph, 'graph', names[:2])} for those of edge_weights, or leave out edge_weights",
                         ["graph", "edge_weights"])


def warn_of_third_column(graph: Any) -> None:
    """Warns of a table whose third column may have weights that nobody asked for."""
    columns = _names_of(graph) if _columns_of(graph) is not None else []
    if len(columns) != 3:
        return
    ends = _choice(graph, "graph", columns[:2])
    has_weights = not is_no_weight(columns[2])
    remedy = f"if it has the weights of the edges, give max_weight or ignore_weights=True, else {ends}" if has_weights else f"give {ends} to say so"
    warnings.warn(f"graph: the third column, {columns[2]!r}, is not read; {remedy}", stacklevel=3)


def _weights_in(graph: Any) -> Any:
    """The weights of a graph of PyG: ``edge_weight``, or an ``edge_attr`` of one number an edge; None where it has none."""
    weights = getattr(graph, "edge_weight", None)
    attributes = getattr(graph, "edge_attr", None)
    shape = tuple(getattr(attributes, "shape", ()))
    return attributes if weights is None and (len(shape) == 1 or shape[1:] == (1,)) else weights


def _first(container: Any, names: Iterable[str]) -> Any:
    for name in names:
        try:
            value = container[name]
        except (KeyError, TypeError, AttributeError):
            continue
        if value is not None:
            return value
    return None


def _require_one_kind(graph: Any) -> None:
    """A UsageError for a graph of PyG whose edges or nodes are of several kinds."""
    for name in ("edge_type", "node_type"):
        kinds = getattr(graph, name, None)
        if kinds is not None and len(kinds) and len(np.unique(array_of(kinds, name))) > 1:
            raise UsageError(f"graph: its {name} says that there are several kinds, which no store tells apart; give the edge_index of those that "
                             f"are meant, or set graph.{name} = None where they are all the same to you", ["graph"])


def remarks_on_graph(graph: Any) -> list[str]:
    """What of a graph of PyG is left out: features of edges."""
    shape = tuple(getattr(getattr(graph, "edge_attr", None), "shape", ()))
    if getattr(graph, "edge_index", None) is None or len(shape) < 2 or shape[1] < 2:
        return []
    return [f"graph: its edge_attr has {shape[1]} values an edge, features of edges, which no store has; they are left out"]


def _of_each(several: Sequence[Any], attribute: str, name: str) -> list[np.ndarray]:
    """This attribute of all graphs; none where no graph has it."""
    found = [getattr(one, attribute, None) for one in several]
    lacking = [place for place, one in enumerate(found) if one is None]
    if 0 < len(lacking) < len(found):
        raise UsageError(f"graph: graph {lacking[0]} of the list has no {attribute}, and others have one", ["graph"])
    return [] if lacking else [array_of(one, name) for one in found]


def _require_own_nodes(edges: Sequence[np.ndarray], nodes: Sequence[int]) -> None:
    """A UsageError for an edge of one graph that names a node which another one would have."""
    for place, (ends, count) in enumerate(zip(edges, nodes)):
        if ends.ndim != 2 or len(ends) != 2 or (ends.size and ends.dtype.kind not in "iu"):
            raise UsageError(f"graph: edge_index of graph {place} has the shape {ends.shape} and the type {ends.dtype}, where integers "
                             "of shape (2, m) are wanted", ["graph"])
        if ends.size and (ends.min() < 0 or ends.max() >= count):
            wrong = ends.min() if ends.min() < 0 else ends.max()
            raise UsageError(f"graph: edge_index of graph {place} names node {wrong}, and the graph has the nodes 0 to {count - 1}", ["graph"])


class _Batch:
    """Graphs of PyG beside each other, as its ``Batch`` has them: nodes of one after those of another, ``batch`` the graph of each."""

    def __init__(self, several: Sequence[Any]) -> None:
        nodes = [int(one.num_nodes) for one in several]
        first = np.concatenate([[0], np.cumsum(nodes)])
        edges = [array_of(one.edge_index, "graph") for one in several]
        _require_own_nodes(edges, nodes)
        self.edge_index = np.concatenate([of_one + start for of_one, start in zip(edges, first)], axis=1)
        rows = _of_each(several, "x", "features")
        for place, row in enumerate(rows):
            if row.shape[1:] != rows[0].shape[1:]:
                raise UsageError(f"graph: x of graph {place} has the shape {row.shape}, and that of graph 0 {rows[0].shape}; "
                                 "all need the same columns", ["graph"])
        self.x = np.concatenate(rows) if rows else None
        labels = [np.atleast_1d(label) for label in _of_each(several, "y", "graph_labels")]
        for place, label in enumerate(labels):
            if label.size != 1:
                raise UsageError(f"graph: y of graph {place} has {label.size} values; a graph has one class, or -1 for none", ["graph"])
        self.y = np.concatenate([label.reshape(1) for label in labels]) if labels else None
        self.batch = np.repeat(np.arange(len(several)), nodes)
        self.num_nodes, self.num_graphs = int(first[-1]), len(several)


def one_graph(graph: Any) -> Any:
    """Several graphs of PyG, in a list or a data set, beside each other; anything else as it is."""
    is_data_set = hasattr(graph, "slices") and hasattr(graph, "indices") and hasattr(graph, "__getitem__")
    if not (isinstance(graph, list) or is_data_set) or not len(graph) or getattr(graph[0], "edge_index", None) is None:
        return graph
    several = [graph[place] for place in range(len(graph))]
    if any(getattr(one, "edge_index", None) is None for one in several):
        raise UsageError("graph: a list of graphs in which one has no edge_index", ["graph"])
    return _Batch(several)


def parts_of_graph(graph: Any) -> dict[str, Any]:
    """Graph, features, labels, splits and weights of an object that has them all: ``Data`` of PyG (edge_index, edge_weight, x, y, masks), or
    a graph of DGL (``ndata`` with feat, label and masks, ``edata`` with weight). Anything else is the graph alone."""
    masks = {"train": "train_mask", "valid": "val_mask", "test": "test_mask"}
    if getattr(graph, "edge_index", None) is not None:
        _require_one_kind(graph)
        edges = graph.edge_index
        if getattr(edges, "shape", (0,))[0] == 2:  # also where it has two edges
            edges = (edges[0], edges[1])
        parts = {"graph": edges, "features": getattr(graph, "x", None), "labels": getattr(graph, "y", None),
                 "edge_weights": _weights_in(graph)}
        parts.update({split: getattr(graph, mask, None) for split, mask in masks.items()})
        nodes = getattr(graph, "num_nodes", None)
        parts["nodes"] = int(nodes) if hasattr(nodes, "__index__") else nodes
        if getattr(graph, "batch", None) is not None and parts["labels"] is not None and getattr(graph, "num_graphs", None) is not None:
            parts.update({"graphs": graph.batch, "graph_labels": parts.pop("labels")})
        return parts
    if hasattr(graph, "ndata"):
        data = graph.ndata
        parts = {"graph": graph, "features": _first(data, ("feat", "x", "features")), "labels": _first(data, ("label", "y", "labels")),
                 "edge_weights": _first(getattr(graph, "edata", {}), ("weight",))}
        parts.update({split: _first(data, (mask,)) for split, mask in masks.items()})
        nodes = graph.num_nodes() if callable(getattr(graph, "num_nodes", None)) else None
        parts["nodes"] = int(nodes) if hasattr(nodes, "__index__") else nodes
        return parts
    return {"graph": graph}
