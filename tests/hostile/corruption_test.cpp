// tests/hostile/corruption_test.cpp - stores that were damaged or forged: one clear error, or the
// same answers.
//
// Some of the corruptions; UNWEAVE_CORRUPTIONS=N tries N of each kind for each store, and
// UNWEAVE_ALL_FAULTS every flip and cut. UNWEAVE_SEED=S takes other random ones.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "support/hostile/walk.h"

namespace unweave::testing {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t wanted_ones() {
  return from_environment("UNWEAVE_CORRUPTIONS", 100);
}

void tell(const FullStore& store, const std::string& what, const Tried& tried) {
  MESSAGE(store.name, ": ", what, ": ", tried.tried, " tried, ", tried.detected, " detected, ", tried.harmless,
          " harmless, ", tried.other, " other stores, ", tried.wrong, " wrong");
}

/// All of `count`, or about `some` of them, evenly chosen.
std::uint64_t step_for(std::uint64_t count, std::uint64_t some) {
  return std::getenv("UNWEAVE_ALL_FAULTS") != nullptr ? 1 : std::max<std::uint64_t>(1, count / some) | 1;
}

void flip_and_cut(const FullStore& store) {
  const std::uint64_t bytes = total_bytes(store.files), step = step_for(bytes, wanted_ones());
  const Tried flips = walk(
      store, [&](std::uint64_t n) { return flipped(store.files, n); }, bytes, step);
  tell(store, "flipped bits", flips);
  CHECK(flips.detected == flips.tried);
  const Tried cuts = walk(
      store, [&](std::uint64_t n) { return cut(store.files, n); }, bytes, step);
  tell(store, "cut files", cuts);
  CHECK(cuts.detected == cuts.tried);
}

void damage(const FullStore& store) {
  const std::uint64_t seed = from_environment("UNWEAVE_SEED", 0);
  tell(store, "random damage",
       walk(
           store, [&](std::uint64_t n) { return random_corruption(store, seed + n); }, wanted_ones()));
}

void forge(const FullStore& store) {
  const std::uint64_t seed = from_environment("UNWEAVE_SEED", 0);
  tell(store, "forgeries",
       walk(
           store, [&](std::uint64_t n) { return forgery(store, seed + n); }, wanted_ones()));
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("a lazily streamed store: bits and ends") {
    flip_and_cut(lazy_store());
  }
  TEST_CASE("a store with models: bits and ends") {
    flip_and_cut(model_store());
  }
  TEST_CASE("a store that keeps rows: bits and ends") {
    flip_and_cut(kept_store());
  }
  TEST_CASE("a store of whole graphs: bits and ends") {
    flip_and_cut(whole_graphs_store());
  }
  TEST_CASE("a lazily streamed store: damage") {
    damage(lazy_store());
  }
  TEST_CASE("a store with models: damage") {
    damage(model_store());
  }
  TEST_CASE("a store that keeps rows: damage") {
    damage(kept_store());
  }
  TEST_CASE("a store of whole graphs: damage") {
    damage(whole_graphs_store());
  }
  TEST_CASE("a lazily streamed store: forgeries") {
    forge(lazy_store());
  }
  TEST_CASE("a store with models: forgeries") {
    forge(model_store());
  }
  TEST_CASE("a store that keeps rows: forgeries") {
    forge(kept_store());
  }
  TEST_CASE("a store of whole graphs: forgeries") {
    forge(whole_graphs_store());
  }
}

}  // namespace unweave::testing
