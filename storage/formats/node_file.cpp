// storage/formats/node_file.cpp - writes and reads labels and lists of node ids.
#include "storage/formats/node_file.h"

#include <string>

#include "storage/formats/class_names.h"

namespace unweave {

FileEntry write_labels(const std::filesystem::path& store, std::span<const std::int32_t> labels, const char* stem) {
  SealedWriter writer({store, "labels", stem, "labels", "labels"});
  writer.append_values(labels);
  return writer.finish({labels.size()});
}

LabelFile::LabelFile(const std::filesystem::path& store, const FileEntry& entry, NodeId nodes, std::uint32_t classes)
    : ValueFile(store, entry, "labels", nodes),
      classes_(classes),
      names_(class_names_in(file(), nodes, classes)) {}  // checks the size of the file

void LabelFile::require(NodeId first, std::span<const std::int32_t> labels) const {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < kNoLabel || (labels[i] >= 0 && static_cast<std::uint32_t>(labels[i]) >= classes_))
      file().fail(4 * (first + i), "the label at position " + std::to_string(first + i) + " is out of range");
}

std::vector<std::int32_t> read_labels(const std::filesystem::path& store, const FileEntry& entry, NodeId nodes,
                                      std::uint32_t classes, std::vector<std::string>* names) {
  const LabelFile file(store, entry, nodes, classes);
  if (names != nullptr) *names = file.class_names();
  const auto labels = file.values({0, nodes});
  return {labels.begin(), labels.end()};
}

FileEntry write_ids(const std::filesystem::path& store, std::string_view name, std::span<const NodeId> ids,
                    std::string_view folder) {
  SealedWriter writer({store, std::string(folder), std::string(name), "ids", "ids"});
  writer.append_values(ids);
  return writer.finish({ids.size()});
}

std::vector<NodeId> read_ids(const std::filesystem::path& store, const FileEntry& entry, NodeId nodes) {
  const SealedFile file(store, entry, "ids");
  const auto ids = file.values<NodeId>(0, file.size() / 4);
  if (file.size() % 4 != 0) file.fail(file.size(), "not a whole number of ids");
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] >= nodes || (i > 0 && ids[i] <= ids[i - 1])) file.fail(4 * i, "ids out of range or out of order");
  return {ids.begin(), ids.end()};
}

}  // namespace unweave
