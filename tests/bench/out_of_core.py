#!/usr/bin/env python3
# tests/bench/out_of_core.py - `propagate` with plenty of memory, then inside a memory control group with a hard limit.
#
#   unweave generate /tmp/r --model rmat --scale 22 --features 64
#   python3 tests/bench/out_of_core.py --unweave build/release/unweave --store /tmp/r --limit 768M [--scale-bits 24]
#
# Needs root and the memory controller of cgroup v1 under /sys/fs/cgroup/memory. The group holds everything that the run
# makes the system keep: anonymous memory and page cache. The files of the store are put out of the page cache before
# each run, so that none of it is charged elsewhere. Prints one JSON line a run and the ratio of the rates.
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

GROUP = pathlib.Path("/sys/fs/cgroup/memory/unweave-bench")


def bytes_of(text):
    units = {"K": 10, "M": 20, "G": 30}
    return int(text[:-1]) << units[text[-1]] if text[-1] in units else int(text)


def evict(store):
    os.sync()
    for path in pathlib.Path(store).rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def propagate(args, group):
    evict(args.store)

    def enter():
        if group:
            (GROUP / "cgroup.procs").write_text(str(os.getpid()))

    command = [args.unweave, "propagate", args.store, "--rows", "all", "--scale-bits", str(args.scale_bits), "--json",
               "--quiet"]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=enter)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return {**json.loads(done.stdout), "wall_seconds": time.monotonic() - start}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--store", required=True)
    parser.add_argument("--limit", required=True, help="of the group, as 768M")
    parser.add_argument("--scale-bits", default=24, type=int)
    args = parser.parse_args()

    free = propagate(args, False)
    print(json.dumps({"limit": None, **free}), flush=True)
    GROUP.mkdir(exist_ok=True)
    try:
        (GROUP / "memory.limit_in_bytes").write_text(str(bytes_of(args.limit)))
        (GROUP / "memory.max_usage_in_bytes").write_text("0")
        bound = propagate(args, True)
        bound["group_peak_bytes"] = int((GROUP / "memory.max_usage_in_bytes").read_text())
        bound["group_failcnt"] = int((GROUP / "memory.failcnt").read_text())
        print(json.dumps({"limit": bytes_of(args.limit), **bound}), flush=True)
    finally:
        (GROUP / "memory.force_empty").write_text("0")
        GROUP.rmdir()
    print(json.dumps({"rate_ratio": bound["arc_features_per_second"] / free["arc_features_per_second"],
                      "wall_ratio": free["wall_seconds"] / bound["wall_seconds"]}))


if __name__ == "__main__":
    main()
