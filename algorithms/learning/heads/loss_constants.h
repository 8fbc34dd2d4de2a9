// algorithms/learning/heads/loss_constants.h - what every sample's loss obeys, from public
// constants alone.
//
// A sample is a row x, |x| <= X, any bias column of ones included, with its target; a loss is that
// of all weights theta (flattened, |theta| <= R on the feasible set) plus lambda |theta|^2 / 2, the
// regulariser inside every sample's loss. The constants are suprema over all samples and theta,
// never estimates from data: estimates leak and fall short.
#pragma once

#include <cstddef>

namespace unweave {

struct PublicConstants {
  double row_norm = 1;  ///< X > 0: the clip, sqrt(clip^2 + 1) with a bias column
  double radius = 0;    ///< R >= |theta|: of the projection, or largest_regularised_travel() from theta_0 = 0
  double lambda = 0;
  std::size_t classes = 1;  ///< C outputs, coupled or one-vs-rest, that share theta
};

struct LossConstants {
  double smoothness = 0;     ///< L
  double gradient = 0;       ///< G >= |grad l| on |theta| <= R, regulariser included
  double data_gradient = 0;  ///< G without the regulariser: enough where only differences of samples count
  double loss_at_zero = 0;   ///< >= l(z; 0)
};

}  // namespace unweave
