// algorithms/unlearning/parameters.cpp - which values a parameter may take, and what is said of
// others.
#include "algorithms/unlearning/parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "algorithms/privacy/accounting/require.h"
#include "storage/io/error.h"
#include "storage/io/nearest_name.h"

namespace unweave {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// A number of a range as a person writes it.
std::string plain(double value) {
  if (value == std::floor(value) && std::abs(value) <= 0x1p53) return std::to_string(static_cast<std::int64_t>(value));
  return shown(value);
}

class NoParameters final : public ParameterTable {};

}  // namespace

const ParameterTable& no_parameters() {
  static const NoParameters kNone;
  return kNone;
}

Values Values::whole(double least, double most) {
  Values values;
  values.least_ = least;
  values.most_ = most;
  values.whole_ = true;
  return values;
}

Values Values::positive() {
  Values values;
  values.most_ = kNoLimit;
  values.above_least_ = true;
  return values;
}

Values Values::fraction() {
  Values values = positive();
  values.most_ = 1;
  return values;
}

Values Values::within(double least, double most) {
  Values values;
  values.least_ = least;
  values.most_ = most;
  return values;
}

Values Values::at_least(double least) {
  return within(least, kNoLimit);
}

Values Values::one_of(std::vector<double> these) {
  Values values;
  values.these_ = std::move(these);
  return values;
}

void Values::require(std::string_view name, double value) const {
  const std::string must = option("set", name) + " must ";
  if (!these_.empty()) {
    if (std::find(these_.begin(), these_.end(), value) != these_.end()) return;
    std::string all;
    for (std::size_t i = 0; i < these_.size(); ++i)
      all += (i == 0 ? "" : i + 1 < these_.size() ? ", " : " or ") + plain(these_[i]);
    throw UsageError(must + "be " + all);
  }
  if ((above_least_ ? value > least_ : value >= least_) && value <= most_ && (!whole_ || value == std::floor(value)))
    return;
  if (whole_) throw UsageError(must + "be a whole number from " + plain(least_) + " to " + plain(most_));
  if (above_least_)
    throw UsageError(must + "be above " + plain(least_) + (most_ < kNoLimit ? " and at most " + plain(most_) : ""));
  if (most_ == kNoLimit) throw UsageError(must + "be at least " + plain(least_));
  throw UsageError(must + "lie from " + plain(least_) + " to " + plain(most_));
}

void require_parameters(std::string_view solver, const ParameterTable& table, const GivenParameters& given,
                        bool network) {
  std::string known;
  std::vector<std::string_view> names;
  for (const Parameter& own : table.listed()) {
    known += (known.empty() ? "" : ", ") + std::string(own.name);
    names.push_back(own.name);
  }
  for (const auto& [name, value] : given) {
    const auto own = std::find_if(table.listed().begin(), table.listed().end(),
                                  [&, &name = name](const Parameter& listed) { return listed.name == name; });
    if (own == table.listed().end()) {
      if (known.empty())
        throw UsageError(std::string(solver) + " has no parameters of its own; leave out " + option("set", name));
      throw UsageError(std::string(solver).append(" has no parameter \"").append(name) + "\"" +
                       did_you_mean(name, names) + "; it has " + known);
    }
    if (!std::isfinite(value)) throw UsageError(option("set", name) + " must be finite");
    if (own->networks_only && !network)
      throw UsageError(std::string(solver) + " minimises a linear model to tau; " + option("set", name) +
                       " is for its " + option("head", "mlp"));
    table.require(static_cast<std::size_t>(own - table.listed().begin()), value);
  }
}

void require_at_most(std::string_view name, std::optional<std::uint64_t> count, std::uint64_t most) {
  if (count && *count > most)
    throw UsageError(option("set", name) + " must be a whole number from 1 to " + std::to_string(most));
}

}  // namespace unweave
