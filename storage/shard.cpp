#include "storage/shard.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "storage/error.h"

namespace unweave {
namespace {

std::string stem_of(NodeId first) {
  std::string digits = std::to_string(first);
  return std::string(10 - digits.size(), '0') + digits;
}

}  // namespace

void encode_lists(std::span<const std::uint32_t> counts, std::span<const NodeId> targets, EncodedLists& out) {
  out.counts.assign(counts.begin(), counts.end());
  out.block_bytes.clear();
  out.bytes.clear();
  for (std::size_t first = 0; first < counts.size(); first += kBlockNodes) {
    const auto block = counts.subspan(first, std::min(kBlockNodes, counts.size() - first));
    const auto arcs = std::accumulate(block.begin(), block.end(), std::size_t{0});
    const std::size_t before = out.bytes.size();
    encode_block(block, targets.first(arcs), out.bytes);
    out.block_bytes.push_back(static_cast<std::uint32_t>(out.bytes.size() - before));
    targets = targets.subspan(arcs);
  }
}

ShardWriter::ShardWriter(NodeRange range, NodeId graph_nodes) : range_(range), graph_nodes_(graph_nodes) {
  counts_.reserve(range.size());
}

void ShardWriter::add(std::span<const NodeId> neighbours) {
  counts_.push_back(static_cast<std::uint32_t>(neighbours.size()));
  pending_.insert(pending_.end(), neighbours.begin(), neighbours.end());
  arcs_ += neighbours.size();
  if (counts_.size() % kBlockNodes == 0) close_block();
}

void ShardWriter::close_block() {
  const std::size_t first = (counts_.size() - 1) / kBlockNodes * kBlockNodes;
  encode_block(std::span(counts_).subspan(first), pending_, blocks_);
  pending_.clear();
  check_size();
  offsets_.push_back(static_cast<std::uint32_t>(blocks_.size()));
}

void ShardWriter::append(const EncodedLists& lists) {
  counts_.insert(counts_.end(), lists.counts.begin(), lists.counts.end());
  for (const std::uint32_t count : lists.counts) arcs_ += count;
  blocks_.insert(blocks_.end(), lists.bytes.begin(), lists.bytes.end());
  check_size();
  for (const std::uint32_t bytes : lists.block_bytes) offsets_.push_back(offsets_.back() + bytes);
}

void ShardWriter::check_size() const {
  if (blocks_.size() > std::numeric_limits<std::uint32_t>::max())
    throw ResourceError("the shard of nodes " + std::to_string(range_.first) + " to " + std::to_string(range_.last) +
                        " exceeds 4 GiB of encoded arcs; this graph is too dense for the format");
}

FileEntry ShardWriter::finish(const std::filesystem::path& store) {
  if (offsets_.size() - 1 < (counts_.size() + kBlockNodes - 1) / kBlockNodes) close_block();
  SealedWriter writer(store, "graph", stem_of(range_.first), "shard", "shard");
  writer.append_values(std::span<const std::uint32_t>(counts_));
  writer.append_values(std::span<const std::uint32_t>(offsets_));
  writer.append(blocks_);
  return writer.finish({range_.first, range_.size(), arcs_, graph_nodes_});
}

Shard::Shard(const std::filesystem::path& store, const FileEntry& entry, NodeRange range, NodeId graph_nodes)
    : file_(store, entry, "shard"), range_(range), graph_nodes_(graph_nodes) {
  const SealedParameters& p = file_.parameters();
  if (p[0] != range.first || p[1] != range.size() || p[3] != graph_nodes)
    file_.fail(0, "the shard belongs to another range of nodes or another graph");
  const std::uint64_t nodes = range.size();
  const std::uint64_t blocks = (nodes + kBlockNodes - 1) / kBlockNodes;
  counts_ = file_.values<std::uint32_t>(0, nodes);
  offsets_ = file_.values<std::uint32_t>(4 * nodes, blocks + 1);
  blocks_at_ = 4 * (nodes + blocks + 1);
  for (const std::uint32_t count : counts_) {
    if (count >= graph_nodes) file_.fail(0, "a node has more neighbours than the graph has nodes");
    arcs_ += count;
  }
  if (arcs_ != p[2]) file_.fail(0, "counts do not add up to the number of arcs");
  if (offsets_.front() != 0 || blocks_at_ + offsets_.back() != file_.size() ||
      !std::is_sorted(offsets_.begin(), offsets_.end()))
    file_.fail(4 * nodes, "block offsets are not increasing or do not fill the file");
}

std::span<const std::uint32_t> Shard::block_counts(std::size_t block) const noexcept {
  const std::size_t first = block * kBlockNodes;
  return counts_.subspan(first, std::min<std::size_t>(kBlockNodes, counts_.size() - first));
}

std::uint64_t Shard::block_arcs(std::size_t block) const noexcept {
  std::uint64_t arcs = 0;
  for (const std::uint32_t count : block_counts(block)) arcs += count;
  return arcs;
}

std::span<const std::byte> Shard::block_bytes(std::size_t block) const {
  return file_.bytes(blocks_at_ + offsets_[block], offsets_[block + 1] - offsets_[block]);
}

void Shard::read_ahead(std::size_t first, std::size_t last) const noexcept {
  file_.read_ahead(blocks_at_ + offsets_[first], offsets_[last] - offsets_[first]);
}

void Shard::fail(std::size_t block, const BlockError& error) const {
  file_.fail(blocks_at_ + offsets_[block], "block " + std::to_string(block) + ": " + error.what);
}

void Shard::decode(std::size_t block, NodeId* targets) const {
  const auto bytes = block_bytes(block);
  try {
    decode_block(bytes, block_counts(block), graph_nodes_, targets);
  } catch (const BlockError& error) {
    fail(block, error);
  }
}

void Shard::decode_node(NodeId node, NodeId* targets) const {
  const std::size_t local = node - range_.first;
  const std::size_t block = local / kBlockNodes;
  const auto bytes = block_bytes(block);
  try {
    decode_list(bytes, block_counts(block), local % kBlockNodes, graph_nodes_, targets);
  } catch (const BlockError& error) {
    fail(block, error);
  }
}

void Shard::verify() const {
  file_.check_all();
  std::vector<NodeId> targets;
  for (std::size_t block = 0; block < num_blocks(); ++block) {
    targets.resize(block_arcs(block) + kDecodeSlack);
    decode(block, targets.data());
    std::size_t at = 0;
    const auto counts = block_counts(block);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto* first = targets.data() + at;
      const NodeId self = range_.first + static_cast<NodeId>(block * kBlockNodes + i);
      if (std::binary_search(first, first + counts[i], self))
        file_.fail(blocks_at_ + offsets_[block],
                   "the node at position " + std::to_string(self) + " is its own neighbour");
      at += counts[i];
    }
  }
}

}  // namespace unweave
