// algorithms/models/lazy_error.cpp - sums over stale rows, per column.
#include "algorithms/models/lazy_error.h"

#include <algorithm>
#include <cmath>

namespace unweave {
namespace {

constexpr double kRoundUp = 1 + 1e-10;  // far above the float64 error of these sums

/// Calls body(b, its L + 1 weights) for every block of the rows (Embedding::rows).
template <class Body>
void for_blocks(const PropagationSpec& spec, std::span<const double> weights, const Body& body) {
  const std::size_t levels = spec.levels + std::size_t{1};
  for (std::size_t b = 0; b < weights.size() / levels; ++b) body(b, weights.subspan(b * levels, levels));
}

}  // namespace

ApproximationError lazy_error(const Embedding& embedding, const Contents& contents, std::span<const double> weights,
                              std::span<const NodeId> training) {
  ApproximationError error;
  if (embedding.stale_rows() == 0) return error;
  const PropagationSpec& spec = embedding.spec();
  const double unit = std::ldexp(1.0, -static_cast<int>(spec.scale_bits));

  double stretch = 1, squares = 0, magnitudes = 0;
  for (const NodeId node : training) {
    const double degree = contents.graph().degree(node);
    stretch = std::max(stretch, std::pow(degree, 0.5 - spec.rho));
    squares += std::pow(degree, 2 - 2 * spec.rho);
    magnitudes += std::pow(degree, 1 - spec.rho);
  }
  const Eigen::Index columns = index_of(embedding.columns()), width = index_of(embedding.row_width(weights));
  error.euclidean = error.absolute = error.residue_sum = Vector::Zero(width);
  for_blocks(spec, weights, [&](std::size_t b, std::span<const double> own) {
    const Eigen::Index first = index_of(b) * columns;
    double roundings = 0;
    for (std::uint32_t l = 1; l <= spec.levels; ++l) roundings += l * std::abs(own[l]);
    error.euclidean.segment(first, columns).setConstant(roundings * unit * std::sqrt(squares));
    error.absolute.segment(first, columns).setConstant(roundings * unit * magnitudes);
    double reach = 0;  // sum over l > t of |w_l|
    for (std::uint32_t t = spec.levels; t-- > 0;) {
      reach += std::abs(own[t + 1]);
      const StaleRows::Totals& totals = embedding.stale(t).totals();
      for (Eigen::Index j = 0; j < columns; ++j) {
        const std::size_t c = size_of(j);
        error.euclidean[first + j] += reach * stretch * unit * std::sqrt(static_cast<double>(totals.squares[c]));
        error.absolute[first + j] += reach * unit * static_cast<double>(totals.magnitudes[c]);
        error.residue_sum[first + j] += unit * static_cast<double>(totals.sums[c]);
      }
    }
  });
  error.euclidean *= kRoundUp;
  error.absolute *= kRoundUp;
  return error;
}

double lazy_error_bound(const Embedding& embedding, const Contents& contents) {
  if (embedding.stale_rows() == 0) return 0;
  const PropagationSpec& spec = embedding.spec();
  const double nodes = contents.num_nodes();
  const double self = contents.graph().self_weight();
  const double arcs = static_cast<double>(contents.graph().num_arcs()) + nodes * self;
  const double heaviest = std::max<double>(contents.graph().max_weight(), self);
  // Degrees d are at most nodes times the largest weight, that of a self loop among them, so that
  // d^{1/2 - rho} is at most this; and sum d^{2 - 2 rho} <= arcs times its square.
  const double stretch = std::max(1.0, std::pow(nodes * heaviest, 0.5 - spec.rho));
  double largest = 0;
  for_blocks(spec, spec.weights, [&](std::size_t, std::span<const double> own) {
    double roundings = 0, reach = 0;
    for (std::uint32_t l = 1; l <= spec.levels; ++l) roundings += l * std::abs(own[l]);
    std::vector<double> columns(embedding.columns(), roundings * std::sqrt(arcs));
    for (std::uint32_t t = spec.levels; t-- > 0;) {
      reach += std::abs(own[t + 1]);
      const auto& squares = embedding.stale(t).squares();
      for (std::size_t c = 0; c < columns.size(); ++c) columns[c] += reach * std::sqrt(static_cast<double>(squares[c]));
    }
    largest = std::max(largest, *std::max_element(columns.begin(), columns.end()));
  });
  return kRoundUp * stretch * std::ldexp(largest, -static_cast<int>(spec.scale_bits));
}

}  // namespace unweave
