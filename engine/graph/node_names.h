// engine/graph/node_names.h - what users call the nodes of a store: by numbers, or by names where the store has a dictionary.
//
// Everything inside a store speaks of numbers; names come in and go out through this class alone, which node_order.h has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "storage/formats/journal.h"
#include "storage/formats/manifest.h"
#include "storage/formats/name_file.h"
#include "storage/io/types.h"

namespace unweave {

/// The number that a name has which no node bears: above all ids, so that a request with it is rejected for its id.
inline constexpr std::uint64_t kUnknownName = std::numeric_limits<std::uint64_t>::max();

/// Const members may run on any number of threads at once, and throw FormatError.
class NodeNames {
 public:
  /// Throws DataError, FormatError.
  NodeNames(const std::filesystem::path& store, const Manifest& manifest);
  NodeNames(const NodeNames&) = delete;  // the index refers to the list
  NodeNames& operator=(const NodeNames&) = delete;

  /// Whether the store has a dictionary.
  [[nodiscard]] bool given() const noexcept { return list_.has_value(); }
  /// Nodes that have a name.
  [[nodiscard]] std::uint64_t named() const noexcept { return list_ ? list_->named() : 0; }
  /// The name of a node by its id; empty where it has none.
  [[nodiscard]] std::string_view name(NodeId user) const { return list_ ? list_->name(user) : std::string_view(); }
  /// How a node is written for users: "17", or with a dictionary its name, or "#17" where it has none; "?" for an id that
  /// stands for an unknown name.
  [[nodiscard]] std::string text(std::uint64_t user) const;
  /// The id that a user's word means: a name or #NUMBER. kUnknownName where there is no such name. Only with a dictionary.
  [[nodiscard]] std::uint64_t number(std::string_view word) const;
  /// text() for whoever writes ids; this object outlives it.
  [[nodiscard]] std::function<std::string(std::uint64_t)> writer() const {
    return [this](std::uint64_t user) { return text(user); };
  }
  /// The line of a request, as the user writes it.
  [[nodiscard]] std::string text_of(const Request& request) const;

  [[nodiscard]] const NameList& list() const noexcept { return *list_; }
  [[nodiscard]] const NameIndex& index() const noexcept { return *index_; }

 private:
  NodeId nodes_;
  std::optional<NameList> list_;
  std::optional<NameIndex> index_;
};

}  // namespace unweave
