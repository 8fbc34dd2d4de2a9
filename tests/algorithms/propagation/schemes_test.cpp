// tests/algorithms/propagation/schemes_test.cpp - rows of every scheme and side of the
// normalisation, as algorithms/propagation/PROPAGATION.md states them, against dense recursions
// that know no weights.
#include "algorithms/propagation/schemes.h"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "algorithms/live/propagate.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/numerics/matrix.h"
#include "storage/io/error.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"

using namespace unweave;

namespace {

using Dense = Eigen::MatrixXd;

/// D^-rho A D^(rho-1), A with a self loop at every node, which D counts.
Dense operator_of(const testing::Sample& sample, double rho) {
  const auto n = static_cast<Eigen::Index>(sample.nodes);
  Dense a = Dense::Identity(n, n);
  for (const auto& [u, v] : sample.edges) a(u, v) = a(v, u) = 1;
  const Eigen::ArrayXd degrees = a.rowwise().sum().array();
  return degrees.pow(-rho).matrix().asDiagonal() * a * degrees.pow(rho - 1).matrix().asDiagonal();
}

Dense features_of(const testing::Sample& sample) {
  Dense x(sample.nodes, sample.columns);
  for (Eigen::Index i = 0; i < x.rows(); ++i)
    for (Eigen::Index j = 0; j < x.cols(); ++j)
      x(i, j) = static_cast<double>(sample.features[static_cast<std::size_t>(i * x.cols() + j)]);
  return x;
}

/// APPNP's recursion.
Dense by_ppr(const Dense& p, const Dense& x, std::uint32_t levels, double alpha) {
  Dense h = x;
  for (std::uint32_t l = 0; l < levels; ++l) h = (1 - alpha) * p * h + alpha * x;
  return h;
}

/// e^-T sum of (T P)^l X / l!, term after term.
Dense by_heat(const Dense& p, const Dense& x, std::uint32_t levels, double time) {
  Dense term = x, sum = x;
  for (std::uint32_t l = 1; l <= levels; ++l) {
    term = p * term * (time / l);
    sum += term;
  }
  return std::exp(-time) * sum;
}

/// Horner's rule.
Dense by_gpr(const Dense& p, const Dense& x, const std::vector<double>& weights) {
  Dense sum = weights.back() * x;
  for (std::size_t l = weights.size() - 1; l-- > 0;) sum = p * sum + weights[l] * x;
  return sum;
}

Dense store_rows(const std::filesystem::path& folder, const std::string& scheme, std::uint32_t levels,
                 const std::vector<double>& weights, double rho) {
  MemoryBudget budget(std::uint64_t{1} << 28);
  PropagationSpec spec;
  spec.levels = levels;
  spec.scheme = scheme;
  spec.rho = rho;
  spec.weights = scheme_weights(scheme, levels, weights);
  StoreWriter store(folder, budget);
  propagate(store, spec, budget, {});
  std::vector<NodeId> nodes(store.contents().num_nodes());
  std::iota(nodes.begin(), nodes.end(), 0);
  const std::size_t width = store.embedding().row_width(spec.weights);
  std::vector<float> rows(nodes.size() * width);
  store.embedding().rows(nodes, spec.weights, rows.data());
  Dense out(nodes.size(), width);
  for (std::size_t i = 0; i < rows.size(); ++i)
    out(static_cast<Eigen::Index>(i / width), static_cast<Eigen::Index>(i % width)) = static_cast<double>(rows[i]);
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("every scheme gives the rows of its recursion, for every side of the normalisation") {
    const testing::TempDir dir;
    const testing::Sample sample = testing::random_sample(60, 0.08, 3, 11);
    testing::build_store(dir / "s", sample);
    const Dense x = features_of(sample);
    const std::vector<double> gpr{0.5, -0.25, 0, 1};
    for (const double rho : {0.0, 0.3, 0.5, 1.0}) {
      CAPTURE(rho);
      const Dense p = operator_of(sample, rho);
      const auto check = [&](const std::string& scheme, std::uint32_t levels, const Dense& expected,
                             const std::vector<double>& weights = {}) {
        CAPTURE(scheme);
        const Dense rows = store_rows(dir / "s", scheme, levels, weights, rho);
        CHECK((rows - expected).cwiseAbs().maxCoeff() < 1e-5);
      };
      check("sgc", 2, p * p * x);
      check("sgc", 0, x);
      check("ppr:0.1", 5, by_ppr(p, x, 5, 0.1));
      check("heat:1.5", 4, by_heat(p, x, 4, 1.5));
      check("gpr", 3, by_gpr(p, x, gpr), gpr);
    }
    // The sides differ: rho 1 averages over a row, rho 0 spreads each row's whole over its column.
    CHECK((operator_of(sample, 1).rowwise().sum().array() - 1).abs().maxCoeff() < 1e-12);
    CHECK((operator_of(sample, 0).colwise().sum().array() - 1).abs().maxCoeff() < 1e-12);
  }

  TEST_CASE("weights of ppr sum to 1, the last one is what is left; those of heat come to the partial sum") {
    for (const double alpha : {0.05, 0.1, 0.5, 1.0})
      for (const std::uint32_t levels : {0U, 1U, 3U, 10U}) {
        const std::vector<double> weights = scheme_weights("ppr:" + std::to_string(alpha), levels, {});
        REQUIRE(weights.size() == levels + 1);
        CHECK(std::accumulate(weights.begin(), weights.end(), 0.0) == doctest::Approx(1).epsilon(1e-14));
        double left = 1;
        for (std::uint32_t l = 0; l < levels; ++l) {
          CHECK(weights[l] == doctest::Approx(alpha * left));
          left *= 1 - alpha;
        }
        CHECK(weights[levels] == doctest::Approx(left));
      }
    const std::vector<double> heat = scheme_weights("heat:2", 8, {});
    double expected = 0, factorial = 1;
    for (int l = 0; l <= 8; ++l) {
      if (l > 0) factorial *= l;
      expected += std::pow(2.0, l) / factorial;
    }
    CHECK(std::accumulate(heat.begin(), heat.end(), 0.0) == doctest::Approx(expected * std::exp(-2.0)).epsilon(1e-14));
  }

  TEST_CASE("a store keeps the weights that it was made with, whatever its scheme is called") {
    const testing::TempDir dir;
    const testing::Sample sample = testing::random_sample(30, 0.1, 2, 5);
    testing::build_store(dir / "s", sample);
    {
      MemoryBudget budget(std::uint64_t{1} << 28);
      PropagationSpec spec;
      spec.levels = 2;
      spec.scheme = "ppr:0.1";
      spec.weights = {0.1, 0.1 * 0.9, 0.1 * 0.9 * 0.9};  // as ppr once meant
      StoreWriter store(dir / "s", budget);
      propagate(store, spec, budget, {});
    }
    MemoryBudget budget(std::uint64_t{1} << 28);
    const StoreReader store(dir / "s", budget);
    const std::vector<double> kept = store.embedding().spec().weights;
    CHECK(kept == std::vector<double>{0.1, 0.1 * 0.9, 0.1 * 0.9 * 0.9});
    CHECK(kept != scheme_weights("ppr:0.1", 2, {}));
    const Dense p = operator_of(sample, 0.5), x = features_of(sample);
    std::vector<float> row(2);
    const NodeId node = 3;
    store.embedding().rows({&node, 1}, kept, row.data());
    const Dense expected = 0.1 * x + 0.09 * p * x + 0.081 * p * p * x;
    for (Eigen::Index j = 0; j < 2; ++j)
      CHECK(static_cast<double>(row[static_cast<std::size_t>(j)]) == doctest::Approx(expected(3, j)).epsilon(1e-4));
  }
}
