// engine/ingest/given_row.cpp - reads the values of a row from the text of a request, and stores
// them as an import does.
#include "engine/ingest/given_row.h"

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "engine/ingest/row_norm.h"

namespace unweave {
namespace {

/// Reads a number off the front of the text. Whoever made the text has checked it.
template <class Number>
Number take_number(std::string_view& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) throw std::logic_error("values of a row that are no numbers");
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

std::optional<std::vector<double>> given_values(std::string_view text, std::uint32_t columns) {
  const bool pairs = text.find(':') != std::string_view::npos;
  std::vector<double> values(columns);
  std::uint64_t at = 0;
  for (; !text.empty(); ++at) {
    std::uint64_t column = at;
    if (pairs) {
      column = take_number<std::uint64_t>(text);
      if (!text.starts_with(':')) throw std::logic_error("values of a row that are no pairs");
      text.remove_prefix(1);
    }
    if (column >= columns) return std::nullopt;
    values[column] = take_number<double>(text);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  if (!pairs && at != columns) return std::nullopt;
  return values;
}

std::optional<std::vector<float>> stored_row(std::span<const double> values, const DataRules& rules) {
  std::vector<float> row(values.size());
  const double norm = bound_row(values, row, rules.scale.divisor);
  if (rules.scale.as_given && norm > rules.scale.divisor * (1 + kNormSlack)) return std::nullopt;
  round_to_type(row, rules.type);
  return row;
}

}  // namespace unweave
