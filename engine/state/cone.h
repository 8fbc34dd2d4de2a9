// engine/state/cone.h - which rows each level keeps: the receptive field of the target rows, by
// reference counts.
//
// Targets are all nodes, or the nodes with a label. Level L keeps the targets T_L; level l < L
// keeps the nodes that some row of T_{l+1} reads, T_l = N(T_{l+1}), itself included; count(l, v) is
// the number of those readers. Level 0 is derived from the features and holds no rows, so it counts
// nothing. Where rows of values are kept in place of sums, every level that keeps some keeps those
// of the targets, and nothing is counted.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "engine/graph/node_map.h"
#include "engine/state/target_graph.h"
#include "storage/formats/level_files.h"
#include "storage/formats/run_file.h"
#include "storage/formats/value_file.h"
#include "storage/io/types.h"

namespace unweave {

class Contents;
struct Manifest;

class Cone {
 public:
  /// `runs` holds one run a level, 0 .. L. Throws DataError, FormatError.
  Cone(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents,
       const std::vector<StoredRun>& runs);

  [[nodiscard]] bool all_rows() const noexcept { return all_rows_; }
  /// True when the level keeps a row of this node (at level 0: for every node).
  [[nodiscard]] bool contains(std::uint32_t level, NodeId node) const;
  [[nodiscard]] std::uint32_t count(std::uint32_t level, NodeId node) const;
  /// Changes a count by `step`; the level is 1 .. L - 1.
  void add(std::uint32_t level, NodeId node, std::int64_t step);
  /// Rows kept at a level; known from the start where know_rows() has said so.
  [[nodiscard]] std::uint64_t rows(std::uint32_t level) const;
  /// A level has so many rows at this moment: nobody needs to count them.
  void know_rows(std::uint32_t level, std::uint64_t rows);
  /// Memory of a level without changed counts, of so many of them, and of those that there are.
  [[nodiscard]] static std::uint64_t map_bytes(NodeId nodes) noexcept {
    return NodeMap<std::uint32_t>::empty_bytes(nodes);
  }
  [[nodiscard]] static std::uint64_t bytes(std::uint64_t changed) noexcept {
    return NodeMap<std::uint32_t>::bytes(changed);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  /// Puts changed counts into the run of each level, or writes the counts of a level anew when many
  /// changed, or any and `fold` is set.
  void checkpoint(const std::filesystem::path& store, bool fold, std::vector<LevelFiles>& files,
                  std::vector<Run>& runs) const;

 private:
  struct Level {
    explicit Level(NodeId nodes) : changed(nodes) {}
    std::unique_ptr<ValueFile<std::uint32_t>> base;
    NodeMap<std::uint32_t> changed;
    std::uint64_t rows = 0;  ///< once it is known
  };
  bool all_rows_;
  std::uint32_t top_;
  NodeId nodes_;
  bool counted_;  ///< there are sums, and counts of their readers
  const Contents& contents_;
  std::deque<Level> levels_;                      ///< 1 .. L - 1
  std::optional<std::uint64_t> targets_in_file_;  ///< targets of the last level, before labels were set
};

/// Counts of one level from the rows of the level above: for `propagate`, in one pass over the
/// graph.
[[nodiscard]] std::vector<std::uint32_t> count_readers(const Contents& contents, const std::vector<bool>& readers);
/// Counts of the last level but one, from the lists of the targets.
[[nodiscard]] std::vector<std::uint32_t> count_readers(const TargetGraph& targets);

}  // namespace unweave
