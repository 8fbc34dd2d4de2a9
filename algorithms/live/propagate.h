// algorithms/live/propagate.h - the embedding of a store, computed from its present contents alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "algorithms/live/reports.h"
#include "algorithms/propagation/plan.h"
#include "algorithms/propagation/propagation_forecast.h"
#include "engine/resources/machine_profile.h"
#include "engine/resources/memory.h"
#include "storage/formats/manifest.h"

namespace unweave {

class ColumnNorms;
class Contents;
class LiveStore;
class StoreWriter;
class TileFolder;

/// What is known before a propagation begins, on a machine whose rates are known.
struct PropagationForecaster {
  PropagationWork work;  ///< as survey_store() gives it
  const MachineProfile& machine;
  [[nodiscard]] PropagationSeconds seconds(const PropagationPlan& plan) const;
};

/// Where the tiles of a propagation are held that somebody may go on with, and what of it is there.
struct PropagationTiles {
  const TileFolder* folder = nullptr;  ///< null: nowhere
  bool assemble = false;               ///< all tiles are there, and nothing is summed
  /// Files that ranks have joined of the tiles already, which are all there.
  const std::vector<std::vector<FileEntry>>* joined = nullptr;
};

/// Computes all levels of an embedding of `contents`, whose store is the folder `store`, and writes
/// their files, not yet durable. `report` has everything but the last sync of a commit; its
/// prediction where `forecast` is given. `norms` gets all features as they are read; it may be
/// null, and without levels nothing is read. Throws ResourceError (memory, disk), DataError.
[[nodiscard]] std::vector<LevelFiles> build_levels(const std::filesystem::path& store, const Contents& contents,
                                                   const PropagationSpec& spec, MemoryBudget& budget,
                                                   const PropagateMeter& progress, PropagateReport& report,
                                                   ColumnNorms* norms = nullptr,
                                                   const PropagationForecaster* forecast = nullptr,
                                                   const PropagationTiles& tiles = {});

/// build_levels() for a propagation that begins: it fills in the norms of `spec`, too.
[[nodiscard]] std::vector<LevelFiles> build_first_levels(const std::filesystem::path& store, const Contents& contents,
                                                         PropagationSpec& spec, MemoryBudget& budget,
                                                         const PropagateMeter& progress, PropagateReport& report,
                                                         const PropagationForecaster* forecast = nullptr,
                                                         const PropagationTiles& tiles = {});

/// Computes all levels for `spec`, whose weights, levels, rho, scale and rows are set, and commits
/// the new generation. The time is predicted where the rates of the machine are given. Goes on with
/// the tiles that an earlier call of the same contents and options has finished. Throws UsageError
/// (no features, a parameter out of range, tiles of other options), ResourceError (memory, disk),
/// DataError.
PropagateReport propagate(StoreWriter& store, PropagationSpec spec, MemoryBudget& budget,
                          const PropagateMeter& progress, const MachineProfile* machine = nullptr,
                          const PropagateHow& how = {});

/// propagate() of a specification that was checked, with these tiles and options.
PropagateReport propagate_checked(StoreWriter& store, PropagationSpec spec, MemoryBudget& budget,
                                  const PropagateMeter& progress, const MachineProfile* machine,
                                  const PropagationTiles& tiles);

/// Throws UsageError, DataError where the store's contents cannot be propagated so.
void check_propagation_spec(const LiveStore& store, const PropagationSpec& spec);

}  // namespace unweave
