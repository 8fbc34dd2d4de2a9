"""What columns of tables of edges have, by their names. The command line has the same rule, of which this asks."""
from __future__ import annotations

from typing import Any, Sequence

from . import _native

__all__ = ["are_ends", "begin_with_ends", "ends_among", "ends_elsewhere", "is_index", "is_label", "is_no_weight", "is_weight"]

#: What the index of a frame is called, once it is a column.
_INDEXES = ("index", "level_0", "unnamed: 0", "id")


def is_weight(name: Any) -> bool:
    """Whether a column is called as those of weights are (storage/input/tables/edge_columns.cpp)."""
    return isinstance(name, str) and _plain(name).replace("_", "").replace(" ", "") in ("weight", "weights", "edgeweight", "edgeweights")


def is_label(name: Any) -> bool:
    """Whether a column is called as those of labels are."""
    return _plain(name) in ("label", "labels", "class")


def _plain(name: Any) -> str:
    return name.strip().lower() if isinstance(name, str) else ""


def _as_texts(names: Sequence[Any]) -> list[str]:
    return [name if isinstance(name, str) and name.isprintable() else "" for name in names]


def ends_among(names: Sequence[Any]) -> tuple[str, str] | None:
    """The first two columns that are called as the two ends of an edge are, by the rule of the command line; None where there are none."""
    places = _native.name_ends(_as_texts(names))
    return None if places is None else (names[places[0]], names[places[1]])


def ends_elsewhere(names: Sequence[Any]) -> tuple[str, str] | None:
    """Likewise, where the first two of a table are others; else None."""
    found = ends_among(names)
    return None if found == tuple(names[:2]) else found


def are_ends(first: Any, second: Any) -> bool:
    """Whether two columns are called as the ends of edges are."""
    return ends_among([first, second]) is not None


def begin_with_ends(names: Sequence[Any]) -> bool:
    """Whether the first two columns are the ends of edges, as far as the names of all of them tell; names that are no texts say nothing."""
    return not all(isinstance(name, str) for name in names) or _native.begin_with_ends(_as_texts(names))


def is_no_weight(name: Any) -> bool:
    """Whether a column is called as what edges have beside weights is: a time, a kind, an id."""
    return isinstance(name, str) and _native.names_no_weight(_as_texts([name])[0])


def is_index(name: Any) -> bool:
    """Whether a column is called as the index of a frame is, once it is a column."""
    return _plain(name) in _INDEXES
