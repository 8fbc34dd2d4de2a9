# tools/python/tests/test_graphs.py - which columns and rows are ends of edges: tables, matrices, graphs of other packages.
import re

import numpy as np
import pytest

import unweave
from meaning import advised


@pytest.mark.parametrize("first, second", [("src", "dst"), ("Source", "TARGET"), ("from", "to"), ("u", "v"), ("head", "tail"), ("target", "source")])
def test_ends_that_stand_behind_other_columns(pandas, sample, tmp_path, first, second):
    u, v = sample.edge_index
    want = unweave.import_store(tmp_path / "want", sample.edge_index, nodes=400).info(digest=True).digest
    for number, columns in enumerate((["time", first, second], [first, "time", second], ["time", second, first])):
        graph = pandas.DataFrame({"time": 0, first: u, second: v})[columns]
        with pytest.raises(unweave.UsageError, match="first two columns") as caught:
            unweave.import_store(tmp_path / "bad", graph, nodes=400)
        assert repr(first) in str(caught.value) and not (tmp_path / "bad").exists()
        remedy = re.search(r"give (graph\[\[.*?\]\])", str(caught.value))[1]
        store = unweave.import_store(tmp_path / f"s{number}", eval(remedy, {"graph": graph}), nodes=400)  # noqa: S307  what the error advises
        assert store.info(digest=True).digest == want


def test_ends_by_name_and_with_weights_behind_other_columns(pandas, tmp_path):
    graph = pandas.DataFrame({"kind": ["x", "y"], "src": ["a", "b"], "weight": [2, 3], "dst": ["b", "c"]})
    with pytest.raises(unweave.UsageError, match="first two columns"):
        unweave.import_store(tmp_path / "bad", graph)
    with pytest.raises(unweave.UsageError, match=re.escape('give graph[["src", "dst", "weight"]]')):
        unweave.graphs.edges_of(graph, weighted=True)
    store = unweave.import_store(tmp_path / "s", graph[["src", "dst", "weight"]], max_weight=3)
    assert store.ids() == ["a", "b", "c"] and store.edges().tolist() == [[0, 1], [1, 2]] and store.edge_weights().tolist() == [2, 3]
    with store.stream() as stream:
        with pytest.raises(unweave.UsageError, match="^edges: a table whose first two"):
            stream.remove_edges(graph[["kind", "src", "dst"]])
        assert stream.remove_edges(graph[["src", "dst"]].iloc[:1]).applied == 1


def test_tables_whose_first_two_columns_are_the_ends(pandas, tmp_path):
    for number, columns in enumerate((["v", "u", "w"], ["user_a", "user_b", "src"], [0, 1, 2], ["x", "y", "time"], ["src", "dst", "Src"])):
        graph = pandas.DataFrame([[0, 1, 5], [1, 2, 6]], columns=columns)
        assert unweave.import_store(tmp_path / f"s{number}", graph, ignore_weights=True).edges().tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("columns", [["id", "a", "b", "w"], ["year", "paper", "other", "n"], ["from", "to", "source", "target"], [0, 1, 2, 3],
                                     ["u", "v", "w", "x", "y"]])
def test_tables_of_more_than_three_columns(pandas, tmp_path, columns):
    graph = pandas.DataFrame({name: np.arange(3) + 2 * place for place, name in enumerate(columns)})
    for options in ({}, {"ignore_weights": True}, {"max_weight": 9}):
        with pytest.raises(unweave.UsageError, match=f"^graph: a table of {len(columns)} columns, .*not clear which") as caught:
            unweave.import_store(tmp_path / "bad", graph, **options)
        assert not (tmp_path / "bad").exists()
    choices = re.findall(r"graph\[\[.*?\]\]", str(caught.value).replace(', "w"]]', "]]"))
    for choice in choices:
        ends = eval(choice, {"graph": graph})  # noqa: S307  what the error advises
        assert unweave.import_store(tmp_path / "s", ends).edges().tolist() == [[one, 2 + one] for one in range(3)]
    assert len(choices) == (columns[0] in ("from", "u"))  # others may be the ends


@pytest.mark.parametrize("first, numbers", [("index", [7, 3, 5]), ("level_0", [7, 3, 5]), ("Unnamed: 0", [7, 3, 5]), ("ID", [7, 3, 5]),
                                            ("p", [0, 1, 2]), ("p", [1, 2, 3])])
def test_tables_whose_first_column_of_three_may_be_an_index(pandas, tmp_path, first, numbers):
    graph = pandas.DataFrame({first: numbers, "a": [3, 4, 4], "b": [4, 5, 3]})
    for options in ({}, {"ignore_weights": True}, {"max_weight": 9}):
        with pytest.raises(unweave.UsageError, match=f"the first of three columns, {first!r}, (is called|counts)") as caught:
            unweave.import_store(tmp_path / "bad", graph, **options)
    ends = advised(caught, r"give (graph\[\[.*?\]\]) without it", graph=graph)
    assert unweave.import_store(tmp_path / "s", ends).edges().tolist() == [[3, 4], [4, 5]]
    assert unweave.import_store(tmp_path / "t", graph.set_axis(["source", "target", "w"], axis=1), max_weight=9).edge_weights().sum() == 12
    named = pandas.DataFrame({first: numbers, "a": ["x", "y", "y"], "b": ["y", "z", "x"]})
    with pytest.raises(unweave.UsageError, match="the first of three columns"):
        unweave.import_store(tmp_path / "bad", named)


def test_tables_that_are_adjacency_matrices(pandas, tmp_path):
    networkx, scipy = pytest.importorskip("networkx"), pytest.importorskip("scipy")
    pytest.importorskip("scipy.sparse")
    weighted = networkx.Graph()
    weighted.add_weighted_edges_from([("b", "a", 2), ("a", "c", 3), ("c", "d", 1)])
    graphs = (weighted, networkx.path_graph(3), networkx.path_graph(2), networkx.path_graph(5), networkx.Graph([(2, 0), (0, 1), (1, 3)]),
              networkx.Graph([(1, 2), (2, 3)]), networkx.Graph([(17, 1), (1, 5)]))
    for number, graph in enumerate(graphs):
        frame = networkx.to_pandas_adjacency(graph)
        for form, table in enumerate((frame, frame.astype(int), frame.astype(pandas.SparseDtype(float, 0)))):
            with pytest.raises(unweave.UsageError, match="may be an adjacency matrix, or a list of edges") as caught:
                unweave.import_store(tmp_path / "bad", table, ignore_weights=True)
            matrix = advised(caught, r"give (.+?)(?: and ids=.*)? for a matrix", graph=table, scipy=scipy)
            ids = advised(caught, r"ids=(\[.*?columns\])", graph=table) if "ids=" in str(caught.value) else None
            are = "names" if 'ids_are="names"' in str(caught.value) else None
            store = unweave.import_store(tmp_path / f"s{number}.{form}", matrix, ids=ids, ids_are=are, max_weight=9)
            names = [*map(str, range(len(graph)))] if ids is None else ids
            found = {frozenset((names[u], names[v])): int(w) for (u, v), w in zip(store.edges(), store.edge_weights())}
            assert found == {frozenset(map(str, (u, v))): w for u, v, w in graph.edges(data="weight", default=1)}
    pairs = pandas.DataFrame([(0, 1, 5), (1, 2, 6), (2, 0, 7)])
    with pytest.raises(unweave.UsageError, match="adjacency matrix") as caught:
        unweave.import_store(tmp_path / "bad", pairs, max_weight=9)
    mended = advised(caught, r"or (graph\.iloc.*?) for a list", graph=pairs)
    assert unweave.import_store(tmp_path / "w", mended, max_weight=9).edge_weights().tolist() == [5, 7, 6]
    pairs = pandas.DataFrame([(0, 1), (1, 2)])
    with pytest.raises(unweave.UsageError, match="adjacency matrix") as caught:
        unweave.import_store(tmp_path / "bad", pairs)
    mended = advised(caught, r"or (graph\.iloc.*?) for a list", graph=pairs)
    assert unweave.import_store(tmp_path / "l", mended).edges().tolist() == [[0, 1], [1, 2]]


def test_columns_of_files_whose_ends_stand_behind_others():
    from unweave.columns import _wanted

    with pytest.raises(unweave.UsageError, match=re.escape("unweave.Columns(files, ['src', 'dst'])")):
        _wanted("e.parquet", None, ["time", "src", "dst"], 2)
    assert _wanted("e.parquet", None, ["src", "dst", "time"], 2) == ["src", "dst"]
    assert _wanted("e.parquet", ["time", "dst"], ["time", "src", "dst"], 2) == ["time", "dst"]
    assert _wanted("e.parquet", None, ["time", "src", "dst"], None) == ["time", "src", "dst"]
    for there, ends in ((["src", "dst", "time", "w"], "['src', 'dst']"), (["index", "a", "b"], "[SOURCE, TARGET]"),
                        (["session", "user", "item"], "[SOURCE, TARGET]"), (["relation", "head", "tail"], "['head', 'tail']")):
        with pytest.raises(unweave.UsageError, match=re.escape(f"unweave.Columns(files, {ends})")):
            _wanted("e.parquet", None, there, 2)


def test_two_tuples_are_two_edges(tmp_path):
    """A list of tuples has an edge each, also where two of them could be two rows."""
    store = unweave.import_store(tmp_path / "s", [(0, 1), (2, 3)], nodes=4)
    assert sorted(map(tuple, store.edges().tolist())) == [(0, 1), (2, 3)]
    with pytest.raises(unweave.UsageError, match=r"tuples \(u, v\)"):
        unweave.import_store(tmp_path / "t", [(0, 1, 5), (2, 3, 5)], nodes=6)


def test_weights_among_several_columns_are_named(tmp_path):
    """Behind the ends of weighted edges stands one column; where there are more, the call says which has the weights."""
    frame = pytest.importorskip("pandas").DataFrame({"src": [0, 1], "dst": [1, 2], "time": [7, 8], "weight": [2, 3]})
    with pytest.raises(unweave.UsageError, match="which has the weights"):
        unweave.import_store(tmp_path / "s", frame, nodes=3, max_weight=9)
    assert unweave.import_store(tmp_path / "t", frame[["src", "dst", "weight"]], nodes=3, max_weight=9).info().weight_sum == 5


def test_two_kinds_of_nodes_under_one_numbering(pandas, tmp_path):
    ratings = pandas.DataFrame({"user": [0, 1, 2], "item": [1, 0, 3]})
    with pytest.raises(unweave.UsageError, match="'user' and 'item' seem to number two kinds of nodes.* add 3 to the second") as caught:
        unweave.import_store(tmp_path / "bad", ratings)
    assert caught.value.options == ["graph"]
    shifted = ratings.assign(item=ratings["item"] + 3)
    assert unweave.import_store(tmp_path / "s", shifted).edges().tolist() == [[0, 4], [1, 3], [2, 6]]
    unweave.import_store(tmp_path / "t", ratings.rename(columns={"user": "source", "item": "target"}))


def test_edges_of_requests_are_their_two_ends(pandas, tmp_path):
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
    store = unweave.import_store(tmp_path / "s", ring, np.eye(6), [2, 1, 0, 1, 2, 0])
    store.propagate(1)
    with store.stream() as stream:
        for edges, said in (([(0, 1, 2), (1, 2, 3)], "edges of 3 parts"), ([(0, 1, 2), (1, 2)], "a tuple of 3"),
                            (pandas.DataFrame({"src": [0, 1], "dst": [1, 2], "w": [3, 4]}), "a table of 3 columns"),
                            (pandas.DataFrame({"a": [0], "b": [1]}, index=pandas.Index([4], name="source")), "its index is called 'source'"),
                            (([0, 1], [1]), "2 sources and 1 targets")):
            with pytest.raises(unweave.UsageError, match=said):
                stream.remove_edges(edges)
        with pytest.raises(unweave.UsageError, match="numbers the rows in another order"):
            stream.insert_edges([(0, 2), (0, 3), (1, 3)], weights=pandas.Series([1, 1, 1], index=[2, 1, 0]))
        assert stream.remove_edges((np.array([0, 1]), np.array([1, 2]))).edges_removed == 2
        assert stream.remove_edges(pandas.DataFrame({"a": [3], "b": [4]})).edges_removed == 1
    assert store.edges().tolist() == [[0, 5], [2, 3], [4, 5]]


def test_graphs_of_networkx_are_given_by_their_matrix(tmp_path):
    networkx = pytest.importorskip("networkx")
    for number, (edges, named) in enumerate((([(2, 0), (0, 1)], False), ([("b", "a"), ("a", "c")], True), ([(2, 1), (1, 3)], True))):
        graph = networkx.Graph(edges)
        with pytest.raises(unweave.UsageError, match="to_scipy_sparse_array") as caught:
            unweave.import_store(tmp_path / "bad", graph)
        matrix = re.search(r"give (networkx\.to_scipy_sparse_array\(.*?\)\))", str(caught.value))[1]
        ids = re.search(r"ids=(\[.*?\])", str(caught.value))
        names = eval(ids[1], {"G": graph}) if ids else None  # noqa: S307  what the error advises
        are = "names" if 'ids_are="names"' in str(caught.value) else None
        store = unweave.import_store(tmp_path / f"s{number}", eval(matrix, {"networkx": networkx, "G": graph}), ids=names, ids_are=are)  # noqa: S307
        found = {frozenset(names[end] if names else str(end) for end in edge) for edge in store.edges().tolist()}
        assert found == {frozenset(map(str, edge)) for edge in edges} and bool(ids) == named
        with store.stream() as stream:  # requests speak of the nodes as the graph calls them
            u, v = edges[1]
            stream.remove_edges([(str(u), str(v))] if named else [(u, v)])
        left = {frozenset(names[end] if names else str(end) for end in edge) for edge in store.edges().tolist()}
        assert left == {frozenset(map(str, edges[0]))}


@pytest.mark.parametrize("columns", [["customer", "weight", "friend"], ["Edge_Weight", "a", "b"]])
def test_a_column_of_weights_is_no_end(tmp_path, pandas, columns):
    table = pandas.DataFrame([[0, 2, 1], [1, 3, 2]] if columns[1] == "weight" else [[2, 0, 1], [3, 1, 2]], columns=columns)
    with pytest.raises(unweave.UsageError, match="is called as weights are") as error:
        unweave.import_store(tmp_path / "s", table, max_weight=5)
    made = unweave.import_store(tmp_path / "s", advised(error, r"give (graph\[\[.*?\]\])", graph=table), max_weight=5)
    assert made.edges().tolist() == [[0, 1], [1, 2]] and made.edge_weights().tolist() == [2, 3]
