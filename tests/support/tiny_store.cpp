// tests/support/tiny_store.cpp - small stores written by the storage writers alone, without
// `import`.
#include "support/tiny_store.h"

#include <cmath>
#include <random>
#include <set>

#include "algorithms/live/digest.h"
#include "algorithms/live/propagate.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/propagation/schemes.h"
#include "engine/graph/store.h"
#include "storage/formats/node_file.h"
#include "storage/formats/shard.h"
#include "storage/formats/store_layout.h"
#include "support/feature_files.h"
#include "support/graphs.h"

namespace unweave::testing {
namespace {

FileEntry write_features(const std::filesystem::path& path, const TinyStore& contents, NodeRange range) {
  const std::uint32_t columns = contents.columns;
  const std::span<const float> rows(&contents.features[std::size_t{range.first} * columns],
                                    std::size_t{range.size()} * columns);
  if (!contents.sparse) return write_dense_features(path, range, columns, rows, contents.type);
  SparseRows sparse;
  for (std::size_t row = 0; row < range.size(); ++row) {
    for (std::uint32_t c = 0; c < columns; ++c) {
      if (rows[row * columns + c] == 0) continue;
      sparse.columns.push_back(c);
      sparse.values.push_back(rows[row * columns + c]);
    }
    sparse.offsets.push_back(sparse.columns.size());
  }
  return write_sparse_features(path, range, columns, sparse, contents.type);
}

}  // namespace

Manifest write_store(const std::filesystem::path& path, const TinyStore& contents) {
  std::vector<std::set<NodeId>> lists(contents.nodes);
  for (const Edge& edge : contents.edges) {
    if (edge.u == edge.v) continue;
    lists[edge.u].insert(edge.v);
    lists[edge.v].insert(edge.u);
  }
  create_store_folder(path);
  Manifest manifest;
  manifest.nodes = contents.nodes;
  manifest.features = contents.columns;
  manifest.classes = contents.classes;
  manifest.feature_layout = {contents.sparse, contents.type};
  for (std::size_t span = 0; span < num_spans(contents.nodes); ++span) {
    const NodeRange range = span_range(contents.nodes, span);
    ShardWriter shard(path, range, contents.nodes, 1, std::uint64_t{1} << 20);
    for (NodeId node = range.first; node < range.last; ++node)
      shard.add(std::vector<NodeId>(lists[node].begin(), lists[node].end()));
    manifest.shards.push_back(shard.finish());
    manifest.edges += shard.arcs();
    if (contents.columns > 0) manifest.feature_files.push_back(write_features(path, contents, range));
  }
  manifest.edges /= 2;
  if (!contents.labels.empty()) manifest.labels = write_labels(path, contents.labels);
  if (!contents.train.empty()) manifest.train = write_ids(path, "train", contents.train);
  if (!contents.valid.empty()) manifest.valid = write_ids(path, "valid", contents.valid);
  if (!contents.test.empty()) manifest.test = write_ids(path, "test", contents.test);
  commit_generation(path, Manifest(), manifest);
  return manifest;
}

PropagationSpec tiny_spec(std::uint32_t levels, bool all_rows, double rho) {
  PropagationSpec spec;
  spec.levels = levels;
  spec.scheme = "sgc";
  spec.weights = scheme_weights("sgc", levels, {});
  spec.rho = rho;
  spec.all_rows = all_rows;
  return spec;
}

void propagate_store(const std::filesystem::path& path, const PropagationSpec& spec) {
  StoreWriter store(path, ample_budget());
  propagate(store, spec, ample_budget(), {});
}

MemoryBudget& ample_budget() {
  static MemoryBudget budget(std::uint64_t{1} << 30);
  return budget;
}

std::string digest_now(const std::filesystem::path& path) {
  return digest_text(content_digest(StoreReader(path, ample_budget())));
}

PurgeReport purge(const std::filesystem::path& path, const PurgeOptions& options, MemoryBudget& budget) {
  WorkMeter nobody;
  return purge_store(path, options, budget, nobody);
}

std::vector<RepairedFile> repair(const std::filesystem::path& path, bool cut_journal) {
  WorkMeter nobody;
  return repair_store(path, {cut_journal}, ample_budget(), nobody);
}

TinyStore path_of_three() {
  TinyStore store;
  store.nodes = 3;
  store.edges = {{0, 1}, {1, 2}};
  store.columns = 1;
  store.features = {1.0F, 0.5F, -0.25F};
  store.classes = 2;
  store.labels = {0, -1, 1};
  store.train = {0};
  store.test = {2};
  return store;
}

TinyStore random_store(NodeId nodes, std::size_t edges, std::uint32_t columns, std::uint32_t seed) {
  TinyStore store;
  store.nodes = nodes;
  store.edges = random_graph_with_hub(nodes, edges, seed).edges;
  store.columns = columns;
  store.classes = 4;
  std::mt19937 random(seed + 1);
  const auto uniform = [&] { return static_cast<float>(random() % 20001) / 10000.0F - 1.0F; };
  for (NodeId node = 0; node < nodes; ++node) {
    const bool zero = random() % 8 == 0;
    const float scale = 1.0F / std::sqrt(static_cast<float>(columns));
    for (std::uint32_t c = 0; c < columns; ++c) {
      const float value = random() % 3 == 0 ? -0.0F : uniform() * scale;
      store.features.push_back(zero ? 0.0F : value);
    }
    store.labels.push_back(random() % 2 == 0 ? -1 : static_cast<std::int32_t>(random() % store.classes));
    if (store.labels.back() == -1) continue;
    const auto split = random() % 5;
    if (split < 2) store.train.push_back(node);
    if (split == 2) store.valid.push_back(node);
    if (split == 3) store.test.push_back(node);
  }
  return store;
}

}  // namespace unweave::testing
