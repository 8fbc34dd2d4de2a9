#!/usr/bin/env python3
# tests/serve_purge_test.py - `unweave serve` and purges while it serves: what was removed leaves every byte, nothing that was
# acknowledged is lost, whatever comes meanwhile or ends the process, and models follow before and after.
#
#   python3 tests/serve_purge_test.py UNWEAVE [--kills N] [PART ...]
import http.client
import json
import random
import signal
import subprocess
import threading
import time

from serve_test import Service, check, run, run_parts, wait_until

PEOPLE = 400
EMPTY = {"Content-Type": "application/json"}


def name_of(person):
    return f"person-{person:04d}@example.org"


def make_named_store(program, folder, models=("exact",)):
    """People with names in a ring with chords, two classes, two features."""
    chance = random.Random(7)
    (folder / "ids").write_text("".join(name_of(i) + "\n" for i in range(PEOPLE)))
    edges = {(i, (i + 1) % PEOPLE) for i in range(PEOPLE)} | {(i, chance.randrange(PEOPLE)) for i in range(PEOPLE)}
    edges = sorted((u, v) for u, v in edges if u != v)
    (folder / "edges.txt").write_text("".join(f"{name_of(u)} {name_of(v)}\n" for u, v in edges))
    features, labels = [], []
    for i in range(PEOPLE):
        labels.append(i % 2)
        features.append(f"{i % 2 + 0.25 * chance.random():.4f},{1 - i % 2 + 0.25 * chance.random():.4f}\n")
    (folder / "features.csv").write_text("".join(features))
    (folder / "labels.txt").write_text("".join(f"{label}\n" for label in labels))
    (folder / "train").write_text("".join(f"{name_of(i)}\n" for i in range(PEOPLE) if i % 5))
    store = folder / "s"
    run(program, "import", store, "--ids", folder / "ids", "--edges", folder / "edges.txt", "--features", folder / "features.csv",
        "--labels", folder / "labels.txt", "--split", f"train={folder / 'train'}")
    run(program, "propagate", store, "--hops", 2)
    for model in models:
        run(program, "train", store, "--solver", model)
    return store


def bytes_that_say(store, people):
    """Files of the store with one of these names in them."""
    found = []
    for file in sorted(store.rglob("*")):
        if file.is_file():
            content = file.read_bytes()
            found += [(str(file), name) for name in map(name_of, people) if name.encode() in content]
    return found


def purge(service, **options):
    return service.call("POST", "/purge", json.dumps(options), EMPTY)


def send(service, *people, tag="T"):
    """Asks to remove them; the status, and how it was acknowledged."""
    return service.call("POST", "/requests", "".join(f"node {name_of(one)} id={tag}{one}\n" for one in people))


def applied(service, *people, tag="T"):
    return all(service.call("GET", f"/requests/{tag}{one}")[1].get("state") == "applied" for one in people)


def check_call(program, folder):
    """POST /purge: names are gone from every byte, models follow before and after, and nobody else writes meanwhile."""
    store = make_named_store(program, folder, ("exact", "newton", "retrain"))
    before = json.loads(run(program, "info", store, "--json").splitlines()[-1])
    service = Service(program, store, "--solver", "exact", "--solver", "newton", "--every", "20ms", "--receipts", folder / "receipts")
    status = service.call("GET", "/status")[1]
    check(status["models"] == ["exact", "newton"] and status["unpurged"] == 0 and status["unpurged_since"] is None, status)
    for body, kind, wanted in [("{", "application/json", 400), ("[]", "application/json", 400), ('{"always": 1}', "application/json", 400),
                               ('{"all": true}', "application/json", 400), ('"always"', "application/json", 400), ("null", "application/json", 400),
                               ("{}\0", "application/json", 400), ("{}", "text/plain", 415), ("{}", "text/x-unweave", 415)]:
        code, answer = service.call("POST", "/purge", body, {"Content-Type": kind})
        check(code == wanted and "exception" not in answer["error"] and "json." not in answer["error"], body, code, answer)
    check(service.call("GET", "/purge")[0] == 405)
    first = [3, 17, 101]
    check(send(service, *first)[0] == 200)
    wait_until(lambda: applied(service, *first))
    status = service.call("GET", "/status")[1]
    check(status["unpurged"] == 3 and status["unpurged_since"].startswith("20"), status)
    check(bytes_that_say(store, first), "a name is in the store until it is purged")
    code, done = purge(service)
    check(code == 200 and done["purged"] and done["requests"] == 3, code, done)
    check(done["models_kept"] == ["exact"] and done["models_trained"] == ["newton"], done)
    check(sorted(done["models_removed"]) == ["newton", "retrain"], done)
    check(sorted(one["name"] for one in done["models_lost"]) == ["newton", "retrain"], done)
    check(bytes_that_say(store, first) == [], bytes_that_say(store, first))
    check(bytes_that_say(store, [4]) != [], "the search finds those who stay")
    for one in first:
        answer = service.call("GET", f"/requests/T{one}")[1]
        check(answer["purged"] and answer["state"] == "applied", answer)
    status = service.call("GET", "/status")[1]
    check(status["unpurged"] == 0 and status["purges"] == 1 and not status["purging"] and status["last_purge"], status)
    text = service.call("GET", "/metrics")[1]
    for line in ['unweave_purges_total{result="done"} 1', 'unweave_purges_total{result="failed"} 0', "unweave_purging 0", "unweave_requests_unpurged 0"]:
        check(line + "\n" in text, line, text)
    # The stream goes on, with both models; a person who is gone is unknown.
    second = [5, 250]
    code, answer = send(service, *second, 3, tag="U")
    check(code == 200 and answer["acknowledged"][0] == {"id": "U5", "sequence": 1}, answer)
    wait_until(lambda: applied(service, *second, tag="U"))
    check(service.call("GET", "/requests/U3")[1]["state"] == "rejected")
    told = service.call("GET", "/requests/U5")[1]
    check({one["model"] for one in told["certificates"]} == {"exact", "newton"} and not told["purged"], told)
    for model in ["", "?model=exact", "?model=newton"]:
        check(service.call("GET", f"/receipts/U5{model}")[0] == 200, model)
    check(service.call("GET", "/receipts/U5?model=retrain")[0] == 404)
    other = subprocess.run([program, "purge", str(store)], capture_output=True, text=True)
    check(other.returncode == 3 and "another process is writing" in other.stderr, other)
    check(service.end() == 0, service.error)
    check("models trained anew newton" in service.error and "models removed retrain" in service.error, service.error)
    for batch in service.batches:
        check([one["name"] for one in batch["models"]] == ["exact", "newton"] and all(one["certified"] for one in batch["models"]), batch)
        check(batch["certified"] and batch["budget"] == batch["models"][0]["budget"], "the fields of the first model", batch)
    run(program, "verify", store, "--rebuild")
    for model in ["exact", "newton"]:
        run(program, "verify", store / f"certificates/{model}.jsonl", "--receipts", f"{folder}/receipts.{model}")
    after = json.loads(run(program, "info", store, "--json").splitlines()[-1])
    check(after["nodes"] == before["nodes"])
    # As a purge of a service that has ended.
    run(program, "purge", store)
    check(bytes_that_say(store, first + second) == [])


def check_meanwhile(program, folder):
    """Senders who go on sending through purges: what was acknowledged is applied, and what was not was answered 503."""
    store = make_named_store(program, folder)
    service = Service(program, store, "--solver", "exact", "--every", "5ms")
    acknowledged, refused, ended = [], [0], threading.Event()

    def go_on(people):
        for one in people:
            while True:
                code, answer = send(service, one)
                if code == 200:
                    check(not answer["acknowledged"][0].get("known"), answer)
                    acknowledged.append(one)
                    break
                check(code == 503 and "send again" in answer["error"], code, answer)
                refused[0] += 1
                time.sleep(0.005)
            if ended.is_set():
                return

    senders = [threading.Thread(target=go_on, args=(range(i, 300, 6),)) for i in range(6)]
    for sender in senders:
        sender.start()
    not_ready = 0
    for _ in range(4):
        time.sleep(0.1)
        answers = []
        purger = threading.Thread(target=lambda: answers.append(purge(service)))
        purger.start()
        while purger.is_alive():
            code, ready = service.call("GET", "/ready")
            not_ready += code == 503 and ready["purging"]
            check(code == 200 or ready["ready"] is False, code, ready)
            held = subprocess.run([program, "purge", str(store)], capture_output=True, text=True)
            check(held.returncode == 3 and "another process" in held.stderr, "the store is never free for another process", held)
        purger.join()
        check(answers[0][0] == 200, answers)
    ended.set()
    for sender in senders:
        sender.join()
    wait_until(lambda: service.call("GET", "/status")[1]["waiting"] == 0)
    for one in acknowledged:
        check(applied(service, one), one)
    check(not_ready > 0, "nobody has seen a purge")
    check(purge(service)[0] == 200)
    check(bytes_that_say(store, acknowledged) == [])
    check(service.end() == 0, service.error)
    run(program, "verify", store, "--rebuild")
    return f"{len(acknowledged)} acknowledged, {refused[0]} sent again"


def check_schedule(program, folder):
    """By number, by age, and after a start: an age counts from the first request that no purge has reached."""
    store = make_named_store(program, folder)
    for wrong in [["--purge-every", "0s"], ["--purge-every", "1"], ["--purge-after", "0"]]:
        refused = subprocess.run([program, "serve", str(store), *wrong], capture_output=True, text=True)
        check(refused.returncode == 1 and refused.stderr.count("\n") == 1, wrong, refused.stderr)

    def purges(service):
        return service.call("GET", "/status")[1]["purges"]

    service = Service(program, store, "--solver", "exact", "--every", "10ms", "--purge-after", 3)
    check(send(service, 1, 2)[0] == 200)
    wait_until(lambda: applied(service, 1, 2))
    check(purges(service) == 0 and service.call("GET", "/status")[1]["purge_due"] is None)
    check(send(service, 9)[0] == 200)
    wait_until(lambda: purges(service) == 1)
    check(bytes_that_say(store, [1, 2, 9]) == [])
    check(send(service, 11)[0] == 200)
    wait_until(lambda: applied(service, 11))
    since = service.call("GET", "/status")[1]["unpurged_since"]
    check(service.end() == 0, service.error)
    service = Service(program, store, "--solver", "exact", "--every", "10ms", "--purge-every", "24h")
    status = service.call("GET", "/status")[1]
    check(status["unpurged"] == 1 and status["unpurged_since"] <= since, status, since)  # that of the journal
    check(status["purge_due"][:4] == since[:4] and status["purge_due"] > since, status)
    check(service.end(signal.SIGKILL) == -signal.SIGKILL)
    service = Service(program, store, "--solver", "exact", "--every", "10ms", "--purge-every", "1ms")
    wait_until(lambda: purges(service) == 1)
    check(bytes_that_say(store, [11]) == [])
    for person in [21, 22]:
        check(send(service, person)[0] in (200, 503))
    wait_until(lambda: service.call("GET", "/status")[1]["unpurged"] == 0)
    check(service.end() == 0, service.error)
    run(program, "verify", store, "--rebuild")


def check_empty(program, folder):
    """Nobody is left: a purge and a start go on with models of no rows, and what duplicates say names no earlier request any more."""
    solvers = ["exact", "newton", "scalegun", "newton-step", "streaming", "langevin"]
    store = make_named_store(program, folder, solvers)
    follow = [word for solver in solvers for word in ("--solver", solver)]
    service = Service(program, store, *follow, "--every", "20ms")
    check(send(service, 3)[0] == 200 and send(service, 3, tag="probe")[0] == 200)
    wait_until(lambda: service.call("GET", "/status")[1]["waiting"] == 0)
    check(service.call("GET", "/requests/probe3")[1]["earlier"]["id"] == "T3")
    everybody = [one for one in range(PEOPLE) if one != 3]
    check(send(service, *everybody)[0] == 200)
    wait_until(lambda: service.call("GET", "/status")[1]["waiting"] == 0)
    status, said = purge(service)
    check(status == 200, said)
    for _ in range(2):
        told = service.call("GET", "/requests/probe3")[1]
        check("earlier" not in told and "T3" not in json.dumps(told), told)
        check(bytes_that_say(store, range(0, PEOPLE, 17)) == [])
        check(service.call("POST", "/requests", "insert-edge #1 #2 id=back\n")[0] == 200)
        wait_until(lambda: service.call("GET", "/status")[1]["waiting"] == 0)
        check(service.end() == 0, service.error)
        run(program, "verify", store)
        service = Service(program, store, *follow, "--every", "20ms")
    check(service.end() == 0, service.error)


def check_kills(program, folder, kills, seed):
    """kill -9 at any moment of a purge: what was acknowledged is there, and the next start goes on with all models."""
    store = make_named_store(program, folder, ("exact", "newton"))
    chance = random.Random(seed)
    people = list(range(PEOPLE))
    chance.shuffle(people)
    gone, seconds, cut = [], 0.3, 0
    for kill in range(kills):
        service = Service(program, store, "--solver", "exact", "--solver", "newton", "--every", "5ms")
        mine = [people.pop() for _ in range(2)]
        code, answer = send(service, *mine)
        check(code == 200, answer)
        gone += mine
        if kill == 0:
            started = time.monotonic()
            check(purge(service)[0] == 200)
            seconds = time.monotonic() - started
            more = [people.pop()]
            check(send(service, *more)[0] == 200)
            gone += more

        def order():
            try:
                purge(service)
            except (OSError, ValueError, http.client.HTTPException):
                pass

        purger = threading.Thread(target=order)
        purger.start()
        time.sleep(chance.random() * 1.2 * seconds)
        cut += purger.is_alive()
        service.end(signal.SIGKILL)
        purger.join()
        if kill % 5 == 0:
            run(program, "verify", store)
    service = Service(program, store, "--solver", "exact", "--solver", "newton", "--every", "5ms")
    check(service.call("GET", "/status")[1]["models"] == ["exact", "newton"])
    check(purge(service)[0] == 200)
    for one in gone:
        check(applied(service, one), one)
    check(bytes_that_say(store, gone) == [])
    check(send(service, people[0])[0] == 200)
    wait_until(lambda: applied(service, people[0]))
    told = service.call("GET", f"/requests/T{people[0]}")[1]
    check({one["model"] for one in told["certificates"]} == {"exact", "newton"}, told)
    check(service.end() == 0, service.error)
    run(program, "verify", store, "--rebuild")
    check(cut > kills / 3, "kills came too late", cut)
    return f"{cut} of {kills} in the midst of a purge"


if __name__ == "__main__":
    run_parts({"call": check_call, "meanwhile": check_meanwhile, "schedule": check_schedule, "empty": check_empty, "kills": check_kills},
              kills=12, seed=1)
