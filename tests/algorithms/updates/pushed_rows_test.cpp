// tests/algorithms/updates/pushed_rows_test.cpp - rows to push: what they hold, and that all of it
// is charged.
#include "algorithms/updates/pushed_rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "algorithms/live/live_store.h"
#include "engine/resources/parallel.h"
#include "engine/sweep/gather.h"
#include "storage/io/error.h"
#include "support/open_spools.h"
#include "support/special_values.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::kPlenty;

std::uint64_t row_bytes(std::uint32_t columns) {
  return sizeof(NodeId) + sizeof(std::uint64_t) + columns * sizeof(std::int32_t);
}

/// A hub whose removal changes every node.
testing::Sample star(NodeId leaves, std::uint32_t columns) {
  testing::Sample sample;
  sample.nodes = leaves + 1;
  for (NodeId leaf = 1; leaf <= leaves; ++leaf) sample.edges.insert({0, leaf});
  testing::add_features(sample, columns, 3);
  return sample;
}

/// That graph as a store, propagated over two levels.
void build_star(const std::filesystem::path& store, NodeId leaves, std::uint32_t columns) {
  testing::build_store(store, star(leaves, columns));
  testing::propagate_store(store, testing::tiny_spec(2, true));
}

/// Pushes through all levels what the removal of the star's hub changes, as a reader does; returns
/// the bytes that were charged at most.
std::uint64_t push_removal(const std::filesystem::path& store, std::uint32_t columns, std::uint64_t memory,
                           testing::AllSums* sums = nullptr, const std::function<void()>& folding = {}) {
  MemoryBudget budget(memory);
  const Manifest manifest = read_manifest(store);
  Contents contents(store, manifest);
  Embedding embedding(store, manifest, contents);
  const Request removal{RequestKind::remove_node, 0, 0};
  try {
    ChangedRows rows(budget, store, [&](StateLevel& level) {
      if (folding) folding();
      level.fold(store, budget);
    });
    Update update(contents, embedding, rows, {{}, Plan::push, false});
    update.apply(resolve_batch(contents, {&removal, 1}), Threshold(columns, 0));
    if (sums != nullptr) *sums = testing::sums_of(embedding, contents.num_nodes());
  } catch (const ResourceError&) {
    CHECK(budget.used() == 0);
    throw;
  }
  CHECK(budget.used() == 0);
  return budget.peak();
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("parts are joined in order, with zeros behind them; charged are their rows and little more") {
    const testing::TempDir folder;
    for (const std::uint32_t columns : {1U, 7U, 600'000U}) {
      CAPTURE(columns);
      const std::size_t rows = columns > 1000 ? 3 : 5000;
      MemoryBudget budget(kPlenty);
      const auto spool = std::make_shared<PushSpool>(folder.path(), columns, static_cast<NodeId>(3 * rows), budget);
      std::vector<PushedRows> parts;
      for (int part = 0; part < 3; ++part) parts.emplace_back(columns, budget, spool);
      std::vector<std::int32_t> delta(columns);
      for (std::size_t i = 0; i < rows; ++i) {
        delta[columns - 1] = static_cast<std::int32_t>(10 * i + 1);
        // The part between gets no rows.
        parts[i < rows / 2 ? 0 : 2].add(static_cast<NodeId>(3 * i), delta.data(), 1000 + i);
        CHECK(budget.used() >= (i + 1) * row_bytes(columns));
      }
      CHECK(budget.used() <= 2 * (rows + 4) * row_bytes(columns));
      CHECK_FALSE(spool->is_used());
      const std::uint64_t before = budget.peak();
      const PushSources sources = PushedRows::joined(std::move(parts), columns, budget);
      CHECK(budget.peak() == before);
      CHECK(budget.used() == rows * row_bytes(columns));
      REQUIRE(sources.nodes().size() == rows);
      for (std::size_t i = 0; i < rows; ++i) {
        CHECK(sources.nodes()[i] == 3 * i);
        CHECK(sources.fingerprints()[i] == 1000 + i);
        CHECK(sources.deltas()[(i + 1) * columns - 1] == static_cast<std::int32_t>(10 * i + 1));
      }
      for (std::size_t i = rows * columns; i < rows * columns + kTilePadding; ++i) CHECK(sources.deltas()[i] == 0);
    }
  }

  TEST_CASE("rows that a spool takes are those that were added, from several tasks too, without any memory") {
    constexpr std::uint32_t kColumns = 33;
    constexpr NodeId kRows = 20'000;
    const testing::TempDir folder;
    for (const std::uint64_t limit : {std::uint64_t{1} << 20, std::uint64_t{1000}, std::uint64_t{0}}) {  // for 2.6 MB
      CAPTURE(limit);
      MemoryBudget budget(limit);
      const auto spool = std::make_shared<PushSpool>(folder.path(), kColumns, kRows, budget);
      std::vector<PushedRows> parts;
      for (NodeId part = 0; part < 4; ++part) parts.emplace_back(kColumns, budget, spool);
      parallel_ranges(0, parts.size(), 1, [&](std::size_t first, std::size_t last) {
        std::vector<std::int32_t> delta(kColumns);
        for (std::size_t part = first; part < last; ++part) {
          for (auto node = static_cast<NodeId>(part); node < kRows; node += 4) {
            std::iota(delta.begin(), delta.end(), static_cast<std::int32_t>(node));
            parts[part].add(node, delta.data(), std::uint64_t{7} * node);
          }
          CHECK(parts[part].size() == kRows / 4);
        }
      });
      CHECK(spool->is_used());
      const PushSources sources = PushedRows::joined(std::move(parts), kColumns, budget);
      CHECK_FALSE(spool->is_used());
      REQUIRE(sources.nodes().size() == kRows);
      std::vector<bool> seen(kRows);
      for (std::size_t i = 0; i < kRows; ++i) {
        seen[sources.nodes()[i]] = true;
        CHECK(sources.fingerprints()[i] == std::uint64_t{7} * sources.nodes()[i]);
        for (const std::uint32_t c : {0U, kColumns - 1})
          CHECK(sources.deltas()[i * kColumns + c] == static_cast<std::int32_t>(sources.nodes()[i] + c));
      }
      CHECK(std::count(seen.begin(), seen.end(), true) == kRows);
      for (std::size_t i = 0; i < kTilePadding; ++i) CHECK(sources.deltas()[kRows * kColumns + i] == 0);
      CHECK(budget.used() == 0);
    }
  }

  TEST_CASE("a bit that flips in a row that waits to be pushed is noticed where the row arrives") {
    constexpr NodeId kLeaves = 6000;
    constexpr std::uint32_t kColumns = 48;
    const testing::TempDir folder;
    build_star(folder / "s", kLeaves, kColumns);
    // What is captured lies in a file, its fingerprints in memory.
    const std::uint64_t fingerprints = 3 * kLeaves * sizeof(std::uint64_t);
    const std::uint64_t memory =
        fingerprints + kLeaves * row_bytes(kColumns) / 20;  // too little to know where rows lie
    const std::uint64_t level_bytes = kLeaves * (kColumns * sizeof(std::int32_t) + sizeof(std::uint64_t));
    const ThreadLimit two(2);
    testing::AllSums whole, changed;
    push_removal(folder / "s", kColumns, memory, &whole);
    // Rows that wait in a file without a name can be found there. The last nodes wait still when
    // the level is folded.
    for (const NodeId node : {kLeaves, kLeaves - 20, kLeaves - 83}) {
      std::size_t flipped = 0;
      const auto flip = [&] {
        if (flipped > 0) return;
        for (const std::filesystem::path& spool : testing::open_spools(folder / "s")) {
          if (std::filesystem::file_size(spool) <= level_bytes) continue;  // sums of a level, with their checksums
          const std::uint64_t ids = (kLeaves + 1) * sizeof(NodeId), prints = (kLeaves + 1) * sizeof(std::uint64_t);
          const std::uint64_t deltas = (ids + 63) / 64 * 64 + (prints + 63) / 64 * 64;
          std::fstream file(spool, std::ios::in | std::ios::out | std::ios::binary);
          std::vector<NodeId> nodes(kLeaves + 1);
          if (!file.read(reinterpret_cast<char*>(nodes.data()), static_cast<std::streamsize>(ids))) continue;
          const auto row = static_cast<std::uint64_t>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
          if (row == nodes.size()) continue;  // rows that were captured
          const auto place = static_cast<std::streamoff>(deltas + (row * kColumns + 7) * sizeof(std::int32_t));
          char byte = 0;
          if (!file.seekg(place).get(byte)) continue;
          file.seekp(place).put(static_cast<char>(byte ^ 4));
          ++flipped;
        }
      };
      std::string message;
      try {
        push_removal(folder / "s", kColumns, memory, &changed, flip);
      } catch (const DataError& error) {
        message = error.what();
      }
      CHECK(flipped > 0);
      CHECK(message.find("level 1, partition 0 (nodes at positions 0 to 6000): the row of the node at position") == 0);
      CHECK(message.find("does not have the sums of its terms") != std::string::npos);
    }
  }

  TEST_CASE("what an update pushes and captures is charged, and a batch of too much names what helps") {
    constexpr NodeId kLeaves = 4000;
    constexpr std::uint32_t kColumns = 48;
    const testing::TempDir folder;
    build_star(folder / "s", kLeaves, kColumns);
    // Captured are levels 0 and 1 and what is deferred. All leaves are pushed from level 0 to 1,
    // and from there on.
    const std::uint64_t rows = 2 * kLeaves * row_bytes(kColumns);
    const std::uint64_t captured =
        std::uint64_t{3} * kLeaves * (kColumns * sizeof(std::int32_t) + sizeof(std::uint64_t));
    testing::AllSums ample, small;
    const ThreadLimit two(2);  // more threads need more memory
    CHECK(push_removal(folder / "s", kColumns, kPlenty, &ample) >= rows + captured);
    // Rows to push go to files where they do not fit.
    for (const std::uint64_t memory : {captured + rows / 2, captured + rows}) {
      CHECK(push_removal(folder / "s", kColumns, memory, &small) <= memory);
      CHECK(small == ample);
    }
    std::string message;
    try {
      push_removal(folder / "s", kColumns, kLeaves * sizeof(std::uint64_t));  // less than their fingerprints
    } catch (const ResourceError& error) {
      message = error.what();
    }
    CAPTURE(message);
    CHECK(message.find("raise memory") != std::string::npos);
    CHECK(message.find("a smaller batch has fewer") != std::string::npos);
    CHECK(message.find("rows that change") != std::string::npos);
  }
}

}  // namespace unweave
