// algorithms/unlearning/report.h - what one fit or one batch did, and what may be said about it.
//
// A certificate prints a report and infers nothing: whatever it signs stands here as a value that
// the solver has set.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unweave {

/// Which pairs of data sets a claim compares.
enum class Adjacency {
  nothing_claimed,
  any_change,   ///< no pair is singled out: the law of a release depends on the present data alone
  empty_slots,  ///< a removed training row leaves its slot empty
};

/// How a release hides what it forgot. Each is a constant of the folder whose solvers work by it.
struct Mechanism {
  std::string_view text;  ///< in the words that certificates sign
  Adjacency adjacency = Adjacency::nothing_claimed;
  std::string_view not_covered;  ///< what it leaves open beside what every certificate does; empty: nothing

  friend bool operator==(const Mechanism&, const Mechanism&) = default;
};

inline constexpr Mechanism kNoMechanism{"none", Adjacency::nothing_claimed, {}};
/// What T1 is about. The budget of such a release is a gradient norm.
inline constexpr Mechanism kOutputNoise{"discrete Gaussian noise on finished weights", Adjacency::any_change, {}};

/// Which releases a claim speaks of.
enum class Scope {
  this_release,
  /// Later releases are covered too, where rows are exact and their positions do not follow removed
  /// data: the next release reads published weights and present data, and nothing else that depends
  /// on what was removed.
  all_later,
  /// Later releases are covered whatever happens between: each is a function of the data present at
  /// its time.
  every_release,
};

/// Which requests a claim allows.
enum class Requests {
  any,
  independent,  ///< they depend on no release: noise that outlives a release is secret
};

/// Parts of a bound and constants of the noise, by name. A public term is a function of public
/// constants alone; every other one goes into the private part of a certificate.
class Terms {
 public:
  using Values = std::map<std::string, double, std::less<>>;

  void add(std::string_view name, double value) { values_.insert_or_assign(std::string(name), value); }
  void publish(std::string_view name, double value);
  void add(std::initializer_list<std::pair<std::string_view, double>> terms) {
    for (const auto& [name, value] : terms) add(name, value);
  }
  void publish(std::initializer_list<std::pair<std::string_view, double>> terms) {
    for (const auto& [name, value] : terms) publish(name, value);
  }

  [[nodiscard]] const Values& values() const noexcept { return values_; }
  /// Names of the public ones, in the order in which they were published.
  [[nodiscard]] const std::vector<std::string>& published() const noexcept { return published_; }
  [[nodiscard]] bool contains(std::string_view name) const { return values_.contains(name); }
  /// Throws std::out_of_range.
  [[nodiscard]] double at(std::string_view name) const;

 private:
  Values values_;
  std::vector<std::string> published_;
};

struct StepReport {
  Mechanism mechanism = kNoMechanism;
  std::string reference;  ///< the law that the release is compared with, in the words that certificates sign
  Scope scope = Scope::this_release;
  Requests requests = Requests::any;

  bool certified = false;
  std::optional<std::string> claim;  ///< the theorem it rests on, or the paper's own claim; absent: no claim
  /// The theorem gives the whole curve of two Gaussians through (epsilon, delta), not that one
  /// point alone.
  bool gaussian_curve = false;
  std::optional<double> delta_reached;  ///< in a certified release, the least delta at epsilon that the theorem gives
  /// Numbers of releases, and the epsilon at `delta` of so many seen together, where the theorem
  /// says it (release.h); else empty.
  std::vector<std::pair<std::uint64_t, double>> composed;
  bool private_claim = false;  ///< certified and claim depend on removed data without noise
  bool for_tests = false;      ///< noise came from a seed; see withdraw_claims_of_seed()
  double epsilon = 0;
  double delta = 0;
  double budget = 0;          ///< largest residual bound that the claim allows, in the unit of its mechanism
  double residual_bound = 0;  ///< reached
  bool retrained = false;
  /// Nothing was done to the model, because the lazy embedding is too far from the exact one.
  bool flush_needed = false;
  Terms terms;
  int passes = 0;  ///< readings of all training rows
  int steps = 0;   ///< Newton steps
};

}  // namespace unweave
