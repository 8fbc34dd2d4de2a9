// algorithms/updates/update.h - keeping the embedding right while its graph and features change:
// capture, repair, push.
//
// The scheme is lazy local propagation over normalised sums t, in exact integers (Yi and Wei,
// ScaleGUN, arXiv:2408.09212, section 3). Published sums never change by themselves. When adjacency
// or features of a row change, what it had published is captured first; S of its level l loses the
// published sums of former neighbours and gains those of new ones; its present normalised sums then
// differ from the published ones. Level by level, rows whose residue d * (t - published) exceeds
// the threshold in some column are pushed: S^{l+1} of their neighbours += t - published.
//
// With threshold 0 the state afterwards is a pure function of the contents. Where pushing would
// cost more than a sweep, the remaining levels are recomputed.
//
// The last level is most of the work, and nothing of the next batch depends on it. While nobody
// reads it, it can be put off: where rows of the level before it change, what it has received of
// them is noted once, and the differences are formed and delivered once for many batches. The state
// after the delivery is the same, bit for bit, whenever it comes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/propagation/embedding.h"
#include "algorithms/updates/changed_rows.h"
#include "algorithms/updates/pushed_rows.h"
#include "algorithms/updates/requests.h"
#include "algorithms/updates/update_report.h"
#include "engine/graph/contents.h"
#include "engine/sweep/fingerprint.h"
#include "engine/sweep/gather.h"

namespace unweave {

class ColdFiles;
class Repair;
struct TouchedRows;

/// Largest |residue| that may stay unpublished, per column, in units of 2^-scale_bits.
using Threshold = std::vector<std::int64_t>;

struct UpdateOptions {
  /// Where a recomputation that does not fit in memory writes partitions. Empty for readers, which
  /// must not write: they push.
  std::filesystem::path store;
  Plan plan = Plan::automatic;
  bool defer = false;  ///< put the last level off until deliver()
  /// What of the store's files has to be read from the disk, for the choice of a plan; null:
  /// nothing has.
  const ColdFiles* cold = nullptr;
};

class Update {
 public:
  Update(Contents& contents, Embedding& embedding, ChangedRows& memory, UpdateOptions options);

  /// Applies the changes to contents and embedding. Without `defer` the last level must not be
  /// behind; with it no node may become a target, as its sums would have what is put off. What a
  /// push captures first goes to a file where it does not fit the budget. Throws ResourceError,
  /// DataError.
  UpdateReport apply(const BatchChanges& changes, const Threshold& threshold);
  /// Pushes every stale row whose residue exceeds the threshold; all of them when it is zero.
  UpdateReport flush(const Threshold& threshold);
  /// Brings a last level that is behind up to date.
  UpdateReport deliver();

 private:
  struct Part;
  struct Slice;
  /// Residues that may stay unpublished.
  struct Limits {
    explicit Limits(const Threshold& threshold);
    const Threshold& columns;
    std::int64_t lowest;
    bool exact;
  };
  [[nodiscard]] bool defers(std::uint32_t level) const noexcept;
  [[nodiscard]] bool recompute_pays(Plan plan, std::uint32_t level, std::span<const NodeId> sources,
                                    std::uint64_t changed, UpdateReport& report) const;
  /// Whether the budget has room for what recompute(level) sweeps, after rows that differ have gone
  /// to files where that helps.
  [[nodiscard]] bool recompute_fits(std::uint32_t level) const;
  void recompute(std::uint32_t level, UpdateReport& report);
  void sweep_levels(std::uint32_t first, std::uint32_t last, UpdateReport& report);
  /// Nodes whose rows lie within some 16 KiB, if those of the receptive field lie anywhere.
  [[nodiscard]] std::uint64_t near_nodes(std::uint32_t level) const;
  /// The differences between the present rows of these nodes and what the last level has received
  /// of them.
  [[nodiscard]] std::vector<PushedRows> differences_from_received(std::span<const NodeId> nodes);
  /// What the nodes of a batch push to level 1: their features and degrees as they are now, less
  /// what was captured.
  [[nodiscard]] std::vector<PushedRows> settle_level0(const Repair& repair, const Limits& limits);
  void run_levels(Repair& repair, const Limits& limits, std::vector<PushedRows> pushed, UpdateReport& report);
  [[nodiscard]] std::shared_ptr<PushSpool> make_spool() const;
  [[nodiscard]] std::uint64_t kept_row_bytes(std::uint32_t level, const Limits& limits) const noexcept;
  /// Returns the rows of this level that are to be pushed to the next.
  std::vector<PushedRows> run_level(std::uint32_t level, PushSources sources, const Repair& repair,
                                    const Limits& limits, UpdateReport& report);
  void update_row(std::uint32_t level, const PushSources& sources, const Repair& repair, const TouchedRows& touched,
                  std::size_t index, const Limits& limits, Part& part);
  /// The node had published `published`, and its sums differ from that by `delta`; `difference` has
  /// the fingerprint that `delta` should have, and its largest value.
  void settle(std::uint32_t level, NodeId node, const std::int32_t* published, const std::int32_t* delta,
              const RowDifference& difference, const Repair& repair, const Limits& limits, PushedRows& next);
  /// Notes what the last level has received of a row of the level before it, before the row
  /// changes. The row is `before`; `space` has room for one value a column.
  void note_received(std::uint32_t level, NodeId node, const StateRow& before, std::int32_t* space);
  void note_received(NodeId node, const std::int32_t* published);
  void enter_rows(std::uint32_t level, const std::vector<NodeId>& rows, UpdateReport& report);

  Contents& contents_;
  Embedding& embedding_;
  ChangedRows& memory_;
  MemoryBudget& budget_;
  UpdateOptions options_;
  FingerprintKey key_;  ///< whose factors every row that is pushed or written is checked with
};

}  // namespace unweave
