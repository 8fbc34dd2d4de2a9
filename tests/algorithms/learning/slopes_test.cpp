// tests/algorithms/learning/slopes_test.cpp - vectors of slopes and curvatures against their scalar
// twins, one entry at a time.
#include "algorithms/learning/slopes.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "support/fenced_array.h"
#include "support/heads.h"
#include "support/learner_data.h"
#include "support/vector_targets.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

using testing::FencedArray;
using testing::for_each_target;

constexpr double kUntouched = -77;

/// Relative to the expected value alone.
bool near(double found, double expected, double relative) {
  return std::abs(found - expected) <= relative * std::abs(expected) + 1e-37;
}

/// Margins of every size that float64 knows, and the rest of a block.
struct SlopeSample {
  SlopeSample(Head head, std::size_t rows, std::size_t classes, unsigned seed, double scale)
      : margins(random_matrix(rows, classes, seed, scale)) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < rows; ++i) {
      labels.push_back(static_cast<ClassId>(random() % classes));
      norms.push_back(static_cast<double>(random() % 1000) / 1000);
    }
    if (margins.size() > 2) {
      margins.data()[0] = 0;
      margins.data()[1] = -900 * scale;
      margins.data()[2] = 900 * scale;
    }
    block = {head, labels.data(), norms.data(), rows, classes};
  }

  template <class T>
  [[nodiscard]] std::vector<T> padded() const {
    std::vector<T> out(margins.data(), margins.data() + margins.size());
    out.resize(out.size() + kSlopeSlack, static_cast<T>(kUntouched));
    return out;
  }
  [[nodiscard]] double target(std::size_t i, std::size_t c) const { return labels[i] == c ? 1 : -1; }

  Matrix margins;
  std::vector<ClassId> labels;
  std::vector<double> norms;
  MarginBlock block;
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("float64 slopes, sums and curvatures of every width are those of the scalar loss") {
    for (const Head head : heads_that_couple(false))
      for (const double scale : {0.5, 20.0})
        for (std::size_t classes = 1; classes <= 35; ++classes) {
          const std::size_t rows = 1 + classes % 5;
          const SlopeSample sample(head, rows, classes, static_cast<unsigned>(classes), scale);
          std::vector<double> slopes = sample.padded<double>(), margin_error(classes + kSlopeSlack, 1e9);
          for (std::size_t c = 0; c < classes; ++c) margin_error[c] = c % 3 == 0 ? 0.02 : 1e-9;
          std::vector<double> squares(classes + kSlopeSlack, 1.0);
          std::vector<float> curvatures(rows * classes + 1, 7);
          const SlopeSums sums =
              slopes_in_place(sample.block, margin_error.data(), slopes.data(), squares.data(), curvatures.data());
          double absolute = 0, row_error = 0;
          std::vector<double> expected_squares(classes, 1.0);
          for (std::size_t i = 0; i < rows; ++i) {
            double row = 0, moved = 0;
            for (std::size_t c = 0; c < classes; ++c) {
              const Pointwise at = derivatives(head, sample.margins(index_of(i), index_of(c)), sample.target(i, c));
              const double found = slopes[i * classes + c];
              CHECK(std::abs(found - at.slope) <= 2 * kPointwiseUlps * kUnitRoundoff * std::abs(at.slope) + 1e-300);
              CHECK(near(static_cast<double>(curvatures[i * classes + c]), at.curvature, 1e-6));
              row += at.slope * at.slope;
              const double error = margin_error[c] * sample.norms[i];
              const double rate = error <= 0.009 ? 1.01 * at.curvature : smoothness(head).curvature;
              moved += rate * error * rate * error;
              expected_squares[c] += at.slope * at.slope;
            }
            absolute += sample.norms[i] * std::sqrt(row);
            row_error += sample.norms[i] * (std::sqrt(moved) + kPointwiseUlps * kUnitRoundoff * std::sqrt(row));
          }
          CHECK(sums.absolute == doctest::Approx(absolute).epsilon(1e-12));
          CHECK(sums.row_error == doctest::Approx(row_error).epsilon(1e-9));
          for (std::size_t c = 0; c < classes; ++c)
            CHECK(squares[c] == doctest::Approx(expected_squares[c]).epsilon(1e-12));
          for (std::size_t k = 0; k < kSlopeSlack; ++k) {
            CHECK(slopes[rows * classes + k] == kUntouched);
            CHECK(squares[classes + k] == 1.0);
          }
          CHECK(curvatures.back() == 7);
        }
  }

  TEST_CASE("float32 slopes and curvatures of every width are near those of the scalar loss") {
    for (const Head head : heads_that_couple(false))
      for (std::size_t classes = 1; classes <= 35; ++classes) {
        const std::size_t rows = 1 + classes % 4;
        const SlopeSample sample(head, rows, classes, static_cast<unsigned>(classes), 3);
        std::vector<float> slopes = sample.padded<float>(), curvatures = slopes;
        std::vector<float> kept(rows * classes + 1, 7);
        slopes_in_place(sample.block, slopes.data(), kept.data());
        curvatures_in_place(head, curvatures.data(), rows, classes);
        std::vector<float> scaled(rows * classes, 2.0F);
        scale_by(kept.data(), scaled.data(), scaled.size());
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t c = 0; c < classes; ++c) {
            const std::size_t k = i * classes + c;
            const auto margin = static_cast<double>(static_cast<float>(sample.margins.data()[k]));
            const Pointwise at = derivatives(head, margin, sample.target(i, c));
            CHECK(near(static_cast<double>(slopes[k]), at.slope, 1e-5));
            CHECK(near(static_cast<double>(curvatures[k]), at.curvature, 1e-5));
            CHECK(near(static_cast<double>(kept[k]), at.curvature, 1e-6));
            CHECK(scaled[k] == 2.0F * kept[k]);
          }
        for (std::size_t k = rows * classes; k < slopes.size(); ++k) {
          CHECK(slopes[k] == static_cast<float>(kUntouched));
          CHECK(curvatures[k] == static_cast<float>(kUntouched));
        }
        CHECK(kept.back() == 7);
      }
  }

  TEST_CASE("no vector extension writes past the last margin, sum or curvature") {
    for_each_target([] {
      for (const Head head : heads_that_couple(false))
        for (std::size_t classes = 1; classes <= 35; ++classes) {
          const SlopeSample sample(head, 2, classes, static_cast<unsigned>(classes), 3);
          const std::size_t size = 2 * classes;
          const FencedArray<double> slopes(size, true, 0.5), squares(classes, true, 0);
          const FencedArray<float> rough(size, true, 0.5F), alone(size, true, 0.5F), scaled(size, false, 2.0F);
          const FencedArray<float> kept(size, false, 0), rough_kept(size, false, 0);
          const std::vector<double> margin_error(classes + kSlopeSlack);
          static_cast<void>(
              slopes_in_place(sample.block, margin_error.data(), slopes.data(), squares.data(), kept.data()));
          slopes_in_place(sample.block, rough.data(), rough_kept.data());
          curvatures_in_place(head, alone.data(), 2, classes);
          scale_by(kept.data(), scaled.data(), size);
          const double curvature = derivatives(head, 0.5, 1).curvature;
          for (std::size_t k = 0; k < size; ++k) {
            const double slope = derivatives(head, 0.5, sample.target(k / classes, k % classes)).slope;
            CHECK(near(slopes.data()[k], slope, 1e-14));
            CHECK(near(static_cast<double>(rough.data()[k]), slope, 1e-5));
            CHECK(near(static_cast<double>(kept.data()[k]), curvature, 1e-6));
            CHECK(near(static_cast<double>(rough_kept.data()[k]), curvature, 1e-5));
            CHECK(near(static_cast<double>(alone.data()[k]), curvature, 1e-5));
            CHECK(scaled.data()[k] == 2.0F * kept.data()[k]);
          }
        }
    });
  }

  TEST_CASE("margins beyond every exponent give slopes of 0 and 1, no numbers outside") {
    for_each_target([] {
      for (const double margin : {-1e308, -1e300, -746.0, 746.0, 1e300, 1e308}) {
        const ClassId labels[] = {0};
        const double norms[] = {1}, errors[2 + kSlopeSlack] = {};
        std::vector<double> slopes(2 + kSlopeSlack, margin), squares(2 + kSlopeSlack);
        const SlopeSums sums =
            slopes_in_place({Head::kLogistic, labels, norms, 1, 2}, errors, slopes.data(), squares.data(), nullptr);
        CHECK(std::abs(slopes[0] - (margin > 0 ? 0.0 : -1.0)) <= 1e-300);
        CHECK(std::abs(slopes[1] - (margin > 0 ? 1.0 : 0.0)) <= 1e-300);
        CHECK(sums.absolute == doctest::Approx(1).epsilon(1e-14));
      }
    });
  }

  TEST_CASE("where slopes leave the normal numbers they keep their relative error or one of 1e-300") {
    for_each_target([] {
      for (double size = 680; size < 760; size += 0.37)
        for (const double margin : {-size, size}) {
          const ClassId labels[] = {0};
          const double norms[] = {1}, errors[2 + kSlopeSlack] = {};
          std::vector<double> slopes(2 + kSlopeSlack, margin), squares(2 + kSlopeSlack);
          static_cast<void>(
              slopes_in_place({Head::kLogistic, labels, norms, 1, 2}, errors, slopes.data(), squares.data(), nullptr));
          // In extended precision, whose exponents reach further.
          const long double e = std::exp(-static_cast<long double>(size)), small = e / (1 + e);
          const long double own = margin > 0 ? -small : -1 / (1 + e), other = margin > 0 ? 1 / (1 + e) : small;
          CAPTURE(margin);
          const auto within = [](double found, long double expected) {
            return std::abs(static_cast<long double>(found) - expected) <=
                   static_cast<long double>(kPointwiseUlps * kUnitRoundoff) * std::abs(expected) + 1e-300L;
          };
          CHECK(within(slopes[0], own));
          CHECK(within(slopes[1], other));
        }
    });
  }
}
