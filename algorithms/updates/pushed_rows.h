// algorithms/updates/pushed_rows.h - rows that an update has to push: changes that their neighbours
// have not received yet.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/resources/memory.h"
#include "storage/io/spool_file.h"
#include "storage/io/types.h"

namespace unweave {

/// Rows to push, one after another, as a tile to gather from. Move-only.
class PushSources {
 public:
  PushSources() = default;
  /// deltas: nodes x columns, then kTilePadding zeros; `memory` is of both.
  PushSources(std::vector<NodeId> nodes, std::vector<std::uint64_t> fingerprints,
              std::unique_ptr<std::int32_t[]> deltas, Reservation memory)
      : nodes_(std::move(nodes)),
        fingerprints_(std::move(fingerprints)),
        deltas_(std::move(deltas)),
        memory_(std::move(memory)) {}
  /// The file begins with `rows` nodes; their fingerprints, and their deltas with the zeros, begin
  /// at these bytes.
  PushSources(MappedSpool file, std::size_t rows, std::uint64_t fingerprints_at, std::uint64_t deltas_at)
      : file_(std::move(file)), file_rows_(rows), fingerprints_at_(fingerprints_at), deltas_at_(deltas_at) {}

  [[nodiscard]] std::span<const NodeId> nodes() const noexcept {
    return file_ ? std::span(file_->as<NodeId>(), file_rows_) : std::span(nodes_);
  }
  /// What the deltas of each node were when they were formed.
  [[nodiscard]] const std::uint64_t* fingerprints() const noexcept {
    return file_ ? file_->as<std::uint64_t>() + fingerprints_at_ / sizeof(std::uint64_t) : fingerprints_.data();
  }
  /// nodes x columns, and kTilePadding zeros.
  [[nodiscard]] const std::int32_t* deltas() const noexcept {
    return file_ ? file_->as<std::int32_t>() + deltas_at_ / sizeof(std::int32_t) : deltas_.get();
  }

 private:
  std::vector<NodeId> nodes_;
  std::vector<std::uint64_t> fingerprints_;
  std::unique_ptr<std::int32_t[]> deltas_;
  Reservation memory_;
  std::optional<MappedSpool> file_;
  std::size_t file_rows_ = 0;
  std::uint64_t fingerprints_at_ = 0;
  std::uint64_t deltas_at_ = 0;
};

/// A file without a name for the rows to push from one level, made when the first of them comes. It
/// takes no memory: it is there for when none is left. All members may be called from any thread,
/// but take().
class PushSpool {
 public:
  /// In `folder`, of rows of `columns` values for distinct nodes of `nodes`. `budget` must outlive
  /// this object.
  PushSpool(std::filesystem::path folder, std::uint32_t columns, NodeId nodes, MemoryBudget& budget);
  /// Whether the budget is so short that a chunk of `bytes` should rather make room here.
  [[nodiscard]] bool is_better_for(std::uint64_t bytes) const noexcept;
  [[nodiscard]] bool is_used() const noexcept { return is_used_; }
  /// fingerprints: one a node; deltas: nodes x columns. Throws ResourceError (disk), DataError.
  void write(std::span<const NodeId> nodes, std::span<const std::uint64_t> fingerprints,
             std::span<const std::int32_t> deltas);
  /// All rows that were written.
  [[nodiscard]] PushSources take();

 private:
  std::filesystem::path folder_;
  std::uint32_t columns_;
  NodeId most_;
  MemoryBudget& budget_;
  std::mutex mutex_;
  std::atomic<bool> is_used_ = false;
  std::uint64_t fingerprints_at_;
  std::uint64_t deltas_at_;
  std::size_t rows_ = 0;
  std::optional<MappedSpool> file_;
};

/// Rows to push as they are found, in chunks charged to the budget: nothing is copied as they grow
/// in number.
class PushedRows {
 public:
  /// `spool` takes the rows when the budget gets short. `budget` must outlive this object.
  PushedRows(std::uint32_t columns, MemoryBudget& budget, std::shared_ptr<PushSpool> spool)
      : columns_(columns), budget_(&budget), spool_(std::move(spool)) {}

  /// Adds a row, delta[columns], whose fingerprint is what it should be. Throws ResourceError,
  /// DataError.
  void add(NodeId node, const std::int32_t* delta, std::uint64_t fingerprint);
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const std::shared_ptr<PushSpool>& spool() const noexcept { return spool_; }
  /// Hands the rows over to the spool, if that has others. Throws ResourceError, DataError.
  void follow();

  /// The rows of all parts, which have one spool; in their order unless that has any. Their memory
  /// goes over to the result piece by piece, so that little more than one copy exists at a time.
  /// Throws ResourceError, DataError.
  [[nodiscard]] static PushSources joined(std::vector<PushedRows> parts, std::uint32_t columns, MemoryBudget& budget);

 private:
  struct Chunk {
    Reservation memory;
    std::vector<NodeId> nodes;
    std::vector<std::uint64_t> fingerprints;
    std::vector<std::int32_t> deltas;
  };
  /// Whether the last chunk has room for a row: a chunk begins, or the last one's rows go to the
  /// spool; no, where there is no memory for a chunk.
  bool has_room();
  void spill();
  std::uint32_t columns_;
  MemoryBudget* budget_;
  std::shared_ptr<PushSpool> spool_;
  std::size_t size_ = 0;
  std::vector<Chunk> chunks_;
};

}  // namespace unweave
