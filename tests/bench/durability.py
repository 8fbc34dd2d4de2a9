#!/usr/bin/env python3
"""What durable acknowledgements cost a stream: its speed beside the same stream whose syncs do nothing.

    python3 tests/bench/durability.py --unweave build/release/unweave --scale 18 --features 64

The program is the same; a library that is loaded before the C library (built here with cc) counts fsync and fdatasync, and
makes them do nothing in every second run. Streams alternate, each on a fresh copy of one store. A stream's time is that
from its first line to its last, so all of its batches but one; opening and the checkpoint at the end are left out.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static long count;
static double seconds;
static int call(const char *name, int fd) {
  __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  if (getenv("SYNCS_DO_NOTHING")) return 0;
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  int result = ((int (*)(int))dlsym(RTLD_NEXT, name))(fd);
  clock_gettime(CLOCK_MONOTONIC, &end);
  seconds += end.tv_sec - begin.tv_sec + 1e-9 * (end.tv_nsec - begin.tv_nsec);
  return result;
}
int fsync(int fd) { return call("fsync", fd); }
int fdatasync(int fd) { return call("fdatasync", fd); }
__attribute__((destructor)) static void tell(void) {
  FILE *out = fopen(getenv("SYNCS_FILE"), "w");
  if (out) fprintf(out, "%ld %f\n", count, seconds), fclose(out);
}
"""


def stream(options, folder, batch, solver, durable):
    """Seconds from the first line to the last, the batches between, and syncs of the whole process and their seconds."""
    copy = os.path.join(folder, "copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(os.path.join(folder, "store"), copy)
    os.sync()
    environment = dict(os.environ, LD_PRELOAD=os.path.join(folder, "syncs.so"), SYNCS_FILE=os.path.join(folder, "syncs"))
    if not durable:
        environment["SYNCS_DO_NOTHING"] = "1"
    words = [options.unweave, "stream", copy, "--requests", os.path.join(folder, f"requests-{batch}"), "--batch", str(batch),
             "--json", "--quiet", "--evaluate-every", "0"]
    if solver:
        words += ["--solver", solver]
    moments = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout:
            moments.append(time.perf_counter())
            json.loads(line)
    assert process.returncode == 0, process.returncode
    with open(os.path.join(folder, "syncs")) as syncs:
        count, seconds = syncs.read().split()
    return moments[-1] - moments[0], len(moments) - 1, int(count), float(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--scale", type=int, default=18)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--folder", default=None, help="on the disk to be measured")
    parser.add_argument("--solvers", default=",newton", help="comma-separated; empty: none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        at = lambda name: os.path.join(folder, name)
        run = lambda *words: subprocess.run([options.unweave, *words], check=True, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL)
        with open(at("syncs.c"), "w") as source:
            source.write(LIBRARY)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", at("syncs.so"), at("syncs.c"), "-ldl"], check=True)
        run("generate", at("store"), "--model", "rmat", "--scale", str(options.scale), "--features", str(options.features),
            "--classes", "4", "--seed", "1")
        run("propagate", at("store"), "--hops", "2")
        run("train", at("store"))
        for batch, batches in ((10, 60), (1000, 6)):
            run("export", at("store"), "--requests", at(f"requests-{batch}"), "--draw", "edge", "--count",
                str(batch * batches))
        for solver in options.solvers.split(","):
            for batch in (10, 1000):
                stream(options, folder, batch, solver, True)
                pairs = [[stream(options, folder, batch, solver, durable) for durable in (True, False)]
                         for _ in range(options.pairs)]
                durable, unsynced = ([pair[i][0] / pair[i][1] for pair in pairs] for i in (0, 1))
                ratios = [u / d for d, u in zip(durable, unsynced)]
                print(f"solver {solver or '-':8} batch {batch:5}: {1e3 * statistics.median(durable):9.3f} ms a batch, "
                      f"unsynced {1e3 * statistics.median(unsynced):9.3f} ms, share of the speed "
                      f"{statistics.median(ratios):.3f} (of pairs {', '.join(f'{r:.3f}' for r in ratios)}), "
                      f"{pairs[0][0][2]} syncs in a stream of {pairs[0][0][1] + 1} batches, "
                      f"{1e3 * statistics.median(pair[0][3] / pair[0][2] for pair in pairs):.2f} ms each", flush=True)


if __name__ == "__main__":
    main()
