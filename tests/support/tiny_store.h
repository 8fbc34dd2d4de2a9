// tests/support/tiny_store.h - small stores written by the storage writers alone, without `import`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "algorithms/maintenance/purge.h"
#include "algorithms/maintenance/store_repair.h"
#include "engine/resources/memory.h"
#include "storage/formats/manifest.h"
#include "storage/io/types.h"

namespace unweave::testing {

/// What a store shall hold. Edges may come in any order, doubled and with loops.
struct TinyStore {
  NodeId nodes = 0;
  std::vector<Edge> edges;
  std::uint32_t columns = 0;
  std::vector<float> features;  ///< nodes x columns, rows of norm at most 1; may be empty when columns is 0
  bool sparse = false;          ///< how features are kept
  FeatureType type = FeatureType::f32;
  std::uint32_t classes = 0;
  std::vector<std::int32_t> labels;  ///< one a node, or empty
  std::vector<NodeId> train, valid, test;
};

/// Makes the folder `path` a committed store; returns its manifest.
Manifest write_store(const std::filesystem::path& path, const TinyStore& contents);

/// Options of the `propagate` command that tests vary.
[[nodiscard]] PropagationSpec tiny_spec(std::uint32_t levels, bool all_rows = true, double rho = 0.5);

/// Propagates the store at `path`, with 1 GiB to spend.
void propagate_store(const std::filesystem::path& path, const PropagationSpec& spec);

/// A budget that no test reaches.
[[nodiscard]] MemoryBudget& ample_budget();

/// The text of the digest of what the store at `path` holds now.
[[nodiscard]] std::string digest_now(const std::filesystem::path& path);

/// Purges the store at `path` and tells nobody of the progress.
PurgeReport purge(const std::filesystem::path& path, const PurgeOptions& options = {},
                  MemoryBudget& budget = ample_budget());

/// Repairs the store at `path` and tells nobody of the progress.
std::vector<RepairedFile> repair(const std::filesystem::path& path, bool cut_journal = false);

/// The path 0-1-2 with x = (1, 0.5, -0.25), labels 0, none, 1 and one node in each of train and
/// test.
[[nodiscard]] TinyStore path_of_three();

/// A random graph with a hub, random features (some rows zero, some values -0), labels for a part
/// of the nodes and splits; the same for the same seed.
[[nodiscard]] TinyStore random_store(NodeId nodes, std::size_t edges, std::uint32_t columns, std::uint32_t seed);

}  // namespace unweave::testing
