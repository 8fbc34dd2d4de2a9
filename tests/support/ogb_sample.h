// tests/support/ogb_sample.h - a small data set written as OGB lays its folders out, and as plain
// files.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "storage/io/types.h"
#include "support/input_files.h"

namespace unweave::testing {

struct OgbSample {
  std::uint64_t nodes = 7;
  std::vector<Edge> edges = {{0, 1}, {1, 0}, {5, 2}, {3, 3}, {6, 0}, {5, 2}, {4, 5}};  // a pair, a loop, a repeat
  std::uint64_t columns = 3;
  std::vector<float> features = {0.1F, -0.7F,  0.2F, 1.3F,   2.7F, 1e-4F, 0.0F,  0.0F, 0.0F,  0.5F, 0.25F,
                                 3.0F, -9.12F, 1e7F, 0.333F, 0.9F, 0.8F,  -0.7F, 0.6F, 1e-9F, 0.77F};
  std::vector<int> labels = {2, -1, 0, 1, -1, 0, 2};  ///< -1 for none; empty: no file
  std::vector<std::uint64_t> train = {2, 0}, valid = {3}, test = {6, 5, 1};

  /// A line a row.
  [[nodiscard]] std::string feature_text() const {
    std::string text;
    char number[32];
    for (std::size_t i = 0; i < features.size(); ++i) {
      const auto end = std::to_chars(number, number + sizeof(number), features[i]).ptr;
      text.append(number, end);
      text += (i + 1) % columns == 0 ? '\n' : ',';
    }
    return text;
  }
  [[nodiscard]] std::string edge_text() const {
    std::string text;
    for (const Edge& edge : edges) text += std::to_string(edge.u) + "," + std::to_string(edge.v) + "\n";
    return text;
  }
  /// `none` is the text of a line without a label.
  [[nodiscard]] std::string label_text(const std::string& none) const {
    std::string text;
    for (const int label : labels) text += (label < 0 ? none : std::to_string(label)) + "\n";
    return text;
  }
  [[nodiscard]] std::string feature_array() const {
    return npy("<f4", "(" + std::to_string(nodes) + ", " + std::to_string(columns) + ")", features);
  }
  /// 2 x m.
  [[nodiscard]] std::string edge_array() const {
    std::vector<std::int64_t> ids;
    for (const Edge& edge : edges) ids.push_back(edge.u);
    for (const Edge& edge : edges) ids.push_back(edge.v);
    return npy("<i8", "(2, " + std::to_string(edges.size()) + ")", ids);
  }
  [[nodiscard]] std::string label_array() const {
    std::vector<float> values;
    for (const int label : labels)
      values.push_back(label < 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(label));
    return npy("<f4", "(" + std::to_string(labels.size()) + ", 1)", values);
  }
};

inline std::string id_text(const std::vector<std::uint64_t>& ids) {
  std::string text;
  for (const std::uint64_t id : ids) text += std::to_string(id) + "\n";
  return text;
}

inline void write_ogb_splits(const std::filesystem::path& folder, const OgbSample& sample) {
  std::filesystem::create_directories(folder);
  write_file(folder / "train.csv.gz", gzipped(id_text(sample.train)));
  write_file(folder / "valid.csv.gz", gzipped(id_text(sample.valid)));
  write_file(folder / "test.csv.gz", gzipped(id_text(sample.test)));
}

/// raw/*.csv.gz and one split, in a new folder.
inline void write_ogb_text(const std::filesystem::path& folder, const OgbSample& sample, const std::string& none = "") {
  std::filesystem::create_directories(folder / "raw");
  const auto write = [&](const char* name, const std::string& text) {
    write_file(folder / "raw" / name, gzipped(text));
  };
  write("edge.csv.gz", sample.edge_text());
  write("node-feat.csv.gz", sample.feature_text());
  if (!sample.labels.empty()) write("node-label.csv.gz", sample.label_text(none));
  write("num-node-list.csv.gz", std::to_string(sample.nodes) + "\n");
  write("num-edge-list.csv.gz", std::to_string(sample.edges.size()) + "\n");
  write_ogb_splits(folder / "split" / "time", sample);
}

using ZipMembers = std::vector<std::pair<std::string, std::string>>;

/// What raw/data.npz holds.
inline ZipMembers ogb_members(const OgbSample& sample) {
  const std::vector<std::int64_t> nodes = {static_cast<std::int64_t>(sample.nodes)};
  const std::vector<std::int64_t> edges = {static_cast<std::int64_t>(sample.edges.size())};
  return {{"edge_index.npy", sample.edge_array()},
          {"num_nodes_list.npy", npy("<i8", "(1,)", nodes)},
          {"num_edges_list.npy", npy("<i8", "(1,)", edges)},
          {"node_feat.npy", sample.feature_array()},
          {"node_year.npy", npy<std::int64_t>("<i8", "(1, 1)", {2020})}};
}

/// raw/data.npz, raw/node-label.npz and one split, in a new folder.
inline void write_ogb_arrays(const std::filesystem::path& folder, const OgbSample& sample, bool deflate) {
  std::filesystem::create_directories(folder / "raw");
  write_zip(folder / "raw" / "data.npz", ogb_members(sample), deflate);
  if (!sample.labels.empty())
    write_zip(folder / "raw" / "node-label.npz", {{"node_label.npy", sample.label_array()}}, deflate);
  write_ogb_splits(folder / "split" / "time", sample);
}

}  // namespace unweave::testing
