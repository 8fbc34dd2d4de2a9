// algorithms/live/ranked_store.cpp - follows what rank 0 does.
#include "algorithms/live/ranked_store.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "algorithms/live/joined_level.h"
#include "algorithms/live/rank_orders.h"
#include "algorithms/live/tile_jobs.h"
#include "algorithms/updates/repair.h"
#include "engine/generations/store_purge.h"
#include "engine/generations/store_watch.h"
#include "engine/ingest/compaction.h"
#include "engine/ingest/shard_builder.h"
#include "engine/resources/clock.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/temporary_folder.h"
#include "engine/sweep/sum_check.h"
#include "storage/formats/level_files.h"
#include "storage/formats/recorded_file.h"
#include "storage/formats/request_log.h"
#include "storage/input/request_reader.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/readable_bytes.h"
#include "storage/io/shell_word.h"

namespace unweave {

void RankedStore::follow() {
  for (;;) {
    const RankOrder order = hear_order(*ranks_);
    plan_ = order.plan;
    switch (order.step) {
      case RankOrder::Step::end:
        return;
      case RankOrder::Step::deliver:
        static_cast<void>(deliver_here());
        continue;
      case RankOrder::Step::batch:
        follow_batch(order);
        continue;
      case RankOrder::Step::save:
        save_here(Fold::nothing);
        break;
      case RankOrder::Step::save_rows:
        save_here(Fold::rows);
        break;
      case RankOrder::Step::save_rows_and_graph:
        save_here(Fold::rows_and_graph);
        break;
    }
    meet_after_work();
  }
}

void RankedStore::follow_batch(const RankOrder& order) {
  const Change change(*this);
  const Reservation room = reserve_batch(order.requests.size(), text_bytes(order.requests));
  const BatchChanges changes = resolve_batch(*contents_, order.requests, order.known);
  charge_changes(changes);
  ranks_->barrier();
  sequence_ += order.requests.size();
  propagate_batch(changes, {}, order.defer ? LastLevel::deferred : LastLevel::at_once);
  meet_after_work();
}

}  // namespace unweave
