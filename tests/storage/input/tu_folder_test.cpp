// tests/storage/input/tu_folder_test.cpp - data sets of TUDataset, and what is wrong with some.
#include "storage/input/tu_folder.h"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "storage/input/edges/edge_reader.h"
#include "storage/input/features/feature_reader.h"
#include "storage/input/nodes/label_reader.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using Parts = std::map<std::string, std::string>;

/// A triangle whose edges stand there in both directions or one, and a path.
const Parts& two_graphs() {
  static const Parts parts{{"A", "1, 2\n2, 1\n2,3\n3 1\n4, 5\n"},
                           {"graph_indicator", "1\n1\n1\n2\n2\n"},
                           {"graph_labels", "7\n-1\n"},
                           {"node_labels", "3, 0\n5, 0\n3, 1\n9, 0\n3, 0\n"},
                           {"node_attributes", "0.5, 1\n-2, 4\n0, 0\n1, 1e-3\n3, 0.25\n"}};
  return parts;
}

std::filesystem::path written(const testing::TempDir& dir, const Parts& parts) {
  for (const auto& [name, text] : parts) testing::write_file(dir / ("D_" + name + ".txt"), text);
  return dir / "D";
}

std::vector<Edge> edges_in(const ImportOptions& options) {
  EdgeOptions how;
  how.num_nodes = options.nodes;
  how.ids_from_one = options.ids_from_one;
  const auto reader = open_edges(*options.edges, how);
  std::array<Edge, 4> some;
  std::vector<Edge> all;
  while (const std::size_t count = reader->read(some)) all.insert(all.end(), some.begin(), some.begin() + count);
  return all;
}

std::vector<std::vector<double>> rows_in(const ImportOptions& options) {
  const auto reader = open_tu_features(std::get<TuInput>(*options.features));
  std::vector<std::vector<double>> rows;
  for (FeatureBatch batch; reader->next(batch, 3);)
    for (std::size_t row = 0; row < batch.rows; ++row) {
      rows.emplace_back(reader->columns());
      for (std::size_t i = batch.indptr[row]; i < batch.indptr[row + 1]; ++i)
        rows.back()[batch.indices[i]] = batch.values[i];
    }
  return rows;
}

std::vector<std::int32_t> numbers_in_memory(const InputFile& file) {
  std::vector<std::int32_t> numbers(100);
  const auto reader = open_labels(file);
  numbers.resize(reader->read(numbers));
  return numbers;
}

std::string refusal(const Parts& changed, std::optional<double> bound = 4) {
  const testing::TempDir dir;
  Parts parts = two_graphs();
  for (const auto& [name, text] : changed) parts[name] = text;
  std::erase_if(parts, [](const auto& part) { return part.second == "missing"; });
  ImportOptions options;
  try {
    static_cast<void>(use_tu_folder(written(dir, parts), bound, options));
    static_cast<void>(edges_in(options));
    static_cast<void>(rows_in(options));
  } catch (const Error& error) {
    return error.what();
  }
  return "read";
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("edges, graphs, classes and rows are those of the files, counted from 0") {
    const testing::TempDir dir;
    ImportOptions options;
    Parts parts = two_graphs();
    parts["edge_labels"] = "0\n0\n0\n0\n0\n";
    CHECK(use_tu_folder(written(dir, parts), 4, options) == std::vector<std::string>{"D_edge_labels.txt"});
    CHECK(options.nodes == 5);
    CHECK(options.classes == 2);
    CHECK(edges_in(options) == std::vector<Edge>{{0, 1}, {1, 0}, {1, 2}, {2, 0}, {3, 4}});
    CHECK(numbers_in_memory(*options.graphs) == std::vector<std::int32_t>{0, 0, 0, 1, 1});
    CHECK(numbers_in_memory(*options.graph_labels) == std::vector<std::int32_t>{1, 0});
    // Labels 3, 5, 9, then 0, 1, then two attributes by 4.
    CHECK(rows_in(options) == std::vector<std::vector<double>>{{1, 0, 0, 1, 0, 0.125, 0.25},
                                                               {0, 1, 0, 1, 0, -0.5, 1},
                                                               {1, 0, 0, 0, 1, 0, 0},
                                                               {0, 0, 1, 1, 0, 0.25, 1e-3 / 4},
                                                               {1, 0, 0, 1, 0, 0.75, 0.0625}});
  }

  TEST_CASE("nodes without labels and attributes have a column of ones") {
    const testing::TempDir dir;
    ImportOptions options;
    Parts parts = two_graphs();
    parts.erase("node_labels");
    parts.erase("node_attributes");
    parts.erase("graph_labels");
    static_cast<void>(use_tu_folder(written(dir, parts), {}, options));
    CHECK(rows_in(options) == std::vector<std::vector<double>>(5, {1}));
    CHECK_FALSE(options.graph_labels);
    CHECK_FALSE(options.classes);
  }

  TEST_CASE("files that are wrong are refused with line and remedy") {
    const auto says = [](const std::string& text, const std::string& part) {
      CAPTURE(text);
      return text.find(part) != std::string::npos;
    };
    CHECK(says(refusal({{"A", "missing"}}), "D_A.txt: no such file"));
    CHECK(says(refusal({{"graph_indicator", "missing"}}), "D_graph_indicator.txt: no such file"));
    CHECK(says(refusal({{"A", "1, 2\n0, 1\n"}}), "line 2: node id 0, where ids of TUDataset count from 1"));
    CHECK(says(refusal({{"A", "1, 6\n"}}), "line 1: node id 6 is outside the 5 nodes"));
    CHECK(says(refusal({{"A", "1, 2, 3\n"}}), "more than two ids"));
    CHECK(says(refusal({{"A", "1\n"}}), "no edge of two ids"));
    CHECK(says(refusal({{"A", "a, b\n"}}), "no edge of two ids"));
    CHECK(says(refusal({{"graph_indicator", "0\n0\n0\n1\n1\n"}}),
               "line 1: no number of a graph, of which the first is 1"));
    CHECK(says(refusal({{"graph_indicator", "1\nx\n"}}), "line 2: no number of a graph"));
    CHECK(says(refusal({{"graph_indicator", ""}}), "no line"));
    CHECK(says(refusal({{"graph_labels", "1.5\n"}}), "line 1: no line of one whole number"));
    CHECK(says(refusal({{"graph_labels", "7\n-1\n2\n"}}), "3 lines, and the last graph of"));
    CHECK(says(refusal({{"graph_labels", "7\n"}}), "1 lines, and the last graph of"));
    CHECK(says(refusal({{"node_labels", "1\n2\n"}}), "2 lines, and there are 5 nodes"));
    CHECK(says(refusal({{"node_labels", "1\n2\n1\n1\n1\n1\n"}}), "line 6: a line for more than 5 nodes"));
    CHECK(says(refusal({{"node_labels", "1, 2\n2\n1\n1\n1\n"}}), "line 2: 1 numbers, where line 1 has 2"));
    CHECK(says(refusal({{"node_labels", "1\nx\n1\n1\n1\n"}}), "line 2: 'x' is no whole number"));
    CHECK(says(refusal({{"node_attributes", "1\n2\nnan\n1\n1\n"}}), "line 3: not 1 finite numbers"));
    CHECK(says(refusal({{"node_attributes", "1\n2\n1 1\n1\n1\n"}}), "line 3: more numbers than other lines have"));
    CHECK(says(refusal({{"node_attributes", "1\n2\n4.5\n1\n1\n"}}),
               "line 3: attribute 0, 4.5, is beyond attribute-bound=4"));
    CHECK(says(refusal({}, {}), "its nodes have attributes; declare by attribute-bound"));
    CHECK(says(refusal({{"node_attributes", "missing"}}), "have no attributes"));
    CHECK(says(refusal({}, 0), "must be above 0 and finite"));
  }
}

}  // namespace unweave
