// algorithms/rows/lift.cpp - Walsh-Hadamard transforms of eight rows side by side. Highway includes
// this file once for every vector extension.
#include "algorithms/rows/lift.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/rows/lift.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// Not sorted: the line above must come first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kRows = 8;  // LiftTransform::kBatch

/// v <- H (s o v) for eight vectors: number j of each lies at v + 8 j.
void transform(double* v, const double* signs, std::size_t length) {
  const hn::CappedTag<double, kRows> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < length; ++j) {
    const auto sign = hn::Set(d, signs[j]);
    for (std::size_t k = 0; k < kRows; k += lanes)
      hn::StoreU(hn::Mul(sign, hn::LoadU(d, v + j * kRows + k)), d, v + j * kRows + k);
  }
  for (std::size_t half = 1; half < length; half *= 2)
    for (std::size_t first = 0; first < length; first += 2 * half)
      for (std::size_t at = first * kRows; at < (first + half) * kRows; at += lanes) {
        const auto a = hn::LoadU(d, v + at), b = hn::LoadU(d, v + at + half * kRows);
        hn::StoreU(hn::Add(a, b), d, v + at);
        hn::StoreU(hn::Sub(a, b), d, v + at + half * kRows);
      }
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "algorithms/random/counter_random.h"
#include "storage/io/error.h"

namespace unweave {

HWY_EXPORT(transform);

namespace {

constexpr std::size_t kRounds = 3, kMostColumns = std::size_t{1} << 16;
constexpr double kUnit = 0x1p16;  // integers of a row's numbers

}  // namespace

LiftTransform::LiftTransform(std::size_t columns, const Lift& lift) : columns_(columns), bias_(lift.bias) {
  if (lift.width == 0 || lift.width > kMostColumns)
    throw UsageError(option("lift") + ": the width must be 1 to " + std::to_string(kMostColumns));
  if (!(std::abs(bias_) <= 1)) throw UsageError(option("lift") + ": the constant must be between -1 and 1");
  const std::size_t numbers = columns + (bias_ != 0 ? 1 : 0);
  if (numbers > kMostColumns)
    throw UsageError(option("lift") + ": rows of " + std::to_string(columns) + " numbers are longer than " +
                     std::to_string(kMostColumns) + ", the longest that are lifted");
  length_ = std::bit_ceil(numbers);
  blocks_ = (lift.width + length_ - 1) / length_;
  factor_ = 1 / kUnit / std::sqrt(static_cast<double>(length_ * length_ * length_ * blocks_));
  signs_.resize(blocks_ * kRounds * length_);
  for (std::size_t j = 0; j < signs_.size(); ++j) signs_[j] = random_key(lift.key, j) >> 63 == 0 ? 1 : -1;
}

void LiftTransform::lift(const float* rows, std::size_t count, std::size_t stride, float* out, Room& room) const {
  room.integers.assign(length_ * kBatch, 0.0);
  room.values.resize(length_ * kBatch);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < columns_; ++c)
      room.integers[c * kBatch + i] = std::nearbyint(static_cast<double>(rows[i * stride + c]) * kUnit);
    if (bias_ != 0) room.integers[columns_ * kBatch + i] = std::nearbyint(bias_ * kUnit);
  }
  for (std::size_t block = 0; block < blocks_; ++block) {
    room.values = room.integers;
    for (std::size_t round = 0; round < kRounds; ++round) HWY_DYNAMIC_DISPATCH(transform)
    (room.values.data(), signs_.data() + (block * kRounds + round) * length_, length_);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < length_; ++j)
        out[i * stride + block * length_ + j] =
            static_cast<float>(std::max(0.0, room.values[j * kBatch + i]) * factor_);  // a minus zero is zero
  }
}

std::size_t lifted_width(std::size_t columns, const Lift& lift) {
  const std::size_t numbers = columns + (lift.bias != 0 ? 1 : 0);
  if (numbers == 0 || numbers > kMostColumns || lift.width > kMostColumns) return LiftTransform(columns, lift).width();
  const std::size_t length = std::bit_ceil(numbers);
  return (lift.width + length - 1) / length * length;
}

}  // namespace unweave

#endif
