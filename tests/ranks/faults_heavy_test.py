#!/usr/bin/env python3
"""Ranks are killed, or one of their calls fails, at random, a hundred and five hundred times; each next start makes up for it.

    faults_heavy_test.py UNWEAVE MPIRUN FAULTS [SEED [FIRST]]

Each trial draws what is shared, by how many ranks, and the call of one of them that is the last or fails; half of those that are
killed die some time after it, amid their work. The job must end with one error within seconds. What a start with another number of
ranks then leaves is compared with what one process does, and streams with what was acknowledged. Trial number N depends on SEED and
N alone: FIRST begins with that one.
"""
import collections
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from support import Launcher, bytes_of, calls_of, check

KILLS, FAILURES = 100, 500
MOST_SECONDS = 60  # for a machine that has much else to do; seconds as a rule
REQUESTS, BATCH = 600, 100


class Shared:
    """Work that ranks share: a start from nothing, and how a next one makes up for a job that has ended."""

    most_ranks = 4

    def __init__(self, mpi, folder):
        self.mpi, self.folder, self.there = mpi, folder, folder / "many"
        self.calls = {}  # how many each rank makes, by the number of ranks
        self.prepare()

    def start(self):
        shutil.rmtree(self.there, ignore_errors=True)
        shutil.copytree(self.template, self.there)

    def run(self, ranks, words):
        return self.mpi.run(ranks, *words) if ranks > 1 else self.mpi.alone(*words)

    def calls_with(self, ranks, draw):
        if ranks not in self.calls:
            self.start()
            self.mpi.run(ranks, *self.words(draw), calls=self.folder / "calls")
            self.calls[ranks] = calls_of(self.folder / "calls")
        return self.calls[ranks]


class Propagation(Shared):
    options = ["--hops", "2", "--rows", "all", "--scale-bits", "14", "--threads", "1", "--quiet"]
    ways = ("columns", "rows")

    def prepare(self):
        self.template = self.folder / "propagation"
        if not self.template.exists():
            self.mpi.alone("generate", self.template, "--model", "rmat", "--scale", "18", "--edge-factor", "1", "--features", "4", "--feature-type", "f16",
                           "--seed", "1", "--quiet")
        self.start()
        self.mpi.alone("propagate", self.there, *self.options)
        self.expected = bytes_of(self.there)

    def words(self, draw):
        return ["propagate", self.there, *self.options, "--share", self.way]

    def make_up(self, draw, stdout):
        self.mpi.alone("verify", self.there, "--quiet")
        ranks = draw.randint(1, 4)
        self.run(ranks, ["propagate", self.there, *self.options, *(["--share", draw.choice(self.ways)] if ranks > 1 else [])])
        check(bytes_of(self.there) == self.expected, f"{ranks} ranks next: other bytes")


class Columns(Propagation):
    way = "columns"


class Rows(Propagation):
    way = "rows"


class Import(Shared):
    def prepare(self):
        self.mpi.alone("export", self.folder / "propagation", "--all", self.folder / "all", "--quiet")
        self.start()
        self.mpi.alone(*self.words(None))
        self.expected = bytes_of(self.there)

    def start(self):
        shutil.rmtree(self.there, ignore_errors=True)

    def words(self, draw):
        return ["import", self.there, "--edges", self.folder / "all" / "edges.npy", "--features", self.folder / "all" / "features.npy", "--feature-type", "f16",
                "--threads", "1", "--quiet"]

    def make_up(self, draw, stdout):
        if (self.there / "manifest.json").exists():
            # The mark of an unfinished store goes after the manifest has come; the next writer takes what is left of it.
            (self.there / "unfinished").unlink(missing_ok=True)
            check(bytes_of(self.there) == self.expected, "a store with other bytes")
            return
        ranks = draw.randint(1, 4)
        self.run(ranks, self.words(draw))
        check(bytes_of(self.there) == self.expected, f"{ranks} ranks next: other bytes")


class Stream(Shared):
    options = ["--threads", "1", "--json", "--quiet"]

    def prepare(self):
        self.template = self.folder / "stream"
        self.mpi.alone("generate", self.template, "--model", "sbm", "--nodes", "3000", "--features", "12", "--classes", "4", "--seed", "1", "--quiet")
        self.mpi.alone("propagate", self.template, "--hops", "2", "--rows", "labelled", "--quiet")
        edges = self.mpi.alone("export", self.template, "--requests", "-", "--draw", "edge", "--count", REQUESTS, "--quiet").splitlines()
        draw = random.Random(1)
        row = lambda: " ".join(f"{c}:{draw.uniform(-0.2, 0.2):.4f}" for c in sorted(draw.sample(range(12), 4)))
        others = [lambda: f"insert-edge {draw.randrange(3000)} {draw.randrange(3000)}", lambda: f"feature {draw.randrange(3000)}",
                  lambda: f"set-feature {draw.randrange(3000)} {row()}", lambda: f"node {draw.randrange(3000)}",
                  lambda: f"set-label {draw.randrange(3000)} {draw.randrange(4)}", lambda: f"insert-node {draw.randrange(3000)} {row()}"]
        self.lines = [edge if i % 2 else draw.choice(others)() for i, edge in enumerate(edges)]
        self.requests = self.folder / "requests"
        self.requests.write_text("".join(line + "\n" for line in self.lines))
        self.start()
        self.mpi.alone(*self.words(None))
        self.expected = self.digest()

    def digest(self):
        return json.loads(self.mpi.alone("info", self.there, "--digest", "--json"))["digest"]

    def words(self, draw):
        return ["stream", self.there, "--requests", self.requests, "--batch", BATCH, *self.options]

    def make_up(self, draw, stdout):
        told = [json.loads(line)["last_request"] for line in stdout.splitlines(keepends=True) if line.startswith("{") and line.endswith("}\n")]
        there = json.loads(self.mpi.alone("info", self.there, "--json"))["acknowledged"]
        check(there >= max(told, default=0), f"{there} requests are there, of which {max(told, default=0)} were acknowledged")
        rest = self.folder / "rest"
        rest.write_text("".join(line + "\n" for line in self.lines[there:]))
        ranks = draw.randint(1, 4)
        self.run(ranks, ["stream", self.there, "--requests", rest, "--batch", draw.choice((50, BATCH, 400)), *self.options])
        check(self.digest() == self.expected, f"{ranks} ranks next, from request {there}: another digest")
        self.mpi.alone("verify", self.there, "--quiet")


class Training(Shared):
    options = ["--seed", "4", "--threads", "1", "--quiet"]

    def prepare(self):
        self.template = self.folder / "training"
        if not self.template.exists():
            self.mpi.alone("generate", self.template, "--model", "sbm", "--nodes", "5000", "--features", "8", "--seed", "3", "--quiet")
            self.mpi.alone("propagate", self.template, "--hops", "1", "--quiet")
            key = self.template / "certificates" / "signing-key"
            key.parent.mkdir(exist_ok=True)
            key.write_text("7" * 64 + "\n")  # so that certificates compare
            key.chmod(0o600)
        self.start()
        self.mpi.alone(*self.words(None))
        self.model = (self.there / "models" / f"{self.solver}.model").read_bytes()

    def words(self, draw):
        return ["train", self.there, "--solver", self.solver, *self.options]

    def make_up(self, draw, stdout):
        self.mpi.alone("verify", self.there, "--quiet")
        # Between its parts a release is what a killed process leaves, too: one process goes on from there alike.
        model = self.there / "models" / f"{self.solver}.model"
        if model.exists():
            check(model.read_bytes() == self.model, "a model with other bytes")
        one = self.folder / "one"
        shutil.rmtree(one, ignore_errors=True)
        shutil.copytree(self.there, one)
        self.mpi.alone("train", one, "--solver", self.solver, *self.options)
        ranks = draw.randint(1, 4)
        self.run(ranks, self.words(draw))
        check(bytes_of(self.there) == bytes_of(one), f"{ranks} ranks next: other bytes")


class Newton(Training):
    solver = "newton"


class Exact(Training):
    solver = "exact"


def end(mpi, shared, ranks, draw, fault):
    """Runs into the fault; what came on standard output, whether it was struck, and how long it took."""
    begin = time.monotonic()
    done = subprocess.run(mpi.command(ranks, *shared.words(draw), fault=fault), env=mpi.environment, capture_output=True, text=True, timeout=MOST_SECONDS)
    seconds = time.monotonic() - begin
    said = [line for line in done.stderr.splitlines() if line.startswith("unweave: ") and "interrupted" not in line]
    if "fail" in fault:
        check(done.returncode != 0 and len(said) == 1 and "MPI: " in done.stderr, f"exit code {done.returncode}: {done.stderr}")
    else:
        check(len(said) <= 1, done.stderr)
        check(done.returncode == 0 or done.stderr + done.stdout, "nothing was said")
    return done.stdout, done.returncode != 0, seconds


def main(program, mpirun, faults, seed=None, first=0):
    mpi = Launcher(program, mpirun, faults)
    seed = random.SystemRandom().randrange(10**6) if seed is None else int(seed)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        works = [kind(mpi, folder) for kind in (Columns, Rows, Import, Stream, Newton, Exact)]
        ends = collections.Counter()
        slowest = kills = failures = 0
        number = int(first)
        while kills < KILLS or failures < FAILURES:
            draw = random.Random(f"{seed} {number}")
            shared = draw.choice(works)
            ranks = draw.randint(2, shared.most_ranks)
            calls = shared.calls_with(ranks, draw)
            rank = draw.randrange(ranks)
            kill = draw.random() < KILLS / (KILLS + FAILURES)
            fault = f"{rank} {draw.randint(1, calls[rank])} " + ("kill " + str(draw.choice((0, draw.randrange(1, 30_000)))) if kill else "fail")
            name = f"seed {seed}, trial {number}: {type(shared).__name__}, {ranks} ranks, fault {fault}"
            try:
                shared.start()
                stdout, struck, seconds = end(mpi, shared, ranks, draw, fault)
                shared.make_up(draw, stdout)
            except subprocess.SubprocessError as error:
                sys.exit(f"{name}: {error} {getattr(error, 'stderr', '')}")
            except SystemExit as failed:
                sys.exit(f"{name}: {failed}")
            if struck:
                slowest = max(slowest, seconds)
                kills, failures = kills + kill, failures + (not kill)
                ends[f"{type(shared).__name__} {'killed' if kill else 'failed'}"] += 1
            number += 1
            if number % 50 == 0:
                print(f"{number} trials: {kills} kills, {failures} failures, the slowest end after {slowest:.1f} s", flush=True)
        print(f"{kills} kills, {failures} failures: {dict(sorted(ends.items()))}; the slowest end after {slowest:.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
