// tests/storage/formats/level_files_test.cpp - every kind of file of a level in the manifest:
// written, read, refused.
#include "storage/formats/level_files.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "storage/formats/manifest.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;

FileEntry entry(const std::string& path) {
  return {path, 136, std::string(32, '0')};
}

/// Gives the level the files of a kind: two of a list, since the nodes have two spans.
void plant(Manifest& manifest, std::uint32_t level, const LevelFileKind& kind) {
  LevelFiles& files = manifest.levels[level];
  const std::string path = "state/level" + std::to_string(level) + "-" + kind.key;
  if (kind.list != nullptr)
    files.*kind.list = {entry(path + "-0"), entry(path + "-1")};
  else
    files.*kind.one = entry(path);
}

/// Levels 0 to 2 with the files that they always have, or with all that they may have.
Manifest example(bool all_rows, bool with_possible, Keep keep = Keep::state) {
  Manifest manifest;
  manifest.nodes = kMinSpanNodes + 1;
  manifest.shards = {entry("graph/0"), entry("graph/1")};
  manifest.propagation.emplace();
  manifest.propagation->levels = 2;
  manifest.propagation->weights = {1, 1, 1};
  manifest.propagation->scheme = "sgc";
  manifest.propagation->all_rows = all_rows;
  manifest.propagation->kept.keep = keep;
  manifest.levels.resize(3);
  for (std::uint32_t level = 0; level < 3; ++level)
    for (const LevelFileKind& kind : kLevelFileKinds) {
      const Presence presence = kind.presence(manifest.place(level));
      if (presence == Presence::always || (presence == Presence::possible && with_possible))
        plant(manifest, level, kind);
    }
  return manifest;
}

/// What is wrong with the manifest once it is written; "" where a reader takes it.
std::string fault_of(const Manifest& manifest) {
  const TempDir folder;
  write_manifest(folder.path(), manifest);
  try {
    CHECK(manifest_text(read_manifest(folder.path())) == manifest_text(manifest));
    return "";
  } catch (const FormatError& error) {
    return error.what();
  }
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("each row of the table names one member, under a key of its own") {
    std::vector<std::string> keys;
    for (const LevelFileKind& kind : kLevelFileKinds) {
      CAPTURE(std::string(kind.key));
      CHECK((kind.one != nullptr) != (kind.list != nullptr));
      CHECK((kind.list != nullptr || !kind.one_a_span));
      CHECK(std::count(keys.begin(), keys.end(), kind.key) == 0);
      keys.push_back(kind.key);
      for (const LevelFileKind& other : kLevelFileKinds) {
        if (&other == &kind) continue;
        CHECK((kind.one == nullptr || kind.one != other.one));
        CHECK((kind.list == nullptr || kind.list != other.list));
      }
    }
  }

  TEST_CASE("the manifest writes, reads and lists the files of every kind, in the order of the table") {
    for (const Keep keep : {Keep::state, Keep::embedding, Keep::hops})
      for (const bool all_rows : {false, true}) {
        CAPTURE(all_rows);
        const Manifest manifest = example(all_rows, true, keep);
        CHECK(manifest.needs() ==
              (keep == Keep::state ? std::vector<std::string>() : std::vector<std::string>{"rows"}));
        CHECK(fault_of(manifest) == "");
        const auto json = nlohmann::ordered_json::parse(manifest_text(manifest)).at("contents").at("levels");
        const std::vector<FileEntry> all = manifest.files();
        auto next = all.begin() + 2;  // after the shards
        for (std::uint32_t level = 0; level < 3; ++level) {
          std::vector<std::string> keys, expected;
          for (const auto& field : json.at(level).items()) keys.push_back(field.key());
          for (const LevelFileKind& kind : kLevelFileKinds) {
            CAPTURE(std::string(kind.key));
            if (!kind.only_with_rows || !files_of(manifest.levels[level], kind).empty())
              expected.emplace_back(kind.key);
            for (const FileEntry& one : files_of(manifest.levels[level], kind)) {
              REQUIRE(next != all.end());
              CHECK(*next++ == one);
              CHECK(json.at(level).at(kind.key).dump().find(one.path) != std::string::npos);
            }
          }
          CHECK(keys == expected);
        }
        CHECK(next == all.end());
      }
  }

  TEST_CASE("a file where its kind has none is refused, and so is a missing one") {
    std::size_t refused = 0;
    for (const auto& [has_all_rows, keep] : std::vector<std::pair<bool, Keep>>{
             {false, Keep::state}, {true, Keep::state}, {false, Keep::embedding}, {true, Keep::hops}}) {
      const bool all_rows = has_all_rows;  // a name that a message may capture
      const Manifest sound = example(all_rows, false, keep);
      CHECK(fault_of(sound) == "");
      for (std::uint32_t level = 0; level < 3; ++level)
        for (const LevelFileKind& kind : kLevelFileKinds) {
          CAPTURE(all_rows);
          CAPTURE(level);
          CAPTURE(std::string(kind.key));
          const Presence presence = kind.presence(sound.place(level));
          Manifest changed = sound;
          if (presence != Presence::always)
            plant(changed, level, kind);
          else if (kind.list != nullptr)
            (changed.levels[level].*kind.list).pop_back();
          else
            (changed.levels[level].*kind.one).reset();
          const std::string fault = fault_of(changed);
          if (presence == Presence::possible) {
            CHECK(fault == "");
            continue;
          }
          REQUIRE(kind.fault != nullptr);
          CHECK(fault.find(kind.fault) != std::string::npos);
          ++refused;
        }
    }
    CHECK(refused > 0);
  }

  TEST_CASE("lists of a wrong length are told before misplaced files, and these before missing ones") {
    Manifest manifest = example(false, false);
    manifest.levels[1].counts.reset();
    CHECK(fault_of(manifest).find("reference counts are missing") != std::string::npos);
    manifest.levels[1].targets = entry("state/targets");
    CHECK(fault_of(manifest).find("not of the last level's targets") != std::string::npos);
    manifest.levels[2].partitions.clear();
    CHECK(fault_of(manifest).find("not one partition a span") != std::string::npos);
  }

  TEST_CASE("the files of a role are dropped and no others; without its history a store has none") {
    for (const FileRole role : {FileRole::base, FileRole::overlay, FileRole::index}) {
      const Manifest before = example(false, true);
      Manifest after = before;
      for (LevelFiles& files : after.levels) drop_files(files, role);
      for (std::uint32_t level = 0; level < 3; ++level)
        for (const LevelFileKind& kind : kLevelFileKinds) {
          CAPTURE(std::string(kind.key));
          const auto kept = files_of(after.levels[level], kind), all = files_of(before.levels[level], kind);
          CHECK(kept.size() == (kind.role == role ? 0 : all.size()));
          CHECK(std::equal(kept.begin(), kept.end(), all.begin()));
        }
    }
    Manifest forgotten = example(false, true);
    forgotten.forget_history();
    CHECK(forgotten.files() == forgotten.shards);
  }
}

}  // namespace unweave
