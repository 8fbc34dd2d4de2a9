// tests/algorithms/api/model_rows_test.cpp - rows of a model's program, and what a plan says of
// them.
#include <doctest/doctest.h>

#include <sstream>
#include <vector>

#include "storage/io/error.h"
#include "support/npy_file.h"
#include "support/trained_store.h"
#include "unweave/plan.h"
#include "unweave/rows.h"

namespace unweave {
namespace {

using testing::TrainedStore;

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows of a model are those of its training nodes, as wide as a plan says") {
    const TrainedStore data;
    Resources resources({}, nullptr);
    TrainOptions how;
    how.solver = "newton";
    how.rows.of = {"stack", "degree"};
    how.rows.lift = Lift{40, 3, 0};
    Writer(data.store, resources).train(how);
    const StoredModel model = read_model(data.store, {});
    const Reader reader(data.store, resources);
    const std::vector<NodeId> nodes = training_ids(reader);
    std::ostringstream bytes;
    export_rows(reader, model, nodes, NpyTarget(bytes));
    const std::vector<float> rows = testing::Npy<float>::of_bytes(bytes.str()).values;
    const std::size_t width = model.facts().row_width;
    CHECK(width == 3 * 32 + 32 + 128);
    CHECK(rows.size() == nodes.size() * width);

    SolverOptions options;
    options.intercept = true;
    const UnlearningForecast forecast =
        forecast_unlearning(reader, "newton", options, LambdaChoice::by_size, 1, how.rows);
    CHECK(forecast.rows == nodes.size());
    CHECK(forecast.row_width == width);
    CHECK(forecast.row_bytes == (width + 1) * nodes.size() * sizeof(float));
    CHECK(forecast_unlearning(reader, "newton", {}, LambdaChoice::by_size, 1).row_width == 32);
    CHECK_THROWS_AS(static_cast<void>(forecast_unlearning(reader, "newton", {}, LambdaChoice::by_size, 1, {{"auto"}})),
                    UsageError);

    std::ostringstream none;
    CHECK_THROWS_AS(export_rows(reader, model, {200}, NpyTarget(none)), UsageError);
    CHECK(none.str().empty());
  }
}

}  // namespace unweave
