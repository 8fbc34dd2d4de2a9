#!/usr/bin/env python3
# tests/serve_text_test.py - a service with receipts among senders of any bytes, killed and started again: it starts each time, answers
# nothing that a terminal obeys, and has every request that it acknowledged.
#
#   python3 tests/serve_text_test.py UNWEAVE [--kills N] [--seed S]
import json
import os
import pathlib
import random
import signal
import subprocess
import time

from serve_test import Service, check, edges_of, make_store, run, run_parts

UNPLAIN = [*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF, *range(0xFFF9, 0xFFFC),
           *range(0xE0000, 0xE0080)]
JSON = {"Content-Type": "application/json"}


def is_plain(text, allowed="\n\t"):
    return not any(ord(c) in UNPLAIN and c not in allowed for c in text)


def drawn_id(chance):
    """An id of 1 to 12 characters, which senders may give where none of them acts on its neighbours."""
    kinds = [lambda: chance.choice("abcXYZ019-_:;\"'\\/<>&%{}"), lambda: chance.choice("üé€😀\u200d"), lambda: chr(chance.choice(UNPLAIN)), lambda: chr(chance.randrange(0x110000))]
    weights = chance.choice([[1, 0, 0, 0], [4, 2, 0, 0], [4, 1, 1, 0], [1, 1, 1, 1]])
    text = "".join(chance.choices(kinds, weights)[0]() for _ in range(chance.randrange(1, 12)))
    return "".join(c for c in text if not 0xD800 <= ord(c) < 0xE000 and c not in " ,\r\n\t") or "x"


def drawn_bytes(chance):
    return bytes(chance.choice([0xFF, 0x80, 0x9B, 0xC2, 0xE2, 0xED, 0xF5, 0x1B, 0x41, chance.randrange(256)]) for _ in range(chance.randrange(1, 12))).translate(None, b"\r\n")


def call(service, body, headers):
    """The answer to requests, and whether the service has taken the call at all."""
    status, answer = service.call("POST", "/requests", body, headers)
    check(status in (200, 400, 415), status, answer)
    return answer if isinstance(answer, dict) else {}


def check_service(program, folder, kills, seed):
    chance = random.Random(seed)
    store = make_store(program, folder)
    run(program, "train", store)
    edges = sorted(edges_of(program, store, folder))
    chance.shuffle(edges)
    gone, acknowledged, drawn = set(), {}, set()
    options = ["--solver", "exact", "--receipts", str(folder / "receipts"), "--quarantine", str(folder / "bad"), "--every", "20ms"]
    for turn in range(kills + 1):
        service = Service(program, store, *options)
        for _ in range(6):
            u, v = edges.pop()
            while (name := drawn_id(chance)) in drawn:  # an id stands for one request
                pass
            drawn.add(name)
            answer = call(service, json.dumps({"requests": [f"edge {u} {v} id={name}"]}, ensure_ascii=chance.random() < 0.5).encode(), JSON)
            taken = [one["id"] for one in answer.get("acknowledged", [])]
            check(taken == ([name] if is_plain(name, "") else []), name, answer)
            if taken and name not in acknowledged:
                acknowledged[name] = (u, v)
                gone.add((u, v))
            # Lines of any bytes, a good one among them: as a body of lines, and as one of JSON that is none.
            u, v = edges.pop()
            lines = [b"node 3 id=" + drawn_bytes(chance), drawn_bytes(chance), f"edge {u} {v} id=good-{turn}-{u}-{v}".encode()]
            answer = call(service, b"\n".join(lines), {"Content-Type": "text/plain", "X-Unweave": "1"})
            for one in answer.get("acknowledged", []):
                if one["id"] == f"good-{turn}-{u}-{v}":
                    acknowledged[one["id"]] = (u, v)
                    gone.add((u, v))
                else:
                    check(is_plain(one["id"], ""), one)
            check(call(service, b'{"requests": ["node 3 id=' + b"\xff" + drawn_bytes(chance) + b'"]}', JSON).get("error"), "no JSON")
        check(service.call("GET", "/requests/%FF%C2%9B")[0] == 404)
        if chance.random() < 0.5:
            time.sleep(chance.random() * 0.2)
        last = turn == kills
        code = service.end(signal.SIGTERM if last else signal.SIGKILL)
        check(code == (0 if last else -signal.SIGKILL), code, service.error)
    listed = {one["id"]: one for one in map(json.loads, run(program, "requests", store, "--json").splitlines())}
    check(set(acknowledged) <= set(listed), "lost", set(acknowledged) - set(listed))
    check(gone <= set(edges_before(program, folder)) and not gone & edges_of(program, store, folder), "an edge that was to go is there")
    told = (folder / "receipts").read_text()
    receipts = {json.loads(line)["request"] for line in told.splitlines()}
    for name, (u, v) in acknowledged.items():
        check(any(one.startswith(f"edge {u} {v} id={name} at=") for one in receipts), "no receipt", name)
    for text in [told, (folder / "bad").read_text() if (folder / "bad").exists() else "", run(program, "requests", store)]:
        check(is_plain(text))
    run(program, "verify", store)
    run(program, "verify", store / "certificates/exact.jsonl", "--receipts", folder / "receipts")
    return f"{len(acknowledged)} requests acknowledged"


def edges_before(program, folder):
    again = folder / "again"
    again.mkdir()
    return edges_of(program, make_store(program, again), folder)


def check_streams(program, folder, kills, seed):
    """Lines of any bytes from a file and a pipe: told once, with place, or quarantined; those before them are applied."""
    chance = random.Random(seed)
    store = make_store(program, folder)
    run(program, "train", store)
    edges = sorted(edges_of(program, store, folder))
    for turn in range(kills + 2):
        u, v = edges[turn]
        bad = b"node 3 id=" + chance.choice([b"\xff", b"\xc2\x9b2J", b"\xe2\x80\xae", b"\xed\xa0\x80", b"\x7f", b"\xef\xbb\xbf"]) + drawn_bytes(chance)
        lines = f"edge {u} {v} id=s{turn}\n".encode() + bad + b"\n"
        words = [program, "stream", str(store), "--requests", "-", "--solver", "exact", "--receipts", str(folder / "receipts")]
        done = subprocess.run(words, input=lines, capture_output=True)
        check(done.returncode == 2, done.stderr)
        said = done.stderr.decode()  # plain text, whatever the line was
        check(is_plain(said) and "standard input: line 2: not a request: " in said and "requests 1 to 1" in said.replace("request 1", "requests 1 to 1"), said)
        follower = subprocess.run([*words, "--every", "20ms", "--quarantine", str(folder / "bad")], input=lines, capture_output=True)
        check(follower.returncode == 0, follower.stderr)
    for text in [(folder / "bad").read_text(), (folder / "receipts").read_text()]:
        check(is_plain(text), text)
    check((folder / "bad").read_text().count("\n") == kills + 2)
    check(edges_of(program, store, folder) == set(edges[kills + 2:]))
    run(program, "verify", store)


def check_paths(program, folder):
    """Paths of any bytes, in messages, records and files of a store."""
    odd = pathlib.Path(os.fsdecode(os.fsencode(folder) + b"/p\xff\x1b[2J\xe2\x80\xae"))
    odd.mkdir()
    store = make_store(program, odd)
    run(program, "train", store)
    u, v = sorted(edges_of(program, store, odd))[0]
    (odd / "requests").write_text(f"edge {u} {v} id=T1\n")
    for words in [["stream", store, "--requests", odd / "requests", "--solver", "exact", "--receipts", odd / "receipts", "--rejected", odd / "rejected"],
                  ["stream", store, "--requests", odd / "requests", "--rejected", odd / "rejected", "--json"],
                  ["stream", store, "--requests", odd / "none"], ["info", store], ["info", odd / "none"], ["info", store, "--json"], ["verify", store], ["verify", odd / "none"],
                  ["verify", store, "--json"], ["purge", store], ["repair", store], ["\x1b[2J"], ["info", "--\x9b"], ["train", store, "--name", "a\u202eb"],
                  ["requests", store, "--id", "\udcff"], ["predict", store, "--ids", odd / "ids.txt"]]:
        done = subprocess.run([program, *map(str, words)], capture_output=True)
        check(done.returncode in (0, 1, 2), words, done)
        for text in [done.stdout, done.stderr]:
            check(is_plain(text.decode(errors="surrogateescape")) and text.decode(errors="replace").encode() == text, words, text)
    check("T1" in (odd / "receipts").read_text())


if __name__ == "__main__":
    run_parts({"service": check_service, "streams": check_streams, "paths": check_paths}, kills=5, seed=1)
