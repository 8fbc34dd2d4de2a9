// algorithms/unlearning/options.cpp - names, shapes and noise that follow from options.
#include "algorithms/unlearning/options.h"

#include <array>

#include "algorithms/learning/head.h"
#include "algorithms/learning/network.h"
#include "algorithms/learning/training_set.h"
#include "algorithms/random/random_source.h"
#include "storage/io/error.h"
#include "storage/io/nearest_name.h"

namespace unweave {

BoundRule parse_bound(std::string_view name) {
  if (name == "corrected") return BoundRule::kCorrected;
  if (name == "paper") return BoundRule::kPaper;
  throw UsageError(unknown_name("bound", name, std::array<std::string_view, 2>{"corrected", "paper"}));
}

std::string_view head_name(const SolverOptions& options) noexcept {
  return options.hidden.empty() ? name_of(options.head) : "mlp";
}

NetworkShape shape_of(const SolverOptions& options, const TrainingSet& rows) {
  return {options.head,   rows.features(),    rows.classes(),
          options.hidden, options.activation, options.hidden.empty() ? 1 : options.blocks};
}

RandomSource noise_source(const SolverOptions& options, std::uint64_t release) {
  return options.seed ? RandomSource::from_seed(*options.seed, release) : RandomSource::from_system();
}

}  // namespace unweave
