// tests/tools/commands/train_test.cpp - `train` as a user meets it: its defaults, what it warns of,
// trials of lambda.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::npy;
using testing::Result;
using testing::run;
using testing::write_file;
using Json = nlohmann::json;

std::string lines(int first, int last, int step) {
  std::string text;
  for (int u = first; u < last; u += step) text += std::to_string(u) + "\n";
  return text;
}

/// 300 rows without a graph. Every row lies far on one side of the origin, and a sixth of them a
/// little farther, which is the second class: without an intercept no plane tells them apart well.
/// Splits of 200, 50 and 50 rows.
struct Flat {
  testing::TempDir dir;
  std::string store = (dir / "s").string();

  explicit Flat(bool valid = true) {
    std::vector<float> rows;
    std::string labels;
    for (int u = 0; u < 300; ++u) {
      const bool second = u % 6 == 5;
      const float across = static_cast<float>(u * 37 % 101) / 100 - 0.5F;
      rows.insert(rows.end(), {second ? 0.8F : 0.45F, 0.1F * across});
      labels += second ? "1\n" : "0\n";
    }
    write_file(dir / "x.npy", npy("<f4", "(300, 2)", rows));
    write_file(dir / "y.txt", labels);
    write_file(dir / "train.txt", "# nodes\n" + lines(0, 200, 1));
    write_file(dir / "valid.txt", lines(200, 250, 1));
    write_file(dir / "test.txt", lines(250, 300, 1));
    std::string split = "train=" + (dir / "train.txt").string() + ",test=" + (dir / "test.txt").string();
    if (valid) split += ",valid=" + (dir / "valid.txt").string();
    must({"import", store, "--features", (dir / "x.npy").string(), "--labels", (dir / "y.txt").string(), "--split",
          split});
    must({"propagate", store, "--hops", "0", "--weights", "1"});
  }
  static Result must(const std::vector<std::string>& words) {
    Result result = run(words);
    REQUIRE_MESSAGE(result.code == 0, result.error);
    return result;
  }
  [[nodiscard]] Result train(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"train", store, "--json"});
    return run(more);
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("train: an intercept by default tells apart what no plane through the origin does; scalegun has none") {
    const Flat world;
    const Json with = world.train().json();
    CHECK(with["intercept"] == true);
    CHECK(with["certified"] == true);
    CHECK(with["accuracy_test"] == 1.0);
    const Json without = world.train({"--no-intercept"}).json();
    CHECK(without["intercept"] == false);
    CHECK(without["accuracy_test"] < 0.9);
    CHECK(world.train({"--solver", "scalegun", "--lambda", "1e-3"}).json()["intercept"] == false);
    CHECK(world.train({"--solver", "retrain", "--head", "mlp"}).json()["intercept"] == false);
  }

  TEST_CASE("train: the default lambda is that of the store, before removals and after them") {
    const Flat world;
    const Json before = world.train().json();
    CHECK(before["lambda"].get<double>() > 0);
    CHECK(before["lambda_chosen"] == "default");
    std::string requests;
    for (int u = 0; u < 100; ++u) requests += "node " + std::to_string(u) + "\n";
    write_file(world.dir / "r.txt", requests);
    Flat::must({"stream", world.store, "--requests", (world.dir / "r.txt").string()});
    const Json after = world.train().json();
    CHECK(after["training_rows"] == 100);
    CHECK(after["lambda"] == before["lambda"]);
    CHECK(contains(Flat::must({"plan", world.store, "--solver", "langevin"}).out, "langevin"));
  }

  TEST_CASE("train --weights auto: the levels that tell the classes are found, and the certificate says so") {
    // One node of each pair has a class, the other one the feature that tells it.
    const testing::TempDir dir;
    const std::string store = (dir / "s").string();
    constexpr int kPairs = 150;
    std::vector<float> rows;
    std::string edges, labels;
    for (int u = 0; u < 2 * kPairs; ++u) {
      const bool second = u % 3 == 2, tells = u >= kPairs;
      rows.insert(rows.end(), {tells ? (second ? 0.6F : -0.6F) : 0.2F, static_cast<float>(u * 37 % 101) / 101});
      labels += tells ? "-1\n" : second ? "1\n" : "0\n";
      if (!tells) edges += std::to_string(u) + ' ' + std::to_string(u + kPairs) + '\n';
    }
    write_file(dir / "x.npy", npy("<f4", "(300, 2)", rows));
    write_file(dir / "e.txt", edges);
    write_file(dir / "y.txt", "# labels\n" + labels);
    std::string split;
    for (const auto& [name, first, last] : {std::tuple("train", 0, 90), {"valid", 90, 120}, {"test", 120, 150}}) {
      write_file(dir / name, "# nodes\n" + lines(first, last, 1));
      split += (split.empty() ? "" : ",") + std::string(name) + "=" + (dir / name).string();
    }
    Flat::must({"import", store, "--edges", (dir / "e.txt").string(), "--features", (dir / "x.npy").string(),
                "--labels", (dir / "y.txt").string(), "--split", split});
    Flat::must({"propagate", store, "--hops", "2", "--weights", "1,0,0"});
    const Json own = Flat::must({"train", store, "--json", "--name", "own"}).json();
    CHECK(own["level_weights"] == Json{1.0, 0.0, 0.0});
    CHECK(own["level_weights_chosen"] == "propagation");
    const Json tuned = Flat::must({"train", store, "--json", "--weights", "auto"}).json();
    REQUIRE(tuned["level_weights_trials"].size() == 5);
    Json best = tuned["level_weights_trials"][0];
    CHECK(best["weights"] == own["level_weights"]);
    CHECK(best["accuracy_valid"] == own["accuracy_valid"]);
    for (const Json& trial : tuned["level_weights_trials"])
      if (trial["accuracy_valid"] > best["accuracy_valid"]) best = trial;
    CHECK(tuned["level_weights"] == best["weights"]);
    CHECK(tuned["accuracy_valid"] == best["accuracy_valid"]);
    CHECK(tuned["accuracy_test"] > own["accuracy_test"]);
    const auto public_lines = [&] { return testing::lines_of(dir / "s" / "certificates" / "exact.jsonl"); };
    CHECK(contains(public_lines().back(),
                   "the choice of weights: it was tuned on data (validation at version 0), and stays"));

    // Constants from then on, also after a purge; and the model is the one of these weights.
    write_file(dir / "r.txt", "node 3\n");
    Flat::must({"stream", store, "--requests", (dir / "r.txt").string(), "--solver", "exact"});
    Flat::must({"purge", store});
    write_file(dir / "r.txt", "node 4\n");
    Flat::must({"stream", store, "--requests", (dir / "r.txt").string(), "--solver", "exact"});
    const Json constants = Json::parse(public_lines().back())["constants"];
    CHECK(constants["weights"]["chosen"] == "validation at version 0");
    CHECK(constants["weights"]["value"] == best["weights"]);
    CHECK(Flat::must({"verify", store}).code == 0);
    std::string given;
    for (const Json& weight : best["weights"]) given += (given.empty() ? "" : ",") + weight.dump();
    CHECK(
        Flat::must({"train", store, "--json", "--name", "given", "--weights", given}).json()["level_weights_chosen"] ==
        "given");
    CHECK(testing::read_all(dir / "s" / "models" / "given.model").size() > 0);
    for (const char* name : {"exact", "given"})
      Flat::must({"export", store, "--solver", "exact", "--name", name, "--model",
                  (dir / (std::string(name) + ".npy")).string()});
    CHECK(testing::read_all(dir / "exact.npy") == testing::read_all(dir / "given.npy"));

    const Result blind = Flat(false).train({"--weights", "auto"});
    CHECK(blind.code == 2);
    CHECK(contains(blind.error, "--weights auto needs labelled nodes in the validation split"));
    CHECK(run({"train", store, "--weights", "often"}).code == 1);
  }

  TEST_CASE("train --lambda auto: trials on the validation split, the best is taken, and the certificate says so") {
    const Flat world;
    const Json tuned = world.train({"--lambda", "auto"}).json();
    REQUIRE(tuned["lambda_trials"].size() == 9);
    // The best, of several the nearest to the default.
    const double usual = world.train({"--name", "usual"}).json()["lambda"];
    double best = -1, nearest = 0;
    for (const Json& trial : tuned["lambda_trials"]) {
      if (trial["accuracy_valid"].is_null()) continue;
      const double accuracy = trial["accuracy_valid"], tried = trial["lambda"];
      const double distance = std::abs(std::log(tried / usual));
      if (accuracy < best || (accuracy == best && distance >= nearest)) continue;
      best = accuracy;
      nearest = distance;
    }
    CHECK(std::abs(std::log(tuned["lambda"].get<double>() / usual)) == doctest::Approx(nearest));
    CHECK(tuned["accuracy_valid"] == best);
    CHECK(tuned["lambda_chosen"] == "validation at version 0");
    const std::string line = testing::read_all(world.dir / "s" / "certificates" / "exact.jsonl");
    const Json certificate = Json::parse(line);
    CHECK(certificate["constants"]["lambda"]["chosen"] == "validation at version 0");
    CHECK(contains(line, "the choice of lambda: it was tuned on data (validation at version 0), and stays"));
    // It is a constant from then on.
    write_file(world.dir / "r.txt", "node 3\n");
    Flat::must({"stream", world.store, "--requests", (world.dir / "r.txt").string(), "--solver", "exact"});
    CHECK(contains(testing::lines_of(world.dir / "s" / "certificates" / "exact.jsonl").back(),
                   "validation at version 0"));
    CHECK(Flat::must({"verify", world.store}).code == 0);

    const Result no_plan = run({"plan", world.store, "--solver", "langevin", "--lambda", "auto"});
    CHECK(no_plan.code == 1);
    const Flat blind(false);
    const Result none = blind.train({"--lambda", "auto"});
    CHECK(none.code == 2);
    CHECK(contains(none.error, "--lambda auto needs labelled nodes in the validation split"));
    CHECK(blind.train({"--lambda", "often"}).code == 1);
  }

  TEST_CASE("train warns of a lambda far from the default and of a model that loses to the most frequent class") {
    const Flat world;
    CHECK(world.train().error.empty());
    const Result strong = world.train({"--lambda", "100"});
    CHECK(contains(strong.error, "note: lambda 100 is far from the default for this store"));
    CHECK(contains(strong.error, "always naming the most frequent class would reach 0.84"));
    CHECK(strong.json()["accuracy_valid"] <= 0.84);
    CHECK(world.train({"--lambda", "100", "--quiet"}).error.empty());
  }

  TEST_CASE("train on an empty split is an error, not a certificate") {
    Flat world;
    write_file(world.dir / "none.txt", "");
    const std::string store = (world.dir / "empty").string();
    const Result imported =
        run({"import", store, "--features", (world.dir / "x.npy").string(), "--labels", (world.dir / "y.txt").string(),
             "--split", "train=" + (world.dir / "none.txt").string()});
    REQUIRE_MESSAGE(imported.code == 0, imported.error);
    Flat::must({"propagate", store, "--hops", "0", "--weights", "1"});
    const Result result = run({"train", store, "--solver", "newton"});
    CHECK(result.code == 2);
    CHECK(contains(result.error, "there is no training row"));
  }

  TEST_CASE("train --seed is certified by nothing, and says why") {
    const Flat world;
    const Json line = world.train({"--solver", "newton", "--seed", "7"}).json();
    CHECK(line["certified"] == false);
    CHECK(line["claim"].is_null());
    const Result table = run({"train", world.store, "--solver", "newton", "--seed", "7"});
    CHECK(contains(table.out, "no (noise from a seed: for tests)"));
  }
}

}  // namespace unweave
