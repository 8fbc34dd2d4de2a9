// tests/engine/ingest/import_bounds_test.cpp - small files that ask for much: ids far above the
// number of edges, zstd windows.
#include <doctest/doctest.h>
#include <zstd.h>

#include <string>
#include <vector>

#include "engine/ingest/import_forecast.h"
#include "engine/ingest/store_import.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/input/bytes/byte_source.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;
using testing::write_file;

ImportReport import_edges(const std::filesystem::path& store, const std::filesystem::path& edges,
                          std::optional<std::uint64_t> nodes = std::nullopt,
                          std::uint64_t memory = std::uint64_t{64} << 20) {
  ImportOptions options;
  options.edges = InputFile{edges, {}};
  options.nodes = nodes;
  MemoryBudget budget(memory);
  WorkMeter nobody;
  ImportReport report = import_store(store, options, budget, nobody);
  CHECK(budget.used() == 0);
  return report;
}

/// A frame of unknown length, whose window is 2^log bytes.
std::string zstd_frame(const std::string& text, int log) {
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, log);
  ZSTD_inBuffer in{text.data(), text.size(), 0}, nothing{nullptr, 0, 0};
  ZSTD_outBuffer out{frame.data(), frame.size(), 0};
  REQUIRE(ZSTD_isError(ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue)) == 0);
  REQUIRE(ZSTD_compressStream2(context, &out, &nothing, ZSTD_e_end) == 0);
  ZSTD_freeCCtx(context);
  frame.resize(out.pos);
  return frame;
}

TEST_SUITE("unit") {
  TEST_CASE("an id far above the number of edges is an error that names its place, unless the number is declared") {
    const TempDir dir;
    const auto fails = [&](const char* name, const std::string& bytes, const std::vector<std::string>& parts) {
      CAPTURE(name);
      const auto file = write_file(dir / name, bytes);
      testing::check_message(testing::message_of<InputError>([&] { import_edges(dir / "store", file); }), parts);
      CHECK(!std::filesystem::exists(dir / "store"));
    };
    const std::string what = "node id 4294967294 in a file of 2 edges", remedy = "nodes=4294967295";
    fails("e.txt", "# u v\n0 1\n4294967294 7\n", {"e.txt: line 3: ", what, remedy});
    fails("pairs.npy", testing::npy<std::int64_t>("<i8", "(3, 2)", {0, 1, 4294967294, 7, 1, 2}),
          {"pairs.npy: element [1, 0]: ", "3 edges", remedy});
    fails("rows.npy", testing::npy<std::int64_t>("<i8", "(2, 3)", {0, 1, 4294967294, 1, 7, 8}),
          {"rows.npy: element [0, 2]: ", "3 edges", remedy});

    const std::uint64_t most = (std::uint64_t{1} << 24) + 64;
    const std::string last = std::to_string(most), beyond = std::to_string(most + 1), count = std::to_string(most + 2);
    CHECK(import_edges(dir / "last", write_file(dir / "last.txt", "0 " + last)).nodes == most + 1);
    fails("beyond.txt", "0 " + beyond, {"beyond.txt: line 1: ", beyond, "nodes=" + count});
    CHECK(import_edges(dir / "meant", dir / "beyond.txt", most + 2).nodes == most + 2);
    const auto market = write_file(dir / "m.mtx", "%%MatrixMarket matrix coordinate pattern general\n" + count + " " +
                                                      count + " 1\n1 " + count + "\n");
    CHECK(import_edges(dir / "declared", market).nodes == most + 2);
  }

  TEST_CASE("the window of a zstd file is charged to the budget, and one that does not fit is refused") {
    const TempDir dir;
    const std::string text = "0 1\n1 2\n";
    const auto usual = write_file(dir / "usual.zst", zstd_frame(text, 23)),
               large = write_file(dir / "large.zst", zstd_frame(text, 27)),
               later = write_file(dir / "later.zst", zstd_frame(text, 21) + zstd_frame(text, 27));
    constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
    CHECK(import_edges(dir / "usual", usual, {}, 24 * kMiB).edges == 2);
    testing::check_message(testing::message_of<ResourceError>([&] { import_edges(dir / "s", large); }),
                           {"large.zst", "128.0 MiB", "with level 19 or below and without --long", "raise memory"});
    CHECK(import_edges(dir / "large", large, {}, 512 * kMiB).edges == 2);
    const auto forecast = [&](std::uint64_t memory) {
      ImportOptions options;
      options.edges = InputFile{large, {}};
      MemoryBudget budget(memory);
      static_cast<void>(forecast_import(dir / "s", options, budget, nullptr));
      CHECK(budget.used() == 0);
    };
    forecast(512 * kMiB);
    for (const std::uint64_t memory : {64 * kMiB, 200 * kMiB}) {  // the second has the room, but not beside the sorting
      const std::string refusal =
          testing::message_of<ResourceError>([&] { import_edges(dir / "s", large, {}, memory); });
      testing::check_message(refusal, {"large.zst", "128.0 MiB", "raise memory"});
      CHECK(testing::message_of<ResourceError>([&] { forecast(memory); }) == refusal);
    }
    testing::check_message(testing::message_of<DataError>([&] { import_edges(dir / "s", later, {}, 512 * kMiB); }),
                           {"later.zst", "with level 19 or below and without --long"});

    std::vector<std::uint64_t> charged;
    const auto charge = [&](std::uint64_t window) {
      charged.push_back(window);
      return std::make_shared<int>();
    };
    char byte = 0;
    CHECK(ByteSource({usual, {}, charge}).read({&byte, 1}) == 1);
    CHECK(ByteSource({large, {}, charge}).read({&byte, 1}) == 1);
    CHECK(ByteSource({write_file(dir / "whole.zst", testing::zstded(text)), {}, charge}).read({&byte, 1}) == 1);
    std::string whole(ZSTD_compressBound(300), '\0');  // one segment, its size in two bytes
    whole.resize(ZSTD_compress(whole.data(), whole.size(), std::string(300, '7').data(), 300, 3));
    CHECK(ByteSource({write_file(dir / "segment.zst", whole), {}, charge}).read({&byte, 1}) == 1);
    REQUIRE(charged.size() == 4);
    CHECK(charged[0] == 8 * kMiB);
    CHECK(charged[1] == 128 * kMiB);
    CHECK(charged[2] <= 8 * kMiB);
    CHECK(charged[3] == 300);
    CHECK(ByteSource({usual, {}}).read({&byte, 1}) == 1);
    testing::check_message(testing::message_of<DataError>([&] {
                             ByteSource({large, {}});
                           }),
                           {"large.zst", "with level 19 or below and without --long"});
  }
}

}  // namespace
}  // namespace unweave
