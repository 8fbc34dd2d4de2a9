// engine/graph/resident_rows.h - all sums of one level in memory: what a recomputation writes,
// where the budget allows, in place of new files.
//
// Rows are indexed by node; pages of rows outside the receptive field are never touched. put() and
// store() may run on any number of threads at once for distinct blocks of 64 nodes; the other
// members that change need the rows for themselves.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/resources/memory.h"
#include "storage/formats/state_file.h"
#include "storage/io/types.h"

namespace unweave {

class ResidentRows {
 public:
  /// Memory that the rows of one level take.
  [[nodiscard]] static std::uint64_t bytes(NodeId nodes, std::uint32_t columns) noexcept;
  /// Throws ResourceError.
  ResidentRows(NodeId nodes, std::uint32_t columns, MemoryBudget& budget);

  /// Forgets every row, before a recomputation puts them anew.
  void clear();
  /// Columns [first, first + width) of a row, narrow or (of sums beyond 32 bits) wide.
  void put(NodeId node, std::size_t first, std::size_t width, const std::int32_t* sums);
  void put_wide(NodeId node, std::size_t first, std::size_t width, const std::int64_t* sums);
  /// Ends a recomputation: completes wide rows from the tiles where they were narrow.
  void finish();

  [[nodiscard]] bool contains(NodeId node) const noexcept { return bit(members_, node); }
  [[nodiscard]] StateRow row(NodeId node) const;
  /// A whole row, narrow or (with a sum beyond 32 bits) wide.
  void store(NodeId node, const std::int32_t* sums);
  void store_wide(NodeId node, const std::int64_t* sums);
  void drop(NodeId node);

 private:
  static void set(std::vector<std::uint64_t>& words, NodeId node) {
    words[node / 64] |= std::uint64_t{1} << (node % 64);
  }
  static void unset(std::vector<std::uint64_t>& words, NodeId node) {
    words[node / 64] &= ~(std::uint64_t{1} << (node % 64));
  }
  [[nodiscard]] static bool bit(const std::vector<std::uint64_t>& words, NodeId node) noexcept {
    return ((words[node / 64] >> (node % 64)) & 1U) != 0;
  }
  [[nodiscard]] std::int32_t* at(NodeId node) const noexcept {
    return rows_.as<std::int32_t>() + std::size_t{node} * columns_;
  }

  std::uint32_t columns_;
  HugeBuffer rows_;
  std::vector<std::uint64_t> members_;
  std::vector<std::uint64_t> is_wide_;  ///< one bit a node, as members_
  std::map<NodeId, std::vector<std::int64_t>> wide_;
  mutable std::mutex wide_mutex_;  ///< guards wide_
};

}  // namespace unweave
