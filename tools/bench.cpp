// tools/bench.cpp - `unweave bench NAME`: figures beside the machine's limit, measured in the same run.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "algorithms/generate.h"
#include "storage/error.h"
#include "tools/bench_decode.h"
#include "tools/bench_gather.h"
#include "tools/commands.h"
#include "tools/directed_store.h"
#include "tools/output.h"
#include "tools/step_progress.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

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

void bench_gather(const CommandLine& line) {
  if (line.has_positional(1)) throw UsageError("bench gather: makes its graph itself and takes no STORE");
  if (line.given("directed")) throw UsageError("bench gather: --directed belongs to bench decode");
  const GatherBenchOptions options = bench_options(line);
  MemoryBudget budget(line.budget_bytes());
  const GatherBench result = run_bench_gather(options, budget);
  if (line.common().json)
    return write_json_line(line.out(), {{"bench", "gather"},
                                        {"nodes", result.nodes},
                                        {"arcs", result.arcs},
                                        {"features", options.features},
                                        {"threads", result.threads},
                                        {"vector_target", result.vector_target},
                                        {"triad_bytes_per_second", result.triad_bytes_per_second},
                                        {"limit_arc_features_per_second", result.limit_per_second},
                                        {"sweep_arc_features_per_second", result.sweep_per_second},
                                        {"ratio", result.ratio()},
                                        {"short_sweep_arc_features_per_second", result.short_sweep_per_second}});
  Table table({"gather", ""});
  table.add_row({"nodes", count_text(result.nodes)});
  table.add_row({"arcs", count_text(result.arcs)});
  table.add_row({"threads", count_text(result.threads)});
  table.add_row({"vector extension", result.vector_target});
  table.add_row({"triad, bytes a second", number_text(result.triad_bytes_per_second)});
  table.add_row({"limit: uncompressed gather, arc features a second", number_text(result.limit_per_second)});
  table.add_row({"sweep in memory, arc features a second", number_text(result.sweep_per_second)});
  table.add_row({"ratio", number_text(result.ratio())});
  table.add_row({"the same with 16-bit densities", number_text(result.short_sweep_per_second)});
  table.print(line.out());
}

/// A new folder where this machine keeps temporary files, removed with all it holds.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "unweave-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw_system_error("create a folder", name, errno);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

DecodeBench decode_bench(const CommandLine& line, const GatherBenchOptions& graph, MemoryBudget& budget) {
  const DecodeBenchOptions options{graph.repeats, graph.seed};
  if (line.has_positional(1)) return run_bench_decode(line.positional(1), options, budget);
  const TemporaryFolder folder;
  if (line.has("directed")) {
    write_directed_store(folder.path(), {line.get<std::string>("directed"), {}}, budget);
    return run_bench_decode(folder.path(), options, budget);
  }
  GenerateOptions rmat;
  rmat.scale = graph.scale;
  rmat.edge_factor = graph.edge_factor;
  rmat.features = 0;
  rmat.classes = 0;
  rmat.seed = graph.seed;
  StepProgress progress(line.error(), line.shows_progress());
  generate_store(folder.path(), rmat, budget, progress);
  progress.finish();
  return run_bench_decode(folder.path(), options, budget);
}

Json rate_json(const BenchRate& rate) {
  return {{"one_thread", rate.one}, {"all_threads", rate.all}};
}

Json decode_json(const DecodeBench& result) {
  return {{"bench", "decode"},
          {"nodes", result.nodes},
          {"arcs", result.arcs},
          {"blocks", result.blocks},
          {"zstd_blocks", result.zstd_blocks},
          {"threads", result.threads},
          {"bits_per_arc", result.bits_per_arc.total()},
          {"degree_bits_per_arc", result.bits_per_arc.degrees},
          {"offset_bits_per_arc", result.bits_per_arc.offsets},
          {"block_bits_per_arc", result.bits_per_arc.blocks},
          {"container_bits_per_arc", result.bits_per_arc.container},
          {"decode_arcs_per_second", rate_json(result.decode)},
          {"memory_sum_arcs_per_second", rate_json(result.memory_sum)},
          {"cache_sum_arcs_per_second", rate_json(result.cache_sum)},
          {"ratio", rate_json(result.ratio_to(result.memory_sum))},
          {"cache_ratio", rate_json(result.ratio_to(result.cache_sum))},
          {"random_lists_per_second", rate_json(result.lists)},
          {"random_list_mean_arcs", result.mean_list_arcs},
          {"random_list_mean_block_bytes", result.mean_list_block_bytes},
          {"encode_arcs_per_second", rate_json(result.encode)}};
}

void print_decode(const DecodeBench& result, std::ostream& out) {
  Table sizes({"store", ""});
  sizes.add_row({"nodes", count_text(result.nodes)});
  sizes.add_row({"arcs", count_text(result.arcs)});
  sizes.add_row({"blocks with arcs", count_text(result.blocks)});
  sizes.add_row({"of them by zstd", count_text(result.zstd_blocks)});
  sizes.add_row({"bits per arc", number_text(result.bits_per_arc.total())});
  sizes.add_row({"  degrees", number_text(result.bits_per_arc.degrees)});
  sizes.add_row({"  offsets of blocks", number_text(result.bits_per_arc.offsets)});
  sizes.add_row({"  blocks", number_text(result.bits_per_arc.blocks)});
  sizes.add_row({"  headers and checksums", number_text(result.bits_per_arc.container)});
  sizes.add_row({"random list: arcs", number_text(result.mean_list_arcs)});
  sizes.add_row({"random list: bytes of its block", number_text(result.mean_list_block_bytes)});
  sizes.print(out);
  out << '\n';
  Table rates({"a second", "one thread", "threads: " + count_text(result.threads)});
  const auto add = [&](const std::string& name, const BenchRate& rate) {
    rates.add_row({name, number_text(rate.one), number_text(rate.all)});
  };
  add("arcs decoded and added up in cache", result.decode);
  add("limit: uncompressed ids added up from memory", result.memory_sum);
  add("the same from cache", result.cache_sum);
  add("ratio to memory", result.ratio_to(result.memory_sum));
  add("ratio to cache", result.ratio_to(result.cache_sum));
  add("lists of random nodes", result.lists);
  add("arcs encoded", result.encode);
  rates.print(out);
}

void bench_decode(const CommandLine& line) {
  for (const char* const option : {"features", "hops"})
    if (line.given(option)) throw UsageError(std::string("bench decode: --") + option + " belongs to bench gather");
  if (line.has_positional(1) && line.has("directed"))
    throw UsageError("bench decode: a STORE and --directed: give one of them");
  for (const char* const option : {"scale", "edge-factor"})
    if ((line.has_positional(1) || line.has("directed")) && line.given(option))
      throw UsageError(std::string("bench decode: --") + option +
                       " is for the graph made where neither STORE nor --directed is named");
  MemoryBudget budget(line.budget_bytes());
  const DecodeBench result = decode_bench(line, bench_options(line), budget);
  if (line.common().json)
    write_json_line(line.out(), decode_json(result));
  else
    print_decode(result, line.out());
}

}  // namespace

void run_bench(CommandLine& line) {
  line.describe(
      "Measures one part of the engine beside the machine's limit in the same run.\n"
      "gather: a sweep in memory over an R-MAT graph, against sums over uncompressed lists.\n"
      "decode: the graph's shards, as STORE's last generation or a temporary R-MAT store has them: bits an arc, rates\n"
      "of decoding blocks and single lists and of encoding, against adding up uncompressed ids; with --directed,\n"
      "those of a file's arcs, which are not made undirected.",
      {"NAME", "[STORE]"}, "unweave bench decode --scale 18");
  auto add = line.options().add_options();
  add("scale", po::value<Count>()->value_name("S")->default_value({20}), "R-MAT graph of 2^S nodes, 1 to 31");
  add("edge-factor", po::value<Count>()->value_name("E")->default_value({16}), "edges a node, before duplicates drop");
  add("features", po::value<Count>()->value_name("F")->default_value({128}), "columns, for gather");
  add("hops", po::value<Count>()->value_name("L")->default_value({2}), "levels, for gather");
  add("directed", po::value<std::string>()->value_name("F"),
      "arcs to encode as they stand, for decode; as --edges of import");
  add("repeats", po::value<Count>()->value_name("R")->default_value({3}), "runs; the best one counts");
  if (!line.parse()) return;
  const std::string& name = line.positional(0);
  if (name == "gather") return bench_gather(line);
  if (name == "decode") return bench_decode(line);
  throw UsageError("bench: no benchmark named '" + name + "'; known: gather, decode");
}

}  // namespace unweave
