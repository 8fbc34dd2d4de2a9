// storage/types/class_names.h - what users call the classes of a store: rules of their names, as
// texts and as lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unweave {

inline constexpr std::size_t kMostClassNameBytes = 255;
inline constexpr std::size_t kMostClassNames = 65536;

/// Why these are no names of classes, as a sentence that names the first that is wrong; empty where
/// they are. A name is a plain text (plain_text.h) of 1 to 255 bytes without blanks at its ends,
/// and no two are equal. Blanks and commas inside are allowed; -1, nan, NaN and none, which stand
/// for no class among labels and in requests, are not.
[[nodiscard]] std::string class_names_fault(const std::vector<std::string>& names);

/// The names in a list as people write it, "cat,dog": one that has a comma or begins with a quote
/// stands in quotes, where two quotes are one, as in CSV. Nothing for a list whose quotes do not
/// close. class_list() writes what this reads.
[[nodiscard]] std::optional<std::vector<std::string>> read_class_list(std::string_view text);
[[nodiscard]] std::string class_list(const std::vector<std::string>& names);
/// That list as a word of a shell: in single quotes where it has other characters than letters,
/// digits, commas and - . _
[[nodiscard]] std::string class_word(const std::vector<std::string>& names);

/// Whether a name is a whole number, so that a number might be the name or the place of a class.
[[nodiscard]] bool is_number_name(std::string_view name) noexcept;

/// The name of a class, or its number where classes have no names.
[[nodiscard]] std::string class_text(const std::vector<std::string>& names, std::uint64_t number);

}  // namespace unweave
