// storage/io/message.cpp - marks options and operations in messages, and shows them in a given
// style.
#include "storage/io/message.h"

#include <algorithm>
#include <optional>

#include "storage/io/plain_text.h"

namespace unweave {
namespace {

constexpr char kOption = '\x01', kValue = '\x02', kOptionEnd = '\x03', kOperation = '\x04', kOperationEnd = '\x05';
constexpr std::string_view kMarks = "\x01\x02\x03\x04\x05";
constexpr std::string_view kKeyLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
constexpr MessageStyle kPlain{"", "=", "", "`", "`"};

/// What stands between two marks, and how long all of it is.
struct Marked {
  std::string_view text;
  std::optional<std::string_view> value;  ///< value of an option that has one
  std::size_t size = 0;
};

/// The option whose marks `message` begins with. It ends at the next mark: texts of others may hold
/// very many.
std::optional<Marked> leading_option(std::string_view message) {
  if (!message.starts_with(kOption)) return std::nullopt;
  const std::size_t key_end = std::min(message.find_first_not_of(kKeyLetters, 1), message.size());
  if (key_end == 1 || key_end == message.size()) return std::nullopt;
  const bool has_value = message[key_end] == kValue;
  const std::size_t end = message.find_first_of(kMarks, key_end + (has_value ? 1 : 0));
  if (end == std::string_view::npos || message[end] != kOptionEnd || (!has_value && end != key_end))
    return std::nullopt;
  Marked found{message.substr(1, key_end - 1), std::nullopt, end + 1};
  if (!has_value) return found;
  found.value = message.substr(key_end + 1, end - key_end - 1);
  return found;
}

std::optional<Marked> leading_operation(std::string_view message) {
  if (!message.starts_with(kOperation)) return std::nullopt;
  const std::size_t end = message.find_first_of(kMarks.substr(3), 1);
  if (end == std::string_view::npos || message[end] != kOperationEnd) return std::nullopt;
  return Marked{message.substr(1, end - 1), std::nullopt, end + 1};
}

/// The message with what the style has in the places of marks.
std::string without_marks(std::string_view message, const MessageStyle& style) {
  std::string out;
  while (!message.empty()) {
    if (const auto named = leading_option(message)) {
      out.append(style.before_option).append(named->text);
      if (named->value) out.append(style.before_value).append(*named->value);
      out.append(style.after_option);
      message.remove_prefix(named->size);
    } else if (const auto run = leading_operation(message)) {
      out.append(style.before_operation).append(without_marks(run->text, style)).append(style.after_operation);
      message.remove_prefix(run->size);
    } else {
      out += message.front();
      message.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

std::string option(std::string_view key) {
  return kOption + std::string(key) + kOptionEnd;
}

std::string option(std::string_view key, std::string_view value) {
  std::string text(value);  // which may be of others
  std::replace_if(
      text.begin(), text.end(), [](char c) { return kMarks.find(c) != std::string_view::npos; }, '?');
  return (kOption + std::string(key) + kValue).append(text) + kOptionEnd;
}

std::string operation(std::string_view text) {
  return kOperation + std::string(text) + kOperationEnd;
}

std::string shown(std::string_view message, const MessageStyle& style) {
  return printable(without_marks(message, style));
}

std::string plain(std::string_view message) {
  return shown(message, kPlain);
}

std::vector<std::string> options_in(std::string_view message) {
  std::vector<std::string> keys;
  while (!message.empty()) {
    const auto named = leading_option(message);
    if (named && std::find(keys.begin(), keys.end(), named->text) == keys.end()) keys.emplace_back(named->text);
    message.remove_prefix(named ? named->size : 1);
  }
  return keys;
}

}  // namespace unweave
