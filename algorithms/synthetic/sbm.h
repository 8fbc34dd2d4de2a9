// algorithms/synthetic/sbm.h - a stochastic block model: nodes in equal blocks, most edges inside
// one, each edge computed from its index alone.
//
// source   Holland, Laskey, Leinhardt, Stochastic blockmodels: first steps, Social Networks 5
// (1983), in the form with a
//          given number of edges: both ends of an edge lie in one block with probability
//          kHomophily.
#pragma once

#include <cstdint>

#include "algorithms/random/permutation.h"
#include "storage/io/types.h"

namespace unweave {

/// Immutable; any number of threads at once.
class BlockModel {
 public:
  static constexpr double kHomophily = 0.8;

  /// `nodes` >= 1 in `blocks` >= 1 blocks whose sizes differ by one at most. Ids are permuted: an
  /// id says nothing.
  BlockModel(NodeId nodes, std::uint32_t blocks, std::uint64_t seed) noexcept;

  /// Edge `index`. Duplicates and self loops are as they fall; with one block every edge is inside.
  [[nodiscard]] Edge edge(std::uint64_t index) const noexcept;
  [[nodiscard]] std::uint32_t block(NodeId node) const noexcept { return block_at(ids_.place_of(node)); }

 private:
  [[nodiscard]] std::uint32_t block_at(std::uint64_t place) const noexcept {
    return static_cast<std::uint32_t>(place * blocks_ / nodes_);
  }
  [[nodiscard]] std::uint64_t first_place(std::uint64_t block) const noexcept {
    return (block * nodes_ + blocks_ - 1) / blocks_;
  }
  [[nodiscard]] NodeId node_at(std::uint64_t place) const noexcept { return static_cast<NodeId>(ids_.at(place)); }

  std::uint64_t nodes_;
  std::uint64_t blocks_;
  std::uint64_t edge_key_;
  Permutation ids_;
};

}  // namespace unweave
