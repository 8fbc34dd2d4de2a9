#!/usr/bin/env python3
"""Propagates a store in jobs on the workers of a Dask cluster.

    python3 tools/examples/propagate_dask.py SCHEDULER STORE JOBS [HOPS]    needs Debian's python3-distributed, and the package unweave

The store lies on a file system that all workers see. A job whose worker dies is given to another one by Dask; where the whole run ends
before its time, the same command goes on with the tiles that are there. Give each worker one thread (`dask-worker --nthreads 1`): the
engine has threads of its own.
"""
import os
import sys

from dask.distributed import Client, as_completed

import unweave


def sum_tile(store, job, jobs, hops):
    return unweave.Store(store).propagate(hops, tile=(job, jobs)).jobs_done


def propagate(scheduler, store, jobs, hops):
    with Client(scheduler) as client:
        futures = [client.submit(sum_tile, store, job, jobs, hops, pure=False, retries=3) for job in range(jobs)]
        for future in as_completed(futures):
            future.result()
    return unweave.Store(store).propagate(hops, assemble=True)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    print(propagate(sys.argv[1], os.path.abspath(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) == 5 else 2))
