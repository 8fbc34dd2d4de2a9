// tools/cli/text_wrap.cpp - breaking running text into lines.
#include "tools/cli/text_wrap.h"

#include <algorithm>
#include <sstream>

namespace unweave {

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = indent;  // where the first line begins, too
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (out.empty()) {
    } else if (column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string rewrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (std::all_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.size() <= width; }))
    return text;
  std::string out, paragraph;
  const auto finish = [&] {
    if (paragraph.empty()) return;
    out += (out.empty() ? "" : "\n") + wrapped(paragraph, width);
    paragraph.clear();
  };
  for (const std::string& line : lines) {
    if (line.empty() || line.front() == ' ') {
      finish();
      out += (out.empty() ? "" : "\n") + line;
      continue;
    }
    paragraph += (paragraph.empty() ? "" : " ") + line;
    if (line.back() == '.' || line.back() == ':') finish();
  }
  finish();
  return out;
}

std::string glossary(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::size_t names = 0;
  for (const auto& entry : entries) names = std::max(names, entry.first.size());
  const std::size_t column = 2 + names + 2;
  std::string out;
  for (const auto& [name, meaning] : entries)
    out += "  " + name + std::string(column - 2 - name.size(), ' ') + wrapped(meaning, kTextWidth, column) + '\n';
  return out;
}

}  // namespace unweave
