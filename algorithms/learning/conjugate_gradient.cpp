// algorithms/learning/conjugate_gradient.cpp - blocked preconditioned conjugate gradients.
#include "algorithms/learning/conjugate_gradient.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace unweave {
namespace {

// A preconditioner that gains a factor with a product gains nearly as much without one, at least
// where it is good: the last step is then taken on trust.
constexpr double kGoodGain = 0.2, kCaution = 2;

using ColumnScalars = Eigen::Array<double, 1, Eigen::Dynamic>;

/// Inner products of the columns; where they are coupled their sum, for each of them.
ColumnScalars column_dots(const Matrix& a, const Matrix& b, bool coupled) {
  ColumnScalars dots = a.cwiseProduct(b).colwise().sum().array();
  if (coupled) dots.setConstant(dots.sum());
  return dots;
}

ColumnScalars column_norms(const Matrix& a, bool coupled) {
  return column_dots(a, a, coupled).sqrt();
}

Matrix pick_columns(const Matrix& from, std::span<const std::size_t> picked) {
  Matrix out(from.rows(), index_of(picked.size()));
  for (std::size_t j = 0; j < picked.size(); ++j) out.col(index_of(j)) = from.col(index_of(picked[j]));
  return out;
}

/// The unfinished classes and what is known of each, one column a class.
struct Unfinished {
  std::vector<std::size_t> classes;
  Matrix residual, solution, direction, smoothed;
  ColumnScalars energy;
  ColumnScalars norm;  // |residual|

  void keep(const std::vector<std::size_t>& kept) {
    if (kept.size() == classes.size()) return;
    for (Matrix* matrix : {&residual, &solution, &direction, &smoothed})
      if (matrix->size() > 0) *matrix = pick_columns(*matrix, kept);
    for (ColumnScalars* scalars : {&energy, &norm})
      *scalars = ColumnScalars(pick_columns(Matrix(scalars->matrix()), kept).array());
    for (std::size_t j = 0; j < kept.size(); ++j) classes[j] = classes[kept[j]];
    classes.resize(kept.size());
  }
};

class NoPreconditioner final : public Preconditioner {
 public:
  [[nodiscard]] Matrix apply(const Matrix& residual, std::span<const std::size_t>) const override { return residual; }
  void refresh(const HessianOperator&) override {}
};

constexpr int kBetweenQuestions = 16;  // passes

/// The largest part of a class's way, in digits, that is left of it.
double part_left(const Unfinished& now, const ColumnScalars& norms, const Vector& tolerance) {
  double left = 0;
  for (std::size_t j = 0; j < now.classes.size(); ++j) {
    const Eigen::Index c = index_of(now.classes[j]);
    left = std::max(left, std::log(now.norm[index_of(j)] / tolerance[c]) / std::log(norms[c] / tolerance[c]));
  }
  return left;
}

/// `trusted_gain`: see kGoodGain; with 0 every step is measured.
CgResult solve(const ClassOperator& apply, const Preconditioner& preconditioner, const Matrix& right,
               const Vector& tolerances, int most_passes, double trusted_gain, const GiveUp& give_up = {}) {
  const bool coupled = tolerances.size() == 1;
  const Vector tolerance = coupled ? Vector::Constant(right.cols(), tolerances[0]) : tolerances;
  CgResult result{Matrix::Zero(right.rows(), right.cols())};
  Unfinished now;
  const ColumnScalars norms = column_norms(right, coupled);
  for (std::size_t c = 0; c < size_of(right.cols()); ++c)
    if (norms[index_of(c)] > tolerance[index_of(c)]) now.classes.push_back(c);
  if (now.classes.empty()) return result;

  now.residual = pick_columns(right, now.classes);
  now.norm = column_norms(now.residual, coupled);
  now.solution = Matrix::Zero(now.residual.rows(), now.residual.cols());
  const auto smooth = [&] {
    if (preconditioner.reads_rows()) ++result.readings;
    return preconditioner.apply(now.residual, now.classes);
  };
  now.direction = smooth();
  now.energy = column_dots(now.residual, now.direction, coupled);
  while (result.passes < most_passes) {
    const Matrix image = apply(now.direction, now.classes);
    ++result.passes;
    result.products += static_cast<double>(now.classes.size()) / static_cast<double>(right.cols());
    const ColumnScalars curvature = column_dots(now.direction, image, coupled);
    const ColumnScalars step = (curvature > 0).select(now.energy / curvature, ColumnScalars::Zero(now.energy.size()));
    now.solution.array() += now.direction.array().rowwise() * step;
    now.residual.array() -= image.array().rowwise() * step;
    const ColumnScalars last = now.norm;
    now.norm = column_norms(now.residual, coupled);

    std::vector<std::size_t> kept;
    ColumnScalars gain = now.norm / last, length = step;
    for (std::size_t j = 0; j < now.classes.size(); ++j) {
      const Eigen::Index at = index_of(j);
      result.solution.col(index_of(now.classes[j])) = now.solution.col(at);
      const bool stuck = !(step[at] > 0);  // no positive curvature, or none left in float32: as good as finished
      result.stuck |= stuck;
      if (stuck || !(now.norm[at] > tolerance[index_of(now.classes[j])])) continue;
      gain[index_of(kept.size())] = gain[at];
      length[index_of(kept.size())] = step[at];
      kept.push_back(j);
    }
    now.keep(kept);
    if (now.classes.empty()) break;
    if (give_up && result.passes % kBetweenQuestions == 0 && give_up(result.passes, part_left(now, norms, tolerance))) {
      result.given_up = true;
      break;
    }

    now.smoothed = smooth();
    kept.clear();
    for (std::size_t j = 0; j < now.classes.size(); ++j) {
      const Eigen::Index at = index_of(j), c = index_of(now.classes[j]);
      if (gain[at] <= trusted_gain && kCaution * gain[at] * now.norm[at] <= tolerance[c])
        result.solution.col(c) += length[at] * now.smoothed.col(at);
      else
        kept.push_back(j);
    }
    now.keep(kept);
    if (now.classes.empty()) break;

    const ColumnScalars next = column_dots(now.residual, now.smoothed, coupled);
    now.direction.array().rowwise() *= next / now.energy;
    now.direction += now.smoothed;
    now.energy = next;
  }
  return result;
}

}  // namespace

CgResult conjugate_gradient(const ClassOperator& apply, const Preconditioner& preconditioner, const Matrix& right,
                            const Vector& tolerances, int most_passes, LastStep last, const GiveUp& give_up) {
  return solve(apply, preconditioner, right, tolerances, most_passes, last == LastStep::expected ? kGoodGain : 0,
               give_up);
}

CgResult conjugate_gradient(const std::function<Vector(const Vector&)>& apply, const Vector& right, double tolerance,
                            int most_passes) {
  return solve([&](const Matrix& direction, std::span<const std::size_t>) -> Matrix { return apply(direction.col(0)); },
               NoPreconditioner(), right, Vector::Constant(1, tolerance), most_passes, 0);
}

}  // namespace unweave
