// engine/ingest/row_norm.h - brings a row of features under the public bound: norm at most 1.
#pragma once

#include <span>

#include "storage/types/feature_layout.h"

namespace unweave {

/// A row whose norm is above 1 by no more than this counts as one of norm 1: normalising in float32
/// leaves as much.
inline constexpr double kNormSlack = 0x1p-20;

/// The squared norm in float64, terms added in order of columns: the norm that the bound is about.
[[nodiscard]] double squared_norm(std::span<const float> row) noexcept;

/// Divides finite values by `divisor` (FeatureScale's) in float64 and rounds them to float32 in
/// `out` (as many). A row above norm `divisor` is divided by its norm instead. Where rounding to
/// nearest would leave squared_norm(out) above 1, values are rounded toward zero; at the end it is
/// at most 1. Zeros may be left out, as sparse rows do: the result is the same. Returns the norm of
/// `values`, infinite only where float64 does not hold it.
double bound_row(std::span<const double> values, std::span<float> out, double divisor = 1) noexcept;

/// Brings bounded values to the bits that a store keeps: those of FeatureType::f16 are rounded
/// toward zero, which lowers every magnitude or leaves it, so that a norm of at most 1 stays so.
/// Then no zero has a sign.
void round_to_type(std::span<float> values, FeatureType type) noexcept;

/// Zeros without signs: a row without features is zeros in every bit, whatever was given, and tells
/// nothing of what it came from.
void drop_signs_of_zeros(std::span<float> values) noexcept;
/// Whether one of the values is a zero with a sign, as stores of earlier programs may have.
[[nodiscard]] bool has_signed_zero(std::span<const float> values) noexcept;

}  // namespace unweave
