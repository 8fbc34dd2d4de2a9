// tests/tools/commands/import_plan_test.cpp - `import --plan` says what the import then makes, and
// makes nothing itself.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::npy;
using testing::run;
using testing::TempDir;
using testing::write_file;

/// A ring of so many nodes, one edge a line.
std::string ring(int nodes) {
  std::string text = "# a ring\n";
  for (int node = 0; node < nodes; ++node)
    text += std::to_string(node) + '\t' + std::to_string((node + 1) % nodes) + '\n';
  return text;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a plan of an import has the edges, nodes and features of the files, and changes nothing") {
    const TempDir dir;
    const std::string edges = write_file(dir / "e.tsv", ring(20'000)).string();
    const std::string x =
        write_file(dir / "x.npy", npy<float>("<f4", "(20000, 3)", std::vector<float>(60'000, 0.5F))).string();
    const std::string store = (dir / "s").string();
    const std::vector<std::string> files{store, "--edges", edges, "--features", x};
    const auto with = [&](std::vector<std::string> more) {
      std::vector<std::string> words{"import"};
      words.insert(words.end(), files.begin(), files.end());
      words.insert(words.end(), more.begin(), more.end());
      return run(words);
    };
    const auto result = with({"--plan", "--json"});
    CAPTURE(result.error);
    REQUIRE(result.code == 0);
    CHECK_FALSE(std::filesystem::exists(store));
    const nlohmann::json plan = result.json();
    CHECK(plan["nodes"] == 20'000);
    CHECK(plan["nodes_exact"] == true);
    CHECK(plan["edges_exact"] == false);
    CHECK(plan["edges_read"].get<double>() == doctest::Approx(20'000).epsilon(0.02));
    CHECK(plan["features"] == 3);
    CHECK(plan["fits"] == true);
    CHECK(plan["passes"] == 1);
    CHECK_FALSE(plan["assumed"].empty());
    CHECK((plan["seconds_predicted"].is_null() || plan["seconds_predicted"] > 0));
    const auto table = with({"--plan"});
    CHECK(table.out.find("edges to read") != std::string::npos);
    CHECK(table.out.find("assumed: ") != std::string::npos);

    const auto done = with({"--json"});
    REQUIRE(done.code == 0);
    const nlohmann::json made = done.json();
    CHECK(made["edges_read"] == 20'000);
    CHECK(made.contains("seconds_predicted"));
    CHECK(made.contains("predicted"));
    const auto of = [&](const char* field) { return plan.at(field).get<double>(); };
    CHECK(of("feature_bytes") == doctest::Approx(made["feature_bytes"].get<double>()).epsilon(0.1));
    const double graph = made["bits_per_arc"].get<double>() * made["arcs"].get<double>() / 8;
    CHECK(graph >= of("least_graph_bytes") / 2);
    CHECK(graph <= of("most_graph_bytes"));
  }

  TEST_CASE("arrays say how many edges they have; pipes, and a plan beside a measurement, are refused") {
    const TempDir dir;
    const std::string edges =
        write_file(dir / "e.npy", npy<std::int32_t>("<i4", "(3, 2)", {0, 1, 1, 2, 2, 9})).string();
    const std::string store = (dir / "s").string();
    const auto plan = run({"import", store, "--edges", edges, "--plan", "--json"});
    REQUIRE(plan.code == 0);
    CHECK(plan.json()["edges_read"] == 3);
    CHECK(plan.json()["edges_exact"] == true);
    CHECK(plan.json()["nodes"] == 10);
    CHECK(plan.json()["nodes_exact"] == false);
    CHECK(run({"import", store, "--edges", "-", "--plan"}).code == 1);
    CHECK(run({"import", store, "--edges", (dir / "none").string(), "--plan"}).code == 2);
  }

  TEST_CASE("what an import refuses from the first look, its plan refuses in the same words") {
    const TempDir dir;
    const std::string edges = write_file(dir / "e.tsv", "0 1\n1 2\n").string();
    const std::string empty = write_file(dir / "empty.tsv", "").string();
    std::string array = npy<float>("<f4", "(3, 2)", {1, 2, 3, 4, 5, 6});
    const std::string cut = write_file(dir / "cut.npy", array.substr(0, array.size() - 9)).string();
    std::filesystem::create_directory(dir / "folder");
    for (const std::vector<std::string>& files : {std::vector<std::string>{"--edges", empty},
                                                  {"--edges", (dir / "folder").string()},
                                                  {"--edges", edges, "--features", cut},
                                                  {"--edges", edges, "--features", (dir / "folder").string()}}) {
      CAPTURE(files.back());
      std::vector<std::string> words{"import", (dir / "s").string(), "--quiet"};
      words.insert(words.end(), files.begin(), files.end());
      const auto imported = run(words);
      words.emplace_back("--plan");
      const auto planned = run(words);
      CHECK(imported.code == 2);
      CHECK(planned.code == 2);
      CHECK(planned.error == imported.error);
    }
  }

  TEST_CASE("an import that cannot fit is told with code 3") {
    const TempDir dir;
    const std::string edges = write_file(dir / "e.tsv", ring(100)).string();
    const auto plan = run({"import", (dir / "s").string(), "--edges", edges, "--nodes", "4000000000", "--order", "bfs",
                           "--plan", "--json", "--memory", "256M"});
    CHECK(plan.code == 3);
    CHECK(plan.json()["fits"] == false);
    CHECK(plan.error.find("an import needs up to") != std::string::npos);
  }
}

}  // namespace unweave
