// engine/graph/node_names.h - what users call the nodes of a store: by numbers, or by names where
// the store has a dictionary.
//
// Everything inside a store speaks of numbers; names come in and go out through this class alone,
// which node_order.h has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/input/request_words.h"
#include "storage/io/types.h"
#include "storage/types/ids_are.h"

namespace unweave {

struct Manifest;
class NameIndex;
class NameList;
class NodeSet;
struct Request;

/// The number that a name has which no node bears: above all ids, so that a request with it is
/// rejected for its id.
inline constexpr std::uint64_t kUnknownName = std::numeric_limits<std::uint64_t>::max();

/// A node that is removed loses its name for good: from then on nobody has it, and the files alone
/// still do, until a purge.
///
/// Const members may run on any number of threads at once, and throw FormatError.
class NodeNames {
 public:
  /// Throws DataError, FormatError.
  NodeNames(const std::filesystem::path& store, const Manifest& manifest);
  NodeNames(const NodeNames&) = delete;
  NodeNames& operator=(const NodeNames&) = delete;
  ~NodeNames();

  /// Whether the store has a dictionary.
  [[nodiscard]] bool given() const noexcept;
  /// Nodes that have a name.
  [[nodiscard]] std::uint64_t named() const noexcept;
  /// The name of a node by its id; empty where it has none, or none any more.
  [[nodiscard]] std::string_view name(NodeId user) const;
  /// The name that a node had when the files were written, whether it has lost it since or not.
  [[nodiscard]] std::string_view name_in_files(NodeId user) const;
  /// Takes the name, where it has one, from a node by its id.
  void lose(NodeId user);
  [[nodiscard]] bool has_lost(NodeId user) const noexcept;
  /// Nodes, by their ids, that have lost their names.
  [[nodiscard]] const NodeSet& lost() const noexcept;
  /// Names of kinds of edges; none where there is one.
  [[nodiscard]] const std::vector<std::string>& relations() const noexcept;
  /// What a number means in files and requests, where somebody has said so.
  [[nodiscard]] std::optional<IdsAre> ids_are() const noexcept;
  /// How a node is written for users: "17", or with a dictionary its name, or "#17" where it has
  /// none; "?" for an id that stands for an unknown name. A name that is no plain text, which older
  /// programs took, is written as printable() has it.
  [[nodiscard]] std::string plain_text(std::uint64_t user) const;
  /// plain_text() as one word, as lines of requests and edges have it: in quotes where blanks,
  /// commas or quotes are in it, or where it is a number and numbers are positions. read()
  /// understands it.
  [[nodiscard]] std::string text(std::uint64_t user) const;
  /// The node that a user's word means: a name, also in quotes, #NUMBER, or a number where these
  /// are positions. Its id is kUnknownName where nobody has such a name. Only with a dictionary.
  [[nodiscard]] NodeWord read(std::string_view word) const;
  /// The node whose name is this text, whatever it looks like; kUnknownName where nobody has it.
  /// Only with a dictionary.
  [[nodiscard]] std::uint64_t find(std::string_view name) const;
  /// text() for whoever writes ids; this object outlives it.
  [[nodiscard]] std::function<std::string(std::uint64_t)> writer() const {
    return [this](std::uint64_t user) { return text(user); };
  }
  /// The line of a request, as its sender has written it: a name that he wrote stands there, also
  /// where the request, or a later one, has taken it from its node. `names_nobody`: it was rejected
  /// before anybody asked for its nodes, or because there are none; a name that is lost is "?"
  /// then, as one that nobody ever had.
  [[nodiscard]] std::string text_of(const Request& request, bool names_nobody = false) const;

  /// The files, which know of no loss.
  [[nodiscard]] const NameList& list() const noexcept;
  [[nodiscard]] const NameIndex& index() const noexcept;

 private:
  /// A name as one word.
  [[nodiscard]] std::string word_of_name(std::string_view name) const;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace unweave
