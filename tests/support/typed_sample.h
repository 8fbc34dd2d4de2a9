// tests/support/typed_sample.h - a small heterogeneous data set, as OGB's two layouts have it and
// as the joint arrays that it stands for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "storage/io/types.h"
#include "support/input_files.h"

namespace unweave::testing {

/// Papers, which have labels and two columns, then authors without features, and institutions of
/// one column. Ids of edges count within the types of their ends.
struct TypedSample {
  static constexpr std::uint64_t kPapers = 5, kAuthors = 4, kInstitutions = 3;
  std::vector<Edge> affiliated{{0, 2}, {1, 0}, {3, 0}};
  std::vector<Edge> writes{{0, 0}, {0, 4}, {1, 1}, {2, 2}, {3, 3}, {3, 3}};  // a repeat, and {0, 0} is no loop
  std::vector<Edge> cites{{0, 1}, {1, 4}, {2, 2}};                           // a loop
  std::vector<float> papers{0.5F, 0.25F, 0.0F, -1.0F, 0.125F, 0.5F, 3.0F, 4.0F, 0.75F, 0.0F};
  std::vector<float> institutions{0.5F, -0.25F, 1.0F};
  std::vector<int> labels{1, 0, 2, 1, 0};

  /// Rows of all nodes over the columns of papers and institutions.
  [[nodiscard]] std::vector<float> joint_features() const {
    std::vector<float> all;
    for (std::size_t row = 0; row < kPapers; ++row) all.insert(all.end(), {papers[2 * row], papers[2 * row + 1], 0.0F});
    all.insert(all.end(), kAuthors * 3, 0.0F);
    for (const float value : institutions) all.insert(all.end(), {0.0F, 0.0F, value});
    return all;
  }
};

/// The edges with these numbers added to their ends.
inline std::string edge_lines(const std::vector<Edge>& edges, const std::string& between, std::uint64_t at_u = 0,
                              std::uint64_t at_v = 0) {
  std::string text;
  for (const Edge& edge : edges) text += std::to_string(edge.u + at_u) + between + std::to_string(edge.v + at_v) + "\n";
  return text;
}

inline std::string edge_rows(const std::vector<Edge>& edges) {
  std::vector<std::int64_t> ids;
  for (const Edge& edge : edges) ids.push_back(edge.u);
  for (const Edge& edge : edges) ids.push_back(edge.v);
  return npy("<i8", "(2, " + std::to_string(edges.size()) + ")", ids);
}

inline std::string number_lines(const std::vector<float>& values, std::size_t columns) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i)
    text += std::to_string(values[i]) + ((i + 1) % columns == 0 ? "\n" : ",");
  return text;
}

inline std::string label_lines(const std::vector<int>& labels) {
  std::string text;
  for (const int label : labels) text += std::to_string(label) + "\n";
  return text;
}

/// The relations with the names of their folders.
inline std::vector<std::pair<std::string, const std::vector<Edge>*>> folders_of(const TypedSample& sample) {
  return {{"author___affiliated_with___institution", &sample.affiliated},
          {"author___writes___paper", &sample.writes},
          {"paper___cites___paper", &sample.cites}};
}

/// As ogbn-mag is fetched.
inline void write_typed_text(const std::filesystem::path& folder, const TypedSample& sample) {
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder / name).parent_path());
    write_file(folder / name, gzipped(text));
  };
  write("raw/num-node-dict.csv.gz", "author,institution,paper\n4,3,5\n");
  write("raw/triplet-type-list.csv.gz", "author,affiliated_with,institution\nauthor,writes,paper\npaper,cites,paper\n");
  for (const auto& [name, edges] : folders_of(sample)) {
    write("raw/relations/" + name + "/edge.csv.gz", edge_lines(*edges, ","));
    write("raw/relations/" + name + "/num-edge-list.csv.gz", std::to_string(edges->size()) + "\n");
  }
  write("raw/node-feat/paper/node-feat.csv.gz", number_lines(sample.papers, 2));
  write("raw/node-feat/institution/node-feat.csv.gz", number_lines(sample.institutions, 1));
  write("raw/node-label/paper/node-label.csv.gz", label_lines(sample.labels));
  write("split/time/paper/train.csv.gz", "0\n2\n4\n");
  write("split/time/paper/valid.csv.gz", "1\n");
  write("split/time/paper/test.csv.gz", "3\n");
}

/// As MAG240M is fetched, which has other types than PyTorch's files alone tell.
inline void write_typed_arrays(const std::filesystem::path& folder, const TypedSample& sample) {
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories((folder / name).parent_path());
    write_file(folder / name, bytes);
  };
  for (const auto& [name, edges] : folders_of(sample))
    write("processed/" + name + "/edge_index.npy", edge_rows(*edges));
  write("processed/paper/node_feat.npy", npy("<f4", "(5, 2)", sample.papers));
  write("processed/institution/node_feat.npy", npy("<f4", "(3, 1)", sample.institutions));
  write("processed/paper/node_label.npy",
        npy<float>("<f4", "(5,)", std::vector<float>(sample.labels.begin(), sample.labels.end())));
  write("split_dict.pt", "PK");
  write("meta.pt", "PK");
}

}  // namespace unweave::testing
