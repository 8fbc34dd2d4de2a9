#!/usr/bin/env python3
# tests/serve_test.py - `unweave serve` as its clients meet it: answers, tokens, back-pressure, and kills at any moment.
#
#   python3 tests/serve_test.py UNWEAVE [--kills N]
import argparse
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np


class Program:
    """The program at work; the lines that it prints are read as they come."""

    def __init__(self, *words, stdin=None):
        self.process = subprocess.Popen(list(map(str, words)), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.batches = []

    def read_on(self):
        self.reader = threading.Thread(target=lambda: self.batches.extend(map(json.loads, self.process.stdout)))
        self.reader.start()

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

    def __init__(self, program, store, *options, socket_path=None):
        listen = f"unix:{socket_path}" if socket_path else "127.0.0.1:0"
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
        used.request(method, path, body, headers or {})
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
    for body, kind in [("foo", "text/plain"), ("", "text/plain"), ("{}", "application/json"), ("[", "application/json"),
                       ('{"requests": [5]}', "application/json")]:
        status, answer = service.call("POST", "/requests", body, token | {"Content-Type": kind})
        check(status == 400 and answer["error"], body, status, answer)
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

    service = Service(program, store, "--every", "300ms")
    check(known(service, (edges[0], "A"), (edges[1], "B"), (edges[2], "B"), (edges[9], "C")) == [False, False, True, False])
    check(known(service, (edges[3], "A")) == [True], "while the first one waits")
    wait_until(lambda: service.call("GET", "/requests/A")[1]["state"] == "applied")
    check(known(service, (edges[3], "A"), (edges[4], "D")) == [True, False])
    check(known(service, (edges[9], "E")) == [False], "the request was there before, its id was not")
    check(service.end() == 0, service.error)
    service = Service(program, store, "--every", "50ms")
    check(known(service, (edges[5], "F"), (edges[5], "E"), (edges[5], "A")) == [False, True, True])
    check(service.end() == 0, service.error)
    gone = {edges[i] for i in (0, 1, 9, 4, 5)}
    check(edges_of(program, store, folder) == set(edges) - gone)


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


def moment(seconds):
    """So many seconds from now, as requests have it."""
    when = time.time() + seconds
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(when)) + f".{int(when * 1000) % 1000:03}Z"


def check_expiry(program, folder):
    """Edges whose time has come go by themselves, beside senders, across a kill and in a stream that follows a file."""
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
    check(service.end() == 0, service.error)
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
    return len(acknowledged)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    program = os.path.abspath(asked.program)
    for name, test in [("answers", check_answers), ("known ids", check_known_ids), ("socket", check_socket_and_queue), ("follow", check_follow), ("expiry", check_expiry),
                       ("kills", lambda p, f: check_kills(p, f, asked.kills, asked.seed))]:
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            result = test(program, pathlib.Path(folder))
            print(f"{name}: holds" + (f", {result} requests acknowledged" if result else "")
                  + f" ({time.monotonic() - started:.1f} s)")


if __name__ == "__main__":
    sys.exit(main())
