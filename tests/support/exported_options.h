// tests/support/exported_options.h - the options of an import of what export_all() has written.
#pragma once

#include <filesystem>

#include "algorithms/live/export_all.h"
#include "engine/ingest/store_import.h"

namespace unweave::testing {

/// Features, labels, splits and weights of a folder; edges are the caller's.
inline ImportOptions exported_options(const std::filesystem::path& folder, const ExportedStore& exported) {
  ImportOptions options;
  options.max_weight = exported.max_weight;
  options.weight_unit = exported.weight_unit;
  options.features = InputFile{folder / "features.npy", {}};
  options.labels = InputFile{folder / "labels.npy", {}};
  options.classes = exported.classes;
  options.train = InputFile{folder / "train.npy", {}};
  options.valid = InputFile{folder / "valid.npy", {}};
  options.test = InputFile{folder / "test.npy", {}};
  return options;
}

}  // namespace unweave::testing
