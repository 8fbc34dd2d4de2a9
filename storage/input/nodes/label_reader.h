// storage/input/nodes/label_reader.h - labels of nodes and lists of node ids from users' files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/input/bytes/byte_source.h"
#include "storage/input/import_options.h"
#include "storage/input/words/node_id.h"
#include "storage/io/types.h"
#include "storage/types/ids_are.h"

namespace unweave {

/// Labels of nodes 0, 1, 2, ... in order. Not thread-safe.
class LabelReader {
 public:
  static constexpr std::int32_t kNone = -1;

  LabelReader() = default;
  virtual ~LabelReader() = default;
  LabelReader(const LabelReader&) = delete;
  LabelReader& operator=(const LabelReader&) = delete;

  /// Fills a part of `out` (not empty) with kNone or values in [0, classes), and returns how many;
  /// 0 at the end, which is reached only if the file is whole. Throws InputError naming line or
  /// element, DataError from the bytes below.
  virtual std::size_t read(std::span<std::int32_t> out) = 0;

  /// Whether the first label that was read, 0, may be the name that pandas gives to a column
  /// without any: the number of labels tells.
  [[nodiscard]] virtual bool first_may_be_header() const { return false; }

  /// How many -1 were read, which stand for none; other words for none, NaN and empty ones, are
  /// none of these.
  [[nodiscard]] std::uint64_t minus_ones() const noexcept { return minus_ones_; }

  /// How many labels there are, where the file says so at its beginning.
  [[nodiscard]] virtual std::optional<std::uint64_t> count() const { return std::nullopt; }

 protected:
  std::uint64_t minus_ones_ = 0;
};

/// Opens labels: `.npy` of any integer type, or floats that are whole numbers or NaN (none), [N] or
/// [N, 1]; else text, one label a line ("3" or "3.0"), `#` comments, "nan" or -1 for none; a header
/// line is skipped where the file takes remarks. Without `classes`, labels reach 2^31 - 1. With
/// `class_names` a line of text is the name of a class, in quotes as CSV has them or without; a
/// first line that is none is a header. An array holds numbers of classes all the same, which is
/// refused for a file where a number may be a name, too.
[[nodiscard]] std::unique_ptr<LabelReader> open_labels(const InputFile& file,
                                                       std::optional<std::uint64_t> classes = std::nullopt,
                                                       EmptyLine empty_line = EmptyLine::kMistake,
                                                       const std::vector<std::string>& class_names = {});

/// Is called with the bytes that a list will take, before it grows; throws where there is no room.
using MakeRoom = std::function<void(std::uint64_t bytes)>;

/// Reads a list of node ids (a split) in the file's order, repeats included: `.npy` of integers,
/// [k] or [k, 1]; a mask, `.npy` of booleans, [N] or [N, 1], or one column or row of several masks
/// that file.columns names, [N, S] or [S, N]; else text, one id a line, `#` comments, empty lines
/// and a header line skipped, or a mask of the words True and False, one a node. `read_id`: what
/// the words of a text mean, where nodes have names; `ids_are`: what numbers in an array mean
/// there, positions where nobody has said so. A first line that no node has as its name is a
/// header, where file.names_may_be_gone by such words as "id" alone. `make_room`: a list with
/// repeats has no other bound. `of`: what has the ids, nodes or whole graphs. Throws as
/// open_edges() does, for a name that no node has, and for zeros and ones, which seem to be a mask.
[[nodiscard]] std::vector<NodeId> read_node_ids(const InputFile& file,
                                                std::optional<std::uint64_t> num_nodes = std::nullopt,
                                                const ReadId& read_id = {},
                                                std::optional<IdsAre> ids_are = std::nullopt,
                                                const MakeRoom& make_room = {}, std::string_view of = "node");

}  // namespace unweave
