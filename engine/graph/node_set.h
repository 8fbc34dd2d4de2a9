// engine/graph/node_set.h - a set of nodes as bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/io/types.h"

namespace unweave {

/// A set of nodes as one bit a node, allocated at the first insertion.
class NodeSet {
 public:
  explicit NodeSet(NodeId nodes) : nodes_(nodes) {}
  [[nodiscard]] bool contains(NodeId node) const noexcept {
    return !words_.empty() && ((words_[node / 64] >> (node % 64)) & 1U) != 0;
  }
  void insert(NodeId node) {
    if (words_.empty()) words_.resize(std::size_t{nodes_} / 64 + 1);
    size_ += contains(node) ? 0 : 1;
    words_[node / 64] |= std::uint64_t{1} << (node % 64);
  }
  void erase(NodeId node) {
    if (!contains(node)) return;
    words_[node / 64] &= ~(std::uint64_t{1} << (node % 64));
    --size_;
  }
  [[nodiscard]] NodeId size() const noexcept { return size_; }
  [[nodiscard]] std::vector<NodeId> sorted() const {
    std::vector<NodeId> nodes;
    nodes.reserve(size_);
    for (std::size_t word = 0; word < words_.size(); ++word)
      for (std::uint64_t bits = words_[word]; bits != 0; bits &= bits - 1)
        nodes.push_back(static_cast<NodeId>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
    return nodes;
  }

 private:
  NodeId nodes_;
  NodeId size_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace unweave
