// tools/service/request_body.cpp - reads what clients wrote, without a copy of it.
#include "tools/service/request_body.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "storage/input/request_reader.h"

namespace unweave {
namespace {

/// Hears the parts of a document in their order, and accepts one form alone.
class LinesOnly final : public nlohmann::json_sax<nlohmann::json> {
 public:
  LinesOnly(std::string_view member, const UseLine& use) : member_(member), use_(use) {}

  bool start_object(std::size_t) override { return follows(Place::start, Place::object); }
  bool key(string_t& name) override { return name == member_ && follows(Place::object, Place::member); }
  bool start_array(std::size_t) override { return follows(Place::member, Place::list); }
  bool string(string_t& line) override {
    if (place_ != Place::list) return false;
    use_(line);
    return true;
  }
  bool end_array() override { return follows(Place::list, Place::behind); }
  bool end_object() override { return follows(Place::behind, Place::end); }

  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_integer(number_integer_t) override { return false; }
  bool number_unsigned(number_unsigned_t) override { return false; }
  bool number_float(number_float_t, const string_t&) override { return false; }
  bool binary(binary_t&) override { return false; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  enum class Place { start, object, member, list, behind, end };
  bool follows(Place before, Place after) {
    const bool right = place_ == before;
    place_ = after;
    return right;
  }

  std::string_view member_;
  const UseLine& use_;
  Place place_ = Place::start;
};

}  // namespace

void read_text_lines(std::string_view body, const UseLine& use) {
  while (!body.empty()) {
    const std::size_t end = std::min(body.find('\n'), body.size());
    std::string_view line = body.substr(0, end);
    body.remove_prefix(std::min(end + 1, body.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!is_skipped_line(line)) use(line);
  }
}

bool read_json_lines(std::string_view body, std::string_view member, const UseLine& use) {
  if (body.find('\0') != std::string_view::npos) return false;  // the library takes it for the end
  LinesOnly form(member, use);
  return nlohmann::json::sax_parse(body.begin(), body.end(), &form);
}

std::uint64_t parsing_bytes(std::string_view line) noexcept {
  constexpr std::uint64_t kPair = 80;  // a column and its value, on the way to their text
  constexpr std::uint64_t kTexts = 4;  // times the line's length: the value, as it grows
  return kTexts * line.size() + kPair * static_cast<std::uint64_t>(std::count(line.begin(), line.end(), ':'));
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const std::string_view digits = text.substr(std::min(i + 1, text.size()), 2);
    unsigned char byte = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) return std::nullopt;
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

std::optional<std::string> form_member(std::string_view form, std::string_view name) {
  while (!form.empty()) {
    const std::string_view member = form.substr(0, form.find('&'));
    form.remove_prefix(std::min(form.size(), member.size() + 1));
    const std::size_t equals = std::min(member.find('='), member.size());
    if (member.substr(0, equals) != name) continue;
    std::string value(member.substr(std::min(equals + 1, member.size())));
    std::replace(value.begin(), value.end(), '+', ' ');
    return percent_decoded(value);
  }
  return std::nullopt;
}

}  // namespace unweave
