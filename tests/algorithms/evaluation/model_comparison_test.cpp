// tests/algorithms/evaluation/model_comparison_test.cpp - likeness of models and correlations,
// against loops over plain vectors.
#include "algorithms/evaluation/model_comparison.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/live/store_reader.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

using testing::ample_budget;
using testing::seeded;
using testing::TrainedStore;

/// Probabilities of a row, clipped to norm 1, under one-vs-rest weights or softmax.
std::vector<double> probabilities(const LiveStore& store, const ModelRecord& record, NodeId node) {
  const Matrix& w = record.model.published;
  std::vector<float> row(size_of(w.rows()));
  store.embedding().rows(std::span(&node, 1), record.rows.weights, row.data());
  double square = 0;
  for (const float x : row) square += static_cast<double>(x) * x;
  const double scale = square > 1 ? 1 / std::sqrt(square) : 1;
  std::vector<double> p(size_of(w.cols()));
  double sum = 0;
  for (std::size_t c = 0; c < p.size(); ++c) {
    double margin = 0;
    for (std::size_t f = 0; f < row.size(); ++f) margin += scale * row[f] * w(index_of(f), index_of(c));
    sum += p[c] = record.model.head == Head::kSoftmax ? std::exp(margin) : 1 / (1 + std::exp(-margin));
  }
  for (double& x : p) x /= sum;
  return p;
}

std::vector<NodeId> labelled_nodes(const LiveStore& store) {
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < store.contents().num_nodes(); ++node)
    if (store.contents().label(node) != kNoLabel) nodes.push_back(node);
  return nodes;
}

TEST_SUITE("unit") {
  TEST_CASE("divergence and agreement are those of a loop over the rows' probabilities") {
    for (const Head head : {Head::kLogistic, Head::kSoftmax}) {
      const TrainedStore world;
      SolverOptions options = seeded();
      options.head = head;
      world.train("newton", options);
      const StoreReader store(world.store, ample_budget());
      ModelRecord record = load_model(world.store, "newton");
      record.model.published *= 100;  // so that it is sure of something
      ModelRecord other = record;
      other.model.published = 0.3 * record.model.published.rowwise().reverse() + 0.7 * record.model.published;
      const std::vector<NodeId> nodes = labelled_nodes(store);
      REQUIRE(nodes.size() > 20);
      double divergence = 0, agreement = 0;
      for (const NodeId node : nodes) {
        const std::vector<double> f = probabilities(store, record, node), g = probabilities(store, other, node);
        for (std::size_t c = 0; c < f.size(); ++c) divergence += f[c] * std::log(f[c] / g[c]);
        agreement +=
            std::max_element(f.begin(), f.end()) - f.begin() == std::max_element(g.begin(), g.end()) - g.begin();
      }
      const auto count = static_cast<double>(nodes.size());
      const Likeness found = likeness(*row_units(store, record.rows), record, other, nodes).value();
      CHECK(found.divergence == doctest::Approx(divergence / count).epsilon(1e-9));
      CHECK(found.agreement == doctest::Approx(agreement / count));
      CHECK(found.agreement < 1);
      CHECK(found.divergence > 0.001);
      const Likeness back = likeness(*row_units(store, other.rows), other, record, nodes).value();
      CHECK(std::abs(back.divergence - found.divergence) > 1e-6 * found.divergence);  // it has a direction
      const Likeness self = likeness(*row_units(store, record.rows), record, record, nodes).value();
      CHECK(self.divergence == 0);
      CHECK(self.agreement == 1);
      CHECK_FALSE(likeness(*row_units(store, record.rows), record, other, {}));
      CHECK(comparable(record.model, other.model));
      other.model.head = head == Head::kSoftmax ? Head::kLogistic : Head::kSoftmax;
      CHECK_FALSE(comparable(record.model, other.model));
      other.model.head = head;
      other.model.published.conservativeResize(other.model.published.rows(), 2);
      CHECK_FALSE(comparable(record.model, other.model));
    }
  }

  TEST_CASE("divergences stay finite where probabilities vanish, but for heads that set them to 0") {
    const TrainedStore world;
    SolverOptions options = seeded();
    options.head = Head::kSoftmax;
    world.train("newton", options);
    const StoreReader store(world.store, ample_budget());
    const std::vector<NodeId> nodes = labelled_nodes(store);
    ModelRecord sure = load_model(world.store, "newton");
    ModelRecord opposite = sure;
    for (const Head head : {Head::kSoftmax, Head::kLogistic}) {
      sure.model.head = opposite.model.head = head;
      sure.model.published *= 1e5;
      opposite.model.published = -sure.model.published;
      const double divergence = likeness(*row_units(store, sure.rows), sure, opposite, nodes).value().divergence;
      CHECK(std::isfinite(divergence));
      CHECK(divergence > 100);
    }
    sure.model.head = opposite.model.head = Head::kLeastSquares;
    CHECK(std::isinf(likeness(*row_units(store, sure.rows), sure, opposite, nodes).value().divergence));
  }

  TEST_CASE("losses are those of the head") {
    const TrainedStore world;
    world.train("newton");
    const StoreReader store(world.store, ample_budget());
    const ModelRecord record = load_model(world.store, "newton");
    const std::vector<NodeId> nodes = labelled_nodes(store);
    const std::vector<double> losses = losses_of(*row_units(store, record.rows), record, nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::vector<float> row(size_of(record.model.published.rows()));
      store.embedding().rows(std::span(&nodes[i], 1), record.rows.weights, row.data());
      clip_row(row, record.clip);
      double loss = 0;
      for (Eigen::Index c = 0; c < record.model.published.cols(); ++c) {
        double margin = 0;
        for (std::size_t f = 0; f < row.size(); ++f) margin += row[f] * record.model.published(index_of(f), c);
        loss += std::log1p(std::exp(store.contents().label(nodes[i]) == c ? -margin : margin));
      }
      CHECK(losses[i] == doctest::Approx(loss));
    }
  }

  TEST_CASE("correlations of values and of ranks, by hand") {
    const std::vector<double> x{1, 2, 3, 4}, y{1, 4, 9, 16}, down{8, 4, 2, 1}, flat{5, 5, 5, 5};
    CHECK(pearson(x, y).value() == doctest::Approx(25 / std::sqrt(5 * 129.0)));
    CHECK(spearman(x, y).value() == doctest::Approx(1));
    CHECK(spearman(x, down).value() == doctest::Approx(-1));
    CHECK_FALSE(pearson(x, flat));
    CHECK_FALSE(spearman(flat, x));
    CHECK_FALSE(pearson(std::vector<double>{1}, std::vector<double>{2}));
    // Ties share a rank: 1, 2.5, 2.5, 4 against 1, 2, 3, 4.
    const std::vector<double> tied{0, 7, 7, 9};
    CHECK(spearman(x, tied).value() == doctest::Approx(4.5 / std::sqrt(5 * 4.5)));
  }

  TEST_CASE("cosine of weights") {
    const Matrix a = Matrix::Identity(3, 3), zero = Matrix::Zero(3, 3);
    CHECK(cosine(a, -2 * a).value() == doctest::Approx(-1));
    CHECK(cosine(a, Matrix::Ones(3, 3)).value() == doctest::Approx(3 / (std::sqrt(3.0) * 3)));
    CHECK_FALSE(cosine(a, zero));
  }
}

}  // namespace
}  // namespace unweave
