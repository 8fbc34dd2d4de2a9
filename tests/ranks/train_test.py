#!/usr/bin/env python3
"""A training over 1, 2, 3, 4 and 8 ranks has the bytes of one process, and fails as one.

    train_test.py UNWEAVE MPIRUN FAULTS
"""
import json
import pathlib
import shutil
import sys
import tempfile

from support import Launcher, bytes_of, calls_of, check

SOLVERS = {"exact": [], "newton": ["--head", "softmax"], "retrain": ["--head", "least-squares"], "scalegun": []}
FEATURES = 25  # an intercept among them
OPTIONS = ["--seed", "4", "--threads", "1", "--json", "--quiet"]
TOLD = ("accuracy_train", "accuracy_valid", "accuracy_test", "training_rows", "steps", "passes", "residual_bound")


def planned(mpi, folder, store):
    """What a training says is sums and curvatures of the sizes that `plan` tells, and what is sent once."""
    classes = json.loads(mpi.alone("info", store, "--json"))["classes"]
    for solver, head in (("newton", "softmax"), ("newton-step", "logistic")):
        words = ["--solver", solver, "--head", head]
        for ranks in (2, 4):
            shutil.copytree(store, folder / "many")
            report = json.loads(mpi.run(ranks, "train", folder / "many", *words, *OPTIONS, sizes=folder / "sizes"))
            shutil.rmtree(folder / "many")
            plan = json.loads(mpi.alone("plan", store, *words, "--ranks", ranks, "--json"))
            check(plan["rows"] == report["training_rows"], f"{report} {plan}")
            others = ranks - 1
            # Every sum goes from rank to rank, and then, behind eight bytes that say that all is well, to all.
            size = lambda name: (plan[name]["received_bytes"] // others - 8) // 2
            broadcasts = [int(line) for line in (folder / "sizes").read_text().splitlines()]
            (folder / "sizes").unlink()
            sums = [bytes for well, bytes in zip(broadcasts, broadcasts[1:]) if well == 8]
            check(sums.count(size("gradient")) > 2 and sums.count(size("product")) > 0, f"{solver}: {plan} {broadcasts}")
            curvatures = plan["preconditioner"]["received_bytes"] // others
            verbs = plan["preconditioner"]["verbs"]  # each rank's curvatures, then the factor of each class
            refreshes = [sum(broadcasts[i:i + verbs]) for i in range(len(broadcasts))].count(curvatures)
            check(verbs == ranks + classes and refreshes > 2, f"{solver}: {plan} {broadcasts}")
            told = others * (sum(2 * bytes + 8 for bytes in sums if bytes <= size("gradient")) + refreshes * curvatures)
            told += others * plan["rows"] * (8 + 4 * FEATURES)  # norms, and the rows of which the preconditioner picks, once
            check(0.98 < told / report["ranks_received_bytes"] <= 1, f"{solver}: {told} of {report}")


def main(program, mpirun, faults):
    mpi = Launcher(program, mpirun, faults)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        store = folder / "s"
        mpi.alone("generate", store, "--model", "sbm", "--nodes", "9000", "--features", FEATURES - 1, "--seed", "3", "--quiet")
        mpi.alone("propagate", store, "--hops", "2", "--quiet")
        key = store / "certificates" / "signing-key"
        key.parent.mkdir(exist_ok=True)
        key.write_text("7" * 64 + "\n")  # so that certificates compare
        key.chmod(0o600)

        for solver, head in SOLVERS.items():
            words = ["--solver", solver, *head, *OPTIONS]
            shutil.copytree(store, folder / "one")
            alone = json.loads(mpi.alone("train", folder / "one", *words))
            expected = bytes_of(folder / "one")
            shutil.rmtree(folder / "one")
            for ranks in (1, 2, 3, 4, 8):
                shutil.copytree(store, folder / "many")
                report = json.loads(mpi.run(ranks, "train", folder / "many", *words))
                check(report.get("ranks", 1) == ranks, f"{ranks} ranks: {report}")
                for field in TOLD:
                    check(report.get(field) == alone.get(field), f"{solver}, {ranks} ranks: {field} {report.get(field)}, alone {alone.get(field)}")
                check(bytes_of(folder / "many") == expected, f"{solver}, {ranks} ranks: other bytes")
                print(f"{solver}, {ranks} ranks: {report.get('ranks_sent_bytes', 0)} bytes in {report.get('ranks_verbs', 0)} verbs", flush=True)
                shutil.rmtree(folder / "many")

        planned(mpi, folder, store)

        # What one rank must do alone is refused, and told once; so is what one rank alone comes upon.
        before = bytes_of(store)
        for words, code, part in [(["--solver", "rewind"], 1, "does not train over several ranks"), (["--lambda", "-1"], 1, "lambda"),
                                  (["--key", folder / "no-key"], 2, "no-key")]:
            done = mpi.run(3, "train", store, *words, code=None)
            said = [line for line in done.stderr.splitlines() if line.startswith("unweave: ")]
            check(len(said) == 1 and part in said[0], f"{words}: {done.stderr}")
            check(done.returncode == code, f"{words}: exit code {done.returncode}: {done.stderr}")
        check(bytes_of(store) == before, "a refusal has changed the store")

        # A rank that dies, or whose call fails, ends the job, and the next one trains as if nothing had been.
        words = ["--solver", "newton", *OPTIONS]
        shutil.copytree(store, folder / "many")
        mpi.run(3, "train", folder / "many", *words, calls=folder / "calls")
        expected = bytes_of(folder / "many")
        trained = (folder / "many" / "models" / "newton.model").read_bytes()
        calls = calls_of(folder / "calls")
        begun_anew = 0
        for rank in range(3):
            for kind, share in (("kill", 0.1), ("fail", 0.5), ("kill", 0.9)):
                shutil.rmtree(folder / "many")
                shutil.copytree(store, folder / "many")
                mpi.run(3, "train", folder / "many", *words, fault=f"{rank} {max(1, int(calls[rank] * share))} {kind}", code=None, timeout=60)
                mpi.alone("verify", folder / "many", "--quiet")
                model = folder / "many" / "models" / "newton.model"
                if model.exists():
                    check(model.read_bytes() == trained, f"after {rank} {kind}: another model")
                    continue
                mpi.run(2, "train", folder / "many", *words)
                check(bytes_of(folder / "many") == expected, f"after {rank} {kind}: other bytes")
                begun_anew += 1
        check(begun_anew >= 6, f"{begun_anew} trainings ended before their model was written")


if __name__ == "__main__":
    main(*sys.argv[1:])
