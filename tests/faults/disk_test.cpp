// tests/faults/disk_test.cpp - what a power cut may leave, and that the watch on calls misses none.
#include "support/faults/disk.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <set>

#include "storage/io/error.h"
#include "storage/io/file.h"
#include "support/faults/trial.h"
#include "support/input_files.h"

namespace unweave::testing {
namespace {

namespace fs = std::filesystem;
using Kind = Operation::Kind;

Disk disk_after(const Tree& before, const std::vector<Operation>& operations) {
  Disk disk(before);
  for (const Operation& one : operations) disk.apply(one);
  return disk;
}

std::set<Tree> chances(const Disk& disk) {
  std::set<Tree> trees;
  for (std::uint64_t seed = 0; seed < 300; ++seed) trees.insert(disk.after_cut(Survival::chance, seed));
  return trees;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("unsynced bytes survive sector by sector, synced ones always") {
    const std::string x(1200, 'x'), zeros(1200, '\0');
    const Disk disk = disk_after(
        {{"a", "old"}}, {{Kind::write, "a", "", 3, "NEW"}, {Kind::sync, "a", "", 0, ""}, {Kind::write, "a", "", 6, x}});
    CHECK(disk.after_cut(Survival::nothing).at("a") == "oldNEW");
    CHECK(disk.after_cut(Survival::names).at("a") == "oldNEW");
    CHECK(disk.after_cut(Survival::bytes).at("a") == "oldNEW" + x);
    const std::set<Tree> trees = chances(disk);
    for (const std::string& survivor : {std::string(), x, x.substr(0, 506), zeros.substr(0, 506) + x.substr(0, 512),
                                        zeros, zeros.substr(0, 1018) + x.substr(0, 182)})
      CHECK(trees.contains({{"a", "oldNEW" + survivor}}));
    for (const Tree& tree : trees) CHECK(tree.at("a").starts_with("oldNEW"));
  }

  TEST_CASE("names survive a cut when their folder was synced, in any part before") {
    const std::vector<Operation> operations = {{Kind::folder, "d", "", 0, ""},
                                               {Kind::create, "d/a.new", "", 0, ""},
                                               {Kind::write, "d/a.new", "", 0, "1"},
                                               {Kind::sync, "d/a.new", "", 0, ""},
                                               {Kind::rename, "d/a.new", "d/a", 0, ""}};
    Disk disk = disk_after({}, operations);
    CHECK(disk.after_cut(Survival::everything) == Tree{{"d/", ""}, {"d/a", "1"}});
    CHECK(disk.after_cut(Survival::nothing).empty());
    const std::set<Tree> trees = chances(disk);
    for (const Tree& tree :
         {Tree{}, Tree{{"d/", ""}}, Tree{{"d/", ""}, {"d/a.new", "1"}}, Tree{{"d/", ""}, {"d/a", "1"}}})
      CHECK(trees.contains(tree));
    disk.apply({Kind::sync, "d", "", 0, ""});
    CHECK(disk.after_cut(Survival::nothing).empty());  // no way to it
    disk.apply({Kind::sync, "", "", 0, ""});
    CHECK(disk.after_cut(Survival::nothing) == Tree{{"d/", ""}, {"d/a", "1"}});
    disk.apply({Kind::remove, "d/a", "", 0, ""});
    disk.apply({Kind::remove, "d", "", 0, ""});
    CHECK(chances(disk).contains(Tree{{"d/", ""}}));
    disk.apply({Kind::sync, "", "", 0, ""});
    CHECK(disk.after_cut(Survival::nothing).empty());
  }

  TEST_CASE("what a failed sync was to write never comes to the disk, but by a new write") {
    const Operation write{Kind::write, "a", "", 0, "1"}, sync{Kind::sync, "a", "", 0, ""};
    Disk disk = disk_after({{"a", ""}}, {write, {Kind::lost_sync, "a", "", 0, ""}, sync});
    CHECK(disk.after_cut(Survival::nothing).at("a").empty());
    disk.apply(write);
    disk.apply(sync);
    CHECK(disk.after_cut(Survival::nothing).at("a") == "1");
  }

  TEST_CASE("calls below a folder are counted and fail where they should; errors are those of commands") {
    const TempDir dir;
    fs::create_directories(dir / "w");
    const auto work = [&] {
      replace_file(dir / "w" / "f", "some text");
      write_file(dir / "elsewhere", "nobody counts this");
      acknowledge("done");
      return std::string("the end");
    };
    const Ending calm = run_in_child(work, dir / "w", {kEveryFileCall, 0, EIO, false, false});
    CHECK(calm.code == 0);
    CHECK(calm.text == "the end");
    CHECK(calm.calls == 7);  // remove, open, write, sync, rename; open and sync of the folder
    REQUIRE(calm.operations.size() == 6);
    CHECK(calm.operations.back().path == "done");
    Disk disk({});
    for (const Operation& one : calm.operations) disk.apply(one);
    CHECK(disk.after_cut(Survival::nothing) == Tree{{"f", "some text"}});
    for (long at = 2; at <= calm.calls; ++at) {
      CAPTURE(at);
      CHECK(run_in_child(work, dir / "w", {kEveryFileCall, at, EIO, false, false}).code == 2);
      CHECK(run_in_child(work, dir / "w", {kEveryFileCall, at, ENOSPC, true, false}).code == 3);
    }
    CHECK(run_in_child(work, dir / "w", {kAllocate, 1, ENOMEM, false, false}).code == 3);
    CHECK(run_in_child([]() -> std::string { std::abort(); }).code == -SIGABRT);
  }
}

}  // namespace unweave::testing
