#!/usr/bin/env python3
# tests/serve_random_test.py - calls of every shape to `unweave serve`, right ones among them: the process lives, its memory stays within its
# budget and a constant, and each request that was acknowledged is there afterwards.
#
#   python3 tests/serve_random_test.py UNWEAVE [--calls N] [--seed S]
import json
import random
import socket
import threading
import time

from serve_hostile_test import check_memory, connect, read_answer
from serve_test import Service, check, make_store, run, run_parts


class Sender:
    """Makes calls of random shape. Those that are whole and right are to be acknowledged, with an id of their own."""

    METHODS = ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "get", "", "G\xffT", "POST"]
    PATHS = ["/requests", "/requests/x", "/receipts/x", "/status", "/ready", "/metrics", "/predict?nodes=1", "/certificates/exact", "/", "/?find=x", "/login", "/logout", "*",
             "/%", "/requests/%ff", "/requests/\xff", "//", "/predict?nodes=\xff&model=\x01", "/requests?x", "/predict?graphs=1", "/pairs", "/links/1?top=3"]
    WORDS = ["node", "edge", "feature", "set-feature", "insert-edge", "set-label", "move-split", "expires", "weight", "id=", "1", "2", "999999",
             "-1", "1e400", "nan", "1:1", "\xff", "\xc2\x80", "\xe2\x80\xae", "\0", "\x1b[2J", "#", ",", "id=\xff", "\t", "'", '"', "\\"]

    def __init__(self, seed, host):
        self.chance = random.Random(seed)
        self.seed = seed
        self.host = host
        self.number = 0

    def bytes(self, most):
        return self.chance.randbytes(self.chance.choice([0, 1, 3, 17, 200, self.chance.randrange(most + 1)]))

    def line(self):
        return " ".join(self.chance.choice(self.WORDS) for _ in range(self.chance.randrange(6)))

    def body(self):
        kind = self.chance.randrange(6)
        if kind == 0:
            return self.bytes(5000)
        if kind == 1:
            return json.dumps({"requests": [self.line() for _ in range(self.chance.randrange(4))]}).encode()
        if kind == 2:
            text = json.dumps({"requests": [self.line()]})
            at = self.chance.randrange(len(text))
            return (text[:at] + self.chance.choice(['"', "[", "{", "]", "\\u", "\xff", ""]) + text[at + 1:]).encode("latin1", "replace")
        if kind == 3:
            return b"[" * self.chance.randrange(3000)
        return "\n".join(self.line() for _ in range(self.chance.randrange(8))).encode("latin1", "replace")

    def call(self):
        """Bytes; the id that they ask for where they are right, else none; whether the connection goes on."""
        kind = self.chance.randrange(10)
        if kind < 4:
            self.number += 1
            name = f"H{self.seed}-{self.number}"
            line = f"edge {self.chance.randrange(1000)} {self.chance.randrange(1000)} id={name}"
            if self.chance.random() < 0.5:
                body, kind = json.dumps({"requests": [line]}).encode(), "application/json"
            else:
                body, kind = line.encode(), "text/x-unweave"
            head = f"POST /requests HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: {kind}\r\n"
            if self.chance.random() < 0.3:
                at = self.chance.randrange(1, len(body))
                pieces = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:at], body[at:]))
                return head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n", name, True
            return head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body, name, True
        if kind == 4:
            return self.bytes(20_000), None, False
        method, path = self.chance.choice(self.METHODS), self.chance.choice(self.PATHS)
        body = self.body()
        headers = [f"Host: {self.host}", f"Content-Length: {len(body)}", "Content-Type: text/x-unweave"]
        wild = ["Content-Length: 5", "Transfer-Encoding: chunked", "Expect: 100-continue", "Connection: close", "Origin: null", "Host: evil",
                "Content-Type: application/json", "Content-Type: multipart/form-data; boundary=x", "X: " + "a" * self.chance.randrange(9000),
                "\xff: \xff", "X:\0", "Content-Length: 99999999999999999999", ": ", "Upgrade: h2c", "Range: bytes=0-", "Accept-Encoding: gzip"]
        for _ in range(self.chance.randrange(4)):
            headers.insert(self.chance.randrange(len(headers) + 1), self.chance.choice(wild))
        if self.chance.random() < 0.2:
            headers.pop(self.chance.randrange(len(headers)))
        end = self.chance.choice(["\r\n", "\r\n", "\r\n", "\n"])
        data = (f"{method} {path} HTTP/1.1{end}" + end.join(headers) + end + end).encode("latin1", "replace") + body
        if self.chance.random() < 0.2:
            cut = self.chance.randrange(len(data) + 1)
            data = data[:cut] + (self.bytes(50) + data[cut + 1:] if self.chance.random() < 0.5 else b"")
        return data, None, False


def check_random(program, folder, calls, seed, senders=8):
    """Calls of every shape, among them right ones: the process lives, and each that was acknowledged is there afterwards."""
    store = make_store(program, folder)
    service = Service(program, store, "--every", "100ms", "--batch", "500", "--memory", "64M")
    acknowledged, faults = set(), []

    def send(number):
        sender = Sender(f"{seed}.{number}", service.location[len("http://"):])
        made = connect(service)
        try:
            for _ in range(calls // senders):
                data, name, goes_on = sender.call()
                try:
                    made.sendall(data)
                except OSError:
                    check(name is None, "a right call was not taken")
                if name:
                    status, body = read_answer(made)
                    is_full = status == 507 and b"ids of requests" in body  # their eighth of the memory
                    check(status in (200, 503) or is_full, status, body, data)
                    if status == 200:
                        acknowledged.add(name)
                    continue
                # Whatever comes back is read from time to time; the connection is of no further use.
                if sender.chance.random() < 0.3:
                    try:
                        made.settimeout(5)
                        made.shutdown(socket.SHUT_WR)
                        while made.recv(1 << 16):
                            pass
                    except OSError:
                        pass
                made.close()
                made = connect(service)
        except Exception as error:
            faults.append(error)
        made.close()

    begin = time.monotonic()
    threads = [threading.Thread(target=send, args=(number,)) for number in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(not faults, faults[:1])
    seconds = time.monotonic() - begin
    check(service.call("GET", "/ready")[0] == 200)
    most = check_memory(service, 64)
    check(service.end() == 0, service.error)
    listed = {json.loads(line)["id"] for line in run(program, "requests", store, "--json").splitlines()}
    check(acknowledged <= listed, "lost", acknowledged - listed)
    check(len(acknowledged) > min(calls // 10, 40_000), len(acknowledged))
    run(program, "verify", store)
    return f"{calls} calls in {seconds:.0f} s, {len(acknowledged)} of them acknowledged, {most:.0f} MiB"


if __name__ == "__main__":
    run_parts({"random": check_random}, calls=4000, seed=1)
