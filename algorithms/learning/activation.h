// algorithms/learning/activation.h - what hidden layers apply to each of their sums.
#pragma once

#include <string_view>

namespace unweave {

enum class Activation {
  kTanh,
  kSmelu,  ///< 0 below -b, the identity above b, (u + b)^2 / 4b between, b = kSmeluHalfWidth
  kRelu,   ///< 0 below 0, the identity up to kReluMost, which is never exceeded
};
inline constexpr double kSmeluHalfWidth = 0.5, kReluMost = 256;

/// "tanh", "smelu" or "relu". Throws UsageError for other names.
[[nodiscard]] Activation parse_activation(std::string_view name);
[[nodiscard]] std::string_view name_of(Activation activation) noexcept;

}  // namespace unweave
