// tests/algorithms/live/disk_room_test.cpp - propagations on a disk that has not the room: what
// they ask for before they begin, and that they leave nothing behind.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/live/live_store.h"
#include "algorithms/live/propagate.h"
#include "algorithms/live/rank_plan.h"
#include "algorithms/live/rank_propagation.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/live/tile_jobs.h"
#include "engine/resources/parallel.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"
#include "storage/io/store_folders.h"
#include "support/folder_bytes.h"
#include "support/kept_store.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"
#include "support/tiny_store.h"

namespace {

/// The most bytes that any disk says are free; 0: as many as there are.
std::atomic<std::uint64_t> most_free = 0;

}  // namespace

/// Stands for the C library's function, by which storage/io/entry.cpp asks.
extern "C" int fstatvfs(int descriptor, struct statvfs* out) noexcept {
  static const auto real = reinterpret_cast<int (*)(int, struct statvfs*)>(::dlsym(RTLD_NEXT, "fstatvfs"));
  const int result = real(descriptor, out);
  if (result == 0 && most_free > 0) out->f_bavail = std::min<fsblkcnt_t>(out->f_bavail, most_free / out->f_frsize);
  return result;
}

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::folder_bytes;
using testing::TempDir;
using testing::tiny_spec;

constexpr std::uint64_t kDiskBlock = 4096;  // the largest block of a file system

/// While it lives, no disk says that it has more.
class FreeDisk {
 public:
  explicit FreeDisk(std::uint64_t bytes) { most_free = bytes; }
  ~FreeDisk() { most_free = 0; }
  FreeDisk(const FreeDisk&) = delete;
  FreeDisk& operator=(const FreeDisk&) = delete;
};

void propagate_by_ranks(const fs::path& path, const PropagationSpec& spec, std::size_t size) {
  testing::run_ranks(size, [&](Ranks& ranks) {
    const ThreadLimit one(1);
    MemoryBudget budget(std::uint64_t{1} << 28);
    if (!ranks.first()) ranks.barrier();  // until rank 0 has opened the store
    if (!ranks.first()) {
      const StoreReader store(path, budget);
      static_cast<void>(propagate_part(store, spec, budget, RankCut::columns, ranks));
      return;
    }
    StoreWriter store(path, budget);
    ranks.barrier();
    static_cast<void>(propagate_over_ranks(store, spec, budget, {}, false, RankCut::columns, ranks));
  });
}

std::uint64_t planned_bytes(const fs::path& path, const PropagationSpec& spec, std::size_t size) {
  const StoreReader store(path, ample_budget());
  return plan_ranks(store, spec, size, RankCut::columns, ample_budget()).disk_bytes;
}

void begin_job(const fs::path& path, const PropagationSpec& spec, std::uint64_t index, std::uint64_t jobs) {
  const StoreReader store(path, ample_budget());
  propagate_tiles(store, spec, {index, jobs}, ample_budget(), {});
}

std::map<std::string, std::string> stored_bytes(const fs::path& store) {
  auto files = folder_bytes(store);
  files.erase(kLockName);
  return files;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("ranks that share columns ask for tiles and joined sums together, as their plan says") {
    constexpr std::size_t kRanks = 2;
    const TempDir folder;
    testing::write_store(folder / "s", testing::random_store(5000, 9000, 32, 4));
    for (const bool keeps_sums : {true, false}) {
      CAPTURE(keeps_sums);
      const PropagationSpec spec =
          keeps_sums ? tiny_spec(2, true) : testing::kept_spec(2, "sgc", {.keep = Keep::embedding});
      auto copy = [&, made = 0]() mutable {
        fs::path to = folder / ((keeps_sums ? "sums" : "rows") + std::to_string(made++));
        fs::copy(folder / "s", to, fs::copy_options::recursive);
        return to;
      };
      const fs::path one = copy(), refused = copy(), enough = copy(), begun = copy();
      {
        StoreWriter store(one, ample_budget());
        propagate(store, spec, ample_budget(), {});
      }
      const auto before = stored_bytes(refused);
      const std::uint64_t bytes = planned_bytes(refused, spec, kRanks);
      // Tiles and sums have a number a column each; what is beside them is small.
      const std::uint64_t sums = std::uint64_t{2} * 5000 * 32 * sizeof(std::int32_t);
      if (keeps_sums) CHECK(bytes > 2 * sums);
      if (keeps_sums) CHECK(bytes < 2 * sums + sums / 4);
      {
        const FreeDisk disk(bytes - kDiskBlock);
        CHECK_THROWS_WITH_AS(propagate_by_ranks(refused, spec, kRanks),
                             doctest::Contains("the tiles of all ranks and what is joined of them need"),
                             ResourceError);
      }
      CHECK_FALSE(fs::exists(refused / kTilesFolder));
      CHECK(stored_bytes(refused) == before);
      {
        const FreeDisk disk(bytes + kDiskBlock);
        propagate_by_ranks(enough, spec, kRanks);
      }
      CHECK(stored_bytes(enough) == stored_bytes(one));
      begin_job(begun, spec, 0, kRanks);
      const std::uint64_t there = tile_bytes(begun);
      CHECK(there > bytes / 8);
      {
        const FreeDisk disk(bytes - there + kDiskBlock);  // what is there need not be written
        propagate_by_ranks(begun, spec, kRanks);
      }
      CHECK(stored_bytes(begun) == stored_bytes(one));
    }
  }

  TEST_CASE("a propagation that is refused leaves no folder of tiles, and what others have finished stays") {
    const TempDir folder;
    testing::write_store(folder / "s", testing::random_store(5000, 9000, 32, 4));
    const PropagationSpec spec = tiny_spec(2, true);
    const auto propagate_kept = [&] {
      StoreWriter store(folder / "s", ample_budget());
      propagate(store, spec, ample_budget(), {});
    };
    const auto before = stored_bytes(folder / "s");
    std::optional<FreeDisk> disk(std::in_place, kDiskBlock);
    CHECK_THROWS_WITH_AS(propagate_kept(), doctest::Contains("the sums need"), ResourceError);
    CHECK_FALSE(fs::exists(folder / "s" / kTilesFolder));
    CHECK_THROWS_WITH_AS(begin_job(folder / "s", spec, 0, 2), doctest::Contains("the tiles need"), ResourceError);
    CHECK_FALSE(fs::exists(folder / "s" / kTilesFolder));
    CHECK(stored_bytes(folder / "s") == before);
    disk.reset();
    begin_job(folder / "s", spec, 0, 2);
    const auto begun = stored_bytes(folder / "s");
    CHECK(begun != before);
    disk.emplace(kDiskBlock);
    CHECK_THROWS_AS(begin_job(folder / "s", spec, 1, 2), ResourceError);
    CHECK_THROWS_AS(propagate_kept(), ResourceError);
    CHECK(stored_bytes(folder / "s") == begun);
    disk.reset();
    propagate_kept();
    CHECK_FALSE(fs::exists(folder / "s" / kTilesFolder));
  }
}

}  // namespace unweave
