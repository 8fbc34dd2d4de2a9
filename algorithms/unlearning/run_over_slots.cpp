// algorithms/unlearning/run_over_slots.cpp - constants of a run from its parameters, or from public
// numbers.
#include "algorithms/unlearning/run_over_slots.h"

#include <algorithm>
#include <cmath>

#include "algorithms/unlearning/slot_constants.h"

namespace unweave {
namespace {

constexpr std::size_t kPartitionBytes = std::size_t{64} << 20;  // bytes of vectors in float64
constexpr double kLastStep = 0.1;                               // size of the last step, as a part of the first
constexpr double kNetworkStep = 0.5;
constexpr std::uint64_t kRunOrderKey = 1;

double step_size_of(const NetworkShape& shape, const SolverOptions& options) {
  if (!shape.hidden.empty()) return kNetworkStep;
  const double norm = row_norm_bound(options);
  return 1 / (options.lambda + smoothness(shape.head).curvature * norm * norm);
}

}  // namespace

SgdConstants choose_run(const NetworkShape& shape, std::uint64_t slots, const RunParameters& parameters,
                        const SolverOptions& options) {
  SgdConstants sgd;
  sgd.slots = slots;
  sgd.epochs = parameters.epochs;
  sgd.batch_rows = parameters.batch_rows.value_or(default_batch_rows(slots));
  const std::uint64_t batch_bytes = sizeof(double) * Network(shape).size() * sgd.batch_rows;
  sgd.partition_rows = sgd.batch_rows * std::max<std::uint64_t>(1, kPartitionBytes / batch_bytes);
  sgd.step_size = parameters.step_size.value_or(step_size_of(shape, options));
  sgd.order_key = kRunOrderKey;
  if (parameters.decay) {
    sgd.decay = *parameters.decay;
  } else {
    const std::uint64_t steps = std::max<std::uint64_t>(1, SgdSchedule(sgd).steps());
    sgd.decay = std::pow(kLastStep, 1 / static_cast<double>(steps));
  }
  return sgd;
}

}  // namespace unweave
