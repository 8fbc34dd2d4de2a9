// tests/support/vector_targets.h - the same test on every vector extension that this machine and this build have.
#pragma once

#include <doctest/doctest.h>
#include <hwy/highway.h>

#include <string>

namespace unweave::testing {

/// Runs `body` once for every such extension, then leaves the choice to the machine again.
template <class Body>
void for_each_target(const Body& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    const std::string name = hwy::TargetName(target);
    CAPTURE(name);
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace unweave::testing
