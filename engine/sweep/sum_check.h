// engine/sweep/sum_check.h - every sweep proves itself: both sides of the identity of
// engine/sweep/fingerprint.h, added up while rows are in a cache, level by level and partition by
// partition.
//
// What is changed in memory after it was formed is noticed: normalised sums (their fingerprints are
// taken as they are formed, their sums as the next level reads them), accumulators and sums (their
// fingerprints are taken as they are handed over). Features, lists and files have checksums of
// their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/row_mask.h"
#include "engine/resources/memory.h"
#include "engine/sweep/fingerprint.h"
#include "storage/io/error.h"
#include "storage/io/types.h"

namespace unweave {

/// One side of an identity: residues, added up by partition of the nodes. add() may run on any
/// number of threads.
class PartitionSums {
 public:
  PartitionSums(NodeId nodes, const Modulus& modulus);
  PartitionSums(const PartitionSums&) = delete;
  PartitionSums& operator=(const PartitionSums&) = delete;

  /// Adds a residue to the partition of a node.
  void add(NodeId node, std::uint64_t residue);
  void add(const PartitionSums& other);
  void clear();
  [[nodiscard]] std::uint64_t total() const;
  /// The first partition where the two differ; how many there are, when they are equal.
  [[nodiscard]] std::size_t mismatch(const PartitionSums& other) const;
  [[nodiscard]] std::size_t size() const noexcept { return residues_.size(); }
  /// Those of all partitions.
  [[nodiscard]] std::vector<std::uint64_t> residues() const {
    const std::scoped_lock lock(mutex_);
    return residues_;
  }
  [[nodiscard]] std::size_t partition(NodeId node) const noexcept { return node / span_; }

 private:
  NodeId span_;
  Modulus modulus_;
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> residues_;
};

/// Sums are not those of their terms, or not those that were kept; `where` says which. It names no
/// store: naming_store() does.
struct WrongSums final : DataError {
  explicit WrongSums(const std::string& where)
      : DataError(where +
                  ": the memory or the processor of this machine erred, or the graph's lists are not those that were "
                  "imported; what was computed is dropped, run the command again; where it ends so again, ask " +
                  operation("verify") + ", which says what is wrong") {}
};

/// Does the work, and names the store in such an error.
template <class Work>
decltype(auto) naming_store(const std::filesystem::path& store, const Work& work) {
  try {
    return work();
  } catch (const WrongSums& error) {
    throw DataError(store.string() + ": " + error.message());
  }
}

/// "level 2, partition 3 (nodes 131072 to 196607)", by positions of nodes.
[[nodiscard]] std::string partition_text(std::uint32_t level, NodeId nodes, std::size_t partition);

/// Throws WrongSums: the sums of the row of this node are not those of their terms.
[[noreturn]] void throw_wrong_sums(std::uint32_t level, NodeId nodes, NodeId node);

/// What one level of a sweep adds up over a tile of columns.
struct LevelCheck {
  const FingerprintKey* key = nullptr;
  ColumnFactors factors{};        ///< those of the tile's columns
  PartitionSums* sums = nullptr;  ///< sum_u r_u y(S(u)), of this level
  /// sum_v a_v y(t(v)) of the quotients, for the level that reads them; null where none does.
  PartitionSums* terms = nullptr;
  const RowMask* readers = nullptr;  ///< the wanted rows of that level; null: all
  /// a_v of the rows whose quotients there are, in their order.
  std::int32_t* weights = nullptr;
  NodeId first_weighed = 0;  ///< the node of the first of them at level 0
  bool must_weigh = false;   ///< the weights are still to be made, from the lists of the rows
};

/// Both sides of all levels of a propagation, whose column tiles come one after another.
class SumCheck {
 public:
  /// For `levels` levels, counted from 1 here; messages count from first_level. `wanted`: the rows
  /// of each, or none where all are wanted; they must outlive this object. `formed`: the nodes
  /// whose rows are formed here, all where other ranks form none. Throws ResourceError.
  SumCheck(NodeId nodes, std::size_t columns, std::uint32_t levels, std::span<const RowMask> wanted,
           MemoryBudget& budget, std::uint32_t first_level, NodeRange formed);
  SumCheck(NodeId nodes, std::size_t columns, std::uint32_t levels, std::span<const RowMask> wanted,
           MemoryBudget& budget, std::uint32_t first_level = 1)
      : SumCheck(nodes, columns, levels, wanted, budget, first_level, {0, nodes}) {}
  /// Memory of it: 4 bytes a node most of all, of which `formed` are formed here, and where not all
  /// rows are wanted 4 bytes a row of all levels but the last.
  [[nodiscard]] static std::uint64_t bytes(NodeId nodes, std::size_t columns, std::uint32_t levels,
                                           std::span<const RowMask> wanted, std::uint64_t formed) noexcept;

  [[nodiscard]] const FingerprintKey& key() const noexcept { return key_; }
  /// The key as bytes, and the key of another check of the same nodes and columns in its place,
  /// before anything is added.
  [[nodiscard]] std::vector<std::byte> key_bytes() const;
  void set_key(std::span<const std::byte> bytes);
  /// partition_text() of one of the levels, or of the one below them all, 0.
  [[nodiscard]] std::string text(std::uint32_t level, std::size_t partition) const {
    return partition_text(first_level_ + level - 1, nodes_, partition);
  }
  /// What a level adds up over the tile that begins with column `first`. Level 0 has terms alone,
  /// and the last one none.
  [[nodiscard]] LevelCheck level(std::uint32_t level, std::size_t first);
  /// Both sides of the present tile.
  [[nodiscard]] PartitionSums& sums(std::uint32_t level) { return levels_[level - 1]->sums; }
  [[nodiscard]] PartitionSums& terms(std::uint32_t level) { return levels_[level - 1]->terms; }
  /// Whether the sums of the level are those of their terms.
  [[nodiscard]] bool holds(std::uint32_t level) { return sums(level).total() == terms(level).total(); }
  /// The tile is done with: its sums add to those of all columns.
  void close_tile();
  /// Gives the weights' memory back, once all tiles were closed.
  void drop_weights() noexcept;
  /// sum_u r_u y(S(u)) over the columns of all tiles that were closed.
  [[nodiscard]] const PartitionSums& all_columns(std::uint32_t level) const { return levels_[level - 1]->all_columns; }

 private:
  struct Level {
    Level(NodeId nodes, const Modulus& modulus)
        : sums(nodes, modulus), terms(nodes, modulus), all_columns(nodes, modulus) {}
    PartitionSums sums, terms, all_columns;
    std::unique_ptr<std::int32_t[]> weights;  ///< for the level's terms; none where those of level 1 are the same
  };
  [[nodiscard]] static std::uint64_t weight_bytes(std::uint64_t formed, std::uint32_t levels,
                                                  std::span<const RowMask> wanted) noexcept;
  void make_levels(std::uint32_t levels);
  Reservation memory_, weight_memory_;
  NodeId nodes_;
  std::size_t columns_;
  NodeRange formed_;
  std::uint32_t first_level_;
  FingerprintKey key_;
  std::span<const RowMask> wanted_;
  bool is_first_tile_ = true;
  std::vector<std::unique_ptr<Level>> levels_;
};

}  // namespace unweave
