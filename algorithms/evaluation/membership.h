// algorithms/evaluation/membership.h - attacks that tell from a model's confidence in a row's own
// class whether the row was one of those that the model was trained on.
//
// source   Jia et al., Model sparsity can simplify machine unlearning, NeurIPS 2023, and Fan et
// al., SalUn, ICLR 2024: the
//          confidence variant of their support vector machine, C = 3 and gamma = 1 over the number
//          of features, here 1.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

struct svm_model;

namespace unweave {

/// A support vector machine with an RBF kernel over one number a row. Const members may run on any
/// number of threads.
class ConfidenceAttack {
 public:
  /// Learns from confidences of rows that are members and of rows that are not, at most 2^30.
  /// Throws UsageError unless there are rows of either kind.
  ConfidenceAttack(std::span<const double> members, std::span<const double> others);
  ~ConfidenceAttack();
  ConfidenceAttack(const ConfidenceAttack&) = delete;
  ConfidenceAttack& operator=(const ConfidenceAttack&) = delete;

  /// Memory that learning from so many rows takes.
  [[nodiscard]] static std::uint64_t bytes(std::uint64_t rows) noexcept;

  [[nodiscard]] bool is_member(double confidence) const;

 private:
  struct Data;  // the machine refers to its rows
  std::unique_ptr<Data> data_;
  svm_model* model_ = nullptr;
};

/// Logistic regression on the confidence: the probability that a row is a member. Targets are those
/// of Platt, (n + 1) / (n + 2) for the n members and 1 / (m + 2) for the m others, so that rows
/// that can be told apart have one too.
class PresenceAttack {
 public:
  /// Throws UsageError unless there are rows of either kind.
  PresenceAttack(std::span<const double> members, std::span<const double> others);

  [[nodiscard]] double presence(double confidence) const noexcept;

 private:
  double slope_ = 0, offset_ = 0;
};

/// The t for which "confidence > t means member" is right most often, members and others counting
/// one half each; the lowest such t, one of the confidences, or below all of them. Neither list is
/// empty.
[[nodiscard]] double best_threshold(std::span<const double> members, std::span<const double> others);

/// Probability that a random one of `first` exceeds a random one of `second`, ties counting one
/// half: the area under the curve of an attack that has no threshold. Returns nothing where a list
/// is empty.
[[nodiscard]] std::optional<double> area_under_curve(std::span<const double> first, std::span<const double> second);

}  // namespace unweave
