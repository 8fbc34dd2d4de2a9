// algorithms/api/unweave/fields/diagnosis.h - the fields of what was found on a machine or in a
// store.
#pragma once

#include <string_view>

#include "unweave/diagnosis.h"
#include "unweave/fields/field.h"

namespace unweave {
inline namespace v0 {

[[nodiscard]] constexpr std::string_view verdict_name(Verdict verdict) noexcept {
  return verdict == Verdict::ok ? "ok" : verdict == Verdict::note ? "note" : "problem";
}

template <class Visit>
void describe(const Diagnosis& finding, Visit&& field) {
  field("name", finding.name);
  field("verdict", verdict_name(finding.verdict));
  field("fact", MessageText{finding.fact});
  if (!finding.remedy.empty()) field("remedy", MessageText{finding.remedy});
}

}  // namespace v0
}  // namespace unweave
