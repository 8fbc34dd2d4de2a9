// tools/bench/import_limit.cpp - measures a small import's limit, and compares each step with it.
#include "tools/bench/import_limit.h"

#include <algorithm>
#include <bit>

#include "engine/graph/store.h"
#include "engine/resources/temporary_folder.h"
#include "storage/io/entry.h"

namespace unweave {
namespace {

constexpr const char* kLimitFolder = "graph";
constexpr int kLeastLimitScale = 14, kMostScale = 20;
constexpr std::uint64_t kEdgeFactor = 16;
constexpr std::uint64_t kEdgeBytes = 8;  // an edge, in a file whose edges are not counted: packed text, 32-bit arrays
constexpr std::uint64_t kLeastBudget = std::uint64_t{64} << 20;

/// About how many edges the files have; no number where nothing tells.
std::optional<std::uint64_t> expected_edges(const ImportOptions& options) {
  if (options.stated_edges) return options.stated_edges->count;
  std::error_code error;
  if (!options.edges || !std::filesystem::is_regular_file(options.edges->path, error)) return std::nullopt;
  return std::filesystem::file_size(options.edges->path, error) / kEdgeBytes;
}

}  // namespace

ImportBench measure_import_limit(const std::filesystem::path& named, const ImportOptions& options,
                                 MemoryBudget& budget) {
  const std::filesystem::path store = resolved(named);
  const WriterLock lock = start_building(store, !options.restart);  // what is kept is for the import itself
  const std::uint64_t edges = expected_edges(options).value_or(kEdgeFactor << kMostScale);
  ImportBenchOptions bench;
  bench.scale = std::clamp(static_cast<int>(std::bit_width(edges / kEdgeFactor)) - 1, kLeastLimitScale, kMostScale);
  bench.edge_factor = kEdgeFactor;
  bench.repeats = 2;
  const double share = std::min(1.0, static_cast<double>(kEdgeFactor << bench.scale) / static_cast<double>(edges));
  const auto part = static_cast<std::uint64_t>(share * static_cast<double>(budget.available()));
  MemoryBudget own(std::min(budget.available(), std::max(part, kLeastBudget)));
  // In a folder of the store, so that whoever builds next removes what a kill leaves of it.
  make_folder(store / kLimitFolder);
  const TemporaryFolder folder(store / kLimitFolder);
  WorkMeter nobody;
  return run_bench_import(folder.path(), bench, own, nobody);
}

void ImportMeter::start(std::string_view step, std::uint64_t total, std::string_view unit) {
  seconds_ = bounded_seconds();
  start_ = Clock::now();
  counts_edges_ = step == "edges";
  is_bounded_ = counts_edges_ || step == "graph";
  shown_.start(step, total, unit, limit_of(step, total));
}

void ImportMeter::add(std::uint64_t count) noexcept {
  if (counts_edges_) edges_ += count;
  shown_.advance(count);
}

double ImportMeter::bounded_seconds() const {
  return is_bounded_ ? seconds_ + seconds_since(start_) : seconds_;
}

/// Edges or nodes a second; 0 if that is not known.
double ImportMeter::limit_of(std::string_view step, std::uint64_t total) const {
  if (!limit_ || !is_bounded_) return 0;
  if (step == "edges") return static_cast<double>(limit_->edges_read) / limit_->limit_read_seconds;
  if (edges_ == 0) return 0;
  const double nodes_of_arc = static_cast<double>(total) / static_cast<double>(2 * edges_);
  return nodes_of_arc * static_cast<double>(limit_->arcs) / (limit_->limit_seconds - limit_->limit_read_seconds);
}

}  // namespace unweave
