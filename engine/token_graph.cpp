#include "engine/token_graph.h"

#ifndef UNWEAVE_STD_SCHEDULER
#include <tbb/flow_graph.h>
#endif

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <vector>

#include "engine/parallel.h"

namespace unweave {
namespace {

/// Indices below a count that are handed out and taken back. As many are free as there can be takers.
class IndexPool {
 public:
  explicit IndexPool(std::size_t count) : free_(count) { std::iota(free_.rbegin(), free_.rend(), std::size_t{0}); }

  std::size_t take() {
    const std::lock_guard lock(mutex_);
    assert(!free_.empty());
    const std::size_t index = free_.back();
    free_.pop_back();
    return index;
  }
  void give(std::size_t index) {
    const std::lock_guard lock(mutex_);
    free_.push_back(index);
  }

 private:
  std::mutex mutex_;
  std::vector<std::size_t> free_;
};

/// An index of a pool for the lifetime of this object.
class Lease {
 public:
  explicit Lease(IndexPool& pool) : pool_(pool), index_(pool.take()) {}
  ~Lease() { pool_.give(index_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  [[nodiscard]] std::size_t index() const noexcept { return index_; }

 private:
  IndexPool& pool_;
  std::size_t index_;
};

#ifndef UNWEAVE_STD_SCHEDULER
struct InFlight {
  std::size_t item = 0;
  std::size_t token = 0;
};
#endif

}  // namespace

#ifdef UNWEAVE_STD_SCHEDULER

void run_token_graph(const TokenGraph& plan) {
  const std::size_t threads = std::min({plan.workers, plan.tokens, active_threads()});
  IndexPool tokens(threads);
  IndexPool workers(threads);
  std::mutex mutex;
  std::condition_variable turn;
  std::size_t next = 0;
  std::size_t written = 0;
  bool failed = false;
  run_on_threads(threads, [&] {
    const Lease token(tokens);
    const Lease worker(workers);
    for (;;) {
      std::unique_lock lock(mutex);
      if (failed || next == plan.items) return;
      const std::size_t item = next++;
      lock.unlock();
      try {
        plan.work(item, worker.index(), token.index());
        lock.lock();
        if (plan.in_order) turn.wait(lock, [&] { return written == item || failed; });
        if (failed) return;
        if (!plan.in_order) lock.unlock();
        plan.write(item, token.index());
        if (!plan.in_order) lock.lock();
      } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        failed = true;
        turn.notify_all();
        throw;
      }
      ++written;
      turn.notify_all();
    }
  });
}

#else

void run_token_graph(const TokenGraph& plan) {
  namespace flow = tbb::flow;
  IndexPool tokens(plan.tokens);
  IndexPool workers(plan.workers);
  std::size_t next = 0;

  flow::graph graph;
  flow::input_node<std::size_t> source(graph, [&](tbb::flow_control& control) {
    if (next == plan.items) {
      control.stop();
      return std::size_t{0};
    }
    return next++;
  });
  flow::limiter_node<std::size_t> limiter(graph, plan.tokens);
  flow::function_node<std::size_t, InFlight> work(graph, plan.workers, [&](std::size_t item) {
    const InFlight one{item, tokens.take()};
    const Lease worker(workers);
    plan.work(item, worker.index(), one.token);
    return one;
  });
  flow::sequencer_node<InFlight> sequencer(graph, [](const InFlight& one) { return one.item; });
  flow::function_node<InFlight> write(graph, plan.in_order ? flow::serial : flow::unlimited, [&](const InFlight& one) {
    plan.write(one.item, one.token);
    tokens.give(one.token);
    return flow::continue_msg();
  });

  flow::make_edge(source, limiter);
  flow::make_edge(limiter, work);
  if (plan.in_order) {
    flow::make_edge(work, sequencer);
    flow::make_edge(sequencer, write);
  } else {
    flow::make_edge(work, write);
  }
  flow::make_edge(write, limiter.decrementer());
  source.activate();
  graph.wait_for_all();
}

#endif

}  // namespace unweave
