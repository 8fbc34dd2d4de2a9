// storage/io/json_text.cpp - bounds of a text of JSON, and escapes in one.
#include "storage/io/json_text.h"

#include <functional>
#include <optional>
#include <set>

#include "storage/io/plain_text.h"

namespace unweave {
namespace {

/// Goes over a text without keeping its values.
class Measure final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Measure(std::size_t bytes) : left_(kLeastValues + bytes / kBytesAValue) {}

  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(number_integer_t) override { return count(); }
  bool number_unsigned(number_unsigned_t) override { return count(); }
  bool number_float(number_float_t, const string_t&) override { return count(); }
  bool string(string_t&) override { return count(); }
  bool binary(binary_t&) override { return count(); }
  bool start_object(std::size_t) override {
    members_.emplace_back();
    return open();
  }
  bool end_object() override {
    members_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (members_.back().size() == kMostMembers) throw std::runtime_error("an object has too many members");
    if (!members_.back().insert(name).second) throw std::runtime_error("a member stands there twice");
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;  // whoever parses it says what is wrong
  }

 private:
  static constexpr std::size_t kMostDepth = 32, kMostMembers = 4096, kLeastValues = 65'536, kBytesAValue = 16;

  bool count() {
    if (left_-- == 0) throw std::runtime_error("there are too many values for so few bytes");
    return true;
  }
  bool open() {
    if (++depth_ > kMostDepth) throw std::runtime_error("values nest too deeply");
    return count();
  }

  std::size_t left_, depth_ = 0;
  std::vector<std::set<std::string, std::less<>>> members_;  // Those of the objects that are open.
};

}  // namespace

void require_modest_json(std::string_view text) {
  // The library takes it for the end, and would drop what stands behind it.
  if (text.find('\0') != std::string_view::npos) throw std::runtime_error("a zero byte, which is no JSON");
  Measure measure(text.size());
  static_cast<void>(nlohmann::json::sax_parse(text, &measure));
}

std::string with_json_escapes(std::string text) {
  constexpr std::string_view kLineFeed = "\n", kDigits = "0123456789abcdef";
  std::optional<TextFault> fault = text_fault(text, kLineFeed);
  if (!fault) return text;
  std::string escaped;
  std::size_t at = 0;
  for (; fault; fault = text_fault(text, kLineFeed, at)) {
    escaped.append(text, at, fault->byte - at).append("\\u");
    for (int shift = 12; shift >= 0; shift -= 4) escaped += kDigits[fault->character >> shift & 15U];
    at = fault->byte + fault->bytes;
  }
  return escaped.append(text, at);
}

}  // namespace unweave
