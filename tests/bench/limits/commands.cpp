// tests/bench/limits/commands.cpp - the table of benchmarks, and what each of them prints.
#include "bench/limits/commands.h"

#include <filesystem>
#include <string>
#include <vector>

#include "bench/limits/bench_decode.h"
#include "bench/limits/bench_gather.h"
#include "bench/limits/bench_import.h"
#include "bench/limits/bench_propagate.h"
#include "bench/limits/bench_stream.h"
#include "bench/limits/directed_store.h"
#include "engine/resources/temporary_folder.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "tools/cli/output.h"
#include "tools/cli/step_progress.h"
#include "unweave/ingest.h"

namespace unweave {
namespace {

std::uint64_t count_within(const CommandLine& line, const std::string& option, std::uint64_t least,
                           std::uint64_t most) {
  const std::uint64_t value = line.get<Count>(option).value;
  if (value < least || value > most)
    throw UsageError("--" + option + " " + std::to_string(value) + ": from " + std::to_string(least) + " to " +
                     std::to_string(most));
  return value;
}

/// Options of the R-MAT graph that is made where none is named, and of the runs.
void add_graph_options(CommandLine& line) {
  auto add = line.options().add_options();
  add("scale", po::value<Count>()->value_name("S")->default_value({20}), "R-MAT graph of 2^S nodes, 1 to 31");
  add("edge-factor", po::value<Count>()->value_name("E")->default_value({16}), "edges a node, before duplicates drop");
  add("repeats", po::value<Count>()->value_name("R")->default_value({3}),
      "runs of the work and of the limit in turns; the best of each counts");
}

void add_sweep_options(CommandLine& line) {
  auto add = line.options().add_options();
  add("features", po::value<Count>()->value_name("F")->default_value({128}), "columns");
  add("hops", po::value<Count>()->value_name("L")->default_value({2}), "levels");
}

/// What the options of add_graph_options() say, and of add_sweep_options() where there are these.
GatherBenchOptions bench_options(const CommandLine& line) {
  GatherBenchOptions options;
  options.scale = static_cast<int>(count_within(line, "scale", 1, 31));
  options.edge_factor = count_within(line, "edge-factor", 1, 1 << 20);
  if (line.has("features")) options.features = count_within(line, "features", 1, std::uint64_t{1} << 32);
  if (line.has("hops")) options.hops = static_cast<int>(count_within(line, "hops", 1, 16));
  options.repeats = static_cast<int>(count_within(line, "repeats", 1, 1000));
  options.seed = line.common().seed.value_or(1);
  return options;
}

/// Options of a graph that is made where another one is named.
void refuse_graph_options(const CommandLine& line) {
  for (const char* const option : {"scale", "edge-factor", "features"})
    if (line.given(option))
      throw UsageError("--" + std::string(option) + " is for the graph made where no other is named");
}

void bench_gather(CommandLine& line) {
  line.describe("Times a sweep in memory over an R-MAT graph, against sums over its uncompressed lists.", {},
                "unweave_bench gather --scale 16 --features 32");
  add_graph_options(line);
  add_sweep_options(line);
  if (!line.parse()) return;
  const GatherBenchOptions options = bench_options(line);
  Resources resources({line.common().memory_bytes});
  const GatherBench result = run_bench_gather(options, resources.memory());
  Figures figures{{{"bench", "gather"}}, Table({"gather", ""})};
  figures.count("nodes", "nodes", result.nodes);
  figures.count("arcs", "arcs", result.arcs);
  figures.count("features", "features", options.features);
  figures.count("threads", "threads", result.threads);
  figures.add("vector_target", "vector extension", result.vector_target, result.vector_target);
  figures.number("triad_bytes_per_second", "triad, bytes a second", result.triad_bytes_per_second);
  figures.number("limit_arc_features_per_second", "limit: uncompressed gather, arc features a second",
                 result.limit_per_second);
  figures.number("sweep_arc_features_per_second", "sweep in memory, arc features a second", result.sweep_per_second);
  figures.number("ratio", "ratio", result.ratio());
  figures.number("short_sweep_arc_features_per_second", "the same with 16-bit densities",
                 result.short_sweep_per_second);
  figures.number("check_ratio", "time with checks of the sums, over that without", result.check_ratio);
  figures.print(line.out(), line.common().json);
}

/// What decode, propagate and stream measure where no STORE is named.
void make_rmat_store(const CommandLine& line, const std::filesystem::path& folder, const GatherBenchOptions& graph,
                     std::uint32_t features, MemoryBudget& budget) {
  GenerateOptions rmat;
  rmat.scale = graph.scale;
  rmat.edge_factor = graph.edge_factor;
  rmat.features = features;
  rmat.classes = 0;
  rmat.seed = graph.seed;
  StepProgress progress(line.error(), line.shows_progress());
  generate_store(folder, rmat, budget, progress);
  progress.finish();
}

DecodeBench decode_bench(const CommandLine& line, const GatherBenchOptions& graph, MemoryBudget& budget) {
  const DecodeBenchOptions options{graph.repeats, graph.seed};
  if (line.has_positional(0)) return run_bench_decode(line.positional(0), options, budget);
  const TemporaryFolder folder;
  if (line.has("directed")) {
    write_directed_store(folder.path(), {line.get<std::string>("directed"), {}}, budget);
    return run_bench_decode(folder.path(), options, budget);
  }
  make_rmat_store(line, folder.path(), graph, 0, budget);
  return run_bench_decode(folder.path(), options, budget);
}

Figures figures_of(const DecodeBench& result) {
  Figures figures{{{"bench", "decode"}}, Table({"store", ""})};
  figures.count("nodes", "nodes", result.nodes);
  figures.count("arcs", "arcs", result.arcs);
  figures.count("blocks", "blocks with arcs", result.blocks);
  figures.count("zstd_blocks", "of them by zstd", result.zstd_blocks);
  figures.number("bits_per_arc", "bits per arc", result.bits_per_arc.total());
  figures.number("degree_bits_per_arc", "  degrees", result.bits_per_arc.degrees);
  figures.number("offset_bits_per_arc", "  offsets of blocks", result.bits_per_arc.offsets);
  figures.number("block_bits_per_arc", "  blocks", result.bits_per_arc.blocks);
  figures.number("container_bits_per_arc", "  headers and checksums", result.bits_per_arc.container);
  figures.number("random_list_mean_arcs", "random list: arcs", result.mean_list_arcs);
  figures.number("random_list_mean_block_bytes", "random list: bytes of its block", result.mean_list_block_bytes);
  figures.json["threads"] = result.threads;
  figures.table.add_row({""});
  figures.table.add_row({"a second", "one thread", "threads: " + count_text(result.threads)});
  const auto add = [&](const char* name, const char* label, const BenchRate& rate) {
    figures.json[name] = {{"one_thread", rate.one}, {"all_threads", rate.all}};
    figures.table.add_row({label, number_text(rate.one), number_text(rate.all)});
  };
  add("decode_arcs_per_second", "arcs decoded and added up in cache", result.decode);
  add("memory_sum_arcs_per_second", "limit: uncompressed ids added up from memory", result.memory_sum);
  add("cache_sum_arcs_per_second", "the same from cache", result.cache_sum);
  add("ratio", "ratio to memory", result.ratio_to(result.memory_sum));
  add("cache_ratio", "ratio to cache", result.ratio_to(result.cache_sum));
  add("random_lists_per_second", "lists of random nodes", result.lists);
  add("encode_arcs_per_second", "arcs encoded", result.encode);
  return figures;
}

template <class Result>
void print(const CommandLine& line, const Result& result) {
  figures_of(result).print(line.out(), line.common().json);
}

void bench_decode(CommandLine& line) {
  line.describe(
      "Measures the shards of a graph, as STORE's last generation or a temporary R-MAT store has them: bits an arc, rates\n"
      "of decoding blocks and single lists and of encoding, against adding up uncompressed ids.",
      {"[STORE]"}, "unweave_bench decode --scale 16");
  add_graph_options(line);
  line.options().add_options()("directed", po::value<std::string>()->value_name("F"),
                               "the arcs of this file as they stand, not made undirected; as --edges of import");
  if (!line.parse()) return;
  if (line.has_positional(0) && line.has("directed")) throw UsageError("a STORE and --directed: give one of them");
  if (line.has_positional(0) || line.has("directed")) refuse_graph_options(line);
  Resources resources({line.common().memory_bytes});
  print(line, decode_bench(line, bench_options(line), resources.memory()));
}

std::uint32_t columns_option(const CommandLine& line) {
  return static_cast<std::uint32_t>(count_within(line, "features", 1, 1 << 20));
}

void bench_import(CommandLine& line) {
  line.describe(
      "Times imports of a .npy file of R-MAT edges into a durable store. Limit: the bytes that it moved, input once,\n"
      "spooled arcs out and back once, shards, moved by the same calls and threads and not looked at. With little\n"
      "--memory arcs are spooled. What the system has in its cache it has for both.",
      {}, "unweave_bench import --scale 16 --memory 256M");
  add_graph_options(line);
  if (!line.parse()) return;
  const GatherBenchOptions graph = bench_options(line);
  Resources resources({line.common().memory_bytes});
  const TemporaryFolder folder;
  StepProgress progress(line.error(), line.shows_progress());
  const ImportBench result = run_bench_import(
      folder.path(), {graph.scale, graph.edge_factor, graph.repeats, graph.seed}, resources.memory(), progress);
  progress.finish();
  print(line, result);
}

void bench_propagate(CommandLine& line) {
  line.describe(
      "Times (arcs + nodes) x features x hops of a whole propagation of all rows, of STORE's last generation or a\n"
      "temporary R-MAT store, into a temporary generation, with reading of features and syncs, and of its sweep alone.\n"
      "Limit: sums over the uncompressed lists of this graph, in tiles as wide. STORE is only read.",
      {"[STORE]"}, "unweave_bench propagate --scale 15 --features 64");
  add_graph_options(line);
  add_sweep_options(line);
  if (!line.parse()) return;
  if (line.has_positional(0)) refuse_graph_options(line);
  const GatherBenchOptions graph = bench_options(line);
  const std::uint32_t columns = columns_option(line);
  Resources resources({line.common().memory_bytes});
  // Beside a store its files need no copies.
  const TemporaryFolder folder(line.has_positional(0)
                                   ? std::filesystem::absolute(resolved(line.positional(0))).parent_path()
                                   : temporary_path());
  if (!line.has_positional(0))
    make_rmat_store(line, folder.path(), graph, columns, resources.memory());
  else if (line.given("seed"))
    throw UsageError("--seed is for the graph made where no other is named");
  else
    link_store(line.positional(0), folder.path(), resources.memory());
  print(line,
        run_bench_propagate(folder.path(), static_cast<std::uint32_t>(graph.hops), graph.repeats, resources.memory()));
}

void bench_stream(CommandLine& line) {
  line.describe(
      "Times batches of removals of edges, drawn uniformly, exact, from a temporary R-MAT store: from the requests to\n"
      "durable, with the share of the last level, which is brought up to date once at the end as `stream` does; not the\n"
      "checkpoint after it. Arcs a second are those that the batches visited. Limit: these arcs at the rate of sums over\n"
      "uncompressed lists, and the rows that were touched at the rate of copying rows from random places to others.",
      {}, "unweave_bench stream --scale 15 --batch 1000 --batches 3 --json");
  add_graph_options(line);
  add_sweep_options(line);
  auto add = line.options().add_options();
  add("batch", po::value<Count>()->value_name("K")->default_value({1000}), "removals a batch");
  add("batches", po::value<Count>()->value_name("B")->default_value({3}), "batches");
  if (!line.parse()) return;
  const GatherBenchOptions graph = bench_options(line);
  StreamBenchOptions options;
  options.seed = graph.seed;
  options.hops = static_cast<std::uint32_t>(graph.hops);
  options.batch = count_within(line, "batch", 1, std::uint64_t{1} << 32);
  options.batches = count_within(line, "batches", 1, 1 << 20);
  options.repeats = graph.repeats;
  const std::uint32_t columns = columns_option(line);
  Resources resources({line.common().memory_bytes});
  const TemporaryFolder folder;
  const std::filesystem::path store = folder.path() / "made";
  make_rmat_store(line, store, graph, columns, resources.memory());
  print(line, run_bench_stream(store, folder.path() / "run", options, resources.memory()));
}

}  // namespace

std::span<const Command> bench_commands() {
  static const std::vector<Command> table = {
      {"gather", "a sweep in memory, against sums over uncompressed lists", bench_gather},
      {"decode", "sizes and rates of compressed lists", bench_decode},
      {"import", "from edges to a store, against moving the same bytes", bench_import},
      {"propagate", "a whole propagation, against sums over uncompressed lists", bench_propagate},
      {"stream", "batches of removals, against their sums and moves alone", bench_stream},
  };
  return table;
}

}  // namespace unweave
