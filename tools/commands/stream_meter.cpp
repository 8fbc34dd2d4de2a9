// tools/commands/stream_meter.cpp - counts the requests of a file, and adds up what batches took.
#include "tools/commands/stream_meter.h"

#include <filesystem>
#include <string>
#include <string_view>

#include "storage/input/request_reader.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// Requests of a file that can be read twice; 0 where that is not known.
std::uint64_t count_requests(const std::string& file, RequestWords words) {
  std::error_code error;
  if (file == "-" || !std::filesystem::is_regular_file(file, error)) return 0;
  std::uint64_t count = 0;
  try {
    RequestReader reader(file, std::move(words));
    for (Request request; reader.next(request);) ++count;
  } catch (const InputError&) {
    return 0;  // which is told when its turn comes
  }
  return count;
}

}  // namespace

StreamMeter::StreamMeter(const CommandLine& line, RequestWords words, const std::optional<StreamLimit>& limit)
    : limit_(limit),
      progress_(line.error(), line.shows_progress(), "stream",
                line.shows_progress() && line.has("requests")
                    ? count_requests(line.get<std::string>("requests"), std::move(words))
                    : 0,
                "requests") {}

StreamMeter::Batch StreamMeter::add(const UpdateReport& report, double seconds) {
  Batch batch{seconds, {}};
  if (limit_) batch.limit_seconds = limit_->seconds(report.arcs_summed, report.rows_touched);
  all_.seconds += seconds;
  if (limit_) all_.limit_seconds = all_.limit_seconds.value_or(0) + *batch.limit_seconds;
  return batch;
}

void StreamMeter::advance(std::uint64_t requests) {
  requests_ += requests;
  if (all_.limit_seconds.value_or(0) > 0) progress_.set_limit(static_cast<double>(requests_) / *all_.limit_seconds);
  progress_.advance(requests);
}

}  // namespace unweave
