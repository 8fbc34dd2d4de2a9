// tests/tools/commands/plan_test.cpp - what `plan` estimates is what `propagate` then does.
#include "algorithms/propagation/plan.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/live/propagate.h"
#include "algorithms/live/store_writer.h"
#include "engine/resources/parallel.h"
#include "support/folder_bytes.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::Result;
using testing::run;

using Json = nlohmann::json;

std::uint64_t bytes_of(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& [name, content] : testing::folder_bytes(folder))
    if (name.ends_with(".sums")) bytes += content.size();
  return bytes;
}

std::uint64_t all_bytes(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& file : testing::folder_bytes(folder)) bytes += file.second.size();
  return bytes;
}

/// Requests that remove edges 0 .. count - 1 of those that `contents` lists.
void write_removals(const std::filesystem::path& file, const testing::TinyStore& contents, std::size_t count) {
  std::ofstream out(file);
  for (std::size_t i = 0; i < count; ++i) out << "edge " << contents.edges[i].u << ' ' << contents.edges[i].v << '\n';
}

template <class Value>
Value total(const Json& values) {
  const auto all = values.get<std::vector<Value>>();
  return std::accumulate(all.begin(), all.end(), Value{0});
}

void check_within(double predicted, double done, double factor) {
  CHECK(predicted < factor * done);
  CHECK(predicted > done / factor);
}

void check_within_twice(double predicted, double done) {
  check_within(predicted, done, 2);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows, tiles and bytes of a plan are those of the propagation, and planning leaves the store alone" *
            doctest::test_suite("slow")) {
    const testing::TempDir dir(testing::Where::disk);
    const std::string store = (dir / "s").string();
    REQUIRE(run({"generate", store, "--model", "sbm", "--nodes", "70000", "--edges", "150000", "--features", "24",
                 "--classes", "5"})
                .code == 0);
    for (const std::string rows : {"all", "labelled"}) {
      for (const std::string memory : {"2G", "24M"}) {
        CAPTURE(rows);
        CAPTURE(memory);
        const std::vector<std::string> options{store, "--hops", "3", "--rows", rows, "--memory", memory, "--json"};
        const auto with = [&](const std::string& command) {
          std::vector<std::string> words{command};
          words.insert(words.end(), options.begin(), options.end());
          const Result result = run(words);
          CAPTURE(result.error);
          REQUIRE(result.code == 0);
          return Json::parse(result.out);
        };
        const Json plan = with("plan");
        const Json done = with("propagate");
        CHECK(plan["exact"] == true);
        CHECK(plan["rows_error"] == Json({0, 0, 0}));
        CHECK(plan["arcs_error"] == 0);
        for (const Json& one : {plan, done}) {
          REQUIRE(one["predicted"].is_object());  // the rates are kept since the plan at the latest
          const double parts = one["predicted"]["cone"].get<double>() + one["predicted"]["fill"].get<double>() +
                               one["predicted"]["sweep"].get<double>() + one["predicted"]["write"].get<double>();
          CHECK(one["seconds_predicted"].get<double>() == doctest::Approx(parts));
        }
        CHECK((done["cone_seconds"] > 0 && done["fill_seconds"] > 0));
        if (rows == "labelled") {
          const Json counted = run({"plan", store, "--hops", "3", "--rows", rows, "--exact", "--json"}).json();
          CHECK(counted["rows"] == plan["rows"]);
        }
        const auto kept = plan["rows"].get<std::vector<std::uint64_t>>();
        CHECK(kept.size() == 3);
        CHECK(std::accumulate(kept.begin(), kept.end(), std::uint64_t{0}) == done["rows"]);
        CHECK(plan["tiles"] == done["tiles"]);
        // With all rows there is room for one buffer of all columns, filled anew from the sums of
        // two levels.
        const bool refills = rows == "all" && memory == "24M";
        CHECK((plan["tiles"] > 1) == (memory == "24M" && !refills));
        CHECK(plan["fits"] == true);
        CHECK(plan["state_bytes"] == bytes_of(dir / "s" / "state"));
        const auto of = [&](const char* field) { return plan.at(field).get<std::uint64_t>(); };
        CHECK(of("tile_bytes") + of("worker_bytes") + of("write_buffer_bytes") == of("memory_bytes"));
        CHECK(of("memory_bytes") <= of("memory_available_bytes"));
        const std::uint64_t spooled = of("bytes_written") - of("state_bytes") - of("cone_bytes");
        CHECK((spooled > 0) == (plan["tiles"] > 1));
        CHECK((plan["cone_bytes"] > 0) == (rows == "labelled"));
        CHECK(of("disk_bytes") >= of("state_bytes") + of("cone_bytes"));
        CHECK((of("disk_bytes") > of("state_bytes") + of("cone_bytes")) == (plan["tiles"] > 1));
        const std::uint64_t refilled = refills ? std::uint64_t{2} * 70'000 * 24 * sizeof(std::int32_t) : 0;
        CHECK(of("bytes_read") ==
              spooled + refilled + all_bytes(dir / "s" / "graph") + all_bytes(dir / "s" / "features"));
        check_within(plan["bytes_written"].get<double>(), done["bytes_written"].get<double>(), 1.05);
        if (spooled > 0) check_within_twice(static_cast<double>(spooled), done["bytes_read"].get<double>());
        for (const char* const field :
             {"seconds_predicted", "sweep_arc_features_per_second", "disk_bytes_per_second"}) {
          CAPTURE(field);
          CHECK(std::isfinite(plan.at(field).get<double>()));
          CHECK(plan.at(field).get<double>() > 0);
        }
        const auto number = [&](const char* field) { return plan.at(field).get<double>(); };
        const double columns = run({"info", store, "--json"}).json().at("features").get<double>();
        const double moving = (number("state_bytes") + static_cast<double>(refilled)) / number("disk_bytes_per_second");
        const double summing = number("arcs") * columns / number("sweep_arc_features_per_second");
        if (summing > moving) CHECK(plan["limit"] == "gather");
        if (plan["limit"] != "gather") CHECK(plan["limit"] == "disk");

        // A propagation that only compares writes nothing, hence has the room of the buffers too.
        const Json verified =
            run({"verify", store, "--rebuild", "--sample", "10", "--memory", memory, "--json"}).json();
        CHECK(verified.at("ok") == true);
        CHECK(verified.at("rebuilt_rows") == done["rows"]);
        if (!refills) CHECK(verified.at("rebuild_tiles") <= plan["tiles"]);
        if (memory == "2G") {
          CHECK(verified.at("rebuild_tiles") == 1);
          CHECK(verified.at("rebuild_memory_bytes").get<std::uint64_t>() == of("tile_bytes") + of("worker_bytes"));
        } else {
          CHECK(verified.at("rebuild_tiles") > 1);
          CHECK(verified.at("rebuild_memory_bytes").get<std::uint64_t>() <= std::uint64_t{24} << 20);
        }
      }
    }
    const auto propagated = testing::folder_bytes(dir / "s");
    CHECK(run({"plan", store, "--hops", "2", "--rows", "all"}).code == 0);
    CHECK(run({"plan", store, "--exact", "--purge"}).code == 1);
    CHECK(testing::folder_bytes(dir / "s") == propagated);
  }

  TEST_CASE("the memory of a plan is what the propagation takes of the budget") {
    const ThreadLimit limit(2);
    const testing::TempDir dir;
    testing::write_store(dir / "s", testing::random_store(40'000, 100'000, 24, 7));
    for (const std::uint64_t mebibytes : {256, 8, 5}) {
      MemoryBudget budget(mebibytes << 20);
      StoreWriter store(dir / "s", budget);
      const PropagationSpec spec = testing::tiny_spec(2);
      const std::uint64_t before = budget.used();
      const StatePlan plan = plan_propagation(store.contents(), spec, budget).state;
      const std::uint64_t predicted = plan.memory_bytes();
      CHECK(plan.tiles.refills == (mebibytes < 256));
      const PropagateReport report = propagate(store, spec, budget, {});
      CHECK((report.tiles > 1) == (mebibytes == 5));
      if (mebibytes == 256) CHECK(budget.peak() == before + predicted);
      check_within_twice(static_cast<double>(predicted), static_cast<double>(budget.peak()));
    }
  }

  TEST_CASE("the disk of a plan has room for counts of readers and for the lists of few targets, not of many" *
            doctest::test_suite("slow")) {
    for (const NodeId each : {1U, 2U, 30U, 4000U}) {  // how many nodes there are for a target
      CAPTURE(each);
      const testing::TempDir dir;
      testing::TinyStore contents = testing::random_store(70'000, 140'000, 2, 8);
      for (NodeId node = 0; node < contents.nodes; ++node) contents.labels[node] = node % each == each - 1 ? 1 : -1;
      contents.train.clear();
      contents.valid.clear();
      contents.test.clear();
      testing::write_store(dir / "s", contents);
      MemoryBudget budget(std::uint64_t{256} << 20);
      StoreWriter store(dir / "s", budget);
      const PropagationSpec spec = testing::tiny_spec(3, false);
      const PropagationPlan plan = plan_propagation(store.contents(), spec, budget);
      static_cast<void>(propagate(store, spec, budget, {}));
      const LevelFiles& last = store.manifest().levels.back();
      CHECK(last.targets.has_value() == (each > 8));
      const std::uint64_t written = all_bytes(dir / "s" / "state") - plan.state.state_bytes;
      CHECK(plan.cone_bytes >= written);
      CHECK(plan.cone_bytes < written + (last.targets ? 4 * plan.arcs.back() + 1024 : 1));
    }
  }

  TEST_CASE("a propagation tells how far it has come, and what it has to sum") {
    const testing::TempDir dir;
    testing::write_store(dir / "s", testing::random_store(5'000, 9'000, 24, 3));
    for (const bool all_rows : {true, false}) {
      MemoryBudget budget(std::uint64_t{4} << 20);
      StoreWriter store(dir / "s", budget);
      const PropagationSpec spec = testing::tiny_spec(2, all_rows);
      std::uint64_t rows = 0;
      {
        const PropagationPlan plan = plan_propagation(store.contents(), spec, budget);
        for (std::size_t l = 0; l < 2; ++l) rows += plan.rows[l];
      }
      PropagateProgress last;
      const PropagateReport report =
          propagate(store, spec, budget, [&](const PropagateProgress& progress) { last = progress; });
      CHECK(last.done == last.total);
      CHECK(last.total == rows * report.tiles);
    }
  }

  TEST_CASE("plan --requests forecasts what a stream with a solver reports, and changes nothing") {
    const testing::TempDir dir;
    const testing::TinyStore contents = testing::random_store(3'000, 6'000, 8, 5);
    const std::string store = (dir / "s").string(), requests = (dir / "requests.txt").string();
    testing::write_store(store, contents);
    write_removals(requests, contents, 25);
    const auto plan = [&] { return run({"plan", store, "--requests", requests, "--batch", "10", "--json"}); };

    const Json bare = plan().json();
    CHECK(bare["batches"] == 3);
    CHECK(bare["requests"] == 10);
    CHECK(bare["rows"].empty());
    CHECK(bare["seconds_predicted"] == 0);
    CHECK(run({"plan", store, "--requests", requests}).out.find("not propagated") != std::string::npos);

    testing::propagate_store(store, testing::tiny_spec(2, false));
    REQUIRE(run({"train", store, "--solver", "newton"}).code == 0);
    const auto files = testing::folder_bytes(store);
    const Json predicted = plan().json();
    CHECK(testing::folder_bytes(store) == files);
    for (const char* const field : {"rows", "arcs", "plan", "seconds_push", "seconds_recompute"})
      CHECK_MESSAGE(predicted.at(field).size() == 2, field);
    CHECK(predicted["fits"] == true);
    CHECK(predicted["memory_bytes"] < predicted["memory_available_bytes"]);
    CHECK(predicted["disk_bytes"] < predicted["disk_free_bytes"]);
    const Json done =
        run({"stream", store, "--requests", requests, "--batch", "10", "--solver", "newton", "--json"}).lines().at(0);
    CHECK(predicted["applied"] == done["applied"]);
    CHECK(predicted["plan"] == done["plan"]);
    // Some rows have no features: what is pushed there changes nothing further on.
    CHECK(total<std::uint64_t>(predicted["rows"]) >= done["rows_touched"].get<std::uint64_t>());
    check_within_twice(total<double>(predicted["rows"]), done["rows_touched"].get<double>());
    check_within_twice(total<double>(predicted["arcs"]), done["arcs_visited"].get<double>());
    check_within_twice(predicted["seconds_predicted"].get<double>(), done["seconds_predicted"].get<double>());
  }

  TEST_CASE("plan --requests names the stale rows of a lazy stream, which the next exact batch publishes") {
    const testing::TempDir dir;
    const testing::TinyStore contents = testing::random_store(500, 2'000, 8, 5);
    const std::string store = (dir / "s").string(), requests = (dir / "requests.txt").string();
    testing::write_store(store, contents);
    testing::propagate_store(store, testing::tiny_spec(2));
    write_removals(requests, contents, 10);
    const auto plan = [&] { return run({"plan", store, "--requests", requests, "--json"}).json(); };
    CHECK(plan().at("stale_rows") == 0);
    REQUIRE(run({"stream", store, "--requests", requests, "--r-max", "0.5"}).code == 0);
    const Json stale = plan().at("stale_rows");
    CHECK(stale.get<int>() > 0);
    CHECK(stale == run({"info", store, "--json"}).json().at("stale_rows"));
    CHECK(run({"plan", store, "--requests", requests}).out.find("stale rows") != std::string::npos);
  }

  TEST_CASE("plan --requests says what does not fit in memory, and refuses options that belong elsewhere") {
    const testing::TempDir dir;
    testing::TinyStore contents;  // a ring, of which a removal touches few rows, but wide ones
    contents.nodes = 20'000;
    contents.columns = 400;
    contents.features.assign(std::size_t{contents.nodes} * contents.columns, 0.01F);
    for (NodeId first = 0; first < 60; ++first)
      for (NodeId u = first; u < contents.nodes; u += 60) contents.edges.push_back({u, (u + 1) % contents.nodes});
    const std::string store = (dir / "s").string(), requests = (dir / "requests.txt").string();
    testing::write_store(store, contents);
    testing::propagate_store(store, testing::tiny_spec(2));
    write_removals(requests, contents, 300);
    const auto plan = [&](const std::vector<std::string>& more) {
      std::vector<std::string> words{"plan", store, "--requests", requests};
      words.insert(words.end(), more.begin(), more.end());
      return run(words);
    };
    CHECK(plan({"--batch", "2"}).code == 0);
    const Result large = plan({"--batch", "300", "--memory", "17M"});
    CAPTURE(large.error);
    CHECK(large.code == 0);
    CHECK(large.out.find("memory, about") != std::string::npos);
    CHECK(large.out.find("what has no room in memory goes to files") != std::string::npos);
    const Json told = plan({"--batch", "300", "--memory", "17M", "--json"}).json();
    CHECK(told["fits"] == true);
    CHECK(told["spills"] == true);
    CHECK(told["memory_bytes"] > told["memory_available_bytes"]);
    CHECK(plan({"--batch", "0"}).code == 1);
    CHECK(plan({"--hops", "2"}).code == 1);
    CHECK(plan({"--rows", "all"}).code == 1);
    CHECK(run({"plan", store, "--batch", "10"}).code == 1);
    std::ofstream(requests) << "edge 1\n";
    CHECK(plan({}).code == 2);
  }

  TEST_CASE("the examples of the help work where the store lies") {
    const testing::TempDir dir;
    testing::write_store(dir / "demo" / "debian.store", testing::random_store(300, 600, 4, 5));
    testing::propagate_store(dir / "demo" / "debian.store", testing::tiny_spec(2));
    const std::string help = run({"plan", "--help"}).out;
    std::istringstream lines(help.substr(help.find("Example:\n") + 9));
    int examples = 0;
    for (std::string line; std::getline(lines, line); ++examples) {
      const std::size_t at = line.find("unweave ");
      REQUIRE(at != std::string::npos);
      line.replace(at, 7, UNWEAVE_BINARY);
      CAPTURE(line);
      CHECK(std::system(("cd " + dir.path().string() + " && exec > out && " + line).c_str()) == 0);
    }
    CHECK(examples == 3);
  }

  TEST_CASE("without a store or features there is nothing to plan") {
    const testing::TempDir dir(testing::Where::disk);
    const std::string store = (dir / "s").string();
    REQUIRE(run({"generate", store, "--model", "rmat", "--scale", "6", "--features", "0"}).code == 0);
    const Result none = run({"plan", store});
    CHECK(none.code == 2);
    CHECK(none.error.find("has no features") != std::string::npos);
    CHECK(run({"plan", (dir / "missing").string()}).code == 2);
  }
}

}  // namespace unweave
