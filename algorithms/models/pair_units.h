// algorithms/models/pair_units.h - rows of pairs of nodes, which an edge may join.
//
// The rows of all nodes are formed once, in the order of the store, and lie in memory or in an
// unlinked file; those of pairs come of them a block at a time. Where edges have directions each
// copy of a node has a row of its own, and that of a pair comes of the source's as a source and the
// target's as a target.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/models/row_units.h"
#include "algorithms/rows/pair_list.h"
#include "algorithms/rows/pair_rows.h"
#include "algorithms/rows/row_maker.h"
#include "engine/resources/float_rows.h"
#include "engine/resources/memory.h"

namespace unweave {

/// The classes of pairs: an edge, or none.
inline constexpr std::int32_t kEdgeClass = 0, kNoEdgeClass = 1;

/// Keys of training pairs are their places in the list of them (PairList); those of validation and
/// of test begin further up.
class PairUnits final : public RowUnits {
 public:
  /// Throws UsageError where the store predicts no links, or lacks rows of some nodes.
  PairUnits(const LiveStore& store, const RowProgram& program);

  void require_training() const override {}
  [[nodiscard]] std::size_t classes() const override;
  [[nodiscard]] std::vector<NodeId> labelled(SplitName split) const override;
  [[nodiscard]] std::int32_t label(NodeId key) const override;
  [[nodiscard]] std::uint64_t declared() const override;
  [[nodiscard]] std::size_t width() const override { return pairs_.width(); }
  void rows(std::span<const NodeId> keys, float* out) const override;
  [[nodiscard]] std::string text(NodeId key) const override;

  /// The pairs of a role, listed when they are first asked for. Throws ResourceError where there
  /// are more than keys.
  [[nodiscard]] const PairList& list(PairRole role) const;
  /// The pair of a key, by positions.
  [[nodiscard]] Edge ends(NodeId key) const;
  /// The key of a pair of the list of a role.
  [[nodiscard]] static NodeId key(PairRole role, std::size_t place) noexcept;
  /// Rows of any pairs of positions, row-major, not yet in their form.
  void rows_of(std::span<const Edge> ends, float* out) const;
  /// The rows of all nodes, clipped to norm 1, formed when they are first asked for; not from
  /// within a parallel loop. Throws ResourceError.
  [[nodiscard]] const FloatRows& node_rows() const;
  /// Numbers of a node's row.
  [[nodiscard]] std::size_t node_width() const noexcept { return maker_.width(); }

 private:
  [[nodiscard]] FloatRows form_node_rows() const;

  const Contents& contents_;
  RowMaker maker_;
  PairRows pairs_;
  mutable std::mutex mutex_;  ///< guards what is made when it is asked for
  mutable std::array<std::unique_ptr<const PairList>, 3> made_lists_;
  mutable std::array<std::atomic<const PairList*>, 3> lists_{};
  mutable Reservation memory_;
  mutable std::optional<FloatRows> made_nodes_;
  mutable std::atomic<const FloatRows*> nodes_ = nullptr;
};

}  // namespace unweave
