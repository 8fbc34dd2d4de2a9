// tests/algorithms/learning/network_test.cpp - networks against a loop over scalars, central
// differences and the linear kernels.
#include "algorithms/learning/network.h"

#include <doctest/doctest.h>

#include "algorithms/learning/network_directions.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/slow_network.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

NetworkShape shape_of(Head head, std::vector<std::size_t> hidden, Activation activation = Activation::kTanh) {
  return {head, 7, 4, std::move(hidden), activation};
}

std::vector<NetworkShape> shapes() {
  return {shape_of(Head::kLogistic, {}),
          shape_of(Head::kLeastSquares, {}),
          shape_of(Head::kSoftmax, {}),
          shape_of(Head::kSoftmax, {5}),
          shape_of(Head::kLogistic, {5}, Activation::kSmelu),
          shape_of(Head::kLeastSquares, {6, 3}),
          shape_of(Head::kSoftmax, {6, 3, 5}, Activation::kSmelu),
          shape_of(Head::kSoftmax, {5, 4}, Activation::kRelu),
          {Head::kSoftmax, 6, 4, {5}, Activation::kTanh, 3},
          {Head::kLogistic, 8, 4, {3, 2}, Activation::kTanh, 2}};
}

std::span<const double> span_of(const Vector& values) {
  return {values.data(), size_of(values.size())};
}

/// Parameters with every bias in use, and hidden units on all pieces of SmeLU.
Vector random_parameters(const Network& network, unsigned seed) {
  return random_matrix(network.size(), 1, seed, 0.8).col(0);
}

Matrix products_of(const Network& network, const Vector& at, const ChosenRows& rows, const Matrix& directions) {
  const std::size_t count = size_of(directions.rows());
  NetworkDirections side_by_side(network, count);
  for (std::size_t k = 0; k < count; ++k)
    side_by_side.add(k, {directions.row(index_of(k)).data(), size_of(directions.cols())});
  HessianSums sums(network, count);
  network.add_hessian_products(span_of(at), rows, side_by_side, sums);
  Matrix out(directions.rows(), directions.cols());
  for (std::size_t k = 0; k < count; ++k) out.row(index_of(k)) = sums.get(k).transpose();
  return out;
}

double difference(const Matrix& a, const Matrix& b) {
  return (a - b).norm() / std::max(1e-12, b.norm());
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("losses and margins are those of a loop over scalars") {
    for (const NetworkShape& shape : shapes()) {
      const TrainingSet set = random_rows(90, shape.features, 4, 3);
      const Network network(shape);
      const Vector at = random_parameters(network, 5);
      long double sum = 0;
      for (std::size_t i = 0; i < set.size(); ++i) sum += slow_row_loss(shape, at, set, i);
      CHECK(network.loss(span_of(at), ChosenRows(set)) == doctest::Approx(static_cast<double>(sum)).epsilon(1e-13));
      std::vector<double> margins(set.size() * 4);
      network.margins(span_of(at), set.row(0).data(), set.size(), margins.data());
      for (std::size_t i = 0; i < set.size(); ++i)
        for (std::size_t c = 0; c < 4; ++c)
          REQUIRE(margins[i * 4 + c] ==
                  doctest::Approx(static_cast<double>(slow_margins(shape, at, set.row(i))[c])).epsilon(1e-12));
    }
  }

  TEST_CASE("gradients are the differences of the loop's losses, row by row and in sum") {
    const std::vector<std::uint32_t> chosen = {31, 2, 2, 17};
    for (const NetworkShape& shape : shapes()) {
      const TrainingSet set = random_rows(40, shape.features, 4, 8);
      const Network network(shape);
      const Vector at = random_parameters(network, 6);
      const ChosenRows rows(set, chosen);
      Matrix expected(4, at.size());
      for (Eigen::Index j = 0; j < at.size(); ++j) {
        Vector up = at, down = at;
        up[j] += 1e-5;
        down[j] -= 1e-5;
        for (std::size_t i = 0; i < chosen.size(); ++i) {
          const long double step =
              slow_row_loss(shape, up, set, chosen[i]) - slow_row_loss(shape, down, set, chosen[i]);
          expected(index_of(i), j) = static_cast<double>(step / 2e-5L);
        }
      }
      const Matrix each = network.row_gradients(span_of(at), rows);
      CHECK(difference(each, expected) < 1e-8);
      const Vector sum = network.gradient(span_of(at), rows);
      CHECK(difference(sum, each.colwise().sum().transpose()) < 1e-14);
      const std::uint32_t third = 17;
      const Matrix alone = network.row_gradients(span_of(at), ChosenRows(set, {&third, 1}));
      CHECK(alone.row(0) == each.row(3));
    }
  }

  TEST_CASE("ReLU is 0 below 0, and 256 at most, where nothing comes back") {
    const Network network({Head::kSoftmax, 1, 2, {1}, Activation::kRelu});
    const std::vector<double> at{300, 0, 1, -1, 0, 0};  // the unit's weight and bias, those of the margins
    for (const auto& [x, unit] : {std::pair{1.0F, 256.0}, {0.5F, 150.0}, {-1.0F, 0.0}}) {
      double margins[2];
      network.margins(at, &x, 1, margins);
      CHECK(margins[0] == unit);
      CHECK(margins[1] == -unit);
      TrainingSet set(1, 2, RowForm(1));
      set.append(1, {&x, 1}, 1);
      CHECK((network.gradient(at, ChosenRows(set))[0] != 0) == (unit == 150));
    }
  }

  TEST_CASE("Hessian products are the differences of gradients, for several directions at once and for each") {
    for (const NetworkShape& shape : shapes()) {
      const TrainingSet set = random_rows(60, shape.features, 4, 9);
      const Network network(shape);
      const Vector at = random_parameters(network, 7);
      const ChosenRows rows(set);
      const Matrix directions = random_matrix(5, network.size(), 11);
      const Matrix products = products_of(network, at, rows, directions);
      for (Eigen::Index k = 0; k < directions.rows(); ++k) {
        const Vector direction = directions.row(k).transpose();
        const Vector up = at + 1e-6 * direction, down = at - 1e-6 * direction;
        const Vector expected = (network.gradient(span_of(up), rows) - network.gradient(span_of(down), rows)) / 2e-6;
        // SmeLU has a second derivative that jumps: a difference may step over it.
        CHECK(difference(products.row(k).transpose(), expected) <
              (shape.activation == Activation::kSmelu ? 1e-4 : 1e-8));
        const Vector alone = network.hessian_product(span_of(at), rows, span_of(direction));
        CHECK(difference(alone, products.row(k).transpose()) < 1e-13);
      }
      // Symmetric: u H v = v H u.
      CHECK(products.row(0).dot(directions.row(1)) ==
            doctest::Approx(products.row(1).dot(directions.row(0))).epsilon(1e-11));
    }
  }

  TEST_CASE("without hidden layers a network is the linear head") {
    const TrainingSet set = random_rows(700, 7, 4, 10);
    for (const Head head : {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax}) {
      const Network network(shape_of(head, {}));
      const Matrix weights = random_matrix(7, 4, 12), step = random_matrix(7, 4, 13);
      const Objective objective{set.rows(), 4, head, 0, nullptr};
      const std::span<const double> at(weights.data(), 28);
      const Vector gradient = network.gradient(at, ChosenRows(set));
      CHECK(difference(Eigen::Map<const Matrix>(gradient.data(), 7, 4), gradient_with_error(objective, weights).value) <
            1e-13);
      const Vector product = network.hessian_product(at, ChosenRows(set), {step.data(), 28});
      CHECK(difference(Eigen::Map<const Matrix>(product.data(), 7, 4),
                       curvature_action(objective, weights, step).product) < 1e-13);
      CHECK(network.initial(5).norm() == 0);
    }
  }

  TEST_CASE("any number of threads gives the same bits") {
    const TrainingSet set = random_rows(3000, 7, 4, 14);
    const Network network({Head::kSoftmax, 7, 4, {6, 3}, Activation::kTanh, 7});
    const Vector at = random_parameters(network, 15);
    const Matrix directions = random_matrix(3, network.size(), 16);
    const auto all = [&](std::size_t threads) {
      const ThreadLimit limit(threads);
      Matrix out(4 + index_of(set.size()), index_of(network.size()));
      out.row(0) = network.gradient(span_of(at), ChosenRows(set)).transpose();
      for (Eigen::Index k = 0; k < 3; ++k)
        out.row(1 + k) =
            network
                .hessian_product(span_of(at), ChosenRows(set), {directions.row(k).data(), size_of(directions.cols())})
                .transpose();
      out.bottomRows(index_of(set.size())) = network.row_gradients(span_of(at), ChosenRows(set));
      return std::pair(out, network.loss(span_of(at), ChosenRows(set)));
    };
    const auto one = all(1);
    for (const std::size_t threads : {2, 5}) {
      const auto more = all(threads);
      CHECK(more.first == one.first);
      CHECK(more.second == one.second);
    }
  }

  TEST_CASE("training starts where the key says, with biases of 0 and weights of the layer's variance") {
    const Network network({Head::kSoftmax, 100, 30, {200}, Activation::kTanh});
    const Vector start = network.initial(3);
    CHECK(start == network.initial(3));
    CHECK(start != network.initial(4));
    for (const Layer& layer : network.layers()) {
      const auto first = index_of(layer.first), weights = index_of(layer.inputs * layer.outputs);
      const double variance = layer.first == 0 ? 1 : 1 / static_cast<double>(layer.inputs);
      CHECK(start.segment(first, weights).squaredNorm() / static_cast<double>(weights) ==
            doctest::Approx(variance).epsilon(0.05));
      CHECK(start.segment(first + weights, index_of(layer.outputs)).norm() == 0);
    }
    const Vector filtered = Network({Head::kSoftmax, 400, 30, {200}, Activation::kTanh, 4}).initial(3);
    CHECK(filtered.head(start.size()) == start);
    CHECK(filtered.tail(4) == Vector::Unit(4, 0) * 2);
  }

  TEST_CASE("no rows and no directions give zeros; what does not fit is refused") {
    const TrainingSet set = random_rows(5, 7, 4, 17), narrow = random_rows(5, 6, 4, 18), few = random_rows(5, 7, 3, 19);
    const Network network(shape_of(Head::kSoftmax, {3}));
    const Vector at = random_parameters(network, 20);
    const ChosenRows none(set, {});
    CHECK(network.loss(span_of(at), none) == 0);
    CHECK(network.gradient(span_of(at), none) == Vector::Zero(at.size()));
    CHECK(network.row_gradients(span_of(at), none).rows() == 0);
    CHECK(network.hessian_product(span_of(at), none, span_of(at)) == Vector::Zero(at.size()));
    CHECK(products_of(network, at, none, Matrix::Ones(2, at.size())) == Matrix::Zero(2, at.size()));
    CHECK(products_of(network, at, ChosenRows(set), Matrix(0, at.size())).rows() == 0);

    CHECK_THROWS_AS(Network(shape_of(Head::kSoftmax, {3, 0})), UsageError);
    CHECK_THROWS_AS(Network({Head::kSoftmax, 6, 4, {3}, Activation::kTanh, 4}), UsageError);
    CHECK_THROWS_AS(Network({Head::kSoftmax, 6, 4, {3}, Activation::kTanh, 0}), UsageError);
    CHECK_THROWS_AS(Network({Head::kSoftmax, 6, 4, {}, Activation::kTanh, 3}), UsageError);
    CHECK_THROWS_AS(Network({Head::kSoftmax, 0, 4, {}, Activation::kTanh}), UsageError);
    CHECK_THROWS_AS(Network({Head::kSoftmax, 4, 0, {}, Activation::kTanh}), UsageError);
    CHECK_THROWS_AS(static_cast<void>(network.loss(span_of(at).first(3), ChosenRows(set))), UsageError);
    CHECK_THROWS_AS(static_cast<void>(network.loss(span_of(at), ChosenRows(narrow))), UsageError);
    CHECK_THROWS_AS(static_cast<void>(network.gradient(span_of(at), ChosenRows(few))), UsageError);
    CHECK_THROWS_AS(static_cast<void>(network.hessian_product(span_of(at), ChosenRows(set), span_of(at).first(3))),
                    UsageError);
  }
}
