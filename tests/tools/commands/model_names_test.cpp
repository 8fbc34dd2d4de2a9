// tests/tools/commands/model_names_test.cpp - several models of one solver in a store: trained,
// followed, checked and purged by name.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::read_all;
using testing::Result;
using testing::run;
using testing::write_file;
using Json = nlohmann::json;

struct NamedStore {
  testing::TempDir dir;
  std::string store = (dir / "s").string(), requests = (dir / "requests").string();

  NamedStore() {
    testing::write_store(store, testing::random_store(120, 400, 5, 9));
    testing::propagate_store(store, testing::tiny_spec(2, false));
    write_file(requests, "node 3\nnode 4\n");
  }
  [[nodiscard]] fs::path file(const std::string& name) const { return fs::path(store) / name; }
  [[nodiscard]] std::map<std::string, Json> models() const {
    std::map<std::string, Json> found;
    const Json info = run({"info", store, "--json"}).json();
    for (const Json& model : info.at("models")) found[model.at("name")] = model;
    return found;
  }
};

TEST_SUITE("unit") {
  TEST_CASE("requests: the command that it names lets a model forget what it has missed") {
    const NamedStore world;
    const std::string& store = world.store;
    for (const char* const name : {"newton", "tuned"})
      REQUIRE(run({"train", store, "--solver", "newton", "--name", name}).code == 0);
    write_file(world.requests, "node 3 id=T7\n");
    REQUIRE(run({"stream", store, "--requests", world.requests}).code == 0);
    for (const char* const name : {"newton", "tuned"}) {
      const std::string words = "the model " + std::string(name) + " has yet to forget it (`unweave stream " + store +
                                " --requests /dev/null --name " + name + "`)";
      CHECK(run({"requests", store}).out.find(words) != std::string::npos);
      REQUIRE(run({"stream", store, "--requests", "/dev/null", "--name", name}).code == 0);
      CHECK(run({"requests", store}).out.find(words) == std::string::npos);
    }
  }

  TEST_CASE("models of one solver live side by side under names of their own") {
    const NamedStore world;
    const std::string& store = world.store;
    REQUIRE(run({"train", store, "--solver", "newton"}).code == 0);
    const Result trained = run({"train", store, "--solver", "newton", "--name", "tuned", "--lambda", "1e-4", "--json"});
    REQUIRE(trained.code == 0);
    CHECK(trained.json()["name"] == "tuned");
    CHECK(trained.json()["solver"] == "newton");
    REQUIRE(run({"train", store, "--name", "other_1", "--solver", "retrain"}).code == 0);
    for (const char* name : {"models/newton.model", "models/tuned.model", "models/other_1.model",
                             "certificates/tuned.jsonl", "certificates/tuned.private.jsonl"})
      CHECK(fs::exists(world.file(name)));
    const Json tuned = Json::parse(read_all(world.file("certificates/tuned.jsonl")));
    CHECK(tuned["name"] == "tuned");
    CHECK(tuned["solver"] == "newton");
    CHECK(tuned["id"].get<std::string>().starts_with("tuned-1-"));
    CHECK_FALSE(Json::parse(read_all(world.file("certificates/newton.jsonl"))).contains("name"));

    // One is followed; the others fall behind.
    REQUIRE(run({"stream", store, "--requests", world.requests, "--name", "tuned"}).code == 0);
    auto models = world.models();
    REQUIRE(models.size() == 3);
    CHECK(models["tuned"]["outdated"] == false);
    CHECK(models["newton"]["outdated"] == true);
    CHECK(models["other_1"]["outdated"] == true);
    CHECK(models["other_1"]["solver"] == "retrain");
    write_file(world.requests, "node 5\n");
    REQUIRE(run({"stream", store, "--requests", world.requests, "--solver", "newton"}).code == 0);
    CHECK(world.models()["newton"]["outdated"] == false);
    REQUIRE(run({"stream", store, "--requests", world.requests, "--solver", "retrain", "--name", "other_1"}).code == 0);
    CHECK(world.models()["other_1"]["outdated"] == false);

    const Result verified = run({"verify", store, "--json"});
    CHECK(verified.code == 0);
    CHECK(verified.json()["certificates"] == 8);  // with those of catching up
    CHECK(run({"verify", store + "/certificates/tuned.jsonl", "--json"}).json()["certificates"] == 2);
    CHECK(run({"evaluate", store, "--json"}).lines().size() == 3);
    CHECK(run({"evaluate", store, "--json", "--name", "tuned"}).json()["name"] == "tuned");
    CHECK(run({"predict", store, "--name", "tuned"}).code == 0);
    const Result several = run({"predict", store});
    CHECK(several.code == 1);
    CHECK(several.error.find("newton, other_1 (retrain), tuned (newton)") != std::string::npos);
    const fs::path weights = world.dir / "w.npy";
    REQUIRE(run({"export", store, "--model", weights.string(), "--name", "tuned"}).code == 0);
    const std::string line = read_all(world.dir / "w.jsonl");
    CHECK(read_all(world.file("certificates/tuned.jsonl")).ends_with(line.substr(0, line.find('\n') + 1)));
    CHECK(run({"repair", store}).out == "nothing is damaged\n");

    REQUIRE(run({"purge", store}).code == 0);
    CHECK(world.models().empty());
    CHECK(fs::exists(world.file("certificates/tuned.jsonl")));
    CHECK_FALSE(fs::exists(world.file("certificates/tuned.private.jsonl")));
    REQUIRE(run({"train", store, "--solver", "newton", "--name", "tuned"}).code == 0);  // its log goes on
    CHECK(run({"verify", store + "/certificates/tuned.jsonl", "--json"}).json()["certificates"] == 3);
  }

  TEST_CASE("a name that cannot be one, and a model of another solver, are wrong usage") {
    const NamedStore world;
    const std::string& store = world.store;
    for (const char* name : {"", "a/b", "..", "a.b", "-a", "a b", "retrain"}) {
      CAPTURE(name);
      const Result refused = run({"train", store, "--solver", "newton", "--name", name});
      CHECK(refused.code == 1);
      CHECK(refused.error.find("name") != std::string::npos);
    }
    CHECK(run({"train", store, "--solver", "newton", "--name", std::string(65, 'a')}).code == 1);
    CHECK_FALSE(fs::exists(world.file("models")));
    REQUIRE(run({"train", store, "--solver", "newton", "--name", std::string(64, 'a')}).code == 0);
    REQUIRE(run({"train", store, "--solver", "newton", "--name", "mine"}).code == 0);
    const Result changed = run({"train", store, "--name", "mine", "--solver", "retrain"});
    CHECK(changed.code == 1);
    CHECK(changed.error.find("mine.jsonl: these are certificates of \"newton\"") != std::string::npos);
    for (const char* command : {"stream", "evaluate", "audit"}) {
      CAPTURE(command);
      std::vector<std::string> words{command, store, "--solver", "retrain", "--name", "mine"};
      if (words[0] == "stream") words.insert(words.end(), {"--requests", world.requests});
      const Result other = run(words);
      CHECK(other.code == 1);
      CHECK(other.error.find("the model mine is one of newton, not of retrain") != std::string::npos);
    }
    const Result missing = run({"evaluate", store, "--name", "nobody"});
    CHECK(missing.code == 1);
    CHECK(missing.error.find("nobody is not trained yet; run `unweave train " + store + " --name nobody`") !=
          std::string::npos);
  }

  TEST_CASE("what another propagation needs is training, for verify as for stream") {
    const NamedStore world;
    const std::string& store = world.store;
    REQUIRE(run({"train", store, "--solver", "newton", "--name", "mine"}).code == 0);
    REQUIRE(run({"stream", store, "--requests", world.requests}).code == 0);
    const Result behind = run({"verify", store});
    CHECK(behind.out.find("mine: outdated: has absorbed 0 of 2 requests; `unweave stream " + store +
                          " --requests /dev/null --name mine` brings it up to date") != std::string::npos);
    CHECK(behind.out.find("all checks hold; outdated models were not checked") != std::string::npos);
    CHECK(run({"verify", store, "--json"}).json()["models_outdated"] == 1);
    const Result raised = run({"stream", store, "--requests", "/dev/null", "--name", "mine"});
    CHECK(raised.code == 0);
    CHECK(raised.error.find("/dev/null holds no requests; the model is brought up to date with those before") !=
          std::string::npos);
    CHECK(run({"verify", store}).out.find("outdated") == std::string::npos);
    CHECK(run({"info", store}).out.find("up to date") != std::string::npos);
    REQUIRE(run({"propagate", store, "--hops", "3"}).code == 0);
    const std::string needs = "run `unweave train " + store + " --solver newton --name mine` again";
    const Result verified = run({"verify", store});
    CHECK(verified.code == 0);
    CHECK(verified.out.find(needs) != std::string::npos);
    CHECK(verified.out.find("brings it up") == std::string::npos);
    CHECK(run({"info", store}).out.find("stands on another propagation") != std::string::npos);
    CHECK(run({"stream", store, "--requests", world.requests, "--name", "mine"}).error.find(needs) !=
          std::string::npos);
  }
}

}  // namespace
}  // namespace unweave
