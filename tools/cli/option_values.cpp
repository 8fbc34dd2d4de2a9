// tools/cli/option_values.cpp - strict reading of counts, numbers and sizes.
#include "tools/cli/option_values.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <ostream>
#include <system_error>
#include <utility>

#include "storage/types/class_names.h"
#include "unweave/fields/ingest.h"

namespace unweave {
namespace {

/// The number that fills `text` from its first character to its last, if there is one.
template <class Number>
std::optional<Number> read_whole(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Number of bits that a binary suffix shifts by.
std::optional<unsigned> suffix_bits(char suffix) {
  switch (suffix) {
    case 'K':
    case 'k':
      return 10U;
    case 'M':
    case 'm':
      return 20U;
    case 'G':
    case 'g':
      return 30U;
    case 'T':
    case 't':
      return 40U;
    default:
      return std::nullopt;
  }
}

void write_shortest(std::ostream& out, double number) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), number, std::chars_format::general);
  out.write(text, end - text);
}

/// Items of one kind with commas between them.
template <class Item>
std::optional<std::vector<Item>> read_list(std::string_view text) {
  std::vector<Item> items;
  for (;;) {
    const std::size_t comma = text.find(',');
    const auto item = Item::read(text.substr(0, comma));
    if (!item) return std::nullopt;
    items.push_back(*item);
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<Count> Count::read(std::string_view text) {
  const auto number = read_whole<std::uint64_t>(text);
  if (!number) return std::nullopt;
  return Count{*number};
}

std::optional<Real> Real::read(std::string_view text) {
  const auto number = read_whole<double>(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return Real{*number};
}

std::optional<AutoReal> AutoReal::read(std::string_view text) {
  if (text == "auto") return AutoReal{true, 0};
  const auto number = Real::read(text);
  if (!number) return std::nullopt;
  return AutoReal{false, number->value};
}

std::optional<Setting> Setting::read(std::string_view text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos || sign == 0) return std::nullopt;
  const auto number = Real::read(text.substr(sign + 1));
  if (!number) return std::nullopt;
  return Setting{std::string(text.substr(0, sign)), number->value};
}

std::optional<RealList> RealList::read(std::string_view text) {
  const auto numbers = read_list<Real>(text);
  if (!numbers) return std::nullopt;
  RealList list;
  for (const Real number : *numbers) list.values.push_back(number.value);
  return list;
}

std::optional<AutoRealList> AutoRealList::read(std::string_view text) {
  if (text == "auto") return AutoRealList{true, {}};
  auto numbers = RealList::read(text);
  if (!numbers) return std::nullopt;
  return AutoRealList{false, std::move(numbers->values)};
}

std::optional<Widths> Widths::read(std::string_view text) {
  const auto numbers = read_list<Count>(text);
  if (!numbers) return std::nullopt;
  Widths widths;
  for (const Count number : *numbers) {
    if (number.value == 0) return std::nullopt;
    widths.values.push_back(number.value);
  }
  return widths;
}

std::optional<Classes> Classes::read(std::string_view text) {
  if (const auto count = Count::read(text)) return Classes{count->value, {}};
  std::optional<std::vector<std::string>> names = read_class_list(text);
  if (!names || names->size() < 2) return std::nullopt;
  const std::uint64_t count = names->size();
  return Classes{count, std::move(*names)};
}

std::optional<Bytes> Bytes::read(std::string_view text) {
  unsigned shift = 0;
  if (!text.empty()) {
    if (const auto bits = suffix_bits(text.back())) {
      shift = *bits;
      text.remove_suffix(1);
    }
  }
  const auto number = read_whole<std::uint64_t>(text);
  if (!number || *number == 0 || *number > (std::numeric_limits<std::uint64_t>::max() >> shift)) return std::nullopt;
  return Bytes{*number << shift};
}

std::optional<FeatureTypeName> FeatureTypeName::read(std::string_view text) {
  const auto type = feature_type_named(text);
  if (!type) return std::nullopt;
  return FeatureTypeName{*type};
}

std::optional<ScaleName> ScaleName::read(std::string_view text) {
  if (text == "rows") return ScaleName{};
  if (text == "none") return ScaleName{{.as_given = true, .divisor = 1}};
  const auto divisor = read_whole<double>(text);
  if (!divisor || !(*divisor >= FeatureScale::kLeastDivisor && *divisor <= FeatureScale::kMostDivisor))
    return std::nullopt;
  return ScaleName{{.as_given = false, .divisor = *divisor}};
}

std::ostream& operator<<(std::ostream& out, const Count& count) {
  return out << count.value;
}

std::ostream& operator<<(std::ostream& out, const Real& real) {
  write_shortest(out, real.value);
  return out;
}

std::ostream& operator<<(std::ostream& out, const RealList& list) {
  for (std::size_t i = 0; i < list.values.size(); ++i) {
    if (i > 0) out << ',';
    write_shortest(out, list.values[i]);
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const ScaleName& scale) {
  return out << scale_text(scale.value);
}

std::ostream& operator<<(std::ostream& out, const FeatureTypeName& type) {
  return out << feature_type_name(type.value);
}

}  // namespace unweave
