// tests/bench/limits/bench_decode_test.cpp - `bench decode` on small stores: its counts are right
// and its figures make sense.
#include "bench/limits/bench_decode.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "bench/limits/directed_store.h"
#include "bench/limits/program.h"
#include "engine/resources/parallel.h"
#include "storage/formats/sealed_file.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::bench;
using testing::Result;
using testing::TempDir;
using testing::TinyStore;

/// The edges of random_store as a set, so that nothing is shared with the writer of shards.
std::set<std::pair<NodeId, NodeId>> arcs_of(const TinyStore& contents) {
  std::set<std::pair<NodeId, NodeId>> arcs;
  for (const Edge& edge : contents.edges) {
    if (edge.u == edge.v) continue;
    arcs.emplace(edge.u, edge.v);
    arcs.emplace(edge.v, edge.u);
  }
  return arcs;
}

void check_rate(const BenchRate& rate) {
  CHECK(rate.one > 0);
  CHECK(rate.all > 0);
  CHECK(rate.one < 1e13);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("run_bench_decode decodes every arc, fills every figure and gives its memory back" *
            doctest::test_suite("slow")) {
    const TempDir folder;
    // Two shards, the second without neighbours but for one node.
    TinyStore contents = testing::random_store(3000, 20'000, 0, 5);
    contents.nodes = (1 << 16) + 70;
    contents.edges.push_back({7, (1 << 16) + 69});
    contents.features.clear();
    contents.labels.clear();
    contents.classes = 0;
    contents.train.clear();
    contents.valid.clear();
    contents.test.clear();
    const Manifest manifest = testing::write_store(folder / "s", contents);
    const auto arcs = arcs_of(contents);
    std::uint32_t id_sum = 0;
    std::set<NodeId> blocks;
    for (const auto& [u, v] : arcs) {
      id_sum += v;
      blocks.insert(u / 32);
    }
    std::uint64_t file_bytes = 0;
    for (const FileEntry& file : manifest.shards) file_bytes += std::filesystem::file_size(folder / "s" / file.path);

    const ThreadLimit limit(2);
    MemoryBudget budget(std::uint64_t{1} << 30);
    const DecodeBench bench = run_bench_decode(folder / "s", {1, 3}, budget);
    CHECK(bench.nodes == contents.nodes);
    CHECK(bench.arcs == arcs.size());
    CHECK(bench.id_sum == id_sum);
    CHECK(bench.blocks == blocks.size());
    CHECK(bench.zstd_blocks <= bench.blocks);
    CHECK(bench.threads == 2);
    const double bit = 8.0 / static_cast<double>(arcs.size());
    CHECK(bench.bits_per_arc.total() == doctest::Approx(bit * static_cast<double>(file_bytes)));
    CHECK(bench.bits_per_arc.degrees > bit * contents.nodes / 16);  // a shape byte for each 16
    CHECK(bench.bits_per_arc.degrees < bit * contents.nodes);
    CHECK(bench.bits_per_arc.offsets == doctest::Approx(bit * 4 * (2048 + 1 + 3 + 1)));  // blocks of both shards
    CHECK(bench.bits_per_arc.container >= bit * 2 * 128);                                // two headers
    // And a table of 8 bytes a chunk.
    CHECK(bench.bits_per_arc.container < bit * (2 * 150 + 8 * static_cast<double>(file_bytes) / kSealedChunkBytes));
    for (const BenchRate& rate : {bench.decode, bench.memory_sum, bench.cache_sum, bench.lists, bench.encode})
      check_rate(rate);
    CHECK(bench.ratio_to(bench.memory_sum).one == doctest::Approx(bench.decode.one / bench.memory_sum.one));
    CHECK(bench.mean_list_arcs > 1);
    CHECK(bench.mean_list_block_bytes > bench.mean_list_arcs / 8);
    CHECK(budget.used() == 0);
  }

  TEST_CASE("run_bench_decode draws its lists among millions of nodes of which two have neighbours" *
            doctest::test_suite("slow")) {
    const TempDir folder;
    TinyStore contents;
    contents.nodes = 3'000'000;
    contents.edges = {{17, 2'999'999}};
    testing::write_store(folder / "s", contents);
    MemoryBudget budget(std::uint64_t{1} << 30);
    const DecodeBench bench = run_bench_decode(folder / "s", {1, 3}, budget);
    CHECK(bench.arcs == 2);
    CHECK(bench.mean_list_arcs == 1);
    check_rate(bench.lists);
  }

  TEST_CASE("run_bench_decode refuses a store without edges and a budget that is too small") {
    const TempDir folder;
    TinyStore empty;
    empty.nodes = 5;
    testing::write_store(folder / "empty", empty);
    MemoryBudget budget(std::uint64_t{1} << 30);
    CHECK_THROWS_AS((void)run_bench_decode(folder / "empty", {}, budget), UsageError);
    testing::write_store(folder / "s", testing::path_of_three());
    MemoryBudget small(1 << 20);
    CHECK_THROWS_AS((void)run_bench_decode(folder / "s", {}, small), ResourceError);
  }

  TEST_CASE("decode as a command: a named store, a temporary one, tables and JSON" * doctest::test_suite("slow")) {
    const TempDir folder;
    testing::write_store(folder / "s", testing::path_of_three());
    const Result named = bench({"decode", (folder / "s").string(), "--repeats", "1", "--json"});
    REQUIRE(named.code == 0);
    const auto json = nlohmann::json::parse(named.out);
    CHECK(json.at("bench") == "decode");
    CHECK(json.at("arcs") == 4);
    CHECK(json.at("decode_arcs_per_second").at("one_thread").get<double>() > 0);
    CHECK(json.at("ratio").at("all_threads").get<double>() > 0);
    CHECK(json.at("encode_arcs_per_second").at("one_thread").get<double>() > 0);

    const Result made = bench({"decode", "--scale", "8", "--repeats", "1", "--threads", "2"});
    REQUIRE(made.code == 0);
    CHECK(made.error.empty());
    for (const char* part : {"nodes", "256", "bits per arc", "threads: 2", "ratio to memory", "arcs encoded"}) {
      CAPTURE(part);
      CHECK(made.out.find(part) != std::string::npos);
    }
  }

  TEST_CASE("decode --directed: arcs as they stand" * doctest::test_suite("slow")) {
    const TempDir folder;
    std::string text = "2\t2\n65600\t1\n";  // a self loop, and a second span
    for (int u = 0; u < 200; ++u)
      for (int k = 1; k < 30; ++k) text += std::to_string(u) + "\t" + std::to_string(u % 7 + 40 * k + k * k) + "\n";
    std::ofstream(folder / "arcs.tsv") << text << "65600\t1\n";  // repeated
    const Result result = bench({"decode", "--directed", (folder / "arcs.tsv").string(), "--repeats", "1", "--json"});
    REQUIRE(result.code == 0);
    const auto json = nlohmann::json::parse(result.out);
    CHECK(json.at("nodes") == 65'601);
    CHECK(json.at("arcs") == 200 * 29 + 2);
  }

  TEST_CASE("a directed store takes of the budget what its header says" * doctest::test_suite("slow")) {
    const TempDir folder;
    constexpr std::size_t kArcs = std::size_t{1} << 19;
    std::vector<std::int32_t> arcs;  // over 16 spans
    for (std::size_t i = 0; i < kArcs; ++i) {
      arcs.push_back(static_cast<std::int32_t>(2 * i));
      arcs.push_back(static_cast<std::int32_t>(i * 7919 % (2 * kArcs)));
    }
    const std::string shape = "(" + std::to_string(kArcs) + ", 2)";
    const InputFile file{testing::write_file(folder / "arcs.npy", testing::npy("<i4", shape, arcs)), {}};
    constexpr std::uint64_t kBytes = 8 * kArcs + 24 * kArcs / 16 + 12 * 65'536;
    MemoryBudget enough(kBytes), little(kBytes - 1);
    write_directed_store(folder / "s", file, enough);
    CHECK(enough.peak() == kBytes);
    CHECK(enough.used() == 0);
    CHECK_THROWS_AS(write_directed_store(folder / "t", file, little), ResourceError);
    MemoryBudget ample(std::uint64_t{1} << 30);
    CHECK(run_bench_decode(folder / "s", {1, 3}, ample).arcs == kArcs);
  }

  TEST_CASE("the benchmarks refuse what does not belong together") {
    const auto check_usage = [](const std::vector<std::string>& words, const std::string& part) {
      const Result result = bench(words);
      CAPTURE(result.error);
      CHECK(result.code == 1);
      CHECK(result.out.empty());
      CHECK(result.error.find(part) != std::string::npos);
    };
    check_usage({"gather", "s"}, "unexpected argument 's'");
    check_usage({"decode", "s", "t"}, "unexpected argument 't'");
    check_usage({"decode", "s", "--scale", "8"}, "--scale");
    check_usage({"decode", "--hops", "2"}, "--hops");
    check_usage({"decode", "s", "--directed", "a"}, "give one of them");
    check_usage({"decode", "--directed", "a", "--scale", "8"}, "--scale");
    check_usage({"decode", "--scale", "32"}, "from 1 to 31");
    CHECK(bench({"decode", "no-such-store"}).code == 2);
  }
}

}  // namespace unweave
