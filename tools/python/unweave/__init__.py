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
from ._native import __version__
from .changes import Change, Changes
from .columns import Columns
from .estimator import ForgettingClassifier
from .errors import CheckError, DataError, Error, MissingRowsWarning, ResourceError, UsageError
from .forget_sets import ForgetSet, read_forget_set
from .planetoid import read_planetoid
from .records import Record
from .store import Store, generate_store, import_store, solvers
from .stream import Stream

__all__ = ["__version__", "Change", "Changes", "CheckError", "Columns", "DataError", "Error", "ForgetSet", "ForgettingClassifier",
           "MissingRowsWarning", "Record", "ResourceError", "Store", "Stream", "UsageError", "generate_store", "import_store",
           "read_forget_set", "read_planetoid", "solvers"]
