// engine/state/rows_level.cpp - opens, writes and reads the files of kept rows of a level.
#include "engine/state/rows_level.h"

#include <algorithm>
#include <string>

#include "engine/resources/parallel.h"
#include "storage/formats/manifest.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {

std::uint64_t rows_level_bytes(NodeId nodes, std::uint32_t columns, FeatureType type, const RowMask* wanted) {
  std::uint64_t bytes = 0;
  for (std::size_t span = 0; span < num_spans(nodes); ++span) {
    const NodeRange range = span_range(nodes, span);
    const std::uint64_t rows = wanted == nullptr ? range.size() : wanted->size(range);
    bytes += sealed_file_bytes(RowsLayout{range, columns, rows, value_bytes(type)}.bytes());
  }
  return bytes;
}

RowsLevelImage::RowsLevelImage(const std::filesystem::path& store, std::uint32_t level, std::uint32_t columns,
                               NodeId nodes, const KeptForm& kept, const RowMask* wanted, WriteBehind* queue)
    : store_(store),
      level_(level),
      columns_(columns),
      nodes_(nodes),
      kept_(kept),
      wanted_(wanted),
      queue_(queue),
      files_(num_spans(nodes)) {}

RowsImage& RowsLevelImage::at(std::size_t span) {
  const std::scoped_lock lock(mutex_);
  if (files_[span]) return *files_[span];
  const NodeRange range = span_range(nodes_, span);
  std::vector<std::uint64_t> members;
  if (wanted_ != nullptr) members = wanted_->members(range);
  files_[span] = std::make_unique<RowsImage>(store_, level_, range, columns_, kept_, std::move(members), queue_);
  return *files_[span];
}

void RowsLevelImage::put(std::span<const NodeId> nodes, std::uint32_t first_column, std::uint32_t width,
                         const std::byte* values) {
  at(nodes.front() / span_nodes(nodes_)).put(nodes, first_column, width, values);
}

void RowsLevelImage::rest() {
  for (const auto& file : files_)
    if (file) file->rest();
}

std::vector<FileEntry> RowsLevelImage::publish() {
  std::vector<FileEntry> entries(files_.size());
  for (std::size_t span = 0; span < files_.size(); ++span) at(span);
  parallel_ranges(0, files_.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t span = first; span < last; ++span) entries[span] = files_[span]->publish();
  });
  return entries;
}

RowsLevel::RowsLevel(const std::filesystem::path& store, const Manifest& manifest, std::uint32_t level)
    : columns_(manifest.row_width()), span_nodes_(span_nodes(manifest.nodes)), entries_(manifest.levels[level].rows) {
  for (std::size_t span = 0; span < entries_.size(); ++span)
    files_.emplace_back(store, entries_[span], level, span_range(manifest.nodes, span), columns_,
                        manifest.propagation->kept);
}

void RowsLevel::read(NodeId node, float* out) const {
  if (at(node).read(node, out)) return;
  throw FormatError(entries_[node / span_nodes_].path, "position " + std::to_string(node),
                    "this row is missing, labels say that it is there");
}

void RowsLevel::read_ahead(NodeRange nodes) const noexcept {
  for (NodeId first = nodes.first; first < nodes.last;) {
    const RowsFile& file = at(first);
    const NodeId last = std::min(nodes.last, file.range().last);
    file.read_ahead({first, last});
    first = last;
  }
}

}  // namespace unweave
