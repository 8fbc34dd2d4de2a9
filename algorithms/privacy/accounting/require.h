// algorithms/privacy/accounting/require.h - what accountants refuse, each with one line that names
// the parameter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

#include "storage/io/error.h"

namespace unweave {

inline void require_positive(double value, std::string_view name) {
  if (!(value > 0) || !std::isfinite(value)) throw UsageError(std::string(name) + " must be finite and above 0");
}

inline void require_not_negative(double value, std::string_view name) {
  if (!(value >= 0) || !std::isfinite(value)) throw UsageError(std::string(name) + " must be finite and at least 0");
}

inline void require_delta(double delta) {
  if (!(delta > 0) || !(delta < 1)) throw UsageError("delta must lie strictly between 0 and 1");
}

inline void require_count(std::uint64_t value, std::string_view name) {
  if (value == 0) throw UsageError(std::string(name) + " must be at least 1");
}

/// Four digits, for messages.
inline std::string shown(double value) {
  std::ostringstream text;
  text << std::setprecision(4) << value;
  return text.str();
}

/// A derived noise level: smaller than any float64 becomes the smallest normal one, larger than any
/// is an error.
inline double representable_sigma(double sigma) {
  if (!std::isfinite(sigma)) throw UsageError("no finite sigma reaches this epsilon and delta");
  return std::max(sigma, std::numeric_limits<double>::min());
}

}  // namespace unweave
