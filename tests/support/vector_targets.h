// tests/support/vector_targets.h - the same test on every vector extension that this machine and
// this build have.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "support/each_target.h"

namespace unweave::testing {

/// Runs `body` once for every such extension, then leaves the choice to the machine again.
template <class Body>
void for_each_target(const Body& body) {
  on_each_target([&](const std::string& name) {
    CAPTURE(name);
    body();
  });
}

}  // namespace unweave::testing
