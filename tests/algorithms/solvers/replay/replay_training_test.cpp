// tests/algorithms/solvers/replay/replay_training_test.cpp - the exact network: pinned weights, the
// slow reference, and all that its bits do not depend on.
#include "algorithms/solvers/replay/replay_training.h"

#include <doctest/doctest.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "algorithms/solvers/replay/whole_network.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "support/learner_data.h"
#include "support/shared_rows.h"
#include "support/slow_replay.h"
#include "support/thread_ranks.h"
#include "support/vector_targets.h"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

using namespace unweave;
using namespace unweave::testing;

namespace {

Network relu_network(std::size_t features, std::vector<std::size_t> hidden, std::size_t classes) {
  return Network({Head::kSoftmax, features, classes, std::move(hidden), Activation::kRelu});
}

/// Multiples of 2^-20 by SplitMix64, as the executable specification draws them.
std::vector<std::vector<float>> pinned_rows(std::size_t count, std::size_t features, std::uint64_t state) {
  const double scale = std::ldexp(1.0, -20) / std::exp2(std::ceil(std::log2(std::sqrt(features))));
  std::vector<std::vector<float>> rows(count, std::vector<float>(features));
  for (auto& row : rows)
    for (float& x : row) {
      state += 0x9E3779B97F4A7C15;
      x = static_cast<float>((static_cast<double>(slow_mix(state) >> 44) - 524288) * scale);
    }
  return rows;
}

/// A task that no linear model solves.
ClassId label_of(const std::vector<float>& row) {
  return (row[0] * row[1] > 0) != (row[2] > 0.05F) ? 1 : 0;
}

TrainingSet set_of(const std::vector<std::vector<float>>& rows, std::span<const std::size_t> order) {
  TrainingSet set(rows[0].size(), 2, RowForm(1));
  NodeId node = 0;
  for (const std::size_t i : order) set.append(node++, rows[i], label_of(rows[i]));
  return set;
}

std::vector<std::size_t> first_places(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

std::vector<std::int64_t> units_of(const Vector& weights) {
  std::vector<std::int64_t> out;
  for (Eigen::Index k = 0; k < weights.size(); ++k) {
    CHECK(std::signbit(weights[k]) == (weights[k] < 0));  // no -0
    out.push_back(static_cast<std::int64_t>(weights[k] * kWeightUnit));
  }
  return out;
}

std::string digest_of(const Vector& weights) {
  const std::vector<std::int64_t> units = units_of(weights);
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(units.data()), units.size() * 8);
  return to_hex(std::as_bytes(std::span(hash))).substr(0, 32);
}

constexpr ReplayPlan kPinnedPlan{.steps = 200, .batches = 1, .key = 4, .rate = 0.01};
constexpr const char* kPinned = "22b876ea792ed0688da4bfd1b3af4594";

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("T0': the pinned weights, on a task that no linear model solves; any order of rows, any cut") {
    const auto rows = pinned_rows(4000, 5, 55);
    std::vector<std::size_t> order = first_places(3000);
    const Network network = relu_network(5, {32}, 2);
    const Vector weights = train_exactly(network, set_of(rows, order), kPinnedPlan, 1e-4, {512, 2});
    CHECK(digest_of(weights) == kPinned);
    std::size_t right = 0;
    for (std::size_t i = 3000; i < rows.size(); ++i) {
      double margins[2];
      network.margins({weights.data(), size_of(weights.size())}, rows[i].data(), 1, margins);
      right += (margins[1] > margins[0] ? 1U : 0U) == label_of(rows[i]) ? 1 : 0;
    }
    CHECK(right > 850);
    std::mt19937 random(2);
    std::shuffle(order.begin(), order.end(), random);
    for (const ReplayCut cut : {ReplayCut{333, 3}, ReplayCut{1, 1}, ReplayCut{4096, 5}})
      CHECK(digest_of(train_exactly(network, set_of(rows, order), kPinnedPlan, 1e-4, cut)) == kPinned);
  }

  TEST_CASE("T0': float32 sums of the same gradients do depend on the order of rows") {
    const auto rows = pinned_rows(3000, 5, 55);
    std::vector<std::size_t> order = first_places(3000);
    const auto sum_of = [&] {
      float sum = 0;
      for (const std::size_t i : order) sum += rows[i][0] * rows[i][1];
      return sum;
    };
    const float one = sum_of();
    std::mt19937 random(2);
    std::shuffle(order.begin(), order.end(), random);
    CHECK(one != sum_of());
  }

  TEST_CASE("T0': weights are those of loops over whole numbers, for every shape, number of classes and batches") {
    struct Case {
      std::size_t rows, features;
      std::vector<std::size_t> hidden;
      std::size_t classes;
      std::uint64_t batches;
    };
    for (const Case& one : {Case{90, 7, {9}, 5, 1},
                            {60, 5, {6, 4}, 3, 1},
                            {50, 4, {5, 6, 3}, 2, 1},
                            {70, 6, {8}, 3, 4},
                            {40, 3, {600}, 2, 1},
                            {30, 3, {4}, 1, 1},
                            {25, 1, {1}, 2, 3},
                            {0, 3, {4}, 2, 1}}) {
      CAPTURE(one.rows);
      CAPTURE(one.features);
      const TrainingSet rows = random_rows(one.rows, one.features, one.classes, 5);
      const Network network = relu_network(one.features, one.hidden, one.classes);
      const ReplayPlan plan{.steps = 30, .batches = one.batches, .key = 9, .rate = 0.02};
      SlowReplay slow(one.features, one.hidden, one.classes, plan.key);
      slow.train(rows, plan.steps, plan.rate, 1e-3, plan.batches);
      for (const std::size_t block : {7U, 64U})
        CHECK(units_of(train_exactly(network, rows, plan, 1e-3, {block, 2})) == slow.flat());
    }
  }

  TEST_CASE("T0': where weights, units and what comes back are kept within their limits, the bits are still those") {
    // Long rows on which the classes change side by side, and steps as long as weights may be.
    TrainingSet rows(400, 2, RowForm(1));
    std::mt19937 random(3);
    std::vector<float> row(400);
    for (NodeId node = 0; node < 40; ++node) {
      for (float& x : row) x = (random() % 32 == 0 ? -1.0F : 1.0F) / 20;
      rows.append(node, row, random() % 4 == 0 ? 1 : 0);
    }
    for (const std::vector<std::size_t>& hidden : {std::vector<std::size_t>{12}, {12, 8}}) {
      const Network network = relu_network(400, hidden, 2);
      const ReplayPlan plan{.steps = 12, .batches = 1, .key = 1, .rate = 16};
      SlowReplay slow(400, hidden, 2, plan.key);
      slow.train(rows, plan.steps, plan.rate, 1e-6);
      CHECK(slow.limits.weights > 0);
      CHECK(slow.limits.units > 0);
      CHECK(slow.limits.back_first > 0);
      if (hidden.size() > 1) CHECK(slow.limits.back_above > 0);
      CHECK(units_of(train_exactly(network, rows, plan, 1e-6, {64, 2})) == slow.flat());
    }
  }

  TEST_CASE("T0': every number of threads and every vector extension gives the same bits, also where denormals are 0") {
    TrainingSet rows = random_rows(300, 6, 3, 8);
    std::vector<float> faint(6, 0x1p-140F);
    rows.append(1000, faint, 1);
    const Network network = relu_network(6, {40, 20}, 3);
    const ReplayPlan plan{.steps = 12, .batches = 1, .key = 2, .rate = 0.05};
    const auto train = [&] {
      return units_of(train_exactly(network, rows, plan, 1e-5, choose_cut(network, rows, 1 << 24)));
    };
    const std::vector<std::int64_t> once = train();
    for (const std::size_t threads : {1U, 2U, 5U}) {
      const ThreadLimit limit(threads);
      CHECK(train() == once);
    }
    for_each_target([&] { CHECK(train() == once); });
#ifdef __SSE2__
    const ThreadLimit limit(1);
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    const std::vector<std::int64_t> flushed = train();
    _mm_setcsr(before);
    CHECK(flushed == once);
#endif
  }

  TEST_CASE("T0': ranks that share the rows get the bits of one process, with batches and without") {
    const TrainingSet whole = random_rows(900, 5, 3, 12);
    const Network network = relu_network(5, {7, 6}, 3);
    for (const std::uint64_t batches : {1U, 3U}) {
      const ReplayPlan plan{.steps = 10, .batches = batches, .key = 0, .rate = 0.05};
      const std::vector<std::int64_t> alone = units_of(train_exactly(network, whole, plan, 1e-4, {64, 2}));
      for (const std::size_t size : {2U, 3U, 5U}) {
        std::vector<Vector> found(size);
        run_ranks(size, [&](Ranks& ranks) {
          found[ranks.rank()] = train_exactly(network, shared_among(ranks, whole), plan, 1e-4, {64, 1});
        });
        for (const Vector& one : found) CHECK(units_of(one) == alone);
      }
    }
  }

  TEST_CASE("T0': the batch of a row follows from its node alone, and batches are about as large") {
    const ReplayPlan plan{.steps = 1, .batches = 5, .key = 3, .rate = 0.1};
    std::vector<int> sizes(5);
    std::size_t same = 0;
    for (NodeId node = 0; node < 5000; ++node) {
      ++sizes[batch_of(plan, 0, node)];
      same += batch_of(plan, 0, node) == batch_of(plan, 1, node) ? 1 : 0;
    }
    for (const int size : sizes) CHECK(std::abs(size - 1000) < 120);
    CHECK(same > 880);
    CHECK(same < 1120);
    // A row that leaves moves no other one to another batch: the reference goes by nodes, too.
    TrainingSet rows = random_rows(60, 4, 2, 6);
    const BatchChange change = random_change(rows, 1, 60, 1, 0, 0, 1);
    rows.apply(change);
    SlowReplay slow(4, {5}, 2, 3);
    slow.train(rows, 10, 0.1, 1e-3, 5);
    CHECK(units_of(train_exactly(relu_network(4, {5}, 2), rows, {10, 5, 3, 0.1}, 1e-3, {64, 1})) == slow.flat());
  }

  TEST_CASE("T0': exp is that of the C library but for some ulp, and 1 at 0") {
    std::vector<double> values;
    for (double x = 0; x > -79; x -= 0.00731) values.push_back(x);
    std::vector<double> found = values;
    exp_in_place(found.data(), found.size());
    CHECK(found[0] == 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      CHECK(std::abs(found[i] / std::exp(values[i]) - 1) < 1e-15);
      CHECK(found[i] == slow_exp(values[i]));
    }
    std::vector<double> far{-80, -81, -1e300, -std::numeric_limits<double>::infinity()};
    exp_in_place(far.data(), far.size());
    for (const double one : far) CHECK(one == far[0]);
  }

  TEST_CASE("T0': shapes, rows and activations beyond the bounds are refused with what to change") {
    const auto shape = [](std::size_t features, std::vector<std::size_t> hidden, std::size_t classes) {
      return NetworkShape{Head::kSoftmax, features, classes, std::move(hidden), Activation::kRelu};
    };
    CHECK_NOTHROW(require_exact_shape(shape(1U << 17, {2048, 2048}, 2048), (1U << 23) - 1));
    const auto refused = [](const NetworkShape& one, std::size_t rows, const char* words) {
      CHECK_THROWS_WITH_AS(require_exact_shape(one, rows), doctest::Contains(words), UsageError);
    };
    refused(shape((1U << 17) + 1, {4}, 2), 1, "features: 131073 are more than the 131072");
    refused(shape(4, {4, 2049}, 2), 1, "units of a hidden layer: 2049");
    refused(shape(4, {4}, 2049), 1, "classes: 2049");
    refused(shape(4, {4}, 2), 1U << 23, "training rows: 8388608");
    NetworkShape other = shape(4, {4}, 2);
    other.activation = Activation::kTanh;
    refused(other, 1, "relu");
    other = shape(4, {4}, 2);
    other.blocks = 2;
    refused(other, 1, "no filter");
    TrainingSet longer(2, 2, RowForm(3));
    CHECK_THROWS_AS(static_cast<void>(train_exactly(relu_network(2, {3}, 2), longer, {}, 1e-3, {64, 1})), UsageError);
  }
}
