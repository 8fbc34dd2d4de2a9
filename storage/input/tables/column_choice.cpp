// storage/input/tables/column_choice.cpp - finds the columns that are meant, and copies them out of
// a table.
#include "storage/input/tables/column_choice.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <mutex>
#include <utility>

#include "storage/input/tables/line_order.h"
#include "storage/input/words/line_reader.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

std::optional<std::size_t> place_in(std::string_view text) {
  std::size_t place = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), place);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(place) : std::nullopt;
}

/// The parts of a text at `separator`, which may stand in quotes.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t quotes = text.starts_with('"') ? std::min(end_of_quotes(text), text.size()) : 0;
    const std::size_t end = std::min(text.find(separator, quotes), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

/// A name as it stands in a choice.
std::string part_of(const std::string& name) {
  const bool is_plain =
      name.find_first_of(",:[]\"") == std::string::npos && !place_in(name) && without_blanks(name) == name;
  return is_plain ? name : in_quotes(name);
}

std::string names_of(std::span<const std::string> header) {
  constexpr std::size_t kTold = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(header.size(), kTold); ++i) text += (i == 0 ? "" : ", ") + as_word(header[i]);
  return text + (header.size() > kTold ? ", ..." : "");
}

class ChosenColumns final : public MadeBytes {
 public:
  ChosenColumns(ByteSource table, ColumnChoice choice, LinesAre lines, std::shared_ptr<LineOrders> orders)
      : lines_(std::move(table)), choice_(std::move(choice)), left_out_(lines, std::move(orders)) {}

  void require_order_of_nodes() const override { left_out_.require_order(lines_.name(), header_, choice_.by_name()); }

  [[nodiscard]] std::vector<std::string> table_header() const override { return header_; }

  [[nodiscard]] std::string place_of_line(std::uint64_t line) const override {
    const std::scoped_lock lock(mutex_);
    const auto after = std::upper_bound(runs_.begin(), runs_.end(), line,
                                        [](std::uint64_t one, const Run& run) { return one < run.first; });
    return lines_.place_of(after == runs_.begin() ? line : std::prev(after)->source + (line - std::prev(after)->first));
  }

 private:
  void make(std::string& text) override {
    while (text.empty()) {
      std::string_view line;
      if (!lines_.next(line)) return;
      const char first = Fields(line).first();
      const bool is_remark = first == '#' || (first == '%' && columns_.empty());  // KONECT begins its files so
      // A remark above the first line says that this is data, also of chosen columns.
      const bool says_data = first == '#' && columns_.empty() && !choice_.by_name();
      says_data_ |= says_data;
      if (says_data)
        text = "#";
      else if (first == '\0' || is_remark || !add_line(line, text))
        continue;
      text += '\n';
      note_line();
    }
  }

  /// Lines one after the other, none of which was left out.
  struct Run {
    std::uint64_t first = 0;   ///< as they are given, from 1
    std::uint64_t source = 0;  ///< in the table
  };
  void note_line() {
    const std::scoped_lock lock(mutex_);
    ++given_lines_;
    if (runs_.empty() || runs_.back().source + (given_lines_ - runs_.back().first) != lines_.number())
      runs_.push_back({given_lines_, lines_.number()});
  }

  /// False for a header.
  bool add_line(std::string_view line, std::string& text) {
    const bool is_first = columns_.empty();
    if (is_first) find_separator(line);
    fields_.clear();
    if (separator_ == ' ') {
      for (Fields words(line); !words.at_end();) add_field(words.take());
    } else {
      if (separator_ == ',') require_no_decimal_commas(line);
      for (const std::string_view part : parts_of(line, separator_)) add_field(without_blanks(part));
    }
    if (is_first) {
      find_columns();
      header_ = fields_;
      left_out_.begin(fields_.size(), columns_, !choice_.by_name());
      if (choice_.by_name()) return false;
      if (!says_data_) require_no_names_of_columns(line);
    }
    left_out_.see(fields_);
    if (fields_.size() != header_.size())  // where lines list neighbours, say, the others would be lost
      throw InputError(lines_.name(), lines_.place(),
                       "it has " + std::to_string(fields_.size()) + " columns, and the first line has " +
                           std::to_string(header_.size()),
                       "give the same number of columns on each line");
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) text += separator_ == ' ' ? ' ' : ',';
      const std::string& field = fields_[columns_[i]];
      // In front of a line it would make a remark of it.
      text += i == 0 && (field.starts_with('#') || field.starts_with('%')) ? in_quotes(field) : as_word(field);
    }
    return true;
  }

  /// A first line whose chosen fields are numbers, as names of columns such as 2019 are, and of
  /// which another field is a word.
  void require_no_names_of_columns(std::string_view line) const {
    if (lines_.header() != Header::ask) return;
    const auto is_number = [](const std::string& field) {
      double value = 0;
      Fields one(field);
      return one.number(value) == std::errc();
    };
    const auto is_word = [](const std::string& field) {
      const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
      return !field.empty() && (is_letter(field[0]) || field[0] == '_');
    };
    if (!std::all_of(columns_.begin(), columns_.end(),
                     [&](std::size_t column) { return is_number(fields_[column]); }) ||
        std::none_of(fields_.begin(), fields_.end(), is_word))
      return;
    throw InputError(lines_.name(), lines_.place(),
                     "the chosen columns of " + quote_for_message(line) +
                         " may be data, or names of columns, as another word of the line may be",
                     lines_.header_remedy("data", "names of columns"));
  }

  void add_field(std::string_view word) {
    if (word.starts_with('"') && !is_quoted(word))
      throw InputError(lines_.name(), lines_.place(), "quotes in " + quote_for_message(word) + " that are not closed",
                       "close them on the same line, and write a quote in a field twice");
    fields_.push_back(is_quoted(word) ? unquoted(word) : std::string(word));
  }

  /// Where commas part a line, all of them may be those of decimal numbers: "0 1,5" has two
  /// numbers, and "Ann;1,5" a name and one.
  void require_no_decimal_commas(std::string_view line) const {
    if (line.find('"') != std::string_view::npos) return;
    const bool by_semicolons = line.find(';') != std::string_view::npos;
    if (by_semicolons ? !all_between_digits(line) : !are_decimal_numbers(line)) return;
    throw InputError(lines_.name(), lines_.place(),
                     "commas and " + std::string(by_semicolons ? "semicolons" : "blanks") + " both part " +
                         quote_for_message(line) + ", so that a comma may be that of a decimal number",
                     "write decimal points and one kind of separator, or put fields that have another one in quotes");
  }

  static bool all_between_digits(std::string_view line) {
    const auto is_digit = [&](std::size_t at) { return at < line.size() && line[at] >= '0' && line[at] <= '9'; };
    for (std::size_t at = line.find(','); at != std::string_view::npos; at = line.find(',', at + 1))
      if (at == 0 || !is_digit(at - 1) || !is_digit(at + 1)) return false;
    return true;
  }

  /// Whether there are several words, parted by blanks, which are all numbers where a comma is a
  /// point.
  static bool are_decimal_numbers(std::string_view line) {
    std::string points(line);
    std::replace(points.begin(), points.end(), ',', '.');
    std::size_t words = 0;
    for (Fields fields(points); !fields.at_end(); ++words)
      if (double value = 0; fields.number(value) != std::errc()) return false;
    return words > 1;
  }

  void find_separator(std::string_view line) {
    for (const char separator : {'\t', ',', ';'})
      if (parts_of(line, separator).size() > 1) {
        separator_ = separator;
        return;
      }
  }

  void require_different() const {
    std::vector<std::size_t> sorted = columns_;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
      throw UsageError("column " + std::to_string(*twice) + ", " + quote_for_message(fields_[*twice]) +
                       " in the first line, is named twice");
  }

  void find_columns() {
    try {
      columns_ = choice_.by_name() ? choice_.among(fields_) : choice_.among(fields_.size());
      require_different();
    } catch (const UsageError& error) {
      throw InputError(lines_.name(), lines_.place(), error.message(), "name columns that there are");
    }
  }

  LineReader lines_;
  ColumnChoice choice_;
  LeftOutColumns left_out_;
  char separator_ = ' ';
  bool says_data_ = false;                    ///< a remark stands above the first line
  std::vector<std::string> fields_, header_;  ///< the words of a line, and those of the first
  std::vector<std::size_t> columns_;          ///< those that are meant; empty before the first line
  std::uint64_t given_lines_ = 0;
  mutable std::mutex mutex_;
  std::vector<Run> runs_;
};

}  // namespace

ColumnChoice::ColumnChoice(std::string_view text) : text_(text) {
  if (text.empty()) return;
  for (const std::string_view part : parts_of(text, ',')) {
    const std::string_view word = without_blanks(part);
    const std::size_t colon = word.find(':');
    const auto fail = [&](const std::string& what) {
      throw UsageError("[" + text_ + "]: " + what + "; name columns as in [src,dst], [0,2] or [1:]");
    };
    Item item;
    if (word.starts_with('"')) {
      if (!is_quoted(word) || word.size() == 2) fail("quotes without a name in them, or that are not closed");
      item.name = unquoted(word);
    } else if (colon != std::string_view::npos) {
      const std::string_view from = word.substr(0, colon), to = word.substr(colon + 1);
      const std::optional<std::size_t> first = from.empty() ? 0 : place_in(from), last = place_in(to);
      if (!first || (!last && !to.empty()) || (last && *last <= *first))
        fail("'" + std::string(word) + "' is no range");
      item.first = *first;
      item.last = last;
    } else if (const std::optional<std::size_t> place = place_in(word)) {
      item.first = *place;
      item.last = *place + 1;
    } else if (word.empty()) {
      fail("a name is missing");
    } else {
      item.name = word;
    }
    items_.push_back(std::move(item));
  }
}

bool ColumnChoice::by_name() const noexcept {
  return std::any_of(items_.begin(), items_.end(), [](const Item& item) { return !item.name.empty(); });
}

void ColumnChoice::add(const Item& item, std::size_t columns, std::vector<std::size_t>& chosen) const {
  const std::size_t last = item.last.value_or(columns);
  if (item.first >= columns || last > columns)
    throw UsageError("there are " + std::to_string(columns) + " columns, counted from 0, and [" + text_ +
                     "] asks for another one");
  for (std::size_t column = item.first; column < last; ++column) chosen.push_back(column);
}

std::vector<std::size_t> ColumnChoice::among(std::size_t columns) const {
  std::vector<std::size_t> chosen;
  for (const Item& item : items_) {
    if (!item.name.empty()) throw UsageError("columns have no names here, and [" + text_ + "] asks for some");
    add(item, columns, chosen);
  }
  return chosen;
}

std::vector<std::size_t> ColumnChoice::among(std::span<const std::string> header) const {
  std::vector<std::size_t> chosen;
  for (const Item& item : items_) {
    if (!item.name.empty()) {
      chosen.push_back(place_of(item, header));
      continue;
    }
    if (item.last == item.first + 1) {
      const auto named = std::find(header.begin(), header.end(), std::to_string(item.first));
      if (named != header.end() && static_cast<std::size_t>(named - header.begin()) != item.first)
        throw UsageError("[" + text_ + "]: " + std::to_string(item.first) +
                         " may be a place, counted from 0, or the name of column " +
                         std::to_string(named - header.begin()) +
                         "; write a name in quotes, or name all columns by place");
    }
    add(item, header.size(), chosen);
  }
  return chosen;
}

std::size_t ColumnChoice::place_of(const Item& item, std::span<const std::string> header) const {
  const auto named = std::find(header.begin(), header.end(), item.name);
  if (named == header.end())
    throw UsageError("no column has the name " + quote_for_message(item.name) + "; there are " + names_of(header));
  if (std::find(named + 1, header.end(), item.name) != header.end())
    throw UsageError("two columns have the name " + quote_for_message(item.name) + "; name them by place, as in [0,2]");
  return static_cast<std::size_t>(named - header.begin());
}

std::optional<std::size_t> ColumnChoice::one() const {
  if (!given()) return std::nullopt;
  if (items_.size() != 1 || !items_[0].name.empty() || items_[0].last != items_[0].first + 1)
    throw UsageError("[" + text_ + "]: one column of an array is meant, by its place from 0, as in [2]");
  return items_[0].first;
}

std::string ColumnChoice::without(std::size_t column, std::size_t columns) const {
  const std::vector<Item> all{Item{}};
  const std::vector<Item>& items = given() ? items_ : all;
  std::size_t of_open = columns;  // columns of a range without an end
  for (const Item& item : items)
    if (!item.name.empty() || item.last) of_open -= item.name.empty() ? *item.last - item.first : 1;
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ",") + part; };
  const auto add_range = [&](std::size_t first, std::size_t last, bool is_open) {
    if (first == last) return;
    if (!is_open && last == first + 1) return add(std::to_string(first));
    add((first == 0 ? "" : std::to_string(first)) + ":" + (is_open ? "" : std::to_string(last)));
  };
  std::size_t begin = 0;  // place of an item among the columns that are meant
  for (const Item& item : items) {
    const std::size_t length = !item.name.empty() ? 1 : item.last ? *item.last - item.first : of_open;
    const std::size_t last = item.first + length;
    const bool has_column = begin <= column && column < begin + length;
    if (!item.name.empty()) {
      if (!has_column) add(part_of(item.name));
    } else if (has_column) {
      add_range(item.first, item.first + (column - begin), false);
      add_range(item.first + (column - begin) + 1, last, !item.last);
    } else {
      add_range(item.first, last, !item.last);
    }
    begin += length;
  }
  return "[" + text + "]";
}

std::vector<std::string> ColumnChoice::first_columns(std::size_t most) const {
  std::vector<std::string> columns;
  for (const Item& item : items_) {
    if (!item.name.empty() && columns.size() < most) columns.push_back(part_of(item.name));
    for (std::size_t place = item.first; item.name.empty() && columns.size() < most; ++place) {
      if (item.last && place == *item.last) break;
      columns.push_back(std::to_string(place));
    }
  }
  return columns;
}

std::unique_ptr<RawBytes> open_chosen_columns(ByteSource table, ColumnChoice choice, LinesAre lines,
                                              std::shared_ptr<LineOrders> orders) {
  return std::make_unique<ChosenColumns>(std::move(table), std::move(choice), lines, std::move(orders));
}

}  // namespace unweave
