// storage/input/tables/line_order.cpp - compares the orders of lines, and words what differs.
#include "storage/input/tables/line_order.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "storage/input/nodes/name_reader.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/shell_word.h"
#include "storage/io/small_letters.h"

namespace unweave {
namespace {

std::uint64_t hash_of(std::uint64_t number) noexcept {
  return checksum64(std::as_bytes(std::span(&number, 1)));
}

/// A word without the fraction of 0 that other programs write behind whole numbers: the 2 of 2.0;
/// any other word as it is.
std::string_view without_zero_fraction(std::string_view word) noexcept {
  const std::string_view whole = word.substr(0, word.find('.'));
  const bool is_number = !whole.empty() && whole.find_first_not_of("0123456789") == std::string_view::npos &&
                         word.find_first_not_of('0', whole.size() + 1) == std::string_view::npos;
  return is_number ? whole : word;
}

/// A word as another program may have written it, too: in small letters, a whole number without
/// zeros before it or a fraction of 0.
std::string comparable(std::string_view word) {
  const std::string_view whole = without_zero_fraction(word);
  if (whole.empty() || whole.find_first_not_of("0123456789") != std::string_view::npos) return in_small_letters(word);
  return std::string(whole.substr(std::min(whole.find_first_not_of('0'), whole.size() - 1)));
}

/// Takes out what stands there more than once: it has no one place.
template <class Placed>
void drop_repeated(std::vector<Placed>& sorted) {
  std::vector<Placed> alone;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i + 1;
    while (end < sorted.size() && sorted[end].first == sorted[i].first) ++end;
    if (end == i + 1) alone.push_back(sorted[i]);
    i = end;
  }
  sorted = std::move(alone);
}

/// `column`: by its name, or its place. What pandas has not named, its index, has a header all the
/// same.
std::string option_for_names(const std::filesystem::path& file, const std::string& column) {
  constexpr std::string_view kUnnamed = "\"\"";
  const bool is_unnamed = column.ends_with(kUnnamed);
  const std::string place = is_unnamed ? column.substr(0, column.size() - kUnnamed.size()) : column;
  return option("ids", shell_word(file.string() + "[" + place + "]")) +
         (is_unnamed ? " with " + option("header", "ids=yes") : "");
}

/// A column as option_for_names() takes it, for people.
std::string shown(const std::string& column) {
  return column.ends_with("\"\"") ? column.substr(0, column.size() - 2) + " (without a name)" : column;
}

/// Whether a column is called as names of nodes alone are.
bool is_bare_name(std::string_view name) {
  constexpr std::array<std::string_view, 8> kBare{"id", "ids", "name", "names", "node", "nodes", "nodeid", "nodename"};
  return std::find(kBare.begin(), kBare.end(), plain_name(name)) != kBare.end();
}

/// Whether a column may have the numbers of nodes: by its name, or as the index of a frame, to
/// which pandas gives none.
bool may_number_nodes(std::string_view name) {
  return is_header_of_names(name) || name.empty() || name.starts_with("Unnamed: ") || name == "level_0";
}

/// A column of each table which have the same words in another order, where no two have them in the
/// same one; else null.
std::pair<const LineOrders::Column*, const LineOrders::Column*> moved_columns(
    std::span<const LineOrders::Column> columns, std::span<const LineOrders::Column> others) {
  std::pair<const LineOrders::Column*, const LineOrders::Column*> found{};
  for (const LineOrders::Column& column : columns)
    for (const LineOrders::Column& other : others) {
      const LineOrder::Shared shared = column.order.shared_with(other.order);
      if (shared.words == 0) continue;
      if (!shared.moved) return {};
      found = {&column, &other};
    }
  return found;
}

}  // namespace

void LineOrder::add(std::string_view given) {
  const std::string word = comparable(given);
  const std::array<std::uint64_t, 2> placed{checksum64(std::as_bytes(std::span(word))), lines_++};
  words_ += placed[0];
  letters_ += checksum64(std::as_bytes(std::span(given)));
  places_ += checksum64(std::as_bytes(std::span(placed)));
  if (few_.size() == kFew && placed[0] >= few_.front().first) return;
  if (few_.size() == kFew) {
    std::pop_heap(few_.begin(), few_.end());
    few_.pop_back();
  }
  few_.emplace_back(placed[0], placed[1]);
  std::push_heap(few_.begin(), few_.end());
}

bool LineOrder::has_each_once() const {
  std::vector<Placed> sorted = few_;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t all = sorted.size();
  drop_repeated(sorted);
  return sorted.size() == all;
}

LineOrder::Shared LineOrder::shared_with(const LineOrder& other) const {
  std::vector<Placed> mine = few_, others = other.few_;
  for (std::vector<Placed>* const placed : {&mine, &others}) {
    std::sort(placed->begin(), placed->end());
    drop_repeated(*placed);
    if (placed->empty()) return {};
  }
  if (lines_ == other.lines_ && words_ == other.words_)
    return {std::numeric_limits<std::uint64_t>::max(), places_ != other.places_, letters_ != other.letters_};
  Shared shared;
  for (auto a = mine.begin(), b = others.begin(); a != mine.end() && b != others.end();) {
    if (a->first != b->first) {
      a->first < b->first ? ++a : ++b;
      continue;
    }
    ++shared.words;
    shared.moved |= a++->second != b++->second;
  }
  return 2 * shared.words < std::max(mine.size(), others.size()) ? Shared() : shared;
}

void ColumnOrder::add(std::string_view word) {
  if (std::exchange(begun_, true) && may_have_header_) behind_first_.add(word);
  all_.add(word);
}

LineOrder::Shared ColumnOrder::shared_with(const ColumnOrder& other) const {
  LineOrder::Shared most;
  for (const LineOrder* const mine : {&all_, &behind_first_})
    for (const LineOrder* const others : {&other.all_, &other.behind_first_}) {
      const LineOrder::Shared shared = mine->shared_with(*others);
      if (shared.words > most.words || (shared.words == most.words && !shared.moved)) most = shared;
    }
  return most;
}

void LineNumbers::see(std::string_view given) noexcept {
  const std::string_view word = without_zero_fraction(given);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_first = !std::exchange(begun_, true);
  const bool is_number = error == std::errc() && end == word.data() + word.size();
  have_fractions_ |= is_number && word.size() < given.size();
  if (is_number)
    see(number);
  else if (!is_first)
    see_no_number();
}

void LineNumbers::see(std::uint64_t number) noexcept {
  if (!possible_) return;
  from_zero_in_order_ &= number == lines_;
  from_one_in_order_ &= number == lines_ + 1;
  largest_ = std::max(largest_, number);
  seen_ += hash_of(number);
  from_zero_ += hash_of(lines_++);
  from_one_ += hash_of(lines_);
}

bool LineNumbers::differ_in_order() const noexcept {
  return possible_ && !from_zero_in_order_ && !from_one_in_order_ && lines_ >= kFewest &&
         (seen_ == from_zero_ || seen_ == from_one_);
}

bool LineNumbers::contradict_order() const noexcept {
  constexpr std::uint64_t kMostNodesALine = 16;  // a table may lack nodes; other numbers are those of accounts, say
  return possible_ && !from_zero_in_order_ && !from_one_in_order_ && lines_ > 1 && largest_ / kMostNodesALine <= lines_;
}

void LineOrders::set_names(ColumnOrder names) {
  const std::scoped_lock lock(mutex_);
  names_ = std::move(names);
}

bool LineOrders::has_names_in_order(const ColumnOrder& column) const {
  const std::scoped_lock lock(mutex_);
  const LineOrder::Shared shared = names_->shared_with(column);
  return shared.words > 0 && !shared.moved;
}

bool LineOrders::has_some_names(const ColumnOrder& column) const {
  const std::scoped_lock lock(mutex_);
  return names_->shared_with(column).words > 0;
}

bool LineOrders::has_names() const {
  const std::scoped_lock lock(mutex_);
  return names_.has_value();
}

void LineOrders::add(Table table) {
  const std::scoped_lock lock(mutex_);
  if (names_) {
    const Column names{"", *names_};
    if (const Column* const column = moved_columns(table.columns, std::span(&names, 1)).first; column != nullptr) {
      const bool as_written = !names_->shared_with(column->order).other_letters;
      throw InputError(
          table.file, "column " + shown(column->name),
          "it has the names of the nodes in another order than " + option("ids") +
              (as_written ? "" : ", written otherwise") + ", and line i is taken for that of node i, whatever its name",
          as_written
              ? "sort the lines, or take this column for the names: " + option_for_names(table.file, column->name)
              : "sort the lines into the order of " + option("ids"));
    }
  }
  for (const Table& other : tables_) {
    if (other.file == table.file) continue;
    if (const auto [column, others] = moved_columns(table.columns, other.columns); column != nullptr)
      throw InputError(table.file, "column " + shown(column->name),
                       "it has what column " + shown(others->name) + " of " + other.file.string() +
                           " has, in another order, and line i of both is taken for that of node i",
                       "sort the lines of both alike, or name the nodes by one of them, as " +
                           option_for_names(other.file, others->name) +
                           " does, and sort the lines of the other as that");
  }
  const auto is_this = [&](const Table& other) { return other.file == table.file; };
  std::erase_if(tables_, is_this);
  tables_.push_back(std::move(table));
}

void LeftOutColumns::begin(std::size_t columns, std::span<const std::size_t> chosen, bool may_have_header) {
  if (lines_ == LinesAre::any) return;
  std::vector<bool> is_chosen(columns);
  for (const std::size_t place : chosen) is_chosen[place] = true;
  for (std::size_t place = 0; place < columns && columns_.size() < kMostColumns; ++place)
    if (!is_chosen[place]) columns_.push_back({place, {}, ColumnOrder(may_have_header)});
}

void LeftOutColumns::see(std::span<const std::string> fields) {
  for (Column& column : columns_) {
    if (column.place >= fields.size()) continue;
    column.numbers.see(fields[column.place]);
    if (orders_) column.order.add(fields[column.place]);
  }
}

void LeftOutColumns::require_order(const std::filesystem::path& file, std::span<const std::string> header,
                                   bool by_name) const {
  const auto name_of = [&](std::size_t place) {
    return by_name && header[place].empty() ? std::to_string(place) + as_word("")
           : by_name                        ? as_word(header[place])
                                            : std::to_string(place);
  };
  const auto named_by = [&](const Column& column) {
    return std::string(column.numbers.have_fractions() ? "write its numbers without fractions and " : "") +
           "name the nodes by it: " + option_for_names(file, name_of(column.place)) + " and " +
           option("ids-are", "names");
  };
  LineOrders::Table table{file, {}};
  for (const Column& column : columns_) table.columns.push_back({name_of(column.place), column.order});
  if (orders_ && orders_->has_names()) {
    orders_->add(std::move(table));
    require_order_of_names(file, header, by_name);
    return;
  }
  bool confirmed = false;  // by a column that has the numbers of the lines
  for (const Column& column : columns_) {
    const std::string name = name_of(column.place);
    if (column.numbers.differ_in_order())
      throw InputError(
          file, "column " + shown(name),
          "it numbers the lines, in another order than they stand in, and line i is taken for that of node i",
          "sort the lines by it, or " + (lines_ == LinesAre::names
                                             ? "say that numbers are names, too: " + option("ids-are", "names")
                                             : named_by(column)));
    if (may_number_nodes(header[column.place]) && column.numbers.count_from_one())
      throw InputError(
          file, "column " + shown(name),
          "it counts the lines from 1, and nodes count from 0: its 1 is node 0 here, and node 1 in a file of edges",
          "subtract 1 where the other files count from 1, too, or " + named_by(column) +
              ", or call the column otherwise if it numbers something else");
    confirmed |= column.numbers.are_in_order();
  }
  for (const Column& column : columns_) {
    if (confirmed) break;
    const std::string name = name_of(column.place);
    if (may_number_nodes(header[column.place]) && column.numbers.contradict_order())
      throw InputError(file, "column " + shown(name),
                       "its numbers are not those of the lines, and line i is taken for that of node i",
                       "give a line for each node, in their order, or " + named_by(column) +
                           ", or call the column otherwise if it numbers something else");
  }
  if (orders_) orders_->add(std::move(table));
}

void LeftOutColumns::require_order_of_names(const std::filesystem::path& file, std::span<const std::string> header,
                                            bool by_name) const {
  const auto says_order = [&](const Column& column) {
    return orders_->has_names_in_order(column.order) || column.numbers.are_in_order();
  };
  if (std::any_of(columns_.begin(), columns_.end(), says_order)) return;
  for (const Column& column : columns_) {
    const std::string& word = header[column.place];
    const bool is_named = !word.empty() && (by_name || word.find_first_not_of("0123456789.") != std::string::npos);
    const std::string name = "column " + (is_named ? as_word(word) : std::to_string(column.place));
    if ((!is_named || may_number_nodes(word)) && column.numbers.differ_in_order())
      throw InputError(file, name,
                       "it numbers the lines, in another order than they stand in, and line i is taken for that of "
                       "node i, the one of the i-th name of " +
                           option("ids"),
                       "sort the lines by it if these are the numbers of nodes, or " +
                           std::string(is_named ? "call the column otherwise" : "take it out of the table") +
                           " if it numbers something else");
    if (is_bare_name(word) && column.numbers.are_words() && column.order.has_each_once() &&
        !orders_->has_some_names(column.order))
      throw InputError(file, name,
                       "its words may be other names of the nodes, and are not those of " + option("ids") +
                           ": line i is taken for that of node i, the one of the i-th name there",
                       "give the names of " + option("ids") +
                           " there, or call the column otherwise if the lines stand in the order of " + option("ids"));
  }
}

}  // namespace unweave
