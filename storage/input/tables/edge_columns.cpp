// storage/input/tables/edge_columns.cpp - names of columns, and first columns that are an index.
#include "storage/input/tables/edge_columns.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "storage/input/edges/edge_weight.h"
#include "storage/input/tables/column_choice.h"
#include "storage/input/tables/end_names.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/error.h"
#include "storage/io/shell_word.h"
#include "storage/io/small_letters.h"

namespace unweave {
namespace {

/// Most columns of a choice that a message looks at.
constexpr std::size_t kShownColumns = 8;

using ThreeNumbers = std::array<std::uint64_t, 3>;

std::optional<ThreeNumbers> three_numbers(std::string_view text) {
  ThreeNumbers numbers{};
  Fields fields(text);
  for (std::uint64_t& number : numbers)
    if (fields.number(number) != std::errc()) return std::nullopt;
  return fields.at_end() && !fields.after_comma() ? std::optional(numbers) : std::nullopt;
}

}  // namespace

namespace {

/// The words of a header, as they stand there.
std::vector<std::string> words_of(std::string_view header) {
  std::vector<std::string> words;
  for (Fields fields(header); !fields.at_end();) words.emplace_back(fields.take());
  return words;
}

/// The columns that a message proposes: those that are called as ends are, and the weight behind
/// them where it is wanted, or words in their places that nobody takes for names.
std::string proposed_columns(const std::vector<std::string>& words, bool weighted) {
  const std::optional<std::array<std::size_t, 2>> ends = ends_among(words).named;
  std::string columns = ends ? words[(*ends)[0]] + "," + words[(*ends)[1]] : "SOURCE,TARGET";
  if (weighted) {
    const auto weight = std::find_if(words.begin(), words.end(), is_weight_name);
    if (weight != words.end())
      columns += "," + *weight;
    else if (!ends)
      columns += ",WEIGHT";
    else if (words.size() == 3)
      columns += "," + words[3 - (*ends)[0] - (*ends)[1]];
  }
  return "[" + columns + "]";
}

}  // namespace

std::string columns_of_ends(std::string_view header) {
  const std::vector<std::string> words = words_of(header);
  if (const auto ends = ends_among(words).named; ends) return "[" + words[(*ends)[0]] + "," + words[(*ends)[1]] + "]";
  Fields fields(header);
  std::string others;
  bool has_weight = false;
  for (int column = 0; !fields.at_end(); ++column) {
    if (is_weight_name(fields.take()))
      has_weight = true;
    else
      others += (others.empty() ? "[" : ",") + std::to_string(column);
  }
  return has_weight && !others.empty() ? others + "]" : "[0,1]";
}

std::string columns_of_ends(std::string_view header, const std::string& chosen, const LineReader& lines) {
  const ColumnChoice choice(chosen);
  if (!choice.given()) return columns_of_ends(header);
  std::vector<std::string> ends = choice.first_columns(kShownColumns);
  std::erase_if(ends, [](const std::string& name) { return is_weight_name(name); });
  if (ends.size() > 1) return "[" + ends[0] + "," + ends[1] + "]";
  std::string line;
  if (choice.by_name() || !header.empty())
    for (const std::string& word : lines.table_header()) line += (line.empty() ? "" : ",") + as_word(word);
  return columns_of_ends(line);
}

std::string third_column(std::string_view header, const std::string& chosen, const LineReader& lines) {
  constexpr std::size_t kThird = 2;
  const ColumnChoice choice(chosen);
  const std::vector<std::string> names = choice.given() ? lines.table_header() : words_of(header);
  std::vector<std::size_t> places{0, 1, kThird};
  if (choice.given() && !names.empty()) places = choice.by_name() ? choice.among(names) : choice.among(names.size());
  return places.size() > kThird && places[kThird] < names.size() ? names[places[kThird]] : std::string();
}

void require_no_weight_first(const std::string& chosen, const LineReader& lines, bool weighted) {
  const ColumnChoice choice(chosen);
  const std::vector<std::string> header = lines.table_header();
  if (header.empty()) return;
  const std::vector<std::size_t> places = choice.by_name() ? choice.among(header) : choice.among(header.size());
  const auto is_weight = [&](std::size_t place) { return is_weight_name(header[place]); };
  const auto first_two = places.begin() + std::min<std::ptrdiff_t>(2, std::ssize(places));
  const auto weight = std::find_if(places.begin(), first_two, is_weight);
  if (weight == first_two) return;
  std::vector<std::string> columns = choice.first_columns(places.size());
  const auto chosen_weight = columns.begin() + (weight - places.begin());
  const std::string name = *chosen_weight;
  columns.erase(chosen_weight);
  if (weighted) columns.push_back(name);
  std::string ends_first;
  for (const std::string& column : columns) ends_first += (ends_first.empty() ? "[" : ",") + column;
  throw InputError(lines.name(), "column " + quote_for_message(header[*weight]),
                   "it is chosen as an end of the edges, and is called as weights are",
                   places.size() < 3
                       ? "choose both ends of the edges, or call the column otherwise"
                       : "choose the two ends first" + std::string(weighted ? ", and a weight behind them" : "") +
                             ", as in " + shell_word(lines.name().string() + ends_first + "]") +
                             ", or call the column otherwise");
}

void require_ends_first(std::string_view header, const LineReader& lines, const WeightRule& rule) {
  Fields fields(header);
  const std::string_view first = fields.take(), second = fields.take();
  if (is_end_name(first) && is_end_name(second)) return;
  if (const bool is_first = is_weight_name(first); is_first || is_weight_name(second)) {
    const std::string weight(is_first ? first : second), other(is_first ? second : first);
    const bool has_both = !fields.at_end();
    const std::string last = has_both ? "," + std::string(fields.take()) : "";
    throw InputError(
        lines.name(), lines.place(),
        "the header calls column " + std::string(is_first ? "1" : "2") + " " + quote_for_message(weight) +
            ", and the first two columns are taken for the ends of an edge",
        has_both ? "write the two ends first, and a weight behind them, or name the columns that are meant, as in '" +
                       lines.name().string() + "[" + other + last + (rule.takes_values() ? "," + weight : "") + "]'"
                 : "give a file with both ends of each edge, or take the header out if they are that");
  }
  constexpr std::array<std::string_view, 5> kLabels{"label", "labels", "class", "classes", "category"};
  if (lines.header() == Header::ask && fields.at_end() &&
      std::find(kLabels.begin(), kLabels.end(), plain_name(second)) != kLabels.end())
    throw InputError(lines.name(), lines.place(),
                     "the header calls column 2 " + quote_for_message(second) +
                         ", and the first two columns are taken for the ends of an edge",
                     "give labels by " +
                         option("labels", shell_word(lines.name().string() + "[" + std::string(second) + "]")) +
                         ", or say by " + option("header", "edges=yes") + " that they are edges");
  const std::vector<std::string> words = words_of(header);
  if (ends_among(words).are_first) return;
  for (int column = 3; !fields.at_end(); ++column)
    if (const std::string_view word = fields.take(); is_end_name(word))
      throw InputError(
          lines.name(), lines.place(),
          "the header calls column " + std::to_string(column) + ", " + quote_for_message(word) +
              ", an end of an edge, and the first two columns are taken for the ends",
          "write the two ends first, and a weight behind them, or name the columns that are meant, as in " +
              shell_word(lines.name().string() + proposed_columns(words, rule.reads_weights())));
}

void require_named_ends(std::string_view header, std::string_view line, const LineReader& lines,
                        const WeightRule& rule) {
  const std::vector<std::string> words = words_of(header);
  if (words.size() < 3 || words.size() != Fields(line).count()) return;
  if (double value = 0; Fields(header).number(value) == std::errc()) return;
  const EndColumns ends = ends_among(words);
  if (ends.are_first) return;
  std::string named;
  for (std::size_t i = 0; i < words.size() && i < kShownColumns; ++i)
    named += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + quote_for_message(words[i]);
  throw InputError(lines.name(), lines.place(),
                   "the header names the columns " + named + (words.size() > kShownColumns ? " and more" : "") +
                       ", and does not say that the first two are the ends of the edges",
                   "name the columns of the ends, as in " +
                       shell_word(lines.name().string() + proposed_columns(words, rule.reads_weights())));
}

void require_no_row_names(std::string_view header, std::string_view line, const LineReader& lines) {
  if (double value = 0; Fields(header).number(value) == std::errc()) return;  // numbers of nodes and edges
  Fields fields(line);
  const std::size_t named = Fields(header).count(), columns = fields.count();
  while (!fields.at_end()) fields.take();
  if (named < 2 || columns != named + 1 || fields.mixed()) return;
  throw InputError(lines.name(), lines.place(),
                   std::to_string(columns) + " columns, and the header names " + std::to_string(named) +
                       ": the first one may be that of the names of the rows, as R writes it",
                   "write the table without them, as write.table(..., row.names = FALSE) does, or a header of " +
                       std::to_string(columns) + " names");
}

void require_no_line_numbers(const std::string& line, LineReader& lines) {
  if (lines.header() == Header::yes || line.find(',') == std::string::npos) return;
  std::optional<ThreeNumbers> last = three_numbers(line);
  if (!last || (*last)[0] > 1) return;
  constexpr int kFewest = 2, kMost = 1000;  // lines behind the first
  int count = 0;
  bool counts = true;
  lines.show_ahead([&](std::string_view next) {
    const auto numbers = three_numbers(next);
    counts = numbers && (*numbers)[0] == (*last)[0] + 1;
    last = numbers;
    return counts && ++count < kMost;
  });
  if (!counts) return;
  if (count < kFewest) return;
  const std::string file = lines.name().string();
  throw InputError(lines.name(), lines.place(),
                   "the first of three columns counts the lines, as the index of a frame that pandas has written does",
                   "name the columns that are meant, as in " + file + "[1,2] without the first, or " + file +
                       "[0,1] and " + file + "[0,1,2] with it");
}

}  // namespace unweave
