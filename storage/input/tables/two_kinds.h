// storage/input/tables/two_kinds.h - edges between nodes of two kinds, such as users and items,
// whose numbers must not overlap: the number 7 would be one node, which is both.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "storage/io/types.h"

namespace unweave {

/// What the header of a list of edges says of its ends, and the numbers that they have. Not
/// thread-safe.
class TwoKinds {
 public:
  /// Whether the first two words of a header name ids of two kinds, as user_id,item_id do and
  /// source,target or id_1,id_2 do not.
  [[nodiscard]] static bool named_by(std::string_view header);
  [[nodiscard]] static bool named_by(std::string_view first, std::string_view second);

  /// The header, by which two kinds are named.
  explicit TwoKinds(std::string_view header);

  void see(std::span<const Edge> edges) noexcept;
  /// Throws InputError where the numbers of one kind reach into those of the other.
  void require_apart(const std::filesystem::path& file) const;

 private:
  struct Range {
    NodeId first = kNoNode, last = 0;
  };
  std::string words_[2];
  char separator_ = ' ';
  Range ranges_[2];
  bool seen_ = false;
};

}  // namespace unweave
