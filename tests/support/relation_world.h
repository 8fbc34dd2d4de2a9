// tests/support/relation_world.h - a user's edges of several kinds, kept by plain sets: what a
// store of relations that was streamed must equal is an import of them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
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

  /// Does what a line of a request says; false where it changes nothing.
  bool apply(const std::string& line) {
    std::istringstream in(line);
    std::string word, relation;
    NodeId u = 0, v = 0;
    in >> word >> u;
    if (word == "edge" || word == "insert-edge") {
      in >> v >> relation;
      const auto r = static_cast<std::size_t>(std::find(names.begin(), names.end(), relation) - names.begin());
      const std::pair<NodeId, NodeId> edge = edge_of(u, v);
      if (u == v && !directed) return false;
      return word == "edge" ? edges[r].erase(edge) > 0 : edges[r].insert(edge).second;
    }
    bool has_edges = false;
    for (auto& of_relation : edges)
      for (auto it = of_relation.begin(); it != of_relation.end();) {
        const bool is_own = it->first == u || it->second == u;
        has_edges |= is_own;
        it = is_own && word == "node" ? of_relation.erase(it) : std::next(it);
      }
    if (word == "insert-node" && has_edges) return false;
    return base.apply(line) || (word == "node" && has_edges);
  }

  [[nodiscard]] std::pair<NodeId, NodeId> edge_of(NodeId u, NodeId v) const {
    return directed ? std::pair(u, v) : std::pair(std::min(u, v), std::max(u, v));
  }
  /// How many relations of a layer, of one or of a set of them, have an edge.
  [[nodiscard]] std::uint32_t units(std::uint32_t layer, NodeId u, NodeId v) const {
    std::uint32_t found = 0;
    for (std::uint32_t r = 0; r < names.size(); ++r) {
      const bool is_in = layer < names.size() ? r == layer
                                              : std::binary_search(subsets[layer - names.size()].begin(),
                                                                   subsets[layer - names.size()].end(), r);
      found += is_in && edges[r].contains(edge_of(u, v)) ? 1 : 0;
    }
    return found;
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
      for (const auto& [u, v] : edges[r]) text += name + std::to_string(u) + " " + name + std::to_string(v) + "\n";
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
  for (std::string& line : lines)
    if (line.starts_with("edge ") || line.starts_with("insert-edge ")) line += " " + world.names[random() % 3];
  return lines;
}

/// Requests of such lines.
inline std::vector<Request> requests_of(const RelationWorld& world, const std::vector<std::string>& lines) {
  std::vector<Request> requests;
  RequestWords words;
  words.relations = world.names;
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
