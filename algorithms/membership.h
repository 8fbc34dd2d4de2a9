// algorithms/membership.h - attacks that tell from a model's confidence in a row's own class whether the row was one of
// those that the model was trained on.
//
// source   Jia et al., Model sparsity can simplify machine unlearning, NeurIPS 2023, and Fan et al., SalUn, ICLR 2024: the
//          confidence variant of their support vector machine, C = 3 and gamma = 1 over the number of features, here 1.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

struct svm_model;

namespace unweave {

/// A support vector machine with an RBF kernel over one number a row. Const members may run on any number of threads.
class ConfidenceAttack {
 public:
  /// Learns from confidences of rows that are members and of rows that are not. With `probability` presence() may be
  /// called too, for which five machines more are trained on parts that `seed` draws; the constructor then is for one
  /// thread at a time. At most 2^30 rows. Throws UsageError unless there are rows of either kind.
  ConfidenceAttack(std::span<const double> members, std::span<const double> others, bool probability,
                   std::uint64_t seed);
  ~ConfidenceAttack();
  ConfidenceAttack(const ConfidenceAttack&) = delete;
  ConfidenceAttack& operator=(const ConfidenceAttack&) = delete;

  /// Memory that learning from so many rows takes.
  [[nodiscard]] static std::uint64_t bytes(std::uint64_t rows) noexcept;

  [[nodiscard]] bool is_member(double confidence) const;
  /// Probability that the row is a member: a sigmoid of the machine's decision value, fitted on held-out parts (Platt).
  [[nodiscard]] double presence(double confidence) const;

 private:
  struct Data;  // the machine refers to its rows
  std::unique_ptr<Data> data_;
  svm_model* model_ = nullptr;
};

/// The t for which "confidence > t means member" is right most often, members and others counting one half each; the
/// lowest such t, one of the confidences, or below all of them. Neither list is empty.
[[nodiscard]] double best_threshold(std::span<const double> members, std::span<const double> others);

/// Probability that a random one of `first` exceeds a random one of `second`, ties counting one half: the area under the
/// curve of an attack that has no threshold. None where a list is empty.
[[nodiscard]] std::optional<double> area_under_curve(std::span<const double> first, std::span<const double> second);

}  // namespace unweave
