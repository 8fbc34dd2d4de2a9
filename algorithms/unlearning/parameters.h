// algorithms/unlearning/parameters.h - parameters of a solver's own: declared once, read into a
// struct of the solver.
//
// A solver declares a plain struct whose members hold its parameters, with their defaults, and a
// table that gives each member a name, the values it may take and a line of help:
//
//   struct TuningParameters { std::uint64_t epochs = 5; std::optional<double> sigma; };
//   const ParametersOf<TuningParameters>& tuning_parameters() {
//     static const auto kTable = ParametersOf<TuningParameters>()
//                                    .add<&TuningParameters::epochs>("epochs", Values::whole(1),
//                                    "epochs for a batch") .add<&TuningParameters::sigma>("sigma",
//                                    Values::positive(), "noise of a step");
//     return kTable;
//   }
//
// A member of type std::optional has no default: the solver chooses it from public constants, and
// prints it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "algorithms/unlearning/options.h"

namespace unweave {

/// Which finite numbers a parameter may be.
class Values {
 public:
  static constexpr double kMostCount = 0x1p40;

  [[nodiscard]] static Values whole(double least, double most = kMostCount);
  [[nodiscard]] static Values positive();  ///< above 0
  [[nodiscard]] static Values fraction();  ///< above 0 and at most 1
  [[nodiscard]] static Values within(double least, double most);
  [[nodiscard]] static Values at_least(double least);
  [[nodiscard]] static Values one_of(std::vector<double> these);
  [[nodiscard]] static Values flag() { return one_of({0, 1}); }

  /// Throws UsageError that names the parameter and what it must be.
  void require(std::string_view name, double value) const;

 private:
  double least_ = 0, most_ = 0;
  bool above_least_ = false, whole_ = false;
  std::vector<double> these_;  // all there are, where it is not empty
};

/// The table of a solver without the type of its struct.
class ParameterTable {
 public:
  virtual ~ParameterTable() = default;
  [[nodiscard]] std::span<const Parameter> listed() const noexcept { return listed_; }
  /// Throws UsageError where the parameter listed at `place` may not have this value.
  void require(std::size_t place, double value) const { values_[place].require(listed_[place].name, value); }

 protected:
  ParameterTable() = default;
  ParameterTable(const ParameterTable&) = default;
  ParameterTable& operator=(const ParameterTable&) = default;

  std::vector<Parameter> listed_;
  std::vector<Values> values_;  // what each parameter may be
};

/// A solver without parameters of its own.
[[nodiscard]] const ParameterTable& no_parameters();

template <class P>
class ParametersOf final : public ParameterTable {
 public:
  /// kMember: a bool, a number, an enumeration, or an optional of one, of P or of a base of P.
  template <auto kMember>
  ParametersOf& add(std::string_view name, Values values, std::string text) {
    listed_.push_back({name, number_of(P{}.*kMember), std::move(text), networks_only_});
    values_.push_back(std::move(values));
    setters_.push_back([](P& into, double value) { set(into.*kMember, value); });
    return *this;
  }
  /// The parameters that are added from here on are for networks alone.
  ParametersOf& for_networks() {
    networks_only_ = true;
    return *this;
  }

  /// The given parameters of this table, and the defaults of the others. Throws UsageError for a
  /// value out of range.
  [[nodiscard]] P read(const GivenParameters& given) const {
    P out;
    for (std::size_t i = 0; i < setters_.size(); ++i) {
      const auto at = given.find(listed_[i].name);
      if (at == given.end()) continue;
      require(i, at->second);
      setters_[i](out, at->second);
    }
    return out;
  }

 private:
  template <class T>
  static void set(T& member, double value) {
    if constexpr (std::is_same_v<T, bool>)
      member = value != 0;
    else if constexpr (std::is_enum_v<T>)
      member = static_cast<T>(static_cast<int>(value));
    else
      member = static_cast<T>(value);
  }
  template <class T>
  static void set(std::optional<T>& member, double value) {
    set(member.emplace(), value);
  }
  template <class T>
  static std::optional<double> number_of(const T& member) {
    return static_cast<double>(member);
  }
  template <class T>
  static std::optional<double> number_of(const std::optional<T>& member) {
    return member ? number_of(*member) : std::nullopt;
  }

  std::vector<void (*)(P& into, double value)> setters_;
  bool networks_only_ = false;
};

/// Throws UsageError where a given parameter is none of a solver's, is out of range, or is for
/// networks and the model is linear.
void require_parameters(std::string_view solver, const ParameterTable& table, const GivenParameters& given,
                        bool network);

/// Throws UsageError where a parameter that counts something is above what public numbers allow.
void require_at_most(std::string_view name, std::optional<std::uint64_t> count, std::uint64_t most);

}  // namespace unweave
