// tests/algorithms/propagation/level0_test.cpp - normalised features are the same, whichever rows
// and columns are asked for together.
#include "algorithms/propagation/level0.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "algorithms/live/store_reader.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

std::vector<std::int32_t> filled(const TileFill& fill, TileColumns columns, NodeRange rows) {
  std::vector<std::int32_t> out(std::size_t{rows.size()} * columns.count);
  fill(columns, rows, out.data());
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("tiles of more values than are read at a time hold what single rows of all columns hold") {
    constexpr NodeId kNodes = 3000;
    constexpr std::uint32_t kColumns = 100;
    REQUIRE(kNodes * kColumns > kLevel0Values);
    for (const bool sparse : {false, true}) {
      CAPTURE(sparse);
      const testing::TempDir folder(
          testing::Where::disk);  // where features are more likely to come past the page cache
      testing::TinyStore contents = testing::random_store(kNodes, 6000, kColumns, 8);
      contents.sparse = sparse;
      testing::write_store(folder / "s", contents);
      testing::propagate_store(folder / "s", testing::tiny_spec(1));
      const StoreReader store(folder / "s", testing::ample_budget());
      const PropagationSpec spec = testing::tiny_spec(1);
      std::vector<std::int32_t> expected(std::size_t{kNodes} * kColumns);
      for (NodeId node = 0; node < kNodes; ++node)
        store.embedding().normalised_sums(0, node, &expected[std::size_t{node} * kColumns]);
      CHECK(std::any_of(expected.begin(), expected.end(), [](std::int32_t t) { return t != 0; }));
      for (const TileFill& fill : {level0_rows(store.contents(), spec), level0_fill(store.contents(), spec),
                                   level0_fill(store.contents(), spec, nullptr, true)}) {
        CHECK(filled(fill, {0, kColumns}, {0, kNodes}) == expected);
        for (const TileColumns columns : {TileColumns{0, 99}, TileColumns{37, 1}, TileColumns{20, 70}}) {
          const std::vector<std::int32_t> some = filled(fill, columns, {5, kNodes - 1});
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < some.size(); ++i)
            wrong += some[i] != expected[(i / columns.count + 5) * kColumns + columns.first + i % columns.count];
          CHECK(wrong == 0);
        }
      }
    }
  }

  TEST_CASE("norms of columns that are measured as tiles are filled are those of a pass over the features") {
    for (const bool sparse : {false, true}) {
      CAPTURE(sparse);
      const testing::TempDir folder;
      testing::TinyStore contents = testing::random_store(3000, 6000, 100, 8);
      contents.sparse = sparse;
      testing::write_store(folder / "s", contents);
      const StoreReader store(folder / "s", testing::ample_budget());
      PropagationSpec expected = testing::tiny_spec(1), spec = expected;
      measure_columns(store.contents(), expected);
      CHECK(std::all_of(expected.column_norms.begin(), expected.column_norms.end(), [](double x) { return x > 0; }));
      // Rows and columns in pieces of any size, the last ones first.
      ColumnNorms norms(100);
      const TileFill fill = level0_fill(store.contents(), spec, &norms, true);
      for (const TileColumns columns : {TileColumns{64, 36}, TileColumns{0, 63}, TileColumns{63, 1}})
        for (const NodeRange rows : {NodeRange{2000, 3000}, NodeRange{0, 1}, NodeRange{1, 2000}})
          static_cast<void>(filled(fill, columns, rows));
      norms.finish(spec);
      CHECK(spec.column_norms == expected.column_norms);
      CHECK(spec.code_norm == expected.code_norm);
    }
  }
}

}  // namespace unweave
