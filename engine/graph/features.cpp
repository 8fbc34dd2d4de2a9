// engine/graph/features.cpp - reads feature files across spans, with zeros for cleared nodes and
// rows that were set.
#include "engine/graph/features.h"

#include <algorithm>
#include <utility>

#include "engine/graph/open_files.h"
#include "storage/formats/manifest.h"
#include "storage/formats/run_file.h"
#include "storage/formats/store_layout.h"

namespace unweave {

Features::Features(const std::filesystem::path& store, const Manifest& manifest, const NodeSet& cleared)
    : nodes_(manifest.nodes),
      file_rows_(manifest.feature_rows()),
      columns_(manifest.features),
      cleared_(cleared),
      set_(manifest.nodes) {
  files_ = open_files<FeatureFile>(manifest.feature_files.size(), [&](std::size_t i) {
    return FeatureFile(store, manifest.feature_files[i], span_range(file_rows_, i), columns_, manifest.feature_layout);
  });
}

template <class Use>
void Features::for_files(NodeRange range, const Use& use) const {
  if (columns_ == 0) return;  // a store without features has no files
  const std::uint64_t span = span_nodes(file_rows_), end = std::min(range.last, nodes_);
  for (std::uint64_t first = range.first; first < end;) {
    const std::uint64_t row = first < file_rows_ ? first : first % file_rows_;
    const std::uint64_t count = std::min({end - first, file_rows_ - row, span - row % span});
    use(files_[row / span], NodeRange{static_cast<NodeId>(row), static_cast<NodeId>(row + count)},
        static_cast<std::size_t>(first - range.first));
    first += count;
  }
}

void Features::read(NodeRange range, std::uint32_t first_column, std::uint32_t width, float* out,
                    PageCache cache) const {
  if (width == 0) return;  // a store without features has no files
  for_files(range, [&](const FeatureFile& file, NodeRange rows, std::size_t first) {
    file.read(rows, first_column, width, out + first * width, cache);
  });
  if (cleared_.size() == 0 && set_.size() == 0) return;
  for (NodeId node = range.first; node < range.last; ++node) {
    float* const row = out + std::size_t{node - range.first} * width;
    if (set_.contains(node))
      unpack_row(*rows_.find(node)->second, columns_, first_column, {row, width});
    else if (cleared_.contains(node))
      std::fill_n(row, width, 0.0F);
  }
}

bool Features::read_halves(NodeRange range, Half* out) const {
  if (files_.empty() || !files_.front().has_halves()) return false;
  const auto any = [&](const NodeSet& nodes) {
    if (nodes.size() == 0) return false;
    for (NodeId node = range.first; node < range.last; ++node)
      if (nodes.contains(node)) return true;
    return false;
  };
  if (any(set_)) return false;
  for_files(range, [&](const FeatureFile& file, NodeRange rows, std::size_t first) {
    file.read_halves(rows, out + first * columns_);
  });
  if (!any(cleared_)) return true;
  for (NodeId node = range.first; node < range.last; ++node)
    if (cleared_.contains(node)) std::fill_n(out + std::size_t{node - range.first} * columns_, columns_, Half{0});
  return true;
}

void Features::read_ahead(NodeRange range, std::uint32_t first_column, std::uint32_t width) const noexcept {
  for_files(range,
            [&](const FeatureFile& file, NodeRange rows, std::size_t) { file.read_ahead(rows, first_column, width); });
}

void Features::forget(NodeRange range, std::uint32_t first_column, std::uint32_t width) const noexcept {
  for_files(range,
            [&](const FeatureFile& file, NodeRange rows, std::size_t) { file.forget(rows, first_column, width); });
}

const FeatureFile* Features::file_from(std::uint64_t row) const noexcept {
  if (columns_ == 0 || row >= file_rows_ || row % span_nodes(file_rows_) != 0) return nullptr;
  return &files_[row / span_nodes(file_rows_)];
}

std::uint64_t Features::file_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const FeatureFile& file : files_) bytes += file.bytes();
  return bytes;
}

bool Features::is_zero(NodeId node, std::vector<float>& scratch) const {
  if (columns_ == 0 || (cleared_.contains(node) && !set_.contains(node))) return true;
  scratch.resize(columns_);
  read({node, node + 1}, 0, columns_, scratch.data());
  return std::all_of(scratch.begin(), scratch.end(), [](float value) { return value == 0.0F; });
}

void Features::set(SetRow row) {
  unset(row.node);
  word_bytes_ += row.words->size() * sizeof(std::uint32_t);
  set_.insert(row.node);
  rows_.emplace(row.node, std::move(row.words));
}

void Features::unset(NodeId node) {
  const auto found = rows_.find(node);
  if (found == rows_.end()) return;
  word_bytes_ -= found->second->size() * sizeof(std::uint32_t);
  rows_.erase(found);
  set_.erase(node);
}

std::vector<SetRow> Features::set_rows() const {
  std::vector<SetRow> rows;
  rows.reserve(rows_.size());
  for (const NodeId node : set_.sorted()) rows.push_back({node, rows_.find(node)->second});
  return rows;
}

}  // namespace unweave
