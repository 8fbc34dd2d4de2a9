// algorithms/propagation/propagation.cpp - puts a propagation together from its plan.
#include "algorithms/propagation/propagation.h"

#include <algorithm>
#include <utility>

#include "engine/resources/parallel.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

SweepSpec sweep_with(const Contents& contents, const PropagationSpec& spec, const PropagationPlan& plan,
                     const Propagation::With& with) {
  SweepSpec sweep = sweep_of(contents, spec, plan.wanted);
  sweep.last_lists = with.last_lists;
  sweep.share = with.share;
  sweep.most_columns = with.most_columns;
  return sweep;
}

/// The features. Where memory does not hold all that is read beside the plan, they are read past
/// the page cache.
LevelSource features_of(const Contents& contents, const PropagationSpec& spec, const StatePlan& plan,
                        ColumnNorms* norms) {
  const std::uint64_t read_bytes = contents.features().file_bytes() + contents.graph().file_bytes();
  const bool once = plan.memory_bytes() + read_bytes > system_memory();
  return {level0_fill(contents, spec, norms, once), fill_waits(contents, once)};
}

}  // namespace

Propagation::Propagation(const std::filesystem::path& store, const Contents& contents, const PropagationSpec& spec,
                         PropagationPlan plan, MemoryBudget& budget, const With& with)
    : plan_(std::move(plan)),
      sweep_(sweep_with(contents, spec, plan_, with)),
      form_(form_of(contents, spec, sweep_)),
      job_{store,       contents,
           sweep_,      *form_,
           plan_.state, features_of(contents, spec, plan_.state, with.norms),
           budget,      with.norms,
           {},          "keep fewer rows (" + option("rows", "labelled") + ")"} {}

void Propagation::watch(std::function<void(std::uint64_t done, std::uint64_t total)> progress, std::uint64_t parts) {
  if (!progress) return;
  std::uint64_t rows = 0;
  for (std::size_t index = 0; index < sweep_.levels; ++index) rows += sweep_.rows(index, job_.contents.num_nodes());
  job_.progress = [progress = std::move(progress), all = rows * parts, done = std::uint64_t{0}](
                      std::uint64_t more, std::uint64_t tiles) mutable {
    done += more;
    progress(done, std::max(done, all * tiles));  // columns of a damaged tile are summed twice
  };
}

}  // namespace unweave
