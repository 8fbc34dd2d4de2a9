// tests/algorithms/learning/head_test.cpp - what holds of every head of the registry: its entry is
// complete, its slopes and curvatures are derivatives of its loss, its kernels agree with its rows,
// its bounds hold.
#include "algorithms/learning/head.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>

#include "algorithms/learning/slopes.h"
#include "algorithms/numerics/matrix.h"
#include "storage/io/error.h"
#include "support/heads.h"
#include "support/vector_targets.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

using HeadRow = std::vector<double>;

HeadRow random_row(std::mt19937& random, std::size_t classes, double scale) {
  std::normal_distribution<double> normal(0, scale);
  HeadRow row(classes);
  for (double& x : row) x = normal(random);
  return row;
}

HeadRow slopes_of_row(Head head, HeadRow margins, std::size_t label) {
  slopes_in_place(head, margins.data(), margins.size(), label);
  return margins;
}

HeadRow curvatures_of_row(Head head, HeadRow margins) {
  curvatures_in_place(head, margins.data(), 1, margins.size());
  return margins;
}

/// The Hessian at these margins times `direction`.
HeadRow bent(Head head, const HeadRow& margins, HeadRow direction) {
  multiply_by_curvatures(head, curvatures_of_row(head, margins).data(), direction.data(), 1, margins.size());
  return direction;
}

template <class Function>
bool is_set(Function* function) {
  return function != nullptr;
}

double length(const HeadRow& row) {
  double sum = 0;
  for (const double x : row) sum += x * x;
  return std::sqrt(sum);
}

HeadRow combined(const HeadRow& a, double factor, const HeadRow& b) {
  HeadRow out = a;
  for (std::size_t c = 0; c < out.size(); ++c) out[c] += factor * b[c];
  return out;
}

/// Calls use(head, classes, label, margins) for rows of every width and size.
template <class Use>
void for_rows(double largest_scale, const Use& use) {
  std::mt19937 random(11);
  for (const Head head : kHeads) {
    CAPTURE(name_of(head));
    for (std::size_t classes = 1; classes <= 9; ++classes)
      for (double scale = 0.1; scale <= largest_scale; scale *= 5)
        for (int trial = 0; trial < 4; ++trial)
          use(head, classes, random() % classes, random_row(random, classes, scale));
  }
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("every head has a whole entry in the place of its key, and a name of its own that is understood") {
    std::set<std::string_view> names;
    for (const Head head : kHeads) {
      const HeadEntry& entry = entry_of(head);
      CAPTURE(entry.name);
      CHECK(entry.key == head);
      CHECK_FALSE(entry.name.empty());
      CHECK(entry.name != "mlp");  // which the program takes for a network
      CHECK(names.insert(entry.name).second);
      CHECK(parse_head(entry.name) == head);
      CHECK(name_of(head) == entry.name);
      CHECK(loss_text(head).starts_with("sum_i "));
      CHECK(entry.least_classes >= 1);
      CHECK(is_set(entry.constants));
      CHECK(is_set(entry.row_loss));
      CHECK(is_set(entry.slopes));
      CHECK(is_set(entry.curvatures));
      CHECK(is_set(entry.probabilities));
      CHECK(is_set(entry.log_probabilities));
      CHECK(is_set(entry.block_slopes));
      CHECK(is_set(entry.rough_block_slopes));
      CHECK(is_set(entry.rough_block_curvatures));
      CHECK(is_set(entry.add_rough_curvatures));
      try {
        static_cast<void>(parse_head(std::string(entry.name) + "?"));
        FAIL("a name with a letter too many");
      } catch (const UsageError& error) {
        for (const std::string_view name : names_of_heads())
          CHECK(std::string(error.what()).find(name) != std::string::npos);
      }
    }
    CHECK(names.size() == std::size(kHeadEntries));
    CHECK(names_of_heads().size() == names.size());
  }

  TEST_CASE("slopes are derivatives of the loss, and curvatures of the slopes") {
    std::mt19937 random(12);
    for_rows(3, [&](Head head, std::size_t classes, std::size_t label, const HeadRow& margins) {
      const double h = 1e-5;
      const HeadRow slopes = slopes_of_row(head, margins, label), step = random_row(random, classes, 1);
      double along = 0;
      for (std::size_t c = 0; c < classes; ++c) along += slopes[c] * step[c];
      const HeadRow up = combined(margins, h, step), down = combined(margins, -h, step);
      const double rise = row_loss(head, up.data(), classes, label) - row_loss(head, down.data(), classes, label);
      CHECK(std::abs(rise / (2 * h) - along) <= 1e-7 * (1 + length(step)));
      const HeadRow turn = combined(slopes_of_row(head, up, label), -1, slopes_of_row(head, down, label));
      const HeadRow product = bent(head, margins, step);
      CHECK(length(combined(product, -1 / (2 * h), turn)) <= 1e-7 * (1 + length(step)));
    });
  }

  TEST_CASE("products with curvatures take each direction of each row by itself") {
    std::mt19937 random(13);
    for (const Head head : kHeads) {
      constexpr std::size_t kRows = 3, kDirections = 4, kClasses = 5;
      HeadRow curvatures = random_row(random, kRows * kClasses, 2),
              values = random_row(random, 4 * curvatures.size(), 1);
      const HeadRow margins = curvatures, before = values;
      curvatures_in_place(head, curvatures.data(), kRows, kClasses);
      multiply_by_curvatures(head, curvatures.data(), values.data(), kRows, kClasses, kDirections);
      for (std::size_t i = 0; i < kRows; ++i)
        for (std::size_t k = 0; k < kDirections; ++k) {
          const auto part = [&](const HeadRow& all, std::size_t first) {
            return HeadRow(all.begin() + static_cast<std::ptrdiff_t>(first),
                           all.begin() + static_cast<std::ptrdiff_t>(first + kClasses));
          };
          const std::size_t at = (i * kDirections + k) * kClasses;
          CHECK(part(values, at) == bent(head, part(margins, i * kClasses), part(before, at)));
        }
    }
  }

  TEST_CASE("bounds of slopes, curvatures and third derivatives hold") {
    std::mt19937 random(14);
    for_rows(400, [&](Head head, std::size_t classes, std::size_t label, const HeadRow& margins) {
      const HeadEntry& entry = entry_of(head);
      const HeadRow slopes = slopes_of_row(head, margins, label);
      if (has_bounded_slope(head))
        for (const double slope : slopes) CHECK(std::abs(slope) <= entry.smoothness.slope);
      const HeadRow step = random_row(random, classes, 0.3), image = bent(head, margins, step);
      CHECK(length(image) <= entry.smoothness.curvature * length(step) * (1 + 1e-12));
      if (entry.constant_curvature) CHECK(image == step);
      const HeadRow ahead = slopes_of_row(head, combined(margins, 1, step), label);
      const double remainder = length(combined(combined(ahead, -1, slopes), -1, image));
      CHECK(remainder <= entry.joint_third / 2 * length(step) * length(step) + 1e-13 * (1 + length(margins)));
      if (!entry.couples_classes) CHECK(entry.joint_third <= entry.smoothness.third);
      const HeadRow at_zero = slopes_of_row(head, HeadRow(classes, 0.0), label);
      CHECK(length(at_zero) <=
            entry.slope_at_zero * (entry.couples_classes ? 1 : std::sqrt(static_cast<double>(classes))));
    });
  }

  TEST_CASE("probabilities sum to 1, also of margins beyond all measure, and their logarithms go with them") {
    for_rows(3000, [&](Head head, std::size_t classes, std::size_t, const HeadRow& margins) {
      HeadRow shares = margins, logs = margins;
      probabilities_in_place(head, shares.data(), classes);
      log_probabilities_in_place(head, logs.data(), classes);
      const bool all_vanish =
          *std::max_element(margins.begin(), margins.end()) < -700;  // the shares are then all alike
      double sum = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        CHECK(shares[c] >= 0);
        sum += shares[c];
        if (shares[c] > 1e-290 && !all_vanish) CHECK(logs[c] == doctest::Approx(std::log(shares[c])).epsilon(1e-9));
        if (has_probabilities(head)) CHECK(std::isfinite(logs[c]));
      }
      CHECK(sum == doctest::Approx(1));
    });
  }

  TEST_CASE("blocks agree with rows on every vector extension, and their error bounds what moved margins do") {
    for_each_target([] {
      std::mt19937 random(15);
      for_rows(20, [&](Head head, std::size_t classes, std::size_t label, const HeadRow& margins) {
        const double norm = 0.7;
        const auto own = static_cast<ClassId>(label);
        const MarginBlock block{head, &own, &norm, 1, classes};
        HeadRow errors(classes + kSlopeSlack, 1e9), squares(classes + kSlopeSlack, 2.0), slopes = margins;
        for (std::size_t c = 0; c < classes; ++c) errors[c] = c % 3 == 0 ? 0.02 : 1e-6;
        slopes.resize(classes + kSlopeSlack, 1e300);
        std::vector<float> rough(margins.begin(), margins.end());
        rough.resize(classes + kSlopeSlack, 1e30F);
        std::vector<float> rough_curvatures = rough;
        std::vector<float> kept(classes + kSlopeSlack), rough_kept(classes + kSlopeSlack);
        const SlopeSums sums = slopes_in_place(block, errors.data(), slopes.data(), squares.data(), kept.data());
        slopes_in_place(block, rough.data(), rough_kept.data());
        curvatures_in_place(head, rough_curvatures.data(), 1, classes);
        HeadRow sampled(classes, 1.0);
        add_curvatures(head, rough.data(), classes, 3, sampled.data());

        const HeadRow expected = slopes_of_row(head, margins, label), curvatures = curvatures_of_row(head, margins);
        for (std::size_t c = 0; c < classes; ++c) {
          CHECK(std::abs(slopes[c] - expected[c]) <= 1e-14 * (1 + std::abs(margins[c])));
          CHECK(squares[c] == 2 + slopes[c] * slopes[c]);
          CHECK(std::abs(static_cast<double>(rough[c]) - expected[c]) <= 1e-5 * (1 + std::abs(margins[c])));
          CHECK(std::abs(static_cast<double>(rough_curvatures[c]) - curvatures[c]) <= 1e-5);
          CHECK(std::abs(static_cast<double>(kept[c]) - curvatures[c]) <= 1e-6 * curvatures[c] + 1e-37);
          CHECK(std::abs(rough_kept[c] - kept[c]) <= 1);
          HeadRow unit(classes, 0.0);
          unit[c] = 1;
          CHECK(std::abs(sampled[c] - 1 - 3 * bent(head, margins, unit)[c]) <= 1e-4);
        }
        CHECK(sums.absolute == doctest::Approx(norm * length(expected)));
        for (int trial = 0; trial < 3; ++trial) {
          HeadRow moved = margins;
          for (std::size_t c = 0; c < classes; ++c) moved[c] += (random() % 2 == 0 ? 1 : -1) * norm * errors[c];
          const HeadRow there = slopes_of_row(head, moved, label);
          CHECK(norm * length(combined(there, -1, expected)) <= sums.row_error + 1e-14 * (1 + length(margins)));
        }
      });
    });
  }
}
