// storage/types/propagation_spec.h - by which constants a store is propagated, and what is kept of
// its levels: the exact sums, or rows of values alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/types/feature_layout.h"

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

/// Constants of a propagated embedding (chosen once, by `propagate`).
struct PropagationSpec {
  std::uint32_t levels = 0;            ///< L, hops
  std::vector<double> weights{};       ///< L + 1 a block of a row; readers may use others
  std::string scheme{};                ///< as the user named it: sgc, ppr:0.1, heat:3, gpr
  double rho = 0.5;                    ///< exponent of the normalisation, in [0, 1]
  std::uint32_t scale_bits = 24;       ///< fixed point: normalised sums are integers over 2^scale_bits
  bool all_rows = true;                ///< --rows all, else the rows with a label
  std::vector<double> column_norms{};  ///< per column, sum over u of sqrt(d(u)) |x_j(u)|: the paper's scale of r_max
  double code_norm = 0;  ///< mean over columns of sum over u of |x_j(u)|: the released code's scale of r_max
  KeptForm kept{};       ///< what `propagate` kept: sums, or rows of values in their place
};

}  // namespace unweave
