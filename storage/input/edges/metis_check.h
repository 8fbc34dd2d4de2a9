// storage/input/edges/metis_check.h - tells METIS adjacency lists from lists of edges, which look
// alike where every node has two neighbours.
//
// METIS: a line of the numbers of nodes n and edges m, then n lines, line i with the neighbours of
// node i, ids from 1.
#pragma once

#include <cstdint>
#include <string_view>

#include "storage/io/types.h"

namespace unweave {

/// Follows the lines of a text that was read as edges. Not thread-safe.
class MetisCheck {
 public:
  /// Whether what came so far may be METIS. For nearly all lists of edges it is false after two
  /// lines.
  [[nodiscard]] bool possible() const noexcept { return possible_; }
  void rule_out() noexcept { possible_ = false; }

  /// The two numbers of a line, counted from 1; lines between, which hold nothing, are left out.
  void see(std::uint64_t u, std::uint64_t v, std::uint64_t line) noexcept;

  /// At the end of a text of so many lines: there are n lines after the first with 2 m ids of 1..n,
  /// and whoever lists a node is listed by it. At least 4 nodes, so that no list of edges comes out
  /// like that unless it is meant to.
  [[nodiscard]] bool proven(std::uint64_t lines) const noexcept;

 private:
  bool possible_ = true;
  std::uint64_t nodes_ = 0, edges_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t asymmetry_ = 0;  // sum of a hash of each arc less that of its reverse
};

/// Whether a text that begins so is METIS rather than a list of edges: a line of two to four
/// numbers, the first n, then lines of numbers, in 1..n unless they have weights, among which one
/// has another number of fields than the first line, so that it is no list of edges in any case.
/// Looks at 100 lines at most.
[[nodiscard]] bool begins_like_metis(std::string_view head);

}  // namespace unweave
