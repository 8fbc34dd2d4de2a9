// storage/input/tables/end_names.h - which columns of a table have the ends of edges, by what they
// are called. One rule for texts of edges and for the tables of other languages.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace unweave {

/// Whether a word is how columns of ends are often called, whatever its case and what parts words
/// in it: "Source", "from_node_id".
[[nodiscard]] bool is_end_name(std::string_view word);

/// Whether a column is called as weights are: "weight", "Edge_Weight".
[[nodiscard]] bool is_weight_name(std::string_view word);

/// Whether a column is called as what edges have beside weights is: a time, a kind, an id.
[[nodiscard]] bool says_no_weight(std::string_view word);

/// The columns of the ends among columns of these names.
struct EndColumns {
  /// The first two are the ends: they are called so, or the third says that it is a weight, a time
  /// or a kind and they do not; or there are no more than two.
  bool are_first = false;
  /// The first two columns, by their places, that are called as the two ends of an edge are.
  std::optional<std::array<std::size_t, 2>> named;
};
[[nodiscard]] EndColumns ends_among(std::span<const std::string> names);

}  // namespace unweave
