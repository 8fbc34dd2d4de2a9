// tests/hostile/links_test.cpp - stores in which a name that the program uses is a link out of the
// store, a pipe or a device: no command reads, writes or removes anything beyond the store, waits,
// or dies.
//
// Where a link leads to a folder or a file, a copy of what belongs there lies at its end, so that
// whoever followed it would go on, and what it did would be seen. UNWEAVE_ALL_FAULTS=1 gives every
// command for each name and kind; otherwise they take turns.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "storage/io/store_folders.h"
#include "support/folder_bytes.h"
#include "support/hostile/full_store.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace unweave::testing {
namespace {

namespace fs = std::filesystem;

enum class Trap { folder_link, file_link, pipe_link, device_link, pipe };
constexpr Trap kTraps[] = {Trap::folder_link, Trap::file_link, Trap::pipe_link, Trap::device_link, Trap::pipe};
constexpr const char* kTrapNames[] = {"link to a folder", "link to a file", "link to a pipe", "link to a device",
                                      "pipe"};

/// Names that FORMAT.md gives and that a store at rest has not: marks, locks, temporary files,
/// folders of unfinished work.
std::set<std::string> names_of(const FullStore& store) {
  std::set<std::string> names{"lock",
                              "unfinished",
                              "purge",
                              "purge.new",
                              "manifest.json.new",
                              "tiles",
                              "tiles/contents-options",
                              "journal",
                              "names",
                              "graph/by-ids",
                              "certificates",
                              "certificates/requests",
                              "certificates/requests.new",
                              "certificates/feeds",
                              "certificates/signing-key",
                              "certificates/newton.jsonl",
                              "certificates/newton.private.jsonl",
                              "certificates/newton.release",
                              "certificates/newton.release.new",
                              "models",
                              "models/newton",
                              "models/rewind",
                              "models/hessian-free",
                              "models/newton.model.new",
                              "unweave-spool-0",
                              "graph/.shard-0000000000.adj.new"};
  for (const auto& [path, bytes] : store.files) {
    names.insert(path);
    if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) names.insert(folder.string());
  }
  return names;
}

struct Outside {
  std::map<std::string, std::string> bytes;
  std::map<std::string, std::string> facts;  // kind, rights, time of the last change
  friend bool operator==(const Outside&, const Outside&) = default;
};

Outside look_at(const fs::path& folder) {
  Outside all{folder_bytes(folder), {}};
  for (const auto& item : fs::recursive_directory_iterator(folder)) {
    struct stat status {};
    REQUIRE(::lstat(item.path().c_str(), &status) == 0);
    all.facts[item.path().string()] = std::to_string(status.st_mode) + " " + std::to_string(status.st_mtim.tv_sec) +
                                      "." + std::to_string(status.st_mtim.tv_nsec);
  }
  return all;
}

/// Puts a trap in the place of a name.
void set_trap(const fs::path& place, Trap trap, const fs::path& outside) {
  fs::create_directories(outside);
  fs::create_directories(outside / "folder" / "below");
  write_file(outside / "folder" / "thesis", "years of work\n");
  write_file(outside / "folder" / "below" / "more", "of it\n");
  write_file(outside / "file", "years of work\n");
  if (fs::is_directory(place)) {
    fs::copy(place, outside / "folder", fs::copy_options::recursive);
  } else if (fs::exists(place)) {
    fs::copy_file(place, outside / "file", fs::copy_options::overwrite_existing);
  }
  REQUIRE(::mkfifo((outside / "pipe").c_str(), 0600) == 0);
  fs::remove_all(place);
  fs::create_directories(place.parent_path());
  switch (trap) {
    case Trap::folder_link:
      return fs::create_directory_symlink(outside / "folder", place);
    case Trap::file_link:
      return fs::create_symlink(outside / "file", place);
    case Trap::pipe_link:
      return fs::create_symlink(outside / "pipe", place);
    case Trap::device_link:
      return fs::create_symlink("/dev/zero", place);
    case Trap::pipe:
      REQUIRE(::mkfifo(place.c_str(), 0600) == 0);
  }
}

std::vector<std::vector<std::string>> commands(const std::string& store, const fs::path& dir) {
  const std::string out = (dir / "out").string(), requests = (dir / "requests").string();
  return {{"stream", store, "--requests", requests},
          {"train", store, "--solver", "newton", "--seed", "1"},
          {"purge", store},
          {"propagate", store, "--hops", "2", "--weights", "0,0,1"},
          {"verify", store, "--rebuild"},
          {"info", store, "--digest"},
          {"repair", store},
          {"export", store, "--all", out},
          {"predict", store, "--solver", "newton", "--out", out + ".npy"},
          {"evaluate", store},
          {"stream", store, "--requests", requests, "--solver", "rewind", "--seed", "2"},
          {"stream", store, "--requests", requests, "--solver", "hessian-free", "--seed", "2"},
          {"propagate", store, "--hops", "1", "--weights", "0,1", "--tiles", "2"},
          {"requests", store},
          {"plan", store, "--requests", requests},
          {"import", store, "--edges", (dir / "edges").string()},
          {"generate", store, "--model", "sbm", "--nodes", "100", "--edges", "300"},
          {"doctor", store},
          {"report", store, "--out", out + ".html"},
          {"audit", store, "--trials", "2"},
          {"requests", store, "--forget-before", "2020-01-01T00:00:00Z"}};
}

void walk(const FullStore& store) {
  const bool all = std::getenv("UNWEAVE_ALL_FAULTS") != nullptr;
  const TempDir dir;
  write_file(dir / "requests", "edge 1 2\nfeature 4\nnode 9\n");
  write_file(dir / "edges", "1 2\n2 3\n");
  std::size_t turn = 0, refused = 0, runs = 0;
  for (const std::string& name : names_of(store)) {
    for (const Trap trap : kTraps) {
      const auto each = commands((dir / "s").string(), dir.path());
      const std::size_t given = all ? each.size() : 1;
      for (std::size_t i = 0; i < given; ++i) {
        const std::vector<std::string>& words = each[all ? i : turn++ % each.size()];
        const std::string shown = words[0] + ": " + name + ": " + kTrapNames[static_cast<int>(trap)];
        CAPTURE(shown);
        write_files(store.files, dir / "s");
        fs::remove_all(dir / "outside");
        fs::remove_all(dir / "out");
        set_trap(dir / "s" / name, trap, dir / "outside");
        const Outside before = look_at(dir / "outside");
        const Finished end = run_process(words, 120);
        CAPTURE(end.error);
        CHECK(end.code >= 0);  // no signal, the alarm of a process that waits among them
        CHECK(end.code <= 4);
        CHECK(end.error.find("internal error") == std::string::npos);
        CHECK(look_at(dir / "outside") == before);
        ++runs;
        refused += end.code != 0 ? 1 : 0;
      }
    }
  }
  CHECK(runs > 250);
  CHECK(refused > runs / 4);  // the traps stand where the program comes along
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE(
      "no command leaves a store whose names are links, pipes or devices: requests that wait, names, stale rows") {
    walk(lazy_store());
  }
  TEST_CASE("no command leaves a store whose names are links, pipes or devices: models of many solvers") {
    walk(model_store());
  }
}

TEST_SUITE("unit") {
  TEST_CASE("a link in the place of tiles/ empties nothing") {
    const TempDir dir;
    for (const std::string command : {"stream", "train", "propagate", "purge"}) {
      CAPTURE(command);
      const fs::path store = dir / command;
      must({"generate", store.string(), "--model", "sbm", "--nodes", "60", "--edges", "200", "--features", "4",
            "--classes", "2"});
      must({"propagate", store.string(), "--hops", "1", "--weights", "0,1"});
      fs::remove_all(dir / "user");
      fs::create_directories(dir / "user" / "sub");
      write_file(dir / "user" / "sub" / "thesis", "years of work\n");
      fs::create_directory_symlink(dir / "user", store / kTilesFolder);
      write_file(dir / "requests", "node 3\n");
      std::vector<std::string> words{command, store.string()};
      if (command == "stream") words.insert(words.end(), {"--requests", (dir / "requests").string()});
      if (command == "propagate") words.insert(words.end(), {"--hops", "1", "--weights", "0,1"});
      const Finished end = run_process(words, 120);
      CAPTURE(end.error);
      CHECK(end.code == 2);
      CHECK(end.error.find((store / kTilesFolder).string() + ": it is a link") != std::string::npos);
      CHECK(read_all(dir / "user" / "sub" / "thesis") == "years of work\n");
    }
  }

  TEST_CASE("a store at the end of the user's own links is the same store") {
    const TempDir dir;
    fs::create_directories(dir / "disk");
    fs::create_directory_symlink(dir / "disk", dir / "data");
    const std::string store = (dir / "data" / "s").string();
    must({"generate", store, "--model", "sbm", "--nodes", "60", "--edges", "200", "--features", "4", "--classes", "2"});
    fs::create_directory_symlink(dir / "data" / "s", dir / "link");
    const std::string link = (dir / "link").string();
    must({"propagate", link, "--hops", "1", "--weights", "0,1"});
    must({"train", link});
    write_file(dir / "requests", "node 3\n");
    must({"stream", link, "--requests", (dir / "requests").string(), "--solver", "exact", "--receipts",
          (dir / "data" / "receipts").string(), "--changes", (dir / "data" / "feed").string()});
    must({"predict", link, "--out", (dir / "data" / "classes.npy").string()});
    must({"export", link, "--all", (dir / "data" / "all").string()});
    must({"report", link, "--out", (dir / "data" / "page.html").string()});
    for (const char* command : {"info", "doctor", "verify", "repair", "requests", "evaluate", "purge"})
      must({command, link});
    CHECK(fs::exists(dir / "disk" / "receipts"));
    CHECK(info_of(link) == info_of((dir / "disk" / "s")));
  }
}

}  // namespace unweave::testing
