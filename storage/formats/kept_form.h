// storage/formats/kept_form.h - what a propagation keeps of a store's levels: the exact sums, or rows of values alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "storage/formats/feature_layout.h"

namespace unweave {

enum class Keep {
  state,      ///< exact sums of all levels, which requests need
  embedding,  ///< the rows of Z under the weights of the propagation
  hops,       ///< P^l X for l = 1 .. L
};

inline constexpr std::array<std::pair<Keep, std::string_view>, 3> kKeepNames{
    {{Keep::state, "state"}, {Keep::embedding, "embedding"}, {Keep::hops, "hops"}}};

/// As options and the manifest have it.
[[nodiscard]] constexpr std::string_view keep_name(Keep keep) noexcept {
  return kKeepNames[static_cast<std::size_t>(keep)].second;
}
[[nodiscard]] constexpr std::optional<Keep> keep_named(std::string_view name) noexcept {
  for (const auto& [keep, known] : kKeepNames)
    if (known == name) return keep;
  return std::nullopt;
}

inline constexpr std::int32_t kMostKeptExponent = 64;

/// Values v are kept as float32, or as the binary16 next to v 2^exponent.
struct KeptForm {
  Keep keep = Keep::state;
  FeatureType type = FeatureType::f32;
  std::int32_t exponent = 0;  ///< -64 .. 64; 0 for f32

  [[nodiscard]] constexpr bool has_sums() const noexcept { return keep == Keep::state; }
  friend constexpr bool operator==(const KeptForm&, const KeptForm&) = default;
};

}  // namespace unweave
