#!/usr/bin/env python3
"""Keeps an index of FAISS in step with a feed of changes (`unweave stream --changes FEED`).

    python3 tools/examples/follow_faiss.py FEED READER INDEX        needs Debian's python3-faiss, and the package unweave

The ids of the index are nodes. A row that changed replaces the one of its id; a node without a row any more leaves the index, bytes and
all: FAISS's flat indexes move another row into its place. The file INDEX is whole before the entries are taken.
"""
import os
import sys

import faiss
import numpy as np

import unweave


def follow(feed, reader, file):
    changes = unweave.Changes(feed, reader)
    index = faiss.read_index(file) if os.path.exists(file) else None
    last = None
    for change in changes:  # what this reader has not taken yet
        if change.complete or index is None:
            index = faiss.IndexIDMap2(faiss.IndexFlatL2(int(change.rows.shape[1])))
        index.remove_ids(np.concatenate([change.ids, change.removed]))
        index.add_with_ids(np.ascontiguousarray(change.rows), np.ascontiguousarray(change.ids))
        last = change
    if last is None:
        return
    faiss.write_index(index, file + ".new")
    with open(file + ".new", "rb") as written:
        os.fsync(written.fileno())
    os.replace(file + ".new", file)
    changes.take(last)  # durable: none of these comes again


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    follow(*sys.argv[1:])
