// engine/sweep/row_products.cpp - fingerprints of rows, and totals of their columns. Highway
// includes this file once for every vector extension.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/sweep/fingerprint.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/sweep/row_products.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "engine/sweep/row_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {

template <class T>
std::uint64_t fingerprint(const T* values, std::size_t width, const ColumnFactors& factors) {
  V64 low = no_products(), high = no_products();
  for (std::size_t column = 0; column < width; column += kPanel)
    add_products(RowOf<T>{values + column}, std::min(kPanel, width - column), factors.values + column, low, high);
  return sum_of_products(low, high, factors.modulus);
}

/// Adds rows to sums by panels, so that the sums stay in the nearest cache while rows pass by.
template <class T, class RowAt>
void add_to_sums(std::size_t count, const RowAt& row_at, const std::int32_t* weights, ColumnTotals& sums) {
  for (std::size_t column = 0; column < sums.width(); column += kPanel)
    for (std::size_t first = 0; first < count; first += kSummedRows)
      add_weighted(WeightedRows<T>(
                       std::min(kSummedRows, count - first), [&](std::size_t r) { return row_at(first + r) + column; },
                       weights + first),
                   std::min(kPanel, sums.width() - column), sums.low() + column, sums.high() + column);
}

void AddColumns32(const std::int32_t* rows, std::size_t count, const std::int32_t* weights, ColumnTotals& sums) {
  add_to_sums<std::int32_t>(
      count, [&](std::size_t r) { return rows + r * sums.width(); }, weights, sums);
}

void AddColumns16(const std::int16_t* rows, std::size_t count, const std::int32_t* weights, ColumnTotals& sums) {
  add_to_sums<std::int16_t>(
      count, [&](std::size_t r) { return rows + r * sums.width(); }, weights, sums);
}

void AddColumnsAt(const std::int32_t* const* rows, std::size_t count, const std::int32_t* weights, ColumnTotals& sums) {
  add_to_sums<std::int32_t>(
      count, [&](std::size_t r) { return rows[r]; }, weights, sums);
}

std::uint64_t TakeColumns(ColumnTotals& sums, const ColumnFactors& factors) {
  const Modulus& modulus = factors.modulus;
  std::uint64_t total = 0;
  for (std::size_t c = 0; c < sums.width(); ++c) {
    const std::size_t at = c / kLane * kLane + (kHalfVector < kLane ? c % 2 * kHalfVector + c % kLane / 2 : 0);
    const std::int64_t high = sums.high()[at];
    const auto rest = static_cast<std::uint64_t>(sums.low()[at]) - (static_cast<std::uint64_t>(high) << 32);
    total = modulus.residue(total + modulus.residue(high, rest) * static_cast<std::uint64_t>(factors.values[c]));
  }
  return total;
}

std::uint64_t Fingerprint32(const std::int32_t* values, std::size_t width, const ColumnFactors& factors) {
  return fingerprint(values, width, factors);
}

std::uint64_t Fingerprint16(const std::int16_t* values, std::size_t width, const ColumnFactors& factors) {
  return fingerprint(values, width, factors);
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(AddColumns16);
HWY_EXPORT(AddColumns32);
HWY_EXPORT(AddColumnsAt);
HWY_EXPORT(Fingerprint16);
HWY_EXPORT(Fingerprint32);
HWY_EXPORT(TakeColumns);

std::uint64_t fingerprint_of(std::span<const std::int32_t> values, const ColumnFactors& factors) {
  return HWY_DYNAMIC_DISPATCH(Fingerprint32)(values.data(), values.size(), factors);
}

std::uint64_t fingerprint_of(std::span<const std::int16_t> values, const ColumnFactors& factors) {
  return HWY_DYNAMIC_DISPATCH(Fingerprint16)(values.data(), values.size(), factors);
}

void ColumnTotals::add(const std::int32_t* rows, std::size_t count, const std::int32_t* weights) {
  HWY_DYNAMIC_DISPATCH(AddColumns32)(rows, count, weights, *this);
}

void ColumnTotals::add(const std::int16_t* rows, std::size_t count, const std::int32_t* weights) {
  HWY_DYNAMIC_DISPATCH(AddColumns16)(rows, count, weights, *this);
}

void ColumnTotals::add(std::span<const std::int32_t* const> rows, const std::int32_t* weights) {
  HWY_DYNAMIC_DISPATCH(AddColumnsAt)(rows.data(), rows.size(), weights, *this);
}

std::uint64_t ColumnTotals::take(const ColumnFactors& factors) {
  const std::uint64_t y = HWY_DYNAMIC_DISPATCH(TakeColumns)(*this, factors);
  std::fill(lines_.begin(), lines_.end(), Line{});
  return y;
}

}  // namespace unweave
#endif  // HWY_ONCE
