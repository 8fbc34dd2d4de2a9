#!/usr/bin/env python3
"""Two hops of all rows at the size of ogbn-papers100M, embedding alone, beside what ATLAS reports for its machine.

    python3 tests/bench/full_width.py --unweave build/release/unweave --store STORE [--memory SIZE]

STORE is one of `unweave generate STORE --model citation --features 128 --feature-type f16`; where it is not there, it is made.
Its embedding is replaced. Each run begins with an empty page cache, which takes the rights to drop it. One line of JSON a
run, then a table. What is compared and what cannot be is said in tools/guide/results/large-graphs.md.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

# ATLAS (Naman and Simmhan, arXiv 2605.09402): its abstract gives 128 GiB of memory and one disk of 2 TiB, and no time for this
# graph. The time is that of a summary of the paper by others, two layers of GraphSAGE with a hidden width of 128.
ATLAS = {"machine": "12 cores, 128 GiB, RTX 5090, one NVMe disk of 2 TB", "seconds": 780}


def drop_page_cache():
    subprocess.run(["sync"], check=True)
    try:
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")
    except PermissionError:
        sys.exit("full_width: the page cache cannot be dropped; run this as root")


def disk_bytes(before=None):
    """Bytes that all disks have read since they were counted before."""
    read = 0
    for line in pathlib.Path("/proc/diskstats").read_text(encoding="ascii").splitlines():
        words = line.split()
        if pathlib.Path("/sys/block", words[2]).exists() and not words[2].startswith(("loop", "ram", "zram", "dm-")):
            read += int(words[5]) * 512
    return read if before is None else read - before


def run(arguments, name, options):
    drop_page_cache()
    before = disk_bytes()
    command = [arguments.unweave, "propagate", arguments.store, "--rows", "all", "--hops", "2", *options, "--json"]
    if arguments.memory:
        command += ["--memory", arguments.memory]
    line = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    read = disk_bytes(before)
    result = {"run": name, **{key: line[key] for key in ("seconds", "sweep_seconds", "tiles", "peak_anonymous_bytes")},
              "disk_read_bytes": read, "seconds_predicted": line.get("seconds_predicted")}
    print(json.dumps(result), flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--store", required=True)
    parser.add_argument("--memory")
    parser.add_argument("--nodes", help="of a store that is made here, in place of 111,059,956")
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.store, "manifest.json").exists():
        size = ["--nodes", arguments.nodes] if arguments.nodes else []
        subprocess.run([arguments.unweave, "generate", arguments.store, "--model", "citation", "--features", "128",
                        "--feature-type", "f16", *size], check=True)
    # Sums of an earlier propagation would take the room of the rows.
    subprocess.run([arguments.unweave, "propagate", arguments.store, "--hops", "0", "--quiet", "--json"], check=True,
                   stdout=subprocess.DEVNULL)
    keep = ["--keep", "embedding", "--keep-type", "f16"]
    runs = [run(arguments, "24 bits between hops", keep), run(arguments, "16 bits between hops", [*keep, "--scale-bits", "14"])]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    here = f"{os.cpu_count()} cores, {memory:.0f} GiB, no GPU"
    print(f"\n| program | machine | seconds | read |\n|---|---|---|---|")
    for one in runs:
        print(f"| Unweave, {one['run']} | {here} | {one['seconds']:.0f} | {one['disk_read_bytes'] / 1e9:.0f} GB |")
    print(f"| ATLAS | {ATLAS['machine']} | about {ATLAS['seconds']} | |")


if __name__ == "__main__":
    main()
