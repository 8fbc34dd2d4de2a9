#!/usr/bin/env python3
"""A propagation over 1, 2, 3, 4 and 8 ranks has the bytes of one process, and fails as one.

    propagate_test.py UNWEAVE MPIRUN FAULTS
"""
import json
import pathlib
import shutil
import sys
import tempfile
import time

from support import Launcher, bytes_of, calls_of, check

RANKS = (1, 2, 3, 4, 8)
KINDS = [["--rows", "all"], ["--rows", "labelled", "--scale-bits", "14"], ["--rows", "all", "--keep", "embedding"],
         ["--rows", "all", "--keep", "hops", "--keep-type", "f16"]]


def check_calls(folder, ranks, plan):
    """Rank 0 has made the calls of MPI that the plan tells, and those of the beginning and the end of a job."""
    made = calls_of(folder / "calls")[0]
    check(made == plan["rounds"] + 2 * ranks + 6, f"{ranks} ranks: {made} calls, {plan}")


def rows(mpi, folder):
    """Ranks that share rows: as many calls and bytes as planned, one tile or several, in 16 bits and in 32."""
    mpi.alone("generate", folder / "r", "--model", "rmat", "--scale", "19", "--edge-factor", "3", "--features", "20", "--seed", "2", "--quiet")
    for kind in (["--memory", "1G"], ["--memory", "1G", "--scale-bits", "14"], ["--memory", "56M"]):
        options = ["--hops", "3", "--rows", "all", *kind]
        shutil.copytree(folder / "r", folder / "one")
        mpi.alone("propagate", folder / "one", *options, "--threads", "1")
        expected = bytes_of(folder / "one")
        for ranks in RANKS[1:]:
            shutil.copytree(folder / "r", folder / "many")
            report = json.loads(mpi.run(ranks, "propagate", folder / "many", *options, "--threads", "1", "--share", "rows", "--json",
                                        calls=folder / "calls"))
            check(bytes_of(folder / "many") == expected, f"{ranks} ranks by rows, {kind}: other bytes")
            plan = json.loads(mpi.alone("plan", folder / "r", *options, "--threads", "1", "--ranks", ranks, "--json"))["rows"]
            check(report["tiles"] == plan["tiles"] and report["ranks_verbs"] == ranks * plan["verbs"], f"{report} {plan}")
            check(0.999 < report["ranks_received_bytes"] / plan["received_bytes"] < 1.001, f"{report} {plan}")
            check_calls(folder, ranks, plan)
            shutil.rmtree(folder / "many")
        shutil.rmtree(folder / "one")
    check(plan["tiles"] > 1, f"one tile took all columns: {plan}")
    # Shares that are not equal.
    mpi.alone("generate", folder / "u", "--model", "sbm", "--nodes", "196608", "--features", "48", "--seed", "2", "--quiet")
    for memory in ("34M", "60M"):
        options = ["--hops", "2", "--rows", "all", "--memory", memory, "--threads", "1"]
        shutil.copytree(folder / "u", folder / "many")
        report = json.loads(mpi.run(2, "propagate", folder / "many", *options, "--share", "rows", "--json"))
        plan = json.loads(mpi.alone("plan", folder / "u", *options, "--ranks", "2", "--json"))["rows"]
        check(report["tiles"] == plan["tiles"] and report["ranks_verbs"] == 2 * plan["verbs"], f"{report} {plan}")
        shutil.rmtree(folder / "many")
    done = mpi.run(9, "propagate", folder / "r", "--hops", "1", "--rows", "all", "--share", "rows", code=1)
    check("8 partitions, too few for 9 ranks" in done.stderr, done.stderr)
    done = mpi.run(2, "propagate", folder / "s", "--hops", "1", "--rows", "labelled", "--share", "rows", code=1)
    check("--share rows" in done.stderr, done.stderr)


def main(program, mpirun, faults):
    mpi = Launcher(program, mpirun, faults)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        mpi.alone("generate", folder / "s", "--model", "sbm", "--nodes", "150000", "--features", "24", "--seed", "1", "--quiet")
        for kind in KINDS:
            options = ["--hops", "2", *kind, "--threads", "1", "--json"]
            shutil.copytree(folder / "s", folder / "one")
            mpi.alone("propagate", folder / "one", *options)
            expected = bytes_of(folder / "one")
            shutil.rmtree(folder / "one")
            for ranks in RANKS:
                shutil.copytree(folder / "s", folder / "many")
                report = json.loads(mpi.run(ranks, "propagate", folder / "many", *options, calls=folder / "calls"))
                check(bytes_of(folder / "many") == expected, f"{ranks} ranks, {kind}: other bytes")
                check(report.get("ranks", 1) == ranks, f"{ranks} ranks: {report}")
                if ranks > 1:
                    plan = json.loads(mpi.alone("plan", folder / "s", "--hops", "2", *kind, "--ranks", ranks, "--json"))["columns"]
                    check(report["ranks_verbs"] == ranks * plan["verbs"], f"{report} {plan}")
                    check(report["ranks_received_bytes"] == plan["received_bytes"], f"{report} {plan}")
                    check_calls(folder, ranks, plan)
                (folder / "calls").unlink(missing_ok=True)
                shutil.rmtree(folder / "many")
        rows(mpi, folder)

        # Copies of the lists change nothing, and are gone at the end, also when a rank is killed.
        (folder / "copies").mkdir()
        shutil.copytree(folder / "s", folder / "many")
        mpi.run(3, "propagate", folder / "many", *options, "--local", folder / "copies")
        check(bytes_of(folder / "many") == expected, "with copies of the lists: other bytes")
        check(not list((folder / "copies").iterdir()), "copies of the lists are left")
        mpi.run(3, "propagate", folder / "many", *options, "--local", folder / "copies", fault="0 12 kill", code=None)
        end = time.monotonic() + 30
        while list((folder / "copies").iterdir()) and time.monotonic() < end:
            time.sleep(0.1)
        check(not list((folder / "copies").iterdir()), "copies of the lists are left by a killed rank")
        shutil.rmtree(folder / "many")

        # What fails on all ranks, or on one, is told once.
        for words, code, part in [(["propagate", folder / "none.store"], 2, "none.store"), (["propagate", folder / "s", "--scale-bits", "3"], 1, "--scale-bits")]:
            done = mpi.run(3, *words, code=None)
            said = [line for line in done.stderr.splitlines() if line.startswith("unweave: ")]
            check(len(said) == 1 and part in said[0], f"{words}: {done.stderr}")
            check(done.returncode == code, f"{words}: exit code {done.returncode}")
        check(mpi.alone("verify", folder / "s") != "", "the store is not whole")
        # Work that is not shared is done by each process for itself, with no MPI.
        check(len(mpi.run(3, "info", folder / "s", "--json").splitlines()) == 3, "info under mpirun")
        one = pathlib.Path(shutil.copytree(folder / "s", folder / "tiles"))
        mpi.run(3, "propagate", one, "--hops", "1", "--tiles", "3", "--quiet")
        mpi.alone("propagate", one, "--hops", "1", "--assemble")
        done = mpi.run(25, "propagate", folder / "s", "--hops", "1", code=1)
        check("24 columns" in done.stderr, done.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
