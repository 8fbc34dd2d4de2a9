// storage/input/edge_weight.cpp - words the errors for weights.
#include "storage/input/edge_weight.h"

#include <charconv>
#include <cmath>

#include "storage/io/error.h"
#include "storage/io/number_text.h"
#include "storage/io/types.h"

namespace unweave {

std::optional<double> attribute_weight(std::string_view attributes) noexcept {
  constexpr std::string_view kBefore = "{'weight': ";
  if (!attributes.starts_with(kBefore) || !attributes.ends_with('}')) return std::nullopt;
  attributes.remove_prefix(kBefore.size());
  attributes.remove_suffix(1);
  double weight = 0;
  const auto [end, error] = std::from_chars(attributes.data(), attributes.data() + attributes.size(), weight);
  if (error != std::errc() || end != attributes.data() + attributes.size()) return std::nullopt;
  return weight;
}

void throw_bad_weight(const std::filesystem::path& file, const std::string& place, double value,
                      std::uint32_t max_weight) {
  const std::string largest = std::to_string(max_weight);
  const bool too_large = value > max_weight && value <= kMostWeight && value == std::floor(value);
  throw InputError(file, place, "weight " + shortest_text(value) + " is not a whole number from 1 to " + largest,
                   too_large    ? "declare a larger " + option("max-weight")
                   : value == 0 ? "leave out edges of weight 0, or take all without their weights by " +
                                      option("ignore-weights") + " instead of " + option("max-weight")
                   : value < 0 ? "take the edges without their weights by " + option("ignore-weights") +
                                     " instead of " + option("max-weight")
                               : "multiply and round the weights, or take the edges without them by " +
                                     option("ignore-weights") + " instead of " + option("max-weight"));
}

void throw_no_weight(const std::filesystem::path& file, const std::string& place, const std::string& remedy) {
  throw InputError(file, place, "no weight, which " + option("max-weight") + " asks for", remedy);
}

}  // namespace unweave
