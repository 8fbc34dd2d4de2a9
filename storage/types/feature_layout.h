// storage/types/feature_layout.h - how the features of a store are kept: which values, and in how
// many bits.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "storage/types/node_types.h"

namespace unweave {

/// Bits of a value at rest. Whoever reads gets float32 of the same value.
enum class FeatureType {
  f32,  ///< IEEE 754 binary32
  f16,  ///< IEEE 754 binary16, half.h
};

[[nodiscard]] constexpr std::size_t value_bytes(FeatureType type) noexcept {
  return type == FeatureType::f16 ? 2 : 4;
}

/// As options and the manifest have it.
[[nodiscard]] constexpr std::string_view feature_type_name(FeatureType type) noexcept {
  return type == FeatureType::f16 ? "f16" : "f32";
}
[[nodiscard]] constexpr std::optional<FeatureType> feature_type_named(std::string_view name) noexcept {
  for (const FeatureType type : {FeatureType::f32, FeatureType::f16})
    if (name == feature_type_name(type)) return type;
  return std::nullopt;
}

/// How rows of features came to norm at most 1: they are divided by `divisor`, and those still
/// above 1 by their norm.
struct FeatureScale {
  bool as_given = false;  ///< rows stay as they came, with divisor 1: an import that meets a norm above 1 fails
  double divisor = 1;     ///< declared, in kLeastDivisor .. kMostDivisor

  static constexpr double kLeastDivisor = 1e-100, kMostDivisor = 1e100;  ///< its square is neither 0 nor infinite
  friend constexpr bool operator==(const FeatureScale&, const FeatureScale&) = default;
};

/// All feature files of a store have one layout.
struct FeatureLayout {
  bool sparse = false;  ///< whether files keep non-zeros alone
  FeatureType type = FeatureType::f32;
  bool packs = false;  ///< whether dense files leave rows of zeros out, each where that makes it smaller

  /// Kind and extension of the files that leave no row out.
  [[nodiscard]] constexpr std::string_view kind() const noexcept {
    if (type == FeatureType::f16) return sparse ? "sparse16" : "dense16";
    return sparse ? "sparse" : "dense";
  }
  /// Kind and extension of dense files without their rows of zeros.
  [[nodiscard]] constexpr std::string_view packed_kind() const noexcept {
    return type == FeatureType::f16 ? "packed16" : "packed";
  }
  friend constexpr bool operator==(const FeatureLayout&, const FeatureLayout&) = default;
};

/// Whether a store's feature files pack: dense ones, where nodes are of several types, of which
/// some have no features.
[[nodiscard]] inline bool packs_rows(const NodeTypes& types, bool sparse, bool standardized) noexcept {
  return !types.empty() && !sparse && !standardized;
}

/// These are columns [first, first + count) of the features, which are read or summed together.
struct TileColumns {
  std::size_t first = 0;
  std::size_t count = 0;
};

}  // namespace unweave
