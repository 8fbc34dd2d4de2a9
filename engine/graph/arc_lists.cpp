// engine/graph/arc_lists.cpp - plans ranges of nodes, gathers their arcs, and sorts them into
// distinct neighbour lists.
#include "engine/graph/arc_lists.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "engine/resources/parallel.h"
#include "engine/resources/pipeline.h"
#include "storage/codec/gap_block.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {

namespace {

constexpr std::size_t kArcBytes = sizeof(std::uint64_t);
constexpr std::size_t kBins = 1024;
// Small buckets are joined to ranges of so many arcs: enough work for a turn of the pipeline.
constexpr std::uint64_t kJoinedArcs = std::uint64_t{1} << 18;
constexpr std::uint64_t kMostRangeNodes = std::uint64_t{1} << 20;  // nodes of a range
constexpr std::uint64_t kReadAheadArcs = std::uint64_t{1} << 23;
constexpr std::uint64_t kMostRangeArcs = std::uint64_t{1} << 23;  // buckets of graphs of 8 G edges

/// Bytes that an arc of a full range costs: its key in the buffer of each thread, its target, its
/// weight and the encoding of both in each range that is under way.
std::size_t bytes_per_arc(bool weighted) {
  return active_threads() * kArcBytes + pipeline_items() * (weighted ? 4 : 2) * sizeof(NodeId);
}

constexpr std::uint64_t kNoKey = std::numeric_limits<std::uint64_t>::max();  // ids stay below 2^32 - 1

}  // namespace

/// Appends sorted keys to the lists, each key once.
void SortedArcs::append_unique(std::span<const std::uint64_t> keys, ArcLists& lists) const {
  if (keys_.weighted()) {
    append_weighted(keys, lists);
    return;
  }
  constexpr ArcKeys kPlain;
  const std::size_t before = lists.targets.size();
  lists.targets.resize(before + keys.size());
  NodeId* out = lists.targets.data() + before;
  std::uint32_t* const counts = lists.counts.data();
  std::uint64_t last = kNoKey;
  for (const std::uint64_t key : keys) {
    const bool fresh = key != last;
    *out = kPlain.target(key);
    out += fresh ? 1 : 0;
    counts[kPlain.source(key) - lists.nodes.first] += fresh ? 1 : 0;
    last = key;
  }
  lists.targets.resize(static_cast<std::size_t>(out - lists.targets.data()));
}

/// Likewise, with what each arc weighs.
void SortedArcs::append_weighted(std::span<const std::uint64_t> keys, ArcLists& lists) const {
  std::uint64_t& last = lists.last_key;  // also of the part before
  for (const std::uint64_t key : keys) {
    if (key == last) continue;
    const NodeId u = keys_.source(key), v = keys_.target(key);
    const std::uint32_t weight = keys_.weight(key);
    if (last != kNoKey && keys_.source(last) == u && keys_.target(last) == v) {
      if (refuse_weights_) refuse_weights_({u, v}, keys_.weight(last), weight);
      throw DataError("the edge " + std::to_string(u) + " " + std::to_string(v) + " has two weights");
    }
    const bool is_first = last == kNoKey || keys_.source(last) != u;
    lists.last_units = (is_first ? 0 : lists.last_units) + weight;
    if (lists.last_units + v > kMaxNodeId)  // as can_spread() asks of whoever encodes the list
      throw ResourceError("the weights of the edges of node " + std::to_string(u) +
                          " add up to more than the format takes");
    ++lists.counts[u - lists.nodes.first];
    lists.targets.push_back(v);
    lists.weights.push_back(weight);
    last = key;
  }
}

SortedArcs::SortedArcs(std::unique_ptr<ChunkStore> store, std::vector<ArcChunk> chunks, ArcKeys keys,
                       const ArcCounts& counts, std::size_t sort_bytes)
    : store_(std::move(store)),
      chunks_(std::move(chunks)),
      keys_(keys),
      counts_(counts),
      log2_width_(kMinBucketLog2),
      capacity_(std::max<std::uint64_t>(sort_bytes / bytes_per_arc(keys.weighted()), store_->chunk_arcs())),
      most_chunk_arcs_(store_->chunk_arcs()),
      budget_(std::numeric_limits<std::uint64_t>::max()) {
  for (const ArcChunk& chunk : chunks_) {
    log2_width_ = std::max(log2_width_, chunk.log2_width);
    most_chunk_arcs_ = std::max<std::uint64_t>(most_chunk_arcs_, chunk.arcs);
  }
  // Within a bucket in the order of the file.
  std::sort(chunks_.begin(), chunks_.end(), [this](const ArcChunk& a, const ArcChunk& b) {
    return std::tuple(a.first_source >> log2_width_, a.in_file, a.at) <
           std::tuple(b.first_source >> log2_width_, b.in_file, b.at);
  });
}

std::size_t SortedArcs::most_sort_bytes() {
  return kMostRangeArcs * bytes_per_arc(false);
}

ArcCounts with_arcs(ArcCounts counts, ArcIndex arcs) noexcept {
  counts.arcs = arcs;
  counts.duplicates = counts.edges_read - counts.self_loops - arcs / 2;
  return counts;
}

void SortedArcs::begin(NodeId nodes, NodeRange part, bool repeats) {
  nodes_ = nodes;
  repeats_ = repeats;
  part_ = part;
  planned_to_ = std::uint64_t{part.first} >> log2_width_ << log2_width_;
  planned_.clear();
  planned_arcs_ = 0;
}

std::span<const ArcChunk> SortedArcs::chunks_of(std::uint64_t first_node, std::uint64_t last_node) const {
  const auto before = [this](const ArcChunk& chunk, std::uint64_t bucket) {
    return chunk.first_source >> log2_width_ < bucket;
  };
  const auto first = std::lower_bound(chunks_.begin(), chunks_.end(), first_node >> log2_width_, before);
  const std::uint64_t past = ((last_node - 1) >> log2_width_) + 1;
  return {first, std::lower_bound(first, chunks_.end(), past, before)};
}

bool SortedArcs::next(ArcLists& lists) {
  do {
    // The last range may still be joined by the next bucket.
    while (planned_to_ < part_.last && (planned_.size() < 2 || planned_arcs_ < kReadAheadArcs)) plan();
    if (planned_.empty()) return false;
    lists.nodes = planned_.front().nodes;
    lists.raw_arcs = planned_.front().arcs;
    planned_arcs_ -= lists.raw_arcs;
    planned_.pop_front();
    // A bucket may reach beyond the part on both sides; no range reaches into two spans.
  } while (lists.nodes.first < part_.first);
  return lists.nodes.first < part_.last;
}

/// Plans the nodes of the next bucket.
void SortedArcs::plan() {
  const std::uint64_t width = std::uint64_t{1} << log2_width_;
  const std::uint64_t last = std::min<std::uint64_t>(planned_to_ + width, nodes_);
  Range bucket{{static_cast<NodeId>(planned_to_), static_cast<NodeId>(last)}, 0};
  for (const ArcChunk& chunk : chunks_of(planned_to_, last)) {
    store_->will_need(chunk);
    bucket.arcs += repeats_ ? chunk.weight : chunk.arcs;
  }
  planned_to_ = last;
  if (bucket.arcs <= capacity_ && width <= std::min<std::uint64_t>(span_nodes(nodes_), kMostRangeNodes)) {
    push(bucket, std::min(capacity_, kJoinedArcs));
  } else {
    split_bucket(bucket);
  }
}

/// A bucket that is too large for one range becomes several, each of which reads the whole bucket.
void SortedArcs::split_bucket(const Range& bucket) {
  const std::uint64_t width = std::uint64_t{1} << log2_width_;
  const std::uint64_t bin_nodes = std::max<std::uint64_t>(kBlockNodes, width / kBins);
  const auto bins = count_bins(keys_.first(bucket.nodes.first), keys_.first(bin_nodes));
  for (std::uint64_t bin = 0; bucket.nodes.first + bin * bin_nodes < bucket.nodes.last; ++bin) {
    const std::uint64_t first = bucket.nodes.first + bin * bin_nodes;
    const std::uint64_t last = std::min<std::uint64_t>(first + bin_nodes, bucket.nodes.last);
    push({{static_cast<NodeId>(first), static_cast<NodeId>(last)}, bins[bin]}, bin == 0 ? 0 : capacity_);
  }
}

/// Joins the range to the one before where both stay within `most_arcs`, a span and the limit of
/// nodes.
void SortedArcs::push(const Range& range, std::uint64_t most_arcs) {
  planned_arcs_ += range.arcs;
  if (!planned_.empty()) {
    Range& before = planned_.back();
    const std::uint64_t arcs = before.arcs + range.arcs;
    const bool same_span = before.nodes.first / span_nodes(nodes_) == range.nodes.first / span_nodes(nodes_);
    if (same_span && arcs <= most_arcs && range.nodes.last - before.nodes.first <= kMostRangeNodes) {
      before.nodes.last = range.nodes.last;
      before.arcs = arcs;
      return;
    }
  }
  planned_.push_back(range);
}

void SortedArcs::load(ArcLists& lists) {
  lists.counts.assign(lists.nodes.size(), 0);
  lists.targets.clear();
  lists.weights.clear();
  lists.last_key = kNoKey;
  if (lists.raw_arcs == 0) return;
  HugeBuffer keys = borrow();
  append(keys_.first(lists.nodes.first), keys_.first(lists.nodes.last), lists.raw_arcs, keys, lists);
  give_back(std::move(keys));
}

/// Appends the arcs with keys in [first_key, last_key) to the lists. More than a buffer of them,
/// which only a block with hubs has, come in parts by their keys; one key that fills a buffer alone
/// needs no sorting.
void SortedArcs::append(std::uint64_t first_key, std::uint64_t last_key, std::uint64_t arcs, HugeBuffer& keys,
                        ArcLists& lists) {
  auto* const room = keys.as<std::uint64_t>();
  if (arcs <= capacity_) {
    const std::size_t count = gather(first_key, last_key, room);
    hwy::Sorter()(room, count, hwy::SortAscending());
    append_unique({room, count}, lists);
    return;
  }
  if (last_key - first_key == 1) {
    append_unique({&first_key, 1}, lists);
    return;
  }
  const std::uint64_t bin_keys = (last_key - first_key + kBins - 1) / kBins;
  const auto bins = count_bins(first_key, bin_keys);
  const auto key_at = [&](std::size_t bin) { return std::min(last_key, first_key + bin * bin_keys); };
  for (std::size_t begin = 0, end = 0; begin < kBins; begin = end) {
    std::uint64_t part = bins[end++];
    while (end < kBins && part + bins[end] <= capacity_) part += bins[end++];
    if (part > 0) append(key_at(begin), key_at(end), part, keys, lists);
  }
}

std::size_t SortedArcs::gather(std::uint64_t first_key, std::uint64_t last_key, std::uint64_t* keys) const {
  const std::uint64_t first_node = keys_.source(first_key);
  const std::uint64_t last_node = std::uint64_t{keys_.source(last_key - 1)} + 1;
  const std::uint64_t width = std::uint64_t{1} << log2_width_;
  std::size_t count = 0;
  for (const ArcChunk& chunk : chunks_of(first_node, last_node)) {
    std::uint64_t* const begin = keys + count;
    std::uint64_t* end = begin + chunk.arcs;
    store_->read(chunk, begin);
    const std::uint64_t bucket_first = chunk.first_source / width * width;
    const std::uint64_t bucket_last = std::min<std::uint64_t>(bucket_first + width, nodes_);
    if (first_key > keys_.first(bucket_first) || last_key < keys_.first(bucket_last))
      end = std::remove_if(begin, end, [&](std::uint64_t key) { return key < first_key || key >= last_key; });
    count = static_cast<std::size_t>(end - keys);
  }
  return count;
}

std::vector<std::uint64_t> SortedArcs::count_bins(std::uint64_t first_key, std::uint64_t bin_keys) const {
  std::vector<std::uint64_t> bins(kBins);
  std::vector<std::uint64_t> keys(most_chunk_arcs_ + ChunkStore::kUnpackSlack / kArcBytes);
  const std::uint64_t first_node = keys_.source(first_key);
  // All bins lie in one bucket: those of a bucket, or parts of a range.
  for (const ArcChunk& chunk : chunks_of(first_node, first_node + 1)) {
    store_->read(chunk, keys.data());
    for (std::size_t i = 0; i < chunk.arcs; ++i) {
      const std::uint64_t bin = (keys[i] - first_key) / bin_keys;
      if (keys[i] >= first_key && bin < kBins) bins[bin] += repeats_ ? keys_.weight(keys[i]) : 1;
    }
  }
  return bins;
}

HugeBuffer SortedArcs::borrow() {
  {
    const std::scoped_lock lock(mutex_);
    if (!buffers_.empty()) {
      HugeBuffer keys = std::move(buffers_.back());
      buffers_.pop_back();
      return keys;
    }
  }
  return {(capacity_ + most_chunk_arcs_) * kArcBytes + ChunkStore::kUnpackSlack, budget_, "sorting of arcs"};
}

void SortedArcs::give_back(HugeBuffer keys) {
  const std::scoped_lock lock(mutex_);
  buffers_.push_back(std::move(keys));
}

}  // namespace unweave
