// tests/algorithms/live/names_test.cpp - stores whose nodes have names: what they hold beside those
// of numbers, what removals take from them, and what a purge, a repair and the digest make of that.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/verification/verify.h"
#include "storage/formats/run_file.h"
#include "storage/input/request_reader.h"
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

/// Streams the requests and says which nodes have lost their names by then: those that were
/// removed.
std::set<NodeId> stream_and_lose(const fs::path& store, Sample& sample, const std::vector<Request>& requests) {
  std::set<NodeId> lost;
  for (const Request& request : requests) {
    if (request.kind == RequestKind::remove_node) lost.insert(static_cast<NodeId>(request.u));
    testing::stream_sample(store, sample, {request}, 1, 0);
  }
  return lost;
}

/// A store of the path ann - bob - cid and the node dan, all of which have features and labels,
/// propagated.
void write_four(const fs::path& store, bool all_rows = false) {
  Sample sample;
  sample.nodes = 4;
  sample.columns = 3;
  sample.classes = 2;
  sample.edges = {{0, 1}, {1, 2}};
  sample.features = {0.5F, 0, 0, 0, 0.5F, 0, 0, 0, 0.5F, 0.25F, 0.25F, 0};
  sample.labels = {0, 1, 0, 1};
  testing::import_sample(store, sample, {"none", FeatureType::f32, false, {"ann", "bob", "cid", "dan"}});
  testing::propagate_store(store, testing::tiny_spec(1, all_rows));
}

/// Sends lines as one batch, and says what became of each.
std::string send(StoreWriter& live, const std::vector<std::string>& lines) {
  const NodeNames& names = live.contents().order().names();
  std::vector<Request> requests;
  for (const std::string& line : lines)
    requests.push_back(parse_request(line, {[&](std::string_view word) { return names.read(word); }, nullptr}).value());
  const BatchReport report = live.apply(requests, live.resolve(requests), {});
  std::string text;
  for (const RequestStatus status : report.changes.statuses)
    text += (text.empty() ? "" : " ") + std::string(name_of(status));
  return text;
}

/// The names of all nodes with blanks between; # and a number for those without one.
std::string names_of(const LiveStore& live) {
  std::string text;
  for (NodeId user = 0; user < live.contents().num_nodes(); ++user)
    text += (user == 0 ? "" : " ") + live.contents().order().names().text(user);
  return text;
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
        CHECK(contents.order().names().find(importing.names[user]) == user);
        CHECK(contents.order().names().read("#" + std::to_string(user)).id == user);
      }
      for (const char* const word : {"", "nobody", "17", "#", "#1x", "#-1"})
        CHECK(contents.order().names().read(word).id == kUnknownName);
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
      requests.push_back({RequestKind::insert_edge, 12, 119});  // what comes to an empty node brings back no name
      requests.push_back({RequestKind::remove_feature, 13, 0});
      const std::set<NodeId> lost = stream_and_lose(dir / "s", sample, requests);
      CHECK(lost.contains(11));
      CHECK(lost.contains(12));

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
      CHECK_THROWS_AS(purge("a,b\n", 130), InputError);
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
      StoreWriter live(dir / "s", ample_budget());
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

  TEST_CASE(
      "a name that its node has lost does not come back, whatever comes to the node, and whenever the store is purged") {
    const std::vector<std::vector<std::string>> later{{},
                                                      {"insert-node #0 0.5 0 0"},
                                                      {"set-label #0 1"},
                                                      {"set-feature #0 1:0.25"},
                                                      {"insert-edge #0 cid"},
                                                      {"insert-edge #0 cid", "node #0"}};
    for (const std::vector<std::string>& lines : later)
      for (const bool all_rows : {false, true}) {
        CAPTURE(lines.size());
        const TempDir dir;
        for (const char* const store : {"a", "b"}) {
          write_four(dir / store, all_rows);
          {
            StoreWriter live(dir / store, ample_budget());
            CHECK(send(live, {"node ann"}) == "applied");
            CHECK(names_of(live) == "#0 bob cid dan");
            CHECK(live.contents().order().names().named() == 3);
          }
          if (*store == 'b') testing::purge(dir / store);
          StoreWriter live(dir / store, ample_budget());
          if (!lines.empty()) CHECK(send(live, lines) == (lines.size() == 2 ? "applied applied" : "applied"));
          CHECK(names_of(live) == "#0 bob cid dan");
          CHECK(send(live, {"node ann", "insert-edge ann bob", "insert-edge bob ann", "edge ann cid expires never",
                            "set-weight ann cid 1", "feature ann"}) ==
                "id-outside id-outside id-outside id-outside id-outside id-outside");
        }
        CHECK(testing::digest_now(dir / "a") == testing::digest_now(dir / "b"));
        StoreWriter(dir / "a", ample_budget()).checkpoint();
        CHECK(testing::digest_now(dir / "a") == testing::digest_now(dir / "b"));
        for (const char* const store : {"a", "b"}) testing::purge(dir / store);
        testing::check_same_store(dir / "a", dir / "b");
        for (const auto& [file, bytes] : folder_bytes(dir / "a")) CHECK(bytes.find("ann") == std::string::npos);
      }
  }

  TEST_CASE("no request but node takes a name") {
    const TempDir dir;
    write_four(dir / "s");
    {
      StoreWriter live(dir / "s", ample_budget());
      CHECK(send(live, {"feature ann", "edge ann bob", "set-label dan none", "set-feature dan 0:0", "feature cid"}) ==
            "applied applied applied applied applied");
      CHECK(names_of(live) == "ann bob cid dan");
      live.checkpoint();
    }
    testing::purge(dir / "s");
    StoreWriter live(dir / "s", ample_budget());
    CHECK(names_of(live) == "ann bob cid dan");
    CHECK(send(live, {"node ann", "node ann", "node #0"}) == "applied id-outside repeated");
    CHECK(send(live, {"node ann", "node #0"}) == "id-outside empty-node");
  }

  TEST_CASE(
      "a word that was read while its node had the name is decided where it stands, also by who reads the journal") {
    const TempDir dir;
    write_four(dir / "s");
    const auto read = [](const LiveStore& live, const std::string& line) {
      return parse_request(line,
                           {[&](std::string_view word) { return live.contents().order().names().read(word); }, nullptr})
          .value();
    };
    std::string digest;
    {
      StoreWriter live(dir / "s", ample_budget());
      const std::vector<Request> first{read(live, "insert-edge ann dan"), read(live, "node ann"),
                                       read(live, "insert-edge bob ann")};
      const std::vector<Request> second{read(live, "insert-edge dan ann"), read(live, "insert-edge #0 dan")};
      CHECK(first[0].u_by_name);
      CHECK(first[0].v_by_name);
      CHECK_FALSE(second[1].u_by_name);
      const BatchReport one = live.apply(first, live.resolve(first), {});
      CHECK(one.changes.statuses ==
            std::vector<RequestStatus>{RequestStatus::applied, RequestStatus::applied, RequestStatus::id_outside});
      const BatchReport two = live.apply(second, live.resolve(second), {});
      CHECK(two.changes.statuses == std::vector<RequestStatus>{RequestStatus::id_outside, RequestStatus::applied});
      CHECK(one.changes.edges_removed == 0);  // how many went with the node is its degree
      const NodeNames& names = live.contents().order().names();
      CHECK(names.text_of(first[1]) == "node ann");  // as its sender knows it
      CHECK(names.text_of(first[2], true) == "insert-edge bob ?");
      CHECK(names.text_of(second[1]) == "insert-edge #0 dan");
      digest = digest_text(content_digest(live));
    }
    {
      StoreWriter live(dir / "s", ample_budget());
      CHECK(digest_text(content_digest(live)) == digest);
      CHECK(live.journal_status(3) == RequestStatus::id_outside);
      CHECK(live.journal_status(5) == RequestStatus::applied);
      live.checkpoint();
    }
    CHECK(testing::digest_now(dir / "s") == digest);
  }

  TEST_CASE("names that were lost are listed in the changes, those of nodes that have one alone") {
    const TempDir dir;
    write_four(dir / "s");
    {
      StoreWriter live(dir / "s", ample_budget());
      CHECK(send(live, {"node ann", "node bob", "insert-edge #1 cid"}) == "applied applied applied");
      live.checkpoint();
    }
    Manifest manifest = read_manifest(dir / "s");
    Changes changes = Contents(dir / "s", manifest).changes();
    CHECK(changes.lost_names == std::vector<NodeId>{0, 1});
    // A list that cannot be is damage.
    changes.lost_names = {0, 4};
    manifest.changes = write_changes(dir / "s", changes);
    CHECK_THROWS_AS(Contents(dir / "s", manifest), FormatError);
    changes.lost_names = {2, 1};
    manifest.changes = write_changes(dir / "s", changes);
    CHECK_THROWS_AS(Contents(dir / "s", manifest), FormatError);
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

  TEST_CASE("a manifest says that the store has names, and programs refuse what they do not know or have not written") {
    const TempDir dir;
    const Sample sample = testing::random_sample(20, 0.1, 2, 4);
    testing::import_sample(dir / "s", sample, {"none", FeatureType::f32, false, names_for(sample)});
    const std::string text = testing::read_all(dir / "s" / "manifest.json");
    const auto with = [&](const std::string& before, const std::string& after) {
      std::string other = text;
      REQUIRE(other.find(before) != std::string::npos);
      other.replace(other.find(before), before.size(), after);
      testing::write_file(dir / "s" / "manifest.json", other);
      return read_manifest(dir / "s");
    };
    const std::string needs = "\"needs\": [\n  \"names\"\n ]";
    CHECK_THROWS_AS(static_cast<void>(with(needs, "\"needs\": []")), FormatError);
    const std::string later = "a later unweave wrote it: use that one";
    for (const std::array<std::string, 4>& one :
         {std::array<std::string, 4>{needs, "\"needs\": [\n  \"names\",\n  \"wings\"\n ]", "needs \"wings\"", later},
          {"\"version\": 12,", "\"version\": 11,", "has version 11, which no release of unweave wrote",
           "import what the unweave that wrote it exports"},
          {"\"version\": 12,", "\"version\": 13,", "has version 13, this program reads version 12", later}}) {
      const std::string& words = one[2];
      CAPTURE(words);
      CHECK_THROWS_WITH_AS(static_cast<void>(with(one[0], one[1])), doctest::Contains(words.c_str()), DataError);
      CHECK_THROWS_WITH_AS(static_cast<void>(with(one[0], one[1])), doctest::Contains(one[3].c_str()), DataError);
    }
  }
}

}  // namespace unweave
