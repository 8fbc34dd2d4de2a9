// tests/support/imported_sample.h - samples that come into stores the way a user's data do: through
// files and `import`.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "algorithms/live/store_writer.h"
#include "engine/ingest/store_import.h"
#include "support/input_files.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave::testing {

/// How a sample is imported.
struct Importing {
  std::string order = "none";
  FeatureType type = FeatureType::f32;
  bool sparse = false;
  std::vector<std::string> names{};  ///< one a node, perhaps empty; none: nodes have numbers
  std::uint32_t max_weight = 1;      ///< above 1: edges have the sample's weights
};

template <class Values>
std::string id_lines_of(const Values& values) {
  std::string text;
  for (const auto value : values) text += std::to_string(value) + "\n";
  return text;
}

/// As users write a node.
inline std::string id_of(const Importing& importing, NodeId node) {
  if (importing.names.empty()) return std::to_string(node);
  return importing.names[node].empty() ? "#" + std::to_string(node) : importing.names[node];
}

/// Writes the sample's files into a folder: train, valid and test of its nodes, whose number and
/// classes are declared. The split is one of ids alone, so that it is the same before and after
/// labels are removed.
inline ImportOptions write_sample(const std::filesystem::path& folder, const Sample& sample,
                                  const Importing& importing) {
  const auto file = [&](const char* name, const std::string& bytes) {
    return InputFile{write_file(folder / name, bytes), {}};
  };
  ImportOptions options;
  options.nodes = sample.nodes;
  options.classes = sample.classes;
  options.order = importing.order;
  options.feature_type = importing.type;
  const std::string rows = std::to_string(sample.nodes);
  const bool nameless =
      std::any_of(importing.names.begin(), importing.names.end(), [](const std::string& name) { return name.empty(); });
  std::string edges;
  if (nameless)  // text has names alone, and Matrix Market numbers from 1
    edges = "%%MatrixMarket matrix coordinate integer general\n" + rows + " " + rows + " " +
            std::to_string(sample.edges.size()) + "\n";
  for (const auto& edge : sample.edges) {
    edges += nameless ? std::to_string(edge.second + 1) + " " + std::to_string(edge.first + 1)
                      : id_of(importing, edge.second) + " " + id_of(importing, edge.first);
    const auto weight = sample.weights.find(edge);
    if (nameless || importing.max_weight > 1)
      edges += " " + std::to_string(weight == sample.weights.end() ? 1 : weight->second);
    edges += "\n";
  }
  options.max_weight = importing.max_weight;
  options.edges = file("edges", edges);
  if (importing.sparse) {
    std::vector<std::int64_t> indptr{0}, indices;
    std::vector<float> values;
    for (std::size_t i = 0; i < sample.features.size(); ++i) {
      if (sample.features[i] != 0) {
        indices.push_back(static_cast<std::int64_t>(i % sample.columns));
        values.push_back(sample.features[i]);
      }
      if ((i + 1) % sample.columns == 0) indptr.push_back(static_cast<std::int64_t>(indices.size()));
    }
    const std::string entries = "(" + std::to_string(values.size()) + ",)";
    options.features =
        CsrInput{{file("indptr.npy", npy("<i8", "(" + std::to_string(indptr.size()) + ",)", indptr)),
                  file("indices.npy", npy("<i8", entries, indices)), file("values.npy", npy("<f4", entries, values))},
                 sample.columns};
  } else {
    options.features =
        file("x.npy", npy("<f4", "(" + rows + ", " + std::to_string(sample.columns) + ")", sample.features));
  }
  options.labels = file("y.npy", npy("<i4", "(" + rows + ",)", sample.labels));
  std::vector<NodeId> splits[3];
  for (NodeId node = 0; node < sample.nodes; ++node) splits[node % 7 == 0 ? 2 : node % 5 == 0 ? 1 : 0].push_back(node);
  const auto list = [&](const std::vector<NodeId>& nodes) {
    std::string text = "# nodes\n";
    for (const NodeId node : nodes) text += id_of(importing, node) + "\n";
    return text;
  };
  options.train = file("train", list(splits[0]));
  options.valid = file("valid", list(splits[1]));
  options.test = file("test", list(splits[2]));
  if (importing.names.empty()) return options;
  std::string names;
  for (const std::string& name : importing.names) names += name + "\n";
  options.ids = file("ids", names);
  return options;
}

/// Imports the sample.
inline void import_sample(const std::filesystem::path& store, const Sample& sample, const Importing& importing) {
  const TempDir dir;
  WorkMeter nobody;
  import_store(store, write_sample(dir.path(), sample, importing), ample_budget(), nobody);
}

/// One batch of a stream, as one process would apply it.
inline void apply_batch(const std::filesystem::path& store, std::span<const Request> requests, double r_max,
                        bool checkpoint) {
  StoreWriter live(store, ample_budget());
  live.apply(requests, live.resolve(requests), {r_max, ThresholdScale::absolute});
  if (checkpoint) live.checkpoint();
}

/// Applies the requests to the store, some at a time, the store opened anew for each batch and left
/// with a journal at the end, and to the sample.
inline void stream_sample(const std::filesystem::path& store, Sample& sample, const std::vector<Request>& requests,
                          std::size_t batch, double r_max) {
  for (std::size_t first = 0; first < requests.size(); first += batch) {
    const auto some = std::span(requests).subspan(first, std::min(batch, requests.size() - first));
    apply_batch(store, some, r_max, first / batch % 3 == 1);
    for (const Request& request : some) apply_naively(sample, request);
  }
}

/// Requests on any sample: without edges there are only features and nodes to remove, and edges to
/// insert.
inline std::vector<Request> requests_for(const Sample& sample, std::size_t count, std::uint64_t seed) {
  if (!sample.edges.empty()) return random_requests(sample, count, seed);
  return {{RequestKind::remove_feature, sample.nodes / 2, 0},
          {RequestKind::insert_edge, 0, sample.nodes - 1},
          {RequestKind::remove_node, sample.nodes - 1, 0}};
}

}  // namespace unweave::testing
