#!/usr/bin/env python3
"""tools/audit/certificate_trail.py - a public log of certificates, and receipts against it, checked without a store by code of
its own.

    tools/audit/certificate_trail.py certificates/SOLVER.jsonl [--public-key HEX] [--receipts F]
    tools/audit/certificate_trail.py weights.jsonl --model weights.npy|.npz|.safetensors [--public-key HEX]

Checks every digest, the chain, the signatures (Ed25519, RFC 8032), that certificates, releases and requests count on, that
nothing private stands there, that T1's noise and every delta follow from public numbers, and that each receipt's request is
one that its certificate commits to, with this outcome (storage/FORMAT.md); of an exported model that its weights are those of the
certificate beside them. Prints what is false, a line each, and exits 1; 0
where all holds, with how many receipts say "applied" and how many "rejected"; 2 where something cannot be read. Where all holds
it notes on standard error what that does not prove: whose key it is, without --public-key, and releases that are not
certified. Python 3.9 and NumPy.
"""
import argparse
import collections
import hashlib
import json
import math
import pathlib
import re
import sys
import zipfile

import numpy as np

from certificate_network import STANDARD
from certificate_numerics import delta_of, epsilon_of, sigma_of

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE_D = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME
ROOT_OF_MINUS_ONE = pow(2, (PRIME - 1) // 4, PRIME)


def add(p, q):
    """Points as (X, Y, Z, T): x = X/Z, y = Y/Z, x y = T/Z."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % PRIME, (p[1] + p[0]) * (q[1] + q[0]) % PRIME
    c, d = 2 * p[3] * q[3] * CURVE_D % PRIME, 2 * p[2] * q[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def multiply(scalar, point):
    out = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            out = add(out, point)
        point, scalar = add(point, point), scalar >> 1
    return out


def decompress(data):
    """None where it is no point."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= PRIME:
        return None
    square = (y * y - 1) * pow(CURVE_D * y * y + 1, PRIME - 2, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * ROOT_OF_MINUS_ONE % PRIME
    if (x * x - square) % PRIME or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = PRIME - x
    return x, y, 1, x * y % PRIME


BASE = decompress((4 * pow(5, PRIME - 2, PRIME) % PRIME).to_bytes(32, "little"))


def is_signature(signature, message, public_key):
    """All bytes."""
    point, commitment = decompress(public_key), decompress(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or point is None or commitment is None or scalar >= ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public_key + message).digest(), "little") % ORDER
    left, right = multiply(scalar, BASE), add(commitment, multiply(challenge, point))
    return all((left[i] * right[2] - right[i] * left[2]) % PRIME == 0 for i in (0, 1))


def blake(data, key=b""):
    return hashlib.blake2b(data, digest_size=32, key=key).digest()


def read_json(text):
    """A value of JSON. ValueError for an object with two members of one name, of which another program may read the other."""
    def members(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError("an object has two members of one name")
        return dict(pairs)
    return json.loads(text, object_pairs_hook=members)


def read_lines(path):
    """The lines of a log. ValueError where it was cut inside its last one. Nothing but a newline ends a line."""
    lines = path.read_bytes().decode().split("\n")
    if lines.pop():
        raise ValueError(f"{path}: it was cut inside its last line; fetch it again")
    return lines


def merge(line, private_part):
    """The whole certificate of a public line and its private part."""
    whole, hidden = read_json(line), read_json(private_part)
    terms = {**whole["terms"], **hidden["terms"]}
    return {**whole, **hidden, "terms": terms}


def sealed_problem(line):
    """What is wrong with digest and signature of a line, or nothing."""
    text, _, rest = line.rpartition(',"digest":"')
    digest = blake(text.encode())
    said = read_json(line)
    if not rest.startswith(digest.hex() + '","signature":"') or rest != f'{said["digest"]}","signature":"{said["signature"]}"}}':
        return "the digest is not that of the certificate"
    if not is_signature(bytes.fromhex(said["signature"]), digest, bytes.fromhex(said["public_key"])):
        return "the signature is not one of the certificate"
    return ""


# Of the solvers that certify in public.
THEOREMS = {"exact": "T0", "replay": "T0'", "newton": "T1", "retrain": "T1", "descent-to-delete": "T1", "langevin": "T2", "langevin-full": "T2",
            "rewind": "T4", "descend": "T4"}


def noise_problems(said):
    """T0, T0', T1 and delta from public numbers; of T2 and T4 the constants of the loss and the run. KeyError where one is missing."""
    terms, epsilon, delta = said["terms"], said["epsilon"], said["delta"]
    near = lambda name, value, found: [] if abs(value - found) <= 1e-7 * abs(found) else [
        f"{name} is {value!r}, computed again it is {found!r}"]
    problems = [] if delta["reached"] <= delta["target"] < 1 else ["delta is above its target"]
    constant = {name: held["value"] for name, held in said["constants"].items()}
    if said["theorem"] in ("T0", "T0'"):
        problems += [f"{name} is {value!r}, it should be 0" for name, value in
                     (("epsilon", epsilon), ("delta", delta["target"]), ("the budget", said["budget"])) if value != 0]
    if said["theorem"] == "T0'":
        plan = {**STANDARD, **said.get("parameters", {})}
        problems += [f"{name} is {terms[name]!r}, it should be {plan[name]!r}" for name in STANDARD if terms[name] != plan[name]]
        if constant["activation"] != "relu":
            problems.append("it is no network of relu")
    if said["theorem"] == "T0":
        problems += near("mu", terms["mu"], constant["lambda"] * max(1, constant["training_rows"]))
        if terms["grid"] not in [2.0**-bits for bits in range(8, 41)]:
            problems.append("the grid is no power of two from 2^-40 to 2^-8")
    if said["theorem"] == "T1":
        mu = constant["lambda"] * max(1, constant["training_rows"])
        distance = constant["tau"] / mu
        wanted = epsilon * (1 - 1e-12), delta["target"] * (1 - 1e-9)
        grid = 2.0 ** (math.floor(math.log2(sigma_of(distance, *wanted))) - 23)
        sensitivity = distance + grid * math.sqrt(constant["features"] * constant["classes"])
        for name, found in (("mu", mu), ("distance", distance), ("grid", grid), ("sensitivity", sensitivity),
                            ("sigma", sigma_of(sensitivity, *wanted))):
            problems += near(name, terms[name], found)
        problems += near("the budget", said["budget"], constant["tau"])
    if said["theorem"] == "T4":
        weights = constant["features"] * constant["classes"]
        problems += near("the budget", said["budget"], terms["distance"])
        problems += near("sensitivity", terms["sensitivity"], terms["distance"] + terms["grid"] * math.sqrt(weights))
    if constant["clip"] != 1:
        problems.append("its rows are clipped to another norm than 1")
    if not constant["training_rows"] >= 0 or constant["training_rows"] != int(constant["training_rows"]):
        problems.append("its training rows are no number of things")
    if said["theorem"] == "T2":
        problems += near("the budget", said["budget"], epsilon)
    if said["theorem"] == "T4" and not (0 <= terms["capacity"] <= 1 <= terms["retention"]):
        problems.append("its capacity or its retention is none")
    if said["theorem"] in ("T2", "T4"):
        square = constant["clip"]**2 + (1 if constant.get("intercept") else 0)  # X^2, of the longest row
        curvature = {"logistic": 0.25, "softmax": 0.5, "least-squares": 1}[constant["head"]]
        problems += near("smoothness", terms["smoothness"], curvature * square + constant["lambda"])
        problems += near("strong_convexity", terms["strong_convexity"], constant["lambda"])
        problems += near("batches", terms["batches"], math.ceil(terms["slots"] / terms["batch_rows"]))
        if constant["training_rows"] > terms["slots"]:
            problems.append("it has more rows than slots")
    if said["theorem"] in ("T0", "T0'", "T2") or said["theorem"] == "T4" and terms["sampling"]:
        problems += near("the delta reached", delta["reached"], delta["target"])
    elif not terms["sigma"] > 3 * terms["grid"]:
        problems.append("sigma is not above three grid steps")
    else:
        smoothed = math.sqrt(terms["sigma"]**2 - 9 * terms["grid"]**2)
        problems += near("the delta reached", delta["reached"], delta_of(terms["sensitivity"], smoothed, epsilon))
    return problems + composed_problems(said)


ANY_CHANGE = "any removed edges, nodes and features, any inserted edges, and every row that moved because of them"
LOSSES = {"logistic": "sum_i sum_c l(z_i.w_c, y_ic)", "least-squares": "sum_i sum_c l(z_i.w_c, y_ic)",
          "softmax": "sum_i [ln sum_c exp(z_i.w_c) - z_i.w_(y_i)]"}


def wanted_words(said):
    """What the theorem of a line has it say in words, by member: those of version 0.1 of the program, the first."""
    theorem, later = said["theorem"], said["releases"] == "all-later"
    constant = {name: held["value"] for name, held in said["constants"].items()}
    of = "constant row_program" if "row_program" in constant else "fixed-point embedding"
    row = f"float32(clip(row i of the {of}))"
    unit = constant.get("row_program", {}).get("unit", "node")
    rows = f"on the present data alone: rows z_i = {f'({row}, 1)' if constant.get('intercept') else row} of the training {unit}s"
    objective = f"{rows}; F(W) = {LOSSES.get(constant['head'], '')} + (lambda max(1, n) / 2) |W|_F^2; W* its minimiser; published: "
    slots = f"{rows} in their slots, none in the others; from W = 0, learning_epochs times "
    noise = " rounded to the grid, plus fresh discrete Gaussian noise of variance sigma^2 on every coordinate"
    mechanism, reference, opened = {
        "T0": ("the minimiser rounded to the grid, every rounding proved",
               objective + "the multiple of the grid nearest to every coordinate of W*", []),
        "T0'": ("a network trained from a public start, every product of matrices exact",
                f"{rows}; published: the weights that the program of T0' makes of them from its public start, bit for bit", []),
        "T1": ("discrete Gaussian noise on finished weights", objective + "W*" + noise, []),
        "T2": ("projected noisy SGD over fixed batches, Gaussian noise at every step",
               slots + "over the batches in their order: W <- P_R(W - step_size (G / batch_rows + strong_convexity W) + "
               "sqrt(2 step_size) sigma xi), G the batch's sum of gradients of sum_c l(z_i.w_c, y_ic), xi fresh standard normal; "
               "published: the last W", ["that the noise of a step is a floating-point number"]),
        "T4": ("discrete Gaussian noise on the last iterate of projected SGD over slots",
               slots + "so many steps as there are batches: W <- P_R(W - step_size (G / batch_rows + strong_convexity W)), G the "
               "sum of gradients of the rows' losses over a batch: sampling 0, the public batches in their order; else "
               "batch_rows slots drawn uniformly; published: the last W" + noise,
               ["iterates of the original run: they show removed rows without noise, and stay private"])}[theorem]
    left = ["what an adaptive choice of requests reveals by itself", "models published before the removal: withdraw them",
            "records that remain: this is no differential privacy",
            "an error in place of a release, the number of rows and of releases, running times"]
    for choice in ("lambda", "weights"):
        chosen = said["constants"][choice]["chosen"]
        if chosen.startswith("validation"):
            left.append(f"the choice of {choice}: it was tuned on data ({chosen}), and stays")
    if theorem == "T2" and not later or theorem == "T4" and said["terms"]["sampling"]:
        left.append("requests that were chosen after seeing a release and sent as non-adaptive")
    if "composed" in said:
        left.append("several releases seen together at this epsilon: `composed` says at which k of them are")
    elif not later:
        left.append("several releases seen together: each is compared with one retraining")
    elif theorem not in ("T0", "T0'"):
        left.append("later releases of other models, which start from publications of their own: one log pays for itself")
    if later and theorem == "T1":
        left.append("choices that depend on free memory: whether a later release keeps a preconditioner")
    pairs = "none needed: " if theorem in ("T0", "T0'", "T1") else "null-row: a removed training row leaves its slot empty; covers "
    return {"mechanism": mechanism, "reference": reference, "adjacency": pairs + ANY_CHANGE, "not_covered": left + opened}


def word_problems(said):
    """Who has a key can sign any words; a theorem stands behind these alone."""
    allowed = {"T0": ("all-later",), "T0'": ("all-later",), "T4": ("this",)}.get(said["theorem"], ("all-later", "this"))
    problems = [f"its {name} is not in the words that {said['theorem']} has" for name, words in wanted_words(said).items()
                if said[name] != words]
    if said["releases"] not in allowed or said["requests"] not in ("adaptive", "non-adaptive"):
        problems.append("its releases or requests are none that its theorem covers")
    return problems


def withdrawn_problems(said, before):
    """`before`: the id of the release before in this log, or nothing."""
    ids = said["withdraw"]
    if before and ids[-1:] != [before]:
        return ["withdraw does not end with the release before it"]
    fits = all(one == "" or re.fullmatch("[^ ]+-[0-9]+-[0-9a-f]{16}", one) for one in ids)
    return [] if fits else ["withdraw has something that is no id of a release"]


def composed_problems(said):
    """Where a certificate says what several releases together come to: Gaussians in turn."""
    terms, problems = said["terms"], []
    for one in said.get("composed", []):
        shift = terms["sensitivity"] / math.sqrt(terms["sigma"]**2 - 9 * terms["grid"]**2)
        found = epsilon_of(shift * math.sqrt(one["releases"]), said["delta"]["target"])
        if not abs(one["epsilon"] - found) <= 1e-7 * found:
            problems.append(f"the epsilon of {one['releases']} releases is {one['epsilon']!r}, computed again it is {found!r}")
    return problems


def whose(said):
    """Solver and name of the model of a line or a model's text; a model without a name has that of its solver."""
    return said["solver"], said.get("name", said["solver"])


def line_problems(said, before, public_key):
    """One line after another; `before` is None for the first."""
    problems = []
    if said["format"] != "unweave certificate 1":
        problems.append("this is no certificate")
    if said["public_key"] != (public_key or (before or said)["public_key"]):
        problems.append("it is signed by another key")
    follows = ((0, said["log"], said["log"], whose(said)) if before is None else
               (before["number"], before["digest"], before["log"], whose(before)))
    if (said["number"] - 1, said["previous"], said["log"], whose(said)) != follows:
        problems.append("it does not follow the line before")
    batch, release = said["batch"], said["release"]
    if release == 1:
        if batch is not None:
            problems.append("a training covers requests")
    elif before is None or release != before["release"] + 1 or batch["first"] != before["sequence"] + 1 or \
            batch["last"] != said["sequence"]:
        problems.append("its release and requests do not follow those of the line before")
    return problems + withdrawn_problems(said, before and before["id"]) + statement_problems(said)


# What is private where it depends on removed data whether a release is certified.
FOLLOWS_A_CLAIM = {"certified", "claim", "theorem", "delta", "reference", "adjacency", "releases"}


def statement_problems(said):
    """What a line says of itself, whatever stands around it."""
    problems = []
    if "weights_digest" in said and said["id"].rsplit("-", 1)[-1] != said["weights_digest"][:16]:
        problems.append("its id is not that of its digest of the weights")
    shown = set(said.get("public_terms", []))
    if set(said["terms"]) - shown or any(name in said for name in said["private"] if name != "terms"):
        problems.append("something private stands in it")
    if "certified" not in said and not FOLLOWS_A_CLAIM <= set(said["private"]):
        problems.append("it does not say whether it is certified, and says what follows from that")
    if said.get("certified"):
        if said["for_tests"]:
            problems.append("it is certified, and its noise was drawn from a seed")
        if THEOREMS.get(said["solver"]) != said["theorem"] or said["claim"] != said["theorem"] or \
                not (said["epsilon"] > 0 or said["theorem"] in ("T0", "T0'")):
            problems.append("it is certified by no theorem, or by none of its solver")
        else:
            problems += noise_problems(said) + word_problems(said)
    return problems


def check_log(lines, public_key=None):
    """What is false in the lines of a log, each with its number in front."""
    problems, before = [], None
    for number, line in enumerate(lines, 1):
        said = read_json(line)
        found = [sealed_problem(line)] + line_problems(said, before, public_key)
        problems += [f"line {number}: {problem}" for problem in found if problem]
        before = said
    return problems


def read_tensors(path):
    """The float64 arrays of a .safetensors file: the length of a header, the header in JSON, and the bytes."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = read_json(data[8:8 + length])
    header.pop("__metadata__", None)
    spans = sorted(tuple(tensor["data_offsets"]) for tensor in header.values())
    if [first for first, _ in spans] + [len(data) - 8 - length] != [0] + [last for _, last in spans]:
        raise ValueError(f"{path}: its tensors overlap, or bytes belong to none")
    arrays = {}
    for name, tensor in header.items():
        if tensor["dtype"] != "F64":
            raise ValueError(f"{path}: {name} is no float64")
        first, last = tensor["data_offsets"]
        arrays[name] = np.frombuffer(data[8 + length:][first:last], "<f8").reshape(tensor["shape"])
    return arrays


def read_weights(path, intercept):
    """Weights of an exported model as certificates bind them: feature by feature, the intercepts last where it has some."""
    if path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            listed = sorted(archive.namelist())
        if listed != ["classes_.npy", "coef_.npy", "intercept_.npy"]:
            raise ValueError(f"{path}: its arrays are {', '.join(listed)}, not coef_, intercept_ and classes_, each once")
        with np.load(path) as held:
            arrays, names = dict(held), ("coef_", "intercept_")
        if not np.array_equal(arrays["classes_"], np.arange(len(arrays["coef_"]))):
            raise ValueError(f"{path}: its rows are not the classes 0, 1, ... in their order")
    elif path.suffix == ".safetensors":
        arrays, names = read_tensors(path), ("weight", "bias")
        if sorted(arrays) != ["bias", "weight"]:
            raise ValueError(f"{path}: its tensors are {', '.join(sorted(arrays))}, not weight and bias")
    else:
        return np.load(path)
    rows, intercepts = (arrays[name] for name in names)
    if not intercept and intercepts.any():
        raise ValueError(f"{path}: it has intercepts, and the certificate speaks of a model without")
    return np.vstack([rows.T, intercepts]) if intercept else np.ascontiguousarray(rows.T)


def check_export(lines, weights, public_key=None):
    """What is false in an exported model: its certificate and the key of its weights, the two lines that came with them."""
    said, opening = map(read_json, lines)
    problems = [problem for problem in [sealed_problem(lines[0])] if problem] + statement_problems(said)
    if public_key and said["public_key"] != public_key:
        problems.append("it is signed by another key")
    if opening["format"] != "unweave weights key 1" or opening["certificate"] != said["digest"]:
        problems.append("the key is that of another certificate's weights")
    if weights.dtype != np.dtype("<f8") or blake(weights.tobytes(), bytes.fromhex(opening["key"])).hex() != said["weights_digest"]:
        problems.append("the weights are not those that the certificate speaks of")
    return problems


def root_of(leaf, index, count, path):
    """None where the path has another length."""
    path = list(path)
    while count > 1:
        if index ^ 1 < count:
            if not path:
                return None
            sibling = path.pop(0)
            leaf = blake(b"\x01" + (leaf + sibling if index % 2 == 0 else sibling + leaf))
        index, count = index // 2, (count + 1) // 2
    return None if path else leaf


RECEIPT_MEMBERS = {"format", "solver", "certificate", "request", "status", "reason", "sequence", "nonce", "path", "digest"}


def committed(receipt):
    """Kind and text of a receipt's leaf, which binds what became of the request; (None, what is wrong) where it is none."""
    text = receipt["request"]
    if receipt["format"] == "unweave receipt 1":  # of before, and silent of the outcome
        if "status" in receipt or "reason" in receipt:
            return None, "receipts of its format say nothing of the outcome, and it does"
        return (None, "its request is none") if "\t" in text else (b"\x00", text)
    if receipt["format"] != "unweave receipt 2":
        return None, "this is no receipt"
    outcome = [receipt["status"]] + ([receipt["reason"]] if "reason" in receipt else [])
    if "\t" in text or not (outcome == ["applied"] or len(outcome) == 2 and outcome[0] == "rejected" and
                            re.fullmatch("[a-z-]+", outcome[1])):
        return None, "its status is neither applied nor rejected for a reason"
    return b"\x02", "\t".join([text] + outcome)


def receipt_problem(receipt, lines):
    """What is wrong with a receipt against a log that was checked, or nothing."""
    held = [said for said in map(read_json, lines) if said["number"] == receipt["certificate"]]
    if not held or held[0]["digest"] != receipt["digest"]:
        return "its certificate is not in the log"
    if set(receipt) - RECEIPT_MEMBERS:
        return "it has a member that no receipt has"
    if receipt["solver"] != held[0]["solver"]:
        return "its solver is not that of its certificate"
    batch = held[0]["batch"]
    if batch is None or batch["root"] is None or not batch["first"] <= receipt["sequence"] <= batch["last"]:
        return "its certificate commits to no such request"
    kind, text = committed(receipt)
    if kind is None:
        return text
    leaf = blake(kind + bytes.fromhex(receipt["nonce"]) + text.encode())
    root = root_of(leaf, receipt["sequence"] - batch["first"], batch["last"] - batch["first"] + 1,
                   map(bytes.fromhex, receipt["path"]))
    return "" if root == bytes.fromhex(batch["root"]) else "its certificate does not cover this request with this outcome"


def say(text, file=None):
    """Prints a line. What it holds of a log may be anything, and a terminal obeys some characters: these are shown as escapes."""
    print("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text)), file=file)


def note_unproved(lines, public_key):
    """Says on standard error what lines that are all in order do not prove."""
    said = [read_json(line) for line in lines]
    if not public_key:
        say(f"note: signed under {said[0]['public_key']}, a key that only this file names: whoever writes another file "
            "signs it under a key of their own; give the one that the first training printed, by --public-key", sys.stderr)
    bare = [str(number) for number, line in enumerate(said, 1) if line.get("certified") is False]
    if bare:
        say("note: certificates that say themselves that they are not certified, so that no theorem stands behind "
            "these releases: " + ", ".join(bare), sys.stderr)


def report(program, check):
    """Prints what check() finds false; the exit code: 0 nothing, 1 something, 2 what it reads cannot be read."""
    try:
        false = check()
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        say(f"{program}: {type(error).__name__}: {error}", sys.stderr)
        return 2
    for text in false:
        say(text)
    return 1 if false else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", type=pathlib.Path)
    parser.add_argument("--public-key")
    parser.add_argument("--receipts", type=pathlib.Path)
    parser.add_argument("--model", type=pathlib.Path)
    given = parser.parse_args()

    def check():
        lines = read_lines(given.log)
        if given.model:
            intercept = read_json(lines[0])["constants"].get("intercept", {"value": False})["value"]
            false = check_export(lines, read_weights(given.model, intercept), given.public_key)
            if not false:
                note_unproved(lines[:1], given.public_key)
            return false
        false = check_log(lines, given.public_key)
        if given.receipts and not false:
            told = collections.Counter()
            for number, text in enumerate(read_lines(given.receipts), 1):
                receipt = read_json(text)
                problem = receipt_problem(receipt, lines)
                false += [f"receipt {number}: {problem}"] if problem else []
                told[receipt.get("status", "without a status")] += 1
            if not false:
                say("receipts: " + ", ".join(f"{count} {status}" for status, count in sorted(told.items())))
        if not false:
            note_unproved(lines, given.public_key)
        return false

    return report("certificate_trail", check)


if __name__ == "__main__":
    sys.exit(main())
