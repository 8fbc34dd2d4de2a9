// tests/algorithms/live/absorbed_requests_test.cpp - what the store itself reads of models is what
// whoever reads them whole finds.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "algorithms/live/model_text.h"
#include "algorithms/models/model_record.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::TrainedStore;
using testing::write_file;

std::map<std::string, std::uint64_t> absorbed(const fs::path& store) {
  std::map<std::string, std::uint64_t> found;
  for (const AbsorbedRequest& one : absorbed_requests(store)) found[one.model] = one.sequence;
  return found;
}

/// Reads every model whole.
std::map<std::string, std::uint64_t> absorbed_by_records(const fs::path& store) {
  std::map<std::string, std::uint64_t> found;
  for (const ModelSummary& model : list_models(store))
    if (model.damage.empty()) found[model.name] = model.sequence;
  return found;
}

TEST_SUITE("unit") {
  TEST_CASE("what models have absorbed is what their records say, also beside a release file") {
    const TrainedStore world;
    CHECK(absorbed_requests(world.store).empty());
    CHECK(furthest_absorbed(world.store).sequence == 0);
    world.train("exact");  // its history lies in the release file
    world.train("newton");
    world.stream({{RequestKind::remove_node, 7, 0}}, {"exact", "newton"});
    world.stream({{RequestKind::remove_node, 9, 0}, {RequestKind::remove_node, 11, 0}}, {"exact"});
    CHECK(absorbed(world.store) == std::map<std::string, std::uint64_t>{{"exact", 3}, {"newton", 1}});
    CHECK(absorbed(world.store) == absorbed_by_records(world.store));
    CHECK(furthest_absorbed(world.store).model == "exact");

    fs::remove(release_file(world.store, "exact"));
    CHECK(absorbed(world.store) == std::map<std::string, std::uint64_t>{{"exact", 0}, {"newton", 1}});
    CHECK(absorbed(world.store) == absorbed_by_records(world.store));
  }

  TEST_CASE("what is no model that can be read has absorbed nothing") {
    const TrainedStore world;
    world.train("exact");
    world.train("newton");
    world.stream({{RequestKind::remove_node, 7, 0}}, {"exact", "newton"});
    const auto before = absorbed(world.store);
    fs::copy_file(world.model("newton"), world.model("other"));  // a copy is no other model
    fs::create_directory(world.store / "models" / "no name.model");
    CHECK(absorbed(world.store) == before);

    const std::string whole = testing::read_all(world.model("newton"));
    write_file(world.model("newton"), whole.substr(0, whole.size() / 2));
    CHECK(absorbed(world.store) == std::map<std::string, std::uint64_t>{{"exact", 1}});
    write_file(release_file(world.store, "exact"), "nothing");
    CHECK(absorbed(world.store).empty());
    CHECK(absorbed(world.store) == absorbed_by_records(world.store));
  }
}

}  // namespace
}  // namespace unweave
