// engine/resources/pipeline.h - work on a stream of items: made one after another, worked on by all
// threads, used in order.
#pragma once

#ifndef UNWEAVE_STD_SCHEDULER
#include <tbb/parallel_pipeline.h>
#endif

#include <cstddef>
#include <vector>

#include "engine/resources/parallel.h"

namespace unweave {

/// Items that run_pipeline() keeps in memory at a time.
[[nodiscard]] inline std::size_t pipeline_items() {
  return active_threads() + 2;
}

/// Calls produce(item) for one item after another until it returns false, transform(item) on any
/// threads, and consume(item) in the order of production, one at a time. Items are made once, by
/// Item(), and used again and again with what the last use left in them, so that their buffers keep
/// their size. What a stage throws is thrown here, after the other stages have come to rest.
template <class Item, class Produce, class Transform, class Consume>
void run_pipeline(const Produce& produce, const Transform& transform, const Consume& consume) {
#ifdef UNWEAVE_STD_SCHEDULER
  Item item;
  while (produce(item)) {
    run_on_threads(1, [&] { transform(item); });
    consume(item);
  }
#else
  // The last stage works in order and so many items are under way at most: item i + size cannot
  // begin before i is done.
  std::vector<Item> items(pipeline_items());
  std::size_t next = 0;
  const auto source = tbb::make_filter<void, Item*>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
    Item* const item = &items[next++ % items.size()];
    if (!produce(*item)) control.stop();
    return item;
  });
  const auto work = tbb::make_filter<Item*, Item*>(tbb::filter_mode::parallel, [&](Item* item) {
    transform(*item);
    return item;
  });
  const auto sink =
      tbb::make_filter<Item*, void>(tbb::filter_mode::serial_in_order, [&](Item* item) { consume(*item); });
  tbb::parallel_pipeline(items.size(), source & work & sink);
#endif
}

}  // namespace unweave
