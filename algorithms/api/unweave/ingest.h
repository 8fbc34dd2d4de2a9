// algorithms/api/unweave/ingest.h - new stores: from files of a user, or synthetic.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/synthetic/generate.h"
#include "storage/input/import_options.h"
#include "storage/types/import_report.h"
#include "unweave/resources.h"

namespace unweave {
inline namespace v0 {

/// Builds a store in the folder `store`, which is missing, empty or what a killed import left; on
/// any error nothing is left. Throws UsageError for options that do not fit together, InputError
/// and DataError for files, ResourceError. The ranks of a job (unweave/ranks.h) share the work
/// where all of them call it; rank 0 has the report.
ImportReport import_store(const std::filesystem::path& store, const ImportOptions& options, Resources& resources);

/// What import_store() would take, from headers and a sample of lines; makes nothing in `store`.
/// Rates of the machine that are not kept are measured where `measure` is set, else where the files
/// are large. Nothing where a file is a pipe. Throws as import_store() does for what it reads.
[[nodiscard]] std::optional<ImportForecast> forecast_import(const std::filesystem::path& store,
                                                            const ImportOptions& options, Resources& resources,
                                                            bool measure);

/// Puts a data set in the form of TUDataset, files `prefix`_A.txt and others, into the options of
/// an import, whose own edges, features, nodes, graphs and labels of graphs it takes the place of.
/// `attribute_bound`: a public number that no attribute of a node exceeds, which has to be said
/// where there are some. Returns the files of the data set that nobody reads. Throws DataError and
/// InputError for files, UsageError.
std::vector<std::string> use_tu_dataset(const std::filesystem::path& prefix, std::optional<double> attribute_bound,
                                        ImportOptions& options);

/// Whether two columns of a table of edges are called as nodes of two kinds are, as user and item.
[[nodiscard]] bool name_two_kinds(std::string_view first, std::string_view second);
/// The places of the first two columns that are called as the two ends of an edge are, if any.
[[nodiscard]] std::optional<std::array<std::size_t, 2>> name_ends(std::span<const std::string> columns);
/// Whether the first two columns have the ends of edges, as far as the names of all of them tell.
[[nodiscard]] bool begin_with_ends(std::span<const std::string> columns);
/// Whether a column is called as what edges have beside weights is: a time, a kind, an id.
[[nodiscard]] bool names_no_weight(std::string_view column);
/// Whether a column is called as ids of nodes are: "id", "Name", "node_id".
[[nodiscard]] bool names_ids(std::string_view column);

/// Builds a store of a synthetic graph in the folder `store`. Equal options give equal files.
/// Throws UsageError, ResourceError.
BuildReport generate_store(const std::filesystem::path& store, const GenerateOptions& options, Resources& resources);

}  // namespace v0
}  // namespace unweave
