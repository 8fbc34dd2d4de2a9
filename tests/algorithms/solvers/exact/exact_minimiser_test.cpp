// tests/algorithms/solvers/exact/exact_minimiser_test.cpp - T0: published integers against pinned
// values, 60 digits, and boundaries of the grid that were brought as near as float64 can tell.
#include "algorithms/solvers/exact/exact_minimiser.h"

#include <doctest/doctest.h>
#include <sodium.h>

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "storage/io/error.h"
#include "support/exact_reference.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

Matrix zeros_for(const TrainingSet& rows) {
  return Matrix::Zero(index_of(rows.features()), index_of(rows.classes()));
}

/// Multiples of the grid.
Matrix steps_of(const TrainingSet& rows, Head head, double lambda = 1e-3, int bits = 24, Matrix start = {}) {
  if (start.size() == 0) start = zeros_for(rows);
  const Objective objective = testing::objective_of(rows, lambda, head);
  return std::ldexp(1.0, bits) * minimise_exactly(objective, std::move(start), {bits, 0}).weights;
}

/// SHA-256 of the steps as little-endian int64, feature by feature.
std::string digest_of(const Matrix& steps) {
  std::vector<std::int64_t> whole;
  for (Eigen::Index k = 0; k < steps.size(); ++k) whole.push_back(static_cast<std::int64_t>(steps.data()[k]));
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  const auto* const bytes = reinterpret_cast<const unsigned char*>(whole.data());
  crypto_hash_sha256(hash.data(), bytes, whole.size() * sizeof(std::int64_t));
  std::array<char, 2 * crypto_hash_sha256_BYTES + 1> text{};
  return sodium_bin2hex(text.data(), text.size(), hash.data(), hash.size());
}

/// Gives the rows in another order: nodes 0, 1, ... go to rows in steps of `stride`.
TrainingSet reordered(const TrainingSet& rows, std::size_t stride) {
  TrainingSet out(rows.features(), rows.classes(), rows.form());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t from = (i * stride + 7) % rows.size();
    out.append(static_cast<NodeId>(i), rows.row(from), rows.labels()[from]);
  }
  return out;
}

/// What makes rows of norm up to sqrt(2) hard at a small lambda. Labels are drawn, but where a kind
/// says otherwise.
enum class HardRows { gaussian, separable, nearly_separable, pairs, collinear, one_class, empty_classes };

TrainingSet hard_rows(HardRows kind, std::size_t count, std::size_t features, std::size_t classes, unsigned seed) {
  std::mt19937 random(1000 * seed + static_cast<unsigned>(kind));
  std::normal_distribution<double> normal;
  const Matrix truth = random_matrix(features, classes, seed + 1);
  TrainingSet set(features, classes, RowForm(std::sqrt(2.0)));
  std::vector<float> row(features);
  ClassId label = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (kind == HardRows::pairs && i % 2 == 1) {  // a row once more, of the same class or another
      if (random() % 2 == 0) label = static_cast<ClassId>(random() % classes);
      set.append(static_cast<NodeId>(i), row, label);
      continue;
    }
    for (float& x : row) x = static_cast<float>(normal(random) / std::sqrt(static_cast<double>(features)));
    if (kind == HardRows::collinear)
      for (std::size_t j = features / 2; j < features; ++j)
        row[j] = (j % 2 == 0 ? 1.0F : -0.5F) * row[j - features / 2];
    Vector margins = Vector::Zero(index_of(classes));
    for (std::size_t j = 0; j < features; ++j)
      margins += static_cast<double>(row[j]) * truth.row(index_of(j)).transpose();
    Eigen::Index best = 0;
    margins.maxCoeff(&best);
    label = static_cast<ClassId>(random() % classes);
    if (kind == HardRows::separable || (kind == HardRows::nearly_separable && random() % 10 > 0))
      label = static_cast<ClassId>(best);
    if (kind == HardRows::one_class) label = 0;
    if (kind == HardRows::empty_classes) label = static_cast<ClassId>(random() % std::max<std::size_t>(1, classes / 2));
    set.append(static_cast<NodeId>(i), row, label);
  }
  return set;
}

constexpr HardRows kKinds[] = {HardRows::gaussian,  HardRows::separable, HardRows::nearly_separable, HardRows::pairs,
                               HardRows::collinear, HardRows::one_class, HardRows::empty_classes};

/// The steps from 0, which those from starts near and far must be.
Matrix steps_from_any_start(const TrainingSet& rows, Head head, double lambda, const TrainingSet& others) {
  Matrix steps = steps_of(rows, head, lambda);
  const std::size_t features = rows.features(), classes = rows.classes();
  CHECK(steps == steps_of(rows, head, lambda, 24, random_matrix(features, classes, 3)));
  CHECK(steps == steps_of(rows, head, lambda, 24, random_matrix(features, classes, 4, 1e12)));
  CHECK(steps == steps_of(rows, head, lambda, 24, steps_of(others, head, lambda) / 0x1p24));
  return steps;
}

std::string refusal_of(const TrainingSet& rows, Head head, double lambda, Matrix start = {}) {
  try {
    static_cast<void>(steps_of(rows, head, lambda, 24, std::move(start)));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// Two neighbouring numbers between which `value` leaves what it is at `low`.
template <class Number, class Value>
std::pair<Number, Number> neighbours(const Value& value, Number low, Number high) {
  const double first = value(low);
  for (Number middle = (low + high) / 2; middle != low && middle != high; middle = (low + high) / 2)
    (value(middle) == first ? low : high) = middle;
  return {low, high};
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("T0: the integers of the pinned problems") {
    struct Pinned {
      Head head;
      const char *all, *without, *fine;
    };
    constexpr Pinned kPinned[] = {
        {Head::kLogistic, "5588447314e4a0a4abdc33e4114d347d7a8f8e8bcd731fe03ec7c4f67193e5da",
         "85b4c267ca97ce9be325dab386bb060dc5813c50ab0ca9320458f5c021db6dcf",
         "80210171bb537180106467f121bb32c8bfe2c81fe78ad18b2f77db50854a6de6"},
        {Head::kSoftmax, "3132488e3d681154d101e5ecce49cba9e7eeb6849ae1ffc7c3d3dd2c778557c4",
         "67d1cb9bf5fae0ddbbe736c7663d729ef31f420f48046a1a8bc7cf76bbfaa28d",
         "64d7a967423ad3619ee8d8e31cbb89ee844ed09229aa4b0240d7b105d4b3ff73"},
        {Head::kLeastSquares, "f31e145bd843bbea9785d1021b8c906fbaecbd7c2bdde06845e69846aaa29049",
         "23fb448af4b366c770362dcd6b4b7ab4a4e394108bae1f47b8f6fe91075b7ae0",
         "65383f71e88d4e58b7969ab37190ce4b070555e361f38ce7b2fb5446fe0fae73"},
    };
    const TrainingSet rows = tiny_rows(1), fewer = tiny_rows(1, 3, {5, 17});
    CHECK(strong_convexity(1e-3, rows.size()) == 0x1.47ae147ae147bp-5);
    CHECK(strong_convexity(1e-3, fewer.size()) == 0x1.374bc6a7ef9dbp-5);
    for (const Pinned& pinned : kPinned) {
      CAPTURE(name_of(pinned.head));
      const Matrix all = steps_of(rows, pinned.head);
      CHECK(digest_of(all) == pinned.all);
      CHECK(digest_of(steps_of(rows, pinned.head, 1e-3, 36)) == pinned.fine);
      CHECK(digest_of(steps_of(fewer, pinned.head)) == pinned.without);
      const Matrix warm = steps_of(fewer, pinned.head, 1e-3, 24, all / 0x1p24);
      CHECK(digest_of(warm) == pinned.without);
    }
  }

  TEST_CASE("T0: integers are those that 60 digits round to, from any start and in any order of the rows") {
    for (const Head head : exact_heads())
      for (std::uint64_t seed = 20; seed < 24; ++seed) {
        CAPTURE(name_of(head));
        CAPTURE(seed);
        const double lambda = std::pow(10.0, -1.0 - static_cast<double>(seed % 4));
        const TrainingSet rows = tiny_rows(seed);
        const Objective objective = testing::objective_of(rows, lambda, head);
        for (const int bits : {24, 36}) {
          const Matrix steps = steps_of(rows, head, lambda, bits);
          CHECK(steps == rounded_steps(decimal_minimiser(objective, std::ldexp(1.0, -bits) * steps), bits));
          CHECK(steps == steps_of(rows, head, lambda, bits, random_matrix(8, 3, 5, 5)));
          CHECK(steps == steps_of(reordered(rows, 11), head, lambda, bits, Matrix::Constant(8, 3, -3)));
        }
      }
  }

  TEST_CASE("T0: the pinned pair of neighbouring lambdas between which a weight is rounded the other way") {
    const TrainingSet rows = tiny_rows(99);
    CHECK(steps_of(rows, Head::kLogistic, 0x1.0624de0ca6550p-10)(0, 0) == 42188787);
    CHECK(steps_of(rows, Head::kLogistic, 0x1.0624de0ca6551p-10)(0, 0) == 42188786);
  }

  TEST_CASE("a weight exactly on a boundary is refused, and decided on a finer grid") {
    TrainingSet one(1, 1, RowForm(std::numeric_limits<double>::infinity()));
    const float row = 1;
    one.append(0, {&row, 1}, 0);  // W* = 1 / (1 + 7)
    CHECK_THROWS_WITH_AS(static_cast<void>(steps_of(one, Head::kLeastSquares, 7, 2)), doctest::Contains("boundary"),
                         UsageError);
    CHECK(steps_of(one, Head::kLeastSquares, 7, 3)(0, 0) == 1);
  }

  TEST_CASE("no rows, empty classes, features that are 0 everywhere, one class and two") {
    for (const Head head : exact_heads()) {
      CAPTURE(name_of(head));
      const TrainingSet none(4, 3, RowForm(1));
      CHECK(steps_of(none, head, 1e-3, 24, Matrix::Ones(4, 3)).isZero(0));
      const Matrix pair = steps_of(tiny_rows(4, 2, {}, 2), head);
      CHECK(pair.col(0) == -pair.col(1));
      CHECK_FALSE(pair.isZero(0));
      const Matrix single = steps_of(tiny_rows(4, 1, {}, 1), head);
      CHECK(single.isZero(0) == (head == Head::kSoftmax));

      const TrainingSet rows = tiny_rows(3);
      TrainingSet zero(8, 5, rows.form());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::vector<float> row(rows.row(i).begin(), rows.row(i).end());
        row[2] = 0;
        zero.append(static_cast<NodeId>(i), row, rows.labels()[i]);
      }
      const Matrix steps = steps_of(zero, head);
      CHECK(steps.row(2).isZero(0));
      CHECK(steps.col(3) == steps.col(4));
      CHECK(steps(0, 0) != 0);
    }
  }

  TEST_CASE("lambda from 1e-12 to 1e6") {
    for (const Head head : exact_heads())
      for (const double lambda : {1e-12, 1e-9, 1.0, 1e6}) {
        CAPTURE(name_of(head));
        CAPTURE(lambda);
        const TrainingSet rows = tiny_rows(12);
        const Objective objective = testing::objective_of(rows, lambda, head);
        // These rows can be told apart by few features, so that weights grow as lambda falls.
        const int bits = lambda < 1e-6 ? 12 : 24;
        const Matrix steps = steps_of(rows, head, lambda, bits);
        CHECK(steps == rounded_steps(decimal_minimiser(objective, std::ldexp(1.0, -bits) * steps), bits));
      }
  }

  TEST_CASE("a start that is not finite is refused") {
    const TrainingSet rows = tiny_rows(1);
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK_THROWS_AS(static_cast<void>(steps_of(rows, Head::kLogistic, 1e-3, 24, Matrix::Constant(8, 3, infinity))),
                    UsageError);
  }

  TEST_CASE("lambda n from 1e-10 to 1: a model from any start, and its integers are those that 60 digits round to") {
    for (const Head head : exact_heads())
      for (const double mu : {1e-10, 1e-9, 1e-8, 1e-6, 1e-3, 1.0})
        for (const HardRows kind : {HardRows::separable, HardRows::pairs, HardRows::collinear, HardRows::one_class})
          for (const std::size_t count : {std::size_t{1}, std::size_t{7}}) {
            CAPTURE(name_of(head));
            CAPTURE(mu);
            CAPTURE(static_cast<int>(kind));
            CAPTURE(count);
            const double lambda = mu / static_cast<double>(count);
            const TrainingSet rows = hard_rows(kind, count, 3, 3, 1);
            const Matrix steps = steps_from_any_start(rows, head, lambda, hard_rows(kind, count, 3, 3, 2));
            const Objective objective = testing::objective_of(rows, lambda, head);
            CHECK(steps == rounded_steps(decimal_minimiser(objective, steps / 0x1p24), 24));
          }
  }

  TEST_CASE("a way that float64 cannot go is told as what it is, from any start in the same words") {
    const TrainingSet rows = hard_rows(HardRows::gaussian, 20, 4, 3, 1);
    for (const Head head : {Head::kLogistic, Head::kSoftmax}) {
      const std::string refusal = refusal_of(rows, head, 1e-60);
      CHECK(refusal.starts_with("the training has not converged: after "));
      CHECK(refusal.find(" readings of the rows the minimiser is ") != std::string::npos);
      CHECK(refusal.find("lambda times the number of rows is 2.0e-59: train with a larger lambda") !=
            std::string::npos);
      CHECK(refusal.find("boundary") == std::string::npos);
      CHECK(refusal_of(rows, head, 1e-60, random_matrix(4, 3, 5, 100)) == refusal);
    }
  }
}

TEST_SUITE("slow") {
  TEST_CASE("lambda n from 1e-10 to 1e-6: a model of every kind of rows, from any start the same") {
    struct Shape {
      std::size_t count, features, classes;
    };
    int trained = 0;
    for (const Head head : exact_heads())
      for (const double mu : {1e-10, 1e-9, 1e-8, 1e-7, 1e-6})
        for (const HardRows kind : kKinds)
          for (const Shape& shape :
               {Shape{1, 1, 2}, {2, 1, 2}, {5, 3, 3}, {20, 4, 3}, {20, 8, 2}, {40, 3, 10}, {300, 10, 3}})
            for (unsigned seed = 1; seed <= 2; ++seed) {
              CAPTURE(name_of(head));
              CAPTURE(mu);
              CAPTURE(static_cast<int>(kind));
              CAPTURE(shape.count);
              CAPTURE(seed);
              const auto drawn = [&](unsigned with) {
                return hard_rows(kind, shape.count, shape.features, shape.classes, with);
              };
              const double lambda = mu / static_cast<double>(shape.count);
              CHECK_NOTHROW(static_cast<void>(steps_from_any_start(drawn(seed), head, lambda, drawn(seed + 50))));
              ++trained;
            }
    CHECK(trained == 1470);
  }

  TEST_CASE("T0: weights down to 3e-18 from a boundary of the grid are rounded the right way") {
    Decimal nearest = 1;
    for (const Head head : exact_heads())
      for (const auto& place : {std::pair{0, 0}, {3, 1}, {7, 2}}) {
        const int feature = place.first, of_class = place.second;
        CAPTURE(name_of(head));
        const TrainingSet rows = tiny_rows(99);
        const auto value = [&](double lambda) { return steps_of(rows, head, lambda)(feature, of_class); };
        const auto [low, high] = neighbours(value, 1e-3, 1.1e-3);
        for (const double lambda : {low, high}) {
          const Objective objective = testing::objective_of(rows, lambda, head);
          const Matrix steps = steps_of(rows, head, lambda);
          const DecimalColumns truth = decimal_minimiser(objective, steps / 0x1p24);
          CHECK(steps == rounded_steps(truth, 24));
          const Decimal scaled =
              ldexp(truth[static_cast<std::size_t>(of_class)][static_cast<std::size_t>(feature)], 24);
          const Decimal distance = abs(abs(scaled - round(scaled)) - Decimal("0.5")) / 0x1p24;
          CHECK(distance < Decimal("1e-15"));
          nearest = std::min(nearest, distance);
        }
      }
    CHECK(nearest < Decimal("3e-18"));
  }

  TEST_CASE("T0: a weight within 1e-22 of a boundary, brought there by one entry of a row") {
    const TrainingSet base = tiny_rows(99);
    for (const Head head : exact_heads()) {
      CAPTURE(name_of(head));
      const auto with = [&](float entry) {
        TrainingSet out(8, 3, base.form());
        for (std::size_t i = 0; i < base.size(); ++i) {
          std::vector<float> row(base.row(i).begin(), base.row(i).end());
          if (i == 0) row[7] = entry;
          out.append(static_cast<NodeId>(i), row, base.labels()[i]);
        }
        return out;
      };
      const TrainingSet plain = with(0);
      const double lambda = neighbours([&](double x) { return steps_of(plain, head, x)(0, 0); }, 1e-3, 1.1e-3).first;
      const auto value = [&](float entry) { return steps_of(with(entry), head, lambda)(0, 0); };
      const double first = value(0);
      float far = 0;
      for (int exponent = -62; far == 0 && exponent < -40; ++exponent)
        for (const float sign : {1.0F, -1.0F})
          if (far == 0 && value(sign * std::ldexp(1.0F, exponent)) != first) far = sign * std::ldexp(1.0F, exponent);
      REQUIRE(far != 0);
      const auto [low, high] = neighbours(value, 0.0F, far);
      for (const float entry : {low, high}) {
        const TrainingSet rows = with(entry);
        const Matrix steps = steps_of(rows, head, lambda);
        const DecimalColumns truth = decimal_minimiser(testing::objective_of(rows, lambda, head), steps / 0x1p24);
        CHECK(steps == rounded_steps(truth, 24));
        const Decimal scaled = ldexp(truth[0][0], 24);
        const Decimal distance = abs(abs(scaled - round(scaled)) - Decimal("0.5")) / 0x1p24;
        CHECK(distance < Decimal("1e-22"));
      }
    }
  }
}
