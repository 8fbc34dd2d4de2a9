// tests/storage/formats/order_file_test.cpp - a permutation and its inverse come back; what is no
// permutation is refused.
#include "storage/formats/order_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "storage/io/error.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;

FileEntry write_words(const std::filesystem::path& store, const std::vector<NodeId>& words, std::uint64_t nodes) {
  SealedWriter writer({store, "graph", "order", "order", "order"});
  writer.append_values(std::span<const NodeId>(words));
  return writer.finish({nodes});
}

TEST_SUITE("unit") {
  TEST_CASE("positions and ids are inverse to each other") {
    for (const NodeId nodes : {1U, 2U, 33U, 40'000U}) {
      CAPTURE(nodes);
      const TempDir dir;
      std::vector<NodeId> positions(nodes);
      std::iota(positions.begin(), positions.end(), 0U);
      std::shuffle(positions.begin(), positions.end(), std::mt19937(nodes));
      const OrderFile file(dir.path(), write_order(dir.path(), positions), nodes);
      file.verify();
      for (NodeId id = 0; id < nodes; ++id) {
        CHECK(file.position(id) == positions[id]);
        CHECK(file.user(positions[id]) == id);
      }
    }
  }

  TEST_CASE("another number of nodes, ids out of range and repeated ids are refused") {
    const TempDir dir;
    const FileEntry three = write_order(dir.path(), std::vector<NodeId>{2, 0, 1});
    CHECK_THROWS_AS(OrderFile(dir.path(), three, 4), FormatError);
    CHECK_THROWS_AS(OrderFile(dir.path(), write_words(dir.path(), {0, 1, 0, 1}, 3), 2), FormatError);
    CHECK_THROWS_AS(OrderFile(dir.path(), write_words(dir.path(), {0, 1, 0}, 2), 2), FormatError);
    const OrderFile high(dir.path(), write_words(dir.path(), {2, 0, 0, 1}, 2), 2);
    CHECK_THROWS_AS(static_cast<void>(high.position(0)), FormatError);
    CHECK_THROWS_AS(static_cast<void>(high.position(1)), FormatError);  // where node 0 stands
    CHECK_THROWS_AS(high.verify(), FormatError);
  }

  TEST_CASE("two ids at one position, or two positions of one id, are refused where they are asked for") {
    const TempDir dir;
    for (const std::vector<NodeId>& words :
         {std::vector<NodeId>{0, 0, 2, 0, 1, 2}, {0, 1, 2, 0, 0, 2}, {1, 0, 2, 0, 1, 2}}) {
      const OrderFile twice(dir.path(), write_words(dir.path(), words, 3), 3);
      CHECK(twice.position(2) == 2);
      CHECK(twice.user(2) == 2);
      CHECK_THROWS_AS(twice.verify(), FormatError);
      const auto all = [&](NodeId (OrderFile::*of)(NodeId) const) {
        for (NodeId id = 0; id < 3; ++id) static_cast<void>((twice.*of)(id));
      };
      CHECK_THROWS_AS(all(&OrderFile::position), FormatError);
      CHECK_THROWS_AS(all(&OrderFile::user), FormatError);
    }
  }
}

}  // namespace
}  // namespace unweave
