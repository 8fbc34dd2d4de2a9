// tests/support/changed_world.h - a user's data that every kind of request changes, kept by plain
// loops: what a store that was streamed must equal is an import of them. Shares no code with the
// engine but the import itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/ingest/store_import.h"
#include "storage/input/request_reader.h"
#include "storage/types/weight_unit.h"
#include "support/input_files.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave::testing {

struct ChangedWorld {
  NodeId nodes = 0;
  std::uint32_t columns = 0;
  std::uint32_t classes = 3;
  bool directed = false;
  std::set<std::pair<NodeId, NodeId>> edges;                   ///< u < v, or arcs from u to v
  std::uint32_t max_weight = 1;                                ///< above 1: edges have weights
  std::optional<WeightUnit> unit;                              ///< where weights are real: what they are multiples of
  std::map<std::pair<NodeId, NodeId>, std::uint32_t> weights;  ///< what edges weigh that weigh more than 1
  std::vector<double> features;                                ///< as a user gives them, row-major
  std::vector<std::int32_t> labels;
  std::vector<std::string> splits;  ///< train, valid, test or none, a node
  std::string order = "none";
  FeatureType type = FeatureType::f32;
  bool sparse = false;
  FeatureScale scale;
  bool named = false;          ///< node 7 is called "v7"
  NodeId nameless = 0;         ///< but for so many last ones
  std::set<NodeId> unnamed{};  ///< and these

  /// Does what a line of a request says; false where it changes nothing.
  bool apply(const std::string& line) {
    std::istringstream in(line);
    std::string word;
    NodeId u = 0;
    in >> word >> u;
    if (word == "edge" || word == "insert-edge") {
      NodeId v = 0;
      in >> v;
      const std::pair<NodeId, NodeId> edge = edge_of(u, v);
      if (u == v && !directed) return false;
      std::uint32_t weight = units_of(1);
      double given = 0;
      if (std::string unused; in >> unused && in >> given) weight = units_of(given);  // "weight W"
      if (word == "edge") {
        weights.erase(edge);
        return edges.erase(edge) > 0;
      }
      if (weight == 0 || weight > max_weight || !edges.insert(edge).second) return false;
      weigh(edge, weight);
      return true;
    }
    if (word == "set-weight") {
      NodeId v = 0;
      double given = 0;
      in >> v >> given;
      const std::uint32_t weight = units_of(given);
      const std::pair<NodeId, NodeId> edge = edge_of(u, v);
      if (weight == 0 || weight > max_weight || !edges.contains(edge) || weight_of(edge) == weight) return false;
      weigh(edge, weight);
      return true;
    }
    if (word == "node" || word == "feature") {
      bool changes = labels[u] != -1;
      for (std::uint32_t c = 0; c < columns; ++c) changes |= std::exchange(value(u, c), 0.0) != 0;
      labels[u] = -1;
      splits[u] = "none";
      if (word == "node") {
        changes |= std::erase_if(edges, [&](const auto& e) { return e.first == u || e.second == u; }) > 0;
        std::erase_if(weights, [&](const auto& one) { return one.first.first == u || one.first.second == u; });
      }
      return changes;
    }
    if (word == "set-label") {
      std::string text;
      in >> text;
      const std::int32_t label = text == "none" ? -1 : std::stoi(text);
      if (label == -1) splits[u] = "none";
      return std::exchange(labels[u], label) != label;
    }
    if (word == "move-split") {
      std::string text;
      in >> text;
      if (text != "none" && labels[u] == -1) return false;
      return std::exchange(splits[u], text) != text;
    }
    if (word == "insert-node" && has(u)) return false;
    std::vector<double> row(columns);
    std::string field;
    for (std::size_t at = 0; in >> field; ++at) {
      const std::size_t colon = field.find(':');
      row[colon == std::string::npos ? at : std::stoul(field.substr(0, colon))] =
          std::stod(field.substr(colon == std::string::npos ? 0 : colon + 1));
    }
    const auto present = features.begin() + static_cast<std::ptrdiff_t>(std::size_t{u} * columns);
    const bool changes = !std::equal(row.begin(), row.end(), present);
    std::copy(row.begin(), row.end(), present);
    return changes;
  }

  /// A weight that is a multiple of the unit, or a whole number, as a number of units.
  [[nodiscard]] std::uint32_t units_of(double weight) const {
    return static_cast<std::uint32_t>(unit ? weight / std::pow(2.0, unit->exponent) : weight);
  }
  [[nodiscard]] std::string text_of_weight(std::uint64_t units) const {
    std::ostringstream text;
    text.precision(17);
    text << static_cast<double>(units) * (unit ? std::pow(2.0, unit->exponent) : 1);
    return text.str();
  }
  [[nodiscard]] std::uint32_t weight_of(std::pair<NodeId, NodeId> edge) const {
    const auto at = weights.find(edge);
    return at == weights.end() ? 1 : at->second;
  }
  void weigh(std::pair<NodeId, NodeId> edge, std::uint32_t weight) {
    if (weight == 1)
      weights.erase(edge);
    else
      weights[edge] = weight;
  }
  /// Gives every edge a weight up to `most`, half of them 1.
  void weigh_all(std::uint32_t most, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    max_weight = most;
    for (const auto& edge : edges) weigh(edge, random() % 2 == 0 ? 1 : static_cast<std::uint32_t>(1 + random() % most));
  }

  [[nodiscard]] std::pair<NodeId, NodeId> edge_of(NodeId u, NodeId v) const {
    return directed ? std::pair(u, v) : std::pair(std::min(u, v), std::max(u, v));
  }
  /// Turns some edges around, doubles some, and adds loops.
  void direct_all(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::set<std::pair<NodeId, NodeId>> undirected = std::exchange(edges, {});
    directed = true;
    for (const auto& [u, v] : undirected) {
      const auto dice = random() % 5;
      if (dice != 0) edges.insert({u, v});
      if (dice < 3) edges.insert({v, u});
    }
    for (NodeId node = 0; node < nodes; node += 9) edges.insert({node, node});
  }

  /// New nodes have nothing.
  void grow(NodeId to) {
    nodes = to;
    features.resize(std::size_t{to} * columns);
    labels.resize(to, -1);
    splits.resize(to, "none");
  }
  /// Whether a node has anything.
  bool has(NodeId node) {
    bool any = labels[node] != -1;
    for (std::uint32_t c = 0; c < columns; ++c) any |= value(node, c) != 0;
    return any ||
           std::any_of(edges.begin(), edges.end(), [&](const auto& e) { return e.first == node || e.second == node; });
  }
  [[nodiscard]] bool has_name(NodeId node) const { return named && node < nodes - nameless && !unnamed.contains(node); }
  double& value(NodeId node, std::uint32_t column) { return features[std::size_t{node} * columns + column]; }

  /// Writes the data into files and imports them.
  void import(const std::filesystem::path& store) const {
    const TempDir dir;
    WorkMeter nobody;
    import_store(store, options_in(dir.path()), ample_budget(), nobody);
  }
  /// The options of that import, of files that are written into a folder.
  [[nodiscard]] ImportOptions options_in(const std::filesystem::path& dir) const {
    const auto file = [&](const std::string& name, const std::string& bytes) {
      return InputFile{write_file(dir / name, bytes), {}};
    };
    ImportOptions options;
    options.nodes = nodes;
    options.classes = classes;
    options.order = order;
    options.feature_type = type;
    options.scale = scale;
    const auto id = [&](NodeId node) { return (!named ? "" : has_name(node) ? "v" : "#") + std::to_string(node); };
    std::string text;
    for (const auto& edge : edges)
      text +=
          id(edge.first) + " " + id(edge.second) + (max_weight > 1 ? " " + text_of_weight(weight_of(edge)) : "") + "\n";
    if (!unnamed.empty()) {  // text has names alone
      const std::string rows = std::to_string(nodes);
      text = "%%MatrixMarket matrix coordinate integer general\n" + rows + " " + rows + " " +
             std::to_string(edges.size()) + "\n";
      for (const auto& edge : edges)
        text += std::to_string(edge.first + 1) + " " + std::to_string(edge.second + 1) + " " +
                std::to_string(weight_of(edge)) + "\n";
    }
    options.max_weight = max_weight;
    options.weight_unit = unit;
    options.layers.directed = directed;
    options.edges = file("edges", text);
    if (named) {
      std::string names;
      for (NodeId node = 0; node < nodes; ++node) names += (has_name(node) ? "v" + std::to_string(node) : "") + "\n";
      options.ids = file("names", names);
    }
    const std::string rows = std::to_string(nodes);
    if (sparse) {
      std::vector<std::int64_t> indptr{0}, indices;
      std::vector<double> values;
      for (std::size_t i = 0; i < features.size(); ++i) {
        if (features[i] != 0) {
          indices.push_back(static_cast<std::int64_t>(i % columns));
          values.push_back(features[i]);
        }
        if ((i + 1) % columns == 0) indptr.push_back(static_cast<std::int64_t>(indices.size()));
      }
      const std::string entries = "(" + std::to_string(values.size()) + ",)";
      options.features =
          CsrInput{{file("indptr.npy", npy("<i8", "(" + std::to_string(indptr.size()) + ",)", indptr)),
                    file("indices.npy", npy("<i8", entries, indices)), file("values.npy", npy("<f8", entries, values))},
                   columns};
    } else {
      options.features = file("x.npy", npy("<f8", "(" + rows + ", " + std::to_string(columns) + ")", features));
    }
    options.labels = file("y.npy", npy("<i4", "(" + rows + ",)", labels));
    const auto ids = [&](const std::string& split) {
      std::string lines = "# nodes\n";
      for (NodeId node = 0; node < nodes; ++node)
        if (splits[node] == split) lines += id(node) + "\n";
      return file(split, lines);
    };
    options.train = ids("train");
    options.valid = ids("valid");
    options.test = ids("test");
    return options;
  }
};

inline std::string number_of(double value) {
  std::ostringstream text;
  text.precision(17);
  text << value;
  return text.str();
}

/// Random edges with a hub, rows of which some have a norm above 1 where `long_rows`, labels for
/// half of the nodes.
inline ChangedWorld changed_world(NodeId nodes, std::uint32_t columns, std::uint64_t seed, bool long_rows) {
  ChangedWorld world;
  world.nodes = nodes;
  world.columns = columns;
  std::mt19937_64 random(seed);
  for (NodeId u = 0; u < nodes; ++u)
    for (NodeId v = u + 1; v < nodes; ++v)
      if (random() % 100 < 6 || (u == 0 && v < nodes / 2)) world.edges.insert({u, v});
  const double length = (long_rows ? 1.5 : 0.9) / std::sqrt(columns);
  for (std::size_t i = 0; i < std::size_t{nodes} * columns; ++i) {
    const double unit = static_cast<double>(random() % 2001) / 1000 - 1;
    world.features.push_back(random() % 3 == 0 ? 0 : unit * length);
  }
  for (NodeId node = 0; node < nodes; ++node) {
    const bool labelled = random() % 2 == 0;
    world.labels.push_back(labelled ? static_cast<std::int32_t>(random() % world.classes) : -1);
    world.splits.push_back(!labelled ? "none" : node % 7 == 0 ? "test" : node % 5 == 0 ? "valid" : "train");
  }
  return world;
}

/// Lines of requests of every kind, about half of which set something; some change nothing.
inline std::vector<std::string> changing_lines(const ChangedWorld& world, std::size_t count, std::uint64_t seed,
                                               bool long_rows) {
  std::mt19937_64 random(seed);
  const std::vector<std::pair<NodeId, NodeId>> edges(world.edges.begin(), world.edges.end());
  const double length = (long_rows ? 2.5 : 0.9) / std::sqrt(world.columns);
  std::vector<std::string> lines;
  const auto node = [&] { return std::to_string(random() % world.nodes); };
  const auto row = [&] {
    std::string text;
    const bool pairs = random() % 2 == 0;
    for (std::uint32_t c = 0; c < world.columns; ++c) {
      const double unit = static_cast<double>(random() % 20001) / 10000 - 1;
      if (pairs && random() % 3 != 0 && c > 0) continue;
      text += (pairs ? " " + std::to_string(c) + ":" : " ") + number_of(random() % 4 == 0 ? 0 : unit * length);
    }
    return text;
  };
  while (lines.size() < count) {
    if (world.max_weight > 1 && random() % 4 == 0) {
      const auto& [u, v] = edges[random() % edges.size()];
      const bool sets = random() % 3 != 0;
      const std::string weight = world.text_of_weight(1 + random() % (world.max_weight + 1));  // one is above
      lines.push_back(sets ? "set-weight " + std::to_string(u) + " " + std::to_string(v) + " " + weight
                           : "insert-edge " + node() + " " + node() + " weight " + weight);
      continue;
    }
    const auto dice = random() % 17;
    if (dice < 3) {
      const auto& [u, v] = edges[random() % edges.size()];
      lines.push_back("edge " + std::to_string(u) + " " + std::to_string(v));
    } else if (dice < 5) {
      lines.push_back("insert-edge " + node() + " " + node());
    } else if (dice < 6) {
      lines.push_back("node " + node());
    } else if (dice < 7) {
      lines.push_back("feature " + node());
    } else if (dice < 10) {
      lines.push_back("set-feature " + node() + row());
    } else if (dice < 13) {
      const auto label = random() % (world.classes + 1);
      lines.push_back("set-label " + node() + " " + (label == world.classes ? "none" : std::to_string(label)));
    } else if (dice == 16) {
      const std::string empty = node();
      if (random() % 3 != 0) lines.push_back("node " + empty);
      lines.push_back("insert-node " + empty + row());
    } else {
      constexpr const char* kNames[] = {"train", "train", "valid", "test", "none"};
      lines.push_back("move-split " + node() + " " + kNames[random() % 5]);
    }
  }
  return lines;
}

inline std::vector<Request> requests_of(const std::vector<std::string>& lines, bool real_weights = false) {
  RequestWords words;
  words.real_weights = real_weights;
  std::vector<Request> requests;
  for (const std::string& line : lines) requests.push_back(parse_request(line, words).value());
  return requests;
}

}  // namespace unweave::testing
