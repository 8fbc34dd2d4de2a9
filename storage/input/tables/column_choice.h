// storage/input/tables/column_choice.h - which columns of a table are meant: FILE[src,dst],
// FILE[0,2], FILE[1:].
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/input/bytes/raw_bytes.h"

namespace unweave {

/// Columns by name or by place, from 0; "1:", ":3" and "1:3" are those from one place up to, and
/// without, another.
class ColumnChoice {
 public:
  /// Empty text: none, which means all. Names with commas, colons or brackets stand in quotes.
  /// Throws UsageError.
  explicit ColumnChoice(std::string_view text);

  [[nodiscard]] bool given() const noexcept { return !items_.empty(); }
  /// Whether some are named, so that the table has a header.
  [[nodiscard]] bool by_name() const noexcept;
  /// The columns that are meant among so many, in their order. Throws UsageError for one that there
  /// is not.
  [[nodiscard]] std::vector<std::size_t> among(std::size_t columns) const;
  /// Likewise in a table with such a header. Throws UsageError for a name that no column has or
  /// several have, and for a number that is the name of another column.
  [[nodiscard]] std::vector<std::size_t> among(std::span<const std::string> header) const;
  /// The one column that is meant, by place; none where there is no choice. Throws UsageError where
  /// it is another one.
  [[nodiscard]] std::optional<std::size_t> one() const;
  /// The choice that is left without one of the columns that are meant, of which there are so many:
  /// "[0,2:]" of none without column 1.
  [[nodiscard]] std::string without(std::size_t column, std::size_t columns) const;
  /// The first columns that are meant, as their names or places stand in a choice; fewer where
  /// there are fewer, or where a range ends nowhere.
  [[nodiscard]] std::vector<std::string> first_columns(std::size_t most) const;

 private:
  struct Item {
    std::string name;  ///< empty: by place
    std::size_t first = 0;
    std::optional<std::size_t> last{};  ///< behind the last one; none: the last one that there is
  };
  [[nodiscard]] std::size_t place_of(const Item& item, std::span<const std::string> header) const;
  void add(const Item& item, std::size_t columns, std::vector<std::size_t>& chosen) const;

  std::string text_;
  std::vector<Item> items_;
};

/// The chosen columns of a table as text: fields as words (quoted_word.h), commas between them, or
/// blanks where the table has these. Empty lines, `#` comments and, where columns are named, the
/// header are left out. Fields of `table` are parted by tabs, or else commas, or else semicolons,
/// as its first line has them, or by blanks; those in quotes are read as RFC 4180 says, and end on
/// their line. Throws InputError. `lines`: what require_order_of_nodes() looks for in the other
/// columns, which it compares with those of the tables in `orders`.
[[nodiscard]] std::unique_ptr<RawBytes> open_chosen_columns(ByteSource table, ColumnChoice choice, LinesAre lines,
                                                            std::shared_ptr<LineOrders> orders = {});

}  // namespace unweave
