// tools/service/request_body.h - the lines of a call: read where they lie, one after another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace unweave {

/// Takes the next line, which is valid during the call. What it throws ends the reading.
using UseLine = std::function<void(std::string_view line)>;

/// Lines of a text, without their ends; empty ones and `#` comments are left out.
void read_text_lines(std::string_view body, const UseLine& use);
/// The texts of {"requests": ["...", ...]}, where `member` is "requests". False where the body is
/// anything else, a further member included; some lines may have been used then. Beside the body it
/// takes six times the longest text at most.
[[nodiscard]] bool read_json_lines(std::string_view body, std::string_view member, const UseLine& use);

/// Bytes that it takes at most to parse a line (storage/input/request_reader.h), what comes of it
/// included.
[[nodiscard]] std::uint64_t parsing_bytes(std::string_view line) noexcept;

/// The bytes that a part of a path or a query stands for: "%2F" is a slash, and a plus is a plus.
/// Nothing where a percent sign is not followed by two hexadecimal digits.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

/// The value of a member of a query or a form (application/x-www-form-urlencoded), in which a plus
/// stands for a blank; none where it is missing, or has an escape that is none.
[[nodiscard]] std::optional<std::string> form_member(std::string_view form, std::string_view name);

}  // namespace unweave
