// algorithms/learning/heads/registry.h - the heads there are. A head has a file of its own, and here a key, a name to
// link by and a place in the table; everybody else asks its entry.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>

#include "algorithms/learning/heads/head_entry.h"

namespace unweave {

enum class Head {
  kLogistic,      ///< l = ln(1 + exp(-y m)), one-vs-rest
  kLeastSquares,  ///< l = (m - y)^2 / 2, one-vs-rest
  kSoftmax,       ///< l = ln sum_c exp(m_c) - m_label: multinomial logistic regression
};

extern const HeadEntry kLogisticHead;
extern const HeadEntry kLeastSquaresHead;
extern const HeadEntry kSoftmaxHead;

/// In the order of the keys, in which options and messages name them too.
inline constexpr const HeadEntry* kHeadEntries[] = {&kLogisticHead, &kLeastSquaresHead, &kSoftmaxHead};

/// Every key, in the same order.
inline constexpr std::array<Head, std::size(kHeadEntries)> kHeads = [] {
  std::array<Head, std::size(kHeadEntries)> keys{};
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<Head>(i);
  return keys;
}();

[[nodiscard]] inline const HeadEntry& entry_of(Head head) noexcept {
  return *kHeadEntries[static_cast<std::size_t>(head)];
}

}  // namespace unweave
