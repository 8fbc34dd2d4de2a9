// algorithms/rows/row_program.cpp - words for a program.
#include "algorithms/rows/row_program.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <system_error>

#include "algorithms/propagation/schemes.h"
#include "storage/io/error.h"
#include "storage/io/number_text.h"

namespace unweave {

std::string scale_name(RowScale scale) {
  return scale == RowScale::unit ? "unit" : "clip";
}

RowScale scale_named(const std::string& name) {
  if (name == "unit") return RowScale::unit;
  if (name == "clip") return RowScale::clip;
  throw UsageError(option("scale-rows") + ": '" + name + "' is neither clip nor unit");
}

std::vector<std::string> words_between_commas(const std::string& key, const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t first = 0, end = 0; first <= text.size(); first = end + 1) {
    end = std::min(text.find(',', first), text.size());
    words.push_back(text.substr(first, end - first));
    if (words.back().empty())
      throw UsageError(option(key) + ": '" + text + "' " +
                       (text.empty() ? "is empty" : "has a comma without a word beside it"));
  }
  return words;
}

Lift lift_named(const std::string& text) {
  const auto refuse = [&] {
    throw UsageError(option("lift", text) + ": it is a width, as 1024, or one with a key and a constant, as " +
                     "1024,key=7,bias=0.5");
  };
  const auto read = [&](std::string_view digits, auto& number) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) refuse();
  };
  Lift lift;
  const std::vector<std::string> words = words_between_commas("lift", text);
  read(words.front(), lift.width);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const bool is_again = std::any_of(words.begin() + 1, words.begin() + static_cast<std::ptrdiff_t>(i),
                                      [&](const std::string& before) { return before.starts_with(word.substr(0, 4)); });
    if (!is_again && word.starts_with("key="))
      read(word.substr(4), lift.key);
    else if (!is_again && word.starts_with("bias="))
      read(word.substr(5), lift.bias);
    else
      refuse();
  }
  return lift;
}

std::string text_of(const Lift& lift) {
  std::string text = std::to_string(lift.width);
  if (lift.key != 0) text += ",key=" + std::to_string(lift.key);
  if (lift.bias != 0) text += ",bias=" + shortest_text(lift.bias);
  return text;
}

bool is_stack(const std::vector<double>& weights) {
  const auto count = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(weights.size()))));
  return count > 1 && weights == scheme_weights("stack", static_cast<std::uint32_t>(count - 1), {});
}

std::string words_of(const RowProgram& program, const std::string& levels) {
  std::string text = levels;
  for (const std::string& block : program.blocks) text += "," + block;
  return text;
}

std::string text_of(const RowProgram& program) {
  std::string text = words_of(program, is_stack(program.weights) ? "stack" : "levels");
  if (program.copies > 1) text += " of " + std::to_string(program.copies) + " copies";
  if (program.scale == RowScale::unit) text += " unit";
  if (program.lift) text += " lift " + text_of(*program.lift);
  return text;
}

}  // namespace unweave
