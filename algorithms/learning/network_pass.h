// algorithms/learning/network_pass.h - one block of rows on its way through the layers of a network
// and back.
#pragma once

#include <vector>

#include "algorithms/learning/network_directions.h"
#include "engine/resources/memory.h"

namespace unweave {

/// Parameters with what every block needs of them.
struct NetworkPoint {
  const Network& network;
  const double* values;
  std::vector<Matrix> transposed;  ///< each layer without its bias, outputs x inputs; the first only behind a filter

  NetworkPoint(const Network& of, std::span<const double> parameters, bool backward);
};

/// What a thread's buffers take for each row of a block, products along `directions` among them.
[[nodiscard]] std::size_t pass_bytes(const Network& network, std::size_t directions);

/// Numbers of a row by which passes cut rows into blocks (cut_rows()).
[[nodiscard]] std::size_t pass_width(const Network& network, std::size_t directions);

/// Sets aside buffers of all threads for blocks of `rows` training rows, products along one
/// direction among them, and sums and vectors of parameters. Throws ResourceError.
[[nodiscard]] Reservation reserve_passes(const Network& network, std::size_t rows, MemoryBudget& budget);

/// Buffers belong to the calling thread, which may have one pass at a time.
class NetworkPass {
 public:
  NetworkPass(const NetworkPoint& point, std::size_t count);

  /// Takes rows in and returns their margins, count x classes. Calls row(i) for each row's
  /// features.
  template <class Row>
  double* forward(const Row& row) {
    const Layer& layer = layers_.front();
    for (std::size_t i = 0; i < count_; ++i) {
      double* const to = inputs_.front() + i * layer.rows();
      const float* const from = row(i);
      if (filter_ == nullptr) {
        for (std::size_t f = 0; f < layer.inputs; ++f) to[f] = static_cast<double>(from[f]);
      } else {
        rows_[i] = from;
        mix(filter_, from, to);
      }
      if (layer.bias) to[layer.inputs] = 1;
    }
    return run();
  }
  /// After forward(): takes what was made of the margins back to the first layer.
  void back();
  /// Turns margins into slopes, keeps their curvatures, and takes the slopes back.
  void backward(const ClassId* labels);
  /// Adds the gradient of the block to `sum`, size() numbers. After back() or backward(), as the
  /// rest.
  void add_gradient(double* sum) const;
  /// Writes the gradient of each row, count x size().
  void row_gradients(double* out) const;
  void add_products(const NetworkDirections& directions, HessianSums& sums);

 private:
  double* run();
  void bend_output(std::size_t directions, double* values) const;
  /// out = the sum of a row's blocks, weighed.
  void mix(const double* weights, const float* row, double* out) const;
  /// out[b] += <values, block b of a row>.
  void add_block_products(const double* values, const float* row, double* out) const;

  const NetworkPoint& point_;
  std::span<const Layer> layers_;
  std::size_t count_;
  std::vector<double*> inputs_;  // inputs of each layer, count x rows()
  std::vector<double*> slope_;   // phi' of each hidden layer, count x outputs
  std::vector<double*> bend_;    // phi''
  std::vector<double*> back_;    // dl / d(outputs before phi) of each layer
  std::vector<double*> reach_;   // dl / d(outputs after phi) of each hidden layer
  const double* filter_ = nullptr;
  std::vector<const float*> rows_;  // behind a filter alone, as is
  double* reach_input_ = nullptr;   // dl / d(what the filter makes of a row)
  double* curvature_ = nullptr;     // curvature of the loss by the margins: softmax's probabilities, else its diagonal
};

}  // namespace unweave
