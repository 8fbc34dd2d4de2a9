// engine/pipeline.h - work on a stream of items: made one after another, worked on by all threads, used in order.
#pragma once

#include <tbb/parallel_pipeline.h>

#include <cstddef>
#include <memory>

#include "engine/parallel.h"

namespace unweave {

/// Items that run_pipeline() keeps in memory at a time.
[[nodiscard]] inline std::size_t pipeline_items() { return active_threads() + 2; }

/// Calls produce(item) for one item after another until it returns false, transform(item) on any threads, and
/// consume(item) in the order of production, one at a time. Item is default-constructible. What a stage throws is
/// thrown here, after the other stages have come to rest.
template <class Item, class Produce, class Transform, class Consume>
void run_pipeline(const Produce& produce, const Transform& transform, const Consume& consume) {
  using Handle = std::shared_ptr<Item>;
  const auto source = tbb::make_filter<void, Handle>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
    auto item = std::make_shared<Item>();
    if (produce(*item)) return item;
    control.stop();
    return Handle();
  });
  const auto work = tbb::make_filter<Handle, Handle>(tbb::filter_mode::parallel, [&](Handle item) {
    transform(*item);
    return item;
  });
  const auto sink =
      tbb::make_filter<Handle, void>(tbb::filter_mode::serial_in_order, [&](const Handle& item) { consume(*item); });
  tbb::parallel_pipeline(pipeline_items(), source & work & sink);
}

}  // namespace unweave
