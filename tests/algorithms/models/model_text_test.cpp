// tests/algorithms/models/model_text_test.cpp - what the file of a model holds, and which forms of
// its text are read.
#include <doctest/doctest.h>

#include <string>

#include "algorithms/models/model_record.h"
#include "storage/formats/model_file.h"
#include "storage/io/error.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

using testing::Json;
using testing::TrainedStore;

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the file of a canonical model holds nothing of its history, which a crash between the two files keeps") {
    const TrainedStore world(5);
    world.train("exact");
    const ModelRecord first = load_model(world.store, "exact");
    const std::string bytes = testing::read_all(world.model("exact"));
    const Json text = Json::parse(read_model_file(world.model("exact")).text);
    for (const char* name : {"sequence", "releases", "certificate", "private_part", "release_key", "receipt_secret",
                             "requests", "receipts_file"})
      CHECK_FALSE(text.contains(name));
    CHECK_FALSE(text.at("options").contains("lambda_chosen"));
    world.train("exact");
    CHECK(testing::read_all(world.model("exact")) == bytes);
    CHECK(load_model(world.store, "exact").release_key != first.release_key);

    // The release file is written first: with the old model there it speaks of that.
    const ModelRecord before = load_model(world.store, "exact");
    world.stream({world.edge_of_training_node()}, {"exact"});
    const ModelRecord after = load_model(world.store, "exact");
    CHECK(after.model.releases == 2);
    CHECK(after.model.published != before.model.published);
    testing::write_file(world.model("exact"), bytes);
    const ModelRecord left = load_model(world.store, "exact");
    CHECK(left.certificate == before.certificate);
    CHECK(left.private_part == before.private_part);
    CHECK(left.release_key == before.release_key);
    CHECK(left.model.sequence == 0);
    CHECK(left.model.releases == 1);
    // That the log goes on after it is what is left of a later model.
    CHECK(fit_of_log(world.store, left) == LogFit::ahead);
    const auto drop_last = [](const std::filesystem::path& log, const std::string& last) {
      const std::string lines = testing::read_all(log);
      testing::write_file(log, lines.substr(0, lines.size() - last.size() - 1));
    };
    drop_last(world.log("exact"), after.certificate);
    drop_last(private_log(world.store, "exact"), after.private_part);
    world.catch_up("exact");
    CHECK(load_model(world.store, "exact").model.published == after.model.published);
    CHECK(load_model(world.store, "exact").model.releases == 2);
    CHECK(testing::text_of(world.verify()) == "");

    // One file of another history beside it is that of no model.
    world.train("exact");
    ModelFile other = read_model_file(world.model("exact"));
    other.arrays[0][0] += 1;
    write_model_file(world.model("exact"), other);
    CHECK_THROWS_AS(static_cast<void>(load_model(world.store, "exact")), RecordError);
    Manifest forgotten = read_manifest(world.store);
    forgotten.releases.clear();
    write_manifest(world.store, forgotten);
    CHECK(load_model(world.store, "exact").certificate.empty());

    ModelFile damaged = read_model_file(release_file(world.store, "exact"));
    damaged.text = "{}";
    write_model_file(release_file(world.store, "exact"), damaged);
    CHECK_THROWS_AS(static_cast<void>(load_model(world.store, "exact")), FormatError);
  }

  TEST_CASE("an `exact` model whose file has its history, as earlier programs wrote it, goes on without it") {
    const TrainedStore world(5);
    world.train("exact");
    const ModelRecord now = load_model(world.store, "exact");
    ModelFile file = read_model_file(world.model("exact"));
    Json json = Json::parse(file.text), history = Json::parse(read_model_file(release_file(world.store, "exact")).text);
    json["text"] = 2;
    json["options"]["lambda_chosen"] = history.at("lambda_chosen");
    for (const char* name :
         {"sequence", "releases", "certificate", "private_part", "release_key", "receipt_secret", "requests"})
      json[name] = history.at(name);
    file.text = json.dump();
    write_model_file(world.model("exact"), file);
    std::filesystem::remove(release_file(world.store, "exact"));
    CHECK(load_model(world.store, "exact").certificate == now.certificate);
    CHECK(testing::text_of(world.verify()) == "");
    world.stream({world.edge_of_training_node()}, {"exact"});
    CHECK(Json::parse(read_model_file(world.model("exact")).text).at("text") == 3);
    CHECK(testing::text_of(world.verify()) == "");
  }

  TEST_CASE("a text of a later form is refused") {
    const TrainedStore world(5);
    world.train("newton");
    ModelFile file = read_model_file(world.model("newton"));
    Json json = Json::parse(file.text);
    json["text"] = 4;
    file.text = json.dump();
    write_model_file(world.model("newton"), file);
    CHECK_THROWS_WITH_AS(static_cast<void>(load_model(world.store, "newton")),
                         doctest::Contains("of a form that this program does not know"), FormatError);
  }
}

}  // namespace unweave
