// algorithms/rows/pair_rows.h - the row of two nodes from the rows of each.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/rows/lift.h"
#include "algorithms/rows/row_program.h"

namespace unweave {

/// Makes rows of pairs: products or differences of the rows of both nodes, which are clipped to
/// norm 1 before, then a clip, then the lift beside them. Every step is symmetric in both rows and
/// a composition of IEEE operations in the order of the columns, as Lemma P asks. Const members may
/// run on any number of threads.
class PairRows {
 public:
  /// `width`: numbers of a node's row. Throws UsageError for a width that cannot be lifted.
  PairRows(const RowProgram& program, std::size_t width);

  /// Numbers of a pair's row, without an intercept.
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  /// What a thread works with.
  using Room = LiftTransform::Room;
  /// Puts the rows of `count` pairs into `out`; row(i, end) gives the row of an end (0 or 1) of
  /// pair i.
  template <class Row>
  void write(std::size_t count, const Row& row, float* out, Room& room) const {
    for (std::size_t first = 0; first < count; first += LiftTransform::kBatch) {
      const std::size_t some = std::min(LiftTransform::kBatch, count - first);
      for (std::size_t i = first; i < first + some; ++i) write_plain(row(i, 0), row(i, 1), out + i * width_);
      if (lift_) add_lift(some, out + first * width_, room);
    }
  }

 private:
  void write_plain(std::span<const float> a, std::span<const float> b, float* out) const;
  void add_lift(std::size_t count, float* rows, Room& room) const;

  PairForm form_;
  std::size_t plain_width_, width_;
  std::optional<LiftTransform> lift_;
};

}  // namespace unweave
