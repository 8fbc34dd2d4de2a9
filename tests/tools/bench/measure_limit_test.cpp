// tests/tools/bench/measure_limit_test.cpp - --measure-limit of import and stream: what it adds, and that nothing else changes.
#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/folder_bytes.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "tools/bench/import_limit.h"
#include "tools/cli/progress.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::run;
using testing::TempDir;

constexpr std::chrono::milliseconds kUntilDrawn{250};

void write_edges(const fs::path& file, const testing::TinyStore& contents) {
  std::ofstream out(file);
  for (const Edge& edge : contents.edges) out << edge.u << ' ' << edge.v << '\n';
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the limit of an import is that of a graph of about as many edges, with as much memory for each") {
    const TempDir folder;
    const auto measure = [&](std::uint64_t edges, std::uint64_t mebibytes) {
      ImportOptions options;
      options.edges = InputFile{folder / "edges.npy", {}};
      std::ofstream(folder / "edges.npy") << std::string(8 * edges, '\0');
      MemoryBudget budget(mebibytes << 20);
      const fs::path store = folder / "missing" / "store";
      const ImportBench limit = measure_import_limit(store, options, budget);
      CHECK(limit.limit_read_seconds > 0);
      CHECK(limit.limit_read_seconds < limit.limit_seconds);
      CHECK(fs::is_empty(store / "graph"));  // what it made there is gone
      return limit;
    };
    const ImportBench few = measure(100, 256);
    CHECK(few.nodes == 1 << 14);
    CHECK(few.spooled_bytes == 0);
    CHECK(measure(16 << 15, 256).nodes == 1 << 15);
    CHECK(measure(16 << 15, 8).spooled_bytes > 0);
  }

  TEST_CASE("import --measure-limit adds its share of the limit and makes the same store") {
    const TempDir folder;
    write_edges(folder / "edges.txt", testing::random_store(3'000, 20'000, 1, 4));
    const auto import = [&](const std::string& store, const std::vector<std::string>& more) {
      std::vector<std::string> words{"import", (folder / store).string(), "--edges", (folder / "edges.txt").string()};
      words.insert(words.end(), more.begin(), more.end());
      auto result = run(words);
      CAPTURE(result.error);
      REQUIRE(result.code == 0);
      return result;
    };
    const Json plain = import("plain", {"--json"}).json();
    for (const char* const field : {"limit_ratio", "limit_arcs_per_second", "limit_nodes"})
      CHECK_MESSAGE(plain.at(field).is_null(), field);
    const Json measured = import("measured", {"--json", "--measure-limit"}).json();
    CHECK(measured.at("limit_nodes") == 1 << 14);
    // Nothing but edges: the limit bounds the whole command, less what comes before its first step.
    const double rate = measured.at("arcs").get<double>() / measured.at("seconds").get<double>();
    const double share = rate / measured.at("limit_arcs_per_second").get<double>();
    CHECK(share > 0);
    CHECK(measured.at("limit_ratio").get<double>() >= share);
    CHECK(testing::folder_bytes(folder / "measured") == testing::folder_bytes(folder / "plain"));
    CHECK(import("table", {"--measure-limit"}).out.find("share of the limit") != std::string::npos);
    CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 4);
    const auto refused =
        run({"import", (folder / "plain").string(), "--edges", (folder / "edges.txt").string(), "--measure-limit"});
    CHECK(refused.code == 1);
  }

  TEST_CASE("the meter of an import shows the limit of each step that it bounds, and counts the time of no other" *
            doctest::test_suite("slow")) {
    std::ostringstream out;
    StepProgress shown(out, true);
    ImportBench limit;
    limit.edges_read = 1000;
    limit.arcs = 2000;
    limit.limit_read_seconds = 1;
    limit.limit_seconds = 3;
    ImportMeter meter(shown, limit);
    const auto drawn = [&](const std::string& step, std::uint64_t total, const std::string& unit) {
      out.str("");
      meter.start(step, total, unit);
      std::this_thread::sleep_for(kUntilDrawn);
      meter.advance(total);
      return out.str();
    };
    CHECK(drawn("labels", 10, "labels").find("of the limit") == std::string::npos);
    CHECK(meter.bounded_seconds() == 0);
    // A second for 1000 edges; then two for their 2000 arcs, as for 500 nodes.
    const auto share_in = [](const std::string& text) {
      const std::size_t end = text.find(" % of the limit"), begin = text.rfind("  ", end) + 2;
      REQUIRE(end != std::string::npos);
      return std::stod(text.substr(begin, end - begin));
    };
    const double edges = share_in(drawn("edges", 1000, "edges"));
    const double edge_seconds = meter.bounded_seconds();
    CHECK(edge_seconds >= 0.25);
    CHECK(edges <= 100 / 0.25);
    CHECK(edges >= 99 / edge_seconds - 1);
    const double graph = share_in(drawn("graph", 500, "nodes"));
    const double both = meter.bounded_seconds();
    CHECK(graph <= 200 / 0.25);
    CHECK(graph >= 198 / (both - edge_seconds) - 1);
    CHECK(drawn("features", 500, "rows").find("of the limit") == std::string::npos);
    const double before = meter.bounded_seconds();
    CHECK(before >= both);
    CHECK(meter.bounded_seconds() == before);
    ImportMeter unmeasured(shown, std::nullopt);
    out.str("");
    unmeasured.start("edges", 10, "edges");
    std::this_thread::sleep_for(kUntilDrawn);
    unmeasured.advance(10);
    CHECK(out.str().find("edges/s") != std::string::npos);
    CHECK(out.str().find("of the limit") == std::string::npos);
  }

  TEST_CASE("a meter makes room for other output, and its limit may come late") {
    std::ostringstream out;
    Progress meter(out, true, "x", 10, "rows");
    std::this_thread::sleep_for(kUntilDrawn);
    meter.set_limit(1e-3);
    meter.advance(1);
    CHECK(out.str().find(" % of the limit") != std::string::npos);
    out.str("");
    meter.clear();
    CHECK(out.str() == "\r\033[K");
    meter.clear();
    CHECK(out.str() == "\r\033[K");
    std::this_thread::sleep_for(kUntilDrawn);
    meter.advance(1);
    CHECK(out.str().find("2/10 rows") != std::string::npos);
  }

  TEST_CASE("stream --measure-limit tells each batch's share of the limit, and leaves the same store") {
    const TempDir folder;
    const testing::TinyStore contents = testing::random_store(400, 1'500, 6, 2);
    std::ofstream requests(folder / "requests.txt");
    for (std::size_t i = 0; i < 30; ++i)
      requests << "edge " << contents.edges[i].u << ' ' << contents.edges[i].v << '\n';
    requests.close();
    const auto stream = [&](const std::string& store, const std::vector<std::string>& more) {
      std::vector<std::string> words{
          "stream",     (folder / store).string(),         "--batch", "10", "--plan", "push", "--json",
          "--requests", (folder / "requests.txt").string()};
      words.insert(words.end(), more.begin(), more.end());
      return run(words);
    };
    for (const char* const store : {"plain", "measured", "public", "quiet", "bare"}) {
      testing::write_store(folder / store, contents);
      if (std::string(store) != "bare") testing::propagate_store(folder / store, testing::tiny_spec(2));
    }
    const auto plain = stream("plain", {});
    CHECK(plain.error.find("limit") == std::string::npos);
    const auto measured = stream("measured", {"--measure-limit"});
    REQUIRE(measured.lines().size() == 3);
    for (const Json& line : plain.lines()) {
      CHECK(line.at("limit_seconds").is_null());
      CHECK(line.at("limit_ratio").is_null());
    }
    for (const Json& line : measured.lines()) {
      CHECK(line.at("limit_seconds").get<double>() > 0);
      // The time of a batch holds that of its journal and that of its propagation.
      const double most = line.at("limit_seconds").get<double>() /
                          (line.at("seconds_journal").get<double>() + line.at("seconds_propagate").get<double>());
      CHECK(line.at("limit_ratio").get<double>() > 0);
      CHECK(line.at("limit_ratio").get<double>() <= most);
    }
    CHECK(measured.error.find("all batches and their last level in ") != std::string::npos);
    CHECK(measured.error.find(" % of the limit, ") != std::string::npos);
    const auto digest = [&](const std::string& store) {
      return run({"info", (folder / store).string(), "--json"}).json().at("digest");
    };
    CHECK(digest("measured") == digest("plain"));

    const auto published = stream("public", {"--measure-limit", "--public"});
    CHECK(published.error.empty());
    for (const Json& line : published.lines()) {
      CHECK_FALSE(line.contains("limit_seconds"));
      CHECK_FALSE(line.contains("limit_ratio"));
    }
    const auto bare = stream("bare", {"--measure-limit"});
    CHECK(bare.code == 0);
    CHECK(bare.error.find("not measured: the store is not propagated") != std::string::npos);
    CHECK(stream("quiet", {"--measure-limit", "--quiet"}).error.empty());
  }

  TEST_CASE("a stream goes on where the limit does not fit the memory") {
    const TempDir folder;
    testing::TinyStore contents;
    contents.nodes = 1 << 17;
    contents.edges = {{3, 70'000}};
    contents.columns = 64;
    contents.features.assign(std::size_t{contents.nodes} * contents.columns, 0.05F);
    testing::write_store(folder / "s", contents);
    testing::propagate_store(folder / "s", testing::tiny_spec(1));
    std::ofstream(folder / "requests.txt") << "edge 3 70000\n";
    const auto result = run({"stream", (folder / "s").string(), "--requests", (folder / "requests.txt").string(),
                             "--measure-limit", "--json", "--memory", "32M"});
    CHECK(result.code == 0);
    CHECK(result.error.find("the limit is not measured: ") != std::string::npos);
    CHECK(result.json().at("limit_ratio").is_null());
    CHECK(result.json().at("applied") == 1);
  }
}

}  // namespace unweave
