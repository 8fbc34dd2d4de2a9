// algorithms/updates/batch_pace.h - what batches of a session take beside what the planner
// predicts, learnt from those before.
//
// The planner's constants come from other machines and quiet ones, and know nothing of what a batch
// takes whatever it does. A prediction is therefore scaled by the ratio that earlier batches of the
// session had, the last ones counting most; the journal takes what it took lately. Batches that
// were pushed and those that were computed anew have a ratio each.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace unweave {

class BatchPace {
 public:
  /// `journal_seconds`: what making a batch durable takes, as far as is known before the first one.
  explicit BatchPace(double journal_seconds = 0) noexcept : journal_(journal_seconds) {}

  /// Seconds of a batch for whose levels the planner predicts `levels` seconds.
  [[nodiscard]] double predict(double levels, bool is_anew) const noexcept {
    return journal_ + levels * ratio_[is_anew ? 1 : 0];
  }
  /// A batch took so long: its journal, and all else.
  void learn(double levels, bool is_anew, double journal, double others) noexcept {
    journal_ += kWeight * (journal - journal_);
    if (levels <= 0 || others <= 0) return;
    double& ratio = ratio_[is_anew ? 1 : 0];
    ratio *= std::pow(std::clamp(others / levels / ratio, 1 / kMostStep, kMostStep), kWeight);
  }

 private:
  static constexpr double kWeight = 0.5;   // a batch counts as much as all before it
  static constexpr double kMostStep = 32;  // a batch that stood still says little of the next
  double journal_;
  std::array<double, 2> ratio_ = {1, 1};
};

}  // namespace unweave
