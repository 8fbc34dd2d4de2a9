// storage/types/class_names.cpp - checks, reads and shows names of classes.
#include "storage/types/class_names.h"

#include <algorithm>
#include <utility>

#include "storage/io/plain_text.h"

namespace unweave {
namespace {

std::string shown(std::string_view name) {
  return "'" + printable(std::string(name)) + "'";
}

}  // namespace

std::string class_names_fault(const std::vector<std::string>& names) {
  if (names.size() > kMostClassNames)
    return std::to_string(names.size()) + " names of classes, and there may be " + std::to_string(kMostClassNames);
  for (const std::string& name : names) {
    if (name.empty()) return "a name of a class is empty";
    if (name.size() > kMostClassNameBytes)
      return "the name of a class " + shown(name.substr(0, 40)) + "... has more than " +
             std::to_string(kMostClassNameBytes) + " bytes";
    if (name.front() == ' ' || name.back() == ' ')
      return "the name of a class " + shown(name) + " has a blank at its end or beginning";
    if (name == "-1" || name == "nan" || name == "NaN" || name == "none")
      return "the name of a class " + shown(name) + " stands for no class";
    if (const auto fault = text_fault(name)) return "the name of a class " + shown(name) + ": " + fault->what;
  }
  std::vector<std::string_view> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    return "two classes have the name " + shown(*twice);
  return {};
}

std::optional<std::vector<std::string>> read_class_list(std::string_view text) {
  std::vector<std::string> names(1);
  bool quoted = false, closed = false;  // the name is inside its quotes; they have closed
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        names.back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        names.back() += c;
        ++i;
      } else {
        quoted = false;
        closed = true;
      }
    } else if (c == ',') {
      names.emplace_back();
      closed = false;
    } else if (closed) {
      return std::nullopt;
    } else if (c == '"' && names.back().empty()) {
      quoted = true;
    } else {
      names.back() += c;
    }
  }
  if (quoted) return std::nullopt;
  return names;
}

std::string class_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ',';
    if (name.find(',') == std::string::npos && !name.starts_with('"')) {
      text += name;
      continue;
    }
    text += '"';
    for (const char c : name) text.append(c == '"' ? 2 : 1, c);
    text += '"';
  }
  return text;
}

std::string class_word(const std::vector<std::string>& names) {
  std::string list = class_list(names);
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ',' || c == '-' ||
           c == '.' || c == '_';
  };
  if (std::all_of(list.begin(), list.end(), is_plain)) return list;
  std::string word = "'";
  for (const char c : list) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

bool is_number_name(std::string_view name) noexcept {
  if (name.starts_with('-')) name.remove_prefix(1);
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string class_text(const std::vector<std::string>& names, std::uint64_t number) {
  return number < names.size() ? names[number] : std::to_string(number);
}

}  // namespace unweave
