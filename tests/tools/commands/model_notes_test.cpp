// tests/tools/commands/model_notes_test.cpp - a command that takes models away or leaves them
// behind says so first; one that has nothing to do does nothing.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/generations/store_purge.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::folder_bytes;
using testing::Result;
using testing::run;
using testing::write_file;

bool says(const Result& result, const std::string& words) {
  return result.error.find(words) != std::string::npos;
}

struct NotedStore {
  testing::TempDir dir;
  std::string store = (dir / "s").string(), requests = (dir / "requests").string();

  NotedStore() {
    testing::write_store(store, testing::random_store(120, 400, 5, 9));
    write_file(requests, "node 3\n");
  }
};

TEST_SUITE("unit") {
  TEST_CASE("propagate names what it changes and the models that it leaves behind, and nothing where nothing changes") {
    const NotedStore world;
    const std::string& store = world.store;
    CHECK_FALSE(says(run({"propagate", store, "--hops", "3", "--scheme", "ppr:0.2"}), "replaces"));
    REQUIRE(run({"train", store, "--solver", "newton"}).code == 0);
    REQUIRE(run({"train", store, "--solver", "newton", "--name", "mine"}).code == 0);
    CHECK_FALSE(says(run({"propagate", store, "--hops", "3", "--scheme", "ppr:0.2"}), "replaces"));
    CHECK(run({"stream", store, "--requests", world.requests, "--solver", "newton"}).code == 0);

    const Result weights = run({"propagate", store, "--hops", "3"});  // rows of the same sums
    CHECK(says(weights, "note: replaces the propagation of " + store + ": scheme ppr:0.2 -> sgc"));
    CHECK_FALSE(says(weights, "trained again"));
    CHECK_FALSE(says(run({"propagate", store, "--hops", "3", "--scheme", "ppr:0.2", "--quiet"}), "note"));

    const Result reset = run({"propagate", store});
    CHECK(reset.code == 0);
    CHECK(says(reset, "note: replaces the propagation of " + store + ": hops 3 -> 2, scheme ppr:0.2 -> sgc\n"));
    CHECK(
        says(reset,
             "note: these models stand on the propagation that is replaced and must be trained again: newton, mine\n"));
    const Result again = run({"propagate", store, "--rho", "0.25"});  // they are behind already
    CHECK(says(again, ": rho 0.5 -> 0.25\n"));
    CHECK_FALSE(says(again, "trained again"));
  }

  TEST_CASE("train names the model that it replaces by another one, and the options that differ") {
    const NotedStore world;
    const std::string& store = world.store;
    testing::propagate_store(store, testing::tiny_spec(2, false));
    CHECK_FALSE(says(run({"train", store, "--solver", "newton", "--lambda", "0.5"}), "replaces"));
    CHECK_FALSE(says(run({"train", store, "--solver", "newton", "--lambda", "0.5"}), "replaces"));
    const Result other = run({"train", store, "--solver", "newton", "--head", "softmax", "--lambda", "0.25"});
    CHECK(other.code == 0);
    CHECK(says(
        other,
        "note: replaces the model newton: head logistic -> softmax, lambda 0.5 -> 0.25; another --name keeps both\n"));
    CHECK_FALSE(says(run({"train", store, "--solver", "newton", "--name", "mine", "--lambda", "0.5"}), "replaces"));
  }

  TEST_CASE("stream names the models that do not follow it, before it changes anything") {
    const NotedStore world;
    const std::string& store = world.store;
    testing::propagate_store(store, testing::tiny_spec(2, false));
    const std::vector<std::string> words{"stream", store, "--requests", world.requests};
    const auto with = [&](std::vector<std::string> more) {
      more.insert(more.begin(), words.begin(), words.end());
      return run(more);
    };
    const std::string note = "note: these models do not follow the stream, and go on knowing what it removes: ";
    CHECK_FALSE(says(with({}), "do not follow"));
    REQUIRE(run({"train", store, "--solver", "newton"}).code == 0);
    REQUIRE(run({"train", store, "--solver", "newton", "--name", "mine"}).code == 0);
    CHECK(says(with({}), note + "newton, mine; --solver or --name lets one follow"));
    CHECK(says(with({"--solver", "newton"}), note + "mine; "));
    for (const char* const option : {"--quiet", "--public"}) CHECK_FALSE(says(with({option}), "note"));
    std::filesystem::remove(store + "/models/newton.model");
    CHECK_FALSE(says(with({"--name", "mine"}), "do not follow"));
  }

  TEST_CASE("a model on another propagation is to be trained again, which a stream cannot replace") {
    const NotedStore world;
    const std::string& store = world.store;
    testing::propagate_store(store, testing::tiny_spec(2, false));
    REQUIRE(run({"train", store, "--solver", "newton"}).code == 0);
    REQUIRE(run({"stream", store, "--requests", world.requests}).code == 0);
    const std::vector<std::string> words{"export", store, "--model", (world.dir / "w.npy").string()};
    CHECK(says(run(words), "brings it up to date"));
    REQUIRE(run({"propagate", store, "--hops", "3"}).code == 0);
    const Result behind = run(words);
    CHECK(says(behind, "run `unweave train " + store + " --solver newton` again, or propagate the store as it was"));
    CHECK_FALSE(says(behind, "brings it up to date"));
  }

  TEST_CASE("purge with nothing to forget leaves every byte; else it names the models that it removes") {
    const NotedStore world;
    const std::string& store = world.store;
    testing::propagate_store(store, testing::tiny_spec(2, false));
    REQUIRE(run({"train", store, "--solver", "newton"}).code == 0);
    const auto before = folder_bytes(store);
    const Result nothing = run({"purge", store});
    CHECK(nothing.code == 0);
    CHECK(nothing.out.starts_with("nothing to forget: no request was made since the import or the last purge"));
    CHECK_FALSE(says(nothing, "note"));
    CHECK(folder_bytes(store) == before);
    CHECK(run({"purge", store, "--json"}).json() == nlohmann::json{{"purged", false},
                                                                   {"requests", 0},
                                                                   {"models_certified", nlohmann::json::array()},
                                                                   {"models_lost", nlohmann::json::array()},
                                                                   {"models_uncertified", nlohmann::json::array()}});

    // A request that could not be applied has left its text in the journal.
    write_file(world.requests, "edge 5 5\n");
    REQUIRE(run({"stream", store, "--requests", world.requests}).code == 0);
    const Result purged = run({"purge", store});
    CHECK(purged.code == 0);
    CHECK(says(purged, "note: removes these models, which have to be trained again: newton\n"));
    CHECK(purged.out.find("requests forgotten") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(store + "/models"));
    CHECK(run({"purge", store}).out.starts_with("nothing to forget"));

    REQUIRE(run({"train", store, "--solver", "newton"}).code == 0);
    begin_purge(store);  // and was interrupted
    const nlohmann::json report = run({"purge", store, "--json"}).json();
    CHECK(report["purged"] == true);
    REQUIRE(report["models_lost"].size() == 1);
    CHECK(report["models_lost"][0]["name"] == "newton");
    CHECK(report["models_lost"][0]["text"].get<std::string>().find("`unweave train ") != std::string::npos);
    REQUIRE(run({"train", store, "--solver", "newton"}).code == 0);
    CHECK(run({"purge", store, "--always", "--json"}).json()["purged"] == true);
    CHECK_FALSE(std::filesystem::exists(store + "/models"));
  }
}

}  // namespace
}  // namespace unweave
