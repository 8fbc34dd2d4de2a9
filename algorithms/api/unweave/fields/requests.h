// algorithms/api/unweave/fields/requests.h - the fields of what became of requests that have an id.
#pragma once

#include <string_view>

#include "unweave/fields/field.h"
#include "unweave/requests.h"

namespace unweave {
inline namespace v0 {

template <class Visit>
void describe(const CoveringCertificate& certificate, Visit&& field) {
  field("model", certificate.model);
  field("number", certificate.number);
  field("id", certificate.release);
  field("time", certificate.time);
}

/// "applied" or "rejected"; RequestRecord::status has the reason.
[[nodiscard]] inline std::string_view outcome_of(const RequestRecord& record) {
  return record.status == "applied" ? "applied" : "rejected";
}
/// A request that asked for the same before and was applied, where there was one.
template <class Visit>
void describe_earlier(const RequestRecord& record, Visit&& field) {
  if (record.earlier == 0) return;
  field("earlier", Nested{[&](auto&& earlier) {
          earlier("sequence", record.earlier);
          earlier("id", record.earlier_id);
          earlier("time", time_text(record.earlier_time));
        }});
}

/// Which certificates cover it, and what is left to do.
template <class Visit>
void describe_certificates(const RequestRecord& record, Visit&& field) {
  field("certificates", record.certificates);
  field("waiting", record.waiting);
  field("purged", record.purged);
  field("settled", record.settled());
}

template <class Visit>
void describe(const RequestRecord& record, Visit&& field) {
  field("id", record.id);
  field("kind", record.kind);
  field("status", outcome_of(record));
  field("sequence", record.sequence);
  field("time", time_text(record.time));
  describe_certificates(record, field);
  if (record.status != "applied") field("reason", record.status);
  if (record.expired) field("expired", true);
  describe_earlier(record, field);
}

}  // namespace v0
}  // namespace unweave
