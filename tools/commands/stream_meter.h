// tools/commands/stream_meter.h - the work of the batches of `unweave stream`, beside the limit and as progress.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/bench/measure_limit.h"
#include "tools/cli/command.h"
#include "tools/cli/progress.h"
#include "unweave/stream.h"

namespace unweave {

/// Work of batches on graph and sums, beside the limit.
class StreamMeter {
 public:
  /// `names`: the store has names for nodes. The requests of a file that can be read twice are counted for the progress.
  StreamMeter(const CommandLine& line, RequestWords words, const std::optional<StreamLimit>& limit);

  struct Batch {
    double seconds = 0;
    std::optional<double> limit_seconds;

    [[nodiscard]] std::optional<double> ratio() const {
      return limit_seconds ? std::optional(*limit_seconds / seconds) : std::nullopt;
    }
  };

  Batch add(const UpdateReport& report, double seconds);
  /// So many requests more are done, whose work was added.
  void advance(std::uint64_t requests);
  void clear() { progress_.clear(); }
  [[nodiscard]] const Batch& all() const noexcept { return all_; }

 private:
  std::optional<StreamLimit> limit_;
  Batch all_;
  std::uint64_t requests_ = 0;
  Progress progress_;
};

}  // namespace unweave
