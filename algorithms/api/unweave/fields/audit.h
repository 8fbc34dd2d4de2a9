// algorithms/api/unweave/fields/audit.h - the fields of an attack on a model, beside what its
// certificates claim.
#pragma once

#include "unweave/audit.h"
#include "unweave/fields/field.h"

namespace unweave {
inline namespace v0 {

/// `options`: those that the attack was made with.
template <class Visit>
void describe(const Attack& attack, const AttackOptions& options, const AuditResult& result, Visit&& field) {
  const Evidence& evidence = result.evidence;
  field("solver", attack.model.solver());
  field("name", attack.model.name());
  field("canary", attack.canary.name);
  field("attack", result.attack);
  field("trials", result.guesses ? 1 : options.trials);
  field("tests", evidence.trials);
  field("hits_unlearned", evidence.unlearned_hits);
  field("hits_retrained", evidence.retrained_hits);
  field("confidence", options.confidence);
  field("certified", result.certified);
  field("claim", result.claim);
  field("epsilon", result.epsilon);
  field("delta", result.delta);
  field("epsilon_lower_bound", evidence.epsilon);
  field("epsilon_provable", result.most);
  field("refuted", result.refuted());
  if (!result.guesses) return;
  field("guesses", result.guesses->made);
  field("guesses_right", result.guesses->right);
}

}  // namespace v0
}  // namespace unweave
