// tests/tools/commands/store_files_test.cpp - what commands say where a file of a store is missing,
// a folder or a link.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::Result;
using testing::run;
using testing::TempDir;

/// A store with a model, streamed into, and copies of it.
struct FiledStore {
  TempDir dir;
  fs::path good = dir / "good", store = dir / "s";

  FiledStore() {
    testing::write_store(good, testing::random_store(200, 600, 8, 3));
    testing::propagate_store(good, testing::tiny_spec(2, false));
    REQUIRE(run({"train", good.string(), "--solver", "newton"}).code == 0);
    std::ofstream(dir / "requests") << "node 3\n";
    REQUIRE(stream(good).code == 0);
  }
  [[nodiscard]] Result stream(const fs::path& into) const {
    return run({"stream", into.string(), "--requests", (dir / "requests").string(), "--solver", "newton", "--json"});
  }
  /// A new copy; returns the first file whose path in the store begins so.
  [[nodiscard]] fs::path copied(const std::string& begin) const {
    fs::remove_all(store);
    fs::copy(good, store, fs::copy_options::recursive);
    std::vector<fs::path> files;
    for (const auto& item : fs::recursive_directory_iterator(store))
      if (item.path().lexically_relative(store).string().starts_with(begin) && item.is_regular_file())
        files.push_back(item.path());
    REQUIRE_FALSE(files.empty());
    return *std::min_element(files.begin(), files.end());
  }
  [[nodiscard]] std::vector<Result> readers() const {
    return {run({"info", store.string()}), run({"verify", store.string()})};
  }
};

void check_told(const Result& result, const fs::path& file, const std::string& fault, const std::string& remedy) {
  CAPTURE(result.error);
  CHECK(result.code == 2);
  CHECK(result.error.find(file.string() + ": " + fault) != std::string::npos);
  CHECK(result.error.find(remedy) != std::string::npos);
  CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a file of a generation that is no file is told with its kind and how it comes back; a link is one, too") {
    const FiledStore at;
    for (const char* begin : {"graph/", "features/", "labels/", "splits/", "state/level1-"}) {
      CAPTURE(begin);
      const auto check = [&](const fs::path& file, const std::string& fault,
                             const std::string& remedy =
                                 "makes anew what follows from other files; else restore the file from a copy") {
        std::vector<Result> all = at.readers();
        all.push_back(at.stream(at.store));
        for (const Result& one : all) check_told(one, file, fault, remedy);
      };
      fs::path file = at.copied(begin);
      fs::remove(file);
      check(file, "it is missing");
      fs::create_symlink(at.dir / "nowhere", file);
      check(file, "it is a link", "put what the link leads to in its place");
      fs::remove(file);
      fs::create_directory(file);
      check(file, "it is a folder in the place of a file");
      file = at.copied(begin);
      fs::rename(file, at.dir / "elsewhere");
      fs::create_symlink(at.dir / "elsewhere", file);
      check(file, "it is a link", "put what the link leads to in its place");
    }
  }

  TEST_CASE(
      "what a store adds to or replaces must not be a link: told by readers, and before a request is acknowledged") {
    const FiledStore at;
    for (const std::string begin : {"journal/", "models/newton.model", "manifest.json", "certificates/newton.jsonl"}) {
      CAPTURE(begin);
      const fs::path file = at.copied(begin);
      fs::rename(file, at.dir / "elsewhere");
      fs::create_symlink(at.dir / "elsewhere", file);
      const std::string fault = "it is a link", remedy = "put what the link leads to in its place";
      if (!begin.starts_with("certificates/"))  // info says nothing of logs
        check_told(run({"info", at.store.string()}), file, fault, remedy);
      const Result verified = run({"verify", at.store.string()});
      CHECK(verified.code == 2);
      CHECK(verified.error.find(fault) != std::string::npos);
      check_told(at.stream(at.store), file, fault, remedy);
      fs::remove(file);
      fs::rename(at.dir / "elsewhere", file);
      CHECK(run({"info", at.store.string(), "--json"}).json()["acknowledged"] == 1);
      CHECK(run({"verify", at.store.string()}).code == 0);
    }
  }

  TEST_CASE("an append that was ended is told of once by whoever cuts it off, and whenever by who only reads") {
    const FiledStore at;
    const fs::path journal = at.copied("journal/");
    const std::string torn(37, '\0');  // the file had grown, and nothing of the record was written
    std::ofstream(journal, std::ios::app | std::ios::binary) << torn;
    const std::string bytes = "37 bytes of a batch that";
    for (int i = 0; i < 2; ++i) {
      const Result info = run({"info", at.store.string(), "--json"});
      CHECK(info.code == 0);
      CHECK(info.error.find("note: the journal ends with " + bytes + " is not acknowledged") == 0);
      CHECK(info.json()["acknowledged"] == 1);
    }
    CHECK(run({"info", at.store.string(), "--quiet"}).error.empty());
    const Result first = at.stream(at.store), second = at.stream(at.store);
    CHECK(first.code == 0);
    CHECK(first.error.find("note: the journal ended with " + bytes +
                           " was never acknowledged; they are dropped, and no "
                           "acknowledged request is among them") != std::string::npos);
    CHECK(first.json()["last_request"] == 2);
    CHECK(second.error.find("the journal ended") == std::string::npos);
  }
}

}  // namespace unweave
