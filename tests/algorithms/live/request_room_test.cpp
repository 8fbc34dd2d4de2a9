// tests/algorithms/live/request_room_test.cpp - what is acknowledged can be applied, and replayed,
// within the memory that there is.
#include "algorithms/live/request_room.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "storage/io/error.h"
#include "support/opened_store.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

constexpr NodeId kRoomNodes = 400;
constexpr std::uint32_t kRoomColumns = 2000;
constexpr std::uint64_t kRoomLittle = std::uint64_t{12} << 20, kRoomMuch = std::uint64_t{1} << 30;

/// A ring of nodes with wide rows.
testing::Sample wide_ring() {
  testing::Sample ring;
  ring.nodes = kRoomNodes;
  for (NodeId node = 0; node < kRoomNodes; ++node) ring.edges.insert(std::minmax(node, (node + 1) % kRoomNodes));
  testing::add_features(ring, kRoomColumns, 3);
  return ring;
}

/// All values of a row, some 20 KB of them.
Request long_request(std::uint64_t node, std::mt19937& random) {
  std::string text;
  for (std::uint32_t c = 0; c < kRoomColumns; ++c)
    text += (c == 0 ? "0.0" : " 0.0") + std::to_string(100'000 + random() % 900'000);
  return {RequestKind::set_feature, node, 0, "L" + std::to_string(random()), text};
}

std::string digest_of(const std::filesystem::path& path, Access access, std::uint64_t memory) {
  MemoryBudget budget(memory);
  std::string digest;
  {
    const std::unique_ptr<LiveStore> store = testing::opened_store(path, access, budget);
    CHECK(budget.peak() <= memory);
  }
  MemoryBudget ample(kRoomMuch);
  return digest_text(content_digest(StoreReader(path, ample)));
}

constexpr std::size_t kTogether = 50;

/// The digest after these requests, in small batches and much memory.
std::string wanted_digest(const std::filesystem::path& from, const std::filesystem::path& to,
                          const std::vector<Request>& requests) {
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  MemoryBudget ample(kRoomMuch);
  {
    StoreWriter store(to, ample);
    for (std::size_t i = 0; i < requests.size(); i += kTogether) {
      const auto some = std::span(requests).subspan(i, std::min(kTogether, requests.size() - i));
      static_cast<void>(store.apply(some, store.resolve(some), {}, LastLevel::deferred));
    }
  }
  return digest_text(content_digest(StoreReader(to, ample)));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE(
      "requests are acknowledged while there is room, then applied, or replayed by another process of this memory" *
      doctest::test_suite("slow")) {
    const testing::TempDir folder;
    testing::build_store(folder / "s", wide_ring());
    for (const bool propagated : {false, true}) {
      if (propagated) testing::propagate_store(folder / "s", testing::tiny_spec(2));
      for (const bool killed : {false, true}) {
        CAPTURE(propagated);
        CAPTURE(killed);
        const std::filesystem::path path = folder / (std::to_string(propagated) + std::to_string(killed));
        std::filesystem::copy(folder / "s", path, std::filesystem::copy_options::recursive);
        MemoryBudget budget(kRoomLittle);
        std::vector<Request> sent;
        {
          StoreWriter store(path, budget);
          std::mt19937 random(5);
          for (int full = 0; full < 3;) {
            std::vector<Request> call;
            for (int i = 0; i < 7; ++i) {
              call.push_back(long_request(random() % kRoomNodes, random));
              call.push_back({RequestKind::remove_edge, random() % kRoomNodes, random() % kRoomNodes});
            }
            try {
              CHECK(store.acknowledge(call) == sent.size() + call.size());
              sent.insert(sent.end(), call.begin(), call.end());
              REQUIRE(sent.size() < 2000);
            } catch (const NoRoomError& error) {
              CHECK(std::string(error.what()).find("send again later") != std::string::npos);
              ++full;
              if (killed && full == 2) break;
              while (store.waiting() > 30) {
                std::vector<Request> taken;
                static_cast<void>(store.apply_acknowledged(4, LastLevel::at_once, taken));
                REQUIRE(taken.size() <= 4);
                REQUIRE(!taken.empty());
              }
            }
          }
          CHECK(sent.size() > 40);
          while (!killed && store.waiting() > 0) {
            std::vector<Request> taken;
            static_cast<void>(store.apply_acknowledged(1'000'000, LastLevel::deferred, taken));
          }
          CHECK(budget.peak() <= kRoomLittle);
        }
        CHECK(digest_of(path, Access::write, kRoomLittle) ==
              wanted_digest(folder / "s", folder / ("w" + path.filename().string()), sent));
      }
    }
  }

  TEST_CASE("what never fits is refused as such, by many or by one, before anything of it is acknowledged") {
    const testing::TempDir folder;
    testing::build_store(folder / "s", wide_ring());
    MemoryBudget budget(kRoomLittle);
    StoreWriter store(folder / "s", budget);
    const std::vector<Request> many(90'000, {RequestKind::remove_node, 5, 0});
    CHECK_THROWS_WITH_AS(store.acknowledge(many), doctest::Contains("or raise memory"), TooLargeError);
    const std::vector<Request> one{{RequestKind::set_feature, 1, 0, "", std::string(1 << 20, '1')}};
    CHECK_THROWS_WITH_AS(store.acknowledge(one), doctest::Contains("raise memory"), TooLargeError);
    CHECK(store.waiting() == 0);
    const std::vector<Request> few(5, {RequestKind::remove_node, 5, 0});
    CHECK(store.acknowledge(few) == 5);
  }

  TEST_CASE("records of the journal hold what one batch may take, and batches no more than is asked for") {
    const testing::TempDir folder;
    testing::build_store(folder / "s", wide_ring());
    std::vector<Request> requests;
    for (std::uint64_t i = 0; i < 2000; ++i)
      requests.push_back({RequestKind::insert_edge, i % kRoomNodes, (i * 7 + 3) % kRoomNodes});
    MemoryBudget budget(kRoomLittle);
    StoreWriter store(folder / "s", budget);
    CHECK(store.acknowledge(requests) == requests.size());
    std::size_t records = 0;
    const auto look = [&](const JournalBatch&, const RecordPart& part) {
      records += part.last ? 1 : 0;
      CHECK(RequestBytes(kRoomColumns, false).in_batch(part.requests, 0) <= kRoomLittle / 10);
    };
    static_cast<void>(read_journal_parts(open_journal_file(folder / "s", *store.manifest().journal), folder / "s",
                                         *store.manifest().journal, 0, look));
    CHECK(records > 1);
    std::vector<Request> taken, all;
    for (const std::size_t most : {std::size_t{700}, std::size_t{1}, std::size_t{2000}, std::size_t{2000}}) {
      const BatchReport report = store.apply_acknowledged(most, LastLevel::deferred, taken);
      CHECK(taken.size() <= most);
      all.insert(all.end(), taken.begin(), taken.end());
      CHECK(report.last_request == all.size());
      if (all.size() == 700) store.checkpoint();  // in the midst of a record
    }
    CHECK(all.size() > 1000);
    CHECK(std::equal(all.begin(), all.end(), requests.begin()));
  }

  TEST_CASE("a record of an older program that does not fit is replayed in parts, a lazy one is refused with a remedy" *
            doctest::test_suite("slow")) {
    constexpr std::uint64_t kOlderLittle = std::uint64_t{20} << 20;
    const testing::TempDir folder;
    testing::build_store(folder / "s", wide_ring());
    testing::propagate_store(folder / "s", testing::tiny_spec(2));
    std::vector<Request> requests;
    std::mt19937 random(6);
    for (int i = 0; i < 120; ++i) {
      requests.push_back(long_request(random() % kRoomNodes, random));
      requests.push_back(
          {RequestKind::remove_edge, random() % kRoomNodes, random() % kRoomNodes, "id-" + std::to_string(i)});
    }
    for (int i = 0; i < 12'000; ++i)
      requests.push_back({RequestKind::insert_edge, random() % kRoomNodes, random() % kRoomNodes});
    const std::string wanted = wanted_digest(folder / "s", folder / "wanted", requests);
    for (const double r_max : {0.0, 1e-3}) {
      CAPTURE(r_max);
      const std::filesystem::path path = folder / ("r" + std::to_string(r_max));
      std::filesystem::copy(folder / "s", path, std::filesystem::copy_options::recursive);
      {
        MemoryBudget ample(kRoomMuch);
        StoreWriter store(path, ample);
        static_cast<void>(store.apply(requests, store.resolve(requests), {r_max, ThresholdScale::absolute}));
        CHECK(RequestBytes(kRoomColumns, false).in_batch(requests.size(), text_bytes(requests)) > kOlderLittle);
      }
      for (const Access access : {Access::read, Access::write}) {
        if (r_max > 0)
          CHECK_THROWS_WITH_AS(digest_of(path, access, kOlderLittle),
                               doctest::Contains("which was streamed with r-max and is applied whole"), ResourceError);
        CHECK(digest_of(path, access, r_max > 0 ? kRoomMuch : kOlderLittle) == wanted);
      }
    }
  }
}

}  // namespace unweave
