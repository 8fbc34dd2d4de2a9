// storage/input/edge_weight.h - the weights of edges in users' files: whole numbers from 1 to a declared maximum.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace unweave {

/// Such a weight may have been written as a real number, "3.0" for 3.
[[nodiscard]] inline bool is_weight(double value, std::uint32_t max_weight) noexcept {
  return value >= 1 && value <= max_weight && value == static_cast<double>(static_cast<std::uint32_t>(value));
}

/// The number in attributes that have nothing else, as networkx.write_edgelist() puts them behind an edge: "{'weight': 3}".
[[nodiscard]] std::optional<double> attribute_weight(std::string_view attributes) noexcept;

/// Throws the InputError for a value that is none.
[[noreturn]] void throw_bad_weight(const std::filesystem::path& file, const std::string& place, double value,
                                   std::uint32_t max_weight);
/// Throws the InputError for an edge that has none, or a file that has none at all.
[[noreturn]] void throw_no_weight(const std::filesystem::path& file, const std::string& place,
                                  const std::string& remedy);

}  // namespace unweave
