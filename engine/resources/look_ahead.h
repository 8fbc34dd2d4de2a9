// engine/resources/look_ahead.h - asking for what the items of a loop need before their turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "storage/io/types.h"

namespace unweave {

/// Calls ask(item) for the items [first, last) of a loop, each once and in order, some hundred
/// items before their turn: far enough ahead for a disk to read many pieces side by side, near
/// enough that they are still in memory when they are used.
template <class Ask>
class LookAhead {
 public:
  LookAhead(std::size_t first, std::size_t last, Ask ask) : next_(first), last_(last), ask_(std::move(ask)) {}
  /// The turn of `item` begins.
  void at(std::size_t item) {
    for (const std::size_t end = std::min(last_, item + kItems); next_ < end; ++next_) ask_(next_);
  }

 private:
  static constexpr std::size_t kItems = 256;  // items asked for ahead, of 64 KiB at most: 16 MiB a thread
  std::size_t next_, last_;
  Ask ask_;
};

/// For a loop over all blocks of a graph in order, or over tasks of it that begin with these
/// blocks: asks for what follows some MiB ahead, as many at a time.
template <class Graph>
void read_ahead_of(const Graph& graph, std::size_t block) {
  constexpr std::size_t kBlocks = 1024;
  if (block % kBlocks == 0) graph.read_ahead(block == 0 ? 0 : block + kBlocks, block + 2 * kBlocks);
}

/// The rule of NodesAhead by which every node has to be asked for.
struct AskForAll {
  bool operator()(NodeId /*node*/) const noexcept { return false; }
};

/// For a loop over `nodes`, which outlive it and mostly ascend: calls ask(range) for ranges that
/// hold them all but those of which is_there(node) says that they need not be asked for, each some
/// hundred items before its turn. Nodes less than `near` apart share a range with what lies
/// between: one long request is sooner served than several short ones.
template <class Ask, class IsThere = AskForAll>
class NodesAhead {
 public:
  NodesAhead(std::span<const NodeId> nodes, std::uint64_t near, Ask ask, IsThere is_there = {})
      : nodes_(nodes), near_(near), ask_(std::move(ask)), is_there_(std::move(is_there)) {}
  /// The turn of nodes[item] begins; items come in ascending order, from 0 on.
  void at(std::size_t item) {
    if (item == 0) look(0, kItems);
    if (item % kItems == 0) look(item + kItems, item + 2 * kItems);
  }

 private:
  static constexpr std::size_t kItems = 256;
  void look(std::size_t first, std::size_t last) {
    last = std::min(last, nodes_.size());
    while (first < last) {
      NodeRange range{nodes_[first], nodes_[first] + 1};
      if (is_there_(nodes_[first++])) continue;
      for (; first < last && nodes_[first] >= range.first && nodes_[first] < range.last + near_; ++first)
        if (!is_there_(nodes_[first])) range.last = std::max(range.last, nodes_[first] + 1);
      ask_(range);
    }
  }
  std::span<const NodeId> nodes_;
  std::uint64_t near_;
  Ask ask_;
  IsThere is_there_;
};

}  // namespace unweave
