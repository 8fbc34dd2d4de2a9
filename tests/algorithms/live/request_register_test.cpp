// tests/algorithms/live/request_register_test.cpp - the ids of requests have a share of the memory:
// beyond it new ones are refused, and those that are durable are read all the same.
#include "algorithms/live/request_register.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "algorithms/live/request_room.h"
#include "engine/resources/memory_shares.h"
#include "storage/formats/manifest.h"
#include "storage/io/error.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

constexpr std::uint64_t kIdBytes = 144;  // as the page on memory says

std::vector<Request> with_ids(std::size_t first, std::size_t count) {
  std::vector<Request> requests;
  for (std::size_t i = first; i < first + count; ++i)
    requests.push_back({RequestKind::remove_edge, i, i + 1, "T" + std::to_string(i)});
  return requests;
}

TEST_SUITE("unit") {
  TEST_CASE("ids beyond their share are refused, whatever else is free, with the remedy") {
    const testing::TempDir folder;
    MemoryBudget budget(std::uint64_t{1} << 20);
    const std::uint64_t most = budget.limit() / 8 / kIdBytes;
    RequestRegister ids(folder.path(), Manifest(), true, budget);
    CHECK_THROWS_AS(ids.make_room(most + 1), FullError);
    CHECK(budget.used() == 0);
    ids.make_room(most);
    CHECK(budget.used() <= budget.limit() / 8);
    try {
      ids.make_room(most + 1);
      FAIL("there is no bound");
    } catch (const FullError& error) {
      CHECK(error.message().find(option("forget-before", "TIME")) != std::string::npos);
      CHECK(error.message().find(option("memory")) != std::string::npos);
    }
  }

  TEST_CASE("the whole share is set aside at once, and is what ids take then") {
    const testing::TempDir folder;
    MemoryBudget budget(std::uint64_t{1} << 20);
    RequestRegister ids(folder.path(), Manifest(), true, budget);
    ids.hold_share();
    const std::uint64_t held = budget.used();
    CHECK(held <= budget.limit() / 8);
    CHECK(held + kIdBytes > budget.limit() / 8);
    const std::uint64_t most = held / kIdBytes;
    const Reservation rest = budget.reserve(budget.available(), "all else");
    ids.make_room(most);
    const std::vector<Request> requests = with_ids(0, most);
    ids.note(requests, std::vector(most, RequestStatus::applied), 0, 1);
    CHECK(budget.available() == 0);
    CHECK_THROWS_AS(ids.make_room(1), FullError);
    ids.make_room(0);
    const std::vector<Request> again = with_ids(most - 1, 2);
    CHECK(ids.uses(again, {}) == std::vector{IdUse::known, IdUse::fresh});
  }

  TEST_CASE("a log with more ids than the share is read, and no more are taken") {
    const testing::TempDir folder;
    constexpr std::size_t kMany = 3000;
    const std::vector<Request> requests = with_ids(0, kMany);
    {
      MemoryBudget ample(std::uint64_t{1} << 30);
      RequestRegister ids(folder.path(), Manifest(), true, ample);
      ids.make_room(kMany);
      ids.note(requests, std::vector(kMany, RequestStatus::applied), 0, 1);
      ids.sync();
    }
    MemoryBudget budget(std::uint64_t{1} << 20);
    RequestRegister ids(folder.path(), Manifest(), true, budget);
    CHECK(ids.uses(requests, {}) == std::vector(kMany, IdUse::known));
    CHECK(budget.used() >= kMany * kIdBytes);
    CHECK_THROWS_AS(ids.make_room(1), FullError);
    ids.hold_share();
    ids.make_room(0);
  }
}

}  // namespace
}  // namespace unweave
