// algorithms/propagation/partition_sink.cpp - puts rows into images of partitions, and reads them
// back for the next level.
#include "algorithms/propagation/partition_sink.h"

#include <algorithm>
#include <utility>

#include "algorithms/propagation/density.h"
#include "algorithms/propagation/row_share.h"
#include "storage/formats/state_file.h"
#include "storage/formats/store_layout.h"

namespace unweave {
namespace {

/// Normalised sums of a level from its partitions.
class PartitionFill {
 public:
  PartitionFill(const std::filesystem::path& store, const std::vector<FileEntry>& entries, std::uint32_t level,
                std::uint32_t columns, const Contents& contents)
      : contents_(contents) {
    for (std::size_t span = 0; span < entries.size(); ++span)
      partitions_.emplace_back(store, entries[span], level, span_range(contents.num_nodes(), span), columns);
  }
  void operator()(TileColumns columns, NodeRange rows, std::int32_t* out) const {
    const auto width = static_cast<std::uint32_t>(columns.count);
    for (NodeId node = rows.first; node < rows.last; ++node, out += width) {
      const StatePartition& partition = partitions_[node / span_nodes(contents_.num_nodes())];
      if (node == rows.first) partition.read_ahead({node, std::min(rows.last, partition.range().last)});
      StateRow sums = partition.row(node);
      if (!sums.exists()) {
        std::fill_n(out, width, 0);
        continue;
      }
      if (sums.narrow != nullptr) sums.narrow += columns.first;
      if (sums.wide != nullptr) sums.wide += columns.first;
      density_from_sums(sums, width, contents_.graph().degree(node), out);
    }
  }

 private:
  const Contents& contents_;
  std::vector<StatePartition> partitions_;
};

}  // namespace

PartitionSink::PartitionSink(const std::filesystem::path& store, const Contents& contents, const SweepSpec& sweep,
                             std::uint64_t write_buffers, MemoryBudget& budget)
    : store_(store), contents_(contents), sweep_(sweep), buffers_(write_buffers, budget), entries_(sweep.levels) {
  const NodeId nodes = contents.num_nodes();
  const RankShare spans = sweep.share != nullptr ? sweep.share->own_spans() : RankShare{0, num_spans(nodes)};
  for (std::uint32_t index = 0; index < sweep.levels; ++index)
    images_.push_back(std::make_unique<LevelImage>(store, sweep.first_level + index,
                                                   static_cast<std::uint32_t>(sweep.columns.count), nodes,
                                                   sweep.mask(index), buffers_.queue(), spans));
}

void PartitionSink::put(std::uint32_t level, TileColumns /*columns*/, const SumRows& rows) {
  images_[level - sweep_.first_level]->put(rows.nodes, rows.sums, rows.wide_nodes, rows.wide_sums);
}

void PartitionSink::name_level(std::size_t index) {
  images_[index]->finish();
  buffers_.queue().drain();
  entries_[index] = images_[index]->publish();
  images_[index].reset();
}

TileFill PartitionSink::refill(std::uint32_t level, TileColumns /*columns*/) {
  name_level(level - sweep_.first_level);
  const auto fill = std::make_shared<PartitionFill>(store_, entries_[level - sweep_.first_level], level,
                                                    static_cast<std::uint32_t>(sweep_.columns.count), contents_);
  return [fill](TileColumns columns, NodeRange rows, std::int32_t* out) { (*fill)(columns, rows, out); };
}

void PartitionSink::finish() {
  for (const auto& image : images_)
    if (image) image->finish();
}

LevelEntries PartitionSink::name_files() {
  for (std::size_t index = 0; index < images_.size(); ++index)
    if (images_[index]) name_level(index);
  return std::move(entries_);
}

}  // namespace unweave
