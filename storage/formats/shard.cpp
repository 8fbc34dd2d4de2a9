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
#include "storage/types/list_view.h"

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

constexpr std::uint64_t kMostListed = kMaxNodeId;  // units of one node

[[noreturn]] void refuse_list(std::uint64_t units) {
  throw ResourceError("the weights of one node's edges add up to " + std::to_string(units) +
                      ", which is more than the format takes");
}

/// Appends a block whose weights lie beside the ids.
void encode_multiplied(const GivenLists& lists, EncodedLists& out) {
  std::size_t at = 0;
  for (const std::uint32_t count : lists.counts) {
    const auto own = lists.weights.subspan(at, count);
    const std::uint64_t units = std::accumulate(own.begin(), own.end(), std::uint64_t{0});
    if (units > kMostListed) refuse_list(units);
    out.counts.push_back(static_cast<std::uint32_t>(units));
    at += count;
  }
  out.neighbours.insert(out.neighbours.end(), lists.counts.begin(), lists.counts.end());
  encode_weights(lists.weights, out.bytes);
  encode_block(lists.counts, lists.ids, out.bytes);
}

/// Appends a block whose lists name an id as often as its edge weighs.
void encode_repeated(std::span<const std::uint32_t> counts, std::vector<NodeId> ids, EncodedLists& out) {
  std::size_t at = 0;
  for (const std::uint32_t count : counts) {
    if (!can_spread(std::span(ids).subspan(at, count))) refuse_list(count);
    at += count;
  }
  spread_repeats(counts, ids.data());
  out.counts.insert(out.counts.end(), counts.begin(), counts.end());
  encode_block(counts, ids, out.bytes);
}

/// Likewise, of lists that have weights.
void repeat_and_encode(const GivenLists& lists, EncodedLists& out) {
  std::vector<std::uint32_t> counts;
  std::vector<NodeId> ids;
  std::size_t at = 0;
  for (const std::uint32_t count : lists.counts) {
    const std::size_t before = ids.size();
    for (const std::size_t end = at + count; at < end; ++at) ids.insert(ids.end(), lists.weights[at], lists.ids[at]);
    if (ids.size() - before > kMostListed) refuse_list(ids.size() - before);
    counts.push_back(static_cast<std::uint32_t>(ids.size() - before));
  }
  encode_repeated(counts, std::move(ids), out);
}

}  // namespace

void append_block(const GivenLists& lists, const ListForm& form, EncodedLists& out) {
  const std::size_t before = out.bytes.size();
  if (form.multiplied) {
    encode_multiplied(lists, out);
  } else if (!lists.weights.empty()) {
    repeat_and_encode(lists, out);
  } else if (form.max_weight > 1) {
    encode_repeated(lists.counts, {lists.ids.begin(), lists.ids.end()}, out);
  } else {
    out.counts.insert(out.counts.end(), lists.counts.begin(), lists.counts.end());
    encode_block(lists.counts, lists.ids, out.bytes);
  }
  out.block_bytes.push_back(static_cast<std::uint32_t>(out.bytes.size() - before));
}

void encode_lists(const GivenLists& lists, const ListForm& form, EncodedLists& out) {
  out.clear();
  std::size_t at = 0;
  for (std::size_t first = 0; first < lists.counts.size(); first += kBlockNodes) {
    const auto block = lists.counts.subspan(first, std::min(kBlockNodes, lists.counts.size() - first));
    const auto ids = std::accumulate(block.begin(), block.end(), std::size_t{0});
    append_block(
        {block, lists.ids.subspan(at, ids), lists.weights.empty() ? lists.weights : lists.weights.subspan(at, ids)},
        form, out);
    at += ids;
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

void ShardWriter::add(std::span<const NodeId> neighbours, std::span<const std::uint32_t> weights) {
  pending_counts_.push_back(static_cast<std::uint32_t>(neighbours.size()));
  pending_.insert(pending_.end(), neighbours.begin(), neighbours.end());
  pending_weights_.insert(pending_weights_.end(), weights.begin(), weights.end());
  if (pending_counts_.size() == kBlockNodes) close_block();
}

void ShardWriter::close_block() {
  encode_lists({pending_counts_, pending_, pending_weights_}, form_, block_);
  pending_counts_.clear();
  pending_.clear();
  pending_weights_.clear();
  append(block_);
}

void ShardWriter::append(const EncodedLists& lists) {
  counts_.insert(counts_.end(), lists.counts.begin(), lists.counts.end());
  neighbours_.insert(neighbours_.end(), lists.neighbours.begin(), lists.neighbours.end());
  for (const std::uint32_t count : lists.counts) arcs_ += count;
  blocks_.append(lists.bytes);
  if (blocks_.size() > std::numeric_limits<std::uint32_t>::max())
    throw ResourceError("the shard of nodes " + std::to_string(range_.first) + " to " + std::to_string(range_.last) +
                        " exceeds 4 GiB of encoded arcs; this graph is too dense for the format");
  for (const std::uint32_t size : lists.block_bytes) offsets_.push_back(offsets_.back() + size);
}

FileEntry ShardWriter::finish() {
  if (!pending_counts_.empty()) close_block();
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
std::span<const std::byte> Shard::packed_counts() const {
  const std::uint64_t at = sizeof(std::uint32_t) * offsets_.size();
  return file_.bytes(at, blocks_at_ - at);
}

void Shard::fail_counts(std::size_t read, std::size_t local) const {
  file_.fail(sizeof(std::uint32_t) * offsets_.size() + read,
             "the counts from node " + std::to_string(range_.first + local) + " on are damaged");
}

/// Passes over those before them.
void Shard::unpack_block(std::size_t block, BlockCounts& counts) const {
  static_assert(kBlockNodes % kPackGroup == 0);
  const std::span<const std::byte> packed = packed_counts();
  const std::size_t first = block * kBlockNodes, last = std::min<std::size_t>(first + kBlockNodes, range_.size());
  std::size_t read = 0;
  for (std::size_t at = 0; at < first; at += kPackGroup) {
    if (read >= packed.size()) fail_counts(read, at);
    const auto shape = std::to_integer<unsigned>(packed[read++]);
    if (!skip_group(packed, read, kPackGroup, shape)) fail_counts(read, at);
  }
  for (std::size_t at = first; at < last; at += kPackGroup)
    if (!unpack_group(packed, read, std::min(kPackGroup, last - at), &counts[at - first])) fail_counts(read, at);
  const auto own = std::span(counts).first(last - first);
  for (const std::uint32_t count : own) require_length(count, form_.max_weight);
  static_cast<void>(checked_block_ids(block, own));
}

void Shard::unpack_counts(std::vector<std::uint32_t>& counts, std::vector<std::uint32_t>& neighbours) const {
  const std::span<const std::byte> packed = packed_counts();
  const std::size_t size = packed.size();
  std::size_t read = 0;
  const auto unpack = [&](std::vector<std::uint32_t>& out) {
    out.resize(range_.size());
    for (std::size_t first = 0; first < out.size(); first += kPackGroup)
      if (!unpack_group(packed, read, std::min(kPackGroup, out.size() - first), &out[first])) fail_counts(read, first);
  };
  if (form_.multiplied) unpack(neighbours);
  unpack(counts);
  if (read != size) file_.fail(sizeof(std::uint32_t) * offsets_.size() + read, "bytes follow the last count");
  check_lengths(counts, neighbours);
}

void Shard::require_length(std::uint64_t count, std::uint64_t most) const {
  if (count >= graph_nodes_ * most || count > kMostListWeight)
    file_.fail(sizeof(std::uint32_t) * offsets_.size(), "a node has more neighbours than the graph has nodes");
}

/// Each list is one that a graph of so many nodes may have.
void Shard::check_lengths(std::span<const std::uint32_t> counts, std::span<const std::uint32_t> neighbours) const {
  const std::uint64_t at = sizeof(std::uint32_t) * offsets_.size(), most = form_.max_weight;
  std::uint64_t arcs = 0;
  for (const std::uint32_t count : counts) {
    require_length(count, most);
    arcs += count;
  }
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    require_length(neighbours[i], 1);
    if (counts[i] < neighbours[i] || counts[i] > neighbours[i] * most)
      file_.fail(at, "a node's weights add up to what its neighbours cannot have");
  }
  if (arcs != arcs_) file_.fail(at, "counts do not add up to the number of arcs");
}

std::uint64_t Shard::checked_block_ids(std::size_t block, std::span<const std::uint32_t> ids) const {
  const auto all = std::accumulate(ids.begin(), ids.end(), std::uint64_t{0});
  // A damaged count could else ask for more memory than any lists of so few bytes take.
  if (all > unweave::most_block_arcs(offsets_[block + 1] - offsets_[block]))
    file_.fail(blocks_at_ + offsets_[block], "block " + std::to_string(block) + ": fewer bytes than its lists take");
  return all;
}

std::uint64_t Shard::largest_block(std::span<const std::uint32_t> ids) const {
  std::uint64_t most = 0;
  for (std::size_t block = 0; block < num_blocks(); ++block)
    most = std::max(most, checked_block_ids(block, of_block(ids, block)));
  return most;
}

std::uint32_t Shard::read_count(NodeId local) const {
  BlockCounts room{};
  return block_counts(local / kBlockNodes, room)[local % kBlockNodes];
}

std::span<const std::uint32_t> Shard::block_counts(std::size_t block, BlockCounts& room) const {
  // Passing over the counts before a block takes some fiftieth of the time of reading all; whoever
  // needs more blocks than these most likely needs many.
  constexpr std::size_t kMostAlone = 16;
  if (!form_.multiplied && !has_counts()) {
    const std::scoped_lock lock(counts_->mutex);
    if (counts_->block != block && counts_->blocks_read < kMostAlone) {
      counts_->block.reset();
      unpack_block(block, counts_->of_block);
      counts_->block = block;
      ++counts_->blocks_read;
    }
    if (counts_->block == block) {
      room = counts_->of_block;
      return std::span(room).first(std::min<std::size_t>(kBlockNodes, range_.size() - block * kBlockNodes));
    }
  }
  return of_block(counts(), block);
}

const std::uint32_t* Shard::read_counts() const {
  const std::scoped_lock lock(counts_->mutex);
  if (const std::uint32_t* const values = counts_->values.load(std::memory_order_relaxed)) return values;
  std::vector<std::uint32_t> counts, neighbours;
  unpack_counts(counts, neighbours);
  counts_->most_block_ids = largest_block(form_.multiplied ? neighbours : counts);
  counts_->memory = std::move(counts);
  counts_->neighbours = std::move(neighbours);
  counts_->values.store(counts_->memory.data(), std::memory_order_release);
  return counts_->memory.data();
}

std::span<const std::uint32_t> Shard::of_block(std::span<const std::uint32_t> values, std::size_t block) noexcept {
  const std::size_t first = block * kBlockNodes;
  return values.subspan(first, std::min<std::size_t>(kBlockNodes, values.size() - first));
}

std::uint64_t Shard::block_ids(std::size_t block) const {
  std::uint64_t ids = 0;
  for (const std::uint32_t count : of_block(id_counts(), block)) ids += count;
  return ids;
}

std::span<const std::byte> Shard::block_bytes(std::size_t block) const {
  return file_.bytes(blocks_at_ + offsets_[block], offsets_[block + 1] - offsets_[block]);
}

void Shard::append_block(std::size_t block, EncodedLists& out) const {
  const std::span<const std::uint32_t> arcs = of_block(counts(), block);
  out.counts.insert(out.counts.end(), arcs.begin(), arcs.end());
  if (form_.multiplied) {
    const std::span<const std::uint32_t> ids = of_block(id_counts(), block);
    out.neighbours.insert(out.neighbours.end(), ids.begin(), ids.end());
  }
  const std::span<const std::byte> bytes = block_bytes(block);
  out.block_bytes.push_back(static_cast<std::uint32_t>(bytes.size()));
  out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
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
  if (std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}) != of_block(counts(), block)[index])
    throw BlockError{"weights that do not add up to those of their list"};
}

void Shard::decode_weighted(std::size_t block, std::span<const std::byte> bytes, NodeId* targets,
                            std::uint32_t* weights) const {
  const auto ids = of_block(id_counts(), block);
  try {
    const std::span<std::uint32_t> all(weights, block_ids(block));
    const std::size_t read = decode_weights(bytes, form_.max_weight, all);
    decode_block(bytes.subspan(read), ids, graph_nodes_, targets);
    std::size_t at = 0;
    for (std::size_t i = 0; i < ids.size(); at += ids[i++]) check_weights(block, i, all.subspan(at, ids[i]));
  } catch (const BlockError& error) {
    fail(block, error);
  }
}

/// Likewise one list alone. The weights of the others lie before its ids.
void Shard::decode_weighted_list(std::size_t block, std::size_t index, NodeId* targets, std::uint32_t* weights) const {
  const auto ids = of_block(id_counts(), block);
  try {
    std::vector<std::uint32_t> all(block_ids(block));
    const std::span<const std::byte> bytes = block_bytes(block);
    const std::size_t read = decode_weights(bytes, form_.max_weight, all);
    decode_list(bytes.subspan(read), ids, index, graph_nodes_, targets);
    const auto before = std::accumulate(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(index), std::size_t{0});
    const auto own = std::span(all).subspan(before, ids[index]);
    check_weights(block, index, own);
    std::copy(own.begin(), own.end(), weights);
  } catch (const BlockError& error) {
    fail(block, error);
  }
}

void Shard::decode(std::size_t block, std::span<const std::byte> bytes, NodeId* targets, std::uint32_t* weights) const {
  if (form_.multiplied) return decode_weighted(block, bytes, targets, weights);
  const auto counts = of_block(this->counts(), block);
  decode_checked(block, bytes, counts, targets, [&](std::span<const std::byte> encoded, NodeId most) {
    decode_block(encoded, counts, most, targets);
  });
}

void Shard::decode_node(NodeId node, NodeId* targets, std::uint32_t* weights) const {
  const std::size_t local = node - range_.first;
  const std::size_t block = local / kBlockNodes;
  const std::size_t index = local % kBlockNodes;
  if (form_.multiplied) return decode_weighted_list(block, index, targets, weights);
  BlockCounts room{};
  const std::span<const std::uint32_t> counts = block_counts(block, room);
  decode_checked(
      block, block_bytes(block), counts.subspan(index, 1), targets,
      [&](std::span<const std::byte> bytes, NodeId most) { decode_list(bytes, counts, index, most, targets); });
}

void Shard::verify() const {
  file_.check_all();
  NeighbourList lists;
  for (std::size_t block = 0; block < num_blocks(); ++block) {
    const std::uint64_t ids = block_ids(block);
    lists.ids.resize(ids + kDecodeSlack);
    lists.weights.resize(form_.multiplied ? ids : 0);
    decode(block, lists.ids.data(), lists.weights.data());
    std::size_t at = 0;
    const auto counts = of_block(id_counts(), block);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::span<const NodeId> list(lists.ids.data() + at, counts[i]);
      at += counts[i];
      for (std::size_t k = form_.max_weight; !form_.multiplied && k < list.size(); ++k)
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
