// tests/tools/commands/private_files_test.cpp - who may read the files of a store: secrets are
// their owner's alone, whatever the umask.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <string>

#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::run;
using testing::write_file;

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;
  ~Umask() { ::umask(before_); }

 private:
  mode_t before_;
};

bool is_private(const std::string& file) {
  return file.starts_with("models/") || file.starts_with("journal/") || file.starts_with("graph/changes-") ||
         file == "certificates/signing-key" || file == "certificates/requests" || file.ends_with(".private.jsonl");
}

/// What holds secrets, as the kinds that were found: "models/.model", "journal/.log".
std::set<std::string> check_modes(const fs::path& store) {
  std::set<std::string> kinds;
  for (const auto& item : fs::recursive_directory_iterator(store)) {
    if (!item.is_regular_file()) continue;
    const fs::path file = item.path().lexically_relative(store);
    const bool secret = is_private(file.string());
    CAPTURE(file.string());
    CHECK(static_cast<unsigned>(item.status().permissions()) == (secret ? 0600U : 0644U));
    if (secret) kinds.insert(file.begin()->string() + "/" + file.extension().string());
  }
  return kinds;
}

/// As versions without private files have left them.
void open_to_all(const fs::path& store) {
  for (const auto& item : fs::recursive_directory_iterator(store))
    if (item.is_regular_file()) fs::permissions(item.path(), static_cast<fs::perms>(0644));
}

TEST_SUITE("unit") {
  TEST_CASE(
      "secrets are their owner's alone under any umask, from import to purge, and the rest is as the umask says") {
    const Umask open(0);
    const testing::TempDir dir;
    const std::string store = (dir / "s").string(), requests = (dir / "requests").string();
    testing::write_store(store, testing::random_store(120, 400, 5, 9));
    testing::propagate_store(store, testing::tiny_spec(2, false));
    check_modes(store);
    write_file(requests, "node 3\nnode 4\nedge 1 2\n");
    for (const char* solver : {"newton", "rewind", "hessian-free"}) {
      CAPTURE(solver);
      const auto trained = run({"train", store, "--solver", solver});
      CAPTURE(trained.error);
      REQUIRE(trained.code == 0);
    }
    std::set<std::string> kinds = check_modes(store);
    CHECK(kinds == std::set<std::string>{"certificates/", "certificates/.jsonl", "models/.iterate", "models/.model",
                                         "models/.statistics"});
    REQUIRE(run({"stream", store, "--requests", requests, "--solver", "newton"}).code == 0);
    kinds = check_modes(store);
    CHECK(kinds.contains("journal/.log"));
    CHECK(kinds.contains("graph/.changes"));

    open_to_all(store);
    write_file(requests, "node 5\n");
    REQUIRE(run({"stream", store, "--requests", requests, "--solver", "newton"}).code == 0);
    for (const char* file : {"models/newton.model", "certificates/newton.private.jsonl"}) {
      CAPTURE(file);
      CHECK(static_cast<unsigned>(fs::status(fs::path(store) / file).permissions()) == 0600U);
    }
    for (const auto& item : fs::directory_iterator(fs::path(store) / "journal"))
      CHECK(static_cast<unsigned>(item.status().permissions()) == 0600U);

    fs::permissions(fs::path(store) / "certificates/signing-key", static_cast<fs::perms>(0600));
    REQUIRE(run({"purge", store}).code == 0);
    check_modes(store);
  }
}

}  // namespace
}  // namespace unweave
