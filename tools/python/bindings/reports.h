// tools/python/bindings/reports.h - reports into dictionaries.
//
// The keys are the fields of `--json` (tools/guide/reference/outputs.md), wherever a command prints the same fact.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unweave/unweave.h"

namespace unweave::python {

namespace py = pybind11;

[[nodiscard]] py::dict dict_of(const BuildReport& report);
[[nodiscard]] py::dict dict_of(const ImportReport& report);
[[nodiscard]] py::dict dict_of(const StoreInfo& info);
[[nodiscard]] py::dict dict_of(const PropagateReport& report, std::uint64_t nodes);
[[nodiscard]] py::dict dict_of(const TileReport& report);
[[nodiscard]] py::dict dict_of(const Accuracies& accuracies);
[[nodiscard]] py::dict dict_of(const TrainedModel& model);
[[nodiscard]] py::dict dict_of(const CertifiedModel& model);
[[nodiscard]] py::dict dict_of(const Attack& attack, const AttackOptions& options, const AuditResult& result);
[[nodiscard]] py::dict dict_of(const PropagationForecast& forecast);
[[nodiscard]] py::dict dict_of(const StreamForecast& forecast, std::uint64_t batches);
[[nodiscard]] py::dict dict_of(const PurgeForecast& forecast);
[[nodiscard]] py::dict dict_of(const BatchOutcome& outcome, std::uint64_t batch_number,
                               const std::optional<double>& lazy_error);
[[nodiscard]] py::dict dict_of(const VerifyReport& report);
[[nodiscard]] py::dict dict_of(const PurgeReport& report, bool keep_order);
[[nodiscard]] py::dict dict_of(const ModelEvaluation& evaluation, const std::vector<std::string>& class_names);

/// The text of a message, as errors have it.
[[nodiscard]] std::string text_of(const std::string& message);

}  // namespace unweave::python
