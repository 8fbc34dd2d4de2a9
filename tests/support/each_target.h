// tests/support/each_target.h - work done anew by every vector extension that this machine and this
// build have.
#pragma once

#include <hwy/highway.h>

#include <cstdint>

namespace unweave::testing {

/// Calls body(name of the extension) once for each, then leaves the choice to the machine again.
template <class Body>
void on_each_target(const Body& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    body(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace unweave::testing
