// tests/engine/ingest/import_ranks_test.cpp - an import of several ranks leaves bytes and report of
// one process.
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <ios>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "engine/graph/store.h"
#include "engine/ingest/store_import.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/store_folders.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::message_of;
using testing::TempDir;

constexpr NodeId kSharedNodes = 150'000;  // three spans
constexpr std::size_t kSharedEdges = 120'000;
constexpr std::size_t kSharedColumns = 4;
constexpr std::size_t kRanks[] = {1, 2, 3, 4, 8};

/// Files of one graph: hubs, repeats in both directions, self loops, and nodes that no edge has.
class SharedInputs {
 public:
  explicit SharedInputs(const fs::path& folder) : folder_(folder) {
    std::mt19937 random(11);
    const auto node = [&] { return static_cast<NodeId>(1 + random() % (kSharedNodes - 10)); };
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < kSharedEdges; ++i) {
      const auto hub = static_cast<NodeId>(65'530 + random() % 12);  // on both sides of the end of a span
      edges.push_back({i % 4 == 0 ? hub : node(), node()});
      if (i % 50 == 0) edges.push_back({edges.back().v, edges.back().u});
      if (i % 70 == 0) edges.push_back(edges.back());
      if (i % 90 == 0) edges.push_back({edges.back().u, edges.back().u});
    }
    std::string text = "source target\n", weighted, mtx;
    std::vector<std::int64_t> pairs;
    for (const Edge& edge : edges) {
      const std::string u = std::to_string(edge.u), v = std::to_string(edge.v);
      text += u + " " + v + "\n";
      weighted += u + " " + v + " " + std::to_string(1 + (edge.u + edge.v) % 3) + "\n";
      mtx += u + " " + v + "\n";
      pairs.insert(pairs.end(), {edge.u, edge.v});
    }
    const std::string count = std::to_string(edges.size()), nodes = std::to_string(kSharedNodes);
    write("e.txt", text);
    write("w.txt", weighted);
    write("e.mtx",
          "%%MatrixMarket matrix coordinate pattern general\n" + nodes + " " + nodes + " " + count + "\n" + mtx);
    write("e.npy", testing::npy("<i8", "(" + count + ", 2)", pairs));
    write("bad.txt", text + "17 x\n");
    write("two.txt", weighted + "3 140001 1\n3 140001 2\n");
    write("few.txt", "1 2\n2 5\n");
    std::vector<float> values(std::size_t{kSharedNodes} * kSharedColumns);
    for (float& value : values) value = random() % 3 == 0 ? static_cast<float>(random() % 1000) / 700 : 0;
    const std::string shape = "(" + nodes + ", " + std::to_string(kSharedColumns) + ")";
    write("x.npy", testing::npy("<f4", shape, values));
    std::string rows = "a b c d\n";
    for (std::size_t i = 0; i < values.size(); ++i)
      rows += std::to_string(values[i]) + ((i + 1) % kSharedColumns == 0 ? "\n" : " ");
    write("x.txt", rows);
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    std::vector<float> stored;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != 0) {
        indices.push_back(static_cast<std::int32_t>(i % kSharedColumns));
        stored.push_back(values[i]);
      }
      if ((i + 1) % kSharedColumns == 0) indptr.push_back(static_cast<std::int64_t>(stored.size()));
    }
    const std::string entries = "(" + std::to_string(stored.size()) + ",)";
    write("p.npy", testing::npy("<i8", "(" + std::to_string(indptr.size()) + ",)", indptr));
    write("i.npy", testing::npy("<i4", entries, indices));
    write("v.npy", testing::npy("<f4", entries, stored));
    values[values.size() - 2] = std::numeric_limits<float>::quiet_NaN();
    write("nan.npy", testing::npy("<f4", shape, values));
    std::string labels;
    for (NodeId one = 0; one < kSharedNodes; ++one) labels += (one % 11 == 0 ? "-1" : std::to_string(one % 7)) + "\n";
    write("y.txt", labels);
    write("train.txt", "5\n9\n11\n100000\n");
    write("test.txt", "6\n140000\n");
    write("replay.txt", "node 12\nnode 149999\n");
  }

  [[nodiscard]] InputFile file(const std::string& name) const { return {folder_ / name, {}}; }

  [[nodiscard]] std::vector<ImportOptions> ways() const {
    ImportOptions plain;
    plain.edges = file("e.txt");
    ImportOptions labelled;
    labelled.edges = file("e.npy");
    labelled.nodes = kSharedNodes;
    labelled.features = file("x.npy");
    labelled.labels = file("y.txt");
    labelled.train = file("train.txt");
    labelled.test = file("test.txt");
    ImportOptions weighted;
    weighted.edges = file("w.txt");
    weighted.max_weight = 3;
    ImportOptions sparse = weighted;
    sparse.features = CsrInput{{file("p.npy"), file("i.npy"), file("v.npy")}, kSharedColumns};
    ImportOptions text = plain;
    text.nodes = kSharedNodes;
    text.features = file("x.txt");
    text.feature_type = FeatureType::f16;
    ImportOptions declared;
    declared.edges = file("e.mtx");
    ImportOptions flat = labelled;
    flat.edges.reset();
    flat.replay = file("replay.txt");
    ImportOptions replayed = labelled;
    replayed.edges = file("w.txt");
    replayed.ignore_weights = true;
    replayed.replay = file("replay.txt");
    replayed.features = sparse.features;
    ImportOptions few;
    few.edges = file("few.txt");
    ImportOptions directed = labelled;
    directed.layers.directed = true;
    ImportOptions relations = sparse;
    relations.edges.reset();
    relations.max_weight = 1;
    relations.nodes = kSharedNodes;
    relations.types = {{"paper", 100'000}, {"author", 50'000}};
    relations.layers.relations = {{"a"}, {"b"}};
    relations.relations = {{file("e.txt")}, {file("few.txt")}};
    ImportOptions sets = relations;
    sets.layers.directed = true;
    sets.layers.subsets = {{0, 1}};
    return {plain, labelled, weighted, sparse, text, declared, flat, replayed, few, directed, relations, sets};
  }

 private:
  void write(const std::string& name, const std::string& bytes) const { testing::write_file(folder_ / name, bytes); }
  fs::path folder_;
};

/// All of a report but for spooled_bytes.
std::string text_of(const ImportReport& report) {
  std::ostringstream out;
  out << std::hexfloat;
  const auto put = [&](const auto&... values) { ((out << values << ' '), ...); };
  const auto maybe = [&](const auto& value) { value ? put(*value) : put("nothing"); };
  put(report.edges_read, report.self_loops, report.duplicates, report.unlabelled_split_ids, report.nodes, report.edges,
      report.max_weight, report.weight_sum, report.features, report.classes, report.order, report.bits_per_arc,
      report.one_way_edges, report.one_way_exact, report.left_out.ignored, report.left_out.zeros, report.feature_bytes,
      report.largest_norm);
  maybe(report.named);
  maybe(report.rows_scaled);
  maybe(report.empty_classes);
  for (const auto& split : report.splits) maybe(split);
  for (const std::uint32_t one : report.first_empty_classes) put(one);
  for (const std::string& remark : report.remarks) out << '\n' << remark;
  return std::move(out).str();
}

ImportReport import_alone(const fs::path& store, const ImportOptions& options, std::uint64_t memory) {
  MemoryBudget budget(memory);
  WorkMeter meter;
  return import_store(store, options, budget, meter);
}

/// The report of rank 0; that of each other one is empty.
ImportReport import_shared(std::size_t ranks, const fs::path& store, const ImportOptions& options,
                           std::uint64_t memory) {
  ImportReport told;
  testing::run_ranks(ranks, [&](Ranks& job) {
    MemoryBudget budget(memory);
    WorkMeter meter;
    ImportReport report = import_store(store, options, budget, meter, job);
    if (job.first())
      told = std::move(report);
    else if (report.nodes != 0 || !report.remarks.empty())
      throw DataError("a report where there is none");
  });
  return told;
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("every number of ranks leaves the bytes and the report of one process") {
    const TempDir dir;
    const SharedInputs inputs(dir.path());
    constexpr std::uint64_t kMemory = std::uint64_t{256} << 20;
    std::size_t way = 0;
    for (const ImportOptions& options : inputs.ways()) {
      CAPTURE(way);
      const std::string report = text_of(import_alone(dir / "one", options, kMemory));
      for (const std::size_t ranks : kRanks) {
        CAPTURE(ranks);
        const ImportReport told = import_shared(ranks, dir / "many", options, kMemory);
        CHECK(text_of(told) == report);
        CHECK(testing::folder_bytes(dir / "many") == testing::folder_bytes(dir / "one"));
        fs::remove_all(dir / "many");
      }
      fs::remove_all(dir / "one");
      ++way;
    }
  }
  TEST_CASE("each rank has its arcs in its own memory and spool") {
    const TempDir dir;
    const SharedInputs inputs(dir.path());
    constexpr std::uint64_t kLittle = std::uint64_t{3} << 20;
    ImportOptions options;
    options.edges = inputs.file("e.npy");
    options.nodes = kSharedNodes;
    const ImportReport alone = import_alone(dir / "one", options, kLittle);
    CHECK(alone.spooled_bytes > 0);
    const ImportReport told = import_shared(3, dir / "many", options, kLittle);
    CHECK(told.spooled_bytes < alone.spooled_bytes);
    CHECK(testing::folder_bytes(dir / "many") == testing::folder_bytes(dir / "one"));
  }
  TEST_CASE("what is wrong is told as one process tells it, and leaves nothing") {
    const TempDir dir;
    const SharedInputs inputs(dir.path());
    constexpr std::uint64_t kMemory = std::uint64_t{256} << 20;
    const auto check_like_one = [&](const ImportOptions& options, bool leaves_nothing) {
      const std::string alone =
          message_of<DataError>([&] { static_cast<void>(import_alone(dir / "s", options, kMemory)); });
      CHECK(!alone.empty());
      for (const std::size_t ranks : {2, 3, 8}) {
        CAPTURE(ranks);
        CHECK(message_of<DataError>([&] { static_cast<void>(import_shared(ranks, dir / "s", options, kMemory)); }) ==
              alone);
        if (leaves_nothing) CHECK(!fs::exists(dir / "s"));
        fs::remove_all(dir / "s");
      }
    };
    ImportOptions bad;
    bad.edges = inputs.file("bad.txt");
    SUBCASE("a line, where the number of nodes is counted before") {
      check_like_one(bad, true);
    }
    SUBCASE("a line, where it is known") {
      bad.nodes = kSharedNodes;
      check_like_one(bad, true);
    }
    SUBCASE("a number of nodes that two files do not agree upon") {
      bad.edges = inputs.file("e.mtx");
      bad.nodes = 20;
      check_like_one(bad, true);
    }
    SUBCASE("a row of features, which the last rank alone reads") {
      bad.edges.reset();
      bad.features = inputs.file("nan.npy");
      check_like_one(bad, false);
    }
    SUBCASE("norms above 1 in the rows of several ranks") {
      bad.edges.reset();
      bad.features = inputs.file("x.npy");
      bad.scale.as_given = true;
      check_like_one(bad, true);
    }
    SUBCASE("an edge of two weights") {
      bad.edges = inputs.file("two.txt");
      bad.max_weight = 3;
      for (const std::size_t ranks : {2, 3}) {
        const std::string told =
            message_of<InputError>([&] { static_cast<void>(import_shared(ranks, dir / "s", bad, kMemory)); });
        testing::check_message(told, {"3", "140001", "an edge has one weight"});
        fs::remove_all(dir / "s");
      }
    }
  }
}

TEST_SUITE("unit") {
  TEST_CASE("ranks refuse what one process does alone") {
    const TempDir dir;
    testing::write_file(dir / "e.txt", "0 1\n");
    testing::write_file(dir / "x.txt", "0 1\n1 0\n");
    ImportOptions options;
    options.edges = InputFile{dir / "e.txt", {}};
    const auto refused = [&](const ImportOptions& asked) {
      std::string told = message_of<UsageError>(
          [&] { static_cast<void>(import_shared(2, dir / "s", asked, std::uint64_t{64} << 20)); });
      CHECK(!fs::exists(dir / "s"));
      return told;
    };
    ImportOptions ordered = options, named = options, standard = options, piped = options;
    ordered.order = "bfs";
    testing::check_message(refused(ordered), {"order", "one process"});
    named.ids = InputFile{dir / "e.txt", {}};
    testing::check_message(refused(named), {"ids", "one process"});
    standard.features = InputFile{dir / "x.txt", {}};
    standard.standardize = true;
    testing::check_message(refused(standard), {"standardize", "one process"});
    piped.edges = InputFile{"-", {}};
    testing::check_message(refused(piped), {"one process"});
  }
  TEST_CASE("ranks that do not see one folder write nothing") {
    const TempDir dir;
    ImportOptions options;
    options.nodes = 10;
    const std::string told = message_of<DataError>([&] {
      testing::run_ranks(2, [&](Ranks& job) {
        MemoryBudget budget(std::uint64_t{64} << 20);
        WorkMeter meter;
        static_cast<void>(import_store(dir / (job.first() ? "a" : "b"), options, budget, meter, job));
      });
    });
    testing::check_message(told, {"rank 1", "storage that they share"});
    CHECK(fs::is_empty(dir.path()));
  }
  TEST_CASE("ranks that were given other files or options write nothing") {
    const TempDir dir;
    testing::write_file(dir / "a.txt", "0 1\n");
    testing::write_file(dir / "b.txt", "0 2\n");
    const auto refused = [&](const char* file, std::uint64_t nodes) {
      const std::string told = message_of<DataError>([&] {
        testing::run_ranks(3, [&](Ranks& job) {
          ImportOptions options;
          options.edges = InputFile{dir / (job.rank() == 2 ? file : "a.txt"), {}};
          options.nodes = job.rank() == 2 ? nodes : 10;
          MemoryBudget budget(std::uint64_t{64} << 20);
          WorkMeter meter;
          static_cast<void>(import_store(dir / "s", options, budget, meter, job));
        });
      });
      testing::check_message(told, {"rank 2", "options or input files"});
      CHECK(!fs::exists(dir / "s"));
    };
    refused("b.txt", 10);
    refused("a.txt", 11);
  }
}

}  // namespace unweave
