// storage/input/tables/line_order.h - in which order tables have their lines: by the columns that
// nobody asked for, of which some may have the names or numbers of the nodes.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/input/bytes/byte_source.h"

namespace unweave {

/// The words of lines, one after another, whatever their letters' case and the zeros of whole
/// numbers, of which it keeps sums of hashes, and the kFew smallest hashes with their lines. So it
/// sees other orders of the same words, whichever lines differ, and orders of which most words are
/// the same by those few lines. Other words are taken for the same once in 2^64.
class LineOrder {
 public:
  /// How many words two columns share among those that were compared, all of which counts most; 0
  /// where most words are others; what stands twice is left out. `moved`: not all of them stand on
  /// the same lines.
  struct Shared {
    std::uint64_t words = 0;
    bool moved = false;
    bool other_letters = false;  ///< all words are compared, and some are written otherwise
  };

  void add(std::string_view word);
  [[nodiscard]] Shared shared_with(const LineOrder& other) const;
  /// Whether no word stands there twice, of the few that are kept.
  [[nodiscard]] bool has_each_once() const;

 private:
  static constexpr std::size_t kFew = 64;
  using Placed = std::pair<std::uint64_t, std::uint64_t>;  ///< a hash and its line

  std::uint64_t lines_ = 0, words_ = 0, places_ = 0;
  std::uint64_t letters_ = 0;  ///< as words_, of the words as they are written
  std::vector<Placed> few_;    ///< a heap, the largest hash first
};

/// The words of one column.
class ColumnOrder {
 public:
  /// `may_have_header`: the first word may be the column's name.
  explicit ColumnOrder(bool may_have_header) : may_have_header_(may_have_header) {}

  void add(std::string_view word);
  [[nodiscard]] bool has_each_once() const { return (may_have_header_ ? behind_first_ : all_).has_each_once(); }
  /// What they share with or without the first word of either, where they share most.
  [[nodiscard]] LineOrder::Shared shared_with(const ColumnOrder& other) const;

 private:
  bool may_have_header_, begun_ = false;
  LineOrder all_, behind_first_;
};

/// Whether a column has each of the numbers 0 to n - 1, or 1 to n, once, in another order than that
/// of its lines.
class LineNumbers {
 public:
  /// A whole number, also with a fraction of 0, as pandas writes those of a column of floats. The
  /// first word may be the column's name.
  void see(std::string_view word) noexcept;
  void see(std::uint64_t number) noexcept;
  void see_no_number() noexcept { possible_ = false; }
  [[nodiscard]] bool differ_in_order() const noexcept;
  /// Whether one was written with a fraction of 0, as 2.0 for 2.
  [[nodiscard]] bool have_fractions() const noexcept { return have_fractions_; }
  /// Whether they are those of their lines.
  [[nodiscard]] bool are_in_order() const noexcept {
    return possible_ && lines_ >= kFewest && (from_zero_in_order_ || from_one_in_order_);
  }
  /// Whether one of several was no number.
  [[nodiscard]] bool are_words() const noexcept { return !possible_; }
  /// Whether they count the lines from 1, and not from 0.
  [[nodiscard]] bool count_from_one() const noexcept {
    return possible_ && lines_ >= kFewest && from_one_in_order_ && !from_zero_in_order_;
  }
  /// Whether they are numbers as nodes of so many lines have, and not those of their lines, from 0
  /// or from 1.
  [[nodiscard]] bool contradict_order() const noexcept;

 private:
  static constexpr std::uint64_t kFewest = 3;  // Fewer lines have such numbers by chance.
  bool possible_ = true, begun_ = false, have_fractions_ = false, from_zero_in_order_ = true, from_one_in_order_ = true;
  std::uint64_t largest_ = 0, lines_ = 0, seen_ = 0, from_zero_ = 0, from_one_ = 0;
};

/// What the tables of one import have in the columns that nobody asked for. Thread-safe.
class LineOrders {
 public:
  /// The names of all nodes, in the order of their numbers.
  void set_names(ColumnOrder names);
  [[nodiscard]] bool has_names() const;
  /// Whether most words of a column are names of nodes, and whether they stand on the lines of
  /// these; there are names.
  [[nodiscard]] bool has_some_names(const ColumnOrder& column) const;
  [[nodiscard]] bool has_names_in_order(const ColumnOrder& column) const;

  struct Column {
    std::string name;
    ColumnOrder order;
  };
  struct Table {
    std::filesystem::path file;
    std::vector<Column> columns;
  };
  /// Throws InputError where a column has the names of the nodes, or what a column of another table
  /// has, in another order, and none has them in the same one.
  void add(Table table);

 private:
  mutable std::mutex mutex_;
  std::optional<ColumnOrder> names_;
  std::vector<Table> tables_;
};

/// The columns of one table that are left out where its lines are those of nodes, the first
/// kMostColumns of them: names and numbers of rows stand there. Not thread-safe.
class LeftOutColumns {
 public:
  LeftOutColumns(LinesAre lines, std::shared_ptr<LineOrders> orders) : lines_(lines), orders_(std::move(orders)) {}

  /// The first line: how many columns there are, and which are asked for. `may_have_header`: the
  /// line is seen, too, and may name them.
  void begin(std::size_t columns, std::span<const std::size_t> chosen, bool may_have_header);
  void see(std::span<const std::string> fields);
  /// At the end of the table. Throws InputError for a column whose words say that the lines stand
  /// in another order than the nodes. `header`: the first line. `by_name`: columns were asked for
  /// by its words, and are called so; else by their places.
  void require_order(const std::filesystem::path& file, std::span<const std::string> header, bool by_name) const;

 private:
  /// As require_order(), where the nodes have names.
  void require_order_of_names(const std::filesystem::path& file, std::span<const std::string> header,
                              bool by_name) const;

  struct Column {
    std::size_t place = 0;
    LineNumbers numbers{};
    ColumnOrder order;
  };

  static constexpr std::size_t kMostColumns = 32;  // each is held against each of another table

  LinesAre lines_;
  std::shared_ptr<LineOrders> orders_;
  std::vector<Column> columns_;
};

}  // namespace unweave
