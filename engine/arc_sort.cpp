#include "engine/arc_sort.h"

#include <algorithm>
#include <functional>
#include <future>
#include <utility>
#include <vector>

#include "engine/arc_merge.h"
#include "engine/parallel.h"
#include "storage/spool_file.h"

namespace unweave {

namespace {

constexpr std::size_t kKeyBytes = sizeof(std::uint64_t);
constexpr std::size_t kMinMergeBuffer = std::size_t{64} << 10;  // bytes a run: below, a disk sees random reads
constexpr std::size_t kFirstCapacity = std::size_t{1} << 12;    // keys

std::uint64_t key_of(NodeId u, NodeId v) {
  return std::uint64_t{u} << 32 | v;
}
Edge arc_of(std::uint64_t key) {
  return {static_cast<NodeId>(key >> 32), static_cast<NodeId>(key)};
}

void sort_unique(std::vector<std::uint64_t>& keys) {
  parallel_sort(keys.begin(), keys.end(), std::less<>());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
}

/// Assigning {} would keep the capacity.
void free_memory(std::vector<std::uint64_t>& keys) {
  std::vector<std::uint64_t>().swap(keys);
}

/// Completes the counts that only the stream can know.
ArcCounts counts_after(ArcCounts counts, ArcIndex arcs) {
  counts.arcs = arcs;
  counts.duplicates = counts.edges_read - counts.self_loops - arcs / 2;
  return counts;
}

class ArcsInMemory final : public ArcStream {
 public:
  ArcsInMemory(std::vector<std::uint64_t> keys, const ArcCounts& counts) : keys_(std::move(keys)), counts_(counts) {}

  std::size_t read(std::span<Edge> out) override {
    const std::size_t count = std::min(out.size(), keys_.size() - at_);
    for (std::size_t i = 0; i < count; ++i) out[i] = arc_of(keys_[at_ + i]);
    at_ += count;
    return count;
  }
  [[nodiscard]] ArcCounts counts() const override { return counts_after(counts_, at_); }

 private:
  std::vector<std::uint64_t> keys_;
  ArcCounts counts_;
  std::size_t at_ = 0;
};

class ArcsOnDisk final : public ArcStream {
 public:
  ArcsOnDisk(SpoolFile spool, const std::vector<KeyRun>& runs, const ArcCounts& counts, std::size_t budget)
      : spool_(std::move(spool)), merge_(spool_, runs, budget - kChunk * kKeyBytes), keys_(kChunk), counts_(counts) {}

  std::size_t read(std::span<Edge> out) override {
    std::size_t done = 0;
    while (done < out.size()) {
      const std::size_t count = merge_.read(std::span(keys_).first(std::min(kChunk, out.size() - done)));
      if (count == 0) break;
      for (std::size_t i = 0; i < count; ++i) out[done + i] = arc_of(keys_[i]);
      done += count;
    }
    arcs_ += done;
    return done;
  }
  [[nodiscard]] ArcCounts counts() const override { return counts_after(counts_, arcs_); }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 12;

  SpoolFile spool_;
  KeyMerge merge_;
  std::vector<std::uint64_t> keys_;
  ArcCounts counts_;
  ArcIndex arcs_ = 0;
};

}  // namespace

/// Two buffers of half the budget: one fills while the other is sorted and written by a thread of its own.
class ArcSorter::Impl {
 public:
  Impl(std::filesystem::path temp_dir, std::size_t budget)
      : temp_dir_(std::move(temp_dir)),
        budget_(std::max(budget, kMinBudget)),
        run_keys_(budget_ / 2 / kKeyBytes / 2 * 2) {}  // even: both arcs of an edge enter together

  void add(std::span<const Edge> edges) {
    counts_.edges_read += edges.size();
    for (const Edge& edge : edges) {
      largest_ = std::max({largest_, edge.u, edge.v});
      if (edge.u == edge.v) {
        ++counts_.self_loops;
        continue;
      }
      if (filling_.size() == filling_.capacity()) make_room();
      filling_.push_back(key_of(edge.u, edge.v));
      filling_.push_back(key_of(edge.v, edge.u));
    }
  }

  std::unique_ptr<ArcStream> finish() {
    if (counts_.edges_read > 0) counts_.largest_node = largest_;
    wait();
    if (!spool_) {
      sort_unique(filling_);
      return std::make_unique<ArcsInMemory>(std::move(filling_), counts_);
    }
    free_memory(writing_);
    if (!filling_.empty()) {
      sort_unique(filling_);
      runs_.push_back(write_run(*spool_, filling_));
    }
    free_memory(filling_);
    merge_down(*spool_, runs_, std::max<std::size_t>(2, budget_ / 2 / kMinMergeBuffer), temp_dir_, budget_);
    return std::make_unique<ArcsOnDisk>(std::move(*spool_), runs_, counts_, budget_);
  }

 private:
  /// Before the first spill the buffer doubles (copying needs old and new: three quarters of the budget at most);
  /// later both have their final size.
  void make_room() {
    if (filling_.capacity() < run_keys_) {
      filling_.reserve(std::clamp(2 * filling_.capacity(), kFirstCapacity, run_keys_));
      return;
    }
    wait();
    if (!spool_) {
      spool_.emplace(temp_dir_);
      writing_.reserve(run_keys_);
    }
    std::swap(filling_, writing_);
    filling_.clear();
    const auto policy = active_threads() > 1 ? std::launch::async : std::launch::deferred;
    written_ = std::async(policy, [this] {
      sort_unique(writing_);
      runs_.push_back(write_run(*spool_, writing_));
    });
    if (policy == std::launch::deferred) wait();
  }

  void wait() {
    if (written_.valid()) written_.get();
  }

  std::filesystem::path temp_dir_;
  std::size_t budget_;
  std::size_t run_keys_;
  ArcCounts counts_;
  NodeId largest_ = 0;
  std::optional<SpoolFile> spool_;
  std::vector<KeyRun> runs_;
  std::vector<std::uint64_t> filling_;
  std::vector<std::uint64_t> writing_;
  std::future<void> written_;  // last, so that its destructor waits before the buffers go
};

ArcSorter::ArcSorter(std::filesystem::path temp_dir, std::size_t budget_bytes)
    : impl_(std::make_unique<Impl>(std::move(temp_dir), budget_bytes)) {}
ArcSorter::~ArcSorter() = default;

void ArcSorter::add(std::span<const Edge> edges) {
  impl_->add(edges);
}
std::unique_ptr<ArcStream> ArcSorter::finish() {
  return impl_->finish();
}

}  // namespace unweave
