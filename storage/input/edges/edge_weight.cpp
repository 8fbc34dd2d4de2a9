// storage/input/edges/edge_weight.cpp - finds weights among attributes, and words the errors for
// what is none.
#include "storage/input/edges/edge_weight.h"

#include <charconv>
#include <cmath>

#include "storage/input/tables/end_names.h"
#include "storage/input/words/line_reader.h"
#include "storage/io/error.h"
#include "storage/io/number_text.h"
#include "storage/io/types.h"

namespace unweave {

std::optional<double> attribute_weight(std::string_view attributes) noexcept {
  constexpr std::string_view kBefore = "'weight': ";
  const std::size_t at = attributes.find(kBefore);
  if (at == std::string_view::npos || !attributes.starts_with('{') || !attributes.ends_with('}')) return std::nullopt;
  const char before = attributes[at - 1];  // the brace at least
  const std::string_view text = attributes.substr(at + kBefore.size());
  double weight = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
  const bool whole = error == std::errc() && (*end == ',' || *end == '}');
  return whole && (before == '{' || before == ' ') ? std::optional(weight) : std::nullopt;
}

void throw_no_weight(const std::filesystem::path& file, const std::string& place, const std::string& remedy) {
  throw InputError(file, place, "no weight, which " + option("max-weight") + " or " + option("weights") + " asks for",
                   remedy);
}

std::string WeightRule::how_to_declare() const {
  const std::string of_unit = option("weights", "unit=U");
  return of_relation_ ? "declare the unit of the weights by " + of_unit
                      : "declare the largest weight by " + option("max-weight", "W") +
                            ", or the unit of real ones by " + of_unit;
}

void WeightRule::set_column(std::string name) {
  if (says_no_weight(name)) no_weights_ = std::move(name);
}

void WeightRule::refuse_zero(const std::filesystem::path& file, const std::string& place) const {
  throw InputError(file, place,
                   "0 in the column " + quote_for_message(no_weights_) +
                       ", which is not called as weights are, and a weight of 0 is no edge",
                   "name the columns of the ends, as in " + file.string() + ends_ +
                       ", or call the column weight if it has the weights");
}

bool WeightRule::is_strength(double value) noexcept {
  return std::isfinite(value) && value > 0;
}

void WeightRule::refuse_no_strength(const std::filesystem::path& file, const std::string& place, double value) const {
  const std::string text = "weight " + shortest_text(value);
  if (std::isnan(value) || std::isinf(value))
    throw InputError(file, place, text + " is not finite",
                     "write the number that is meant, or 0 where there is no edge");
  const bool is_array = file.string().ends_with(']') || file.extension() == ".npz" || file.extension() == ".npy";
  throw InputError(
      file, place, text + " is negative, and weights are not",
      "leave out edges that are not meant to count" +
          (is_array ? std::string()
                    : ", or, if this is no weight, the column: name the two others behind the file, as in " +
                          file.string() + ends_));
}

void WeightRule::refuse_real(const std::filesystem::path& file, const std::string& place, double value) const {
  if (!is_strength(value)) refuse_no_strength(file, place, value);
  const bool vanishes = value < unit_->weight(1);
  throw InputError(
      file, place,
      "weight " + shortest_text(value) + " is " +
          (vanishes ? "at most half of the unit " : "more than " + std::to_string(kMostWeight) + " times the unit ") +
          unit_text(unit_->exponent) + (vanishes ? ", and would vanish" : ""),
      "take " + std::string(vanishes ? "a smaller" : "a larger") + " unit by " + option("weights", "unit=U") +
          ", or leave the edge out");
}

void WeightRule::refuse(const std::filesystem::path& file, const std::string& place, double value) const {
  const std::string text = "weight " + shortest_text(value);
  if (!is_strength(value)) refuse_no_strength(file, place, value);
  const bool is_whole = value >= 1 && value <= kMostWeight && value == std::floor(value);
  if (most_ == 1)
    throw InputError(
        file, place, "a value other than 1, as of a weight, " + shortest_text(value),
        std::string(is_whole || of_relation_ ? "" : "multiply and round the weights to whole numbers, and ") +
            how_to_declare() + ", or take the edges without them by " + option("ignore-weights"));
  const bool too_large = is_whole && value > most_;
  throw InputError(file, place, text + " is not a whole number from 1 to " + std::to_string(most_),
                   too_large ? "declare a larger " + option("max-weight")
                             : "multiply and round the weights, or take the edges without them by " +
                                   option("ignore-weights") + " instead of " + option("max-weight"));
}

}  // namespace unweave
