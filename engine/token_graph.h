// engine/token_graph.h - items through "work" on many threads and then "write", with a bounded number in flight.
//
// A TBB flow graph: source -> limiter -> work -> (sequencer ->) write -> token back to the limiter. An item holds a
// token from before its work until after its write, and the token's index names the output buffer that it may use:
// the number of tokens is what bounds the memory of results that wait.
#pragma once

#include <cstddef>
#include <functional>

namespace unweave {

struct TokenGraph {
  std::size_t items = 0;    ///< 0, 1, ..., items - 1 are worked on, started in this order
  std::size_t tokens = 1;   ///< most items in flight, at least 1
  std::size_t workers = 1;  ///< most calls of work at once, at least 1
  /// Called with the item, a worker index below `workers` and a token below `tokens`, that no other call uses meanwhile.
  std::function<void(std::size_t item, std::size_t worker, std::size_t token)> work;
  /// Called with the item and its token after its work: one at a time in the order of the items if `in_order`, else
  /// whenever and wherever its work is done.
  std::function<void(std::size_t item, std::size_t token)> write;
  bool in_order = false;
};

/// Runs all items, or throws the first exception of work or write; items that have not begun by then are dropped.
void run_token_graph(const TokenGraph& plan);

}  // namespace unweave
