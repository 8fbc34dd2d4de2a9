// algorithms/unlearning/planned_task.cpp - constants that accounts over slots list.
#include "algorithms/unlearning/planned_task.h"

namespace unweave {

std::vector<std::pair<std::string, double>> listed_constants(const SlotRun& run, const NoisySgd& sgd) {
  return {{"slots", static_cast<double>(run.slots)},
          {"batch_rows", static_cast<double>(run.batch_rows)},
          {"batches", static_cast<double>(sgd.batches())},
          {"step_size", run.step_size},
          {"radius", run.radius},
          {"gradient_bound", sgd.constants().gradient_bound},
          {"smoothness", sgd.constants().smoothness}};
}

}  // namespace unweave
