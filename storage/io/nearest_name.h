// storage/io/nearest_name.h - what a mistyped name was meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace unweave {

/// The one of `known` that `text` was most likely meant to be: the fewest letters to insert, leave
/// out, change or swap with the next one, upper case or lower, at most a third of the letters (one
/// of a short name); or the only name that begins with `text`. Empty where none is so near.
[[nodiscard]] std::string_view nearest_name(std::string_view text, std::span<const std::string_view> known);

/// " (did you mean 'newton'?)", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view text, std::span<const std::string_view> known);

/// "a, b or c".
[[nodiscard]] std::string one_of(std::span<const std::string_view> known);

/// "unknown head "svn" (did you mean 'svm'?); use svm or tree": `what` is "head", `known` what
/// there is.
[[nodiscard]] std::string unknown_name(std::string_view what, std::string_view text,
                                       std::span<const std::string_view> known);

}  // namespace unweave
