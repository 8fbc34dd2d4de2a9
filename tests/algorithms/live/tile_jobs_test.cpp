// tests/algorithms/live/tile_jobs_test.cpp - a propagation in jobs: the bytes of one process,
// whatever the jobs; what is refused; what becomes of tiles when contents change; how an unfinished
// propagation goes on.
#include "algorithms/live/tile_jobs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/propagate.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "engine/graph/store.h"
#include "storage/io/error.h"
#include "storage/io/store_folders.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/kept_store.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::folder_bytes;
using testing::kept_spec;
using testing::TempDir;
using testing::tiny_spec;

using Files = std::map<std::string, std::string>;

TileReport run_job(const fs::path& store, const PropagationSpec& spec, std::optional<std::uint64_t> index,
                   std::uint64_t jobs, MemoryBudget& budget = ample_budget()) {
  const StoreReader reader(store, budget);
  return propagate_tiles(reader, spec, {index, jobs}, budget, {});
}

PropagateReport run_all(const fs::path& store, const PropagationSpec& spec, const PropagateHow& how,
                        MemoryBudget& budget = ample_budget(), const PropagateMeter& meter = {}) {
  StoreWriter writer(store, budget);
  return propagate(writer, spec, budget, meter, nullptr, how);
}

const PropagateHow kAssemble{.restart = false, .assemble = true};

/// A store of two spans, the second one not full, with a hub.
testing::Sample two_spans(std::uint32_t columns) {
  testing::Sample sample;
  sample.nodes = 70'000;
  for (NodeId i = 0; i < 90'000; ++i) {
    const NodeId u = i * 7919U % sample.nodes, v = i % 50 == 0 ? 5 : (i * 104729U + 3) % sample.nodes;
    if (u != v) sample.edges.insert({std::min(u, v), std::max(u, v)});
  }
  testing::add_features(sample, columns, 3, 0.02);
  return sample;
}

/// A star whose hub has sums beyond 32 bits, in some columns alone, in units of 2^-29.
testing::Sample wide_star(std::uint32_t columns) {
  testing::Sample sample;
  sample.nodes = 300;
  for (NodeId leaf = 1; leaf < sample.nodes; ++leaf) sample.edges.insert({0, leaf});
  testing::add_features(sample, columns, 5, 0.3);
  for (NodeId node = 0; node < sample.nodes; ++node)
    for (std::uint32_t c = 0; c < columns; ++c) sample.features[node * columns + c] = c == columns - 2 ? 0.9F : 0.001F;
  return sample;
}

Files bytes_of_store(const fs::path& store) {
  Files files = folder_bytes(store);
  files.erase(kLockName);
  return files;
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::vector<fs::path> tiles_of(const fs::path& store) {
  std::vector<fs::path> tiles;
  if (!fs::exists(store / kTilesFolder)) return tiles;
  for (const auto& item : fs::recursive_directory_iterator(store / kTilesFolder))
    if (item.path().extension() == ".tile") tiles.push_back(item.path());
  std::sort(tiles.begin(), tiles.end());
  return tiles;
}

/// Jobs in any order, joined, give the bytes of one process.
void check_jobs(const testing::Sample& sample, const PropagationSpec& spec) {
  const TempDir folder;
  testing::build_store(folder / "imported", sample);
  fs::copy(folder / "imported", folder / "one", fs::copy_options::recursive);
  run_all(folder / "one", spec, {});
  const Files expected = bytes_of_store(folder / "one");
  for (const std::uint64_t jobs : {1, 2, 3, 5, 8}) {
    CAPTURE(jobs);
    const fs::path store = folder / std::to_string(jobs);
    fs::copy(folder / "imported", store, fs::copy_options::recursive);
    for (std::uint64_t job = jobs; job-- > 0;) {
      const TileReport report = run_job(store, spec, (job * 3 + 1) % jobs, jobs);
      CHECK(report.done + report.there == 1);
    }
    if (jobs % 3 == 0)
      for (std::uint64_t job = 0; job < jobs; ++job) run_job(store, spec, job, jobs);
    CHECK(run_job(store, spec, {}, jobs).missing.empty());
    const PropagateReport report = run_all(store, spec, kAssemble);
    CHECK(report.tiles == jobs);
    CHECK(bytes_of_store(store) == expected);
  }
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("jobs cover all columns once, in whole cache lines where there are enough") {
    for (const std::uint32_t columns : {1U, 16U, 40U, 100U, 128U})
      for (const std::uint32_t scale_bits : {24U, 14U})
        for (std::uint64_t jobs = 1; jobs <= columns; ++jobs) {
          std::size_t at = 0;
          for (std::uint64_t job = 0; job < jobs; ++job) {
            const TileColumns range = job_columns(columns, job, jobs, scale_bits);
            CHECK(range.first == at);
            CHECK(range.count > 0);
            at += range.count;
          }
          CHECK(at == columns);
        }
    CHECK(job_columns(128, 1, 4, 24).first == 32);
    CHECK(job_columns(100, 1, 3, 24).first % 16 == 0);
  }

  TEST_CASE("jobs of any number, joined, give the bytes of one process: sums") {
    const testing::Sample small = testing::random_sample(300, 0.02, 19, 3);
    for (const bool all_rows : {true, false})
      for (const std::uint32_t scale_bits : {14U, 16U, 24U}) {
        CAPTURE(all_rows);
        CAPTURE(scale_bits);
        PropagationSpec spec = tiny_spec(3, all_rows, 0.3);
        spec.scale_bits = scale_bits;
        check_jobs(small, spec);
      }
  }

  TEST_CASE("sums beyond 32 bits, in tiles that have some and in tiles that have none") {
    PropagationSpec spec = tiny_spec(2, true, 1);
    spec.scale_bits = 29;
    check_jobs(wide_star(19), spec);
    spec.all_rows = false;
    check_jobs(wide_star(19), spec);
  }

  TEST_CASE("jobs of any number, joined, give the bytes of one process: kept rows") {
    const testing::Sample small = testing::random_sample(300, 0.02, 19, 3);
    for (const bool all_rows : {true, false})
      for (const FeatureType type : {FeatureType::f32, FeatureType::f16})
        for (const std::string scheme : {"sgc", "ppr:0.2", "chebyshev"}) {
          CAPTURE(scheme);
          check_jobs(small, kept_spec(3, scheme, {Keep::embedding, type, 0}, all_rows));
          check_jobs(small, kept_spec(3, scheme, {Keep::hops, type, 0}, all_rows));
        }
  }

  TEST_CASE(
      "tiles of several numbers of jobs are joined where they cover the columns once, else the error says which are missing") {
    const TempDir folder;
    const fs::path store = folder / "s";
    testing::build_store(store, testing::random_sample(200, 0.03, 40, 3));
    const PropagationSpec spec = tiny_spec(2);
    run_job(store, spec, 0, 2);
    run_job(store, spec, 2, 3);
    const Files before = bytes_of_store(store);
    const std::string missing = error_of([&] { run_all(store, spec, kAssemble); });
    CAPTURE(missing);
    CHECK(missing.find("columns 16 to 31 are missing") != std::string::npos);
    CHECK(bytes_of_store(store) == before);
    run_job(store, spec, 1, 3);
    CHECK(run_job(store, spec, {}, 3).done == 0);
    CHECK(run_all(store, spec, kAssemble).tiles == 3);
    CHECK_FALSE(fs::exists(store / kTilesFolder));
    const std::string none = error_of([&] { run_all(store, spec, kAssemble); });
    CHECK(none.find("has no tiles") != std::string::npos);
  }

  TEST_CASE("columns that two numbers of jobs have summed are counted once in the norms") {
    const TempDir folder;
    const fs::path imported = folder / "imported";
    testing::build_store(imported, testing::random_sample(200, 0.03, 12, 3));
    for (const PropagationSpec& spec : {tiny_spec(2), kept_spec(2, "sgc", {.keep = Keep::embedding})}) {
      const fs::path one = folder / "one", store = folder / "s";
      fs::copy(imported, one, fs::copy_options::recursive);
      fs::copy(imported, store, fs::copy_options::recursive);
      run_all(one, spec, {});
      // Columns 4 to 7 of three jobs end in the midst of those of two.
      for (const std::uint64_t jobs : {3, 2})
        for (std::uint64_t index = 0; index < jobs; ++index) run_job(store, spec, index, jobs);
      run_all(store, spec, kAssemble);
      CHECK(bytes_of_store(store) == bytes_of_store(one));
      fs::remove_all(one);
      fs::remove_all(store);
    }
  }

  TEST_CASE("tiles that overlap and do not fit each other are told of") {
    const TempDir folder;
    const fs::path store = folder / "s";
    testing::build_store(store, testing::random_sample(200, 0.03, 5, 3));
    const PropagationSpec spec = tiny_spec(1);
    run_job(store, spec, 0, 2);  // 0 and 1
    run_job(store, spec, 1, 3);  // 1 and 2
    run_job(store, spec, 2, 3);  // 3 and 4
    const std::string error = error_of([&] { run_all(store, spec, kAssemble); });
    CAPTURE(error);
    CHECK(error.find("overlap") != std::string::npos);
    CHECK(error.find("columns 2 to 2") != std::string::npos);
    CHECK(run_job(store, spec, 1, 2).tiles == 1);  // 2, which is what is missing between tiles
    CHECK(run_all(store, spec, kAssemble).tiles == 3);
  }

  TEST_CASE("other options, more jobs than columns and numbers that are none are refused") {
    const TempDir folder;
    const fs::path store = folder / "s";
    testing::build_store(store, testing::random_sample(200, 0.03, 5, 3));
    CHECK_THROWS_AS(run_job(store, tiny_spec(2), 0, 6), UsageError);
    CHECK_THROWS_AS(run_job(store, tiny_spec(2), 3, 3), UsageError);
    CHECK_THROWS_AS(run_job(store, tiny_spec(2), {}, 0), UsageError);
    CHECK_THROWS_AS(run_job(store, tiny_spec(0), 0, 1), UsageError);
    run_job(store, tiny_spec(2), 0, 2);
    for (const PropagationSpec& other : {tiny_spec(3), tiny_spec(2, false), tiny_spec(2, true, 0.25)}) {
      const std::string error = error_of([&] { run_all(store, other, {}); });
      CAPTURE(error);
      CHECK(error.find("other options") != std::string::npos);
      CHECK(error.find("hops 2, rho 0.5") != std::string::npos);
      CHECK_THROWS_AS(run_job(store, other, 0, 2), UsageError);
    }
    CHECK(tiles_of(store).size() == 2);
    PropagationSpec weights = tiny_spec(2);
    weights.weights = {1, 2, 3};  // sums do not depend on them
    weights.scheme = "gpr";
    CHECK(run_job(store, weights, 0, 2).there == 1);
    run_all(store, tiny_spec(3), {.restart = true});
    CHECK_FALSE(fs::exists(store / kTilesFolder));
  }

  TEST_CASE("whoever changes the contents removes the tiles; whoever only opens the store keeps them") {
    const TempDir folder;
    const fs::path store = folder / "s";
    const testing::Sample sample = testing::random_sample(200, 0.03, 5, 3);
    testing::build_store(store, sample);
    const PropagationSpec spec = tiny_spec(2);
    testing::propagate_store(store, spec);
    run_job(store, spec, 0, 2);
    const std::vector<fs::path> tiles = tiles_of(store);
    REQUIRE(tiles.size() == 2);
    { const StoreWriter writer(store, ample_budget()); }
    CHECK(tiles_of(store) == tiles);
    const std::string bytes = testing::read_all(tiles[0]);
    {
      StoreWriter writer(store, ample_budget());
      const auto edge = *sample.edges.begin();
      std::vector<Request> requests(1);
      requests[0].kind = RequestKind::remove_edge;
      requests[0].u = edge.first;
      requests[0].v = edge.second;
      writer.apply(requests, writer.resolve(requests), {});
      CHECK(tiles_of(store).empty());
    }
    // What a job leaves there that began before: the next writer removes it.
    fs::create_directories(tiles[0].parent_path());
    testing::write_file(tiles[0], bytes);
    const std::string error = error_of([&] { run_all(store, spec, kAssemble); });
    CHECK(error.find("has no tiles of its present contents") != std::string::npos);
    CHECK(tiles_of(store).empty());
    run_job(store, spec, 1, 2);
    REQUIRE(tiles_of(store).size() == 2);
    testing::purge(store);
    CHECK_FALSE(fs::exists(store / kTilesFolder));
  }

  TEST_CASE("a tile that is cut, flipped or of another store is dropped with a note, and its columns are summed anew") {
    const TempDir folder;
    const fs::path store = folder / "s", other = folder / "other", one = folder / "one";
    testing::build_store(store, testing::random_sample(200, 0.03, 5, 3));
    testing::build_store(other, testing::random_sample(200, 0.03, 5, 4));
    fs::copy(store, one, fs::copy_options::recursive);
    const PropagationSpec spec = tiny_spec(2);
    run_all(one, spec, {});
    const Files expected = bytes_of_store(one);
    for (const std::uint64_t job : {0, 1}) {
      run_job(store, spec, job, 2);
      run_job(other, spec, job, 2);
    }
    const std::vector<fs::path> tiles = tiles_of(store);
    REQUIRE(tiles.size() == 4);
    // Tiles of level 1 are read by sums where their tiles of level 2 are not there, else where they
    // are joined.
    const std::string of_other = testing::read_all(tiles_of(other)[1]), of_others = testing::read_all(tiles[0]);
    for (const bool in_the_midst : {false, true}) {
      CAPTURE(in_the_midst);
      const fs::path damaged = folder / "damaged";
      const fs::path& original = tiles[1];
      const std::string whole = testing::read_all(original);
      const auto check_dropped = [&](const std::function<void(const fs::path&)>& damage) {
        for (const PropagateHow& how : {kAssemble, PropagateHow{}}) {
          if (in_the_midst && how.assemble) continue;  // that needs all tiles
          fs::remove_all(damaged);
          fs::copy(store, damaged, fs::copy_options::recursive);
          const fs::path tile = damaged / fs::relative(original, store);
          if (in_the_midst) fs::remove(damaged / fs::relative(tiles[3], store));
          damage(tile);
          if (how.assemble) {
            const std::string error = error_of([&] { run_all(damaged, spec, how); });
            CAPTURE(error);
            CHECK(error.find("are missing (" + tile.string()) != std::string::npos);
            CHECK(error.find("run the jobs that make them") != std::string::npos);
            CHECK_FALSE(fs::exists(tile));
            CHECK_FALSE(read_manifest(damaged).propagation.has_value());
            CHECK(run_job(damaged, spec, {}, 2).done == 1);
            CHECK(run_all(damaged, spec, how).dropped.empty());
          } else {
            const std::vector<std::string> dropped = run_all(damaged, spec, how).dropped;
            REQUIRE(dropped.size() == 1);
            CHECK(dropped[0].starts_with(tile.string() + ": "));
            CHECK(dropped[0].find("the file is dropped") != std::string::npos);
          }
          CHECK(bytes_of_store(damaged) == expected);
        }
      };
      const auto check = [&](const std::string& bytes) {
        check_dropped([&](const fs::path& tile) { testing::write_file(tile, bytes); });
      };
      check_dropped([](const fs::path& tile) {
        fs::remove(tile);
        fs::create_directory(tile);
      });
      for (const std::size_t size :
           {std::size_t{0}, std::size_t{100}, std::size_t{128}, whole.size() / 2, whole.size() - 1})
        check(whole.substr(0, size));
      check(whole + std::string(8, '\0'));
      for (std::size_t at = 0; at < whole.size(); at += 1 + at / 5) {
        CAPTURE(at);
        std::string flipped = whole;
        flipped[at] = static_cast<char>(flipped[at] ^ 4);
        check(flipped);
      }
      check(of_other);
      check(of_others);
    }
  }

  TEST_CASE("jobs drop a damaged tile and make it anew; what cannot be removed is an error that says so") {
    const TempDir folder;
    const fs::path store = folder / "s";
    testing::build_store(store, testing::random_sample(200, 0.03, 5, 3));
    const PropagationSpec spec = tiny_spec(2);
    run_job(store, spec, {}, 2);
    const fs::path tile = tiles_of(store)[0];
    testing::write_file(tile, "nothing");
    const TileReport report = run_job(store, spec, {}, 2);
    CHECK(report.done == 1);
    CHECK(report.missing.empty());
    REQUIRE(report.dropped.size() == 1);
    CHECK(report.dropped[0].starts_with(tile.string()));
    fs::remove(tile);
    fs::create_directories(tile / "full");
    const std::string error = error_of([&] { run_all(store, spec, {}); });
    CHECK(error.find("it is not a file; remove it, and its columns are computed anew") != std::string::npos);
    fs::remove_all(tile);  // as it says
    run_all(store, spec, {});
    CHECK(read_manifest(store).propagation.has_value());
  }

  TEST_CASE("verification reads tiles: whole ones are nothing that is wrong, damaged ones are found") {
    const TempDir folder;
    const fs::path store = folder / "s";
    testing::build_store(store, testing::random_sample(200, 0.03, 5, 3));
    run_job(store, tiny_spec(2), 0, 2);
    std::vector<CheckedTile> parts = check_tiles(store, 200);
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].damage.empty());
    std::string bytes = testing::read_all(parts[1].path);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    testing::write_file(parts[1].path, bytes);
    parts = check_tiles(store, 200);
    CHECK(parts[0].damage.empty());
    CHECK(parts[1].damage.find("drops this file, and computes its columns anew") != std::string::npos);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("a propagation that ends anywhere goes on from what is there, with equal bytes and less to do") {
    const TempDir folder(testing::Where::disk);
    testing::build_store(folder / "imported", two_spans(40));
    struct Stopped {};
    for (const bool all_rows : {true, false})
      for (const std::uint64_t memory : {std::uint64_t{1} << 30, std::uint64_t{all_rows ? 22U : 11U} << 20})
        for (const Keep keep : {Keep::state, Keep::hops}) {
          CAPTURE(all_rows);
          CAPTURE(memory);
          PropagationSpec spec = tiny_spec(3, all_rows);
          spec.kept.keep = keep;
          fs::remove_all(folder / "one");
          fs::copy(folder / "imported", folder / "one", fs::copy_options::recursive);
          run_all(folder / "one", spec, {});
          const Files expected = bytes_of_store(folder / "one");
          for (const int percent : {5, 20, 35, 50, 65, 80, 95, 99}) {
            CAPTURE(percent);
            const fs::path store = folder / "s";
            fs::remove_all(store);
            fs::copy(folder / "imported", store, fs::copy_options::recursive);
            const PropagateMeter stop = [&](const PropagateProgress& progress) {
              if (progress.done * 100 >= progress.total * static_cast<std::uint64_t>(percent)) throw Stopped();
            };
            {
              MemoryBudget budget(memory);
              CHECK_THROWS_AS(run_all(store, spec, {}, budget, stop), Stopped);
            }
            CHECK_FALSE(read_manifest(store).propagation.has_value());
            MemoryBudget budget(memory);
            run_all(store, spec, {}, budget);
            CHECK(bytes_of_store(store) == expected);
            CHECK(budget.used() == 0);
          }
        }
  }

  TEST_CASE("two spans, jobs and several tiles a job") {
    const testing::Sample sample = two_spans(40);
    const TempDir folder(testing::Where::disk);
    testing::build_store(folder / "s", sample);
    fs::copy(folder / "s", folder / "one", fs::copy_options::recursive);
    const PropagationSpec spec = tiny_spec(2);
    run_all(folder / "one", spec, {});
    MemoryBudget little(std::uint64_t{7} << 20);
    const TileReport report = run_job(folder / "s", spec, {}, 2, little);
    CHECK(report.done == 2);
    CHECK(report.tiles > 2);
    CHECK(little.used() == 0);
    run_all(folder / "s", spec, kAssemble, little);
    CHECK(bytes_of_store(folder / "s") == bytes_of_store(folder / "one"));
  }
}

}  // namespace unweave
