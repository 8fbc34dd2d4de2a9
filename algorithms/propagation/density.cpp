// algorithms/propagation/density.cpp - powers of degrees in float64, and the rounding of sums.
#include "algorithms/propagation/density.h"

#include <boost/multiprecision/cpp_dec_float.hpp>
#include <cmath>

#include "engine/sweep/gather.h"

namespace unweave {
namespace {

constexpr int kPowerBits = 40;
constexpr double kDoubt = 0x1p-11;  // in units of the last of 40 bits: four of a float64

double rounded_power(std::uint32_t degree, double exponent) {
  return round_power(degree, exponent, std::pow(static_cast<double>(degree), exponent));
}

}  // namespace

double round_power(std::uint32_t degree, double exponent, double approximation) {
  int binary_exponent = 0;
  const double scaled = std::ldexp(std::frexp(approximation, &binary_exponent), kPowerBits);
  double whole = std::nearbyint(scaled);
  if (std::abs(scaled - whole) > 0.5 - kDoubt) {  // more digits tell on which side of the middle it lies
    using Decimal = boost::multiprecision::cpp_dec_float_50;
    const Decimal power = pow(Decimal(degree), Decimal(exponent));
    whole = static_cast<double>(round(ldexp(power, kPowerBits - binary_exponent)));
  }
  return std::ldexp(whole, binary_exponent - kPowerBits);
}

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
