// tests/tools/commands/inspect_test.cpp - info, verify and export as programs call them.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/live/store_writer.h"
#include "algorithms/models/model_record.h"
#include "storage/formats/state_file.h"
#include "support/input_files.h"
#include "support/npy_file.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::Npy;
using testing::Result;
using testing::run;
using testing::TempDir;
using testing::tiny_spec;

/// The path 0-1-2, two levels: see check of S^2 in the golden test.
const std::vector<double> kSums{12933433, 13872105, 5518881};
const std::vector<double> kDegrees{2, 3, 2};

float path_embedding(std::size_t node) {
  return static_cast<float>(std::sqrt(kDegrees[node]) * std::nearbyint(kSums[node] / kDegrees[node]) / 16777216.0);
}

std::string make_path_store(const TempDir& folder, bool all_rows = true) {
  testing::write_store(folder / "s", testing::path_of_three());
  testing::propagate_store(folder / "s", tiny_spec(2, all_rows));
  return (folder / "s").string();
}

TEST_SUITE("unit") {
  TEST_CASE("info has every field of the contract, before and after propagate and a stream") {
    const TempDir folder;
    const std::string store = (folder / "s").string();
    testing::write_store(store, testing::path_of_three());
    const Json before = run({"info", store, "--json"}).json();
    CHECK(before["nodes"] == 3);
    CHECK(before["edges"] == 2);
    CHECK(before["arcs"] == 4);
    CHECK(before["features"] == 1);
    CHECK(before["classes"] == 2);
    CHECK(before["targets"] == 2);
    const auto shard_bytes = static_cast<double>(before["bytes"]["graph"].get<std::uint64_t>());
    CHECK(before["bits_per_arc"].get<double>() == 8 * shard_bytes / 4);
    CHECK(before["order"] == "none");
    CHECK(before["hops"].is_null());
    CHECK(before["stale_rows"] == 0);
    CHECK(before["pending_requests"] == 0);
    CHECK(before["acknowledged"] == 0);
    CHECK(before["digest"].get<std::string>().size() == 64);

    testing::propagate_store(store, tiny_spec(2));
    {
      StoreWriter live(store, testing::ample_budget());
      const std::vector<Request> requests{{RequestKind::remove_edge, 1, 2}};
      live.apply(requests, live.resolve(requests), {});
    }
    const Json after = run({"info", store, "--json"}).json();
    CHECK(after["edges"] == 1);
    CHECK(after["targets"] == 3);
    CHECK(after["hops"] == 2);
    CHECK(after["pending_requests"] == 1);
    CHECK(after["acknowledged"] == 1);
    CHECK(after["digest"] != before["digest"]);
  }

  TEST_CASE("info of a store without arcs") {
    testing::TinyStore contents;
    contents.nodes = 2;
    const TempDir folder;
    testing::write_store(folder / "s", contents);
    const Json info = run({"info", (folder / "s").string(), "--json"}).json();
    CHECK(info["bits_per_arc"].is_null());
    CHECK(info["targets"] == 2);
  }

  TEST_CASE("info for people computes a digest only when asked") {
    const TempDir folder;
    const std::string store = make_path_store(folder);
    CHECK(run({"info", store}).out.find("digest") == std::string::npos);
    const std::string digest = run({"info", store, "--json"}).json()["digest"];
    CHECK(run({"info", store, "--digest"}).out.find(digest) != std::string::npos);
    CHECK(run({"info", (folder / "none").string()}).code == 2);
  }

  TEST_CASE("verify prints one object and tells damage from falsehood by its exit code") {
    const TempDir folder;
    const std::string store = make_path_store(folder);
    const Result good = run({"verify", store, "--json", "--rebuild", "--sample", "all"});
    CHECK(good.code == 0);
    CHECK(good.error.empty());
    CHECK(good.json()["ok"] == true);
    CHECK(good.json()["checked"].get<std::uint64_t>() > 10);
    CHECK(good.json()["errors"] == Json::array());
    CHECK(run({"verify", store}).out.find("all checks hold") != std::string::npos);
    CHECK(run({"verify", store, "--sample", "some"}).code == 1);
    CHECK(run({"verify", store, "--sample", "-1"}).code == 1);

    Manifest manifest = read_manifest(store);
    const std::vector<std::int32_t> wrong{1, 2, 3};
    StatePartitionWriter writer(store, 2, {0, 3}, 1, {});
    writer.add(wrong);
    manifest.levels[2].partitions[0] = writer.finish();
    write_manifest(store, manifest);
    const Result untrue = run({"verify", store, "--json"});
    CHECK(untrue.code == 4);
    CHECK(untrue.json()["ok"] == false);
    CHECK(untrue.json()["errors"].size() == 1);  // the partition in which they lie
    CHECK(std::count(untrue.error.begin(), untrue.error.end(), '\n') == 1);

    std::ofstream(fs::path(store) / manifest.labels->path) << "x";
    fs::remove(fs::path(store) / manifest.train->path);
    const Result damaged = run({"verify", store, "--json"});
    CHECK(damaged.code == 2);
    CHECK(damaged.json()["errors"].size() == 2);
    CHECK(run({"verify", store}).code == 2);
  }

  TEST_CASE("verify computes models again and tells damaged ones from false ones by its exit code") {
    const TempDir folder;
    const std::string store = make_path_store(folder);
    CHECK(run({"verify", store, "--json"}).json()["models"] == 0);
    for (const char* solver : {"newton", "scalegun"}) CHECK(run({"train", store, "--solver", solver}).code == 0);
    const Result good = run({"verify", store, "--json"});
    CHECK(good.code == 0);
    CHECK(good.json()["models"] == 2);
    CHECK(good.json()["remarks"] == Json::array());
    const std::string text = run({"verify", store}).out;
    const std::string row = text.substr(std::min(text.find("\nmodels "), text.size() - 1));
    CHECK(row.substr(0, row.find('\n', 1)).ends_with(" 2"));

    ModelRecord record = load_model(store, "newton");
    record.model.published *= -1;
    save_model(store, record);
    const Result other = run({"verify", store, "--json"});
    CHECK(other.code == 2);
    CHECK(other.json()["errors"][0].get<std::string>().find("another model than when the store was closed") !=
          std::string::npos);
    Manifest forged = read_manifest(store);
    forged.releases.clear();
    write_manifest(store, forged);
    const Result untrue = run({"verify", store, "--json"});
    CHECK(untrue.code == 4);
    REQUIRE(untrue.json()["errors"].size() == 2);
    CHECK(untrue.json()["errors"][0].get<std::string>().starts_with("models: newton: id is \"newton-1-"));
    CHECK(untrue.json()["models"] == 1);

    const fs::path file = fs::path(store) / "models" / "newton.model";
    testing::flip_middle(file);
    const Result damaged = run({"verify", store, "--json"});
    CHECK(damaged.code == 2);
    CHECK(damaged.json()["errors"].size() == 1);
    CHECK(damaged.error.find("or run `unweave train " + store + " --solver newton`") != std::string::npos);
    std::ofstream(fs::path(store) / "certificates" / "scalegun.jsonl") << "garbage \xff\n";
    CHECK(run({"verify", store, "--json"}).json()["errors"].size() == 2);
    CHECK(run({"train", store, "--solver", "newton"}).code == 0);
    CHECK(run({"verify", store}).code == 2);
  }

  TEST_CASE("export writes all embeddings, or those of given nodes in their order") {
    const TempDir folder;
    const std::string store = make_path_store(folder);
    const std::string file = (folder / "z.npy").string();
    std::ofstream(file) << "what was there before";
    CHECK(run({"export", store, "--embeddings", file}).code == 0);
    const Npy<float> all(file);
    CHECK(all.header.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1), }"));
    REQUIRE(all.values.size() == 3);
    for (std::size_t node = 0; node < 3; ++node) CHECK(all.values[node] == path_embedding(node));

    std::ofstream(folder / "ids.txt") << "2\n0\n2\n";
    const std::string ids = (folder / "ids.txt").string();
    CHECK(run({"export", store, "--embeddings", file, "--nodes", ids}).code == 0);
    CHECK(Npy<float>(file).values == std::vector<float>{path_embedding(2), path_embedding(0), path_embedding(2)});

    CHECK(run({"export", store, "--embeddings", file, "--weights", "1,0,0"}).code == 0);
    CHECK(Npy<float>(file).values[0] == doctest::Approx(1.0).epsilon(1e-6));
    for (const auto& item : fs::directory_iterator(folder.path())) CHECK(item.path().extension() != ".new");
  }

  TEST_CASE("export writes labels and training nodes of the present moment, which a removed node has left") {
    const TempDir folder;
    const std::string store = make_path_store(folder), labels = (folder / "y.npy").string(),
                      train = (folder / "t.npy").string();
    const auto exported = [&] { CHECK(run({"export", store, "--labels", labels, "--train", train}).code == 0); };
    exported();
    CHECK(Npy<std::int64_t>(labels).header.starts_with("{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }"));
    CHECK(Npy<std::int64_t>(labels).values == std::vector<std::int64_t>{0, -1, 1});
    CHECK(Npy<std::int64_t>(train).values == std::vector<std::int64_t>{0});
    std::ofstream(folder / "requests.txt") << "node 0\n";
    CHECK(run({"stream", store, "--requests", (folder / "requests.txt").string()}).code == 0);
    exported();
    CHECK(Npy<std::int64_t>(labels).values == std::vector<std::int64_t>{-1, -1, 1});
    CHECK(Npy<std::int64_t>(train).values.empty());
  }

  TEST_CASE("export never invents rows and leaves the file alone when it fails") {
    const TempDir folder;
    const std::string store = make_path_store(folder, false);
    const std::string file = (folder / "z.npy").string();
    std::ofstream(folder / "targets.txt") << "2\n0\n";
    std::ofstream(folder / "other.txt") << "# nodes\n0\n1\n";
    std::ofstream(folder / "absent.txt") << "3\n";
    const auto failure = [&](std::vector<std::string> words) {
      words.insert(words.begin(), {"export", store});
      const Result result = run(words);
      CHECK(result.out.empty());
      CHECK_FALSE(result.error.empty());
      CHECK_FALSE(fs::exists(file));
      return result.code;
    };
    CHECK(failure({"--embeddings", file, "--nodes", (folder / "other.txt").string()}) == 1);
    CHECK(failure({"--embeddings", file, "--nodes", (folder / "absent.txt").string()}) == 2);
    CHECK(failure({"--embeddings", file, "--nodes", (folder / "none.txt").string()}) == 2);
    const std::string targets = (folder / "targets.txt").string();
    CHECK(failure({"--embeddings", file, "--nodes", targets, "--weights", "1,0"}) == 1);
    CHECK(failure({}) == 1);
    CHECK(failure({"--edges", file, "--nodes", targets}) == 1);
    CHECK(failure({"--edges", (folder / "no" / "folder.npy").string()}) == 2);
    CHECK(failure({"--edges", folder.path().string()}) == 2);
    for (const char* const inside : {"/edges.npy", "/graph/edges.npy", "/manifest.json", "/models/../new"})
      CHECK(failure({"--edges", store + inside}) == 1);
    CHECK(failure({"--requests", store + "/requests", "--draw", "edge", "--count", "1"}) == 1);
    CHECK(run({"verify", store}).code == 0);
    CHECK(run({"export", store, "--embeddings", file, "--nodes", targets}).code == 0);
    CHECK(Npy<float>(file).values == std::vector<float>{path_embedding(2), path_embedding(0)});
  }

  TEST_CASE("export needs propagate for embeddings, not for edges") {
    const TempDir folder;
    testing::TinyStore contents = testing::random_store(200, 400, 2, 9);
    testing::write_store(folder / "s", contents);
    const std::string store = (folder / "s").string();
    const std::string file = (folder / "e.npy").string();
    CHECK(run({"export", store, "--embeddings", file}).code == 1);
    CHECK(run({"export", store, "--edges", file}).code == 0);
    std::vector<std::pair<NodeId, NodeId>> wanted;
    for (const Edge& edge : contents.edges)
      if (edge.u != edge.v) wanted.emplace_back(std::min(edge.u, edge.v), std::max(edge.u, edge.v));
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    const Npy<std::int64_t> edges(file);
    CHECK(edges.header.starts_with("{'descr': '<i8', 'fortran_order': False, 'shape': (" +
                                   std::to_string(wanted.size()) + ", 2), }"));
    REQUIRE(edges.values.size() == 2 * wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CHECK(edges.values[2 * i] == wanted[i].first);
      CHECK(edges.values[2 * i + 1] == wanted[i].second);
    }
  }
}

}  // namespace
}  // namespace unweave
