// tests/algorithms/propagation/node_sample_test.cpp - a sample of nodes is spread over those that matter, and never empty.
#include "algorithms/propagation/node_sample.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace unweave {
namespace {

constexpr NodeId kPiece = 64;

std::vector<NodeId> numbers(const std::vector<NodeRange>& pieces) {
  std::vector<NodeId> firsts;
  for (const NodeRange piece : pieces) {
    CHECK(piece.first % kPiece == 0);
    firsts.push_back(piece.first / kPiece);
  }
  return firsts;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("pieces are taken at even distances, all of them where none may be left out") {
    CHECK(sample_pieces(0, kPiece, nullptr, 1).empty());
    const std::vector<NodeRange> all = sample_pieces(200, kPiece, nullptr, 0.3);
    CHECK(numbers(all) == std::vector<NodeId>{0, 1, 2, 3});
    CHECK(all.front().last == kPiece);
    CHECK(all.back().last == 200);
    CHECK(numbers(sample_pieces(9 * kPiece, kPiece, nullptr, 3)) == std::vector<NodeId>{1, 4, 7});
    CHECK(numbers(sample_pieces(9 * kPiece, kPiece, nullptr, 1e9)) == std::vector<NodeId>{4});
    for (NodeId pieces = 1; pieces < 40; ++pieces)
      for (const double stride : {1.0, 1.5, 2.0, 7.3}) {
        const std::vector<NodeId> taken = numbers(sample_pieces(pieces * kPiece, kPiece, nullptr, stride));
        CHECK(static_cast<double>(taken.size()) == std::ceil(pieces / stride));
        const NodeId most = (pieces + static_cast<NodeId>(taken.size()) - 1) / static_cast<NodeId>(taken.size());
        for (std::size_t i = 1; i < taken.size(); ++i) {
          CHECK(taken[i] > taken[i - 1]);
          CHECK(taken[i] - taken[i - 1] <= most);
        }
      }
  }

  TEST_CASE("only pieces with a wanted node count, wherever they lie") {
    RowMask wanted(1000);
    CHECK(sample_pieces(1000, kPiece, &wanted, 1).empty());
    for (NodeId node = 0; node < 50; ++node) wanted.insert(node);  // as with hubs first
    for (const double stride : {1.0, 3.0, 100.0})
      CHECK(numbers(sample_pieces(1000, kPiece, &wanted, stride)) == std::vector<NodeId>{0});
    wanted.insert(5 * kPiece - 1);
    wanted.insert(999);  // in the last piece, which is not full
    CHECK(numbers(sample_pieces(1000, kPiece, &wanted, 1)) == std::vector<NodeId>{0, 4, 15});
    CHECK(numbers(sample_pieces(1000, kPiece, &wanted, 3)) == std::vector<NodeId>{4});
  }
}

}  // namespace unweave
