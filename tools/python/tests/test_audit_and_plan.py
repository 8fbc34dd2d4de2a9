# tools/python/tests/test_audit_and_plan.py - attacks on certificates, and forecasts of work, beside what the command line says.
import json
import math
import subprocess

import numpy as np
import pytest

import unweave


def said_by(program, *words, code=0):
    run = subprocess.run([program, *map(str, words), "--json"], capture_output=True, text=True)
    assert run.returncode == code, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def as_json(record):
    """What nlohmann prints of numbers that JSON has not."""
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in record.items()}


def test_audits_are_those_of_the_command_line(store, program):
    store.train("exact")
    store.train("newton", epsilon=1.0)
    for arguments, words in (({"canary": "hub", "trials": 30, "seed": 3}, ["--canary", "hub", "--trials", 30]),
                             ({"solver": "newton", "trials": 25, "rows": 100, "confidence": 0.9, "seed": 3},
                              ["--solver", "newton", "--trials", 25, "--rows", 100, "--confidence", 0.9]),
                             ({"name": "newton", "one_run": 20, "seed": 3}, ["--name", "newton", "--one-run", 20])):
        found = store.audit(**arguments)
        assert [as_json(one) for one in found] == said_by(program, "audit", store.path, *words, "--seed", 3)
        assert found and not any(one.refuted for one in found)
    assert store.info().acknowledged == 0


def test_a_canary_of_ones_own(store):
    store.train("exact")
    u, v = (int(end) for end in store.edges()[0])
    one, = store.audit(requests=[("edge", u, v), "node 12"], trials=20)
    assert one.canary == "requests" and one.trials == 20 and one.certified and one.epsilon_provable is None
    with pytest.raises(unweave.UsageError, match="request 1: not a request"):
        store.audit(requests=["node 12", "nod 13"])


def test_a_model_that_claims_nothing_is_not_refuted(store):
    store.train("finetune")
    one, = store.audit(canary="gradient", trials=16)
    assert not one.certified and one.claim is None and one.epsilon_lower_bound > 0 and not one.refuted


@pytest.mark.parametrize("arguments, message", [({"canary": "spoke"}, "spoke"), ({"one_run": 0}, "whole number from 1"), ({"confidence": 1.0}, "confidence"),
                                                ({"one_run": 5, "trials": 3}, "takes no trials"), ({"rows": 1}, "rows must be at least 2"),
                                                ({"name": "absent"}, "absent"), ({"one_run": 5, "canary": "hub"}, "takes no canary")])
def test_audits_that_make_no_sense(store, arguments, message):
    store.train("exact")
    with pytest.raises(unweave.UsageError, match=message):
        store.audit(**arguments)


MEASURED = ("sweep_arc_features_per_second", "disk_bytes_per_second", "seconds_predicted", "predicted", "graph_resident", "features_resident", "limit", "seconds_push", "seconds_recompute", "plan",
            "disk_free_bytes", "memory_available_bytes")


def alike(record, said):
    assert list(record) == list(said)
    assert {key: value for key, value in record.items() if key not in MEASURED} == {key: said[key] for key in said if key not in MEASURED}


def test_a_propagation_is_planned_as_on_the_command_line(sample, program, tmp_path):
    store = unweave.import_store(tmp_path / "g.store", sample.edge_index, sample.x, sample.y, train=sample.train, memory="1G", threads=1)
    for arguments, words in (({}, []), ({"hops": 3, "rows": "all", "rho": 0.25}, ["--hops", 3, "--rows", "all", "--rho", 0.25]),
                             ({"hops": 1, "weights": [0.5, 0.5]}, ["--hops", 1, "--weights", "0.5,0.5"]), ({"hops": 0}, ["--hops", 0])):
        plan = store.plan(**arguments)
        said, = said_by(program, "plan", store.path, *words, "--memory", "1G", "--threads", 1)
        alike(plan, said)
        assert plan.fits and (plan.seconds_predicted is None) == (arguments.get("hops") == 0)
    assert store.info().hops is None


def test_a_stream_is_planned_as_on_the_command_line(store, program, tmp_path):
    (tmp_path / "requests").write_text("".join(f"node {node}\n" for node in range(7)))
    said, = said_by(program, "plan", store.path, "--requests", tmp_path / "requests", "--batch", 3)
    plan = store.plan(requests=(("node", node) for node in range(7)), batch=3)
    alike(plan, said)
    assert (plan.batches, plan.requests, plan.applied, len(plan.rows)) == (3, 3, 3, 2)
    assert plan.plan[0] in ("push", "recompute") and all(seconds is None or seconds >= 0 for seconds in plan.seconds_push)
    assert store.plan(requests="node 3").batches == 1
    assert store.plan(requests=[f"node {node}" for node in range(101)]).batches == 2
    assert store.info().acknowledged == 0


def test_a_purge_is_planned_as_on_the_command_line(store, program):
    store.train("exact")
    with store.stream("exact") as stream:
        stream.send([("node", 12), ("node", 13)])
    for keep in (False, True):
        plan = store.plan(purge=True, keep_order=keep)
        said, = said_by(program, "plan", store.path, "--purge", *(["--keep-order"] if keep else []))
        alike(plan, said)
    assert plan.models == ["exact"] and plan.trainings == 1 and plan.bytes_rewritten > 0
    assert store.plan(purge=True).models == ["exact"] and store.edges().size and store.info().acknowledged == 2


def test_names_stand_in_requests_of_plans_and_audits(sample, tmp_path):
    store = unweave.import_store(tmp_path / "n.store", sample.edge_index, sample.x, sample.y, train=sample.train,
                                 ids=[f"person-{node}" for node in range(sample.nodes)])
    store.propagate(hops=1, rows="all")
    store.train("exact")
    plan = store.plan(requests=["node person-4", ("node", "person-5"), ("node", 6), ("node", "nobody")])
    assert (plan.requests, plan.applied) == (4, 3)
    assert store.audit(requests=[("node", "person-4")], trials=16)[0].tests == 16


@pytest.mark.parametrize("arguments, message", [({"purge": True, "requests": ["node 1"]}, "two plans"), ({"batch": 5}, "batch needs requests"),
                                                ({"keep_order": True}, "needs purge"), ({"hops": 2, "purge": True}, "hops belongs"),
                                                ({"rows": "all", "requests": ["node 1"]}, "rows belongs"), ({"requests": [("node", 1.5)]}, "whole numbers"),
                                                ({"requests": ["node 1"], "batch": 0}, "whole number from 1"), ({"rows": "some"}, "rows must be"), ({"requests": [5]}, "line or a tuple")])
def test_plans_that_make_no_sense(store, arguments, message):
    with pytest.raises(unweave.UsageError, match=message):
        store.plan(**arguments)


def test_plans_are_followed_and_may_be_stopped(store):
    def refuse(*_):
        raise KeyError("enough")

    store.train("exact")
    watched = unweave.Store(store.path, progress=refuse)
    with pytest.raises(KeyError):
        watched.audit(canary="hub", trials=100000)  # longer than anybody waits
    assert np.array_equal(store.embedded(), np.arange(400))
