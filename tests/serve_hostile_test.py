#!/usr/bin/env python3
# tests/serve_hostile_test.py - `unweave serve` and callers who mean no good: forged heads, endless ones, slow ones, large bodies.
# serve_random_test.py has calls of every shape. The process lives, its memory stays within its budget and a constant, and who behaves is answered meanwhile.
#
#   python3 tests/serve_hostile_test.py UNWEAVE [PART ...]
import contextlib
import fcntl
import http.client
import json
import multiprocessing
import os
import pathlib
import random
import re
import resource
import selectors
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

import numpy as np

from serve_test import Program, Service, check, make_store, run, run_parts, wait_until

# What the process may hold beside --memory (tools/guide/how-to/serve-requests.md).
BESIDE_MIB = 64
TOKEN = "t" * 32
LINES = "Content-Type: text/x-unweave\r\n"


def high_water(service):
    """The most memory that the process ever had, in MiB."""
    for line in pathlib.Path(f"/proc/{service.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the process is gone")


def check_memory(service, memory_mib):
    most = high_water(service)
    check(most <= memory_mib + BESIDE_MIB, f"{most:.0f} MiB")
    return most


def address_of(service):
    host, port = service.location[len("http://"):].rsplit(":", 1)
    return host, int(port)


def connect(service):
    made = socket.create_connection(address_of(service), timeout=20)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def answers_to(service, data, half_close=True):
    """All that comes back for these bytes."""
    with connect(service) as made:
        try:
            made.sendall(data)
            if half_close:
                made.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        got = b""
        try:
            while piece := made.recv(1 << 16):
                got += piece
        except OSError:
            pass
        return got


def statuses(answer):
    """The status of each answer in these bytes."""
    found = []
    while answer:
        head, _, rest = answer.partition(b"\r\n\r\n")
        lines = head.decode("latin1").split("\r\n")
        check(lines[0].startswith("HTTP/1.1 "), answer[:200])
        found.append(int(lines[0].split()[1]))
        headers = {line.split(": ", 1)[0].lower(): line.split(": ", 1)[1] for line in lines[1:]}
        check(not any(name.startswith("access-control") for name in headers), lines)
        answer = rest[int(headers.get("content-length", 0)):]
    return found


def head_of(service, method="GET", path="/status", version="HTTP/1.1", host=None, more=""):
    host = host if host is not None else service.location[len("http://"):]
    return f"{method} {path} {version}\r\nHost: {host}\r\n{more}".encode("latin1")


def check_callers(program, folder):
    """Pages of browsers: by their origin, the name that they know the service by, and what they may send without asking."""
    store = make_store(program, folder)
    tokens = folder / "tokens"
    tokens.write_text(TOKEN)
    for own in [[], ["--tokens", str(tokens)], ["--host", "Graph.example.org,tunnel:9"]]:
        service = Service(program, store, "--every", "50ms", *own)
        token = f"Authorization: Bearer {TOKEN}\r\n" if "--tokens" in own else ""
        port = address_of(service)[1]
        page = f"http://127.0.0.1:{port}"

        def status(more="", host=None, path="/status", method="GET", body=b""):
            length = f"Content-Length: {len(body)}\r\n" if body else ""
            data = head_of(service, method, path, host=host, more=token + length + more + "Connection: close\r\n\r\n") + body
            found = statuses(answers_to(service, data, False))
            check(len(found) == 1, found)
            return found[0]

        for host in [f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}"]:
            check(status(host=host) == 200, host)
        names = ["graph.example.org", "tunnel:9"]
        for host in names:
            check(status(host=host) == (200 if "--host" in own else 403), host)
        for host in ["rebind.evil.example", f"rebind.evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", "localhost", "",
                     f"127.0.0.1:{port}.evil.example", f"127.0.0.2:{port}", f"[::1]:{port}", f"user@127.0.0.1:{port}"]:
            for path in ["/status", "/ready", "/predict?nodes=1", "/nothing"]:
                check(status(host=host, path=path) == 403, host, path)
            check(status(LINES, host, "/requests", "POST", b"node 5") == 403, host)
        for origin in [page, f"http://localhost:{port}"]:
            check(status(f"Origin: {origin}\r\n") == 200, origin)
        for origin in ["https://evil.example", "null", "", f"http://127.0.0.1:{port + 1}", "http://127.0.0.1", "file://", page + "/",
                       f"ftp://127.0.0.1:{port}", "http://graph.example.org.evil.example"]:
            for path in ["/status", "/ready"]:
                check(status(f"Origin: {origin}\r\n", path=path) == 403, origin, path)
            check(status(LINES + f"Origin: {origin}\r\n", None, "/requests", "POST", b"node 5") == 403, origin)
        for site, wanted in [("cross-site", 403), ("same-site", 403), ("", 403), ("same-origin", 200), ("none", 200)]:
            check(status(f"Sec-Fetch-Site: {site}\r\n") == wanted, site)
            check(status(f"sec-fetch-SITE: {site}\r\n") == wanted, site)
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain; application/json",
                     "text/plain, application/json", "", None]:
            more = "" if kind is None else f"Content-Type: {kind}\r\n"
            check(status(more, None, "/requests", "POST", b"node 5") == 415, kind)
        for path in ["/requests", "/status", "/nothing", "*"]:
            asks = "Origin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n"
            check(status(asks, None, path, "OPTIONS") in (400, 403), path)
            check(status("", None, path, "OPTIONS") in (400, 404, 405), path)
        check(service.call("GET", "/status", headers={"Authorization": f"Bearer {TOKEN}"})[1]["acknowledged"] == 0)
        for kind in ["text/x-unweave", "Text/X-Unweave ; charset=utf-8"]:
            check(status(f"Content-Type: {kind}\r\n", None, "/requests", "POST", b"edge 1 2") == 200, kind)
        check(service.end() == 0, service.error)
    path = folder / "socket"
    service = Service(program, store, socket_path=path)
    for headers, wanted in [({}, 200), ({"Host": "anything"}, 200), ({"Origin": "http://localhost"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403)]:
        check(service.call("GET", "/status", headers=headers)[0] == wanted, headers)
    check(service.end() == 0, service.error)


def check_socket_file(program, folder):
    """What is no socket stays; a socket that nobody listens to is replaced."""
    store = make_store(program, folder)
    path = folder / "socket"
    other = folder / "other"
    other.write_text("mine")
    for make in [lambda: path.write_text("mine"), path.mkdir, lambda: path.symlink_to(other), lambda: path.symlink_to(folder / "nothing")]:
        make()
        refused = subprocess.run([program, "serve", str(store), "--listen", f"unix:{path}"], capture_output=True, text=True)
        check(refused.returncode == 1 and refused.stderr.count("\n") == 1 and os.path.lexists(path), refused.stderr)
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    check(other.read_text() == "mine")
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    service = Service(program, store, socket_path=path)
    check(path.stat().st_mode & 0o777 == 0o600)
    path.unlink()
    path.write_text("mine")
    check(service.end() == 0, service.error)
    check(path.read_text() == "mine", "a file that took the place of the socket")


def check_forms(program, folder):
    """Heads and bodies of every wrong form have an answer that says so, and what follows them is never taken for another call."""
    store = make_store(program, folder)
    service = Service(program, store, "--every", "50ms")
    host = service.location[len("http://"):]
    smuggled = b"POST /requests HTTP/1.1\r\nHost: " + host.encode() + b"\r\nContent-Type: text/x-unweave\r\nContent-Length: 6\r\n\r\nnode 7"

    def post(*headers, body=b"node 5", version="HTTP/1.1"):
        return head_of(service, "POST", "/requests", version, more=LINES + "".join(one + "\r\n" for one in headers) + "\r\n") + body

    def get(*headers, path="/status", version="HTTP/1.1", method="GET"):
        return head_of(service, method, path, version, more="".join(one + "\r\n" for one in headers) + "\r\n")

    wrong = {
        400: [post("Content-Length: 6abc"), post("Content-Length: 6", "Content-Length: 6"), post("Content-Length: 6, 6"),
              post("Content-Length: 6", "Content-Length: 7"), post("Content-Length: -6"), post("Content-Length: +6"), post("Content-Length: "),
              post("Content-Length: 0x6"), post("Content-Length: 6", "Transfer-Encoding: chunked"),
              post("Transfer-Encoding: chunked", "Content-Length: 6"), post("Transfer-Encoding: gzip, chunked"),
              post("Transfer-Encoding: chunked, chunked"), post("Transfer-Encoding: identity"), post("Transfer-Encoding: xchunked"),
              post("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), post("Content-Length : 6"),
              post("Transfer-Encoding: chunked", body=b"0\r\n\r\n", version="HTTP/1.0"),
              post("Transfer-Encoding: chunked", body=b"g\r\nnode 5\r\n0\r\n\r\n"), post("Transfer-Encoding: chunked", body=b"6\r\nnode 5x\r\n"),
              post("Transfer-Encoding: chunked", body=b"fffffffffffffffff\r\nnode"), post("Transfer-Encoding: chunked", body=b"-1\r\nnode"),
              get().replace(b"\r\n", b"\n"), get("X: 1").replace(b"X: 1\r\n", b"X: 1\n"), get("X: a\0b"), get("X\0: a"), get("no colon"), get(": x"),
              get(f"Host: {host}"), get(path="status"), get(path="http://127.0.0.1/status"),
              b"GET /status HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\r\n\r\n", b"\xff\xff\xff\xff\r\n\r\n", get("Content-Length: 3") + b"abc"],
        404: [get(path="/login", method="POST"), get(path="/requests/%ff"), get(path="/requests/\xff"), get(path="/nothing"), get(path="/requests/a%2Fb"), get(path="/receipts/x"),
              get(path="/certificates/..%2Fx"), get(path="/certificates/%00")],
        405: [get(method="POST"), get(method="DELETE"), get(path="/requests"), get(path="/requests/a", method="PUT"), get(method="\xc3" and "BREW")],
        413: [post(f"Content-Length: {17 << 20}"), post("Content-Length: 18446744073709551615")],
        414: [get(path="/" + "a" * 20_000)],
        415: [get(method="POST", path="/requests")],
        417: [post("Content-Length: 6", "Expect: 200-ok")],
        431: [get("X: " + "a" * 20_000), get(*["a: b"] * 65), get(*["a:"] * 4000)],
        505: [get(path="/sta tus"), get(version="HTTP/2.0"), get(version="HTTP/0.9"), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    }
    for path in ["/requests/%", "/requests/%4", "/requests/%zz", "/predict?nodes=%", "/requests/a/b"]:
        check(statuses(answers_to(service, get("Connection: close", path=path))) == [400], path)
    for status, calls in wrong.items():
        for call in calls:
            found = statuses(answers_to(service, call + (smuggled if status not in (404, 405) else b"")))
            check(found and found[0] == status, status, found, call[:300])
            check(status in (404, 405, 415) or len(found) == 1, found, call[:300])
    check(service.call("GET", "/requests/u-x")[0] == 404)
    ack = service.call("GET", "/status")[1]["acknowledged"]
    check(ack == 1, "after 415 for a call without a body the connection goes on, and node 7 is a call", ack)
    # What is right goes on, one call after the other.
    chunked = post("Transfer-Encoding: chunked", body=b"5;ext=1\r\nedge \r\n3\r\n1 2\r\n0\r\nTrailer: x\r\n\r\n")
    check(statuses(answers_to(service, get() + b"\r\n" + chunked + get(path="/ready") + get("Connection: close"))) == [200] * 4)
    check(statuses(answers_to(service, get("Connection: close") + get())) == [200])
    check(statuses(answers_to(service, get(version="HTTP/1.0") + get())) == [200])
    made = http.client.HTTPConnection(*address_of(service), timeout=20)
    for _ in range(3):
        made.request("HEAD", "/status")
        answer = made.getresponse()
        check(answer.status == 200 and int(answer.getheader("Content-Length")) > 10 and answer.read() == b"")
    made.request("DELETE", "/status")
    answer = made.getresponse()
    check(answer.getheader("Allow") == "GET, HEAD" and answer.read())
    made.close()
    # As curl does for a large body: it waits to hear that it may go on.
    with connect(service) as made:
        made.sendall(post("Content-Length: 8", "Expect: 100-continue", body=b""))
        check(made.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n")
        made.sendall(b"edge 3 4")
        check(statuses(made.recv(1 << 16)) == [200])
    with connect(service) as made:
        made.sendall(post(f"Content-Length: {17 << 20}", "Expect: 100-continue", body=b""))
        check(statuses(made.recv(1 << 16)) == [413], "without a word to go on")
    # A call whose body never comes whole is none.
    before = service.call("GET", "/status")[1]["acknowledged"]
    answers_to(service, post("Content-Length: 60"))
    check(service.call("GET", "/status")[1]["acknowledged"] == before)
    check(service.end() == 0, service.error)


def check_receipts(program, folder):
    """A receipt is found by the id as it is."""
    store = make_store(program, folder)
    run(program, "train", store)
    service = Service(program, store, "--solver", "exact", "--every", "50ms", "--receipts", str(folder / "receipts"))
    ids = ['say"so"', "back\\slash", "a+b", "a/b", "50%", "\u00e9t\u00e9", "id=x"]
    body = json.dumps({"requests": [f"edge 1 {i + 2} id={name}" for i, name in enumerate(ids)]})
    status, answer = service.call("POST", "/requests", body, {"Content-Type": "application/json"})
    check(status == 200 and [one["id"] for one in answer["acknowledged"]] == ids, answer)
    from urllib.parse import quote
    for name in ids:
        path = "/receipts/" + quote(name, safe="+")
        wait_until(lambda: service.call("GET", path)[0] == 200)
        check(f" id={name} at=" in service.call("GET", path)[1]["request"], name)
        check(service.call("GET", "/requests/" + quote(name, safe="+"))[1]["id"] == name)
    check(service.call("GET", "/receipts/x")[0] == 404, "the end of another id")
    check(service.call("GET", "/receipts/a%20b")[0] == 404)
    check(service.end() == 0, service.error)


def check_model_names(program, folder):
    """The name of a model is no path: not in a call, and not in a command."""
    from urllib.parse import quote
    store = make_store(program, folder)
    run(program, "train", store, "--solver", "newton")
    run(program, "train", store)
    # A model that the store would take for its own.
    (folder / "stray.model").write_bytes((store / "models" / "newton.model").read_bytes())
    names = ["../../stray", str(folder / "stray"), "..", ".", "newton\0", "newton.model", "a/b", "-x", "a" * 65, "", "newton\0x", "\u00e9"]
    service = Service(program, store, "--every", "50ms")
    check(service.call("GET", "/predict?nodes=1&model=newton")[0] == 200)
    status, answer = service.call("GET", "/predict?nodes=1")
    check(status == 400 and answer["error"] == "the store has several models; choose one by &model=NAME: exact, newton", answer)
    check(service.call("POST", "/requests", "node 1 id=gone\n")[0] == 200)
    wait_until(lambda: service.call("GET", "/requests/gone")[1].get("state") == "applied")
    answer = service.call("GET", "/predict?nodes=2&model=newton")[1]
    check("note" not in answer, answer)
    for name in names:
        status, answer = service.call("GET", "/predict?nodes=1&model=" + quote(name, safe=""))
        check(status == 400 and "cannot be the name of a model" in answer["error"], name, status, answer)
        if name:
            status, answer = service.call("GET", "/certificates/" + quote(name, safe=""))
            check(status in (400, 404), name, status, answer)
    check(service.end() == 0, service.error)
    for name in names:
        if "\0" in name or not name:  # no argument can have the one, and an option needs the other
            continue
        for words in [("evaluate", store), ("predict", store, "--nodes", "1"), ("stream", store, "--requests", "/dev/null"),
                      ("export", store, "--model", folder / "m.npy"), ("serve", store, "--for", "1ms", "--listen", "127.0.0.1:0")]:
            refused = subprocess.run([program, *map(str, words), f"--name={name}"], capture_output=True, text=True)
            check(refused.returncode == 1 and "cannot be the name of a model" in refused.stderr, words, name, refused)


class Slow(threading.Thread):
    """Clients without a token who each send a byte now and then, and come again when they are sent away."""

    def __init__(self, service, count, beginning=b"GET /status HTTP/1.1\r\nHost: x\r\n", every=0.5):
        super().__init__()
        self.service, self.count, self.beginning, self.every = service, count, beginning, every
        self.over = threading.Event()
        self.start()

    def run(self):
        clients = []
        while not self.over.is_set():
            for client in clients[:]:
                try:
                    client.setblocking(False)
                    client.send(b"a")
                except OSError:
                    client.close()
                    clients.remove(client)
            while len(clients) < self.count:
                try:
                    clients.append(connect(self.service))
                    clients[-1].sendall(self.beginning)
                except OSError:
                    break
            self.over.wait(self.every)
        for client in clients:
            client.close()

    def end(self):
        self.over.set()
        self.join()


def pour(service, beginning, piece, most):
    """Sends without an end; how much was taken."""
    sent = 0
    with connect(service) as made:
        try:
            made.sendall(beginning)
            while sent < most:
                sent += made.send(piece)
        except OSError:
            pass
    return sent


def check_memory_and_time(program, folder):
    """Endless heads, slow clients without a token and large bodies: who has a token is served meanwhile, and all ends in time."""
    store = make_store(program, folder)
    tokens = folder / "tokens"
    tokens.write_text(TOKEN)
    service = Service(program, store, "--every", "50ms", "--tokens", str(tokens), "--memory", "64M")
    token = {"Authorization": f"Bearer {TOKEN}"}
    piece = b"a" * (1 << 16)
    check(pour(service, b"GET /", piece, 64 << 20) < 48 << 20, "an endless request line is cut off")
    check(pour(service, b"GET / HTTP/1.1\r\n", b"a: b\r\n" * 10_000, 64 << 20) < 48 << 20, "endless headers are cut off")
    without = head_of(service, "POST", "/requests", more=LINES + f"Content-Length: {16 << 20}\r\n\r\n")
    check(statuses(answers_to(service, without + b"node 1\n" * 1000)) == [401], "before the body")
    slow = [Slow(service, 70), Slow(service, 30, b"POST /requests HTTP/1.1\r\n"), Slow(service, 30, b"")]
    over = threading.Event()

    def hammer(call, body):
        connection = service.connection()
        while not over.is_set():
            try:
                call(connection, body)
            except (OSError, http.client.HTTPException):
                connection.close()

    def send_large(connection, body):
        status, answer = service.call("POST", "/requests", body, token, connection)
        check(status in (200, 400, 413, 503), status, answer)

    def ask_without(connection, _):
        service.call("GET", "/status", None, {}, connection)

    row = "set-feature 1 " + " ".join(["0.25"] * 40_000)
    bodies = ["x\n" * (8 << 20), "node 1\n" * (2 << 20), (row + "\n") * ((16 << 20) // len(row)), "#\n" * (8 << 20), "1:1 " * (4 << 20)]
    bodies += [body[:size << 20] for body in bodies for size in (1, 4)]
    threads = [threading.Thread(target=hammer, args=(send_large, body)) for body in bodies]
    threads += [threading.Thread(target=hammer, args=(ask_without, None)) for _ in range(4)]
    for thread in threads:
        thread.start()
    taken, end = [], time.monotonic() + 12
    connection = service.connection()
    number = 0
    while time.monotonic() < end:
        begin = time.monotonic()
        number += 1
        status, answer = service.call("POST", "/requests", f"edge {number % 900} 7 id=S{number}", token, connection)
        taken.append(time.monotonic() - begin)
        check(status == 200, status, answer)
        if number % 20 == 0:  # one who comes anew, too
            begin = time.monotonic()
            check(service.call("GET", "/status", headers=token)[0] == 200)
            taken.append(time.monotonic() - begin)
        time.sleep(0.01)
    over.set()
    taken.sort()
    p99 = taken[len(taken) * 99 // 100]
    most = check_memory(service, 64)
    begin = time.monotonic()
    service.process.terminate()
    code = service.process.wait(timeout=60)
    ended = time.monotonic() - begin
    for one in slow:
        one.end()
    for thread in threads:
        thread.join()
    service.reader.join()
    service.error = service.process.stderr.read()
    check(code == 0, service.error)
    check(ended < 5, f"{ended:.1f} s to end")
    check(p99 < 1, f"p99 {p99:.2f} s of {len(taken)}")
    return f"{len(taken)} calls, p99 {p99 * 1000:.0f} ms, {most:.0f} MiB, ended in {ended:.1f} s"


def check_strangers(program, folder):
    """1,100 callers without a token who ask without an end and take no answer, and as many who come again and again: whoever has a token
    comes in, and is answered."""
    store = make_store(program, folder)
    tokens = folder / "tokens"
    tokens.write_text(TOKEN)
    service = Service(program, store, "--every", "50ms", "--tokens", str(tokens), "--memory", "64M")
    for path in ["/ready", "/status"]:
        burst = head_of(service, path=path, more="\r\n") * 3000
        found = statuses(answers_to(service, burst[:200_000]))
        check(len(found) == 1, "a connection without a token has one answer", path, found)
        forked = multiprocessing.get_context("fork")  # so that they do not share the lock of the interpreter
        over, sent = forked.Event(), forked.Value("Q", 0)

        def pour_calls():
            clients = set()
            while not over.is_set():
                while len(clients) < 1100 and not over.is_set():
                    one = socket.socket()
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
                    one.settimeout(5)
                    try:
                        one.connect(address_of(service))
                    except OSError:
                        one.close()
                        break
                    one.setblocking(False)
                    clients.add(one)
                for one in list(clients):
                    try:
                        sent.value += one.send(burst)
                    except BlockingIOError:
                        pass
                    except OSError:
                        clients.remove(one)
                        one.close()
            for one in clients:
                one.close()

        strangers = forked.Process(target=pour_calls, daemon=True)
        strangers.start()
        wait_until(lambda: sent.value > 4 << 20)
        try:
            for number in range(15):  # each by a connection of its own
                status, answer = service.call("POST", "/requests", f"edge {number} 7", {"Authorization": f"Bearer {TOKEN}"})
                check(status == 200, status, answer)
        finally:
            over.set()
            strangers.join()
    check_memory(service, 64)
    check(service.end() == 0, service.error)


def check_logins(program, folder):
    """Forms without a right token in floods, whole and byte by byte, and cookies that nobody gave: whoever has a token is served, and the
    page opens for nobody else."""
    store = make_store(program, folder)
    tokens = folder / "tokens"
    tokens.write_text(TOKEN)
    service = Service(program, store, "--every", "50ms", "--tokens", str(tokens), "--memory", "64M")
    own = f"Origin: {service.location}\r\n"
    form = "Content-Type: application/x-www-form-urlencoded\r\n"

    def post(body, more=own + form, path="/login", length=None):
        return head_of(service, "POST", path, more=more + f"Content-Length: {len(body) if length is None else length}\r\n\r\n") + body

    right = f"token={TOKEN}".encode()
    for call, wanted in [(post(right, form), 403), (post(right, form + "Origin: null\r\n"), 403), (post(right, form + "Sec-Fetch-Site: cross-site\r\n"), 403),
                         (post(right, form + "Origin: https://evil.example\r\n"), 403), (post(right, own), 415),
                         (post(right, own + "Content-Type: text/plain\r\n"), 415), (post(b"token=" + b"t" * 5000), 413), (post(b"", length=1 << 40), 413),
                         (post(b""), 401), (post(b"token="), 401), (post(b"token=%"), 401), (post(b"token=" + b"t" * 31), 401), (post(b"tokens=" + b"t" * 32), 401),
                         (post(b"token=" + b"t" * 33), 401), (post(b"token=" + b"u" * 32), 401), (post(b"\0" * 4096), 401), (post(b"", path="/logout"), 401),
                         (head_of(service, path="/login", more="\r\n"), 405), (head_of(service, path="/", more="\r\n"), 401), (post(right, path="/"), 401),
                         (post(right, own + form + "Transfer-Encoding: chunked\r\n"), 400)]:
        got = answers_to(service, call + head_of(service, path="/ready", more="\r\n"))
        check(statuses(got) == [wanted], wanted, got[:500], call[:300])
        check(b"Set-Cookie" not in got, got[:500])
    chunked = head_of(service, "POST", "/login", more=own + form + "Transfer-Encoding: chunked\r\n\r\n") + b"1000\r\n" + b"a" * 4096 + b"\r\n1\r\nb\r\n0\r\n\r\n"
    check(statuses(answers_to(service, chunked)) == [413])
    got = answers_to(service, post(right))
    head = got.partition(b"\r\n\r\n")[0].decode()
    check(head.startswith("HTTP/1.1 303 ") and "\r\nLocation: /\r\n" in head and "no-store" in head, head)
    given = next(line for line in head.split("\r\n") if line.startswith("Set-Cookie: "))[len("Set-Cookie: "):]
    check(all(part in given.split("; ") for part in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200")), given)
    cookie = given.split(";")[0]
    name = cookie.split("=")[0]

    def page(cookies, more="", path="/"):
        found = statuses(answers_to(service, head_of(service, path=path, more=f"Cookie: {cookies}\r\n{more}Connection: close\r\n\r\n")))
        check(len(found) == 1, found)
        return found[0]

    check(page(cookie) == 200 and page(f"a=b; {cookie}; c=d") == 200 and page(f"{name}={'0' * 64};{cookie}") == 200)
    check(page(cookie, "Origin: https://evil.example\r\n") == 403 and page(cookie, "Sec-Fetch-Site: cross-site\r\n") == 403)
    check(page(cookie, path="/status") == 401 and page(cookie, path="/requests/x") == 401)
    check(page(cookie, f"Cookie: {cookie}\r\n") == 400 and page("a=b", f"cookie: {cookie}\r\n") == 400, "two headers Cookie")
    chance = random.Random(5)
    for garbage in [cookie[:-1], cookie + "0", cookie.upper(), cookie.replace("=", "= "), f"x{cookie}", name, f"{name}=", ";" * 9000, "=" * 9000, f"{name}={'0' * 64};" * 90,
                    "\xff" * 200] + ["".join(chr(chance.choice([*range(0x20, 0x7F), *range(0xA0, 0x100)])) for _ in range(chance.randrange(300))) for _ in range(200)]:
        check(page(garbage) == 401, garbage)
    for number in range(70):  # the oldest of 64 ends
        check(statuses(answers_to(service, post(right))) == [303], number)
    check(page(cookie) == 401)

    flood = [Slow(service, 300, post(b"token=", length=4096), 0.2), Slow(service, 100, post(b"token=" + b"w" * 4000, length=4096), 2)]
    over, wrong = threading.Event(), [0]

    def guess():
        while not over.is_set():
            try:
                wrong[0] += statuses(answers_to(service, post(b"token=" + b"w" * 32))) == [401]
            except (OSError, AssertionError, IndexError):
                pass  # its connection made room for another

    threads = [threading.Thread(target=guess) for _ in range(8)]
    for thread in threads:
        thread.start()
    taken, end = [], time.monotonic() + 8
    while time.monotonic() < end:
        begin = time.monotonic()
        status, answer = service.call("POST", "/requests", f"edge {len(taken)} 7", {"Authorization": f"Bearer {TOKEN}"})
        taken.append(time.monotonic() - begin)
        check(status == 200, status, answer)
        check(service.call("GET", "/", headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200)
        check(statuses(answers_to(service, post(right))) == [303], "whoever has a token may log in meanwhile")
    over.set()
    for one in flood:
        one.end()
    for thread in threads:
        thread.join()
    check(wrong[0] > 20 and len(taken) > 5, wrong, len(taken))
    most = check_memory(service, 64)
    check(service.end() == 0, service.error)
    return f"{wrong[0]} wrong tokens, {len(taken)} right calls, the longest in {max(taken):.2f} s, {most:.0f} MiB"


def check_untaken_answers(program, folder):
    """Long answers that nobody takes stay within the memory of calls; what does not fit is refused, and the others are answered."""
    (folder / "names").write_text("".join(f"{u}-{'n' * 240}\n" for u in range(100)))
    np.save(folder / "features.npy", np.random.default_rng(1).random((100, 4), np.float32))
    np.save(folder / "labels.npy", np.arange(100) % 2)
    store = folder / "named"
    (folder / "edges").write_text("".join(f"{u}-{'n' * 240} {u + 1}-{'n' * 240}\n" for u in range(99)))
    run(program, "import", store, "--edges", folder / "edges", "--ids", folder / "names", "--features", folder / "features.npy",
        "--labels", folder / "labels.npy", "--split", f"train={folder / 'names'}")
    run(program, "propagate", store)
    run(program, "train", store)
    service = Service(program, store, "--every", "50ms", "--memory", "64M")
    before = high_water(service)
    # "#1" is a node by its number, and its name is what is answered: 0.9 MiB to 15 KiB.
    many = head_of(service, path="/predict?nodes=" + ",".join(["%231"] * 3200), more="\r\n")
    clients = []
    for _ in range(60):
        clients.append(socket.socket())
        clients[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
        clients[-1].settimeout(30)
        clients[-1].connect(address_of(service))
        clients[-1].sendall(many)
    found = [client.recv(12) for client in clients]
    check({b"HTTP/1.1 200", b"HTTP/1.1 503"} == set(found), set(found))
    check(high_water(service) - before < 40, before, high_water(service))
    check(service.call("GET", "/status")[0] == 200)
    check(service.call("POST", "/requests", "#\n")[0] == 400)
    for client in clients:
        client.close()
    wait_until(lambda: service.call("GET", "/predict?nodes=" + ",".join(["%231"] * 3200))[0] == 200)
    check(service.end() == 0, service.error)


def check_bodies(program, folder):
    """Who says that much will come and sends nothing takes no memory from others; empty lines in the place of calls are cut off."""
    store = make_store(program, folder)
    service = Service(program, store, "--every", "50ms", "--memory", "64M")
    large = head_of(service, "POST", "/requests", more=LINES + f"Content-Length: {8 << 20}\r\n\r\n")
    clients = [connect(service) for _ in range(20)]
    for client in clients:
        client.sendall(large + b"#\n" * 100)
    status, answer = service.call("POST", "/requests", "node 5\n" + "#\n" * (2 << 20))
    check(status == 200, status, answer)
    for client in clients:
        client.close()
    check(service.call("POST", "/requests", "#\n" * (4 << 20) + "x")[0] == 413, "more than all the memory of calls")
    check(pour(service, b"", b"\r\n" * 30_000, 64 << 20) < 48 << 20, "empty lines without an end are cut off")
    check(statuses(answers_to(service, b"\r\n" * 3 + head_of(service, more="\r\n"))) == [200])
    check(statuses(answers_to(service, b"\r\n" * 200 + head_of(service, more="\r\n"))) == [400])
    check(service.end() == 0, service.error)


def check_signals(program, folder):
    """A second signal changes nothing of how a service ends, and neither does a reader of its lines that goes away."""
    store = make_store(program, folder)
    for number in range(3):
        service = Service(program, store, "--every", "30s")
        check(service.call("POST", "/requests", "\n".join(f"edge {u} {number}" for u in range(90)))[0] == 200)
        service.process.terminate()
        time.sleep(0.05 * number)
        try:
            service.process.terminate()
        except ProcessLookupError:
            pass
        code = service.process.wait(timeout=60)
        service.reader.join()
        said = service.process.stderr.read()
        check(code == 0 and "90 requests acknowledged" in said and "nothing was changed" not in said, code, said)
    process = subprocess.Popen([program, "serve", store, "--listen", "127.0.0.1:0", "--every", "20ms"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    Program.started.append(process)
    location = process.stdout.readline().strip().rsplit(" ", 1)[1]
    process.stdout.close()
    for number in range(3):
        made = http.client.HTTPConnection(location[len("http://"):], timeout=20)
        made.request("POST", "/requests", f"node {number + 20} id=P{number}", {"Content-Type": "text/x-unweave"})
        check(made.getresponse().status == 200)
        made.close()
        time.sleep(0.2)
    check(process.poll() is None)
    process.terminate()
    process.wait(timeout=60)
    said = process.stderr.read()
    check("standard output takes no more lines" in said and "3 requests acknowledged" in said, said)
    check(process.returncode == 3 and "cannot write to standard output" in said, process.returncode, said)
    listed = {json.loads(line)["id"] for line in run(program, "requests", store, "--json").splitlines()}
    check({"P0", "P1", "P2"} <= listed, listed)


def check_unread_output(program, folder):
    """Whoever does not read what is printed holds up neither a service nor the end of a stream."""
    store = make_store(program, folder)
    service = subprocess.Popen([program, "serve", store, "--listen", f"unix:{folder / 'socket'}", "--json", "--every", "1ms", "--batch", "1"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    Program.started.append(service)
    first = b""
    while not first.endswith(b"\n"):  # and nothing of the next line
        first += os.read(service.stdout.fileno(), 1)
    check(b"listening" in first, first)
    fcntl.fcntl(service.stdout, fcntl.F_SETPIPE_SZ, 16384)

    def call(method, path, body=None):
        made = http.client.HTTPConnection("localhost", timeout=60)
        made.sock = socket.socket(socket.AF_UNIX)
        made.sock.connect(str(folder / "socket"))
        made.request(method, path, body, {"Content-Type": "text/x-unweave"} if body else {})
        answer = made.getresponse()
        return answer.status, answer.read()

    for i in range(200):
        check(call("POST", "/requests", f"edge {i} {i + 500}")[0] == 200)
    wait_until(lambda: json.loads(call("GET", "/status")[1])["waiting"] == 0)
    service.send_signal(signal.SIGTERM)
    check(service.wait(timeout=10) == 0)
    whole = service.stdout.read().rpartition("\n")[0].splitlines()  # what the pipe had room for
    check(len(whole) > 0 and [json.loads(line)["batch"] for line in whole] == list(range(1, len(whole) + 1)), whole)
    run(program, "verify", store)
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    stream = subprocess.Popen([program, "stream", store, "--requests", "-", "--batch", "1", "--json"], stdin=subprocess.PIPE, stdout=writer,
                              stderr=subprocess.PIPE, text=True)
    Program.started.append(stream)
    stream.stdin.write("".join(f"edge {i} {i + 300}\n" for i in range(100)))
    stream.stdin.close()
    waits = struct.pack("i", 0)
    wait_until(lambda: struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, waits))[0] > 3000)
    time.sleep(0.2)
    stream.send_signal(signal.SIGTERM)
    check(stream.wait(timeout=10) == -signal.SIGTERM)
    said = stream.stderr.read()
    acknowledged = int(re.search(r"requests 1 to (\d+) of standard input are acknowledged", said)[1])
    check("not printed, or not to its end" in said, said)
    check(json.loads(run(program, "info", store, "--json"))["acknowledged"] == 200 + acknowledged, said)
    os.close(reader)
    os.close(writer)


def check_end(program, folder):
    """SIGTERM while clients send nothing, half a head, half a body, take no answer, or come again and again."""
    store = make_store(program, folder)
    service = Service(program, store, "--every", "50ms")
    post = head_of(service, "POST", "/requests", more=LINES + "Content-Length: 1000\r\n\r\n")
    status = head_of(service, path="/metrics", more="\r\n")
    clients = []
    for data in [b"", b"GET /st", post + b"node"] * 30:
        clients.append(connect(service))
        clients[-1].sendall(data)
    with connect(service) as made:  # this one asks without an end, and takes no answer
        made.settimeout(0.3)
        try:
            while True:
                made.send(status * 100)
        except OSError:
            pass
        begin = time.monotonic()
        check(service.end() == 0, service.error)
        ended = time.monotonic() - begin
    for client in clients:
        client.close()
    check(ended < 5, f"{ended:.1f} s to end")


def crowd(service, count, call):
    """So many clients at once, each with this call: what each of them was answered begins as it should."""
    clients = []
    for _ in range(count):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(address_of(service))
        clients.append(one)
    waiting = selectors.DefaultSelector()
    for one in clients:
        waiting.register(one, selectors.EVENT_WRITE)
    answered, end = 0, time.monotonic() + 60
    while answered < len(clients):
        check(time.monotonic() < end, f"{answered} answered")
        for key, event in waiting.select(1):
            if event & selectors.EVENT_WRITE:
                key.fileobj.sendall(call)
                waiting.modify(key.fileobj, selectors.EVENT_READ)
            else:
                check(key.fileobj.recv(1 << 16).startswith(b"HTTP/1.1 200 "))
                waiting.unregister(key.fileobj)
                key.fileobj.close()
                answered += 1


def check_many(program, folder):
    """500 clients at once, again and again: each is answered, and none is sent away."""
    store = make_store(program, folder)
    service = Service(program, store, "--every", "50ms")
    call = head_of(service, "POST", "/requests", more=LINES + "Content-Length: 8\r\nConnection: close\r\n\r\n") + b"edge 1 2"
    for _ in range(5):
        crowd(service, 500, call)
    check(service.call("GET", "/status")[1]["acknowledged"] == 2500)
    check(service.end() == 0, service.error)


def check_idle(program, folder):
    """Whether or not tokens are asked for: clients that keep their connections and say nothing keep nobody out, and 500 who come
    at once are all answered."""
    store = make_store(program, folder)
    tokens = folder / "tokens"
    tokens.write_text(TOKEN)
    for own in [[], ["--tokens", str(tokens)]]:
        service = Service(program, store, "--every", "50ms", *own)
        token = f"Authorization: Bearer {TOKEN}\r\n" if own else ""
        with contextlib.ExitStack() as held:
            for _ in range(1200):
                one = held.enter_context(connect(service))
                one.sendall(head_of(service, more=token + "\r\n"))
                check(read_answer(one)[0] == 200)
            for _ in range(3):
                crowd(service, 500, head_of(service, more=token + "Connection: close\r\n\r\n"))
            # Others who have sent half a head keep nobody out either.
            for _ in range(600):
                held.enter_context(connect(service)).sendall(head_of(service))
            crowd(service, 100, head_of(service, more=token + "Connection: close\r\n\r\n"))
        check(service.end() == 0, service.error)


def read_answer(made):
    """Status and body of the next answer."""
    got = b""
    while b"\r\n\r\n" not in got:
        piece = made.recv(1 << 16)
        check(piece, "no answer")
        got += piece
    head, _, body = got.partition(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += made.recv(1 << 16)
    return int(head.split()[1]), body


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)  # hundreds of clients
    run_parts({"callers": check_callers, "socket": check_socket_file, "strangers": check_strangers, "logins": check_logins,
               "answers": check_untaken_answers, "unread": check_unread_output, "bodies": check_bodies, "signals": check_signals, "names": check_model_names,
               "forms": check_forms, "receipts": check_receipts, "end": check_end, "many": check_many, "idle": check_idle,
               "memory": check_memory_and_time})
