#!/usr/bin/env python3
"""tests/golden/release_stores.py - small stores as a release wrote them, which every later version has to read.

    tests/golden/release_stores.py make UNWEAVE      # writes tests/golden/releases/VERSION.tar.xz and VERSION.json
    tests/golden/release_stores.py check UNWEAVE     # tries all of them, in a temporary folder

`make` is for the release itself, by the program of its commit. It fails where no store needs a word that the manifest knows. What a
release has written stays as it is from then on: a later one adds its own.

`check` takes each store of each release through `upgrade`, `info`, `verify`, `stream`, `purge` and `verify --rebuild`, and compares
digests and numbers with those of the day on which the store was written.
"""
import io
import json
import lzma
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RELEASES = HERE / "releases"
NODES, COLUMNS, CLASSES = 40, 5, 3
PASSING = {"folded-spans"}  # what a store needs only while a purge of more than 1 GiB goes on


class Maker:
    """Inputs of stores, drawn from one seed, and the program that makes stores of them."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.random = random.Random(20261201)
        ends = sorted({(u, v) for u in range(NODES) for v in range(u + 1, NODES) if self.random.random() < .12} | {(0, 1), (2, 3)})
        self.edges = self.text("edges", ends)
        self.weighted = self.text("weighted", [(u, v, self.random.randrange(1, 6)) for u, v in ends])
        self.real = self.text("real", [(u, v, self.random.randrange(1, 400) / 128) for u, v in ends])
        self.second = self.text("second", sorted({tuple(sorted(self.random.sample(range(NODES), 2))) for _ in range(50)}))
        self.features = self.text("features", [[self.random.randrange(-8, 9) / 32 for _ in range(COLUMNS)] for _ in range(NODES)])
        self.ones = self.text("ones", [[int(self.random.random() < .3) for _ in range(64)] for _ in range(NODES)])
        self.labels = self.text("labels", [[node % CLASSES] for node in range(NODES)])
        self.train = self.text("train", [[node] for node in range(1, 28)])
        self.test = self.text("test", [[node] for node in range(28, NODES)])
        self.names = self.text("names", [[f"person-{node}"] for node in range(NODES)])
        self.named = self.text("named", [(m_name(u), m_name(v)) for u, v in ends])
        self.some_names = self.text("some-names", [[m_name(node)] for node in range(20)])
        self.backwards = self.text("backwards", [[NODES - 1 - node] for node in range(NODES)])
        self.second_real = self.text("second-real", [(*ends, self.random.randrange(1, 400) / 128) for ends in sorted(
            {tuple(sorted(self.random.sample(range(NODES), 2))) for _ in range(50)})])

    def text(self, name, rows):
        path = self.folder / f"{name}.txt"
        path.write_text("".join(" ".join(str(value) for value in row) + "\n" for row in rows))
        return path

    def run(self, *words):
        return run(self.program, *words)

    def store(self, name, *words, hops=("--hops", 2), labels=True, train=None):
        path = self.folder / "stores" / name
        classes = ("--labels", self.labels, "--split", f"train={train}" if train else f"train={self.train},test={self.test}") if labels else ()
        self.run("import", path, "--header", "no", "--nodes", NODES, *words, *classes)
        if hops:
            self.run("propagate", path, *hops)
        return path

    def stream(self, path, lines, *words):
        requests = self.folder / "requests.txt"
        requests.write_text("\n".join(lines) + "\n")
        self.run("stream", path, "--requests", requests, "--batch", 2, *words)


def all_stores(m):
    """Makes the stores. Each has a name, and lines of requests of which some are applied."""
    plain = ("--edges", m.edges, "--features", m.features)
    first = [line.split() for line in m.edges.read_text().splitlines()]
    u, v = first[5][0], first[5][1]
    lines = [f"edge {u} {v}", "node 7", "set-label 9 1", "insert-edge 4 39", "feature 11"]
    m.store("plain", *plain, hops=())
    yield "plain", lines
    store = m.store("journal", *plain)
    m.run("train", store)
    m.run("train", store, "--solver", "newton", "--lambda", "0.01")
    m.stream(store, ["edge 0 1 id=first", "node 3 id=second", "set-feature 5 0.5 0 0 0 0", "set-label 6 2 id=third"],
             "--solver", "exact", "--solver", "newton", "--receipts", m.folder / "receipts.jsonl")
    yield "journal", lines
    store = m.store("purged", *plain, "--feature-type", "f16")
    m.run("train", store)
    m.stream(store, ["node 3", "edge 0 1"], "--solver", "exact")
    m.run("purge", store)
    yield "purged", lines
    store = m.store("names", "--edges", m.named, "--features", m.features, "--ids", m.names, "--order", "degree", train=m.some_names)
    m.run("train", store, "--solver", "replay", "--head", "mlp", "--hidden", "4")
    named = [f"edge {m_name(u)} {m_name(v)}", "node person-7", "set-label person-9 1", "insert-edge person-4 person-39"]
    yield "names", named
    m.store("ids-are", "--edges", m.edges, "--features", m.features, "--ids", m.backwards, "--ids-are", "names")
    yield "ids-are", lines
    store = m.store("expiries", *plain)
    m.stream(store, [f"edge {u} {v} expires 2100-01-01", "node 12 expires 2100-01-01"])
    yield "expiries", lines
    store = m.store("weights", "--edges", m.weighted, "--max-weight", 9, "--features", m.features)
    m.run("train", store)
    yield "weights", [*lines, "set-weight 0 1 9"]
    store = m.store("real-weights", "--edges", m.real, "--weights", "unit=2^-7", "--features", m.features)
    m.run("train", store)
    yield "real-weights", [*lines, "set-weight 0 1 0.5"]
    m.store("packed", "--edges", m.edges, "--features", m.ones)
    yield "packed", lines
    for keep, more in (("embedding", ("--keep-type", "f16")), ("hops", ())):
        store = m.store(f"kept-{keep}", *plain, hops=("--hops", 2, "--keep", keep, *more, "--rows", "all"))
        m.run("train", store)
        yield f"kept-{keep}", lines
    store = m.store("directed", *plain, "--directed", hops=("--hops", 2, "--rho", 1))
    m.run("train", store)
    yield "directed", lines
    store = m.store("directed-weights", "--edges", m.real, "--weights", "unit=2^-7", "--features", m.features, "--directed", hops=("--hops", 2, "--rho", 1))
    m.run("train", store)
    yield "directed-weights", [*lines, f"set-weight {u} {v} 0.5"]
    store = m.store("directed-pairs", *plain, "--directed", "--pairs", "valid=.1,test=.1", labels=False, hops=("--hops", 2, "--rho", 1))
    m.run("train", store, "--pair", "hadamard", "--lambda", "0.01")
    yield "directed-pairs", ["node 7", "insert-edge 39 4"]
    kinds = ("--relation", f"knows={m.edges}", "--relation", f"likes={m.second}", "--subset", "knows,likes", "--features", m.features)
    related = [f"edge {u} {v} knows", "node 7", "insert-edge 4 39 likes"]
    store = m.store("relations", *kinds, hops=("--hops", 2, "--rho", 1))
    m.run("train", store)
    yield "relations", related
    m.store("arcs-of-relations", *kinds, "--directed", hops=("--hops", 2, "--rho", 1))
    yield "arcs-of-relations", related
    papers = m.text("papers", [(a % 25, b % 15) for a, b in zip(range(60), range(3, 63))])
    cites = m.text("cites", [(a, a + 3) for a in range(20)])
    of_papers, classes = m.text("of-papers", [[.25, node / 64] for node in range(25)]), m.text("classes", [[node % 2] for node in range(25)])
    store = m.folder / "stores" / "types"
    m.run("import", store, "--header", "no", "--type", "paper=25", "--type", "author=15", "--relation", f"cites={cites}", "--relation", f"writes={papers}",
          "--ends", "cites=paper,paper", "--ends", "writes=paper,author", "--features-of", f"paper={of_papers}", "--labels-of", "paper",
          "--labels", classes, "--split", f"train={m.text('some', [[node] for node in range(1, 20)])}")
    m.run("propagate", store, "--hops", 2, "--rho", 1)
    m.run("train", store)
    yield "types", ["edge 1 4 cites", "node 7", "insert-edge 2 9 cites"]
    store = m.store("pairs", *plain, "--pairs", "valid=.1,test=.1", labels=False, hops=("--hops", 2, "--rho", 1))
    m.run("train", store, "--pair", "hadamard", "--lambda", "0.01")
    yield "pairs", [f"edge {u} {v}", "node 7", "insert-edge 4 39"]
    graphs = m.text("graphs", [[node // 8] for node in range(NODES)])
    inside = m.text("inside", [(a, b) for a in range(NODES) for b in range(a + 1, NODES) if a // 8 == b // 8 and (a * b) % 3 != 1])
    store = m.store("graphs", "--edges", inside, "--features", m.features, "--graphs", graphs, "--graph-labels",
                    m.text("of-graphs", [[1 - graph % 2] for graph in range(5)]), "--graph-split", f"train={m.text('four', [[graph] for graph in (1, 0, 2, 3)])}",
                    labels=False, hops=("--hops", 2, "--rho", 1))
    m.run("train", store, "--pool", "mean")
    yield "graphs", ["graph 2", "node 3", "set-graph-label 1 0"]
    store = m.store("graphs-expire", "--edges", inside, "--features", m.features, "--graphs", graphs, labels=False, hops=())
    m.stream(store, ["graph 4 expires 2100-01-01"])
    yield "graphs-expire", ["graph 2", "node 3"]
    store = m.store("real-relations", "--relation", f"knows={m.real}", "--relation", f"likes={m.second_real}", "--subset", "knows,likes",
                    "--weights", "unit=2^-7", "--features", m.features, hops=("--hops", 2, "--rho", 1))
    m.run("train", store)
    yield "real-relations", [f"set-weight {u} {v} knows 0.5", "node 7", "insert-edge 4 39 likes weight 0.25"]
    store = m.store("real-pairs", "--edges", m.real, "--weights", "unit=2^-7", "--features", m.features, "--pairs", "valid=.1,test=.1",
                    labels=False, hops=("--hops", 2, "--rho", 1))
    m.run("train", store, "--pair", "hadamard", "--lambda", "0.01")
    yield "real-pairs", [f"set-weight {u} {v} 0.5", "node 7", "insert-edge 4 39 weight 0.25"]


def m_name(node):
    return f"person-{node}"


def run(program, *words, code=0):
    done = subprocess.run([str(word) for word in (program, *words)], capture_output=True, text=True, check=False)
    if done.returncode != code:
        sys.exit(f"{' '.join(str(word) for word in words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def facts(program, store):
    """What a release says of a store, which later ones have to say as well."""
    info = json.loads(run(program, "info", store, "--digest", "--json"))
    names = ("digest", "nodes", "edges", "acknowledged", "pending_requests")
    found = {name: info[name] for name in names if name in info}
    found["models"] = {model["name"]: {"digest": model.get("digest"), "sequence": model["sequence"]} for model in info["models"]}
    return found


def has_embedding(store):
    return json.loads((store / "manifest.json").read_text())["contents"]["propagation"] is not None


def taken_on(program, store, lines, folder):
    """Takes a store through requests and a purge. Returns what it then is."""
    requests = folder / "more.txt"
    requests.write_text("\n".join(lines) + "\n")
    kept = json.loads((store / "manifest.json").read_text())["needs"]
    if "rows" not in kept:  # rows that are kept in place of sums follow no requests
        run(program, "stream", store, "--requests", requests)
        run(program, "verify", store)
    run(program, "purge", store, "--always")
    run(program, "verify", store, *(["--rebuild"] if has_embedding(store) else []))
    return facts(program, store)


def version_of(program):
    return run(program, "version").split()[-1]


def known_words():
    text = (ROOT / "storage/formats/manifest.cpp").read_text()
    return set(re.findall(r'words\.emplace_back\("([a-z-]+)"\)', text))


def make(program):
    version = version_of(program)
    RELEASES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "stores").mkdir()
        pinned, needs = {}, set()
        for name, lines in all_stores(Maker(program, folder)):
            store = folder / "stores" / name
            needs |= set(json.loads((store / "manifest.json").read_text())["needs"])
            pinned[name] = {"requests": lines, "written": facts(program, store)}
        if missing := known_words() - needs - PASSING:
            sys.exit(f"no store needs {', '.join(sorted(missing))}: add one to all_stores()")
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for path in sorted((folder / "stores").rglob("*")):
                if path.name == "lock":
                    continue
                entry = tar.gettarinfo(path, path.relative_to(folder / "stores").as_posix())
                entry.uid = entry.gid = entry.mtime = 0
                entry.uname = entry.gname = ""
                with path.open("rb") if path.is_file() else io.BytesIO() as data:
                    tar.addfile(entry, data if path.is_file() else None)
        (RELEASES / f"{version}.tar.xz").write_bytes(lzma.compress(packed.getvalue(), preset=9))
        for name, pins in pinned.items():
            pins["purged"] = taken_on(program, folder / "stores" / name, pins["requests"], folder)
        (RELEASES / f"{version}.json").write_text(json.dumps(pinned, indent=1) + "\n")
    print(f"{len(pinned)} stores of {version}, {(RELEASES / f'{version}.tar.xz').stat().st_size} bytes")


def same(what, found, pinned):
    for name, value in pinned.items():
        if found.get(name) != value:
            sys.exit(f"{what}: {name} is {found.get(name)}, and was {value}")


def check_release(program, archive, folder):
    pinned = json.loads(archive.with_name(archive.name.replace(".tar.xz", ".json")).read_text())
    with tarfile.open(archive) as tar:
        tar.extractall(folder, **({"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}))
    if sorted(path.name for path in folder.iterdir()) != sorted(pinned):
        sys.exit(f"{archive}: its stores are not those of the pins")
    for name, pins in pinned.items():
        store, what = folder / name, f"{archive.name}: {name}"
        run(program, "upgrade", store)
        same(what, facts(program, store), pins["written"])
        run(program, "verify", store)
        same(f"{what}, purged", taken_on(program, store, pins["requests"], folder), pins["purged"])
    return len(pinned)


def check(program):
    archives = sorted(RELEASES.glob("*.tar.xz"))
    if not archives:
        sys.exit(f"{RELEASES}: no stores of a release")
    for archive in archives:
        with tempfile.TemporaryDirectory() as scratch:
            print(f"{archive.name}: {check_release(program, archive, pathlib.Path(scratch))} stores hold")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("make", "check"):
        sys.exit(__doc__)
    {"make": make, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve())
