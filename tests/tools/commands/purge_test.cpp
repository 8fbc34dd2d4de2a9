// tests/tools/commands/purge_test.cpp - `unweave purge` as its user runs it: what it says, on real
// files, killed before calls that change files.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/generations/store_purge.h"
#include "storage/input/edges/edge_reader.h"
#include "storage/input/features/feature_reader.h"
#include "storage/input/nodes/label_reader.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/process.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::folder_bytes;
using testing::must;
using testing::TempDir;
using Json = nlohmann::json;

/// All files of a store but the public certificates and their key, which outlive a purge.
std::map<std::string, std::string> bytes_without_trail(const fs::path& store) {
  auto files = folder_bytes(store);
  std::erase_if(files, [](const auto& file) {
    const std::string& name = file.first;
    return name == "certificates/signing-key" || name == "certificates/requests" ||
           (name.starts_with("certificates/") && name.ends_with(".jsonl") && !name.ends_with(".private.jsonl"));
  });
  return files;
}

/// The packages of Debian in memory, to be changed by hand; of the features the first columns.
struct Packages {
  static constexpr NodeId kNodes = 63'666;
  static constexpr std::uint32_t kColumns = 150;
  static constexpr std::uint32_t kClasses = 58;
  const fs::path data = fs::path(UNWEAVE_SOURCE_DIR) / "tests/data/debian-deps";
  std::set<std::pair<NodeId, NodeId>> edges;
  std::vector<std::vector<std::int32_t>> columns;  // columns of each node
  std::vector<std::int32_t> labels;

  Packages() : columns(kNodes) {
    const auto edge_reader = open_edges({data / "edges.tsv.zst", {}});
    std::vector<Edge> some(10'000);
    while (const std::size_t count = edge_reader->read(some))
      for (const Edge& edge : std::span(some).first(count))
        if (edge.u != edge.v) edges.insert({std::min(edge.u, edge.v), std::max(edge.u, edge.v)});
    const auto features =
        open_csr_features({{data / "feat_indptr.npy.zst", {}}, {data / "feat_indices.npy.zst", {}}, {}}, 2575);
    FeatureBatch batch;
    while (features->next(batch, 100'000))
      for (std::size_t r = 0; r < batch.rows; ++r)
        for (std::uint64_t i = batch.indptr[r]; i < batch.indptr[r + 1]; ++i)
          if (batch.indices[i] < kColumns)
            columns[batch.first_row + r].push_back(static_cast<std::int32_t>(batch.indices[i]));
    labels.resize(kNodes);
    const auto label_reader = open_labels({data / "labels.npy", {}});
    for (std::size_t at = 0; at < labels.size();) at += label_reader->read(std::span(labels).subspan(at));
  }

  void clear(NodeId node) {
    columns[node].clear();
    labels[node] = -1;
  }

  void import(const fs::path& store, const std::string& order, const std::string& type) const {
    const TempDir dir;
    std::string text;
    for (const auto& [u, v] : edges) text += std::to_string(v) + "\t" + std::to_string(u) + "\n";
    testing::write_file(dir / "edges.tsv", text);
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    for (const auto& row : columns) {
      indices.insert(indices.end(), row.begin(), row.end());
      indptr.push_back(static_cast<std::int64_t>(indices.size()));
    }
    const auto shape = [](std::size_t count) { return "(" + std::to_string(count) + ",)"; };
    testing::write_file(dir / "indptr.npy", testing::npy("<i8", shape(indptr.size()), indptr));
    testing::write_file(dir / "indices.npy", testing::npy("<i4", shape(indices.size()), indices));
    testing::write_file(dir / "labels.npy", testing::npy("<i4", shape(labels.size()), labels));
    must({"import", store.string(), "--edges", (dir / "edges.tsv").string(), "--features",
          "indptr=" + (dir / "indptr.npy").string() + ",indices=" + (dir / "indices.npy").string(), "--columns",
          std::to_string(kColumns), "--feature-type", type, "--labels", (dir / "labels.npy").string(), "--classes",
          std::to_string(kClasses), "--split",
          "train=" + (data / "train_idx.npy").string() + ",valid=" + (data / "val_idx.npy").string() +
              ",test=" + (data / "test_idx.npy").string(),
          "--order", order});
  }
};

/// Removes edges, nodes and features and inserts edges, in the packages and in lines of requests.
std::string change(Packages& packages, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<std::pair<NodeId, NodeId>> edges(packages.edges.begin(), packages.edges.end());
  std::string lines;
  const auto say = [&](const std::string& kind, NodeId u) { lines += kind + " " + std::to_string(u); };
  for (std::size_t i = 0; i < count; ++i) {
    const auto node = static_cast<NodeId>(random() % Packages::kNodes);
    if (i % 10 == 0) {
      say("node", node);
      std::erase_if(packages.edges, [&](const auto& edge) { return edge.first == node || edge.second == node; });
      packages.clear(node);
    } else if (i % 10 == 1) {
      say("feature", node);
      packages.clear(node);
    } else if (i % 10 == 2) {
      const auto other = static_cast<NodeId>(random() % (Packages::kNodes - 1));
      say("insert-edge", node);
      lines += " " + std::to_string(other);
      if (node != other) packages.edges.insert({std::min(node, other), std::max(node, other)});
    } else {
      const auto& [u, v] = edges[random() % edges.size()];
      say("edge", v);
      lines += " " + std::to_string(u);
      packages.edges.erase({u, v});
    }
    lines += "\n";
  }
  return lines;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("purge says what it did and what to run next") {
    const TempDir dir;
    const std::string store = (dir / "s").string();
    testing::write_file(dir / "e.txt", "0 1\n1 2\n2 3\n3 4\n4 0\n");
    testing::write_file(dir / "x.npy", testing::npy("<f4", "(5, 2)", std::vector<float>(10, 0.25F)));
    testing::write_file(dir / "r.txt", "edge 0 1\nnode 3\n");
    const std::vector<std::string> import{
        "import",  store,   "--edges", (dir / "e.txt").string(), "--features", (dir / "x.npy").string(),
        "--order", "degree"};
    REQUIRE(testing::run(import).code == 0);
    CHECK(testing::run({"purge", (dir / "none").string()}).code == 2);
    CHECK(testing::run({"purge"}).code == 1);
    REQUIRE(testing::run({"propagate", store, "--rows", "all"}).code == 0);
    REQUIRE(testing::run({"stream", store, "--requests", (dir / "r.txt").string()}).code == 0);
    const auto streamed = testing::run({"info", store, "--json"}).json();
    CHECK(streamed["acknowledged"] == 2);
    CHECK(streamed["pending_purge"] == false);

    const auto plan = testing::run({"plan", store, "--purge", "--keep-order", "--json"}).json();
    const auto whole = testing::run({"plan", store, "--purge", "--json"}).json();
    CHECK(plan["computes_order"] == false);
    CHECK(plan["temporary_bytes"] == 0);
    CHECK(whole["computes_order"] == true);
    CHECK(whole["bytes_rewritten"] > plan["bytes_rewritten"]);
    CHECK(whole["disk_bytes"] > whole["bytes_rewritten"]);
    CHECK(testing::run({"plan", store, "--keep-order"}).code == 1);
    CHECK(testing::run({"plan", store, "--purge", "--hops", "2"}).code == 1);
    CHECK(testing::run({"plan", store, "--purge", "--requests", "-"}).code == 1);

    const auto kept = testing::run({"purge", store, "--keep-order", "--json"}).json();
    CHECK(kept["bytes_rewritten"] <= plan["bytes_rewritten"]);
    CHECK(kept["requests"] == 2);
    CHECK(kept["order_recomputed"] == false);
    CHECK(kept["proof"] == "digest");
    CHECK(kept["digest"] == streamed["digest"]);
    CHECK(kept["bytes_rewritten"] > 0);
    CHECK(kept["bytes_removed"] > 0);
    CHECK(kept["next"] == "unweave verify " + store + " --rebuild");
    const auto info = testing::run({"info", store, "--json"}).json();
    CHECK(info["acknowledged"] == 0);
    CHECK(info["pending_requests"] == 0);
    CHECK(info["digest"] == streamed["digest"]);

    const auto again = testing::run({"purge", store, "--always"});
    CHECK(again.code == 0);
    for (const std::string& words :
         std::vector<std::string>{"bytes rewritten", "bytes kept", "bytes removed", "computed anew",
                                  "digest " + streamed["digest"].get<std::string>(), "next: unweave verify " + store})
      CHECK_MESSAGE(again.out.find(words) != std::string::npos, words);
    CHECK(testing::run({"verify", store, "--rebuild"}).code == 0);
  }

  TEST_CASE("info and verify tell of a purge that was interrupted; the next purge ends it") {
    const TempDir dir;
    const std::string store = (dir / "s").string();
    testing::write_file(dir / "e.txt", "0 1\n1 2\n");
    REQUIRE(testing::run({"import", store, "--edges", (dir / "e.txt").string()}).code == 0);
    begin_purge(dir / "s");
    CHECK(testing::run({"info", store, "--json"}).json()["pending_purge"] == true);
    const auto verified = testing::run({"verify", store});
    CHECK(verified.code == 0);
    CHECK(verified.out.find("run `unweave purge " + store + "` again") != std::string::npos);
    CHECK(testing::run({"purge", store}).code == 0);
    CHECK(testing::run({"info", store, "--json"}).json()["pending_purge"] == false);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("real packages: purged within a budget, also after kills, the store is that of a fresh import") {
    const Packages all;
    for (const std::string order : {"none", "degree", "bfs", "community", "auto"}) {
      CAPTURE(order);
      const std::string type = order == "none" ? "f32" : "f16";
      const TempDir dir;
      const std::string store = (dir / "s").string(), fresh = (dir / "fresh").string();
      Packages rest = all;
      all.import(store, order, type);
      must({"propagate", store});
      testing::write_file(dir / "first.txt", change(rest, 600, 3));
      testing::write_file(dir / "second.txt", change(rest, 300, 4));
      must({"stream", store, "--requests", (dir / "first.txt").string(), "--batch", "200"});
      must({"stream", store, "--requests", (dir / "second.txt").string(), "--r-max", "0.001"});
      must({"train", store, "--solver", "newton", "--lambda", "1e-2"});
      rest.import(fresh, order, type);
      must({"propagate", fresh});
      const auto expected = folder_bytes(fresh);
      fs::copy(store, dir / "killed", fs::copy_options::recursive);

      const Json plan = Json::parse(must({"plan", store, "--purge", "--json"}));
      fs::copy(store, dir / "counted", fs::copy_options::recursive);
      const long calls = testing::calls_of({"purge", (dir / "counted").string()});
      const Json report = Json::parse(must({"purge", store, "--memory", "80M", "--json"}));
      CHECK(report["peak_anonymous_bytes"] < 80 << 20);
      CHECK(report["bytes_rewritten"] <= plan["bytes_rewritten"]);
      CHECK(report["digest"] == Json::parse(must({"info", fresh, "--json"}))["digest"]);
      CHECK(bytes_without_trail(store) == expected);
      must({"verify", store, "--rebuild", "--sample", "all"});

      for (int round = 0; round < 10; ++round) {  // later and later
        CAPTURE(round);
        const testing::Stop stop{SIGKILL, 1 + calls * round / 10};
        REQUIRE(testing::run_stopped({"purge", (dir / "killed").string()}, stop, dir / "out") == -SIGKILL);
        const std::uint64_t acknowledged =
            Json::parse(must({"info", (dir / "killed").string(), "--json"}))["acknowledged"];
        CHECK((acknowledged == 0 || acknowledged == 900));
        if (acknowledged == 0) break;
      }
      must({"purge", (dir / "killed").string()});
      CHECK(bytes_without_trail(dir / "killed") == expected);
    }
  }
}

}  // namespace unweave
