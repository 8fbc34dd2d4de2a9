// algorithms/rows/row_program.cpp - words for a program.
#include "algorithms/rows/row_program.h"

#include <algorithm>
#include <bit>
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
    throw UsageError(
        option("lift", text) + ": it is a width, as 1024, or one with a key and a constant, as " +
        "1024,key=7,bias=0.5; with at=node it stands beside rows of nodes, where those of pairs or graphs " +
        "are made of them");
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
    else if (word == "at=node" && !lift.of_nodes)
      lift.of_nodes = true;
    else
      refuse();
  }
  return lift;
}

std::string text_of(const Lift& lift) {
  std::string text = std::to_string(lift.width);
  if (lift.key != 0) text += ",key=" + std::to_string(lift.key);
  if (lift.bias != 0) text += ",bias=" + shortest_text(lift.bias);
  if (lift.of_nodes) text += ",at=node";
  return text;
}

Pool pool_named(const std::string& text) {
  constexpr std::string_view kSum = "sum=";
  if (text == "mean") return {Pool::By::nodes, 0};
  if (text == "root") return {Pool::By::root, 0};
  Pool pool{Pool::By::number, 0};
  const char* const end = text.data() + text.size();
  if (text.starts_with(kSum)) {
    const auto [rest, error] = std::from_chars(text.data() + kSum.size(), end, pool.divisor);
    if (error == std::errc() && rest == end && pool.divisor > 0) return pool;
  }
  throw UsageError(option("pool", text) + ": it is mean, root, or sum=D with a whole number D from 1 on, as sum=64");
}

std::string text_of(const Pool& pool) {
  if (pool.by == Pool::By::number) return "sum=" + std::to_string(pool.divisor);
  return pool.by == Pool::By::root ? "root" : "mean";
}

PairForm pair_form_named(const std::string& text) {
  constexpr std::uint32_t kMost = std::uint32_t{1} << 20;
  const auto refuse = [&]() -> PairForm {
    throw UsageError(option("pair", text) + ": it is hadamard, difference or both, or one of these with a power of " +
                     "two up to " + std::to_string(kMost) + " behind it, as hadamard,by=16");
  };
  const std::vector<std::string> words = words_between_commas("pair", text);
  PairForm pair;
  if (words.front() == "difference")
    pair.how = PairForm::How::difference;
  else if (words.front() == "both")
    pair.how = PairForm::How::both;
  else if (words.front() != "hadamard")
    return refuse();
  if (words.size() == 1) return pair;
  constexpr std::string_view kBy = "by=";
  const std::string& word = words[1];
  if (words.size() > 2 || !word.starts_with(kBy)) return refuse();
  const auto [end, error] = std::from_chars(word.data() + kBy.size(), word.data() + word.size(), pair.by);
  const bool is_number = error == std::errc() && end == word.data() + word.size();
  return is_number && std::has_single_bit(pair.by) && pair.by <= kMost ? pair : refuse();
}

std::string text_of(const PairForm& pair) {
  const std::string how = pair.how == PairForm::How::hadamard     ? "hadamard"
                          : pair.how == PairForm::How::difference ? "difference"
                                                                  : "both";
  return how + (pair.by == 1 ? "" : ",by=" + std::to_string(pair.by));
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
  if (program.level_0_once) text += ", level 0 once";
  if (program.scale == RowScale::unit) text += " unit";
  if (program.pool) text += " pool " + text_of(*program.pool);
  if (program.pair) text += " pair " + text_of(*program.pair);
  if (program.lift) text += " lift " + text_of(*program.lift);
  return text;
}

}  // namespace unweave
