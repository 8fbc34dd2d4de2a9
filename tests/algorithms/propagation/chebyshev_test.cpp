// tests/algorithms/propagation/chebyshev_test.cpp - Chebyshev blocks: their powers, and rows that
// follow a stream, against a dense three-term recursion.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numeric>

#include "algorithms/live/propagate.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/lazy_error.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/propagation/schemes.h"
#include "storage/io/error.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"

using namespace unweave;

namespace {

constexpr std::uint32_t kLevels = 3;

/// T_0(L^) X .. T_3(L^) X side by side over 2, L^ = -D^-1/2 A D^-1/2, of the present sample.
Eigen::MatrixXd dense_blocks(const testing::Sample& sample) {
  const auto n = static_cast<Eigen::Index>(sample.nodes), columns = static_cast<Eigen::Index>(sample.columns);
  Eigen::MatrixXd a = Eigen::MatrixXd::Identity(n, n);
  for (const auto& [u, v] : sample.edges) a(u, v) = a(v, u) = 1;
  const Eigen::VectorXd scale = a.rowwise().sum().cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd laplacian = -(scale.asDiagonal() * a * scale.asDiagonal());
  std::vector<Eigen::MatrixXd> terms(2);
  terms[0].resize(n, columns);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < columns; ++j)
      terms[0](i, j) = static_cast<double>(sample.features[static_cast<std::size_t>(i * columns + j)]);
  terms[1] = laplacian * terms[0];
  while (terms.size() <= kLevels) terms.emplace_back(2 * laplacian * terms[terms.size() - 1] - terms[terms.size() - 2]);
  Eigen::MatrixXd out(n, columns * (kLevels + 1));
  for (Eigen::Index k = 0; k <= kLevels; ++k)
    out.middleCols(k * columns, columns) = terms[static_cast<std::size_t>(k)] / 2;
  return out;
}

Eigen::MatrixXd rows_of(const LiveStore& store, std::span<const double> weights) {
  std::vector<NodeId> nodes(store.contents().num_nodes());
  std::iota(nodes.begin(), nodes.end(), 0);
  const std::size_t width = store.embedding().row_width(weights);
  std::vector<float> rows(nodes.size() * width);
  store.embedding().rows(nodes, weights, rows.data());
  Eigen::MatrixXd out(nodes.size(), width);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (std::size_t j = 0; j < width; ++j)
      out(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = static_cast<double>(rows[i * width + j]);
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the scheme chebyshev holds the powers of T_k(-P)") {
    const std::vector<double> second = scheme_weights("chebyshev", 2, {});
    const std::vector<double> known{1, 0, 0, 0, -1, 0, -1, 0, 2};  // T_0 = I, T_1 = -P, T_2 = 2 P^2 - I
    REQUIRE(second.size() == known.size());
    for (std::size_t i = 0; i < known.size(); ++i) CHECK(second[i] * std::sqrt(3.0) == doctest::Approx(known[i]));

    const std::vector<double> most = scheme_weights("chebyshev", kMostChebyshev, {});
    constexpr std::size_t count = kMostChebyshev + 1;
    REQUIRE(most.size() == count * count);
    for (double p = -1; p <= 1; p += 0.125)
      for (std::size_t k = 0; k < count; ++k) {
        double sum = 0;
        for (std::size_t l = 0; l < count; ++l) sum += most[k * count + l] * std::pow(p, static_cast<double>(l));
        CHECK(sum * std::sqrt(static_cast<double>(count)) ==
              doctest::Approx(std::cos(static_cast<double>(k) * std::acos(-p))).epsilon(1e-10));
      }
    CHECK(scheme_weights("chebyshev", 0, {}) == std::vector<double>{1});
    CHECK_THROWS_AS(static_cast<void>(scheme_weights("chebyshev", kMostChebyshev + 1, {})), UsageError);
    CHECK_THROWS_AS(static_cast<void>(scheme_weights("chebyshev", 1, {0, 1})), UsageError);
  }

  TEST_CASE("Chebyshev blocks follow a stream, exactly and within the bound of a lazy one") {
    const testing::TempDir dir;
    testing::Sample sample = testing::random_sample(150, 0.03, 4, 5);
    testing::build_store(dir / "store", sample);
    MemoryBudget budget(std::uint64_t{1} << 30);
    PropagationSpec spec;
    spec.levels = kLevels;
    spec.scheme = "chebyshev";
    spec.weights = scheme_weights(spec.scheme, kLevels, {});
    spec.scale_bits = kLeastChebyshevBits;
    StoreWriter store(dir / "store", budget);
    propagate(store, spec, budget, {});
    CHECK(store.manifest().propagation->weights == spec.weights);
    CHECK((rows_of(store, spec.weights) - dense_blocks(sample)).cwiseAbs().maxCoeff() < 1e-6);

    TrainingRows training(store, spec.weights, 1, budget);
    CHECK(training.set().features() == 16);
    bool moved = false;
    for (unsigned round = 0; round < 4; ++round) {
      const std::vector<Request> batch = testing::random_requests(sample, 8, round);
      for (const Request& request : batch) testing::apply_naively(sample, request);
      const double r_max = round % 2 == 1 ? 0.02 : 0;
      const UpdateReport update = store.apply(batch, store.resolve(batch), {r_max, ThresholdScale::absolute}).update;
      const BatchChange change = training.follow(update, true);
      CHECK(change.moved_from.size() > 0);
      const Eigen::MatrixXd away = rows_of(store, spec.weights) - dense_blocks(sample);
      if (r_max == 0) {
        CHECK(away.cwiseAbs().maxCoeff() < 1e-6);
        continue;
      }
      const ApproximationError bound =
          lazy_error(store.embedding(), store.contents(), spec.weights, training.set().nodes());
      REQUIRE(bound.euclidean.size() == away.cols());
      const double every_row = lazy_error_bound(store.embedding(), store.contents());
      for (Eigen::Index j = 0; j < away.cols(); ++j) {
        double squares = 0;
        for (const NodeId node : training.set().nodes()) squares += std::pow(away(node, j), 2);
        CHECK(std::sqrt(squares) <= bound.euclidean[j] + 1e-5);
        CHECK(away.col(j).norm() <= every_row + 1e-5);
        moved |= std::sqrt(squares) > 1e-4;
      }
      CHECK(bound.euclidean.head(4).norm() < 1e-12);  // T_0 X reads no neighbour
    }
    CHECK(moved);

    std::vector<float> out(64);
    const NodeId node = 1;
    CHECK_THROWS_AS(store.embedding().rows({&node, 1}, std::vector<double>(6, 1), out.data()), UsageError);
  }
}
