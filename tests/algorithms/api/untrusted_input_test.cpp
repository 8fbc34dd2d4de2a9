// tests/algorithms/api/untrusted_input_test.cpp - what no command line has checked is refused
// before anything is written.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "support/model_store.h"
#include "unweave/audit.h"
#include "unweave/evaluate.h"
#include "unweave/maintenance.h"
#include "unweave/plan.h"
#include "unweave/rows.h"
#include "unweave/store.h"
#include "unweave/stream.h"

namespace unweave {
namespace {

using testing::ModelStore;

PropagationSpec spec_of(std::uint32_t levels, std::vector<double> weights, std::string scheme) {
  PropagationSpec spec;
  spec.levels = levels;
  spec.weights = std::move(weights);
  spec.scheme = std::move(scheme);
  return spec;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("weights that a scheme does not give are refused, and those that are missing follow from it") {
    ModelStore at;
    Writer writer(at.store, at.resources);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const PropagationSpec& wrong :
         {spec_of(2, {1}, ""), spec_of(2, {1, 2}, "gpr"), spec_of(2, {0, 1, 0}, "sgc"), spec_of(2, {0, 0, nan}, "gpr"),
          spec_of(2, {}, "gpr"), spec_of(2, {}, "none"), spec_of(2000, {}, "sgc"), spec_of(2, {}, "chebyshev")}) {
      CAPTURE(wrong.scheme);
      CHECK_THROWS_AS(writer.propagate(wrong), UsageError);
      CHECK(describe_store(at.store, at.resources).propagation->weights == std::vector<double>{0, 0, 1});
    }
    writer.propagate(spec_of(1, {}, ""));
    CHECK(writer.propagation()->weights == std::vector<double>{0, 1});
    writer.propagate(spec_of(1, {0.5, 0.5}, ""));
    CHECK(writer.propagation()->scheme == "gpr");
    CHECK(verify_store(at.store, {std::nullopt, true}, at.resources).ok());
  }

  TEST_CASE("a writer whose propagation failed changes nothing more, and the next one goes on") {
    ModelStore at;
    const PropagationSpec spec = spec_of(3, {}, "sgc");
    {
      Writer writer(at.store, at.resources);
      const PropagateMeter stop = [](const PropagateProgress&) { throw Cancelled(); };
      CHECK_THROWS_AS(writer.propagate(spec, stop), Cancelled);
      StreamSession session(writer);
      CHECK_THROWS_AS(session.send(std::vector<Request>{{RequestKind::remove_node, 17, 0}}), DataError);
      CHECK_THROWS_AS(session.close(), DataError);
    }
    CHECK(Reader(at.store, at.resources).acknowledged() == 0);
    CHECK(verify_store(at.store, {std::nullopt, true}, at.resources).ok());
    Writer(at.store, at.resources).propagate(spec);
    CHECK(verify_store(at.store, {std::nullopt, true}, at.resources).ok());
  }

  TEST_CASE("a training without options is that of the command: the solver's intercept, lambda by the store's size") {
    ModelStore at;
    const TrainedModel model = Writer(at.store, at.resources).train({});
    CHECK(model.facts.options.intercept);
    CHECK(model.facts.options.lambda == model.default_lambda);
    CHECK_FALSE(Writer(at.store, at.resources).train({.intercept = false}).facts.options.intercept);
  }

  TEST_CASE("ids outside the store are named") {
    ModelStore at;
    const Reader reader(at.store, at.resources);
    const std::vector<NodeId> outside{3, 400'000'000};
    const StoredModel model = read_model(at.store, {});
    const auto named = doctest::Contains("node 400000000");
    CHECK_THROWS_WITH_AS(Evaluator(reader, nullptr, {.nodes = outside}), named, UsageError);
    CHECK_THROWS_WITH_AS(export_embeddings(reader, outside, {}, NpyTarget(at.folder / "z.npy")), named, UsageError);
    CHECK_THROWS_WITH_AS(score_nodes(reader, model, outside, {}), named, UsageError);
    DrawOptions draw;
    draw.count = 1;
    draw.pool = outside;
    CHECK_THROWS_WITH_AS(static_cast<void>(draw_requests(reader, draw)), named, UsageError);
  }

  TEST_CASE("attacks, batches of plans and keys are checked") {
    ModelStore at;
    CHECK_THROWS_AS(static_cast<void>(plan_attacks(at.store, {}, {.rows = 0}, at.resources)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(plan_attacks(at.store, {}, {.canary = "hubb"}, at.resources)), UsageError);
    CHECK_THROWS_AS(RemovedRows(Reader(at.store, at.resources), 0), UsageError);
    VerifyOptions options;
    options.public_key = "77";
    CHECK_THROWS_AS(static_cast<void>(verify_store(at.store, options, at.resources)), UsageError);
  }
}

}  // namespace unweave
