// tests/support/special_values.h - numbers that many tests name.
#pragma once

#include <cstdint>
#include <limits>

namespace unweave::testing {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// Bytes of a memory budget that a small test does not use up.
inline constexpr std::uint64_t kPlenty = std::uint64_t{1} << 30;

}  // namespace unweave::testing
