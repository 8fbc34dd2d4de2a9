// engine/resources/look_ahead.h - asking for what the items of a loop need before their turn.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "storage/io/map_guard.h"
#include "storage/io/types.h"

namespace unweave {

/// Calls ask(item) for the items [first, last) of a loop, each once and in order, some hundred
/// items before their turn: far enough ahead for a disk to read many pieces side by side, near
/// enough that they are still in memory when they are used.
template <class Ask>
class LookAhead {
 public:
  LookAhead(std::size_t first, std::size_t last, Ask ask) : next_(first), last_(last), ask_(std::move(ask)) {}
  /// The turn of `item` begins.
  void at(std::size_t item) {
    for (const std::size_t end = std::min(last_, item + kItems); next_ < end; ++next_) ask_(next_);
  }

 private:
  static constexpr std::size_t kItems = 256;  // items asked for ahead, of 64 KiB at most: 16 MiB a thread
  std::size_t next_, last_;
  Ask ask_;
};

/// For a loop over all blocks of a graph in order, or over tasks of it that begin with these
/// blocks: asks for what follows some MiB ahead, as many at a time.
template <class Graph>
void read_ahead_of(const Graph& graph, std::size_t block) {
  constexpr std::size_t kBlocks = 1024;
  if (block % kBlocks == 0) graph.read_ahead(block == 0 ? 0 : block + kBlocks, block + 2 * kBlocks);
}

/// For a scan of a store by all threads, in pieces whose turns begin in about ascending order:
/// calls ask(piece), each once and in order, in a thread of its own, some pieces before their turn.
/// The system lets a thread wait that asks for more than the queue of a disk holds, and this one
/// has nothing else to do. A scan of many pieces lets go of the mapped pages that lie behind it.
class ScanAhead {
 public:
  /// `piece_bytes`: about what a piece reads. `ask` must not throw. The destructor waits for the
  /// piece that is being asked for.
  ScanAhead(std::size_t pieces, std::uint64_t piece_bytes, std::function<void(std::size_t piece)> ask)
      : pieces_(pieces),
        ahead_(std::max<std::uint64_t>(2, kAheadBytes / std::max<std::uint64_t>(1, piece_bytes))),
        released_(std::max<std::uint64_t>(ahead_, kReleasedBytes / std::max<std::uint64_t>(1, piece_bytes))),
        due_(std::min(pieces, ahead_)),
        ask_(std::move(ask)) {
    try {
      thread_ = std::jthread([this] { run(); });
    } catch (const std::system_error&) {  // nothing is asked for then, and the scan waits for each page
    }
  }
  ~ScanAhead() {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    moved_.notify_one();
  }
  ScanAhead(const ScanAhead&) = delete;
  ScanAhead& operator=(const ScanAhead&) = delete;

  /// The turn of `piece` begins. Any thread.
  void at(std::size_t piece) {
    {
      const std::scoped_lock lock(mutex_);
      due_ = std::max(due_, std::min(pieces_, piece + ahead_ + 1));
    }
    moved_.notify_one();
  }

 private:
  static constexpr std::uint64_t kAheadBytes = std::uint64_t{64} << 20;    // with less a disk waits for questions
  static constexpr std::uint64_t kReleasedBytes = std::uint64_t{1} << 30;  // at a time

  void run() {
    std::unique_lock lock(mutex_);
    for (std::size_t next = 0; next < pieces_; ++next) {
      moved_.wait(lock, [&] { return ended_ || next < due_; });
      if (ended_) return;
      lock.unlock();
      ask_(next);
      if ((next + 1) % released_ == 0) release_mapped_pages();
      lock.lock();
    }
  }

  std::size_t pieces_, ahead_, released_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::size_t due_;  ///< pieces before it are to be asked for
  bool ended_ = false;
  std::function<void(std::size_t piece)> ask_;
  std::jthread thread_;  // the last one, which uses the others
};

/// The rule of NodesAhead by which every node has to be asked for.
struct AskForAll {
  bool operator()(NodeId /*node*/) const noexcept { return false; }
};

/// For a loop over `nodes`, which outlive it and mostly ascend: calls ask(range) for ranges that
/// hold them all but those of which is_there(node) says that they need not be asked for, each some
/// hundred items before its turn. Nodes less than `near` apart share a range with what lies
/// between: one long request is sooner served than several short ones.
template <class Ask, class IsThere = AskForAll>
class NodesAhead {
 public:
  NodesAhead(std::span<const NodeId> nodes, std::uint64_t near, Ask ask, IsThere is_there = {})
      : nodes_(nodes), near_(near), ask_(std::move(ask)), is_there_(std::move(is_there)) {}
  /// The turn of nodes[item] begins; items come in ascending order, from 0 on.
  void at(std::size_t item) {
    if (item == 0) look(0, kItems);
    if (item % kItems == 0) look(item + kItems, item + 2 * kItems);
  }

 private:
  static constexpr std::size_t kItems = 256;
  void look(std::size_t first, std::size_t last) {
    last = std::min(last, nodes_.size());
    while (first < last) {
      NodeRange range{nodes_[first], nodes_[first] + 1};
      if (is_there_(nodes_[first++])) continue;
      for (; first < last && nodes_[first] >= range.first && nodes_[first] < range.last + near_; ++first)
        if (!is_there_(nodes_[first])) range.last = std::max(range.last, nodes_[first] + 1);
      ask_(range);
    }
  }
  std::span<const NodeId> nodes_;
  std::uint64_t near_;
  Ask ask_;
  IsThere is_there_;
};

}  // namespace unweave
