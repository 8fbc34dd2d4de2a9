// algorithms/propagation/embedding.h - the propagated embedding of the present contents: sums,
// stale rows and receptive field of every level, and the rows of Z derived from them.
//
// Const members may run on any number of threads at once.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/propagation/density.h"
#include "algorithms/propagation/kept_rows.h"
#include "algorithms/propagation/propagation_sweep.h"
#include "engine/graph/contents.h"
#include "engine/state/cone.h"
#include "engine/state/level_indexes.h"
#include "engine/state/received_rows.h"
#include "engine/state/stale_rows.h"
#include "engine/state/state_level.h"
#include "storage/formats/manifest.h"

namespace unweave {

class Embedding {
 public:
  /// Opens the state of a propagated store. Throws UsageError when it was never propagated,
  /// DataError, FormatError.
  Embedding(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents)
      : Embedding(store, manifest, contents, ColumnRange{0, manifest.features}) {}
  /// Opens some columns of it: sums and rows of Z have these alone. There must be sums, and no
  /// stale rows.
  Embedding(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents, ColumnRange part);

  /// Memory that it takes when it is opened: of maps without values, and of what a checkpoint left
  /// in runs. Throws DataError, FormatError.
  [[nodiscard]] static std::uint64_t map_bytes(const Manifest& manifest) noexcept;
  [[nodiscard]] static std::uint64_t run_bytes(const std::filesystem::path& store, const Manifest& manifest);

  [[nodiscard]] const PropagationSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] std::uint32_t levels() const noexcept { return spec_.levels; }  ///< L
  [[nodiscard]] std::uint32_t columns() const noexcept { return part_.count; }
  /// Which columns of the features these are.
  [[nodiscard]] ColumnRange part() const noexcept { return part_; }
  /// Whether there are sums. Where rows are kept in their place, rows() and is_target() serve
  /// those, nothing is ever stale, and nothing can change.
  [[nodiscard]] bool has_sums() const noexcept { return !kept_; }
  /// Throws UsageError where there are none, which names the store, unless that is empty, and the
  /// remedy.
  void require_sums(const std::filesystem::path& store = {}) const;
  /// The rows that are kept in place of sums; there must be some.
  [[nodiscard]] const KeptRows& kept() const { return *kept_; }
  /// The sums of a level, 1 .. L. Throws UsageError where there are none.
  StateLevel& level(std::uint32_t l) {
    if (kept_) require_sums();
    return sums_[l - 1];
  }
  [[nodiscard]] const StateLevel& level(std::uint32_t l) const {
    if (kept_) require_sums();
    return sums_[l - 1];
  }
  StaleRows& stale(std::uint32_t l) { return stale_[l]; }  ///< 0 .. L-1
  [[nodiscard]] const StaleRows& stale(std::uint32_t l) const { return stale_[l]; }
  Cone& cone() noexcept { return cone_; }
  [[nodiscard]] const Cone& cone() const noexcept { return cone_; }
  [[nodiscard]] std::uint64_t stale_rows() const;
  /// Whether a recomputation has left a level in memory, which stays there until it is written.
  [[nodiscard]] bool has_resident_levels() const noexcept;
  [[nodiscard]] const LevelIndexes& indexes() const noexcept { return indexes_; }
  /// These nodes, sorted, have got a label: whatever indexes need to know of it.
  void add_targets(std::span<const NodeId> nodes) { indexes_.add_targets(nodes); }

  /// Writes files of the present state, not yet durable, and names them in `files`, the levels 0 ..
  /// L that the embedding was opened from; with `fold`, and no stale rows, there are no overlays.
  /// Indexes stay as they are, or go where they have ended. Calls advance() after each of the L
  /// levels of sums; it may be empty. Nothing may be deferred. An embedding of some columns takes
  /// the levels from `whole`. Throws DataError, ResourceError.
  using WholeLevel = std::function<std::shared_ptr<const StateLevel>(std::uint32_t level)>;
  void checkpoint(const std::filesystem::path& store, bool fold, std::vector<LevelFiles>& files, MemoryBudget& budget,
                  const std::function<void()>& advance = {}, const WholeLevel& whole = {}) const;

  /// What the sums of the last level lack while a stream puts its work on it off: changes of rows
  /// of level L-1 that level L has not been told, whose nodes these are, with what it was told
  /// last; or, when is_void, everything.
  struct Deferred {
    ReceivedRows rows;
    bool is_void = false;
    [[nodiscard]] bool empty() const noexcept { return !is_void && rows.size() == 0; }
  };
  Deferred& deferred() noexcept { return deferred_; }
  [[nodiscard]] const Deferred& deferred() const noexcept { return deferred_; }

  /// Asks the disk for what the normalised sums of these nodes at this level derive from, or for
  /// the rows that are kept.
  void read_ahead(std::uint32_t level, NodeRange nodes) const noexcept;
  /// Puts the present normalised sums t^l of a node of the receptive field into out[columns].
  void normalised_sums(std::uint32_t level, NodeId node, std::int32_t* out) const;
  /// Puts the published normalised sums there: what the neighbours have read, or will have once
  /// nothing is deferred.
  void published(std::uint32_t level, NodeId node, std::int32_t* out) const;
  /// Puts the normalised sums of level L-1 there that level L has received; false, and nothing is
  /// put, where these are the published ones.
  bool received(NodeId node, std::int32_t* out) const;
  /// Present normalised sums of a column tile of level 1 .. L, zeros outside the receptive field.
  /// level0_fill() gives level 0.
  void normalised_tile(std::uint32_t level, TileColumns columns, NodeRange rows, std::int32_t* out) const;

  [[nodiscard]] bool is_target(NodeId node) const { return cone_.contains(levels(), node); }
  /// Numbers in a row of Z: columns() for L + 1 weights. B (L + 1) of them give B such blocks side
  /// by side, each with L + 1 weights of its own. Throws UsageError for other numbers of weights.
  [[nodiscard]] std::size_t row_width(std::span<const double> weights) const;
  /// Rows of Z for `nodes`, row-major nodes x row_width(weights). Throws UsageError for a node that
  /// is no target, and for weights that kept rows do not serve (KeptRows::rows); std::logic_error
  /// while the last level is behind.
  void rows(std::span<const NodeId> nodes, std::span<const double> weights, float* out) const;

 private:
  Embedding(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents, ColumnRange part,
            const std::vector<StoredRun>& runs);
  PropagationSpec spec_;
  ColumnRange part_;
  const Contents& contents_;
  DegreePower power_;
  Cone cone_;
  LevelIndexes indexes_;
  std::deque<StateLevel> sums_;
  std::deque<StaleRows> stale_;
  std::optional<KeptRows> kept_;
  Deferred deferred_;
};

/// Room for an embedding that is about to be opened and will not change. Throws ResourceError,
/// DataError, FormatError.
[[nodiscard]] Reservation reserve_embedding(const std::filesystem::path& store, const Manifest& manifest,
                                            MemoryBudget& budget);

}  // namespace unweave
