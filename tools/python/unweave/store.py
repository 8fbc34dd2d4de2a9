"""A store: propagation, training, streams of removals, and what is read out."""
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

from . import _native, arrays, graphs
from ._arrow import Column, Exported
from .errors import Error, MissingRowsWarning, UsageError
from .linear_models import linear_model_files
from .names import NameTable, NodeNumbers, require_no_texts
from .progress import Progress, watcher
from .records import Record
from .request_lines import Request, batch_of, is_encodable, line_of, plain_integers
from .stream import Stream
from .whole_files import array_path, output_path

__all__ = ["Store", "solvers"]

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
    changes the store is durable when it returns. Ctrl-C ends a call with KeyboardInterrupt; the store is whole then.

    ``path``: the folder; it is looked at when a method is called. ``memory``: what all calls of this object take together, bytes or a text
    with K, M, G or T (powers of 1024) such as "8G", at least 16M; None for 80 % of the machine's or the control group's. ``threads``:
    how many threads the process works on, 0 for one a core. ``progress``: True, False, None for bars of tqdm on a terminal, or a
    function of (step, done, total, unit), which is called about ten times a second.

    Nodes are named by their numbers, or by their names where the store has names: every argument that takes nodes takes a list or
    an array of integers from 0 to N - 1, of names (texts), or a mask, N booleans; a mask of pandas whose index has names selects by these.
    Where the import said ``ids_are="names"``, integers are names: there numbers are :class:`unweave.NodeNumbers`, as every method gives
    them. Plain integers all of which are names, and numbers of other nodes as well, are a UsageError that says how to tell which.

    Errors are :class:`unweave.UsageError` for wrong arguments and :class:`unweave.DataError` for wrong data, both of them ValueErrors,
    and :class:`unweave.ResourceError` where memory, disk or the right to write is missing.
    """

    def __init__(self, path: Path, *, memory: int | str | None = None, threads: int = 0, progress: Progress = None) -> None:
        self.path = pathlib.Path(path)
        self._limits = memory, threads
        self._machine = _native.Machine(_bytes(memory), arrays.whole_number(threads, "threads", 0, 2**31))
        self.imported: Record | None = None  # the report of import_store(), which made it
        self._folder: Any = None  # a temporary one, which goes with the object
        self._progress = progress

    def __repr__(self) -> str:
        return f"unweave.Store({str(self.path)!r})"

    def __reduce__(self) -> Any:
        """A pickle, or a copy, is another object on the same folder; who is told of progress is not in it."""
        return _reopened, (self.path, *self._limits)

    def _watcher(self) -> Any:
        return watcher(self._progress)

    # What is in it

    def info(self, *, digest: bool = False) -> Record:
        """What the store holds: the fields of ``unweave info --json``, nodes, edges, features, classes, the propagation, models and more.

        ``digest``: read all of it for the content digest, which is equal for equal contents; without it ``digest`` is None.
        """
        arrays.require_flags(digest=digest)
        return Record.of(_native.info(self._machine, self._watcher(), self.path, digest))

    @property
    def num_nodes(self) -> int:
        """N, the number of nodes, removed ones included: a number is not given to another node."""
        return self.info().nodes

    def ids(self) -> list[str | None] | None:
        """The names of all nodes, None for a node without one; None where the nodes of the store have numbers alone."""
        return _native.names(self._machine, self._watcher(), self.path)

    def numbers(self, names: Iterable[str]) -> np.ndarray:
        """The numbers of nodes, int64, as every array has them.

        ``names``: texts; "#17" is the node of number 17. An unknown name is a UsageError.
        """
        if isinstance(names, (str, bytes)) or not hasattr(names, "__iter__"):
            raise UsageError(f"names: {names!r}, where a list of names is wanted", ["names"])
        words = [word.decode(errors="surrogateescape") if isinstance(word, bytes) else word for word in names]
        for place, word in enumerate(words):
            if not isinstance(word, str) or not is_encodable(word):
                raise UsageError(f"names: element {place} is {word!r}, where a text is wanted; \"#17\" is the node of number 17", ["names"])
        return np.array(_native.numbers(self._machine, self.path, words), dtype=np.int64).view(NodeNumbers)

    def class_names(self) -> list[str] | None:
        """The names of the classes, in the order of their numbers; None where they have numbers alone."""
        return _native.class_names(self._machine, self.path) or None

    def edges(self, *, relation: str | None = None, out: Path | None = None) -> np.ndarray:
        """All edges, each once, as int64 [m, 2], u < v, sorted; arcs from u to v where edges have directions.

        ``relation``: of which kind, which has to be said where edges have several. ``out``: a .npy file to write them to; they then come as a read-only memory map of it, else in memory.
        """
        native = (self._machine, self._watcher(), self.path)
        if out is None:
            return _native.edges(*native, relation or "", None).view(NodeNumbers)
        file = array_path(out, "out", self.path)
        _native.edges(*native, relation or "", file)
        return np.load(file, mmap_mode="r")

    def edge_weights(self, *, relation: str | None = None) -> np.ndarray:
        """Weights of all edges as int64 [m], in the order of :meth:`edges`; each 1 where edges have none. Real weights are float64.

        ``relation``: of which kind, which has to be said where edges have several.
        """
        return _native.edge_weights(self._machine, self._watcher(), self.path, relation or "")

    def labels(self, *, numbers: bool = False) -> np.ndarray:
        """The classes of all nodes, [N]: int64, -1 for none; where classes have names an array of texts (dtype object), None for none.

        ``numbers``: numbers where classes have names, too, those of :meth:`class_names`.
        """
        arrays.require_flags(numbers=numbers)
        labels = _native.labels(self._machine, self._watcher(), self.path)
        names = None if numbers else self.class_names()
        return labels if names is None else np.array([*names, None], dtype=object)[labels]

    @property
    def splits(self) -> Record:
        """``train``, ``valid`` and ``test``: numbers of their nodes, int64, ascending; None for a split that the store has not. Nodes
        that were removed are in none."""
        found = {name: _native.split(self._machine, self.path, name) for name in ("train", "valid", "test")}
        return Record({name: None if ids is None else ids.view(NodeNumbers) for name, ids in found.items()})

    @property
    def masks(self) -> Record:
        """``train_mask``, ``val_mask`` and ``test_mask``, as PyG calls them: N booleans each; None for a split that the store has not."""
        nodes, masks = self.num_nodes, Record()
        for mask, ids in zip(("train_mask", "val_mask", "test_mask"), self.splits.values()):
            masks[mask] = None
            if ids is not None:
                masks[mask] = np.zeros(nodes, bool)
                masks[mask][ids] = True
        return masks

    # Propagation

    def propagate(self, hops: int = 2, *, weights: Sequence[float] | None = None, scheme: str | None = None, rho: float = 0.5,
                  scale_bits: int | None = None, rows: str | None = None, keep: str | None = None, keep_type: str | None = None,
                  keep_exponent: int | None = None, tile: tuple[int, int] | None = None, tiles: int | None = None,
                  assemble: bool = False, restart: bool = False) -> Record:
        """Computes the embedding Z = sum of w_l P^l X, l = 0 .. hops, with P = D^-rho A D^(rho-1), A with a self loop at every node.

        ``hops``: L, a whole number from 0. ``weights``: w_0 .. w_L, numbers; without them those of ``scheme``, "sgc" (w_L = 1, the
        default), "ppr:0.1", "heat:3" or "chebyshev". ``rho``: from 0 to 1. ``scale_bits``: bits of the fixed point of sums, 8 to 29, 24 by
        default. ``rows``: "all", or "labelled", which is the default where there are labels: only what these nodes read is computed.

        ``keep``: "state", the sums of all levels, which streams need, by default; else "embedding", the rows of Z alone, or "hops", P^l X
        for l = 1 .. L. These are kept as ``keep_type``: "f32", or "f16" of the values times 2^``keep_exponent``, -64 to 64.

        Where an earlier call of the same options was cut short, this one goes on with tiles that it had finished; ``restart``: True drops that
        and begins anew, and without it other options are an error. ``tile``: (i, N), sums the columns of job i of N alone, which it
        keeps in the store; any number of processes may do so at a time. ``tiles``: N, does the jobs of N that nobody has done or is
        at. ``assemble``: True joins the tiles of all columns, with the other options of the jobs.

        Returns the fields of ``unweave propagate --json``: rows, tiles, seconds of the parts, and more. A UsageError names what is wrong with an
        argument; a ResourceError says what memory or disk it takes.
        """
        options = {"hops": hops, "weights": _reals(weights, "weights"), "scheme": scheme, "rho": rho,
                   "scale_bits": scale_bits, "rows": rows, "keep": keep, "keep_type": keep_type, "keep_exponent": keep_exponent,
                   "tile": None if tile is None else _tile_of(tile), "tiles": tiles, "assemble": assemble, "restart": restart}
        return Record.of(_native.propagate(self._machine, self._watcher(), self.path, options))

    def embedded(self) -> np.ndarray:
        """Numbers of the nodes that have a row of Z, ascending, int64."""
        info = self.info()
        if info.hops is None:
            raise UsageError("the store was not propagated yet; call propagate()")
        if info.rows == "all":
            return np.arange(info.nodes, dtype=np.int64).view(NodeNumbers)
        return np.flatnonzero(self.labels(numbers=True) >= 0).view(NodeNumbers)

    def embeddings(self, nodes: Any = None, *, weights: Sequence[float] | None = None, out: Path | None = None,
                   missing: str = "error") -> np.ndarray:
        """Rows of Z, float32 [rows, columns]: columns is the number of features, times the blocks of ``weights``.

        ``nodes``: numbers, names or a mask; their rows come in memory, in their order. Without, all rows that there are, in the order of
        :meth:`embedded`, come as a read-only memory map of the file ``out``, or of one without a name in the store's folder's
        parent, which goes when the array does. ``weights``: w_0 .. w_L, others than those of the propagation. ``out``: a .npy file to
        write them to. ``missing``: "error" or "nan" for nodes that have no row.

        A node without a row, as a removed one where rows are those of labelled nodes, is a UsageError unless ``missing`` is "nan". Where ``nodes`` are not given, and some are left
        out, a :class:`unweave.MissingRowsWarning` says so.
        """
        if missing not in ("error", "nan"):
            raise UsageError(f"missing: {missing!r} is neither 'error' nor 'nan'", ["missing"])
        file = None if out is None else array_path(out, "out", self.path)
        numbers = _reals(weights, "weights") or []
        wanted = self._nodes(nodes)
        native = (self._machine, self._watcher(), self.path, wanted, numbers, missing == "nan")
        if wanted is not None and file is None:
            return _native.embeddings(*native, None, None)
        with contextlib.ExitStack() as held:
            if file is None:
                file = pathlib.Path(held.enter_context(tempfile.TemporaryDirectory(prefix=".embeddings-", dir=self.path.absolute().parent))) / "Z.npy"
            left_out = _native.embeddings(*native, file, None)
            if left_out and wanted is None and missing == "error":
                self._warn_of_missing(left_out, "missing='nan' writes rows of NaN for them")
            rows = np.load(file, mmap_mode="r")  # it keeps the file that the folder loses
        return rows

    def rows(self, nodes: Any = None, *, solver: str | None = None, name: str | None = None, out: Path | None = None) -> np.ndarray:
        """The rows that a model learns on, float32 [rows, width]: those of its ``rows_of``, ``scale_rows`` and ``lift`` (:meth:`train`), as the
        data are now, before a row above norm 1 is divided by its norm and without an intercept. Without such options they are
        rows of :meth:`embeddings`.

        ``nodes``: numbers, names or a mask, in their order; the training nodes that have a label by default, ascending; for a model of
        ``pool`` rows are those of the training graphs that have a label and nodes. ``solver``, ``name``: as :meth:`predict` has them. ``out``: a .npy file to write them to; they then come as a read-only memory map of it, else in memory. A
        node without a row, as a removed one where rows are those of labelled nodes, is a UsageError.
        """
        file = None if out is None else output_path(out, "out", self.path)
        selection = {"solver": solver, "name": name}
        rows = _native.model_rows(self._machine, self._watcher(), self.path, selection, self._nodes(nodes), file)
        return rows if file is None else np.load(file, mmap_mode="r")

    def _nodes(self, nodes: Any, name: str = "nodes") -> np.ndarray | None:
        """Numbers of nodes, from numbers, names or a mask; None for None. Integers are names where the import said so."""
        return arrays.node_ids(nodes, name, self.numbers, self.info().ids_are == "names", lambda: self.num_nodes)

    def _require_one_meaning(self, requests: Iterable[Request], are_names: bool) -> None:
        """A UsageError for requests whose integers, where they are names, may all be numbers of nodes as well, and of other ones; where they are
        numbers, for one that no node has, and that is a name as a text."""
        integers = list(dict.fromkeys(plain_integers(requests)))
        if not are_names and integers:
            require_no_texts(np.array(integers, object), "requests", self.numbers, lambda: self.num_nodes, ("them in quotes", ""))
        if not are_names or not integers or max(integers) >= self.num_nodes:
            return
        words = [str(integer) for integer in integers]
        try:
            places = self.numbers(words)
        except UsageError:
            places = NameTable(self.ids() or []).places(words)
        for integer, place in zip(integers, places.tolist()):
            if place not in (-1, integer):
                raise UsageError(f"requests: {integer} may be the name of a node, or the number of another one; give the name as "
                                 f"a text, \"{integer}\", or the number with its mark, \"#{integer}\"", ["requests"])

    def _warn_of_missing(self, left_out: int, remedy: str, stacklevel: int = 3) -> None:
        warnings.warn(f"{left_out} of {self.num_nodes} nodes have no row of Z, since they were removed, or never had a label; they are "
                      f"left out: embedded() says which there are, {remedy}, and propagate(rows='all') computes rows for all nodes "
                      "(train again then)", MissingRowsWarning, stacklevel=stacklevel)

    def batches(self, nodes: Any = None, *, size: int = 65536, shuffle: int | None = None, hops: bool = False,
                weights: Sequence[float] | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs (ids, rows) for a training loop, ``size`` nodes at a time, never more in memory: int64 [size] and float32 [size, columns].

        ``nodes``: numbers, names or a mask; all of :meth:`embedded` by default. ``size``: at least 1. ``shuffle``: a seed; every call with it
        gives the same order. ``hops``: True for stacks [X, PX, .., P^L X], float32 [size, L + 1, F], as SIGN, SGC+MLP and other
        models of precomputed hops read them. ``weights``: as :meth:`embeddings` takes them.
        """
        arrays.require_flags(hops=hops)
        size = arrays.whole_number(size, "size", 1)
        if shuffle is not None:
            shuffle = arrays.whole_number(shuffle, "shuffle")
        ids = self.embedded() if nodes is None else self._nodes(nodes)
        assert ids is not None
        if shuffle is not None:
            ids = np.random.default_rng(shuffle).permutation(ids)
        ids = np.asarray(ids).view(NodeNumbers)
        levels = int(self.info().hops or 0)
        for first in range(0, len(ids), size):
            some = ids[first:first + size]
            if hops:
                yield some, np.stack([self.embeddings(some, weights=np.eye(levels + 1)[level]) for level in range(levels + 1)], axis=1)
            else:
                yield some, self.embeddings(some, weights=weights)

    def arrow(self, nodes: Any = None, *, size: int = 65536, weights: Sequence[float] | None = None) -> Exported:
        """Rows of Z as a stream of Arrow for pyarrow, polars, DuckDB and others: ``pyarrow.RecordBatchReader.from_stream(store.arrow())``
        goes over all rows. Columns are node, int64, and z, a list of float32 of one length.

        ``nodes``: numbers, names or a mask; all of :meth:`embedded` by default. ``size``: rows of a batch. ``weights``: as
        :meth:`embeddings` takes them.
        """
        size = arrays.whole_number(size, "size", 1)
        info = self.info()
        if info.hops is None:
            raise UsageError("the store was not propagated yet; call propagate()")
        width = int(info.features) * (2 if info.directed else 1)  # of both directions
        fields: list[tuple[str, Any, int | None]] = [("node", np.dtype(np.int64), None), ("z", np.dtype(np.float32), width)]
        return Exported(fields, lambda: ([Column(ids), Column(rows)] for ids, rows in self.batches(nodes, size=size, weights=weights)))

    # Models

    def train(self, solver: str = "exact", *, name: str | None = None, head: str | None = None, lambda_: float | str | None = None,
              epsilon: float | None = None, delta: float | None = None, intercept: bool | None = None, tau: float | None = None,
              alpha: float | None = None, bound: str | None = None, hidden: Sequence[int] | None = None, activation: str | None = None,
              weights: Sequence[float] | str | None = None, rows_of: str | Sequence[str] | None = None, scale_rows: str | None = None,
              lift: int | str | None = None, pair: str | None = None, pool: str | None = None, seed: int | None = None, key: Path | None = None,
              parameters: dict[str, float] | None = None) -> Record:
        """Learns a model on the training rows and saves it in the store, in the place of one of the same name.

        ``solver``: how it learns and unlearns, one of :func:`unweave.solvers`. ``name``: letters, digits, - and _; the solver's by default.
        ``head``: "logistic" (the default) or "least-squares", a class against the rest; "softmax", all at once; or "mlp", a network.
        ``lambda_``: regularisation, times the training rows / 2, a number above 0; "auto" is the best of nine on the validation split, and
        0.1 / N the default. ``epsilon``, ``delta``: the certificate's bound, 1 by default, and the probability with which it may fail.
        ``intercept``: whether rows end in a constant. ``tau``: training ends at this norm of the gradient. ``alpha``: noise in the
        objective, of some solvers. ``bound``: "corrected", or "paper", as printed and never certified.
        ``hidden``: widths of the hidden layers of a network. ``activation``: of its layers, "tanh" or "smelu"; "replay" has "relu". ``weights``: w_0 .. w_L of the levels, where they
        are not those of the propagation; "auto" is the best of a few on the validation split. ``rows_of``: what rows are made of, "levels"
        or "stack" (each level a block), then "labels" (of training neighbours), "degree", "open" (neighbours without the node), by commas
        or as a list; "auto" chooses on the validation split. ``scale_rows``: "clip" (the default) or "unit" (the default with a lift).
        ``lift``: so many fixed random features beside each row, or text as "1024,key=7,bias=0.5" with a public key and a constant.
        ``pair``: rows of pairs of nodes, to predict links of a store that was imported with ``pairs``: "hadamard", "difference" or "both",
        best as "hadamard,by=16" with ``scale_rows="unit"``.
        ``pool``:
        in a store of graphs, whose classes these are: "mean", "root" or "sum=64", what the sum of the rows of a graph's nodes is divided by. ``seed``:
        noise of a seed, for tests: what it makes is not certified. ``key``: the file of the key that signs certificates, 64 hexadecimal
        digits; the store's own by default. ``parameters``: the solver's own, numbers by name.

        Returns the fields of ``unweave train --json``: ``accuracy_train``, ``accuracy_valid`` and ``accuracy_test`` (0 to 1, None for a
        split without nodes), ``majority_..`` (what naming the most frequent class would reach), ``lambda``, ``claim`` and more. A UsageError
        tells where there are no labels or no propagation, or a number lies outside its range.
        """
        options = {"solver": solver, "name": name, "head": head, "lambda": lambda_, "epsilon": epsilon, "delta": delta, "intercept": intercept,
                   "tau": tau, "alpha": alpha, "bound": bound, "hidden": list(hidden) if isinstance(hidden, Iterable) else hidden,
                   "activation": activation, "weights": weights if isinstance(weights, str) else _reals(weights, "weights"),
                   **arrays.row_words(rows_of, scale_rows, lift, pair, pool), "seed": seed,
                   "key": None if key is None else pathlib.Path(key), "parameters": dict(parameters or {})}
        return Record.of(_native.train(self._machine, self._watcher(), self.path, options))

    def certify(self, weights: Any, intercepts: Any = None, solver: str = "exact", *, name: str | None = None, head: str | None = None,
                lambda_: float | str | None = None, epsilon: float | None = None, delta: float | None = None, intercept: bool | None = None,
                tau: float | None = None, alpha: float | None = None, bound: str | None = None, level_weights: Sequence[float] | None = None,
                rows_of: str | Sequence[str] | None = None, scale_rows: str | None = None, lift: int | str | None = None,
                seed: int | None = None, key: Path | None = None, parameters: dict[str, float] | None = None) -> Record:
        """Takes a linear model that another program made, proves how far its weights are from the minimiser of the objective on the
        training rows, and saves a model that a theorem certifies: "exact" finishes them to the minimiser, "newton" adds noise.

        ``weights``: a fitted linear classifier of scikit-learn, a torch.nn.Linear, an array [classes, features] beside ``intercepts``
        [classes], one array as :meth:`export_model` writes ``.npy``, or a path of a file that ``unweave certify --model`` takes. Learn
        it on rows of :meth:`embeddings`; those above norm 1 divided by it. With ``rows_of``, ``scale_rows`` or ``lift`` learn it on those that
        :meth:`rows` gives of a model that :meth:`train` made with the same three. ``level_weights`` are the ``weights`` of :meth:`train`,
        and ``solver``, ``name``, ``head``, ``lambda_``, ``epsilon``, ``delta``, ``intercept``, ``tau``, ``alpha``, ``bound``, ``rows_of``,
        ``scale_rows``, ``lift``, ``seed``, ``key`` and ``parameters`` what it has by these names. The report is that of :meth:`train`, and what
        the given weights were: ``given`` and all that compares with them depends on how they were made, and is for the operator alone.
        Weights of another shape are a DataError.
        """
        options = {"solver": solver, "name": name, "head": head, "lambda": lambda_, "epsilon": epsilon, "delta": delta, "intercept": intercept,
                   "tau": tau, "alpha": alpha, "bound": bound, "weights": _reals(level_weights, "level_weights"),
                   **arrays.row_words(rows_of, scale_rows, lift), "seed": seed,
                   "key": None if key is None else pathlib.Path(key), "parameters": dict(parameters or {})}
        with tempfile.TemporaryDirectory(prefix="unweave-") as folder:
            files = linear_model_files(weights, intercepts, pathlib.Path(folder), self.class_names)
            try:
                report = _native.certify(self._machine, self._watcher(), self.path, *files, options)
            except Error as error:  # a file that was made here is named as the argument that it holds
                said = str(error).replace(folder + os.sep, "")
                if "weights" in error.options:  # those of the levels, which have another name here
                    said = re.sub(r"(?<![\w./\[])weights(?=: | weighs)", "level_weights", said)
                raise type(error)(said, ["level_weights" if one == "weights" else one for one in error.options]) from None
        report["given"]["file"] = str(weights) if arrays.is_path(weights) else None
        return Record.of(report)

    def _predict(self, nodes: Any, graphs: Any, solver: str | None, name: str | None, what: str) -> dict[str, Any]:
        if isinstance(nodes, str):
            raise UsageError(f"nodes: {nodes!r} is one text; solver= or name= chooses a model, and a list of names or numbers chooses nodes",
                             ["nodes"])
        selection = {"solver": solver, "name": name}
        numbers = None if graphs is None else arrays.graph_numbers(graphs, lambda: int(self.info().graphs or 0))
        found = _native.predict(self._machine, self._watcher(), self.path, selection, self._nodes(nodes), numbers, what)
        if found["missing"]:
            self._warn_of_missing(found["missing"], "nodes=embedded() means the same", stacklevel=4)
        return found

    def predict(self, nodes: Any = None, *, graphs: Any = None, solver: str | None = None, name: str | None = None,
                numbers: bool = False) -> np.ndarray:
        """The classes that a model gives nodes, [rows]: int64, or texts (dtype object) where classes have names.

        ``nodes``: numbers, names or a mask; all of :meth:`embedded` by default, with a :class:`unweave.MissingRowsWarning` where these are not
        all nodes. ``graphs``: for a model of ``pool``, numbers of graphs or a mask of them; all that have nodes by default, ascending.
        ``solver``, ``name``: of the model; both may be left out where there is only one. ``numbers``: numbers of classes where
        they have names, too. A node without a row, as a removed one where rows are those of labelled nodes, is a UsageError.
        """
        arrays.require_flags(numbers=numbers)
        said = self._predict(nodes, graphs, solver, name, "classes")["classes"]
        names = None if numbers else self.class_names()
        return said if names is None else np.array(names, dtype=object)[said]

    def predict_proba(self, nodes: Any = None, *, graphs: Any = None, solver: str | None = None, name: str | None = None) -> np.ndarray:
        """Probabilities, float64 [rows, classes], classes in the order of their numbers. One-vs-rest heads: each class's own over their sum.

        ``nodes``, ``graphs``, ``solver``, ``name``: as :meth:`predict` has them.
        """
        return self._predict(nodes, graphs, solver, name, "probabilities")["scores"]

    def predict_pairs(self, pairs: Any, *, solver: str | None = None, name: str | None = None) -> np.ndarray:
        """The probability of an edge of each pair of nodes, float64 [m], by a model that :meth:`train` made with ``pair``.

        ``pairs``: integers [m, 2] or [2, m], as PyG's edge_label_index is, or tuples (u, v); also names. In a store of arcs u is where one begins.
        ``solver``, ``name``: as :meth:`predict` has them.
        """
        selection = {"solver": solver, "name": name}
        try:
            wanted = graphs.pairs_of(pairs, self.numbers, self.info().ids_are == "names", lambda: self.num_nodes)
        except UsageError as error:
            raise UsageError(str(error).replace("edges", "pairs"), ["pairs"]) from None
        wanted = np.ascontiguousarray(wanted, dtype=np.int64)
        return _native.predict_links(self._machine, self._watcher(), self.path, selection, wanted, None, 0)["probabilities"]

    def predict_links(self, nodes: Any, *, top: int = 10, solver: str | None = None, name: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The pairs of each of these nodes with the ``top`` nodes that an edge is likeliest to join it with, where there is none: int64
        [rows, 2], the best of a node first, and the probability of each, float64 [rows]. In a store of arcs these lead from the nodes.

        ``nodes``: numbers, names or a mask. ``solver``, ``name``: as :meth:`predict` has them.
        """
        wanted = self._nodes(nodes)
        if wanted is None:
            raise UsageError("nodes: name the nodes whose links are wanted", ["nodes"])
        selection = {"solver": solver, "name": name}
        found = _native.predict_links(self._machine, self._watcher(), self.path, selection, None, wanted,
                                      arrays.whole_number(top, "top", 1, 1_000_000))
        return found["pairs"].view(NodeNumbers), found["probabilities"]

    def pairs(self, split: str = "train") -> np.ndarray:
        """The pairs of ``split`` ("train", "valid" or "test"), of a store that was imported with ``pairs``: int64 [m, 3], both nodes, and 1 for an
        edge, 0 for a pair of no edge."""
        with tempfile.TemporaryDirectory(prefix="unweave-") as folder:
            file = pathlib.Path(folder) / "pairs.npy"
            _native.pairs(self._machine, self._watcher(), self.path, split, file)
            return np.load(file)

    def scores(self, nodes: Any = None, *, graphs: Any = None, solver: str | None = None, name: str | None = None) -> np.ndarray:
        """Margins, float64 [rows, classes]; the largest is the prediction.

        ``nodes``, ``graphs``, ``solver``, ``name``: as :meth:`predict` has them.
        """
        return self._predict(nodes, graphs, solver, name, "margins")["scores"]

    def evaluate(self, *, solver: str | None = None, name: str | None = None, retrain: bool = False) -> list[Record]:
        """How good models are on each split, one record a model with the fields of ``unweave evaluate --json``: ``accuracy_train``,
        ``accuracy_valid``, ``accuracy_test``, and ``metrics`` of each split, by class where there are 20 classes or fewer.

        ``solver``, ``name``: this model alone. ``retrain``: compare each with one that has never seen anything but the present data.
        """
        arrays.require_flags(retrain=retrain)
        selection = {"solver": solver, "name": name}
        return Record.of(_native.evaluate(self._machine, self._watcher(), self.path, selection, retrain))

    def export_model(self, file: Path, *, solver: str | None = None, name: str | None = None) -> pathlib.Path:
        """Writes published weights and returns the path.

        ``file``: ``.npz`` with scikit-learn's names, ``.safetensors`` for a torch.nn.Linear, or ``.npy``. ``solver``, ``name``: of the model.
        """
        path = array_path(file, "file", self.path, (".npy", ".npz", ".safetensors"))
        _native.export_model(self._machine, self.path, {"solver": solver, "name": name}, path)
        return path

    def certificates(self, *, solver: str | None = None, name: str | None = None) -> list[Record]:
        """The public line of each model's newest certificate; a model without one, which a purge kept, is left out.

        ``solver``, ``name``: of this model alone.
        """
        lines = _native.certificates(self.path, {"solver": solver, "name": name})
        return [Record.of(json.loads(line)) for line in lines if line]

    def requests(self, id: str | None = None) -> list[Record]:
        """What became of requests whose lines end in ``id=NAME``, the oldest first: when each became durable, which certificates cover
        it, which models have yet to forget it, and whether nothing is left to do (``settled``).

        ``id``: of this one alone; an empty list where nobody knows it.
        """
        return Record.of(_native.requests(self._machine, self.path, id))

    def audit(self, *, solver: str | None = None, name: str | None = None, canary: str | None = None, requests: Iterable[Request] | None = None,
              one_run: int | None = None, trials: int | None = None, confidence: float = 0.95, rows: int = 1000,
              seed: int | None = None) -> list[Record]:
        """Tries to tell models that unlearned a canary from models that never saw it, and says the lower bound of epsilon that this
        shows beside what certificates claim: one report a model and canary. ``refuted`` says whether a certified claim is false;
        one that stands is not proved by that. Changes nothing.

        ``solver``, ``name``: of this model alone. ``canary``: "hub", "bridge", "gradient", of graphs and links also "planted", or "all", the
        default. ``requests``: removals that are the canary instead, as :meth:`Stream.send` takes them. ``one_run``: train once instead, unlearn
        so many nodes, graphs or edges together, and guess which of two labels each had. ``trials``: releases of each kind, 400 by default.
        ``confidence``: between 0 and 1, with which all bounds of a call hold together. ``rows``: training rows that take part. ``seed``: of
        what is drawn.
        """
        if one_run is not None:
            one_run = arrays.whole_number(one_run, "one_run", 1)
        for argument, value in (("canary", canary), ("trials", trials)):
            if one_run is not None and value is not None:
                raise UsageError(f"one_run takes no {argument}: it chooses many canaries, and trains once", ["one_run", argument])
        if isinstance(confidence, bool) or not isinstance(confidence, (int, float, np.number)) or not 0 < confidence < 1:
            raise UsageError(f"confidence: {confidence!r} is no number strictly between 0 and 1", ["confidence"])
        lines = None if requests is None else self._lines(requests)
        options = {"solver": solver, "name": name, "canary": canary, "one_run": one_run, "trials": trials, "confidence": confidence,
                   "rows": rows, "seed": seed}
        return Record.of(_native.audit(self._machine, self._watcher(), self.path, options, lines))

    # Before the work

    def plan(self, hops: int | None = None, *, weights: Sequence[float] | None = None, scheme: str | None = None, rho: float | None = None,
             scale_bits: int | None = None, rows: str | None = None, requests: Iterable[Request] | None = None, batch: int | None = None,
             purge: bool = False, keep_order: bool = False, keep: str | None = None, keep_type: str | None = None,
             keep_exponent: int | None = None) -> Record:
        """What work will take, beside what there is: memory, disk and bytes read and written, in bytes, and seconds. ``fits`` says
        whether the disk has room. Nothing is changed; seconds follow from rates of the machine and its disk, which are measured once
        and kept, by a file of 128 MiB at most that goes at once.

        A propagation, with ``hops``, ``weights``, ``scheme``, ``rho``, ``scale_bits``, ``rows``, ``keep``, ``keep_type`` and ``keep_exponent`` of
        :meth:`propagate`. ``requests``: a stream of them instead, as :meth:`Stream.send` takes them, ``batch`` at a time, 100 by default;
        the first batch stands for all. ``purge``: a purge instead, with ``keep_order`` of :meth:`purge`.
        """
        options = {"hops": hops, "weights": _reals(weights, "weights"), "scheme": scheme, "rho": rho,
                   "scale_bits": scale_bits, "rows": rows, "keep": keep, "keep_type": keep_type, "keep_exponent": keep_exponent}
        arrays.require_flags(purge=purge, keep_order=keep_order)
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
        size = 100 if batch is None else arrays.whole_number(batch, "batch", 1)
        stream = iter([requests] if isinstance(requests, str) else requests)
        first = self._lines(itertools.islice(stream, size))
        return Record.of(_native.plan_stream(*native, first, len(first) + sum(1 for _ in stream), size))

    def _lines(self, requests: Iterable[Request]) -> list[str]:
        """Lines of requests, as a file of requests has them."""
        checked = batch_of(requests)
        info = self.info()
        if info.named is not None:
            self._require_one_meaning(checked, info.ids_are == "names")
        return [request if isinstance(request, str) else line_of(request, info.named is not None, bool(info.class_names), info.ids_are == "names")
                for request in checked]

    # Removals

    def stream(self, solver: str | Sequence[str] | None = None, *, name: str | Sequence[str] | None = None, r_max: float = 0.0, plan: str = "auto", strict: bool = False,
               adaptive: bool = True, receipts: Path | None = None, changes: Path | None = None, key: Path | None = None) -> Stream:
        """Opens a stream of requests, for a ``with`` block. There is one writer of a store at a time; a second one is a ResourceError.

        ``solver``, ``name``: the model that forgets with every batch; without, graph and embeddings alone change. A list of either names several
        models, and ``models`` of what a batch returns has the fields of each. ``r_max``: residue that
        rows may keep, 0 for exact rows. ``plan``: how levels follow a batch, "push", "recompute" or "auto", what seems cheaper; the
        bits are the same, but a feed gets all rows after a recomputation. ``strict``: a batch with a request that would change nothing is
        refused whole. ``adaptive``: False where requests are not chosen after looking at releases. ``receipts``: a file that gets a receipt for
        every request. ``changes``: a folder that gets the rows of Z that each batch changes (:class:`unweave.Changes`). ``key``: as
        :meth:`train` has it.
        """
        first, *more = _followers(solver, name)
        return Stream(self, {**first, "more_models": more, "r_max": r_max, "plan": plan, "strict": strict, "adaptive": adaptive,
                             "receipts": None if receipts is None else output_path(receipts, "receipts", self.path),
                             "changes": None if changes is None else output_path(changes, "changes", self.path),
                             "key": None if key is None else pathlib.Path(key)})

    # Keeping it

    def verify(self, *, rebuild: bool = False, sample: int | None = 1000, public_key: str | None = None) -> Record:
        """Checks every file and statement. ``ok`` says whether all hold, ``errors`` what is wrong.

        ``rebuild``: recompute every sum and train exact models from nothing. ``sample``: nodes looked at where a check samples; None: all.
        ``public_key``: 64 hexadecimal digits, under which certificates must be signed; else under any one.
        """
        arrays.require_flags(rebuild=rebuild)
        sample = None if sample is None else arrays.whole_number(sample, "sample")
        return Record.of(_native.verify(self._machine, self._watcher(), self.path, sample, rebuild, public_key))

    def grow(self, nodes: int, *, ids: Any = None) -> Record:
        """Makes room for new nodes: the store has ``nodes`` of them afterwards, no fewer than it has now. Those that are new have nothing
        yet, and wait for ``insert-node``; what was computed stays, and so do models and requests. ``ids`` gives the new nodes names, as
        those of :func:`import_store`, where the store has names.
        """
        return Record.of(_native.grow(self._machine, self._watcher(), self.path, arrays.whole_number(nodes, "nodes"),
                                      None if ids is None else arrays.names_of(ids)["ids"]))

    def purge(self, *, keep_order: bool = False, without_feeds: bool = False, key: Path | None = None, nodes: int | None = None,
              ids: Any = None) -> Record:
        """Erases what was removed from every byte of the store. Models of ``exact`` stay and are certified anew; a model that is lost,
        or that nobody could certify, is told by a warning, too. ``purged`` is False where nothing was to be erased.

        ``keep_order``: the order of the nodes is public, and stays. ``without_feeds``: purge although a reader of a feed of changes has yet to
        take entries; else that is a DataError. ``key``: as :meth:`train` has it. ``nodes``: how many the store has afterwards: those that are
        new have nothing yet, and wait for ``insert-node``; ``ids`` gives them names, as those of :func:`import_store`, where the
        store has names.
        """
        arrays.require_flags(keep_order=keep_order, without_feeds=without_feeds)
        key = None if key is None else pathlib.Path(key)
        nodes = None if nodes is None else arrays.whole_number(nodes, "nodes")
        report = Record.of(_native.purge(self._machine, self._watcher(), self.path, keep_order, without_feeds, key, nodes,
                                        None if ids is None else arrays.names_of(ids)["ids"]))
        for model in report.models_uncertified:
            warnings.warn(f"the model {model.name} stays and has no certificate yet: {model.text}", stacklevel=2)
        return report

    def upgrade(self) -> Record:
        """Makes a store that an earlier release wrote one of this version; ``upgraded`` is False where it is one already."""
        return Record.of(_native.upgrade(self._machine, self.path))

    def repair(self, *, cut_journal: bool = False) -> Record:
        """Rebuilds damaged files that follow from others: ``files`` names them, what was wrong with each and what was done, and ``ok`` is
        False where something is lost.

        ``cut_journal``: True cuts a damaged journal behind its last whole record, and loses the requests behind it.
        """
        arrays.require_flags(cut_journal=cut_journal)
        return Record.of(_native.repair(self._machine, self._watcher(), self.path, cut_journal))


def _reopened(path: pathlib.Path, memory: int | str | None, threads: int) -> Store:
    return Store(path, memory=memory, threads=threads)


def _followers(solver: str | Sequence[str] | None, name: str | Sequence[str] | None) -> list[dict[str, str | None]]:
    """The models that follow a stream; one of no name and no solver where none does."""
    if not isinstance(name, (str, type(None))) and not isinstance(solver, (str, type(None))):
        raise UsageError("solver, name: a list of one of them names several models", ["solver", "name"])
    if not isinstance(name, (str, type(None))):
        models = [{"solver": solver, "name": one} for one in name]
    elif not isinstance(solver, (str, type(None))):
        if name is not None:
            raise UsageError("name: it is that of one model; give a list of names in the place of solvers", ["name"])
        models = [{"solver": one, "name": None} for one in solver]
    else:
        models = [{"solver": solver, "name": name}]
    if not models or (len(models) > 1 and any(one["solver"] is None and one["name"] is None for one in models)):
        raise UsageError("solver, name: a list of names is empty, or has none among them", ["solver", "name"])
    return models


def _tile_of(tile: Any) -> tuple[int, int]:
    if not isinstance(tile, (tuple, list)) or len(tile) != 2:
        raise UsageError(f"tile: {tile!r} is no pair (i, N) of whole numbers", ["tile"])
    return arrays.whole_number(tile[0], "tile"), arrays.whole_number(tile[1], "tile")


def _reals(numbers: Any, name: str) -> list[float] | None:
    """A list of numbers; None for None."""
    if numbers is None:
        return None
    try:
        given = list(numbers)
        if not any(isinstance(number, (bool, np.bool_)) for number in given):
            return [float(number) for number in given]
    except (TypeError, ValueError):
        pass
    raise UsageError(f"{name}: {numbers!r} is no list of numbers", [name])


def solvers() -> list[Record]:
    """The solvers that there are: how each learns and unlearns, what it claims, and its own parameters. The first is the default."""
    return Record.of(_native.solvers())
