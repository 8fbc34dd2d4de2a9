// engine/ingest/import_forecast.h - what an import is going to take, from the beginnings of its
// files and some of their lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace unweave {

struct ImportOptions;
struct MachineProfile;
class MemoryBudget;

struct ImportSeconds {
  double edges = 0;     ///< reading edges and bringing them together by their ends
  double graph = 0;     ///< sorting and encoding lists, for an order twice, and computing the order
  double features = 0;  ///< reading, scaling and writing them
  double write = 0;     ///< making all files durable
  [[nodiscard]] double total() const noexcept { return edges + graph + features + write; }
};

/// Bytes of disk and memory are those at a time. What no file tells is assumed, and `assumed` says
/// how.
struct ImportForecast {
  std::uint64_t nodes = 0, edges = 0, columns = 0;
  bool nodes_exact = true, edges_exact = true;  ///< declared somewhere, else from a sample of the lines
  bool sparse = false;                          ///< features are
  double bits_per_arc = 0;
  std::uint64_t input_bytes = 0;  ///< bytes of the files, as they lie on the disk
  std::uint64_t graph_bytes = 0, least_graph_bytes = 0, most_graph_bytes = 0;
  std::uint64_t feature_bytes = 0, other_bytes = 0;  ///< others: labels, names, orders
  std::uint64_t memory_bytes = 0;                    ///< the least that it can do with
  std::uint64_t memory_available_bytes = 0;
  std::uint64_t temporary_bytes = 0;  ///< edges that have no room in memory, and a graph by ids under an order
  std::uint64_t disk_bytes = 0, disk_free_bytes = 0;
  std::uint64_t passes = 1;   ///< over the edges: one, and one more for each time that they go through the disk
  double input_resident = 1;  ///< share of the files that lies in the page cache
  std::optional<ImportSeconds> seconds;  ///< absent where no rates of the machine can be had
  std::vector<std::string> assumed;      ///< sentences

  [[nodiscard]] std::uint64_t store_bytes() const noexcept { return graph_bytes + feature_bytes + other_bytes; }
  [[nodiscard]] bool fits() const noexcept {
    return disk_bytes <= disk_free_bytes && memory_bytes <= memory_available_bytes;
  }
};

/// Reads headers, and of text some ranges of 64 KiB all over the file; makes nothing. `store` is
/// where the import would go. Nothing where a file can be read only once, as a pipe. Throws as
/// import_store() does for what it reads.
[[nodiscard]] std::optional<ImportForecast> forecast_import(const std::filesystem::path& store,
                                                            const ImportOptions& options, MemoryBudget& budget,
                                                            const MachineProfile* machine);

/// The folder in which `store` lies or will lie, as far as it is there.
[[nodiscard]] std::filesystem::path present_folder(std::filesystem::path store);

}  // namespace unweave
