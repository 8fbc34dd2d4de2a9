// storage/formats/shard.cpp - writes and reads shards: offsets, counts and blocks of neighbour
// lists.
#include "storage/formats/shard.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "storage/codec/bit_pack.h"
#include "storage/codec/repeats.h"
#include "storage/codec/weight_groups.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"
#include "storage/io/store_folders.h"

namespace unweave {
namespace {

/// As the parameters of the file have it.
constexpr std::uint64_t stored_weight(const ListForm& form) noexcept {
  constexpr std::uint64_t kMultiplied = std::uint64_t{1} << 32;
  return form.multiplied ? kMultiplied + form.max_weight : form.max_weight == 1 ? 0 : form.max_weight;
}

SealedName name_of(const std::filesystem::path& store, NodeId first, ShardOf of) {
  if (of == ShardOf::nodes) return {store, "graph", span_stem(first), "shard", "shard"};
  if (of == ShardOf::held) return {store, kPairsFolder, span_stem(first), "shard", "shard"};
  return {store, "state", "targets-" + span_stem(first), "lists", "lists"};
}

std::vector<std::byte> pack_counts(std::span<const std::uint32_t> counts) {
  std::vector<std::byte> packed;
  for (std::size_t first = 0; first < counts.size(); first += kPackGroup) {
    const auto group = counts.subspan(first, std::min(kPackGroup, counts.size() - first));
    GroupValues values{};
    std::copy(group.begin(), group.end(), values.begin());
    const std::size_t shape_at = packed.size();
    packed.emplace_back();
    const std::byte shape = pack_group(values, group.size(), packed);
    packed[shape_at] = shape;
  }
  return packed;
}

/// Appends a block of lists that name each neighbour as often as its edge weighs, and how many
/// neighbours each has.
void encode_multiplied(std::span<const std::uint32_t> counts, std::span<const NodeId> targets,
                       std::vector<std::uint32_t>& neighbours, std::vector<std::byte>& out) {
  std::vector<NodeId> ids;
  std::vector<std::uint32_t> weights;
  const std::size_t first = neighbours.size();
  std::size_t at = 0;
  for (const std::uint32_t count : counts) {
    const std::size_t before = ids.size();
    for (const std::size_t end = at + count; at < end;) {
      const NodeId id = targets[at];
      std::uint32_t weight = 0;
      for (; at < end && targets[at] == id; ++at) ++weight;
      ids.push_back(id);
      weights.push_back(weight);
    }
    neighbours.push_back(static_cast<std::uint32_t>(ids.size() - before));
  }
  encode_weights(weights, out);
  encode_block(std::span(neighbours).subspan(first), ids, out);
}

/// Appends one block to `out`, and in the multiplied form the counts of its neighbours.
void encode(std::span<const std::uint32_t> counts, std::span<const NodeId> targets, const ListForm& form,
            std::vector<std::uint32_t>& neighbours, std::vector<std::byte>& out) {
  if (form.multiplied) return encode_multiplied(counts, targets, neighbours, out);
  if (form.max_weight == 1) return encode_block(counts, targets, out);
  std::size_t at = 0;
  for (const std::uint32_t count : counts) {
    if (!can_spread(targets.subspan(at, count)))
      throw ResourceError("the weights of one node's edges add up to " + std::to_string(count) +
                          ", which is more than the format takes");
    at += count;
  }
  std::vector<NodeId> spread(targets.begin(), targets.end());
  spread_repeats(counts, spread.data());
  encode_block(counts, spread, out);
}

}  // namespace

void encode_lists(std::span<const std::uint32_t> counts, std::span<const NodeId> targets, const ListForm& form,
                  EncodedLists& out) {
  out.counts.assign(counts.begin(), counts.end());
  out.neighbours.clear();
  out.block_bytes.clear();
  out.bytes.clear();
  for (std::size_t first = 0; first < counts.size(); first += kBlockNodes) {
    const auto block = counts.subspan(first, std::min(kBlockNodes, counts.size() - first));
    const auto arcs = std::accumulate(block.begin(), block.end(), std::size_t{0});
    const std::size_t before = out.bytes.size();
    encode(block, targets.first(arcs), form, out.neighbours, out.bytes);
    out.block_bytes.push_back(static_cast<std::uint32_t>(out.bytes.size() - before));
    targets = targets.subspan(arcs);
  }
}

ShardWriter::ShardWriter(const std::filesystem::path& store, NodeRange range, NodeId graph_nodes, const ListForm& form,
                         std::uint64_t memory_limit, ShardOf of)
    : name_(name_of(store, range.first, of)),
      range_(range),
      graph_nodes_(graph_nodes),
      form_(form),
      blocks_(store, memory_limit) {
  counts_.reserve(range.size());
  if (form.multiplied) neighbours_.reserve(range.size());
}

void ShardWriter::add(std::span<const NodeId> neighbours) {
  counts_.push_back(static_cast<std::uint32_t>(neighbours.size()));
  pending_.insert(pending_.end(), neighbours.begin(), neighbours.end());
  arcs_ += neighbours.size();
  if (counts_.size() % kBlockNodes == 0) close_block();
}

void ShardWriter::close_block() {
  const std::size_t first = (counts_.size() - 1) / kBlockNodes * kBlockNodes;
  block_.clear();
  encode(std::span(counts_).subspan(first), pending_, form_, neighbours_, block_);
  pending_.clear();
  append_blocks(block_, std::array{static_cast<std::uint32_t>(block_.size())});
}

void ShardWriter::append(const EncodedLists& lists) {
  counts_.insert(counts_.end(), lists.counts.begin(), lists.counts.end());
  neighbours_.insert(neighbours_.end(), lists.neighbours.begin(), lists.neighbours.end());
  for (const std::uint32_t count : lists.counts) arcs_ += count;
  append_blocks(lists.bytes, lists.block_bytes);
}

void ShardWriter::append_blocks(std::span<const std::byte> bytes, std::span<const std::uint32_t> sizes) {
  blocks_.append(bytes);
  if (blocks_.size() > std::numeric_limits<std::uint32_t>::max())
    throw ResourceError("the shard of nodes " + std::to_string(range_.first) + " to " + std::to_string(range_.last) +
                        " exceeds 4 GiB of encoded arcs; this graph is too dense for the format");
  for (const std::uint32_t size : sizes) offsets_.push_back(offsets_.back() + size);
}

FileEntry ShardWriter::finish() {
  if (offsets_.size() - 1 < (counts_.size() + kBlockNodes - 1) / kBlockNodes) close_block();
  SealedWriter writer(name_);
  std::vector<std::byte> packed_counts = pack_counts(form_.multiplied ? neighbours_ : counts_);
  if (form_.multiplied) {
    const std::vector<std::byte> packed_weights = pack_counts(counts_);
    packed_counts.insert(packed_counts.end(), packed_weights.begin(), packed_weights.end());
  }
  writer.append_values(std::span<const std::uint32_t>(offsets_));
  writer.append(packed_counts);
  blocks_.copy_to(writer, 0, blocks_.size());
  return writer.finish({range_.first, range_.size(), arcs_, graph_nodes_, packed_counts.size(), stored_weight(form_)});
}

FileEntry copy_shard(const std::filesystem::path& store, const FileEntry& entry, NodeRange range, NodeId from,
                     NodeId to, ShardOf of) {
  constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
  const SealedName name = name_of(store, range.first, of);
  const SealedFile file(store, entry, name.kind);
  SealedParameters parameters = file.parameters();
  if (parameters[0] != range.first || parameters[1] != range.size() || parameters[3] != from)
    file.fail(0, "the shard belongs to another range of nodes or another graph");
  parameters[3] = to;
  SealedWriter writer(name);
  for (std::uint64_t at = 0; at < file.size(); at += kPieceBytes)
    writer.append(file.bytes(at, std::min(kPieceBytes, file.size() - at)));
  return writer.finish(parameters);
}

Shard::Shard(const std::filesystem::path& store, const FileEntry& entry, NodeRange range, NodeId graph_nodes,
             const ListForm& form, ShardOf of)
    : file_(store, entry, name_of(store, range.first, of).kind),
      of_(of),
      range_(range),
      graph_nodes_(graph_nodes),
      form_(form),
      arcs_(file_.parameters()[2]) {
  const SealedParameters& p = file_.parameters();
  if (p[0] != range.first || p[1] != range.size() || p[3] != graph_nodes)
    file_.fail(0, "the shard belongs to another range of nodes or another graph");
  if (p[5] != stored_weight(form)) file_.fail(0, "the shard belongs to a graph of other weights");
  const std::uint64_t nodes = range.size();
  const std::uint64_t blocks = (nodes + kBlockNodes - 1) / kBlockNodes;
  const std::uint64_t counts_at = sizeof(std::uint32_t) * (blocks + 1);
  if (counts_at > file_.size() || p[4] > file_.size() - counts_at)
    file_.fail(0, "offsets and counts do not fit into the file");
  const auto offsets = file_.values<std::uint32_t>(0, blocks + 1);
  offsets_.assign(offsets.begin(), offsets.end());
  blocks_at_ = counts_at + p[4];
  if (offsets_.front() != 0 || blocks_at_ + offsets_.back() != file_.size() ||
      !std::is_sorted(offsets_.begin(), offsets_.end()))
    file_.fail(0, "block offsets are not increasing or do not fill the file");
}

/// They lie between the offsets and the blocks.
void Shard::unpack_counts(std::vector<std::uint32_t>& counts, std::vector<std::uint32_t>& neighbours) const {
  const std::uint64_t at = sizeof(std::uint32_t) * offsets_.size(), size = blocks_at_ - at;
  const std::span<const std::byte> packed = file_.bytes(at, size);
  std::size_t read = 0;
  const auto unpack = [&](std::vector<std::uint32_t>& out) {
    out.resize(range_.size());
    for (std::size_t first = 0; first < out.size(); first += kPackGroup)
      if (!unpack_group(packed, read, std::min(kPackGroup, out.size() - first), &out[first]))
        file_.fail(at + read, "the counts from node " + std::to_string(range_.first + first) + " on are damaged");
  };
  if (form_.multiplied) unpack(neighbours);
  unpack(counts);
  if (read != size) file_.fail(at + read, "bytes follow the last count");
  check_lengths(counts, neighbours);
}

/// Each list is one that a graph of so many nodes may have.
void Shard::check_lengths(std::span<const std::uint32_t> counts, std::span<const std::uint32_t> neighbours) const {
  constexpr const char* kTooLong = "a node has more neighbours than the graph has nodes";
  const std::uint64_t at = sizeof(std::uint32_t) * offsets_.size(), most = form_.max_weight;
  std::uint64_t arcs = 0;
  for (const std::uint32_t count : counts) {
    if (count >= graph_nodes_ * most) file_.fail(at, kTooLong);
    arcs += count;
  }
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    if (neighbours[i] >= graph_nodes_) file_.fail(at, kTooLong);
    if (counts[i] < neighbours[i] || counts[i] > neighbours[i] * most)
      file_.fail(at, "a node's weights add up to what its neighbours cannot have");
  }
  if (arcs != arcs_) file_.fail(at, "counts do not add up to the number of arcs");
}

std::uint64_t Shard::largest_block(std::span<const std::uint32_t> counts, bool encoded) const {
  std::uint64_t most = 0;
  for (std::size_t block = 0; block < num_blocks(); ++block) {
    const auto own = of_block(counts, block);
    const auto arcs = std::accumulate(own.begin(), own.end(), std::uint64_t{0});
    // A damaged count could else ask for more memory than any lists of so few bytes take.
    if (encoded && arcs > unweave::most_block_arcs(offsets_[block + 1] - offsets_[block]))
      file_.fail(blocks_at_ + offsets_[block], "block " + std::to_string(block) + ": fewer bytes than its lists take");
    most = std::max(most, arcs);
  }
  return most;
}

const std::uint32_t* Shard::read_counts() const {
  const std::scoped_lock lock(counts_->mutex);
  if (const std::uint32_t* const values = counts_->values.load(std::memory_order_relaxed)) return values;
  std::vector<std::uint32_t> counts, neighbours;
  unpack_counts(counts, neighbours);
  counts_->most_block_arcs = largest_block(counts, !form_.multiplied);
  if (form_.multiplied) counts_->most_block_neighbours = largest_block(neighbours, true);
  counts_->memory = std::move(counts);
  counts_->neighbours = std::move(neighbours);
  counts_->values.store(counts_->memory.data(), std::memory_order_release);
  return counts_->memory.data();
}

std::span<const std::uint32_t> Shard::of_block(std::span<const std::uint32_t> values, std::size_t block) noexcept {
  const std::size_t first = block * kBlockNodes;
  return values.subspan(first, std::min<std::size_t>(kBlockNodes, values.size() - first));
}

std::span<const std::uint32_t> Shard::block_counts(std::size_t block) const {
  return of_block(counts(), block);
}

std::uint64_t Shard::block_neighbours(std::size_t block) const {
  std::uint64_t arcs = 0;
  for (const std::uint32_t count : of_block(neighbour_counts(), block)) arcs += count;
  return arcs;
}

std::uint64_t Shard::block_arcs(std::size_t block) const {
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

void Shard::forget(std::size_t first, std::size_t last) const noexcept {
  file_.forget(blocks_at_ + offsets_[first], offsets_[last] - offsets_[first]);
}

void Shard::fail(std::size_t block, const BlockError& error) const {
  file_.fail(blocks_at_ + offsets_[block], "block " + std::to_string(block) + ": " + error.what);
}

template <class Decode>
void Shard::decode_checked(std::size_t block, std::span<const std::byte> bytes, std::span<const std::uint32_t> counts,
                           NodeId* targets, const Decode& decode) const {
  try {
    if (form_.max_weight == 1) {
      decode(bytes, graph_nodes_);
      return;
    }
    decode(bytes, kNoNode);
    if (!join_repeats(counts, graph_nodes_, targets)) throw BlockError{"a neighbour is not a node of the graph"};
  } catch (const BlockError& error) {
    fail(block, error);
  }
}

Shard::Place Shard::place(std::size_t first, std::size_t last) const noexcept {
  const std::uint64_t at = blocks_at_ + offsets_[first], bytes = offsets_[last] - offsets_[first];
  return {file_.path(), kSealedHeaderBytes + at, bytes, file_.is_checked(at, bytes)};
}

void Shard::check_weights(std::size_t block, std::size_t index, std::span<const std::uint32_t> weights) const {
  if (std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}) != block_counts(block)[index])
    throw BlockError{"weights that do not add up to those of their list"};
}

void Shard::decode_weighted(std::size_t block, std::span<const std::byte> bytes, NodeId* targets,
                            std::uint32_t* weights) const {
  const auto counts = of_block(neighbour_counts(), block);
  try {
    const std::span<std::uint32_t> all(weights, block_neighbours(block));
    const std::size_t read = decode_weights(bytes, form_.max_weight, all);
    decode_block(bytes.subspan(read), counts, graph_nodes_, targets);
    std::size_t at = 0;
    for (std::size_t i = 0; i < counts.size(); at += counts[i++]) check_weights(block, i, all.subspan(at, counts[i]));
  } catch (const BlockError& error) {
    fail(block, error);
  }
}

/// Writes each id as often as its weight says, in lists that were decoded.
void Shard::expand(std::size_t block, std::span<const std::byte> bytes, NodeId* targets) const {
  const std::size_t arcs = block_neighbours(block);
  std::vector<NodeId> ids(arcs + kDecodeSlack);
  std::vector<std::uint32_t> weights(arcs);
  decode_weighted(block, bytes, ids.data(), weights.data());
  for (std::size_t i = 0; i < arcs; ++i) targets = std::fill_n(targets, weights[i], ids[i]);
}

/// Likewise one list alone.
void Shard::expand_list(std::size_t block, std::size_t index, NodeId* targets) const {
  const auto counts = of_block(neighbour_counts(), block);
  try {
    std::vector<std::uint32_t> weights(block_neighbours(block));
    std::vector<NodeId> ids(counts[index] + kDecodeSlack);
    const std::span<const std::byte> bytes = block_bytes(block);
    const std::size_t read = decode_weights(bytes, form_.max_weight, weights);
    decode_list(bytes.subspan(read), counts, index, graph_nodes_, ids.data());
    const std::size_t before =
        std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(index), std::size_t{0});
    const auto own = std::span(weights).subspan(before, counts[index]);
    check_weights(block, index, own);
    for (std::size_t i = 0; i < own.size(); ++i) targets = std::fill_n(targets, own[i], ids[i]);
  } catch (const BlockError& error) {
    fail(block, error);
  }
}

void Shard::decode(std::size_t block, std::span<const std::byte> bytes, NodeId* targets) const {
  if (form_.multiplied) return expand(block, bytes, targets);
  const auto counts = block_counts(block);
  decode_checked(block, bytes, counts, targets, [&](std::span<const std::byte> encoded, NodeId most) {
    decode_block(encoded, counts, most, targets);
  });
}

void Shard::decode_node(NodeId node, NodeId* targets) const {
  const std::size_t local = node - range_.first;
  const std::size_t block = local / kBlockNodes;
  const auto counts = block_counts(block);
  const std::size_t index = local % kBlockNodes;
  if (form_.multiplied) return expand_list(block, index, targets);
  decode_checked(
      block, block_bytes(block), counts.subspan(index, 1), targets,
      [&](std::span<const std::byte> bytes, NodeId most) { decode_list(bytes, counts, index, most, targets); });
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
      const std::span<const NodeId> list(targets.data() + at, counts[i]);
      at += counts[i];
      for (std::size_t k = form_.max_weight; k < list.size(); ++k)
        if (list[k] == list[k - form_.max_weight])
          fail(block, BlockError{"an edge has more than the largest weight of the graph"});
      const NodeId self = range_.first + static_cast<NodeId>(block * kBlockNodes + i);
      if (of_ != ShardOf::targets && std::binary_search(list.begin(), list.end(), self))
        file_.fail(blocks_at_ + offsets_[block],
                   "the node at position " + std::to_string(self) + " is its own neighbour");
    }
  }
}

}  // namespace unweave
