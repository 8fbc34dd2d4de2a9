// storage/io/json_text.h - JSON from files that nobody vouches for, and JSON of texts that nobody
// vouches for.
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

/// Throws std::runtime_error for a text that is no JSON, or such as would take time or memory
/// without measure: values nest 32 deep at most, since what goes through them recurses; an object
/// has 4,096 members at most, each once, since of two the library keeps the last; and there are
/// 65,536 values, or one in 16 bytes, since one of a byte takes a hundred.
void require_modest_json(std::string_view text);

/// Parses a text. Throws as require_modest_json() does, or one of the library's exceptions.
template <class Json = nlohmann::ordered_json>
[[nodiscard]] Json parse_json(std::string_view text) {
  require_modest_json(text);
  return Json::parse(text);
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

/// JSON text with the characters that are not plain (plain_text.h) as escapes, "\u0085": another
/// text of the one value. Line feeds stay, which stand between values alone.
[[nodiscard]] std::string with_json_escapes(std::string text);

/// A value as JSON, on one line, or with each member on a line of its own, `indent` blanks a level.
/// Nothing that a value holds makes it throw: bytes that are not UTF-8 become U+FFFD, numbers that
/// are not finite null, and a text never holds a character that is not plain. Nothing else in this
/// program writes JSON (`sources.json_text`): the library's own function throws for bytes that are
/// not UTF-8. Throws std::bad_alloc.
template <class Json>
[[nodiscard]] std::string text_of_json(const Json& json, int indent = -1) {
  return with_json_escapes(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

/// What an exception says is wrong with a text; of the library's own in our words.
[[nodiscard]] inline std::string fault_of(const std::exception& error) {
  if (const auto* const parse = dynamic_cast<const nlohmann::json::parse_error*>(&error))
    return "byte " + std::to_string(parse->byte) + ": this is no JSON";
  if (dynamic_cast<const nlohmann::json::exception*>(&error) != nullptr)
    return "a member is missing or of another kind";
  return message_of(error);
}

/// A whole number from 0 to the type's largest. The library would cut off signs, fractions and
/// digits. Throws std::runtime_error.
template <class T, class Json>
[[nodiscard]] T whole_number(const Json& json) {
  static_assert(std::is_unsigned_v<T>);
  if (!json.is_number_unsigned() || json.template get<std::uint64_t>() > std::numeric_limits<T>::max())
    throw std::runtime_error(text_of_json(json) + " is not a whole number of this field");
  return json.template get<T>();
}

/// A number, not true or false.
template <class Json>
[[nodiscard]] double real_number(const Json& json) {
  if (!json.is_number()) throw std::runtime_error(text_of_json(json) + " is not a number");
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
