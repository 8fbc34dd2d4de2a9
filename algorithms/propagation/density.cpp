// algorithms/propagation/density.cpp - powers of degrees in float64, and the rounding of sums.
#include "algorithms/propagation/density.h"

#include <cmath>

#include "engine/sweep/gather.h"

namespace unweave {
namespace {

constexpr int kPowerBits = 40;

double rounded_power(std::uint32_t degree, double exponent) {
  int binary_exponent = 0;
  const double mantissa = std::frexp(std::pow(static_cast<double>(degree), exponent), &binary_exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, kPowerBits)), binary_exponent - kPowerBits);
}

}  // namespace

DegreePower::DegreePower(double rho) : rho_(rho) {}

void DegreePower::level0(std::span<const float> x, std::uint32_t degree, std::uint32_t scale_bits,
                         std::int32_t* out) const {
  const double scale = std::ldexp(1.0, static_cast<int>(scale_bits));
  double divisor = 1;
  double factor = scale;
  if (rho_ == 0.5)
    divisor = std::sqrt(static_cast<double>(degree));
  else if (rho_ == 0)
    divisor = degree;
  else if (rho_ != 1)
    factor = scale * rounded_power(degree, rho_ - 1);
  round_scaled(x, factor, divisor, scale, out);
}

double DegreePower::inverse(std::uint32_t degree) const {
  if (rho_ == 0.5) return std::sqrt(static_cast<double>(degree));
  if (rho_ == 0) return degree;
  if (rho_ == 1) return 1;
  return 1 / rounded_power(degree, rho_ - 1);
}

void density_from_sums(const StateRow& sums, std::uint32_t columns, std::uint32_t degree, std::int32_t* out) {
  if (sums.narrow != nullptr)
    round_quotients(std::span(sums.narrow, columns), degree, out);
  else
    round_quotients(std::span(sums.wide, columns), degree, out);
}

}  // namespace unweave
