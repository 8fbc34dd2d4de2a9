#!/usr/bin/env python3
# tests/bench/service.py - how fast `unweave serve` acknowledges: latency at a steady rate, and the rate it sustains.
#
#   python3 tests/bench/service.py --unweave build/release/unweave --scale 17 --seconds 60
#
# A soak: --soak SECONDS --kill-every SECONDS sends at the steady rate, kills the service again and again, and checks in the end
# that no acknowledged request is missing; the memory of each run is printed.
import argparse
import http.client
import json
import pathlib
import random
import signal
import subprocess
import tempfile
import threading
import time

import numpy as np


LINES = {"Content-Type": "text/x-unweave"}


class Service:
    def __init__(self, program, store, *options):
        self.process = subprocess.Popen([program, "serve", str(store), "--listen", "127.0.0.1:0", "--json", *options],
                                        stdout=subprocess.PIPE, text=True)
        self.host = json.loads(self.process.stdout.readline())["listening"][len("http://"):]
        self.reader = threading.Thread(target=lambda: [None for _ in self.process.stdout])
        self.reader.start()

    def memory(self):
        """Anonymous memory in MiB."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1]) / 1024

    def metrics(self):
        connection = http.client.HTTPConnection(self.host)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait()
        self.reader.join()
        return code


def send_steadily(host, edges, rate, seconds, acknowledged, prefix, threads=16):
    """One request a call; each thread keeps to its share of the moments. Returns latencies from the planned moment on."""
    latencies, lock = [], threading.Lock()
    begin = time.monotonic() + 0.2

    def send(first):
        connection = http.client.HTTPConnection(host, timeout=60)
        own = []
        try:
            for number in range(first, int(rate * seconds), threads):
                planned = begin + number / rate
                time.sleep(max(0.0, planned - time.monotonic()))
                u, v = edges[number % len(edges)]
                name = f"{prefix}-{number}"
                connection.request("POST", "/requests", f"edge {u} {v} id={name}", LINES)
                answer = connection.getresponse()
                answer.read()
                if answer.status == 200:
                    own.append(time.monotonic() - planned)
                    with lock:
                        acknowledged.add(name)
        except (OSError, http.client.HTTPException):
            pass
        with lock:
            latencies.extend(own)

    all_threads = [threading.Thread(target=send, args=(i,)) for i in range(threads)]
    for one in all_threads:
        one.start()
    return latencies, all_threads


def run(program, *words):
    return subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--scale", type=int, default=17)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--bulk", type=int, default=100, help="requests a call in the second measurement")
    parser.add_argument("--soak", type=float, default=0)
    parser.add_argument("--kill-every", type=float, default=20)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        store = folder / "s"
        run(asked.unweave, "generate", store, "--model", "rmat", "--scale", asked.scale, "--features", 128, "--seed", 1)
        run(asked.unweave, "propagate", store)
        run(asked.unweave, "export", store, "--edges", folder / "edges.npy")
        edges = np.load(folder / "edges.npy")
        np.random.default_rng(1).shuffle(edges)
        acknowledged = set()
        if asked.soak > 0:
            end, turn = time.monotonic() + asked.soak, 0
            while time.monotonic() < end:
                service = Service(asked.unweave, store, "--every", "1s")
                part = edges[turn * 10_000:(turn + 1) * 10_000]
                _, threads = send_steadily(service.host, part, asked.rate, asked.kill_every + 60, acknowledged, turn)
                time.sleep(asked.kill_every * random.uniform(0.5, 1.5))
                memory = service.memory()
                service.end(signal.SIGKILL)
                for one in threads:
                    one.join()
                turn += 1
                print(json.dumps({"turn": turn, "acknowledged": len(acknowledged), "memory_mib": round(memory, 1)}), flush=True)
            Service(asked.unweave, store).end()
            listed = {json.loads(line)["id"] for line in run(asked.unweave, "requests", store, "--json").splitlines()}
            run(asked.unweave, "verify", store)
            print(json.dumps({"soak_seconds": asked.soak, "kills": turn, "acknowledged": len(acknowledged),
                              "lost": len(acknowledged - listed)}))
            return
        service = Service(asked.unweave, store, "--every", "1s")
        latencies, threads = send_steadily(service.host, edges, asked.rate, asked.seconds, acknowledged, "a")
        for one in threads:
            one.join()
        found = service.metrics()
        millis = np.percentile(np.array(latencies) * 1000, [50, 99, 99.9, 100])
        print(json.dumps({"rate": asked.rate, "acknowledged": len(latencies),
                          "p50_ms": round(millis[0], 2), "p99_ms": round(millis[1], 2), "p99.9_ms": round(millis[2], 2),
                          "largest_ms": round(millis[3], 2), "syncs": found["unweave_syncs_total"],
                          "mean_sync_ms": round(1000 * found["unweave_sync_seconds_total"] / found["unweave_syncs_total"], 2),
                          "memory_mib": round(service.memory(), 1)}), flush=True)
        connection = http.client.HTTPConnection(service.host, timeout=60)
        begin, sent, busy, at = time.monotonic(), 0, 0, int(asked.rate * asked.seconds)
        while time.monotonic() - begin < asked.seconds / 2:
            lines = "\n".join(f"edge {u} {v} id=b-{at + i}" for i, (u, v) in enumerate(edges[at:at + asked.bulk]))
            connection.request("POST", "/requests", lines, LINES)
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                sent, at = sent + asked.bulk, at + asked.bulk
            else:
                busy += 1
                time.sleep(0.05)
        seconds = time.monotonic() - begin
        service.end()  # when all are applied
        applied = time.monotonic() - begin
        print(json.dumps({"bulk": asked.bulk, "acknowledged_per_second": round(sent / seconds),
                          "applied_per_second": round(sent / applied), "refused_calls": busy}))


if __name__ == "__main__":
    main()
