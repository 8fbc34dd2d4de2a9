// algorithms/learning/heads/registry.h - the heads there are. A head has a file of its own, and
// here a key, a name to link by and a place in the table; everybody else asks its entry.
#pragma once

#include <cstddef>
#include <iterator>

#include "algorithms/learning/head_name.h"
#include "algorithms/learning/heads/head_entry.h"

namespace unweave {

extern const HeadEntry kLogisticHead;
extern const HeadEntry kLeastSquaresHead;
extern const HeadEntry kSoftmaxHead;

/// In the order of the keys, in which options and messages name them too.
inline constexpr const HeadEntry* kHeadEntries[] = {&kLogisticHead, &kLeastSquaresHead, &kSoftmaxHead};

static_assert(std::size(kHeadEntries) == kHeads.size());

[[nodiscard]] inline const HeadEntry& entry_of(Head head) noexcept {
  return *kHeadEntries[static_cast<std::size_t>(head)];
}

}  // namespace unweave
