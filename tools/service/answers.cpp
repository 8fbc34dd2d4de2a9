// tools/service/answers.cpp - fills the forms of answers.
#include "tools/service/answers.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <initializer_list>
#include <utility>

#include "storage/io/json_text.h"
#include "storage/io/time_text.h"
#include "tools/cli/message_style.h"
#include "tools/cli/report_json.h"
#include "unweave/fields/requests.h"

namespace unweave {

using Json = AnswerJson;

Answer answer_of(const Json& json, int status) {
  return {status, text_of_json(json) + '\n'};
}

Answer error_of(const std::string& error, int status) {
  Answer answer = answer_of({{"error", error}}, status);
  if (status == kUnavailable) answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

Json json_of(const std::string& id, const RequestState& state) {
  Json json = {{"id", id}, {"sequence", state.sequence}, {"state", "acknowledged"}};
  if (!state.applied) return json;
  const bool applied = state.status == "applied";
  json["state"] = applied ? "applied" : "rejected";
  if (!applied) json["reason"] = state.status;
  json["batch"] = state.batch;
  return json;
}

Json json_of(const RequestRecord& record) {
  return json_fields(Nested{[&](auto&& field) {
    field("sequence", record.sequence);
    field("state", outcome_of(record));
    field("kind", record.kind);
    field("time", time_text(record.time));
    if (record.status != "applied") field("reason", record.status);
    describe_earlier(record, field);
    describe_certificates(record, field);
  }});
}

Json json_of(const std::optional<Millis>& time) {
  return time ? Json(time_text(*time)) : Json();
}

Json json_of(const StorePurge& purge) {
  const PurgeReport& report = purge.report;
  Json json = {{"purged", !report.nothing}, {"requests", report.nothing ? 0 : report.requests}};
  if (report.nothing) {
    json["models_certified"] = report.certified_models;
    return json;
  }
  Json uncertified = Json::array(), lost = Json::array();
  for (const ModelFault& one : report.gone_models)
    lost.push_back({{"name", one.name}, {"text", command_text(one.text)}});
  for (const ModelFault& one : report.uncertified_models) uncertified.push_back(one.name);
  json.update({{"bytes_rewritten", report.bytes_written},
               {"bytes_kept", report.bytes_kept},
               {"bytes_removed", report.bytes_removed},
               {"models_kept", report.kept_models},
               {"models_uncertified", std::move(uncertified)},
               {"models_lost", std::move(lost)},
               {"models_removed", purge.removed_models},
               {"models_trained", report.trained_models},
               {"order_changed", report.order_changed},
               {"times_left", report.times_left},
               {"digest", digest_text(report.digest)},
               {"seconds", purge.seconds}});
  return json;
}

Json json_of(const IdConflict& conflict, const std::vector<std::size_t>& lines) {
  Json stands_for = Json::object();
  if (conflict.earlier_in_batch) {
    stands_for["line"] = lines[*conflict.earlier_in_batch];
  } else {
    stands_for = {{"sequence", conflict.sequence}, {"kind", conflict.kind},     {"time", time_text(conflict.time)},
                  {"waiting", conflict.waiting},   {"purged", conflict.purged}, {"content_kept", conflict.kept}};
  }
  return {{"id", conflict.id}, {"line", lines[conflict.index]}, {"stands_for", std::move(stands_for)}};
}

std::string metrics_text(const IntakeCounts& counts, bool ready) {
  prometheus::Registry registry;
  const auto counter = [&](const char* name, const char* help, double value) {
    prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({}).Increment(value);
  };
  const auto gauge = [&](const char* name, const char* help, double value) {
    prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({}).Set(value);
  };
  const auto counters = [&](const char* name, const char* help, const char* label,
                            std::initializer_list<std::pair<const char*, std::uint64_t>> values) {
    auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(registry);
    for (const auto& [value, count] : values) family.Add({{label, value}}).Increment(static_cast<double>(count));
  };
  const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
  counter("unweave_requests_acknowledged_total", "Requests made durable", number(counts.acknowledged));
  counters("unweave_requests_decided_total", "Requests applied or rejected", "status",
           {{"applied", counts.applied}, {"rejected", counts.rejected}});
  counter("unweave_syncs_total", "Groups of requests made durable by one sync", number(counts.groups));
  counter("unweave_sync_seconds_total", "Time that these took", counts.sync_seconds);
  counter("unweave_batches_total", "Batches applied", number(counts.batches));
  counter("unweave_batch_seconds_total", "Time that these took, the model included", counts.batch_seconds);
  gauge("unweave_requests_waiting", "Requests acknowledged and not applied", number(counts.waiting));
  gauge("unweave_models_stuck", "Models that follow, and of which the present rows have none",
        number(counts.stuck_models.size()));
  counters("unweave_purges_total", "Purges of the store, done and failed", "result",
           {{"done", counts.purges}, {"failed", counts.failed_purges}});
  counter("unweave_purge_seconds_total", "Time that purges took, in which no request is taken", counts.purge_seconds);
  gauge("unweave_purging", "1 while a purge is under way", counts.purging ? 1 : 0);
  gauge("unweave_requests_unpurged", "Requests acknowledged whose data no purge has reached", number(counts.unpurged));
  const auto seconds = [](const std::optional<Millis>& time) { return static_cast<double>(time.value_or(0)) / 1000; };
  gauge("unweave_unpurged_since_seconds", "When the first of them was acknowledged, Unix time; 0: there is none",
        seconds(counts.unpurged_since));
  gauge("unweave_last_purge_seconds", "When the last purge of this service ended, Unix time; 0: there was none",
        seconds(counts.last_purge));
  gauge("unweave_ready", "1 while requests are taken", ready ? 1 : 0);
  return prometheus::TextSerializer().Serialize(registry.Collect());
}

}  // namespace unweave
