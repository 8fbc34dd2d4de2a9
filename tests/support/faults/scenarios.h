// tests/support/faults/scenarios.h - each operation on a small store, and what must hold after a
// fault in it.
#pragma once

#include "support/faults/trial.h"
#include "support/imported_sample.h"

namespace unweave::testing {

/// A scenario and the folder that it begins with: the store is s/, beside it lie files of users.
struct Setting {
  Tree before;
  Scenario scenario;
};

/// The command `import`; under an order the graph is built twice.
[[nodiscard]] Setting import_setting(const std::string& order);
/// The command `propagate` on an imported store, whose embedding is replaced where it has one.
[[nodiscard]] Setting propagate_setting(bool again);
/// The command `train` on a propagated store without models.
[[nodiscard]] Setting train_setting(const std::string& solver);
/// The command `certify` with the weights of a model that is not the store's.
[[nodiscard]] Setting certify_setting(const std::string& solver);
/// The command `stream`: exact batches followed by a solver's model, and a checkpoint at the end.
[[nodiscard]] Setting stream_setting(const std::string& solver);
/// Lazy batches and checkpoints between them, of a store opened once.
[[nodiscard]] Setting checkpoint_setting();
/// Exact batches of requests of every kind, and checkpoints between them, of a store of whole
/// graphs.
[[nodiscard]] Setting whole_graphs_setting();
/// Likewise of a store of links, a part of whose edges is held out of the graph.
[[nodiscard]] Setting held_edges_setting();
/// Batches whose changed rows exceed the budget, so that they become new partitions.
[[nodiscard]] Setting fold_setting();
/// Batches whose changed lists exceed a quarter of the budget, so that shards are written anew.
[[nodiscard]] Setting graph_fold_setting();
/// The command `repair --cut-journal` of a closed store whose sums are damaged, and whose journal
/// and log of certificates lack their ends. One model has absorbed what the journal lacks.
[[nodiscard]] Setting repair_setting();
/// The command `grow` of a lazily streamed store with a journal.
[[nodiscard]] Setting grow_setting(const Importing& importing, bool all_rows);
/// `purge` of a lazily streamed store with a journal and remains of a learner.
[[nodiscard]] Setting purge_setting(const Importing& importing, bool all_rows);
/// Likewise in steps of one file, of a store of one span of nodes, or of three.
[[nodiscard]] Setting purge_steps_setting(bool three_spans);
/// `purge` of a streamed store of whole graphs, and of one of links.
[[nodiscard]] Setting purge_graphs_setting();
[[nodiscard]] Setting purge_pairs_setting();
/// `purge` of a store whose model of `exact` lags behind: it is brought up to date, kept and
/// certified anew.
[[nodiscard]] Setting purge_model_setting();

}  // namespace unweave::testing
