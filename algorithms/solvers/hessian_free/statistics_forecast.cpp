// algorithms/solvers/hessian_free/statistics_forecast.cpp - the cheaper way within the memory, and
// the size of what it writes.
#include "algorithms/solvers/hessian_free/statistics_forecast.h"

#include <limits>

#include "storage/io/file.h"
#include "storage/io/message.h"

namespace unweave {
namespace {

constexpr const char* kStatisticsFiles = "the vectors of hessian-free";
constexpr double kMostMultiplyAdds = 1e13;  // vectors that ask for more are made on request alone
constexpr double kMostNumbers = 0x1p58;     // numbers have at most 8 bytes; more numbers would not be counted right

std::string without_statistics() {
  return "train with " + option("set", "statistics=0") + ", after which every removal trains again";
}

}  // namespace

StatisticsForecast forecast_statistics(const NetworkShape& shape, const HessianFreeConstants& constants,
                                       std::uint64_t rows, std::uint64_t memory, const SolverOptions& options) {
  const Network network(shape);
  const RecordLayout layout = layout_of(constants);
  StatisticsForecast forecast;
  forecast.records = layout.records();
  forecast.parameters = network.size();
  forecast.cost = statistics_cost(constants.sgd.epochs, rows, forecast.records, network.size(),
                                  couples_classes(shape.head) ? network.size() : shape.features);
  forecast.able = shape.hidden.empty() && layout.rows == 1;
  const HessianFreeParameters given = hessian_free_parameters().read(options.parameters);
  const bool cheaper = forecast.cost.backward < forecast.cost.forward && backward_bytes(network) <= memory;
  forecast.backward = forecast.able && given.backward.value_or(cheaper);
  const double adds = forecast.backward ? forecast.cost.backward : forecast.cost.forward;
  forecast.made = given.statistics.value_or(adds <= kMostMultiplyAdds);
  for (std::uint64_t file = 0; file * constants.sgd.partition_rows < forecast.records; ++file)
    forecast.disk_bytes += statistics_file_bytes(statistics_shape(constants, 0, network.size(), file));
  const double each = static_cast<double>(network.size()) +
                      static_cast<double>(constants.group_rows) * static_cast<double>(constants.sgd.epochs);
  const double numbers = static_cast<double>(forecast.records) * each;
  if (numbers >= kMostNumbers) forecast.disk_bytes = std::numeric_limits<std::uint64_t>::max();
  return forecast;
}

void require_disk(const StatisticsForecast& forecast, const std::filesystem::path& folder) {
  require_disk_room(folder, forecast.disk_bytes, kStatisticsFiles, without_statistics());
}

TrainingNeeds hessian_free_needs(const PlannedTask& task) {
  const HessianFreeConstants constants = choose_constants(task.shape, task.rows, task.options);
  const StatisticsForecast forecast = forecast_statistics(task.shape, constants, task.rows, task.memory, task.options);
  const std::string way = !forecast.made ? "none" : forecast.backward ? "backward" : "forward";
  TrainingNeeds needs;
  needs.before = {{"learning, epochs", constants.sgd.epochs},
                  {"vectors", forecast.records},
                  {"numbers of each", forecast.parameters},
                  {"multiply-adds, forward", forecast.cost.forward}};
  if (forecast.able) needs.before.push_back({"multiply-adds, backward", forecast.cost.backward});
  needs.after = {{"made", forecast.made ? way : "no"}};
  needs.fields = {{"unit", "epochs"},
                  {"learning", constants.sgd.epochs},
                  {"vectors", way},
                  {"records", forecast.records},
                  {"parameters", forecast.parameters},
                  {"forward_multiply_adds", forecast.cost.forward},
                  {"backward_multiply_adds", {}}};
  if (forecast.able) needs.fields.back().second = forecast.cost.backward;
  needs.disk_label = kStatisticsFiles;
  needs.disk_bytes = forecast.disk_bytes;
  needs.makes_files = forecast.made;
  needs.closing = forecast.made ? "a batch that only removes rows adds their vectors; one that moves rows trains again"
                                : "every removal trains again; " + option("set", "statistics=1") +
                                      " makes the vectors nevertheless";
  needs.remedy = without_statistics();
  return needs;
}

}  // namespace unweave
