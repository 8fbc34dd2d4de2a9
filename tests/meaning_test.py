#!/usr/bin/env python3
# tests/meaning_test.py - what comes in is what was meant: inputs that could mean two things are errors that name both, and what a
# message advises gives the graph that went in, compared by the names of its nodes.
#
#   python3 tests/meaning_test.py UNWEAVE [PART ...]
import argparse
import ast
import csv
import importlib.util
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import numpy as np

from serve_test import check


class Session:
    """The program in a folder of its own."""

    def __init__(self, program, folder):
        self.program, self.folder, self.stores = program, folder, 0

    def command(self, *words):
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, timeout=300, cwd=self.folder)

    def imported(self, *words):
        """A store of these files; its path."""
        self.stores += 1
        store = self.folder / f"store{self.stores}"
        done = self.command("import", store, *words)
        check(done.returncode == 0, words, done.stderr)
        return store, done

    def refused(self, *words):
        """The line that refuses these files; nothing stays behind."""
        store = self.folder / "refused"
        done = self.command("import", store, *words)
        check(done.returncode == 2 and done.stderr.count("\n") == 1 and not store.exists(), words, done.returncode, done.stderr)
        return done.stderr.strip()

    def edges(self, store):
        """The edges of a store as sets of names, or of numbers where nodes have none."""
        names = self.folder / "names.txt"
        done = self.command("export", store, "--edges", "edges-out.npy", "--quiet")
        check(done.returncode == 0, done.stderr)
        pairs = np.load(self.folder / "edges-out.npy").tolist()
        self.command("export", store, "--names", names, "--quiet")
        said = names.read_text().split("\n") if names.exists() else []
        names.unlink(missing_ok=True)
        called = [next(csv.reader([name]), [""])[0] if name.startswith('"') else name for name in said]
        return {frozenset(called[end] if called else end for end in pair) for pair in pairs}

    def nodes(self, store):
        return json.loads(self.command("info", store, "--json").stdout)["nodes"]


def between(*pairs):
    return {frozenset(pair) for pair in pairs}


def follow(session, message, ids_are=None, more=()):
    """Does what a message advises: runs its Python, and imports by the options behind the #."""
    line = message.split("convert it with Python: ", 1)[1]
    ast.parse(line)
    code, _, then = line.partition("  # then ")
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, cwd=session.folder, timeout=120)
    check(done.returncode == 0, line, done.stderr)
    words = [word for word in shlex.split(then.replace(" and ", " ").replace(",", " ")) if word.startswith("--") or "." in word]
    return session.imported(*words, *(["--ids-are", ids_are] if ids_are else []), *more)[0]


def part_graphs(session):
    """Graphs of networkx in five formats, with names that have blanks and commas, and nodes without edges."""
    if importlib.util.find_spec("networkx") is None:
        print("graphs: networkx is not installed")
        return
    import pickle

    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(["p3", "O'Brien, Pat", "lone", "the \"one\"", "zoe"])
    graph.add_edges_from([("O'Brien, Pat", "p3"), ("the \"one\"", "zoe"), ("zoe", "p3")])
    for name, write in {"g.graphml": networkx.write_graphml, "g.gexf": networkx.write_gexf, "g.gml": networkx.write_gml,
                        "g.pickle": lambda g, path: pickle.dump(g, open(path, "wb")),
                        "g.json": lambda g, path: json.dump(networkx.node_link_data(g), open(path, "w"))}.items():
        write(graph, session.folder / name)
        store = follow(session, session.refused("--edges", name))
        check(session.edges(store) == {frozenset(edge) for edge in graph.edges()}, name, session.edges(store))
        check(session.nodes(store) == 5, name)
    # Weights go on behind the ends, in each format.
    weighted = networkx.Graph()
    weighted.add_edge("a", "b", weight=3)
    weighted.add_edge("b", "c")
    for name, write in {"w.gml": networkx.write_gml, "w.net": networkx.write_pajek,
                        "w.json": lambda g, path: json.dump(networkx.node_link_data(g), open(path, "w"))}.items():
        write(weighted, session.folder / name)
        store = follow(session, session.refused("--edges", name), more=["--max-weight", "3"])
        check(session.edges(store) == between(("a", "b"), ("b", "c")), name)
        check(json.loads(session.command("info", store, "--json").stdout)["weight_sum"] == 4, name)
    # Nodes that are numbers, in another order than their places.
    numbers = networkx.Graph()
    numbers.add_nodes_from([7, 2, 0, 1])
    numbers.add_edges_from([(7, 0), (0, 1)])
    networkx.write_graphml(numbers, session.folder / "n.graphml")
    store = follow(session, session.refused("--edges", "n.graphml"), "names")
    check(session.edges(store) == between(("7", "0"), ("0", "1")), session.edges(store))


def part_links(session):
    """JSON of nodes and links: ends are ids, or places, and where they could be both the line says so."""
    def refused(nodes, links):
        (session.folder / "G.json").write_text(json.dumps({"nodes": [{"id": node} for node in nodes], "links": [
            {"source": s, "target": t} for s, t in links]}))
        return session.refused("--edges", "G.json")

    store = follow(session, refused(["c7", "a1", "b4", "d9"], [(0, 1), (1, 2), (2, 3)]))
    check(session.edges(store) == between(("c7", "a1"), ("a1", "b4"), ("b4", "d9")))
    store = follow(session, refused(["c7", "a1", "b4"], [("a1", "c7")]))
    check(session.edges(store) == between(("a1", "c7")) and session.nodes(store) == 3)
    store = follow(session, refused([0, 1, 2], [(0, 1), (1, 2)]))
    check(session.edges(store) == between(("0", "1"), ("1", "2")))
    line = refused([2, 0, 1], [(0, 1)]).split("convert it with Python: ", 1)[1]
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, cwd=session.folder)
    check(done.returncode != 0 and "may be ids or places" in done.stderr, done.stderr)


def part_arrays(session):
    """MAT-files, compressions and archives that are not read: one line that names them."""
    import scipy.io
    import scipy.sparse

    matrix = scipy.sparse.csr_matrix(([1.0, 1.0], ([0, 1], [1, 2])), shape=(4, 4))
    scipy.io.savemat(session.folder / "a.mat", {"network": matrix.tocsc()})
    check(session.edges(follow(session, session.refused("--edges", "a.mat"))) == between((0, 1), (1, 2)))
    both = {"net": matrix.tocsc(), "homo": scipy.sparse.csc_matrix(([1.0], ([2], [3])), shape=(4, 4)), "features": np.zeros((4, 2))}
    scipy.io.savemat(session.folder / "b.mat", both)
    line = session.refused("--edges", "b.mat").split("convert it with Python: ", 1)[1]
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, cwd=session.folder)
    check(done.returncode != 0 and "['net', 'homo']" in done.stderr, done.stderr)
    chosen = line.replace("; assert", "; names = ['homo']; assert")
    done = subprocess.run([sys.executable, "-c", chosen], capture_output=True, text=True, cwd=session.folder)
    check(done.returncode == 0 and session.edges(session.imported("--edges", "edges.npz")[0]) == between((2, 3)), done.stderr)
    (session.folder / "a.txt").write_text("0 1\n1 2\n")
    for command, name, word in [("bzip2 -k a.txt", "a.txt.bz2", "bzip2"), ("xz -k a.txt", "a.txt.xz", "xz"),
                                ("tar -cf a.tar a.txt", "a.tar", "tar"), ("tar -czf a.tgz a.txt", "a.tgz", "tar"),
                                ("python3 -m zipfile -c a.zip a.txt", "a.zip", "zip")]:
        if subprocess.run(command, shell=True, cwd=session.folder, capture_output=True).returncode == 0:
            check(word in session.refused("--edges", name), name, session.refused("--edges", name))


def part_identity(session):
    """Names that are numbers: what a number means is said, and is the same in every format, at import and afterwards."""
    folder = session.folder
    np.save(folder / "n.npy", np.arange(1, 6))
    np.save(folder / "pairs.npy", np.array([[1, 2], [2, 3], [3, 4]]))
    np.savez(folder / "index.npz", edge_index=np.array([[1, 2, 3], [2, 3, 4]]))
    np.savetxt(folder / "e.txt", [[1, 2], [2, 3], [3, 4]], fmt="%d")
    np.save(folder / "x.npy", np.eye(5, 3, dtype="f4"))
    np.save(folder / "y.npy", np.array([0, 1, 0, 1, 0]))
    np.save(folder / "split.npy", np.array([1, 3, 4]))
    (folder / "split.txt").write_text("1\n3\n4\n")
    shifted = {"names": between(("1", "2"), ("2", "3"), ("3", "4")), "positions": between(("2", "3"), ("3", "4"), ("4", "5"))}
    for edges in ("e.txt", "pairs.npy", "index.npz"):
        message = session.refused("--edges", edges, "--ids", "n.npy")
        check("'1'" in message and "position 1" in message, message)
        answers = re.findall(r"--ids-are (\w+)", message)
        check(set(answers) == {"names", "positions"}, message)
        for answer in answers:
            for split in ("split.npy", "split.txt"):
                store, _ = session.imported("--edges", edges, "--ids", "n.npy", "--ids-are", answer, "--features", "x.npy", "--labels",
                                            "y.npy", "--split", f"train={split}")
                check(session.edges(store) == shifted[answer], edges, answer)
                session.command("export", store, "--train", "t.npy", "--quiet")
                expected = [0, 2, 3] if answer == "names" else [1, 3, 4]
                check(np.load(folder / "t.npy").tolist() == expected, answer, split)
            session.command("propagate", store)
            (folder / "requests").write_text("node 1\n")
            session.command("stream", store, "--requests", "requests")
            gone = "1" if answer == "names" else "2"
            check(all(gone not in pair for pair in session.edges(store)), answer, session.edges(store))
            (folder / "requests").write_text('node "4"\n')
            session.command("stream", store, "--requests", "requests")
            check(all("4" not in pair for pair in session.edges(store)), answer)
    import scipy.sparse
    scipy.sparse.save_npz(folder / "m.npz", scipy.sparse.csr_matrix(np.eye(5, k=1)))
    check("rows and columns of a matrix" in session.refused("--edges", "m.npz", "--ids", "n.npy", "--ids-are", "names"))
    np.save(folder / "raw.npy", np.array([10**12, 7 * 10**11, 5]))
    np.save(folder / "raw-pairs.npy", np.array([[10**12, 5], [5, 7 * 10**11], [5, 5]]))
    store, _ = session.imported("--edges", "raw-pairs.npy", "--ids", "raw.npy", "--ids-are", "names")
    check(session.edges(store) == between((str(10**12), "5"), ("5", str(7 * 10**11))))
    # What a store writes is not read back as something else: numbers of its arrays would be names.
    (folder / "four.f").write_text("1,0\n0,1\n1,1\n")
    (folder / "four.n").write_text("2\n0\n1\n")
    np.save(folder / "four.npy", np.array([[2, 0], [0, 1], [0, 0]]))
    store, _ = session.imported("--edges", "four.npy", "--ids", "four.n", "--ids-are", "names", "--features", "four.f", "--scale", "2")
    check(session.command("propagate", store).returncode == 0)
    done = session.command("export", store, "--embeddings", "z.npy", "--ids", "i.npy")
    remedy = re.search(r"give (--ids i\.txt),", done.stderr)
    check(done.returncode == 1 and remedy, done.stderr)
    done = session.command("export", store, "--embeddings", "z.npy", *remedy[1].split())
    check(done.returncode == 0 and (folder / "i.txt").read_text() == "2\n0\n1\n", done.stderr)
    session.command("export", store, "--embeddings", "again.npy", "--nodes", "i.txt")
    check((np.load(folder / "again.npy") == np.load(folder / "z.npy")).all())
    check("positions in the order" in session.command("export", store, "--edges", "e.npy").stderr)


def part_names(session):
    """Names of people, with blanks, commas and quotes: stored, printed, asked for and taken in without loss."""
    folder, names = session.folder, ["O'Brien, Pat", "ann", "Pat Smith", "the \"one\", or two", "#"[:0] + "日本 太郎"]
    with open(folder / "ids.csv", "w", newline="") as file:
        csv.writer(file).writerows([name] for name in names)
    pairs = [(names[0], names[1]), (names[2], names[3]), (names[3], names[4]), (names[1], names[2])]
    with open(folder / "friends.csv", "w", newline="") as file:
        csv.writer(file).writerows([["user_a", "user_b", "since"]] + [[a, b, 2020 + i] for i, (a, b) in enumerate(pairs)])
    np.save(folder / "x.npy", np.eye(5, 3, dtype="f4"))
    (folder / "people.csv").write_text("class,train\n0,True\n1,False\n0,True\n1,True\n0,False\n")
    for columns in ("user_a,user_b", "0,1", "user_b,user_a"):
        store, _ = session.imported("--edges", f"friends.csv[{columns}]", "--ids", "ids.csv", "--features", "x.npy", "--labels",
                                    "people.csv[class]", "--split", "train=people.csv[train]")
        check(session.edges(store) == {frozenset(pair) for pair in pairs}, columns, session.edges(store))
    session.command("propagate", store)
    session.command("train", store)
    predicted = session.command("predict", store, "--json").stdout.splitlines()
    check(all(json.loads(line).get("id") in names for line in predicted if '"id"' in line), predicted)
    (folder / "requests").write_text('node "O\'Brien, Pat"\nedge "Pat Smith" ann\n')
    done = session.command("stream", store, "--requests", "requests", "--json")
    check(done.returncode == 0, done.stderr)
    check(session.edges(store) == between((names[2], names[3]), (names[3], names[4])), session.edges(store))
    listed = session.command("export", store, "--requests", "drawn", "--draw", "node", "--count", "2")
    check(listed.returncode == 0, listed.stderr)
    done = session.command("stream", store, "--requests", "drawn")
    check(done.returncode == 0, done.stderr, (folder / "drawn").read_text())


def part_features(session):
    """An id among the features is told, and the file without it is the remedy that the note names."""
    rng = np.random.default_rng(7)
    n = 600
    y = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 8)) + 1.6 * (2 * y[:, None] - 1)
    ids = rng.choice(np.arange(10**6, 4 * 10**8), n, replace=False)
    np.save(session.folder / "feat.npy", np.c_[ids, x])
    np.save(session.folder / "y.npy", y)
    np.save(session.folder / "tr.npy", np.arange(360))
    np.save(session.folder / "te.npy", np.arange(360, n))
    np.save(session.folder / "e.npy", np.array([(a, rng.choice(np.flatnonzero(y == y[a]))) for a in rng.integers(0, n, 1200)]))
    rest = ["--edges", "e.npy", "--labels", "y.npy", "--split", "train=tr.npy,test=te.npy"]
    store, done = session.imported("--features", "feat.npy", *rest)
    check("column 0 of the features has whole numbers that are all different" in done.stderr, done.stderr)
    session.command("propagate", store)
    trained = session.command("train", store)
    check("column 0 of the features has" in trained.stderr and "lambda auto" not in trained.stderr, trained.stderr)
    remedy = re.search(r"leave it out by (\S+),", done.stderr).group(1)
    store, done = session.imported("--features", remedy, *rest)
    check("column" not in done.stderr, done.stderr)
    session.command("propagate", store)
    result = json.loads(session.command("train", store, "--json").stdout.splitlines()[0])
    check(result["accuracy_test"] > 0.95, result)


def part_lists(session):
    """First lines, masks and columns as people write them, each with the answer that its message names."""
    folder = session.folder
    (folder / "pd.csv").write_text("0,1\n3,4\n4,5\n")
    answers = re.findall(r"--header (\S+)", session.refused("--edges", "pd.csv", "--nodes", "6"))
    found = {answer: session.edges(session.imported("--edges", "pd.csv", "--nodes", "6", "--header", answer)[0]) for answer in answers}
    check(found == {"edges=no": between((0, 1), (3, 4), (4, 5)), "edges=yes": between((3, 4), (4, 5))}, found)
    (folder / "nm.txt").write_text("34 78\n0 1\n1 2\n2 3\n")
    answers = re.findall(r"--header (\S+)", session.refused("--edges", "nm.txt"))
    sizes = {answer: session.nodes(session.imported("--edges", "nm.txt", "--header", answer)[0]) for answer in answers}
    check(sizes == {"edges=no": 79, "edges=yes": 4}, sizes)
    (folder / "out.konect").write_text("% sym unweighted\n% 2 3 3\n1 2\n2 3\n")
    check(session.edges(session.imported("--edges", "out.konect")[0]) == between((1, 2), (2, 3)))
    (folder / "nr.mtx").write_text("%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 1\n")
    check(session.edges(session.imported("--edges", "nr.mtx")[0]) == between((0, 1), (0, 2)))
    (folder / "q.csv").write_text('"2","1"\n"1","3"\n')
    check(session.edges(session.imported("--edges", "q.csv[0,1]")[0]) == between((1, 2), (1, 3)))
    (folder / "t.csv").write_text("src,dst,time\n0,1,0\n1,2,17\n")
    message = session.refused("--edges", "t.csv")
    columns = re.search(r"as in (\S+\[src,dst\])", message).group(1)
    check(session.edges(session.imported("--edges", columns)[0]) == between((0, 1), (1, 2)), message)


def part_nodes(session):
    """Lists of nodes of all commands are read as splits of an import are: a line of words above them is a header, and one that may be data is asked about."""
    folder = session.folder

    def text(name, lines):
        (folder / name).write_text(lines)
        return name

    np.save(folder / "x.npy", np.eye(4, 3, dtype="f4"))
    rest = ["--features", "x.npy", "--labels", text("y", "1\n0\n1\n0\n"), "--classes", "2"]
    numbered = ["--edges", text("e.txt", "0 1\n1 2\n2 3\n"), *rest]
    named = ["--edges", text("n.txt", "ann bob\nbob cid\ncid name\n"), "--ids", text("ids", "ann\nbob\ncid\nname\n"), *rest]

    def said(store, option, nodes):
        """What three commands say of these nodes: the ids, whether the rows are theirs, what stands on standard error, and what is drawn of them."""
        predicted = session.command("predict", store, option, nodes)
        session.command("export", store, "--embeddings", "all.npy")
        exported = session.command("export", store, "--embeddings", "z.npy", option, nodes)
        evaluated = session.command("evaluate", store, option, nodes, "--json")
        drawn = session.command("export", store, "--requests", "drawn", "--draw", "node", "--count", "1", option, nodes)
        codes = {done.returncode for done in (predicted, exported, evaluated, drawn)}
        errors = {done.stderr.strip() for done in (predicted, exported, evaluated, drawn)}
        check(len(codes) == 1 and len(errors) == 1, codes, errors)
        if codes != {0}:
            return None, errors.pop()
        ids = [line.split("\t")[0] for line in predicted.stdout.splitlines()[1:]]
        places = [["ann", "bob", "cid", "name"].index(one) if one.isalpha() else int(one) for one in ids]
        check((np.load(folder / "z.npy") == np.load(folder / "all.npy")[places]).all(), nodes)
        labels = [[1, 0, 1, 0][place] for place in places]
        classes = [int(line.split("\t")[1]) for line in predicted.stdout.splitlines()[1:]]
        share = sum(map(int.__eq__, labels, classes)) / len(places)
        check(abs(json.loads(evaluated.stdout)["accuracy_nodes"] - share) < 1e-12, nodes, evaluated.stdout)
        check((folder / "drawn").read_text().split()[1] in ids, nodes)
        return ids, errors.pop()

    stores = {}
    for kind, words in ("numbered", numbered), ("named", named):
        stores[kind] = session.imported(*words, "--split", "train=" + text("all", "True\n" * 4))[0]
        for command in "propagate", "train":
            check(session.command(command, stores[kind], *(["--rows", "all"] if command == "propagate" else [])).returncode == 0, kind)
    headed = [("numbered", "node\n2\n0\n", "", ["2", "0"]), ("numbered", "node,z\n2,9\n3,8\n", "[0]", ["2", "3"]),
              ("numbered", "mask\nTrue\nFalse\nFalse\nTrue\n", "", ["0", "3"]), ("named", "id\ncid\nann\n", "", ["cid", "ann"]),
              ("named", "user_id,z\ncid,9\nann,8\n", "[0]", ["cid", "ann"])]
    for kind, lines, columns, ids in headed:
        found, error = said(stores[kind], "--nodes", text("q.csv", lines) + columns)
        check(found == ids and error == f"note: q.csv: line 1: skipped as a header line: '{lines.split()[0].split(',')[0]}'", found, error)
        _, done = session.imported(*(numbered if kind == "numbered" else named), "--split", f"train=q.csv{columns}")
        check(error in done.stderr, "an import says the same of a split", done.stderr)
        check(session.command("predict", stores[kind], "--nodes", f"q.csv{columns}", "--quiet").stderr == "")
    check(said(stores["numbered"], "--nodes", text("q.csv", "node,z\n2,9\n3,8\n") + "[node]") == (["2", "3"], ""))
    # What may be data is an error, and both answers that it names are right.
    for kind, lines, rest in ("numbered", "0\n3\n2\n", ["3", "2"]), ("named", "name\ncid\nann\n", ["cid", "ann"]):
        found, error = said(stores[kind], "--nodes", text("q.csv", lines))
        check(found is None and "put a line of # alone above it if it is" in error and "or take it out if it is" in error, error)
        check(said(stores[kind], "--nodes", text("q.csv", "#\n" + lines)) == ([lines.split()[0], *rest], ""))
        check(said(stores[kind], "--nodes", text("q.csv", lines.split("\n", 1)[1])) == (rest, ""))
    # Where nodes have names, a word that is none may have been one, of a node that was removed, unless columns of ids are called so.
    found, error = said(stores["named"], "--nodes", text("q.csv", "person\ncid\nann\n"))
    check(found is None and "no node has the name 'person'; correct the name, or take the line out if it is the name of the column" in error, error)
    check(said(stores["named"], "--nodes", text("q.csv", "cid\nann\n")) == (["cid", "ann"], ""))
    check(said(stores["named"], "--nodes", text("q.csv", "person,z\ncid,9\nann,8\n") + "[person]") == (["cid", "ann"], ""))
    # A table of several columns: the remedy names one of them.
    found, error = said(stores["numbered"], "--nodes", text("q.csv", "node,z\n2,9\n3,8\n"))
    column = re.search(r"as in (\S+)", error)[1]
    check(found is None and said(stores["numbered"], "--nodes", column)[0] == ["2", "3"], error)
    # Names that a purge gives to new nodes.
    purge = ["purge", stores["named"], "--always", "--nodes", "6", "--ids"]
    message = session.command(*purge, text("new", "id\nhal\n")).stderr
    check("put a line of # alone above it if it is a node" in message, message)
    check(session.command(*purge, text("new", "#\nid\nhal\n")).returncode == 0)
    check(session.command("export", stores["named"], "--names", "-").stdout.split() == ["ann", "bob", "cid", "name", "id", "hal"])


def part_tables(session):
    """Tables that mean something else than their first look: each is refused with the word that tells, and what the line advises is right."""
    folder = session.folder

    def text(name, lines):
        (folder / name).write_text(lines)
        return name

    def array(name, values, **options):
        np.save(folder / name, np.array(values, **options), allow_pickle=True)
        return name

    def refused(word, *words):
        message = session.refused(*words)
        check(word in message, words, message)
        return message

    ring = text("ring.txt", "0 1\n1 2\n2 3\n3 4\n4 5\n5 0\n")
    y = text("y.txt", "0\n1\n2\n0\n1\n2\n")
    names = text("ids", "Ann Lee\nBob\nCyd\n")
    # Names with blanks that stand in no quotes: no header.
    tabs = text("a.tsv", "Ann Lee\tBob\nBob\tCyd\n")
    message = refused("'Ann Lee' is the name of a node", "--edges", tabs, "--ids", names)
    columns = re.search(r"as in (\S+\[0,1\])", message).group(1)
    check(session.edges(session.imported("--edges", columns, "--ids", names)[0]) == between(("Ann Lee", "Bob"), ("Bob", "Cyd")), message)
    refused("names with blanks in quotes", "--edges", text("b.csv", "Bob,Cyd\nAnn Lee,Bob\n"), "--ids", names)
    store = session.imported("--edges", text("q.csv", '"Ann Lee",Bob\nBob,Cyd\n'), "--ids", names, "--labels", text("y3", "0\n1\n0\n"), "--split",
                             "train=" + text("train", "Ann Lee\nBob\n"), "--header", "labels=no")[0]
    session.command("export", store, "--train", "t.npy")
    check(np.load(folder / "t.npy").tolist() == [0, 1])
    # Arrays: objects, booleans, texts.
    refused("astype('int64')", "--edges", array("o.npy", [[16777216, 16777217]], dtype=object))
    refused("numpy.argwhere", "--edges", array("b.npy", [[0, 1], [1, 0], [1, 1]], dtype=bool))
    numbers = re.search(r"with (numpy\.unique.*)$", refused("numpy.unique", "--edges", array("u.npy", [["a", "b"], ["b", "c"], ["a", "c"]]))).group(1)
    np.save(folder / "n.npy", eval(numbers, {"numpy": np, "a": np.load(folder / "u.npy")}))
    check(session.edges(session.imported("--edges", "n.npy")[0]) == between((0, 1), (1, 2), (0, 2)), numbers)
    # Matrices and lists of neighbours as text, and the index of a frame.
    matrix = text("m.txt", "0 1 0 1\n1 0 1 0\n0 1 0 1\n1 0 1 0\n")
    line = re.search(r"by (numpy\.savetxt.*)$", refused("adjacency matrix", "--edges", matrix)).group(1)
    exec(line.replace("FILE", repr(str(folder / matrix))).replace("'edges.txt'", repr(str(folder / "edges.txt"))), {"numpy": np})
    check(session.edges(session.imported("--edges", "edges.txt")[0]) == between((0, 1), (1, 2), (2, 3), (3, 0)), line)
    refused("adjacency matrix", "--edges", text("m5.txt", "0 1 0 1 0\n" * 5) + "[0,1]")
    refused("networkx.read_adjlist", "--edges", text("a.adj", "0 1 2\n1 2 3\n2 3 4\n"))
    frame = text("p.csv", "0,5,6\n1,6,7\n2,7,8\n")
    for words in [], ["--ignore-weights"], ["--max-weight", "9"]:
        message = refused("counts the lines", "--edges", frame, *words)
    columns = re.search(r"as in (\S+\[1,2\])", message).group(1)
    check(session.edges(session.imported("--edges", columns)[0]) == between((5, 6), (6, 7), (7, 8)), message)
    check(session.edges(session.imported("--edges", frame + "[0,1,2]", "--max-weight", "9")[0]) == between((0, 5), (1, 6), (2, 7)))
    # Decimal commas, codes of splits, labels that are signs or words among numbers.
    refused("decimal", "--edges", text("e3", "0 1\n1 2\n"), "--nodes", "3", "--features", text("x.tsv", "1,5\t2,5\n3,0\t4,0\n5,0\t6,0\n"))
    rest = ["--edges", ring, "--nodes", "6"]
    codes = array("codes.npy", [1, 0, 2, 1, 1, 0])
    message = refused("seem to be a code", *rest, "--labels", y, "--split", "train=" + codes)
    np.save(folder / "mask.npy", eval(re.search(r"booleans (.*)$", message).group(1), {"codes": np.load(folder / codes)}))
    store = session.imported(*rest, "--labels", y, "--split", "train=mask.npy")[0]
    session.command("export", store, "--train", "t.npy")
    check(np.load(folder / "t.npy").tolist() == [1, 5])
    check("[0]" not in refused("not all on one", *rest, "--labels", y, "--split", "train=" + text("line", "2,3,4\n")))
    refused("-1 may be a class", *rest, "--labels", array("signs.npy", [-1, 1, 1, -1, 1, -1]))
    session.imported(*rest, "--labels", "signs.npy", "--classes", "2")
    check("--classes" not in refused("'None' is not a label", *rest, "--labels", text("none.txt", "0\n1\nNone\n?\n1\n0\n")))
    # A table whose lines stand in another order than its nodes.
    text("target.csv", "id,mature,new_id\n91,1,2\n17,0,0\n44,1,1\n60,0,3\n12,1,5\n33,0,4\n")
    message = refused("in another order", *rest, "--labels", "target.csv[mature]")
    words = [word for word in shlex.split(message) if word.startswith(("--", "target.csv[new_id]"))]
    text("r.txt", "0\t1\n1\t2\n2\t3\n3\t4\n4\t5\n5\t0\n")
    store = session.imported("--edges", "r.txt", "--labels", "target.csv[mature]", "--ids", "target.csv[new_id]", "--ids-are", "names", "--header", "edges=no")[0]
    check("--ids" in words and "--ids-are" in words, words)
    session.command("export", store, "--labels", "labels.npy")
    check(np.load(folder / "labels.npy").tolist() == [1, 0, 1, 0, 1, 0])
    refused("in another order", *rest, "--features", text("x.emb", "".join(f"{u} {u}.5 1\n" for u in [2, 0, 1, 5, 4, 3])) + "[1:]")
    refused("the first line has 2", *rest, "--features", text("y.emb", "6 2\n" + (folder / "x.emb").read_text()) + "[1:]")
    refused("the first line has 3", "--edges", text("ragged.adj", "0 1 2\n1 3\n") + "[0,1]")
    # Archives of SciPy in other forms than rows, and files that are not what they are called.
    import scipy.sparse
    a = scipy.sparse.csr_matrix(np.eye(6, k=1))
    for form in "dia", "bsr", "coo":
        scipy.sparse.save_npz(folder / f"{form}.npz", a.asformat(form))
        words = ["--edges", ring, "--features"] if form == "coo" else ["--edges"]
        refused("tocsr()", *words, f"{form}.npz")
    refused("Git LFS", "--edges", text("lfs.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 12\n"))
    refused("HTML", "--edges", text("page.txt", "<!DOCTYPE html>\n<html></html>\n"))
    refused("carriage return", "--edges", text("cr.txt", "0 1\r1 2\r2 3"))
    refused("RDF", "--edges", text("t.nt", "<http://a/x> <http://a/p> <http://a/y> .\n"))
    refused("DL file", "--edges", text("u.dl", "dl n=3 format=edgelist1\ndata:\n1 2\n"))
    refused("Graphviz", "--edges", text("g.dot", "graph {\n a -- b;\n}\n"))
    refused("[0,1]", "--edges", text("semi.txt", "2;1\n1;0\n"))
    check(session.edges(session.imported("--edges", "semi.txt[0,1]")[0]) == between((0, 1), (1, 2)))
    store = follow(session, refused("DIMACS", "--edges", text("c.col", "c a remark\np edge 4 3\ne 1 2\ne 2 3\ne 4 1\n")), "names")
    check(session.edges(store) == between(("1", "2"), ("2", "3"), ("4", "1")))
    # The index of a frame, to which pandas gives no name: of a part, in another order, as the column of ids.
    e8 = text("e8.csv", "source,target\n0,1\n1,2\n2,4\n4,5\n5,6\n")
    refused("its numbers are not those of the lines", "--edges", e8, "--labels", text("kept.csv", ",cls\n0,0\n1,0\n2,1\n4,2\n5,2\n6,0\n7,1\n") + "[cls]")
    shuffled = text("shuffled.csv", ",cls\n6,0\n2,1\n1,0\n7,1\n3,1\n0,0\n5,2\n4,2\n")
    message = refused("0 (without a name)", "--edges", e8, "--labels", shuffled + "[cls]")
    check(f"--ids '{shuffled}[0]' with --header ids=yes and --ids-are names" in message, message)
    store = session.imported("--edges", e8, "--labels", shuffled + "[cls]", "--ids", shuffled + "[0]", "--header", "ids=yes", "--ids-are", "names")[0]
    check(session.edges(store) == between(("0", "1"), ("1", "2"), ("2", "4"), ("4", "5"), ("5", "6")))
    store = session.imported("--edges", e8, "--nodes", "8", "--labels", text("y8", "0\n0\n1\n1\n2\n2\n0\n1\n"), "--split", "train=" + text("tr.csv", ",cls\n4,2\n1,0\n2,1\n") + "[0]")[0]
    session.command("export", store, "--train", "t.npy")
    check(np.load(folder / "t.npy").tolist() == [1, 2, 4])
    refused("seem to be classes", "--edges", e8, "--nodes", "20", "--labels", text("y20", "0\n1\n" * 10), "--split", "train=" + text("cls.txt", "2\n1\n0\n" * 4))
    # Names of columns that are numbers, lists of neighbours in Pajek, GML without labels, weights and kinds beside edges in an archive.
    for table, what, columns in (("patient,1\nx,0\ny,1\nz,0\n", "--labels", "[1]"), ("id,2019,2020\n0,1,2\n1,3,4\n2,5,6\n", "--features", "[1:]"),
                                 ("kind,1,2\na,0,1\nb,1,2\n", "--edges", "[1,2]")):
        key, number = what[2:], text("numbers.csv", table) + columns
        beside = [] if what == "--edges" else ["--edges", text("e3", "0 1\n1 2\n")]
        nodes = {count: ["--nodes", count] if what == "--features" else [] for count in (3, 4)}
        message = refused("may be data, or names of columns", *beside, what, number, *nodes[3])
        check(f"--header {key}=no" in message, message)
        check(session.nodes(session.imported(*beside, what, number, *nodes[3], "--header", f"{key}=yes")[0]) == 3)
        check(session.nodes(session.imported(*beside, what, number, *nodes[4], "--header", f"{key}=no")[0]) == (3 if what == "--edges" else 4))
    lists = refused("Pajek", "--edges", text("p.net", '*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n*Edgeslist\n1 2 3\n')).split("Python: ", 1)[1]
    done = subprocess.run([sys.executable, "-c", lists], capture_output=True, text=True, cwd=folder)
    check(done.returncode != 0 and "lists of neighbours" in done.stderr, done.stderr)
    store = follow(session, refused("GML", "--edges", text("k.gml", "graph\n[\n node\n [\n  id 1\n ]\n node\n [\n  id 2\n ]\n edge\n [\n  source 2\n  target 1\n ]\n]\n")), "names")
    check(session.edges(store) == between(("1", "2")))
    np.savez(folder / "w.npz", edges=np.array([[0, 1], [1, 2], [2, 3]]), edge_weight=np.array([2, 3, 1]))
    refused("have weights", "--edges", "w.npz[edges]")
    session.imported("--edges", "w.npz[edges]", "--ignore-weights")
    np.savez(folder / "t.npz", edge_index=np.array([[0, 1], [1, 2]]), edge_type=np.array([0, 1]))
    refused("several kinds", "--edges", "t.npz")
    message = refused("calls column 2 'label'", "--edges", text("il.csv", "id,label\n0,1\n1,2\n"))
    session.imported("--edges", "il.csv", "--header", "edges=yes")
    for words, said in (("0,1\n1,\n", "an id is missing"), ("0 1\t5\n1 2\t6\n", "blanks and another separator"), ("0.0,1.0\n", "without .0")):
        for chosen in "", "[0,1]":
            if chosen == "" and "\t" in words:
                continue
            table = text("ends.csv", words) + chosen
            message = refused(said if chosen or "." in words or words[2] == "1" else "", "--edges", table, "--header", "edges=no")
            check("[0,1]" not in message or chosen == "", message)
    check("no id behind it is larger" in refused("may be an edge", "--edges", text("c.txt", "4 3\n0 1\n1 2\n2 4\n")))
    refused("fields in quotes are read where columns are named", "--edges", text("qa.csv", '"src","dst"\n"0","1"\n'))
    check(session.edges(session.imported("--edges", "qa.csv[src,dst]")[0]) == between((0, 1)))
    if importlib.util.find_spec("sklearn") is not None:
        line = refused("svmlight", *rest, "--features", text("x.svm", "1 1:0.5 3:2\n0 2:1\n" * 3)).split("Python: ", 1)[1]
        done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, cwd=folder)
        check(done.returncode == 0, line, done.stderr)
        session.imported(*rest, "--features", "features.npz")
    # Lines with names in another order than --ids; the remedy names the nodes by the lines.
    named = ["--edges", text("n.e", "ann bob\nbob cid\n"), "--ids", text("ids", "ann\nbob\ncid\n")]
    message = refused("may be data, or names of columns", *named, "--features", text("n.t", "cid,0.5\nann,0\nbob,0.25\n") + "[1:]")
    check("--header features=no" in message and "--header features=yes" in message, message)
    for table, what, column in (("who,class\ncid,1\nann,0\nbob,1\n", "--labels", "[class]"), ("# data\ncid,0.5\nann,0\nbob,0.25\n", "--features", "[1:]"),
                                ("who,x,y\nbob,0.25,0.5\nann,0,0.5\ncid,0.5,0.5\n", "--features", "[x,y]")):
        message = refused("names of the nodes in another order", *named, what, text("n.t", table) + column)
        again = [word for word in shlex.split(message) if word.startswith("n.t[")][0]
        check(column != "[1:]" or session.nodes(session.imported(*named[:2], "--ids", again)[0]) == 3)  # the remark is no name
        store = session.imported(*named[:2], "--ids", again, what, "n.t" + column)[0]
        all_files = f"all-{column.strip('[]')}"
        session.command("export", store, "--all", all_files)
        found = np.load(folder / all_files / ("labels.npy" if what == "--labels" else "features.npy"))
        check(found.tolist() == ([1, 0, 1] if what == "--labels" else [[0.5], [0], [0.25]] if column == "[1:]" else [[0.25, 0.5], [0, 0.5], [0.5, 0.5]]), found)
    session.imported(*named, "--labels", text("n.t", "who,class\nann,0\nbob,1\ncid,2\n") + "[class]")
    session.imported(*named, "--labels", text("n.t", "boss,class\nbob,0\nbob,1\nann,2\n") + "[class]")
    refused("names of the nodes in another order", *named, "--labels", text("n.t", "who,class\nbob,2\nann,0\ndan,1\n") + "[class]")
    # Two tables without names of nodes, each with its own order; a mask beside ids; ids among features without a header.
    three = ["--edges", text("e3", "0 1\n1 2\n"), "--nodes", "3"]
    text("f.t", "cust,x,y\n1001,1,1\n1005,2,2\n1003,3,1\n")
    text("l.t", "cust,class\n1005,1\n1001,0\n1003,2\n")
    message = refused("in another order, and line i of both", *three, "--features", "f.t[x,y]", "--labels", "l.t[class]")
    again = [word for word in shlex.split(message) if word in ("f.t[cust]", "l.t[cust]")][0]
    other = {"f.t[cust]": ["--features", "f.t[x,y]"], "l.t[cust]": ["--labels", "l.t[class]"]}[again]
    session.imported("--edges", text("c.e", "1001 1003\n"), "--ids", again, "--ids-are", "names", *other)
    session.imported(*three, "--features", "f.t[x,y]", "--labels", text("l.t", "cust,class\n1001,1\n1005,0\n1003,2\n") + "[class]")
    labels3 = ["--labels", text("y3", "1\n0\n1\n")]
    message = refused("numbers the lines, in another order", *three, *labels3, "--split", "train=" + text("m.t", "who,train\n2,True\n0,False\n1,True\n") + "[train]")
    check("--ids 'm.t[who]' and --ids-are names" in message, message)
    session.imported(*three, *labels3, "--split", "train=" + text("m.t", "who,train\n0,2\n1,1\n2,0\n") + "[train]")
    message = refused("numbers the lines, in another order", *three, "--features", text("x.t", "2 0.5\n0 1\n1 0\n"))
    check("x.t[1:]" in message and "x.t[0:]" in message, message)
    session.imported(*three, "--features", "x.t[0:]")
    # Columns that are called as ids and have others than their lines: beside labels, and among features.
    message = refused("not those of the lines", *three, "--labels", text("o.t", "id,label\n2,0\n0,1\n2,2\n") + "[label]")
    check("--ids 'o.t[id]'" in message, message)
    session.imported(*three, "--labels", text("o.t", "id,new,label\n20,0,0\n10,1,1\n30,2,2\n") + "[label]")
    message = refused("may have the ids of nodes", *three, "--features", text("p.t", "a,id,b\n1,2,0\n1,0,1\n0,1,1\n"))
    check("'p.t[a,b]'" in message and "p.t[0:]" in message, message)
    # Decimal commas where columns are chosen.
    for table in ("0;1,5\n1;2,5\n2;3,5\n", "0 1,5\n1 2,5\n2 3,5\n", "1,5;2,5\n1,5;2,5\n1,5;2,5\n"):
        refused("may be that of a decimal number", *three, "--features", text("c.t", table) + "[1]")
        refused("may be that of a decimal number", *three, "--labels", text("c.t", table) + "[1]")
    refused("may be that of a decimal number", *three, "--features", text("c.t", "Ann;1,5\nBob;2,5\nCid;3,5\n") + "[1]")
    for table in ("Ann 2,1.5\nBob 3,2.5\nCid 4,0.5\n", "12 High St 5,1\n7 Low St 2,2\n1 A,3\n", '"1;5",1\n"2;5",2\n"3;5",4\n', "a;b,1\nc;d,2\ne;f,4\n"):
        session.imported(*three, "--features", text("c.t", table) + "[1]", "--header", "features=no")
    # Parts whose numbers have no zeros before them, copies beside them, and one part in two forms.
    (folder / "parts").mkdir()
    for part in range(12):
        text(f"parts/part-{part}.csv", f"label\n{part % 3}\n")
    twelve = ["--edges", text("e12", "0 1\n"), "--nodes", "12", "--labels", "parts"]
    session.command("export", session.imported(*twelve)[0], "--labels", "labels.npy")
    check(np.load(folder / "labels.npy").tolist() == [part % 3 for part in range(12)])
    for other, said in (("part-3.csv~", "copy"), ("part-3.csv.gz", "same part as part-3.csv"), ("part-3.bak", "copy")):
        text(f"parts/{other}", "label\n0\n")
        refused(said, *twelve)
        (folder / "parts" / other).unlink()
    # Names of classes that both parts begin with, and an order of names.
    (folder / "named").mkdir()
    text("named/part-0", "cat\ndog\nowl\n")
    text("named/part-1", "cat\ncat\ndog\n")
    six = ["--edges", text("e6", "0 1\n"), "--nodes", "6", "--labels", "named", "--classes", "cat,dog,owl"]
    message = refused("may be data, or the header", *six)
    session.command("export", session.imported(*six, *re.search(r"(--header labels=no)", message).group(1).split())[0], "--labels", "labels.npy")
    check(np.load(folder / "labels.npy").tolist() == [0, 1, 2, 0, 0, 1])
    (folder / "mixed").mkdir()
    for label, part in enumerate(["a001", "a1bb", "a1c", "a2", "a010"]):
        text(f"mixed/{part}", f"{label}\n")
    session.command("export", session.imported("--edges", text("e5", "0 1\n"), "--nodes", "5", "--labels", "mixed", "--header", "labels=no")[0], "--labels", "labels.npy")
    check(np.load(folder / "labels.npy").tolist() == [0, 1, 2, 3, 4])
    # Weights of an archive, whatever they are called.
    for name in ("edge_weight", "weight", "weights", "w", "edge_attr"):
        np.savez(folder / "w.npz", edge_index=np.array([[0, 1], [1, 2]]), **{name: np.array([2, 3])})
        refused("have weights", "--edges", "w.npz")
        session.imported("--edges", "w.npz", "--max-weight", "3")
    np.savez(folder / "w.npz", edge_index=np.array([[0, 1], [1, 2]]), weight=np.array([2, 3]), w=np.array([1, 1]))
    message = refused("it may have the weights of the edges, and so may", "--edges", "w.npz", "--max-weight", "3")
    session.imported("--edges", "w.npz", "--max-weight", "3", *shlex.split(re.search(r"--edge-weights '[^']+'", message).group(0)))
    np.savez(folder / "w.npz", edge_index=np.array([[0, 1], [1, 2]]), edge_attr=np.ones((2, 3)))
    session.imported("--edges", "w.npz")
    # A number that may be that of a class, or its name.
    store = session.imported(*three, "--labels", text("stars", "3\n1\n2\n"), "--classes", "1,2,3", "--header", "labels=no")[0]
    session.command("propagate", store)
    said = session.command("stream", store, "--requests", text("r", "set-label 0 1\n"), "--json").stdout
    check(json.loads(said.splitlines()[0])["rejections"][0]["reason"] == "number-or-name", said)
    session.command("stream", store, "--requests", text("r", "set-label 0 #0\n"))
    session.command("export", store, "--labels", "labels.npy")
    check(np.load(folder / "labels.npy").tolist() == [0, 0, 1])
    for table in ("paper,x1\n0,0.1\n1,0.3\n2,0.5\n", "1 0.1\n2 0.3\n3 0.5\n"):
        message = refused("counts the lines", *three, "--features", text("c.t", table))
        check("c.t[1:]" in message and "c.t[0:]" in message, message)
        session.imported(*three, "--features", "c.t[1:]")
    # Names beside a column of numbers in another order, where edges may be numbers.
    text("i.t", "number,name\n2,ann\n0,bob\n1,cid\n")
    message = refused("numbers the lines, in another order", "--edges", array("e3.npy", [[0, 1], [1, 2], [0, 2]]), "--ids", "i.t[name]")
    check("--ids-are names" in message, message)
    check(session.edges(session.imported("--edges", "n.e", "--ids", "i.t[name]", "--ids-are", "names")[0]) == between(("ann", "bob"), ("bob", "cid")))
    # An array of two edges, of which nobody knows which are its edges; both lines of the message.
    message = refused("in rows or in columns", "--edges", array("square.npy", [[0, 1], [2, 3]]))
    check(session.edges(session.imported("--edges", re.search(r"'(\S+\[0,1\])'", message).group(1))[0]) == between((0, 1), (2, 3)), message)
    line = re.search(r"numpy\.savez\([^)]*\)", message).group(0)
    subprocess.run([sys.executable, "-c", f"import numpy; a = numpy.load('square.npy'); {line}"], check=True, cwd=folder)
    check(session.edges(session.imported("--edges", "edges.npz")[0]) == between((0, 2), (1, 3)), line)
    # Ids among the features, values that a header does not name, columns without a name, texts as labels.
    rest3 = three
    message = refused("may have the ids of nodes", *rest3, "--features", text("n.csv", "node,f\n2,5\n0,1\n1,7\n"))
    check("n.csv[1:]" in message and "n.csv[0:]" in message, message)
    refused("in another order", *rest3, "--features", "n.csv[1:]")
    session.imported(*rest3, "--features", "n.csv[0:]")
    refused("the header names 1 column", *rest3, "--features", text("d.csv", "score\n0,5\n0,25\n1,0\n"))
    message = refused("[1:]", *rest3, "--features", text("i.csv", ",age,h\n0,31,1.7\n1,32,1.8\n2,40,1.6\n"))
    check("put #" not in message, message)
    session.imported(*rest3, "--features", re.search(r"as in (\S+\[1:\])", message).group(1))
    message = refused("[1,2]", "--edges", text("i2.csv", ",src,dst\n0,5,6\n1,6,7\n2,7,8\n"))
    check(session.edges(session.imported("--edges", "i2.csv[1,2]")[0]) == between((5, 6), (6, 7), (7, 8)), message)
    message = refused("numpy.savetxt", *rest, "--labels", array("t.npy", list("abacba")), "--classes", "c,b,a")
    np.savetxt(folder / "t.txt", np.load(folder / "t.npy"), "%s")
    store = session.imported(*rest, "--labels", "t.txt", "--classes", "c,b,a")[0]
    session.command("export", store, "--labels", "labels.npy")
    check(np.load(folder / "labels.npy").tolist() == [2, 1, 2, 0, 1, 2])
    # Both directions given twice: the graph is right, and so is what is told of it.
    store, done = session.imported("--edges", text("twice", "0 1\n1 0\n0 1\n1 0\n"))
    check(session.edges(store) == between((0, 1)) and "184467" not in done.stdout, done.stdout)


def part_columns(session):
    """Columns by place are looked at as those by name are; first columns that are an index; commas in numbers."""
    folder = session.folder

    def text(name, content):
        (folder / name).write_text(content)
        return name

    def refused(said, *words):
        message = session.refused(*words)
        check(said in message, words, message)
        return message
    five = ["--nodes", "5", "--edges", text("e5.txt", "0 1\n1 2\n2 3\n3 4\n")]
    for header in ("id", "node", "uid", "index", "User_ID"):
        table = text("x.csv", f"{header},a\n50,0.5\n30,0.1\n10,0.2\n40,0.1\n20,0.3\n")
        message = refused("may have the ids of nodes", *five, "--features", table)
        check("x.csv[1:]" in message and "x.csv[0:]" in message, message)
        message = refused("not those of the lines", *five, "--features", table + "[1:]")
        check("--ids 'x.csv[0]'" in message, message)
        text("own.csv", "10,20\n20,30\n40,50\n")
        session.imported("--edges", "own.csv", "--features", table + "[1:]", "--ids", "x.csv[0]", "--ids-are", "names", "--header", "edges=no,ids=yes")
        for what, column in (("--labels", "2"), ("--split", "train")):
            table = text("l.csv", f"{header},c\n" + "".join(f"{node},{value}\n" for node, value in zip((7, 3, 1, 0, 2), "01010" if what == "--labels" else
                                                                                                  ("True", "False") * 2 + ("True",))))
            words = ["--labels", table + "[1]"] if what == "--labels" else ["--labels", text("y", "1\n0\n1\n0\n0\n"), "--split", f"train={table}[1]"]
            refused("not those of the lines", *five, *words)
    session.imported(*five, "--features", text("x.csv", "id,a\n0,0.5\n1,0.1\n2,0.2\n3,0.1\n4,0.3\n") + "[1:]")
    # A column that is called as labels are; x and y are coordinates.
    for header, kept in (("a,label", "x.csv[a]"), ("split,a", "x.csv[1:]"), ("y,a", "x.csv[1:]"), ("a,Target", "x.csv[a]")):
        table = text("x.csv", header + "\n" + "0.5,0.1\n" * 5)
        message = refused("may have labels or a split", *five, "--features", table)
        check(kept in message and "x.csv[0:]" in message, message)
        session.imported(*five, "--features", kept)
    session.imported(*five, "--features", text("x.csv", "x,y\n" + "0.5,0.1\n" * 5))
    # Values that begin with the mark of a remark are values of the column.
    names = ["--ids", text("tags.txt", "war\njoy\n")]
    for lines in ('0,"#love",war', "0,#love,war"):
        refused("no node has the name '#love'", "--edges", text("k.csv", f"id,src,dst\n{lines}\n1,war,joy\n") + "[src,dst]", *names)
    refused("is not a node id", "--edges", text("k.csv", "id,src,dst\n0,#5,1\n1,1,2\n") + "[src,dst]")
    refused("named twice", "--edges", "k.csv[src,src]")
    # The first line of a file of names that no edge speaks of, and ids of another system.
    done = session.imported("--edges", text("k.csv", "source,target\nann,bob\nbob,cyd\n"), "--ids", text("h.csv", "email\nann\nbob\ncyd\n"))[1]
    check("'email', the first line; where that is the name of the column, import with --header ids=yes" in done.stderr, done.stderr)
    done = session.imported("--edges", "k.csv", "--ids", "h.csv", "--header", "ids=yes")[1]
    check("no edge speaks of" not in done.stderr, done.stderr)
    done = session.imported("--edges", text("big.txt", "10000001 10000002\n5 6\n"))[1]
    check("10000003 nodes, of which 4 at most have an edge" in done.stderr and "--ids FILE" in done.stderr, done.stderr)
    # Arrays as texts.
    moved = np.c_[[4, 3, 2, 1, 0], np.arange(5) / 10]
    np.save(folder / "x.npy", moved)
    np.savez(folder / "x.npz", x=moved)
    for name in ("x.npy", "x.npz", "x.npz[x]"):
        refused("numbers the lines, in another order", *five, "--features", name)
    refused("numbers the lines, in another order", *five, "--features", "x.npy[1:]")
    session.imported(*five, "--features", "x.npy[0:]")
    np.save(folder / "sorted.npy", moved[np.argsort(moved[:, 0])])
    message = refused("counts the lines", *five, "--features", "sorted.npy")
    session.imported(*five, "--features", re.search(r"by (\S+\[1:\])", message).group(1))
    np.save(folder / "ones.npy", np.ones((5, 2)))
    session.imported(*five, "--features", "ones.npy")
    # The columns that a message names are those that the header calls ends.
    for header, wanted in (("edge_id,source,target", "[source,target]"), ("id,u,v", "[u,v]"), ("id,u,v,type", "[u,v]"), ("id,person,friend", "[person,friend]")):
        more = ",1" if header.count(",") == 3 else ""
        table = text("k.csv", header + "\n" + "".join(f"{100 + k},{k},{k + 1}{more}\n" for k in range(4)))
        message = session.refused("--edges", table)
        check("k.csv" + wanted in message, message)
        check(session.edges(session.imported("--edges", table + wanted)[0]) == between(*((k, k + 1) for k in range(4))))
        check("k.csv" + wanted in session.refused("--edges", table, "--ignore-weights") if not more else True)
    text("ten.txt", "0\n1\n2\n10\n11\n")
    refused("the first of three columns counts the lines", "--edges", text("ed.csv", "0,10,11\n1,11,10\n2,10,0\n"), "--ids", "ten.txt",
            "--ids-are", "names", "--header", "ids=no")
    check("[from_id,to_id]" in session.refused("--edges", text("k.csv", "friendship_id,from_id,to_id\n8,4,2\n2,3,1\n5,1,0\n7,0,2\n")))
    refused("an end of an edge", "--edges", "k.csv", "--max-weight", "9")
    # A word above numbers in a list of names.
    for header in ("customer_id", "kunde", "Customer ID"):
        message = refused("that of the column", "--edges", "e5.txt", "--ids", text("hid.csv", header + "\n11\n12\n13\n14\n15\n"), "--ids-are", "positions")
        store = session.imported("--edges", "e5.txt", "--ids", "hid.csv", "--ids-are", "positions", "--header", re.search(r"--header (ids=yes)", message).group(1))[0]
        check(session.edges(store) == between(("11", "12"), ("12", "13"), ("13", "14"), ("14", "15")))
    session.imported("--edges", "e5.txt", "--ids", text("hid.csv", "ann\n12\nbob\n13\n14\n"), "--ids-are", "positions")
    # What is advised for long rows is no norm of one.
    message = refused("is above 1", *five, "--features", text("long", "0.5\n4.7705\n1\n1\n1\n"), "--scale", "none")
    check("--scale 8," in message and "4.77" not in message.split("; ")[-1], message)
    # Names of rows, as R writes them; thousands; values with decimal commas.
    for table in ("source target\n1 3 4\n2 4 5\n3 5 6\n", "source,target\n0,3,4\n1,4,5\n"):
        for more in ([], ["--ignore-weights"], ["--max-weight", "9"]):
            refused("names of the rows", "--edges", text("r.txt", table), *more)
    text("r.txt", "row source target\n1 3 4\n2 4 5\n3 5 6\n")
    check(session.edges(session.imported("--edges", "r.txt[source,target]")[0]) == between((3, 4), (4, 5), (5, 6)))
    for more in ([], ["--ignore-weights"], ["--max-weight", "9"]):
        refused("may be that of a number", "--edges", text("th.tsv", "source\ttarget\n1,000\t2\n1,001\t3\n"), *more)
    store = session.imported(*five, "--features", text("f4", "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n1 1 1 1\n"), "--scale", "4")[0]
    for values, status in (("0,5 0,2", "malformed"), ("0.5 0.5 0 0", None), ("0.5,0.5,0,0 id=T1", None), ("0,5 0,2 id=T2", "malformed")):
        done = session.command("stream", store, "--requests", text("r", f"set-feature 3 {values}\n"))
        check((done.returncode == 0) == (status is None), values, done.stdout, done.stderr)
    # Labels that the type cannot exceed; a list behind a remark, of which a column is chosen.
    np.save(folder / "y.npy", np.array([0, 1, 255, 1, 0], "u1"))
    message = refused("stand for none", *five, "--labels", "y.npy")
    session.imported(*five, "--labels", "y.npy", "--classes", re.search(r"--classes (\d+)", message).group(1))
    labelled = [*five, "--features", "f4", "--scale", "4", "--labels", text("y", "1\n0\n1\n0\n1\n")]
    refused("[1]", *labelled, "--split", "train=" + text("s.csv", "7,0\n8,1\n9,3\n"))
    store = session.imported(*labelled, "--split", "train=" + text("s.csv", "# ids\n0,7\n1,8\n3,9\n") + "[0]")[0]
    session.command("propagate", store)
    session.command("train", store)
    message = session.command("predict", store, "--nodes", text("q.txt", "0,x\n4,y\n") + "[0]").stderr
    check("put a line of # alone above it" in message, message)
    done = session.command("predict", store, "--nodes", text("q.txt", "#\n0,x\n4,y\n") + "[0]")
    check([line.split("\t")[0] for line in done.stdout.splitlines()[1:]] == ["0", "4"], done.stdout, done.stderr)


def part_days(session):
    """What a user of the whole program met in a day of normal work."""
    folder = session.folder

    def text(name, content):
        (folder / name).write_text(content)
        return name

    def refused(part, *words):
        message = session.refused(*words)
        check(part in message, message)
        return message

    # A store whose numbers are names is exported so: the same request means the same node in the store that is made of the files.
    names = ["--ids", text("ids.txt", "5\n4\n3\n2\n1\n0\n"), "--ids-are", "names"]
    for more, third in ([], ""), (["--max-weight", "9"], ",7"):
        edges = text("e.csv", f"5,4{third}\n3,2{third}\n1,0{third}\n")
        store = session.imported("--edges", edges, *names, *more, "--labels", text("y", "0\n1\n0\n1\n0\n1\n"), "--split", "train=" + text("t", "5\n2\n"))[0]
        check(session.command("stream", store, "--requests", text("r", "edge 3 2 expires 2099-01-01\n")).returncode == 0)
        out = folder / f"all{session.stores}"
        done = session.command("export", store, "--all", out)
        check(done.returncode == 0 and done.stderr == "", done.stderr)
        lines = (out / "import.txt").read_text().splitlines()[2:]
        for line in lines:
            words = [str(out / "again") if word == "STORE" else word for word in shlex.split(line)]
            done = subprocess.run([session.program, *words[1:]], capture_output=True, text=True, cwd=out, timeout=300)
            check(done.returncode == 0, line, done.stderr)
        check(session.edges(out / "again") == session.edges(store))
        for one in store, out / "again":
            check(json.loads(session.command("info", one, "--json").stdout)["expiries"] == 1, one)
            session.command("stream", one, "--requests", text("r", "node 5\n"))
            check("5" not in session.command("export", one, "--names", "-").stdout.split(), one)
            check(session.edges(one) == between(("3", "2"), ("1", "0")))
    # Arrays have no header, whatever the texts have.
    np.save(folder / "f.npy", [[1003, 1001], [1001, 1002], [1002, 1003]])
    np.save(folder / "idn.npy", [1003, 1001, 1002])
    np.save(folder / "zero.npy", [[0, 1], [1, 2], [2, 0]])
    for ids, array, more in ("idn.npy", "f.npy", ["--header", "yes"]), ("idn.npy", "f.npy", []), (text("i", "2\n0\n1\n"), "zero.npy", []):
        store = session.imported("--edges", array, "--ids", ids, "--ids-are", "names", *more)[0]
        check(len(session.edges(store)) == 3, array, more)
    # A column that is called a weight is no end.
    for header, advised in ("customer,weight,friend", "[customer,friend,weight]"), ("weight,a,b", "[a,b,weight]"):
        for more in ["--max-weight", "5"], ["--ignore-weights"]:
            row = "0,2,1\n1,3,2\n" if header.startswith("c") else "2,0,1\n3,1,2\n"
            message = refused("weight", "--edges", text("w.csv", header + "\n" + row), *more)
            check(advised in message, message)
        store = session.imported("--edges", "w.csv" + advised, "--max-weight", "5")[0]
        check(session.edges(store) == between((0, 1), (1, 2)))
        check(json.loads(session.command("info", store, "--json").stdout)["weight_sum"] == 5)
    # Names in another order are seen where one stands twice, and where a program has written them otherwise.
    edges = text("n.csv", "Zed,Ann\nBob,Eve\n")
    ids = text("n.txt", "Zed\nAnn\nBob\nEve\n")
    for rows in ("Ann,gold\nBob,silver\nBob,silver\nEve,gold\n", "ANN,gold\nBOB,silver\nEVE,gold\nZED,gold\n"):
        refused("the names of the nodes in another order", "--edges", edges, "--ids", ids, "--labels", text("lab.csv", "name,segment\n" + rows) + "[segment]",
                "--classes", "gold,silver")
    numbers = ["--edges", text("m.csv", "1003,1001\n1002,1000\n"), "--ids", text("m.txt", "1003\n1001\n1002\n1000\n"), "--ids-are", "names"]
    for form in ("{}.0", "00{}"):
        rows = "".join(f"{form.format(one)},{one % 2}\n" for one in range(1000, 1004))
        refused("the names of the nodes in another order", *numbers, "--labels", text("lab.csv", "customer,y\n" + rows) + "[y]")
        rows = "".join(f"{form.format(one)},{one % 2}\n" for one in (1003, 1001, 1002, 1000))
        session.imported(*numbers, "--labels", text("lab.csv", "customer,y\n" + rows) + "[y]")
    # Nodes that count from 1 in a table, where they count from 0.
    text("lab.csv", "node,y\n1,0\n2,1\n3,1\n4,0\n")
    message = refused("counts the lines from 1", "--edges", text("one.csv", "a,b\n1,2\n2,3\n"), "--labels", "lab.csv[y]")
    ids = re.search(r"--ids '([^']+)'", message).group(1)
    store = session.imported("--edges", "one.csv", "--labels", "lab.csv[y]", "--ids", pathlib.Path(ids).name, "--ids-are", "names")[0]
    check(session.edges(store) == between(("1", "2"), ("2", "3")) and session.command("export", store, "--labels", "y.npy").returncode == 0)
    check(np.load(folder / "y.npy").tolist() == [0, 1, 1, 0])
    # Weights beside the one array of an archive that is named.
    np.savez(folder / "g.npz", edge_index=np.array([[0, 1, 2], [1, 2, 3]]), edge_weight=[5, 6, 7])
    for chosen in ("", "[edge_index]"):
        refused("the edges of", "--edges", "g.npz" + chosen)
        store = session.imported("--edges", "g.npz" + chosen, "--max-weight", "7")[0]
        check(json.loads(session.command("info", store, "--json").stdout)["weight_sum"] == 18, chosen)
    message = refused("calls column 1 'weight'", "--edges", text("wf.csv", "weight,a,b\n5,0,1\n6,1,2\n"))
    check("'wf.csv[a,b]'" in message, message)
    session.imported("--edges", "wf.csv[a,b]")
    # Weights that are called value, as in graphs of co-authors; edges as text.
    text("c.gml", 'graph [\n node [ id 0 label "GARCIA, J" ]\n node [ id 1 label "LEE, A" ]\n edge [ source 1 target 0 value 5 ]\n]\n')
    if importlib.util.find_spec("networkx") is not None:
        store = follow(session, session.refused("--edges", "c.gml"), more=["--max-weight", "9"])
        check(json.loads(session.command("info", store, "--json").stdout)["weight_sum"] == 5)
        check(session.command("export", store, "--edges", "text.txt").returncode == 0)
        check((folder / "text.txt").read_text() == '"GARCIA, J"\t"LEE, A"\t5\n', (folder / "text.txt").read_text())
    # A purge whose names are refused leaves the model as it was.
    store = session.imported("--edges", text("p.csv", "Ann,Bob\nBob,Cid\nCid,Dan\n"), "--ids", text("p.txt", "Ann\nBob\nCid\nDan\n"), "--features",
                             text("p.x", "1 0\n0 1\n1 0.2\n0.1 1\n"), "--labels", text("p.y", "0\n1\n0\n1\n"), "--split", "train=p.txt", "--header", "no")[0]
    session.command("propagate", store)
    session.command("train", store)
    log = (store / "certificates" / "exact.jsonl").read_text()
    done = session.command("purge", store, "--nodes", "6", "--ids", text("new", "Ann\nHal\n"))
    check(done.returncode == 2 and "a node of the store has the name 'Ann'" in done.stderr, done.stderr)
    check((store / "certificates" / "exact.jsonl").read_text() == log)
    check(session.command("purge", store, "--nodes", "6", "--ids", text("new", "Gus\nHal\n")).returncode == 0)
    check(session.command("export", store, "--names", "-").stdout.split() == ["Ann", "Bob", "Cid", "Dan", "Gus", "Hal"])
    # A plan counts lines, whichever columns are chosen.
    text("long.csv", "src,dst,weight,note\n" + "".join(f"{one},{one + 1},2,{'x' * 200}\n" for one in range(900)))
    plan = json.loads(session.command("import", "unmade", "--edges", "long.csv[src,dst,weight]", "--max-weight", "2", "--plan", "--json").stdout)
    check(880 < plan["edges_read"] < 920, plan)


def part_remedies(session):
    """What remedies print is given as it is printed, and makes the store that was meant."""
    folder = session.folder

    def text(name, content):
        (folder / name).write_text(content)
        return name

    def figures(store):
        return json.loads(session.command("info", store, "--json").stdout)

    def rows(store):
        """The features, dense, by an export of all."""
        target = store.with_suffix(".all")
        done = session.command("export", store, "--all", target)
        check(done.returncode == 0, done.stderr)
        if (target / "features.npy").exists():
            return np.load(target / "features.npy")
        import scipy.sparse
        parts = [np.load(target / f"features_{part}.npy") for part in ("values", "indices", "indptr")]
        return scipy.sparse.csr_matrix(tuple(parts)).toarray()

    # Ids that are written as floats, as pandas writes those of a column with a gap.
    three = ["--edges", text("e3.txt", "0 1\n1 2\n"), "--nodes", "3"]
    table = text("F.csv", "id,x,label,train\n2.0,0.5,0,True\n0.0,0.25,1,False\n1.0,0.125,0,True\n")
    for words in (["--features", table + "[x]"], ["--labels", table + "[label]"], ["--features", table + "[1]"],
                  ["--labels", text("y3", "0\n1\n0\n"), "--split", f"train={table}[train]"]):
        message = session.refused(*three, *words)
        check("column id: it numbers the lines" in message or "column 0: it numbers the lines" in message, words, message)
        check("sort the lines by it, or write its numbers without fractions and name the nodes by it: --ids" in message, message)
    whole = text("W.csv", (folder / table).read_text().replace(".0,", ","))
    names = re.search(r"name the nodes by it: (.*)$", session.refused(*three, "--features", whole + "[x]")).group(1)
    store = session.imported("--edges", text("named3.txt", "0\t1\n1\t2\n"), "--header", "edges=no", "--features", whole + "[x]",
                             *shlex.split(names.replace(" and ", " ")))[0]
    check(session.command("export", store, "--names", "-").stdout.split() == ["2", "0", "1"])
    ordered = text("sorted.csv", "id,x,label\n0.0,0.25,1\n1.0,0.125,0\n2.0,0.5,0\n")
    check(rows(session.imported(*three, "--features", ordered + "[x]")[0]).tolist() == [[0.25], [0.125], [0.5]])
    # Columns of edges by their names, and by places of the file.
    edges = between((3, 4), (4, 5), (5, 3))
    lines = "7,3,4\n8,4,5\n9,5,3\n"
    text("c.csv", "weight,source,target\n" + lines)
    for chosen, wanted in (("source,target,weight", "[source,target]"), ("source", "[source,target]"), ("1,2,0", "[1,2]"), ("1", "[source,target]")):
        message = session.refused("--edges", f"c.csv[{chosen}]")
        named = re.search(r"as in (c\.csv\[.*?\])", message).group(1)
        check(named == "c.csv" + wanted, chosen, message)
        check(session.edges(session.imported("--edges", named)[0]) == edges, named)
    text("o.csv", "a,weight,b\n" + "3,7,4\n4,8,5\n5,9,3\n")
    for chosen in "a,b,weight", "a", "0,2,1":
        named = re.search(r"as in (o\.csv\[.*?\])", session.refused("--edges", f"o.csv[{chosen}]")).group(1)
        check(session.edges(session.imported("--edges", named)[0]) == edges, chosen, named)
    text("neg.csv", "weight,source,target\n-7,3,4\n8,4,5\n9,5,3\n")
    named = re.search(r"as in (neg\.csv\[.*?\])", session.refused("--edges", "neg.csv[source,target,weight]", "--max-weight", "9")).group(1)
    check(session.edges(session.imported("--edges", named)[0]) == edges, named)
    # A column of weights is no end, by name and by place, of numbers and of names.
    ids = text("ids.txt", "3\n4\n5\n7\n8\n9\n")
    for more in [], ["--ids", ids, "--ids-are", "names"]:
        for chosen in "weight,source,target", "target,weight,source", "0,1,2", "2,0,1":
            message = session.refused("--edges", f"c.csv[{chosen}]", "--max-weight", "9", *more)
            check("called as weights are" in message, message)
            named = shlex.split(re.search(r"as in (\S+),", message).group(1))[0]
            store = session.imported("--edges", named, "--max-weight", "9", *more)[0]
            check(session.edges(store) == ({frozenset(map(str, edge)) for edge in edges} if more else edges), chosen, named)
            check(figures(store)["weight_sum"] == 24, chosen, named)
        check("called as weights are" in session.refused("--edges", "c.csv[weight,source]", *more))
    # Lists of neighbours.
    if importlib.util.find_spec("networkx") is not None:
        text("a.adj", "0 1 2\n1 2 3\n2 3 4\n")
        check(session.edges(follow(session, session.refused("--edges", "a.adj"))) == between((0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4)))
    # One large column among features, in every form that has some.
    import scipy.sparse
    small = np.round(np.random.default_rng(0).normal(size=(40, 5)), 3).astype(np.float32)
    small[:, 0] = 5  # not sparse in any row
    for place in 0, 2, 4:
        large = small.copy()
        large[:, place] = 1e6 + 3 * np.arange(40)[::-1]
        without = np.delete(large, place, axis=1)
        kept = [f"c{column}" for column in range(5)]
        np.save(folder / "f.npy", large)
        np.savez(folder / "z.npz", x=large)
        np.savez(folder / "two.npz", x=large, other=small)
        matrix = scipy.sparse.csr_matrix(large)
        scipy.sparse.save_npz(folder / "csr.npz", matrix)
        scipy.sparse.save_npz(folder / "it's.npz", matrix)
        np.savez(folder / "shchur.npz", attr_data=matrix.data, attr_indices=matrix.indices, attr_indptr=matrix.indptr, attr_shape=matrix.shape)
        np.save(folder / "ip.npy", matrix.indptr)
        np.save(folder / "ix.npy", matrix.indices)
        np.save(folder / "v.npy", matrix.data)
        body = "".join(",".join(map(repr, map(float, row))) + "\n" for row in large)
        text("f.csv", body)
        text("it's.csv", body)
        text("named.csv", ",".join(kept) + "\n" + body)
        text("wide.csv", "lead," + ",".join(kept) + "\n" + "".join("1," + row + "\n" for row in body.splitlines()))
        forms = ["f.npy", "z.npz", "two.npz[x]", "csr.npz", "it's.npz", "shchur.npz", "f.csv[0:]", "it's.csv[0:]", f"named.csv[{','.join(kept)}]",
                 "named.csv[c0,1:4,c4]", "wide.csv[1:]", "wide.csv[1:3,3:]", "indptr=ip.npy,indices=ix.npy,values=v.npy"]
        for form in forms:
            columns = ["--columns", "5"] if form.startswith("indptr") else []
            done = session.imported("--nodes", "40", "--features", form, *columns)[1]
            note = next(line for line in done.stderr.splitlines() if "of the squared norm" in line)
            remedy = re.search(r"leave it out by (.*), take logarithms", note).group(1)
            if (line := re.search("`(.*)`", remedy)) is not None:
                ast.parse(line.group(1))
                subprocess.run([sys.executable, "-c", line.group(1)], check=True, cwd=folder, timeout=120)
                words = shlex.split(remedy.split("` and ")[1])
            else:
                words = ["--features", *shlex.split(remedy)]
            store = session.imported("--nodes", "40", *words, "--scale", "1000")[0]
            check(np.allclose(rows(store), without, atol=1e-3), form, remedy)
    # A class that is called -1, and -1 for none.
    six = ["--edges", text("e6.txt", "0 1\n1 2\n2 3\n3 4\n4 5\n"), "--nodes", "6"]
    for labels, is_told in (("-1 0 1 -1 0 1", True), ("-1 0 0 1 1 1", False), ("-1.0 0 1 -1.0 0 1", True), ("nan 0 1 nan 0 1", False), ("-1 -1 -1 -1 -1 0", False),
                            ("nan 0 0 1 1 1", False)):
        done = session.imported(*six, "--labels", text("y6", labels.replace(" ", "\n") + "\n"))[1]
        check((" -1, which stands for no class" in done.stderr) == is_told, labels, done.stderr)
        np.save(folder / "y6.npy", np.array(labels.split(), dtype=float))
        done = session.imported(*six, "--labels", "y6.npy")[1]
        check((" -1, which stands for no class" in done.stderr) == is_told, labels, done.stderr)
    check("-1, which" not in session.imported(*six, "--labels", text("y6", "-1\n0\n1\n-1\n0\n1\n"), "--classes", "2")[1].stderr)
    # An edge of weight 0 is none, and its nodes are there.
    np.save(folder / "ew.npy", np.array([[0, 1], [1, 2], [2, 3], [1, 3]]))
    np.save(folder / "w0.npy", np.array([0, 1, 1, 1]))
    check("count from 1" not in session.imported("--edges", "ew.npy", "--edge-weights", "w0.npy", "--max-weight", "2")[1].stderr)
    np.save(folder / "w1.npy", np.array([[1, 2], [2, 3], [1, 3]]))
    check("count from 1" in session.imported("--edges", "w1.npy")[1].stderr)
    # The name of an array that would be compressed.
    message = session.command("export", store, "--labels", "y.npy.gz").stderr
    check("call it y.npy (" in message, message)


def part_networkx_json(session):
    """JSON of networkx in its three forms, of nodes whose ids are places of others."""
    if importlib.util.find_spec("networkx") is None:
        print("networkx_json: networkx is not installed")
        return
    import networkx

    moved, texts = networkx.Graph(), networkx.Graph()
    moved.add_nodes_from([2, 0, 1, 3])
    moved.add_edges_from([(2, 0), (0, 1)], weight=2)
    texts.add_edges_from([("a", "b"), ("b", "c d")])
    parallel = networkx.MultiGraph([(2, 0), (2, 0), (0, 1)])
    for number, graph in enumerate((moved, texts, parallel)):
        for write in networkx.node_link_data, networkx.adjacency_data, networkx.cytoscape_data:
            (session.folder / "n.json").write_text(json.dumps(write(graph)))
            message = session.refused("--edges", "n.json")
            weights = ["--max-weight", "9"] if graph is moved else []
            store = follow(session, message, ids_are="names" if graph is not texts else None, more=weights)
            check(session.edges(store) == {frozenset(map(str, edge[:2])) for edge in graph.edges}, number, write, session.edges(store))
            check(session.nodes(store) == len(graph), number, write)
    # Weights of parallel edges are added up, as entries of a matrix are that repeat.
    weighted = networkx.MultiGraph()
    weighted.add_weighted_edges_from([("b", "a", 2), ("b", "a", 3), ("a", "c", 1)])
    for graph, total in (parallel, None), (weighted, 6):
        for name, write in {"p.gml": networkx.write_gml, "p.json": lambda g, path: json.dump(networkx.node_link_data(g), open(path, "w"))}.items():
            write(graph, session.folder / name)
            more = ["--max-weight", "9"] if total else ["--ids-are", "names"]
            store = follow(session, session.refused("--edges", name), more=more)
            check(session.edges(store) == {frozenset(map(str, edge[:2])) for edge in graph.edges}, session.edges(store))
            check(json.loads(session.command("info", store, "--json").stdout).get("weight_sum") == total, name)


#: Headers of three columns of which the first is no end, and the pair that is proposed where the names tell.
HEADERS = {"session,user,friend": "user,friend", "user,time,friend": "user,friend", "session,user,item": None, "row_id,user1,user2": "user1,user2",
           "ts,sender,receiver": "sender,receiver", "date,payer,payee": "payer,payee", "num,person_a,person_b": "person_a,person_b",
           "duration,caller,callee": "caller,callee", "pred,subj,obj": "subj,obj", "doc,author1,author2": "author1,author2", "idx,i,j": "i,j",
           "amount,sender,recipient": "sender,recipient", "prob,x,y": None, "score,protein1,protein2": "protein1,protein2", "no,parent,child": "parent,child",
           "group,follower,followee": "follower,followee", "cost,origin,dest": "origin,dest", "len,start,end": "start,end", "line,head,tail": "head,tail",
           "relation,head,tail": "head,tail", "index,node1,node2": "node1,node2"}


def part_headers(session):
    """Three columns of which the header does not say that the first two are the ends: asked about, and a pair is proposed where one is called so."""
    names = session.folder / "ids"
    names.write_text("".join(f"n{node}\n" for node in range(5)))
    for header, ends in HEADERS.items():
        for named in False, True:
            node, file = "n" if named else "", "named.csv" if named else "plain.csv"
            rows = [(9, 0, 1), (8, 1, 2), (9, 2, 3), (7, 3, 4)]
            columns = header.split(",")
            places = [columns.index(one) for one in ends.split(",")] if ends else [1, 2]
            lines = [",".join(node + str(row[1 + places.index(place)]) if place in places else str(row[0]) for place in range(3)) for row in rows]
            (session.folder / file).write_text("\n".join([header, *lines]) + "\n")
            given = ["--ids", names] if named else []
            for options in [], ["--ignore-weights"], ["--max-weight", "9"]:
                message = session.refused("--edges", file, *given, *options)
                advised = re.search(r"as in (\S+)$", message)
                if ends is None:
                    check("[SOURCE,TARGET" in message and "[0,1]" not in message and "[user" not in message, header, message)
                    continue
                check(advised, header, message)
                store = session.imported("--edges", *shlex.split(advised[1]), *given, *options)[0]
                check(session.edges(store) == between(*((f"{node}{u}" if named else u, f"{node}{v}" if named else v) for _, u, v in rows)), header, message)
    # The third column says what the first two are.
    for header in "user,item,rating", "p,q,timestamp", "a,b,n", "source,target,anything", "from_page,to_page,text":
        (session.folder / "ends.csv").write_text(header + "\n0,5,3\n1,6,4\n")
        check(session.edges(session.imported("--edges", "ends.csv", "--ignore-weights")[0]) == between((0, 5), (1, 6)), header)
    # A 0 of a time or a kind takes no edge away.
    for third in "time", "type", "edge_id":
        (session.folder / "t.csv").write_text(f"source,target,{third}\n0,1,0\n1,2,7\n")
        for options in [], ["--ignore-weights"], ["--max-weight", "9"]:
            message = session.refused("--edges", "t.csv", *options)
            check("--ignore-weights" not in message, message)
            columns = re.search(r"as in (\S+\])", message)[1]
            check(session.edges(session.imported("--edges", columns)[0]) == between((0, 1), (1, 2)), message)


def part_ids_beside_names(session):
    """Tables whose columns of ids say another order than the names of --ids, or other names."""
    folder = session.folder
    (folder / "people.txt").write_text("ann\nbob\ncyd\ndan\n")
    (folder / "follows.csv").write_text("ann,bob\nbob,cyd\ncyd,dan\n")

    def import_of(rows, first="id", more=()):
        (folder / "nodes.csv").write_text(f"{first},label,a,b\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
        return ["--edges", "follows.csv", "--ids", "people.txt", "--labels", "nodes.csv[label]", "--features", "nodes.csv[2:]", *more]

    def labels(store):
        session.command("export", store, "--labels", "l.npy", "--quiet")
        return np.load(folder / "l.npy").tolist()

    rows = [(3, 1, .3, .3), (0, 0, 0, .1), (2, 1, .2, .2), (1, 0, .1, .1)]
    for more in (), ("--ids-are", "positions"):
        message = session.refused(*import_of(rows, more=more))
        check("column id: it numbers the lines, in another order than they stand in" in message and "name of --ids" in message, message)
        check(labels(session.imported(*import_of(sorted(rows), more=more))[0]) == [0, 0, 1, 1], "sorted by it, as the message says")
        check(labels(session.imported(*import_of(rows, first="rank", more=more))[0]) == [1, 0, 1, 0], "called otherwise, as the message says")
    message = session.refused(*import_of([(f"x{place + 1}", *row[1:]) for place, row in enumerate(rows)]))
    check("column id: its words may be other names of the nodes, and are not those of --ids" in message, message)
    for first, ids in ("id", ["ann", "bob", "cyd", "dan"]), ("code", ["x1", "x2", "x3", "x4"]), ("name", ["x", "y", "x", "y"]), ("id", [71, 12, 33, 20]):
        check(labels(session.imported(*import_of([(one, *row[1:]) for one, row in zip(ids, rows)], first=first))[0]) == [1, 0, 1, 0], first, ids)
    message = session.refused(*import_of([(one, *row[1:]) for one, row in zip(["DAN", "ANN", "CYD", "BOB"], rows)]))
    check("in another order than --ids, written otherwise" in message and "nodes.csv[id]" not in message, message)
    # Names that are numbers, whose order the column has.
    (folder / "numbers.txt").write_text("3\n0\n2\n1\n")
    (folder / "pairs.csv").write_text("3,0\n0,2\n2,1\n")
    import_of(rows)
    store = session.imported("--edges", "pairs.csv", "--ids", "numbers.txt", "--ids-are", "names", "--labels", "nodes.csv[label]")[0]
    check(labels(store) == [1, 0, 1, 0])


def part_marks(session):
    """A line of # and a number in a list of nodes, words in the place of nodes, counts from 0, and moments that have passed."""
    folder = session.folder
    rows = ["1", "0 2", "1 3", "2"]
    (folder / "g.metis").write_text("\n".join(["4 3", *rows]) + "\n")
    check("add 1 to every neighbour where they count from 0" in session.refused("--edges", "g.metis"))
    (folder / "g.metis").write_text("\n".join(["4 3", *(" ".join(str(int(one) + 1) for one in row.split()) for row in rows)]) + "\n")
    check(session.edges(session.imported("--edges", "g.metis")[0]) == between((0, 1), (1, 2), (2, 3)))
    (folder / "e.txt").write_text("0 1\n1 2\n2 3\n")
    (folder / "y.txt").write_text("1\n0\n1\n0\n")
    np.save(folder / "x.npy", np.eye(4))
    given = ["--edges", "e.txt", "--features", "x.npy", "--labels", "y.txt"]
    (folder / "nodes").write_text("1\n#3\n")
    check("'#3' may be a node, or a comment" in session.refused(*given, "--split", "train=nodes"))
    (folder / "n.csv").write_text("label,split\n1,train\n0,test\n1,valid\n0,train\n")
    message = session.refused(*given, "--split", "train=n.csv[split]")
    check("line 2: 'train' seems to say which split the line belongs to" in message, message)
    (folder / "mask.csv").write_text("train\nTrue\nFalse\nFalse\nTrue\n")
    store = session.imported(*given, "--split", "train=mask.csv[train]")[0]  # as the message says
    session.command("export", store, "--train", "t.npy", "--quiet")
    check(np.load(folder / "t.npy").tolist() == [0, 3])
    session.command("propagate", store, "--hops", "1", "--rows", "all")
    for words in (["export", store, "--embeddings", "z.npy", "--nodes", "nodes"],):
        done = session.command(*words)
        check(done.returncode == 2 and "may be a node, or a comment; write the number alone" in done.stderr, done.stderr)
    for mended, rows in ("1\n3\n", 2), ("1\n# 3\n", 1):
        (folder / "nodes").write_text(mended)
        check(session.command("export", store, "--embeddings", "z.npy", "--nodes", "nodes").returncode == 0 and len(np.load(folder / "z.npy")) == rows)
    (folder / "r").write_text("node 3 expires 2020-01-01\nnode 2 expires 2999-01-01\n")
    done = session.command("stream", store, "--requests", "r")
    check(done.returncode == 0 and "1 of these requests names a moment that has passed; nothing is removed yet" in done.stderr, done.stderr)
    check(session.edges(store) == between((0, 1), (1, 2), (2, 3)))
    line = re.search(r"`unweave (.*?)` removes what is due", done.stderr)[1]
    check(session.command(*shlex.split(line)).returncode == 0 and session.edges(store) == between((0, 1), (1, 2)), line)
    done = session.command("stream", store, "--requests", "/dev/null", "--evaluate-every", "2")
    check("--evaluate-every evaluates models that follow the stream, and none does" in done.stderr, done.stderr)


PARTS = {"graphs": part_graphs, "links": part_links, "arrays": part_arrays, "identity": part_identity, "names": part_names,
         "features": part_features, "lists": part_lists, "nodes": part_nodes, "tables": part_tables, "columns": part_columns, "days": part_days,
         "remedies": part_remedies, "networkx_json": part_networkx_json, "headers": part_headers, "ids_beside_names": part_ids_beside_names,
         "marks": part_marks}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("parts", nargs="*", default=[])
    asked = parser.parse_args()
    for name in asked.parts or PARTS:
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
            PARTS[name](Session(pathlib.Path(asked.program).resolve(), pathlib.Path(folder)))
        print(f"{name}: holds")


if __name__ == "__main__":
    main()
