// tests/algorithms/live/names_test.cpp - stores whose nodes have names: what they hold beside those of numbers, what removals take from
// them, and what a purge, a repair and the digest make of that.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/verification/verify.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/imported_sample.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::folder_bytes;
using testing::Importing;
using testing::Sample;
using testing::TempDir;

std::vector<std::string> names_for(const Sample& sample, const std::string& prefix = "node-") {
  std::vector<std::string> names;
  for (NodeId node = 0; node < sample.nodes; ++node) names.push_back(prefix + std::to_string(sample.nodes - node));
  return names;
}

/// Streams the requests and says which nodes have lost their names by then.
std::set<NodeId> stream_and_lose(const fs::path& store, Sample& sample, const std::vector<Request>& requests) {
  std::set<NodeId> cleared;
  for (const Request& request : requests) {
    const auto u = static_cast<NodeId>(request.u);
    const auto row = sample.features.begin() + static_cast<std::ptrdiff_t>(std::size_t{u} * sample.columns);
    const bool has_data =
        std::any_of(row, row + sample.columns, [](float x) { return x != 0; }) || sample.labels[u] != kNoLabel;
    if (request.kind == RequestKind::remove_node || (request.kind == RequestKind::remove_feature && has_data))
      cleared.insert(u);
    testing::stream_sample(store, sample, {request}, 1, 0);
  }
  std::erase_if(cleared, [&](NodeId node) {
    return std::any_of(sample.edges.begin(), sample.edges.end(),
                       [&](const auto& edge) { return edge.first == node || edge.second == node; });
  });
  return cleared;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a store of names has the files of one of numbers, and its names beside them") {
    for (const char* const order : {"none", "degree", "bfs"}) {
      CAPTURE(order);
      const TempDir dir;
      const Sample sample = testing::random_sample(150, 0.05, 4, 11);
      Importing importing{order, FeatureType::f32, false, {}};
      testing::import_sample(dir / "numbers", sample, importing);
      importing.names = names_for(sample);
      testing::import_sample(dir / "names", sample, importing);
      for (const char* const store : {"numbers", "names"}) testing::propagate_store(dir / store, testing::tiny_spec(2));
      auto mine = folder_bytes(dir / "names"), other = folder_bytes(dir / "numbers");
      CHECK(std::erase_if(mine, [](const auto& file) { return file.first.starts_with("names/"); }) == 2);
      mine.erase("manifest.json");
      other.erase("manifest.json");
      CHECK(mine == other);
      CHECK(testing::digest_now(dir / "names") != testing::digest_now(dir / "numbers"));
      const Manifest manifest = read_manifest(dir / "names");
      const Contents contents(dir / "names", manifest);
      for (NodeId position = 0; position < sample.nodes; ++position) {
        const NodeId user = contents.order().user(position);
        CHECK(contents.name(position) == importing.names[user]);
        CHECK(contents.order().text(position) == "node " + importing.names[user]);
        CHECK(contents.order().names().number(importing.names[user]) == user);
        CHECK(contents.order().names().number("#" + std::to_string(user)) == user);
      }
      for (const char* const word : {"", "nobody", "17", "#", "#1x", "#-1"})
        CHECK(contents.order().names().number(word) == kUnknownName);
    }
  }

  TEST_CASE("the digest tells names apart, and does not depend on the order of the store") {
    const TempDir dir;
    const Sample sample = testing::random_sample(90, 0.05, 3, 2);
    Importing importing{"none", FeatureType::f32, false, names_for(sample)};
    testing::import_sample(dir / "a", sample, importing);
    importing.order = "bfs";
    testing::import_sample(dir / "b", sample, importing);
    CHECK(testing::digest_now(dir / "a") == testing::digest_now(dir / "b"));
    importing.names[40] += "x";
    testing::import_sample(dir / "c", sample, importing);
    CHECK(testing::digest_now(dir / "a") != testing::digest_now(dir / "c"));
  }

  TEST_CASE("a purged name leaves a slot without one, as an import of what remains does") {
    for (const char* const order : {"none", "bfs"}) {
      CAPTURE(order);
      const TempDir dir;
      Sample sample = testing::random_sample(120, 0.03, 4, 5);
      Importing importing{order, FeatureType::f32, false, names_for(sample)};
      importing.names[7].clear();
      std::erase_if(sample.edges, [](const auto& edge) { return edge.first == 7 || edge.second == 7; });
      testing::import_sample(dir / "s", sample, importing);
      testing::propagate_store(dir / "s", testing::tiny_spec(2));
      std::vector<Request> requests = testing::random_requests(sample, 40, 3);
      for (const std::uint64_t node : {11U, 12U, 40U}) requests.push_back({RequestKind::remove_node, node, 0});
      requests.push_back({RequestKind::insert_edge, 12, 50});  // it is removed and comes back: its name stays
      const std::set<NodeId> lost = stream_and_lose(dir / "s", sample, requests);
      CHECK(lost.contains(11));
      CHECK_FALSE(lost.contains(12));

      const std::string before = testing::digest_now(dir / "s");
      const PurgeReport report = testing::purge(dir / "s");
      CHECK(digest_text(report.digest) == before);
      for (const NodeId node : lost) importing.names[node].clear();
      testing::import_sample(dir / "fresh", sample, importing);
      testing::propagate_store(dir / "fresh", testing::tiny_spec(2));
      CHECK(testing::bytes_but_certificates(dir / "s") == testing::bytes_but_certificates(dir / "fresh"));
      CHECK(testing::digest_now(dir / "fresh") == before);
      const VerifyReport verified = verify_store(dir / "s", {std::nullopt, true, 1}, ample_budget());
      CHECK(testing::text_of(verified) == "");
      // The name is in no byte of the store any more.
      const std::string name = "node-" + std::to_string(120 - 11);
      for (const auto& [file, bytes] : folder_bytes(dir / "s")) CHECK(bytes.find(name) == std::string::npos);

      const auto purged = folder_bytes(dir / "s");
      testing::purge(dir / "s", {.always = true});
      CHECK(folder_bytes(dir / "s") == purged);
    }
  }

  TEST_CASE("new nodes come with names, as in an import that had them, and not with one that somebody has") {
    for (const char* const order : {"none", "degree"}) {
      CAPTURE(order);
      const TempDir dir;
      Sample sample = testing::random_sample(120, 0.03, 4, 6);
      Importing importing{order, FeatureType::f32, false, names_for(sample)};
      testing::import_sample(dir / "s", sample, importing);
      testing::propagate_store(dir / "s", testing::tiny_spec(2));
      std::vector<Request> requests = testing::random_requests(sample, 20, 3);
      requests.push_back({RequestKind::remove_node, 11, 0});
      const std::set<NodeId> lost = stream_and_lose(dir / "s", sample, requests);
      REQUIRE(lost.contains(11));
      const std::string free = importing.names[11];
      for (const NodeId node : lost) importing.names[node].clear();
      const auto purge = [&](const std::string& names, std::optional<std::uint64_t> nodes) {
        return testing::purge(dir / "s",
                              {.nodes = nodes, .names = InputFile{testing::write_file(dir / "names", names), {}}});
      };
      const auto before = folder_bytes(dir / "s");
      CHECK_THROWS_AS(purge("new\n", std::nullopt), UsageError);
      CHECK_THROWS_WITH_AS(purge("a\nb\n" + importing.names[100] + "\n", 130),
                           doctest::Contains("line 3: a node of the store has the name"), InputError);
      CHECK_THROWS_AS(purge("a\nb\na\n", 130), InputError);
      CHECK_THROWS_WITH_AS(purge("a\nb\nc\n", 122), doctest::Contains("nodes=123"), InputError);
      CHECK_THROWS_AS(purge("a b\n", 130), InputError);
      CHECK(folder_bytes(dir / "s") == before);
      // One of them takes the name that a removed node had.
      const PurgeReport report = purge("a\n\n" + free + "\nd\n", 130);
      CHECK(report.nodes_added == 10);
      sample.nodes = 130;
      sample.features.resize(std::size_t{130} * sample.columns);
      sample.labels.resize(130, kNoLabel);
      for (const std::string& name : {std::string("a"), std::string(), free, std::string("d")})
        importing.names.push_back(name);
      importing.names.resize(130);
      testing::import_sample(dir / "fresh", sample, importing);
      testing::propagate_store(dir / "fresh", testing::tiny_spec(2));
      testing::check_same_store(dir / "s", dir / "fresh");
      CHECK(digest_text(report.digest) == testing::digest_now(dir / "fresh"));
      CHECK(testing::text_of(verify_store(dir / "s", {std::nullopt, true, 1}, ample_budget())) == "");
    }
    const TempDir dir;
    testing::import_sample(dir / "numbers", testing::random_sample(20, 0.1, 3, 7), {});
    CHECK_THROWS_AS(testing::purge(dir / "numbers", {.nodes = 30, .names = InputFile{dir / "none", {}}}), UsageError);
  }

  TEST_CASE("a node that has nothing but a name is removed too, once") {
    const TempDir dir;
    Sample sample = testing::random_sample(30, 0.2, 3, 8);
    std::erase_if(sample.edges, [](const auto& edge) { return edge.first == 4 || edge.second == 4; });
    std::fill_n(sample.features.begin() + 12, 3, 0.0F);
    sample.labels[4] = kNoLabel;
    Importing importing{"none", FeatureType::f32, false, names_for(sample)};
    testing::import_sample(dir / "s", sample, importing);
    testing::propagate_store(dir / "s", testing::tiny_spec(1));
    const std::vector<Request> requests{
        {RequestKind::remove_feature, 4, 0}, {RequestKind::remove_node, 4, 0}, {RequestKind::remove_node, 4, 0}};
    {
      LiveStore live(dir / "s", Access::write, ample_budget(), release_ledger());
      CHECK(live.resolve(requests).statuses ==
            std::vector<RequestStatus>{RequestStatus::no_features, RequestStatus::applied, RequestStatus::repeated});
      live.apply(requests, live.resolve(requests), {});
      CHECK(live.resolve(std::span(requests).last(1)).statuses[0] == RequestStatus::empty_node);
      CHECK(live.contents().name(4).empty());
    }
    testing::purge(dir / "s");
    importing.names[4].clear();
    testing::import_sample(dir / "fresh", sample, importing);
    testing::propagate_store(dir / "fresh", testing::tiny_spec(1));
    CHECK(testing::bytes_but_certificates(dir / "s") == testing::bytes_but_certificates(dir / "fresh"));
  }

  TEST_CASE("verify finds damaged names; repair makes the index anew, byte for byte, and names what is lost") {
    const TempDir dir;
    const Sample sample = testing::random_sample(100, 0.05, 3, 4);
    testing::import_sample(dir / "s", sample, {"degree", FeatureType::f32, false, names_for(sample)});
    testing::propagate_store(dir / "s", testing::tiny_spec(2));
    const NameEntries names = read_manifest(dir / "s").names.value();
    const auto whole = folder_bytes(dir / "s");
    for (const int kind : {0, 1, 2}) {
      const fs::path index = dir / "s" / names.index.path;
      if (kind == 0) testing::flip_middle(index);
      if (kind == 1) testing::write_file(index, testing::read_all(index).substr(1));
      if (kind == 2) fs::remove(index);
      const VerifyReport found = verify_store(dir / "s", {std::nullopt, false, 1}, ample_budget());
      CHECK_FALSE(found.ok());
      CHECK(testing::text_of(found).find(names.index.path) != std::string::npos);
      const auto report = testing::repair(dir / "s");
      REQUIRE(report.size() == 1);
      CHECK(report[0].file == index.string());
      CHECK(report[0].remedy == "rebuilt");
      CHECK_FALSE(report[0].lost);
      auto after = folder_bytes(dir / "s");
      after.erase("lock");
      auto before = whole;
      before.erase("lock");
      CHECK(after == before);
    }
    testing::flip_middle(dir / "s" / names.names.path);
    const auto report = testing::repair(dir / "s");
    REQUIRE(report.size() == 1);
    CHECK(report[0].lost);
    CHECK(report[0].remedy.find("restore the file from a copy") != std::string::npos);
    CHECK_THROWS_AS(testing::digest_now(dir / "s"), FormatError);
  }

  TEST_CASE("a manifest with names has a version of its own, and both must agree") {
    const TempDir dir;
    const Sample sample = testing::random_sample(20, 0.1, 2, 4);
    testing::import_sample(dir / "s", sample, {"none", FeatureType::f32, false, names_for(sample)});
    const std::string text = testing::read_all(dir / "s" / "manifest.json");
    CHECK(text.find("\"version\": 6,") != std::string::npos);
    std::string other = text;
    other.replace(other.find("\"version\": 6,"), 13, "\"version\": 5,");
    testing::write_file(dir / "s" / "manifest.json", other);
    CHECK_THROWS_AS(read_manifest(dir / "s"), FormatError);
  }
}

}  // namespace unweave
