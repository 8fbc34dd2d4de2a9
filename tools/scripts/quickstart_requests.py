# tools/scripts/quickstart_requests.py - random removals from the Debian graph, the same on every machine.
#
#   zstdcat edges.tsv.zst | python3 tools/scripts/quickstart_requests.py COUNT NODES > requests.txt
#
# Of 100 requests about 90 remove an edge, 5 a node and 5 the features of a node. No request names what an earlier one
# has removed, so that every one can be applied.
import random
import sys


def main():
    count, nodes = int(sys.argv[1]), int(sys.argv[2])
    edges = {tuple(sorted(map(int, line.split()))) for line in sys.stdin}
    edges = sorted((u, v) for u, v in edges if u != v)
    draw = random.Random(0).random  # random() alone is promised to give the same numbers in every version of Python
    used, removed = set(), set()
    while count > 0:
        kind = draw()
        if kind < 0.9:
            edge = edges[int(draw() * len(edges))]
            if edge in used or not removed.isdisjoint(edge):
                continue
            used.add(edge)
            print("edge", *edge)
        else:
            node = int(draw() * nodes)
            if node in used or node in removed:
                continue
            if kind < 0.95:
                removed.add(node)
            else:
                used.add(node)
            print("node" if kind < 0.95 else "feature", node)
        count -= 1


main()
