// algorithms/rows/lift.h - fixed random features of rows, formed in integers: sign flips,
// Walsh-Hadamard transforms, the positive part, one rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/rows/row_program.h"

namespace unweave {

/// lift(x) of rows x of F numbers, norm at most 1. With P the power of two that is at least F, or F
/// + 1 with a bias, q = rint(2^16 x) followed by rint(2^16 bias) and zeros, and nb = ceil(width /
/// P), block i is three times v <- H_P (s o v), H_P the transform without factors and s signs from
/// the key, and then float32(max(v, 0) c), c = 2^-16 / sqrt(P^3 nb). Every integer on the way is
/// below P^1.5 |q| < 2^42, so that float64 holds it exactly and the order of sums does not matter;
/// products of lifted rows approach the arc-cosine kernel of order 1 (Cho and Saul, 2009). The
/// structured transform is that of Yu et al. (Orthogonal random features, 2016).
class LiftTransform {
 public:
  /// Throws UsageError for more than 65536 columns, a width that is not 1 .. 65536 and a bias
  /// beyond [-1, 1].
  LiftTransform(std::size_t columns, const Lift& lift);

  /// Rows are lifted in batches of at most so many.
  static constexpr std::size_t kBatch = 8;
  /// nb P, at least the width that was asked for.
  [[nodiscard]] std::size_t width() const noexcept { return blocks_ * length_; }

  /// Where a thread works.
  struct Room {
    std::vector<double> integers, values;
  };
  /// Puts lift(x) of `count` <= kBatch rows, each `stride` numbers behind the one before it, into
  /// `out`, at the same distance.
  void lift(const float* rows, std::size_t count, std::size_t stride, float* out, Room& room) const;

 private:
  std::size_t columns_, length_ = 1, blocks_;
  double bias_, factor_;
  std::vector<double> signs_;  // 1 or -1, for each block and each of its rounds
};

/// Numbers that LiftTransform gives. Throws what its constructor throws.
[[nodiscard]] std::size_t lifted_width(std::size_t columns, const Lift& lift);

}  // namespace unweave
