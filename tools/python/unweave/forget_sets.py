"""Forget sets of other programs, to and from lines of requests.

    import unweave
    forget = unweave.read_forget_set("unlearning_edges_0.05_cora_0.txt")
    with store.stream("exact") as stream:
        stream.send(forget.requests())
    forget.write_json("cora_edge_r0p05_random_train_seed0.json")

Three forms hold the same: JSON, with data set, ratio, seed and selection beside the targets; the text files that OpenGU reads and
writes (data/unlearning_task/.../unlearning_nodes_RATIO_DATASET_RUN.txt), a node or an arc a line; lines of ``unweave stream``. On the
command line ``python3 -m unweave forget-set FILE`` prints the lines.
"""
from __future__ import annotations

import json
import os
import pathlib
import re
from dataclasses import dataclass, field
from typing import Any, Iterable, Union

import numpy as np

from .arrays import require_flags
from .errors import DataError, UsageError
from .names import NodeNumbers
from .request_lines import is_digits
from .whole_files import replace_file

__all__ = ["ForgetSet", "read_forget_set"]

Path = Union[str, "os.PathLike[str]"]

KINDS = ("node", "edge", "feature")
UNITS = ("node", "column")
# What a field is called: the first name is the one that is written, the others are those of OpenGU's arguments and of other files.
_NAMES = {
    "dataset": ("dataset", "dataset_name"),
    "kind": ("unlearning_type", "type", "unlearn_task", "unlearning_task", "task"),
    "ratio": ("ratio", "unlearn_ratio", "forget_ratio", "unlearning_ratio"),
    "seed": ("seed", "forget_seed", "random_seed"),
    "selection": ("selection", "strategy", "selection_strategy"),
    "run": ("run", "run_id"),
}
# Where targets may stand, and the kind that the name says.
_TARGETS = {"targets": None, "nodes": "node", "forget_nodes": "node", "unlearning_nodes": "node", "edges": "edge", "forget_edges": "edge",
            "unlearning_edges": "edge", "features": "feature", "forget_features": "feature"}
_OPENGU = re.compile(r"unlearning_(?P<what>nodes|edges)_(?:copy_)?(?P<ratio>[0-9.]+)_(?P<dataset>.+?)_(?P<run>[0-9]+)"
                     r"(?:_(?:nodes|edges)_[0-9]+)?\.txt")
_MOST_ID = 2**63 - 1


@dataclass(frozen=True)
class ForgetSet:
    """What is to be forgotten, and how it was chosen.

    ``kind``: "node", "edge" or "feature". ``targets``: int64 [k], or [k, 2] for edges, as they stood. ``unit``: what targets of the
    kind "feature" are, "node" (all features of these nodes, as OpenGU has it) or "column" (these columns of all nodes).
    ``dataset``, ``ratio``, ``seed``, ``selection``, ``run``: None where nothing is known. ``rest``: other fields of a JSON file.
    """

    kind: str
    targets: np.ndarray
    dataset: str | None = None
    ratio: float | None = None
    seed: int | None = None
    selection: str | None = None
    run: int | None = None
    unit: str = "node"
    rest: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"kind: {self.kind!r} is none of {', '.join(KINDS)}", ["kind"])
        if self.unit not in UNITS:
            raise UsageError(f"unit: {self.unit!r} is none of {', '.join(UNITS)}", ["unit"])
        object.__setattr__(self, "_are_numbers", isinstance(self.targets, NodeNumbers))
        array = np.asarray(self.targets)
        if array.size == 0:
            array = np.empty((0, 2) if self.kind == "edge" else 0, dtype=np.int64)
        if array.dtype.kind not in "iu" or array.ndim != (2 if self.kind == "edge" else 1) or (array.ndim == 2 and array.shape[1] != 2):
            wanted = "integers (k, 2)" if self.kind == "edge" else "integers (k,)"
            raise UsageError(f"targets: an array of shape {array.shape} and type {array.dtype}, where {wanted} are wanted", ["targets"])
        if array.size and (int(array.min()) < 0 or int(array.max()) > _MOST_ID):
            raise UsageError("targets: ids lie between 0 and 2^63 - 1", ["targets"])
        if self.kind != "edge" and array.size > 2 and int(array.max()) <= 1:
            raise UsageError(f"targets: {array.size} numbers that are all 0 or 1 seem to be a mask, and are wanted as ids; numpy.flatnonzero(targets) has "
                             "those of a mask", ["targets"])
        object.__setattr__(self, "targets", array.astype(np.int64, copy=False))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ForgetSet):
            return NotImplemented
        mine, its = ({name: value for name, value in one.__dict__.items() if name != "_are_numbers"} for one in (self, other))
        return bool(np.array_equal(mine.pop("targets"), its.pop("targets"))) and mine == its

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __len__(self) -> int:
        return len(self.targets)

    def requests(self, *, named: bool | None = None) -> list[str]:
        """Lines for ``stream.send()`` and ``unweave stream --requests``, in the order of the targets, each once: edges have no
        direction, so that of two arcs (u, v) and (v, u) the first counts. ``named``: the nodes of the store have names, and
        numbers are marked, "node #17"; by default those that a store has given as NodeNumbers."""
        if named is not None:
            require_flags(named=named)
        if self.kind == "feature" and self.unit == "column":
            raise UsageError("targets are columns of the features, which no request removes; requests remove the features of nodes. "
                             "Set the values of these columns by 'set-feature' lines, or import the features without them", ["unit"])
        mark = "#" if (self._are_numbers if named is None else named) else ""
        if self.kind == "edge":
            pairs = dict.fromkeys((min(u, v), max(u, v)) for u, v in self.targets.tolist())
            return [f"edge {mark}{u} {mark}{v}" for u, v in pairs]
        return [f"{self.kind} {mark}{node}" for node in dict.fromkeys(self.targets.tolist())]

    @staticmethod
    def of_requests(lines: Iterable[str], **about: Any) -> ForgetSet:
        """The set that lines of requests name, all of one kind. Comments, empty lines and names of requests (``id=NAME``) are left out.
        ``about``: dataset, ratio, seed, selection, run. Nodes are numbers; lines with other requests are a DataError."""
        kind, targets = None, []
        for number, line in enumerate(lines, 1):
            words = [word for word in re.split(r"[ \t\r\n,]+", line) if word and not word.startswith("id=")]
            if not words or line.lstrip().startswith("#"):
                continue
            ids = [word[1:] if word.startswith("#") else word for word in words[1:]]
            if words[0] not in KINDS or len(ids) != (2 if words[0] == "edge" else 1) or not all(is_digits(one) and _id_of(one) is not None for one in ids):
                raise DataError(f"line {number}: {line.strip()!r} removes no node, edge or feature by number; a forget set holds "
                                "lines 'node U', 'edge U V' or 'feature U'")
            if kind not in (None, words[0]):
                raise DataError(f"line {number}: {words[0]!r} after {kind!r}; a forget set is of one kind, so write one for each")
            kind = words[0]
            targets.append([int(one) for one in ids] if kind == "edge" else int(ids[0]))
        if kind is None:
            raise DataError("no requests, so that nothing says whether nodes, edges or features are meant")
        return ForgetSet(kind, np.array(targets, dtype=np.int64), **about)

    def write_requests(self, file: Path, *, named: bool = False) -> pathlib.Path:
        """Writes :meth:`requests`, one a line, in the place of the file ``file``, and returns its path. ``named``: as there."""
        return _write(file, "".join(line + "\n" for line in self.requests(named=named)))

    def json(self) -> str:
        """One JSON object: dataset, unlearning_type, ratio, seed, selection, targets; of features also what they are, in
        protocol.request_unit."""
        fields = {"dataset": self.dataset, "unlearning_type": self.kind, "ratio": self.ratio, "seed": self.seed, "selection": self.selection}
        if self.run is not None:
            fields["run"] = self.run
        fields["targets"] = self.targets.tolist()
        rest = dict(self.rest)
        if self.kind == "feature":
            unit = "node" if self.unit == "node" else "global_feature_dimension"
            rest["protocol"] = {**(rest.get("protocol") or {}), "request_unit": unit}
        return json.dumps({**fields, **rest}, indent=2) + "\n"

    def write_json(self, file: Path) -> pathlib.Path:
        """Writes :meth:`json` in the place of the file ``file``, and returns its path."""
        return _write(file, self.json())

    def text(self, *, both_directions: bool = False) -> str:
        """A target a line, as numpy.loadtxt(file, dtype=int) reads it: a node, or the two ends of an arc. ``both_directions``: of
        edges both arcs, as programs want it that look for them in an edge_index."""
        require_flags(both_directions=both_directions)
        if self.kind != "edge":
            return "".join(f"{node}\n" for node in self.targets.tolist())
        arcs = dict.fromkeys(map(tuple, self.targets.tolist()))
        if both_directions:
            arcs = dict.fromkeys(arc for u, v in arcs for arc in ((u, v), (v, u)))
        return "".join(f"{u} {v}\n" for u, v in arcs)

    def write_opengu(self, folder: Path, *, both_directions: bool = True) -> pathlib.Path:
        """Writes :meth:`text`, with ``both_directions`` as there, into ``folder`` under the name by which OpenGU looks for it, and returns that path. The name holds
        ratio, data set and run (0 where None), so that the first two must be known. Features lie in the file of nodes, as OpenGU has it."""
        require_flags(both_directions=both_directions)
        if self.dataset is None or self.ratio is None:
            raise UsageError("OpenGU's names hold data set and ratio, and one of them is not known; set them by dataclasses.replace()",
                             ["dataset", "ratio"])
        if self.unit == "column":
            raise UsageError("targets are columns of the features, and OpenGU's files hold nodes", ["unit"])
        what = "edges" if self.kind == "edge" else "nodes"
        name = f"unlearning_{what}_{self.ratio}_{self.dataset}_{self.run or 0}.txt"
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        return _write(pathlib.Path(folder) / name, self.text(both_directions=both_directions))


def _write(file: Path, text: str) -> pathlib.Path:
    """Puts a whole file in the place of what was there."""
    path = pathlib.Path(file)
    try:
        replace_file(path, text)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from error
    return path


def read_forget_set(file: Path, kind: str | None = None, *, unit: str | None = None) -> ForgetSet:
    """Reads a forget set: JSON, or text with a target a line.

    ``kind``: "node", "edge" or "feature", where the file does not say it; a file that says otherwise is an error. OpenGU's names say
    nodes or edges, and its features lie in files of nodes, so that a file of nodes may be read as features. ``unit``: what features
    are, "node" or "column". Wrong files are a DataError that names file and place.
    """
    path = pathlib.Path(file)
    if kind is not None and kind not in KINDS:
        raise UsageError(f"kind: {kind!r} is none of {', '.join(KINDS)}", ["kind"])
    if unit is not None and unit not in UNITS:
        raise UsageError(f"unit: {unit!r} is none of {', '.join(UNITS)}", ["unit"])
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start}: no UTF-8; forget sets are JSON or text") from error
    read = _of_json if path.suffix.lower() == ".json" or text.lstrip().startswith("{") else _of_text
    try:
        return read(path, text, kind, unit)
    except UsageError as error:
        if error.options != ["targets"]:
            raise
        raise DataError(f"{path}: {error}") from None


def _of_text(path: pathlib.Path, text: str, kind: str | None, unit: str | None) -> ForgetSet:
    named = _OPENGU.fullmatch(path.name)
    about: dict[str, Any] = {}
    if named:
        said = "edge" if named["what"] == "edges" else "node"
        if kind is not None and kind != said and not (kind == "feature" and said == "node"):
            raise UsageError(f"{path}: the name says {said}s, not {kind}s", ["kind"])
        kind = kind or said
        try:
            about = {"dataset": named["dataset"], "ratio": float(named["ratio"]), "run": int(named["run"])}
        except ValueError:
            raise DataError(f"{path}: {named['ratio']!r} in the name is no ratio") from None
    if kind is None:
        raise UsageError(f"{path}: nothing says whether nodes, edges or features are meant; give kind='node', 'edge' or 'feature'", ["kind"])
    if kind != "feature" and unit is not None:
        raise UsageError(f"unit: {kind}s have none", ["unit"])
    targets = []
    for number, line in enumerate(text.splitlines(), 1):
        words = re.split(r"[\s,]+", line.split("#")[0].strip())
        if words == [""]:
            continue
        ids = [_id_of(word) for word in words]
        if len(ids) != (2 if kind == "edge" else 1) or None in ids:
            wanted = "the two ends of an edge are" if kind == "edge" else "one id is"
            raise DataError(f"{path}: line {number}: {line.strip()[:80]!r}, where {wanted} wanted")
        targets.append(ids if kind == "edge" else ids[0])
    return ForgetSet(kind, np.array(targets, dtype=np.int64), unit=unit or "node", **about)


def _id_of(value: Any) -> int | None:
    """A whole number from 0, also one that numpy.savetxt wrote as a float, or None."""
    if isinstance(value, str):
        if len(value) > 40 or not re.fullmatch(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", value):
            return None
        value = int(value) if is_digits(value) else float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    number = value
    if isinstance(number, float):
        # Above 2^53 a float names several whole numbers.
        if not number.is_integer() or abs(number) > 2**53:
            return None
        number = int(number)
    return number if 0 <= number <= _MOST_ID else None


def _of_json(path: pathlib.Path, text: str, kind: str | None, unit: str | None) -> ForgetSet:
    try:
        given = json.loads(text, object_pairs_hook=lambda pairs: _each_once(path, pairs))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: line {error.lineno}, column {error.colno}: no JSON: {error.msg}") from error
    except RecursionError as error:
        raise DataError(f"{path}: JSON of too many levels") from error
    if not isinstance(given, dict):
        raise DataError(f"{path}: a JSON {type(given).__name__}, where an object with targets is wanted")
    rest = dict(given)
    about: dict[str, Any] = {}
    for what, names in _NAMES.items():
        found = {name: rest.pop(name) for name in names if name in rest}
        values = [value for value in found.values() if value is not None]
        if any(value != values[0] for value in values[1:]):
            raise DataError(f"{path}: {' and '.join(found)} say different things")
        about[what] = values[0] if values else None
    said = about.pop("kind")
    lists = {name: rest.pop(name) for name in _TARGETS if rest.get(name) is not None}
    if len(lists) != 1:
        raise DataError(f"{path}: {'no targets' if not lists else ' and '.join(lists)}; give one list, 'targets', 'nodes' or 'edges'")
    [(name, targets)] = lists.items()
    kinds = [one for one in (said, _TARGETS[name], kind) if one is not None]
    if not kinds:
        raise DataError(f"{path}: nothing says whether nodes, edges or features are meant; add \"unlearning_type\", or give kind")
    if not isinstance(kinds[0], str) or kinds[0].lower().rstrip("s") not in KINDS:
        raise DataError(f"{path}: unlearning_type: {kinds[0]!r} is none of {', '.join(KINDS)}")
    wanted = kinds[0].lower().rstrip("s")
    for other in kinds[1:]:
        # Nodes may be those whose features are to be forgotten.
        if other != wanted and not (wanted == "feature" and other == "node" and other == _TARGETS[name]):
            raise DataError(f"{path}: it is about {wanted}s, and {other}s are asked for or listed")
    about["ratio"] = _number(path, "ratio", about["ratio"], float)
    about["seed"] = _number(path, "seed", about["seed"], int)
    about["run"] = _number(path, "run", about["run"], int)
    for one in ("dataset", "selection"):
        if about[one] is not None and not isinstance(about[one], str):
            raise DataError(f"{path}: {one}: {about[one]!r}, where a text is wanted")
    return ForgetSet(wanted, _targets_of(path, name, targets, wanted), unit=_unit_of(path, wanted, name, rest, unit), rest=rest, **about)


def _each_once(path: pathlib.Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object of JSON. Throws DataError for one that stands there twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = next(name for i, (name, _) in enumerate(pairs) if name in dict(pairs[:i]))
        raise DataError(f"{path}: {twice!r} stands there twice; leave one of them")
    return members


def _number(path: pathlib.Path, name: str, value: Any, kind: type) -> Any:
    if value is None:
        return None
    try:
        number = None if isinstance(value, bool) or not isinstance(value, (int, float)) else kind(value)
    except (ValueError, OverflowError):  # NaN, infinity, and what no float holds
        number = None
    if number is None or (kind is int and number != value):
        raise DataError(f"{path}: {name}: {value!r}, where a number is wanted")
    return number


def _targets_of(path: pathlib.Path, name: str, targets: Any, kind: str) -> np.ndarray:
    if not isinstance(targets, list):
        raise DataError(f"{path}: {name}: {type(targets).__name__}, where a list is wanted")
    if kind == "edge" and len(targets) == 2 and all(isinstance(row, list) and len(row) != 2 for row in targets):
        raise DataError(f"{path}: {name}: two lists of {len(targets[0])} and {len(targets[1])} seem to be the sources and the targets of edges; of two "
                        "edges they could be either, so write a pair for each edge, [[u, v], [u, v], ..]")
    out: list[Any] = []
    for number, target in enumerate(targets):
        if kind == "edge":
            ends = re.split(r"\s*[-:,\s]\s*", target.strip()) if isinstance(target, str) else target
            ids = [_id_of(end) for end in ends] if isinstance(ends, list) else []
            if len(ids) != 2 or None in ids:
                raise DataError(f"{path}: {name}[{number}]: {target!r}, where the two ends of an edge are wanted")
            out.append(ids)
        else:
            node = _id_of(target)
            if node is None:
                raise DataError(f"{path}: {name}[{number}]: {target!r}, where an id is wanted, a whole number from 0")
            out.append(node)
    return np.array(out, dtype=np.int64)


def _unit_of(path: pathlib.Path, kind: str, name: str, rest: dict[str, Any], unit: str | None) -> str:
    """What targets of the kind "feature" are. Files differ, and one for the other would remove what nobody asked for."""
    if kind != "feature":
        if unit is not None:
            raise UsageError(f"unit: {kind}s have none", ["unit"])
        return "node"
    protocol = rest.get("protocol") or {}
    if not isinstance(protocol, dict):
        raise DataError(f"{path}: protocol: {type(protocol).__name__}, where an object is wanted")
    said = {"node": "node", "nodes": "node", "node_features": "node", "global_feature_dimension": "column", "feature_dimension": "column",
            "feature_dimensions": "column", "column": "column"}
    found = {said[value] for value in (protocol.get("request_unit"), protocol.get("selection_scope")) if isinstance(value, str) and value in said}
    if _TARGETS[name] == "node":
        found.add("node")
    if unit is not None:
        found.add(unit)
    if len(found) > 1:
        raise DataError(f"{path}: the targets are said to be nodes and to be columns of the features")
    if not found:
        raise UsageError(f"{path}: it does not say whether the targets are nodes or columns of the features; give unit='node' or 'column'",
                         ["unit"])
    return found.pop()
