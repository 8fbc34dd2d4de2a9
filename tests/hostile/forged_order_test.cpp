// tests/hostile/forged_order_test.cpp - an order of the nodes whose checksums are right and which
// is no permutation.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "storage/formats/manifest.h"
#include "storage/formats/order_file.h"
#include "support/folder_bytes.h"
#include "support/hostile/full_store.h"
#include "support/imported_sample.h"
#include "support/input_files.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace unweave::testing {
namespace {

namespace fs = std::filesystem;

/// Writes both halves of an order, whatever they hold, and has the manifest name the file.
std::string put_order(const fs::path& store, const std::vector<NodeId>& words) {
  SealedWriter writer({store, "graph", "order", "order", "order"});
  writer.append_values(std::span<const NodeId>(words));
  Manifest manifest = read_manifest(store);
  manifest.order_file = writer.finish({words.size() / 2});
  write_manifest(store, manifest);
  return manifest.order_file->path;
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE(
      "two ids at one position, or one id at two: every command that asks for them names the file and its place") {
    const TempDir dir;
    const fs::path store = dir / "s";
    const Ended built = run_apart([&] {
      const Sample sample = random_sample(60, 0.08, 2, 3);
      import_sample(store, sample, {"bfs", FeatureType::f32, false, {}});
      propagate_store(store, tiny_spec(1));
      return std::string();
    });
    REQUIRE_MESSAGE(built.code == 0, built.text);
    REQUIRE(run_process({"train", store.string(), "--solver", "exact", "--quiet"}).code == 0);
    const NodeId nodes = read_manifest(store).nodes;
    std::vector<NodeId> words(std::size_t{2} * nodes);
    {
      const OrderFile order(store, read_manifest(store).order_file.value(), nodes);
      for (NodeId id = 0; id < nodes; ++id) {
        words[id] = order.position(id);
        words[std::size_t{nodes} + id] = order.user(id);
      }
    }
    write_file(dir / "requests", "node 7\n");
    const std::string s = store.string(), requests = (dir / "requests").string();
    const std::vector<std::vector<std::string>> commands = {
        {"purge", s, "--always"},
        {"purge", s, "--nodes", "70"},
        {"verify", s},
        {"info", s, "--digest"},
        {"export", s, "--embeddings", (dir / "z.npy").string(), "--missing", "nan"},
        {"export", s, "--edges", (dir / "e.npy").string()},
        {"export", s, "--labels", (dir / "l.npy").string()},
        {"export", s, "--all", (dir / "whole").string()},
        {"predict", s}};
    struct Forged {
      const char* what;
      std::size_t from, to;
    };
    for (const Forged& one :
         {Forged{"two ids at one position", 3, 7},
          {"one id at two positions", std::size_t{nodes} + words[3], std::size_t{nodes} + words[7]}}) {
      CAPTURE(one.what);
      std::vector<NodeId> forged = words;
      forged[one.to] = forged[one.from];
      const std::string file = put_order(store, forged);
      const auto before = folder_bytes(store);
      for (const std::vector<std::string>& command : commands) {
        fs::remove_all(dir / "whole");
        const Finished end = run_process(command);
        CAPTURE(command[0]);
        CAPTURE(end.error);
        CHECK(end.code == 2);
        CHECK(end.error.find(file) != std::string::npos);
        CHECK(end.error.find("byte ") != std::string::npos);
        CHECK(end.error.find("restore the file from a copy") != std::string::npos);
      }
      const auto after = folder_bytes(store);
      // With more nodes the model is trained for their default lambda before files are read; it and
      // its certificates are whole.
      for (const auto& [name, bytes] : before) {
        const std::string& shown = name;
        CAPTURE(shown);
        const bool follows_lambda =
            name.starts_with("models/") || name.starts_with("certificates/") || name == "manifest.json";
        const bool is_stray = name.starts_with("graph/order-") && name != file;  // the true one, which is named no more
        if (!follows_lambda && !is_stray) CHECK((after.contains(name) && after.at(name) == bytes));
      }
      CHECK(run_process({"stream", s, "--requests", requests}).code == 2);
      fs::remove(store / file);
    }
  }
}

}  // namespace unweave::testing
