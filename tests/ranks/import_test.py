#!/usr/bin/env python3
"""An import over 1, 2, 3, 4 and 8 ranks has the bytes and the report of one process; a killed rank leaves what the next one removes.

    import_test.py UNWEAVE MPIRUN FAULTS
"""
import json
import pathlib
import shutil
import sys
import tempfile

from support import Launcher, bytes_of, calls_of, check

RANKS = (1, 2, 3, 4, 8)
# What depends on the machine, the moment, or the memory of all ranks together.
OTHERS = ("seconds", "per_second", "predicted", "peak", "ranks", "spooled", "bytes_read", "bytes_written", "major_faults")


def facts(report):
    """The fields of a report that are of the store and its input."""
    return {key: value for key, value in report.items() if not any(word in key for word in OTHERS)}


def inputs(mpi, folder):
    """Files of a graph of three spans, as text and as arrays."""
    mpi.alone("generate", folder / "g", "--model", "sbm", "--nodes", "150000", "--features", "12", "--seed", "4", "--quiet")
    mpi.alone("export", folder / "g", "--all", folder / "all", "--quiet")
    lines = [f"{u} {(u * 7919 + 3) % 140000}" for u in range(1, 140000)]
    lines += lines[:500] + ["9 9", "3 1"]
    (folder / "e.txt").write_text("\n".join(lines) + "\n")
    (folder / "bad.txt").write_text("\n".join(lines) + "\n12 -\n")
    return {path.name: path for path in (folder / "all").iterdir()}


def killed(mpi, folder, words, expected):
    """Each rank is killed at some of its calls, or the call fails."""
    mpi.run(3, "import", folder / "many", *words, calls=folder / "calls")
    shutil.rmtree(folder / "many")
    calls = calls_of(folder / "calls")
    left = kills = 0
    for rank, number in sorted(calls.items()):
        points = sorted({max(1, number // 3), number // 2, number * 2 // 3, number - 2})
        for call, kind in [(call, kind) for call in points for kind in ("kill", "fail")]:
            mpi.run(3, "import", folder / "many", *words, fault=f"{rank} {call} {kind}", code=None)
            kills += 1
            left += (folder / "many" / "unfinished").exists()
            if (folder / "many" / "manifest.json").exists():
                (folder / "many" / "unfinished").unlink(missing_ok=True)  # the next writer does so
                check(bytes_of(folder / "many") == expected, f"rank {rank}, call {call}: a store with other bytes")
            else:
                again = (lambda *all: mpi.alone(*all)) if call % 2 else (lambda *all: mpi.run(2, *all))
                again("import", folder / "many", *words)
                check(bytes_of(folder / "many") == expected, f"rank {rank}, call {call}, {kind}: other bytes after the next import")
            shutil.rmtree(folder / "many", ignore_errors=True)
    check(left > 0, "no job has left anything to remove")
    print(f"{kills} jobs ended, {left} of which left something", flush=True)


def main(program, mpirun, faults):
    mpi = Launcher(program, mpirun, faults)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        files = inputs(mpi, folder)
        arrays = ["--edges", files["edges.npy"], "--features", files["features.npy"], "--labels", files["labels.npy"]]
        relations = ["--relation", f"a={folder / 'e.txt'}", "--relation", f"b={files['edges.npy']}", "--subset", "a,b", *arrays[2:]]
        ways = [["--edges", folder / "e.txt"], arrays, [*arrays, "--feature-type", "f16", "--memory", "64M"],
                [*arrays, "--directed"], [*relations, "--directed"]]
        for way in ways:
            words = [*way, "--threads", "1", "--json", "--quiet"]
            alone = facts(json.loads(mpi.alone("import", folder / "one", *words)))
            expected = bytes_of(folder / "one")
            for ranks in RANKS:
                report = json.loads(mpi.run(ranks, "import", folder / "many", *words))
                check(report.get("ranks", 1) == ranks, f"{ranks} ranks: {report}")
                check(facts(report) == alone, f"{ranks} ranks, {way}: {facts(report)} {alone}")
                check(bytes_of(folder / "many") == expected, f"{ranks} ranks, {way}: other bytes")
                shutil.rmtree(folder / "many")
            if way is arrays:
                killed(mpi, folder, words, expected)
            shutil.rmtree(folder / "one")

        for words, code, remedy in [(["--edges", folder / "bad.txt"], 2, "bad.txt"), (["--edges", folder / "bad.txt", "--nodes", "150000"], 2, "bad.txt"),
                                    (["--edges", folder / "none.txt"], 2, "none.txt"), (["--edges", "-"], 1, "one process"),
                                    ([*ways[0], "--order", "bfs"], 1, "one process"), ([*ways[0], "--plan"], 1, "one process")]:
            done = mpi.run(3, "import", folder / "many", *words, code=code)
            told = [line for line in done.stderr.splitlines() if line.startswith("unweave: ")]
            check(len(told) == 1 and remedy in told[0], f"{words}: {done.stderr}")
            check(not (folder / "many").exists(), f"{words}: something is left")


if __name__ == "__main__":
    main(*sys.argv[1:])
