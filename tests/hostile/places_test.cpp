// tests/hostile/places_test.cpp - stores that point elsewhere, inputs and manifests that ask for
// more than there is.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "storage/formats/manifest.h"
#include "storage/io/checksum.h"
#include "storage/io/hex.h"
#include "support/folder_bytes.h"
#include "support/hostile/full_store.h"
#include "support/input_files.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave::testing {
namespace {

namespace fs = std::filesystem;

/// A propagated store, and beside it a user's folder and requests.
struct Neighbourhood {
  TempDir dir;
  fs::path store = dir / "s", user = dir / "user";

  Neighbourhood() {
    const Ended built = run_apart([&] {
      write_store(store, random_store(60, 150, 2, 3));
      propagate_store(store, tiny_spec(1));
      return std::string();
    });
    REQUIRE(built.code == 0);
    fs::create_directory(user);
    write_file(user / "thesis", "years of work\n");
    write_file(dir / "requests", "node 3\n");
  }
  [[nodiscard]] Finished stream(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"stream", store.string(), "--requests", (dir / "requests").string()};
    words.insert(words.end(), more.begin(), more.end());
    return run_process(words);
  }
  void check_user() const {
    CHECK(folder_bytes(user) == std::map<std::string, std::string>{{"thesis", "years of work\n"}});
  }
};

void check_error(const Finished& end, const std::string& words) {
  CAPTURE(end.error);
  CHECK(end.code == 2);
  CHECK(end.error.find(words) != std::string::npos);
  CHECK(std::count(end.error.begin(), end.error.end(), '\n') == 1);
}

/// The manifest with other contents under the right checksum.
void forge_manifest(const fs::path& store, const std::function<void(nlohmann::ordered_json&)>& change) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(read_all(store / kManifestName));
  change(json["contents"]);
  const std::string body = json["contents"].dump();
  json["checksum"] = to_hex(checksum128(std::as_bytes(std::span(body)), {}));
  write_file(store / kManifestName, json.dump(1) + "\n");
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("strays behind a link in the place of a folder are not removed") {
    for (const char* folder : {"journal", "splits", "graph", "state", "models", "certificates"}) {
      CAPTURE(folder);
      const Neighbourhood here;
      fs::remove_all(here.store / folder);
      fs::create_directory_symlink(here.user, here.store / folder);
      check_error(here.stream(), "it is a link");
      here.check_user();
    }
  }

  TEST_CASE("a certificate log that is a link to a file elsewhere is not written") {
    const Neighbourhood here;
    fs::create_directory(here.store / "certificates");
    fs::create_symlink(here.user / "thesis", here.store / "certificates" / "newton.jsonl");
    CHECK(run_process({"train", here.store.string(), "--solver", "newton", "--quiet"}).code == 2);
    here.check_user();
  }

  TEST_CASE("files that have another name outside, as `cp -al` makes them, stay there what they were") {
    const Neighbourhood here;
    const std::string store = here.store.string(), feed = (here.dir / "feed").string();
    REQUIRE(run_process({"train", store, "--quiet"}).code == 0);
    REQUIRE(here.stream({"--solver", "exact", "--changes", feed}).code == 0);
    const fs::path copy = here.dir / "copy";
    for (const auto& entry : fs::recursive_directory_iterator(here.store)) {
      const fs::path to = copy / entry.path().lexically_relative(here.store);
      fs::create_directories(entry.is_directory() ? to : to.parent_path());
      if (!entry.is_directory()) fs::create_hard_link(entry.path(), to);
    }
    write_file(copy / "lock", "years of work\n");  // the store's as well
    const auto before = folder_bytes(copy);
    write_file(here.dir / "requests", "node 7 id=a\nset-label 9 1\nnode 11 expires 2100-01-01\n");
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"stream", store, "--requests", (here.dir / "requests").string(), "--solver", "exact", "--changes", feed},
             {"train", store, "--solver", "newton"},
             {"propagate", store, "--hops", "2"},
             {"train", store},
             {"requests", store, "--forget-before", "2200-01-01"},
             {"repair", store},
             {"purge", store, "--always"}}) {
      CAPTURE(words[0]);
      const Finished end = run_process(words);
      CAPTURE(end.error);
      CHECK(end.code == 0);
      CHECK(folder_bytes(copy) == before);
    }
    CHECK(fs::file_size(here.store / "lock") == 0);
    CHECK(fs::hard_link_count(here.store / "lock") == 1);
    CHECK(run_process({"verify", store}).code == 0);
  }

  TEST_CASE("a feed of changes leaves the files of others in its folder alone") {
    const Neighbourhood here;
    const std::string feed = (here.dir / "feed").string();
    REQUIRE(here.stream({"--changes", feed}).code == 0);
    for (const char* own : {"2026-notes.txt", "7.npy", "9.rows.npy.bak", "08.rows.npy"})
      write_file(here.dir / "feed" / own, "mine\n");
    write_file(here.dir / "feed" / "9.rows.npy", "what a crash kept from its line");
    write_file(here.dir / "requests", "node 4\n");
    REQUIRE(here.stream({"--changes", feed}).code == 0);
    for (const char* own : {"2026-notes.txt", "7.npy", "9.rows.npy.bak", "08.rows.npy"})
      CHECK(read_all(here.dir / "feed" / own) == "mine\n");
    CHECK_FALSE(fs::exists(here.dir / "feed" / "9.rows.npy"));
  }

  TEST_CASE("paths that a manifest may not name" * doctest::test_suite("slow")) {
    const Neighbourhood here;
    const std::string good = read_all(here.store / kManifestName);
    for (const std::string path :
         {"../user/thesis", "/etc/passwd", "graph/../../user/thesis", "user/thesis", "graph/a/b", "graph/..", "graph/",
          "graph", "", "models/newton.model", "manifest.json"}) {
      CAPTURE(path);
      forge_manifest(here.store, [&](auto& contents) { contents["labels"]["path"] = path; });
      check_error(run_process({"info", here.store.string()}), "leaves the store");
      write_file(here.store / kManifestName, good);
    }
    for (const std::string path : {"../user/thesis", "a/b", "..", ".", "graph/x", "journal/", "models/../x",
                                   "journal/../../user/thesis", "models/../../user/thesis"}) {
      CAPTURE(path);
      for (const char* field : {"journal", "releases"}) {
        const nlohmann::ordered_json entry = {{"path", path}, {"bytes", 1}, {"root", ""}};
        forge_manifest(here.store, [&](auto& contents) {
          contents[field] = field == std::string("journal") ? entry : nlohmann::ordered_json::array({entry});
        });
        CHECK(run_process({"info", here.store.string()}).code == 2);
        CHECK(here.stream().code == 2);
        here.check_user();
        write_file(here.store / kManifestName, good);
      }
    }
  }

  TEST_CASE("numbers of a manifest that other types would cut off" * doctest::test_suite("slow")) {
    const Neighbourhood here;
    const std::string good = read_all(here.store / kManifestName);
    const auto refused = [&](const std::function<void(nlohmann::ordered_json&)>& change) {
      forge_manifest(here.store, change);
      check_error(run_process({"info", here.store.string()}), "manifest.json");
      write_file(here.store / kManifestName, good);
    };
    for (const nlohmann::ordered_json& wrong :
         {nlohmann::ordered_json(-1), nlohmann::ordered_json(60.0),
          nlohmann::ordered_json(60 + (std::uint64_t{1} << 32)), nlohmann::ordered_json(1e300),
          nlohmann::ordered_json(true), nlohmann::ordered_json("60")}) {
      CAPTURE(wrong);
      for (const char* field : {"nodes", "features", "classes", "edges", "sequence"})
        if (field != std::string("sequence") || wrong != 60 + (std::uint64_t{1} << 32))
          refused([&](auto& contents) { contents[field] = wrong; });
      refused([&](auto& contents) { contents["propagation"]["levels"] = wrong; });
    }
    refused([](auto& contents) { contents["sequence"] = ~std::uint64_t{0}; });
    refused([](auto& contents) { contents["propagation"]["rho"] = 1.5; });
    refused([](auto& contents) { contents["propagation"]["code_norm"] = -1.0; });
    refused([](auto& contents) { contents["propagation"]["column_norms"][0] = -1e300; });
  }

  TEST_CASE("JSON that nests without end") {
    const Neighbourhood here;
    const std::string good = read_all(here.store / kManifestName);
    for (const std::string& text : {std::string(1 << 20, '['), good.substr(0, good.find("\"contents\"")) +
                                                                   "\"contents\": " + std::string(1 << 20, '[') +
                                                                   std::string(1 << 20, ']') + "}\n"}) {
      write_file(here.store / kManifestName, text);
      check_error(run_process({"info", here.store.string()}), "manifest.json");
    }
  }

  TEST_CASE("compressed inputs that swell: one line without end, and an array that its header does not declare" *
            doctest::test_suite("slow")) {
    const TempDir dir;
    write_file(dir / "line.gz", gzipped(std::string(std::size_t{64} << 20, '7')));
    std::string array = npy("<f4", "(2, 2)", std::vector<float>{0, 0, 0, 0});
    array.resize(std::size_t{64} << 20);
    write_file(dir / "x.npy.gz", gzipped(array));
    check_error(run_process({"import", (dir / "s").string(), "--edges", (dir / "line.gz").string(), "--memory", "32M"}),
                "line 1");
    check_error(
        run_process({"import", (dir / "t").string(), "--features", (dir / "x.npy.gz").string(), "--memory", "32M"}),
        "x.npy.gz");
  }
}

}  // namespace unweave::testing
