// tests/support/graph_world.h - a user's whole graphs, kept by plain loops: what a store of graphs
// that was streamed must equal is an import of them. Shares no code with the engine but the import
// itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/changed_world.h"

namespace unweave::testing {

/// Edges and features are those of a world without graphs, whose nodes have no labels.
struct GraphWorld {
  ChangedWorld base;
  std::vector<std::int32_t> graph_of;  ///< -1: none
  std::vector<std::int32_t> labels;    ///< classes of graphs, -1: none
  std::vector<std::string> splits;     ///< those of graphs

  [[nodiscard]] std::size_t size(std::size_t graph) const {
    return static_cast<std::size_t>(std::count(graph_of.begin(), graph_of.end(), static_cast<std::int32_t>(graph)));
  }

  /// Does what a line of a request says; false where it changes nothing.
  bool apply(const std::string& line) {
    std::istringstream in(line);
    std::string word, value;
    std::size_t number = 0;
    in >> word >> number >> value;
    if (word == "set-label" || word == "move-split") return false;
    if (word == "graph") {
      bool changes = labels[number] != -1;
      for (NodeId node = 0; node < base.nodes; ++node)
        if (graph_of[node] == static_cast<std::int32_t>(number)) changes |= apply("node " + std::to_string(node));
      labels[number] = -1;
      splits[number] = "none";
      return changes;
    }
    if (word == "set-graph-label") {
      const std::int32_t label = value == "none" ? -1 : std::stoi(value);
      if (label == -1) splits[number] = "none";
      return std::exchange(labels[number], label) != label;
    }
    if (word == "move-graph-split") {
      if (value != "none" && labels[number] == -1) return false;
      return std::exchange(splits[number], value) != value;
    }
    if (word == "insert-edge") {
      const auto other = static_cast<std::size_t>(std::stoul(value));
      return graph_of[number] == graph_of[other] && base.apply(line);
    }
    if (word == "node") {
      const bool leaves = std::exchange(graph_of[number], -1) != -1;
      return base.apply(line) || leaves;
    }
    if (word != "insert-node") return base.apply(line);
    if (graph_of[number] != -1 || base.has(static_cast<NodeId>(number))) return false;
    const std::size_t at = line.find(" graph=");
    const bool changes = base.apply(line.substr(0, at));
    if (at == std::string::npos) return changes;
    graph_of[number] = std::stoi(line.substr(at + 7));
    return true;
  }

  void import(const std::filesystem::path& store) const {
    const TempDir dir;
    WorkMeter nobody;
    import_store(store, options_in(dir.path()), ample_budget(), nobody);
  }
  [[nodiscard]] ImportOptions options_in(const std::filesystem::path& dir) const {
    ImportOptions options = base.options_in(dir);
    options.labels.reset();
    options.train.reset();
    options.valid.reset();
    options.test.reset();
    const auto file = [&](const std::string& name, const std::vector<std::int32_t>& values) {
      return InputFile{write_file(dir / name, npy("<i4", "(" + std::to_string(values.size()) + ",)", values)), {}};
    };
    options.graphs = file("graphs.npy", graph_of);
    options.graph_labels = file("graph_labels.npy", labels);
    const auto ids = [&](const std::string& split) {
      std::string lines = "# graphs\n";
      for (std::size_t graph = 0; graph < splits.size(); ++graph)
        if (splits[graph] == split) lines += std::to_string(graph) + "\n";
      return InputFile{write_file(dir / ("graph_" + split), lines), {}};
    };
    options.graph_train = ids("train");
    options.graph_valid = ids("valid");
    options.graph_test = ids("test");
    return options;
  }
};

/// Graphs whose nodes lie anywhere among all; some nodes belong to none.
inline GraphWorld graph_world(NodeId nodes, std::uint32_t graphs, std::uint64_t seed) {
  GraphWorld world{changed_world(nodes, 4, seed, false), {}, {}, {}};
  world.base.labels.assign(nodes, -1);
  world.base.splits.assign(nodes, "none");
  std::mt19937_64 random(seed + 1);
  for (NodeId node = 0; node < nodes; ++node)
    world.graph_of.push_back(node % 13 == 5 ? -1 : static_cast<std::int32_t>(random() % graphs));
  std::erase_if(world.base.edges,
                [&](const auto& edge) { return world.graph_of[edge.first] != world.graph_of[edge.second]; });
  for (NodeId u = 0; u < nodes; ++u)
    for (NodeId v = u + 1; v < nodes; ++v)
      if (world.graph_of[u] == world.graph_of[v] && random() % 4 == 0) world.base.edges.insert({u, v});
  for (std::uint32_t graph = 0; graph < graphs; ++graph) {
    const bool labelled = graph % 6 != 5;
    world.labels.push_back(labelled ? static_cast<std::int32_t>(random() % world.base.classes) : -1);
    world.splits.push_back(!labelled ? "none" : graph % 7 == 0 ? "test" : graph % 5 == 1 ? "valid" : "train");
  }
  return world;
}

/// Lines of requests of every kind; some change nothing.
inline std::vector<std::string> changing_lines(const GraphWorld& world, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> lines = changing_lines(world.base, count, seed, false);
  const auto graph = [&] { return std::to_string(random() % world.labels.size()); };
  for (std::string& line : lines) {
    if (line.starts_with("insert-node ") && random() % 4 != 0) line += " graph=" + graph();
    if (line.starts_with("insert-edge ") && random() % 3 != 0) {  // such as may be
      const std::size_t u = random() % world.base.nodes;
      for (std::size_t tries = 0, v = random() % world.base.nodes; tries < world.base.nodes;
           ++tries, v = (v + 1) % world.base.nodes)
        if (v != u && world.graph_of[u] == world.graph_of[v]) {
          line = "insert-edge " + std::to_string(u) + " " + std::to_string(v);
          break;
        }
    }
    const auto dice = random() % 20;
    if (dice == 0) line = "graph " + graph();
    if (dice == 1 || dice == 2)
      line = "set-graph-label " + graph() + " " +
             (random() % 4 == 0 ? std::string("none") : std::to_string(random() % world.base.classes));
    if (dice == 3 || dice == 4) {
      constexpr const char* kNames[] = {"train", "train", "valid", "test", "none"};
      line = "move-graph-split " + graph() + " " + kNames[random() % 5];
    }
  }
  return lines;
}

}  // namespace unweave::testing
