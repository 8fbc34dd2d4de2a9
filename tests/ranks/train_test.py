#!/usr/bin/env python3
"""A training of several ranks has the bytes of one process, and fails as a whole.

    train_test.py MPIRUN UNWEAVE

UNWEAVE is the program that MPIRUN's ranks run. Exit code 77: MPIRUN is not installed.
"""
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOLVERS = {"exact": [], "newton": ["--head", "softmax"], "retrain": ["--head", "least-squares"], "scalegun": []}
# Threads of a rank say nothing about bits, and ranks are more than cores here.
COMMON = ["--seed", "4", "--threads", "1", "--json", "--quiet"]


def digest(store):
    """Every byte of a store."""
    sums = hashlib.sha256()
    for file in sorted(path for path in store.rglob("*") if path.is_file()):
        sums.update(f"{file.relative_to(store)}\n".encode() + hashlib.sha256(file.read_bytes()).digest())
    return sums.hexdigest()


def launcher(mpirun, ranks):
    more = ["--oversubscribe", "--allow-run-as-root"] if "openmpi" in mpirun else []
    return [mpirun, *more, "-n", str(ranks)]


def run(words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600, check=False)


def require(holds, what, done=None):
    if not holds:
        sys.exit(what if done is None else f"{what}\n{done.args}\n{done.stdout}{done.stderr}")


def main():
    mpirun, unweave = sys.argv[1:]
    if shutil.which(mpirun) is None:
        print(f"{mpirun} is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        imported = folder / "imported"
        made = run([unweave, "generate", imported, "--model", "sbm", "--nodes", "6000", "--features", "24", "--seed", "3", "--quiet"])
        require(made.returncode == 0, "generate failed", made)
        made = run([unweave, "propagate", imported, "--hops", "2", "--quiet"])
        require(made.returncode == 0, "propagate failed", made)
        (imported / "certificates").mkdir(exist_ok=True)
        key = imported / "certificates" / "signing-key"
        key.write_text("7" * 64 + "\n")  # so that certificates compare
        key.chmod(0o600)

        def trained(words, solver, place):
            store = folder / place
            shutil.copytree(imported, store)
            done = run([*words, unweave, "train", store, "--solver", solver, *SOLVERS.get(solver, []), *COMMON])
            return store, done

        for solver in SOLVERS:
            alone, done = trained([], solver, f"{solver}-alone")
            require(done.returncode == 0, f"{solver} alone failed", done)
            one = json.loads(done.stdout)
            for ranks in (1, 2, 3, 4, 8):
                store, done = trained(launcher(mpirun, ranks), solver, f"{solver}-{ranks}")
                require(done.returncode == 0, f"{solver} over {ranks} ranks failed", done)
                require(len(done.stdout.splitlines()) == 1, f"{solver} over {ranks} ranks says it more than once", done)
                said = json.loads(done.stdout)
                require(said.get("ranks", 1) == ranks, f"{solver}: it trained on {said.get('ranks', 1)} ranks, not on {ranks}", done)
                for field in ("accuracy_train", "accuracy_test", "training_rows", "steps"):
                    require(said.get(field) == one.get(field), f"{solver} over {ranks} ranks: another {field}", done)
                require(digest(store) == digest(alone), f"{solver} over {ranks} ranks leaves other files than one process")
                print(f"{solver}, {ranks} ranks: sent {said.get('sent_bytes', 0)} bytes", flush=True)
                shutil.rmtree(store)

        before = digest(imported)
        store, done = trained(launcher(mpirun, 3), "rewind", "refused")
        require(done.returncode == 1, "a solver that trains alone is refused with exit code 1", done)
        require(done.stderr.count("does not train over several ranks") == 1, "the refusal is told once", done)
        require(digest(store) == before, "a refusal leaves the store as it was")


if __name__ == "__main__":
    main()
