#!/usr/bin/env python3
# tests/bench/peers.py - full propagation by what a user would take instead, on the same graph in the same run.
#
#   python3 tests/bench/peers.py --unweave build/release/unweave [--scale 20] [--features 128] [--hops 2] [--threads 2]
#
# Generates an R-MAT store, propagates it, exports its edges and features, and multiplies the same normalised adjacency
# (float32, self loops included) with the same features by each peer that is installed: SciPy (python3-scipy), PyTorch
# CSR (python3-torch), SuiteSparse GraphBLAS (python3-suitesparse-graphblas). Peers hold graph and features in memory
# and write nothing; unweave's time includes decoding and writing the sums of every level. Each peer's result is
# compared with the exported embedding. Prints a Markdown table; with --json one object a line. Needs numpy and about
# 6 x nodes x features x 4 bytes of memory.
import argparse
import json
import pathlib
import sys
import tempfile
import time

import numpy as np

import real_graphs
import rmat


def adjacency(edges, nodes):
    """indptr, indices and values of D^-1/2 (A + I) D^-1/2 in float32."""
    loops = np.arange(nodes, dtype=np.int32)
    source = np.concatenate([edges[:, 0].astype(np.int32), edges[:, 1].astype(np.int32), loops])
    target = np.concatenate([edges[:, 1].astype(np.int32), edges[:, 0].astype(np.int32), loops])
    order = np.argsort(source.astype(np.int64) * nodes + target, kind="stable")
    source, target = source[order], target[order]
    degree = np.bincount(source, minlength=nodes)
    scale = 1 / np.sqrt(degree)
    indptr = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
    return indptr, target, (scale[source] * scale[target]).astype(np.float32)


def scipy_peer(indptr, indices, values, x, hops, threads):
    import scipy
    import scipy.sparse
    matrix = scipy.sparse.csr_matrix((values, indices, indptr), shape=(len(x), len(x)))
    start = time.perf_counter()
    for _ in range(hops):
        x = matrix @ x
    return x, time.perf_counter() - start, f"SciPy {scipy.__version__}, 1 thread"


def torch_peer(indptr, indices, values, x, hops, threads):
    import torch
    torch.set_num_threads(threads)
    matrix = torch.sparse_csr_tensor(torch.from_numpy(indptr), torch.from_numpy(indices.astype(np.int64)),
                                     torch.from_numpy(values), size=(len(x), len(x)))
    rows = torch.from_numpy(x)
    start = time.perf_counter()
    with torch.no_grad():
        for _ in range(hops):
            rows = matrix @ rows
    return rows.numpy(), time.perf_counter() - start, f"PyTorch {torch.__version__} CSR, {threads} threads"


def graphblas_peer(indptr, indices, values, x, hops, threads):
    from suitesparse_graphblas import ffi, initialize, is_initialized, lib
    from suitesparse_graphblas.utils import claim_buffer, unclaim_buffer
    if not is_initialized():
        initialize(blocking=True, memory_manager="numpy")

    def made(status):
        if status != lib.GrB_SUCCESS:
            raise RuntimeError(f"GraphBLAS status {status}")

    made(lib.GxB_Global_Option_set_INT32(lib.GxB_GLOBAL_NTHREADS, ffi.cast("int32_t", threads)))
    nodes, columns = x.shape
    matrix = ffi.new("GrB_Matrix*")
    wide, ends = indices.astype(np.uint64), indptr.astype(np.uint64)
    made(lib.GrB_Matrix_import_FP32(
        matrix, lib.GrB_FP32, nodes, nodes, ffi.cast("GrB_Index*", ends.ctypes.data),
        ffi.cast("GrB_Index*", wide.ctypes.data), ffi.cast("float*", values.ctypes.data), len(ends), len(wide),
        len(values), lib.GrB_CSR_FORMAT))
    made(lib.GrB_Matrix_wait(matrix[0], lib.GrB_MATERIALIZE))
    rows = ffi.new("GrB_Matrix*")
    made(lib.GrB_Matrix_new(rows, lib.GrB_FP32, nodes, columns))
    start_values = x.copy()
    pointer = ffi.new("void**", ffi.cast("void*", start_values.ctypes.data))
    unclaim_buffer(start_values)  # GraphBLAS frees it
    made(lib.GxB_Matrix_pack_FullR(rows[0], pointer, x.nbytes, False, ffi.NULL))
    start = time.perf_counter()
    for _ in range(hops):
        product = ffi.new("GrB_Matrix*")
        made(lib.GrB_Matrix_new(product, lib.GrB_FP32, nodes, columns))
        made(lib.GrB_mxm(product[0], ffi.NULL, ffi.NULL, lib.GrB_PLUS_TIMES_SEMIRING_FP32, matrix[0], rows[0],
                         ffi.NULL))
        made(lib.GrB_Matrix_wait(product[0], lib.GrB_MATERIALIZE))
        made(lib.GrB_Matrix_free(rows))
        rows = product
    seconds = time.perf_counter() - start
    size, iso = ffi.new("GrB_Index*"), ffi.new("bool*")
    made(lib.GxB_Matrix_unpack_FullR(rows[0], pointer, size, iso, ffi.NULL))
    result = claim_buffer(ffi, pointer[0], size[0] // 4, np.dtype(np.float32))[:x.size].reshape(x.shape)
    made(lib.GrB_Matrix_free(rows))
    made(lib.GrB_Matrix_free(matrix))
    return result, seconds, f"SuiteSparse GraphBLAS {lib.GxB_IMPLEMENTATION_MAJOR}, {threads} threads"


def main():
    parser = argparse.ArgumentParser()
    rmat.add_arguments(parser, "runs of unweave; the median counts")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers", default="scipy,torch,graphblas")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    work = tempfile.TemporaryDirectory(prefix="peers-", dir=args.work)
    folder = pathlib.Path(work.name)

    run = real_graphs.runner(args.unweave)
    store = folder / "store"
    rmat.generate(run, args, store)
    weights = ",".join(["0"] * args.hops + ["1"])
    propagated = [json.loads(run("propagate", store, "--hops", args.hops, "--weights", weights, "--rows", "all",
                                 "--threads", args.threads, "--json")) for _ in range(args.repeat)]
    own = sorted(p["arc_features_per_second"] for p in propagated)[args.repeat // 2]
    run("export", store, "--edges", folder / "edges.npy")
    run("export", store, "--embeddings", folder / "x.npy", "--weights", ",".join(["1"] + ["0"] * args.hops))
    run("export", store, "--embeddings", folder / "z.npy")

    x, z = np.load(folder / "x.npy"), np.load(folder / "z.npy", mmap_mode="r")
    indptr, indices, values = adjacency(np.load(folder / "edges.npy"), len(x))
    work_done = len(indices) * args.features * args.hops
    rows = [("unweave, sums of all levels written", work_done / own, 1.0, 0.0)]
    for name, peer in (("scipy", scipy_peer), ("torch", torch_peer), ("graphblas", graphblas_peer)):
        if name not in args.peers.split(","):
            continue
        try:
            result, seconds, title = peer(indptr, indices, values, x, args.hops, args.threads)
        except ImportError as missing:
            print(f"{name}: not installed ({missing})", file=sys.stderr)
            continue
        error = max(float(np.abs(result[i:i + 4096] - z[i:i + 4096]).max()) for i in range(0, len(z), 4096))
        rows.append((title, seconds, seconds * own / work_done, error))
    if args.json:
        for title, seconds, ratio, error in rows:
            print(json.dumps({"program": title, "sweep_seconds": seconds, "ratio": ratio, "largest_difference": error}))
        return
    print("| program | seconds | against unweave | largest difference |\n|---|---|---|---|")
    for title, seconds, ratio, error in rows:
        print(f"| {title} | {seconds:.2f} | {ratio:.1f}x | {error:.1e} |")


main()
