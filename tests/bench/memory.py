#!/usr/bin/env python3
"""Peak anonymous memory of every command on one store, beside its --memory.

    python3 tests/bench/memory.py --unweave build/release/unweave --scale 18 --memory 24M,64M

Samples RssAnon of each process every millisecond: heap, stacks and anonymous maps, not mapped files. Prints one line a
command and budget; exits 1 where one took more than its --memory.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20


def anonymous_bytes(pid):
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("RssAnon"):
                    return int(line.split()[1]) << 10
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


def peak_of(words):
    """Exit code, last line of standard error, peak of RssAnon and seconds of one command."""
    start, peak = time.perf_counter(), 0
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, anonymous_bytes(process.pid))
            time.sleep(0.001)
        error = process.stderr.read().strip().splitlines()
    return process.returncode, error[-1] if error else "", peak, time.perf_counter() - start


def commands(folder, scale, features):
    """Name, words without --memory, and the store that the command changes (copied first) or None."""
    store = lambda name: os.path.join(folder, name)
    requests, hubs = store("requests"), store("hubs")
    base = store("trained")
    stream = ["--requests", requests, "--quiet", "--evaluate-every", "0"]
    return [
        ("import", ["import", store("new"), "--edges", store("e.npy"), "--features", store("x.npy"), "--labels",
                    store("y.npy"), "--quiet"], None),
        ("import, order bfs", ["import", store("new"), "--edges", store("e.npy"), "--features", store("x.npy"),
                               "--labels", store("y.npy"), "--order", "bfs", "--quiet"], None),
        ("import, order auto", ["import", store("new"), "--edges", store("e.npy"), "--features", store("x.npy"),
                                "--labels", store("y.npy"), "--order", "auto", "--quiet"], None),
        ("generate", ["generate", store("new"), "--model", "rmat", "--scale", str(scale), "--features", str(features),
                      "--classes", "4", "--quiet"], None),
        ("propagate", ["propagate", "STORE", "--hops", "2", "--quiet"], base),
        ("propagate, all rows", ["propagate", "STORE", "--hops", "2", "--rows", "all", "--quiet"], base),
        ("train newton", ["train", "STORE", "--solver", "newton", "--quiet"], base),
        ("certify", ["certify", "STORE", "--model", store("weights.npy"), "--quiet"], base),
        ("train langevin", ["train", "STORE", "--solver", "langevin", "--quiet"], base),
        ("train hessian-free", ["train", "STORE", "--solver", "hessian-free", "--set", "epochs=1", "--quiet"], base),
        ("train, hidden layer of 512", ["train", "STORE", "--solver", "retrain", "--head", "mlp", "--hidden", "512",
                                        "--set", "epochs=1", "--quiet"], base),
        ("stream, batch 100", ["stream", "STORE", "--batch", "100", *stream], base),
        ("stream, batch 1000", ["stream", "STORE", "--batch", "1000", *stream], base),
        ("stream, batch 1000, push", ["stream", "STORE", "--batch", "1000", "--plan", "push", *stream], base),
        ("stream, batch 1000, recompute", ["stream", "STORE", "--batch", "1000", "--plan", "recompute", *stream], base),
        ("stream, lazy", ["stream", "STORE", "--batch", "1000", "--r-max", "1e-3", *stream], base),
        ("stream, newton", ["stream", "STORE", "--batch", "1000", "--solver", "newton", *stream], base),
        ("stream, hubs", ["stream", "STORE", "--requests", hubs, "--quiet"], base),
        ("evaluate", ["evaluate", base, "--quiet"], None),
        ("evaluate, hidden layer of 512", ["evaluate", store("network"), "--quiet"], None),
        ("info, with digest", ["info", base, "--json"], None),
        ("report", ["report", base, "--out", store("report.html"), "--quiet"], None),
        ("doctor", ["doctor", base, "--quiet"], None),
        ("verify", ["verify", base, "--quiet"], None),
        ("verify, all rebuilt", ["verify", base, "--sample", "all", "--rebuild", "--quiet"], None),
        ("export", ["export", base, "--embeddings", store("out.npy"), "--edges", store("out2.npy"), "--labels",
                    store("out3.npy"), "--quiet"], None),
        ("export, rows of a model", ["export", store("wide"), "--rows", store("out.npy"), "--quiet"], None),
        ("plan", ["plan", base, "--quiet"], None),
        ("plan, requests", ["plan", base, "--requests", requests, "--quiet"], None),
        ("info, pushed into", ["info", store("pushed"), "--json"], None),
        ("verify, pushed into", ["verify", store("pushed"), "--quiet"], None),
        ("stream, pushed into", ["stream", "STORE", "--batch", "100", *stream], store("pushed")),
        ("purge, pushed into", ["purge", "STORE", "--quiet"], store("pushed")),
        ("purge", ["purge", "STORE", "--quiet"], store("streamed")),
        ("repair", ["repair", "STORE", "--quiet"], store("damaged")),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--scale", type=int, default=18)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--memory", default="24M,64M")
    parser.add_argument("--only", default="", help="commands whose name begins so")
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    exceeded = False
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        run = lambda *words: subprocess.run([options.unweave, *words], check=True, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL)
        at = lambda name: os.path.join(folder, name)
        run("generate", at("trained"), "--model", "rmat", "--scale", str(options.scale), "--features",
            str(options.features), "--classes", "4", "--seed", "1")
        run("propagate", at("trained"), "--hops", "2")
        run("export", at("trained"), "--edges", at("e.npy"), "--labels", at("y.npy"))
        run("export", at("trained"), "--requests", at("requests"), "--draw", "edge", "--count", "2000")
        with open(at("hubs"), "w") as hubs:
            hubs.write("".join(f"node {2 ** i}\n" for i in range(options.scale)))
        run("train", at("trained"))
        run("export", at("trained"), "--model", at("weights.npy"))
        shutil.copytree(at("trained"), at("streamed"))
        run("stream", at("streamed"), "--requests", at("requests"), "--batch", "1000")
        shutil.copytree(at("trained"), at("wide"))
        run("train", at("wide"), "--rows-of", "stack,labels", "--lift", "256")
        shutil.copytree(at("trained"), at("network"))
        run("train", at("network"), "--solver", "retrain", "--head", "mlp", "--hidden", "512", "--set", "epochs=1")
        shutil.copytree(at("streamed"), at("damaged"))
        with os.scandir(os.path.join(at("damaged"), "state")) as files:
            os.truncate(max(files, key=lambda file: file.stat().st_size).path, 1000)
        # Rows that a checkpoint leaves beside the partitions: those of few requests, pushed with ample memory.
        shutil.copytree(at("trained"), at("pushed"))
        with open(at("requests")) as lines, open(at("few"), "w") as few:
            few.writelines(lines.readlines()[:10])
        run("stream", at("pushed"), "--requests", at("few"), "--plan", "push")
        runs = sum(entry.stat().st_size for entry in os.scandir(os.path.join(at("pushed"), "state")) if "run" in entry.name)
        print(f"rows beside partitions: {runs / MIB:.1f} MiB")
        import numpy
        nodes = 1 << options.scale
        numpy.save(at("x.npy"), numpy.random.default_rng(1).random((nodes, options.features), dtype=numpy.float32))
        print(f"{'command':32} {'--memory':>9} {'peak':>9} {'share':>6} {'seconds':>8}")
        for memory in options.memory.split(","):
            limit = int(memory.rstrip("M")) * MIB
            for name, words, source in commands(folder, options.scale, options.features):
                if not name.startswith(options.only):
                    continue
                for made in ("new", "copy"):
                    shutil.rmtree(at(made), ignore_errors=True)
                if source:
                    shutil.copytree(source, at("copy"))
                words = [at("copy") if word == "STORE" else word for word in words]
                code, error, peak, seconds = peak_of([options.unweave, *words, "--memory", memory])
                exceeded |= peak > limit
                note = f"  exit code {code}: {error}" if code else ""
                print(f"{name:32} {memory:>9} {peak / MIB:8.1f}M {peak / limit:6.2f} {seconds:8.2f}{note}", flush=True)
    sys.exit(exceeded)


if __name__ == "__main__":
    main()
