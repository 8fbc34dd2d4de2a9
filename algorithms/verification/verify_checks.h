// algorithms/verification/verify_checks.h - the groups of checks behind verify_store(), each with
// its own file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/live/live_store.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/propagation/embedding.h"
#include "algorithms/verification/verify.h"
#include "engine/graph/contents.h"
#include "engine/resources/memory.h"
#include "storage/io/types.h"
#include "storage/types/propagation_spec.h"

namespace unweave {

struct EarlierRelease;
struct Manifest;

/// What a check looks at and where it reports.
struct VerifyContext {
  const Contents& contents;
  const Embedding* embedding;  ///< null before `propagate`
  const VerifyOptions& options;
  MemoryBudget& budget;
  VerifyReport& report;
};

/// False statements of one check: the first few in the order of their keys, whatever thread found
/// them, and how many more there are. add() may run on any number of threads.
class FalseStatements {
 public:
  void add(std::uint64_t key, std::string text);
  [[nodiscard]] bool full() const;
  void report_to(VerifyReport& report, std::string_view check) const;

 private:
  static constexpr std::size_t kShown = 20;
  mutable std::mutex mutex_;
  std::set<std::pair<std::uint64_t, std::string>> first_;
  std::uint64_t total_ = 0;
};

/// What a fresh propagation of so many rows, in such tiles, has found.
void report_rebuild(VerifyReport& report, std::uint64_t rows, const TilePlan& plan, const FalseStatements& wrong);

/// At most options.sample nodes among those with keep(node), spread evenly over them, sorted.
template <class Keep>
[[nodiscard]] std::vector<NodeId> sample_nodes(const VerifyContext& context, std::uint64_t kept, const Keep& keep);

/// Whether check_propagation() reads every byte of features and sums, so that these need not be
/// read before.
[[nodiscard]] bool is_read_by_proof(const Manifest& manifest);
enum class FileShare { all, others, read_by_proof };
void check_files(const std::filesystem::path& store, const Manifest& manifest, FileShare share, VerifyReport& report);
/// What is still to be said of the files that check_propagation() has read, by the objects that it
/// has read them with.
void check_read_files(const std::filesystem::path& store, const Manifest& manifest, const Embedding& embedding,
                      VerifyReport& report);
void check_graph(const VerifyContext& context);
/// That a graph of a store is undirected, without loops, and has as many edges as its manifest
/// says; its arcs are added to `all_arcs`.
void check_lists(const VerifyContext& context, const Graph& graph, std::string_view check, std::uint64_t& all_arcs);
void check_target_lists(const VerifyContext& context);
void check_splits(const VerifyContext& context);
/// Where links are predicted: every edge is where the role of its pair puts it, and the edges that
/// are held out of the graph are undirected without loops.
void check_pairs(const VerifyContext& context);
/// Where nodes have copies.
void check_layers(const VerifyContext& context);
/// Where nodes belong to whole graphs.
void check_whole_graphs(const VerifyContext& context);
void check_cone(const VerifyContext& context);
void check_stale(const VerifyContext& context);
/// All sums of all levels by one identity each, in one pass; blame_sums() where one fails, and
/// check_some_sums() where the budget has no room for that.
void check_propagation(const VerifyContext& context);
/// The sums of a sample of rows, one by one.
void check_some_sums(const VerifyContext& context);
/// Finds, row by row, which partitions of a level have sums that are not those of their terms.
void blame_sums(const VerifyContext& context, std::uint32_t level);
void check_rebuild(const VerifyContext& context);

// What these checks do where rows are kept in place of sums (verify_rows.cpp).

void check_kept_members(const VerifyContext& context);
/// All kept rows at once: a random combination of their columns against the propagation of that
/// combination of the features, in float64, within what rounding explains (PROPAGATION.md).
void check_kept_rows(const VerifyContext& context);
/// All kept rows, bit for bit, against a fresh propagation with these options, which lack the check
/// of the sums.
void rebuild_kept_rows(const VerifyContext& context, const SweepSpec& sweep);

struct ReadModels {
  std::vector<ModelRecord> records;
  std::vector<Reservation> memory;  ///< what each of them takes
};
/// Reads every model file and every log of certificates in full, and reports what is damaged and
/// where the two contradict each other. Returns the models that can be read. Throws ResourceError.
[[nodiscard]] ReadModels read_models(const std::filesystem::path& store, const Manifest& manifest,
                                     const VerifyOptions& options, MemoryBudget& budget, VerifyReport& report);
/// Certificates and releases of these models against the store's present moment.
void check_models(const std::vector<ModelRecord>& models, const LiveStore& store, const VerifyOptions& options,
                  MemoryBudget& budget, VerifyReport& report);

/// What the certificate of a model's last release says of itself and of the model, from public
/// numbers alone.
void check_certificate(const ModelRecord& record, const LiveStore& store, VerifyReport& report);
/// The published weights against the rows that the model stands on: the present ones, exact. The
/// certificate must have passed check_certificate().
void check_release(const ModelRecord& record, const LiveStore& store, const TrainingSet& rows,
                   const EarlierRelease* before, MemoryBudget& budget, VerifyReport& report);

template <class Keep>
std::vector<NodeId> sample_nodes(const VerifyContext& context, std::uint64_t kept, const Keep& keep) {
  const std::uint64_t wanted = context.options.sample.value_or(kept);
  const std::uint64_t stride = wanted == 0 ? 0 : (kept + wanted - 1) / wanted;
  std::vector<NodeId> nodes;
  if (stride == 0) return nodes;
  std::uint64_t left = context.options.seed % stride;  // kept nodes to pass before the next one
  for (NodeId node = 0; node < context.contents.num_nodes(); ++node) {
    if (!keep(node)) continue;
    if (left == 0) nodes.push_back(node);
    left = left == 0 ? stride - 1 : left - 1;
  }
  return nodes;
}

}  // namespace unweave
