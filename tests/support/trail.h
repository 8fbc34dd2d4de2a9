// tests/support/trail.h - a model whose requests have receipts, and its log of certificates.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "algorithms/live/store_writer.h"
#include "algorithms/verification/verify_log.h"
#include "support/trained_store.h"

namespace unweave::testing {

inline void write_lines(const std::filesystem::path& file, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  write_file(file, text);
}

/// A model of newton after three batches, the last two with receipts.
struct Trail {
  TrainedStore world;
  std::filesystem::path log = world.log("newton");
  std::filesystem::path receipts = world.folder / "receipts";
  std::vector<Request> last{world.edge_of_training_node(),
                            {RequestKind::remove_node, 21, 0},
                            {RequestKind::remove_feature, 22, 0},
                            {RequestKind::remove_edge, 1, 1},
                            {RequestKind::insert_edge, 30, 31}};

  Trail() {
    world.train("newton");
    world.stream({{RequestKind::remove_node, 20, 0}}, {"newton"});
    stream({{RequestKind::remove_node, 19, 0}});
    stream(last);
    CHECK(text_of(world.verify()) == "");
  }
  [[nodiscard]] ReleaseContext context() const { return {false, "test", {}, {}, receipts}; }
  void stream(const std::vector<Request>& requests) const {
    StoreWriter live(world.store, ample_budget());
    Learner learner = Learner::open(live, ample_budget(), "newton", context(), 9);
    learner.absorb(live.apply(requests, live.resolve(requests), {}), requests);
  }
  [[nodiscard]] VerifyReport audit(const std::string& receipts_file = {}) const {
    return verify_log(log, {}, receipts_file);
  }
};

}  // namespace unweave::testing
