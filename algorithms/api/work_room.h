// algorithms/api/work_room.h - the memory that a service sets aside for the work on a batch, while
// it does none.
#pragma once

#include <atomic>

#include "algorithms/live/store_writer.h"

namespace unweave {
inline namespace v0 {

class WorkRoom {
 public:
  /// `service`: whether there is any. The store must outlive this object.
  WorkRoom(StoreWriter& store, bool service) : store_(store), service_(service) {}

  /// Sets it aside. What the store keeps in memory may have grown into it: then nothing more is
  /// taken until it has gone. Throws as StoreWriter::take_work_room().
  void take() {
    if (service_) is_short_ = !store_.take_work_room();
  }
  void lend() noexcept { store_.lend_work_room(); }
  /// There was not the room for the work on a batch. May be asked at any time.
  [[nodiscard]] bool is_short() const noexcept { return is_short_; }

 private:
  StoreWriter& store_;
  bool service_;
  std::atomic<bool> is_short_ = false;
};

}  // namespace v0
}  // namespace unweave
