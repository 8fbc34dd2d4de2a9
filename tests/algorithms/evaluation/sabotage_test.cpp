// tests/algorithms/evaluation/sabotage_test.cpp - every certified solver, broken in every way that makes sense for it: the audit catches each,
// on small data and on Cora, and lets the honest solver pass under the same options.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "algorithms/evaluation/audit.h"
#include "support/learner_data.h"
#include "support/shortcuts.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

/// A solver under options in which each sabotage breaks the claim, and not only what the solver does.
///
/// T1's noise covers tau / mu. The last Newton step, or with so large a lambda the last step of descent, brings the gradient down
/// by far more than what it ends below; `retrain` needs a tau between two steps. The step of `newton-step` is exact for least
/// squares, and that of `jackknife` ends within a large tau alone.
///
/// A run over slots pays for any rows and, under T2, for any start: what is broken must be near to the worst case that its bound
/// knows. So lambda is large, an epoch then brings two runs ten times nearer, and sigma is the least for which two epochs
/// suffice: with one of them missing a run that starts at the rim of its ball (T2), or at an iterate that knows the removed
/// row (T4), ends outside the claim. With a weak lambda an epoch changes little, and a release with one too few is within it.
/// That a run of T2 starts at the wrong iterate is no breach, since its claim is about any start.
///
/// T3's noise is for s-max: less than what the last epoch moves, and the removed row.
struct Subject {
  std::string solver;
  SolverOptions options;
};

Subject subject_of(const std::string& solver) {
  Subject subject{solver, taken_options(solver, {})};
  SolverOptions& options = subject.options;
  auto& set = options.parameters;
  options.lambda = 0.05;
  if (solver == "retrain") options.tau = 1e-8;
  if (solver == "descent-to-delete") options.lambda = 10;
  if (solver == "newton-step" || solver == "jackknife") options.head = Head::kLeastSquares;
  if (solver == "jackknife") options.tau = 0.03;
  if (solver_entry(solver).linear.over_slots) {
    options.lambda = solver.starts_with("langevin") ? 3 : 20;
    set["epochs"] = 8;
    if (solver != "langevin-full") set["batch-rows"] = 1e6;
    if (solver == "rewind") set["capacity"] = 1;
  }
  if (solver == "hessian-free") {
    set.clear();
    options.lambda = 0.5;
    set["epochs"] = 3;
    set["batch-rows"] = 12;
    set["decay"] = 1;
    set["s-max"] = 5e-4;
  }
  return subject;
}

const std::vector<std::string> kCertified{"exact",       "newton",    "retrain",     "descent-to-delete",
                                          "newton-step", "jackknife", "langevin",    "langevin-full",
                                          "rewind",      "descend",   "hessian-free"};

/// The least sigma for which three epochs suffice.
double least_sigma(const Subject& subject, const Canary& canary, const std::filesystem::path& folder) {
  SolverOptions options = subject.options;
  double& sigma = options.parameters["sigma"];
  for (sigma = 1;; sigma /= 1.05)
    if (report_of(subject.solver, options, canary, folder).terms.at("epochs") > 3) return 1.05 * sigma;
}

AuditResult attacked(const SolverFactory& make, const Canary& canary, const SolverOptions& options,
                     std::uint64_t trials, double confidence, const std::filesystem::path& folder) {
  AuditOptions how;
  how.trials = trials;
  how.confidence = confidence;
  how.folder = folder;
  how.working_memory = std::size_t{1} << 28;
  return audit(make, options, canary, how);
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("every sabotage of every certified solver is caught, and no honest one") {
    for (const std::string& name : kCertified) {
      const testing::TempDir folder;
      Subject subject = subject_of(name);
      const TrainingSet rows = random_rows(name == "jackknife" ? 200 : name == "hessian-free" ? 60 : 24, 4, 2, 12);
      if (subject.options.parameters.contains("batch-rows") && name != "hessian-free")
        subject.options.parameters["batch-rows"] = 24;
      Canary canary{"one row", rows, random_change(rows, 1, rows.size(), 1, 1, 0.3, 5), rows};
      canary.after.apply(canary.change);
      if (name != "hessian-free" && solver_entry(name).linear.over_slots)
        subject.options.parameters["sigma"] = least_sigma(subject, canary, folder.path());
      const std::uint64_t trials = name == "exact" ? 16 : 400;
      const auto result = [&](const SolverFactory& make) {
        return attacked(make, canary, subject.options, trials, 1 - 1e-6, folder.path());
      };
      CAPTURE(name);
      const AuditResult fair = result(honest_solver(name));
      CHECK(fair.certified);
      CHECK_FALSE(fair.refuted());
      for (const Sabotage& sabotage : sabotages_of(name, subject.options, canary, folder.path())) {
        CAPTURE(sabotage.what);
        const AuditResult broken = result(sabotage.make);
        CAPTURE(broken.evidence.epsilon);
        CAPTURE(std::string(broken.attack));
        CHECK(broken.certified);
        CHECK(broken.refuted());
      }
    }
  }
}
