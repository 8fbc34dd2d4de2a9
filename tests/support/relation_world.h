// tests/support/relation_world.h - a user's edges of several kinds, kept by plain sets: what a
// store of relations that was streamed must equal is an import of them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
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

#include "support/changed_world.h"

namespace unweave::testing {

/// Everything but the edges is that of a world without relations.
struct RelationWorld {
  ChangedWorld base;
  std::vector<std::string> names{"cites", "writes", "likes"};
  std::vector<std::vector<std::uint32_t>> subsets{{0, 1}, {0, 1, 2}};
  bool directed = false;
  std::vector<std::set<std::pair<NodeId, NodeId>>> edges{3};  ///< those of each relation, u < v, or arcs from u to v
  /// Units that edges of each relation weigh that weigh more than 1, where the base has a unit.
  std::vector<std::map<std::pair<NodeId, NodeId>, std::uint32_t>> weights{3};

  /// Does what a line of a request says; false where it changes nothing.
  bool apply(const std::string& line) {
    std::istringstream in(line);
    std::string word, relation;
    NodeId u = 0, v = 0;
    in >> word >> u;
    if (word == "edge" || word == "insert-edge" || word == "set-weight") {
      in >> v >> relation;
      const auto r = static_cast<std::uint32_t>(std::find(names.begin(), names.end(), relation) - names.begin());
      const std::pair<NodeId, NodeId> edge = edge_of(u, v);
      if (u == v && !directed) return false;
      if (word == "edge") {
        weights[r].erase(edge);
        return edges[r].erase(edge) > 0;
      }
      double given = 1;
      if (std::string mark; word == "set-weight" || in >> mark) in >> given;
      const std::uint32_t weight = base.units_of(given);
      if (edges[r].contains(edge) != (word == "set-weight") || !holds(r, edge, weight)) return false;
      edges[r].insert(edge);
      return std::exchange(weights[r].try_emplace(edge, 0).first->second, weight) != weight;
    }
    bool has_edges = false;
    for (auto& of_relation : edges)
      for (auto it = of_relation.begin(); it != of_relation.end();) {
        const bool is_own = it->first == u || it->second == u;
        has_edges |= is_own;
        it = is_own && word == "node" ? of_relation.erase(it) : std::next(it);
      }
    for (std::size_t r = 0; r < names.size(); ++r)
      std::erase_if(weights[r], [&](const auto& one) { return !edges[r].contains(one.first); });
    if (word == "insert-node" && has_edges) return false;
    return base.apply(line) || (word == "node" && has_edges);
  }

  [[nodiscard]] std::pair<NodeId, NodeId> edge_of(NodeId u, NodeId v) const {
    return directed ? std::pair(u, v) : std::pair(std::min(u, v), std::max(u, v));
  }
  /// Whether a relation belongs to a layer, its own or that of a set.
  [[nodiscard]] bool is_in(std::uint32_t relation, std::uint32_t layer) const {
    if (layer < names.size()) return relation == layer;
    const std::vector<std::uint32_t>& subset = subsets[layer - names.size()];
    return std::binary_search(subset.begin(), subset.end(), relation);
  }
  /// How much an edge weighs in the relations of a layer, of one or of a set of them, together: in
  /// each 1, unless weights are real.
  [[nodiscard]] std::uint32_t units(std::uint32_t layer, NodeId u, NodeId v) const {
    std::uint32_t found = 0;
    for (std::uint32_t r = 0; r < names.size(); ++r)
      if (is_in(r, layer) && edges[r].contains(edge_of(u, v))) found += weight_of(r, edge_of(u, v));
    return found;
  }
  [[nodiscard]] std::uint32_t weight_of(std::size_t relation, std::pair<NodeId, NodeId> edge) const {
    const auto at = weights[relation].find(edge);
    return at == weights[relation].end() ? 1 : at->second;
  }
  /// Whether an edge may weigh so much in a relation: it, and those of sets, within the largest
  /// weight that there is.
  [[nodiscard]] bool holds(std::uint32_t relation, std::pair<NodeId, NodeId> edge, std::uint32_t weight) const {
    if (weight < 1 || weight > base.max_weight) return false;
    const std::uint32_t before = edges[relation].contains(edge) ? weight_of(relation, edge) : 0;
    for (std::uint32_t layer = 0; base.unit && layer < names.size() + subsets.size(); ++layer)
      if (is_in(relation, layer) && units(layer, edge.first, edge.second) - before + weight > base.max_weight)
        return false;
    return true;
  }
  /// Gives every edge a weight up to `most` units.
  void weigh_all(const WeightUnit& unit, std::uint32_t most, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    base.unit = unit;
    base.max_weight = kMostWeight;
    for (std::size_t r = 0; r < names.size(); ++r)
      for (const auto& edge : edges[r]) weights[r][edge] = static_cast<std::uint32_t>(1 + random() % most);
  }

  void import(const std::filesystem::path& store) const {
    const TempDir dir;
    ImportOptions options = base.options_in(dir.path());
    options.edges.reset();
    options.layers.directed = directed;
    for (const std::string& name : names) options.layers.relations.push_back({name});
    options.layers.subsets = subsets;
    for (std::size_t r = 0; r < edges.size(); ++r) {
      const std::string name = base.named ? "v" : "";
      std::string text = "# edges\n";
      for (const auto& [u, v] : edges[r])
        text += name + std::to_string(u) + " " + name + std::to_string(v) +
                (base.unit ? " " + base.text_of_weight(weight_of(r, {u, v})) : "") + "\n";
      options.relations.push_back({InputFile{write_file(dir / ("relation" + std::to_string(r)), text), {}}});
    }
    WorkMeter nobody;
    import_store(store, options, ample_budget(), nobody);
  }
};

/// Each edge of a random world in one relation or several, with directions each way or both.
inline RelationWorld relation_world(std::uint64_t seed, bool directed = false) {
  RelationWorld world{changed_world(40, 3, seed, false)};
  world.directed = directed;
  if (directed) world.base.direct_all(seed);
  world.base.directed = false;  // it has no edges of its own
  std::mt19937_64 random(seed);
  for (const auto& edge : std::exchange(world.base.edges, {}))
    for (auto& of_relation : world.edges)
      if (random() % 2 == 0) of_relation.insert(edge);
  return world;
}

/// Lines of requests of every kind.
inline std::vector<std::string> changing_lines(const RelationWorld& world, std::size_t count, std::uint64_t seed) {
  ChangedWorld plain = world.base;
  for (const auto& of_relation : world.edges) plain.edges.insert(of_relation.begin(), of_relation.end());
  std::mt19937_64 random(seed);
  std::vector<std::string> lines = changing_lines(plain, count, seed, false);
  for (std::string& line : lines) {
    std::istringstream in(line);
    std::string word, u, v, rest;
    in >> word >> u >> v;
    if (word != "edge" && word != "insert-edge" && word != "set-weight") continue;
    std::getline(in, rest);
    line = word + " " + u + " " + v + " " + world.names[random() % 3] + rest;
  }
  return lines;
}

/// Requests of such lines.
inline std::vector<Request> requests_of(const RelationWorld& world, const std::vector<std::string>& lines) {
  std::vector<Request> requests;
  RequestWords words;
  words.relations = world.names;
  words.real_weights = world.base.unit.has_value();
  for (const std::string& line : lines) {
    CAPTURE(line);
    RequestFault fault;
    const std::optional<Request> request = parse_request(line, words, &fault);
    REQUIRE_MESSAGE(request.has_value(), fault.what);
    requests.push_back(*request);
  }
  return requests;
}

}  // namespace unweave::testing
