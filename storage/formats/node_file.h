// storage/formats/node_file.h - labels and splits at rest (FORMAT.md, "Labels and splits").
//
// Labels: sealed file of kind "labels", i32 for each node, -1 for none. Splits: kind "ids", sorted
// distinct u32.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/sealed_file.h"
#include "storage/formats/value_file.h"
#include "storage/io/types.h"

namespace unweave {

inline constexpr std::int32_t kNoLabel = -1;

/// `stem`: how the name of the file begins.
FileEntry write_labels(const std::filesystem::path& store, std::span<const std::int32_t> labels,
                       const char* stem = "labels");
/// One label a node, each kNoLabel or below `classes`. `names`: takes those of the classes, none
/// where they have numbers alone. Throws FormatError.
[[nodiscard]] std::vector<std::int32_t> read_labels(const std::filesystem::path& store, const FileEntry& entry,
                                                    NodeId nodes, std::uint32_t classes,
                                                    std::vector<std::string>* names = nullptr);

/// The labels of nodes where they lie. Opening it reads the names of classes alone.
class LabelFile final : public ValueFile<std::int32_t> {
 public:
  /// Throws DataError, FormatError.
  LabelFile(const std::filesystem::path& store, const FileEntry& entry, NodeId nodes, std::uint32_t classes);
  /// The list is empty where classes have numbers alone.
  [[nodiscard]] const std::vector<std::string>& class_names() const noexcept { return names_; }

 protected:
  void require(NodeId first, std::span<const std::int32_t> labels) const override;

 private:
  std::uint32_t classes_;
  std::vector<std::string> names_;
};

/// `name` is train, valid or test, or of other sorted ids, which belong to another folder.
FileEntry write_ids(const std::filesystem::path& store, std::string_view name, std::span<const NodeId> ids,
                    std::string_view folder = "splits");
/// Sorted distinct ids below `nodes`. Throws FormatError.
[[nodiscard]] std::vector<NodeId> read_ids(const std::filesystem::path& store, const FileEntry& entry, NodeId nodes);

}  // namespace unweave
