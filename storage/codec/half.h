// storage/codec/half.h - numbers of 16 bits (IEEE 754 binary16) and float32, a vector at a time,
// the same on every machine.
#pragma once

#include <cstdint>
#include <span>

namespace unweave {

/// The bits of a binary16 number.
using Half = std::uint16_t;

/// Writes as many float32 as there are halves, without loss. What is no finite number becomes one
/// of at least 65,536 in magnitude or stays what it is, as the machine has it.
void widen_halves(std::span<const Half> halves, float* out) noexcept;

/// Writes each finite value as the half next to it on the side of zero: no magnitude grows, and a
/// half stays itself. Signs are kept, of zeros too.
void truncate_to_halves(std::span<const float> values, Half* out) noexcept;

/// Makes each value the one that truncate_to_halves() leaves of it.
void truncate_to_halves(std::span<float> values) noexcept;

}  // namespace unweave
