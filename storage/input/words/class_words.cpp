// storage/input/words/class_words.cpp - names of classes, looked up and shown.
#include "storage/input/words/class_words.h"

#include <algorithm>

#include "storage/input/words/line_reader.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/nearest_name.h"
#include "storage/types/class_names.h"

namespace unweave {

ClassWords::ClassWords(const std::vector<std::string>& names)
    : names_(names), have_numbers_(std::any_of(names.begin(), names.end(), is_number_name)) {
  for (const std::string& name : names) letters_ += name.size();
  for (std::size_t c = 0; c < names.size(); ++c) number_of_.emplace(names[c], static_cast<std::int32_t>(c));
}

std::optional<std::int32_t> ClassWords::find(std::string_view word) const {
  const auto found = is_quoted(word) ? number_of_.find(unquoted(word)) : number_of_.find(word);
  if (found == number_of_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string> ClassWords::request_value(std::string_view word) const {
  const std::optional<std::int32_t> number = find(word);
  if (!number) return std::nullopt;
  return (have_numbers_ ? "#" : "") + std::to_string(*number);
}

std::string ClassWords::nearest(std::string_view word) const {
  constexpr std::size_t kMostLetters = std::size_t{1} << 14;  // not even looked at once for each of many wrong words
  if (letters_ > kMostLetters) return {};
  const std::vector<std::string_view> names(names_.begin(), names_.end());
  return did_you_mean(word, names);
}

std::string ClassWords::shown() const {
  constexpr std::size_t kShownNames = 10;
  std::string text;
  for (std::size_t c = 0; c < names_.size() && c < kShownNames; ++c)
    text += (c == 0 ? "" : ", ") + quote_for_message(names_[c]);
  return names_.size() > kShownNames ? text + ", ..." : text;
}

}  // namespace unweave
