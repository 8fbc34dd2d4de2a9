// tests/algorithms/evaluation/sabotage_test.cpp - every certified solver, broken in every way that
// makes sense for it: the audit catches each, on small data and on Cora, and lets the honest solver
// pass under the same options.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "algorithms/evaluation/canary.h"
#include "algorithms/evaluation/one_run_audit.h"
#include "algorithms/live/store_reader.h"
#include "support/learner_data.h"
#include "support/shortcuts.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "unweave/ingest.h"
#include "unweave/store.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

/// A solver under options in which each sabotage breaks the claim, and not only what the solver
/// does.
///
/// T1's noise covers tau / mu. The last Newton step, or with so large a lambda the last step of
/// descent, brings the gradient down by far more than what it ends below; `retrain` needs a tau
/// between two steps. The step of `newton-step` is exact for least squares, and that of `jackknife`
/// ends within a large tau alone, and where none of the rows counts for much.
///
/// A run over slots pays for any rows and, under T2, for any start: what is broken must be near to
/// the worst case that its bound knows. So lambda is large, that an epoch brings two runs nearer by
/// a large factor, and sigma the least for which three epochs suffice: with one of them missing a
/// run that starts at the rim of its ball (T2 from any start), or at an iterate that knows the
/// removed row (T2 by account, T4), ends outside the claim. Drawn batches of T4 scatter the ends of
/// honest runs by far more than such a difference, so that only too little noise shows there, where
/// the noise is larger yet (audit_test.cpp). With a weak lambda an epoch changes little, and a
/// release with one too few is within it. That a run of T2 starts at the wrong iterate is no breach
/// at all where its claim is about any start.
///
/// T3's noise is for s-max: less than what the last epoch, or the removed row, moves.
struct Subject {
  std::string solver;
  SolverOptions options;
};

bool runs_in_turn(const std::string& solver) {
  return solver != "hessian-free" && solver_entry(solver).linear.over_slots;
}

Subject subject_of(const std::string& solver, std::size_t rows, const RowForm& form) {
  Subject subject{solver, taken_options(solver, {})};
  SolverOptions& options = subject.options;
  auto& set = options.parameters;
  options.intercept = form.intercept;
  options.lambda = 0.05;
  const double square = form.norm_bound() * form.norm_bound();
  if (solver == "retrain") options.tau = 1e-8;
  if (solver == "descent-to-delete") options.lambda = 10 * square;
  if (solver == "newton-step" || solver == "jackknife") options.head = Head::kLeastSquares;
  if (solver == "jackknife") {
    options.lambda = 2;
    options.tau = form.intercept ? 0.2 : 0.02;  // a third of it still covers a step over longer rows
  }
  if (solver == "replay") {
    options.hidden = {4};
    set["steps"] = 20;
  }
  if (runs_in_turn(solver)) {
    options.lambda = (solver.starts_with("langevin") ? 7 : 20) * square;
    set["epochs"] = 8;
    if (solver != "langevin-full") set["batch-rows"] = static_cast<double>(rows);
    if (solver == "rewind") set["capacity"] = 1;
  }
  if (solver == "hessian-free") {
    options.lambda = 0.5;
    set = {{"epochs", 3}, {"batch-rows", 12}, {"decay", 1}, {"s-max", 5e-5}};
    if (rows > 100) set["statistics"] = 0;  // rows move, so that nobody would read them
  }
  return subject;
}

/// The least sigma for which three epochs suffice, in steps of a twentieth.
double least_sigma(const Subject& subject, const Canary& canary, const std::filesystem::path& folder) {
  SolverOptions options = subject.options;
  double& sigma = options.parameters["sigma"];
  for (sigma = 1;; sigma /= 1.05)
    if (report_of(subject.solver, options, canary, folder).terms.at("epochs") > 3) return 1.05 * sigma;
}

struct Certified {
  std::string name;
  bool adaptive = false;  ///< T2 is then claimed from any start
};

const std::vector<Certified> kCertified{
    {"exact"},       {"replay"},    {"newton"},      {"retrain"},        {"descent-to-delete"},
    {"newton-step"}, {"jackknife"}, {"langevin"},    {"langevin", true}, {"langevin-full", true},
    {"rewind"},      {"descend"},   {"hessian-free"}};

/// Calls use(sabotage, audit) for the honest solver, of no name, and for each sabotage.
template <class Use>
void audit_all(const Certified& certified, Canary& canary, std::uint64_t trials, double confidence,
               const std::filesystem::path& folder, const Use& use) {
  const std::string& name = certified.name;
  canary.change.adaptive = certified.adaptive;
  Subject subject = subject_of(name, canary.before.size(), canary.before.form());
  if (runs_in_turn(name)) subject.options.parameters["sigma"] = least_sigma(subject, canary, folder);
  AuditOptions how;
  how.trials = solver_entry(name).noisy ? trials : 16;
  how.confidence = confidence;
  how.folder = folder / "trials";
  how.working_memory = std::size_t{1} << 28;
  use("", audit(honest_solver(name), subject.options, canary, how));
  for (const Sabotage& sabotage : sabotages_of(name, subject.options, canary, folder))
    use(sabotage.what, audit(sabotage.make, subject.options, canary, how));
}

/// Training nodes of Cora leave, the one with the largest gradient or so many of those, and `rows`
/// rows take part. `weights`: of the levels.
Canary cora_canary(const std::filesystem::path& data, const std::filesystem::path& folder, std::uint64_t rows,
                   std::uint64_t leaving = 1, const std::vector<double>& weights = {0, 0, 1}) {
  Resources resources({std::uint64_t{2} << 30});
  ImportOptions from;
  from.edges = InputFile{data / "edges.tsv", {}};
  from.features = CsrInput{{{data / "feat_indptr.npy", {}}, {data / "feat_indices.npy", {}}, {}}, 1433};
  from.labels = InputFile{data / "labels.npy", {}};
  from.train = InputFile{data / "train_idx.npy", {}};
  from.test = InputFile{data / "test_idx.npy", {}};
  const std::filesystem::path path = folder / "cora";
  static_cast<void>(import_store(path, from, resources));
  {
    Writer writer(path, resources);
    static_cast<void>(writer.propagate({.levels = 2, .weights = weights}));
    static_cast<void>(writer.train({.solver = "newton"}));
  }
  StoreReader store(path, ample_budget());
  const ModelRecord record = load_model(path, "newton");
  return release_canary(steepest_rows(store, record, leaving, ample_budget()), store, record, rows, ample_budget());
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("every sabotage of every certified solver is caught, and no honest one") {
    const auto all_of = [](const Certified& certified, std::size_t count, std::size_t moves) {
      const testing::TempDir folder;
      const TrainingSet rows = random_rows(count, 4, 2, 12);
      Canary canary{"one row", rows, random_change(rows, 1, rows.size(), 1, moves, 0.3, 5), rows};
      canary.after.apply(canary.change);
      CAPTURE(certified.name);
      CAPTURE(certified.adaptive);
      // Its noise hides most, so that more trials are needed to tell all sabotage from luck.
      const std::uint64_t trials = certified.name.starts_with("langevin") ? 1000 : 400;
      audit_all(certified, canary, trials, 1 - 1e-6, folder.path(),
                [](const std::string& what, const AuditResult& result) {
                  CAPTURE(what);
                  CAPTURE(result.evidence.epsilon);
                  CHECK(result.certified);
                  CHECK(result.refuted() == !what.empty());
                });
    };
    for (const Certified& one : kCertified)
      all_of(one, one.name == "jackknife" ? 200 : one.name == "hessian-free" ? 60 : 24, 1);
    all_of({"hessian-free"}, 60, 0);  // nothing moves: vectors are added
  }
}

TEST_SUITE("heavy") {
  TEST_CASE("every sabotage of every certified solver is caught on Cora: a table with seconds") {
    const char* const data = std::getenv("UNWEAVE_DATA");
    REQUIRE_MESSAGE(data != nullptr, "name the folder of data sets by UNWEAVE_DATA");
    const testing::TempDir folder;
    Canary canary = cora_canary(std::filesystem::path(data) / "cora", folder / "moving", 200);
    REQUIRE(canary.change.removed.size() == 1);
    REQUIRE(canary.change.moved_to.size() > 0);
    // Where many rows move, the step of `jackknife` ends within a tau alone that hides all, and
    // T2's account charges each of them its worst, by more than an epoch brings two runs nearer.
    // Features themselves do not move.
    Canary still = cora_canary(std::filesystem::path(data) / "cora", folder / "still", 200, 1, {1, 0, 0});
    REQUIRE(still.change.moved_to.size() == 0);
    std::printf("| solver | sabotage | epsilon at least | of | by | seconds |\n|---|---|---|---|---|---|\n");
    for (const Certified& certified : kCertified) {
      const std::string name = certified.name + (certified.adaptive ? ", any start" : "");
      CAPTURE(name);
      auto last = std::chrono::steady_clock::now();
      const bool by_account = certified.name == "langevin" && !certified.adaptive;
      Canary& fitting = by_account || certified.name == "jackknife" ? still : canary;
      audit_all(certified, fitting, 128, 0.999, folder.path(), [&](const std::string& what, const AuditResult& result) {
        const auto now = std::chrono::steady_clock::now();
        std::printf("| `%s` | %s | %.3g | %.3g | %s | %.1f |\n", name.c_str(), what.empty() ? "none" : what.c_str(),
                    result.evidence.epsilon, result.epsilon, std::string(result.attack).c_str(),
                    std::chrono::duration<double>(now - last).count());
        std::fflush(stdout);
        last = now;
        CAPTURE(what);
        CHECK(result.certified);
        CHECK(result.refuted() == !what.empty());
      });
    }
  }

  TEST_CASE("one run on Cora: solvers that keep the old iterate are refuted, honest ones are not") {
    const char* const data = std::getenv("UNWEAVE_DATA");
    REQUIRE_MESSAGE(data != nullptr, "name the folder of data sets by UNWEAVE_DATA");
    const testing::TempDir folder;
    const Canary canary = cora_canary(std::filesystem::path(data) / "cora", folder.path(), 140, 100);
    REQUIRE(canary.change.removed.size() == 100);
    std::printf("| solver | kept | guesses | right | epsilon at least | seconds |\n|---|---|---|---|---|---|\n");
    for (const char* const name : {"exact", "newton", "descent-to-delete", "langevin", "descend", "hessian-free"})
      for (const bool keeps : {false, true}) {
        Subject subject = subject_of(name, canary.before.size(), canary.before.form());
        // The noise is so little that single rows show. Noise that hides each row would hide the
        // coins of all of them.
        auto& set = subject.options.parameters;
        if (runs_in_turn(name)) set["sigma"] = 1e-6;
        if (set.contains("s-max")) set.insert_or_assign("s-max", 5e-6);
        if (set.contains("s-max")) set["epochs"] = 30;
        if (set.contains("s-max")) set["batch-rows"] = static_cast<double>(canary.before.size());
        AuditOptions how;
        how.confidence = 0.995;
        how.folder = folder / "trial";
        how.working_memory = std::size_t{1} << 28;
        const auto began = std::chrono::steady_clock::now();
        const AuditResult result =
            audit_in_one_run(keeps ? made_by<OldIterate>(name) : honest_solver(name), subject.options, canary, how);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        REQUIRE(result.guesses.has_value());
        std::printf("| `%s` | %s | %d | %d | %.3g | %.1f |\n", name, keeps ? "yes" : "no",
                    static_cast<int>(result.guesses->made), static_cast<int>(result.guesses->right),
                    result.evidence.epsilon, seconds);
        CAPTURE(std::string(name));
        CHECK(result.certified);
        CHECK(result.refuted() == keeps);
      }
  }
}
