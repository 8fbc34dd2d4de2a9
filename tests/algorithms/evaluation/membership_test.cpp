// tests/algorithms/evaluation/membership_test.cpp - attacks against slow references: a dual solved
// by pairs, all thresholds, all pairs.
#include "algorithms/evaluation/membership.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "algorithms/learning/head.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

using List = std::vector<double>;

/// Values with repeats among them; those of members tend to be larger.
List draw(std::size_t count, double power, std::uint32_t seed) {
  std::mt19937 random(seed);
  List values(count);
  for (double& value : values)
    value = std::round(std::pow(static_cast<double>(random() >> 8) / (1 << 24), power) * 40) / 40;
  return values;
}

/// The dual of the machine with C = 3 and gamma = 1: every pair of multipliers is moved to its
/// best, until none moves.
class SlowMachine {
 public:
  SlowMachine(const List& members, const List& others) : x_(members), y_(members.size(), 1), a_() {
    x_.insert(x_.end(), others.begin(), others.end());
    y_.resize(x_.size(), -1);
    a_.assign(x_.size(), 0);
    for (double moved = 1; moved > 1e-10;) {
      moved = 0;
      for (std::size_t i = 0; i < x_.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) moved = std::max(moved, move(i, j));
    }
    // A free multiplier's row lies on the margin.
    int free = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (a_[i] < 1e-6 || a_[i] > kC - 1e-6) continue;
      offset_ += y_[i] - sum(x_[i]);
      ++free;
    }
    REQUIRE(free > 0);
    offset_ /= free;
  }
  [[nodiscard]] double decision(double x) const { return sum(x) + offset_; }

 private:
  static constexpr double kC = 3;
  static double kernel(double x, double z) { return std::exp(-(x - z) * (x - z)); }

  [[nodiscard]] double sum(double x) const {
    double total = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) total += a_[i] * y_[i] * kernel(x_[i], x);
    return total;
  }
  double move(std::size_t i, std::size_t j) {
    const double curvature = 2 - 2 * kernel(x_[i], x_[j]);
    if (curvature < 1e-12) return 0;
    // a_i y_i grows by t, a_j y_j falls by t.
    double t = ((y_[i] - sum(x_[i])) - (y_[j] - sum(x_[j]))) / curvature;
    const auto bound = [&](double at, double sign, double toward) {
      return toward * sign > 0 ? (kC - at) : at;  // room of a multiplier in this direction
    };
    const double way = t > 0 ? 1 : -1;
    t = way * std::min({std::abs(t), bound(a_[i], y_[i], way), bound(a_[j], y_[j], -way)});
    a_[i] += t * y_[i];
    a_[j] -= t * y_[j];
    return std::abs(t);
  }

  List x_, y_, a_;
  double offset_ = 0;
};

double balanced(const List& members, const List& others, double t) {
  const auto above = [&](const List& values) {
    return static_cast<double>(std::count_if(values.begin(), values.end(), [&](double v) { return v > t; })) /
           static_cast<double>(values.size());
  };
  return (above(members) + 1 - above(others)) / 2;
}

/// numpy.quantile with its default, linear interpolation.
double quantile(List values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(below);
  return values[below] + share * (values[std::min(below + 1, values.size() - 1)] - values[below]);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the vector machine decides as its dual solved by pairs") {
    for (const std::uint32_t seed : {1U, 2U, 3U}) {
      CAPTURE(seed);
      const List members = draw(30, 0.3, seed), others = draw(25, 1.2, seed + 100);
      const ConfidenceAttack attack(members, others);
      const SlowMachine slow(members, others);
      int compared = 0, called = 0;
      for (double x = 0; x <= 1; x += 0.01) {
        if (std::abs(slow.decision(x)) < 0.01) continue;  // LIBSVM stops at 1e-3
        CHECK(attack.is_member(x) == (slow.decision(x) > 0));
        ++compared;
        called += attack.is_member(x) ? 1 : 0;
      }
      CHECK(compared > 80);
      CHECK(called > 10);
      CHECK(called < compared - 10);
    }
  }

  TEST_CASE("presence: two confidences give the shares of Platt's targets, more the least loss") {
    // 30 of 40 members and 10 of 50 others at 0.8, the rest at 0.3.
    List members(30, 0.8), others(10, 0.8);
    members.resize(40, 0.3);
    others.resize(50, 0.3);
    const PresenceAttack attack(members, others);
    CHECK(attack.presence(0.8) == doctest::Approx((30 * 41.0 / 42 + 10 / 52.0) / 40).epsilon(1e-6));
    CHECK(attack.presence(0.3) == doctest::Approx((10 * 41.0 / 42 + 40 / 52.0) / 50).epsilon(1e-6));

    for (const double scale : {1.0, 1e-4}) {
      List in = draw(60, 0.3, 5), out = draw(80, 1.2, 6);
      for (List* const list : {&in, &out})
        for (double& x : *list) x *= scale;
      const PresenceAttack fitted(in, out);
      // No other slope and offset has less loss.
      const auto logit = [&](double x) { return std::log(fitted.presence(x) / (1 - fitted.presence(x))); };
      const double slope = logit(scale) - logit(0), offset = logit(0);
      const auto loss = [&](double a, double b) {
        double sum = 0;
        const auto add = [&](const List& rows, double target) {
          for (const double x : rows) {
            const double m = a * x / scale + b;
            sum += target * std::log1p(std::exp(-m)) + (1 - target) * std::log1p(std::exp(m));
          }
        };
        add(in, 61.0 / 62);
        add(out, 1.0 / 82);
        return sum;
      };
      for (const double da : {-0.01, 0.0, 0.01})
        for (const double db : {-0.01, 0.0, 0.01})
          if (da != 0 || db != 0) CHECK(loss(slope + da, offset + db) > loss(slope, offset));
      CHECK(fitted.presence(scale) > fitted.presence(0));
    }
    const PresenceAttack apart(List(50, 0.9), List(50, 0.1)), blind(List(20, 0.5), List(20, 0.5));
    CHECK(apart.presence(0.9) == doctest::Approx(51.0 / 52));
    CHECK(apart.presence(0.1) == doctest::Approx(1.0 / 52));
    CHECK(blind.presence(0.5) == doctest::Approx(0.5));
    CHECK_THROWS_AS(ConfidenceAttack({}, List{1.0}), UsageError);
    CHECK_THROWS_AS(ConfidenceAttack(List{1.0}, {}), UsageError);
    CHECK_THROWS_AS(PresenceAttack(List{1.0}, {}), UsageError);
  }

  TEST_CASE("the threshold is the best of all, and no worse than the best of 99 quantiles") {
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      const List members = draw(5 + seed * 7, 0.5, seed), others = draw(40, seed % 2 == 0 ? 0.9 : 0.5, seed + 50);
      const double t = best_threshold(members, others);
      List all = members;
      all.insert(all.end(), others.begin(), others.end());
      double best = balanced(members, others, -1);
      for (const double candidate : all) best = std::max(best, balanced(members, others, candidate));
      CHECK(balanced(members, others, t) == doctest::Approx(best).epsilon(1e-12));
      for (const double candidate : all)
        if (candidate < t) CHECK(balanced(members, others, candidate) < best);
      for (int q = 1; q < 100; ++q) CHECK(balanced(members, others, quantile(all, q / 100.0)) <= best + 1e-12);
    }
    CHECK(best_threshold(List{0.1}, List{0.9}) < 0);  // nothing beats calling all of them members
    CHECK(best_threshold(List{0.9}, List{0.1}) == 0.1);
  }

  TEST_CASE("the area under the curve counts pairs") {
    for (std::uint32_t seed = 0; seed < 10; ++seed) {
      const List first = draw(17, 0.7, seed), second = draw(23, 1.0, seed + 9);
      double pairs = 0;
      for (const double a : first)
        for (const double b : second) pairs += a > b ? 1 : a == b ? 0.5 : 0;
      CHECK(area_under_curve(first, second) == doctest::Approx(pairs / (17 * 23)));
    }
    CHECK(area_under_curve(List{1, 1}, List{1}) == 0.5);
    CHECK(area_under_curve(List{2, 3}, List{1}) == 1);
    CHECK_FALSE(area_under_curve({}, List{1}).has_value());
    CHECK_FALSE(area_under_curve(List{1}, {}).has_value());
  }

  TEST_CASE("probabilities of the heads") {
    const auto of = [](Head head, List margins) {
      probabilities_in_place(head, margins.data(), margins.size());
      return margins;
    };
    const List logistic = of(Head::kLogistic, {0, std::log(3.0)});
    CHECK(logistic[0] == doctest::Approx(0.5 / 1.25));
    CHECK(logistic[1] == doctest::Approx(0.75 / 1.25));
    CHECK(of(Head::kSoftmax, {0, std::log(3.0)})[1] == doctest::Approx(0.75));
    CHECK(of(Head::kLeastSquares, {-2, 0, 3}) == List{0, 0.5 / 1.5, 1 / 1.5});
    CHECK(of(Head::kLeastSquares, {-1, -7}) == List{0.5, 0.5});
    CHECK(of(Head::kLogistic, {-1e300, -1e300}) == List{0.5, 0.5});
    for (const Head head : {Head::kLogistic, Head::kSoftmax, Head::kLeastSquares})
      CHECK(of(head, {-1e300, 1e300}) == List{0, 1});
  }
}

}  // namespace unweave
