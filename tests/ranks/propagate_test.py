#!/usr/bin/env python3
"""A propagation over 1, 2, 3, 4 and 8 ranks has the bytes of one process, and fails as one.

    propagate_test.py UNWEAVE MPIRUN FAULTS
"""
import json
import pathlib
import shutil
import sys
import tempfile

from support import Launcher, bytes_of, check

KINDS = [["--rows", "all"], ["--rows", "labelled", "--scale-bits", "14"], ["--rows", "all", "--keep", "embedding"],
         ["--rows", "all", "--keep", "hops", "--keep-type", "f16"]]


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
            for ranks in (1, 2, 3, 4, 8):
                shutil.copytree(folder / "s", folder / "many")
                report = json.loads(mpi.run(ranks, "propagate", folder / "many", *options))
                check(bytes_of(folder / "many") == expected, f"{ranks} ranks, {kind}: other bytes")
                check(report.get("ranks", 1) == ranks, f"{ranks} ranks: {report}")
                shutil.rmtree(folder / "many")

        # What fails on all ranks, or on one, is told once.
        for words, code, part in [(["propagate", folder / "none.store"], 2, "none.store"), (["propagate", folder / "s", "--scale-bits", "3"], 1, "--scale-bits"),
                                  (["info", folder / "s"], 1, "works alone"), (["propagate", folder / "s", "--tile", "0/2"], 1, "--tile")]:
            done = mpi.run(3, *words, code=None)
            said = [line for line in done.stderr.splitlines() if line.startswith("unweave: ")]
            check(len(said) == 1 and part in said[0], f"{words}: {done.stderr}")
            check(done.returncode == code, f"{words}: exit code {done.returncode}")
        check(mpi.alone("verify", folder / "s") != "", "the store is not whole")
        done = mpi.run(25, "propagate", folder / "s", "--hops", "1", code=None)
        check("24 columns" in done.stderr, done.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
