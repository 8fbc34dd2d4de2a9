#!/usr/bin/env python3
# tests/serve_test.py - `unweave serve` as its clients meet it: answers, tokens, back-pressure, and kills at any moment.
#
#   python3 tests/serve_test.py UNWEAVE [--kills N]
import argparse
import http.client
import inspect
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time

import numpy as np


class Program:
    """The program at work; the lines that it prints are read as they come."""
    started = []

    def __init__(self, *words, stdin=None):
        self.process = subprocess.Popen(list(map(str, words)), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        Program.started.append(self.process)
        self.batches = []

    def read_on(self):
        self.reader = threading.Thread(target=lambda: self.batches.extend(map(json.loads, self.process.stdout)))
        self.reader.start()

    @staticmethod
    def end_all():
        """After a test that failed: what still runs would keep this program from ending."""
        for process in Program.started:
            if process.poll() is None:
                process.kill()

    def stop(self, how):
        """Its exit code; what it said on standard error is `error`."""
        self.process.send_signal(how)
        code = self.process.wait(timeout=120)
        self.reader.join()
        self.error = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return code


class Service(Program):
    """A service, and calls to it."""

    def __init__(self, program, store, *options, socket_path=None, port=0):
        listen = f"unix:{socket_path}" if socket_path else f"127.0.0.1:{port}"
        super().__init__(program, "serve", store, "--listen", listen, "--json", *options)
        first = self.process.stdout.readline()
        if not first:
            raise AssertionError(self.process.stderr.read())
        self.location = json.loads(first)["listening"]
        self.read_on()

    def connection(self):
        if self.location.startswith("http://"):
            return http.client.HTTPConnection(self.location[len("http://"):], timeout=60)
        made = http.client.HTTPConnection("localhost", timeout=60)
        made.sock = socket.socket(socket.AF_UNIX)
        made.sock.connect(self.location)
        return made

    def call(self, method, path, body=None, headers=None, connection=None):
        used = connection or self.connection()
        kind = {"Content-Type": "text/x-unweave"} if method == "POST" else {}
        used.request(method, path, body, kind | (headers or {}))
        answer = used.getresponse()
        text = answer.read().decode()
        if connection is None:
            used.close()
        is_json = answer.getheader("Content-Type", "").startswith("application/json")
        return answer.status, json.loads(text) if is_json else text

    def end(self, how=signal.SIGTERM):
        return self.stop(how)


def run(program, *words):
    return subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True).stdout


def edges_of(program, store, folder):
    run(program, "export", store, "--edges", folder / "edges.npy")
    edges = {(int(u), int(v)) for u, v in np.load(folder / "edges.npy")}
    (folder / "edges.npy").unlink()
    return edges


def make_store(program, folder, scale=10):
    store = folder / "s"
    run(program, "generate", store, "--model", "sbm", "--scale", scale, "--features", 16, "--classes", 4, "--seed", 1)
    run(program, "propagate", store)
    return store


def check(condition, *what):
    if not condition:
        raise AssertionError(*what)


def wait_until(done, seconds=60):
    end = time.monotonic() + seconds
    while not done():
        check(time.monotonic() < end, "it has taken too long")
        time.sleep(0.02)


def run_parts(parts, **numbers):
    """Runs the parts of a test that the command line names, or all, each in a folder of its own. `numbers`: options and their defaults,
    which a part gets that has arguments of these names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    for name, value in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("parts", nargs="*")
    asked = parser.parse_intermixed_args()
    try:
        for name in asked.parts or parts:
            taken = inspect.signature(parts[name]).parameters
            with tempfile.TemporaryDirectory() as folder:
                started = time.monotonic()
                given = {number: getattr(asked, number) for number in numbers if number in taken}
                result = parts[name](os.path.abspath(asked.program), pathlib.Path(folder), **given)
                print(f"{name}: holds" + (f", {result}" if result else "") + f" ({time.monotonic() - started:.1f} s)", flush=True)
    finally:
        Program.end_all()


def check_answers(program, folder):
    store = make_store(program, folder)
    run(program, "train", store)
    edges = sorted(edges_of(program, store, folder))
    tokens = folder / "tokens"
    tokens.write_text("# of the test\n" + "a" * 32 + "\n" + "b" * 32 + "\n")
    service = Service(program, store, "--solver", "exact", "--every", "100ms", "--tokens", str(tokens), "--receipts",
                      str(folder / "receipts"), "--quarantine", str(folder / "bad"))
    token = {"Authorization": "Bearer " + "b" * 32}
    check(service.call("GET", "/ready")[0] == 200)
    # A query says what a call knows, once, or nothing is done.
    for method, path in [("POST", "/requests?dry_run=true"), ("GET", "/predict?nodes=1&nodes=2"), ("GET", "/predict?nodes=1&name=exact"), ("GET", "/status?x"),
                         ("POST", "/purge?dry_run"), ("GET", "/receipts/A?=1"), ("GET", "/?find=a&find=b")]:
        kind = {"Content-Type": "application/json" if path.startswith("/purge") else "text/x-unweave"} if method == "POST" else {}
        status, answer = service.call(method, path, "node 1" if method == "POST" else None, {**token, **kind})
        check(status == 400 and ("query" in str(answer)), path, status, answer)
    check(service.call("GET", "/predict?nodes=1&model=exact", None, token)[0] == 200)
    check(service.call("GET", "/status", None, token)[1]["acknowledged"] == 0)
    for wrong in [{}, {"Authorization": "Bearer " + "c" * 32}, {"Authorization": "Bearer "}, {"Authorization": "b" * 32}]:
        for method, path in [("POST", "/requests"), ("GET", "/status"), ("GET", "/certificates/exact"), ("GET", "/metrics")]:
            status, answer = service.call(method, path, "node 1" if method == "POST" else None, wrong)
            check(status == 401 and "token" in answer["error"], status, answer)
    (u, v), (x, y) = edges[0], edges[5]
    status, answer = service.call("POST", "/requests", f"edge {u} {v} id=T1\nfoo\n# a remark\n\nnode 999999 id=T2\n", token)
    check(status == 200 and answer["acknowledged"] == [{"id": "T1", "sequence": 1}, {"id": "T2", "sequence": 2}], answer)
    check(answer["refused"] == [{"line": 2, "text": "foo", "reason": "not a request: there is no request 'foo'"}], answer)
    check((folder / "bad").read_text().split("\t")[1:] == ["foo", "not a request: there is no request 'foo'\n"])
    body = json.dumps({"requests": [f"edge {x} {y}"]})
    status, answer = service.call("POST", "/requests", body, token | {"Content-Type": "application/json"})
    drawn = answer["acknowledged"][0]["id"]
    check(status == 200 and drawn.startswith("u-"), answer)
    for body, kind in [("foo", "text/x-unweave"), ("", "text/x-unweave"), ("{}", "application/json"), ("[", "application/json"),
                       ('{"requests": [5]}', "application/json"), ('{"requests": "node 1"}', "application/json"),
                       ('{"requests": ["node 1"], "more": 1}', "application/json"), ('["node 1"]', "application/json"),
                       ('{"requests": [["node 1"]]}', "application/json"), ('{"requests": ["node 1"]} ', "text/x-unweave"),
                       ('{"requests": ["node 1"], "requests": ["node 2"]}', "application/json"), ('{"requests": null}', "application/json"),
                       ('{"requests": true}', "application/json"), ('{"requests": {"0": "node 1"}}', "application/json"),
                       ('{"requests": ["node 1", null]}', "application/json"), ('{"requests": ["node 1", 2.5]}', "application/json"),
                       ('{"requests": ["node 1", {"node": 2}]}', "application/json"), ('{"Requests": ["node 1"]}', "application/json"),
                       ('{"requests": ["node 1"]} {}', "application/json"), ('{"requests": ["node 1"]', "application/json"),
                       ('{"requests": ["node 1"],}', "application/json"), ("null", "application/json"), ('"node 1"', "application/json"),
                       ("5", "application/json"), ('{"requests": []}', "application/json"), ("[" * 5000, "application/json"),
                       ("\0", "application/json"), ('{"requests": ["node 1"]}\0', "application/json"),
                       (b'{"requests": ["node 1 id=\xff"]}', "application/json")]:
        status, answer = service.call("POST", "/requests", body, token | {"Content-Type": kind})
        check(status == 400 and answer["error"], body, status, answer)
        check("json" not in answer["error"] and "exception" not in answer["error"], answer)
    for kind in ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                 "text/plain; application/json", "application/jsonp"]:
        status, answer = service.call("POST", "/requests", "node 1", token | {"Content-Type": kind})
        check(status == 415 and "text/x-unweave" in answer["error"], kind, status, answer)
    check(service.call("POST", "/requests", "x" * (17 << 20), token)[0] == 413)
    wait_until(lambda: service.call("GET", f"/requests/{drawn}", headers=token)[1]["state"] == "applied")
    status, answer = service.call("GET", "/requests/T1", headers=token)
    check(answer["state"] == "applied" and answer["certificates"][0]["model"] == "exact", answer)
    check(service.call("GET", "/requests/T2", headers=token)[1]["reason"] == "id-outside")
    check(service.call("GET", "/requests/T3", headers=token)[0] == 404)
    wait_until(lambda: service.call("GET", "/receipts/T1", headers=token)[0] == 200)
    receipt = service.call("GET", "/receipts/T1", headers=token)[1]
    check(receipt["status"] == "applied" and receipt["request"].startswith(f"edge {u} {v} id=T1 at=20"), receipt)
    check(service.call("GET", "/receipts/T9", headers=token)[0] == 404)
    status, log = service.call("GET", "/certificates/exact", headers=token)
    check(log == (store / "certificates/exact.jsonl").read_text())
    check(service.call("GET", "/certificates/..%2Fexact", headers=token)[0] == 404)
    status, answer = service.call("GET", "/predict?nodes=3,1", headers=token)
    lines = run(program, "predict", store, "--json").splitlines()
    said = {line["id"]: line["class"] for line in map(json.loads, lines)}
    check([(one["id"], one["class"]) for one in answer["predictions"]] == [(3, said[3]), (1, said[1])], answer)
    for nodes in ["", "x", "1,", "99999999", "1,,2"]:
        check(service.call("GET", f"/predict?nodes={nodes}", headers=token)[0] == (200 if nodes == "1," else 400), nodes)
    check(service.call("GET", "/predict?nodes=1&model=none", headers=token)[0] == 400)
    status, text = service.call("GET", "/metrics", headers=token)
    check("unweave_requests_acknowledged_total 3\n" in text and 'unweave_requests_decided_total{status="applied"} 2\n' in text, text)
    check(service.call("GET", "/nothing", headers=token)[0] == 404)
    check(service.end() == 0, service.error)
    check("3 requests acknowledged, 2 applied, 1 rejected" in service.error, service.error)
    check(sum(batch["requests"] for batch in service.batches[0:]) == 3 and all(b["certified"] for b in service.batches))
    check(edges_of(program, store, folder) == set(edges) - {edges[0], edges[5]})
    run(program, "verify", store)
    run(program, "verify", store / "certificates/exact.jsonl", "--receipts", folder / "receipts")
    for words in [["--listen", "0.0.0.0:0"], ["--listen", "0.0.0.0:0", "--remote"], ["--listen", "nowhere"], ["--every", "5"], ["--for", "1x"], ["--tokens", str(folder)], ["--quarantine", "/dev/full"],
                  ["--batch", "0"], ["--tokens", str(folder / "bad")], ["--receipts", str(folder / "r")]]:
        refused = subprocess.run([program, "serve", str(store), *words], capture_output=True, text=True)
        check(refused.returncode in (1, 2) and refused.stderr.count("\n") == 1, words, refused.stderr)


def check_known_ids(program, folder):
    """The answer says of a request whose id an earlier one has that the other one counts: waiting, decided, or of an earlier run."""
    store = make_store(program, folder)
    edges = sorted(edges_of(program, store, folder))

    def known(service, *pairs):
        body = "\n".join(f"edge {u} {v} id={name}" for (u, v), name in pairs)
        status, answer = service.call("POST", "/requests", body)
        check(status == 200, answer)
        return [one.get("known", False) for one in answer["acknowledged"]]

    def refused(service, *pairs):
        """The conflicts of a call of which nothing is taken."""
        before = service.call("GET", "/status")[1]["acknowledged"]
        status, answer = service.call("POST", "/requests", "# a remark\n" + "\n".join(f"edge {u} {v} id={name}" for (u, v), name in pairs))
        check(status == 409 and "give this request an id of its own" in answer["error"], status, answer)
        check(service.call("GET", "/status")[1]["acknowledged"] == before, "nothing of the call is taken")
        return answer["conflicts"]

    service = Service(program, store, "--every", "300ms")
    check(known(service, (edges[0], "A"), (edges[1], "B"), (edges[1][::-1], "B"), (edges[9], "C")) == [False, False, True, False])
    check(known(service, (edges[0], "A")) == [True], "while the first one waits")
    told = refused(service, (edges[4], "D"), (edges[3], "A"))
    check(len(told) == 1 and told[0]["id"] == "A" and told[0]["line"] == 2, told)
    check(told[0]["stands_for"]["sequence"] == 1 and told[0]["stands_for"]["kind"] == "edge" and told[0]["stands_for"]["content_kept"], told)
    check([one["stands_for"] for one in refused(service, (edges[4], "D"), (edges[3], "D"))] == [{"line": 1}])
    wait_until(lambda: service.call("GET", "/requests/A")[1]["state"] == "applied")
    check(known(service, (edges[0], "A"), (edges[4], "D")) == [True, False])
    check(not refused(service, (edges[3], "A"))[0]["stands_for"]["waiting"])
    check(known(service, (edges[9], "E")) == [False], "the request was there before, its id was not")
    wait_until(lambda: service.call("GET", "/requests/E")[1]["state"] == "rejected")
    answer = service.call("GET", "/requests/E")[1]
    check(answer["earlier"]["id"] == "C" and answer["earlier"]["sequence"] == 4 and not answer["settled"], answer)
    # Of calls of one moment that have an id for different requests one is taken.
    statuses = []
    def claim(number):
        statuses.append(service.call("POST", "/requests", f"edge {edges[20 + number][0]} {edges[20 + number][1]} id=race")[0])
    threads = [threading.Thread(target=claim, args=[number]) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(sorted(statuses) == [200] + [409] * 11, statuses)
    # Whatever an id is, it can be asked for.
    status, _ = service.call("POST", "/requests", f"edge {edges[10][0]} {edges[10][1]} id=../../etc")
    wait_until(lambda: service.call("GET", "/requests/..%2F..%2Fetc")[1].get("state") == "applied")
    check(service.call("GET", "/requests/../../etc")[0] == 400)
    service.end(signal.SIGKILL)
    service = Service(program, store, "--every", "50ms")
    check(known(service, (edges[5], "F"), (edges[9], "E"), (edges[0], "A")) == [False, True, True])
    refused(service, (edges[5], "A"))
    check(service.end() == 0, service.error)
    run(program, "purge", store)
    service = Service(program, store, "--every", "50ms")
    for edge in (edges[6], edges[0]):
        told = refused(service, (edge, "A"))[0]["stands_for"]
        check(told["purged"] and not told["content_kept"], told)
    check(service.end() == 0, service.error)
    gone = {edges[i] for i in (0, 1, 9, 4, 5, 10)}
    left = edges_of(program, store, folder)
    check(len(set(edges[20:32]) - left) == 1 and left | set(edges[20:32]) == set(edges) - gone)


def check_socket_and_queue(program, folder):
    """A Unix socket for its owner alone; too many requests are told to come again; SIGTERM applies those that wait."""
    store = make_store(program, folder)
    path = folder / "socket"
    service = Service(program, store, "--every", "1min", "--queue", "5", socket_path=path)
    check(path.stat().st_mode & 0o077 == 0)
    lines = "\n".join(f"insert-edge {i} {i + 500}" for i in range(4))
    check(service.call("POST", "/requests", lines)[0] == 200)
    status, answer = service.call("POST", "/requests", "node 1\nnode 2")
    check(status == 503 and "send again later" in answer["error"], answer)
    check(service.call("GET", "/status")[1]["waiting"] == 4)
    second = subprocess.run([program, "serve", str(store), "--listen", f"unix:{path}"], capture_output=True, text=True)
    check(second.returncode != 0 and second.stderr.count("\n") == 1)
    check(service.end() == 0, service.error)
    check("4 requests acknowledged" in service.error)
    check({(i, i + 500) for i in range(4)} <= edges_of(program, store, folder))
    check(not path.exists())


def check_end(program, folder):
    """SIGTERM does not wait for all that waits: what is left is in the journal, and the next process applies it."""
    store = make_store(program, folder, 14)
    run(program, "train", store)
    service = Service(program, store, "--batch", "1", "--every", "1ms", "--solver", "exact")
    lines = [f"insert-edge {i} {(i * 7 + 5000) % (1 << 14)} id=L{i}" for i in range(5000)]
    for first in range(0, 5000, 500):
        check(service.call("POST", "/requests", "\n".join(lines[first:first + 500]))[0] == 200)
    started = time.monotonic()
    check(service.end() == 0, service.error)
    print(f"ended after {time.monotonic() - started:.1f} s: {service.error.strip()}")
    check("will be applied by what writes the store next" in service.error, service.error)
    check(json.loads(run(program, "info", store, "--json"))["acknowledged"] == 5000)
    service = Service(program, store, "--solver", "exact")
    check(service.end() == 0, service.error)
    states = {one["id"]: one["status"] for one in map(json.loads, run(program, "requests", store, "--json").splitlines())}
    check(len(states) == 5000 and "applied" in states.values(), len(states))
    run(program, "verify", store)


class Follower(Program):
    """`unweave stream` at work on lines that are still to come."""

    def __init__(self, program, store, *words, stdin=None):
        super().__init__(program, "stream", store, "--json", *words, stdin=stdin)
        self.read_on()

    def wait_for(self, requests):
        wait_until(lambda: sum(batch["requests"] for batch in self.batches) >= requests)

    def end(self):
        self.stop(signal.SIGINT)
        return self.error


def check_follow(program, folder):
    """A file that grows and is replaced, a named pipe with several writers, standard input whose sender waits."""
    store = make_store(program, folder)
    edges = sorted(edges_of(program, store, folder))
    lines = [f"edge {u} {v} id=F{i}\n" for i, (u, v) in enumerate(edges[:12])]
    path = folder / "requests"
    path.write_text(lines[0])
    follower = Follower(program, store, "--requests", path, "--follow", "--every", "100ms", "--quarantine", folder / "bad")
    follower.wait_for(1)
    with open(path, "a") as file:
        file.write(lines[1][:5])
        file.flush()
        time.sleep(0.3)
        check(len(follower.batches) == 1, "half a line is none")
        file.write(lines[1][5:] + "foo bar\n# a remark\n" + lines[2])
    follower.wait_for(3)
    (folder / "next").write_text(lines[3])
    os.replace(folder / "next", path)
    follower.wait_for(4)
    check("requests 1 to 4" in follower.end())
    check((folder / "bad").read_text().split("\t")[1:] == ["foo bar", "not a request: there is no request 'foo'\n"])
    # A last line without an end may be a part of one: it is not joined with the first line of the next file, and not applied.
    cut = Follower(program, store, "--requests", path, "--follow", "--every", "100ms", "--quarantine", folder / "cut")
    cut.wait_for(1)
    with open(path, "a") as file:
        file.write("# no end")
    (folder / "next").write_text(lines[3] + "node 7")
    os.replace(folder / "next", path)
    cut.wait_for(2)
    (folder / "next").write_text(lines[3])
    os.replace(folder / "next", path)
    cut.wait_for(3)
    cut.end()
    check((folder / "cut").read_text().split("\t")[1:] == ["node 7", "not a request: its end is missing, and it may be a part of a line\n"])
    again = Follower(program, store, "--requests", path, "--follow", "--every", "100ms")
    again.wait_for(1)
    check(again.batches[0]["rejections"][0]["reason"] == "known-id", again.batches)
    path.write_text("")
    check("became shorter" in again.process.stderr.readline())
    check(again.process.wait(timeout=60) == 2)
    again.end()
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    follower = Follower(program, store, "--requests", pipe, "--follow", "--batch", "2", "--every", "1min")
    for line in lines[4:8]:
        with open(pipe, "w") as file:
            file.write(line)
    follower.wait_for(4)
    check([batch["requests"] for batch in follower.batches] == [2, 2])
    follower.end()
    sender = Follower(program, store, "--requests", "-", "--every", "100ms", stdin=subprocess.PIPE)
    for number, line in enumerate(lines[8:12]):
        sender.process.stdin.write(line)
        sender.process.stdin.flush()
        sender.wait_for(number + 1)
    sender.process.stdin.close()
    check(sender.process.wait(timeout=60) == 0)
    sender.end()
    check(edges_of(program, store, folder) == set(edges[12:]))
    run(program, "verify", store)


def check_names(program, folder):
    """A service knows names from its start: one that a request takes meanwhile means nobody from then on."""
    names, store = ["ann", "bob", "cid", "dan", '"eve, jr."'], folder / "named"
    for name, text in {"ids": "".join(f"{one}\n" for one in names), "edges": "ann bob\nbob cid\ncid dan\n",
                       "x": "0.5 0\n0 0.5\n0.25 0\n0 0.25\n0.5 0.25\n", "y": "0\n1\n0\n1\n0\n"}.items():
        (folder / name).write_text(text)
    run(program, "import", store, "--edges", folder / "edges", "--ids", folder / "ids", "--features", folder / "x", "--labels", folder / "y",
        "--split", f"train={folder / 'ids'}")
    run(program, "propagate", store, "--rows", "all")
    run(program, "train", store)
    service = Service(program, store, "--solver", "exact", "--every", "10ms")

    def decided(*requests):
        before = sum(batch["requests"] for batch in service.batches)
        body = json.dumps({"requests": list(requests)})
        check(service.call("POST", "/requests", body, {"Content-Type": "application/json"})[0] == 200)
        wait_until(lambda: sum(batch["requests"] for batch in service.batches) == before + len(requests))
        return service.batches[-1]["applied"], service.batches[-1]["rejected"]

    def predicted(word):
        status, answer = service.call("GET", f"/predict?nodes={word}")
        return status, [one["id"] for one in answer["predictions"]] if status == 200 else answer

    check(predicted("ann") == (200, ["ann"]))
    check(decided("node ann", "insert-edge ann bob") == (1, 1), service.batches)
    check(predicted("ann")[0] == 400, predicted("ann"))
    check(predicted("%230") == (200, ["#0"]), predicted("%230"))
    check(decided("insert-edge dan ann", "feature ann", "insert-edge #0 bob") == (1, 2), service.batches)
    check(predicted("%230,bob") == (200, ["#0", "bob"]), predicted("%230,bob"))
    for word in ("%230,%22bob%22", "%230,%22eve,%20jr.%22"):  # in quotes, as in a request
        check(predicted(word) == (200, ["#0", word[8:-3].replace("%20", " ")]), predicted(word))
    check("not closed" in str(predicted("%230,%22bob")[1]), predicted("%230,%22bob"))
    check(service.end() == 0, service.error)


def moment(seconds):
    """So many seconds from now, as requests have it."""
    when = time.time() + seconds
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(when)) + f".{int(when * 1000) % 1000:03}Z"


def check_expiry(program, folder):
    """Edges and nodes whose time has come go by themselves, beside senders, across a kill and in a stream that follows a file."""
    store = make_store(program, folder)
    edges = sorted(edges_of(program, store, folder))
    service = Service(program, store, "--every", "50ms", "--checkpoint", "300ms")
    soon, later = moment(1.0), moment(3.0)
    lines = [f"edge {u} {v} expires {soon if i < 5 else later if i < 9 else '2999-01-01'}" for i, (u, v) in enumerate(edges[:12])]
    check(service.call("POST", "/requests", "\n".join(lines))[0] == 200)
    wait_until(lambda: sum(batch["edges_removed"] for batch in service.batches) == 5)
    for u, v in edges[20:25]:  # others go on meanwhile
        service.call("POST", "/requests", f"edge {u} {v}")
    service.end(signal.SIGKILL)
    info = json.loads(run(program, "info", store, "--json"))
    check(info["expiries"] == 7 and info["next_expiry"] == later, info)
    check(info["pending_requests"] < 22, "there was a checkpoint", info)
    service = Service(program, store, "--every", "50ms")
    wait_until(lambda: sum(batch["edges_removed"] for batch in service.batches) == 4)
    node = next(node for node in range(1, 1000) if all(node not in edge for edge in edges[:30]))
    check(service.call("POST", "/requests", f"node {node} expires {moment(0.5)} id=left")[0] == 200)
    wait_until(lambda: "removal" in service.call("GET", "/requests/left")[1])
    answer = service.call("GET", "/requests/left")[1]
    check(answer["kind"] == "expires" and answer["removal"]["kind"] == "node" and answer["removal"]["state"] == "applied", answer)
    wait_until(lambda: sum(batch["nodes_removed"] for batch in service.batches) == 1)  # its line may come behind the answer
    check(service.end() == 0, service.error)
    check(not any(node in edge for edge in edges_of(program, store, folder)))
    edges = [edge for edge in edges if node not in edge]
    check(edges_of(program, store, folder) == set(edges) - set(edges[:9]) - set(edges[20:25]))
    path = folder / "requests"
    u, v = edges[12]
    path.write_text(f"edge {u} {v} expires {moment(0.7)}\n")
    follower = Follower(program, store, "--requests", path, "--follow", "--every", "50ms", "--expired")
    follower.wait_for(2)
    follower.end()
    check([batch["edges_removed"] for batch in follower.batches] == [0, 1], follower.batches)
    told = run(program, "stream", store, "--expired", "--until", "2999-01-01", "--json", "--batch", "2").splitlines()
    check([json.loads(line)["edges_removed"] for line in told] == [2, 1], told)
    check(json.loads(run(program, "info", store, "--json"))["expiries"] == 0)
    check(edges_of(program, store, folder) == set(edges) - set(edges[:13]) - set(edges[20:25]))
    run(program, "verify", store, "--rebuild")


def check_kills(program, folder, kills, seed):
    """Whatever was acknowledged before a kill is there afterwards, once."""
    store = make_store(program, folder)
    here = sorted(edges_of(program, store, folder))
    chance = random.Random(seed)
    chance.shuffle(here)
    sent, acknowledged = {}, set()
    for turn in range(kills + 1):
        service = Service(program, store, "--every", "30ms", "--batch", "20")
        end = threading.Event()

        def send(own):
            connection = service.connection()
            try:
                while not end.is_set():
                    again = own.random() < 0.2 and sent
                    name, edge = own.choice(list(sent.items())) if again else (f"R{turn}-{own.random()}", own.choice(here))
                    sent[name] = edge
                    status, answer = service.call("POST", "/requests", f"edge {edge[0]} {edge[1]} id={name}", {}, connection)
                    if status == 200:
                        acknowledged.add(answer["acknowledged"][0]["id"])
            except (OSError, http.client.HTTPException):
                pass

        senders = [threading.Thread(target=send, args=(random.Random(f"{seed} {turn} {i}"),)) for i in range(4)]
        for sender in senders:
            sender.start()
        time.sleep(chance.random() * 0.6)
        last = turn == kills
        if last:
            end.set()
            for sender in senders:
                sender.join()
        code = service.end(signal.SIGTERM if last else signal.SIGKILL)
        end.set()
        for sender in senders:
            sender.join()
        check(code == (0 if last else -signal.SIGKILL), service.error)
    listed = [json.loads(line) for line in run(program, "requests", store, "--json").splitlines()]
    names = [one["id"] for one in listed]
    check(len(names) == len(set(names)), "an id stands twice")
    check(acknowledged <= set(names), "lost", acknowledged - set(names))
    check(set(names) <= set(sent), "nobody sent these", set(names) - set(sent))
    check(edges_of(program, store, folder) == set(here) - {sent[name] for name in names})
    applied = [one for one in listed if one["status"] == "applied"]
    check(len({sent[one["id"]] for one in applied}) == len(applied), "an edge was removed twice")
    run(program, "verify", store)
    return f"{len(acknowledged)} requests acknowledged"


if __name__ == "__main__":
    run_parts({"answers": check_answers, "ids": check_known_ids, "socket": check_socket_and_queue, "follow": check_follow,
               "expiry": check_expiry, "end": check_end, "names": check_names, "kills": check_kills}, kills=12, seed=1)
