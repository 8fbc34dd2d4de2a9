// engine/ingest/import_forecast.h - what an import is going to take, from the beginnings of its
// files and some of their lines.
#pragma once

#include <filesystem>
#include <optional>

namespace unweave {

struct ImportForecast;
struct ImportOptions;
struct MachineProfile;
class MemoryBudget;

/// Reads headers, and of text some ranges of 64 KiB all over the file; makes nothing. `store` is
/// where the import would go. Nothing where a file can be read only once, as a pipe. Throws as
/// import_store() does for what it reads.
[[nodiscard]] std::optional<ImportForecast> forecast_import(const std::filesystem::path& store,
                                                            const ImportOptions& options, MemoryBudget& budget,
                                                            const MachineProfile* machine);

/// The folder in which `store` lies or will lie, as far as it is there.
[[nodiscard]] std::filesystem::path present_folder(std::filesystem::path store);

}  // namespace unweave
