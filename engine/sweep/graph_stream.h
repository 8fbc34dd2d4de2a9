// engine/sweep/graph_stream.h - shards that memory does not hold, read past the page cache by
// sweeps that go through them again and again.
//
// Through a mapping a page costs the processor more than its decoding: it is allocated, mapped,
// unmapped and reclaimed, 0.65 s a GB. Here threads of the stream read pieces of kReadBlocks blocks
// into a ring of buffers that stay where they are. What the ring has not is decoded from the
// mapping: what was not checked yet, which the mapping checks, and pieces for which there is no
// room.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/resources/memory.h"
#include "engine/sweep/sweep.h"

namespace unweave {

/// All members but the constructor may be called from any thread. The graph outlives it and does
/// not change.
class GraphStream {
 public:
  /// Takes bytes(graph) of the budget. Throws ResourceError.
  GraphStream(const Graph& graph, MemoryBudget& budget);
  ~GraphStream();
  GraphStream(const GraphStream&) = delete;
  GraphStream& operator=(const GraphStream&) = delete;

  [[nodiscard]] static std::uint64_t bytes(const Graph& graph);

  /// Blocks [first, last) will be decoded soon, the first one first.
  void read_ahead(std::size_t first, std::size_t last);
  /// Blocks [first, last) will not be decoded soon.
  void forget(std::size_t first, std::size_t last) noexcept;
  /// As Graph::decode(); waits for a block that is being read.
  void decode(std::size_t block, Graph::BlockBuffer& buffer, DecodedBlock& out);

 private:
  static constexpr std::size_t kSlots = kPiecesAhead + 4;  // those ahead, that in work, that before it, and two
  static constexpr std::size_t kThreads = 4;
  static constexpr std::size_t kNoPiece = ~std::size_t{0};

  /// Room for a piece. Who decodes from it counts itself in before it looks whether the piece is
  /// still that one; who puts another piece there waits, after it has taken the piece's number
  /// away, until nobody is counted in.
  struct Slot {
    std::atomic<std::size_t> piece = kNoPiece;
    std::atomic<int> users = 0;
    std::atomic<bool> is_read = true;
    bool failed = false;           ///< valid once it is read
    std::uint64_t file_begin = 0;  ///< offset in the file of the first byte of its memory
    std::byte* memory = nullptr;
  };

  [[nodiscard]] std::size_t end_of(std::size_t piece) const;
  [[nodiscard]] static std::uint64_t slot_bytes(const Graph& graph);
  bool request(std::size_t piece);
  void run();
  void load(Slot& slot, std::size_t piece) const;
  [[nodiscard]] Slot* take(std::size_t piece) noexcept;

  const Graph& graph_;
  std::uint64_t slot_bytes_;
  HugeBuffer memory_;
  std::array<Slot, kSlots> slots_;
  std::mutex mutex_;  ///< guards requests_ and closing_, and is held by who gives slots away
  std::condition_variable given_;
  std::deque<std::pair<Slot*, std::size_t>> requests_;
  bool closing_ = false;
  std::vector<std::jthread> threads_;  ///< last, so that they end before what they use
};

/// The graph as a source of a sweep that reads it so. Throws ResourceError where the budget has no
/// room.
[[nodiscard]] BlockSource streamed_source(const Graph& graph, MemoryBudget& budget);

}  // namespace unweave
