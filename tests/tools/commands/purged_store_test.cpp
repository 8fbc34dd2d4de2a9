// tests/tools/commands/purged_store_test.cpp - what a purged store still tells of what was removed
// is what the page on promises declares, and nothing else; and its models have the lambda that a
// training of the remaining data takes.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/folder_bytes.h"
#include "support/imported_sample.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::Result;
using testing::run;
using testing::run_well;
using testing::Sample;
using testing::TempDir;
using Json = nlohmann::json;

/// A place in a store, with NAME for names of models, and a member of its JSON lines; without a
/// member all that is there.
using Quantity = std::pair<std::string, std::string>;

std::vector<std::string> code_words(const std::string& cell) {
  std::vector<std::string> words;
  for (std::size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at + 1)) {
    const std::size_t end = cell.find('`', at + 1);
    words.push_back(cell.substr(at + 1, end - at - 1));
    at = end;
  }
  return words;
}

/// The rows of the table: place, members, what is told.
std::set<Quantity> declared_quantities() {
  std::set<Quantity> declared;
  std::istringstream page(testing::read_all(fs::path(UNWEAVE_SOURCE_DIR) / "tools/guide/explanation/promises.md"));
  bool in_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| place | quantity |")) in_table = true;
    if (!in_table || line.starts_with("|---") || line.starts_with("| place")) continue;
    if (!line.starts_with("|")) break;
    std::istringstream cells(line.substr(1));
    std::string place, members, told;
    std::getline(cells, place, '|');
    std::getline(cells, members, '|');
    std::getline(cells, told, '|');
    CHECK_MESSAGE(told.size() > 10, line);
    for (const std::string& where : code_words(place)) {
      if (code_words(members).empty()) declared.insert({where, ""});
      for (const std::string& member : code_words(members)) declared.insert({where, member});
    }
  }
  return declared;
}

/// Whether a declared quantity is this one, or the object or the file that it is in.
bool covers(const Quantity& declared, const Quantity& found) {
  return declared.first == found.first && (declared.second.empty() || declared.second == found.second ||
                                           found.second.starts_with(declared.second + "."));
}

/// certificates/NAME.jsonl for certificates/exact.jsonl.
std::string place_of(const std::string& file) {
  const fs::path path(file);
  if (!file.starts_with("certificates/") && !file.starts_with("models/")) return file;
  const std::string name = path.filename().string();
  if (name.find('.') == std::string::npos) return file;
  return path.parent_path().string() + "/NAME" + name.substr(name.find('.'));
}

/// The values that the members of JSON lines have, members of objects apart.
std::map<std::string, std::set<std::string>> values_of(const std::string& lines) {
  std::map<std::string, std::set<std::string>> values;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const Json object = Json::parse(line);
    for (const auto& [name, value] : object.items()) {
      if (value.is_object())
        for (const auto& [inner, one] : value.items()) values[name + "." + inner].insert(one.dump());
      else
        values[name].insert(value.dump());
    }
  }
  return values;
}

struct Place {
  mode_t mode = 0;
  off_t bytes = 0;
  std::int64_t changed = 0;
  ssize_t attributes = 0;
  bool has_room_behind = false;
};

std::map<std::string, Place> tree_of(const fs::path& store) {
  std::vector<fs::path> places{store};
  for (const auto& item : fs::recursive_directory_iterator(store)) places.push_back(item.path());
  std::map<std::string, Place> tree;
  for (const fs::path& place : places) {
    struct stat status {};
    REQUIRE(::lstat(place.c_str(), &status) == 0);
    constexpr off_t kBlock = 4096;
    tree[place.lexically_relative(store).string()] = {
        status.st_mode, S_ISDIR(status.st_mode) ? 0 : status.st_size,
        std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
        ::llistxattr(place.c_str(), nullptr, 0),
        S_ISREG(status.st_mode) && status.st_blocks * 512 > (status.st_size + kBlock - 1) / kBlock * kBlock + kBlock};
  }
  return tree;
}

/// Where two purged stores differ. What each of them must be for itself is checked.
std::set<Quantity> differences(const fs::path& store, const fs::path& other) {
  std::set<Quantity> found;
  const auto mine = tree_of(store), theirs = tree_of(other);
  for (const auto* const tree : {&mine, &theirs}) {
    std::set<std::int64_t> times;
    for (const auto& [path, place] : *tree) {
      times.insert(place.changed);
      const std::string& shown = path;
      CHECK_MESSAGE(place.attributes <= 0, shown);
      CHECK_MESSAGE(!place.has_room_behind, shown);
    }
    CHECK(times.size() == 1);
  }
  const auto bytes = testing::folder_bytes(store), other_bytes = testing::folder_bytes(other);
  for (const auto& [path, place] : mine) {
    if (!theirs.contains(path) || theirs.at(path).mode != place.mode) {
      found.insert({path, "mode"});
      continue;
    }
    if (!S_ISREG(place.mode) || bytes.at(path) == other_bytes.at(path)) continue;
    if (!path.ends_with(".jsonl") || path.ends_with(".private.jsonl")) {
      found.insert({place_of(path), ""});
      continue;
    }
    auto values = values_of(bytes.at(path)), other_values = values_of(other_bytes.at(path));
    for (const auto& [member, some] : values)
      if (other_values[member] != some) found.insert({place_of(path), member});
    for (const auto& [member, some] : other_values)
      if (values[member] != some) found.insert({place_of(path), member});
  }
  for (const auto& [path, place] : theirs)
    if (!mine.contains(path)) found.insert({path, "mode"});
  return found;
}

/// One life of a store: what is there besides what remains, and how it goes.
struct Life {
  std::vector<NodeId> removed;
  std::string requests;
  std::string batch;
};

/// Imports, trains, streams and purges.
void live_and_purge(const fs::path& folder, const fs::path& store, Sample sample, const Life& life,
                    const std::set<NodeId>& all_removed) {
  for (const NodeId node : all_removed)
    if (std::find(life.removed.begin(), life.removed.end(), node) == life.removed.end())
      testing::apply_naively(sample, {RequestKind::remove_node, node, 0});
  testing::import_sample(store, sample, {});
  const std::string name = store.string();
  run_well({"propagate", name});
  run_well({"train", name, "--solver", "exact"});
  run_well({"train", name, "--solver", "newton"});
  const std::string requests = testing::write_file(folder / "requests", life.requests).string();
  run_well({"stream", name, "--requests", requests, "--solver", "exact", "--batch", life.batch});
  run_well({"purge", name});
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("stores that differ in what was removed alone differ, when they are purged, in what the page declares") {
    const TempDir dir;
    Sample full = testing::random_sample(90, 0.06, 4, 8);
    const std::set<NodeId> removed{11, 31, 33};  // the split train has them
    for (const NodeId node : removed) full.labels[node] = 1;
    full.edges.insert({11, 12});
    full.edges.insert({31, 32});
    live_and_purge(dir.path(), dir / "a", full, {{11}, "node 11 id=ticket-7\n", "1"}, removed);
    live_and_purge(dir.path(), dir / "b", full, {{31, 33}, "node 31\nfeature 33\nnode 33\n", "1"}, removed);
    const std::set<Quantity> found = differences(dir / "a", dir / "b"), declared = declared_quantities();
    REQUIRE(declared.size() > 10);
    for (const Quantity& one : found) {
      const bool is_declared =
          std::any_of(declared.begin(), declared.end(), [&](const Quantity& row) { return covers(row, one); });
      CHECK_MESSAGE(is_declared, one.first << ": " << one.second << " differs, and the table does not say so");
    }
    // Rows of the table that these two lives do not show: what both have in common, and what no
    // file has.
    const std::set<Quantity> elsewhere{{"manifest.json", "nodes"},
                                       {"manifest.json", "features"},
                                       {"manifest.json", "classes"},
                                       {"manifest.json", "weights.max"},
                                       {"manifest.json", "weights.unit"},
                                       {"manifest.json", "weights.self"},
                                       {"manifest.json", "standardized"},
                                       {"manifest.json", "order"},
                                       {"models/NAME.model", "lambda"},
                                       {"certificates/NAME.jsonl", "constants.lambda"},
                                       {"certificates/NAME.jsonl", "not_covered"},
                                       {"certificates/NAME.jsonl", "requests"},
                                       {"certificates/NAME.jsonl", "time"},
                                       {"certificates/feeds", ""},
                                       {"stat", ""}};
    for (const Quantity& row : declared) {
      const bool is_known =
          elsewhere.contains(row) ||
          std::any_of(found.begin(), found.end(), [&](const Quantity& one) { return covers(row, one); });
      CHECK_MESSAGE(is_known, row.first << ": " << row.second << " is declared, and these stores do not differ in it");
    }
    for (const Quantity& row : elsewhere) CHECK_MESSAGE(declared.contains(row), row.first << ": " << row.second);
  }
}

TEST_SUITE("unit") {
  TEST_CASE("purge --nodes: a default lambda becomes that of the larger store, and a given one stays") {
    const TempDir dir;
    Sample sample = testing::random_sample(60, 0.08, 4, 5);
    const auto build = [&](const std::string& name) {
      testing::import_sample(dir / name, sample, {});
      run_well({"propagate", (dir / name).string()});
      run_well({"train", (dir / name).string(), "--solver", "exact"});
      run_well({"train", (dir / name).string(), "--solver", "exact", "--name", "given", "--lambda", "0.002"});
    };
    build("s");
    const std::string store = (dir / "s").string();
    const Result purged = run_well({"purge", store, "--nodes", "120", "--json"});
    const Json report = purged.json();
    REQUIRE(report["lambdas"].size() == 1);
    CHECK(report["lambdas"][0]["name"] == "exact");
    CHECK(report["lambdas"][0]["before"].get<double>() == doctest::Approx(0.1 / 60));
    CHECK(report["lambdas"][0]["after"].get<double>() == doctest::Approx(0.1 / 120));
    CHECK(report["models_kept"].size() == 2);
    CHECK(purged.error.find("trained anew with lambda") != std::string::npos);
    CHECK(run_well({"verify", store, "--rebuild"}).out.find("all checks hold") != std::string::npos);
    const Json newest = Json::parse(testing::lines_of(dir / "s/certificates/exact.jsonl").back());
    CHECK(newest["constants"]["lambda"]["chosen"] == "default");
    CHECK(newest["constants"]["lambda"]["value"].get<double>() == doctest::Approx(0.1 / 120));

    sample.nodes = 120;
    sample.features.resize(std::size_t{120} * sample.columns);
    sample.labels.resize(120, kNoLabel);
    build("fresh");
    testing::check_same_store(dir / "s", dir / "fresh");

    // The default is its own from then on.
    const Result again = run_well({"purge", store, "--always", "--json"});
    CHECK_FALSE(again.json().contains("lambdas"));
  }
}

}  // namespace unweave
