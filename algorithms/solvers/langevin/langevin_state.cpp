// algorithms/solvers/langevin/langevin_state.cpp - the state as numbers and arrays of a model.
#include "algorithms/solvers/langevin/langevin_state.h"

#include "storage/io/error.h"

namespace unweave {

LangevinState langevin_state(const Model& model) {
  const SolverState& kept = model.state;
  LangevinState state;
  LangevinConstants& constants = state.constants;
  constants.slots = kept.count("slots");
  constants.batch_rows = kept.count("batch_rows");
  constants.epochs = kept.count("epochs");
  constants.step_size = kept.number("step_size");
  constants.radius = kept.number("radius");
  constants.sigma = kept.number("sigma");
  constants.order_key = kept.count("order_key");
  state.slots = kept.slots("slots");
  state.distance = kept.number("distance");
  state.last_epochs = kept.count("last_epochs");
  state.adaptive_requests = kept.flag("adaptive_requests");
  state.lazy_rows = kept.flag("lazy_rows");
  if (state.slots.size() != constants.slots || constants.batch_rows == 0)
    throw UsageError("slots and batches of the model do not fit; train it again");
  return state;
}

void keep_state(const LangevinState& state, Model& model) {
  const LangevinConstants& constants = state.constants;
  const auto real = [](std::uint64_t count) { return static_cast<double>(count); };
  model.state.numbers = {{"slots", real(constants.slots)},
                         {"batch_rows", real(constants.batch_rows)},
                         {"epochs", real(constants.epochs)},
                         {"step_size", constants.step_size},
                         {"radius", constants.radius},
                         {"sigma", constants.sigma},
                         {"order_key", real(constants.order_key)},
                         {"distance", state.distance},
                         {"last_epochs", real(state.last_epochs)},
                         {"adaptive_requests", state.adaptive_requests ? 1.0 : 0.0},
                         {"lazy_rows", state.lazy_rows ? 1.0 : 0.0}};
  model.state.arrays = {{"slots", {state.slots.begin(), state.slots.end()}}};
}

}  // namespace unweave
