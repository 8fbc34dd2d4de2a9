// algorithms/learning/network_directions.cpp - turns flat vectors into matrices that hold a layer
// of all of them.
#include "algorithms/learning/network_directions.h"

namespace unweave {
namespace {

Eigen::Index outputs_of(const Layer& layer) {
  return index_of(layer.outputs);
}

Eigen::Index inputs_of(const Layer& layer) {
  return index_of(layer.inputs);
}

/// The numbers of one layer among flat ones.
template <class Number>
Eigen::Map<std::conditional_t<std::is_const_v<Number>, const Matrix, Matrix>> part_of(Number* values,
                                                                                      const Layer& layer) {
  return {values + layer.first, index_of(layer.rows()), outputs_of(layer)};
}

/// Vector k of those that lie side by side.
Vector flat(const Network& network, const std::vector<Matrix>& layers, const Matrix& filter, std::size_t k) {
  Vector out(index_of(network.size()));
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = network.layers()[l];
    part_of(out.data(), layer) = layers[l].middleCols(index_of(k) * outputs_of(layer), outputs_of(layer));
  }
  if (network.filtered()) out.tail(filter.cols()) = filter.row(index_of(k)).transpose();
  return out;
}

}  // namespace

NetworkDirections::NetworkDirections(const Network& network, std::size_t count) : network_(&network), count_(count) {
  for (const Layer& layer : network.layers()) {
    layers_.push_back(Matrix::Zero(index_of(layer.rows()), index_of(count * layer.outputs)));
    transposed_.emplace_back();
    if (network.reaches_inputs(layer))
      transposed_.back() = Matrix::Zero(outputs_of(layer), index_of(count * layer.inputs));
  }
  if (network.filtered()) filter_ = Matrix::Zero(index_of(count), index_of(network.shape().blocks));
}

Vector NetworkDirections::get(std::size_t k) const {
  return flat(*network_, layers_, filter_, k);
}

void NetworkDirections::add(std::size_t k, std::span<const double> values) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = network_->layers()[l];
    const auto part = part_of(values.data(), layer);
    layers_[l].middleCols(index_of(k) * outputs_of(layer), outputs_of(layer)) += part;
    if (network_->reaches_inputs(layer))
      transposed_[l].middleCols(index_of(k) * inputs_of(layer), inputs_of(layer)) +=
          part.topRows(inputs_of(layer)).transpose();
  }
  if (network_->filtered())
    filter_.row(index_of(k)) +=
        Eigen::Map<const Eigen::RowVectorXd>(values.data() + network_->filter(), filter_.cols());
}

void NetworkDirections::descend(std::span<const double> decays, double share, const HessianSums& sums) {
  const Eigen::Map<const Vector> decay(decays.data(), index_of(decays.size()));
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = network_->layers()[l];
    const Eigen::Index outputs = outputs_of(layer), inputs = inputs_of(layer);
    Eigen::RowVectorXd wide(layers_[l].cols());
    for (Eigen::Index k = 0; k < decay.size(); ++k) wide.segment(k * outputs, outputs).setConstant(decay[k]);
    layers_[l].array() = layers_[l].array().rowwise() * wide.array() - share * sums.layers_[l].array();
    if (!network_->reaches_inputs(layer)) continue;
    for (Eigen::Index k = 0; k < decay.size(); ++k) {
      auto own = layers_[l].block(0, k * outputs, inputs, outputs);
      own -= share * sums.stacked_[l].middleRows(k * inputs, inputs);
      transposed_[l].middleCols(k * inputs, inputs) = own.transpose();
    }
  }
  if (network_->filtered()) filter_ = decay.asDiagonal() * filter_ - share * sums.filter_;
}

HessianSums::HessianSums(const Network& network, std::size_t count) : network_(&network) {
  for (const Layer& layer : network.layers()) {
    layers_.emplace_back(index_of(layer.rows()), index_of(count * layer.outputs));
    stacked_.emplace_back();
    if (network.reaches_inputs(layer)) stacked_.back().resize(index_of(count * layer.inputs), outputs_of(layer));
  }
  if (network.filtered()) filter_.resize(index_of(count), index_of(network.shape().blocks));
  clear();
}

HessianSums& HessianSums::operator+=(const HessianSums& other) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    layers_[l] += other.layers_[l];
    stacked_[l] += other.stacked_[l];
  }
  filter_ += other.filter_;
  return *this;
}

void HessianSums::clear() {
  for (std::vector<Matrix>* matrices : {&layers_, &stacked_})
    for (Matrix& matrix : *matrices) matrix.setZero();
  filter_.setZero();
}

Vector HessianSums::get(std::size_t k) const {
  Vector out = flat(*network_, layers_, filter_, k);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = network_->layers()[l];
    const Eigen::Index inputs = inputs_of(layer);
    if (network_->reaches_inputs(layer))
      part_of(out.data(), layer).topRows(inputs) += stacked_[l].middleRows(index_of(k) * inputs, inputs);
  }
  return out;
}

}  // namespace unweave
