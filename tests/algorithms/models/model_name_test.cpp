// tests/algorithms/models/model_name_test.cpp - the name of a model is no path: no file of a model
// is looked for outside its folder.
#include "algorithms/models/model_name.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "algorithms/live/model_text.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/model_record.h"
#include "storage/io/error.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

TEST_SUITE("unit") {
  TEST_CASE("what can be no name makes no path, whatever asks for it") {
    const testing::TempDir folder;
    const fs::path store = folder / "s";
    for (const std::string& name :
         {std::string(), std::string("."), std::string(".."), std::string("../x"), std::string("../../x"),
          std::string("/tmp/x"), std::string("a/b"), std::string("a\0b", 3), std::string("a.b"), std::string("-a"),
          std::string("\xC3\xA9"), std::string(65, 'a')}) {
      CAPTURE(name);
      CHECK_FALSE(is_model_name(name));
      CHECK_THROWS_AS(static_cast<void>(model_file(store, name)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(folder_of(store, name)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(release_file(store, name)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(public_log(store, name)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(private_log(store, name)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(file_of_model(store, "x", name, "")), UsageError);
    }
    CHECK(model_file(store, "a_B-9") == store / "models" / "a_B-9.model");
    CHECK(public_log(store, std::string(64, 'a')) == store / "certificates" / (std::string(64, 'a') + ".jsonl"));
  }

  TEST_CASE("a model outside the store is not read under a name that leads there") {
    const testing::TrainedStore world;
    world.train("newton", testing::unseeded());
    fs::copy_file(world.model("newton"), world.folder / "stray.model");
    for (const std::string& name : {std::string("../../stray"), (world.folder / "stray").string()}) {
      CAPTURE(name);
      CHECK_THROWS_WITH_AS(static_cast<void>(load_model(world.store, name)),
                           doctest::Contains("cannot be the name of a model"), UsageError);
    }
  }
}

}  // namespace
}  // namespace unweave
