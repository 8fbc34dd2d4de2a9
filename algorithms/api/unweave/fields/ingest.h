// algorithms/api/unweave/fields/ingest.h - the fields of reports about new stores.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

#include "unweave/fields/field.h"
#include "unweave/ingest.h"

namespace unweave {
inline namespace v0 {

/// Hops of a propagation where nobody says how many.
inline constexpr std::uint32_t kDefaultHops = 2;

/// "rows", "none" or the divisor, as `import --scale` takes them.
[[nodiscard]] inline std::string scale_text(const FeatureScale& scale) {
  if (scale.as_given) return "none";
  if (scale.divisor == 1) return "rows";
  std::array<char, 32> text{};
  char* const begin = text.data();
  return {begin, std::to_chars(begin, begin + text.size(), scale.divisor, std::chars_format::general).ptr};
}

/// Bytes of the sums of all rows, at the hops that a propagation takes by default.
[[nodiscard]] inline std::uint64_t default_sum_bytes(const BuildReport& report) {
  return std::uint64_t{kDefaultHops} * report.layers.copies() * report.nodes * std::uint64_t{report.features} *
         sizeof(std::int32_t);
}

template <class Visit>
void describe(const ImportSeconds& seconds, Visit&& field) {
  field("edges", seconds.edges);
  field("graph", seconds.graph);
  field("features", seconds.features);
  field("write", seconds.write);
}

/// How long work was going to take: all of it, and its parts.
template <class Seconds>
struct Prediction {
  std::optional<Seconds> seconds{};
};
template <class Seconds>
Prediction(std::optional<Seconds>) -> Prediction<Seconds>;
template <class Seconds, class Visit>
void describe(const Prediction<Seconds>& prediction, Visit&& field) {
  field("predicted", prediction.seconds);
  field("seconds_predicted", prediction.seconds ? std::optional(prediction.seconds->total()) : std::nullopt);
}

template <class Visit>
void describe(const BuildReport& report, Visit&& field) {
  const bool has_weights = report.max_weight > 1;
  field("nodes", report.nodes);
  field("edges", report.edges);
  field("pairs", report.pairs ? std::optional(text_of(*report.pairs)) : std::nullopt);
  field("held_edges", only_if(report.pairs.has_value(), report.held_edges));
  field("directed", report.layers.directed);
  const bool are_units = report.weight_unit.has_value();
  field("arcs", (report.layers.directed ? 1 : 2) * (has_weights && !are_units ? report.weight_sum : report.edges));
  field("weight_sum", only_if(has_weights, report.weight_sum));
  field("max_weight", only_if(has_weights, report.max_weight));
  field("weight_unit", are_units ? std::optional(report.weight_unit->weight(1)) : std::nullopt);
  field("self_weight", are_units ? std::optional(report.weight_unit->self) : std::nullopt);
  field("edges_read", report.edges_read);
  field("self_loops", report.self_loops);
  field("duplicates", report.duplicates);
  field("features", report.features);
  field("classes", report.classes);
  field("spooled_bytes", report.spooled_bytes);
  field("unlabelled_split_ids", report.unlabelled_split_ids);
  field("bits_per_arc", only_if(report.edges > 0, report.bits_per_arc));
  field("order", report.order);
  field("seconds_order", report.seconds_order);
}

template <class Visit>
void describe(const ImportReport& report, Visit&& field) {
  describe(static_cast<const BuildReport&>(report), field);
  field("named", report.named);
  field("graphs", report.graphs);
  field("one_way_edges", report.one_way_edges);
  field("one_way_edges_exact", report.one_way_exact);
  field("ignored_weights", report.left_out.ignored);
  field("zero_weights", report.left_out.zeros);
  field("largest_norm", only_if(report.rows_scaled.has_value(), report.largest_norm));
  field("rows_scaled", report.rows_scaled);
  field("scale", only_if(report.rows_scaled.has_value(), scale_text(report.scale)));
  field("empty_classes", report.empty_classes);
  field("first_empty_classes", report.first_empty_classes);
  field("class_names", only_if(!report.class_names.empty(), report.class_names));
  field("order_reason", only_if(!report.order_reason.empty(), report.order_reason));
  field("splits", Nested{[&](auto&& split) {
          split("train", report.splits[0]);
          split("valid", report.splits[1]);
          split("test", report.splits[2]);
        }});
  field("feature_bytes", report.feature_bytes);
  field("default_sum_bytes", default_sum_bytes(report));
  field("remarks", message_texts(report.remarks));
}

template <class Visit>
void describe(const ImportForecast& forecast, Visit&& field) {
  field("nodes", forecast.nodes);
  field("nodes_exact", forecast.nodes_exact);
  field("edges_read", forecast.edges);
  field("edges_exact", forecast.edges_exact);
  field("features", forecast.columns);
  field("sparse", forecast.sparse);
  field("bits_per_arc", forecast.bits_per_arc);
  field("input_bytes", forecast.input_bytes);
  field("graph_bytes", forecast.graph_bytes);
  field("least_graph_bytes", forecast.least_graph_bytes);
  field("most_graph_bytes", forecast.most_graph_bytes);
  field("feature_bytes", forecast.feature_bytes);
  field("store_bytes", forecast.store_bytes());
  field("memory_bytes", forecast.memory_bytes);
  field("memory_available_bytes", forecast.memory_available_bytes);
  field("temporary_bytes", forecast.temporary_bytes);
  field("disk_bytes", forecast.disk_bytes);
  field("disk_free_bytes", forecast.disk_free_bytes);
  field("passes", forecast.passes);
  field("input_resident", forecast.input_resident);
  field("seconds_predicted", forecast.seconds ? std::optional(forecast.seconds->total()) : std::nullopt);
  field("predicted", forecast.seconds);
  field("assumed", forecast.assumed);
  field("fits", forecast.fits());
}

}  // namespace v0
}  // namespace unweave
