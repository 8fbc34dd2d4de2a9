// storage/io/json_text.h - JSON from files that nobody vouches for.
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "storage/io/error.h"

namespace unweave {

/// Parses a text. Values nest 32 deep at most, since what goes through them recurses. Throws std::runtime_error or one of
/// the library's exceptions.
template <class Json = nlohmann::ordered_json>
[[nodiscard]] Json parse_json(std::string_view text) {
  constexpr int kMostDepth = 32;
  return Json::parse(text, [](int depth, typename Json::parse_event_t, Json&) {
    if (depth > kMostDepth) throw std::runtime_error("values nest too deeply");
    return true;
  });
}

/// Parses a text as parse_json() does, but returns a discarded value where it is no such JSON.
template <class Json = nlohmann::ordered_json>
[[nodiscard]] Json parse_json_or_discard(std::string_view text) {
  try {
    return parse_json<Json>(text);
  } catch (const nlohmann::json::exception&) {
  } catch (const std::runtime_error&) {
  }
  return Json(nlohmann::detail::value_t::discarded);
}

/// What an exception says is wrong with a text; of the library's own in our words.
[[nodiscard]] inline std::string fault_of(const std::exception& error) {
  if (const auto* const parse = dynamic_cast<const nlohmann::json::parse_error*>(&error))
    return "byte " + std::to_string(parse->byte) + ": this is no JSON";
  if (dynamic_cast<const nlohmann::json::exception*>(&error) != nullptr)
    return "a member is missing or of another kind";
  return message_of(error);
}

/// A whole number from 0 to the type's largest. The library would cut off signs, fractions and digits. Throws
/// std::runtime_error.
template <class T, class Json>
[[nodiscard]] T whole_number(const Json& json) {
  static_assert(std::is_unsigned_v<T>);
  if (!json.is_number_unsigned() || json.template get<std::uint64_t>() > std::numeric_limits<T>::max())
    throw std::runtime_error(json.dump() + " is not a whole number of this field");
  return json.template get<T>();
}

/// A number, not true or false.
template <class Json>
[[nodiscard]] double real_number(const Json& json) {
  if (!json.is_number()) throw std::runtime_error(json.dump() + " is not a number");
  return json.template get<double>();
}

template <class Json>
[[nodiscard]] std::vector<double> real_numbers(const Json& json) {
  if (!json.is_array()) throw std::runtime_error("numbers are missing");
  std::vector<double> numbers;
  for (const Json& item : json) numbers.push_back(real_number(item));
  return numbers;
}

}  // namespace unweave
