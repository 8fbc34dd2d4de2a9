// tests/algorithms/propagation/density_test.cpp - powers of degrees, whatever the library's pow
// rounds to.
#include "algorithms/propagation/density.h"

#include <doctest/doctest.h>

#include <boost/multiprecision/cpp_dec_float.hpp>
#include <cmath>

using namespace unweave;

TEST_SUITE("unit") {
  TEST_CASE("powers of degrees are correctly rounded to 40 bits, from approximations on either side") {
    using Decimal = boost::multiprecision::number<boost::multiprecision::cpp_dec_float<80>>;
    int doubtful = 0;
    for (const double rho : {0.3, 0.25, 0.75}) {
      const DegreePower power(rho);
      for (std::uint32_t degree = 1; degree <= 12000; ++degree) {
        const double near = std::pow(static_cast<double>(degree), rho - 1);
        double low = near, high = near;
        for (int step = 0; step < 3; ++step) {
          low = std::nextafter(low, 0);
          high = std::nextafter(high, 2);
        }
        const double rounded = round_power(degree, rho - 1, near);
        CHECK(round_power(degree, rho - 1, low) == rounded);
        CHECK(round_power(degree, rho - 1, high) == rounded);
        CHECK(power.inverse(degree) == 1 / rounded);
        int exponent = 0;
        const double scaled = std::ldexp(std::frexp(near, &exponent), 40);
        const bool open = std::abs(std::abs(scaled - std::floor(scaled)) - 0.5) < 0x1p-11;
        doubtful += open ? 1 : 0;
        if (!open && degree % 97 != 0) continue;  // 80 digits take their time
        const Decimal exact = pow(Decimal(degree), Decimal(rho - 1));
        CHECK(Decimal(std::ldexp(rounded, 40 - exponent)) == round(ldexp(exact, 40 - exponent)));
      }
    }
    CHECK(doubtful > 3);  // one in a thousand or so
  }
}
