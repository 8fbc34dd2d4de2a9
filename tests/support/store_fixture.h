// tests/support/store_fixture.h - samples of graphs that change by set operations, and naive
// references for them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/live_store.h"
#include "storage/formats/sealed_file.h"
#include "storage/io/types.h"
#include "storage/types/file_entry.h"
#include "storage/types/request.h"

namespace unweave::testing {

/// What a store shall contain; features row-major, rows of norm at most 1; labels empty or one a
/// node.
struct Sample {
  std::string name;
  NodeId nodes = 0;
  std::set<std::pair<NodeId, NodeId>> edges;  ///< u < v
  std::uint32_t columns = 0;
  std::vector<float> features;
  std::vector<std::int32_t> labels;
  std::uint32_t classes = 0;
  std::map<std::pair<NodeId, NodeId>, std::uint32_t> weights{};  ///< what edges weigh that weigh more than 1
};

/// Random features of norm at most 1 (about a third of the entries zero) and labels for about
/// `labelled` of the nodes.
void add_features(Sample& sample, std::uint32_t columns, std::uint64_t seed, double labelled = 0.5);

/// Families: empty, single node, path, star, complete, disconnected, hub, skewed random.
[[nodiscard]] std::vector<Sample> sample_families(std::uint32_t columns);
[[nodiscard]] Sample random_sample(NodeId nodes, double density, std::uint32_t columns, std::uint64_t seed);

/// Writes the sample as generation 0 of a new store.
void build_store(const std::filesystem::path& store, const Sample& sample);

/// Every sum of every level as 64-bit integers, [level - 1][node]; an empty row outside the
/// receptive field.
using AllSums = std::vector<std::vector<std::vector<std::int64_t>>>;
[[nodiscard]] AllSums sums_of(const Embedding& embedding, NodeId nodes);

/// A fresh run by naive loops over sets, in 64-bit integers: shares no code with the engine.
[[nodiscard]] AllSums naive_sums(const Sample& sample, std::uint32_t levels, bool all_rows, double rho = 0.5,
                                 std::uint32_t scale_bits = 24);

/// Requests of every kind, most of them removals of edges; some change nothing. The sample has
/// edges.
[[nodiscard]] std::vector<Request> random_requests(const Sample& sample, std::size_t count, std::uint64_t seed);

/// Writes the first partition of a level anew, a whole and sound file, with one unit more in the
/// first column of its row number `row` (32 bits). Returns what the manifest now names.
FileEntry falsify_sum(const std::filesystem::path& store, std::uint32_t level, std::size_t row);

/// Applies a request to the sample by set operations; false when it changes nothing.
bool apply_naively(Sample& sample, const Request& request);

}  // namespace unweave::testing
