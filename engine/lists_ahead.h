// engine/lists_ahead.h - asking for the lists of many nodes before their turn.
#pragma once

#include <cstddef>
#include <span>

#include "engine/graph.h"
#include "storage/types.h"

namespace unweave {

/// For a loop over the lists of `nodes`, which outlive it: asks for them some hundred before their turn. Lists that lie near
/// each other are asked for with what lies between, since one long request is sooner served than several short ones.
class ListsAhead {
 public:
  ListsAhead(const Graph& graph, std::span<const NodeId> nodes) noexcept : graph_(graph), nodes_(nodes) {}
  /// The turn of nodes[item] begins; items come in ascending order, from 0 on.
  void at(std::size_t item) const noexcept {
    if (item == 0) ask(0, kItems);
    if (item % kItems == 0) ask(item + kItems, item + 2 * kItems);
  }

 private:
  static constexpr std::size_t kItems = 256;
  void ask(std::size_t first, std::size_t last) const noexcept;

  const Graph& graph_;
  std::span<const NodeId> nodes_;
};

}  // namespace unweave
