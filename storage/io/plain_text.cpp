// storage/io/plain_text.cpp - reads UTF-8 character by character and knows those that act on their
// neighbours.
#include "storage/io/plain_text.h"

namespace unweave {
namespace {

struct Character {
  std::size_t bytes = 0;  ///< 0: there is no UTF-8 here
  char32_t code = 0;
};

/// The character whose first byte is text[at] (RFC 3629, table of section 4).
Character character_at(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : char32_t{0};
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  if (lead < 0xC2 || lead > 0xF4 || !follows(1)) return {};
  if (lead < 0xE0) return {2, (lead & 0x1FU) << 6 | (byte(1) & 0x3FU)};
  if (!follows(2)) return {};
  const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
  if (lead < 0xF0) {
    if ((lead == 0xE0 && byte(1) < 0xA0) || surrogate) return {};
    return {3, (lead & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU)};
  }
  const bool outside = (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) >= 0x90);
  if (outside || !follows(3)) return {};
  return {4, (lead & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU)};
}

/// What a character does to those beside it; null: nothing.
const char* effect_of(char32_t code) noexcept {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return "it has a control character";
  if (code == 0x2028 || code == 0x2029) return "it has a separator of lines";
  if (code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
      (code >= 0x2066 && code <= 0x2069))
    return "it has a character that changes the direction of writing";
  if (code == 0x00AD || (code >= 0xFFF9 && code <= 0xFFFB) || (code >= 0xE0000 && code <= 0xE007F))
    return "it has a character that nobody sees";
  return code == 0xFEFF ? "it has a byte order mark" : nullptr;
}

bool is_plain_ascii(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7F;
}

}  // namespace

std::optional<TextFault> text_fault(std::string_view text, std::string_view allowed, std::size_t from) noexcept {
  for (std::size_t at = from; at < text.size();) {
    if (is_plain_ascii(text[at])) {
      ++at;
      continue;
    }
    const Character one = character_at(text, at);
    if (one.bytes == 0) return TextFault{at, 1, 0, false, "it is not UTF-8"};
    const char* const effect = effect_of(one.code);
    if (effect != nullptr && (one.bytes > 1 || allowed.find(text[at]) == std::string_view::npos))
      return TextFault{at, one.bytes, one.code, true, effect};
    at += one.bytes;
  }
  return std::nullopt;
}

std::string text_of(const TextFault& fault) {
  return std::string(fault.what) + ", at byte " + std::to_string(fault.byte);
}

std::string printable(std::string_view text, std::string_view allowed) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string shown;
  std::size_t at = 0;
  while (const std::optional<TextFault> fault = text_fault(text, allowed, at)) {
    shown.append(text, at, fault->byte - at);
    at = fault->byte + fault->bytes;
    for (const char c : text.substr(fault->byte, fault->bytes)) {
      const auto byte = static_cast<unsigned char>(c);
      shown.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    }
  }
  return shown.append(text, at);
}

}  // namespace unweave
