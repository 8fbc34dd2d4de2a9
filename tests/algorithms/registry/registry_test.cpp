// tests/algorithms/registry/registry_test.cpp - every entry of the registry is whole, and what it
// says of its solver is so.
#include "algorithms/registry/registry.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::kExact;
using testing::random_rows;

SolverOptions default_options() {
  SolverOptions options;
  options.lambda = 0.05;
  options.seed = 3;
  return options;
}

/// A network, or a linear model of a head whose classes do not share a loss.
SolverOptions options_of(bool network) {
  SolverOptions options = default_options();
  if (network) {
    options.head = Head::kSoftmax;
    options.hidden = {2};
  }
  return options;
}

bool takes(std::string_view solver, SolverOptions options) {
  try {
    if (!options.hidden.empty()) options = taken_options(solver, options);
    require_options(solver, options);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("an entry has all that those above ask of it") {
    std::set<std::string_view> names;
    int retraining = 0;
    for (const SolverEntry* const entry : all_solvers()) {
      CAPTURE(std::string(entry->name));
      CHECK(names.insert(entry->name).second);
      CHECK(find_solver(entry->name) == entry);
      CHECK(entry->meaning().size() > 40);
      REQUIRE((entry->make != nullptr));
      REQUIRE((entry->reserve != nullptr));
      CHECK(entry->theorem.empty() == (entry->check_line == nullptr));
      CHECK((entry->plan == nullptr || entry->needs == nullptr));
      CHECK((entry->linear.trained || entry->networks.trained));
      for (const SolverKind* const kind : {&entry->linear, &entry->networks}) {
        if (!kind->trained) CHECK_FALSE(kind->claims);
        if (kind->claims) CHECK((kind->check_certificate != nullptr));
        CHECK(kind->claims == (kind->check_release != nullptr));
      }
      retraining += entry->retrains ? 1 : 0;
    }
    CHECK(retraining == 1);
    CHECK(default_solver().linear.claims);
    CHECK(find_solver("magic") == nullptr);
    CHECK_THROWS_AS(static_cast<void>(solver_entry("magic")), UsageError);
  }

  TEST_CASE("models, heads, bounds and intercepts are taken as the entry says") {
    for (const SolverEntry* const entry : all_solvers()) {
      CAPTURE(std::string(entry->name));
      CHECK(takes(entry->name, options_of(false)) == entry->linear.trained);
      CHECK(takes(entry->name, options_of(true)) == entry->networks.trained);
      SolverOptions coupled = default_options(), printed = default_options(), shifted = default_options();
      coupled.head = Head::kSoftmax;
      printed.bound = BoundRule::kPaper;
      shifted.intercept = true;
      CHECK(takes(entry->name, coupled) == entry->coupled_heads);
      CHECK(takes(entry->name, printed) == entry->printed);
      CHECK(takes(entry->name, shifted) == entry->intercept);
    }
  }

  TEST_CASE("a parameter's default is a value that it may have, and others are refused by name") {
    for (const SolverEntry* const entry : all_solvers()) {
      const bool network = entry->networks.trained;
      for (const Parameter& own : entry->parameters().listed()) {
        CAPTURE(std::string(entry->name));
        CAPTURE(std::string(own.name));
        CHECK_FALSE(own.text.empty());
        SolverOptions options = options_of(network);
        if (own.standard) {
          options.parameters.emplace(own.name, *own.standard);
          CHECK(takes(entry->name, options));
        }
        options = options_of(network);
        options.parameters.emplace(own.name, -1e9);
        CHECK_FALSE(takes(entry->name, options));
        if (!own.networks_only) continue;
        SolverOptions linear = options_of(false);
        linear.parameters.emplace(own.name, own.standard.value_or(1));
        CHECK_FALSE(takes(entry->name, linear));
      }
      SolverOptions unknown = options_of(network);
      unknown.parameters.emplace("no-such-thing", 1);
      CHECK_FALSE(takes(entry->name, unknown));
    }
  }

  TEST_CASE(
      "a kind that claims nothing says so in its report, one that claims names mechanism, reference and theorem") {
    for (const SolverEntry* const entry : all_solvers())
      for (const bool network : {false, true}) {
        if (!entry->kind(network).trained) continue;
        CAPTURE(std::string(entry->name));
        CAPTURE(network);
        const testing::TempDir dir;
        SolverOptions options = options_of(network);
        if (network) options = taken_options(entry->name, options);
        options.seed.reset();
        const Fit fit =
            make_solver(entry->name, options, {std::size_t{1} << 24, dir / "f"})->fit(random_rows(40, 3, 2, 5), kExact);
        const StepReport& report = fit.report;
        CHECK((report.mechanism == kNoMechanism) == !entry->kind(network).claims);
        CHECK(report.claim.has_value() == entry->kind(network).claims);
        CHECK_FALSE(report.reference.empty());
        CHECK(report.certified == report.delta_reached.has_value());
        if (report.certified && !report.private_claim) CHECK(report.claim == entry->theorem);
        if (report.certified) CHECK(*report.delta_reached <= report.delta);
        for (const std::string& name : report.terms.published()) CHECK(report.terms.contains(name));
        CHECK(kind_of(fit.model).claims == entry->kind(network).claims);
      }
  }
}

}  // namespace unweave
