"""Stores: import, propagation, training, streams of removals, and what is read out."""
from __future__ import annotations

import contextlib
import itertools
import json
import os
import pathlib
import re
import tempfile
import warnings
from typing import Any, Iterable, Iterator, Sequence, Union

import numpy as np

from . import _native, arrays
from ._arrow import Column, Exported
from .columns import piped
from .errors import Error, MissingRowsWarning, UsageError
from .linear_models import linear_model_files
from .progress import Progress, watcher
from .records import Record
from .request_lines import Request, batch_of, line_of
from .stream import Stream

__all__ = ["Store", "generate_store", "import_store", "solvers"]

Path = Union[str, "os.PathLike[str]"]
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_LEAST_MEMORY = 2**24


def _bytes(memory: int | str | None) -> int:
    """Bytes of "8G"; 0 for None, which leaves the choice to the library: 80 % of the machine's or the control group's."""
    if memory is None:
        return 0
    match = re.fullmatch(r"([0-9]+)([KMGT]?)", str(memory))
    if not match or int(match[1]) == 0:
        raise UsageError(f"memory: {memory!r} is not a size above 0 with K, M, G or T (powers of 1024), such as '8G'", ["memory"])
    size = int(match[1]) * _UNITS[match[2]]
    if size < _LEAST_MEMORY:
        raise UsageError("memory: at least 16M, which the process takes anyway", ["memory"])
    return size


class Store:
    """A store in a folder, as ``unweave import`` makes it.

    The object holds nothing open between calls: any number of them, in any processes, may read while one writes. A call that
    changes the store is durable when it returns. ``memory`` ("8G", or bytes) bounds what all calls of this object take together,
    ``threads`` how many threads the process works on. ``progress``: True, False, None for bars of tqdm on a terminal, or a function
    of (step, done, total, unit). Ctrl-C ends a call with KeyboardInterrupt; the store is whole then.

    Errors are :class:`unweave.UsageError`, :class:`unweave.DataError` and :class:`unweave.ResourceError`.
    """

    def __init__(self, path: Path, *, memory: int | str | None = None, threads: int = 0, progress: Progress = None) -> None:
        self.path = pathlib.Path(path)
        self._machine = _native.Machine(_bytes(memory), threads)
        self.imported: Record | None = None  # the report of import_store(), which made it
        self._progress = progress

    def __repr__(self) -> str:
        return f"unweave.Store({str(self.path)!r})"

    def _watcher(self) -> Any:
        return watcher(self._progress)

    # What is in it

    def info(self, *, digest: bool = False) -> Record:
        """What the store holds: nodes, edges, features, classes, the propagation, models. ``digest`` reads all of it for the content
        digest, which is equal for equal contents."""
        return Record.of(_native.info(self._machine, self._watcher(), self.path, digest))

    @property
    def num_nodes(self) -> int:
        return self.info().nodes

    def ids(self) -> list[str | None] | None:
        """The names of all nodes, None for a node without one; None where the nodes of the store have numbers alone."""
        return _native.names(self._machine, self._watcher(), self.path)

    def numbers(self, names: Iterable[str]) -> np.ndarray:
        """The numbers of the nodes of these names, int64, as every array has them. An unknown name is a UsageError."""
        return np.array(_native.numbers(self._machine, self.path, list(names)), dtype=np.int64)

    def edges(self, *, out: Path | None = None) -> np.ndarray:
        """All edges, each once, as int64 [m, 2], u < v, sorted: in memory, or as a read-only memory map of the file ``out``."""
        native = (self._machine, self._watcher(), self.path)
        if out is None:
            return _native.edges(*native, None)
        _native.edges(*native, pathlib.Path(out))
        return np.load(out, mmap_mode="r")

    def edge_weights(self) -> np.ndarray:
        """Weights of all edges as int64 [m], in the order of :meth:`edges`; each 1 where edges have none."""
        return _native.edge_weights(self._machine, self._watcher(), self.path)

    def labels(self) -> np.ndarray:
        """Classes of all nodes as int64 [N], -1 for none."""
        return _native.labels(self._machine, self._watcher(), self.path)

    # Propagation

    def propagate(self, hops: int = 2, *, weights: Sequence[float] | None = None, scheme: str | None = None, rho: float = 0.5,
                  scale_bits: int | None = None, rows: str | None = None, keep: str | None = None, keep_type: str | None = None,
                  keep_exponent: int | None = None, tile: tuple[int, int] | None = None, tiles: int | None = None,
                  assemble: bool = False, restart: bool = False) -> Record:
        """Computes the embedding Z = sum of w_l P^l X, l = 0 .. hops, with P = D^-rho A D^(rho-1).

        ``weights``: hops + 1 numbers; without them those of ``scheme`` ("sgc", "ppr:0.1", "heat:3", "chebyshev"), w_L = 1 by default.
        ``rows``: "all", or "labelled", which is the default where there are labels: only what these nodes read is computed.
        ``keep``: "state", the sums of all levels, which streams need, by default; else "embedding", the rows of Z alone, or "hops", P^l X
        for l = 1 .. hops. These are kept as ``keep_type``: "f32", or "f16" of the values times 2^``keep_exponent``, -64 to 64.

        Where an earlier call of the same options was cut short, this one goes on with what it had finished; ``restart=True`` begins anew,
        and other options are an error. ``tile=(i, N)`` sums the columns of job i of N alone, which it keeps in the store; any number of
        processes may do so at a time. ``tiles=N`` does the jobs of N that nobody has done or is at. ``assemble=True`` joins the tiles of all
        columns, with the other options of the jobs.
        """
        options = {"hops": hops, "weights": None if weights is None else list(map(float, weights)), "scheme": scheme, "rho": rho,
                   "scale_bits": scale_bits, "rows": rows, "keep": keep, "keep_type": keep_type, "keep_exponent": keep_exponent,
                   "tile": None if tile is None else (int(tile[0]), int(tile[1])), "tiles": tiles, "assemble": assemble, "restart": restart}
        return Record.of(_native.propagate(self._machine, self._watcher(), self.path, options))

    def embedded(self) -> np.ndarray:
        """Ids of the nodes that have a row of Z, ascending, int64."""
        info = self.info()
        if info.hops is None:
            raise UsageError("the store was not propagated yet; call propagate()")
        if info.rows == "all":
            return np.arange(info.nodes, dtype=np.int64)
        return np.flatnonzero(self.labels() >= 0)

    def embeddings(self, nodes: Any = None, *, weights: Sequence[float] | None = None, out: Path | None = None,
                   missing: str = "error") -> np.ndarray:
        """Rows of Z, float32 [rows, columns].

        ``nodes``: ids or a mask; their rows come in memory, in their order. Without, all rows that there are, in the order of
        :meth:`embedded`, come as a read-only memory map of the file ``out``, or of one without a name in the store's folder's
        parent, which goes when the array does. ``weights``: others than those of the propagation. ``missing``: "error" or "nan"
        for nodes that have no row. Where ``nodes`` are not given, and some are left out, a :class:`unweave.MissingRowsWarning` says so.
        """
        if missing not in ("error", "nan"):
            raise UsageError(f"missing: {missing!r} is neither 'error' nor 'nan'", ["missing"])
        numbers = [] if weights is None else list(map(float, weights))
        wanted = arrays.node_ids(nodes)
        native = (self._machine, self._watcher(), self.path, wanted, numbers, missing == "nan")
        if wanted is not None and out is None:
            return _native.embeddings(*native, None, None)
        with contextlib.ExitStack() as held:
            if out is None:
                out = pathlib.Path(held.enter_context(tempfile.TemporaryDirectory(prefix=".embeddings-", dir=self.path.absolute().parent))) / "Z.npy"
            left_out = _native.embeddings(*native, pathlib.Path(out), None)
            if left_out and wanted is None and missing == "error":
                self._warn_of_missing(left_out, "missing='nan' writes rows of NaN for them")
            rows = np.load(out, mmap_mode="r")  # it keeps the file that the folder loses
        return rows

    def _warn_of_missing(self, left_out: int, remedy: str, stacklevel: int = 3) -> None:
        warnings.warn(f"{left_out} of {self.num_nodes} nodes have no row of Z, since they were removed, or never had a label; they are "
                      f"left out: embedded() says which there are, {remedy}, and propagate(rows='all') computes rows for all nodes "
                      "(train again then)", MissingRowsWarning, stacklevel=stacklevel)

    def batches(self, nodes: Any = None, *, size: int = 65536, shuffle: int | None = None, hops: bool = False,
                weights: Sequence[float] | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs (ids, rows) for a training loop, ``size`` nodes at a time, never more in memory.

        ``nodes``: ids or a mask; all of :meth:`embedded` by default. ``shuffle``: a seed; every call with it gives the same order.
        ``hops``: rows are stacks [X, PX, .., P^L X], float32 [size, L + 1, F], as SIGN, SGC+MLP and other models of precomputed
        hops read them.
        """
        if size < 1:
            raise UsageError("size must be at least 1", ["size"])
        ids = self.embedded() if nodes is None else arrays.node_ids(nodes)
        assert ids is not None
        if shuffle is not None:
            ids = np.random.default_rng(shuffle).permutation(ids)
        levels = int(self.info().hops or 0)
        for first in range(0, len(ids), size):
            some = ids[first:first + size]
            if hops:
                yield some, np.stack([self.embeddings(some, weights=np.eye(levels + 1)[level]) for level in range(levels + 1)], axis=1)
            else:
                yield some, self.embeddings(some, weights=weights)

    def arrow(self, nodes: Any = None, *, size: int = 65536, weights: Sequence[float] | None = None) -> Exported:
        """Rows of Z as a stream of Arrow for pyarrow, polars, DuckDB and others: ``pyarrow.RecordBatchReader.from_stream(store.arrow())``
        goes over all rows, ``size`` at a time. Columns are node, int64, and z, a list of float32 of one length."""
        info = self.info()
        if info.hops is None:
            raise UsageError("the store was not propagated yet; call propagate()")
        fields: list[tuple[str, Any, int | None]] = [("node", np.dtype(np.int64), None), ("z", np.dtype(np.float32), int(info.features))]
        return Exported(fields, lambda: ([Column(ids), Column(rows)] for ids, rows in self.batches(nodes, size=size, weights=weights)))

    # Models

    def train(self, solver: str = "exact", *, name: str | None = None, head: str | None = None, lam: float | str | None = None,
              epsilon: float | None = None, delta: float | None = None, intercept: bool | None = None, tau: float | None = None,
              alpha: float | None = None, bound: str | None = None, hidden: Sequence[int] | None = None, activation: str | None = None,
              weights: Sequence[float] | None = None, seed: int | None = None, key: Path | None = None,
              parameters: dict[str, float] | None = None) -> Record:
        """Learns a model on the training rows and saves it in the store. ``lam``: lambda, a number, or "auto" for the best on the
        validation split. ``parameters``: the solver's own (:func:`unweave.solvers`). A ``seed`` is for tests: what it makes is not
        certified."""
        options = {"solver": solver, "name": name, "head": head, "lam": lam, "epsilon": epsilon, "delta": delta, "intercept": intercept,
                   "tau": tau, "alpha": alpha, "bound": bound, "hidden": None if hidden is None else list(hidden),
                   "activation": activation, "weights": None if weights is None else list(map(float, weights)), "seed": seed,
                   "key": None if key is None else pathlib.Path(key), "parameters": dict(parameters or {})}
        return Record.of(_native.train(self._machine, self._watcher(), self.path, options))

    def certify(self, weights: Any, intercepts: Any = None, solver: str = "exact", *, name: str | None = None, head: str | None = None,
                lam: float | str | None = None, epsilon: float | None = None, delta: float | None = None, intercept: bool | None = None,
                tau: float | None = None, alpha: float | None = None, bound: str | None = None, level_weights: Sequence[float] | None = None,
                seed: int | None = None, key: Path | None = None, parameters: dict[str, float] | None = None) -> Record:
        """Takes a linear model that another program made, proves how far its weights are from the minimiser of the objective on the
        training rows, and saves a model that a theorem certifies: "exact" finishes them to the minimiser, "newton" adds noise.

        ``weights``: a fitted linear classifier of scikit-learn, a torch.nn.Linear, an array [classes, features] beside ``intercepts``
        [classes], one array as :meth:`export_model` writes ``.npy``, or a path of a file that ``unweave certify --model`` takes. Learn
        it on rows of :meth:`embeddings`; those above norm 1 divided by it. ``level_weights`` are the ``weights`` of :meth:`train`,
        and the other options its own. The report is that of :meth:`train`, and what the given weights were: ``given`` and all
        that compares with them depends on how they were made, and is for the operator alone.
        """
        options = {"solver": solver, "name": name, "head": head, "lam": lam, "epsilon": epsilon, "delta": delta, "intercept": intercept,
                   "tau": tau, "alpha": alpha, "bound": bound, "weights": None if level_weights is None else list(map(float, level_weights)),
                   "seed": seed, "key": None if key is None else pathlib.Path(key), "parameters": dict(parameters or {})}
        with tempfile.TemporaryDirectory(prefix="unweave-") as folder:
            files = linear_model_files(weights, intercepts, pathlib.Path(folder))
            try:
                report = _native.certify(self._machine, self._watcher(), self.path, *files, options)
            except Error as error:  # a file that was made here is named as the argument that it holds
                raise type(error)(str(error).replace(folder + os.sep, ""), error.options) from None
        report["given"]["file"] = str(weights) if arrays.is_path(weights) else None
        return Record.of(report)

    def _predict(self, nodes: Any, solver: str | None, name: str | None, what: str) -> dict[str, Any]:
        if isinstance(nodes, str):
            raise UsageError(f"nodes: {nodes!r} is one text; solver= or name= chooses a model, and numbers, as of store.numbers(), choose nodes",
                             ["nodes"])
        selection = {"solver": solver, "name": name}
        found = _native.predict(self._machine, self._watcher(), self.path, selection, arrays.node_ids(nodes), what)
        if found["missing"]:
            self._warn_of_missing(found["missing"], "nodes=embedded() means the same", stacklevel=4)
        return found

    def predict(self, nodes: Any = None, *, solver: str | None = None, name: str | None = None) -> np.ndarray:
        """Classes that a model gives nodes, int64; all of :meth:`embedded` by default, with a :class:`unweave.MissingRowsWarning` where
        these are not all nodes."""
        return self._predict(nodes, solver, name, "classes")["classes"]

    def predict_proba(self, nodes: Any = None, *, solver: str | None = None, name: str | None = None) -> np.ndarray:
        """Probabilities, float64 [rows, classes]. One-vs-rest heads: each class's own over their sum."""
        return self._predict(nodes, solver, name, "probabilities")["scores"]

    def scores(self, nodes: Any = None, *, solver: str | None = None, name: str | None = None) -> np.ndarray:
        """Margins, float64 [rows, classes]; the largest is the prediction."""
        return self._predict(nodes, solver, name, "margins")["scores"]

    def evaluate(self, *, solver: str | None = None, name: str | None = None, retrain: bool = False) -> list[Record]:
        """How good models are on each split; ``retrain`` compares each with one that has never seen anything but the present data."""
        selection = {"solver": solver, "name": name}
        return Record.of(_native.evaluate(self._machine, self._watcher(), self.path, selection, retrain))

    def export_model(self, file: Path, *, solver: str | None = None, name: str | None = None) -> pathlib.Path:
        """Writes published weights: ``.npz`` with scikit-learn's names, ``.safetensors`` for a torch.nn.Linear, or ``.npy``."""
        path = pathlib.Path(file)
        _native.export_model(self.path, {"solver": solver, "name": name}, path)
        return path

    def certificates(self, *, solver: str | None = None, name: str | None = None) -> list[Record]:
        """The public line of each model's newest certificate; a model without one, which a purge kept, is left out."""
        lines = _native.certificates(self.path, {"solver": solver, "name": name})
        return [Record.of(json.loads(line)) for line in lines if line]

    def requests(self, id: str | None = None) -> list[Record]:
        """What became of requests whose lines end in ``id=NAME``, the oldest first; ``id``: of this one alone. Each says when it
        became durable, which certificates cover it, which models have yet to forget it, and whether nothing is left to do (``settled``)."""
        return Record.of(_native.requests(self._machine, self.path, id))

    def audit(self, *, solver: str | None = None, name: str | None = None, canary: str | None = None, requests: Iterable[Request] | None = None,
              one_run: int | None = None, trials: int | None = None, confidence: float = 0.95, rows: int = 1000,
              seed: int | None = None) -> list[Record]:
        """Tries to tell models that unlearned a canary from models that never saw it, and says the lower bound of epsilon that this
        shows beside what certificates claim: one report a model and canary. ``refuted`` says whether a certified claim is false;
        one that stands is not proved by that. Changes nothing.

        ``canary``: "hub", "bridge", "gradient" or "all", the default. ``requests``: removals that are the canary instead, as
        :meth:`Stream.send` takes them. ``trials``: releases of each kind, 400 by default. ``one_run``: train once instead, unlearn so
        many nodes together, and guess which of two labels each had. All bounds of a call hold together with ``confidence``.
        """
        if one_run is not None and one_run < 1:
            raise UsageError("one_run needs at least one canary", ["one_run"])
        for argument, value in (("canary", canary), ("trials", trials)):
            if one_run is not None and value is not None:
                raise UsageError(f"one_run takes no {argument}: it chooses many canaries, and trains once", ["one_run", argument])
        if not 0 < confidence < 1:
            raise UsageError("confidence must lie strictly between 0 and 1", ["confidence"])
        lines = None if requests is None else self._lines(requests)
        options = {"solver": solver, "name": name, "canary": canary, "one_run": one_run, "trials": trials, "confidence": confidence,
                   "rows": rows, "seed": seed}
        return Record.of(_native.audit(self._machine, self._watcher(), self.path, options, lines))

    # Before the work

    def plan(self, hops: int | None = None, *, weights: Sequence[float] | None = None, scheme: str | None = None, rho: float | None = None,
             scale_bits: int | None = None, rows: str | None = None, requests: Iterable[Request] | None = None, batch: int | None = None,
             purge: bool = False, keep_order: bool = False, keep: str | None = None, keep_type: str | None = None,
             keep_exponent: int | None = None) -> Record:
        """What a propagation will take, with arguments of :meth:`propagate`; with ``requests`` a stream of them, ``batch`` at a time, 100
        by default, whose first batch stands for all; with ``purge`` a purge: memory, disk, bytes, seconds, beside what there is.
        ``fits`` says whether the disk has room. Nothing is changed; seconds follow from rates of the machine and its
        disk, which are measured once and kept, by a file of 128 MiB at most that goes at once."""
        options = {"hops": hops, "weights": None if weights is None else list(map(float, weights)), "scheme": scheme, "rho": rho,
                   "scale_bits": scale_bits, "rows": rows, "keep": keep, "keep_type": keep_type, "keep_exponent": keep_exponent}
        if purge and requests is not None:
            raise UsageError("purge and requests ask for two plans; leave one of them out", ["purge", "requests"])
        if batch is not None and requests is None:
            raise UsageError("batch needs requests", ["batch", "requests"])
        if keep_order and not purge:
            raise UsageError("keep_order needs purge", ["keep_order", "purge"])
        for argument, value in options.items():
            if value is not None and (purge or requests is not None):
                raise UsageError(f"{argument} belongs to a propagation, requests and purge to one that was; leave one of them out", [argument])
        native = (self._machine, self._watcher(), self.path)
        if purge:
            return Record.of(_native.plan_purge(*native, keep_order))
        if requests is None:
            return Record.of(_native.plan_propagation(*native, options))
        size = 100 if batch is None else batch
        if size < 1:
            raise UsageError("batch must be at least 1", ["batch"])
        stream = iter([requests] if isinstance(requests, str) else requests)
        first = self._lines(itertools.islice(stream, size))
        return Record.of(_native.plan_stream(*native, first, len(first) + sum(1 for _ in stream), size))

    def _lines(self, requests: Iterable[Request]) -> list[str]:
        """Lines of requests, as a file of requests has them."""
        checked = batch_of(requests)
        named = self.info().named is not None
        return [request if isinstance(request, str) else line_of(request, named) for request in checked]

    # Removals

    def stream(self, solver: str | None = None, *, name: str | None = None, r_max: float = 0.0, plan: str = "auto", strict: bool = False,
               adaptive: bool = True, receipts: Path | None = None, changes: Path | None = None, key: Path | None = None) -> Stream:
        """Opens a stream of requests, for a ``with`` block. ``solver`` or ``name``: the model that forgets with every batch; without,
        graph and embeddings alone change. ``receipts``: a file that gets a receipt for every request. ``changes``: a folder
        that gets the rows of Z that each batch changes (:class:`unweave.Changes`). ``strict``: a batch with a request that would change
        nothing is refused whole. ``plan``: how levels follow a batch, "push", "recompute" or what seems cheaper; the bits are the
        same, but a feed gets all rows after a recomputation."""
        return Stream(self, {"solver": solver, "name": name, "r_max": r_max, "plan": plan, "strict": strict, "adaptive": adaptive,
                             "receipts": None if receipts is None else pathlib.Path(receipts),
                             "changes": None if changes is None else pathlib.Path(changes),
                             "key": None if key is None else pathlib.Path(key)})

    # Keeping it

    def verify(self, *, rebuild: bool = False, sample: int | None = 1000, public_key: str | None = None) -> Record:
        """Checks every file and statement. ``ok`` says whether all hold, ``findings`` what is wrong. ``rebuild`` recomputes every sum
        and trains exact models from nothing. ``sample``: nodes looked at where a check samples; None: all."""
        sample = None if sample is None else arrays.whole_number(sample, "sample")
        return Record.of(_native.verify(self._machine, self._watcher(), self.path, sample, rebuild, public_key))

    def purge(self, *, keep_order: bool = False, without_feeds: bool = False, key: Path | None = None, nodes: int | None = None,
              ids: Any = None) -> Record:
        """Erases what was removed from every byte of the store. Models of ``exact`` stay and are certified anew; a model that is lost,
        or that nobody could certify, is told by a warning, too. Where a reader of a feed of changes has yet to take entries it is refused,
        unless ``without_feeds`` says otherwise. With ``nodes`` the store has so many afterwards: those that are new have nothing yet, and wait
        for ``insert-node``; ``ids`` gives them names, as those of :func:`import_store`, where the store has names."""
        key = None if key is None else pathlib.Path(key)
        nodes = None if nodes is None else arrays.whole_number(nodes, "nodes")
        report = Record.of(_native.purge(self._machine, self._watcher(), self.path, keep_order, without_feeds, key, nodes,
                                        None if ids is None else arrays.names_of(ids)["ids"]))
        for model in report.lost_models:
            warnings.warn(f"the model {model.name} could not be brought up to date, and went: {model.text}", stacklevel=2)
        for model in report.uncertified_models:
            warnings.warn(f"the model {model.name} stays and has no certificate yet: {model.text}", stacklevel=2)
        return report

    def repair(self, *, cut_journal: bool = False) -> list[Record]:
        """Rebuilds damaged files that follow from others, and names what is lost."""
        return Record.of(_native.repair(self._machine, self._watcher(), self.path, cut_journal))


def import_store(path: Path, graph: Any = None, features: Any = None, labels: Any = None, *, train: Any = None, valid: Any = None,
                 test: Any = None, nodes: int | None = None, ids: Any = None, classes: int | None = None, order: str = "none", scale: float | str = "rows",
                 feature_type: str = "f32", standardize: bool = False, max_weight: int | None = None, edge_weights: Any = None, ignore_weights: bool = False,
                 restart: bool = False, memory: int | str | None = None, threads: int = 0, progress: Progress = None) -> Store:
    """Builds a store in a new or empty folder and returns it; ``store.imported`` is the report.

    ``graph``: anything that :func:`unweave.arrays.edges_of` takes, or an object that has features, labels and masks too, ``Data`` of
    PyG, a graph of DGL, or what :func:`unweave.read_planetoid` returns; arguments that are given take the place of its own.
    ``features``: (N, F), or a sparse matrix. ``labels``: N classes, -1 or NaN for none. ``ids``: names of the nodes, that of node 0
    first, as texts or integers: requests, and text files of edges and splits, then speak of names, arrays of numbers. ``train``,
    ``valid``, ``test``: ids or masks. Paths stand for any of them; those of Parquet and Arrow are read as :class:`unweave.Columns`,
    which can name columns. Rows of features above norm 1 are divided by it (``scale``), as certificates need it.

    ``max_weight`` declares that edges have weights, whole numbers from 1 to it: ``edge_weights``, one number an edge, or those of a sparse
    matrix, of the third column of a table, of PyG's ``edge_weight`` or DGL's ``edata["weight"]``. Without it weights of matrices and graphs other than 1 are an
    error, unless ``ignore_weights``; further columns of a table are not read.

    What is finished of a long import from files is kept: where the process is ended, a call of equal arguments goes on with it, which
    ``store.imported.resumed`` tells; ``restart`` drops it. Arrays in memory, and tables, cannot be compared and are imported anew.
    """
    parts = {"edge_weights": edge_weights, "features": features, "labels": labels, "train": train, "valid": valid, "test": test, "nodes": nodes}
    if graph is not None:
        own = arrays.parts_of_graph(graph) if not arrays.is_path(graph) else {"graph": graph}
        graph = own.pop("graph")
        for name, value in own.items():
            if parts.get(name) is None:
                parts[name] = value
    options: dict[str, Any] = {"classes": classes, "order": order, "feature_type": feature_type, "standardize": standardize,
                               "scale": None if standardize else scale, "ignore_weights": ignore_weights, "restart": restart}
    if graph is not None:
        options.update(arrays.edges_of(graph, weighted=max_weight is not None))
        if max_weight is None and edge_weights is None and not ignore_weights:
            arrays.require_no_weights(graph, parts["edge_weights"])
    if edge_weights is not None and hasattr(graph, "tocoo"):
        raise UsageError("edge_weights: the values of a matrix are its weights, and it takes no others", ["edge_weights"])
    if edge_weights is not None or (max_weight is not None and parts["edge_weights"] is not None):
        options.update(arrays.weights_of(parts["edge_weights"]))
    if max_weight is not None:
        options["max_weight"] = arrays.whole_number(max_weight, "max_weight", 1, 65535)
    if ids is not None:
        options.update(arrays.names_of(ids))
    if parts["nodes"] is not None:
        options["nodes"] = int(parts["nodes"])
    if parts["features"] is not None:
        options.update(arrays.features_of(parts["features"]))
    if parts["labels"] is not None:
        options.update(arrays.labels_of(parts["labels"]))
    for split in ("train", "valid", "test"):
        if parts[split] is not None:
            options[split] = arrays.ids_of(parts[split], split)
    store = Store(path, memory=memory, threads=threads, progress=progress)
    # Means and deviations are computed from the features before these are read again.
    with piped(options, store.path, ["features"] if standardize else []) as given:
        store.imported = Record.of(_native.import_arrays(store._machine, store._watcher(), store.path, given))
    return store


def generate_store(path: Path, *, model: str = "rmat", scale: int | None = None, nodes: int | None = None, edges: int | None = None,
                   edge_factor: int | None = None, features: int | None = None, classes: int | None = None, feature_type: str = "f32",
                   order: str = "none", seed: int = 1, memory: int | str | None = None, threads: int = 0, progress: Progress = None) -> Store:
    """Builds a store of a synthetic graph: "rmat", "sbm" or "citation". Equal arguments give equal files."""
    store = Store(path, memory=memory, threads=threads, progress=progress)
    options = {"model": model, "scale": scale, "nodes": nodes, "edges": edges, "edge_factor": edge_factor, "features": features,
               "classes": classes, "feature_type": feature_type, "order": order, "seed": seed}
    _native.generate(store._machine, store._watcher(), store.path, options)
    return store


def solvers() -> list[Record]:
    """The solvers there are: how each learns and unlearns, what it claims, and its own parameters. The first is the default."""
    return Record.of(_native.solvers())
