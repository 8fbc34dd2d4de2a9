// algorithms/solvers/replay/whole_network.h - a network of ReLU in whole numbers: what one block of
// rows adds to the gradient of its weights (THEOREMS.md, T0').
//
//   rows      q = rint(2^14 x)                                 a bias reads 2^14
//   weights   whole numbers over 2^18, kept within +-2^22      as network.h lays parameters out
//   units     a = q W, h = min(rint(max(a, 0) 2^-20), 2^20)    over 2^12; a bias reads 2^12
//             a = h W, h = min(rint(max(a, 0) 2^-18), 2^20)    of the layers above
//   margins   h W over 2^30
//   slopes    s = rint(2^20 (p - y)), p by an exponential of our own
//   back      u = rint(2^-18 s W^T), kept within +-2^24 for the first layer of units and +-2^20 for
//             the others, 0 where a <= 0
//   gradient  q^T u, h^T u, h^T s and the sums that biases have
//
// The moduli of the terms of an entry of any product add up to 2^53 at most, so that products are
// exact (whole_products.h); a bias is added apart. Everything else is single operations of IEEE 754
// on one number, or on the classes of a row in their order. So what a block adds is a function of
// its rows as a multiset.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/learning/network.h"
#include "algorithms/numerics/matrix.h"

namespace unweave {

/// Powers of two of which rows, weights, units and slopes are multiples.
inline constexpr double kRowUnit = 0x1p14, kWeightUnit = 0x1p18, kHiddenUnit = 0x1p12, kSlopeUnit = 0x1p20;
inline constexpr double kLargestWeight = 0x1p22;
/// Limits of a shape under which products are exact, and of rows under which their sums are.
inline constexpr std::size_t kMostFeatures = std::size_t{1} << 17, kMostUnits = 2048, kMostClasses = 2048,
                             kMostRows = (std::size_t{1} << 23) - 1;
/// Rows whose products may meet in one float64.
inline constexpr std::size_t kRowsTogether = 4096;

/// Throws UsageError for a shape, or a number of rows, beyond these limits, for another activation
/// than ReLU, and for rows of several blocks.
void require_exact_shape(const NetworkShape& shape, std::size_t rows);

/// Where training starts: whole numbers, uniform with the variance of He for rows and 1 / inputs
/// above; biases are 0. A function of shape and key.
[[nodiscard]] Vector first_weights(const Network& network, std::uint64_t key);

/// exp of numbers up to 0, in place; below -80 that of -80. Sums and products in one order.
void exp_in_place(double* values, std::size_t count);

/// Weights with what every block needs of them.
struct WholeWeights {
  const double* values = nullptr;  ///< network.size() whole numbers
  std::vector<Matrix> transposed;  ///< each layer but the first, without its bias: outputs x inputs

  WholeWeights(const Network& network, const Vector& weights);
};

/// Bytes of the buffers for blocks of so many rows, and of the sums of one that adds them.
[[nodiscard]] std::size_t whole_pass_bytes(const Network& network, std::size_t block);

/// Adds up the gradients of blocks, one after another. One thread; moved, never copied.
class WholePass {
 public:
  /// `network` must outlive it.
  WholePass(const Network& network, std::size_t block);

  /// Adds rows [first, first + count) of those chosen, `block` at most.
  void add(const WholeWeights& weights, const ChosenRows& rows, std::size_t first, std::size_t count);
  /// Adds all that add() has added since the last call to `sums`, network.size() numbers.
  void take_into(std::vector<std::int64_t>& sums);

 private:
  void forward(const WholeWeights& weights, std::size_t count);
  void slopes(const ChosenRows& rows, std::size_t first, std::size_t count);
  void back(const WholeWeights& weights, std::size_t count);
  void add_gradient(std::size_t count);
  void carry();

  const Network& network_;
  std::vector<Vector> inputs_;  // for each layer, block x inputs, run by run
  std::vector<Vector> sums_;    // for each layer, with its bias, block x outputs: a, and at last the margins
  std::vector<Vector> back_;    // what comes back to them, block x outputs
  Vector gradient_;             // sums over the last rows_ rows
  std::size_t rows_ = 0;
  std::vector<std::int64_t> whole_;  // sums over those before
};

}  // namespace unweave
