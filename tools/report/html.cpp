// tools/report/html.cpp - pieces of an HTML page: escaped texts, figures, tables.
#include "tools/report/html.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/io/json_text.h"
#include "storage/io/plain_text.h"
#include "tools/cli/output.h"

namespace unweave {
namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

std::string data(const std::string& value, const std::string& shown) {
  return value == shown ? shown : "<data value=\"" + value + "\">" + shown + "</data>";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : printable(text, "\n\t")) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string shortened(std::string_view text, std::size_t characters) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < characters && at < text.size(); ++i) do
      ++at;
    while (at < text.size() && is_continuation(text[at]));
  return at == text.size() ? std::string(text) : std::string(text.substr(0, at)) + "\xE2\x80\xA6";
}

std::string decimal(double x) {
  return std::isfinite(x) ? text_of_json(nlohmann::json(x)) : std::string();
}

std::string count_cell(std::optional<std::uint64_t> count) {
  return count ? data(std::to_string(*count), count_text(*count)) : std::string();
}

std::string real_cell(std::optional<double> x) {
  return x ? data(decimal(*x), number_text(*x)) : std::string();
}

std::string seconds_cell(std::optional<double> seconds) {
  return seconds ? data(decimal(*seconds), seconds_text(*seconds)) : std::string();
}

std::string bytes_cell(std::optional<std::uint64_t> bytes) {
  return bytes ? data(std::to_string(*bytes), bytes_text(*bytes)) : std::string();
}

std::string flag_cell(std::optional<bool> flag) {
  return !flag ? "" : *flag ? "yes" : "no";
}

std::string text_cell(const std::optional<std::string>& text) {
  return text ? escaped(*text) : std::string();
}

std::string code_cell(const std::optional<std::string>& text) {
  return text && !text->empty() ? "<code>" + escaped(*text) + "</code>" : std::string();
}

HtmlTable::HtmlTable(std::string caption, std::vector<Column> columns)
    : caption_(std::move(caption)), columns_(std::move(columns)) {}

void HtmlTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string HtmlTable::html() const {
  const auto is_used = [&](std::size_t column) {
    return std::any_of(rows_.begin(), rows_.end(), [&](const auto& row) { return !row[column].empty(); });
  };
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (is_used(i)) used.push_back(i);
  const std::string caption = escaped(caption_);
  std::string html = "<div class=\"scroll\" role=\"region\" aria-label=\"Table: " + caption +
                     "\" tabindex=\"0\">\n<table>\n<caption>" + caption + "</caption>\n<thead><tr>";
  const auto style = [&](std::size_t column) {
    return std::string(columns_[column].align == Align::text ? " class=\"text\"" : "");
  };
  for (const std::size_t i : used) html += "<th scope=\"col\"" + style(i) + ">" + columns_[i].title + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows_) {
    html += "<tr>";
    for (const std::size_t i : used) {
      const std::string cell = row[i].empty() ? "\xE2\x80\x93" : row[i];
      html += i == used.front() ? "<th scope=\"row\"" + style(i) + ">" + cell + "</th>"
                                : "<td" + style(i) + ">" + cell + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n";
}

void HtmlList::add(std::string_view name, const std::string& value) {
  if (!value.empty()) items_ += "<div><dt>" + escaped(name) + "</dt><dd>" + value + "</dd></div>\n";
}

std::string HtmlList::html() const {
  return items_.empty() ? std::string() : "<dl>\n" + items_ + "</dl>\n";
}

}  // namespace unweave
