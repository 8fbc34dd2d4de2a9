// tests/engine/ingest/store_import_test.cpp - files in, the same graph, features, labels and splits
// out; or one error and nothing.
#include "engine/ingest/store_import.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/contents.h"
#include "engine/resources/parallel.h"
#include "engine/resources/work_meter.h"
#include "storage/codec/half.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/graphs.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;

ImportReport import_sample_to(const std::filesystem::path& store, const ImportOptions& options,
                              std::uint64_t memory = std::uint64_t{64} << 20) {
  MemoryBudget budget(memory);
  WorkMeter nobody;
  ImportReport report = import_store(store, options, budget, nobody);
  CHECK(budget.used() == 0);
  return report;
}

InputFile file(const std::filesystem::path& path) {
  return {path, {}};
}

std::string text_of(const std::vector<Edge>& edges) {
  std::string text = "# u v\n";
  for (const Edge& edge : edges) text += std::to_string(edge.u) + "\t" + std::to_string(edge.v) + "\n";
  return text;
}

std::string npy_of(const std::vector<Edge>& edges, bool rows) {
  std::vector<std::int64_t> ids;
  for (const Edge& edge : edges) {
    ids.push_back(edge.u);
    if (!rows) ids.push_back(edge.v);
  }
  for (const Edge& edge : edges)
    if (rows) ids.push_back(edge.v);
  const std::string m = std::to_string(edges.size());
  return testing::npy("<i8", rows ? "(2, " + m + ")" : "(" + m + ", 2)", ids);
}

std::string matrix_market_of(NodeId nodes, const std::vector<Edge>& edges) {
  const std::string n = std::to_string(nodes);
  std::string text =
      "%%MatrixMarket matrix coordinate pattern general\n" + n + " " + n + " " + std::to_string(edges.size()) + "\n";
  for (const Edge& edge : edges) text += std::to_string(edge.u + 1) + " " + std::to_string(edge.v + 1) + "\n";
  return text;
}

/// Edges again and again, in both directions, with loops.
std::vector<Edge> messy(const testing::NamedGraph& graph, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Edge> edges = graph.edges;
  for (const Edge& edge : graph.edges) {
    if (random() % 2 == 0) edges.push_back({edge.v, edge.u});
    if (random() % 5 == 0) edges.push_back({edge.u, edge.u});
  }
  std::shuffle(edges.begin(), edges.end(), random);
  return edges;
}

void check_graph(const std::filesystem::path& store, NodeId nodes, const std::vector<Edge>& edges,
                 const BuildReport& report) {
  std::set<std::pair<NodeId, NodeId>> arcs;
  std::uint64_t loops = 0;
  for (const Edge& edge : edges) {
    if (edge.u == edge.v) ++loops;
    if (edge.u != edge.v) arcs.insert({{edge.u, edge.v}, {edge.v, edge.u}});
  }
  CHECK(report.nodes == nodes);
  CHECK(report.edges_read == edges.size());
  CHECK(report.self_loops == loops);
  CHECK(report.edges == arcs.size() / 2);
  CHECK(report.duplicates == edges.size() - loops - arcs.size() / 2);
  const Contents contents(store, read_manifest(store));
  CHECK(contents.num_nodes() == nodes);
  CHECK(contents.graph().num_arcs() == arcs.size());
  std::set<std::pair<NodeId, NodeId>> found;
  std::vector<NodeId> list;
  for (NodeId u = 0; u < nodes; ++u) {
    contents.graph().neighbours(u, list);
    CHECK(contents.graph().degree(u) == list.size() + 1);
    for (const NodeId v : list) found.insert({u, v});
  }
  CHECK(found == arcs);
}

std::vector<float> features_of(const std::filesystem::path& store) {
  const Manifest manifest = read_manifest(store);
  const Contents contents(store, manifest);
  std::vector<float> rows(std::size_t{manifest.nodes} * manifest.features);
  contents.features().read({0, manifest.nodes}, 0, manifest.features, rows.data());
  for (NodeId row = 0; row < manifest.nodes; row += span_nodes(manifest.nodes))
    if (const FeatureFile* const file = contents.features().file_from(row)) file->verify();
  return rows;
}

/// A matrix as one dense array and as CSR arrays.
struct Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;

  [[nodiscard]] ImportOptions dense(const TempDir& dir) const {
    ImportOptions options;
    const std::string shape = "(" + std::to_string(rows) + ", " + std::to_string(columns) + ")";
    options.features = file(testing::write_file(dir / "dense.npy", testing::npy("<f8", shape, values)));
    return options;
  }
  [[nodiscard]] ImportOptions csr(const TempDir& dir) const {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> indices;
    std::vector<double> stored;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != 0 || i % 7 == 0) {  // some zeros are explicit
        indices.push_back(static_cast<std::int32_t>(i % columns));
        stored.push_back(values[i]);
      }
      if (i % columns == columns - 1) offsets.push_back(static_cast<std::int64_t>(indices.size()));
    }
    const auto one = [](std::size_t n) { return "(" + std::to_string(n) + ",)"; };
    CsrInput input;
    input.columns = columns;
    input.files.indptr = file(testing::write_file(dir / "p.npy", testing::npy("<i8", one(offsets.size()), offsets)));
    input.files.indices = file(testing::write_file(dir / "i.npy", testing::npy("<i4", one(indices.size()), indices)));
    input.files.values = file(testing::write_file(dir / "v.npy", testing::npy("<f8", one(stored.size()), stored)));
    ImportOptions options;
    options.features = input;
    return options;
  }
};

Matrix random_matrix(std::size_t rows, std::size_t columns, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Matrix matrix{rows, columns, std::vector<double>(rows * columns)};
  for (double& value : matrix.values) value = random() % 3 == 0 ? normal(random) : 0;
  for (std::size_t r = 0; r < rows; r += 2)
    for (std::size_t c = 0; c < columns; ++c) matrix.values[r * columns + c] /= 50;  // below norm 1
  for (std::size_t r = 0; r < rows; ++r) matrix.values[r * columns] = 0.25;          // a constant column
  return matrix;
}

/// The import fails with an Error whose message has the parts, and the folder is as it was.
template <class Error>
void check_failure(const ImportOptions& options, const std::vector<std::string>& parts) {
  const TempDir dir;
  testing::check_message(testing::message_of<Error>([&] { import_sample_to(dir / "store", options); }), parts);
  CHECK(!std::filesystem::exists(dir / "store"));
  std::filesystem::create_directory(dir / "empty");
  CHECK_THROWS_AS(import_sample_to(dir / "empty", options), Error);
  CHECK(std::filesystem::is_empty(dir / "empty"));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("every format gives the graph that sets give, for every family of graphs") {
    for (const testing::NamedGraph& graph : testing::graph_family()) {
      CAPTURE(graph.name);
      const TempDir dir;
      const auto edges = messy(graph, 1);
      ImportOptions options;
      options.nodes = graph.nodes;
      const auto check = [&](const std::string& name, const std::string& bytes) {
        CAPTURE(name);
        options.edges = file(testing::write_file(dir / name, bytes));
        const ImportReport report = import_sample_to(dir / (name + ".store"), options);
        check_graph(dir / (name + ".store"), graph.nodes, edges, report);
      };
      check("edges.tsv", text_of(edges));
      check("edges.tsv.gz", testing::gzipped(text_of(edges)));
      check("edges.mtx", matrix_market_of(graph.nodes, edges));
      check("pairs.npy", npy_of(edges, false));
      if (edges.size() > 2) check("rows.npy", npy_of(edges, true));
    }
  }

  TEST_CASE("order, direction, repetition of edges, budget and threads leave no trace in the files" *
            doctest::test_suite("slow")) {
    const TempDir dir;
    testing::NamedGraph graph = testing::random_graph_with_hub(70'000, 200'000, 9);
    ImportOptions options;
    options.nodes = 140'000;  // three shards, the last one empty
    options.edges = file(testing::write_file(dir / "a.npy", npy_of(graph.edges, true)));
    import_sample_to(dir / "a", options);
    const auto edges = messy(graph, 2);
    options.edges = file(testing::write_file(dir / "b.npy", npy_of(edges, false)));
    {
      const ThreadLimit one(1);
      const ImportReport report = import_sample_to(dir / "b", options, std::uint64_t{4} << 20);  // spills
      check_graph(dir / "b", 140'000, edges, report);
    }
    CHECK(testing::folder_bytes(dir / "a") == testing::folder_bytes(dir / "b"));
    CHECK(read_manifest(dir / "a").shards.size() == 3);
    options.order = "degree";
    import_sample_to(dir / "c", options);
    import_sample_to(dir / "d", options, std::uint64_t{5} << 20);  // spills
    CHECK(testing::folder_bytes(dir / "c") == testing::folder_bytes(dir / "d"));
  }

  TEST_CASE("the number of nodes comes from the first source that knows it") {
    const TempDir dir;
    ImportOptions options;
    options.edges = file(testing::write_file(dir / "e.txt", "0 4\n"));
    CHECK(import_sample_to(dir / "a", options).nodes == 5);
    options.edges = file(testing::write_file(dir / "loop.txt", "7 7\n"));
    CHECK(import_sample_to(dir / "b", options).nodes == 8);
    options.labels = file(testing::write_file(dir / "l.txt", "# labels\n0\n1\n-1\n0\n0\n0\n0\n0\n0\n"));
    CHECK(import_sample_to(dir / "c", options).nodes == 9);
    options.edges.reset();
    const ImportReport flat = import_sample_to(dir / "d", options);
    CHECK(flat.nodes == 9);
    CHECK(flat.classes == 2);
    CHECK(flat.edges == 0);
    ImportOptions alone;
    alone.nodes = 1;
    CHECK(import_sample_to(dir / "e", alone).nodes == 1);
    check_graph(dir / "e", 1, {}, {.nodes = 1});
    alone.edges = file(testing::write_file(dir / "none.txt", "# nothing\n"));
    CHECK(import_sample_to(dir / "f", alone).edges == 0);
    ImportOptions market;
    market.edges = file(testing::write_file(dir / "m.mtx", matrix_market_of(6, {{0, 1}})));
    CHECK(import_sample_to(dir / "g", market).nodes == 6);
  }

  TEST_CASE("labels and splits: ids sorted, once each, those without label ignored and counted") {
    const TempDir dir;
    ImportOptions options;
    options.labels =
        file(testing::write_file(dir / "l.npy", testing::npy<double>("<f8", "(6, 1)", {2, NAN, 0, 1, -1, 0})));
    options.train = file(testing::write_file(dir / "train", "5\n0\n5\n1\n"));
    options.test = file(testing::write_file(dir / "test.npy", testing::npy<std::int64_t>("<i8", "(2,)", {4, 3})));
    const ImportReport report = import_sample_to(dir / "s", options);
    CHECK(report.unlabelled_split_ids == 2);
    CHECK(report.classes == 3);
    const Contents contents(dir / "s", read_manifest(dir / "s"));
    CHECK(contents.train() == std::vector<NodeId>{0, 5});
    CHECK(contents.valid().empty());
    CHECK(contents.test() == std::vector<NodeId>{3});
    CHECK(contents.label(0) == 2);
    CHECK(contents.label(1) == kNoLabel);
    options.classes = 10;
    CHECK(import_sample_to(dir / "t", options).classes == 10);
  }

  TEST_CASE("dense and CSR features give equal rows within the bound, whatever the budget") {
    for (const auto& [rows, columns] :
         std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}, {50, 40}, {66'000, 3}}) {
      const TempDir dir;
      const Matrix matrix = random_matrix(rows, columns, 3);
      import_sample_to(dir / "dense", matrix.dense(dir));
      const ImportReport report = import_sample_to(dir / "csr", matrix.csr(dir));
      CHECK(report.features == columns);
      CHECK(report.nodes == rows);
      const auto values = features_of(dir / "dense");
      CHECK(values == features_of(dir / "csr"));
      CHECK(read_manifest(dir / "csr").feature_layout == FeatureLayout{true, FeatureType::f32});
      CHECK(read_manifest(dir / "dense").feature_layout == FeatureLayout{false, FeatureType::f32});
      for (std::size_t r = 0; r < rows; ++r) {
        double square = 0, out_square = 0;
        for (std::size_t c = 0; c < columns; ++c) {
          const double value = matrix.values[r * columns + c];
          square += value * value;
          out_square += static_cast<double>(values[r * columns + c]) * static_cast<double>(values[r * columns + c]);
        }
        CHECK(out_square <= 1.0);
        CHECK(std::abs(std::sqrt(out_square) - std::min(1.0, std::sqrt(square))) < 1e-6);
      }
      const ThreadLimit one(1);
      import_sample_to(dir / "small", matrix.dense(dir), std::uint64_t{12} << 20);
      CHECK(testing::folder_bytes(dir / "dense") == testing::folder_bytes(dir / "small"));
    }
  }

  TEST_CASE("16-bit features are the 32-bit ones rounded toward zero, and a matrix of such values loses nothing") {
    for (const bool standardize : {false, true}) {
      for (const std::string order : {"none", "degree"}) {
        CAPTURE(standardize);
        CAPTURE(order);
        const TempDir dir;
        Matrix matrix = random_matrix(900, 40, 5);
        for (std::size_t i = 0; i < matrix.values.size(); i += 11) matrix.values[i] *= 1e-9;  // most round to zero
        const InputFile edges = file(testing::write_file(dir / "edges.txt", "0 899\n899 3\n"));
        const auto build = [&](const std::string& name, ImportOptions options, FeatureType type) {
          options.edges = edges;
          options.order = order;
          options.standardize = standardize;
          options.feature_type = type;
          import_sample_to(dir / name, options, std::uint64_t{24} << 20);
          return features_of(dir / name);
        };
        std::vector<float> expected = build("wide", matrix.dense(dir), FeatureType::f32);
        const std::vector<float> all = expected;
        truncate_to_halves(std::span(expected));
        CHECK(expected != all);
        CHECK(build("dense", matrix.dense(dir), FeatureType::f16) == expected);
        CHECK(build("csr", matrix.csr(dir), FeatureType::f16) == expected);
        CHECK(read_manifest(dir / "dense").feature_layout == FeatureLayout{false, FeatureType::f16});
        CHECK(read_manifest(dir / "csr").feature_layout == FeatureLayout{!standardize, FeatureType::f16});
        if (standardize || order != "none") continue;
        matrix.values.assign(expected.begin(), expected.end());
        for (const FeatureType type : {FeatureType::f32, FeatureType::f16}) {
          const std::string name(feature_type_name(type));
          CHECK(build("dense again " + name, matrix.dense(dir), type) == expected);
          CHECK(build("csr again " + name, matrix.csr(dir), type) == expected);
        }
        // What became zero has left no trace in a sparse file.
        CHECK(read_manifest(dir / "csr").feature_files == read_manifest(dir / "csr again f16").feature_files);
        CHECK(read_manifest(dir / "dense").feature_files == read_manifest(dir / "dense again f16").feature_files);
      }
    }
  }

  TEST_CASE("a store has no sign of a zero, however it was given: its files are those of zeros without") {
    const auto f64 = [](const std::vector<double>& values) { return testing::npy("<f8", "(6, 3)", values); };
    const auto f32 = [](const std::vector<double>& values) {
      return testing::npy("<f4", "(6, 3)", std::vector<float>(values.begin(), values.end()));
    };
    const auto text = [](const std::vector<double>& values) {
      std::ostringstream out;
      for (std::size_t i = 0; i < values.size(); ++i) out << values[i] << (i % 3 == 2 ? '\n' : ',');
      return out.str();
    };
    const std::vector<std::function<std::string(const std::vector<double>&)>> formats{f64, f32, text};
    // The last rows are zeros in 16 bits; rows 0 and 1 are divided by their norms.
    const std::vector<double> given{-0.0, 3, -4, 5,    -0.0, 0,     -0.0,  -0.0,    -0.0,
                                    -0.5, 0, .1, 1e-9, -0.0, -1e-9, -1e-9, 0x1p-30, -0.0};
    std::size_t turn = 0;
    for (const auto& format : formats) {
      for (const FeatureType type : {FeatureType::f32, FeatureType::f16}) {
        for (const std::string order : {"none", "degree"}) {
          for (const bool standardize : {false, true}) {
            CAPTURE(turn);
            const TempDir dir;
            std::vector<double> plain = given;
            for (double& value : plain) value += 0.0;
            const auto build = [&](const std::string& name, const std::vector<double>& values) {
              ImportOptions options;
              options.nodes = 6;
              options.edges = file(testing::write_file(dir / "e.txt", "0 5\n5 3\n"));
              const std::string suffix = turn < 16 ? ".npy" : ".csv";
              options.features = file(testing::write_file(dir / (name + suffix), format(values)));
              options.order = order;
              options.standardize = standardize;
              options.feature_type = type;
              import_sample_to(dir / name, options);
              return testing::folder_bytes(dir / name);
            };
            CHECK(build("given", given) == build("plain", plain));
            ++turn;
            if (type == FeatureType::f32 || standardize) continue;
            std::vector<double> rounded = plain;
            std::fill(rounded.begin() + 12, rounded.end(), 0.0);
            CHECK(testing::folder_bytes(dir / "given") == build("rounded", rounded));
          }
        }
      }
    }
  }

  TEST_CASE("standardising agrees with a plain computation, for dense and CSR input alike") {
    const TempDir dir;
    const Matrix matrix = random_matrix(500, 12, 4);
    ImportOptions dense = matrix.dense(dir);
    ImportOptions csr = matrix.csr(dir);
    dense.standardize = csr.standardize = true;
    import_sample_to(dir / "dense", dense);
    import_sample_to(dir / "csr", csr);
    CHECK(testing::folder_bytes(dir / "dense") == testing::folder_bytes(dir / "csr"));
    CHECK(read_manifest(dir / "csr").standardized);
    std::vector<long double> expected(matrix.values.begin(), matrix.values.end());
    for (std::size_t c = 0; c < matrix.columns; ++c) {
      long double mean = 0, variance = 0;
      for (std::size_t r = 0; r < matrix.rows; ++r) mean += expected[r * matrix.columns + c] / 500.0L;
      for (std::size_t r = 0; r < matrix.rows; ++r) {
        const long double delta = expected[r * matrix.columns + c] - mean;
        variance += delta * delta / 500.0L;
      }
      const long double deviation = variance < 1e-20L ? 1 : std::sqrt(variance);
      for (std::size_t r = 0; r < matrix.rows; ++r) {
        long double& value = expected[r * matrix.columns + c];
        value = (value - mean) / deviation;
      }
    }
    long double largest = 0;
    for (std::size_t r = 0; r < matrix.rows; ++r) {
      long double square = 0;
      for (std::size_t c = 0; c < matrix.columns; ++c)
        square += expected[r * matrix.columns + c] * expected[r * matrix.columns + c];
      largest = std::max(largest, std::sqrt(square));
    }
    const auto values = features_of(dir / "dense");
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(static_cast<double>(values[i]) ==
            doctest::Approx(static_cast<double>(expected[i] / largest)).epsilon(1e-6));
  }

  TEST_CASE("each kind of bad input is one error that names its place, and leaves nothing") {
    const TempDir dir;
    const auto text = [&](const std::string& name, const std::string& bytes) {
      return file(testing::write_file(dir / name, bytes));
    };
    const auto edges = [&](const std::string& bytes, std::optional<std::uint64_t> nodes = std::nullopt) {
      ImportOptions options;
      options.edges = text("edges.txt", bytes);
      options.nodes = nodes;
      return options;
    };
    check_failure<InputError>(edges("0 1\n1 2 3\n"), {"edges.txt", "line 2", "max-weight=W"});
    check_failure<InputError>(edges("0 1\n1 -2\n"), {"edges.txt", "line 2", "-2"});
    check_failure<InputError>(edges("0 1\n1 5\n", 5), {"edges.txt", "line 2", "5"});
    check_failure<InputError>(edges("0 4294967295\n"), {"edges.txt", "line 1", "4294967295"});
    check_failure<InputError>(edges(""), {"edges.txt", "declare it with nodes"});
    check_failure<UsageError>(edges("0 1\n", 0), {"nodes=0"});
    check_failure<UsageError>({}, {"give edges, features, labels or nodes"});
    ImportOptions options;
    options.edges = text("m.mtx", matrix_market_of(6, {{0, 1}}));
    options.nodes = 7;
    check_failure<InputError>(options, {"m.mtx", "6", "7"});
    options = edges("0 1\n");
    const std::string array = npy_of({{0, 1}, {1, 2}, {2, 3}}, true);
    options.edges = text("cut.npy", array.substr(0, array.size() - 8));
    check_failure<InputError>(options, {"cut.npy"});
    options.edges = file(dir / "missing.txt");
    check_failure<DataError>(options, {"missing.txt"});

    Matrix matrix = random_matrix(4, 3, 1);
    options = matrix.dense(dir);
    options.nodes = 5;
    check_failure<InputError>(options, {"dense.npy", "4", "5"});
    matrix.values[7] = NAN;
    check_failure<InputError>(matrix.dense(dir), {"dense.npy", "row 2", "column 1"});
    matrix.values[7] = INFINITY;
    check_failure<InputError>(matrix.csr(dir), {"v.npy", "row 2", "column 1"});
    matrix.values[7] = 1e300;
    options = matrix.dense(dir);
    options.standardize = true;
    check_failure<DataError>(options, {"column 1"});

    options = {};
    options.labels = text("labels.txt", "# labels\n0\n3\n1\n");
    options.classes = 3;
    check_failure<InputError>(options, {"labels.txt", "line 3", "3"});
    options.classes = 4;
    options.nodes = 4;
    check_failure<InputError>(options, {"labels.txt", "3", "4"});
    options.nodes.reset();
    options.train = text("train.txt", "# nodes\n0\n3\n");
    check_failure<InputError>(options, {"train.txt", "line 3", "3"});
    options.train = text("train.txt", "# nodes\n0\n1\n");
    options.test = text("test.txt", "2\n1\n");
    check_failure<InputError>(options, {"train.txt", "test.txt", "node 1"});
    options.labels.reset();
    check_failure<UsageError>(options, {"features, labels or nodes"});
  }

  TEST_CASE("a folder that holds something is refused and left as it is") {
    const TempDir dir;
    std::filesystem::create_directory(dir / "store");
    testing::write_file(dir / "store" / "mine", "mine");
    ImportOptions options;
    options.nodes = 3;
    CHECK_THROWS_AS(import_sample_to(dir / "store", options), UsageError);
    CHECK(testing::folder_bytes(dir / "store") == std::map<std::string, std::string>{{"mine", "mine"}});
  }
}

}  // namespace unweave
