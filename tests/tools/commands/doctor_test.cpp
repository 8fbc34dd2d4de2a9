// tests/tools/commands/doctor_test.cpp - `unweave doctor` as programs and people call it: what it
// finds of machines, folders and stores.
#include <doctest/doctest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/graph/store.h"
#include "engine/resources/machine.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::Result;
using testing::run;

/// The findings by their names; of several of one name the last.
std::map<std::string, nlohmann::json> findings_of(const Result& result) {
  std::map<std::string, nlohmann::json> findings;
  for (const nlohmann::json& line : result.lines()) findings[line["name"]] = line;
  return findings;
}

void check_problem(const std::string& store, const std::string& name, const std::string& remedy) {
  const Result result = run({"doctor", store, "--json"});
  CAPTURE(result.error);
  CHECK(result.code == 2);
  CHECK(result.error.find(remedy) != std::string::npos);
  const auto findings = findings_of(result);
  REQUIRE(findings.contains(name));
  CHECK(findings.at(name)["verdict"] == "problem");
  CHECK(std::string(findings.at(name)["remedy"]).find(remedy) != std::string::npos);
}

TEST_SUITE("unit") {
  TEST_CASE("doctor of a machine: every line has a verdict, notes and problems have a remedy") {
    const Result result = run({"doctor", "--json"});
    CAPTURE(result.error);
    CHECK(result.code == 0);
    const auto findings = findings_of(result);
    for (const char* const name :
         {"version", "vector-extension", "cores", "linear-algebra", "memory", "memory-available", "page-size",
          "huge-pages", "open-files", "file-size", "address-space", "random-numbers", "file-system", "free-disk",
          "disk-rate", "disk-pages", "memory-rate", "rates-kept"})
      CHECK_MESSAGE(findings.contains(name), name);
    for (const auto& [key, finding] : findings) {
      const std::string& name = key;
      CAPTURE(name);
      CHECK_FALSE(std::string(finding["fact"]).empty());
      CHECK(finding.contains("remedy") == (finding["verdict"] != "ok"));
    }
    const std::string text = run({"doctor"}).out;
    CHECK(text.find("ok       random-numbers: given by the system\n") != std::string::npos);
    CHECK(run({"doctor", "--measure-anew"}).code == 0);
  }

  TEST_CASE("doctor of a store: what waits, who writes, what others may read; nothing is changed") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string();
    testing::write_store(store, testing::random_store(120, 400, 5, 9));
    CHECK(findings_of(run({"doctor", store, "--json"})).at("propagation")["verdict"] == "note");
    testing::propagate_store(store, testing::tiny_spec(2, false));
    REQUIRE(run({"train", store, "--solver", "newton"}).code == 0);
    const auto before = testing::folder_bytes(store);
    {
      const Result well = run({"doctor", store, "--json"});
      CAPTURE(well.error);
      CHECK(well.code == 0);
      const auto findings = findings_of(well);
      for (const char* const name : {"writer", "private-files", "purge", "requests", "stale-rows", "model"})
        CHECK_MESSAGE(findings.at(name)["verdict"] == "ok", name);
    }
    CHECK(testing::folder_bytes(store) == before);
    {
      const WriterLock lock{fs::path(store)};
      const auto findings = findings_of(run({"doctor", store, "--json"}));
      CHECK(findings.at("writer")["fact"] == "process " + std::to_string(::getpid()));
    }
    const std::string requests = testing::write_file(dir / "requests", "edge 1 2\nnode 3\n").string();
    REQUIRE(run({"stream", store, "--requests", requests}).code == 0);
    CHECK(findings_of(run({"doctor", store, "--json"})).at("model")["verdict"] == "note");

    const fs::path model = fs::path(store) / "models/newton.model";
    fs::permissions(model, static_cast<fs::perms>(0644));
    check_problem(store, "private-files", "chmod go= " + model.string());
    testing::flip_middle(model);
    fs::permissions(model, static_cast<fs::perms>(0600));
    check_problem(store, "model", "train it again");
    fs::remove(fs::path(store) / "manifest.json");
    check_problem(store, "store", "`unweave repair " + store + "`");
  }

  TEST_CASE("doctor fails with code 3 where the machine has a problem, with 2 where the folder is not there") {
    struct rlimit limit {};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const struct rlimit low { 100, limit.rlim_max };
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
    const Result result = run({"doctor"});
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(result.code == 3);
    CHECK(result.error.find("ulimit -n") != std::string::npos);
    CHECK(result.out.find("problem  open-files: 100;") != std::string::npos);
    CHECK(run({"doctor", "nowhere.store"}).code == 2);
    CHECK(run({"doctor", "--memory", "16M"}).code == 0);
  }

  TEST_CASE("file systems are told by their kind") {
    CHECK(folder_facts("/proc").free_bytes == 0);
    if (fs::exists("/dev/shm")) {
      const FolderFacts shared = folder_facts("/dev/shm");
      if (shared.file_system == "tmpfs") CHECK(shared.is_memory);
      CHECK_FALSE(shared.is_network);
    }
    const testing::TempDir dir;
    CHECK_FALSE(lock_holder(dir / "none"));
  }
}

}  // namespace
}  // namespace unweave
