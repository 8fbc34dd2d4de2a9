// tests/support/model_store.h - a small propagated store with a model, for clients of the library's
// interface.
#pragma once

#include <filesystem>

#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "unweave/store.h"

namespace unweave::testing {

struct ModelStore {
  TempDir folder;
  std::filesystem::path store = folder / "s";
  Resources resources{{std::uint64_t{1} << 30}};

  explicit ModelStore(bool all_rows = true) {
    write_store(store, random_store(200, 600, 8, 3));
    propagate_store(store, tiny_spec(2, all_rows));
    SolverOptions options;
    options.lambda = 0.01;
    static_cast<void>(
        Writer(store, resources).train({.solver = "newton", .options = options, .lambda = LambdaChoice::given}));
  }
};

}  // namespace unweave::testing
