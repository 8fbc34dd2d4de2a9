// tests/engine/resources/look_ahead_test.cpp - what is asked for before its turn.
#include "engine/resources/look_ahead.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "storage/io/waiting_items.h"

namespace unweave {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a scan asks for every piece once, in order and not too early") {
    constexpr std::size_t kPieces = 1000, kAhead = 64 / 8;  // MiB ahead, and of a piece
    std::mutex mutex;
    std::vector<std::size_t> asked;
    std::atomic<std::size_t> turn = 0;
    std::atomic<std::size_t> early = 0;
    ScanAhead ahead(kPieces, 8 * kMiB, [&](std::size_t piece) {
      if (piece > turn + kAhead) ++early;
      const std::scoped_lock lock(mutex);
      asked.push_back(piece);
    });
    const auto asked_so_far = [&] {
      const std::scoped_lock lock(mutex);
      return asked.size();
    };
    for (std::size_t piece = 0; piece < kPieces; ++piece) {
      turn = piece;
      ahead.at(piece);
    }
    while (asked_so_far() < kPieces) std::this_thread::yield();
    std::vector<std::size_t> all(kPieces);
    std::iota(all.begin(), all.end(), std::size_t{0});
    CHECK(asked == all);
    CHECK(early == 0);
  }

  TEST_CASE("a scan that ends before its last piece asks for no more") {
    std::atomic<std::size_t> asked = 0;
    {
      ScanAhead ahead(std::size_t{1} << 40, kMiB, [&](std::size_t) { ++asked; });
      ahead.at(5);
      while (asked < 5) std::this_thread::yield();
    }  // waits for no turn that does not come
    CHECK(asked <= 5 + 64 + 1);
  }

  TEST_CASE("pieces may have any size, and be none") {
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, 4096 * kMiB}) {
      const ScanAhead none(0, bytes, [](std::size_t) { CHECK(false); });
      std::atomic<std::size_t> asked = 0;
      ScanAhead some(3, bytes, [&](std::size_t) { ++asked; });
      for (std::size_t piece = 0; piece < 3; ++piece) some.at(piece);
      while (asked < 3) std::this_thread::yield();
      CHECK(asked == 3);
    }
  }

  TEST_CASE("what waits for a disk is done once, by one thread or by many") {
    for (const std::size_t items : {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{500}}) {
      CAPTURE(items);
      std::vector<std::atomic<int>> done(items);
      wait_together(items, [&](std::size_t item) { ++done[item]; });
      for (const std::atomic<int>& one : done) CHECK(one == 1);
    }
    CHECK_THROWS_WITH_AS(wait_together(500,
                                       [](std::size_t item) {
                                         if (item == 300) throw std::runtime_error("item 300");
                                       }),
                         "item 300", std::runtime_error);
  }
}

}  // namespace unweave
