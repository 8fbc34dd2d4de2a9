// engine/look_ahead.h - asking for what the items of a loop need before their turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace unweave {

/// Calls ask(item) for the items [first, last) of a loop, each once and in order, some hundred items before their turn: far
/// enough ahead for a disk to read many pieces side by side, near enough that they are still in memory when they are used.
template <class Ask>
class LookAhead {
 public:
  LookAhead(std::size_t first, std::size_t last, Ask ask) : next_(first), last_(last), ask_(std::move(ask)) {}
  /// The turn of `item` begins.
  void at(std::size_t item) {
    for (const std::size_t end = std::min(last_, item + kItems); next_ < end; ++next_) ask_(next_);
  }

 private:
  static constexpr std::size_t kItems = 256;  // of 64 KiB at most: 16 MiB a thread
  std::size_t next_, last_;
  Ask ask_;
};

}  // namespace unweave
