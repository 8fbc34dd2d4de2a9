// tools/commands/stream_output.cpp - what people read of the models that follow a stream.
#include "tools/commands/stream_output.h"

#include "tools/cli/output.h"
#include "tools/commands/model_output.h"

namespace unweave {

void print_models(std::ostream& out, const BatchOutcome& outcome, const std::vector<Accuracies>& accuracies,
                  bool is_public) {
  for (std::size_t i = 0; i < outcome.steps.size(); ++i) {
    const StepReport& step = outcome.steps[i].report;
    const bool bounded = step.budget > 0;  // solvers without noise, and those that claim nothing, have no bound
    if (outcome.steps.size() > 1) out << "; " << model_text(outcome.steps[i].name, outcome.steps[i].solver);
    if (!is_public)
      out << ", unlearning " << seconds_text(outcome.steps[i].seconds_unlearn) << (step.retrained ? " (retrained)" : "")
          << missed_text(outcome.steps[i]);
    if (!is_public && bounded) out << ", residual bound " << number_text(step.residual_bound);
    if (bounded) out << ", budget " << number_text(step.budget);
    if (!is_public || !step.private_claim) out << ", certified " << certified_text(step);
    if (i < accuracies.size() && accuracies[i].test) out << ", test accuracy " << accuracy_text(accuracies[i].test);
  }
}

}  // namespace unweave
