// algorithms/rows/row_maker.h - the rows of a program from the present moment of a store.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/rows/lift.h"
#include "algorithms/rows/row_block.h"
#include "algorithms/rows/row_program.h"
#include "algorithms/updates/update_report.h"

namespace unweave {

/// Makes rows: blocks side by side, those of all copies of a node one after the other, then the
/// scale, then the lift beside them. Each step is a
/// composition of IEEE operations in a fixed order on present data and public constants, so that
/// the rows are a function of the present data (specification: Lemma P of the theorems' page). The
/// source outlives it; any number of threads may call it at once.
class RowMaker {
 public:
  /// Throws UsageError for a program that the store does not serve: one of as many copies as nodes
  /// have, or, where `each_copy` has a row of its own, of one.
  RowMaker(const RowSource& source, RowProgram program, bool each_copy = false);

  [[nodiscard]] const RowProgram& program() const noexcept { return program_; }
  /// Numbers of a row, without an intercept.
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  /// Rows of `nodes`, first copies where copies have none of their own, row-major nodes x width(),
  /// not yet in their form (RowForm).
  /// Throws what Embedding::rows() throws.
  void rows(std::span<const NodeId> nodes, float* out) const;
  /// The nodes, first copies, sorted, whose rows may have changed with `update`, where `touched`
  /// are those whose own edges, features, label or split differ; none: all may.
  [[nodiscard]] std::optional<std::vector<NodeId>> changed(const UpdateReport& update,
                                                           std::span<const NodeId> touched) const;

 private:
  /// All copies of some nodes, few enough for a thread's room: their levels are there.
  void finish(std::span<const NodeId> copies, const float* levels, float* out) const;

  RowSource source_;
  RowProgram program_;
  std::vector<std::unique_ptr<RowBlock>> blocks_;
  std::size_t levels_width_ = 0, plain_width_ = 0, width_ = 0;
  std::vector<bool> of_first_copy_;  ///< which blocks of levels only the first copy has; one flag a block
  std::optional<LiftTransform> lift_;
};

/// Puts lift(x) beside each of `count` rows x of `plain_width` numbers, which has room for it
/// behind: both clipped to norm 1 before and divided by sqrt(2).
void lift_beside(const LiftTransform& lift, std::size_t plain_width, float* rows, std::size_t count);

/// Lets a new program have blocks of level 0 alone once, where all copies of a node would repeat
/// them.
void hold_level_0_once(RowProgram& program, std::uint32_t levels);

/// Numbers of a row of this program, where features have so many columns. Throws UsageError for a
/// block that is none and for widths that cannot be lifted.
[[nodiscard]] std::size_t width_of(const RowProgram& program, std::uint32_t levels, std::size_t columns,
                                   std::size_t classes);

}  // namespace unweave
