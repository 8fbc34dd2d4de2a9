// algorithms/maintenance/purge_plan.cpp - adds up the files that a purge writes, from the present
// ones.
#include "algorithms/maintenance/purge_plan.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <vector>

#include "algorithms/evaluation/regularisation.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/stepwise_fold.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/registry/registry.h"
#include "engine/generations/store_purge.h"
#include "engine/graph/node_set.h"
#include "storage/formats/level_files.h"
#include "storage/formats/store_layout.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"

namespace unweave {
namespace {

constexpr std::uint64_t kArcBytes = 8;  // more than a codec makes of one arc

std::uint64_t bytes_of(const std::optional<FileEntry>& file) {
  return file ? file->bytes : 0;
}

/// Bytes of those files, one for each span, whose span `changed` names.
template <class Changed>
std::uint64_t bytes_where(std::span<const FileEntry> files, NodeId nodes, const Changed& changed) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (changed(span_range(nodes, i))) bytes += files[i].bytes;
  return bytes;
}

std::uint64_t small_files(const Manifest& manifest) {
  const std::uint64_t bytes =
      bytes_of(manifest.labels) + bytes_of(manifest.train) + bytes_of(manifest.valid) + bytes_of(manifest.test);
  if (!manifest.graphs) return bytes;
  const GraphFiles& graphs = *manifest.graphs;
  return bytes + graphs.of_nodes.bytes + bytes_of(graphs.labels) + bytes_of(graphs.train) + bytes_of(graphs.valid) +
         bytes_of(graphs.test);
}

/// Bytes of the sums that are written anew: all of them, or those with rows that differ from the
/// files.
std::uint64_t state_bytes(const LiveStore& store, bool all) {
  if (!store.propagated()) return 0;
  const Embedding& embedding = store.embedding();
  if (!embedding.has_sums()) {  // rows that nothing has changed
    std::uint64_t rows = 0;
    for (const LevelFiles& level : store.manifest().levels)
      for (const FileEntry& file : level.rows) rows += all ? file.bytes : 0;
    return rows;
  }
  all |= embedding.stale_rows() > 0;  // publishing them changes rows everywhere
  std::uint64_t bytes = 0;
  for (std::uint32_t l = 1; l <= embedding.levels(); ++l) {
    const StateLevel& level = embedding.level(l);
    bytes += level.overlay_bytes();
    for (const LevelFileKind& kind : kLevelFileKinds) {
      if (kind.role == FileRole::overlay) continue;  // goes into the base
      bytes += bytes_where(files_of(store.manifest().levels[l], kind), store.manifest().nodes,
                           [&](NodeRange span) { return !kind.one_a_span || all || level.has_changes(span); });
    }
  }
  return bytes;
}

/// Whether a purge certifies at most what an earlier one left.
bool has_nothing_to_forget(const LiveStore& store, const PurgeOptions& options) {
  return !options.always && purge_state(store.path()) == PurgeState::none && store.sequence() == 0 &&
         options.nodes.value_or(store.manifest().user_nodes()) == store.manifest().user_nodes() &&
         (!store.manifest().order_file || options.keep_order);
}

/// How lambda was chosen; nothing where neither the release nor a log says so.
std::string lambda_chosen(const LiveStore& store, const ModelRecord& record) {
  if (!record.certificate.empty()) return record.options.lambda_chosen;
  try {
    return choices_in_log(store.path(), name_of(record)).lambda;
  } catch (const DataError&) {
    return {};
  }
}

void plan_models(const LiveStore& store, const PurgeOptions& options, bool certifies_rest, MemoryBudget& budget,
                 PurgePlan& plan) {
  for (const ModelSummary& model : list_models(store.path())) {
    if (!model.damage.empty() || !solver_entry(model.solver).canonical) continue;
    if (certifies_rest && !model.id.empty()) continue;
    const ModelRecord record = load_model(store.path(), model.name);
    try {
      check_propagation(record, store.manifest(), store.path());
    } catch (const DataError&) {  // it is lost
      continue;
    }
    // To bring it up to date, and to certify it.
    const bool stays =
        certifies_rest || (model.sequence == store.sequence() && !lambda_of_purged(store, record, options));
    const std::uint64_t trainings = stays ? 1 : 2;
    plan.models.push_back(model.name);
    plan.trainings += trainings;
    // A release file holds two releases, and both logs one more.
    const std::uint64_t certificate = record.certificate.size() + record.private_part.size() + 2;
    plan.written_bytes += trainings * (status_of(model_file(store.path(), model.name)).bytes + 3 * certificate);
    const TrainingRows rows(store, record.rows, form_of(record), budget);
    const Reservation working = solver_entry(model.solver).reserve(record.options, record.model, rows.set(), budget);
    plan.training_memory_bytes = std::max(plan.training_memory_bytes, rows.memory_bytes() + working.bytes());
  }
}

/// The files of graph, features, labels and sums. `all`: of every span, in another order or with
/// new nodes.
std::uint64_t content_bytes(const LiveStore& store, bool all) {
  const Manifest& manifest = store.manifest();
  const Graph& graph = store.contents().graph();
  const std::vector<NodeId> cleared = store.contents().cleared().sorted();
  const std::vector<NodeId> set = store.contents().features().set_nodes().sorted();
  const auto has_new_rows = [&](NodeRange span) {
    const auto lies_in = [&](const std::vector<NodeId>& nodes) {
      const auto first = std::lower_bound(nodes.begin(), nodes.end(), span.first);
      return first != nodes.end() && *first < span.last;
    };
    return lies_in(cleared) || lies_in(set);
  };
  return kArcBytes * graph.num_changed_arcs() +
         bytes_where(manifest.shards, manifest.nodes, [&](NodeRange span) { return all || graph.has_changes(span); }) +
         (manifest.pairs
              ? bytes_where(manifest.pairs->shards, manifest.nodes,
                            [&](NodeRange span) { return all || store.contents().held()->has_changes(span); })
              : 0) +
         bytes_where(manifest.feature_files, manifest.feature_rows(),
                     [&](NodeRange span) { return all || has_new_rows(span); }) +
         (all || !cleared.empty() || store.contents().has_set_values() ? small_files(manifest) : 0) +
         (all ? bytes_of(manifest.order_file) : 0) +
         (store.contents().order().names().lost().size() > 0 ? manifest.names->names.bytes + manifest.names->index.bytes
                                                             : 0) +
         state_bytes(store, all);
}

/// Whether every file is written anew.
bool writes_all(const LiveStore& store, const PurgeOptions& options) {
  const Manifest& manifest = store.manifest();
  return (manifest.order_file && !options.keep_order) ||
         options.nodes.value_or(manifest.user_nodes()) != manifest.user_nodes();
}

/// Bytes that a checkpoint writes before the steps: rows that differ from the files, where some
/// have changed since the last one, or which stale rows are going to change.
std::uint64_t checkpoint_bytes(const LiveStore& store) {
  if (!store.propagated() || !store.embedding().has_sums()) return 0;
  if (store.embedding().stale_rows() > 0) return state_bytes(store, true);
  if (store.pending_requests() == 0) return 0;
  std::uint64_t bytes = 0;
  for (std::uint32_t l = 1; l <= store.embedding().levels(); ++l) {
    const StateLevel& level = store.embedding().level(l);
    // Rows of the last run, which the next one takes over, and spooled ones lie in no memory.
    if (!level.is_resident())
      bytes += std::max(level.overlay_bytes() + bytes_of(store.manifest().levels[l].run),
                        StateLevel::overlay_bytes(level.overlay_rows(), level.columns()));
    for (std::size_t i = 0; i < level.entries().size(); ++i)
      if (level.is_written_anew(i, false)) bytes += level.entries()[i].bytes;
  }
  return bytes;
}

/// Bytes of what a purge writes in its last step after others: small files, indexes, and edges held
/// out of the graph.
std::uint64_t last_step_bytes(const LiveStore& store) {
  const Manifest& manifest = store.manifest();
  std::uint64_t bytes = small_files(manifest);
  if (manifest.names) bytes += manifest.names->names.bytes + manifest.names->index.bytes;
  if (manifest.pairs)
    bytes += bytes_of(manifest.pairs->shards) + kArcBytes * store.contents().held()->num_changed_arcs();
  for (const LevelFiles& level : manifest.levels)
    for (const LevelFileKind& kind : kLevelFileKinds)
      if (kind.role == FileRole::index)
        for (const FileEntry& file : files_of(level, kind)) bytes += file.bytes;
  return bytes;
}

std::uint64_t step_bytes(const PurgeOptions& options) {
  return options.step_bytes.value_or(kFoldStep);
}

/// Bytes of new files beside old ones, at a time, where the purge writes `bytes` and the order
/// stays.
std::uint64_t room_bytes(const LiveStore& store, std::uint64_t bytes, std::uint64_t step) {
  if (bytes <= step) return bytes;
  std::uint64_t largest = 0;
  for (const FileEntry& file : store.manifest().files()) largest = std::max(largest, file.bytes);
  return std::min(bytes, checkpoint_bytes(store) + std::max(step + largest, last_step_bytes(store)));
}

/// How many nodes or graphs the default lambda of a training on the purged store counts.
std::uint64_t declared_units(const LiveStore& store, const ModelRecord& record, const PurgeOptions& options) {
  if (record.rows.unit() == RowUnit::graph) return store.contents().graphs().count();
  return options.nodes.value_or(store.manifest().user_nodes());
}

}  // namespace

std::optional<double> lambda_of_purged(const LiveStore& store, const ModelRecord& record, const PurgeOptions& options) {
  if (lambda_chosen(store, record) != kDefaultLambda) return std::nullopt;
  const NetworkShape shape = shape_of(record.model);
  const double lambda = default_lambda({record.model.solver, declared_units(store, record, options), shape.features,
                                        shape.classes, record.options.head});
  return lambda == record.options.lambda ? std::nullopt : std::optional(lambda);
}

bool goes_in_steps(const LiveStore& store, const PurgeOptions& options) {
  return !writes_all(store, options) && content_bytes(store, false) > step_bytes(options);
}

void require_purge_room(const LiveStore& store, const PurgeOptions& options) {
  if (writes_all(store, options) || (store.propagated() && store.embedding().stale_rows() > 0)) return;
  require_disk_room(store.path(), room_bytes(store, content_bytes(store, false), step_bytes(options)),
                    "the files of the purged store", "move the store to a larger disk");
}

void require_room_to_begin_purge(const LiveStore& store) {
  constexpr std::uint64_t kBeside = std::uint64_t{1} << 20;  // a manifest, and the journal
  require_disk_room(store.path(), room_bytes(store, content_bytes(store, false), kFoldStep) + kBeside,
                    "the files of the purged store", "move the store to a larger disk");
}

PurgePlan plan_purge(const LiveStore& store, const PurgeOptions& options, MemoryBudget& budget) {
  const Manifest& manifest = store.manifest();
  const Graph& graph = store.contents().graph();
  PurgePlan plan;
  const bool certifies_rest = has_nothing_to_forget(store, options);
  if (store.propagated()) plan_models(store, options, certifies_rest, budget, plan);
  if (certifies_rest) return plan;
  plan.computes_order = manifest.order_file.has_value() && !options.keep_order;
  const bool all = writes_all(store, options);  // new nodes take few bytes
  const std::uint64_t content = content_bytes(store, all), models = plan.written_bytes;
  plan.written_bytes += content;
  plan.room_bytes = models + (all ? content : room_bytes(store, content, step_bytes(options)));
  if (all) {
    // One after another: the graph by ids while its arcs are sorted; rows of features, and sums, on
    // their way.
    const std::uint64_t graph_bytes =
        bytes_of(manifest.shards) + kArcBytes * (graph.num_changed_arcs() + graph.num_ids());
    const std::uint64_t feature_bytes =
        bytes_of(manifest.feature_files) * (manifest.feature_layout.type == FeatureType::f16 ? 2 : 1);
    plan.temporary_bytes = std::max({graph_bytes, feature_bytes, state_bytes(store, all)});
  }
  return plan;
}

}  // namespace unweave
