// tests/algorithms/models/learner_test.cpp - models that follow a stream, against fresh stores and
// a dense solver.
#include "algorithms/models/learner.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/live/propagate.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/lazy_error.h"
#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "storage/io/line_log.h"
#include "support/input_files.h"
#include "support/learner_data.h"
#include "support/released_iterate.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::Sample;
using testing::TempDir;

constexpr std::uint64_t kLearnerMemory = std::uint64_t{1} << 30;
const std::vector<double> kWeights{0, 0.25, 0.75};
const ReleaseContext kLearnerContext{false, "test", {}};

/// A store, propagated, and the same contents outside.
struct LearnerWorld {
  TempDir dir;
  Sample sample;
  MemoryBudget budget{kLearnerMemory};

  explicit LearnerWorld(double rho = 0.5, NodeId nodes = 160) : sample(testing::random_sample(nodes, 0.03, 6, 5)) {
    testing::build_store(path(), sample);
    StoreWriter store(path(), budget);
    propagate(store, spec(rho), budget, {});
  }
  [[nodiscard]] std::filesystem::path path() const { return dir / "store"; }
  static PropagationSpec spec(double rho) { return testing::tiny_spec(2, false, rho); }

  /// Requests number `round`: edges, and a node and a feature of training nodes.
  std::vector<Request> requests(unsigned round, bool edges_only = false) const {
    std::vector<Request> out;
    std::size_t at = 0;
    for (const auto& [u, v] : sample.edges)
      if (at++ % 11 == round % 11 && out.size() < 4) out.push_back({RequestKind::remove_edge, u, v});
    if (edges_only) return out;
    NodeId found = 0;
    for (NodeId node = 7 * (round + 1); node < sample.nodes && found < 2; ++node) {
      if (node % 4 == 0 || sample.labels[node] == kNoLabel) continue;
      out.push_back({found++ == 0 ? RequestKind::remove_node : RequestKind::remove_feature, node, 0});
    }
    out.push_back({RequestKind::insert_edge, round, sample.nodes - 1 - round});
    return out;
  }

  BatchReport apply(StoreWriter& store, const std::vector<Request>& batch, double r_max = 0) {
    for (const Request& request : batch) testing::apply_naively(sample, request);
    return store.apply(batch, store.resolve(batch), {r_max, ThresholdScale::absolute});
  }

  /// Training rows of a store built anew from the contents outside.
  TrainingSet fresh_rows(double rho = 0.5) const {
    const TempDir other;
    MemoryBudget own(kLearnerMemory);
    testing::build_store(other / "store", sample);
    StoreWriter store(other / "store", own);
    propagate(store, spec(rho), own, {});
    TrainingSet set(sample.columns, sample.classes);
    std::vector<float> row(sample.columns);
    for (NodeId node = 0; node < sample.nodes; ++node) {
      if (node % 4 == 0 || sample.labels[node] == kNoLabel) continue;
      store.embedding().rows(std::span(&node, 1), kWeights, row.data());
      set.append(node, row, static_cast<ClassId>(sample.labels[node]));
    }
    return set;
  }
};

bool equal_rows(const TrainingSet& a, const TrainingSet& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a.nodes()[i] != b.nodes()[i] || a.labels()[i] != b.labels()[i] || a.rows().norms[i] != b.rows().norms[i] ||
        std::memcmp(a.row(i).data(), b.row(i).data(), a.features() * sizeof(float)) != 0)
      return false;
  return true;
}

/// (published - W*)^2 over what the stated sigma makes of it; 1 on average.
double noise_ratio(const Model& model, const StepReport& report, const TrainingSet& rows) {
  const Matrix best = testing::dense_minimiser(rows, SolverOptions().lambda, model.head);
  return (model.published - best).squaredNorm() /
         (static_cast<double>(best.size()) * std::pow(report.terms.at("sigma"), 2));
}

/// What a batch did, found by comparing two sets row by row.
BatchChange naive_change(const TrainingSet& before, const TrainingSet& after, bool only_edges) {
  BatchChange change(before.features(), before.classes(), before.form());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto at = after.find(before.nodes()[i]);
    if (!at) {
      change.removed.append(before.nodes()[i], before.row(i), before.labels()[i]);
    } else if (!std::equal(before.row(i).begin(), before.row(i).end(), after.row(*at).begin())) {
      change.moved_from.append(before.nodes()[i], before.row(i), before.labels()[i]);
      change.moved_to.append(before.nodes()[i], after.row(*at), before.labels()[i]);
    }
  }
  change.only_edges = only_edges;
  return change;
}

std::vector<nlohmann::json> certificates(const LearnerWorld& world, const std::string& solver) {
  std::ifstream in(world.path() / "certificates" / (solver + ".jsonl"));
  std::vector<nlohmann::json> out;
  for (std::string line; std::getline(in, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("newton and retrain: after every batch the rows are the fresh ones and W* is within the noise") {
    for (const auto& [name, head] :
         {std::pair{"newton", Head::kLogistic}, {"retrain", Head::kLogistic}, {"newton", Head::kSoftmax}}) {
      const char* const solver = name;
      CAPTURE(solver);
      LearnerWorld world;
      StoreWriter store(world.path(), world.budget);
      SolverOptions options;
      options.head = head;
      Learner learner = Learner::train(store, world.budget, solver, options, kWeights, kLearnerContext);
      CHECK(equal_rows(learner.rows(), world.fresh_rows()));
      const std::size_t first = learner.rows().size();
      double squares = noise_ratio(learner.model(), learner.last_step(), learner.rows());
      for (unsigned round = 0; round < 5; ++round) {
        const BatchReport batch = world.apply(store, world.requests(round));
        const StepReport report = learner.absorb(batch);
        const TrainingSet fresh = world.fresh_rows();
        CHECK(equal_rows(learner.rows(), fresh));
        CHECK(report.certified);
        CHECK(report.retrained == (std::string(solver) == "retrain"));
        CHECK(learner.model().sequence == store.sequence());
        const double ratio = noise_ratio(learner.model(), report, fresh);
        CHECK(ratio < 4.5);  // 18 coordinates
        squares += ratio;
      }
      CHECK(learner.rows().size() < first);
      CHECK(squares / 6 > 0.4);  // 108 coordinates: 8 standard deviations of the mean are 1.1
      CHECK(squares / 6 < 2.1);
    }
  }

  TEST_CASE("a follower that skips moved rows would be caught: the noise does not cover it") {
    LearnerWorld world;
    StoreWriter store(world.path(), world.budget);
    Learner learner = Learner::train(store, world.budget, "newton", {}, kWeights, kLearnerContext);
    world.apply(store, world.requests(0, true));
    CHECK(noise_ratio(learner.model(), learner.last_step(), world.fresh_rows()) > 100);
  }

  TEST_CASE("lazy rows stay within the bound of the stale rows, per column, also for other rho") {
    for (const double rho : {0.5, 0.0, 0.7}) {
      CAPTURE(rho);
      LearnerWorld world(rho);
      StoreWriter store(world.path(), world.budget);
      TrainingRows rows(store, kWeights, 1, world.budget);
      CHECK(lazy_error(store.embedding(), store.contents(), kWeights, rows.set().nodes()).exact());
      bool moved = false;
      for (unsigned round = 0; round < 3; ++round) {
        static_cast<void>(rows.follow(world.apply(store, world.requests(round), 0.02).update, false));
        const ApproximationError bound = lazy_error(store.embedding(), store.contents(), kWeights, rows.set().nodes());
        CHECK_FALSE(bound.exact());
        const Eigen::MatrixXd away = testing::dense_rows(rows.set()) - testing::dense_rows(world.fresh_rows(rho));
        const double slack = 1e-6;  // float32 rounding of the rows, which gradient_gap charges
        for (Eigen::Index j = 0; j < away.cols(); ++j) {
          CHECK(away.col(j).norm() <= bound.euclidean[j] + slack);
          CHECK(away.col(j).lpNorm<1>() <= bound.absolute[j] + 10 * slack);
        }
        const double every_row = lazy_error_bound(store.embedding(), store.contents());
        for (Eigen::Index j = 0; j < away.cols(); ++j) CHECK(away.col(j).norm() <= every_row + slack);
        // Degrees bounded by the number of nodes, and all rows in place of the training rows, cost
        // so much and no more.
        const double stretch = std::pow(world.sample.nodes, std::max(0.0, 0.5 - rho));
        CHECK(every_row <= 2 * stretch * bound.euclidean.maxCoeff());
        CHECK(bound.euclidean.maxCoeff() <= 10 * away.colwise().norm().maxCoeff());
        moved |= away.norm() > 1e-4;
      }
      CHECK(moved);
      static_cast<void>(rows.follow(store.publish_stale(), true));
      CHECK(equal_rows(rows.set(), world.fresh_rows(rho)));
      CHECK(lazy_error(store.embedding(), store.contents(), kWeights, rows.set().nodes()).exact());
      CHECK(lazy_error_bound(store.embedding(), store.contents()) == 0);
    }
  }

  TEST_CASE("rows that are not finite name the store and the user's node") {
    LearnerWorld world;
    StoreWriter store(world.path(), world.budget);
    std::string message;
    try {
      TrainingRows(store, std::vector<double>{0, std::numeric_limits<double>::quiet_NaN(), 1}, 1, world.budget);
    } catch (const DataError& error) {
      message = error.what();
    }
    CHECK(message.starts_with(world.path().string() + ": the embedding of node "));
    CHECK(message.find("run `verify " + world.path().string() + "`") != std::string::npos);
  }

  TEST_CASE("the rows of a change are charged as long as it lives") {
    LearnerWorld world;
    StoreWriter store(world.path(), world.budget);
    TrainingRows rows(store, kWeights, 1, world.budget);
    const std::uint64_t row_bytes = world.sample.columns * sizeof(float) + 16;
    {
      const BatchReport batch = world.apply(store, world.requests(0));
      const std::uint64_t before = world.budget.used();
      const BatchChange change = rows.follow(batch.update, true);
      CHECK(change.removed.size() == 2);
      CHECK(change.moved_to.size() > 0);
      CHECK(world.budget.used() >= before + (2 + 2 * change.moved_to.size()) * row_bytes);
    }
    const BatchReport batch = world.apply(store, world.requests(1));
    const std::uint64_t before = world.budget.used();
    {
      const BatchChange change = rows.follow(batch.update, false);
      CHECK(world.budget.used() == before + 2 * row_bytes);
      CHECK(change.removed.size() == 2);
    }
    CHECK(world.budget.used() == before);
    const BatchReport last = world.apply(store, world.requests(2));
    const Reservation rest = world.budget.reserve(world.budget.available() - 1, "the rest");
    CHECK_THROWS_AS(static_cast<void>(rows.follow(last.update, false)), ResourceError);
  }

  TEST_CASE("a learner sets aside what its steps keep") {
    LearnerWorld world(0.5, 1600);
    StoreWriter store(world.path(), world.budget);
    const std::uint64_t before = world.budget.used();
    const Learner learner = Learner::train(store, world.budget, "scalegun", {}, kWeights, kLearnerContext);
    const TrainingSet& rows = learner.rows();
    const WorkingMemory memory = working_memory_within(rows.rows(), rows.classes(), kLearnerMemory);
    CHECK(memory.preconditioner > 0);
    CHECK(memory.curvatures == rows.size() * rows.classes() * sizeof(float));
    CHECK(world.budget.used() == before + memory.total() + rows.size() * (rows.features() * sizeof(float) + 16));
  }

  TEST_CASE("cgu asks for a flush after every lazy batch and absorbs exactly the rows that moved") {
    LearnerWorld world;
    StoreWriter store(world.path(), world.budget);
    SolverOptions options;
    options.seed = 3;
    options.alpha = 5;
    options.lambda = 0.5;  // small steps, so that the budget lasts
    Learner learner = Learner::train(store, world.budget, "cgu", options, kWeights, kLearnerContext);
    for (unsigned round = 0; round < 3; ++round) {
      const TrainingSet before = learner.rows();
      Model twin = learner.model();
      const StepReport report = learner.absorb(world.apply(store, world.requests(round), 0.02));
      const TrainingSet after = world.fresh_rows();
      CHECK(equal_rows(learner.rows(), after));
      CHECK_FALSE(report.retrained);
      const auto solver = make_solver("cgu", options, {kLearnerMemory});
      const StepReport expected = solver->absorb(twin, after, naive_change(before, after, false), {});
      CHECK(learner.model().published == twin.published);
      CHECK(report.residual_bound == expected.residual_bound);
      CHECK(store.pending_requests() == 0);  // a flush is checkpointed before the model stands on it
    }
  }

  TEST_CASE("scalegun charges the stale rows of a lazy stream and publishes them when they spend the budget") {
    LearnerWorld world;
    StoreWriter store(world.path(), world.budget);
    SolverOptions options;
    options.alpha = 100;
    options.lambda = 0.5;
    Learner learner = Learner::train(store, world.budget, "scalegun", options, kWeights, kLearnerContext);
    const StepReport lazy = learner.absorb(world.apply(store, world.requests(0), 0.02));
    CHECK(lazy.terms.at("approximation") > 0);
    CHECK_FALSE(lazy.certified);
    CHECK(store.embedding().stale_rows() > 0);
    options.alpha = 1e-3;
    Learner poor = Learner::train(store, world.budget, "scalegun", options, kWeights, kLearnerContext);
    CHECK(store.embedding().stale_rows() == 0);
    const StepReport flushed = poor.absorb(world.apply(store, world.requests(1), 0.02));
    CHECK(flushed.terms.at("approximation") == 0);
    CHECK(store.embedding().stale_rows() == 0);
    CHECK(equal_rows(poor.rows(), world.fresh_rows()));
  }

  TEST_CASE("softmax on a lazy stream is as near to the minimiser on the exact rows as it says") {
    LearnerWorld world;
    StoreWriter store(world.path(), world.budget);
    SolverOptions options;
    options.head = Head::kSoftmax;
    options.lambda = 0.1;
    options.tau = 1;
    options.seed = 5;
    Learner learner = Learner::train(store, world.budget, "newton", options, kWeights, kLearnerContext);
    for (unsigned round = 0; round < 5; ++round) {
      const StepReport report = learner.absorb(world.apply(store, world.requests(round), 0.02));
      const TrainingSet exact = world.fresh_rows();
      const Matrix best = testing::dense_minimiser(exact, options.lambda, options.head);
      const Matrix lazy = testing::dense_minimiser(learner.rows(), options.lambda, options.head);
      const double mu = report.terms.at("mu");
      CHECK(report.residual_bound <= report.budget);
      CHECK((testing::without_noise(learner.model(), report, options) - best).norm() * mu <= report.residual_bound);
      CHECK((lazy - best).norm() * mu <= report.terms.at("approximation"));
      CHECK((lazy - best).norm() * mu >= 1e-3);
    }
    CHECK(store.embedding().stale_rows() > 0);
    options.tau = 1e-6;
    Learner strict = Learner::train(store, world.budget, "newton", options, kWeights, kLearnerContext);
    CHECK(store.embedding().stale_rows() == 0);
    CHECK(strict.last_step().terms.at("approximation") == 0);
  }

  TEST_CASE("a crash between journal and model: the next learner catches up once, and draws no noise again") {
    for (const char* solver : {"newton", "scalegun"}) {
      CAPTURE(solver);
      const bool step = std::string(solver) == "newton";
      LearnerWorld world;
      {
        StoreWriter store(world.path(), world.budget);
        Learner learner = Learner::train(store, world.budget, solver, {}, kWeights, kLearnerContext);
        CHECK_FALSE(learner.catch_up().has_value());
        learner.absorb(world.apply(store, world.requests(0)));
        world.apply(store, world.requests(1));  // durable, but the learner never hears of it
      }
      StoreWriter store(world.path(), world.budget);
      Learner learner = Learner::open(store, world.budget, solver, kLearnerContext, std::nullopt);
      CHECK(learner.model().sequence < store.sequence());
      const auto report = learner.catch_up();
      REQUIRE(report.has_value());
      CHECK(report->retrained == !step);
      CHECK(learner.model().sequence == store.sequence());
      if (step) CHECK(noise_ratio(learner.model(), *report, world.fresh_rows()) < 4.5);
      CHECK_FALSE(learner.catch_up().has_value());
      Learner again = Learner::open(store, world.budget, solver, kLearnerContext, std::nullopt);
      CHECK_FALSE(again.catch_up().has_value());
      CHECK(again.model().published == learner.model().published);
      CHECK(again.model().state.arrays == learner.model().state.arrays);
      again.absorb(world.apply(store, world.requests(2)));  // goes on from the file
      CHECK(again.model().releases == learner.model().releases + 1);
    }
  }

  TEST_CASE("certificates: one a release, in order, completed after a crash between model and log") {
    LearnerWorld world;
    StoreWriter store(world.path(), world.budget);
    {
      Learner other = Learner::train(store, world.budget, "retrain", {}, kWeights, kLearnerContext);
      Learner learner = Learner::train(store, world.budget, "newton", {}, kWeights, kLearnerContext);
      for (unsigned round = 0; round < 2; ++round) learner.absorb(world.apply(store, world.requests(round)));
    }
    const auto all = certificates(world, "newton");
    REQUIRE(all.size() == 3);
    const std::set<std::string> public_fields{"mechanism", "theorem",  "certified", "claim",    "reference",
                                              "adjacency", "requests", "releases",  "withdraw", "epsilon",
                                              "delta",     "terms",    "constants", "version",  "sequence"};
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const std::string& field : public_fields) CHECK_MESSAGE(all[i].contains(field), field);
      CHECK(all[i]["theorem"] == "T1");
      CHECK(all[i]["requests"] == "non-adaptive");
      CHECK(all[i]["delta"]["reached"].get<double>() <= all[i]["delta"]["target"].get<double>());
      CHECK(all[i]["delta"]["reached"].get<double>() > 0.9 * all[i]["delta"]["target"].get<double>());
      CHECK(all[i]["release"] == i + 1);
    }
    CHECK(all[2]["sequence"] == store.sequence());
    const auto withdraw = all[1]["withdraw"].get<std::set<std::string>>();
    CHECK(withdraw.contains(all[0]["id"].get<std::string>()));
    CHECK(withdraw.contains(certificates(world, "retrain")[0]["id"].get<std::string>()));
    CHECK(all[2]["withdraw"].get<std::set<std::string>>().contains(all[1]["id"].get<std::string>()));

    const auto path = world.path() / "certificates" / "newton.jsonl";
    const std::string text = testing::read_all(path);
    const std::string two = text.substr(0, text.find('\n', text.find('\n') + 1) + 1);
    std::ofstream(path, std::ios::trunc) << two << "{\"id\":\"to";
    static_cast<void>(Learner::open(store, world.budget, "newton", kLearnerContext, std::nullopt));
    CHECK(certificates(world, "newton") == all);
    std::ofstream(path, std::ios::trunc) << two;
    static_cast<void>(
        Learner::train(store, world.budget, "newton", {}, kWeights, kLearnerContext));  // in that model's place
    REQUIRE(certificates(world, "newton").size() == 4);
    CHECK(certificates(world, "newton")[2] == all[2]);
  }

  TEST_CASE("models that do not belong to the store's propagation, or are ahead of the store, are refused") {
    LearnerWorld world;
    StoreWriter store(world.path(), world.budget);
    CHECK_THROWS_AS(Learner::open(store, world.budget, "newton", kLearnerContext, std::nullopt), UsageError);
    CHECK_THROWS_AS(Learner::open(store, world.budget, "nonsense", kLearnerContext, std::nullopt), UsageError);
    CHECK_THROWS_AS(Learner::train(store, world.budget, "newton", {}, std::vector<double>{1.0}, kLearnerContext),
                    UsageError);
    MemoryBudget small(100);
    CHECK_THROWS_AS(Learner::train(store, small, "newton", {}, kWeights, kLearnerContext), ResourceError);
    CHECK(list_models(world.path()).empty());

    static_cast<void>(Learner::train(store, world.budget, "newton", {}, kWeights, kLearnerContext));
    CHECK(list_models(world.path()).at(0).solver == "newton");
    ModelRecord record = load_model(world.path(), "newton");
    record.model.sequence = store.sequence() + 1;
    save_model(world.path(), record);
    CHECK_THROWS_AS(Learner::open(store, world.budget, "newton", kLearnerContext, std::nullopt), DataError);
    record.model.sequence = 0;
    save_model(world.path(), record);
    propagate(store, testing::tiny_spec(3, false), world.budget, {});
    CHECK_THROWS_AS(Learner::open(store, world.budget, "newton", kLearnerContext, std::nullopt), DataError);
    std::ofstream(world.path() / "models" / "newton.model", std::ios::trunc) << "damaged";
    CHECK_FALSE(list_models(world.path())[0].damage.empty());
    static_cast<void>(
        Learner::train(store, world.budget, "newton", {}, std::vector<double>{0, 0, 0, 1}, kLearnerContext));
    CHECK(list_models(world.path())[0].damage.empty());
  }

  TEST_CASE("accuracy counts the largest score over every split, and follows removals") {
    LearnerWorld world;
    StoreWriter store(world.path(), world.budget);
    const Learner learner = Learner::train(store, world.budget, "newton", {}, kWeights, kLearnerContext);
    const Matrix& published = learner.model().published;
    world.apply(store, world.requests(0));
    const auto naive = [&](bool test_nodes) {
      std::vector<float> row(world.sample.columns);
      double right = 0, all = 0;
      for (NodeId node = 0; node < world.sample.nodes; ++node) {
        if (world.sample.labels[node] == kNoLabel || (node % 4 == 0) != test_nodes) continue;
        store.embedding().rows(std::span(&node, 1), kWeights, row.data());
        Eigen::VectorXd scores = Eigen::VectorXd::Zero(published.cols());
        for (Eigen::Index f = 0; f < published.rows(); ++f)
          scores += static_cast<double>(row[size_of(f)]) * published.row(f).transpose();
        right += scores(world.sample.labels[node]) == scores.maxCoeff() ? 1 : 0;
        ++all;
      }
      return right / all;
    };
    const Accuracies found = evaluate_model(store, learner.record());
    CHECK(found.train == naive(false));
    CHECK(found.test == naive(true));
    CHECK_FALSE(found.valid.has_value());
  }
}

}  // namespace unweave
