// tests/support/hostile/walk.h - what the commands say of damaged stores: an error that names the
// file, or the same answers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "support/hostile/corruption.h"

namespace unweave::testing {

/// What became of the corruptions that were tried.
struct Tried {
  std::uint64_t tried = 0;
  std::uint64_t detected = 0;  ///< `verify` found them
  std::uint64_t harmless = 0;  ///< every command gave the same answers
  std::uint64_t other = 0;     ///< forged, or with a model of another: a readable store whose answers may differ
  std::uint64_t wrong = 0;     ///< anything else; each has failed a check
};

/// Tries make(0), make(step), make(2 step) … below `count`. For each, one child of a series runs
/// `verify` and, in turns, one of the commands that read a store or change it, within 768 MiB more
/// than it began with and 20 s of a processor. What is wrong fails a check of doctest.
Tried walk(const FullStore& store, const std::function<Corruption(std::uint64_t)>& make, std::uint64_t count,
           std::uint64_t step = 1);

}  // namespace unweave::testing
