// storage/formats/class_names.cpp - writes and reads names of classes behind the labels.
#include "storage/formats/class_names.h"

#include <optional>
#include <utility>

#include "storage/formats/node_file.h"

namespace unweave {

FileEntry write_named_labels(const std::filesystem::path& store, std::span<const std::int32_t> labels,
                             const std::vector<std::string>& names, const char* stem) {
  if (names.empty()) return write_labels(store, labels, stem);
  const std::string list = class_list(names);
  SealedWriter writer({store, "labels", stem, "labels", "labels"});
  writer.append_values(labels);
  writer.append_values(std::span<const char>(list));
  return writer.finish({labels.size(), list.size()});
}

std::vector<std::string> read_class_names(const std::filesystem::path& store, const FileEntry& labels, NodeId nodes,
                                          std::uint32_t classes) {
  return class_names_in(SealedFile(store, labels, "labels"), nodes, classes);
}

std::vector<std::string> class_names_in(const SealedFile& labels, NodeId nodes, std::uint32_t classes) {
  const std::uint64_t bytes = labels.parameters()[1], begin = std::uint64_t{nodes} * sizeof(std::int32_t);
  if (bytes > labels.size() || labels.size() - bytes != begin) labels.fail(labels.size(), "not one label a node");
  if (bytes == 0) return {};
  const std::span<const char> text = labels.values<char>(begin, bytes);
  const std::string list(text.begin(), text.end());
  std::optional<std::vector<std::string>> names = read_class_list(list);
  if (!names || names->size() != classes || !class_names_fault(*names).empty() || class_list(*names) != list)
    labels.fail(begin, "names of classes that are none, or not one a class");
  return std::move(*names);
}

}  // namespace unweave
