#!/usr/bin/env python3
# tests/service_memory_test.py - whatever a service acknowledges it can apply within its --memory, and so can the next one after a kill.
#
#   python3 tests/service_memory_test.py UNWEAVE [--kills N]
import calendar
import http.client
import json
import random
import signal
import subprocess
import threading
import time

import numpy as np

from serve_test import Service, check, edges_of, run, run_parts, wait_until

MEMORY = "64M"
JSON = {"Content-Type": "application/json"}


def send(service, lines):
    return service.call("POST", "/requests", json.dumps({"requests": lines}), JSON)


def wide_store(program, folder, columns, nodes=200):
    """A path whose rows have many columns."""
    (folder / "edges").write_text("".join(f"{u} {u + 1}\n" for u in range(nodes - 1)))
    rows = np.zeros((nodes, columns), np.float32)
    rows[:, 0] = 1
    np.save(folder / "features.npy", rows)
    store = folder / "wide"
    run(program, "import", store, "--edges", folder / "edges", "--features", folder / "features.npy")
    return store


def row_of(chance, columns):
    """All values of a row, of some nine bytes each."""
    return " ".join(f"{chance.random():.6f}" for _ in range(columns))


def check_large_calls(program, folder):
    """Calls of 14 MiB side by side: what does not fit is refused with the remedy, the service goes on, and starts again."""
    columns = 40_000
    store = wide_store(program, folder, columns)
    chance = random.Random(1)
    lines = [f"set-feature {node} {row_of(chance, columns)} id=W{node}" for node in range(38)]
    service = Service(program, store, "--memory", MEMORY, "--every", "50ms")
    answers = []

    def post(first, count):
        answers.append(send(service, [line.replace("id=W", f"id=W{first}-") for line in lines[first:first + count]]))

    senders = [threading.Thread(target=post, args=(0, 38)) for _ in range(3)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    for status, answer in answers:
        check(status in (413, 503) and "memory" in answer["error"], status, answer)
        check(status == 503 or "--memory" in answer["error"], answer)
    taken = 0
    for node in range(38):
        status, answer = send(service, [lines[node]])
        while status == 503:
            time.sleep(0.05)
            status, answer = send(service, [lines[node]])
        check(status == 200, status, answer)
        taken += 1
    code = service.end(signal.SIGKILL)
    check(code == -signal.SIGKILL)
    service = Service(program, store, "--memory", MEMORY, "--every", "50ms")
    check(send(service, ["node 3 id=last"])[0] == 200)
    wait_until(lambda: service.call("GET", "/requests/last")[1]["state"] == "applied")
    check(service.end() == 0, service.error)
    listed = {one["id"] for one in map(json.loads, run(program, "requests", store, "--json").splitlines())}
    check({f"W{node}" for node in range(38)} | {"last"} <= listed, listed)
    run(program, "verify", store)
    return taken


def check_many_lines(program, folder):
    """A call of 90,000 short lines is answered: refused within this memory, taken within more; the service goes on."""
    store = folder / "s"
    run(program, "generate", store, "--model", "sbm", "--scale", 10, "--features", 16, "--classes", 4, "--seed", 1)
    run(program, "propagate", store)
    for memory, taken in [(MEMORY, False), ("2G", True)]:
        service = Service(program, store, "--memory", memory, "--every", "50ms")
        status, answer = send(service, ["node 5"] * 90_000)
        if taken:
            check(status == 200 and len(answer["acknowledged"]) == 90_000, status)
        else:
            check(status != 200 and "--memory" in answer["error"], status, answer)
        check(send(service, ["node 6 id=" + memory])[0] == 200)
        wait_until(lambda: service.call("GET", "/requests/" + memory)[1]["state"] != "acknowledged", 120)
        check(service.end() == 0, service.error)
    run(program, "verify", store)


def check_kills(program, folder, kills, seed):
    """Requests of every size from several senders, and kills: all that was acknowledged is there, each time in this memory."""
    columns = 4000
    store = wide_store(program, folder, columns)
    run(program, "propagate", store)
    chance = random.Random(seed)
    acknowledged, refused = set(), 0
    for turn in range(kills + 1):
        service = Service(program, store, "--memory", MEMORY, "--every", "30ms", "--batch", "200")
        end = threading.Event()
        counts = [0]

        def post(own):
            try:
                while not end.is_set():
                    size = own.choice([1, 10, 40, 300])
                    lines = []
                    for _ in range(size):
                        name = f"R{turn}-{own.random()}"
                        node = own.randrange(200)
                        kind = own.random()
                        if size < 300 and kind < 0.5:
                            lines.append(f"set-feature {node} {row_of(own, columns)} id={name}")
                        elif kind < 0.75:
                            lines.append(f"insert-edge {node} {own.randrange(200)} id={name}")
                        else:
                            lines.append(f"edge {node} {own.randrange(200)} id={name}")
                    status, answer = send(service, lines)
                    if status == 200:
                        acknowledged.update(one["id"] for one in answer["acknowledged"])
                    else:
                        check(status == 503 or "--memory" in answer["error"], status, answer)
                        counts[0] += 1
            except (OSError, http.client.HTTPException):
                pass

        senders = [threading.Thread(target=post, args=(random.Random(f"{seed} {turn} {i}"),)) for i in range(3)]
        for sender in senders:
            sender.start()
        time.sleep(0.5 + chance.random() * 1.5)
        last = turn == kills
        if last:
            end.set()
            for sender in senders:
                sender.join()
        code = service.end(signal.SIGTERM if last else signal.SIGKILL)
        end.set()
        for sender in senders:
            sender.join()
        refused += counts[0]
        check(code == (0 if last else -signal.SIGKILL), code, service.error)
    listed = [one["id"] for one in map(json.loads, run(program, "requests", store, "--json").splitlines())]
    check(len(listed) == len(set(listed)), "an id stands twice")
    check(acknowledged <= set(listed), "lost", len(acknowledged - set(listed)))
    run(program, "verify", store, "--rebuild")
    return f"{len(acknowledged)} requests acknowledged"


def check_ids(program, folder):
    """The ids of requests have a share of the memory, and no more: a service that refuses further ones says what to do, applies what it
    has acknowledged, and so does the next one in the same memory; a stream too."""
    store = folder / "s"
    run(program, "generate", store, "--model", "sbm", "--scale", 10, "--features", 16, "--classes", 4, "--seed", 1)
    run(program, "propagate", store)
    (folder / "requests").write_text("".join(f"edge {u % 1000} {u // 1000} id=old-{u}\n" for u in range(40_000)))
    run(program, "stream", store, "--requests", folder / "requests", "--batch", 20_000, "--memory", "1G")
    chance = random.Random(3)
    acknowledged, number = set(), 0
    for turn in range(3):
        service = Service(program, store, "--memory", MEMORY, "--every", "50ms", "--batch", "1000")
        status, answer = 200, {}
        while status in (200, 503):
            number += 1
            lines = [f"insert-edge {chance.randrange(1024)} {chance.randrange(1024)} id=N{number}-{i}" for i in range(500)]
            status, answer = send(service, lines)
            if status == 200:
                acknowledged.update(one["id"] for one in answer["acknowledged"])
            else:
                time.sleep(0.02)
            check(len(acknowledged) < 40_000, "there is no bound")
        check(status == 507 and "--forget-before" in answer["error"] and "--memory" in answer["error"], status, answer)
        check("\x01" not in answer["error"] and str(store) in answer["error"], answer)
        check(turn > 0 or acknowledged, "none is taken")
        check(send(service, ["edge 5 0 id=old-5"])[0] == 200, "a known one takes no room")
        check(service.call("GET", "/ready")[0] == 200)
        wait_until(lambda: service.call("GET", "/status")[1]["waiting"] == 0, 120)
        if turn == 1:
            check(service.end(signal.SIGKILL) == -signal.SIGKILL)
        else:
            check(service.end() == 0, service.error)
    refused = subprocess.run([program, "stream", store, "--memory", MEMORY, "--requests", "-"], capture_output=True, text=True,
                             input="".join(f"edge 1 2 id=more-{i}\n" for i in range(10_000)))
    check(refused.returncode == 3 and "--forget-before" in refused.stderr, refused)
    listed = {json.loads(line)["id"] for line in run(program, "requests", store, "--json").splitlines()}
    check(acknowledged <= listed and "old-5" in listed, "lost", len(acknowledged - listed))
    run(program, "requests", store, "--forget-before", "2100-01-01")
    service = Service(program, store, "--memory", MEMORY, "--every", "50ms")
    check(send(service, ["edge 1 2 id=old-5", "node 7 id=new"])[0] == 200)
    check(service.end() == 0, service.error)
    run(program, "verify", store, "--rebuild")
    return f"{len(acknowledged)} requests acknowledged"


def check_expiries(program, folder):
    """Edges that expire have a share of the memory: a stream that has filled it leaves a store that a service opens in the same memory."""
    store = folder / "s"
    run(program, "generate", store, "--model", "rmat", "--scale", 13, "--features", 4, "--classes", 2, "--seed", 1)
    edges = sorted(edges_of(program, store, folder))
    memory, most = "32M", (32 << 20) // 4 // 192
    check(len(edges) > most + 10_000, len(edges))
    (folder / "requests").write_text("".join(f"edge {u} {v} expires 2100-01-01T00:00:00Z\n" for u, v in edges))
    full = subprocess.run([program, "stream", store, "--requests", str(folder / "requests"), "--batch", "1000", "--memory", memory],
                          capture_output=True, text=True)
    check(full.returncode == 3 and "what expires" in full.stderr and "--memory" in full.stderr, full.stderr)
    noted = json.loads(run(program, "info", store, "--json"))["acknowledged"]
    check(10_000 < noted <= most, noted, most)
    service = Service(program, store, "--memory", memory, "--every", "20ms")
    notes = [f"edge {u} {v} expires 2100-01-01T00:00:00Z id=E{u}-{v}" for u, v in edges[noted:noted + 1000]]
    status, answer = send(service, notes)
    check(status == 507 and "what expires" in answer["error"] and "--memory" in answer["error"], status, answer)
    u, v = edges[0]
    status, answer = send(service, [f"edge {u} {v} expires never id=stays", "insert-edge 1 2 id=other"])
    check(status == 200, status, answer)
    wait_until(lambda: service.call("GET", "/requests/stays")[1]["state"] == "applied")
    check(service.end() == 0, service.error)
    return noted


def check_due(program, folder):
    """What falls due is removed also where ids fill their share; and of calls that come at once the one that is too much is refused alone."""
    store = folder / "s"
    run(program, "generate", store, "--model", "sbm", "--scale", 10, "--features", 16, "--classes", 4, "--seed", 1)
    run(program, "propagate", store)
    memory = "16M"
    service = Service(program, store, "--memory", memory, "--every", "20ms", "--batch", "5000")
    due = time.time() + 20
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(due))
    check(send(service, [f"node 7 expires {when} id=due", "node 5 id=known"])[0] == 200)
    taken, count = 0, 1000
    while taken < 7000:
        status, answer = send(service, [f"edge 0 0 id=a{taken + i}" for i in range(count)])
        check(status in (200, 503), status, answer)
        taken += count if status == 200 else 0
    ends, others = threading.Event(), []

    def flood():
        while not ends.is_set():
            others.append(send(service, [f"edge 0 0 id=h{i}" for i in range(400)])[0])

    floods = [threading.Thread(target=flood) for _ in range(6)]
    for one in floods:
        one.start()
    answers = [send(service, ["node 5 id=known"])[0] for _ in range(60)]
    fits = [send(service, ["node 6 id=fits"])[0] for _ in range(60)]
    ends.set()
    for one in floods:
        one.join()
    check(507 in others and 507 not in answers and 507 not in fits, others[:20], answers, fits)
    while send(service, [f"edge 0 0 id=z{taken}"])[0] != 507:
        taken += 1
        check(taken < 20_000, "there is no bound")
    wait_until(lambda: service.call("GET", "/requests/due")[1].get("removal", {}).get("state") == "applied", 60)
    check(time.time() >= due - 1)
    check(service.end() == 0, service.error)
    service = Service(program, store, "--memory", memory, "--every", "20ms")
    check(service.end() == 0, service.error)


def check_readers(program, folder):
    """Predictions take nothing from the work on what was acknowledged, and a look into long logs does not stop others."""
    store = folder / "s"
    run(program, "generate", store, "--model", "rmat", "--scale", 15, "--features", 32, "--classes", 3, "--seed", 1)
    run(program, "propagate", store)
    run(program, "train", store)
    service = Service(program, store, "--memory", MEMORY, "--every", "50ms", "--solver", "exact", "--receipts", folder / "receipts")
    ends, said = threading.Event(), {}

    def ask(path):
        while not ends.is_set():
            status = service.call("GET", path)[0]
            said.setdefault(path, []).append(status)

    readers = [threading.Thread(target=ask, args=(path,)) for path in ["/predict?nodes=1001,1002"] * 3 + ["/requests/nobody"] * 20 + ["/receipts/none"] * 4]
    for one in readers:
        one.start()
    for node in range(60):
        check(send(service, [f"node {node} id=R{node}"])[0] == 200)
        started = time.monotonic()
        check(service.call("GET", "/status")[0] == 200)
        check(time.monotonic() - started < 30)
        time.sleep(0.05)
    ends.set()
    for one in readers:
        one.join()
    wait_until(lambda: service.call("GET", "/status")[1]["waiting"] == 0, 120)
    check({200, 503} >= set(said["/predict?nodes=1001,1002"]) and 200 in said["/predict?nodes=1001,1002"], said)
    check({404, 503} >= set(said["/requests/nobody"]) and 404 in said["/requests/nobody"], said)
    check(service.end() == 0, service.error)
    return 60


def check_small(program, folder):
    """Beside a model, and with little memory, a service applies what it has acknowledged, or does not start; a kill changes nothing."""
    store, taken = folder / "s", 0
    run(program, "generate", store, "--model", "sbm", "--scale", 14, "--features", 32, "--classes", 4, "--seed", 1)
    run(program, "propagate", store)
    run(program, "train", store)
    chance = random.Random(1)
    for least in range(16, 33):
        start = subprocess.run([program, "serve", store, "--memory", f"{least}M", "--solver", "exact", "--listen", "127.0.0.1:0", "--for", "100ms"],
                               capture_output=True, text=True)
        if start.returncode == 0:
            break
        check("--memory" in start.stderr, start)
    for turn, memory in enumerate([least, least + 1, 24, 32]):
        for again in range(2):
            service = Service(program, store, "--memory", f"{memory}M", "--every", "50ms", "--solver", "exact")
            for call in range(25):
                lines = []
                for i in range(chance.choice([1, 20, 200])):
                    u, v = chance.randrange(1 << 14), chance.randrange(1 << 14)
                    lines.append(chance.choice([f"node {u}", f"insert-edge {u} {v}", f"feature {u}"]) + f" id={turn}-{again}-{call}-{i}")
                status, answer = send(service, lines)
                check(status in (200, 503), status, answer)
                taken += len(lines) if status == 200 else 0
                if status != 200:
                    time.sleep(0.05)
            if again == 0:
                check(service.end(signal.SIGKILL) == -signal.SIGKILL)
            else:
                check(service.end() == 0, service.error)
    check(json.loads(run(program, "info", store, "--json"))["acknowledged"] == taken, taken)
    run(program, "verify", store)
    return taken


def check_hub(program, folder):
    """A node whose edges would fill the memory is not removed in it, which is told before anything is acknowledged; others are."""
    leaves, store, memory = 60_000, folder / "s", "32M"
    (folder / "edges").write_text("".join(f"0 {node}\n" for node in range(1, leaves + 1)))
    np.save(folder / "features.npy", np.ones((leaves + 1, 2), np.float32))
    run(program, "import", store, "--edges", folder / "edges", "--features", folder / "features.npy")
    run(program, "propagate", store)
    service = Service(program, store, "--memory", memory, "--every", "20ms")
    for line in "node 0 id=hub", "node 0 expires 2100-01-01T00:00:00Z id=later":
        status, answer = send(service, ["node 5 id=beside", line])
        check(status == 413 and "more edges" in answer["error"] and "--memory" in answer["error"], status, answer)
    check(send(service, ["node 5 id=leaf"])[0] == 200)
    wait_until(lambda: service.call("GET", "/requests/leaf")[1]["state"] == "applied")
    # One that gets its edges when its time is set stays, and those behind it go, also in batches of one.
    due = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 6))
    check(send(service, [f"node 1 expires {due} id=grows", f"node 2 expires {due} id=behind"])[0] == 200)
    for first in range(10, 8010, 500):
        while send(service, [f"insert-edge 1 {node}" for node in range(first, first + 500)])[0] != 200:
            time.sleep(0.05)
    wait_until(lambda: service.call("GET", "/status")[1]["waiting"] == 0)
    check(time.time() < calendar.timegm(time.strptime(due, "%Y-%m-%dT%H:%M:%SZ")), "the edges came too late")
    check(service.end() == 0, service.error)
    service = Service(program, store, "--memory", memory, "--every", "20ms", "--batch", "1")
    wait_until(lambda: service.call("GET", "/requests/behind")[1].get("removal", {}).get("state") == "applied")
    check(service.call("GET", "/status")[1]["overdue"] == 1)
    check(service.call("GET", "/requests/grows")[1].get("removal") is None)
    check(service.end() == 0, service.error)
    (folder / "requests").write_text("node 0 id=hub\nnode 1 id=late\n")
    small = subprocess.run([program, "stream", store, "--memory", memory, "--requests", folder / "requests"], capture_output=True, text=True)
    check(small.returncode == 3 and "edges of removed nodes" in small.stderr and "--memory" in small.stderr, small)
    check(json.loads(run(program, "info", store, "--json"))["acknowledged"] == 8004)
    run(program, "stream", store, "--memory", "256M", "--requests", folder / "requests")
    run(program, "verify", store)


def check_streams(program, folder):
    """A batch is refused before it is acknowledged where its words fill the memory, and so is a line that never ends."""
    columns = 40_000
    store = wide_store(program, folder, columns)
    chance = random.Random(2)
    row = row_of(chance, columns)
    (folder / "requests").write_text("".join(f"set-feature {node} {row[:-1]}{node % 10}\n" for node in range(60)))

    def stream(*words, text=None):
        return subprocess.run([program, "stream", store, "--memory", MEMORY, *words], capture_output=True, text=True, input=text)

    refused = stream("--requests", str(folder / "requests"), "--batch", "1000000")
    check(refused.returncode == 3 and "--batch" in refused.stderr, refused)
    check(json.loads(run(program, "info", store, "--json"))["acknowledged"] == 0)
    for more in [], ["--every", "1s"]:
        endless = stream("--requests", "-", *more, text="set-feature 1 " + "0" * (2 << 20))
        check(endless.returncode == 2 and "longer than" in endless.stderr and "--memory" in endless.stderr, endless)
    done = stream("--requests", str(folder / "requests"), "--batch", "10")
    check(done.returncode == 0 and json.loads(run(program, "info", store, "--json"))["acknowledged"] == 60, done)


if __name__ == "__main__":
    run_parts({"calls": check_large_calls, "lines": check_many_lines, "ids": check_ids, "expiries": check_expiries, "streams": check_streams,
               "due": check_due, "readers": check_readers, "small": check_small, "hub": check_hub, "kills": check_kills}, kills=5, seed=1)
