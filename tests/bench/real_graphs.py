# tests/bench/real_graphs.py - what the benchmarks on real graphs share: files, splits, the arguments of import, runs.
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def limits_of(unweave):
    """runner() of unweave_bench, the program of tests/bench/limits that is built with `unweave`."""
    return runner(pathlib.Path(unweave).parent / "tests" / "unweave_bench")


def runner(unweave):
    """A function that runs one command of unweave and returns what it prints; an exit code that is not one of `codes` ends
    this program. What it remarks on standard error is added to the list `remarks`. Past `seconds`, where given, it is
    stopped: subprocess.TimeoutExpired."""

    def run(*words, remarks=None, codes=(0,), seconds=None):
        done = subprocess.run([unweave, *map(str, words)], capture_output=True, text=True, check=False, timeout=seconds)
        if done.returncode not in codes:
            sys.exit(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.returncode}")
        if remarks is not None:
            remarks.append(done.stderr)
        return done.stdout

    return run


def folder_of(name, data):
    """Where a data set lies; debian comes with the project, the others under `data`."""
    if name == "debian":
        return PROJECT / "tests/data/debian-deps"
    if data is None:
        sys.exit(f"{name}: name the folder of the data sets with --data")
    return data / {"photo": "amazon-photo"}.get(name, name)


def find(folder, name):
    for path in (folder / name, folder / (name + ".zst")):
        if path.exists():
            return path
    return None


def load(path):
    if path.suffix != ".zst":
        return np.load(path)
    with tempfile.TemporaryFile() as plain:
        subprocess.run(["zstd", "-dcq", str(path)], stdout=plain, check=True)
        plain.seek(0)
        return np.load(plain)


def splits(name, folder, work):
    """Writes the split files; returns the --split argument and the training nodes."""
    labels = load(find(folder, "labels.npy")).ravel()
    if name == "photo":
        order = np.random.default_rng(0).permutation(len(labels))
        valid, test = np.sort(order[:500]), np.sort(order[500:1500])
    else:
        valid, test = load(find(folder, "val_idx.npy")), load(find(folder, "test_idx.npy"))
    train = np.setdiff1d(np.flatnonzero(labels >= 0), np.concatenate([valid, test]))
    if name == "debian":
        train = load(find(folder, "train_idx.npy"))
    for part, ids in (("train", train), ("valid", valid), ("test", test)):
        np.save(work / f"{part}.npy", ids.astype(np.int64))
    return ",".join(f"{p}={work / p}.npy" for p in ("train", "valid", "test")), train


def import_arguments(name, folder, split):
    """The sources of a data set, as arguments of import."""
    indices = find(folder, "feat_indices.npy")
    meta = json.loads((folder / "meta.json").read_text()) if (folder / "meta.json").exists() else {}
    columns = meta.get("features", 2575 if name == "debian" else int(load(indices).max()) + 1)
    values = find(folder, "feat_values.npy")
    features = f"indptr={find(folder, 'feat_indptr.npy')},indices={indices}" + (f",values={values}" if values else "")
    return ("--edges", find(folder, "edges.tsv"), "--features", features, "--columns", columns, "--labels",
            find(folder, "labels.npy"), "--split", split)
