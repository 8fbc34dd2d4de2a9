// tests/tools/commands/plan_unlearning_test.cpp - what `plan --solver` answers is what the solvers
// then ask for.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/folder_bytes.h"
#include "support/npy_file.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "unweave/solvers.h"

namespace unweave {
namespace {

using testing::Result;
using testing::run;
using Json = nlohmann::json;

constexpr const char* kSolvers[] = {"langevin", "langevin-full", "descent-to-delete", "rewind", "descend"};

/// A store of 90 isolated training rows: a removal moves no other row.
std::string flat_store(const testing::TempDir& dir) {
  std::ofstream labels(dir / "y.txt"), split(dir / "t.txt"), edges(dir / "e.tsv");
  split << "# nodes\n";
  std::string store = (dir / "s").string();
  edges << "98\t99\n";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (100, 3), }";
  header.resize(118, ' ');
  header[117] = '\n';
  std::ofstream npy(dir / "x.npy", std::ios::binary);
  npy.write("\x93NUMPY\x01\x00\x76\x00", 10);
  npy << header;
  for (int u = 0; u < 100; ++u) {
    const float row[3] = {u % 2 == 0 ? 0.8F : -0.8F, 0.3F, 0.01F * static_cast<float>(u % 20)};
    npy.write(reinterpret_cast<const char*>(row), sizeof(row));
    labels << u % 2 << '\n';
    if (u < 90) split << u << '\n';
  }
  npy.close();
  labels.close();
  split.close();
  edges.close();
  REQUIRE(run({"import", store, "--edges", (dir / "e.tsv").string(), "--features", (dir / "x.npy").string(), "--labels",
               (dir / "y.txt").string(), "--split", "train=" + (dir / "t.txt").string()})
              .code == 0);
  REQUIRE(run({"propagate", store, "--hops", "1", "--weights", "0,1"}).code == 0);
  return store;
}

std::vector<std::string> words(const std::string& command, const std::string& store, const std::string& solver,
                               const std::vector<std::string>& more) {
  std::vector<std::string> all{command, store, "--json", "--solver", solver};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("plan foresees the epochs of training and of the worst removal, and trains nothing") {
    const testing::TempDir dir;
    const std::string store = flat_store(dir);
    std::ofstream(dir / "r.txt") << "node 7\nnode 8\nedge 98 99\nnode 95\n";
    const auto before = testing::folder_bytes(store);
    for (const std::string solver : kSolvers) {
      CAPTURE(solver);
      const std::vector<std::string> options{"--lambda", "0.02", "--delta", "1e-5"};
      const Json plan = run(words("plan", store, solver, options)).json();
      CHECK(testing::folder_bytes(store) == before);
      CHECK(plan["solver"] == solver);
      CHECK(plan["requests"][0]["rows"] == 1);
      CHECK(plan["requests"].back()["rows"] == 90);
      CHECK(plan["totals"][0]["one_by_one"] == plan["requests"][0]["count"]);
      CHECK(plan["totals"][0]["at_once"] == plan["requests"][0]["count"]);
      CHECK(plan["totals"][2]["retraining"] == 100 * plan["learning"].get<std::uint64_t>());
      // More steps need less noise, a smaller epsilon more steps.
      for (std::size_t i = 1; i < plan["noise"].size(); ++i)
        for (const auto& [rule, sigma] : plan["noise"][i]["sigma"].items())
          if (!plan["noise"][i - 1]["sigma"][rule].is_null() && rule != "drawn, tail")
            CHECK(sigma.get<double>() <= plan["noise"][i - 1]["sigma"][rule].get<double>() * (1 + 1e-9));
      std::uint64_t last = ~std::uint64_t{0};
      for (const Json& row : plan["epsilons"]) {
        const std::uint64_t count = row["count"].is_null() ? plan["learning"] : row["count"];
        CHECK(count <= last);
        last = count;
      }
    }
    for (const std::string solver : {"langevin", "langevin-full", "rewind", "descend"}) {
      CAPTURE(solver);
      const std::string copy = (dir / solver).string();
      std::filesystem::copy(store, copy, std::filesystem::copy_options::recursive);
      const Json plan =
          run(words("plan", copy, solver, {"--lambda", "0.02", "--requests", (dir / "r.txt").string(), "--batch", "1"}))
              .json();
      CHECK(plan["stream"]["batches"] == 4);
      CHECK(plan["stream"]["rows_removed"] == 2);
      const Json trained = run(words("train", copy, solver, {"--lambda", "0.02", "--seed", "1"})).json();
      CHECK(trained["passes"] == plan["learning"]);
      for (const auto& [name, value] : plan["constants"].items())
        if (trained["terms"].contains(name))
          CHECK(trained["terms"][name].get<double>() == doctest::Approx(value.get<double>()));
      const auto batches =
          run(words("stream", copy, solver,
                    {"--requests", (dir / "r.txt").string(), "--batch", "1", "--seed", "2", "--non-adaptive"}))
              .lines();
      REQUIRE(batches.size() == 4);
      // Places of the rows are known then; the plan assumed the worst.
      CHECK(batches[0]["passes"] <= plan["requests"][0]["count"]);
      if (solver == "langevin-full") CHECK(batches[0]["passes"] == plan["requests"][0]["count"]);
    }
  }

  TEST_CASE("of a solver without an account a trial tells the readings of the rows, and leaves the store alone") {
    const testing::TempDir dir;
    const std::string store = flat_store(dir);
    std::ofstream(dir / "r.txt") << "node 7\nnode 8\nedge 98 99\nnode 95\n";
    for (const std::string solver : {"exact", "newton", "scalegun"}) {
      CAPTURE(solver);
      const auto before = testing::folder_bytes(store);
      const Json plan =
          run(words("plan", store, solver, {"--requests", (dir / "r.txt").string(), "--batch", "3"})).json();
      CHECK(testing::folder_bytes(store) == before);
      CHECK((plan["rows"] == 90 && plan["rows_tried"] == 90));
      CHECK(plan["stream"]["batches"] == 2);
      CHECK(plan["stream"]["seconds"].get<double>() ==
            doctest::Approx(plan["batch"]["seconds"].get<double>() + plan["later_batch"]["seconds"].get<double>()));
      if (solver == "exact")  // noise may ask for some more
        CHECK(run(words("train", store, solver, {})).json()["passes"] == plan["training"]["passes"]);
      CHECK(run({"plan", store, "--solver", solver}).out.find("tried on 90 of 90 training rows") != std::string::npos);
    }
  }

  TEST_CASE("plan counts what the rows of a program take, and tries solvers on them") {
    const testing::TempDir dir;
    const std::string store = flat_store(dir);
    const std::vector<std::string> program{"--rows-of", "stack,degree,labels", "--lift", "100"};
    const std::size_t plain = 3, wide = 2 * 3 + 2 + 32, lifted = 128;
    for (const std::string solver : {"exact", "langevin", "hessian-free"}) {
      CAPTURE(solver);
      const Json levels = run(words("plan", store, solver, {})).json(),
                 rows = run(words("plan", store, solver, program)).json();
      CHECK(levels["row_width"] == plain);
      CHECK(rows["row_width"] == wide + lifted);
      const std::size_t ends = solver_info(solver).intercept ? 1 : 0;
      CHECK(levels["row_bytes"] == 90 * (plain + ends) * 4);
      CHECK(rows["row_bytes"] == 90 * (wide + lifted + ends) * 4);
      std::vector<std::string> people{"plan", store, "--solver", solver};
      people.insert(people.end(), program.begin(), program.end());
      CHECK(run(people).out.find("90 training rows of 168 numbers take ") != std::string::npos);
    }
    const Json shared = run(words("plan", store, "exact", {"--ranks", "3", "--rows-of", "levels,degree"})).json();
    CHECK(shared["row_width"] == 3 + 32);
    CHECK(shared["row_bytes"] == shared["most_rows_of_a_rank"].get<std::size_t>() * (3 + 32 + 1) * 4);
    // They are the rows of the training.
    std::vector<std::string> training{"train", store, "--solver", "exact"};
    training.insert(training.end(), program.begin(), program.end());
    REQUIRE(run(training).code == 0);
    const std::string file = (dir / "rows.npy").string();
    REQUIRE(run({"export", store, "--rows", file}).code == 0);
    CHECK(testing::Npy<float>(file).values.size() == 90 * (wide + lifted));

    const auto refused = [&](const std::vector<std::string>& more, const std::vector<std::string>& parts) {
      std::vector<std::string> all{"plan", store};
      all.insert(all.end(), more.begin(), more.end());
      const Result result = run(all);
      CHECK(result.code == 1);
      CHECK(result.out.empty());
      for (const std::string& part : parts) {
        CAPTURE(result.error);
        CHECK(result.error.find(part) != std::string::npos);
      }
    };
    refused({"--solver", "exact", "--rows-of", "auto"}, {"--rows-of auto", "--rows-of stack,labels"});
    refused({"--solver", "exact", "--rows-of", "levels,words"}, {"words"});
    refused({"--solver", "exact", "--rows-of", "labels"}, {"levels,labels"});
    refused({"--solver", "exact", "--lift", "wide"}, {"--lift wide"});
    for (const std::string option : {"--rows-of", "--scale-rows", "--lift"})
      refused({option, "8"}, {option + " needs --solver"});
    const std::string other = (dir / "other").string();
    REQUIRE(run({"generate", other, "--model", "sbm", "--nodes", "50", "--edges", "90", "--features", "4"}).code == 0);
    CHECK(run({"plan", other, "--solver", "exact", "--lift", "8"}).error.find("unweave propagate") !=
          std::string::npos);
  }

  TEST_CASE("the noise that plan names for a count is enough for it, and little less is not") {
    const testing::TempDir dir;
    const std::string store = flat_store(dir);
    for (const std::string solver : {"langevin", "rewind", "descend"}) {
      CAPTURE(solver);
      const std::string rule = solver == "langevin" ? "sigma" : "batches in turn";
      std::vector<std::string> options{"--lambda", "0.02", "--set", "epochs=60"};
      if (solver == "rewind") options.insert(options.end(), {"--set", "retention=1", "--set", "capacity=1"});
      const Json plan = run(words("plan", store, solver, options)).json();
      const double sigma = plan["noise"][3]["sigma"][rule];
      const auto count = plan["noise"][3]["count"].get<std::uint64_t>();
      const auto count_at = [&](double given) {
        std::vector<std::string> more = options;
        more.insert(more.end(), {"--set", "sigma=" + std::to_string(given)});
        return run(words("plan", store, solver, more)).json()["requests"][0]["count"].get<std::uint64_t>();
      };
      CHECK(count_at(1.001 * sigma) == count);
      CHECK(count_at(0.99 * sigma) > count);
    }
  }

  TEST_CASE("plan foresees whether hessian-free makes vectors, by which way, and the disk that they take to the byte") {
    const testing::TempDir dir;
    const std::string store = flat_store(dir);
    const auto before = testing::folder_bytes(store);
    const std::vector<std::vector<std::string>> cases = {{"--head", "softmax"},
                                                         {"--head", "mlp", "--hidden", "4"},
                                                         {"--set", "group-rows=4", "--set", "bits=8"},
                                                         {"--set", "backward=1", "--set", "epochs=3"},
                                                         {"--set", "statistics=0"}};
    for (std::size_t i = 0; i < cases.size(); ++i) {
      CAPTURE(i);
      std::vector<std::string> options{"--lambda", "0.02"};
      options.insert(options.end(), cases[i].begin(), cases[i].end());
      const Json plan = run(words("plan", store, "hessian-free", options)).json();
      CHECK(testing::folder_bytes(store) == before);
      const std::string copy = (dir / std::to_string(i)).string();
      std::filesystem::copy(store, copy, std::filesystem::copy_options::recursive);
      const Json trained = run(words("train", copy, "hessian-free", options)).json();
      CHECK(plan["learning"] == trained["passes"]);
      std::uint64_t bytes = 0;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(copy))
        if (entry.path().extension() == ".statistics") bytes += entry.file_size();
      if (i == 4) {
        CHECK(plan["vectors"] == "none");
        CHECK(bytes == 0);
        continue;
      }
      CHECK(plan["disk_bytes"] == bytes);
      CHECK(trained["terms"]["forward_multiply_adds"] == plan["forward_multiply_adds"]);
      CHECK(trained["terms"].contains("backward_multiply_adds") == !plan["backward_multiply_adds"].is_null());
      CHECK((plan["vectors"] == "backward") == (trained["terms"]["backward"] == 1));
    }
    const Result table = run({"plan", store, "--solver", "hessian-free", "--lambda", "0.02"});
    CHECK(table.code == 0);
    CHECK(table.out.find("disk for them") != std::string::npos);
    const Result huge = run({"plan", store, "--solver", "hessian-free", "--lambda", "0.02", "--set", "statistics=1",
                             "--head", "mlp", "--hidden", "200000000,1000"});
    CHECK(huge.code == 3);
    CHECK(huge.error.find("--set statistics=0") != std::string::npos);
    // More bytes than 64 bits count.
    const Result beyond = run({"plan", store, "--solver", "hessian-free", "--lambda", "0.02", "--set", "statistics=1",
                               "--head", "mlp", "--hidden", "268435456,268435456,268435456"});
    CHECK(beyond.code == 3);
    CHECK(beyond.error.find("16.0 EiB") != std::string::npos);
    for (const std::vector<std::string>& more :
         std::vector<std::vector<std::string>>{{"--requests", (dir / "nowhere").string()}, {"--removed", "2"}}) {
      std::vector<std::string> all{"plan", store, "--solver", "hessian-free", "--lambda", "0.02"};
      all.insert(all.end(), more.begin(), more.end());
      const Result refused = run(all);
      CHECK(refused.code == 1);
      CHECK(refused.error.find(more.front()) != std::string::npos);
    }
  }

  TEST_CASE("tables for people; refused: counts and options that do not fit") {
    const testing::TempDir dir;
    const std::string store = flat_store(dir);
    const Result table = run({"plan", store, "--solver", "rewind", "--lambda", "0.02", "--removed", "3"});
    CHECK(table.code == 0);
    for (const char* word : {"rows removed at once", "least sigma, batches in turn", "least sigma, as printed",
                             "epsilon", "one by one", "training again each time"})
      CHECK(table.out.find(word) != std::string::npos);
    CHECK(table.error.find("rows that move") != std::string::npos);
    const auto refused = [&](const std::vector<std::string>& more, const std::string& text) {
      std::vector<std::string> all{"plan", store};
      all.insert(all.end(), more.begin(), more.end());
      const Result result = run(all);
      CHECK(result.code == 1);
      CAPTURE(result.error);
      CHECK(result.error.find(text) != std::string::npos);
    };
    refused({"--solver", "nothing"}, "unknown solver");
    refused({"--solver", "rewind", "--removed", "0"}, "--removed");
    refused({"--solver", "rewind", "--removed", "91"}, "--removed");
    refused({"--solver", "rewind", "--hops", "2"}, "--hops");
    refused({"--epsilon", "1"}, "--epsilon needs --solver");
    refused({"--solver", "langevin", "--epsilon", "0"}, "--epsilon");
    refused({"--solver", "langevin", "--lambda", "0"}, "--lambda");
    refused({"--solver", "langevin", "--set", "epochs=2", "--set", "epoch=3"}, "epoch");
    // What training refuses.
    refused({"--solver", "descent-to-delete", "--epsilon", "1e-60"}, "--epsilon must be at least");
    refused({"--solver", "descent-to-delete", "--epsilon", "1e-60", "--bound", "paper"}, "--epsilon must be at least");
    refused({"--solver", "descent-to-delete", "--lambda", "1e-12"}, "raise --lambda");
  }

  TEST_CASE("train takes several parameters, prints those used, and verify accepts the model") {
    const testing::TempDir dir;
    const std::string store = flat_store(dir);
    const Result trained =
        run({"train", store, "--solver", "langevin", "--lambda", "0.02", "--set", "epochs=3", "--set", "batch-rows=20",
             "--set", "sigma=0.5", "--set", "step-size=1.5", "--set", "radius=4", "--set", "order-key=7"});
    REQUIRE(trained.code == 0);
    for (const char* line : {"epochs", "batch-rows", "sigma", "step-size", "radius", "order-key"})
      CHECK(trained.out.find(std::string("\n") + line) != std::string::npos);
    std::ofstream(dir / "r.txt") << "node 7\n";
    REQUIRE(run({"stream", store, "--requests", (dir / "r.txt").string(), "--solver", "langevin"}).code == 0);
    const Result verified = run({"verify", store});
    CAPTURE(verified.error);
    CHECK(verified.code == 0);
    CHECK(run({"train", store, "--solver", "langevin-full", "--set", "batch-rows=3"}).code == 1);
    CHECK(run({"train", store, "--solver", "langevin", "--set", "step-size=9"}).code == 1);
    CHECK(run({"train", store, "--solver", "langevin", "--set", "batch-rows=91"}).code == 1);
    const std::pair<const char*, std::vector<const char*>> of_batches[] = {
        {"finetune", {"tune-epochs", "tune-step-size"}},
        {"neggrad", {"ascent-epochs", "ascent-step-size"}},
        {"scalegun", {"damping"}},
        {"streaming", {"rounds", "epochs", "batch-rows", "step-size", "decay"}}};
    for (const auto& [solver, lines] : of_batches) {
      const Result network = run({"train", store, "--solver", solver, "--head", "mlp", "--set", "epochs=1"});
      for (const char* line : lines) CHECK(network.out.find(std::string("\n") + line) != std::string::npos);
    }
  }
}

}  // namespace unweave
