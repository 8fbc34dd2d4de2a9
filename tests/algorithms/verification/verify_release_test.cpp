// tests/algorithms/verification/verify_release_test.cpp - published weights that are not what their
// certificates say.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/models/learner.h"
#include "algorithms/verification/verify.h"
#include "support/learner_data.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

using testing::check_one;
using testing::check_remark;
using testing::Json;
using testing::seeded;
using testing::term;
using testing::text_of;
using testing::TrainedStore;
using testing::unseeded;

Matrix on_grid(const Matrix& weights, double grid) {
  return (weights / grid).unaryExpr([](double x) { return std::nearbyint(x); }) * grid;
}

TEST_SUITE("unit") {
  TEST_CASE("true releases pass for every head, small and large tau, few and many weights" *
            doctest::test_suite("slow")) {
    for (const std::uint32_t columns : {1U, 2U, 8U}) {
      CAPTURE(columns);
      const TrainedStore world(columns);
      for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        SolverOptions options = seeded(seed);
        options.head = kHeads[seed / 3 % kHeads.size()];
        options.tau = seed % 3 == 0 ? 0.05 : 1e-6;
        world.train("newton", options);
        const VerifyReport report = world.verify();
        CHECK(text_of(report) == "");
        CHECK(report.models == 1);
      }
    }
  }

  TEST_CASE("too little noise, too much and shifted weights are false, with every certificate and checksum right") {
    for (const char* solver : {"newton", "retrain"}) {
      CAPTURE(solver);
      const TrainedStore world;
      world.train(solver);
      const ModelRecord good = load_model(world.store, solver);
      const double grid = term(good, "grid"), sigma = term(good, "sigma");
      const Matrix best = testing::dense_minimiser(world.rows(), good.options.lambda);
      const Matrix noise = good.model.published - best;
      REQUIRE(noise.size() == 128);
      const auto publish = [&](const Matrix& weights) {
        world.forge(solver, [&](ModelRecord& record) { record.model.published = on_grid(weights, grid); });
        return world.verify();
      };
      const std::string words = "releases: " + std::string(solver) + ": the published weights stand ";
      check_one(publish(best), false, words);
      check_one(publish(best + 0.3 * noise), false, words);
      check_one(publish(best + 2 * noise), false, words);
      Matrix shifted = good.model.published;
      shifted(3, 1) += 40 * sigma;
      check_one(publish(shifted), false, words);
      shifted(3, 1) = std::nan("");
      check_one(publish(shifted), false, "not finite");
      CHECK(text_of(publish(best - noise)) == "");  // as likely as the release itself

      world.forge(solver, [&](ModelRecord& record) { record.model.published = best; });
      check_one(world.verify(), false, "off the grid");
    }
  }

  TEST_CASE("softmax: an altered weight, a release that skipped a removal and another head are found") {
    const TrainedStore world;
    SolverOptions options = unseeded();
    options.head = Head::kSoftmax;
    world.train("newton", options);
    CHECK(text_of(world.verify()) == "");
    const ModelRecord good = load_model(world.store, "newton");
    CHECK(good.options.head == Head::kSoftmax);
    CHECK(whole_certificate(good)["constants"]["head"]["value"] == "softmax");
    CHECK(good.certificate.find("ln sum_c exp(z_i.w_c)") != std::string::npos);
    const std::string words = "releases: newton: the published weights stand ";
    world.forge("newton", [&](ModelRecord& record) {
      record.model.published(3, 1) +=
          on_grid(Matrix::Constant(1, 1, 40 * term(good, "sigma")), term(good, "grid"))(0, 0);
    });
    check_one(world.verify(), false, words);
    world.forge(
        "newton",
        [&](ModelRecord& record) {
          record.model = good.model;
          record.options.head = Head::kLogistic;
        },
        [](Json& json) { json["constants"]["head"]["value"] = "logistic"; });
    testing::check_among(world.verify(), words);
    testing::check_among(world.verify(), "reference is not in the words that T1 has");
    world.forge("newton", [&](ModelRecord& record) { record.options.head = Head::kSoftmax; });
    testing::check_among(world.verify(), "head is \"logistic\" in the certificate and \"softmax\" in the model");

    world.train("newton", options);
    world.stream({world.edge_of_training_node()});
    world.forge("newton", [](ModelRecord& record) { record.model.sequence = 1; });
    testing::check_among(world.verify(), words);  // the first line is the forged one yet
  }

  TEST_CASE("few coordinates: four times the noise is found") {
    const TrainedStore world(2);
    world.train("newton");
    const ModelRecord good = load_model(world.store, "newton");
    const Matrix best = testing::dense_minimiser(world.rows(), good.options.lambda);
    const Matrix noise = (good.model.published - best).normalized() * std::sqrt(8.0) * term(good, "sigma");
    const auto publish = [&](double factor) {
      world.forge("newton", [&](ModelRecord& record) {
        record.model.published = on_grid(best + factor * noise, term(good, "grid"));
      });
      return world.verify();
    };
    CHECK(text_of(publish(1)) == "");
    check_one(publish(4), false, "stand ");
  }

  TEST_CASE(
      "a model that was not unlearnt, and noise used twice, are told by a copy from before where norms tell nothing") {
    // There are many weights: with few of them, ten deviations more would often show in the norm,
    // and the test would fail by chance.
    constexpr std::uint32_t kColumns = 128;
    const TrainedStore world(kColumns);
    SolverOptions options = unseeded();
    const auto train_to = [&](double tau) {
      options.tau = tau;
      world.train("newton", options);
      return term(load_model(world.store, "newton"), "sigma");
    };
    const std::filesystem::path copy = world.folder / "before";
    const Request request = {RequestKind::remove_node, world.rows().nodes()[3], 0};
    const Matrix old = testing::dense_minimiser(world.rows(), options.lambda);
    const double per_tau = train_to(1e-3) / 1e-3;
    // The removal will move the minimiser by about ten standard deviations.
    const TrainedStore other(kColumns);
    other.stream({request});
    const Matrix now = testing::dense_minimiser(other.rows(), options.lambda);
    static_cast<void>(train_to((old - now).norm() / 10 / per_tau));
    std::filesystem::copy(world.store, copy, std::filesystem::copy_options::recursive);
    const ModelRecord before = load_model(copy, "newton");
    world.stream({request}, {"newton"});
    const ModelRecord good = load_model(world.store, "newton");
    const double grid = term(good, "grid"), sigma = term(good, "sigma");
    CHECK((old - now).norm() / sigma > 9);
    CHECK((old - now).norm() / sigma < 11);
    const auto publish = [&](const Matrix& weights) {
      world.forge("newton", [&](ModelRecord& record) { record.model.published = on_grid(weights, grid); });
    };
    const auto verify_with = [&] {
      VerifyOptions compared;
      compared.before = copy;
      return verify_store(world.store, compared, testing::ample_budget());
    };
    CHECK(text_of(verify_with()) == "");
    publish(old + (good.model.published - now));
    CHECK(text_of(world.verify()) == "");
    check_one(verify_with(), false, "towards the minimiser of the rows before");
    publish(now + (before.model.published - old));
    CHECK(text_of(world.verify()) == "");
    check_one(verify_with(), false, "it was used twice");
    publish(good.model.published);
    CHECK(text_of(verify_with()) == "");
    std::filesystem::remove_all(copy / "models");
    CHECK(verify_with().ok());
    CHECK(text_of(verify_with()).find("not compared with") != std::string::npos);
  }

  TEST_CASE("where features outnumber rows, the directions of the rows tell what all directions hide") {
    const TrainedStore world(1000);
    world.train("newton");
    const ModelRecord good = load_model(world.store, "newton");
    const double grid = term(good, "grid"), sigma = term(good, "sigma");
    const TrainingSet rows = world.rows();
    const auto publish = [&](std::size_t row, double deviations) {
      world.forge("newton", [&](ModelRecord& record) {
        const Eigen::Map<const Eigen::VectorXf> direction(rows.rows().values + row * rows.features(),
                                                          index_of(rows.features()));
        record.model.published = good.model.published;
        record.model.published.col(1) += deviations * sigma * direction.cast<double>().normalized();
        record.model.published = on_grid(record.model.published, grid);
      });
      return world.verify();
    };
    CHECK(text_of(publish(0, 0)) == "");
    CHECK(text_of(publish(0, 4)) == "");
    // One draw of noise in some thousands lets all directions tell it, too.
    testing::check_among(publish(0, 17), "in the directions of the present rows the published weights stand ");
  }

  TEST_CASE("a model that did not follow a removal is found; one that says that it is outdated is not false") {
    const TrainedStore world;
    for (const char* solver : {"newton", "scalegun"}) world.train(solver);
    world.stream({world.edge_of_training_node()});
    const VerifyReport outdated = world.verify();
    CHECK(text_of(outdated) == "0 newton: outdated: has absorbed 0 of 1 requests; `stream " + world.store.string() +
                                   " requests=/dev/null solver=newton` brings it up to date\n" +
                                   "0 scalegun: outdated: has absorbed 0 of 1 requests; `stream " +
                                   world.store.string() +
                                   " requests=/dev/null solver=scalegun` brings it up to date\n");
    CHECK(outdated.models == 0);
    CHECK(outdated.outdated == 2);

    const auto pretend = [](ModelRecord& record) { record.model.sequence = 1; };
    world.forge("newton", pretend);
    check_one(world.verify(), false, "releases: newton: the published weights stand ");
    world.forge("scalegun", pretend);
    CHECK(text_of(world.verify()).find("4 releases: scalegun: the gradient at the published weights") !=
          std::string::npos);
    for (const char* solver : {"newton", "scalegun"}) world.train(solver);
    CHECK(world.verify().models == 2);
    world.forge("newton", [](ModelRecord& record) { record.model.sequence = 2; });
    CHECK(text_of(world.verify()).find("newton has absorbed 2: acknowledged requests are missing") !=
          std::string::npos);
  }

  TEST_CASE("a model on more rows than there are is found") {
    const TrainedStore world;
    world.train("newton");
    world.train("ceu");
    const auto rows = world.rows();
    world.stream({{RequestKind::remove_node, rows.nodes()[0], 0}}, {"ceu"});
    world.forge("newton", [](ModelRecord& record) { record.model.sequence = 1; });
    check_one(world.verify(), false,
              "newton: the model says that it was trained on " + std::to_string(rows.size()) + " rows, there are " +
                  std::to_string(rows.size() - 1));
    CHECK(world.verify().models == 1);
  }

  TEST_CASE("objective noise: the gradient at the published weights stays within the account") {
    for (const char* solver : {"scalegun", "cgu", "ceu"}) {
      CAPTURE(solver);
      const TrainedStore world;
      world.train(solver, unseeded(50));
      world.stream({world.edge_of_training_node()}, {solver});
      const ModelRecord good = load_model(world.store, solver);
      REQUIRE_FALSE(whole_certificate(good)["retrained"].get<bool>());
      CHECK(text_of(world.verify()) == "");
      const double bound = term(good, "corrected_bound");
      REQUIRE(bound > 0);
      const double mu = good.options.lambda * static_cast<double>(good.model.trained_rows);

      world.forge(solver, [&](ModelRecord& record) {  // strong convexity makes this a gradient above the bound
        record.model.published(0, 0) += 2.1 * bound / mu;
      });
      check_one(world.verify(), false, "releases: " + std::string(solver) + ": the gradient at the published weights");
      world.forge(solver, [&](ModelRecord& record) {
        record.model = good.model;
        std::fill_n(record.model.state.arrays.at("objective_noise").begin(),
                    record.model.state.arrays.at("objective_noise").size(), 0.0);
      });
      check_one(world.verify(), false, "the gradient at the published weights");
      for (const double odd : {std::numeric_limits<double>::quiet_NaN(), 1e101}) {
        world.forge(solver, [&](ModelRecord& record) {
          record.model = good.model;
          record.model.state.arrays.at("objective_noise")[0] = odd;
        });
        check_one(world.verify(), false, "the noise of the objective is not finite numbers");
      }
      world.forge(solver, [&](ModelRecord& record) { record.model.state.arrays.erase("objective_noise"); });
      check_one(world.verify(), false, "no objective_noise");
      const auto restore = [&](ModelRecord& record) { record.model = good.model; };
      world.forge(solver, restore, [](Json& json) { json["residual_bound"] = json["terms"]["corrected_bound"] = 0.0; });
      check_one(world.verify(), false, "the corrected bound is 0.0");
      world.forge(solver, restore, [&](Json& json) { json["terms"]["corrected_bound"] = bound; });
      check_one(world.verify(), false, "residual_bound is 0.0 in the certificate");
      world.forge(solver, restore, [&](Json& json) { json["residual_bound"] = bound; });
      CHECK(text_of(world.verify()) == "");
      world.forge(solver, restore, [](Json& json) { json["budget"] = 3.0; });
      check_one(world.verify(), false, "budget is 3.0");
    }
  }

  TEST_CASE("printed bounds are not checked, and that is said") {
    const TrainedStore world;
    SolverOptions options = unseeded();
    options.bound = BoundRule::kPaper;
    world.train("scalegun", options);
    check_remark(world.verify(), "bound=paper");
    CHECK(world.verify().models == 1);
  }

  TEST_CASE("what keeps a model from being computed again is remarked on: memory, stale rows, another propagation") {
    const TrainedStore world;
    world.train("newton");
    SolverOptions options = seeded();  // other noise may exhaust the budget, and a retraining publishes all stale rows
    options.alpha = 1e4;
    world.train("scalegun", options);
    MemoryBudget small(13200);  // to open the store and its models, and not for its training rows
    const VerifyReport poor = world.verify(small);
    CHECK(poor.ok());
    CHECK(poor.models == 0);
    REQUIRE(poor.remarks.size() == 3);
    CHECK(poor.remarks[0].find("propagation: the sums of all rows were not proved: ") == 0);
    CHECK(poor.remarks[1].find("newton: not computed again: ") == 0);
    CHECK(poor.remarks[1].find("training rows") != std::string::npos);
    CHECK(small.used() == 0);

    world.stream({world.edge_of_training_node(), {RequestKind::remove_edge, 0, 5}}, {"scalegun"}, 0.5, 1);
    const VerifyReport lazy = world.verify();
    CHECK(lazy.ok());
    CHECK(lazy.models == 0);
    CHECK(text_of(lazy).find("scalegun: not computed again: ") != std::string::npos);
    CHECK(text_of(lazy).find(" stale rows of a lazy stream") != std::string::npos);

    world.train("newton");
    testing::propagate_store(world.store, testing::tiny_spec(1, false));
    const VerifyReport other = world.verify();
    CHECK(other.ok());
    CHECK(other.models == 0);
    CHECK(text_of(other).find("the model of newton stands on another propagation") != std::string::npos);
  }
}

}  // namespace
}  // namespace unweave
