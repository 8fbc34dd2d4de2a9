// algorithms/solvers/exact/grid_rounding.cpp - rounding whose every doubt is counted.
#include "algorithms/solvers/exact/grid_rounding.h"

#include <cmath>

#include "algorithms/solvers/exact/pair.h"

namespace unweave {
namespace {

/// A number of grid steps as its nearest whole number, and how far the nearest boundary, an odd
/// multiple of 1/2, is.
struct Rounded {
  double whole, distance;
};

/// point is a number of steps below 2^52: point - rint(point) and sum - rint(sum) are exact, and
/// two roundings are left, relative to the distance.
Rounded round_steps(double point, double step) {
  const double base = std::rint(point);
  const Pair sum = two_sum(point - base, step);
  const double near = std::rint(sum.high), off = sum.high - near, side = off + sum.low < 0 ? -1 : 1;
  const double distance = (0.5 - side * off) - side * sum.low;
  if (distance < 0) return {base + near + side, -distance};  // the high word is half way, and the low word decides
  return {base + near + 0.0, distance};  // no zero has a sign: from which side the point came tells of the start
}

}  // namespace

GridRounding round_to_grid(const Matrix& point, const Matrix& step, const Vector& radius, int bits) {
  GridRounding out;
  out.whole.resize(point.rows(), point.cols());
  out.undecided.assign(size_of(radius.size()), 0);
  for (Eigen::Index c = 0; c < point.cols(); ++c) {
    const std::size_t system = radius.size() == 1 ? 0 : size_of(c);
    const double doubt = std::ldexp(radius[index_of(system)], bits);
    for (Eigen::Index j = 0; j < point.rows(); ++j) {
      const double steps = std::ldexp(point(j, c), bits);
      const bool fits = std::abs(steps) < 0x1p52;  // false for what is no number, as the comparison below
      const Rounded rounded = fits ? round_steps(steps, std::ldexp(step(j, c), bits)) : Rounded{0, 0};
      out.whole(j, c) = rounded.whole;
      if (fits && rounded.distance > doubt) continue;
      ++out.undecided[system];
      out.feature = size_of(j);
      out.of_class = size_of(c);
    }
  }
  return out;
}

}  // namespace unweave
