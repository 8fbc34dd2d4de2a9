// tests/algorithms/pushed_rows_test.cpp - rows to push: what they hold, and that all of it is charged.
#include "algorithms/pushed_rows.h"

#include <doctest/doctest.h>

#include <string>

#include "algorithms/live_store.h"
#include "engine/gather.h"
#include "storage/error.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 30;

std::uint64_t row_bytes(std::uint32_t columns) {
  return sizeof(NodeId) + columns * sizeof(std::int32_t);
}

/// A hub whose removal changes every node.
testing::Sample star(NodeId leaves, std::uint32_t columns) {
  testing::Sample sample;
  sample.nodes = leaves + 1;
  for (NodeId leaf = 1; leaf <= leaves; ++leaf) sample.edges.insert({0, leaf});
  testing::add_features(sample, columns, 3);
  return sample;
}

/// Pushes through all levels what the removal of the star's hub changes; returns the bytes that were charged at most.
std::uint64_t push_removal(const std::filesystem::path& store, std::uint32_t columns, std::uint64_t memory) {
  MemoryBudget budget(memory);
  const Manifest manifest = read_manifest(store);
  Contents contents(store, manifest);
  Embedding embedding(store, manifest, contents);
  const Request removal{RequestKind::remove_node, 0, 0};
  try {
    Update update(contents, embedding, budget, {store, Plan::push, false});
    update.apply(resolve_batch(contents, {&removal, 1}), Threshold(columns, 0));
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
    for (const std::uint32_t columns : {1U, 7U, 600'000U}) {
      CAPTURE(columns);
      const std::size_t rows = columns > 1000 ? 3 : 5000;
      MemoryBudget budget(kPlenty);
      std::vector<PushedRows> parts;
      for (int part = 0; part < 3; ++part) parts.emplace_back(columns, budget);
      std::vector<std::int32_t> delta(columns);
      for (std::size_t i = 0; i < rows; ++i) {
        delta[columns - 1] = static_cast<std::int32_t>(10 * i + 1);
        parts[i < rows / 2 ? 0 : 2].add(static_cast<NodeId>(3 * i), delta.data());  // none in the one between
        CHECK(budget.used() >= (i + 1) * row_bytes(columns));
      }
      CHECK(budget.used() <= 2 * (rows + 4) * row_bytes(columns));
      const std::uint64_t before = budget.peak();
      const PushSources sources = PushedRows::joined(std::move(parts), columns, budget);
      CHECK(budget.peak() == before);
      CHECK(budget.used() == rows * row_bytes(columns));
      REQUIRE(sources.nodes.size() == rows);
      REQUIRE(sources.deltas.size() == rows * columns + kTilePadding);
      for (std::size_t i = 0; i < rows; ++i) {
        CHECK(sources.nodes[i] == 3 * i);
        CHECK(sources.deltas[(i + 1) * columns - 1] == static_cast<std::int32_t>(10 * i + 1));
      }
      for (std::size_t i = rows * columns; i < sources.deltas.size(); ++i) CHECK(sources.deltas[i] == 0);
    }
  }

  TEST_CASE("what an update pushes and captures is charged, and a batch of too much names what helps") {
    constexpr NodeId kLeaves = 4000;
    constexpr std::uint32_t kColumns = 48;
    const testing::TempDir folder;
    testing::build_store(folder / "s", star(kLeaves, kColumns));
    testing::propagate_store(folder / "s", testing::tiny_spec(2, true));
    // Captured are levels 0 and 1 and what is deferred. All leaves are pushed from level 0 to 1, and from there on.
    const std::uint64_t rows = 2 * kLeaves * row_bytes(kColumns);
    const std::uint64_t captured = std::uint64_t{3} * kLeaves * kColumns * sizeof(std::int32_t);
    CHECK(push_removal(folder / "s", kColumns, kPlenty) >= rows + captured);
    for (const std::uint64_t memory : {captured / 2, captured + rows / 4, captured + 3 * rows / 4}) {
      std::string message;
      try {
        push_removal(folder / "s", kColumns, memory);
      } catch (const ResourceError& error) {
        message = error.what();
      }
      CAPTURE(message);
      CHECK(message.find("--memory") != std::string::npos);
      CHECK(message.find("--batch") != std::string::npos);
      CHECK(message.find(memory < captured ? "rows that change" : "rows to push") != std::string::npos);
    }
  }
}

}  // namespace unweave
