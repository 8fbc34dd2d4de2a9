"""Unweave: feature propagation over graphs that do not fit in memory, embeddings that removals keep exact, and models that forget
with a certificate.

    import unweave
    store = unweave.import_store("demo.store", edge_index, x, y, train=train_mask, test=test_mask)
    store.propagate(hops=2)
    Z = store.embeddings()

    store.train("exact")
    with store.stream("exact") as stream:
        stream.send([("edge", 4, 7), ("node", 12)])
"""
from typing import TYPE_CHECKING, Any

from ._native import __version__
from .changes import Change, Changes
from .columns import Columns
from .errors import CheckError, DataError, Error, MissingRowsWarning, NotFittedError, RemarkWarning, ResourceError, UsageError
from .forget_sets import ForgetSet, read_forget_set
from .imports import generate_store, import_store
from .names import NodeNumbers
from .planetoid import read_planetoid
from .records import Record
from .store import Store, solvers
from .stream import Stream

if TYPE_CHECKING:
    from .estimator import ForgettingClassifier

__all__ = ["__version__", "Change", "Changes", "CheckError", "Columns", "DataError", "Error", "ForgetSet", "ForgettingClassifier",
           "MissingRowsWarning", "NodeNumbers", "NotFittedError", "Record", "RemarkWarning", "ResourceError", "Store", "Stream",
           "UsageError", "generate_store", "import_store", "read_forget_set", "read_planetoid", "solvers"]


def __getattr__(name: str) -> Any:
    """The estimator is loaded when it is asked for, since scikit-learn, which it takes its ways from, takes a second."""
    if name != "ForgettingClassifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .estimator import ForgettingClassifier
    globals()[name] = ForgettingClassifier
    return ForgettingClassifier


def __dir__() -> list[str]:
    return sorted({*globals(), "ForgettingClassifier"})
