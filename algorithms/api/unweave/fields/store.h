// algorithms/api/unweave/fields/store.h - the fields of what a store holds, and of propagations.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/live/digest.h"
#include "unweave/fields/field.h"
#include "unweave/fields/ingest.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

template <class Visit>
void describe(const LevelInfo& level, Visit&& field) {
  field("level", level.level);
  field("rows", level.rows);
  field("stale_rows", level.stale_rows);
}

template <class Visit>
void describe(const NodeTypeInfo& type, Visit&& field) {
  field("name", type.name);
  field("first", type.first);
  field("nodes", type.nodes);
}

template <class Visit>
void describe(const ModelInfo& model, Visit&& field) {
  field("name", model.name);
  field("solver", model.solver);
  if (!model.damage.empty()) return field("damage", MessageText{model.damage});
  field("id", model.id);
  field("digest", model.digest);
  field("rows", model.rows);
  field("sequence", model.sequence);
  field("outdated", model.outdated);
  field("other_propagation", model.other_propagation);
}

/// All of it but the number of levels.
template <class Visit>
void describe(const PropagationSpec& spec, Visit&& field) {
  field("scheme", spec.scheme);
  field("weights", spec.weights);
  field("rho", spec.rho);
  field("scale_bits", spec.scale_bits);
  field("rows", spec.all_rows ? "all" : "labelled");
  field("keep", keep_name(spec.kept.keep));
  if (spec.kept.has_sums()) return;
  field("keep_type", feature_type_name(spec.kept.type));
  field("keep_exponent", spec.kept.exponent);
}

template <class Visit>
void describe(const StoreInfo& store, Visit&& field) {
  field("nodes", store.nodes);
  field("edges", store.edges);
  field("directed", store.directed);
  field("types", only_if(!store.types.empty(), store.types));
  field("pairs", store.pairs ? std::optional(text_of(*store.pairs)) : std::nullopt);
  field("held_edges", only_if(store.pairs.has_value(), store.held_edges));
  field("relations", only_if(!store.relations.empty(), store.relations));
  field("ends", only_if(!store.ends.empty(), store.ends));
  field("subsets", only_if(!store.subsets.empty(), store.subsets));
  field("arcs", store.arcs);
  field("max_weight", only_if(store.max_weight > 1, store.max_weight));
  field("weight_sum", only_if(store.max_weight > 1, store.weight_sum));
  field("weight_unit", store.weight_unit ? std::optional(store.weight_unit->weight(1)) : std::nullopt);
  field("self_weight", store.weight_unit ? std::optional(store.weight_unit->self) : std::nullopt);
  field("features", store.features);
  field("classes", store.classes);
  field("class_names", only_if(!store.class_names.empty(), store.class_names));
  field("targets", store.targets);
  field("named", store.named);
  field("ids_are", store.ids_are ? std::optional(text_of(*store.ids_are)) : std::nullopt);
  field("bits_per_arc", store.bits_per_arc);
  field("order", store.order);
  field("hops", store.propagation ? std::optional(store.propagation->levels) : std::nullopt);
  field("stale_rows", store.stale_rows);
  field("lazy_error_bound", store.lazy_error_bound);
  field("pending_requests", store.pending_requests);
  field("acknowledged", store.acknowledged);
  field("pending_purge", store.pending_purge);
  field("expiries", store.expiries);
  field("next_expiry", store.next_expiry ? std::optional(time_text(*store.next_expiry)) : std::nullopt);
  field("labelled", store.labelled);
  field("graphs", only_if(store.graphs > 0, store.graphs));
  field("labelled_graphs", only_if(store.graphs > 0, store.labelled_graphs));
  field("train", store.train);
  field("valid", store.valid);
  field("test", store.test);
  field("standardized", store.standardized);
  field("scale", only_if(store.features > 0, scale_text(store.scale)));
  field("sparse_features", store.feature_layout.sparse);
  field("feature_type", feature_type_name(store.feature_layout.type));
  field("bytes", store.bytes);
  if (store.propagation) {
    describe(*store.propagation, field);
    field("levels", store.levels);
  }
  field("models", store.models);
  field("digest", store.digest ? std::optional(digest_text(*store.digest)) : std::nullopt);
}

template <class Visit>
void describe(const PropagationSeconds& seconds, Visit&& field) {
  field("cone", seconds.cone);
  field("fill", seconds.fill);
  field("sweep", seconds.sweep);
  field("write", seconds.write);
}

/// `nodes`: of the store.
template <class Visit>
void describe(const PropagateReport& report, const PropagationSpec& spec, std::uint64_t nodes, Visit&& field) {
  field("nodes_without_row", nodes - report.targets);
  field("rows", report.rows);
  field("tiles", report.tiles);
  field("sweep_seconds", report.sweep_seconds);
  field("sync_seconds", report.sync_seconds);
  field("cone_seconds", report.cone_seconds);
  field("fill_seconds", report.fill_seconds);
  describe(Prediction{report.predicted}, field);
  // Where parts were there already nobody knows it.
  const bool is_known = report.arc_features_per_second > 0 || spec.levels == 0;
  field("arc_features_per_second", only_if(is_known, report.arc_features_per_second));
  if (!report.dropped.empty()) field("tiles_dropped", message_texts(report.dropped));
}

/// The first and the last column of each.
[[nodiscard]] inline auto ends_of(const std::vector<TileColumns>& all) {
  return each_of(all, [](const TileColumns& some) { return std::pair(some.first, some.first + some.count - 1); });
}

template <class Visit>
void describe(const TileReport& report, Visit&& field) {
  field("columns", ends_of(report.columns));
  field("jobs_done", report.done);
  field("jobs_there", report.there);
  field("jobs_busy", report.busy);
  field("tiles", report.tiles);
  field("rows", report.rows);
  field("missing", ends_of(report.missing));
  field("sweep_seconds", report.sweep_seconds);
  field("cone_seconds", report.cone_seconds);
  field("fill_seconds", report.fill_seconds);
  if (!report.dropped.empty()) field("tiles_dropped", message_texts(report.dropped));
}

}  // namespace v0
}  // namespace unweave
