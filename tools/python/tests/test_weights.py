# tools/python/tests/test_weights.py - weights of edges: from arrays, matrices, tables and graphs of other packages, and back; requests
# that change them; embeddings against dense references.
import types

import numpy as np
import pytest

import unweave
from meaning import advised

EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [1, 3]])
WEIGHTS = np.array([3, 1, 9, 2, 4])
NODES = 5


def weighted_edges(store):
    return {(int(u), int(v)): int(w) for (u, v), w in zip(store.edges(), store.edge_weights())}


def wanted(weights=WEIGHTS):
    return {(min(u, v), max(u, v)): int(w) for (u, v), w in zip(EDGES.tolist(), weights)}


def dense(weights, x, hops=2):
    a = np.eye(NODES)
    for (u, v), w in weights.items():
        a[u, v] = a[v, u] = w
    scale = 1 / np.sqrt(a.sum(1))
    p = scale[:, None] * a * scale
    for _ in range(hops):
        x = p @ x
    return x


@pytest.mark.parametrize("kind", ["array", "both ways", "sparse", "frame", "pyg", "dgl"])
def test_weights_come_from_what_people_have(kind, tmp_path):
    graph, options = EDGES.T, {}
    if kind == "array":
        options = {"edge_weights": WEIGHTS.astype(np.float32)}
    elif kind == "both ways":
        graph, options = np.concatenate([EDGES, EDGES[:, ::-1]]), {"edge_weights": np.concatenate([WEIGHTS, WEIGHTS])}
    elif kind == "sparse":
        sparse = pytest.importorskip("scipy.sparse")
        graph = sparse.coo_matrix((WEIGHTS.astype(float), EDGES.T), shape=(NODES, NODES)).tocsr()
    elif kind == "frame":
        pandas = pytest.importorskip("pandas")
        graph = pandas.DataFrame({"u": EDGES[:, 0], "v": EDGES[:, 1], "rating": WEIGHTS})
    elif kind == "pyg":
        graph = types.SimpleNamespace(edge_index=EDGES.T, edge_weight=WEIGHTS, x=None, y=None, num_nodes=NODES)
    elif kind == "dgl":
        graph = types.SimpleNamespace(ndata={}, edata={"weight": WEIGHTS}, edges=lambda: (EDGES[:, 0], EDGES[:, 1]), num_nodes=lambda: NODES)
    store = unweave.import_store(tmp_path / "s", graph, nodes=NODES, max_weight=9, **options)
    assert weighted_edges(store) == wanted()
    assert store.imported.max_weight == 9 and store.info().max_weight == 9 and store.info().edges == 5
    if kind in ("sparse", "pyg", "dgl"):
        with pytest.raises(unweave.DataError, match="ignore_weights"):
            unweave.import_store(tmp_path / "refused", graph, nodes=NODES)
    elif kind == "frame":
        with pytest.warns(UserWarning, match="third column, 'rating'"):
            unweave.import_store(tmp_path / "two", graph, nodes=NODES)
    plain = unweave.import_store(tmp_path / "plain", graph, nodes=NODES, ignore_weights=True)
    assert set(weighted_edges(plain).values()) == {1} and plain.info().max_weight is None


def test_embeddings_of_weighted_edges_follow_requests(tmp_path):
    x = np.random.default_rng(1).normal(size=(NODES, 3)) / 4
    store = unweave.import_store(tmp_path / "s", EDGES, x, edge_weights=WEIGHTS, max_weight=9)
    store.propagate(2)
    assert np.abs(store.embeddings() - dense(wanted(), x)).max() < 1e-6
    with store.stream() as stream:
        outcome = stream.send([("set-weight", 1, 0, 7), ("edge", 1, 2), ("insert-edge", 4, 2, "weight", np.int64(5)), "set-weight 2 3 10 id=W1"])
        assert outcome.statuses == ["applied", "applied", "applied", "weight-outside"] and outcome.weights_set == 1
        assert stream.insert_edges([(0, 2), (0, 4)], weights=np.array([2, 3], np.float32)).edges_inserted == 2
        with pytest.raises(unweave.UsageError, match="whole numbers"):
            stream.insert_edges([(1, 4)], weights=[2.5])
        with pytest.raises(unweave.UsageError, match="2 edges and 1 weights"):
            stream.insert_edges([(1, 4), (2, 4)], weights=[2])
    now = {(0, 1): 7, (2, 3): 9, (0, 3): 2, (1, 3): 4, (2, 4): 5, (0, 2): 2, (0, 4): 3}
    assert weighted_edges(store) == now
    assert np.abs(store.embeddings() - dense(now, x)).max() < 1e-6
    store.purge()
    assert store.verify().ok and weighted_edges(store) == now


def test_entries_of_a_matrix_that_repeat_are_added(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    counted = sparse.coo_matrix((np.ones(4, int), ([0, 0, 0, 1], [1, 1, 1, 2])), shape=(3, 3))
    for number, matrix in enumerate((counted, counted.tocsr())):
        assert weighted_edges(unweave.import_store(tmp_path / str(number), matrix, max_weight=5)) == {(0, 1): 3, (1, 2): 1}


@pytest.mark.parametrize("kind", ["csr", "coo", "bool", "frame", "named", "array", "pairs", "rows", "pyg", "networkx"])
def test_a_weight_of_0_is_no_edge(kind, tmp_path):
    ends, weights, options = np.array([[0, 1, 2, 0], [1, 2, 3, 4]]), np.array([2.5, 0, 1, 0]), {}
    names, graph = None, ends
    if kind in ("csr", "coo", "bool", "networkx"):
        sparse = pytest.importorskip("scipy.sparse")
        graph = sparse.coo_matrix((weights.astype(bool) if kind == "bool" else weights, ends), shape=(NODES, NODES))
        graph = graph.tocsr() if kind == "csr" else graph
    if kind == "networkx":
        networkx = pytest.importorskip("networkx")
        made = networkx.Graph()
        made.add_nodes_from(range(NODES))
        made.add_weighted_edges_from(zip(*ends.tolist(), weights.tolist()))
        graph = networkx.to_scipy_sparse_array(made, nodelist=sorted(made))  # what the message for a graph advises
    elif kind in ("frame", "named"):
        frame = pytest.importorskip("pandas").DataFrame({"src": ends[0], "dst": ends[1], "w": weights})
        names = list("abcde") if kind == "named" else None
        graph = frame if names is None else frame.assign(src=[names[one] for one in ends[0]], dst=[names[one] for one in ends[1]])
    elif kind == "pyg":
        graph = types.SimpleNamespace(edge_index=ends, edge_weight=weights, x=None, y=None, num_nodes=NODES)
    elif kind in ("array", "pairs", "rows"):
        graph, options = {"array": ends, "pairs": (ends[0], ends[1]), "rows": ends.T}[kind], {"edge_weights": weights}
    store = unweave.import_store(tmp_path / "s", graph, nodes=NODES, ids=names, ignore_weights=True, **options)
    assert store.edges().tolist() == [[0, 1], [2, 3]] and store.edge_weights().tolist() == [1, 1]
    both_ways = 2 if kind == "networkx" else 1
    assert store.imported.zero_weights == 2 * both_ways and store.imported.ignored_weights == (0 if kind == "bool" else both_ways)
    if kind in ("csr", "coo", "bool"):
        graph.data[graph.data == 2.5] = 1
        assert unweave.import_store(tmp_path / "t", graph).edges().tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize("bad, said", [(np.nan, "nan is not finite"), (np.inf, "inf is not finite"), (-1.0, "-1 is negative"),
                                       (-np.inf, "-inf is not finite")])
def test_what_no_edge_can_weigh_is_an_error_under_every_option(bad, said, tmp_path):
    pandas, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    weights = np.array([1, bad, 1, 1])
    ends = np.array([[0, 1, 2, 0], [1, 2, 3, 4]])
    frame = pandas.DataFrame({"src": ends[0], "dst": ends[1], "w": weights})
    matrix = sparse.coo_matrix((weights, ends), shape=(NODES, NODES))
    repeated = sparse.coo_matrix((np.array([1, bad, 1]), ([0, 0, 1], [1, 1, 2])), shape=(NODES, NODES))
    data = types.SimpleNamespace(edge_index=ends, edge_weight=weights, x=None, y=None, num_nodes=NODES)
    for options in ({"ignore_weights": True}, {"max_weight": 9}, {}):
        for graph, more in ((matrix, {}), (matrix.tocsr(), {}), (repeated, {}), (data, {}), (frame, {}), (ends, {"edge_weights": weights})):
            if options or not (graph is frame or more):
                with pytest.raises(unweave.DataError, match=f"weight {said}") as caught:
                    unweave.import_store(tmp_path / "bad", graph, **options, **more)
                assert not (tmp_path / "bad").exists()
            if graph is frame and options:
                assert "graph: column 'w'" in str(caught.value)
    matrix.data[1] = 0  # as the error advises
    assert unweave.import_store(tmp_path / "s", matrix, ignore_weights=True).info().edges == 3


def test_remedies_against_weights_that_nobody_asked_for(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    for number, (weights, said) in enumerate((([1, 2, 3], "2; declare the largest"), ([1, 0.5, 3], "0.5; multiply and round"),
                                              ([1, 0, 1e9], "1e.*; multiply and round"))):
        graph = sparse.csr_matrix((np.array(weights, float), ([0, 1, 2], [1, 2, 3])), shape=(4, 4))
        with pytest.raises(unweave.DataError, match=f"a value other than 1, as of a weight, {said}.* or take the edges without them by ignore_weights"):
            unweave.import_store(tmp_path / "bad", graph)
        store = unweave.import_store(tmp_path / f"s{number}", graph, ignore_weights=True)
        assert store.info().edges == sum(weight > 0 for weight in weights)
    with pytest.raises(unweave.DataError, match="one weight for each of 5 edges"):
        unweave.import_store(tmp_path / "bad", EDGES, edge_weights=[1, 2, 3], ignore_weights=True)


def test_a_third_column_without_numbers_has_no_weights(tmp_path):
    pandas = pytest.importorskip("pandas")
    for number, third in enumerate((["x", "y"], pandas.to_datetime(["2020-01-01", "2021-01-01"]), [False, True])):
        frame = pandas.DataFrame({"src": [0, 1], "dst": [1, 2], "since": third})
        assert unweave.import_store(tmp_path / str(number), frame, ignore_weights=True).info().edges == 2


def test_an_estimator_takes_weights(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    graph = sparse.coo_matrix((WEIGHTS, EDGES.T), shape=(NODES, NODES)).tocsr()
    x, y = np.eye(NODES), [0, 1, 0, 1, 0]
    fitted = unweave.ForgettingClassifier(max_weight=9).fit(x, y, graph=graph)
    assert np.abs(fitted.store_.embeddings() - dense(wanted(), x)).max() < 1e-6
    with pytest.raises(unweave.DataError, match="max_weight"):
        unweave.ForgettingClassifier().fit(x, y, graph=graph)


def test_what_is_no_weight_is_told(tmp_path):
    def fails(match, **options):
        with pytest.raises(unweave.Error, match=match):
            unweave.import_store(tmp_path / "s", EDGES, nodes=NODES, **options)
        assert not (tmp_path / "s").exists()

    fails("weight 9 is not a whole number from 1 to 8", edge_weights=WEIGHTS, max_weight=8)
    fails("weight 3.5", edge_weights=WEIGHTS + 0.5, max_weight=99)
    fails("max_weight", edge_weights=WEIGHTS)
    fails("edge_weights", max_weight=9)
    fails("4,", edge_weights=WEIGHTS[:4], max_weight=9)
    for bad in (0, -1, 2**40, 5.7, "x", True):
        fails("max_weight", edge_weights=WEIGHTS, max_weight=bad)
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(unweave.UsageError, match="takes no others"):
        unweave.import_store(tmp_path / "s", sparse.coo_matrix((WEIGHTS, EDGES.T), shape=(NODES, NODES)), edge_weights=WEIGHTS, max_weight=9)
    np.savez(tmp_path / "g.npz", edge_index=EDGES.T, edge_weight=WEIGHTS)
    with pytest.raises(unweave.DataError, match="have weights; declare the largest weight by max_weight"):
        unweave.import_store(tmp_path / "s", tmp_path / "g.npz", nodes=NODES)
    assert weighted_edges(unweave.import_store(tmp_path / "t", tmp_path / "g.npz", nodes=NODES, max_weight=9)) == wanted()
    with pytest.raises(unweave.Error, match="has the weight 2 in one place and 3 in another"):
        unweave.import_store(tmp_path / "s", [[0, 1], [1, 0]], edge_weights=[2, 3], max_weight=9)


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil", "dok", "bsr"])
def test_a_matrix_means_the_same_in_every_format(form, tmp_path):
    """Entries that repeat were single edges where nobody had declared weights, in COO and in CSR that is not canonical."""
    sparse = pytest.importorskip("scipy.sparse")
    counted = sparse.coo_matrix(([1, 1, 1], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    matrices = [counted.asformat(form)]
    if form == "csr":
        matrices.append(sparse.csr_matrix(([1, 1, 1], [1, 1, 2], [0, 2, 3, 3]), shape=(3, 3)))
    for number, matrix in enumerate(matrices):
        with pytest.raises(unweave.DataError, match="a value other than 1, as of a weight, 2; declare the largest weight by max_weight"):
            unweave.import_store(tmp_path / "bad", matrix)
        assert weighted_edges(unweave.import_store(tmp_path / f"s{number}", matrix, max_weight=2)) == {(0, 1): 2, (1, 2): 1}
        assert weighted_edges(unweave.import_store(tmp_path / f"i{number}", matrix, ignore_weights=True)) == {(0, 1): 1, (1, 2): 1}
        assert matrix.sum() == 3
    twice = sparse.coo_matrix((np.ones(3, bool), ([0, 0, 1], [1, 1, 2])), shape=(3, 3)).asformat(form)
    assert weighted_edges(unweave.import_store(tmp_path / "b", twice)) == {(0, 1): 1, (1, 2): 1}


def test_weights_in_a_table_and_beside_it(pandas, tmp_path):
    """The column was left out in silence."""
    frame = pandas.DataFrame({"source": EDGES[:, 0], "target": EDGES[:, 1], "weight": WEIGHTS})
    named = frame.assign(source=[f"n{one}" for one in frame.source], target=[f"n{one}" for one in frame.target])
    other = WEIGHTS[::-1].copy()
    for table in (frame, named, frame.set_axis(["source", "target", "time"], axis=1)):
        for options in ({"max_weight": 9}, {"ignore_weights": True}):
            with pytest.raises(unweave.UsageError, match=f"^graph, edge_weights: the third column of the graph, '{table.columns[2]}', may have the weights") as caught:
                unweave.import_store(tmp_path / "bad", table, edge_weights=other, **options)
            assert caught.value.options == ["graph", "edge_weights"] and not (tmp_path / "bad").exists()
        pairs = advised(caught, r"give (graph\[\[.*?\]\]) for", graph=table)
        for path, graph, weights, want in ((tmp_path / f"a{table.columns[2]}{table is named}", pairs, other, other),
                                           (tmp_path / f"b{table.columns[2]}{table is named}", table, None, WEIGHTS)):
            assert weighted_edges(unweave.import_store(path, graph, edge_weights=weights, max_weight=9)) == wanted(want)
    since = frame.assign(weight=pandas.to_datetime("2020-01-01"))  # no weights
    assert weighted_edges(unweave.import_store(tmp_path / "s", since, edge_weights=other, max_weight=9)) == wanted(other)


def test_weights_behind_the_ends_are_told_apart(tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_weighted_edges_from((*edge, int(weight)) for edge, weight in zip(EDGES.tolist(), WEIGHTS))
    several = networkx.MultiGraph(graph)
    named = networkx.relabel_nodes(graph, lambda node: f"n{node}")
    rows = np.array([(u, v, weight) for u, v, weight in graph.edges(data="weight")])
    for number, given in enumerate((list(graph.edges(data="weight")), list(graph.edges(data=True)), list(several.edges(keys=True, data=True)),
                                    list(map(list, graph.edges(data="weight"))), rows, rows.astype(float), list(named.edges(data="weight")),
                                    list(named.edges(data="weight"))[:2])):
        with pytest.raises(unweave.UsageError, match="^graph: .*, where tuples .* are wanted; give") as caught:
            unweave.import_store(tmp_path / "bad", given, max_weight=9)
        assert caught.value.options == ["graph", "edge_weights"]
        ends = advised(caught, "give (.*), and where", graph=given)
        weights = advised(caught, "edge_weights=(.*) and max_weight", graph=given)
        store = unweave.import_store(tmp_path / f"s{number}", ends, edge_weights=weights, max_weight=9)
        assert sorted(store.edge_weights().tolist()) == sorted(WEIGHTS.tolist() if len(given) > 2 else [edge[2] for edge in given])
        if isinstance(given, list) and len(given) > 2:
            with store.stream() as stream:
                stream.remove_edges(ends)
                with pytest.raises(unweave.UsageError, match="^edges: ") as caught:
                    stream.insert_edges(given)
                stream.insert_edges(advised(caught, "give (.*), and where", edges=given), weights=advised(caught, r"weights=(.*) to insert", edges=given))
            assert sorted(store.edge_weights().tolist()) == sorted(WEIGHTS.tolist())
    with pytest.raises(unweave.UsageError, match=r"give \[\(u, v\) for u, v, \*_ in graph\]$"):
        unweave.import_store(tmp_path / "bad", [(u, v, {}) for u, v in EDGES.tolist()])
