// tests/tools/commands/stream_test.cpp - train, stream and evaluate as programs call them: fields,
// exit codes, order of effects.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/registry/registry.h"
#include "storage/formats/manifest.h"
#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using Json = nlohmann::json;
using testing::Result;
using testing::run;
using testing::TempDir;

struct World {
  TempDir dir;
  testing::TinyStore contents = testing::random_store(120, 400, 5, 9);
  std::string store = (dir / "store").string();

  explicit World(bool propagated = true) {
    testing::write_store(store, contents);
    if (propagated) testing::propagate_store(store, testing::tiny_spec(2, false));
  }
  [[nodiscard]] std::string file(const std::string& text) const {
    const auto path = dir / "requests.txt";
    std::ofstream(path) << text;
    return path.string();
  }
  /// Edges from position `first` on, one request each.
  [[nodiscard]] std::string edges(std::size_t first, std::size_t count) const {
    std::set<std::pair<NodeId, NodeId>> distinct;
    for (const Edge& edge : contents.edges)
      if (edge.u != edge.v) distinct.insert({std::min(edge.u, edge.v), std::max(edge.u, edge.v)});
    std::string text;
    auto at = std::next(distinct.begin(), static_cast<std::ptrdiff_t>(first));
    for (std::size_t i = 0; i < count; ++i, ++at)
      text += "edge " + std::to_string(at->first) + " " + std::to_string(at->second) + "\n";
    return text;
  }
  Result train(const std::string& solver) const { return run({"train", store, "--solver", solver, "--json"}); }
  Result stream(const std::string& text, std::vector<std::string> more) const {
    std::vector<std::string> words{"stream", store, "--requests", file(text), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
};

const std::vector<std::string> kModelFields{"seconds_unlearn", "retrained",      "residual_bound",
                                            "budget",          "certified",      "claim",
                                            "accuracy_train",  "accuracy_valid", "accuracy_test"};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("train prints its fields for every solver and needs propagate, labels and a split") {
    const World world;
    for (const char* solver : {"newton", "retrain", "scalegun", "cgu", "ceu", "langevin", "langevin-full",
                               "newton-step", "jackknife", "hessian-free"}) {
      const Result result = world.train(solver);
      CAPTURE(result.error);
      REQUIRE(result.code == 0);
      REQUIRE(result.lines().size() == 1);
      const Json line = result.lines()[0];
      for (const char* field : {"solver", "seconds", "certified", "claim", "epsilon", "delta", "budget",
                                "residual_bound", "accuracy_train", "accuracy_valid", "accuracy_test"})
        CHECK_MESSAGE(line.contains(field), field);
      const std::string name = solver;
      const bool published = name == "scalegun" || name == "cgu" || name == "ceu";
      CHECK(line["certified"] == !published);
      CHECK(line["claim"].get<std::string>().starts_with(published                      ? "as published"
                                                         : name.starts_with("langevin") ? "T2"
                                                         : name == "hessian-free"       ? "T3"
                                                                                        : "T1"));
      CHECK(line["accuracy_train"].get<double>() > 0);
    }
    CHECK(run({"train", world.store, "--solver", "newton", "--head", "softmax", "--json"}).lines()[0]["claim"] == "T1");
    const Result coupled = run({"train", world.store, "--head", "softmax", "--solver", "cgu"});
    CHECK(coupled.code == 1);
    CHECK(coupled.error.find("cgu bounds its steps for one-vs-rest heads alone") != std::string::npos);
    CHECK(run({"evaluate", world.store}).code == 0);
    CHECK(run({"info", world.store}).code == 0);
    CHECK(run({"train", world.store, "--solver", "nonsense"}).code == 1);
    CHECK(run({"train", world.store, "--solver", "newton", "--lambda", "0"}).code == 1);
    CHECK(run({"train", world.store, "--solver", "newton", "--weights", "1"}).code == 1);
    CHECK(run({"train", world.store, "--solver", "newton", "--weights", "0.5,0.5,0"}).code == 0);

    const World bare(false);
    const Result early = bare.train("newton");
    CHECK(early.code == 1);
    CHECK(early.error.find("unweave propagate") != std::string::npos);
    TempDir dir;
    testing::TinyStore unlabelled = testing::random_store(30, 60, 4, 2);
    unlabelled.labels.clear();
    unlabelled.train.clear();
    unlabelled.valid.clear();
    unlabelled.test.clear();
    unlabelled.classes = 0;
    testing::write_store(dir / "store", unlabelled);
    testing::propagate_store(dir / "store", testing::tiny_spec(1));
    const Result blind = run({"train", (dir / "store").string(), "--solver", "newton"});
    CHECK(blind.code == 2);
    CHECK(blind.error.find("--labels") != std::string::npos);
  }

  TEST_CASE("networks and solvers that claim nothing train, stream and are evaluated; others refuse a network") {
    const World world;
    const auto network = [&](const std::string& solver, std::vector<std::string> more) {
      std::vector<std::string> words{"train", world.store, "--solver", solver, "--head", "mlp", "--json"};
      words.insert(words.end(), more.begin(), more.end());
      return run(words);
    };
    const Result wide = network("retrain", {"--hidden", "7,3", "--set", "epochs=3", "--set", "decay=1"});
    CAPTURE(wide.error);
    REQUIRE(wide.code == 0);
    CHECK(wide.lines()[0]["certified"] == false);
    for (const char* field : {"claim", "budget", "residual_bound"}) CHECK(wide.lines()[0][field].is_null());
    CHECK(wide.lines()[0]["terms"]["epochs"] == 3);
    for (const char* solver : {"finetune", "neggrad", "scalegun", "newton-step", "jackknife"})
      CHECK(network(solver, {"--hidden", "4"}).code == 0);
    CHECK(network("streaming", {"--activation", "smelu"}).code == 0);
    std::size_t next = 0;
    for (const char* solver : {"retrain", "finetune", "neggrad", "scalegun", "streaming", "newton-step", "jackknife"}) {
      const std::string node = "node " + std::to_string(100 + ++next) + "\n";
      const Result streamed = world.stream(world.edges(5 * next, 5) + node, {"--solver", solver, "--batch", "3"});
      CAPTURE(streamed.error);
      REQUIRE(streamed.code == 0);
      REQUIRE(streamed.lines().size() == 2);
      for (const Json& line : streamed.lines()) {
        CHECK(line["certified"] == false);
        CHECK(line["claim"].is_null());
        CHECK(line["budget"].is_null());
        CHECK(line["accuracy_test"].is_number());
      }
    }
    const Result evaluated = run({"evaluate", world.store, "--json"});
    CAPTURE(evaluated.error);
    std::vector<std::string> seen;
    for (const Json& line : evaluated.lines()) seen.push_back(line["solver"]);
    CHECK(seen == std::vector<std::string>{"retrain", "scalegun", "newton-step", "jackknife", "streaming",
                                           "streaming, no-op", "streaming, newton-step", "streaming, retrained",
                                           "finetune", "neggrad"});
    for (std::size_t i = 0; i < seen.size(); ++i)
      CHECK(evaluated.lines()[i].contains("seconds") == seen[i].starts_with("streaming, "));
    CHECK(run({"verify", world.store}).code == 0);

    CHECK(run({"train", world.store, "--solver", "streaming", "--json"}).code == 0);
    const auto beside = run({"evaluate", world.store, "--solver", "streaming", "--retrain", "--json"}).lines();
    REQUIRE(beside.size() == 4);
    const std::string one = world.file(world.edges(50, 1));
    const std::string told = run({"stream", world.store, "--requests", one, "--solver", "streaming"}).out;
    CHECK(told.find(", certified no") != std::string::npos);
    CHECK(told.find("residual bound") == std::string::npos);
    CHECK(beside[2]["solver"] == "streaming, newton-step");
    CHECK(beside[3]["solver"] == "streaming, retrained");
    CHECK(beside[3]["retrained_distance"].is_number());

    const Result refused = network("newton", {});
    CHECK(refused.code == 1);
    CHECK(refused.error.find("newton trains linear models alone; --head mlp is for replay, retrain, ") !=
          std::string::npos);
    CHECK(run({"train", world.store, "--solver", "newton", "--head", "softmax", "--hidden", "4"}).code == 1);

    // An exact network needs no word for its head, and is certified by every line.
    const Result exact =
        run({"train", world.store, "--solver", "replay", "--hidden", "5,4", "--set", "steps=20", "--json"});
    CAPTURE(exact.error);
    REQUIRE(exact.code == 0);
    CHECK(exact.lines()[0]["claim"] == "T0'");
    const Result replayed = world.stream(world.edges(60, 4), {"--solver", "replay", "--batch", "2"});
    REQUIRE(replayed.lines().size() == 2);
    for (const Json& line : replayed.lines()) CHECK(line["certified"] == true);
    CHECK(run({"verify", world.store}).code == 0);
    CHECK(run({"train", world.store, "--solver", "replay", "--head", "softmax"}).code == 1);
    CHECK(run({"train", world.store, "--solver", "replay", "--activation", "tanh"}).code == 1);
    CHECK(network("retrain", {"--hidden", "4,0"}).code == 1);
    CHECK(network("retrain", {"--activation", "step"}).code == 1);
    CHECK(run({"train", world.store, "--solver", "retrain", "--set", "epochs=3"}).code == 1);
    CHECK(run({"train", world.store, "--solver", "newton", "--lambda", "1", "--lambda", "1"}).code == 1);
  }

  TEST_CASE("stream with a solver prints the model's fields for every batch; without it none") {
    const World world;
    REQUIRE(world.train("newton").code == 0);
    const Result with = world.stream(world.edges(0, 5) + "node 3\nnode 3\n", {"--solver", "newton", "--batch", "3"});
    CAPTURE(with.error);
    REQUIRE(with.code == 0);
    const auto lines = with.lines();
    REQUIRE(lines.size() == 3);
    for (const Json& line : lines) {
      for (const std::string& field : kModelFields) CHECK_MESSAGE(line.contains(field), field);
      CHECK(line["certified"] == true);
      CHECK(line["claim"] == "T1");
      CHECK(line["retrained"] == false);
      CHECK(line["residual_bound"].get<double>() <= line["budget"].get<double>());
      CHECK(line["accuracy_train"].is_number());
    }
    CHECK(lines[2]["last_request"] == 7);
    CHECK(lines[2]["rejected"] == 1);
    const Result without = world.stream(world.edges(10, 2), {});
    REQUIRE(without.code == 0);
    for (const std::string& field : kModelFields) CHECK_FALSE(without.lines()[0].contains(field));
    // A solver reads the last level after every batch; else it waits for the end of the stream.
    CHECK(lines[0]["plan"].size() == without.lines()[0]["plan"].size());
    CHECK(lines[0]["plan"].back() != "defer");
    CHECK(without.lines()[0]["plan"].back() == "defer");
    CHECK(without.error.find("note: the last level brought up to date") != std::string::npos);
    CHECK(world.stream(world.edges(12, 2), {"--quiet"}).error.empty());
    CHECK(run({"verify", world.store, "--rebuild"}).code == 0);
  }

  TEST_CASE("whatever the plan, a stream leaves the same store and says how it went") {
    std::set<std::string> digests;
    for (const std::string plan : {"auto", "push", "recompute"}) {
      const World world;
      const Result result = world.stream(world.edges(0, 40), {"--batch", "8", "--plan", plan});
      CAPTURE(result.error);
      REQUIRE(result.code == 0);
      for (const Json& line : result.lines()) {
        CHECK(line["plan"].size() == 2);
        if (plan != "auto") CHECK(line["plan"][0] == plan);
        CHECK(line["plan"][1] == "defer");
        CHECK(line["seconds_predicted"].get<double>() > 0);
        CHECK(line["seconds"].get<double>() >= line["seconds_propagate"].get<double>());
      }
      if (plan != "auto") CHECK(result.error.find("the last level brought up to date by " + plan) != std::string::npos);
      CHECK(result.error.find(" s predicted") != std::string::npos);
      digests.insert(run({"info", world.store, "--json"}).json()["digest"].get<std::string>());
    }
    CHECK(digests.size() == 1);
    const World world;
    CHECK(world.stream("", {"--plan", "sweep"}).code == 1);
    CHECK(world.stream("", {"--plan", "recompute", "--r-max", "0.1"}).code == 1);
    CHECK(world.stream("", {"--plan", "push", "--r-max", "0.1"}).code == 0);
  }

  TEST_CASE("lazy_error_bound is 0 in exact streams and after a flush, and the same in stream and info") {
    const World world;
    const auto told_by_info = [&] {
      return run({"info", world.store, "--json"}).lines().at(0).at("lazy_error_bound").get<double>();
    };
    CHECK(told_by_info() == 0);
    const Result lazy = world.stream(world.edges(0, 6), {"--r-max", "0.05"});
    REQUIRE(lazy.code == 0);
    const double bound = lazy.lines().back().at("lazy_error_bound").get<double>();
    CHECK(bound > 0);
    CHECK(bound < 10);  // 120 rows of norm 1 at most
    CHECK(told_by_info() == bound);
    const Result exact = world.stream(world.edges(10, 1), {});
    REQUIRE(exact.code == 0);
    CHECK(exact.lines().back().at("lazy_error_bound") == 0);
    CHECK(told_by_info() == 0);
  }

  TEST_CASE("an untrained solver is wrong usage and applies nothing") {
    const World world;
    const Result result = world.stream(world.edges(0, 2), {"--solver", "newton"});
    CHECK(result.code == 1);
    CHECK(result.error.find("unweave train") != std::string::npos);
    CHECK(run({"info", world.store, "--json"}).lines()[0]["acknowledged"] == 0);
    CHECK(world.stream(world.edges(0, 2), {"--solver", "nonsense"}).code == 1);
    CHECK(run({"evaluate", world.store}).code == 1);
    CHECK(run({"evaluate", world.store, "--solver", "newton"}).code == 1);
  }

  TEST_CASE("models that a stream leaves out become outdated, and are brought to the present first") {
    const World world;
    for (const char* solver : {"newton", "scalegun"}) REQUIRE(world.train(solver).code == 0);
    REQUIRE(world.stream(world.edges(0, 3), {"--solver", "newton"}).code == 0);
    auto models = run({"evaluate", world.store, "--json"}).lines();
    REQUIRE(models.size() == 2);
    CHECK(models[0]["solver"] == "newton");
    CHECK(models[0]["outdated"] == false);
    CHECK(models[0]["sequence"] == 3);
    CHECK(models[1]["outdated"] == true);
    CHECK(models[1]["sequence"] == 0);
    const auto lines = world.stream(world.edges(5, 2), {"--solver", "scalegun", "--batch", "1"}).lines();
    REQUIRE(lines.size() == 2);
    CHECK(lines[0]["retrained"] == true);
    CHECK(lines[0]["certified"] == false);
    models = run({"evaluate", world.store, "--json", "--retrain"}).lines();
    CHECK(models[0]["outdated"] == true);
    CHECK(models[1]["outdated"] == false);
    CHECK(models[1]["sequence"] == 5);
    CHECK(models[0]["retrained_distance"].get<double>() > 0);
    CHECK(models[0]["retrained_cosine"].get<double>() <= 1);
    // Nothing to remove: still brought to the present.
    REQUIRE(world.stream("", {"--solver", "newton"}).code == 0);
    models = run({"evaluate", world.store, "--json"}).lines();
    CHECK(models[0]["outdated"] == false);
    const Json info = run({"info", world.store, "--json"}).lines()[0];
    CHECK(info["models"].size() == 2);
    CHECK(info["models"][1]["outdated"] == false);
  }

  TEST_CASE("--public prints these fields and no other, whatever the solver, and as little for people") {
    const std::set<std::string> allowed{"batch", "requests",  "last_request",   "budget",         "certified",
                                        "claim", "for_tests", "accuracy_train", "accuracy_valid", "accuracy_test"};
    const World world;
    std::size_t first = 0;
    for (const std::string_view solver : solver_names()) {
      const std::string name(solver);
      REQUIRE(world.train(name).code == 0);
      const Json line = world.stream(world.edges(first++, 1), {"--solver", name, "--public"}).lines().at(0);
      for (const auto& item : line.items()) CHECK_MESSAGE(allowed.contains(item.key()), name, " ", item.key());
      // Whether these three end within their bound is a noiseless function of the removed data.
      const bool secret = name == "newton-step" || name == "jackknife" || name == "hessian-free";
      CHECK(line.size() == allowed.size() - (secret ? 2 : 0));
      CHECK(line.contains("certified") != secret);
      const Result text =
          run({"stream", world.store, "--requests", world.file(world.edges(first++, 1)), "--solver", name, "--public"});
      CHECK(text.code == 0);
      CHECK(text.error.empty());
      CHECK((text.out.find("certified") == std::string::npos) == secret);
      for (const char* word : {"residual", "retrain", "applied", "rejected", "rows", "arcs", " ms", " s,"})
        CHECK_MESSAGE(text.out.find(word) == std::string::npos, name, " ", word);
    }
  }

  TEST_CASE("--evaluate-every leaves the accuracies of other batches null") {
    const World world;
    REQUIRE(world.train("newton").code == 0);
    const auto some = world.stream(world.edges(0, 4), {"--solver", "newton", "--batch", "1", "--evaluate-every", "2"});
    REQUIRE(some.lines().size() == 4);
    for (std::size_t i = 0; i < 4; ++i) CHECK(some.lines()[i]["accuracy_test"].is_null() == (i % 2 == 0));
    const auto none = world.stream(world.edges(4, 1), {"--solver", "newton", "--evaluate-every", "0"});
    CHECK(none.lines()[0]["accuracy_train"].is_null());
  }

  TEST_CASE("--strict rejects the batch, and the model keeps what came before") {
    const World world;
    REQUIRE(world.train("newton").code == 0);
    const Result result = world.stream(world.edges(0, 2) + world.edges(5, 1) + "edge 1 1\n",
                                       {"--solver", "newton", "--batch", "2", "--strict"});
    CHECK((result.code == 2 && result.error.find(": line 4: edge 1 1: self-loop; --strict") != std::string::npos));
    CHECK(result.lines().size() == 1);
    const Json model = run({"evaluate", world.store, "--json"}).lines()[0];
    CHECK(model["sequence"] == 2);
    CHECK(model["outdated"] == false);
  }

  TEST_CASE("a malformed line ends the stream: with --strict its batch is rejected, else what came before is applied") {
    const World world;
    const Result strict = world.stream(world.edges(0, 3) + "remove 1 2\n", {"--batch", "2", "--strict"});
    CHECK(strict.code == 2);
    CHECK(strict.lines().size() == 1);
    CHECK(run({"info", world.store, "--json"}).lines()[0]["acknowledged"] == 2);
    const Result loose = world.stream(world.edges(2, 1) + "node -1\n", {"--batch", "2"});
    CHECK(loose.code == 2);
    CHECK(loose.lines().size() == 1);
    CHECK(run({"info", world.store, "--json"}).lines()[0]["acknowledged"] == 3);
  }

  TEST_CASE("an error that comes after a batch was acknowledged says that it was") {
    const TempDir dir;
    const std::string store = (dir / "s").string(), requests = (dir / "requests").string();
    testing::write_store(store, testing::random_store(5000, 20'000, 8, 9));
    testing::propagate_store(store, testing::tiny_spec(2, false));
    for (const auto& file : std::filesystem::directory_iterator(dir / "s" / "state"))
      if (file.path().filename().string().starts_with("level1-0") && file.path().extension() == ".sums")
        testing::flip_middle(file.path());
    REQUIRE(run({"export", store, "--requests", requests, "--draw", "edge", "--count", "400"}).code == 0);
    const Result result = run({"stream", store, "--requests", requests, "--batch", "200", "--plan", "push"});
    CHECK(result.code == 2);
    CAPTURE(result.error);
    REQUIRE(run({"repair", store}).code == 0);
    CHECK(run({"info", store, "--json"}).lines().at(0)["acknowledged"] == 200);
    CHECK(result.error.find("level1") != std::string::npos);
    CHECK(result.error.find("requests 1 to 200 of") != std::string::npos);
    CHECK(result.error.find("line 201") != std::string::npos);
  }

  TEST_CASE("a batch that cannot be acknowledged is the last one") {
    const World world;
    std::ostringstream out, error;
    out.setstate(std::ios::badbit);
    const std::vector<std::string> words = {"stream",  world.store, "--requests", world.file(world.edges(0, 3)),
                                            "--batch", "1",         "--json"};
    CHECK(run_program(all_commands(), words, {out, error, false}) == 3);
    CHECK(error.str().find("batch 1") != std::string::npos);
    CHECK(run({"info", world.store, "--json"}).lines()[0]["acknowledged"] == 1);
  }

  TEST_CASE("requests are adaptive unless declared otherwise, whether they come from a pipe or a file") {
    const World world;
    REQUIRE(world.train("newton").code == 0);
    const auto pipe = [&](const std::string& text, const std::string& more) {
      const std::string command = "cat " + world.file(text) + " | " + UNWEAVE_BINARY + " stream " + world.store +
                                  " --requests - --solver newton --json " + more + " > " + (world.dir / "out").string();
      return std::system(command.c_str());
    };
    const auto last_kind = [&] {
      std::ifstream in(world.store + "/certificates/newton.jsonl");
      Json last;
      for (std::string line; std::getline(in, line);) last = Json::parse(line);
      return last["requests"].get<std::string>();
    };
    CHECK(pipe(world.edges(0, 1), "") == 0);
    CHECK(last_kind() == "adaptive");
    std::ifstream in(world.dir / "out");
    std::string line;
    REQUIRE(std::getline(in, line));
    CHECK(Json::parse(line)["applied"] == 1);
    CHECK(pipe(world.edges(1, 1), "--non-adaptive") == 0);
    CHECK(last_kind() == "non-adaptive");
    CHECK(world.stream(world.edges(2, 1), {"--solver", "newton"}).code == 0);
    CHECK(last_kind() == "adaptive");
    CHECK(world.stream(world.edges(3, 1), {"--solver", "newton", "--non-adaptive"}).code == 0);
    CHECK(last_kind() == "non-adaptive");
  }

  TEST_CASE("langevin certifies all requests, those that are declared independent by fewer epochs") {
    const World world;
    REQUIRE(world.train("langevin").code == 0);
    const Json line =
        world.stream(world.edges(0, 2), {"--solver", "langevin", "--batch", "1", "--non-adaptive"}).lines()[1];
    CHECK(line["certified"] == true);
    CHECK(line["claim"] == "T2");
    CHECK(line["retrained"] == false);
    CHECK(line["budget"] == 1.0);
    CHECK(line["residual_bound"].get<double>() <= 1);
    CHECK(line["passes"] == line["terms"]["epochs"]);
    const std::string command = "cat " + world.file(world.edges(2, 1)) + " | " + UNWEAVE_BINARY + " stream " +
                                world.store + " --requests - --solver langevin --json";
    CHECK(std::system((command + " > /dev/null").c_str()) == 0);
    const Json later = world.stream(world.edges(3, 1), {"--solver", "langevin"}).lines()[0];
    CHECK(later["certified"] == true);
    CHECK(later["claim"] == "T2");
    CHECK(later["passes"] > line["passes"]);
    const Json trained = world.train("langevin").lines()[0];
    CHECK(trained["certified"] == true);
    CHECK(trained["residual_bound"] == 0.0);

    const Result help = run({"train", "--help"});
    CHECK(help.out.find("langevin-full") != std::string::npos);
    const Result small = run({"train", world.store, "--solver", "langevin", "--lambda", "1e-12"});
    CHECK(small.code == 1);
    CHECK(small.error.find("could not tell it from rounding") != std::string::npos);
    const Result table = run({"train", world.store, "--solver", "langevin-full"});
    for (const char* row : {"epochs", "step-size", "radius", "sigma", "order-key"})
      CHECK_MESSAGE(table.out.find(row) != std::string::npos, row);
  }

  TEST_CASE("hessian-free prints its parameters and which way its statistics were made") {
    const World world;
    const Result table = run({"train", world.store, "--solver", "hessian-free"});
    for (const char* row : {"epochs", "batch-rows", "step-size", "decay", "group-rows", "own-hessian", "backward",
                            "bits", "s-max", "retrain"})
      CHECK_MESSAGE(table.out.find("\n" + std::string(row)) != std::string::npos, row);
    const auto backward_of = [&](const char* value) -> double {
      const Result result =
          run({"train", world.store, "--solver", "hessian-free", "--set", std::string("backward=") + value, "--json"});
      return result.lines()[0]["terms"]["backward"];
    };
    CHECK(backward_of("1") == 1);
    CHECK(backward_of("0") == 0);
    CHECK(run({"train", world.store, "--solver", "hessian-free", "--set", "s-max=0"}).code == 1);
    CHECK(run({"train", world.store, "--solver", "newton", "--set", "s-max=1"}).code == 1);
  }

  TEST_CASE("nothing is certified on standardised features") {
    const World world(false);
    Manifest manifest = read_manifest(world.store);
    manifest.standardized = true;
    write_manifest(world.store, manifest);
    testing::propagate_store(world.store, testing::tiny_spec(2, false));
    const Json trained = world.train("newton").lines()[0];
    CHECK(trained["certified"] == false);
    CHECK(trained["claim"].is_null());
    const Json line = world.stream(world.edges(0, 1), {"--solver", "newton"}).lines()[0];
    CHECK(line["certified"] == false);
    CHECK(line["claim"].is_null());
  }
}

}  // namespace unweave
