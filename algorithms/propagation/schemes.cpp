// algorithms/propagation/schemes.cpp - computes the weights of each scheme from its parameter.
#include "algorithms/propagation/schemes.h"

#include <array>
#include <charconv>
#include <cmath>

#include "storage/io/error.h"
#include "storage/io/nearest_name.h"

namespace unweave {
namespace {

constexpr double kMostSchemeWeight =
    1e30;  // sums of 1,001 levels times 2^16, the root of the most nodes, stay finite in float32

double parameter_of(const std::string& scheme, std::size_t prefix) {
  const std::string text = scheme.substr(prefix);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw UsageError(option("scheme", scheme) + ": '" + text + "' is not a number");
  return value;
}

/// Powers of P in T_k(-P) / sqrt(L + 1), k after k: T_(k+1)(-P) = -2 P T_k(-P) - T_(k-1)(-P).
std::vector<double> chebyshev_weights(std::size_t count) {
  std::vector<double> terms(count * count);
  const auto term = [&](std::size_t k, std::size_t l) -> double& { return terms[k * count + l]; };
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t l = 0; l <= k; ++l) {
      const double longer = l > 0 ? term(k - 1, l - 1) : 0;
      term(k, l) = k == 0 ? 1 : k == 1 ? -longer : -2 * longer - term(k - 2, l);
    }
  for (double& number : terms) number /= std::sqrt(static_cast<double>(count));
  return terms;
}

/// Each level a block.
std::vector<double> stack_weights(std::size_t count) {
  std::vector<double> terms(count * count);
  for (std::size_t l = 0; l < count; ++l) terms[l * count + l] = 1 / std::sqrt(static_cast<double>(count));
  return terms;
}

}  // namespace

std::vector<double> scheme_weights(const std::string& scheme, std::uint32_t levels,
                                   const std::vector<double>& weights) {
  const std::size_t count = std::size_t{levels} + 1;
  if (!weights.empty()) {
    if (!scheme.empty() && scheme != "gpr")
      throw UsageError(option("weights") + " and " + option("scheme", scheme) + " contradict each other");
    if (weights.size() != count)
      throw UsageError(option("weights") + ": " + std::to_string(weights.size()) + " given, " +
                       option("hops", std::to_string(levels)) + " needs " + std::to_string(count));
    for (const double weight : weights)
      if (!(std::abs(weight) <= kMostSchemeWeight))
        throw UsageError(option("weights") + ": every weight must lie within +-1e30");
    return weights;
  }
  std::vector<double> result(count, 0.0);
  if (scheme.empty() || scheme == "sgc") {
    result.back() = 1;
  } else if (scheme.starts_with("ppr:")) {
    const double alpha = parameter_of(scheme, 4);
    if (alpha <= 0 || alpha > 1) throw UsageError(option("scheme", "ppr:A") + " needs 0 < A <= 1");
    for (std::size_t l = 0; l < count; ++l)
      result[l] = (l < levels ? alpha : 1) * std::pow(1 - alpha, static_cast<double>(l));
  } else if (scheme.starts_with("heat:")) {
    const double time = parameter_of(scheme, 5);
    if (time <= 0) throw UsageError(option("scheme", "heat:T") + " needs T > 0");
    double term = std::exp(-time);
    for (std::size_t l = 0; l < count; ++l) {
      result[l] = term;
      term *= time / static_cast<double>(l + 1);
    }
  } else if (scheme == "chebyshev") {
    if (levels > kMostChebyshev)
      throw UsageError(option("scheme", "chebyshev") + " needs " + option("hops") + " of at most " +
                       std::to_string(kMostChebyshev));
    return chebyshev_weights(count);
  } else if (scheme == "stack") {
    return stack_weights(count);
  } else if (scheme == "gpr") {
    throw UsageError(option("scheme", "gpr") + " needs " + option("weights"));
  } else {
    if (scheme == "ppr" || scheme == "heat")
      throw UsageError(
          option("scheme", scheme) + " needs its number: " +
          (scheme == "ppr" ? "ppr:A with 0 < A <= 1, such as ppr:0.1" : "heat:T with T > 0, such as heat:2"));
    constexpr std::array<std::string_view, 6> kKnown = {"sgc", "ppr:A", "heat:T", "gpr", "chebyshev", "stack"};
    throw UsageError(option("scheme", scheme) + did_you_mean(scheme, kKnown) + ": use " + one_of(kKnown));
  }
  return result;
}

}  // namespace unweave
