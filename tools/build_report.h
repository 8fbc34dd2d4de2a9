// tools/build_report.h - what `import` and `generate` print about the store they built.
#pragma once

#include <chrono>

#include "engine/memory_peak.h"
#include "engine/store_import.h"
#include "tools/command.h"

namespace unweave {

/// Measures the process from construction on.
class BuildMeasurement {
 public:
  /// One JSON object or a table, as the command line asks.
  void print(const CommandLine& line, const ImportReport& report);

 private:
  ProcessMeter meter_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace unweave
