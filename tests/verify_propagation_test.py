#!/usr/bin/env python3
"""tests/verify_propagation_test.py PROGRAM - tools/audit/verify_propagation.py on stores of every layout, whole and falsified."""
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import numpy as np

RELEASE = pathlib.Path(__file__).resolve().parent / "golden" / "releases" / "0.1.0.tar.xz"
VERIFIER = pathlib.Path(__file__).resolve().parent.parent / "tools" / "audit" / "verify_propagation.py"
HEADER = 128


def run(*words, code=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == code, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def verify(store, code=0):
    return run(sys.executable, "-B", VERIFIER, store, "--jobs", 2, code=code)


class Stores:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        random = np.random.default_rng(7)
        self.files = {}
        # A hub whose sums need 64 bits, leaves whose lists repeat themselves, a clique, some random edges, isolated nodes.
        edges = [(0, leaf) for leaf in range(1, 1500)] + [(i, j) for i in range(1500, 1600) for j in range(1500, i)]
        edges += [(int(u), int(v)) for u, v in random.integers(1400, 2900, (4000, 2)) if u != v]
        edges += [(int(u), int(v)) for u, v in random.integers(2000, 2900, (30000, 2)) if u != v]
        (folder / "edges.tsv").write_text("".join(f"{u}\t{v}\n" for u, v in edges))
        features = random.random((3000, 37), dtype=np.float32)
        features /= np.linalg.norm(features, axis=1, keepdims=True) * 1.001
        features[:1500] = 0
        features[:1500, 0] = 1  # all of a kind, so that their sum is large
        np.save(folder / "dense.npy", features)
        sparse = np.where(random.random((3000, 37)) < 0.1, features, 0).astype(np.float32)
        rows, columns = np.nonzero(sparse)
        np.save(folder / "indptr.npy", np.searchsorted(rows, np.arange(3001)).astype(np.int64))
        np.save(folder / "indices.npy", columns.astype(np.int32))
        np.save(folder / "values.npy", sparse[rows, columns])
        labels = np.where(random.random(3000) < 0.05, random.integers(0, 4, 3000), -1)
        np.save(folder / "labels.npy", labels.astype(np.int64))

    def make(self, name, features, *propagate, extra=()):
        store = self.folder / name
        f = self.folder
        source = f / "dense.npy" if features == "dense" else f"indptr={f}/indptr.npy,indices={f}/indices.npy,values={f}/values.npy"
        columns = () if features == "dense" else ("--columns", 37)
        run(self.program, "import", store, "--edges", f / "edges.tsv", "--nodes", 3000, "--features", source, *columns,
            "--labels", f / "labels.npy", "--classes", 4, *extra)
        run(self.program, "propagate", store, *propagate)
        return store


def flip(path, at, mask=1):
    data = bytearray(path.read_bytes())
    data[at] ^= mask
    path.write_bytes(data)


def verify_release(folder):
    """Stores of whatever a release could make: layers, types with packed features, pairs, graphs."""
    with tarfile.open(RELEASE) as tar:
        tar.extractall(folder)
    for name in ("arcs-of-relations", "directed", "graphs", "pairs", "relations", "types", "weights"):
        store = folder / name
        manifest = json.loads((store / "manifest.json").read_text())["contents"]
        assert "are the sums of their terms" in verify(store), name
        path = store / manifest["feature_files"][0]["path"]
        flip(path, HEADER + int.from_bytes(path.read_bytes()[24:32], "little") - 1, 0x80)  # the sign of the last value
        assert "level 1: the sums are not those of their terms" in verify(store, 1), name
    assert "real-weights" in verify(folder / "real-weights", 2)


def main(program):
    with tempfile.TemporaryDirectory() as name:
        stores = Stores(program, pathlib.Path(name))
        (stores.folder / "release").mkdir()
        verify_release(stores.folder / "release")
        wide = stores.make("wide", "dense", "--hops", 2, "--rows", "all", "--rho", 1)
        whole = [
            wide,
            stores.make("labelled", "dense", "--hops", 3, "--rows", "labelled"),
            stores.make("sparse", "sparse", "--hops", 2, "--rho", 0),
            stores.make("half", "dense", "--hops", 1, "--rho", 0.3, extra=("--feature-type", "f16")),
            stores.make("half-sparse", "sparse", "--hops", 2, "--scale-bits", 14,
                        extra=("--feature-type", "f16", "--order", "degree")),
        ]
        manifests = {store: json.loads((store / "manifest.json").read_text())["contents"] for store in whole}
        for store in whole:
            said = verify(store)
            assert "are the sums of their terms" in said, said
        # Copies share rows of features, which both of them notice.
        directed = stores.make("directed", "sparse", "--hops", 2, "--rows", "all", extra=("--directed",))
        manifest = json.loads((directed / "manifest.json").read_text())["contents"]
        verify(directed)
        path = directed / manifest["feature_files"][0]["path"]
        at = HEADER + 8 * 3001 + 4 * int.from_bytes(path.read_bytes()[56:64], "little") + 1
        flip(path, at, 4)
        assert "level 1: the sums are not those of their terms" in verify(directed, 1)
        # What the stores were made for is there: wide rows, and blocks of both encodings.
        state = (wide / manifests[wide]["levels"][1]["partitions"][0]["path"]).read_bytes()
        assert int.from_bytes(state[72:80], "little") > 0
        sys.path.insert(0, str(VERIFIER.parent))
        import store_files
        shard = store_files.Sealed(wide, manifests[wide]["shards"][0], "shard")
        blocks = (3000 + 31) // 32
        offsets = shard.view(0, "<u4", blocks + 1).astype(np.int64)
        body = HEADER + 4 * (blocks + 1) + shard.parameters[4]
        encodings = {int(shard.bytes[body + begin]) for begin, end in zip(offsets, offsets[1:]) if end > begin}
        assert encodings == {0, 1}, encodings
        # The lists are those that were given.
        counts, ids = store_files.read_shard(wide, manifests[wide]["shards"][0], 0, 3000)
        given = {tuple(int(x) for x in line.split()) for line in (stores.folder / "edges.tsv").read_text().splitlines()}
        arcs = {arc for u, v in given for arc in ((u, v), (v, u))}
        assert set(zip(np.repeat(np.arange(3000), counts).tolist(), ids.tolist())) == arcs

        for store in whole:
            for level, files in enumerate(manifests[store]["levels"]):
                for entry in files["partitions"]:
                    path = store / entry["path"]
                    sums = store_files.Sums(store, entry, level, 0, 3000, 37)
                    at = HEADER + sums.rows_at + 4 * 37 * (int(sums.rank[-1]) // 2) + 4 * 5 + 2
                    flip(path, at)
                    said = verify(store, 1)
                    assert f"level {level}: the sums are not those of their terms" in said, said
                    flip(path, at)
            path = store / manifests[store]["feature_files"][0]["path"]
            if manifests[store]["sparse_features"]:
                at = HEADER + 8 * 3001 + 4 * int.from_bytes(path.read_bytes()[56:64], "little") + 1
            else:
                at = HEADER + (2 if manifests[store]["feature_type"] == "f16" else 4) * 32 * 2000 + 1
            flip(path, at, 4)
            assert "level 1: the sums are not those of their terms" in verify(store, 1)
            flip(path, at, 4)
            verify(store)

        requests = stores.folder / "requests.txt"
        requests.write_text("node 1700\nedge 0 5\nnode 0\n")
        run(program, "stream", wide, "--requests", requests)
        assert "requests that its files do not contain" in verify(wide, 2)
        run(program, "purge", wide)
        verify(wide)
        # Names of nodes and notes of when edges are to go change nothing of the sums.
        f = stores.folder
        (f / "names.txt").write_text("".join(f"n{node}\n" for node in range(3000)))
        (f / "named.tsv").write_text("".join(f"n{u}\tn{v}\n" for u, v in given))
        run(program, "import", f / "named", "--edges", f / "named.tsv", "--ids", f / "names.txt", "--features", f / "dense.npy", "--labels",
            f / "labels.npy", "--classes", 4)
        run(program, "propagate", f / "named", "--hops", 2)
        verify(f / "named")
        requests.write_text("edge n0 n5 expires 2100-01-01\n")
        run(program, "stream", f / "named", "--requests", requests)
        run(program, "purge", f / "named")
        assert json.loads((f / "named" / "manifest.json").read_text())["needs"] == ["names", "expiries"]
        verify(f / "named")
        # Whatever lies there instead of a file is named.
        for entry in (manifests[whole[1]]["shards"][0], manifests[whole[1]]["levels"][2]["partitions"][0], manifests[whole[1]]["labels"]):
            path = whole[1] / entry["path"]
            data = path.read_bytes()
            for bad in (b"", data[:100], data[: len(data) // 2], b"\xff" * len(data)):
                path.write_bytes(bad)
                assert str(path) in verify(whole[1], 2)
            path.unlink()
            assert str(path) in verify(whole[1], 2)
            path.mkdir()
            assert str(path) in verify(whole[1], 2)
            path.rmdir()
            path.write_bytes(data)
        shard = whole[1] / manifests[whole[1]]["shards"][0]["path"]
        data = shard.read_bytes()
        for at in range(HEADER, len(data) - 4096, len(data) // 40):  # bytes without a meaning of their own end in no trace
            shard.write_bytes(data[:at] + bytes(64) + data[at + 64 :])
            done = subprocess.run([sys.executable, "-B", VERIFIER, whole[1], "--jobs", "1"], capture_output=True, text=True)
            assert done.returncode in (1, 2) and "Traceback" not in done.stderr, done.stderr
        shard.write_bytes(data)
        manifest = whole[1] / "manifest.json"
        text = manifest.read_text()
        for bad in ("", text[: len(text) // 2], "{}", "[1]"):
            manifest.write_text(bad)
            assert str(manifest) in verify(whole[1], 2)
        manifest.write_text(text)
        assert "none" in verify(stores.folder / "none", 2)

        path = wide / json.loads((wide / "manifest.json").read_text())["contents"]["shards"][0]["path"]
        path.write_bytes(path.read_bytes()[:-5])
        assert str(path) in verify(wide, 2)
        assert "was never propagated" in run(program, "import", stores.folder / "bare", "--edges", stores.folder / "edges.tsv") + verify(
            stores.folder / "bare", 2)


if __name__ == "__main__":
    main(sys.argv[1])
