// tests/bench/limits/bench_store_test.cpp - the benchmarks of import, propagate and stream run at a
// small size, do what they say, leave nothing and change nothing.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/store_writer.h"
#include "algorithms/synthetic/generate.h"
#include "algorithms/synthetic/rmat.h"
#include "algorithms/verification/verify.h"
#include "bench/limits/bench_gather.h"
#include "bench/limits/bench_import.h"
#include "bench/limits/bench_propagate.h"
#include "bench/limits/bench_stream.h"
#include "bench/limits/program.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/csr_graph.h"
#include "support/folder_bytes.h"
#include "support/graphs.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::bench;
using testing::TempDir;

/// Lets temporary files lie in a folder of the test.
class TemporaryFilesIn {
 public:
  explicit TemporaryFilesIn(const fs::path& folder) {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", folder.c_str(), 1);
  }
  ~TemporaryFilesIn() { before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1); }
  TemporaryFilesIn(const TemporaryFilesIn&) = delete;
  TemporaryFilesIn& operator=(const TemporaryFilesIn&) = delete;

 private:
  std::string before_;
};

void check_positive(const nlohmann::json& json, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    CAPTURE(field);
    REQUIRE(json.contains(field));
    CHECK(json.at(field).get<double>() > 0);
  }
}

/// The ratio is that of the two rates, and of the two times where there are two.
void check_ratio(const nlohmann::json& json, const std::string& rate, const std::string& limit,
                 const std::string& ratio = "ratio") {
  CHECK(json.at(ratio).get<double>() == doctest::Approx(json.at(rate).get<double>() / json.at(limit).get<double>()));
}

std::set<Edge> rmat_edges(int scale, std::uint64_t edge_factor, std::uint64_t seed) {
  std::set<Edge> edges;
  for (std::uint64_t i = 0; i < edge_factor << scale; ++i) {
    const Edge edge = rmat_edge(seed, i, scale);
    if (edge.u != edge.v) edges.insert({std::min(edge.u, edge.v), std::max(edge.u, edge.v)});
  }
  return edges;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("run_bench_import imports the R-MAT graph, within the budget or by way of the spool" *
            doctest::test_suite("slow")) {
    const ThreadLimit limit(2);
    for (const bool little : {false, true}) {
      CAPTURE(little);
      const TempDir folder;
      MemoryBudget budget((little ? std::uint64_t{8} : std::uint64_t{512}) << 20);
      WorkMeter nobody;
      const ImportBench bench = run_bench_import(folder.path(), {15, 16, 1, 5}, budget, nobody);
      CHECK(bench.nodes == 1 << 15);
      CHECK(bench.edges_read == 16 << 15);
      CHECK(bench.arcs == 2 * rmat_edges(15, 16, 5).size());
      CHECK(bench.threads == 2);
      CHECK(bench.input_bytes > 8 * bench.edges_read);
      CHECK(bench.input_bytes < 8 * bench.edges_read + 256);
      CHECK((bench.spooled_bytes > 0) == little);
      CHECK(bench.spooled_bytes <= 16 * bench.edges_read);
      CHECK(bench.shard_bytes > bench.arcs / 8);
      CHECK(bench.moved_bytes == bench.input_bytes + 2 * bench.spooled_bytes + bench.shard_bytes);
      CHECK(bench.seconds > 0);
      CHECK(bench.limit_seconds > 0);
      CHECK(bench.ratio() == doctest::Approx(bench.arcs_per_second() / bench.limit_per_second()));
      CHECK(budget.used() == 0);
      CHECK(testing::folder_bytes(folder.path()).size() == 1);  // the edges
    }
  }

  TEST_CASE("import as a command") {
    const TempDir folder;
    const TemporaryFilesIn here(folder.path());
    const auto json =
        bench({"import", "--scale", "9", "--edge-factor", "8", "--repeats", "2", "--seed", "3", "--json"}).json();
    CHECK(json.at("bench") == "import");
    CHECK(json.at("edges_read") == 8 << 9);
    CHECK(json.at("arcs") == 2 * rmat_edges(9, 8, 3).size());
    check_positive(json, {"nodes", "threads", "input_bytes", "shard_bytes", "seconds", "limit_seconds"});
    CHECK(json.at("spooled_bytes") == 0);
    check_ratio(json, "arcs_per_second", "limit_arcs_per_second");
    check_ratio(json, "limit_seconds", "seconds");
    const auto table = bench({"import", "--scale", "6", "--repeats", "1"});
    REQUIRE(table.code == 0);
    for (const char* part : {"arcs a second", "limit: the same bytes only moved", "ratio"})
      CHECK(table.out.find(part) != std::string::npos);
    CHECK(fs::is_empty(folder.path()));
  }

  TEST_CASE("a graph decoded into a CsrGraph has the lists of its edges") {
    for (const testing::NamedGraph& graph : testing::graph_family()) {
      CAPTURE(graph.name);
      const testing::CsrGraph expected(graph.nodes, graph.edges);
      const TempDir folder;
      testing::TinyStore contents;
      contents.nodes = graph.nodes;
      contents.edges = graph.edges;
      const Manifest manifest = testing::write_store(folder / "s", contents);
      const testing::CsrGraph decoded(Graph(folder / "s", manifest, {}));
      CHECK(decoded.offsets() == expected.offsets());
      CHECK(decoded.counts() == expected.counts());
      CHECK(decoded.targets() == expected.targets());
    }
  }

  TEST_CASE("propagate of a named store, which stays as it is, changes and all") {
    const TempDir folder, temporary;
    const std::string store = (folder / "s").string();
    testing::write_store(store, testing::random_store(300, 900, 5, 11));
    testing::propagate_store(store, testing::tiny_spec(2));
    {
      StoreWriter live(store, testing::ample_budget());
      const std::vector<Request> requests{{RequestKind::remove_node, 0, 0}, {RequestKind::insert_edge, 3, 0}};
      live.apply(requests, live.resolve(requests), {1e-3, ThresholdScale::absolute});  // and the store is a lazy one
      live.checkpoint();
    }
    REQUIRE(read_manifest(store).lazy);
    const std::uint64_t arcs = 2 * read_manifest(store).edges;
    const auto before = testing::folder_bytes(store);
    const TemporaryFilesIn here(temporary.path());
    const auto json = bench({"propagate", store, "--hops", "3", "--repeats", "2", "--json"}).json();
    CHECK(testing::folder_bytes(store) == before);
    CHECK(fs::is_empty(temporary.path()));
    CHECK(json.at("bench") == "propagate");
    CHECK(json.at("nodes") == 300);
    CHECK(json.at("arcs") == arcs);
    CHECK(json.at("features") == 5);
    CHECK(json.at("hops") == 3);
    CHECK(json.at("tiles") == 1);
    CHECK(json.at("tile_width") == 5);
    const double work = static_cast<double>(300 + arcs) * 5 * 3;
    CHECK(json.at("arc_features_per_second").get<double>() == doctest::Approx(work / json.at("seconds").get<double>()));
    CHECK(json.at("sweep_arc_features_per_second").get<double>() ==
          doctest::Approx(work / json.at("sweep_seconds").get<double>()));
    CHECK(json.at("seconds").get<double>() > json.at("sweep_seconds").get<double>());
    check_ratio(json, "arc_features_per_second", "limit_arc_features_per_second");
    check_ratio(json, "sweep_arc_features_per_second", "limit_arc_features_per_second", "sweep_ratio");

    CHECK(bench({"propagate", (folder / "none").string()}).code == 2);
    const auto seeded = bench({"propagate", store, "--seed", "3"});
    CHECK(seeded.code == 1);
    CHECK(seeded.error.find("--seed") != std::string::npos);
    testing::TinyStore bare;
    bare.nodes = 3;
    testing::write_store(folder / "bare", bare);
    const auto none = bench({"propagate", (folder / "bare").string()});
    CHECK(none.code == 2);
    CHECK(none.error.find("no features") != std::string::npos);
    CHECK(fs::is_empty(temporary.path()));
  }

  TEST_CASE("a store of links propagates to the bits of the store itself") {
    const TempDir folder;
    testing::write_store(folder / "s", testing::random_store(200, 700, 4, 3));
    testing::propagate_store(folder / "s", testing::tiny_spec(1));
    link_store(folder / "s", folder / "linked", testing::ample_budget());
    const PropagateBench result = run_bench_propagate(folder / "linked", 2, 1, testing::ample_budget());
    CHECK(result.limit_per_second > 0);
    testing::propagate_store(folder / "s", bench_spec(2));
    CHECK(read_manifest(folder / "linked").levels[2].partitions == read_manifest(folder / "s").levels[2].partitions);
    CHECK(verify_store(folder / "linked", {}, testing::ample_budget()).ok());

    const fs::path shard = folder / "s" / read_manifest(folder / "s").shards[0].path;
    fs::resize_file(shard, 100);
    const auto damaged = bench({"propagate", (folder / "s").string()});
    CHECK(damaged.code == 2);
    CHECK(damaged.error.find(shard.string()) != std::string::npos);
  }

  TEST_CASE("run_bench_propagate measures the limit first, in tiles as wide as those of the propagation" *
            doctest::test_suite("slow")) {
    const ThreadLimit limit(2);
    const TempDir folder;
    WorkMeter nobody;
    GenerateOptions rmat;
    rmat.scale = 16;
    rmat.features = 64;
    rmat.classes = 0;
    generate_store(folder / "s", rmat, testing::ample_budget(), nobody);
    // Room for the propagation in several tiles, and not for the lists.
    MemoryBudget little(std::uint64_t{8} << 20);
    CHECK_THROWS_WITH_AS((void)run_bench_propagate(folder / "s", 2, 1, little), doctest::Contains("of the benchmark"),
                         ResourceError);
    CHECK(!read_manifest(folder / "s").propagation);
    {
      StoreWriter live(folder / "s", little);
      CHECK(propagate(live, bench_spec(2), little, {}).tiles > 1);
    }
    MemoryBudget some(std::uint64_t{16} << 20);
    const PropagateBench result = run_bench_propagate(folder / "s", 2, 1, some);
    CHECK(result.tiles > 1);
    CHECK(result.tiles * result.tile_width >= 64);
    CHECK((result.tiles - 1) * result.tile_width < 64);
    CHECK(result.limit_per_second > 0);
    CHECK(some.used() == 0);
  }

  TEST_CASE("propagate makes a store where none is named, and leaves nothing when it fails") {
    const TempDir temporary;
    const TemporaryFilesIn here(temporary.path());
    const auto json = bench({"propagate", "--scale", "8", "--features", "20", "--repeats", "1", "--json"}).json();
    CHECK(json.at("arcs") == 2 * rmat_edges(8, 16, 1).size());
    CHECK(json.at("features") == 20);
    const auto failed = bench({"propagate", "--scale", "16", "--features", "1", "--memory", "16M"});
    CHECK(failed.code == 3);
    CHECK(failed.error.find("of the benchmark") != std::string::npos);
    CHECK(fs::is_empty(temporary.path()));
  }

  TEST_CASE("edges are drawn uniformly, none twice, in random order") {
    const TempDir folder;
    testing::TinyStore star;
    star.nodes = 40;  // two blocks
    for (NodeId u = 1; u < 9; ++u) star.edges.push_back({0, u});
    star.edges.insert(star.edges.end(), {{38, 39}, {7, 38}});
    const Contents contents(folder / "s", testing::write_store(folder / "s", star));
    std::map<std::pair<std::uint64_t, std::uint64_t>, int> drawn, first;
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
      const std::vector<Request> requests = draw_edges(contents, 3, seed);
      REQUIRE(requests.size() == 3);
      ++first[{requests[0].u, requests[0].v}];
      for (const Request& request : requests) ++drawn[{request.u, request.v}];
    }
    REQUIRE(drawn.size() == 10);
    for (const auto& edge : drawn) {
      CAPTURE(edge.first.first);
      CAPTURE(edge.first.second);
      CHECK(std::abs(edge.second - 1200) < 5 * 29);  // the deviation of 4000 draws of 0.3
      CHECK(std::abs(first[edge.first] - 400) < 5 * 19);
    }
    std::set<std::pair<std::uint64_t, std::uint64_t>> all;
    for (const Request& request : draw_edges(contents, 10, 1)) {
      CHECK(request.kind == RequestKind::remove_edge);
      CHECK(contents.graph().has_edge(static_cast<NodeId>(request.u), static_cast<NodeId>(request.v)));
      all.insert({request.u, request.v});
    }
    CHECK(all.size() == 10);
  }

  TEST_CASE("run_bench_stream removes edges from the store and counts what its batches report") {
    const TempDir folder;
    GenerateOptions rmat;
    rmat.scale = 9;
    rmat.edge_factor = 8;
    rmat.features = 6;
    rmat.classes = 0;
    WorkMeter nobody;
    generate_store(folder / "s", rmat, testing::ample_budget(), nobody);
    const std::uint64_t edges = read_manifest(folder / "s").edges;
    StreamBenchOptions options;
    options.batch = 40;
    options.repeats = 2;
    const StreamBench bench = run_bench_stream(folder / "s", folder / "run", options, testing::ample_budget());
    CHECK(bench.arcs == 2 * edges);
    CHECK(read_manifest(folder / "run").edges == edges - 3 * 40);
    CHECK(read_manifest(folder / "s").edges == edges);
    VerifyOptions all;
    all.rebuild = true;
    CHECK(verify_store(folder / "run", all, testing::ample_budget()).ok());
    CHECK(bench.batch_seconds.size() == 3);
    CHECK(bench.plans.size() == 3);
    CHECK(bench.rows_touched >= 2 * 3 * 40 / 4);
    CHECK(bench.arcs_visited > bench.rows_touched);
    CHECK(bench.seconds() == doctest::Approx(bench.batch_seconds[0] + bench.batch_seconds[1] + bench.batch_seconds[2] +
                                             bench.deliver_seconds));
    const double limit = 6.0 * static_cast<double>(bench.arcs_visited) / bench.limit.gather_per_second +
                         static_cast<double>(bench.rows_touched) / bench.limit.copies_per_second;
    CHECK(bench.limit_seconds() == doctest::Approx(limit));
    CHECK(testing::ample_budget().used() == 0);
    options.batch = edges;
    CHECK_THROWS_AS((void)run_bench_stream(folder / "s", folder / "run", options, testing::ample_budget()), UsageError);
    MemoryBudget little(std::uint64_t{1} << 14);
    options.batch = 1;
    CHECK_THROWS_WITH_AS((void)run_bench_stream(folder / "s", folder / "run", options, little),
                         doctest::Contains("uncompressed lists"), ResourceError);
    CHECK(!read_manifest(folder / "run").propagation);
  }

  TEST_CASE("stream as a command") {
    const TempDir temporary;
    const TemporaryFilesIn here(temporary.path());
    const std::vector<std::string> words{"stream", "--scale",   "8", "--features", "5", "--batch",
                                         "10",     "--batches", "2", "--repeats",  "1"};
    auto with_json = words;
    with_json.push_back("--json");
    const auto json = bench(with_json).json();
    CHECK(json.at("bench") == "stream");
    CHECK(json.at("batch") == 10);
    CHECK(json.at("batch_seconds").size() == 2);
    check_positive(json, {"nodes", "arcs", "rows_touched", "arcs_visited", "seconds", "seconds_per_batch",
                          "limit_arc_features_per_second", "limit_rows_per_second", "limit_seconds"});
    CHECK(json.at("seconds_per_batch").get<double>() == doctest::Approx(json.at("seconds").get<double>() / 2));
    check_ratio(json, "arcs_per_second", "limit_arcs_per_second");
    check_ratio(json, "limit_seconds", "seconds");
    const auto table = bench(words);
    REQUIRE(table.code == 0);
    for (const char* part : {"batch 2: ", "the last level of all of them", "limit: these arcs", "ratio"})
      CHECK(table.out.find(part) != std::string::npos);
    CHECK(bench({"stream", "--scale", "4", "--batch", "1000"}).code == 1);
    CHECK(bench({"stream", "s"}).error.find("unexpected argument") != std::string::npos);
    CHECK(bench({"propagate", "s", "--features", "3"}).error.find("--features") != std::string::npos);
    CHECK(fs::is_empty(temporary.path()));
  }
}

}  // namespace unweave
