// storage/types/pair_rules.cpp - the role of a pair, and rules as text.
#include "storage/types/pair_rules.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string_view>
#include <vector>

#include "storage/io/error.h"
#include "storage/io/plain_text.h"
#include "storage/types/keyed_bits.h"

namespace unweave {
namespace {

constexpr std::array<const char*, 4> kRoleNames{"valid", "test", "label", "plain"};

/// Parts of `whole` that a share is, rounded down.
std::uint64_t parts_of(double share, std::uint64_t whole) noexcept {
  return static_cast<std::uint64_t>(share * static_cast<double>(whole));
}

/// The fewest digits that parts_of() reads as so many parts.
std::string share_text(std::uint64_t parts, std::uint64_t whole) {
  if (whole == 0 || parts == whole) return "1";
  if (parts == 0) return "0";
  const double middle = (static_cast<double>(parts) + 0.5) / static_cast<double>(whole);
  std::array<char, 32> text{};
  for (int digits = 1;; ++digits) {
    const char* const end =
        std::to_chars(text.data(), text.data() + text.size(), middle, std::chars_format::general, digits).ptr;
    double share = 0;
    std::from_chars(text.data(), end, share);
    if (parts_of(share, whole) == parts) return {static_cast<const char*>(text.data()), end};
  }
}

[[noreturn]] void refuse(const std::string& what) {
  throw UsageError(option("pairs") + ": " + what);
}

/// The number behind `=`, which is all of `text`.
template <class Number>
Number number_of(const std::string& word, std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    refuse("'" + printable(word) + "' has no number behind =, as valid=.1 and negatives=2 have");
  return number;
}

double share_in(const std::string& word, std::string_view text) {
  const auto share = number_of<double>(word, text);
  if (!(share >= 0 && share <= 1)) refuse("'" + printable(word) + "' is no share from 0 to 1");
  return share;
}

/// The words of a text, each by its key, which stands there once.
struct Words {
  double valid = 0, test = 0, share = 1;
  PairRules rules;
  std::vector<std::string> keys;

  [[nodiscard]] bool has(const char* key) const { return std::find(keys.begin(), keys.end(), key) != keys.end(); }

  void take(const std::string& word) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string key = word.substr(0, equals);
    const std::string_view text = std::string_view(word).substr(std::min(equals + 1, word.size()));
    if (has(key.c_str())) refuse(key + " is given twice");
    keys.push_back(key);
    if (word == "apart")
      rules.apart = true;
    else if (key == "valid")
      valid = share_in(word, text);
    else if (key == "test")
      test = share_in(word, text);
    else if (key == "share")
      share = share_in(word, text);
    else if (key == "negatives")
      rules.negatives = number_of<std::uint32_t>(word, text);
    else if (key == "uniform")
      rules.uniform = number_of<std::uint64_t>(word, text);
    else if (key == "key")
      rules.key = number_of<std::uint64_t>(word, text);
    else
      refuse("'" + printable(word) + "' is none of valid=S, test=S, share=S, negatives=K, uniform=M, apart and key=K");
  }
};

}  // namespace

std::string role_name(PairRole role) {
  return kRoleNames.at(static_cast<std::size_t>(role));
}

PairRole PairRules::role(NodeId u, NodeId v) const noexcept {
  const std::uint64_t place = random_key(random_key(key, 0), number(u, v)) >> 32;
  if (place < below_valid) return PairRole::valid;
  if (place < below_test) return PairRole::test;
  return place < below_label ? PairRole::label : PairRole::plain;
}

std::string pair_rules_fault(const PairRules& rules) {
  if (rules.below_valid > rules.below_test || rules.below_test > rules.below_label ||
      rules.below_label > PairRules::kWhole)
    return "the shares of valid and test add up to more than 1";
  if (rules.negatives > PairRules::kMostNegatives)
    return "negatives are " + std::to_string(PairRules::kMostNegatives) + " a positive pair at most";
  if (rules.uniform > PairRules::kMostUniform)
    return "uniform negatives are " + std::to_string(PairRules::kMostUniform) + " at most";
  if (rules.uniform > 0 && rules.negatives > 0)
    return "negatives=K and uniform=M are two ways to draw negatives; give one of them";
  if (rules.uniform == 0 && rules.negatives == 0)
    return "without negatives there is nothing to learn; negatives=1 draws one";
  return {};
}

PairRules pair_rules_named(const std::string& text) {
  Words words;
  for (std::size_t first = 0, end = 0; first <= text.size(); first = end + 1) {
    end = std::min(text.find(',', first), text.size());
    words.take(text.substr(first, end - first));
  }
  PairRules& rules = words.rules;
  if (words.has("uniform") && rules.uniform == 0) refuse("uniform=M draws one pair at least");
  if (rules.uniform > 0 && !words.has("negatives")) rules.negatives = 0;
  rules.below_valid = parts_of(words.valid, PairRules::kWhole);
  rules.below_test = rules.below_valid + parts_of(words.test, PairRules::kWhole);
  if (rules.below_test > PairRules::kWhole) refuse(pair_rules_fault({0, 0, PairRules::kWhole + 1}));
  rules.below_label = rules.below_test + parts_of(words.share, PairRules::kWhole - rules.below_test);
  if (const std::string fault = pair_rules_fault(rules); !fault.empty()) refuse(fault);
  return rules;
}

std::string text_of(const PairRules& rules) {
  const std::uint64_t test = rules.below_test - rules.below_valid, rest = PairRules::kWhole - rules.below_test;
  std::string text = "valid=" + share_text(rules.below_valid, PairRules::kWhole) +
                     ",test=" + share_text(test, PairRules::kWhole) +
                     ",share=" + share_text(rules.below_label - rules.below_test, rest);
  text +=
      rules.uniform > 0 ? ",uniform=" + std::to_string(rules.uniform) : ",negatives=" + std::to_string(rules.negatives);
  if (rules.apart) text += ",apart";
  if (rules.key != 0) text += ",key=" + std::to_string(rules.key);
  return text;
}

unsigned id_bits(NodeId nodes) noexcept {
  return std::max(1U, static_cast<unsigned>(std::bit_width(nodes - 1)));
}

}  // namespace unweave
