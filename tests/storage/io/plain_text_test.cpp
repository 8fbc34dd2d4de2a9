// tests/storage/io/plain_text_test.cpp - which texts are plain, against a table of all characters
// and another decoder of UTF-8, and how others are shown and written as JSON.
#include "storage/io/plain_text.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "storage/io/json_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

/// A number as UTF-8 would write it, surrogates included.
std::string encoded(char32_t code) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

/// As the table of the header has it.
bool acts_on_others(char32_t code) {
  for (const auto& [first, last] : {std::pair<char32_t, char32_t>{0x00, 0x1F},
                                    {0x7F, 0x9F},
                                    {0xAD, 0xAD},
                                    {0x061C, 0x061C},
                                    {0x200E, 0x200F},
                                    {0x2028, 0x202E},
                                    {0x2066, 0x2069},
                                    {0xFEFF, 0xFEFF},
                                    {0xFFF9, 0xFFFB},
                                    {0xE0000, 0xE007F}})
    if (code >= first && code <= last) return true;
  return false;
}

/// Whether the library of JSON takes these bytes for UTF-8.
bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(Json(text).dump());
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

std::string drawn_bytes(std::mt19937_64& random) {
  // Bytes that make characters of every length, whole and cut, are likely.
  static constexpr unsigned char kBytes[] = {'a',  '"',  '\\', 0x00, 0x0A, 0x1B, 0x7F, 0x80, 0x85,
                                             0x9F, 0xA0, 0xA8, 0xAE, 0xBB, 0xBF, 0xC0, 0xC2, 0xC3,
                                             0xE0, 0xE2, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF};
  std::string text(random() % 12, '\0');
  for (char& c : text) c = static_cast<char>(random() % 4 == 0 ? random() % 256 : kBytes[random() % std::size(kBytes)]);
  return text;
}

TEST_SUITE("unit") {
  TEST_CASE("every character is plain but those of the table; surrogates and what is above U+10FFFF are no UTF-8") {
    std::size_t wrong = 0;
    for (char32_t code = 0; code < 0x120000; ++code) {
      const std::string text = "a" + encoded(code) + "b";
      const bool is_character = code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
      const std::optional<TextFault> fault = text_fault(text);
      const bool fits = !is_character          ? fault && !fault->is_utf8 && fault->byte == 1 && fault->bytes == 1
                        : acts_on_others(code) ? fault && fault->is_utf8 && fault->character == code &&
                                                     fault->byte == 1 && fault->bytes + 2 == text.size()
                                               : !fault;
      wrong += fits ? 0 : 1;
    }
    CHECK(wrong == 0);
  }

  TEST_CASE("any bytes: two decoders agree, and what is shown is plain and tells the bytes") {
    std::mt19937_64 random(3);
    for (int i = 0; i < 20'000; ++i) {
      const std::string text = drawn_bytes(random);
      CAPTURE(text);
      bool has_utf8_alone = true;
      for (std::optional<TextFault> fault = text_fault(text); fault;
           fault = text_fault(text, {}, fault->byte + fault->bytes))
        has_utf8_alone &= fault->is_utf8;
      CHECK(has_utf8_alone == is_utf8(text));
      const std::string shown = printable(text);
      CHECK_FALSE(text_fault(shown));
      CHECK(printable(shown) == shown);
      CHECK((shown == text) == !text_fault(text));
      if (text.find('\\') != std::string::npos) continue;
      std::string back;
      for (std::size_t at = 0; at < shown.size(); ++at) {
        if (shown[at] != '\\') {
          back += shown[at];
          continue;
        }
        back += static_cast<char>(std::stoi(shown.substr(at + 2, 2), nullptr, 16));
        at += 3;
      }
      CHECK(back == text);
    }
  }

  TEST_CASE("a fault says what it is, and where") {
    CHECK(printable("T7") == "T7");
    CHECK(printable("T\xFF\xC2\x9B"
                    "2J\n") == "T\\xFF\\xC2\\x9B2J\\x0A");
    CHECK(printable("a\nb\t", "\n") == "a\nb\\x09");
    CHECK(printable("\xC2\x8A", "\n\x8A") == "\\xC2\\x8A");  // characters of ASCII alone may be allowed
    CHECK(text_of(*text_fault("abc\x1B[2J")) == "it has a control character, at byte 3");
    CHECK(text_of(*text_fault("\xC3\xBC\xC0\x80")) == "it is not UTF-8, at byte 2");
    CHECK(text_of(*text_fault("a\xE2\x80\xAE")) ==
          "it has a character that changes the direction of writing, at byte 1");
    CHECK(text_of(*text_fault("\xE2\x80\xA8")) == "it has a separator of lines, at byte 0");
    CHECK(text_of(*text_fault("\xEF\xBB\xBF")) == "it has a byte order mark, at byte 0");
    CHECK_FALSE(text_fault("\xE2\x80\x8D\xEF\xBF\xBE"));  // a joiner, a noncharacter
  }

  TEST_CASE(
      "JSON of any bytes is written, holds nothing that is not plain, and is what the library writes of plain text") {
    std::mt19937_64 random(5);
    for (int i = 0; i < 20'000; ++i) {
      const std::string text = drawn_bytes(random), key = drawn_bytes(random);
      CAPTURE(text);
      const Json json{{"plain", "\xC3\xBC\"\\"}, {key, {text, 0.1, nullptr}}};
      const std::string line = text_of_json(json), lines = text_of_json(json, 1);
      CHECK_FALSE(text_fault(line));
      CHECK_FALSE(text_fault(lines, "\n"));
      const Json back = Json::parse(line);
      CHECK(back == Json::parse(lines));
      if (is_utf8(text) && is_utf8(key)) CHECK(back == json);
      if (text_fault(text) || text_fault(key)) continue;
      CHECK(line == json.dump());
      CHECK(lines == json.dump(1));
    }
    // What takes far more time or memory than its bytes.
    const auto repeated = [](const std::string& one, std::size_t times) {
      std::string list = "[0";
      for (std::size_t i = 0; i < times; ++i) list += one;
      return list + "]";
    };
    std::string members = "{\"a\":0";
    for (int i = 0; i < 5000; ++i) members += ",\"" + std::to_string(i) + "\":0";
    for (const std::string& text : {repeated(",{}", 400'000), repeated(",[0]", 400'000), members + "}",
                                    std::string(100, '[') + std::string(100, ']')})
      CHECK_THROWS_AS((void)parse_json(text), std::runtime_error);
    CHECK(parse_json(repeated(",{\"request\":\"node 17 id=somebody\",\"reason\":\"known-id\"}", 300'000)).size() ==
          300'001);
    for (const char* const twice : {"{\"a\":1,\"a\":1}", "[{\"b\":{\"a\":1,\"c\":{},\"a\":2}}]"})
      CHECK_THROWS_AS((void)parse_json(twice), std::runtime_error);
    CHECK(parse_json("{\"a\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":2}]}").at("b").size() == 2);
    CHECK(text_of_json(Json("\xC2\x85\xE2\x80\xAE\x7F\n\xFF")) == "\"\\u0085\\u202e\\u007f\\n\xEF\xBF\xBD\"");
  }
}

}  // namespace
}  // namespace unweave
