// algorithms/learning/network_pass.cpp - forward, backward and directional (R-operator: Pearlmutter
// 1994) passes of a block.
#include "algorithms/learning/network_pass.h"

#include <algorithm>
#include <cmath>

#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/row_sweep.h"

namespace unweave {
namespace {

enum Use : std::size_t { kInputs, kSlope, kBend, kBack, kReach, kCurvature, kImage, kAhead, kReturn, kUses };

/// As block_buffer() of row_sweep.h, one for each layer and use.
double* buffer(std::size_t layer, Use use, std::size_t count) {
  thread_local std::vector<std::vector<double>> buffers;
  const std::size_t slot = layer * kUses + use;
  if (buffers.size() <= slot) buffers.resize(slot + 1);
  if (buffers[slot].size() < count) buffers[slot] = std::vector<double>(count);
  return buffers[slot].data();
}

struct Unit {
  double value, slope, bend;
};

Unit activate(Activation activation, double u) {
  if (activation == Activation::kTanh) {
    const double value = std::tanh(u), slope = 1 - value * value;
    return {value, slope, -2 * value * slope};
  }
  if (activation == Activation::kRelu)
    return {std::min(std::max(u, 0.0), kReluMost), u > 0 && u < kReluMost ? 1.0 : 0.0, 0};
  constexpr double b = kSmeluHalfWidth;
  if (u <= -b) return {0, 0, 0};
  if (u >= b) return {u, 1, 0};
  return {(u + b) * (u + b) / (4 * b), (u + b) / (2 * b), 1 / (2 * b)};
}

Eigen::Map<const Matrix> view(const double* values, std::size_t rows, std::size_t columns) {
  return {values, index_of(rows), index_of(columns)};
}

}  // namespace

NetworkPoint::NetworkPoint(const Network& of, std::span<const double> parameters, bool backward)
    : network(of), values(parameters.data()) {
  transposed.resize(of.layers().size());
  for (std::size_t l = 0; backward && l < transposed.size(); ++l) {
    const Layer& layer = of.layers()[l];
    if (of.reaches_inputs(layer)) transposed[l] = view(values + layer.first, layer.inputs, layer.outputs).transpose();
  }
}

std::size_t pass_bytes(const Network& network, std::size_t directions) {
  std::size_t numbers = network.shape().classes;
  for (const Layer& layer : network.layers())  // inputs, back, slope, bend, reach; image, ahead, return
    numbers += layer.rows() + 4 * layer.outputs + directions * (2 * layer.outputs + layer.inputs);
  if (network.filtered()) numbers += (1 + 2 * directions) * network.layers().front().inputs;
  return numbers * sizeof(double);
}

std::size_t pass_width(const Network& network, std::size_t directions) {
  const NetworkShape& shape = network.shape();
  if (shape.hidden.empty()) return std::max(shape.features, directions * shape.classes);
  return std::max(shape.features, pass_bytes(network, directions) / sizeof(double));
}

Reservation reserve_passes(const Network& network, std::size_t rows, MemoryBudget& budget) {
  constexpr std::size_t kVectors = 8;
  const RowCut cut = cut_rows(rows, pass_width(network, 0)), with_product = cut_rows(rows, pass_width(network, 1));
  const std::size_t block =
      std::max(cut.block_rows * pass_bytes(network, 0), with_product.block_rows * pass_bytes(network, 1));
  return budget.reserve(active_threads() * block + (cut.lanes + kVectors) * network.size() * sizeof(double),
                        "layers of a network");
}

NetworkPass::NetworkPass(const NetworkPoint& point, std::size_t count)
    : point_(point), layers_(point.network.layers()), count_(count) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const std::size_t outputs = count * layers_[l].outputs;
    inputs_.push_back(buffer(l, kInputs, count * layers_[l].rows()));
    back_.push_back(buffer(l, kBack, outputs));
    if (l + 1 == layers_.size()) break;
    slope_.push_back(buffer(l, kSlope, outputs));
    bend_.push_back(buffer(l, kBend, outputs));
    reach_.push_back(buffer(l, kReach, outputs));
  }
  curvature_ = buffer(0, kCurvature, count * layers_.back().outputs);
  if (!point.network.filtered()) return;
  filter_ = point.values + point.network.filter();
  rows_.resize(count);
  reach_input_ = buffer(layers_.size() - 1, kReach, count * layers_.front().inputs);
}

void NetworkPass::mix(const double* weights, const float* row, double* out) const {
  const std::size_t inputs = layers_.front().inputs, blocks = point_.network.shape().blocks;
  std::fill_n(out, inputs, 0.0);
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t f = 0; f < inputs; ++f) out[f] += weights[b] * static_cast<double>(row[b * inputs + f]);
}

void NetworkPass::add_block_products(const double* values, const float* row, double* out) const {
  const std::size_t inputs = layers_.front().inputs, blocks = point_.network.shape().blocks;
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t f = 0; f < inputs; ++f) out[b] += values[f] * static_cast<double>(row[b * inputs + f]);
}

double* NetworkPass::run() {
  for (std::size_t l = 0;; ++l) {
    const Layer& layer = layers_[l];
    double* const outputs = back_[l];
    multiply(inputs_[l], point_.values + layer.first, outputs, count_, layer.rows(), layer.outputs, false);
    if (l + 1 == layers_.size()) return outputs;
    for (std::size_t i = 0; i < count_; ++i) {
      double* const next = inputs_[l + 1] + i * (layer.outputs + 1);
      for (std::size_t j = 0; j < layer.outputs; ++j) {
        const std::size_t at = i * layer.outputs + j;
        const Unit unit = activate(point_.network.shape().activation, outputs[at]);
        next[j] = unit.value;
        slope_[l][at] = unit.slope;
        bend_[l][at] = unit.bend;
      }
      next[layer.outputs] = 1;
    }
  }
}

void NetworkPass::backward(const ClassId* labels) {
  const Head head = point_.network.shape().head;
  const std::size_t classes = layers_.back().outputs;
  double* const margins = back_.back();
  std::copy_n(margins, count_ * classes, curvature_);
  curvatures_in_place(head, curvature_, count_, classes);
  for (std::size_t i = 0; i < count_; ++i) slopes_in_place(head, margins + i * classes, classes, labels[i]);
  back();
}

void NetworkPass::back() {
  for (std::size_t l = layers_.size() - 1; l > 0; --l) {
    const Layer& layer = layers_[l];
    multiply(back_[l], point_.transposed[l].data(), reach_[l - 1], count_, layer.outputs, layer.inputs, false);
    for (std::size_t at = 0; at < count_ * layer.inputs; ++at) back_[l - 1][at] = reach_[l - 1][at] * slope_[l - 1][at];
  }
  if (filter_ != nullptr)
    multiply(back_.front(), point_.transposed.front().data(), reach_input_, count_, layers_.front().outputs,
             layers_.front().inputs, false);
}

void NetworkPass::add_gradient(double* sum) const {
  for (std::size_t l = 0; l < layers_.size(); ++l)
    multiply_transposed(inputs_[l], back_[l], sum + layers_[l].first, layers_[l].rows(), count_, layers_[l].outputs,
                        true);
  for (std::size_t i = 0; i < rows_.size(); ++i)
    add_block_products(reach_input_ + i * layers_.front().inputs, rows_[i], sum + point_.network.filter());
}

void NetworkPass::row_gradients(double* out) const {
  const std::size_t size = point_.network.size();
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t r = 0; r < layer.rows(); ++r) {
        const double input = inputs_[l][i * layer.rows() + r];
        double* const to = out + i * size + layer.first + r * layer.outputs;
        for (std::size_t j = 0; j < layer.outputs; ++j) to[j] = input * back_[l][i * layer.outputs + j];
      }
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    double* const to = out + i * size + point_.network.filter();
    std::fill_n(to, point_.network.shape().blocks, 0.0);
    add_block_products(reach_input_ + i * layers_.front().inputs, rows_[i], to);
  }
}

/// values (count x directions x classes) = Hessian of each row's loss by its margins, times values.
void NetworkPass::bend_output(std::size_t directions, double* values) const {
  multiply_by_curvatures(point_.network.shape().head, curvature_, values, count_, layers_.back().outputs, directions);
}

void NetworkPass::add_products(const NetworkDirections& directions, HessianSums& sums) {
  const std::size_t wide = directions.count();
  // Forward: image[l] is how the outputs of layer l before phi move, ahead[l] how its inputs do.
  std::vector<double*> image(layers_.size()), ahead(layers_.size());
  const std::size_t width = layers_.front().inputs;
  if (filter_ != nullptr) ahead.front() = buffer(0, kAhead, count_ * wide * width);
  for (std::size_t i = 0; i < rows_.size(); ++i)
    for (std::size_t k = 0; k < wide; ++k)
      mix(directions.filter().row(index_of(k)).data(), rows_[i], ahead.front() + (i * wide + k) * width);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    image[l] = buffer(l, kImage, count_ * wide * layer.outputs);
    multiply(inputs_[l], directions.layer(l).data(), image[l], count_, layer.rows(), wide * layer.outputs, false);
    if (ahead[l] != nullptr)
      multiply(ahead[l], point_.values + layer.first, image[l], count_ * wide, layer.inputs, layer.outputs, true);
    if (l + 1 == layers_.size()) break;
    ahead[l + 1] = buffer(l + 1, kAhead, count_ * wide * layer.outputs);
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t k = 0; k < wide; ++k)
        for (std::size_t j = 0; j < layer.outputs; ++j) {
          const std::size_t at = (i * wide + k) * layer.outputs + j;
          ahead[l + 1][at] = slope_[l][i * layer.outputs + j] * image[l][at];
        }
  }
  // Back: `moved` is how back_[l] moves.
  double *moved = image.back(), *reached = nullptr;
  bend_output(wide, moved);
  for (std::size_t l = layers_.size() - 1;; --l) {
    const Layer& layer = layers_[l];
    multiply_transposed(inputs_[l], moved, sums.layers_[l].data(), layer.rows(), count_, wide * layer.outputs, true);
    if (ahead[l] == nullptr) break;
    multiply_transposed(ahead[l], back_[l], sums.stacked_[l].data(), wide * layer.inputs, count_, layer.outputs, true);
    reached = buffer(l, kReturn, count_ * wide * layer.inputs);
    multiply(back_[l], directions.transposed(l).data(), reached, count_, layer.outputs, wide * layer.inputs, false);
    multiply(moved, point_.transposed[l].data(), reached, count_ * wide, layer.outputs, layer.inputs, true);
    if (l == 0) break;
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t k = 0; k < wide; ++k)
        for (std::size_t j = 0; j < layer.inputs; ++j) {
          const std::size_t own = i * layer.inputs + j, at = (i * wide + k) * layer.inputs + j;
          reached[at] = reached[at] * slope_[l - 1][own] + reach_[l - 1][own] * bend_[l - 1][own] * image[l - 1][at];
        }
    moved = reached;
  }
  for (std::size_t i = 0; i < rows_.size(); ++i)
    for (std::size_t k = 0; k < wide; ++k)
      add_block_products(reached + (i * wide + k) * width, rows_[i], sums.filter_.row(index_of(k)).data());
}

}  // namespace unweave
