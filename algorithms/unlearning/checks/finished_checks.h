// algorithms/unlearning/checks/finished_checks.h - releases of T1: finished weights with output
// noise, whichever solver finished them.
#pragma once

#include "algorithms/learning/training_set.h"
#include "algorithms/unlearning/checks/checked_model.h"
#include "algorithms/unlearning/checks/public_line.h"
#include "engine/resources/memory.h"

namespace unweave {

/// The noise that the model's public numbers ask for.
[[nodiscard]] OutputNoise finished_noise(const CheckedModel& model);

/// Everything of such a certificate follows from lambda, tau, n, the shape and (epsilon, delta).
void check_finished_certificate(const CheckedModel& model, Statements& say);
/// The published weights must stand from the minimiser on `rows`, found again, where the noise puts
/// them.
bool check_finished_release(const CheckedModel& model, const TrainingSet& rows, MemoryBudget& budget, Statements& say);
/// Public numbers of a line that T1 certifies. Throws CheckError.
void check_finished_line(const PublicLine& line);

}  // namespace unweave
