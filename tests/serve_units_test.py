#!/usr/bin/env python3
# tests/serve_units_test.py - `unweave serve` over stores of whole graphs and of links: requests, predictions, and calls that are wrong.
#
#   python3 tests/serve_units_test.py UNWEAVE
import json
import signal
import subprocess
import threading
import time

import numpy as np

from serve_hostile_test import check_memory
from serve_test import Service, check, run, run_parts, wait_until

JSON = {"Content-Type": "application/json"}


def make_graphs(program, folder, graphs=30, each=8):
    """Rings and stars, which have a class each; nodes of a graph lie apart from each other."""
    edges, number = [], []
    for node in range(graphs * each):
        number.append(node % graphs)
        graph, place = node % graphs, node // graphs
        if graph % 2 == 0:
            edges.append((node, graph + graphs * ((place + 1) % each)))
        elif place > 0:
            edges.append((graph, node))
    np.savetxt(folder / "edges", edges, "%d")
    np.save(folder / "features.npy", np.random.default_rng(1).random((len(number), 4), np.float32))
    np.save(folder / "graphs.npy", np.array(number))
    np.save(folder / "classes.npy", np.arange(graphs) % 2)
    np.save(folder / "train.npy", np.arange(graphs - 6))
    np.save(folder / "test.npy", np.arange(graphs - 6, graphs))
    store = folder / "graphs.store"
    run(program, "import", store, "--edges", folder / "edges", "--features", folder / "features.npy", "--graphs", folder / "graphs.npy", "--graph-labels",
        folder / "classes.npy", "--graph-split", f"train={folder / 'train.npy'},test={folder / 'test.npy'}")
    run(program, "propagate", store, "--rho", 1)
    run(program, "train", store, "--pool", "mean", "--rows-of", "stack,degree")
    return store


def make_links(program, folder, names=False, nodes=60, scale=1, directed=False):
    """Two groups that their features tell; `directed`: edges are arcs from smaller ids to larger ones."""
    chance = np.random.default_rng(2)
    ends = np.array([(u, v) for u in range(nodes) for v in range(u + 1, min(nodes, u + 60)) if chance.random() < (.3 if u % 2 == v % 2 else .05)])
    text = np.array([f"n,{node}" for node in range(nodes)]) if names else np.arange(nodes)
    quoted = (lambda word: f'"{word}"') if names else str
    (folder / "edges").write_text("".join(f"{quoted(text[u])} {quoted(text[v])}\n" for u, v in ends))
    (folder / "ids").write_text("".join(f"{quoted(word)}\n" for word in text))
    features = (chance.normal(size=(nodes, 6 * scale)) + 2 * np.eye(2, 6 * scale)[np.arange(nodes) % 2]).astype(np.float32) / 4
    np.save(folder / "features.npy", features)
    store = folder / "links.store"
    run(program, "import", store, "--edges", folder / "edges", "--features", folder / "features.npy", "--pairs", "valid=.1,test=.1",
        *(["--directed"] if directed else []), *(["--ids", folder / "ids"] if names else ["--nodes", nodes]))
    run(program, "propagate", store, "--rho", 1)
    run(program, "train", store, "--pair", "hadamard,by=16", "--scale-rows", "unit")
    return store


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def send(service, *lines):
    """Requests, and what became of them."""
    status, answer = service.call("POST", "/requests", "\n".join(lines))
    check(status == 200 and not answer["refused"], answer)
    states = []
    for one in answer["acknowledged"]:
        path = f"/requests/{one['id']}"
        wait_until(lambda: service.call("GET", path)[1]["state"] != "acknowledged")
        states.append(service.call("GET", path)[1])
    return states


def check_wrong(service, calls):
    for status, path, body, headers, word in calls:
        got, answer = service.call("GET" if body is None else "POST", path, body, headers)
        check(got == status and word in str(answer), path, str(body)[:200], got, answer)


def check_graphs(program, folder):
    """Classes of whole graphs by their numbers, requests that name these, and calls that are wrong."""
    store = make_graphs(program, folder)
    service = Service(program, store, "--solver", "exact", "--every", "50ms", "--receipts", str(folder / "receipts"), "--memory", "64M")

    def compare(graphs):
        np.save(folder / "asked.npy", np.array(graphs))
        said = objects(run(program, "predict", store, "--graphs", folder / "asked.npy", "--json"))
        status, answer = service.call("GET", "/predict?graphs=" + ",".join(map(str, graphs)))
        check(status == 200 and answer["model"] == "exact", answer)
        check([(one["id"], one["class"], one["score"]) for one in answer["predictions"]] == [(one["id"], one["class"], one["score"]) for one in said], answer)
        return answer

    check(compare([2, 29, 3, 2])["sequence"] == 0)
    compare(list(range(30)) * 10)  # more than are scored at once
    states = send(service, "graph 4 id=a", "set-graph-label 5 0 id=b", "move-graph-split 6 test id=c", "node 7 id=d", "insert-node 7 .5 .5 .5 .5 graph=9 id=e",
                  "insert-edge 7 9 id=f", "insert-edge 7 10 id=g", "graph 4 id=h", "graph 99 id=i", "set-graph-label 8 7 id=j", "graph 4294967295 id=k")
    said = [(one["kind"], one["state"], one.get("reason")) for one in states]
    check([one[1] for one in said] == ["applied"] * 6 + ["rejected"] * 5, said)
    check(said[0][0] == "graph" and said[6][2] == "joins-graphs", said)
    wait_until(lambda: service.call("GET", "/receipts/a")[0] == 200)
    check(service.call("GET", "/receipts/a")[1]["request"].startswith("graph 4 id=a at="), "a receipt of a graph")
    answer = compare([0, 5, 9])
    check(answer["sequence"] == 11, answer)
    many = ",".join(["1"] * 4000)
    check(len(service.call("GET", f"/predict?graphs={many}")[1]["predictions"]) == 4000)
    check_wrong(service, [
        (400, "/predict?graphs=", None, None, "graphs=1,2,3 is needed"), (400, "/predict?graphs=4", None, None, "graph 4 has no nodes"),
        (400, "/predict?graphs=30", None, None, "has the graphs 0 to 29"), (400, "/predict?graphs=-1", None, None, "no number of a graph"),
        (400, "/predict?graphs=x", None, None, "no number of a graph"), (400, "/predict?graphs=1,,2", None, None, "no number of a graph"),
        (400, "/predict?graphs=1.5", None, None, "no number of a graph"), (400, "/predict?graphs=4294967296", None, None, "no number of a graph"),
        (400, "/predict?graphs=99999999999999999999999", None, None, "no number of a graph"), (400, "/predict?graphs=%00", None, None, "no number of a graph"),
        (400, "/predict?graphs=1%0A2", None, None, "no number of a graph"), (400, "/predict?graphs=%ff", None, None, "no number of a graph"),
        (400, "/predict?graphs=1&nodes=1", None, None, "give one of them"), (400, "/predict?graphs=1&graphs=2", None, None, "twice"),
        (400, "/predict?nodes=1", None, None, "gives classes to graphs"), (400, "/predict?graphs=1&model=none", None, None, "none"),
        (400, "/predict?graphs=1&model=%zz", None, None, "%25"), (400, "/pairs", "1 2", None, "says nothing of pairs"),
        (400, "/links/1", None, None, "says nothing of pairs"), (414, "/predict?graphs=" + "1," * 10_000, None, None, ""),
        (400, "/predict", None, None, "nodes=1,2,3 is needed")])
    status, answer = service.call("POST", "/requests", "graph x\nset-graph-label 1\nmove-graph-split 1 best\ngraph -1\ngraph 1 2\ngraph")
    check(status == 400 and len(answer["refused"]) == 6, answer)
    states = send(service, "graph 11 expires 2001-01-01 id=x")  # and the service does it
    check(states[0]["state"] == "applied", states)
    wait_until(lambda: "graph 11 has no nodes" in str(service.call("GET", "/predict?graphs=11")[1]))
    check_memory(service, 64)
    check(service.end() == 0, service.error)
    run(program, "verify", store)
    run(program, "verify", store / "certificates/exact.jsonl", "--receipts", folder / "receipts")


def check_links(program, folder):
    """Scores of pairs and the best links of a node are those of `predict`; wrong calls are answered by what is wrong."""
    store = make_links(program, folder)
    service = Service(program, store, "--solver", "exact", "--every", "50ms", "--memory", "64M")

    def compare(pairs, top=7):
        lines = "".join(f"{u} {v}\n" for u, v in pairs)
        (folder / "asked").write_text(lines)
        said = objects(run(program, "predict", store, "--pairs", folder / "asked", "--json"))
        status, answer = service.call("POST", "/pairs", "# pairs\n\n" + lines)
        check(status == 200 and answer["model"] == "exact" and answer["links"] == said, answer)
        status, again = service.call("POST", "/pairs?model=exact", json.dumps({"pairs": lines.splitlines()}), JSON)
        check(status == 200 and again == answer, again)
        (folder / "asked").write_text("17\n")
        said = objects(run(program, "predict", store, "--links", folder / "asked", "--top", top, "--json"))
        status, best = service.call("GET", f"/links/17?top={top}")
        check(status == 200 and best["links"] == said and len(said) == top and best["sequence"] == answer["sequence"], best)

    compare([(0, 2), (1, 2), (59, 3), (0, 2), (2, 0)])
    edges = np.loadtxt(folder / "edges", dtype=int)
    states = send(service, *(f"edge {u} {v}" for u, v in edges[:20]), "node 9", "insert-edge 9 17", "insert-edge 17 18")
    check([one["state"] for one in states[:21]] == ["applied"] * 21, states)
    compare([(9, 17), tuple(edges[0]), (17, 18)])
    check(len(service.call("GET", "/links/17")[1]["links"]) == 10, "as many as the command has, where nobody says")
    check(service.call("POST", "/pairs", "1,2\n3 , 4\n")[0] == 200)
    status, answer = service.call("POST", "/pairs", "1 2\n" * 10_000)
    check(status == 200 and len(answer["links"]) == 10_000)
    wrong = [(413, "/pairs", "1 2\n" * 10_001, None, "at most 10000 pairs"), (413, "/pairs", "1 2\n" * (5 << 20), None, ""),
             (415, "/pairs", "1 2", {"Content-Type": "text/plain"}, "pairs need the header"), (405, "/pairs", None, None, "POST"), (405, "/links/1", "1 2", None, "GET"),
             (404, "/links/", None, None, "no such call"), (404, "/links", None, None, "no such call"), (404, "/pairs/1", "1 2", None, "no such call"),
             (400, "/pairs?top=2", "1 2", None, "model"), (400, "/links/1?nodes=2", None, None, "top,model"), (400, "/pairs?model=none", "1 2", None, "none"),
             (400, "/predict?nodes=1", None, None, "gives classes to pairs"), (400, "/predict?graphs=1", None, None, "gives classes to pairs")]
    wrong += [(400, "/pairs", body, None, word) for body, word in [
        ("", "no pair in the body"), ("#\n", "no pair in the body"), ("1", "pair 1: a pair has two nodes"), ("1 2\n3", "pair 2: a pair has two nodes"), ("1 2 3", "stands behind"),
        ("1 2,", "stands behind"), ("1 60", "no node is called '60'"), ("1 -1", "'-1'"), ("1 x", "'x'"), ("1 1", "itself"), ("1 1.0", "'1.0'"),
        ("1 18446744073709551616", "'1844"), ("1 4294967296", "'4294967296'"), (b"1 \xff", "pair 1"), (b"\0", "pair 1"), (b"1 2\0", "pair 1"), ("edge 1 2", "'edge'"),
        ('"1 2', "quotes"), ("1 #2", "'#2'"), ("[[1, 2]]", "pair 1")]]
    wrong += [(400, "/pairs", body, JSON, word) for body, word in [
        ('{"pairs": ["1 x"]}', "pair 1"), ('{"pairs": []}', "no pair"), ("[", "not of the form"), ('{"pairs": [[1, 2]]}', "not of the form"), ('{"requests": ["1 2"]}', "not of the form"),
        ('{"pairs": ["1 2"], "top": 3}', "not of the form"), ('{"pairs": ["1 2"]}{}', "not of the form"), ('{"pairs": ["1 2"]}\0', "not of the form"), ("1 2", "not of the form"),
        ("null", "not of the form"), ("[" * 5000, "not of the form"), (b'{"pairs": ["1 \xff"]}', "not of the form"), ('{"pairs": ["1\\n2"]}', "pair 1")]]
    wrong += [(400, f"/links/1?top={top}", None, None, "a number from 1 to 1000") for top in ["0", "1001", "-1", "x", "", "1.5", "99999999999999999999", "%00", "1%0A"]]
    wrong += [(400, f"/links/{node}", None, None, "no node is called") for node in ["60", "x", "-1", "1%20", "1,2", "4294967296", "%00", "%ff", "..%2F1"]]
    check_wrong(service, wrong)
    check_memory(service, 64)
    check(service.end() == 0, service.error)
    run(program, "verify", store)


def check_arcs(program, folder):
    """Pairs are ordered where edges have directions: scores there and back differ, and links lead from the node that is named."""
    store = make_links(program, folder, directed=True)
    service = Service(program, store, "--solver", "exact", "--every", "50ms", "--memory", "64M")

    def compare():
        (folder / "asked").write_text("0 2\n2 0\n4 4\n")
        said = objects(run(program, "predict", store, "--pairs", folder / "asked", "--json"))
        status, answer = service.call("POST", "/pairs", "0 2\n2 0\n4 4\n")
        check(status == 200 and answer["links"] == said and said[0]["score"] != said[1]["score"], answer)
        (folder / "asked").write_text("17\n")
        said = objects(run(program, "predict", store, "--links", folder / "asked", "--top", 7, "--json"))
        status, best = service.call("GET", "/links/17?top=7")
        check(status == 200 and best["links"] == said and all(one["u"] == 17 for one in said), best)

    compare()
    u, v = np.loadtxt(folder / "edges", dtype=int)[3]
    states = send(service, f"edge {v} {u}", f"edge {u} {v}", f"insert-edge {v} {u}", "node 9", "insert-edge 17 17")
    check([one["state"] for one in states] == ["rejected"] + ["applied"] * 4, states)
    compare()
    check(service.end() == 0, service.error)
    run(program, "verify", store)


def check_names(program, folder):
    """Nodes have names, which may need quotes."""
    from urllib.parse import quote
    store = make_links(program, folder, names=True)
    service = Service(program, store, "--every", "50ms")
    for body, headers in [('"n,1" "n,2"\n# a remark\n"n,5","n,9"\n', None), (json.dumps({"pairs": ["#1 #2", '"n,5" "n,9"']}), JSON)]:
        status, answer = service.call("POST", "/pairs", body, headers)
        check(status == 200 and [(one["u"], one["v"]) for one in answer["links"]] == [("n,1", "n,2"), ("n,5", "n,9")], answer)
    status, best = service.call("GET", "/links/" + quote('"n,1"') + "?top=3")
    check(status == 200 and all(one["u"] == "n,1" for one in best["links"]), best)
    check(best == service.call("GET", "/links/%231?top=3")[1], "a node by its number")
    check_wrong(service, [(400, "/pairs", '"n,1" "n,2"\n#3 "n,4"\n', None, "may be a remark or a pair"), (400, "/pairs", '"n,1" "n,2', None, "quotes"), (400, "/pairs", "n,1 n,2", None, "'n'"), (400, "/links/nobody", None, None, "'nobody'")])
    check(service.end() == 0, service.error)


def check_end(program, folder):
    """A service ends in time while somebody asks for much, one call after the other."""
    store = make_links(program, folder, nodes=4000, scale=100)
    service = Service(program, store, "--every", "50ms", "--memory", "256M")
    body = "".join(f"{i % 4000} {(i * 7 + 1) % 4000}\n" for i in range(10_000) if i % 4000 != (i * 7 + 1) % 4000)
    over = threading.Event()

    def ask(method, path, body):
        while not over.is_set():
            try:
                status, answer = service.call(method, path, body)
                check(status in (200, 503), status, answer)
            except (OSError, json.JSONDecodeError):
                pass
            except Exception:  # a connection that the end has closed
                check(over.is_set() or service.process.poll() is None)

    threads = [threading.Thread(target=ask, args=one) for one in [("POST", "/pairs", body), ("GET", "/links/5?top=1000", None)] * 4]
    for thread in threads:
        thread.start()
    for _ in range(20):
        check(service.call("GET", "/status")[0] == 200)
        time.sleep(0.05)
    over.set()
    begin = time.monotonic()
    service.process.send_signal(signal.SIGTERM)
    code = service.process.wait(timeout=60)
    ended = time.monotonic() - begin
    for thread in threads:
        thread.join()
    service.reader.join()
    check(code == 0, service.process.stderr.read())
    check(ended < 5, f"{ended:.1f} s to end")
    return f"ended in {ended:.1f} s"


if __name__ == "__main__":
    run_parts({"graphs": check_graphs, "links": check_links, "arcs": check_arcs, "names": check_names, "end": check_end})
