// algorithms/api/unweave/fields/plan.h - the fields of what work is going to take.
#pragma once

#include <cstdint>
#include <string_view>

#include "unweave/fields/field.h"
#include "unweave/fields/store.h"
#include "unweave/plan.h"

namespace unweave {
inline namespace v0 {

template <class Visit>
void describe(const PropagationForecast& forecast, Visit&& field) {
  field("rows", forecast.rows);
  field("arcs", forecast.arcs);
  field("exact", forecast.exact);
  field("rows_error", forecast.rows_error);
  field("arcs_error", forecast.arcs_error);
  field("tiles", forecast.tiles);
  field("tile_columns", forecast.tile_columns);
  field("memory_bytes", forecast.memory_bytes);
  field("tile_bytes", forecast.tile_bytes);
  field("worker_bytes", forecast.worker_bytes);
  field("write_buffer_bytes", forecast.write_buffer_bytes);
  field("memory_available_bytes", forecast.memory_available_bytes);
  field("state_bytes", forecast.state_bytes);
  field("feature_bytes", forecast.feature_bytes);
  field("cone_bytes", forecast.cone_bytes);
  field("disk_bytes", forecast.disk_bytes);
  field("disk_free_bytes", forecast.disk_free_bytes);
  field("bytes_read", forecast.bytes_read);
  field("bytes_written", forecast.bytes_written);
  field("fits", forecast.fits());
  const PropagationPace pace = forecast.pace.value_or(PropagationPace());
  const bool is_known = forecast.pace.has_value();
  field("sweep_arc_features_per_second", pace.sweep_arc_features_per_second);
  field("disk_bytes_per_second", only_if(is_known, pace.disk_bytes_per_second));
  field("seconds_predicted", only_if(is_known, pace.seconds));
  field("predicted", only_if(is_known, pace.parts));
  field("graph_resident", only_if(is_known, pace.graph_resident));
  field("features_resident", only_if(is_known, pace.features_resident));
  field("limit", only_if<std::string_view>(is_known, pace.waits_for_disk ? "disk" : "gather"));
}

/// How a level is brought up to date.
[[nodiscard]] inline std::string_view plan_name(const LevelForecast& level) {
  return level.recompute ? "recompute" : "push";
}

/// `batches`: how many there are of the requests in all.
template <class Visit>
void describe(const StreamForecast& forecast, std::uint64_t batches, Visit&& field) {
  const StreamPlan& plan = forecast.plan;
  field("batches", batches);
  field("requests", forecast.first.requests);
  field("applied", forecast.first.applied);
  field("rows", each_of(plan.levels, [](const LevelForecast& level) { return level.rows; }));
  field("arcs", each_of(plan.levels, [](const LevelForecast& level) { return level.arcs; }));
  field("plan", each_of(plan.levels, plan_name));
  field("seconds_push", each_of(plan.levels, [](const LevelForecast& level) { return level.push_seconds; }));
  field("seconds_recompute", each_of(plan.levels, [](const LevelForecast& level) { return level.recompute_seconds; }));
  field("seconds_predicted", plan.seconds);
  field("stale_rows", forecast.stale_rows);
  field("memory_bytes", plan.memory_bytes);
  field("memory_available_bytes", forecast.memory_available_bytes);
  field("disk_bytes", plan.disk_bytes);
  field("disk_free_bytes", forecast.disk_free_bytes);
  field("bytes_written", plan.written_bytes);
  field("spills", !forecast.fits_memory());
  field("fits", forecast.fits());
}

template <class Visit>
void describe(const PurgeForecast& forecast, Visit&& field) {
  const PurgePlan& plan = forecast.plan;
  field("computes_order", plan.computes_order);
  field("models", plan.models);
  field("trainings", plan.trainings);
  field("training_memory_bytes", plan.training_memory_bytes);
  field("bytes_rewritten", plan.written_bytes);
  field("temporary_bytes", plan.temporary_bytes);
  field("disk_bytes", plan.disk_bytes());
  field("disk_free_bytes", forecast.disk_free_bytes);
  field("fits", forecast.fits());
}

}  // namespace v0
}  // namespace unweave
