// tests/tools/commands/evaluate_test.cpp - `evaluate` with a copy from before the removals, and the
// commands that lead to it: the deleted data replay test, membership inference, adversarial edges.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/npy_file.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using Json = nlohmann::json;
using testing::Result;
using testing::run;
using testing::run_well;
using testing::TempDir;
using testing::write_file;

constexpr int kNodes = 240, kClasses = 3;

/// Files of a graph of three classes, whose features and edges tell the class.
struct Files {
  TempDir dir;

  Files() {
    std::mt19937 random(11);
    std::string edges, labels, features, train, test;
    for (int u = 0; u < kNodes; ++u) {
      labels += std::to_string(u % kClasses) + "\n";
      for (int c = 0; c < 6; ++c) features += (c % kClasses == u % kClasses && random() % 3 > 0 ? "1 " : "0 ");
      features += "\n";
      for (int k = 0; k < 3; ++k)
        edges += std::to_string(u) + " " + std::to_string((u + kClasses * (random() % 40 + 1)) % kNodes) + "\n";
      (u < 150 ? train : test) += std::to_string(u) + "\n";
    }
    for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{{"e.txt", edges},
                                                                                     {"y.txt", labels},
                                                                                     {"x.txt", features},
                                                                                     {"train.txt", "# nodes\n" + train},
                                                                                     {"test.txt", test}})
      write_file(dir / name, text);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (dir / name).string(); }
  [[nodiscard]] Result import(const std::string& store, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{
        "import",     path(store),   "--edges", path("e.txt"),
        "--features", path("x.txt"), "--nodes", std::to_string(kNodes),
        "--labels",   path("y.txt"), "--split", "train=" + path("train.txt") + ",test=" + path("test.txt")};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  void train(const std::string& store, const std::vector<std::string>& solvers) const {
    run_well({"propagate", path(store)});
    for (const std::string& solver : solvers)
      run_well({"train", path(store), "--solver", solver, "--lambda", "1e-4", "--seed", "1"});
  }
  void copy(const std::string& from, const std::string& to) const {
    std::filesystem::copy(path(from), path(to), std::filesystem::copy_options::recursive);
  }
  /// Published weights of a model of the store s, by its name.
  [[nodiscard]] std::vector<double> weights(const std::string& model) const {
    const std::string out = path(model + ".npy");
    run_well({"export", path("s"), "--name", model, "--model", out});
    return testing::Npy<double>(out).values;
  }
};

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("deleted data replay: a marked class is learnt, and gone after the removal") {
    const Files files;
    REQUIRE(files.import("plain").code == 0);
    run_well({"export", files.path("plain"), "--requests", files.path("r.txt"), "--draw", "node", "--count", "15"});
    REQUIRE(files.import("s", {"--replay", files.path("r.txt")}).code == 0);
    const Json info = run({"info", files.path("s"), "--json"}).json();
    CHECK(info["features"] == 106);
    CHECK(info["classes"] == kClasses + 1);
    files.train("s", {"newton", "retrain"});
    files.copy("s", "copy");
    run_well({"stream", files.path("s"), "--requests", files.path("r.txt"), "--solver", "newton", "--seed", "1"});
    const std::vector<std::string> words{"evaluate", files.path("s"), "--before", files.path("copy"), "--json"};
    const auto lines = run(words).lines();
    REQUIRE(lines.size() == 4);
    const Json &before = lines[0], &after = lines[1], &outdated = lines[3];
    CHECK(before["model"] == "before");
    CHECK(before["solver"] == "newton");
    CHECK(after["model"] == "present");
    CHECK(after["forgotten_rows"] == 15);
    CHECK(after["vanished_classes"] == 1);
    CHECK(before["replay_forgotten"].get<double>() > 0.5);
    CHECK(before["replay_all"].get<double>() > 0.5 * 15 / kNodes);
    CHECK(before["accuracy_forgotten"] == before["replay_forgotten"]);
    CHECK(after["replay_forgotten"] == 0);
    CHECK(after["replay_all"] == 0);
    CHECK(after["replay_present"] == 0);
    CHECK(after["accuracy_test"].get<double>() > 0.8);
    CHECK(before["presence_ratio"] == 1);
    CHECK(after["presence"].get<double>() != before["presence"].get<double>());
    CHECK(after["mia_member_rate"].get<double>() + after["mia_nonmember_rate"].get<double>() == doctest::Approx(1));
    CHECK(after["attack_rows"] == 90);
    CHECK(after["attack_seed"] == 1);
    CHECK(after["removed_edges"] == 0);  // nodes left with theirs
    CHECK(after["trend_auc"].is_null());
    CHECK_FALSE(after.contains("trend_auc_retrained"));
    // What was not unlearned remembers.
    CHECK(outdated["outdated"] == true);
    CHECK(outdated["replay_forgotten"] == before["replay_forgotten"]);
    CHECK(run(words).out == run(words).out);
    const Result table = run({"evaluate", files.path("s"), "--before", files.path("copy"), "--solver", "newton"});
    CHECK(table.out.find("before the removals") != std::string::npos);
    CHECK(table.out.find("presence ratio") != std::string::npos);
    for (const std::string column : {"forgotten", "replayed", "of all", "of present", "called members", "by threshold",
                                     "attack AUC", "presence ratio", "edge AUC"})
      CHECK(table.out.find("\n" + column + "  ") != std::string::npos);  // the line that says what it is
  }

  TEST_CASE("removed edges are looked for in both models, and in the retrained one") {
    const Files files;
    REQUIRE(files.import("s").code == 0);
    files.train("s", {"newton"});
    files.copy("s", "copy");
    run_well({"export", files.path("s"), "--requests", files.path("e.txt"), "--draw", "edge", "--count", "20", "--seed",
              "1"});
    run_well({"stream", files.path("s"), "--requests", files.path("e.txt"), "--solver", "newton", "--seed", "1"});
    const auto lines =
        run({"evaluate", files.path("s"), "--before", files.path("copy"), "--solver", "newton", "--retrain", "--json"})
            .lines();
    REQUIRE(lines.size() == 2);
    for (const Json& line : lines) {
      CHECK(line["removed_edges"].get<int>() > 0);
      CHECK(line["removed_edges"].get<int>() <= 20);
      for (const char* field : {"trend_auc", "trend_likeness_auc", "trend_dip_auc", "trend_auc_retrained"})
        CHECK(line[field].is_number());
    }
    CHECK(lines[0]["trend_auc_retrained"] == lines[1]["trend_auc_retrained"]);
    CHECK(lines[1]["trend_auc"].get<double>() ==
          doctest::Approx(lines[1]["trend_auc_retrained"].get<double>()).epsilon(0.05));
  }

  TEST_CASE("weights, predictions and losses beside a retrained model's, before and after the removal") {
    const Files files;
    REQUIRE(files.import("s").code == 0);
    files.train("s", {"newton", "streaming"});
    files.copy("s", "copy");
    std::string text;
    for (int u = 0; u < 40; ++u) text += "node " + std::to_string(u) + "\n";
    write_file(files.dir / "r.txt", text);
    run_well({"stream", files.path("s"), "--requests", files.path("r.txt"), "--solver", "newton", "--seed", "1"});
    const std::vector<std::string> words{"evaluate", files.path("s"), "--before", files.path("copy"),
                                         "--solver", "newton",        "--retrain"};
    std::vector<std::string> as_json = words;
    as_json.emplace_back("--json");
    const auto lines = run(as_json).lines();
    REQUIRE(lines.size() == 2);
    const Json &before = lines[0], &after = lines[1];
    CHECK(before["original_distance"] == 0);
    CHECK(before["distance_ratio"] == 1);
    CHECK(before["step_cosine"].is_null());
    CHECK(before["loss_change_pearson"].is_null());
    CHECK(after["distance_ratio"].get<double>() < 0.1);
    CHECK(after["step_cosine"].get<double>() > 0.99);
    CHECK(after["retrained_cosine"].get<double>() > before["retrained_cosine"].get<double>());
    CHECK(after["loss_change_pearson"].get<double>() > 0.99);
    CHECK(after["loss_change_spearman"].get<double>() > 0.99);
    for (const std::string rows : {"train", "test", "forgotten"}) {
      CAPTURE(rows);
      CHECK(after["kl_" + rows].get<double>() < 0.1 * before["kl_" + rows].get<double>());
      CHECK(after["agreement_" + rows] == 1);
      CHECK(before["agreement_" + rows].get<double>() <= 1);
    }
    const Result table = run(words);
    CHECK(table.out.find("agreement, test") != std::string::npos);
    // Without a copy there is no original; without --retrain nothing is compared.
    const Json alone = run({"evaluate", files.path("s"), "--solver", "newton", "--retrain", "--json"}).json();
    CHECK(alone.contains("kl_test"));
    CHECK_FALSE(alone.contains("kl_forgotten"));
    CHECK_FALSE(alone.contains("distance_ratio"));
    // A copy's model of another shape is compared with nothing.
    run_well({"train", files.path("copy"), "--solver", "retrain", "--head", "mlp", "--hidden", "4"});
    run_well({"train", files.path("s"), "--solver", "retrain", "--lambda", "1e-4"});
    const auto mixed =
        run({"evaluate", files.path("s"), "--before", files.path("copy"), "--solver", "retrain", "--retrain", "--json"})
            .lines();
    REQUIRE(mixed.size() == 2);
    CHECK(mixed[0]["retrained_distance"].is_null());
    CHECK(mixed[0]["kl_test"].is_null());
    // Both models of one minimiser, and the minimiser, make a triangle, whose third side the
    // weights tell.
    const double own = mixed[1]["retrained_distance"], others = after["retrained_distance"];
    const double between = distance(files.weights("retrain"), files.weights("newton"));
    CHECK(between > 0);
    CHECK(own <= others + between);
    CHECK(own >= std::abs(others - between));
    CHECK_FALSE(mixed[1].contains("distance_ratio"));
    // Bounds as printed are the model's, not those of what it is compared with.
    run_well({"train", files.path("s"), "--solver", "scalegun", "--bound", "paper", "--lambda", "1e-4"});
    const Result printed = run({"evaluate", files.path("s"), "--solver", "scalegun", "--retrain", "--json"});
    CAPTURE(printed.error);
    REQUIRE(printed.code == 0);
    // It has no intercept and bears noise in its objective. One that is trained without either is
    // the retrained one, but for the noise of its weights.
    run_well(
        {"train", files.path("s"), "--solver", "retrain", "--name", "plain", "--no-intercept", "--lambda", "1e-4"});
    CHECK(printed.json()["retrained_distance"].get<double>() ==
          doctest::Approx(distance(files.weights("scalegun"), files.weights("plain"))).epsilon(1e-3));
    const Json plain = run({"evaluate", files.path("s"), "--solver", "newton", "--json"}).json();
    CHECK_FALSE(plain.contains("kl_test"));
  }

  TEST_CASE("what is trained again: for hessian-free its own run over the slots that are left, else the minimiser") {
    const Files files;
    REQUIRE(files.import("s").code == 0);
    files.train("s", {"newton"});
    // One epoch of small steps ends far from the minimiser; the noise is small beside the distance.
    run_well({"train", files.path("s"), "--solver", "hessian-free", "--epsilon", "1e4", "--delta", "0.5", "--set",
              "epochs=1", "--set", "step-size=0.01", "--set", "s-max=1e-9"});
    files.copy("s", "copy");
    write_file(files.dir / "r.txt", "node 3\nnode 4\nnode 11\nnode 30\n");
    for (const char* solver : {"newton", "hessian-free"}) {
      CAPTURE(solver);
      const auto lines_of = [&](const std::string& store) {
        return run({"evaluate", files.path(store), "--before", files.path("copy"), "--retrain", "--solver", solver,
                    "--json"})
            .lines();
      };
      const auto untouched = lines_of("copy");
      REQUIRE(untouched.size() == 2);
      CHECK(untouched[1]["loss_change_pearson"].is_null());
      files.copy("copy", solver);
      run_well({"stream", files.path(solver), "--requests", files.path("r.txt"), "--solver", solver});
      const auto lines = lines_of(solver);
      REQUIRE(lines.size() == 2);
      const double kept = lines[0]["retrained_distance"], forgot = lines[1]["retrained_distance"];
      CHECK(lines[0]["loss_change_pearson"].is_null());  // the original has changed nothing
      if (solver == std::string("newton")) {
        CHECK(lines[1]["loss_change_pearson"].get<double>() < 1);
        continue;
      }
      CHECK(untouched[1]["retrained_distance"].get<double>() < 1e-7);
      CHECK(forgot < 1e-7);
      CHECK(kept > 1e-4);
      CHECK(lines[1]["loss_change_pearson"].get<double>() == doctest::Approx(1).epsilon(1e-4));
    }
  }

  TEST_CASE("a model of exact stands nowhere but where training again puts it") {
    const Files files;
    REQUIRE(files.import("s").code == 0);
    run_well({"propagate", files.path("s"), "--hops", "1"});
    run_well({"train", files.path("s"), "--solver", "exact", "--set", "grid=20"});
    write_file(files.dir / "r.txt", "node 3\nnode 4\n");
    run_well({"stream", files.path("s"), "--requests", files.path("r.txt"), "--solver", "exact"});
    const Json line = run({"evaluate", files.path("s"), "--retrain", "--json"}).json();
    CHECK(line["retrained_distance"] == 0.0);
  }

  TEST_CASE("the copy may lie in another order, and may lack the model") {
    const Files files;
    REQUIRE(files.import("s").code == 0);
    REQUIRE(files.import("ordered", {"--order", "degree"}).code == 0);
    files.train("s", {"newton"});
    files.train("ordered", {});
    files.copy("s", "copy");
    write_file(files.dir / "r.txt", "node 3\nnode 4\nfeature 5\nnode 200\nedge 7 10\n");
    run_well({"stream", files.path("s"), "--requests", files.path("r.txt"), "--solver", "newton", "--seed", "1"});
    const std::string nodes = files.path("gone.txt");
    write_file(nodes, "3\n4\n5\n");
    const auto of = [&](const std::string& copy) {
      return run({"evaluate", files.path("s"), "--before", files.path(copy), "--nodes", nodes, "--json"}).lines();
    };
    const auto same = of("copy"), ordered = of("ordered");
    REQUIRE(same.size() == 2);
    REQUIRE(ordered.size() == 1);
    CHECK(ordered[0]["forgotten_rows"] == 3);                                 // node 200 is a test node
    CHECK(ordered[0]["accuracy_nodes"] == ordered[0]["accuracy_forgotten"]);  // as they were
    CHECK(ordered[0]["presence"].is_null());
    for (const char* field : {"forgotten_rows", "accuracy_forgotten", "mia_member_rate", "mia_auc"})
      CHECK(ordered[0][field] == same[1][field]);
    CHECK(same[1]["replay_all"].is_null());
  }

  TEST_CASE("adversarial edges lower the accuracy on the nodes they hang on, and removing them restores it") {
    const Files files;
    REQUIRE(files.import("s").code == 0);
    files.train("s", {"newton"});
    const auto accuracy = [&] {
      return run({"evaluate", files.path("s"), "--nodes", files.path("test.txt"), "--json"}).json();
    };
    const Json clean = accuracy();
    CHECK(clean["accuracy_nodes"] == clean["accuracy_test"]);
    run_well({"export", files.path("s"), "--requests", files.path("poison.txt"), "--draw", "adversarial-edge",
              "--nodes", files.path("test.txt"), "--count", "500"});
    std::string cure = testing::read_all(files.path("poison.txt"));
    for (std::size_t at = 0; (at = cure.find("insert-", at)) != std::string::npos;) cure.erase(at, 7);
    write_file(files.dir / "cure.txt", cure);
    run_well({"stream", files.path("s"), "--requests", files.path("poison.txt"), "--batch", "500"});
    run_well({"train", files.path("s"), "--solver", "newton", "--lambda", "1e-4", "--seed", "1"});
    const Json poisoned = accuracy();
    CHECK(poisoned["accuracy_nodes"].get<double>() < clean["accuracy_nodes"].get<double>() - 0.05);
    run_well({"stream", files.path("s"), "--requests", files.path("cure.txt"), "--batch", "500", "--solver", "newton",
              "--seed", "1"});
    CHECK(accuracy()["accuracy_nodes"] == clean["accuracy_nodes"]);
  }

  TEST_CASE("wrong usage and data are told") {
    const Files files;
    REQUIRE(files.import("s").code == 0);
    const std::string store = files.path("s");
    const auto fails = [&](const std::vector<std::string>& words, int code, const std::string& told) {
      const Result result = run(words);
      CAPTURE(result.error);
      CHECK(result.code == code);
      CHECK(result.error.find(told) != std::string::npos);
    };
    const std::string file = files.path("r.txt");
    fails({"export", store, "--requests", file, "--draw", "node"}, 1, "together");
    fails({"export", store, "--draw", "node", "--count", "3"}, 1, "nothing to export");
    fails({"export", store, "--requests", file, "--draw", "nodes", "--count", "3"}, 1, "vulnerable-edge");
    fails({"export", store, "--requests", file, "--draw", "node", "--count", "151"}, 1, "there are 150");
    fails({"export", store, "--edges", file, "--nodes", files.path("test.txt")}, 1, "--nodes needs");
    CHECK_FALSE(std::filesystem::exists(file));
    fails({"evaluate", store, "--attack-rows", "3"}, 1, "--before");
    files.train("s", {"newton"});
    REQUIRE(run({"generate", files.path("other"), "--model", "sbm", "--nodes", "50", "--edges", "90"}).code == 0);
    fails({"evaluate", store, "--before", files.path("other")}, 2, "copy of the store");
    REQUIRE(files.import("bare").code == 0);
    fails({"evaluate", store, "--before", files.path("bare")}, 2, "propagat");

    write_file(file, "node 240\n");
    fails({"import", files.path("t"), "--nodes", "5", "--replay", file}, 1, "--labels");
    CHECK(files.import("t", {"--replay", file}).error.find("node 240") != std::string::npos);
    write_file(file, "edge 1 2\n");
    CHECK(files.import("t", {"--replay", file}).error.find("no request removes a node") != std::string::npos);
    write_file(file, "node -1\n");
    CHECK(files.import("t", {"--replay", file}).code == 2);
  }
}

}  // namespace unweave
