// algorithms/learning/network.h - losses of rows under flat parameters, linear or behind hidden
// layers, and their derivatives.
//
//   h_0 = x,   h_l = phi([h_{l-1} 1] W_l) for hidden layers,   margins m = [h 1] W_last,   loss l(m, label) of head.h.
//
// Without hidden layers there is no bias: the parameters are W of the linear heads, features x
// classes row-major. With them every layer has one. Layers follow each other, each (inputs + bias)
// x outputs row-major, the bias its last row. A row may be blocks x_0, x_1, .. side by side, the
// same node's embedding by several polynomials (schemes.h): behind hidden layers h_0 is then the
// learnt filter sum_b theta_b x_b, theta after the layers' parameters (ChebNetII: He, Wei and Wen,
// NeurIPS 2022). All is float64 over float32 rows, losses without the term of lambda. Passes over
// rows are parallel and equal to the bit for any number of threads; they need, beside results, one
// of them a lane (row_sweep.h) and buffers of a block a thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/learning/activation.h"
#include "algorithms/learning/head.h"
#include "algorithms/learning/training_set.h"
#include "algorithms/numerics/matrix.h"

namespace unweave {

class HessianSums;
class NetworkDirections;

inline constexpr std::size_t kMostHiddenLayers = 16, kWidestLayer = std::size_t{1} << 28;

struct NetworkShape {
  Head head = Head::kSoftmax;
  std::size_t features = 0;
  std::size_t classes = 0;
  std::vector<std::size_t> hidden;  ///< widths; empty: linear
  Activation activation = Activation::kTanh;
  std::size_t blocks = 1;  ///< parts of a row; 1 without hidden layers, which weigh every number for itself
};

/// Parameters of one layer: offset(row, column) = first + row * outputs + column.
struct Layer {
  std::size_t first = 0;
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  bool bias = false;

  [[nodiscard]] std::size_t rows() const noexcept { return inputs + (bias ? 1 : 0); }
  [[nodiscard]] std::size_t size() const noexcept { return rows() * outputs; }
};

/// Some rows of a training set, which must outlive it, or all of them.
class ChosenRows {
 public:
  explicit ChosenRows(const TrainingSet& set)
      : rows_(set.rows()), classes_(set.classes()), count_(rows_.count), all_(true) {}
  /// Positions below set.size(), in any order, repeated or not; borrowed.
  ChosenRows(const TrainingSet& set, std::span<const std::uint32_t> positions)
      : rows_(set.rows()), classes_(set.classes()), positions_(positions), count_(positions.size()) {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t features() const noexcept { return rows_.features; }
  [[nodiscard]] std::size_t classes() const noexcept { return classes_; }
  [[nodiscard]] const float* row(std::size_t i) const noexcept { return rows_.row(at(i)); }
  [[nodiscard]] ClassId label(std::size_t i) const noexcept { return rows_.labels[at(i)]; }

 private:
  [[nodiscard]] std::size_t at(std::size_t i) const noexcept { return all_ ? i : positions_[i]; }

  Rows rows_;
  std::size_t classes_;
  std::span<const std::uint32_t> positions_;
  std::size_t count_;
  bool all_ = false;
};

/// Stateless but for its shape. Parameters are spans of size() numbers; rows come of a set with
/// this shape's features and classes. What does not fit throws UsageError.
class Network {
 public:
  /// Throws UsageError for more than kMostHiddenLayers, for features, classes or a width of 0 or
  /// above kWidestLayer, and for blocks that do not part the features or stand before no hidden
  /// layer.
  explicit Network(NetworkShape shape);

  [[nodiscard]] const NetworkShape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::size_t size() const noexcept { return filter() + (filtered() ? shape_.blocks : 0); }
  [[nodiscard]] std::span<const Layer> layers() const noexcept { return layers_; }
  [[nodiscard]] bool filtered() const noexcept { return shape_.blocks > 1; }
  /// Whether derivatives go on from a layer to what it takes in.
  [[nodiscard]] bool reaches_inputs(const Layer& layer) const noexcept { return layer.first > 0 || filtered(); }
  /// Where theta lies, blocks numbers.
  [[nodiscard]] std::size_t filter() const noexcept { return layers_.back().first + layers_.back().size(); }

  /// Where training starts: 0 when linear, else a function of `key` alone, so that it knows no
  /// data. Weights are nearly normal, of variance 1 in the first layer, whose rows are clipped to
  /// norm 1, and 1 / inputs after it; biases are 0. A filter starts at sqrt(blocks) x_0.
  [[nodiscard]] Vector initial(std::uint64_t key) const;

  /// Sum of the losses.
  [[nodiscard]] double loss(std::span<const double> at, const ChosenRows& rows) const;
  /// Sum of the gradients.
  [[nodiscard]] Vector gradient(std::span<const double> at, const ChosenRows& rows) const;
  /// Sum of J^T d over the rows, J the derivative of a row's margins by the parameters and d what
  /// replace(i, margins) makes of the margins of the i-th row, in place and on any thread.
  [[nodiscard]] Vector pull_back(std::span<const double> at, const ChosenRows& rows,
                                 const std::function<void(std::size_t, double*)>& replace) const;
  /// Gradient of each row's own loss, rows x size(). Every row is computed alone: its bits do not
  /// depend on the others.
  [[nodiscard]] Matrix row_gradients(std::span<const double> at, const ChosenRows& rows) const;
  /// Adds the sum of the Hessians times each direction to `sums`, by the calling thread in its own
  /// buffers.
  void add_hessian_products(std::span<const double> at, const ChosenRows& rows, const NetworkDirections& directions,
                            HessianSums& sums) const;
  /// Sum of the Hessians times a direction.
  [[nodiscard]] Vector hessian_product(std::span<const double> at, const ChosenRows& rows,
                                       std::span<const double> direction) const;

  /// Margins of `count` consecutive rows, count x classes into `out`, by the calling thread.
  void margins(std::span<const double> at, const float* rows, std::size_t count, double* out) const;

 private:
  void check(std::span<const double> at, const ChosenRows& rows) const;

  NetworkShape shape_;
  std::vector<Layer> layers_;
};

}  // namespace unweave
