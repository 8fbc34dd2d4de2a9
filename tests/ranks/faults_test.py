#!/usr/bin/env python3
"""A rank that is killed, or whose call of MPI fails, ends the job with one error; the next start goes on, and nothing is lost.

    faults_test.py UNWEAVE MPIRUN FAULTS

Every call of a propagation that shares columns fails once on each rank, and is once the last one; of one that shares rows, some.
faults_heavy_test.py has faults in number, of all work that ranks share.
"""
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from support import Launcher, bytes_of, calls_of, check

RANKS = 3
OPTIONS = ["--hops", "2", "--rows", "all", "--threads", "1", "--quiet"]
SHARES = [["--share", "columns"], ["--share", "rows"]]
MOST_SECONDS = 60  # for a machine that has much else to do; seconds as a rule


def fails_once(mpi, store, share, fault):
    """Ends with an error, of which one line at most is ours; returns how long that took."""
    begin = time.monotonic()
    done = subprocess.run(mpi.command(RANKS, "propagate", store, *OPTIONS, *share, fault=fault), env=mpi.environment, capture_output=True, text=True,
                          timeout=MOST_SECONDS)
    said = [line for line in done.stderr.splitlines() if line.startswith("unweave: ") and "interrupted" not in line]
    check(done.returncode != 0, f"{share} {fault}: exit code 0")
    check(len(said) <= 1, f"{share} {fault}: {done.stderr}")
    if "fail" in fault:
        check(len(said) == 1 and "MPI: " in done.stderr, f"{share} {fault}: {done.stderr}")
    return time.monotonic() - begin


def main(program, mpirun, faults):
    mpi = Launcher(program, mpirun, faults)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        mpi.alone("generate", folder / "s", "--model", "sbm", "--nodes", "140000", "--features", "12", "--seed", "1", "--quiet")
        shutil.copytree(folder / "s", folder / "one")
        mpi.alone("propagate", folder / "one", *OPTIONS)
        expected = bytes_of(folder / "one")

        def again():
            shutil.rmtree(folder / "many", ignore_errors=True)
            shutil.copytree(folder / "s", folder / "many")

        cases = []
        for share in SHARES:
            again()
            mpi.run(RANKS, "propagate", folder / "many", *OPTIONS, *share, calls=folder / "calls")
            calls = calls_of(folder / "calls")
            check(sorted(calls) == list(range(RANKS)), str(calls))
            all_calls = [(share, rank, call, kind) for rank in calls for call in range(1, calls[rank] + 1) for kind in ("kill", "fail")]
            # Those of rows are many, and alike from level to level: some of them, each time others.
            cases += all_calls if share == SHARES[0] else random.sample(all_calls, 12)
        slowest = 0.0
        for number, (share, rank, call, kind) in enumerate(cases):
            again()
            slowest = max(slowest, fails_once(mpi, folder / "many", share, f"{rank} {call} {kind}"))
            mpi.alone("verify", folder / "many", "--quiet")
            ranks = 1 + number % 3
            mpi.run(ranks, "propagate", folder / "many", *OPTIONS, *(SHARES[number // 3 % 2] if ranks > 1 else []))  # goes on
            check(bytes_of(folder / "many") == expected, f"after {share} {rank} {call} {kind}: other bytes")

        # A rank that is late changes nothing but the time.
        again()
        mpi.run(RANKS, "propagate", folder / "many", *OPTIONS, fault="1 1 delay 20000")
        check(bytes_of(folder / "many") == expected, "with a late rank: other bytes")
        print(f"{len(cases)} faults, the slowest end after {slowest:.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
