// engine/ingest/arc_sort.cpp - divides the memory between chunks and sorting, and hands edges to
// the distributors.
#include "engine/ingest/arc_sort.h"

#include <algorithm>
#include <utility>

#include "engine/resources/parallel.h"

namespace unweave {

namespace {

/// How arcs are distributed: each of `distributors` has up to `buckets` chunks open.
struct Shape {
  std::size_t distributors = active_threads();
  std::size_t buckets = 2048;
  std::size_t chunk_arcs = std::size_t{8} << 10;  // 64 KiB: below, a disk sees random access

  [[nodiscard]] std::size_t open_chunks() const noexcept { return distributors * buckets; }
};

/// Open chunks take at most `bytes`, or as little as is possible. More and larger chunks are better
/// in the same measure.
Shape shape_within(std::size_t bytes) {
  constexpr std::size_t kFewestBuckets = 16;
  constexpr std::size_t kSmallestChunk = 256;
  Shape shape;
  const auto too_large = [&] { return shape.open_chunks() * shape.chunk_arcs * sizeof(std::uint64_t) > bytes; };
  while (too_large() && (shape.buckets > kFewestBuckets || shape.chunk_arcs > kSmallestChunk)) {
    if (shape.chunk_arcs > kSmallestChunk) shape.chunk_arcs /= 2;
    if (too_large() && shape.buckets > kFewestBuckets) shape.buckets /= 2;
  }
  return shape;
}

/// How a budget is divided.
struct Shares {
  explicit Shares(std::size_t budget_bytes)
      : sort(std::min(std::max(budget_bytes, ArcSorter::kMinBudget) / 3, SortedArcs::most_sort_bytes())),
        chunks(std::max(budget_bytes, ArcSorter::kMinBudget) - sort),
        shape(shape_within(chunks / 4)) {}
  std::size_t sort, chunks;
  Shape shape;
};

}  // namespace

ArcSorter::Room ArcSorter::expected_room(std::size_t budget_bytes, std::uint64_t nodes, double arcs,
                                         std::uint32_t max_weight) {
  const Shares shares(budget_bytes);
  const auto largest = static_cast<NodeId>(std::clamp<std::uint64_t>(nodes, 1, std::uint64_t{kMaxNodeId} + 1) - 1);
  const unsigned key_bytes =
      ArcKeys(max_weight).packed_bytes(log2_bucket_width(largest, shares.shape.buckets), largest);
  const std::size_t rooms = shares.shape.open_chunks() * ChunkStore::room_bytes(shares.shape.chunk_arcs);
  const double all = arcs * key_bytes, memory = static_cast<double>(shares.chunks - rooms);
  return {std::min(all, memory), std::max(0.0, all - memory)};
}

ArcSorter::ArcSorter(std::filesystem::path temp_dir, std::size_t budget_bytes, std::optional<std::uint64_t> nodes,
                     std::uint32_t max_weight, std::optional<NodeRange> sources)
    : keys_(max_weight) {
  const Shares shares(budget_bytes);
  sort_bytes_ = shares.sort;
  const Shape& shape = shares.shape;
  store_ =
      std::make_unique<ChunkStore>(std::move(temp_dir), keys_, shares.chunks, shape.chunk_arcs, shape.open_chunks());
  for (std::size_t i = 0; i < shape.distributors; ++i) {
    distributors_.push_back(
        std::make_unique<ArcDistributor>(*store_, keys_, shape.buckets, nodes.value_or(0), sources));
    idle_.push_back(distributors_.back().get());
  }
}

ArcSorter::~ArcSorter() = default;

void ArcSorter::add(std::span<const Edge> edges, std::span<const std::uint32_t> weights) {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return !idle_.empty(); });
  ArcDistributor* const distributor = idle_.back();
  idle_.pop_back();
  lock.unlock();
  const auto give_back = [&](ArcDistributor* one) {
    const std::scoped_lock again(mutex_);
    idle_.push_back(one);
    returned_.notify_one();
  };
  const std::unique_ptr<ArcDistributor, decltype(give_back)> borrowed(distributor, give_back);
  borrowed->add(edges, weights);
}

ArcCounts ArcSorter::counts() const {
  ArcCounts counts;
  for (const auto& distributor : distributors_) {
    counts.edges_read += distributor->edges();
    counts.self_loops += distributor->self_loops();
    counts.upward += distributor->upward();
    if (distributor->edges() == 0) continue;
    counts.smallest_node = std::min(counts.smallest_node.value_or(distributor->smallest()), distributor->smallest());
    counts.largest_node = std::max(counts.largest_node.value_or(0), distributor->largest());
  }
  counts.spooled_bytes = store_->spooled_bytes();
  return counts;
}

std::unique_ptr<SortedArcs> ArcSorter::finish() {
  parallel_ranges(0, distributors_.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) distributors_[i]->finish();
  });
  std::vector<ArcChunk> chunks;
  for (const auto& distributor : distributors_)
    chunks.insert(chunks.end(), distributor->chunks().begin(), distributor->chunks().end());
  const ArcCounts counts = this->counts();
  distributors_.clear();
  return std::make_unique<SortedArcs>(std::move(store_), std::move(chunks), keys_, counts, sort_bytes_);
}

}  // namespace unweave
