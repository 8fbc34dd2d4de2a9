// tests/support/store_fixture.cpp - random graphs as sets, stores of them, and sums by naive loops.
#include "support/store_fixture.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "storage/formats/manifest.h"
#include "storage/formats/node_file.h"
#include "storage/formats/state_file.h"
#include "storage/formats/store_layout.h"
#include "support/tiny_store.h"

namespace unweave::testing {
namespace {

std::vector<std::vector<NodeId>> lists_of(const Sample& sample) {
  std::vector<std::vector<NodeId>> lists(sample.nodes);
  for (const auto& [u, v] : sample.edges) {
    lists[u].push_back(v);
    lists[v].push_back(u);
  }
  for (auto& list : lists) std::sort(list.begin(), list.end());
  return lists;
}

Sample shape(std::string name, NodeId nodes) {
  Sample sample;
  sample.name = std::move(name);
  sample.nodes = nodes;
  return sample;
}

void connect(Sample& sample, NodeId u, NodeId v) {
  if (u != v) sample.edges.insert({std::min(u, v), std::max(u, v)});
}

}  // namespace

void add_features(Sample& sample, std::uint32_t columns, std::uint64_t seed, double labelled) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  sample.columns = columns;
  sample.classes = 3;
  sample.features.clear();
  sample.labels.clear();
  for (NodeId node = 0; node < sample.nodes; ++node) {
    std::vector<double> row(columns);
    double square = 0;
    for (double& value : row) {
      value = uniform(random) < 0.3 ? 0 : normal(random);
      square += value * value;
    }
    const double scale = square > 0.99 ? 0.99 / std::sqrt(square) : 1;
    for (const double value : row) sample.features.push_back(static_cast<float>(value * scale));
    sample.labels.push_back(uniform(random) < labelled ? static_cast<std::int32_t>(node % 3) : kNoLabel);
  }
}

Sample random_sample(NodeId nodes, double density, std::uint32_t columns, std::uint64_t seed) {
  Sample sample = shape("random", nodes);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  for (NodeId u = 0; u < nodes; ++u)
    for (NodeId v = u + 1; v < nodes; ++v)
      if (uniform(random) < density || (u == 0 && v < nodes / 2)) connect(sample, u, v);
  add_features(sample, columns, seed + 1);
  return sample;
}

std::vector<Sample> sample_families(std::uint32_t columns) {
  std::vector<Sample> samples;
  samples.push_back(shape("no edges", 5));
  samples.push_back(shape("single node", 1));
  Sample path = shape("path", 70);
  for (NodeId u = 0; u + 1 < path.nodes; ++u) connect(path, u, u + 1);
  samples.push_back(path);
  Sample star = shape("star", 300);  // the hub has more than the 127 neighbours that 32-bit partial sums take
  for (NodeId v = 1; v < star.nodes; ++v) connect(star, 0, v);
  samples.push_back(star);
  Sample complete = shape("complete", 40);
  for (NodeId u = 0; u < complete.nodes; ++u)
    for (NodeId v = u + 1; v < complete.nodes; ++v) connect(complete, u, v);
  samples.push_back(complete);
  Sample parts = shape("disconnected", 60);
  for (NodeId u = 0; u < 20; ++u) connect(parts, u, (u + 1) % 20);
  for (NodeId u = 30; u < 50; ++u) connect(parts, u, 30 + (u * 7) % 20);
  samples.push_back(parts);
  std::uint64_t seed = 7;
  for (Sample& sample : samples) add_features(sample, columns, seed++);
  samples.push_back(random_sample(90, 0.06, columns, 42));
  samples.back().name = "hub and random";
  return samples;
}

void build_store(const std::filesystem::path& store, const Sample& sample) {
  TinyStore contents;
  contents.nodes = sample.nodes;
  contents.columns = sample.columns;
  contents.features = sample.features;
  contents.classes = sample.classes;
  contents.labels = sample.labels;
  for (const auto& [u, v] : sample.edges) contents.edges.push_back({u, v});
  for (NodeId node = 0; node < sample.nodes && !sample.labels.empty(); ++node)
    if (sample.labels[node] != kNoLabel) (node % 4 == 0 ? contents.test : contents.train).push_back(node);
  write_store(store, contents);
}

AllSums sums_of(const Embedding& embedding, NodeId nodes) {
  AllSums sums(embedding.levels(), std::vector<std::vector<std::int64_t>>(nodes));
  for (std::uint32_t l = 1; l <= embedding.levels(); ++l)
    for (NodeId node = 0; node < nodes; ++node) {
      std::vector<std::int64_t> row(embedding.columns());
      if (embedding.level(l).load(node, row.data())) sums[l - 1][node] = row;
    }
  return sums;
}

AllSums naive_sums(const Sample& sample, std::uint32_t levels, bool all_rows, double rho, std::uint32_t scale_bits) {
  auto lists = lists_of(sample);
  for (NodeId node = 0; node < sample.nodes; ++node) lists[node].push_back(node);
  // An edge of weight w is a factor w here, a list that names it w times in the engine.
  const auto weight = [&](NodeId a, NodeId b) -> std::int64_t {
    const auto at = sample.weights.find({std::min(a, b), std::max(a, b)});
    return at == sample.weights.end() ? 1 : at->second;
  };
  std::vector<double> degrees(sample.nodes);
  for (NodeId node = 0; node < sample.nodes; ++node)
    for (const NodeId other : lists[node]) degrees[node] += static_cast<double>(weight(node, other));
  const double scale = static_cast<double>(1 << scale_bits);
  std::vector<std::vector<std::int64_t>> t(sample.nodes, std::vector<std::int64_t>(sample.columns));
  for (NodeId node = 0; node < sample.nodes; ++node)
    for (std::uint32_t c = 0; c < sample.columns; ++c) {
      const double x = static_cast<double>(sample.features[std::size_t{node} * sample.columns + c]);
      const double d = degrees[node];
      const double value = rho == 0.5 ? scale * x / std::sqrt(d) : rho == 0 ? scale * x / d : scale * x;
      t[node][c] = std::llrint(value);
    }
  // Rows kept: targets, then whatever they read.
  std::vector<std::vector<char>> keep(levels + std::size_t{1}, std::vector<char>(sample.nodes, all_rows ? 1 : 0));
  if (!all_rows) {
    for (NodeId node = 0; node < sample.nodes; ++node) keep[levels][node] = sample.labels[node] != kNoLabel ? 1 : 0;
    for (std::uint32_t l = levels; l > 0; --l)
      for (NodeId node = 0; node < sample.nodes; ++node)
        if (keep[l][node] != 0)
          for (const NodeId other : lists[node]) keep[l - 1][other] = 1;
  }
  AllSums sums;
  for (std::uint32_t l = 1; l <= levels; ++l) {
    std::vector<std::vector<std::int64_t>> level(sample.nodes);
    auto next = t;
    for (NodeId node = 0; node < sample.nodes; ++node) {
      if (keep[l][node] == 0) continue;
      level[node].assign(sample.columns, 0);
      for (const NodeId other : lists[node])
        for (std::uint32_t c = 0; c < sample.columns; ++c) level[node][c] += weight(node, other) * t[other][c];
      for (std::uint32_t c = 0; c < sample.columns; ++c)
        next[node][c] = std::llrint(static_cast<double>(level[node][c]) / degrees[node]);
    }
    t = std::move(next);
    sums.push_back(std::move(level));
  }
  return sums;
}

std::vector<Request> random_requests(const Sample& sample, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<std::pair<NodeId, NodeId>> edges(sample.edges.begin(), sample.edges.end());
  std::vector<Request> requests;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [u, v] = edges[random() % edges.size()];
    const auto kind = random() % 8;
    if (kind < 5) requests.push_back({RequestKind::remove_edge, u, v});
    if (kind == 5) requests.push_back({RequestKind::insert_edge, random() % sample.nodes, random() % sample.nodes});
    if (kind == 6) requests.push_back({RequestKind::remove_node, random() % sample.nodes, 0});
    if (kind == 7) requests.push_back({RequestKind::remove_feature, random() % sample.nodes, 0});
  }
  return requests;
}

bool apply_naively(Sample& sample, const Request& request) {
  if (request.u >= sample.nodes) return false;
  const auto u = static_cast<NodeId>(request.u);
  const auto blank = [&] {
    const auto first = sample.features.begin() + static_cast<std::ptrdiff_t>(std::size_t{u} * sample.columns);
    return std::all_of(first, first + sample.columns, [](float x) { return x == 0; }) &&
           (sample.labels.empty() || sample.labels[u] == kNoLabel);
  };
  const auto clear = [&] {
    std::fill_n(sample.features.begin() + static_cast<std::ptrdiff_t>(std::size_t{u} * sample.columns), sample.columns,
                0.0F);
    if (!sample.labels.empty()) sample.labels[u] = kNoLabel;
  };
  if (request.kind == RequestKind::remove_edge || request.kind == RequestKind::insert_edge) {
    if (request.v >= sample.nodes || request.v == request.u) return false;
    const auto v = static_cast<NodeId>(request.v);
    const std::pair<NodeId, NodeId> edge{std::min(u, v), std::max(u, v)};
    if (request.kind == RequestKind::insert_edge) return sample.edges.insert(edge).second;
    return sample.edges.erase(edge) > 0;
  }
  if (request.kind == RequestKind::remove_feature) {
    if (blank()) return false;
    clear();
    return true;
  }
  const auto removed = std::erase_if(sample.edges, [&](const auto& e) { return e.first == u || e.second == u; });
  if (removed == 0 && blank()) return false;
  clear();
  return true;
}

FileEntry falsify_sum(const std::filesystem::path& store, std::uint32_t level, std::size_t row) {
  Manifest manifest = read_manifest(store);
  FileEntry& entry = manifest.levels[level].partitions.at(0);
  const NodeRange range = span_range(manifest.nodes, 0);
  {
    const StatePartition before(store, entry, level, range, manifest.features);
    std::vector<std::uint64_t> members;
    if (before.rows() < range.size()) members.resize((range.size() + 63) / 64);
    for (NodeId node = range.first; node < range.last && !members.empty(); ++node)
      if (before.contains(node)) members[node / 64] |= std::uint64_t{1} << node % 64;
    StatePartitionWriter writer(store, level, range, manifest.features, members);
    std::size_t at = 0;
    for (NodeId node = range.first; node < range.last; ++node) {
      if (!before.contains(node)) continue;
      const StateRow sums = before.row(node);
      if (sums.wide != nullptr) {
        writer.add_wide(node, {sums.wide, manifest.features});
        ++at;
        continue;
      }
      std::vector<std::int32_t> values(sums.narrow, sums.narrow + manifest.features);
      if (at++ == row) ++values[0];
      writer.add(values);
    }
    entry = writer.finish();
  }
  write_manifest(store, manifest);
  return entry;
}

}  // namespace unweave::testing
