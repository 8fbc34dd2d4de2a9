// algorithms/solvers/hessian_free/statistics_forecast.cpp - the cheaper way within the memory, and the size of what it writes.
#include "algorithms/solvers/hessian_free/statistics_forecast.h"

#include <limits>

#include "storage/io/file.h"

namespace unweave {
namespace {

constexpr double kMostMultiplyAdds = 1e13;  // vectors that ask for more are made on request alone
constexpr double kMostNumbers = 0x1p58;     // of at most 8 bytes; more would not be counted right

}  // namespace

StatisticsForecast foresee_statistics(const NetworkShape& shape, const HessianFreeConstants& constants,
                                      std::uint64_t rows, std::uint64_t memory, const SolverOptions& options) {
  const Network network(shape);
  const RecordLayout layout = layout_of(constants);
  StatisticsForecast forecast;
  forecast.records = layout.records();
  forecast.parameters = network.size();
  forecast.cost = statistics_cost(constants.sgd.epochs, rows, forecast.records, network.size(),
                                  couples_classes(shape.head) ? network.size() : shape.features);
  forecast.able = shape.hidden.empty() && layout.rows == 1;
  const auto forced = parameter(options, hessian_free_parameter("backward"));
  const bool cheaper = forecast.cost.backward < forecast.cost.forward && backward_bytes(network) <= memory;
  forecast.backward = forecast.able && (forced ? *forced == 1 : cheaper);
  const auto told = parameter(options, hessian_free_parameter("statistics"));
  const double adds = forecast.backward ? forecast.cost.backward : forecast.cost.forward;
  forecast.made = told ? *told == 1 : adds <= kMostMultiplyAdds;
  for (std::uint64_t file = 0; file * constants.sgd.partition_rows < forecast.records; ++file)
    forecast.disk_bytes += statistics_file_bytes(statistics_shape(constants, 0, network.size(), file));
  const double each = static_cast<double>(network.size()) +
                      static_cast<double>(constants.group_rows) * static_cast<double>(constants.sgd.epochs);
  const double numbers = static_cast<double>(forecast.records) * each;
  if (numbers >= kMostNumbers) forecast.disk_bytes = std::numeric_limits<std::uint64_t>::max();
  return forecast;
}

void require_disk(const StatisticsForecast& forecast, const std::filesystem::path& folder) {
  require_disk_room(folder, forecast.disk_bytes, "the vectors of hessian-free",
                    "train with --set statistics=0, after which every removal trains again");
}

}  // namespace unweave
