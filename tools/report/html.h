// tools/report/html.h - pieces of an HTML page: escaped texts, figures, tables.
//
// A function that takes a text from outside escapes it. What is called HTML here was made by this
// program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unweave {

/// A text as HTML, in an element or in an attribute between quotes. What is no plain text is as
/// printable() has it (storage/io/plain_text.h), but for line feeds and tabs.
[[nodiscard]] std::string escaped(std::string_view text);

/// `text` cut to so many characters, with an ellipsis where some are missing. Not escaped.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t characters);

/// The shortest decimal number that reads back as `x`; "" where it is not finite.
[[nodiscard]] std::string decimal(double x);

/// Cells of a table as HTML, empty where there is no value. What is rounded for people keeps the
/// whole number beside it, as `<data value>`.
[[nodiscard]] std::string count_cell(std::optional<std::uint64_t> count);
[[nodiscard]] std::string real_cell(std::optional<double> x);
[[nodiscard]] std::string seconds_cell(std::optional<double> seconds);
[[nodiscard]] std::string bytes_cell(std::optional<std::uint64_t> bytes);
[[nodiscard]] std::string flag_cell(std::optional<bool> flag);
[[nodiscard]] std::string text_cell(const std::optional<std::string>& text);
/// Digests, keys and names of releases.
[[nodiscard]] std::string code_cell(const std::optional<std::string>& text);

/// A table in a frame that scrolls, which a keyboard reaches. The first cell of a row names it.
/// Columns that no row has a cell of are left out.
class HtmlTable {
 public:
  enum class Align { text, number };
  struct Column {
    std::string title;  ///< HTML
    Align align = Align::number;
  };

  /// `caption`: a text, another one for each table of a page.
  HtmlTable(std::string caption, std::vector<Column> columns);
  /// Cells are HTML; "" where there is no value.
  void add_row(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  [[nodiscard]] std::string html() const;

 private:
  std::string caption_;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Names and what they stand for, one below the other; pairs without a value are left out.
class HtmlList {
 public:
  /// `name` is a text, `value` HTML.
  void add(std::string_view name, const std::string& value);
  [[nodiscard]] std::string html() const;

 private:
  std::string items_;
};

}  // namespace unweave
