#!/usr/bin/env python3
# tests/reproductions_test.py - what hostile readers once broke, done again by the program as they did it: harmless now.
#
#   python3 tests/reproductions_test.py UNWEAVE [PART ...]
#
# Each part is one attack, short and whole. The tests of the files concerned go through its kind: links_test.cpp, serve_hostile_test.py,
# serve_text_test.py, service_memory_test.py, corruption_test.cpp and others.
import argparse
import gzip
import http.client
import io
import json
import os
import pathlib
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

import numpy as np

from serve_test import Service, check, edges_of, make_store, run, wait_until


def fails(program, *words, stdin=None):
    """Runs a command that must fail in one line, without a signal; the line."""
    done = subprocess.run([program, *map(str, words)], input=stdin, capture_output=True, timeout=120)
    error = done.stderr.decode()
    check(0 < done.returncode < 5 and "internal error" not in error, words[0], done.returncode, error)
    return error


def peak_of(program, *words):
    """A run, and the most memory that it took, in bytes: by a small process between, since a child begins with its parent's peak."""
    code = ("import resource, subprocess, sys; done = subprocess.run(sys.argv[1:]); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); "
            "sys.exit(done.returncode)")
    done = subprocess.run([sys.executable, "-c", code, program, *map(str, words)], capture_output=True, text=True, timeout=300)
    done.stdout, peak = done.stdout.rstrip("\n").rsplit("\n", 1) if "\n" in done.stdout.rstrip("\n") else ("", done.stdout)
    return done, int(peak) * 1024


def gives(program, *words, stdin=b""):
    done = subprocess.run([program, *map(str, words)], input=stdin, capture_output=True, timeout=300)
    check(done.returncode == 0, words[0], done.returncode, done.stderr)
    return done.stdout.decode()


def people_store(program, folder, names=("ann", "bob", "cid", "dan"), x=None):
    (folder / "ids").write_text("".join(name + "\n" for name in names))
    (folder / "edges").write_text("".join(f"{a} {b}\n" for a, b in zip(names, names[1:])))
    np.save(folder / "x.npy", np.eye(len(names), dtype=np.float32) if x is None else x)
    np.save(folder / "y.npy", np.arange(len(names)) % 2)
    run(program, "import", folder / "p", "--ids", folder / "ids", "--edges", folder / "edges", "--features", folder / "x.npy", "--labels",
        folder / "y.npy", "--classes", 2)
    return folder / "p"


def part_links(program, folder):
    """C1: a link in the place of tiles/ led every writing command to empty what lay behind it."""
    store = make_store(program, folder, 8)
    home = folder / "home"
    (home / "sub").mkdir(parents=True)
    (home / "sub" / "thesis").write_text("years of work")
    (store / "tiles").symlink_to(home)
    for words in (["stream", store, "--requests", "-"], ["train", store], ["propagate", store], ["purge", store, "--always"],
                  ["certify", store, "--weights", folder / "none.npy"]):
        fails(program, *words, stdin=b"node 10\n")
        check((home / "sub" / "thesis").read_text() == "years of work", words[0])


def part_bytes(program, folder):
    """C2: one byte in an id ended a service with receipts for good."""
    store = make_store(program, folder, 8)
    run(program, "train", store)
    receipts = folder / "receipts"
    for _ in range(3):
        service = Service(program, store, "--solver", "exact", "--every", "50ms", "--receipts", str(receipts))
        for line in (b"node 3 id=\xff\n", b"node 4 id=\xc2\x9b2J\n", b"node 5 id=\xe2\x80\xaeevil\n", b"node 6 id=ok\x1b[2J\n"):
            status, answer = service.call("POST", "/requests", line)
            check(status == 400 and len(answer["refused"]) == 1, status, answer)
        status, answer = service.call("POST", "/requests", "node 7 id=Zo\u00eb\n".encode())
        check(status == 200, answer)
        check(service.end() == 0, service.error)
    # A file of requests is as strict: the line is told, and nothing of it is applied.
    error = fails(program, "stream", store, "--requests", "-", "--solver", "exact", "--receipts", receipts, stdin=b"node 8 id=\xff\n")
    check("line 1" in error, error)


def part_browsers(program, folder):
    """S1: a page of any site could erase data on this machine."""
    store = make_store(program, folder, 8)
    service = Service(program, store, "--every", "50ms")
    own = service.location[len("http://"):]
    for headers in ({"Origin": "https://evil.example", "Host": "rebind.evil.example", "Content-Type": "text/plain"},
                    {"Origin": "https://evil.example"}, {"Host": "rebind.evil.example"}, {"Origin": "null"},
                    {"Sec-Fetch-Site": "cross-site"}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"},
                    {"Content-Type": "multipart/form-data; boundary=x"}):
        status, answer = service.call("POST", "/requests", "node 5", {"Host": own} | headers)
        check(400 <= status < 500, headers, status, answer)
    for path in ("/status", "/predict?nodes=1", "/ready", "/metrics"):
        check(service.call("GET", path, headers={"Host": "rebind.evil.example"})[0] >= 400, path)
        check(service.call("GET", path, headers={"Origin": "https://evil.example"})[0] >= 400, path)
    check(service.call("GET", "/status")[1]["acknowledged"] == 0)
    check(service.end() == 0, service.error)


def part_large_calls(program, folder):
    """S2: three calls of 14 MiB were acknowledged under 64 MiB of memory, and could never be applied."""
    columns = 40_000
    np.save(folder / "x.npy", np.zeros((64, columns), np.float32))
    np.save(folder / "e.npy", np.stack([np.arange(63), np.arange(1, 64)]))
    run(program, "import", folder / "s", "--edges", folder / "e.npy", "--features", folder / "x.npy")
    options = ("--memory", "64M", "--every", "50ms")
    service = Service(program, folder / "s", *options)
    row = " ".join(["0.001"] * columns)
    body = "".join(f"set-feature {node} {row}\n" for node in range(60))
    body = body[:body.rfind("\n", 0, 14 << 20) + 1]
    acknowledged = []

    def send():
        status, answer = service.call("POST", "/requests", body)
        acknowledged.append(len(answer["acknowledged"]) if status == 200 else 0)
        check(status in (200, 413, 503), status, answer)

    senders = [threading.Thread(target=send) for _ in range(3)]
    for one in senders:
        one.start()
    for one in senders:
        one.join()
    check(service.end() == 0, service.error)
    service = Service(program, folder / "s", *options)
    check(service.end() == 0, service.error)
    check(json.loads(run(program, "info", folder / "s", "--json"))["acknowledged"] == sum(acknowledged), acknowledged)


def part_many_lines(program, folder):
    """S3: 90,000 lines ended the process by a signal."""
    store = make_store(program, folder, 8)
    service = Service(program, store, "--memory", "64M", "--every", "50ms")
    status, answer = service.call("POST", "/requests", "node 5\n" * 90_000)
    check(status in (200, 413, 503), status, answer)
    check(service.end() == 0, service.error)


def part_names(program, folder):
    """S5: the name of a removed node came back by a purge when its node was filled again."""
    for again in ("insert-node #0 0.5 0 0 0", "set-label #0 1", "set-feature #0 1 0 0 0", "insert-edge #0 cid"):
        told = []
        for between in (False, True):
            place = folder / f"{again.split()[0]}-{between}"
            place.mkdir()
            store = people_store(program, place)
            gives(program, "stream", store, "--requests", "-", stdin=b"node ann\n")
            if between:
                run(program, "purge", store)
            gives(program, "stream", store, "--requests", "-", stdin=again.encode() + b"\n")
            run(program, "propagate", store, "--hops", 1, "--rows", "all")
            run(program, "export", store, "--embeddings", place / "z.npy", "--ids", place / "z.txt", "--missing", "nan")
            check("ann" not in (place / "z.txt").read_text())
            run(program, "purge", store)
            told.append((run(program, "export", store, "--names", "-"), json.loads(run(program, "info", store, "--digest", "--json"))["digest"]))
        check(told[0] == told[1] and told[0][0] == "\nbob\ncid\ndan\n", again, told)
    store = people_store(program, folder)
    gives(program, "stream", store, "--requests", "-", stdin=b"feature ann\nedge ann bob\n")
    run(program, "purge", store)
    check(run(program, "export", store, "--names", "-").startswith("ann\n"))


def part_archives(program, folder):
    """S6: of two arrays of one name, `verify` read one and NumPy the other."""
    store = make_store(program, folder, 8)
    run(program, "train", store)
    run(program, "export", store, "--model", folder / "w.npz")
    gives(program, "verify", folder / "w.npz")
    with zipfile.ZipFile(folder / "w.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    forged = io.BytesIO()
    np.save(forged, np.load(io.BytesIO(members["coef_.npy"])) * 2)
    certificate = (folder / "w.jsonl").read_bytes()

    def write(name, entries):
        with zipfile.ZipFile(folder / f"{name}.npz", "w") as archive:
            for member, content in entries:
                archive.writestr(member, content)
        (folder / f"{name}.jsonl").write_bytes(certificate)
        return folder / f"{name}.npz"

    import warnings
    warnings.simplefilter("ignore")  # of names that are there twice
    check("coef_" in fails(program, "verify", write("twice", [*members.items(), ("coef_.npy", forged.getvalue())])))
    check("coef" in fails(program, "verify", write("more", [*members.items(), ("coef.npy", forged.getvalue())])))


def part_signs(program, folder):
    """A row of small values could not be removed, and left its signs."""
    x = np.zeros((6, 4), np.float32)
    x[5] = [-1e-9, 1e-9, -1e-9, -1e-9]
    np.save(folder / "x.npy", x)
    np.save(folder / "e.npy", np.array([[0, 1], [1, 2], [2, 3]]))
    run(program, "import", folder / "s", "--edges", folder / "e.npy", "--features", folder / "x.npy", "--feature-type", "f16")
    gives(program, "stream", folder / "s", "--requests", "-", stdin=b"feature 5\nnode 5\n")
    run(program, "purge", folder / "s", "--always")
    run(program, "export", folder / "s", "--all", folder / "all")
    for file in (folder / "all").glob("*.npy"):
        values = np.load(file)
        check(values.dtype.kind != "f" or not np.signbit(values).any(), file)


def part_times(program, folder):
    """The times of files told which part of a store had held what was removed."""
    store = make_store(program, folder, 8)
    run(program, "train", store)
    time.sleep(1.1)
    gives(program, "stream", store, "--requests", "-", stdin=b"node 5\n")
    run(program, "purge", store)
    times = {path.stat().st_mtime_ns for path in [store, *store.rglob("*")]}
    check(len(times) == 1, sorted(times))


def part_log_of_certificates(program, folder):
    """A log that was cut inside its last line, or signed again with other words, was said to be whole."""
    store = make_store(program, folder, 8)
    run(program, "train", store)
    gives(program, "stream", store, "--requests", "-", "--solver", "exact", stdin=b"node 5\n")
    log = store / "certificates" / "exact.jsonl"
    whole = log.read_bytes()
    (folder / "cut.jsonl").write_bytes(whole[:-40])
    fails(program, "verify", folder / "cut.jsonl")
    (folder / "cut.jsonl").write_bytes(whole[:-1])
    fails(program, "verify", folder / "cut.jsonl")


def part_reports(program, folder):
    """A report told the degree of a removed node."""
    store = make_store(program, folder, 8)
    line = gives(program, "stream", store, "--requests", "-", "--json", stdin=b"node 5\n")
    check(json.loads(line)["edges_removed"] == 0, line)


def part_small_lambda(program, folder):
    """Softmax by `exact` refused ordinary data, with words that made no sense."""
    for seed in range(9):
        place, chance, nodes = folder / str(seed), np.random.default_rng(seed), 8
        place.mkdir()
        np.save(place / "x.npy", chance.normal(size=(nodes, 4)).astype(np.float32))
        np.save(place / "e.npy", np.array([[0, 1]]))
        np.save(place / "y.npy", chance.integers(0, 3, nodes))
        np.save(place / "t.npy", np.arange(nodes))
        run(program, "import", place / "s", "--edges", place / "e.npy", "--features", place / "x.npy", "--labels", place / "y.npy", "--classes",
            3, "--split", f"train={place / 't.npy'}")
        run(program, "propagate", place / "s", "--hops", 1, "--weights", "1,0")
        gives(program, "train", place / "s", "--head", "softmax", "--lambda", "1e-9")


def part_forgotten_ids(program, folder):
    """The receipt of a stranger's request was given for an id that had been forgotten and was used again."""
    store = make_store(program, folder, 8)
    run(program, "train", store)
    options = ("--solver", "exact", "--every", "50ms", "--receipts", str(folder / "receipts"))

    def receipt(service, name):
        wait_until(lambda: service.call("GET", f"/receipts/{name}")[0] == 200)
        return service.call("GET", f"/receipts/{name}")[1]["request"]

    service = Service(program, store, *options)
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 6))
    service.call("POST", "/requests", f"node 1 expires {soon} id=X\nfeature 2 id=Y\n")
    check(receipt(service, "Y").startswith("feature 2 id=Y"))
    check(service.end() == 0, service.error)
    run(program, "requests", store, "--forget-before", "2999-01-01")
    service = Service(program, store, *options)
    service.call("POST", "/requests", "feature 3 id=X\nfeature 4 id=Y\n")
    check(receipt(service, "Y").startswith("feature 4 id=Y") and receipt(service, "X").startswith("feature 3 id=X"))
    wait_until(lambda: service.call("GET", "/status")[1]["applied"] >= 3)  # the note of the id that was forgotten
    check("removal" not in service.call("GET", "/requests/X")[1], service.call("GET", "/requests/X"))
    check(receipt(service, "X").startswith("feature 3 id=X"))
    check(service.call("POST", "/purge", "{}", {"Content-Type": "application/json"})[0] == 200)
    check(receipt(service, "Y").startswith("feature 4 id=Y"))
    check(service.end() == 0, service.error)


def part_begun_feeds(program, folder):
    """A feed of changes that was ended while its first entry was written never began again, and left hidden copies of rows."""
    store = make_store(program, folder, 10)
    feed = folder / "feed"
    (feed / "readers").mkdir(parents=True)
    left = [".1.rows.npy.4711.new", ".1.ids.txt.4711.new", "1.ids.npy"]
    for name in left:
        (feed / name).write_bytes(b"a row of somebody")
    gives(program, "stream", store, "--requests", "-", "--changes", feed, stdin=b"node 5\n")
    check(not any((feed / name).exists() for name in left[:2]) and (feed / "1.rows.npy").exists(), os.listdir(feed))
    (feed / ".77.rows.npy.4711.new").write_bytes(b"a row of somebody")
    gives(program, "stream", store, "--requests", "-", "--changes", feed, stdin=b"node 6\n")
    check(not (feed / ".77.rows.npy.4711.new").exists())
    (folder / "other").mkdir()
    (folder / "other" / ".thesis.new").write_text("mine")
    fails(program, "stream", store, "--requests", "-", "--changes", folder / "other", stdin=b"node 7\n")
    check((folder / "other" / ".thesis.new").read_text() == "mine")


def part_long_feeds(program, folder):
    """A number in a feed, and a list of feeds with a million lines, took time and memory without end."""
    store = make_store(program, folder, 8)
    feed = folder / "feed"
    (feed / "readers").mkdir(parents=True)
    line = {"sequence": 0, "complete": True, "rows": 1, "removed": 0, "columns": 6}
    for entry in (10**12, 2**64 - 1):
        (feed / "changes.jsonl").write_text(json.dumps({"entry": entry} | line) + "\n")
        (feed / "1.rows.npy").write_text("x")
        (feed / "readers" / "r").write_text(str(10**12 - 1))
        if entry == 10**12:
            gives(program, "stream", store, "--requests", "-", "--changes", feed, stdin=b"node 5\n")
        else:
            check("names no entry" in fails(program, "stream", store, "--requests", "-", "--changes", feed, stdin=b"node 6\n"))
    (store / "certificates" / "feeds").write_text("".join(f"/nowhere/{i}\n" for i in range(300_000)))
    began = time.monotonic()
    done = subprocess.run([program, "verify", store, "--memory", "64M"], capture_output=True, text=True)
    check(done.returncode == 0 and "300000 lines" in done.stdout + done.stderr, done.returncode, done.stderr[-300:])
    check("300000 lines" in fails(program, "purge", store), "purge")
    check(time.monotonic() - began < 60)


def part_long_runs(program, folder):
    """A report took ten times the bytes of the runs that it read, whatever --memory said."""
    store = make_store(program, folder, 8)
    run(program, "train", store)
    line = gives(program, "stream", store, "--requests", "-", "--solver", "exact", "--json", stdin=b"node 5\n").splitlines()[0]
    with open(folder / "many.jsonl", "w") as many:
        for batch in range(40_000):
            many.write(json.dumps(json.loads(line) | {"batch": batch}) + "\n")
    check("--memory" in fails(program, "report", folder / "many.jsonl", "--out", folder / "r.html", "--memory", "64M"))
    check(not (folder / "r.html").exists())
    (folder / "few.jsonl").write_text("".join((folder / "many.jsonl").read_text().splitlines(keepends=True)[:1000]))
    gives(program, "report", folder / "few.jsonl", "--out", folder / "r.html", "--memory", "64M")


def part_calls_behind_predictions(program, folder):
    """Who asked what became of a request was refused while another caller asked for predictions."""
    store = make_store(program, folder, 14)
    run(program, "train", store)
    service = Service(program, store, "--every", "50ms")
    service.call("POST", "/requests", "node 5 id=c\n")
    wait_until(lambda: service.call("GET", "/requests/c")[1]["state"] == "applied")
    path, ends = "/predict?nodes=" + ",".join(map(str, range(2000))), threading.Event()

    def ask():
        while not ends.is_set():
            service.call("GET", path)

    callers = [threading.Thread(target=ask) for _ in range(40)]
    for one in callers:
        one.start()
    try:
        answers = [service.call("GET", path)[0] for _ in range(10) for path in ("/requests/c", "/")]
    finally:
        ends.set()
        for one in callers:
            one.join()
    check(answers == [200] * 20, answers)
    check(service.end() == 0, service.error)


def part_values_without_end(program, folder):
    """Some hundred kilobytes of empty objects took minutes and hundreds of MiB to read, in files and in POST /purge."""
    store = make_store(program, folder, 8)
    many = '{"x":[' + ",".join(["{}"] * 400_000) + "]}"
    short = '{"x":[' + ",".join(["[0]"] * 2_000_000) + "]}"
    began = time.monotonic()
    for name, text in (("many", many), ("short", short)):
        (folder / f"{name}.jsonl").write_text(text + "\n")
        fails(program, "report", folder / f"{name}.jsonl", "--out", folder / "r.html", "--memory", "256M")
        manifest = store / "manifest.json"
        kept = manifest.read_bytes()
        manifest.write_text(text)
        fails(program, "info", store, "--memory", "64M")
        manifest.write_bytes(kept)
    service = Service(program, store, "--memory", "64M")
    for body in (many, short):
        status, answer = service.call("POST", "/purge", body, {"Content-Type": "application/json"})
        check(status in (400, 413, 503), status, answer)
    check(service.end() == 0, service.error)
    check(time.monotonic() - began < 60)


def part_changes_within_a_batch(program, folder):
    """After a purge a removal of what the same batch inserted was taken for one of before, by its id, and never done."""
    store = make_store(program, folder, 8)
    u, v = sorted(edges_of(program, store, folder))[0]
    gives(program, "stream", store, "--requests", "-", stdin=f"edge {u} {v} id=T2\n".encode())
    gives(program, "purge", store)
    lines = f"insert-edge {u} {v} id=N1\nedge {u} {v} id=T2\n".encode()
    error = fails(program, "stream", store, "--requests", "-", "--strict", stdin=lines)
    check("the id T2 was used before" in error, error)
    check((u, v) not in edges_of(program, store, folder))
    gives(program, "stream", store, "--requests", "-", stdin=f"edge {u} {v} id=T2\n".encode())  # it changes nothing


def part_readers_of_a_purge(program, folder):
    """A reader beside a purge was told that there is no model, and to train one."""
    store = make_store(program, folder, 12)
    run(program, "train", store)
    for node in range(4):
        gives(program, "stream", store, "--requests", "-", "--solver", "exact", stdin=f"node {node}\n".encode())
        purge = subprocess.Popen([program, "purge", store, "--quiet"], stdout=subprocess.DEVNULL)
        while purge.poll() is None:
            done = subprocess.run([program, "export", store, "--model", folder / "m.npy"], capture_output=True, text=True)
            check(done.returncode in (0, 3) and "train" not in done.stderr, done.returncode, done.stderr)
        check(purge.returncode == 0)
    gives(program, "export", store, "--model", folder / "m.npy")


def part_bad_lines(program, folder):
    """Each bad line of a file of receipts, or of a private log, became a finding, without end; and all lines of logs were held."""
    store = make_store(program, folder, 8)
    run(program, "train", store)
    (folder / "nl").write_bytes(b"\n" * 1_000_000)
    log = store / "certificates" / "exact.jsonl"
    words = ["verify", log, "--receipts", folder / "nl", "--memory", "64M", "--json"]
    done, peak = peak_of(program, *words)
    check(done.returncode == 2 and json.loads(done.stdout.splitlines()[-1])["ok"] is False and peak < 96 << 20, done.returncode, peak)
    with open(store / "certificates" / "exact.private.jsonl", "ab") as private:
        private.write(b"\n" * 1_000_000)
    done, peak = peak_of(program, "verify", store, "--memory", "64M")
    check(done.returncode == 2 and "more; --json names all of them" in done.stdout, done.returncode, done.stdout[-500:])
    check(peak < 160 << 20, peak)
    (store / "certificates" / "z.jsonl").write_bytes(b"{}\n" * 2_000_000)
    for node in range(3):
        gives(program, "stream", store, "--requests", "-", stdin=f"node {node} id=r{node}\n".encode())
    for words in (["requests", store, "--memory", "64M"], ["report", store, "--out", folder / "r.html", "--memory", "64M"]):
        began = time.monotonic()
        done, peak = peak_of(program, *words)
        check(done.returncode in (0, 2) and peak < 160 << 20 and time.monotonic() - began < 60, words[0], done.stderr, peak)


def part_many_of_everything(program, folder):
    """Time or memory grew with the square of columns, of lines with one id, of names of classes, and with files in the place of logs."""
    began = time.monotonic()
    names = ",".join(f"c{column}" for column in range(1433))
    for table in "ab":
        rows = (",".join(f"{table}{line}x{column}" for column in range(1433)) for line in range(100))
        (folder / f"{table}.csv").write_text("\n".join([names, *rows]) + "\n")
    np.save(folder / "e.npy", np.zeros((3, 2), np.int64))
    fails(program, "import", folder / "wide", "--features", folder / "a.csv[c0]", "--labels", folder / "b.csv[c0]", "--edges", folder / "e.npy", "--nodes", 100)
    store = make_store(program, folder, 8)
    run(program, "train", store)
    gives(program, "stream", store, "--requests", "-", stdin=b"node 3 id=r\n")
    logs = store / "certificates"
    lines = "".join(json.dumps({"number": line, "time": "t" * 500, "id": "i" * 500, "sequence": 10**9}) + "\n" for line in range(256))
    (logs / "m0.jsonl").write_text(lines)
    (logs / "m0.private.jsonl").write_text("\n" * 1000)
    for number in range(1, 500):
        for end in ("jsonl", "private.jsonl"):
            os.link(logs / f"m0.{end}", logs / f"m{number}.{end}")
    for words in (["requests", store], ["verify", store]):
        done, peak = peak_of(program, *words, "--memory", "64M")
        check(done.returncode in (0, 2, 4) and peak < 128 << 20, words[0], done.returncode, peak)
    for file in logs.glob("m*.jsonl"):
        file.unlink()
    classes = [f"{'abcdefghijklmnopqrstuvwxyz'[number % 26]}{number:02}{'z' * 27}" for number in range(40)]
    (folder / "y").write_text("".join(classes[node % 40] + "\n" for node in range(64)))
    (folder / "edges").write_text("0 1\n1 2\n")
    run(program, "import", folder / "classes", "--edges", folder / "edges", "--labels", folder / "y", "--classes", ",".join(classes), "--nodes", 64)
    service = Service(program, folder / "classes")
    bad = "".join(f"set-label 1 {'w' * 64}\n" for _ in range(50_000))
    check(service.call("POST", "/requests", bad)[0] in (400, 413, 503))
    same = "".join(f"node 5 id={'x' * 60}{line:06}\n" for line in range(20_000))
    check(service.call("POST", "/requests", same + "".join(reversed([line.replace("node 5", "node 6") for line in same.splitlines(True)])))[0] in (409, 413, 503))
    check(service.call("POST", "/requests", "node 7\n")[0] == 200)
    check(service.end() == 0, service.error)
    check(time.monotonic() - began < 120, time.monotonic() - began)


def part_weights_on_a_boundary(program, folder):
    """A sender who put a weight on a boundary of the grid ended the service for good, and other models with it."""
    # Their squares sum to 2^50 and they to 6 times an odd number: the minimiser is an odd multiple of half a step.
    units = [11803442, -12384252, 15751105, -16433367, -9524463, -14978007, -2282, -3490]
    check(sum(k * k for k in units) == 2**50 and sum(units) % 12 == 6)
    random = np.random.default_rng(3)
    np.save(folder / "x.npy", random.normal(size=(40, 1)).astype(np.float32))
    np.save(folder / "y.npy", random.integers(0, 2, 40))
    np.save(folder / "t.npy", np.arange(40))
    np.save(folder / "e.npy", random.integers(0, 40, (90, 2)))
    store = folder / "s"
    run(program, "import", store, "--features", folder / "x.npy", "--labels", folder / "y.npy", "--classes", 2, "--split", f"train={folder / 't.npy'}",
        "--edges", f"{folder / 'e.npy'}[0,1]")
    run(program, "propagate", store)
    run(program, "train", store, "--head", "least-squares", "--lambda", "1")
    run(program, "train", store, "--head", "logistic", "--name", "other")
    body = [f"node {node}" for node in range(40)]
    for i, unit in enumerate(units):
        for node, sign in ((2 * i, 1), (2 * i + 1, -1)):
            body += [f"insert-node {node} {sign * unit / 2**24!r}", f"set-label {node} {1 if sign > 0 else 0}", f"move-split {node} train"]
    models = ["--name", "exact", "--name", "other", "--every", "50ms", "--checkpoint", "1ms", "--receipts", folder / "receipts"]

    def send(text):
        check(service.call("POST", "/requests", text)[0] == 200)
        wait_until(lambda: service.call("GET", "/status")[1]["waiting"] == 0)
        return len(service.call("GET", "/status")[1]["stuck_models"])

    def receipts_hold(model, count):
        lines = [json.loads(line)["sequence"] for line in (folder / f"receipts.{model}").read_text().splitlines()]
        check(lines == list(range(1, count + 1)), model, len(lines), count)
        run(program, "verify", store / "certificates" / f"{model}.jsonl", "--receipts", folder / f"receipts.{model}")

    # A model that comes back within a session, or after a start, owes receipts for what it has missed.
    mend, spoil = "set-feature 0 0.25", f"set-feature 0 {units[0] / 2**24!r}"
    for attempt in range(2):
        service = Service(program, store, *models)
        if attempt == 0:
            check(send("\n".join(body)) == 1 and send("edge 30 31\nedge 30 32") == 1)
            check(send(mend) == 0)
            receipts_hold("exact", len(body) + 3)
            check(send(spoil) == 1 and send("edge 30 33") == 1)
        status = service.call("GET", "/status")[1]
        check([one["name"] for one in status["stuck_models"]] == ["exact"] and "boundary of the grid" in status["stuck_models"][0]["why"], status)
        check(service.call("GET", "/predict?nodes=1&model=other")[0] == 200)
        check(service.end() == 0, service.error)
    # The other model follows, and both do once the rows have a minimiser again.
    service = Service(program, store, *models)
    check(send(mend + " id=mend") == 0)
    check(service.end() == 0, service.error)
    for model in ("exact", "other"):
        receipts_hold(model, len(body) + 6)
    run(program, "verify", store, "--rebuild")


def part_remedies_of_models(program, folder):
    """What verify and doctor advise for models on another propagation trained other models, without a word."""
    store = make_store(program, folder, 8)
    gives(program, "train", store, "--name", "mine", "--head", "softmax", "--lambda", "0.003", "--no-intercept", "--set", "grid=30")
    gives(program, "train", store, "--solver", "newton", "--epsilon", "2", "--delta", "1e-6", "--lambda", "0.02")
    gives(program, "propagate", store, "--hops", "1")

    def advised():
        done = subprocess.run([program, "doctor", store, "--json"], capture_output=True, text=True, timeout=120)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return [line["remedy"].split("`")[1] for line in lines if line["name"] == "model" and "remedy" in line]

    verify = subprocess.run([program, "verify", store], capture_output=True, text=True, timeout=120)
    commands = advised()
    check(len(commands) == 2 and all(f"`{command}`" in verify.stdout + verify.stderr for command in commands), commands, verify)
    for command in commands:
        words = shlex.split(command)
        check(words[0] == "unweave", command)
        done = subprocess.run([program, *words[1:]], capture_output=True, text=True, timeout=120)
        check(done.returncode == 0 and " -> " not in done.stderr.replace("0,0,1 -> 0,1", ""), command, done.stderr)
    check(advised() == [], advised())


def part_marks_beyond_a_feed(program, folder):
    """A reader's mark from before a feed was begun anew let its entries go before the reader had them, and purges through."""
    store, feed = make_store(program, folder, 8), folder / "feed"
    for node in 5, 6, 7:
        gives(program, "stream", store, "--requests", "-", "--changes", feed, stdin=b"node %d\n" % node)
    (feed / "readers" / "index").write_text("4\n")
    gives(program, "purge", store)
    for path in list(feed.iterdir()):
        if path.is_file():
            path.unlink()
    said = fails(program, "stream", store, "--requests", "-", "--changes", feed, stdin=b"node 9\n")
    check("readers/index" in said and "remove this file" in said, said)
    (feed / "readers" / "index").unlink()
    gives(program, "stream", store, "--requests", "-", "--changes", feed, stdin=b"node 9\n")
    (feed / "readers" / "late").write_text("99\n")
    check("a mark beyond the feed" in fails(program, "purge", store))


def part_terminals_that_nobody_reads(program, folder):
    """A terminal says that it takes bytes where one fits, and a service waited in its write for the others."""
    store = make_store(program, folder, 8)
    master, terminal = os.openpty()
    service = subprocess.Popen([program, "serve", store, "--listen", f"unix:{folder / 'socket'}", "--every", "1ms", "--batch", "1", "--json"],
                               stdout=terminal, stderr=terminal)
    try:
        wait_until((folder / "socket").exists)

        def call(method, path, body=None):
            made = http.client.HTTPConnection("localhost", timeout=60)
            made.sock = socket.socket(socket.AF_UNIX)
            made.sock.connect(str(folder / "socket"))
            made.request(method, path, body, {"Content-Type": "text/x-unweave"} if body else {})
            return made.getresponse().read()

        for i in range(100):
            call("POST", "/requests", f"edge {i} {i + 100}")
        wait_until(lambda: json.loads(call("GET", "/status"))["waiting"] == 0)
        service.terminate()
        check(service.wait(timeout=20) == 0)
    finally:
        service.kill()
        os.close(master)
        os.close(terminal)


def part_long_lists(program, folder):
    """Labels, splits, lists of nodes and requests of an audit took memory by their length, whatever --memory said."""
    store = make_store(program, folder, 8)
    gives(program, "train", store, "--solver", "newton")
    for name, line in ("labels", b"0\n"), ("masks", b"True\n"), ("ids", b"123\n"), ("requests", b"node 7\n"):
        with gzip.open(folder / (name + ".gz"), "wb", 1) as file:
            for _ in range(40):
                file.write(line * 500_000)
    run(program, "export", store, "--edges", folder / "e.npy", "--labels", folder / "y.npy")
    into, edges = folder / "into", ["--edges", folder / "e.npy", "--memory", "32M"]
    for words in (["import", into, *edges, "--labels", folder / "labels.gz"], ["import", into, *edges, "--labels", folder / "labels.gz", "--nodes", 256],
                  ["import", into, *edges, "--labels", folder / "y.npy", "--split", f"train={folder / 'masks.gz'}"],
                  ["import", into, *edges, "--labels", folder / "y.npy", "--split", f"train={folder / 'ids.gz'}"],
                  *([command, store, "--nodes", folder / "ids.gz", "--memory", "32M"] for command in ("predict", "evaluate")),
                  ["audit", store, "--solver", "newton", "--requests", folder / "requests.gz", "--memory", "32M"]):
        done, peak = peak_of(program, *map(str, words))
        check(done.returncode in (2, 3) and done.stderr.count("\n") == 1, words, done.returncode, done.stderr)
        check(peak <= 96 * 2**20, words, peak)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("parts", nargs="*")
    given = parser.parse_args()
    parts = {name[len("part_"):]: body for name, body in globals().items() if name.startswith("part_")}
    for name, body in parts.items():
        if given.parts and name not in given.parts:
            continue
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
            print(f"{name}: {body.__doc__}", flush=True)
            body(given.program.resolve(), pathlib.Path(folder))
    print("reproductions_test: harmless")


if __name__ == "__main__":
    main()
