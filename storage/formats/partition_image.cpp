// storage/formats/partition_image.cpp - puts rows of sums at their places in a partition, and wide
// rows at its end.
#include "storage/formats/partition_image.h"

#include <utility>

namespace unweave {
namespace {

std::uint64_t rows_of(NodeRange range, std::span<const std::uint64_t> members, const MemberRanks& ranks) {
  return members.empty() ? range.size() : ranks.total();
}

}  // namespace

PartitionImage::PartitionImage(const std::filesystem::path& store, std::uint32_t level, NodeRange range,
                               std::uint32_t columns, std::vector<std::uint64_t> members, WriteBehind& queue)
    : level_(level),
      members_(std::move(members)),
      ranks_(members_),
      layout_{range, columns, rows_of(range, members_, ranks_)},
      image_(state_name(store, level, range.first), layout_.bytes(0), queue) {
  if (layout_.rows == range.size()) members_.clear();
  const std::vector<std::byte> zeros(layout_.rows_at() - 8 * layout_.member_words());
  image_.put(0, std::as_bytes(std::span(members_)));
  image_.put(8 * layout_.member_words(), zeros);
  if (layout_.rows == 0) finish();
}

void PartitionImage::put(std::span<const NodeId> nodes, const std::int32_t* sums,
                         std::span<const std::uint32_t> wide_positions, const std::int64_t* wide_sums) {
  const std::size_t columns = layout_.columns;
  if (!wide_positions.empty()) {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < wide_positions.size(); ++i)
      wide_[nodes[wide_positions[i]]].assign(wide_sums + i * columns, wide_sums + (i + 1) * columns);
  }
  const NodeId local = nodes.front() - layout_.range.first;
  const std::uint64_t rank = members_.empty() ? local : ranks_.before(members_, local);
  image_.put(layout_.rows_at() + rank * columns * sizeof(std::int32_t),
             std::as_bytes(std::span(sums, nodes.size() * columns)));
  if (rows_done_.fetch_add(nodes.size()) + nodes.size() == layout_.rows) finish();
}

void PartitionImage::finish() {
  std::vector<NodeId> nodes;
  std::vector<std::int64_t> rows;
  for (const auto& [node, row] : wide_) {
    nodes.push_back(node);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  wide_.clear();
  const std::uint64_t nodes_end = layout_.wide_nodes_at() + 4 * nodes.size();
  const std::vector<std::byte> zeros(layout_.wide_rows_at(nodes.size()) - nodes_end);
  image_.put(layout_.wide_nodes_at(), std::as_bytes(std::span(nodes)));
  image_.put(nodes_end, zeros);
  image_.put(nodes_end + zeros.size(), std::as_bytes(std::span(rows)));
  image_.finish(layout_.bytes(nodes.size()),
                {level_, layout_.range.first, layout_.range.size(), layout_.rows, layout_.columns, nodes.size()});
  // All images of a level wait for publish().
  std::vector<std::uint64_t>().swap(members_);
  ranks_ = MemberRanks();
}

}  // namespace unweave
