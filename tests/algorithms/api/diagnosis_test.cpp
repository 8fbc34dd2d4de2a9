// tests/algorithms/api/diagnosis_test.cpp - what would hinder work, as a program that calls the
// library is told.
#include "unweave/diagnosis.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "storage/io/error.h"
#include "storage/io/private_file.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

const Diagnosis& diagnosis_named(const std::vector<Diagnosis>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Diagnosis& one) { return one.name == name; });
  REQUIRE_MESSAGE(found != all.end(), name);
  return *found;
}

TEST_SUITE("unit") {
  TEST_CASE("diagnoses name operations and options by their keys, and leave a folder as it was") {
    const testing::TempDir dir;
    Resources resources;
    const std::vector<Diagnosis> machine = diagnose_machine(dir.path(), resources);
    CHECK(diagnosis_named(machine, "random-numbers").verdict == Verdict::ok);
    CHECK(diagnosis_named(machine, "disk-rate").fact.starts_with("written "));
    CHECK(std::filesystem::is_empty(dir.path()));
    CHECK_THROWS_AS(static_cast<void>(diagnose_machine(dir / "none", resources)), DataError);

    const std::string store = (dir / "s").string();
    testing::write_store(store, testing::random_store(60, 200, 3, 7));
    const std::vector<Diagnosis> bare = diagnose_store(store, resources);
    CHECK(diagnosis_named(bare, "propagation").verdict == Verdict::note);
    CHECK(diagnosis_named(bare, "propagation").remedy.find(operation("propagate " + store)) != std::string::npos);
    CHECK(diagnosis_named(bare, "private-files").verdict == Verdict::ok);
    const std::vector<Diagnosis> nothing = diagnose_store(dir / "none", resources);
    CHECK(diagnosis_named(nothing, "store").of_data);
    CHECK(diagnosis_named(nothing, "store").verdict == Verdict::problem);
  }

  TEST_CASE("which files of a store are for their owner alone") {
    for (const char* const file :
         {"models/newton.model", "models/a/b.iterate", "journal/after-1.log", "graph/changes-1.x",
          "certificates/signing-key", "certificates/exact.release", "certificates/newton.private.jsonl"})
      CHECK_MESSAGE(is_private(file), file);
    for (const char* const file :
         {"manifest.json", "graph/shard-0", "certificates/newton.jsonl", "state/level1.sums", "", "lock"})
      CHECK_FALSE_MESSAGE(is_private(file), file);
  }
}

}  // namespace
}  // namespace unweave
