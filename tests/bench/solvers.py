#!/usr/bin/env python3
# tests/bench/solvers.py - every solver on the same stream of removals, side by side.
#
#   python3 tests/bench/solvers.py --unweave build/release/unweave --data FOLDER [--sets cora,photo] [--solvers newton,langevin]
#   python3 tests/bench/solvers.py --unweave build/release/unweave --store FOLDER --lambda 1e-4
#
# Data sets and splits as in removals.py; features are normalised row by row. Or a store of one's own, already propagated, which
# stays as it is. The stream of a data set is drawn once: batches of 20 edges drawn uniformly, 4 training nodes and 1
# training feature each, sent with --non-adaptive. Each solver gets its own copy of the propagated store (links to its files,
# which are never written again), and --epsilon, --delta and --lambda alone. Prints a Markdown table a data set and
# JSON lines. Needs numpy and, for .zst, zstd.
#
# "ε spent" on a removal is that of all releases after it together, or of each of them alone: what the newest certificate's
# `releases` says.
# "bound of budget" is the worst batch's residual bound as a share of what its claim allows: of epsilon for langevin.
# "same prediction": of test rows, by it and by its retrained model.
# "audit" is the lower bound of epsilon that `unweave audit` finds with the canary of the largest gradient, --audit-trials
# releases of each kind on --audit-rows rows, and in brackets the largest that so few trials could show: where both agree,
# the removal is seen every time. "refuted" beside them contradicts a certificate. An audit that takes longer than
# --audit-seconds is left out; a solver that takes longer than --seconds for another command is given up. Both are said.
import argparse
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import real_graphs

sys.path.append(str(real_graphs.PROJECT / "tools" / "scripts"))
import command_reference  # noqa: E402

LAMBDA = {"cora": 1e-4, "citeseer": 1e-4, "photo": 1e-5, "coauthor-cs": 1e-4, "debian": 1e-5}
EDGES, NODES, FEATURES = 20, 4, 1
REFUTED = 4  # exit code of an audit
HEAD = ("solver", "test before", "after", "training s", "propagation s", "unlearning s", "passes", "retrained", "certified",
        "by", "ε spent", "bound of budget", "from its retrained model", "same prediction", "audit: ε at least")


def stream_of(run, store, batches, work):
    """Request lines, a batch after the other; no node is named twice."""
    def drawn(kind, count):
        run("export", store, "--requests", work / "drawn.txt", "--draw", kind, "--count", count, "--seed", 1, "--quiet")
        return (work / "drawn.txt").read_text().split("\n")[:-1]

    edges, nodes = drawn("edge", EDGES * batches), drawn("node", (NODES + FEATURES) * batches)
    lines = []
    for b in range(batches):
        named = nodes[b * (NODES + FEATURES):(b + 1) * (NODES + FEATURES)]
        lines += edges[b * EDGES:(b + 1) * EDGES] + named[:NODES] + [f"feature {line.split()[1]}" for line in named[NODES:]]
    return lines


def mean(batches, field):
    return float(np.mean([batch[field] for batch in batches]))


def share_of(batches):
    """The largest residual bound of a batch as a share of its budget; none where one of them has none."""
    shares = [b["residual_bound"] / b["budget"] for b in batches if b["residual_bound"] is not None and b["budget"]]
    return max(shares) if len(shares) == len(batches) else None


def spent(row, epsilon):
    """What the newest certificate says: epsilon covers a removal in all later releases together, or in each alone."""
    if row["certified"] < row["batches"]:
        return "-"
    return f"{epsilon:g} " + ("for all" if row["releases"] == "all-later" else "each")


def audit_of(run, solver, store, args):
    if args.audit_trials == 0:
        return None
    try:
        out = run("audit", store, "--solver", solver, "--canary", "gradient", "--trials", args.audit_trials, "--rows",
                  args.audit_rows, "--json", codes=(0, REFUTED), seconds=args.audit_seconds)
    except subprocess.TimeoutExpired:
        return {"gave_up": args.audit_seconds}
    fields = ("epsilon_lower_bound", "epsilon_provable", "certified", "refuted", "attack")
    return {field: json.loads(out)[field] for field in fields}


def one_solver(run, solver, store, requests, args, lam):
    options = ("--epsilon", args.epsilon, "--delta", args.delta, "--lambda", lam,
               "--head", args.head)
    before = json.loads(run("train", store, "--no-intercept", "--solver", solver, *options, "--json"))
    out = run("stream", store, "--requests", requests, "--batch", EDGES + NODES + FEATURES, "--solver", solver,
              "--non-adaptive", "--evaluate-every", args.batches, "--json")
    batches = [json.loads(line) for line in out.splitlines()]
    compared = json.loads(run("evaluate", store, "--solver", solver, "--retrain", "--json").splitlines()[0])
    if not args.store:  # of a large store it reads every byte
        run("verify", store)
    certificate = json.loads((store / "certificates" / f"{solver}.jsonl").read_text().splitlines()[-1])
    audit = audit_of(run, solver, store, args)
    return {"solver": solver, "before": before["accuracy_test"], "after": batches[-1]["accuracy_test"],
            "seconds_train": before["seconds"], "seconds_propagate": mean(batches, "seconds_propagate"),
            "seconds_unlearn": mean(batches, "seconds_unlearn"), "passes": mean(batches, "passes"),
            "passes_train": before["passes"], "retrained": sum(b["retrained"] for b in batches),
            "certified": sum(b["certified"] for b in batches), "batches": len(batches), "claim": batches[-1]["claim"],
            "releases": certificate.get("releases"), "rows_touched": mean(batches, "rows_touched"), "share": share_of(batches), "epsilon": args.epsilon,
            "distance": compared["retrained_distance"], "cosine": compared["retrained_cosine"],
            "agreement": compared["agreement_test"], "kl": compared["kl_test"], "audit": audit}


def audit_text(audit):
    if audit is None:
        return "-"
    if "gave_up" in audit:
        return f"over {audit['gave_up']:g} s"
    return f"{audit['epsilon_lower_bound']:.2f} ({audit['epsilon_provable']:.2f})" + (" refuted" if audit["refuted"] else "")


def cells(row):
    claim = row["claim"] if row["certified"] else "no"
    numbers = ["-" if row[name] is None else f"{row[name]:.3g}" for name in ("share", "distance", "agreement")]
    return (row["solver"], f"{100 * row['before']:.2f}", f"{100 * row['after']:.2f}", f"{row['seconds_train']:.2f}",
            f"{row['seconds_propagate']:.4f}", f"{row['seconds_unlearn']:.3f}", f"{row['passes']:.0f}",
            f"{row['retrained']} of {row['batches']}", f"{row['certified']} of {row['batches']}", claim, spent(row, row["epsilon"]), *numbers,
            audit_text(row["audit"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--sets", default="cora,citeseer,photo,coauthor-cs,debian")
    parser.add_argument("--store", type=pathlib.Path, help="a propagated store with labels, instead of sets")
    parser.add_argument("--lambda", dest="lam", type=float)
    parser.add_argument("--solvers", help="names with commas between; default: all that the program has")
    parser.add_argument("--head", default="logistic", help="mlp is for those that train networks")
    parser.add_argument("--scheme", default="sgc", help="of propagate")
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=1)
    parser.add_argument("--delta", type=float, default=1e-4)
    parser.add_argument("--audit-trials", type=int, default=32, help="0: no audit")
    parser.add_argument("--audit-rows", type=int, default=200)
    parser.add_argument("--audit-seconds", type=float, default=300)
    parser.add_argument("--seconds", type=float, help="most that a command of a solver may take")
    parser.add_argument("--work", help="folder for stores")
    args = parser.parse_args()
    run = real_graphs.runner(args.unweave)
    solvers = args.solvers.split(",") if args.solvers else command_reference.solvers_of(run("train", "--help"))
    limited = functools.partial(run, seconds=args.seconds)
    for name in [str(args.store)] if args.store else args.sets.split(","):
        work = pathlib.Path(tempfile.mkdtemp(prefix="solvers-", dir=args.work))
        fresh, lam = (args.store, args.lam) if args.store else (work / "fresh", args.lam or LAMBDA[name])
        if not args.store:
            folder = real_graphs.folder_of(name, args.data)
            run("import", fresh, *real_graphs.import_arguments(name, folder, real_graphs.splits(name, folder, work)[0]))
            bits = 28 if args.scheme == "chebyshev" else 24
            run("propagate", fresh, "--hops", 2, "--scheme", args.scheme, "--scale-bits", bits, "--rows", "labelled")
        (work / "requests.txt").write_text("\n".join(stream_of(run, fresh, args.batches, work)) + "\n")
        rows = json.loads(run("info", fresh, "--json"))["train"]
        print(f"\n{name}, {rows:,} training rows, λ = {lam:g}:\n")
        print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
        for solver in solvers:
            shutil.copytree(fresh, work / "store", copy_function=os.link)
            try:
                row = one_solver(limited, solver, work / "store", work / "requests.txt", args, lam)
                text = cells(row)
            except subprocess.TimeoutExpired as late:
                row = {"solver": solver, "gave_up": late.cmd[1]}
                text = (solver, f"given up: {late.cmd[1]} took more than {args.seconds:g} s") + ("",) * (len(HEAD) - 2)
            shutil.rmtree(work / "store")
            print(json.dumps({"set": name, **row}), file=sys.stderr, flush=True)
            print("| " + " | ".join(text) + " |", flush=True)
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
