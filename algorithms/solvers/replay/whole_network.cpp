// algorithms/solvers/replay/whole_network.cpp - products of whole numbers, and the single
// operations between them.
#include "algorithms/solvers/replay/whole_network.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>

#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/whole_products.h"
#include "algorithms/random/counter_random.h"
#include "storage/io/error.h"
#include "storage/io/message.h"

namespace unweave {
namespace {

constexpr double kMostUnit = 0x1p20, kMarginShift = 0x1p-30;
/// From sums to units of the first layer and of the others, and from slopes to what comes back.
constexpr double kFirstShift = 0x1p-20, kUnitShift = 0x1p-18, kBackShift = 0x1p-18;
constexpr double kMostBackFirst = 0x1p24, kMostBack = 0x1p20;

double bias_input(std::size_t layer) noexcept {
  return layer == 0 ? kRowUnit : kHiddenUnit;
}

void require_at_most_of(const char* what, std::size_t count, std::size_t most, const char* remedy) {
  if (count <= most) return;
  throw UsageError(std::string(what) + ": " + std::to_string(count) + " are more than the " + std::to_string(most) +
                   " for which the products of an exact network fit float64; " + remedy);
}

/// Calls use(first, width) for every run of a layer's inputs. A block's lie run by run, all rows of
/// the first, then all of the next: products with their transpose then read what lies together.
template <class Use>
void for_each_run(std::size_t inputs, const Use& use) {
  constexpr std::size_t kRun = 256;
  for (std::size_t first = 0; first < inputs; first += kRun) use(first, std::min(kRun, inputs - first));
}

/// 1 / i! for i up to 13, by quotients.
constexpr std::array<double, 14> kSeries = [] {
  std::array<double, 14> all{1.0};
  for (std::size_t i = 1; i < all.size(); ++i) all[i] = all[i - 1] / static_cast<double>(i);
  return all;
}();

}  // namespace

void require_exact_shape(const NetworkShape& shape, std::size_t rows) {
  if (shape.activation != Activation::kRelu)
    throw UsageError("an exact network is one of relu; leave out " + option("activation"));
  if (shape.blocks > 1) throw UsageError("an exact network learns no filter over the blocks of a row");
  require_at_most_of("features", shape.features, kMostFeatures, "choose fewer");
  for (const std::size_t width : shape.hidden)
    require_at_most_of("units of a hidden layer", width, kMostUnits, "choose fewer");
  require_at_most_of("classes", shape.classes, kMostClasses, "choose another solver");
  require_at_most_of("training rows", rows, kMostRows, "choose another solver");
}

Vector first_weights(const Network& network, std::uint64_t key) {
  Vector weights = Vector::Zero(index_of(network.size()));
  for (std::size_t l = 0; l < network.layers().size(); ++l) {
    const Layer& layer = network.layers()[l];
    const std::uint64_t stream = random_key(key, l);
    const double deviation = std::sqrt((l == 0 ? 2.0 : 1.0) / static_cast<double>(layer.inputs));
    for (std::size_t i = 0; i < layer.inputs * layer.outputs; ++i) {
      const double uniform = static_cast<double>(random_key(stream, i) >> 11) * 0x1p-53 - 0.5;
      weights[index_of(layer.first + i)] = whole_of(uniform * (2 * std::numbers::sqrt3) * deviation * kWeightUnit);
    }
  }
  return weights;
}

void exp_in_place(double* values, std::size_t count) {
  constexpr std::size_t kPiece = 256;
  constexpr double kLog2e = 1.4426950408889634, kLn2High = 0.693145751953125, kLn2Low = 1.4286068203094172e-06;
  std::array<double, kPiece> powers{}, rests{};
  for (std::size_t first = 0; first < count; first += kPiece) {
    const std::size_t size = std::min(kPiece, count - first);
    double* const at = values + first;
    for (std::size_t i = 0; i < size; ++i) {
      const double x = std::max(at[i], -80.0);
      powers[i] = whole_of(x * kLog2e);
      rests[i] = (x - powers[i] * kLn2High) - powers[i] * kLn2Low;
      at[i] = kSeries.back();
    }
    for (std::size_t term = kSeries.size() - 1; term-- > 0;)
      for (std::size_t i = 0; i < size; ++i) at[i] = at[i] * rests[i] + kSeries[term];
    for (std::size_t i = 0; i < size; ++i)
      at[i] *= std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(powers[i]) + 1023) << 52);
  }
}

WholeWeights::WholeWeights(const Network& network, const Vector& weights) : values(weights.data()) {
  for (std::size_t l = 1; l < network.layers().size(); ++l) {
    const Layer& layer = network.layers()[l];
    transposed.emplace_back(
        Eigen::Map<const Matrix>(values + layer.first, index_of(layer.inputs), index_of(layer.outputs)).transpose());
  }
}

std::size_t whole_pass_bytes(const Network& network, std::size_t block) {
  std::size_t numbers = 2 * network.size();
  for (const Layer& layer : network.layers()) numbers += block * (layer.inputs + 2 * layer.outputs);
  return numbers * sizeof(double);
}

WholePass::WholePass(const Network& network, std::size_t block)
    : network_(network), gradient_(Vector::Zero(index_of(network.size()))), whole_(network.size()) {
  for (const Layer& layer : network.layers()) {
    inputs_.emplace_back(index_of(block * layer.inputs));
    sums_.emplace_back(index_of(block * layer.outputs));
    back_.emplace_back(index_of(block * layer.outputs));
  }
}

void WholePass::add(const WholeWeights& weights, const ChosenRows& rows, std::size_t first, std::size_t count) {
  if (rows_ + count > kRowsTogether) carry();
  for_each_run(rows.features(), [&](std::size_t start, std::size_t width) {
    double* to = inputs_.front().data() + count * start;
    for (std::size_t i = 0; i < count; ++i, to += width) {
      const float* const from = rows.row(first + i) + start;
      for (std::size_t f = 0; f < width; ++f) to[f] = whole_of(static_cast<double>(from[f]) * kRowUnit);
    }
  });
  forward(weights, count);
  slopes(rows, first, count);
  back(weights, count);
  add_gradient(count);
  rows_ += count;
}

void WholePass::forward(const WholeWeights& weights, std::size_t count) {
  for (std::size_t l = 0; l < network_.layers().size(); ++l) {
    const Layer& layer = network_.layers()[l];
    const double* const values = weights.values + layer.first;
    const double* const bias = values + layer.inputs * layer.outputs;
    double* const sums = sums_[l].data();
    for_each_run(layer.inputs, [&](std::size_t first, std::size_t width) {
      multiply(inputs_[l].data() + count * first, values + first * layer.outputs, sums, count, width, layer.outputs,
               first > 0);
    });
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < layer.outputs; ++j) sums[i * layer.outputs + j] += bias_input(l) * bias[j];
    if (l + 1 == network_.layers().size()) return;
    const double shift = l == 0 ? kFirstShift : kUnitShift;
    for_each_run(layer.outputs, [&](std::size_t first, std::size_t width) {
      double* units = inputs_[l + 1].data() + count * first;
      for (std::size_t i = 0; i < count; ++i, units += width) {
        const double* const a = sums + i * layer.outputs + first;
        for (std::size_t j = 0; j < width; ++j) units[j] = std::min(whole_of(std::max(a[j], 0.0) * shift), kMostUnit);
      }
    });
  }
}

void WholePass::slopes(const ChosenRows& rows, std::size_t first, std::size_t count) {
  const std::size_t classes = rows.classes();
  double* const margins = sums_.back().data();
  double* const out = back_.back().data();
  for (std::size_t i = 0; i < count; ++i) {
    const double* const m = margins + i * classes;
    const double largest = *std::max_element(m, m + classes) * kMarginShift;
    for (std::size_t c = 0; c < classes; ++c) out[i * classes + c] = m[c] * kMarginShift - largest;
  }
  exp_in_place(out, count * classes);
  for (std::size_t i = 0; i < count; ++i) {
    double* const p = out + i * classes;
    double sum = p[0];
    for (std::size_t c = 1; c < classes; ++c) sum += p[c];
    for (std::size_t c = 0; c < classes; ++c) p[c] /= sum;
    p[rows.label(first + i)] -= 1;
    for (std::size_t c = 0; c < classes; ++c) p[c] = whole_of(p[c] * kSlopeUnit);
  }
}

void WholePass::back(const WholeWeights& weights, std::size_t count) {
  for (std::size_t l = network_.layers().size() - 1; l > 0; --l) {
    const Layer& layer = network_.layers()[l];
    const double most = l == 1 ? kMostBackFirst : kMostBack;
    double* const u = back_[l - 1].data();
    const double* const a = sums_[l - 1].data();
    multiply(back_[l].data(), weights.transposed[l - 1].data(), u, count, layer.outputs, layer.inputs, false);
    for (std::size_t k = 0; k < count * layer.inputs; ++k) {
      const double kept = std::min(std::max(whole_of(u[k] * kBackShift), -most), most);
      u[k] = a[k] > 0 ? kept : 0.0;
    }
  }
}

void WholePass::add_gradient(std::size_t count) {
  for (std::size_t l = 0; l < network_.layers().size(); ++l) {
    const Layer& layer = network_.layers()[l];
    double* const to = gradient_.data() + layer.first;
    for_each_run(layer.inputs, [&](std::size_t first, std::size_t width) {
      multiply_transposed(inputs_[l].data() + count * first, back_[l].data(), to + first * layer.outputs, width, count,
                          layer.outputs, true);
    });
    double* const bias = to + layer.inputs * layer.outputs;
    const double reads = bias_input(l);
    for (std::size_t i = 0; i < count; ++i) {
      const double* const u = back_[l].data() + i * layer.outputs;
      for (std::size_t j = 0; j < layer.outputs; ++j) bias[j] += reads * u[j];
    }
  }
}

void WholePass::carry() {
  for (std::size_t k = 0; k < whole_.size(); ++k) whole_[k] += static_cast<std::int64_t>(gradient_[index_of(k)]);
  gradient_.setZero();
  rows_ = 0;
}

void WholePass::take_into(std::vector<std::int64_t>& sums) {
  carry();
  for (std::size_t k = 0; k < whole_.size(); ++k) sums[k] += whole_[k];
  std::fill(whole_.begin(), whole_.end(), std::int64_t{0});
}

}  // namespace unweave
