// algorithms/learning/kept_preconditioner.cpp - how long a preconditioner is kept.
#include "algorithms/learning/kept_preconditioner.h"

#include <utility>

namespace unweave {

std::unique_ptr<Preconditioner> KeptPreconditioner::take(const Objective& objective) {
  if (features_ != objective.rows.features || classes_ != objective.classes) preconditioner_.reset();
  if (!preconditioner_) made_for_ = 0;
  return std::move(preconditioner_);
}

void KeptPreconditioner::keep(std::unique_ptr<Preconditioner> preconditioner, const Objective& objective,
                              double products) {
  constexpr double kMuchMore = 1.5, kRepaidIn = 2;
  const bool is_new = made_for_ == 0;
  if (is_new) {
    made_for_ = worth_;
    usual_ = products;
  }
  const bool is_worn = products > kMuchMore * usual_, pays_better = kRepaidIn * products > kMuchMore * made_for_;
  worth_ = kRepaidIn * products;
  if (is_worn || pays_better || (preconditioner && preconditioner->reads_rows())) return;
  preconditioner_ = std::move(preconditioner);
  features_ = objective.rows.features;
  classes_ = objective.classes;
}

}  // namespace unweave
