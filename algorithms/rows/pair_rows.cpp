// algorithms/rows/pair_rows.cpp - products and differences, each rounded once.
#include "algorithms/rows/pair_rows.h"

#include <algorithm>
#include <cmath>

#include "algorithms/learning/training_set.h"

namespace unweave {
namespace {

/// Divides by the square root of 2, rounded once.
void halve_square(std::span<float> row) {
  for (float& x : row) x = static_cast<float>(static_cast<double>(x) / std::sqrt(2.0));
}

}  // namespace

PairRows::PairRows(const RowProgram& program, std::size_t width)
    : form_(program.pair.value()),
      plain_width_(form_.how == PairForm::How::both ? 2 * width : width),
      width_(plain_width_) {
  const std::optional<Lift> lift = program.lift_of_units();
  if (!lift) return;
  lift_.emplace(plain_width_, *lift);
  width_ += lift_->width();
}

void PairRows::write_plain(std::span<const float> a, std::span<const float> b, float* out) const {
  const auto by = static_cast<float>(form_.by);
  const bool both = form_.how == PairForm::How::both;
  const std::size_t width = a.size();
  float* at = out;
  const auto close = [&] {
    clip_row({at, width}, 1);
    if (both) halve_square({at, width});
    at += width;
  };
  if (form_.how != PairForm::How::difference) {
    for (std::size_t j = 0; j < width; ++j) at[j] = a[j] * b[j] * by;  // the power of two is exact
    close();
  }
  if (form_.how != PairForm::How::hadamard) {
    for (std::size_t j = 0; j < width; ++j) at[j] = std::abs(a[j] - b[j]) * 0.5F * by;
    close();
  }
  if (both) clip_row({out, plain_width_}, 1);
}

void PairRows::add_lift(std::size_t count, float* rows, Room& room) const {
  lift_->lift(rows, count, width_, rows + plain_width_, room);
  halve_square({rows, count * width_});
}

}  // namespace unweave
