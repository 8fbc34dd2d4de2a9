// tests/storage/formats/changes_file_test.cpp - what a checkpoint says was set: rows packed and
// read back, and files of nonsense that are refused.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include "storage/formats/expiry_file.h"
#include "storage/formats/node_file.h"
#include "storage/formats/run_file.h"
#include "storage/io/error.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

// Files have these as they lie in memory. Room between members, or behind them, would bring bytes
// of the process into a file.
static_assert(std::has_unique_object_representations_v<Edge>);
static_assert(std::has_unique_object_representations_v<SetLabel>);
static_assert(std::has_unique_object_representations_v<SetSplit>);
static_assert(std::has_unique_object_representations_v<PackedExpiry>);

SetRow row_of(NodeId node, const std::vector<float>& values) {
  return {node, std::make_shared<const std::vector<std::uint32_t>>(pack_row(values))};
}

SetRow words_of(NodeId node, std::vector<std::uint32_t> words) {
  return {node, std::make_shared<const std::vector<std::uint32_t>>(std::move(words))};
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows of any share of zeros come back bit for bit, whole and in part") {
    std::mt19937 random(3);
    for (const std::uint32_t columns : {1U, 2U, 3U, 17U, 100U})
      for (const unsigned share : {0U, 1U, 5U, 9U, 10U}) {
        std::vector<float> row(columns);
        for (float& value : row)
          value = random() % 10 < share ? static_cast<float>(random() % 7) / 8 : random() % 9 == 0 ? -0.0F : 0.0F;
        const std::vector<std::uint32_t> words = pack_row(row);
        CHECK(words.size() <= columns + 1);
        const auto first = static_cast<std::uint32_t>(random() % columns);
        std::vector<float> all(columns, 9), some(columns - first, 9);
        unpack_row(words, columns, 0, all);
        unpack_row(words, columns, first, some);
        const auto same = [](std::span<const float> a, std::span<const float> b) {
          return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
        };
        CHECK(same(all, row));
        CHECK(same(some, std::span(row).subspan(first)));
      }
  }

  TEST_CASE("units of weight come back, as repeats of edges or beside them, and wrong ones are refused") {
    const testing::TempDir dir;
    Changes changes;
    changes.removed = {{0, 1, 3}, {0, 2, 1}, {4, 9, 5}};
    changes.inserted = {{1, 2, 2}};
    changes.cleared = {7};
    changes.labels = {{2, 1}};
    ChangesScope repeated{10, 4, 3, 5}, beside{10, 4, 3, kMostWeight};
    beside.with_units = true;
    const FileEntry first = write_changes(dir.path(), changes);
    CHECK(read_changes(dir.path(), first, repeated) == changes);
    CHECK(count_changes(dir.path(), first).edges == 11);
    CHECK_THROWS_AS(static_cast<void>(read_changes(dir.path(), first, ChangesScope{10, 4, 3, 4})), FormatError);

    changes.removed[2].units = kMostWeight;
    const FileEntry second = write_changes(dir.path(), changes, false, true);
    CHECK(read_changes(dir.path(), second, beside) == changes);
    CHECK(count_changes(dir.path(), second, false, true).edges == 4);
    CHECK(second.bytes < first.bytes);
    CHECK_THROWS_AS(static_cast<void>(read_changes(dir.path(), second, repeated)), FormatError);
    // Behind the units stands what is said of whole graphs.
    ChangesScope with_graphs = beside;
    with_graphs.graphs = 4;
    changes.graphs.of_nodes = {{2, 3}};
    const FileEntry third = write_changes(dir.path(), changes, true, true);
    CHECK(read_changes(dir.path(), third, with_graphs) == changes);
    CHECK(count_changes(dir.path(), third, true, true).graphs == 1);
    const std::vector<std::function<void(Changes&)>> faults = {
        [](Changes& c) { c.removed[0].units = 0; },      [](Changes& c) { c.inserted[0].units = kMostWeight + 1; },
        [](Changes& c) { c.removed[1] = c.removed[0]; }, [](Changes& c) { std::swap(c.removed[0], c.removed[1]); },
        [](Changes& c) { c.removed[2].v = 10; },         [](Changes& c) { c.inserted[0].u = 2; },
    };
    for (std::size_t i = 0; i < faults.size(); ++i) {
      CAPTURE(i);
      Changes bad = changes;
      faults[i](bad);
      CHECK_THROWS_AS(
          static_cast<void>(read_changes(dir.path(), write_changes(dir.path(), bad, true, true), with_graphs)),
          FormatError);
    }
  }

  TEST_CASE("changes come back; nodes, labels, splits and rows that cannot be are refused") {
    const testing::TempDir dir;
    const ChangesScope scope{10, 4, 3};
    Changes good;
    good.removed = {{0, 1}};
    good.cleared = {2, 5, 7};
    good.labels = {{2, 1}, {3, kNoLabel}};
    good.splits = {{2, SplitName::test}, {3, SplitName::none}};
    good.rows = {row_of(2, {0, 0, 0.5F, 0}), row_of(9, {0.5F, 0.5F, -0.5F, 0.5F})};
    const FileEntry entry = write_changes(dir.path(), good);
    CHECK(read_changes(dir.path(), entry, scope) == good);
    const ChangesCounts counts = count_changes(dir.path(), entry);
    CHECK(counts.edges == 1);
    CHECK(counts.labels == 2);
    CHECK(counts.splits == 2);
    CHECK(counts.rows == 2);
    CHECK(counts.row_bytes >= 2 * 5 * sizeof(std::uint32_t));

    // Lost names stand at the end where the manifest says that they do.
    ChangesScope with_names = scope;
    with_names.lost_names = true;
    CHECK(read_changes(dir.path(), entry, with_names) == good);
    Changes lost = good;
    lost.lost_names = {0, 7};
    const FileEntry of_lost = write_changes(dir.path(), lost);
    CHECK(read_changes(dir.path(), of_lost, with_names) == lost);
    CHECK_THROWS_AS(static_cast<void>(read_changes(dir.path(), of_lost, scope)), FormatError);
    for (const std::vector<NodeId>& wrong : {std::vector<NodeId>{10}, {3, 2}, {3, 3}}) {
      lost.lost_names = wrong;
      CHECK_THROWS_AS(static_cast<void>(read_changes(dir.path(), write_changes(dir.path(), lost), with_names)),
                      FormatError);
    }

    // What is said of whole graphs stands before the rows where the store has some.
    ChangesScope with_graphs = scope;
    with_graphs.graphs = 4;
    Changes graphs = good;
    graphs.graphs.of_nodes = {{2, 3}, {7, kNoGraph}};
    graphs.graphs.labels = {{0, kNoLabel}, {3, 2}};
    graphs.graphs.splits = {{3, SplitName::train}};
    const FileEntry of_graphs = write_changes(dir.path(), graphs, true);
    CHECK(read_changes(dir.path(), of_graphs, with_graphs) == graphs);
    CHECK(count_changes(dir.path(), of_graphs, true).graphs == 5);
    CHECK_THROWS_AS(static_cast<void>(read_changes(dir.path(), of_graphs, scope)), FormatError);
    CHECK_THROWS_AS(static_cast<void>(read_changes(dir.path(), entry, with_graphs)), FormatError);
    const std::vector<std::function<void(GraphChanges&)>> faults_of_graphs = {
        [](GraphChanges& c) { c.of_nodes[0].graph = 4; },
        [](GraphChanges& c) { c.of_nodes[0].graph = -2; },
        [](GraphChanges& c) { c.of_nodes[1].node = 10; },
        [](GraphChanges& c) { std::swap(c.of_nodes[0], c.of_nodes[1]); },
        [](GraphChanges& c) { c.labels[1].node = 4; },
        [](GraphChanges& c) { c.labels[1].label = 3; },
        [](GraphChanges& c) { c.splits[0].split = static_cast<SplitName>(4); },
        [](GraphChanges& c) { c.splits[0].node = 4; },
    };
    for (std::size_t i = 0; i < faults_of_graphs.size(); ++i) {
      CAPTURE(i);
      Changes bad = graphs;
      faults_of_graphs[i](bad.graphs);
      CHECK_THROWS_AS(static_cast<void>(read_changes(dir.path(), write_changes(dir.path(), bad, true), with_graphs)),
                      FormatError);
    }

    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<std::function<void(Changes&)>> faults = {
        [](Changes& c) { c.labels[1].node = 10; },
        [](Changes& c) { std::swap(c.labels[0], c.labels[1]); },
        [](Changes& c) { c.labels[0].label = 3; },
        [](Changes& c) { c.labels[0].label = -2; },
        [](Changes& c) { c.splits[0].split = static_cast<SplitName>(4); },
        [](Changes& c) { c.splits[1].node = 2; },
        [](Changes& c) { c.rows[1].node = 10; },
        [](Changes& c) { std::swap(c.rows[0], c.rows[1]); },
        [](Changes& c) {
          c.rows[0] = row_of(2, {0.25F, 0.25F, 0.5F});
        },
        [](Changes& c) {
          c.rows[1] = row_of(9, {1, 1, 0, 0});
        },
        [&](Changes& c) {
          c.rows[1] = row_of(9, {infinity, 1, 0, 0});
        },
        [](Changes& c) {
          c.rows[0] = words_of(2, {1, 4, 0x3F000000});
        },
        [](Changes& c) {
          c.rows[0] = words_of(2, {1, 1, 0});
        },
        [](Changes& c) {
          c.rows[0] = words_of(2, {3, 0x3F000000, 0, 0x3E000000, 0});
        },
        [](Changes& c) { c.rows[0] = words_of(2, {0xFFFFFFFF}); },
        [](Changes& c) { c.rows[1] = words_of(9, {}); },
    };
    for (std::size_t i = 0; i < faults.size(); ++i) {
      CAPTURE(i);
      Changes bad = good;
      faults[i](bad);
      const FileEntry written = write_changes(dir.path(), bad);
      CHECK_THROWS_AS(static_cast<void>(read_changes(dir.path(), written, scope)), FormatError);
    }
  }
}

}  // namespace unweave
