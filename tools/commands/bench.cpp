// tools/commands/bench.cpp - `unweave bench NAME`: figures beside the machine's limit, measured in the same run.
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "engine/resources/temporary_folder.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/nearest_name.h"
#include "tools/bench/bench_decode.h"
#include "tools/bench/bench_gather.h"
#include "tools/bench/bench_import.h"
#include "tools/bench/bench_propagate.h"
#include "tools/bench/bench_stream.h"
#include "tools/bench/directed_store.h"
#include "tools/cli/output.h"
#include "tools/cli/step_progress.h"
#include "tools/commands/commands.h"
#include "unweave/ingest.h"

namespace unweave {
namespace {

std::uint64_t count_within(const CommandLine& line, const std::string& option, std::uint64_t least,
                           std::uint64_t most) {
  const std::uint64_t value = line.get<Count>(option).value;
  if (value < least || value > most)
    throw UsageError("bench: --" + option + " " + std::to_string(value) + ": from " + std::to_string(least) + " to " +
                     std::to_string(most));
  return value;
}

/// What all benchmarks take: the R-MAT graph, runs, seed.
GatherBenchOptions bench_options(const CommandLine& line) {
  GatherBenchOptions options;
  options.scale = static_cast<int>(count_within(line, "scale", 1, 31));
  options.edge_factor = count_within(line, "edge-factor", 1, 1 << 20);
  options.features = count_within(line, "features", 1, std::uint64_t{1} << 32);
  options.hops = static_cast<int>(count_within(line, "hops", 1, 16));
  options.repeats = static_cast<int>(count_within(line, "repeats", 1, 1000));
  options.seed = line.common().seed.value_or(1);
  return options;
}

/// Options of a graph that is made where another one is named.
void refuse_graph_options(const CommandLine& line, const std::string& name) {
  for (const char* const option : {"scale", "edge-factor", "features"})
    if (line.given(option))
      throw UsageError("bench " + name + ": --" + option + " is for the graph made where no other is named");
}

void bench_gather(const CommandLine& line) {
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
  if (line.has_positional(1)) return run_bench_decode(line.positional(1), options, budget);
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

void bench_decode(const CommandLine& line) {
  if (line.has_positional(1) && line.has("directed"))
    throw UsageError("bench decode: a STORE and --directed: give one of them");
  if (line.has("directed")) refuse_graph_options(line, "decode");
  Resources resources({line.common().memory_bytes});
  print(line, decode_bench(line, bench_options(line), resources.memory()));
}

std::uint32_t columns_option(const CommandLine& line) {
  return static_cast<std::uint32_t>(count_within(line, "features", 1, 1 << 20));
}

void bench_import(const CommandLine& line) {
  const GatherBenchOptions graph = bench_options(line);
  Resources resources({line.common().memory_bytes});
  const TemporaryFolder folder;
  StepProgress progress(line.error(), line.shows_progress());
  const ImportBench result = run_bench_import(
      folder.path(), {graph.scale, graph.edge_factor, graph.repeats, graph.seed}, resources.memory(), progress);
  progress.finish();
  print(line, result);
}

void bench_propagate(const CommandLine& line) {
  const GatherBenchOptions graph = bench_options(line);
  const std::uint32_t columns = columns_option(line);
  Resources resources({line.common().memory_bytes});
  // Beside a store its files need no copies.
  const TemporaryFolder folder(line.has_positional(1)
                                   ? std::filesystem::absolute(resolved(line.positional(1))).parent_path()
                                   : temporary_path());
  if (!line.has_positional(1))
    make_rmat_store(line, folder.path(), graph, columns, resources.memory());
  else if (line.given("seed"))
    throw UsageError("bench propagate: --seed is for the graph made where no other is named");
  else
    link_store(line.positional(1), folder.path(), resources.memory());
  print(line,
        run_bench_propagate(folder.path(), static_cast<std::uint32_t>(graph.hops), graph.repeats, resources.memory()));
}

void bench_stream(const CommandLine& line) {
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

struct Benchmark {
  std::string name;
  void (*run)(const CommandLine& line);
  bool takes_store;
  std::set<std::string> options;  ///< beside those that all have: scale, edge-factor, repeats
};

const std::vector<Benchmark>& all_benchmarks() {
  static const std::vector<Benchmark> all{{"gather", bench_gather, false, {"features", "hops"}},
                                          {"decode", bench_decode, true, {"directed"}},
                                          {"import", bench_import, false, {}},
                                          {"propagate", bench_propagate, true, {"features", "hops"}},
                                          {"stream", bench_stream, false, {"features", "hops", "batch", "batches"}}};
  return all;
}

/// Names of the benchmarks that `has` is true of, with commas.
template <class Has>
std::string names_of(const Has& has) {
  std::string names;
  for (const Benchmark& one : all_benchmarks())
    if (has(one)) names += (names.empty() ? "" : ", ") + one.name;
  return names;
}

void refuse_foreign_options(const CommandLine& line, const Benchmark& benchmark) {
  for (const char* const option : {"features", "hops", "directed", "batch", "batches"})
    if (line.given(option) && !benchmark.options.contains(option))
      throw UsageError("bench " + benchmark.name + ": --" + option + " belongs to bench " +
                       names_of([&](const Benchmark& one) { return one.options.contains(option); }));
  if (!line.has_positional(1)) return;
  if (!benchmark.takes_store)
    throw UsageError("bench " + benchmark.name + ": makes its graph itself and takes no STORE");
  refuse_graph_options(line, benchmark.name);
}

}  // namespace

void run_bench(CommandLine& line) {
  line.describe(
      "Measures one part of the engine beside the machine's limit in the same run. What it makes lies in a folder\n"
      "unweave-bench-* of TMPDIR (/tmp), which goes with the process, also when it is killed. A STORE that is named\n"
      "is only read.\n"
      "gather: a sweep in memory over an R-MAT graph, against sums over uncompressed lists.\n"
      "decode: the graph's shards, as STORE's last generation or a temporary R-MAT store has them: bits an arc, rates\n"
      "of decoding blocks and single lists and of encoding, against adding up uncompressed ids; with --directed,\n"
      "those of a file's arcs, which are not made undirected.\n"
      "import: arcs a second from a .npy file of R-MAT edges to a durable store. Limit: the bytes that it moved,\n"
      "input once, spooled arcs out and back once, shards, moved by the same calls and threads and not looked at.\n"
      "With little --memory arcs are spooled. What the system has in its cache it has for both.\n"
      "propagate: (arcs + nodes) x features x hops a second of a whole propagation of all rows, of STORE's last\n"
      "generation or a temporary R-MAT store, into a temporary generation, with reading of features and syncs, and of\n"
      "its sweep alone. Limit: sums over the uncompressed lists of this graph, in tiles as wide.\n"
      "stream: batches of removals of edges, drawn uniformly, exact, from a temporary R-MAT store: seconds a batch,\n"
      "from the requests to durable, with its share of the last level, which is brought up to date once at the end as\n"
      "`stream` does; not the checkpoint after it. Arcs a second are those that the batches visited. Limit: these\n"
      "arcs at the rate of sums over uncompressed lists, and the rows that were touched at the rate of copying rows\n"
      "from random places of memory to others.",
      {"NAME", "[STORE]"},
      "unweave bench decode --scale 16\n"
      "  unweave bench import --scale 16 --memory 256M\n"
      "  unweave bench propagate --scale 15 --features 64\n"
      "  unweave bench stream --scale 15 --batch 1000 --batches 3 --json");
  auto add = line.options().add_options();
  add("scale", po::value<Count>()->value_name("S")->default_value({20}), "R-MAT graph of 2^S nodes, 1 to 31");
  add("edge-factor", po::value<Count>()->value_name("E")->default_value({16}), "edges a node, before duplicates drop");
  add("features", po::value<Count>()->value_name("F")->default_value({128}), "columns, for gather, propagate, stream");
  add("hops", po::value<Count>()->value_name("L")->default_value({2}), "levels, for gather, propagate, stream");
  add("directed", po::value<std::string>()->value_name("F"),
      "arcs to encode as they stand, for decode; as --edges of import");
  add("batch", po::value<Count>()->value_name("K")->default_value({1000}), "removals a batch, for stream");
  add("batches", po::value<Count>()->value_name("B")->default_value({3}), "batches, for stream");
  add("repeats", po::value<Count>()->value_name("R")->default_value({3}),
      "runs of the work and of the limit in turns; the best of each counts");
  std::vector<std::string> names;
  for (const Benchmark& benchmark : all_benchmarks()) names.push_back(benchmark.name);
  line.set_choices("NAME", names);
  if (!line.parse()) return;
  const std::string& name = line.positional(0);
  for (const Benchmark& benchmark : all_benchmarks()) {
    if (benchmark.name != name) continue;
    refuse_foreign_options(line, benchmark);
    return benchmark.run(line);
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  throw UsageError("bench: no benchmark named '" + name + "'" + did_you_mean(name, known) +
                   "; known: " + names_of([](const Benchmark&) { return true; }));
}

}  // namespace unweave
