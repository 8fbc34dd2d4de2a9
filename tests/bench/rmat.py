# tests/bench/rmat.py - what the benchmarks on an R-MAT graph share: their options, and the store.


def add_arguments(parser, repeat):
    """The options of both; `repeat` says what is repeated."""
    parser.add_argument("--unweave", required=True)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--edge-factor", type=int, default=16)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--hops", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3, help=repeat)
    parser.add_argument("--work", help="folder for the stores")


def generate(run, args, store):
    run("generate", store, "--model", "rmat", "--scale", args.scale, "--edge-factor", args.edge_factor, "--features",
        args.features, "--quiet")
