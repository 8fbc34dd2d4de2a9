// tools/cli/measure.h - what every long command reports of itself: time, peaks of memory, bytes
// moved.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/resources/clock.h"
#include "engine/resources/memory_peak.h"

namespace unweave {

class Measure {
 public:
  [[nodiscard]] double seconds() const { return seconds_since(start_); }
  [[nodiscard]] ProcessMeter& process() noexcept { return process_; }
  /// Adds the common fields to a command's JSON line.
  void report(nlohmann::ordered_json& json) {
    const TransferredBytes bytes = process_.transferred();
    json["seconds"] = seconds();
    json["peak_anonymous_bytes"] = process_.peak_anonymous_bytes();
    json["peak_file_bytes"] = process_.peak_file_bytes();
    json["bytes_read"] = bytes.read;
    json["bytes_written"] = bytes.written;
    json["disk_bytes_read"] = bytes.disk_read;
    json["major_faults"] = bytes.major_faults;
  }

 private:
  Clock::time_point start_ = Clock::now();
  ProcessMeter process_;
};

}  // namespace unweave
