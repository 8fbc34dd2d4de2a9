// tests/tools/service/intake_test.cpp - senders are refused where there is no room, and everybody
// else's requests are applied.
#include "tools/service/intake.h"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "storage/input/request_reader.h"
#include "storage/io/time_text.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "unweave/store.h"

namespace unweave {
namespace {

using testing::must;

/// A store of 256 nodes, and a session in so much memory.
struct ServedStore {
  explicit ServedStore(const std::filesystem::path& folder, std::uint64_t memory)
      : path((folder / "s").string()), resources({.memory_bytes = memory, .threads = 2}) {
    must({"generate", path, "--model", "sbm", "--scale", "8", "--features", "8", "--classes", "2", "--seed", "1"});
    writer.emplace(path, resources);
    session.emplace(*writer, StreamOptions{.service = true});
  }
  Reservation told() { return Intake::reserve_told(resources.memory()); }
  std::string path;
  Resources resources;
  std::optional<Writer> writer;
  std::optional<StreamSession> session;
};

std::vector<Request> insertions(std::size_t count, const std::string& name) {
  std::vector<Request> requests;
  for (std::size_t i = 0; i < count; ++i)
    requests.push_back({RequestKind::insert_edge, i % 256, (7 * i + 1) % 256, name + std::to_string(i)});
  return requests;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("whatever is not refused for want of memory is applied, from many senders at once") {
    const testing::TempDir folder;
    constexpr std::uint64_t kMemory = std::uint64_t{8} << 20;
    ServedStore at(folder.path(), kMemory);
    IntakeOptions how;
    how.batch = 50;
    how.every = std::chrono::milliseconds(1);
    std::size_t most_in_batch = 0;
    std::atomic<std::size_t> taken = 0, busy = 0;
    {
      Intake intake(*at.session, at.told(), how, [&](std::uint64_t, const AppliedBatch& batch) {
        most_in_batch = std::max(most_in_batch, batch.requests.size());
      });
      std::vector<std::thread> senders;
      for (int sender = 0; sender < 4; ++sender)
        senders.emplace_back([&, sender] {
          for (int call = 0; call < 12; ++call) {
            const std::string name = std::to_string(sender) + "-" + std::to_string(call) + "-";
            try {
              const Acknowledgement answer = intake.submit(insertions(400, name));
              CHECK(answer.known.size() == 400);
              taken += 400;
            } catch (const BusyError& error) {
              CHECK(error.message().find("send again later") != std::string::npos);
              ++busy;
            }
          }
        });
      for (std::thread& sender : senders) sender.join();
      CHECK_THROWS_AS(intake.submit(insertions(50'000, "many")), TooLargeError);
      CHECK(intake.ready());
      CHECK(intake.submit(insertions(1, "last")).last == taken + 1);
      intake.finish();
      const IntakeCounts counts = intake.counts();
      CHECK(counts.acknowledged == taken + 1);
      CHECK(counts.applied + counts.rejected == taken + 1);
      CHECK(counts.waiting == 0);
    }
    CHECK(taken > 0);
    CHECK(busy > 0);
    CHECK(most_in_batch == 50);
    CHECK(at.resources.memory().peak() <= kMemory);
    at.session->close();
  }

  TEST_CASE("states are told of those that wait, and of the last that were applied") {
    const testing::TempDir folder;
    ServedStore at(folder.path(), std::uint64_t{256} << 20);
    IntakeOptions how;
    how.batch = 10;
    how.every = std::chrono::milliseconds(1);
    how.remembered = 10;
    Intake intake(*at.session, at.told(), how, [](std::uint64_t, const AppliedBatch&) {});
    CHECK(intake.submit(insertions(100, "A")).last == 100);
    CHECK(intake.submit(insertions(3, "A")).known == std::vector<bool>(3, true));
    intake.finish();
    CHECK_FALSE(intake.find("A50"));
    CHECK_FALSE(intake.find("A89"));
    const auto last = intake.find("A99");
    REQUIRE(last);
    CHECK(last->applied);
    CHECK(last->sequence == 100);
    at.session->close();
  }

  TEST_CASE("a purge applies what is acknowledged, refuses what comes meanwhile, and the intake goes on") {
    const testing::TempDir folder;
    ServedStore at(folder.path(), std::uint64_t{256} << 20);
    IntakeOptions how;
    how.batch = 1000;
    how.every = std::chrono::hours(1);
    std::atomic<bool> refused = false;
    std::optional<Intake> intake;
    intake.emplace(
        *at.session, at.told(), how, [](std::uint64_t, const AppliedBatch&) {},
        [&](const StorePurge&) {
          CHECK_FALSE(intake->ready());
          CHECK(intake->counts().purging);
          CHECK_THROWS_AS(intake->submit(insertions(1, "M")), BusyError);
          CHECK_THROWS_AS(intake->purge({}), BusyError);
          refused = true;
        });
    CHECK(intake->submit(insertions(30, "A")).last == 30);
    CHECK(intake->counts().unpurged == 30);
    CHECK(intake->purge({}).report.requests == 30);
    CHECK(refused);
    CHECK_FALSE(intake->find("A3"));
    IntakeCounts counts = intake->counts();
    CHECK(counts.applied + counts.rejected == 30);
    CHECK(counts.waiting == 0);
    CHECK(counts.unpurged == 0);
    CHECK(counts.purges == 1);
    CHECK(intake->ready());
    CHECK(intake->submit(insertions(2, "B")).last == 2);
    // One that cannot be done leaves all as it was.
    PurgeOptions fewer;
    fewer.nodes = 1;
    CHECK_THROWS_AS(intake->purge(fewer), UsageError);
    counts = intake->counts();
    CHECK(counts.failed_purges == 1);
    CHECK(counts.purge_error.find("nodes") != std::string::npos);
    CHECK(counts.unpurged == 2);
    CHECK(intake->submit(insertions(2, "C")).last == 4);
    intake->finish();
    CHECK_THROWS_AS(intake->purge({}), BusyError);
    at.session->close();
  }

  TEST_CASE("requests that insert nodes make room for them, up to a limit, while others send theirs") {
    const testing::TempDir folder;
    ServedStore at(folder.path(), std::uint64_t{256} << 20);
    IntakeOptions how;
    how.every = std::chrono::milliseconds(1);
    how.most_nodes = 100'000;
    std::atomic<std::uint64_t> added = 0;
    how.tell_growth = [&](const GrowReport& report) { added += report.nodes_added; };
    CHECK_THROWS_AS(at.session->require_growth(255), UsageError);
    CHECK_THROWS_AS(at.session->require_growth(std::uint64_t{1} << 27), UsageError);
    const auto node = [](std::uint64_t id) {
      return std::vector<Request>{{RequestKind::insert_node, id, 0, "N" + std::to_string(id), "0:1"}};
    };
    std::atomic<std::uint64_t> sent = 0;
    {
      Intake intake(*at.session, at.told(), how, [](std::uint64_t, const AppliedBatch&) {});
      std::vector<std::thread> senders;
      for (const std::uint64_t id : {300U, 70'000U, 65'536U, 255U, 100'000U, 4'000'000'000U})
        senders.emplace_back([&, id] {
          for (int i = 0; i < 20; ++i) {
            const bool is_new = i == 10;
            while (true) {
              try {
                static_cast<void>(intake.submit(is_new ? node(id) : insertions(3, std::to_string(id + 7 * i) + "-")));
                break;
              } catch (const BusyError&) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
              }
            }
            sent += is_new ? 1 : 3;
          }
        });
      for (std::thread& sender : senders) sender.join();
      intake.finish();
      CHECK(intake.counts().acknowledged == sent);
      for (const std::uint64_t id : {300U, 65'536U, 70'000U})
        CHECK(intake.find("N" + std::to_string(id))->status == "applied");
      CHECK(intake.find("N100000")->status == "id-outside");
      CHECK(intake.find("N4000000000")->status == "id-outside");
    }
    CHECK(at.session->nodes() == 100'000);
    CHECK(added == 100'000 - 256);
    at.session->close();
    must({"verify", at.path});
  }

  TEST_CASE("a store purges itself when so many requests wait for it, or the oldest is old enough") {
    const testing::TempDir folder;
    ServedStore at(folder.path(), std::uint64_t{256} << 20);
    IntakeOptions how;
    how.every = std::chrono::milliseconds(1);
    how.purge_after = 5;
    std::atomic<int> purges = 0;
    const auto count = [&](const StorePurge&) { ++purges; };
    {
      Intake intake(
          *at.session, at.told(), how, [](std::uint64_t, const AppliedBatch&) {}, count);
      static_cast<void>(intake.submit(insertions(4, "A")));
      CHECK_FALSE(intake.counts().purge_due);
      static_cast<void>(intake.submit(insertions(1, "B")));
      while (purges < 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      while (intake.counts().purging) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      static_cast<void>(intake.submit(insertions(3, "C")));
      intake.finish();
    }
    CHECK(at.session->purge_need().requests == 3);
    how.purge_after = 0;
    how.purge_every = std::chrono::milliseconds(1);
    {
      Intake intake(
          *at.session, at.told(), how, [](std::uint64_t, const AppliedBatch&) {}, count);
      while (purges < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      intake.finish();
    }
    CHECK(at.session->purge_need().requests == 0);
    at.session->close();
  }

  TEST_CASE("requests that become durable beside an edge that expires are told as applied when they are") {
    const testing::TempDir folder;
    ServedStore at(folder.path(), std::uint64_t{256} << 20);
    IntakeOptions how;
    how.batch = 4;
    how.every = std::chrono::milliseconds(1);
    Intake intake(*at.session, at.told(), how, [](std::uint64_t, const AppliedBatch&) {});
    const Millis first = present_time() + 300;
    constexpr Millis kEdges = 256, kApart = 4;
    static_cast<void>(intake.submit(insertions(kEdges, "E")));
    std::vector<Request> notes;
    for (Millis i = 0; i < kEdges; ++i)
      notes.push_back(*parse_request("edge " + std::to_string(i) + ' ' + std::to_string((7 * i + 1) % kEdges) +
                                     " expires " + time_text(first + i * kApart)));
    static_cast<void>(intake.submit(std::move(notes)));
    std::vector<std::thread> senders;
    std::vector<int> calls(4);
    for (int sender = 0; sender < 4; ++sender)
      senders.emplace_back([&, sender] {
        int& call = calls[static_cast<std::size_t>(sender)];
        while (call == 0 || present_time() < first + kEdges * kApart) {
          try {
            static_cast<void>(intake.submit(insertions(6, std::to_string(sender) + "-" + std::to_string(call) + "-")));
            ++call;
          } catch (const BusyError&) {  // they come faster than they are applied: a sender waits
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }
      });
    for (std::thread& sender : senders) sender.join();
    intake.finish();
    std::size_t told = 0, stuck = 0;
    for (int sender = 0; sender < 4; ++sender)
      for (int call = 0; call < calls[static_cast<std::size_t>(sender)]; ++call) {
        const auto state = intake.find(std::to_string(sender) + "-" + std::to_string(call) + "-5");
        if (!state) continue;  // the oldest of many are forgotten
        ++told;
        stuck += state->applied ? 0 : 1;
      }
    CHECK(told > 0);
    CHECK(stuck == 0);
    at.session->close();
  }
}

}  // namespace unweave
